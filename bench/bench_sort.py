"""Sorting and top-k, and PyTorch's (CUDA) on the same GPU in the same run where it is installed: JSON and a table.

    python bench/bench_sort.py [--out FOLDER] [--before JSON] [--budget SECONDS]

Ours are timed by timestamp queries, PyTorch's by CUDA events; both warm, medians of several samples. The rate counts
what must be moved at least: the values read once and the results written once. `sort` gives values only;
`sort_with_indices` and `topk_with_indices` give 64-bit positions too (of ints: in the tensor's dtype), as PyTorch's
sort and topk always do. --before names the JSON of an earlier run: the times that it compared with, or else its own,
become a column.

An NVIDIA GPU that is mostly idle lowers its clocks after a few seconds, which made times up to three times as long in
runs without PyTorch; its CUDA context, kept through the run, prevents that.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from compare import torch_ms

from burn_wgpu.backends.wgpu.backend import WgpuBackend
from burn_wgpu.backends.wgpu.tensor import WgpuDevice
from burn_wgpu.std.data import TensorData
from burn_wgpu.std.dtype import F16, F32, I32, I64, DType
from burn_wgpu.testing import bench

SHAPES = ((4096, 4096), (1, 1 << 24), (65_536, 256), (1024, 32_768))
SMALL = ((64, 256), (4, 9000))
KS = (8, 64)


def ours_ms(context: bench.Context, work: Callable[[], Any], budget_s: float) -> float:
    """The median GPU time of a call, once the clocks are up."""
    start = time.perf_counter()
    while time.perf_counter() - start < budget_s:
        context.seconds(work)
    once = max(context.seconds(work)[0], 1e-6)
    calls = int(min(max(budget_s / 8 / once, 1), 200))

    def several() -> None:
        for _ in range(calls):
            work()

    return 1e3 * statistics.median(context.seconds(several)[0] / calls for _ in range(8))


@cache
def random(dtype: DType) -> np.ndarray:
    """Standard normal values, or ints over the whole range; shapes take the first of them."""
    rng = np.random.default_rng(7)
    size = max(prod(shape) for shape in SHAPES)
    if dtype is I32:
        return rng.integers(-(1 << 31), 1 << 31, size, dtype=np.int32)
    return rng.standard_normal(size, dtype=np.float32).astype(dtype.numpy)


def values_of(shape: tuple[int, ...], dtype: DType) -> np.ndarray:
    return random(dtype)[: prod(shape)].reshape(shape)


def cases(backend: Any, tensor: Any) -> dict[str, tuple[Callable[[], Any], int]]:
    """name: (the call, bytes of its results)."""
    shape, dtype = tensor.shape, tensor.dtype
    kind = "float" if dtype.is_float else "int"
    extra = (I64,) if dtype.is_float else ()
    index = 8 if extra else dtype.size_bytes
    size, rows = prod(shape), shape[0]
    sort, both = getattr(backend, f"{kind}_sort"), getattr(backend, f"{kind}_sort_with_indices")
    topk = getattr(backend, f"{kind}_topk_with_indices")
    found: dict[str, tuple[Callable[[], Any], int]] = {
        "sort": (lambda: sort(tensor, 1, False), size * dtype.size_bytes),
        "sort_with_indices": (lambda: both(tensor, 1, False, *extra), size * (dtype.size_bytes + index)),
    }
    for k in KS:
        found[f"topk_with_indices, k = {k}"] = (
            lambda k=k: topk(tensor, 1, k, *extra),  # type: ignore[misc]
            rows * k * (dtype.size_bytes + index),
        )
    return found


def peers(values: np.ndarray, dtype: DType) -> dict[str, Callable[[], Any]]:
    """PyTorch's calls; without CUDA there are none."""
    try:
        import torch
    except ImportError:
        return {}
    if not torch.cuda.is_available():
        return {}
    x = torch.from_numpy(values).cuda()
    return {
        "sort": lambda: x.sort(stable=True, dim=1),
        "sort_with_indices": lambda: x.sort(stable=True, dim=1),
        **{f"topk_with_indices, k = {k}": lambda k=k: x.topk(k, 1) for k in KS},  # type: ignore[misc]
    }


def table(rows: list[dict[str, Any]]) -> str:
    lines = [
        "| function | dtype | shape | before ms | ms | GB/s | of copy | torch ms | torch / ours |",
        "|---" * 9 + "|",
    ]
    for r in rows:
        before = f"{r['before_ms']:.4f}" if r.get("before_ms") else ""
        torch = (f"{r['torch_ms']:.4f}", f"{r['torch_ms'] / r['ms']:.2f}") if r.get("torch_ms") else ("", "")
        lines.append(
            f"| {r['name']} | {r['dtype']} | {r['shape'][0]} × {r['shape'][1]} | {before} | {r['ms']:.4f} | "
            f"{r['gb_s']:.0f} | {100 * r['share']:.0f} % | {torch[0]} | {torch[1]} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--budget", type=float, default=0.1)
    args = parser.parse_args()
    backend, device = WgpuBackend(), WgpuDevice()
    context = bench.Context(backend, device)
    ceilings = bench.ceilings(context)

    earlier = json.loads(args.before.read_text())["results"] if args.before else []
    before = {(r["name"], r["dtype"], tuple(r["shape"])): r.get("before_ms", r["ms"]) for r in earlier}
    rows: list[dict[str, Any]] = []
    for dtype in (F32, I32, F16):
        for shape in SMALL if context.software else SHAPES:
            values = values_of(shape, dtype)
            data = TensorData.of(values, dtype)
            upload = backend.float_from_data if dtype.is_float else backend.int_from_data
            tensor = upload(data, device)
            others = peers(values, dtype)
            for name, (work, result_bytes) in cases(backend, tensor).items():
                ms = ours_ms(context, work, args.budget)
                gb_s = (prod(shape) * dtype.size_bytes + result_bytes) / ms / 1e6
                row: dict[str, Any] = {
                    "name": name, "dtype": dtype.name, "shape": shape, "ms": ms, "gb_s": gb_s,
                    "share": gb_s / ceilings.gb_s,
                }  # fmt: skip
                place = (name, dtype.name, shape)
                if name in others:
                    row["torch_ms"] = torch_ms(others[name], args.budget)
                if place in before:
                    row["before_ms"] = before[place]
                rows.append(row)
    environment = bench.environment(context)
    if any("torch_ms" in r for r in rows):
        import torch

        environment |= {"torch": torch.__version__, "gpu": torch.cuda.get_device_name(0)}
    print(json.dumps(environment))
    print(f"copy {ceilings.gb_s:.0f} GB/s")
    print(table(rows))
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
        stem = "sort" if context.software else "sort-h200"
        result = {"environment": environment, "ceilings": {"gb_s": ceilings.gb_s}, "results": rows}
        (args.out / f"{stem}.json").write_text(json.dumps(result, indent=1) + "\n")
        versions = f"wgpu {environment['versions']['wgpu']}"
        if "torch" in environment:
            versions += f", torch {environment['torch']}"
        (args.out / f"{stem}.md").write_text(
            f"# Sorting and top-k, {environment['adapter']}\n\n{environment['driver']}, {versions}, "
            f"{environment['date']}. Copy ceiling of the run: {ceilings.gb_s:.0f} GB/s. The rate counts the values "
            f"read once and the results written once.\nMade by `python bench/bench_sort.py`.\n\n{table(rows)}\n"
        )


if __name__ == "__main__":
    main()
