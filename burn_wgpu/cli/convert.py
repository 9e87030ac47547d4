"""`burn-wgpu convert IN OUT`: between .safetensors and .bpk."""

from __future__ import annotations

import argparse
import sys
import time

HELP = "converts weights between .safetensors and .bpk, streamed; OUT appears only when it is complete"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="IN", help="a .safetensors or .bpk file")
    parser.add_argument("target", metavar="OUT", help="the file to write, of the other kind")


def run(args: argparse.Namespace) -> int:
    """A progress bar on a terminal, one closing line everywhere."""
    from burn_wgpu.store.convert import convert, total_bytes

    start = time.perf_counter()
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn, TransferSpeedColumn

        columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True)) as bar:
            task = bar.add_task("convert", total=total_bytes(args.source))
            moved = convert(args.source, args.target, lambda n: bar.advance(task, n))
    else:
        moved = convert(args.source, args.target)
    seconds = time.perf_counter() - start
    print(f"{args.target}: {moved / 1e6:.1f} MB of tensors in {seconds:.2f} s ({moved / seconds / 1e9:.2f} GB/s)")
    return 0
