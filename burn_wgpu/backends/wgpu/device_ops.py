"""The device functions of the contract: names, queues, memory, time, what dtypes can do."""

from __future__ import annotations

from burn_wgpu.backends.wgpu import usage
from burn_wgpu.backends.wgpu.movement_ops import read_many
from burn_wgpu.backends.wgpu.tensor import WgpuDevice
from burn_wgpu.contract.transaction_ops import TransactionPrimitive, TransactionPrimitiveData
from burn_wgpu.contract.types import MemoryPoolUsage, SlicedPoolReport
from burn_wgpu.runtime import provider
from burn_wgpu.std.dtype import DType, DTypeUsage


class DeviceOps:
    """See `contract.backend.Backend`."""

    def name(self, device: WgpuDevice | None = None) -> str:
        return "wgpu" if device is None else f"wgpu<{device.client.info.backend.lower()}>"

    def seed(self, device: WgpuDevice, seed: int) -> None:
        device.seeds[:] = [seed & 0xFFFFFFFFFFFFFFFF, 0]

    def sync(self, device: WgpuDevice) -> None:
        device.client.stream.wait()

    def flush(self, device: WgpuDevice) -> None:
        device.client.stream.flush()

    def dtype_usage(self, device: WgpuDevice, dtype: DType) -> DTypeUsage:
        return usage.dtype_usage(self, device, dtype)

    def device_count(self, type_id: int = 0) -> int:
        return len(provider.adapters())

    def memory_cleanup(self, device: WgpuDevice) -> None:
        device.client.pool.trim()

    def memory_pool_usage(self, device: WgpuDevice) -> MemoryPoolUsage | None:
        pool = device.client.pool
        free = sum(len(blocks) for blocks in pool.free.values())
        return MemoryPoolUsage(
            number_allocs=pool.blocks - free,
            in_use_bytes=pool.in_use(),
            padding_bytes=0,
            reserved_bytes=pool.reserved,
        )

    def memory_pool_report(self, device: WgpuDevice) -> list[SlicedPoolReport] | None:
        """None: a buffer holds one tensor, no pages are carved."""
        return None

    def memory_capacity(self, device: WgpuDevice) -> int | None:
        return device.client.pool.budget

    def tr_execute(self, transaction: TransactionPrimitive) -> TransactionPrimitiveData:
        """One wait for all."""
        kinds = (transaction.read_floats, transaction.read_ints, transaction.read_bools)
        read = iter(read_many([t for kind in kinds for t in kind]))  # type: ignore[misc]  # this backend's tensors
        floats, ints, bools = [[next(read) for _ in kind] for kind in kinds]
        quantized = [self.q_into_data(t) for t in transaction.read_qfloats]  # type: ignore[attr-defined]
        return TransactionPrimitiveData(floats, quantized, ints, bools)
