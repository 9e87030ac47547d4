"""Kernel benchmarks: cases with the bytes and operations they must do, and how they are measured.

`burn-wgpu bench` and the pytest-benchmark files in bench/ share these cases. A result names adapter and versions and
says what share of a measured ceiling it reached: the copy bandwidth of the same run for kernels bound by memory, the
multiply-add rate for those bound by arithmetic.
"""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from math import prod
from typing import Any

import numpy as np

from burn_wgpu.contract.options import AttentionModuleOptions, ConvOptions
from burn_wgpu.std.data import TensorData
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.errors import ArgumentError

Work = Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A case with its tensors made: what to call, and the least it must move and compute."""

    work: Work
    bytes: int
    operations: int


@dataclass(frozen=True, slots=True)
class Case:
    """A kernel to measure.

    build    (context, dtype, size) → Prepared; size is the case's main extent
    size     default extent on a GPU; small is the one on a software adapter
    bound    "memory" or "compute": the ceiling that the share refers to
    """

    name: str
    build: Callable[[Context, DType, int], Prepared]
    size: int
    small: int
    bound: str = "memory"


@dataclass(slots=True)
class Result:
    """One measured case. ms is the median per call, spread half the range between quartiles over the median; noisy: a
    software adapter, whose cores others use too, seemed to pass the ceiling that was measured before."""

    name: str
    dtype: str
    size: int
    shape: str
    ms: float
    ms_min: float
    spread: float
    gb_s: float
    tflop_s: float
    share: float
    bound: str
    clock: str
    samples: list[float] = field(default_factory=list)
    noisy: bool = False


class Context:
    """A backend and a device handle to build tensors on."""

    def __init__(self, backend: Any, handle: Any) -> None:
        self.backend = backend
        self.handle = handle
        self.rng = np.random.default_rng(7)
        self.gpu = hasattr(handle, "client")
        self._profiler: Any = None

    @property
    def software(self) -> bool:
        return not self.gpu or self.handle.capability.software

    def tensor(self, shape: tuple[int, ...], dtype: DType) -> Any:
        """Standard normal values. Raises UnsupportedError or ArgumentError for more than device or host can hold."""
        size = prod(shape)
        if self.gpu:
            self.handle.client.pool.check("bench", size * dtype.size_bytes)
        room = _host_bytes()
        if room is not None and 4 * size > room // 2:
            raise ArgumentError(
                f"bench: {4 * size} bytes of values exceed half of the host's {room} bytes of memory; "
                f"give a smaller --size"
            )
        values = self.rng.standard_normal(shape, dtype=np.float32)
        return self.backend.float_from_data(TensorData.of(values, dtype), self.handle)

    def seconds(self, work: Work) -> tuple[float, str]:
        """How long the device needs for `work`, and by which clock."""
        if not self.gpu:
            start = time.perf_counter()
            work()
            return time.perf_counter() - start, "wall"
        if self._profiler is None:
            from burn_wgpu.runtime.profile import profiler_of

            self._profiler = profiler_of(self.handle.client)
            self._idle = min(self._profiler.measure(lambda: None).seconds for _ in range(5))
        seconds, by_timestamps = self._profiler.measure(work)
        if by_timestamps:
            return seconds, "timestamps"
        return max(seconds - self._idle, 1e-9), "wall less an empty submission"

    def fma(self, groups: int, rounds: int) -> Any:
        from burn_wgpu.backends.wgpu.run import run1
        from burn_wgpu.kernel.ceiling import fma_plan

        return run1(self.handle, ("fma", groups, rounds), lambda c: fma_plan(groups, rounds, c), ())

    def copy(self, tensor: Any) -> Any:
        """A copy of a contiguous tensor by a kernel (on the reference backend, NumPy's)."""
        if not self.gpu:
            return tensor.values.copy()
        from burn_wgpu.backends.wgpu.run import run1
        from burn_wgpu.kernel.map import copy_plan

        layout, dtype = tensor.layout, tensor.dtype
        return run1(self.handle, ("copy", layout, dtype), lambda c: copy_plan(layout, dtype, c, "copy"), (tensor,))

    def materialise(self, tensor: Any) -> Any:
        """A view as a contiguous tensor of its own."""
        if not self.gpu:
            return np.ascontiguousarray(tensor.values)
        from burn_wgpu.backends.wgpu.run import contiguous

        return contiguous(tensor)


def _rows(size: int) -> tuple[int, int]:
    """[rows, columns] of a row-wise case: 4096 columns, `size` rows."""
    return size, 4096


def _copy(c: Context, dtype: DType, size: int) -> Prepared:
    x = c.tensor(_rows(size), dtype)
    return Prepared(lambda: c.copy(x), 2 * size * 4096 * dtype.size_bytes, 0)


def _add(c: Context, dtype: DType, size: int) -> Prepared:
    x, y = c.tensor(_rows(size), dtype), c.tensor(_rows(size), dtype)
    return Prepared(lambda: c.backend.float_add(x, y), 3 * size * 4096 * dtype.size_bytes, size * 4096)


def _exp(c: Context, dtype: DType, size: int) -> Prepared:
    x = c.tensor(_rows(size), dtype)
    return Prepared(lambda: c.backend.float_exp(x), 2 * size * 4096 * dtype.size_bytes, size * 4096)


def _sum_rows(c: Context, dtype: DType, size: int) -> Prepared:
    x = c.tensor(_rows(size), dtype)
    return Prepared(lambda: c.backend.float_sum_dim(x, 1), (size * 4096 + size) * dtype.size_bytes, size * 4096)


def _sum_columns(c: Context, dtype: DType, size: int) -> Prepared:
    x = c.tensor(_rows(size), dtype)
    return Prepared(lambda: c.backend.float_sum_dim(x, 0), (size * 4096 + 4096) * dtype.size_bytes, size * 4096)


def _sum(c: Context, dtype: DType, size: int) -> Prepared:
    x = c.tensor(_rows(size), dtype)
    return Prepared(lambda: c.backend.float_sum(x), size * 4096 * dtype.size_bytes, size * 4096)


def _softmax(c: Context, dtype: DType, size: int) -> Prepared:
    x = c.tensor(_rows(size), dtype)
    return Prepared(lambda: c.backend.softmax(x, 1), 2 * size * 4096 * dtype.size_bytes, 5 * size * 4096)


def _layer_norm(c: Context, dtype: DType, size: int) -> Prepared:
    x, g, b = c.tensor(_rows(size), dtype), c.tensor((4096,), dtype), c.tensor((4096,), dtype)
    return Prepared(lambda: c.backend.layer_norm(x, g, b, 1e-5), 2 * size * 4096 * dtype.size_bytes, 8 * size * 4096)


def _transpose(c: Context, dtype: DType, size: int) -> Prepared:
    x = c.tensor((size, size), dtype)
    return Prepared(lambda: c.materialise(c.backend.float_swap_dims(x, 0, 1)), 2 * size * size * dtype.size_bytes, 0)


def _matmul(c: Context, dtype: DType, size: int) -> Prepared:
    x, y = c.tensor((size, size), dtype), c.tensor((size, size), dtype)
    return Prepared(lambda: c.backend.float_matmul(x, y), 3 * size * size * dtype.size_bytes, 2 * size**3)


def _gemv(c: Context, dtype: DType, size: int) -> Prepared:
    x, w = c.tensor((1, size), dtype), c.tensor((size, size), dtype)
    moved = (size * size + 2 * size) * dtype.size_bytes
    return Prepared(lambda: c.backend.float_matmul(x, w), moved, 2 * size * size)


def _cumsum(c: Context, dtype: DType, size: int) -> Prepared:
    x = c.tensor(_rows(size), dtype)
    return Prepared(lambda: c.backend.float_cumsum(x, 1), 2 * size * 4096 * dtype.size_bytes, size * 4096)


def _sort(c: Context, dtype: DType, size: int) -> Prepared:
    x = c.tensor(_rows(size), dtype)
    return Prepared(lambda: c.backend.float_sort(x, 1, False), 2 * size * 4096 * dtype.size_bytes, 0)


def _select(c: Context, dtype: DType, size: int) -> Prepared:
    x = c.tensor(_rows(size), dtype)
    order = TensorData.of(c.rng.permutation(size).astype(np.int32))
    indices = c.backend.int_from_data(order, c.handle)
    return Prepared(lambda: c.backend.float_select(x, 0, indices), 2 * size * 4096 * dtype.size_bytes, 0)


def _conv3x3(c: Context, dtype: DType, size: int) -> Prepared:
    """`size` images of 64 channels, 56 x 56, to 64 channels, padding 1."""
    x, w = c.tensor((size, 64, 56, 56), dtype), c.tensor((64, 64, 3, 3), dtype)
    options = ConvOptions((1, 1), (1, 1), (1, 1), 1)
    moved = (2 * size * 64 * 56 * 56 + 64 * 64 * 9) * dtype.size_bytes
    return Prepared(lambda: c.backend.conv2d(x, w, None, options), moved, 2 * size * 64 * 56 * 56 * 64 * 9)


def _depthwise(c: Context, dtype: DType, size: int) -> Prepared:
    """`size` images of 144 channels, 56 x 56, a 3 x 3 filter a channel, padding 1."""
    x, w = c.tensor((size, 144, 56, 56), dtype), c.tensor((144, 1, 3, 3), dtype)
    options = ConvOptions((1, 1), (1, 1), (1, 1), 144)
    elements = size * 144 * 56 * 56
    return Prepared(lambda: c.backend.conv2d(x, w, None, options), 2 * elements * dtype.size_bytes, 18 * elements)


def _attention(c: Context, dtype: DType, size: int) -> Prepared:
    """8 sequences of `size` tokens, 16 heads of 64, no mask."""
    q, k, v = (c.tensor((8, 16, size, 64), dtype) for _ in range(3))
    options = AttentionModuleOptions()
    moved = 4 * 8 * 16 * size * 64 * dtype.size_bytes
    return Prepared(lambda: c.backend.attention(q, k, v, None, None, options), moved, 4 * 8 * 16 * size * size * 64)


CASES: dict[str, Case] = {
    case.name: case
    for case in (
        Case("copy", _copy, 16_384, 1024),
        Case("add", _add, 16_384, 1024),
        Case("exp", _exp, 16_384, 1024),
        Case("sum-rows", _sum_rows, 16_384, 1024),
        Case("sum-columns", _sum_columns, 16_384, 1024),
        Case("sum", _sum, 16_384, 1024),
        Case("softmax", _softmax, 16_384, 1024),
        Case("layer_norm", _layer_norm, 16_384, 1024),
        Case("transpose", _transpose, 8192, 1024),
        Case("matmul", _matmul, 4096, 256, "compute"),
        Case("gemv", _gemv, 8192, 1024),
        Case("cumsum", _cumsum, 16_384, 256),
        Case("sort", _sort, 4096, 64),
        Case("select", _select, 16_384, 256),
        Case("conv3x3", _conv3x3, 32, 1, "compute"),
        Case("depthwise", _depthwise, 32, 1),
        Case("attention", _attention, 2048, 64, "compute"),
    )
}
GROUPS = {"elementwise": ("add", "exp"), "reduce": ("sum-rows", "sum-columns", "sum")}


def choose(names: Iterable[str]) -> list[Case]:
    """Cases by name or group; all when none is named. Raises ArgumentError that lists what there is."""
    chosen: dict[str, Case] = {}
    for name in names:
        for one in GROUPS.get(name, (name,)):
            if one not in CASES:
                known = ", ".join([*CASES, *GROUPS])
                raise ArgumentError(f"bench: there is no case '{one}'; known are {known}")
            chosen[one] = CASES[one]
    return list(chosen.values()) or list(CASES.values())


def measure(
    c: Context, case: Case, dtype: DType, size: int | None, ceilings: Ceilings, budget_s: float = 0.5
) -> Result:
    """The case's median time per call: warm, repeated within a sample so that the clock's grain does not matter."""
    extent = size or (case.small if c.software else case.size)
    prepared = case.build(c, dtype, extent)
    prepared.work()
    once, _ = c.seconds(prepared.work)
    per_sample = max(budget_s / 8, 1e-3)
    repeats = int(min(max(per_sample / max(once, 1e-7), 1), 200))

    def sample() -> None:
        for _ in range(repeats):
            prepared.work()

    samples, clock = [], ""
    for _ in range(8):
        seconds, clock = c.seconds(sample)
        samples.append(seconds / repeats)
    median = statistics.median(samples)
    quartiles = statistics.quantiles(samples, n=4)
    gb_s = prepared.bytes / median / 1e9
    tflop_s = prepared.operations / median / 1e12
    share = tflop_s / ceilings.tflop_s if case.bound == "compute" else gb_s / ceilings.gb_s
    noisy = c.software and share > 1.05
    if case.bound == "compute" and share > 1.05 and not noisy:
        raise ArgumentError(f"bench: {case.name} reads {tflop_s:.1f} TFLOP/s, above the ceiling {ceilings.tflop_s:.1f}")
    return Result(
        case.name, dtype.name, extent, str(extent), median * 1e3, min(samples) * 1e3,
        (quartiles[2] - quartiles[0]) / 2 / median, gb_s, tflop_s, share, case.bound, clock,
        [round(s * 1e3, 6) for s in samples], noisy,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Ceilings:
    """What the adapter was measured to reach: copy bandwidth and f32 multiply-adds."""

    gb_s: float
    tflop_s: float


def ceilings(c: Context) -> Ceilings:
    """Measures both ceilings on this device."""
    from burn_wgpu.std.dtype import F32

    case = CASES["copy"]
    base = Ceilings(1.0, 1.0)
    gb_s = measure(c, case, F32, None, base).gb_s
    if not c.gpu:
        size = 1024
        x = np.ones((size, size), np.float32)
        best = min(_timed(lambda: x @ x) for _ in range(5))
        return Ceilings(gb_s, 2 * size**3 / best / 1e12)
    from burn_wgpu.kernel.ceiling import OPERATIONS_PER_ROUND, WORKGROUP

    groups, rounds = (64, 200) if c.software else (8192, 2000)
    c.fma(groups, rounds)
    best = min(c.seconds(lambda: c.fma(groups, rounds))[0] for _ in range(5))
    return Ceilings(gb_s, groups * WORKGROUP * rounds * OPERATIONS_PER_ROUND / best / 1e12)


def _host_bytes() -> int | None:
    """The host's memory, where the system tells."""
    if not hasattr(os, "sysconf"):
        return None
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _timed(work: Work) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def environment(c: Context) -> dict[str, Any]:
    """Adapter and versions, for every published number."""
    from importlib.metadata import PackageNotFoundError, version

    def installed(name: str) -> str:
        try:
            return version(name)
        except PackageNotFoundError:
            return "not installed"

    info: dict[str, Any] = {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "versions": {name: installed(name) for name in ("burn-wgpu", "wgpu", "numpy")},
        "date": time.strftime("%Y-%m-%d"),
    }
    if c.gpu:
        adapter = c.handle.client.info
        info |= {"adapter": adapter.name, "backend": adapter.backend, "driver": adapter.driver, "kind": adapter.kind}
    else:
        info |= {"adapter": platform.processor() or "cpu", "backend": "reference", "driver": "", "kind": "cpu"}
    return info


def as_json(results: list[Result], found: Ceilings, c: Context) -> dict[str, Any]:
    """The whole run as plain data."""
    return {"environment": environment(c), "ceilings": asdict(found), "results": [asdict(r) for r in results]}
