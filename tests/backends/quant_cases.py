"""Quantization schemes, shapes and awkward numbers that the tests of both backends share."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from burn_wgpu.pack import PackReader
from burn_wgpu.std.quant import QFloat, QuantScheme, QuantStore, QuantValue, ScaleDtype

FOLDER = Path(__file__).resolve().parent.parent / "data" / "burn-written"
STORES = (QuantStore.native(), QuantStore.packed_native(), QuantStore.packed_u32(), QuantStore.packed_u32(1))
F32, F16, UE4M3 = ScaleDtype.F32, ScaleDtype.F16, ScaleDtype.UE4M3

# (shape, scheme) with lines that fill their words and lines that do not, one and several blocks, one and two levels.
MOVED = [
    ((4, 6, 8), QuantScheme(QuantValue.Q4S)),
    ((3, 5, 7), QuantScheme(QuantValue.Q4S)),
    ((3, 5, 7), QuantScheme(QuantValue.Q2F, QuantStore.native())),
    ((3, 5, 7), QuantScheme(QuantValue.E2M1, QuantStore.packed_native(2))),
    ((2, 3, 1, 4), QuantScheme(QuantValue.Q8S, QuantStore.packed_u32(2))),
    ((4, 6, 8), QuantScheme(QuantValue.Q4S, QuantStore.packed_u32(1)).per_block((8,), F16)),
    ((4, 6, 8), QuantScheme(QuantValue.Q8F, QuantStore.packed_u32(2)).per_block((2, 3, 4), UE4M3)),
    ((4, 6, 8), QuantScheme(QuantValue.E4M3, QuantStore.native()).per_block((3, 2), F32)),
    ((5, 3, 4), QuantScheme(QuantValue.Q2S, QuantStore.packed_native(1)).per_block((2,), ScaleDtype.BF16)),
    ((2, 3, 32), QuantScheme.nvfp4()),
    ((6, 16), QuantScheme(QuantValue.Q4F).per_block((8,), F16).per_tensor(F32)),
    ((7,), QuantScheme(QuantValue.Q8S).per_tensor(ScaleDtype.UE8M0)),
]
EVERY = [QuantScheme(value, store) for value in QuantValue for store in STORES]
SCALED = [QuantScheme(QuantValue.Q8S, store).per_tensor(dtype) for dtype in ScaleDtype for store in STORES[:3]]


def burn_quantized() -> Iterator[tuple[str, tuple[int, ...], QuantScheme, bytes]]:
    """(where, shape, scheme, payload) of every quantized tensor that Burn wrote."""
    for row in json.loads((FOLDER / "index.json").read_text())["files"]:
        if not row["file"].endswith(".bpk"):
            continue
        names = [
            n for n, t in row.get("tensors", {}).items() if isinstance(t["dtype"], dict) and "QFloat" in t["dtype"]
        ]
        if not names:
            continue
        with PackReader.open(FOLDER / row["file"]) as reader:
            for name in names:
                info = reader.info(name)
                assert isinstance(info.dtype, QFloat)
                yield f"{row['file']}:{name}", info.shape, info.dtype.scheme, reader.read(name)


def numbers(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    """Normal numbers with zeros of both signs, a NaN, infinities, a large and a subnormal number among them."""
    x = np.random.default_rng(seed).normal(size=shape).astype(np.float32)
    special = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 3e30, 1e-40], np.float32)[: x.size]
    x.reshape(-1)[: special.size] = special
    return x


def ties(value: QuantValue, scale: float) -> np.ndarray:
    """Multiples of half the distance of two codes times a scale that is no power of two, and their neighbours: what a
    quotient that is one unit off would round to the other side."""
    if value.is_float:
        low = np.arange(1, 128, dtype=np.float64)
        halves = np.concatenate([np.ldexp(low / 2, k) for k in range(-12, 10)])
    else:
        halves = np.arange(-2 * value.range[1] - 2, 2 * value.range[1] + 3) / 2
    middle = (halves * np.float64(np.float32(scale))).astype(np.float32)
    return np.concatenate([middle, np.nextafter(middle, np.float32(np.inf)), np.nextafter(middle, np.float32(0))])


SCALES = np.array(
    [0.0, -0.0, 1.0, 3e-3, 1e-9, 2.0**-25, 2.0**-24, 1.5 * 2.0**-24, 6.1e-5, 65504.0, 65505.0, 1e5, 447.0, 449.0, 3e38,
     1e-40, 2.0**-127, 1.5 * 2.0**-127, 2.0**-126, 2.0**-6, 2.0**-9, 2.0**-10, 0.0172, np.inf, -np.inf, np.nan, -1.0,
     -1e-9, -7e4, 3.3895314e38, 3.4e38],
    np.float32,
)  # fmt: skip
