"""Matrix products: time, TFLOP/s and GB/s of the plan's own choice, each result checked first.

    python bench/bench_matmul.py [--json FILE] [--every-kernel] [--small] [--device N]

Compares with PyTorch on CUDA (TF32 off) where there is one. `--every-kernel` times each kernel by name on the square
sizes, which is what the rules of kernel/matmul.py are made from; `--small` is for software adapters.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from math import prod
from statistics import median
from typing import Any

import numpy as np

from burn_wgpu.backends.wgpu.tensor import WgpuDevice
from burn_wgpu.kernel.matmul import KERNELS, TILES, matmul_plan
from burn_wgpu.runtime.client import Task
from burn_wgpu.runtime.memory import Lease
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.data import TensorData
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.layout import Layout, Shape

try:
    import torch

    CUDA = torch.cuda.is_available()
except ImportError:
    CUDA = False

Row = dict[str, Any]
ROUNDS = 3
SECONDS = 0.06  # of work in one round
ROUNDING = {dt.F32: 0.0, dt.F16: 2.0**-11, dt.BF16: 2.0**-8}


class Case:
    """A product of random matrices on the device; `transposed` says which operands are views of their transpose."""

    def __init__(self, lhs: Shape, rhs: Shape, dtype: DType, transposed: tuple[bool, bool], device: WgpuDevice) -> None:
        self.lhs, self.rhs, self.dtype, self.device = lhs, rhs, dtype, device
        self.arrays: list[np.ndarray] = []
        self.layouts: list[Layout] = []
        self.leases: list[Lease] = []
        for seed, (shape, swap) in enumerate(zip((lhs, rhs), transposed, strict=True)):
            r = len(shape)
            stored = (*shape[:-2], shape[-1], shape[-2]) if swap else shape
            values = np.random.default_rng(seed).standard_normal(stored, dtype=np.float32)
            data = TensorData.of(values, dtype)
            self.leases.append(device.client.upload(np.ascontiguousarray(data.array), data.array.nbytes))
            layout = Layout.dense(stored)
            values = np.asarray(data.numpy(), np.float32)
            self.layouts.append(layout.swap_dims(r - 2, r - 1) if swap else layout)
            self.arrays.append(np.swapaxes(values, -1, -2) if swap else values)

    @property
    def shape(self) -> Shape:
        return (*np.broadcast_shapes(self.lhs[:-2], self.rhs[:-2]), self.lhs[-2], self.rhs[-1])

    def task(self, kernel: str | None, splits: int | None) -> Task:
        plan = matmul_plan("matmul", *self.layouts, self.dtype, self.device.capability, kernel=kernel, splits=splits)
        return self.device.client.task(plan)

    def check(self, task: Task) -> None:
        """Raises AssertionError when rows of the result are off by more than k f32 roundings and one of the dtype."""
        out = task.run(tuple(self.leases))[0]
        raw = self.device.client.stream.download([(out, 0, task.outputs[0].size_bytes)])[0]
        values = raw.view(self.dtype.numpy)
        got = dt.bf16_to_float32(values) if self.dtype is dt.BF16 else values
        got = got.reshape(self.shape).astype(np.float64)
        rows = np.unique(np.linspace(0, self.shape[-2] - 1, 7).astype(int))
        a, b = (x.astype(np.float64) for x in self.arrays)
        want, sums = np.matmul(a[..., rows, :], b), np.matmul(np.abs(a[..., rows, :]), np.abs(b))
        limit = self.lhs[-1] * 2.0**-24 * sums
        limit += ROUNDING[self.dtype] * (np.abs(want) + limit) + 2.0**-25
        worst = float(np.max(np.abs(got[..., rows, :] - want) / limit))
        assert worst <= 1, f"{self.lhs} @ {self.rhs} {self.dtype}: error {worst:.3g} times the limit"

    def row(self, who: str, seconds: float) -> Row:
        size = self.dtype.size_bytes * (prod(self.lhs) + prod(self.rhs) + prod(self.shape))
        return {
            "who": who,
            "lhs": list(self.lhs),
            "rhs": list(self.rhs),
            "dtype": self.dtype.name,
            "views": "".join("nt"[x.strides[-1] != 1 and x.shape[-1] > 1] for x in self.layouts),
            "us": round(seconds * 1e6, 2),
            "tflops": round(2 * prod(self.shape) * self.lhs[-1] / seconds / 1e12, 3),
            "gbs": round(size / seconds / 1e9, 1),
        }


def measure(function: Callable[[], object], wait: Callable[[], object]) -> float:
    """Seconds of one call: the median over rounds of many calls between two waits."""
    for _ in range(2):
        function()
    wait()
    start = time.perf_counter()
    function()
    wait()
    calls = max(3, min(400, int(SECONDS / (time.perf_counter() - start))))
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(calls):
            function()
        wait()
        times.append((time.perf_counter() - start) / calls)
    return median(times)


def cases(small: bool) -> list[tuple[Shape, Shape, DType, tuple[bool, bool]]]:
    plain, right = (False, False), (False, True)
    if small:
        return [((n, n), (n, n), d, plain) for n in (256, 512) for d in (dt.F32, dt.F16)]
    square = [((n, n), (n, n), dt.F32, plain) for n in (8192, 4096, 2048, 1536, 1024, 768, 512, 256)]
    views = [((4096, 4096), (4096, 4096), dt.F32, v) for v in (right, (True, False), (True, True))]
    halves = [((n, n), (n, n), d, plain) for n in (4096, 1024) for d in (dt.F16, dt.BF16)]
    odd = [((n, n), (n, n), dt.F32, plain) for n in (4100, 4095, 1000)]
    shapes: list[tuple[Shape, Shape]] = [
        ((8192, 768), (768, 3072)), ((8192, 768), (768, 64)), ((128, 768), (768, 3072)), ((64, 65536), (65536, 64)),
        ((96, 512, 64), (96, 64, 512)), ((96, 512, 512), (96, 512, 64)), ((1024, 32, 32), (1024, 32, 32)),
        ((70_000, 4, 5), (70_000, 5, 6)), ((16, 4096), (4096, 4096)), ((4, 4096), (4096, 4096)),
        ((1, 1024), (1024, 1024)), ((1, 4096), (4096, 4096)), ((1, 8192), (8192, 8192)), ((4096, 4096), (4096, 1)),
        ((1, 1 << 24), (1 << 24, 1)),
    ]  # fmt: skip
    vectors = [((1, n), (n, n), d, right) for n in (4096, 8192) for d in (dt.F32, dt.F16)]
    return [*square, *views, *halves, *odd, *((a, b, dt.F32, plain) for a, b in shapes), *vectors]


def run_torch(case: Case) -> Row:
    kinds = {dt.F32: torch.float32, dt.F16: torch.float16, dt.BF16: torch.bfloat16}
    a, b = (torch.from_numpy(np.ascontiguousarray(x)).cuda().to(kinds[case.dtype]) for x in case.arrays)
    a, b = (x.mT.contiguous().mT if y.strides[-1] != 1 else x for x, y in zip((a, b), case.layouts, strict=True))
    return case.row("torch", measure(lambda: a @ b, torch.cuda.synchronize))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json")
    parser.add_argument("--device", type=int, default=0)
    parser.add_argument("--every-kernel", action="store_true")
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    if CUDA:
        torch.backends.cuda.matmul.allow_tf32 = False
    device = WgpuDevice(options.device)
    rows: list[Row] = []

    def note(row: Row) -> None:
        rows.append(row)
        print(
            f"{row['who']:24}{row['lhs']!s:>20} @ {row['rhs']!s:>20} {row['dtype']:5}{row['views']} "
            f"{row['us']:10.1f} µs {row['tflops']:8.2f} TFLOP/s {row['gbs']:8.0f} GB/s",
            flush=True,
        )

    print(device.capability.adapter)
    for lhs, rhs, dtype, views in cases(options.small):
        case = Case(lhs, rhs, dtype, views, device)
        names: list[tuple[str | None, int | None]] = [(None, None)]
        if options.every_kernel and len(lhs) == 2 and lhs == rhs and views == (False, False):
            names += [(kernel, splits) for kernel in TILES for splits in (1, 2, 4) if splits == 1 or lhs[0] <= 1024]
            names += [(kernel, 1) for kernel in KERNELS if kernel.startswith("small") and lhs[0] <= 512]
        for kernel, splits in names:
            task = case.task(kernel, splits)
            case.check(task)
            inputs = tuple(case.leases)
            seconds = measure(lambda t=task, i=inputs: t.run(i), device.client.stream.wait)  # type: ignore[misc]
            note(case.row("burn_wgpu" if kernel is None else f"{kernel}/{splits}", seconds))
        if CUDA:
            note(run_torch(case))
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"adapter": device.capability.adapter, "rows": rows}, file, indent=1)


if __name__ == "__main__":
    main()
