"""Convolutions and their gradients beside PyTorch's (cuDNN, TF32 off) on the same GPU, in one run: JSON and a table.

    python bench/bench_conv.py [--json FILE] [--md FILE] [--before FILE] [--cases a,b] [--budget SECONDS] [--check]

Ours are timed by timestamp queries, PyTorch's by CUDA events with cudnn.benchmark on; both warm, medians of eight
samples. A case's limit is the longer of what its bytes take at the copy bandwidth and its operations at the
multiply-add rate, both measured in the same run; operations are those of the direct formula. `--before` takes another
run's JSON, whose times become a column. `--check` compares every result with PyTorch's first.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from burn_wgpu.backends.wgpu.backend import WgpuBackend
from burn_wgpu.backends.wgpu.tensor import WgpuDevice
from burn_wgpu.contract.options import ConvOptions, ConvTransposeOptions
from burn_wgpu.std.dtype import BF16, F16, F32, DType
from burn_wgpu.testing import bench

try:
    import torch

    CUDA = torch.cuda.is_available()
except ImportError:
    CUDA = False

FORMS = ("forward", "x", "weight")


@dataclass(frozen=True, slots=True)
class Case:
    """x [N, Ci, ..] and the weight of a convolution, or of a transposed one ([Ci, Co/groups, ..])."""

    name: str
    x: tuple[int, ...]
    weight: tuple[int, ...]
    stride: int = 1
    padding: int = 0
    groups: int = 1
    transposed: bool = False
    forms: tuple[str, ...] = FORMS
    dtypes: tuple[DType, ...] = (F32,)

    @property
    def rank(self) -> int:
        return len(self.x) - 2

    @property
    def out(self) -> tuple[int, ...]:
        space = zip(self.x[2:], self.weight[2:], strict=True)
        if self.transposed:
            sizes = [(n - 1) * self.stride - 2 * self.padding + k for n, k in space]
            return self.x[0], self.weight[1] * self.groups, *sizes
        sizes = [(n + 2 * self.padding - k) // self.stride + 1 for n, k in space]
        return self.x[0], self.weight[0], *sizes

    @property
    def options(self) -> Any:
        r = self.rank
        if self.transposed:
            return ConvTransposeOptions((self.stride,) * r, (self.padding,) * r, (0,) * r, (1,) * r, self.groups)
        return ConvOptions((self.stride,) * r, (self.padding,) * r, (1,) * r, self.groups)

    @property
    def operations(self) -> int:
        seen = self.x if self.transposed else self.out
        return 2 * seen[0] * prod(seen[2:]) * prod(self.weight)

    @property
    def elements(self) -> int:
        return prod(self.x) + prod(self.weight) + prod(self.out)


CASES = [
    Case("3x3 64-64 56", (32, 64, 56, 56), (64, 64, 3, 3), 1, 1, dtypes=(F32, F16, BF16)),
    Case("3x3 128-128 28", (32, 128, 28, 28), (128, 128, 3, 3), 1, 1),
    Case("3x3 128-256 28", (32, 128, 28, 28), (256, 128, 3, 3), 1, 1),
    Case("3x3 512-512 7", (32, 512, 7, 7), (512, 512, 3, 3), 1, 1),
    Case("3x3 64-64 56, 1 image", (1, 64, 56, 56), (64, 64, 3, 3), 1, 1),
    Case("1x1 64-256 56", (32, 64, 56, 56), (256, 64, 1, 1)),
    Case("1x1 1024-256 14", (32, 1024, 14, 14), (256, 1024, 1, 1)),
    Case("7x7 s2 3-64 224", (32, 3, 224, 224), (64, 3, 7, 7), 2, 3),
    Case("3x3 s2 64-128 56", (32, 64, 56, 56), (128, 64, 3, 3), 2, 1),
    Case("depthwise 3x3 144 56", (32, 144, 56, 56), (144, 1, 3, 3), 1, 1, 144, dtypes=(F32, F16)),
    Case("depthwise 3x3 s2 144 56", (32, 144, 56, 56), (144, 1, 3, 3), 2, 1, 144),
    Case("depthwise 5x5 144 56", (32, 144, 56, 56), (144, 1, 5, 5), 1, 2, 144),
    Case("depthwise 5x5 s2 144 56", (32, 144, 56, 56), (144, 1, 5, 5), 2, 2, 144),
    Case("depthwise 7x7 96 56", (32, 96, 56, 56), (96, 1, 7, 7), 1, 3, 96),
    Case("3x3 128 in 32 groups 56", (32, 128, 56, 56), (128, 4, 3, 3), 1, 1, 32),
    Case("3x3 256 in 32 groups 28", (32, 256, 28, 28), (256, 8, 3, 3), 1, 1, 32),
    Case("1d k5 128-128 4096", (16, 128, 4096), (128, 128, 5), 1, 2),
    Case("3d 3x3x3 32-64 16 28", (4, 32, 16, 28, 28), (64, 32, 3, 3, 3), 1, 1),
    Case("transposed 4x4 s2 128-64 28", (32, 128, 28, 28), (128, 64, 4, 4), 2, 1, transposed=True),
]


class Bound:
    """A case with its tensors on our device and, with CUDA, PyTorch's."""

    def __init__(self, case: Case, dtype: DType, context: bench.Context) -> None:
        self.case, self.dtype, self.context = case, dtype, context
        shapes = {"x": case.x, "w": case.weight, "g": case.out}
        self.ours = {name: context.tensor(shape, dtype) for name, shape in shapes.items()}
        self.theirs: dict[str, Any] = {}
        if CUDA:
            kinds = {F32: torch.float32, F16: torch.float16, BF16: torch.bfloat16}
            for name, t in self.ours.items():
                data = context.backend.float_into_data(t).convert(F32).array
                self.theirs[name] = torch.from_numpy(np.ascontiguousarray(data)).cuda().to(kinds[dtype])

    def work(self, form: str) -> Callable[[], Any]:
        case, b, (x, w, g) = self.case, self.context.backend, self.ours.values()
        name, options = f"conv{'_transpose' * case.transposed}{case.rank}d", case.options
        if form == "forward":
            return lambda: getattr(b, name)(x, w, None, options)
        if form == "x":
            backward = getattr(b, f"{name}_x_backward")
            return (lambda: backward(w, g, options)) if case.transposed else (lambda: backward(x, w, g, options))
        return lambda: getattr(b, f"{name}_weight_backward")(x, w, g, options)

    def peer(self, form: str) -> Callable[[], Any]:
        case, (x, w, g), r = self.case, self.theirs.values(), self.case.rank
        if form == "forward":
            function = getattr(torch.nn.functional, f"conv{'_transpose' * case.transposed}{r}d")
            return lambda: function(x, w, stride=case.stride, padding=case.padding, groups=case.groups)
        settings = ([case.stride] * r, [case.padding] * r, [1] * r, case.transposed, [0] * r, case.groups)
        mask = [form == "x", form == "weight", False]
        backward = torch.ops.aten.convolution_backward
        return lambda: backward(g, x, w, None, *settings, mask)[0 if form == "x" else 1]

    def check(self, form: str) -> float:
        """The largest difference from PyTorch's result, over the largest element."""
        got = self.context.backend.float_into_data(self.work(form)()).convert(F32).array
        want = self.peer(form)().float().cpu().numpy()
        return float(np.abs(got - want).max() / np.abs(want).max())


def median_ms(seconds: Callable[[Callable[[], Any]], float], work: Callable[[], Any], budget_s: float) -> float:
    for _ in range(2):
        work()
    once = seconds(work)
    repeats = int(min(max(budget_s / 8 / max(once, 1e-7), 1), 200))

    def sample() -> None:
        for _ in range(repeats):
            work()

    return statistics.median(seconds(sample) / repeats for _ in range(8)) * 1e3


def cuda_seconds(work: Callable[[], Any]) -> float:
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    work()
    end.record()
    torch.cuda.synchronize()
    return float(start.elapsed_time(end)) / 1e3


def prepare() -> bench.Context:
    if CUDA:
        torch.backends.cudnn.allow_tf32 = False
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.benchmark = True
    return bench.Context(WgpuBackend(), WgpuDevice())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--md", type=Path)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--cases", default="", help="parts of names, by commas")
    parser.add_argument("--budget", type=float, default=0.1)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    context = prepare()
    ceilings = bench.ceilings(context)
    earlier: dict[tuple[str, ...], float] = {}
    if args.before:
        for row in json.loads(args.before.read_text())["results"]:
            earlier[row["name"], row["form"], row["dtype"]] = row["ms"]
    parts = [part for part in args.cases.split(",") if part]
    rows: list[dict[str, Any]] = []
    for case in CASES:
        if parts and not any(part in case.name for part in parts):
            continue
        for dtype in case.dtypes:
            bound = Bound(case, dtype, context)
            for form in case.forms:
                error = bound.check(form) if args.check and CUDA else None
                ms = median_ms(lambda work: context.seconds(work)[0], bound.work(form), args.budget)
                peer = median_ms(cuda_seconds, bound.peer(form), args.budget) if CUDA else None
                moved = case.elements * dtype.size_bytes
                limit = max(moved / ceilings.gb_s / 1e6, case.operations / ceilings.tflop_s / 1e9)
                row = {
                    "name": case.name, "form": form, "dtype": dtype.name, "ms": ms,
                    "before_ms": earlier.get((case.name, form, dtype.name)), "torch_ms": peer,
                    "tflop_s": case.operations / ms / 1e9, "gb_s": moved / ms / 1e6, "limit_ms": limit,
                    "share": limit / ms, "bound": "memory" if limit == moved / ceilings.gb_s / 1e6 else "compute",
                    "error": error,
                }  # fmt: skip
                rows.append(row)
                print(json.dumps(row), flush=True)
        if CUDA:
            torch.cuda.empty_cache()
    environment = bench.environment(context)
    if CUDA:
        environment |= {"torch": torch.__version__, "gpu": torch.cuda.get_device_name(0)}
    found = {"gb_s": ceilings.gb_s, "tflop_s": ceilings.tflop_s}
    if args.json:
        args.json.write_text(
            json.dumps({"environment": environment, "ceilings": found, "results": rows}, indent=1) + "\n"
        )
    if args.md:
        args.md.write_text(table(environment, found, rows))


def table(environment: dict[str, Any], ceilings: dict[str, float], rows: list[dict[str, Any]]) -> str:
    lines = [
        f"# Convolutions, {environment.get('gpu', environment['adapter'])}",
        "",
        f"{environment['driver']}, wgpu {environment['versions']['wgpu']}, torch {environment.get('torch', '–')}, "
        f"{environment['date']}. Ceilings: copy {ceilings['gb_s']:.0f} GB/s, multiply-add {ceilings['tflop_s']:.1f} "
        "TFLOP/s; `limit` is what bytes and operations of the direct formula take at them.",
        "",
        "| case | form | dtype | before ms | ms | TFLOP/s | GB/s | limit ms | share | torch ms | torch / ours |",
        "|---" * 11 + "|",
    ]
    for r in rows:
        before = f"{r['before_ms']:.4f}" if r["before_ms"] else "–"
        peer = f"{r['torch_ms']:.4f} | {r['torch_ms'] / r['ms']:.2f}" if r["torch_ms"] else "– | –"
        lines.append(
            f"| {r['name']} | {r['form']} | {r['dtype']} | {before} | {r['ms']:.4f} | {r['tflop_s']:.1f} | "
            f"{r['gb_s']:.0f} | {r['limit_ms']:.4f} ({r['bound']}) | {100 * r['share']:.0f} % | {peer} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
