"""ReferenceBackend: the contract in NumPy."""
# mypy: disable-error-code="override"

from __future__ import annotations

import os

from burn_wgpu.backends.reference.activation_ops import ReferenceActivationOps
from burn_wgpu.backends.reference.bool_ops import ReferenceBoolOps
from burn_wgpu.backends.reference.elementwise import install_formulas
from burn_wgpu.backends.reference.float_ops import ReferenceFloatOps
from burn_wgpu.backends.reference.int_ops import ReferenceIntOps
from burn_wgpu.backends.reference.module_ops import ReferenceModuleOps
from burn_wgpu.backends.reference.quant_ops import ReferenceQuantOps
from burn_wgpu.backends.reference.shared import install_shared
from burn_wgpu.backends.reference.tensor import ReferenceDevice
from burn_wgpu.contract.backend import Backend
from burn_wgpu.contract.types import MemoryPoolUsage
from burn_wgpu.std.dtype import ALL, DType, DTypeUsage
from burn_wgpu.std.quant import QFloat, QuantMode


class ReferenceBackend(
    ReferenceFloatOps,
    ReferenceIntOps,
    ReferenceBoolOps,
    ReferenceModuleOps,
    ReferenceActivationOps,
    ReferenceQuantOps,
    Backend,
):
    """Every dtype, every operation, on the host and at once; nothing is ever pending."""

    def name(self, device: ReferenceDevice | None = None) -> str:
        return "reference"

    def seed(self, device: ReferenceDevice, seed: int) -> None:
        device.stream.restart(seed)

    def flush(self, device: ReferenceDevice) -> None:
        """Nothing is ever pending."""

    def dtype_usage(self, device: ReferenceDevice, dtype: DType) -> DTypeUsage:
        if isinstance(dtype, QFloat):
            return DTypeUsage.general() if dtype.scheme.mode is QuantMode.SYMMETRIC else DTypeUsage.STORAGE
        return DTypeUsage.general() if dtype in ALL else DTypeUsage.NONE

    def device_count(self, type_id: int = 0) -> int:
        return 1

    def memory_pool_usage(self, device: ReferenceDevice) -> MemoryPoolUsage:
        """The arrays behind the tensors that are alive; views share theirs."""
        sizes = [array.nbytes for array in device.live_arrays()]
        return MemoryPoolUsage(len(sizes), sum(sizes), 0, sum(sizes))

    def memory_capacity(self, device: ReferenceDevice) -> int | None:
        """The machine's memory, where the system tells it."""
        try:
            return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        except (AttributeError, ValueError, OSError):
            return None


install_shared(ReferenceBackend)
install_formulas(ReferenceBackend)
