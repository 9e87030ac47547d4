"""The device functions of the contract: names, queues, memory, time, what dtypes can do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from burn_wgpu.backends.wgpu import usage
from burn_wgpu.backends.wgpu.movement_ops import read_many
from burn_wgpu.backends.wgpu.quant_ops import payload_of
from burn_wgpu.backends.wgpu.tensor import WgpuDevice
from burn_wgpu.contract.backend import Backend
from burn_wgpu.contract.transaction_ops import TransactionPrimitive, TransactionPrimitiveData
from burn_wgpu.contract.types import (
    MemoryPoolUsage,
    ProfileDuration,
    ProfileOptions,
    ProfileToken,
    SlicedPoolReport,
)
from burn_wgpu.runtime import provider
from burn_wgpu.runtime.profile import profiler_of
from burn_wgpu.std.dtype import DType, DTypeUsage

T = TypeVar("T")


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

    def profile(self, device: WgpuDevice, options: ProfileOptions, func: Callable[[], T]) -> tuple[T, ProfileDuration]:
        """By the GPU's own clock where it has timestamp queries, else by the wall clock between two waits."""
        token = self.profile_start(device)
        if token is None:
            return Backend.profile(self, device, options, func)  # type: ignore[arg-type]
        try:
            output = func()
        except BaseException:
            self.profile_abandon(device, token)
            raise
        return output, self.profile_end(device, token, options)

    def profile_start(self, device: WgpuDevice) -> ProfileToken | None:
        profiler = profiler_of(device.client)
        return ProfileToken(profiler.start()) if profiler.available else None

    def profile_end(self, device: WgpuDevice, token: ProfileToken, options: ProfileOptions) -> ProfileDuration:
        """What was recorded before the call counts, with `options.flush` or without: closing submits it."""
        return profiler_of(device.client).end(token.id)

    def profile_abandon(self, device: WgpuDevice, token: ProfileToken) -> None:
        profiler_of(device.client).abandon(token.id)

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
        payloads: list[Any] = list(transaction.read_qfloats)
        kinds: tuple[list[Any], ...] = (
            list(transaction.read_floats),
            list(transaction.read_ints),
            list(transaction.read_bools),
            [q.words for q in payloads],
        )
        read = iter(read_many([t for kind in kinds for t in kind]))
        floats, ints, bools, words = [[next(read) for _ in kind] for kind in kinds]
        quantized = [payload_of(q, w) for q, w in zip(payloads, words, strict=True)]
        return TransactionPrimitiveData(floats, quantized, ints, bools)
