"""Measured peaks of an adapter: memory copied, multiply-adds in registers, matrix products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from burn_wgpu.backends.wgpu.movement_ops import full
from burn_wgpu.backends.wgpu.run import run1
from burn_wgpu.backends.wgpu.tensor import WgpuDevice
from burn_wgpu.kernel.ceiling import OPERATIONS_PER_ROUND, WORKGROUP, fma_plan
from burn_wgpu.kernel.map import copy_plan
from burn_wgpu.runtime.profile import profiler_of
from burn_wgpu.shader.prelude import KINDS
from burn_wgpu.std.dtype import F32, DType
from burn_wgpu.std.errors import UnsupportedError

_RUNS = 5


def measure(backend: Any, device: WgpuDevice, operation: str, dtype: DType) -> tuple[float, str]:
    """(bytes or operations a second, the clock's name): the best of five runs after one that compiles.

    Raises UnsupportedError for an operation or dtype that there is no kernel for.
    """
    if dtype not in KINDS or not dtype.is_float and operation != "copy":
        raise UnsupportedError(f"performance_stats: {operation} of {dtype}; {device} has no kernel for it")
    software = device.capability.software
    if operation == "copy":
        work, amount = _copy(device, dtype, (1 << 22) if software else (1 << 26))
    elif operation == "multiply_add":
        if dtype is not F32:
            raise UnsupportedError(f"performance_stats: multiply_add of {dtype}; kernels multiply and add in f32")
        work, amount = _multiply_add(device, *((64, 200) if software else (8192, 2000)))
    elif operation == "matmul":
        work, amount = _matmul(backend, device, dtype, 256 if software else 4096)
    else:
        raise UnsupportedError(f"performance_stats: {operation!r} is not measured; copy, multiply_add and matmul are")
    profiler = profiler_of(device.client)
    work()
    durations = [profiler.measure(work) for _ in range(_RUNS)]
    best = min(durations, key=lambda d: d.seconds)
    return amount / max(best.seconds, 1e-9), "timestamps" if best.by_timestamps else "wall"


def _copy(device: WgpuDevice, dtype: DType, size_bytes: int) -> tuple[Callable[[], object], float]:
    x = full((size_bytes // dtype.size_bytes,), 1, device, dtype)
    layout = x.layout
    # Both ways over the bus count.
    return lambda: run1(
        device, ("peak_copy", layout, dtype), lambda c: copy_plan(layout, dtype, c), (x,)
    ), 2 * size_bytes


def _multiply_add(device: WgpuDevice, groups: int, rounds: int) -> tuple[Callable[[], object], float]:
    amount = groups * WORKGROUP * rounds * OPERATIONS_PER_ROUND
    return lambda: run1(device, ("peak_fma", groups, rounds), lambda c: fma_plan(groups, rounds, c), ()), amount


def _matmul(backend: Any, device: WgpuDevice, dtype: DType, size: int) -> tuple[Callable[[], object], float]:
    x = full((size, size), 0.5, device, dtype)
    return lambda: backend.float_matmul(x, x), 2.0 * size**3
