"""What every operation of the backend does: look its plan up, run it, wrap the results."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from burn_wgpu.backends.wgpu.tensor import WgpuDevice, WgpuTensor
from burn_wgpu.kernel.movement import contiguous_plan
from burn_wgpu.runtime.client import Task
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import Plan, check_operands


def run(
    device: WgpuDevice,
    key: Hashable,
    make: Callable[[Capability], Plan],
    inputs: tuple[WgpuTensor, ...],
    scalars: bytes = b"",
) -> list[WgpuTensor]:
    """Runs the plan that `make` gives for this key (made once), and wraps its outputs.

    The key holds everything the plan depends on: operation, layouts, dtypes, options; not the scalars.
    """
    task = device.plans.get(key)
    if task is None:
        task = device.remember(key, _task(device, make(device.capability), inputs))
    leases = device.run(task, tuple([t.lease for t in inputs]), scalars)
    return [WgpuTensor(lease, out.layout, out.dtype, device) for lease, out in zip(leases, task.outputs, strict=True)]


def run1(
    device: WgpuDevice,
    key: Hashable,
    make: Callable[[Capability], Plan],
    inputs: tuple[WgpuTensor, ...],
    scalars: bytes = b"",
) -> WgpuTensor:
    """`run` for an operation with one output."""
    task = device.plans.get(key)
    if task is None:
        task = device.remember(key, _task(device, make(device.capability), inputs))
    lease = device.run(task, tuple([t.lease for t in inputs]), scalars)[0]
    out = task.outputs[0]
    return WgpuTensor(lease, out.layout, out.dtype, device)


def _task(device: WgpuDevice, plan: Plan, inputs: tuple[WgpuTensor, ...]) -> Task:
    """Compiles a plan for these operands."""
    device.client.check_outputs(plan)
    check_operands(plan, [t.layout for t in inputs], device.capability)
    return device.task(plan)


def contiguous(tensor: WgpuTensor) -> WgpuTensor:
    """The tensor itself when it is row-major from the start of its buffer, else a copy that is."""
    layout = tensor.layout
    if layout.packed:
        return tensor
    dtype = tensor.dtype
    return run1(tensor.device, ("contiguous", layout, dtype), lambda c: contiguous_plan(layout, dtype, c), (tensor,))
