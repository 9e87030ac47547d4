"""`python -m examples.minilm [SENTENCE ...] [--device DEVICE] [--dtype f32|f16]`: sentences, vectors, similarities."""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from burn_wgpu import BurnError, Device
from burn_wgpu.store import load_module
from examples.minilm.model import IGNORE, RENAME, MiniLM
from examples.minilm.weights import packed, tokenizer

SENTENCES = (
    "A cat sits on the warm windowsill.",
    "A kitten is resting on a sunny ledge.",
    "The stock market fell sharply on Tuesday.",
    "Shares dropped after the central bank raised rates.",
    "How do I compile a shader for the GPU?",
    "Writing compute kernels in WGSL",
)
RUNS = 7


def main(argv: Sequence[str] | None = None) -> int:
    """Gives the exit status: 0, or 1 after one line on stderr."""
    parser = argparse.ArgumentParser(prog="python -m examples.minilm", description="Sentence vectors with MiniLM.")
    parser.add_argument("sentences", nargs="*", metavar="SENTENCE", help="default: six that make three pairs")
    parser.add_argument(
        "--device", help="wgpu, wgpu:1, wgpu:part of a name, or cpu for the reference; default: the best"
    )
    parser.add_argument("--dtype", choices=("f32", "f16"), default="f32", help="of the weights and activations")
    args = parser.parse_args(argv)
    try:
        device = Device(args.device or os.environ.get("BURN_DEVICE") or "wgpu")
        show(args.sentences or list(SENTENCES), device, args.dtype)
    except (BurnError, OSError) as error:
        print(f"minilm: {' '.join(str(error).split())}", file=sys.stderr)
        return 1
    return 0


def batch(encoder: Any, sentences: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """ids and mask [batch, length], int32; shorter sentences are padded with id 0 and mask 0."""
    encoded = [e.ids for e in encoder.encode_batch(list(sentences))]
    ids = np.zeros((len(encoded), max(map(len, encoded))), np.int32)
    mask = np.zeros_like(ids)
    for row, found in enumerate(encoded):
        ids[row, : len(found)] = found
        mask[row, : len(found)] = 1
    return ids, mask


def load(device: Device, dtype: str) -> tuple[MiniLM, float, int]:
    """The model on the device, the seconds from the mapped file to filled buffers, and the bytes that moved."""
    path, _ = packed()
    moved = 0

    def count(size: int) -> None:
        nonlocal moved
        moved += size

    device.sync()  # opening the adapter is not loading
    start = time.perf_counter()
    model = load_module(
        MiniLM(device), path, RENAME, IGNORE, pytorch=True, dtype=None if dtype == "f32" else dtype, progress=count
    )
    device.sync()
    return model, time.perf_counter() - start, moved


def show(sentences: Sequence[str], device: Device, dtype: str) -> None:
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True, markup=False)
    console.print(f"adapter     {device} {device.name}")
    if device.type == "cpu":
        console.print("            the NumPy reference: exact, and slow")
    elif device.kind == "cpu":
        console.print("            a software adapter: the same results as on a GPU, at the speed of the processor")
    encoder = tokenizer()
    model, seconds, moved = load(device, dtype)
    console.print(
        f"load        {model.num_params():,} parameters, {moved / 1e6:.1f} MB in {seconds * 1e3:.0f} ms "
        f"({moved / seconds / 1e9:.2f} GB/s, file to device, {dtype})"
    )
    ids, mask = batch(encoder, sentences)
    start = time.perf_counter()
    vectors = model(ids, mask).numpy()
    first = time.perf_counter() - start
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        vectors = model(ids, mask).numpy()
        times.append(time.perf_counter() - start)
    median = statistics.median(times) * 1e3
    console.print(
        f"batch       {len(sentences)} sentences of up to {ids.shape[1]} tokens in {median:.1f} ms (median of {RUNS}, "
        f"vectors read back; {min(times) * 1e3:.1f} to {max(times) * 1e3:.1f}; the first {first * 1e3:.0f})"
    )
    console.print(table(sentences, vectors @ vectors.T, console.width))


def table(sentences: Sequence[str], similarity: np.ndarray, width: int = 100) -> Any:
    """Cosines of the angles between the vectors, [n, n], as a table; sentences are cut so that it fits the width."""
    from rich.table import Table
    from rich.text import Text

    digits = len(str(len(sentences)))
    room = max(width - digits - 2 - 7 * len(sentences), 12)
    found = Table(title="similarity", title_justify="left", box=None, pad_edge=False)
    found.add_column("", no_wrap=True)
    found.add_column("sentence", no_wrap=True)
    for number in range(len(sentences)):
        found.add_column(str(number + 1), justify="right", min_width=5, no_wrap=True)
    for number, sentence in enumerate(sentences):
        shown = "".join(c if c.isprintable() else " " for c in sentence)
        if len(shown) > room:
            shown = shown[: room - 1] + "…"
        cells = [
            Text(f"{value:.2f}", style="bold" if value > 0.4 and column != number else "")
            for column, value in enumerate(similarity[number])
        ]
        found.add_row(str(number + 1), Text(shown), *cells)
    return found


if __name__ == "__main__":
    sys.exit(main())
