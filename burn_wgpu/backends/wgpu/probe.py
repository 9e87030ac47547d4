"""What an adapter is asked by running a kernel on it."""

from __future__ import annotations

from burn_wgpu.backends.wgpu.movement_ops import into_data
from burn_wgpu.backends.wgpu.run import run1
from burn_wgpu.backends.wgpu.tensor import WgpuDevice
from burn_wgpu.kernel.probe import subgroup_plan


def subgroup_size(device: WgpuDevice) -> int:
    """Lanes of a subgroup, or 0 where the adapter has none. wgpu-py reports defaults instead of the adapter's own."""
    if not device.capability.has("subgroup"):
        return 0
    return int(into_data(run1(device, ("subgroup_size",), lambda c: subgroup_plan(), ())).array[0])
