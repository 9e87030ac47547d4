"""Our kernels beside PyTorch's (CUDA) on the same GPU, in the same run: JSON and a table.

    python bench/compare.py [--out FOLDER] [--cases a,b] [--budget SECONDS]

Ours are timed by timestamp queries, PyTorch's by CUDA events; both warm, medians of several samples. TF32 is off.
Shares are of PyTorch's `clone` (memory) and of the measured multiply-add ceiling (arithmetic).
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

from burn_wgpu.backends.wgpu.backend import WgpuBackend
from burn_wgpu.backends.wgpu.tensor import WgpuDevice
from burn_wgpu.std.dtype import BF16, F16, F32
from burn_wgpu.testing import bench


def torch_cases(size: dict[str, int], dtype: Any) -> dict[str, Callable[[], Any]]:
    import torch

    def normal(*shape: int) -> Any:
        return torch.randn(*shape, device="cuda", dtype=dtype)

    x, y = normal(16_384, 4096), normal(16_384, 4096)
    gamma, beta = normal(4096), normal(4096)
    order, fewer_rows = torch.randperm(x.shape[0], device="cuda"), normal(4096, 4096)
    work: dict[str, Callable[[], Any]] = {
        "copy": lambda: x.clone(),
        "add": lambda: x + y,
        "exp": lambda: x.exp(),
        "sum-rows": lambda: x.sum(1),
        "sum-columns": lambda: x.sum(0),
        "sum": lambda: x.sum(),
        "softmax": lambda: x.softmax(1),
        "layer_norm": lambda: torch.nn.functional.layer_norm(x, (4096,), gamma, beta),
        "cumsum": lambda: x.cumsum(1),
        "select": lambda: x[order],
        "sort": lambda: fewer_rows.sort(1),
    }
    if "transpose" in size:
        square = normal(size["transpose"], size["transpose"])
        work["transpose"] = lambda: square.t().contiguous()
    if "conv3x3" in size:
        conv = torch.nn.functional.conv2d
        images, kernel = normal(32, 64, 56, 56), normal(64, 64, 3, 3)
        channels, filters = normal(32, 144, 56, 56), normal(144, 1, 3, 3)
        work["conv3x3"] = lambda: conv(images, kernel, padding=1)
        work["depthwise"] = lambda: conv(channels, filters, padding=1, groups=144)
    if "attention" in size:
        q, k, v3 = (normal(8, 16, 2048, 64) for _ in range(3))
        work["attention"] = lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v3)
    if "gemv" in size:
        v, w = normal(1, size["gemv"]), normal(size["gemv"], size["gemv"])
        work["gemv"] = lambda: v @ w
    return work


def torch_ms(work: Callable[[], Any], budget_s: float) -> float:
    import torch

    for _ in range(3):
        work()
    torch.cuda.synchronize()
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    work()
    end.record()
    torch.cuda.synchronize()
    repeats = int(min(max(budget_s / 8 * 1e3 / max(start.elapsed_time(end), 1e-3), 1), 200))
    samples = []
    for _ in range(8):
        start.record()
        for _ in range(repeats):
            work()
        end.record()
        torch.cuda.synchronize()
        samples.append(start.elapsed_time(end) / repeats)
    return statistics.median(samples)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--cases", default="")
    parser.add_argument("--budget", type=float, default=0.25)
    parser.add_argument("--matmul", default="512,1024,2048,4096")
    args = parser.parse_args()
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    context = bench.Context(WgpuBackend(), WgpuDevice())
    ceilings = bench.ceilings(context)
    chosen = bench.choose([n for n in args.cases.split(",") if n])
    rows: list[dict[str, Any]] = []
    types = {F32: torch.float32, F16: torch.float16, BF16: torch.bfloat16}
    for dtype, torch_type in types.items():
        sizes = {case.name: case.size for case in chosen}
        peers = torch_cases(sizes, torch_type)
        for case in chosen:
            extents = [int(n) for n in args.matmul.split(",")] if case.name == "matmul" else [case.size]
            for extent in extents:
                result = bench.measure(context, case, dtype, extent, ceilings, args.budget)
                if case.name == "matmul":
                    a, b = (torch.randn(extent, extent, device="cuda", dtype=torch_type) for _ in range(2))
                    peer = torch_ms(lambda a=a, b=b: a @ b, args.budget)  # type: ignore[misc]
                else:
                    peer = torch_ms(peers[case.name], args.budget)
                row = {
                    "name": case.name, "dtype": dtype.name, "size": extent, "ms": result.ms, "gb_s": result.gb_s,
                    "tflop_s": result.tflop_s, "share": result.share, "spread": result.spread, "torch_ms": peer,
                    "speed": peer / result.ms,
                }  # fmt: skip
                rows.append(row)
        torch.cuda.empty_cache()
    clone = next((r for r in rows if r["name"] == "copy" and r["dtype"] == "f32"), None)
    lines = ["| case | dtype | size | ms | GB/s | TFLOP/s | of clone | torch ms | torch / ours |", "|---" * 9 + "|"]
    clone_gb_s = 2 * 16_384 * 4096 * 4 / clone["torch_ms"] / 1e6 if clone else float("nan")
    for r in rows:
        lines.append(
            f"| {r['name']} | {r['dtype']} | {r['size']} | {r['ms']:.4f} | {r['gb_s']:.0f} | {r['tflop_s']:.2f} | "
            f"{100 * r['gb_s'] / clone_gb_s:.0f} % | {r['torch_ms']:.4f} | {r['speed']:.2f} |"
        )
    environment = bench.environment(context) | {"torch": torch.__version__, "gpu": torch.cuda.get_device_name(0)}
    table = "\n".join(lines)
    print(json.dumps(environment))
    print(f"ceilings: copy {ceilings.gb_s:.0f} GB/s (torch clone {clone_gb_s:.0f}), fma {ceilings.tflop_s:.1f} TFLOP/s")
    print(table)
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
        data = {"environment": environment, "ceilings": {"gb_s": ceilings.gb_s, "tflop_s": ceilings.tflop_s,
                "torch_clone_gb_s": clone_gb_s}, "results": rows}  # fmt: skip
        (args.out / "kernels-h200.json").write_text(json.dumps(data, indent=1) + "\n")
        (args.out / "kernels-h200.md").write_text(
            f"# Kernels, {environment['gpu']}\n\n{environment['driver']}, wgpu {environment['versions']['wgpu']}, "
            f"torch {environment['torch']}, {environment['date']}. Ceilings: copy {ceilings.gb_s:.0f} GB/s, "
            f"torch's clone {clone_gb_s:.0f} GB/s, multiply-add {ceilings.tflop_s:.1f} TFLOP/s.\n\n{table}\n"
        )


if __name__ == "__main__":
    main()
