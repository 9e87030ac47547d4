"""DistributedOps: synchronising gradients of data-parallel training.

One server per backend name lives in the process. Autodiff registers the parameters of a backward pass on each device,
hands in each gradient by reference when it is final, and waits at the end of the pass.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from burn_wgpu.contract.defaults import distributed
from burn_wgpu.contract.defaults.distributed import TensorRef
from burn_wgpu.contract.options import DistributedConfig
from burn_wgpu.contract.types import DeviceHandle, FloatPrim, Group

__all__ = ["DistributedOps", "TensorRef"]


class DistributedOps(Group):
    """7 functions."""

    def start_communication_server(self, devices: Sequence[DeviceHandle], config: DistributedConfig) -> None:
        """Starts the gradient synchronisation of a group of devices; ArgumentError when one already runs."""
        distributed.start(self, devices, config)

    def close_communication_server(self, device: DeviceHandle) -> None:
        """Stops it; those who wait are released."""
        distributed.close(self)

    def register_sync_parameters(self, device: DeviceHandle, param_ids: Sequence[Hashable]) -> None:
        """The parameters whose gradients this device will submit; called when a backward pass begins.

        A device outside the group is ignored with one warning: its gradients stay local.
        """
        distributed.register(self, device, param_ids)

    def submit_sync_collective(self, device: DeviceHandle) -> None:
        """Blocks until every gradient that any member registered is reduced; all members are released together."""
        distributed.wait(self, device)

    def submit_gradient_sync(self, tensor: TensorRef, param_id: Hashable) -> None:
        """Hands in one gradient; it is overwritten once every registered device has submitted that parameter."""
        distributed.submit(self, tensor, param_id)

    def comm_device(self, tensor: TensorRef) -> DeviceHandle:
        """The device of the referenced tensor."""
        return tensor.tensor.device  # type: ignore[no-any-return]

    def float_from_ref(self, tensor: TensorRef) -> FloatPrim:
        """The referenced tensor as it is now."""
        return tensor.tensor
