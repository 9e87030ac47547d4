"""Backend: the device functions and every group of operations; AutodiffBackend: the tape on top."""
# mypy: disable-error-code="empty-body"

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from burn_wgpu.contract.activation_ops import ActivationOps
from burn_wgpu.contract.bool_ops import BoolOps
from burn_wgpu.contract.collective_ops import CollectiveOps
from burn_wgpu.contract.declare import required
from burn_wgpu.contract.distributed_ops import DistributedOps
from burn_wgpu.contract.float_ops import FloatOps
from burn_wgpu.contract.int_ops import IntOps
from burn_wgpu.contract.module_ops import ModuleOps
from burn_wgpu.contract.quant_ops import QuantOps
from burn_wgpu.contract.transaction_ops import TransactionOps
from burn_wgpu.contract.types import (
    BoolPrim,
    DeviceHandle,
    FloatPrim,
    IntPrim,
    KnownDuration,
    MemoryPoolUsage,
    ProfileDuration,
    ProfileOptions,
    ProfileToken,
    SlicedPoolReport,
    TensorPrim,
)
from burn_wgpu.std.data import TensorData
from burn_wgpu.std.dtype import DType, DTypeUsage
from burn_wgpu.std.errors import UnsupportedError

T = TypeVar("T")


class Backend(
    FloatOps,
    IntOps,
    BoolOps,
    ModuleOps,
    ActivationOps,
    QuantOps,
    TransactionOps,
    CollectiveOps,
    DistributedOps,
):
    """One implementation of the contract. Holds no device and no tensor: both are always arguments."""

    @required
    def name(self, device: DeviceHandle | None = None) -> str:
        """What the backend is called, for example "reference" or "autodiff<wgpu>"."""

    def ad_enabled(self, device: DeviceHandle) -> bool:
        """Whether tensors of this backend can be tracked."""
        return False

    # --------------------------------------------------------------------------------------------- devices

    @required
    def seed(self, device: DeviceHandle, seed: int) -> None:
        """Restarts the device's random stream; the same calls then give the same numbers. seed: taken modulo 2^64."""

    def sync(self, device: DeviceHandle) -> None:
        """Returns when all work is finished; errors that were waiting are raised here."""

    @required
    def flush(self, device: DeviceHandle) -> None:
        """Submits the work that is recorded, without waiting."""

    def staging(self, data: Iterable[TensorData], device: DeviceHandle) -> None:
        """A hint that the data will be uploaded soon."""

    def supports_dtype(self, device: DeviceHandle, dtype: DType) -> bool:
        """Whether every operation works with the dtype: it can be stored and computed with."""
        return DTypeUsage.general() in self.dtype_usage(device, dtype)

    @required
    def dtype_usage(self, device: DeviceHandle, dtype: DType) -> DTypeUsage:
        """What the device was shown to be able to do with the dtype."""

    @required
    def device_count(self, type_id: int = 0) -> int:
        """The number of devices of a kind (the backend's own numbering; 0 is its usual kind)."""

    # ---------------------------------------------------------------------------------------------- memory

    def memory_persistent_allocations(self, device: DeviceHandle, input: Any, func: Callable[[Any], T]) -> T:
        """func(input), with its allocations made to last (parameters)."""
        return func(input)

    def memory_cleanup(self, device: DeviceHandle) -> None:
        """Gives unused memory back."""

    def memory_pool_report(self, device: DeviceHandle) -> list[SlicedPoolReport] | None:
        """One entry per pool that carves pages, or None where the backend has none."""
        return None

    def memory_pool_usage(self, device: DeviceHandle) -> MemoryPoolUsage | None:
        """What tensors use now, or None where the backend does not count."""
        return None

    def memory_capacity(self, device: DeviceHandle) -> int | None:
        """Bytes that the device can hold at once (not what is free), or None where that is unknown."""
        return None

    # ----------------------------------------------------------------------------------------- measurement

    def profile(
        self, device: DeviceHandle, options: ProfileOptions, func: Callable[[], T]
    ) -> tuple[T, ProfileDuration]:
        """(func(), the device time of the work that it started). The default is the wall clock between two syncs."""
        self.sync(device)
        start = time.perf_counter()
        output = func()
        self.sync(device)
        return output, KnownDuration(time.perf_counter() - start)

    def profile_start(self, device: DeviceHandle) -> ProfileToken | None:
        """Opens a measuring window at the queue's position; None: the backend has no windows, use `profile`."""
        return None

    def profile_end(self, device: DeviceHandle, token: ProfileToken, options: ProfileOptions) -> ProfileDuration:
        """Closes the window; the duration resolves later. Raises UnsupportedError where there are no windows."""
        raise UnsupportedError(f"profile_end: the backend '{self.name()}' has no windows; use profile(device, …)")

    def profile_abandon(self, device: DeviceHandle, token: ProfileToken) -> None:
        """Drops an open window; never fails."""
        try:
            self.profile_end(device, token, ProfileOptions())
        except UnsupportedError:
            pass

    # --------------------------------------------------------------------------------- capture and replay

    def graph_prepare(self, device: DeviceHandle) -> None:
        """Before the warm-up runs: allocations go to addresses that stay."""

    def graph_start_capture(self, device: DeviceHandle) -> None:
        """Starts recording launches. Raises UnsupportedError where the backend cannot."""
        raise UnsupportedError(f"graph_start_capture: the backend '{self.name()}' cannot capture; call the function")

    def graph_stop_capture(self, device: DeviceHandle) -> Any:
        """Stops and returns the recording."""
        raise UnsupportedError(f"graph_stop_capture: the backend '{self.name()}' cannot capture; call the function")

    def graph_replay(self, device: DeviceHandle, graph: Any) -> None:
        """Runs the recording again on its own buffers, which the caller keeps alive. Errors may come at the sync."""
        raise UnsupportedError(f"graph_replay: the backend '{self.name()}' cannot capture; call the function")


class AutodiffBackend(Backend):
    """A backend whose float tensors remember how they came about."""

    @required
    def inner_backend(self) -> Backend:
        """The backend that computes."""

    def ad_enabled(self, device: DeviceHandle) -> bool:
        return True

    @required
    def backward(self, tensor: FloatPrim) -> Any:
        """The gradients of sum(tensor) with respect to every leaf that keeps one.

        The whole ancestry is checked first; when a step was used up by an earlier backward, it raises and uses up
        nothing.
        """

    @required
    def grad(self, tensor: FloatPrim, grads: Any) -> FloatPrim | None:
        """The tensor's gradient (an inner tensor), or None."""

    @required
    def grad_remove(self, tensor: FloatPrim, grads: Any) -> FloatPrim | None:
        """The tensor's gradient, taken out of grads, or None."""

    @required
    def grad_replace(self, tensor: FloatPrim, grads: Any, grad: FloatPrim) -> None:
        """Puts another gradient (an inner tensor) in place of the tensor's."""

    @required
    def inner(self, tensor: FloatPrim) -> FloatPrim:
        """The tensor of the inner backend."""

    def int_inner(self, tensor: IntPrim) -> IntPrim:
        """The tensor itself: ints are not tracked."""
        return tensor

    def bool_inner(self, tensor: BoolPrim) -> BoolPrim:
        """The tensor itself: bools are not tracked."""
        return tensor

    def q_inner(self, tensor: TensorPrim) -> TensorPrim:
        """The tensor itself: quantized tensors are not tracked."""
        return tensor

    @required
    def from_inner(self, tensor: FloatPrim) -> FloatPrim:
        """A new leaf, not tracked, of an inner tensor."""

    def int_from_inner(self, tensor: IntPrim) -> IntPrim:
        """The tensor itself."""
        return tensor

    def bool_from_inner(self, tensor: BoolPrim) -> BoolPrim:
        """The tensor itself."""
        return tensor

    def q_from_inner(self, tensor: TensorPrim) -> TensorPrim:
        """The tensor itself."""
        return tensor

    def set_distributed_params(self, tensor: FloatPrim, param_id: Any) -> FloatPrim:
        """The tensor as a leaf whose gradient is reduced over all devices during backward."""
        return tensor

    def distributed_params(self, tensor: FloatPrim) -> Any | None:
        """The id given by set_distributed_params, or None."""
        return None

    def is_distributed(self, tensor: FloatPrim) -> bool:
        """Whether the tensor's gradient is reduced over all devices."""
        return False
