"""`burn-wgpu bench`: GPU time of kernels, with bytes and operations against measured ceilings."""

from __future__ import annotations

import argparse
import json
import os
from typing import Any

from burn_wgpu.std.dtype import BF16, F16, F32
from burn_wgpu.std.dtype import dtype as dtype_of
from burn_wgpu.std.errors import ArgumentError

HELP = "measures kernels: GB/s, TFLOP/s and the share of the measured copy bandwidth or multiply-add ceiling"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from burn_wgpu.testing.bench import CASES, GROUPS

    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {', '.join([*CASES, *GROUPS])}; default all")
    parser.add_argument("--dtype", default="f32", help="f32, f16 or bf16")
    parser.add_argument("--size", type=int, help="main extent: rows of 4096, or the side of a matrix")
    parser.add_argument("--device", default=None, help="wgpu, wgpu:1 …, or cpu for the reference backend")
    parser.add_argument("--json", action="store_true", help="machine-readable output")
    parser.add_argument("--plot", metavar="FILE", help="write a roofline plot (needs matplotlib: burn-wgpu[plot])")


def run(args: argparse.Namespace) -> int:
    from burn_wgpu.device import Device
    from burn_wgpu.testing import bench

    if args.size is not None and args.size < 1:
        raise ArgumentError(f"bench: --size is {args.size}; it must be at least 1")
    kind = dtype_of(args.dtype)
    if kind not in (F32, F16, BF16):
        raise ArgumentError(f"bench: --dtype is {args.dtype}; the cases are for f32, f16 and bf16")
    chosen = bench.choose(args.names)
    if args.plot:
        _pyplot()  # what is missing for the picture must be told before minutes of measuring
        folder = os.path.dirname(os.path.abspath(args.plot))
        if not os.path.isdir(folder):
            raise ArgumentError(f"bench: --plot is {args.plot!r}, but there is no folder {folder!r}; make it first")
    device = Device(args.device) if args.device else Device()
    context = bench.Context(device.backend, device.handle)
    found = bench.ceilings(context)
    results = [bench.measure(context, case, kind, args.size, found) for case in chosen]
    if args.json:
        print(json.dumps(bench.as_json(results, found, context), indent=2))
    else:
        _print(results, found, bench.environment(context))
    if args.plot:
        roofline(results, found, args.plot)
    return 0


def _print(results: list[Any], found: Any, environment: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    versions = ", ".join(f"{k} {v}" for k, v in environment["versions"].items())
    console.print(f"{environment['adapter']} ({environment['backend']}, {environment['driver']}); {versions}")
    console.print(f"ceilings: copy {found.gb_s:,.0f} GB/s, multiply-add {found.tflop_s:,.2f} TFLOP/s")
    table = Table(box=None)
    for column in ("case", "dtype", "size", "ms", "± %", "GB/s", "TFLOP/s", "share", "clock"):
        table.add_column(column, justify="left" if column in ("case", "clock") else "right")
    for r in results:
        table.add_row(
            r.name, r.dtype, str(r.size), f"{r.ms:.4g}", f"{100 * r.spread:.1f}", f"{r.gb_s:,.1f}", f"{r.tflop_s:.3g}",
            f"{100 * r.share:.0f} % of {'copy' if r.bound == 'memory' else 'fma'}{' (noisy)' if r.noisy else ''}",
            r.clock,
        )  # fmt: skip
    console.print(table)


def _pyplot() -> Any:
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        raise ArgumentError("bench: --plot needs matplotlib; pip install 'burn-wgpu[plot]'") from None
    return pyplot


def roofline(results: list[Any], found: Any, path: str) -> None:
    """Operations per byte against TFLOP/s, under the two ceilings. Raises ArgumentError without matplotlib."""
    pyplot = _pyplot()
    figure, axes = pyplot.subplots(figsize=(8, 5))
    intensities = [2.0**k for k in range(-6, 13)]
    roof = [min(found.tflop_s, x * found.gb_s / 1e3) for x in intensities]
    axes.loglog(intensities, roof, color="black", label=f"{found.gb_s:,.0f} GB/s, {found.tflop_s:,.1f} TFLOP/s")
    for r in results:
        if r.tflop_s > 0:
            intensity = r.tflop_s * 1e3 / r.gb_s
            axes.plot([intensity], [r.tflop_s], "o", label=f"{r.name} {100 * r.share:.0f} %")
    axes.set_xlabel("operations per byte")
    axes.set_ylabel("TFLOP/s")
    axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path)
    pyplot.close(figure)
