"""Quantization schemes and payloads, against what Burn wrote and dequantized."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from burn_wgpu.pack import PackReader
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.errors import ArgumentError, FormatError, ShapeError, UnsupportedError
from burn_wgpu.std.quant import (
    BlockLayout,
    BlockScale,
    QFloat,
    QuantMode,
    QuantScheme,
    QuantStore,
    QuantValue,
    ScaleDtype,
)
from burn_wgpu.std.quantized import (
    QuantizedBytes,
    decode_scales,
    encode_scales,
    quantizable,
    quantize,
    value_table,
)

FOLDER = Path(__file__).resolve().parent.parent / "data" / "burn-written"
# Burn quantized this one twice on the way to the file; its bytes are not those of the weight.
TWICE = "module/quant/linear-col-Q2F-native-block.bpk"


def burn_quantized() -> Iterator[tuple[dict[str, Any], str, tuple[int, ...], QuantScheme, bytes]]:
    """(index row, name, shape, scheme, payload) of every quantized tensor that Burn wrote."""
    for row in json.loads((FOLDER / "index.json").read_text())["files"]:
        quantized = [
            n for n, t in row.get("tensors", {}).items() if isinstance(t["dtype"], dict) and "QFloat" in t["dtype"]
        ]
        if not quantized or not row["file"].endswith(".bpk"):
            continue
        with PackReader.open(FOLDER / row["file"]) as reader:
            for name in quantized:
                info = reader.info(name)
                assert isinstance(info.dtype, QFloat)
                yield row, name, info.shape, info.dtype.scheme, reader.read(name)


def formula(shape: tuple[int, ...], salt: int) -> np.ndarray:
    index = np.arange(np.prod(shape, dtype=np.int64))
    return (((index * 7919 + salt) % 2003) / 1000 - 1).astype(np.float32).reshape(shape)


def test_payloads_of_burn_unpack_and_pack_to_the_byte() -> None:
    count = 0
    for row, name, shape, scheme, payload in burn_quantized():
        assert scheme.payload_bytes(shape) == len(payload), (row["file"], name)
        assert QuantizedBytes.unpack(payload, shape, scheme).pack() == payload, (row["file"], name)
        count += 1
    assert count == 175


def test_dequantized_numbers_are_burns_to_the_bit() -> None:
    files: dict[str, Any] = {}
    count = 0
    for row, name, shape, scheme, payload in burn_quantized():
        key = row["tensors"][name].get("npz_dequantized")
        if key is None:
            continue
        npz = files.setdefault(row["npz"], np.load(FOLDER / row["npz"]))
        parts = QuantizedBytes.unpack(payload, shape, scheme)
        if scheme.mode is QuantMode.LOOKUP:  # Burn's CPU backend reads Lookup as Symmetric; we refuse to
            with pytest.raises(UnsupportedError, match="Lookup"):
                parts.dequantize()
            parts = replace(parts, scheme=scheme.with_mode(QuantMode.SYMMETRIC))
        assert parts.dequantize().tobytes() == npz[key].tobytes(), (row["file"], name)
        count += 1
    assert count == 173


def test_quantizing_makes_burns_payloads() -> None:
    for row, name, shape, scheme, payload in burn_quantized():
        salt = 101 * (1 + row["payload_order"].index(name))
        if row["case"] == "qlora":
            salt = {"weight": 101, "bias": 202}[name]  # made before the adapter stood between them
        scheme = scheme.with_mode(QuantMode.SYMMETRIC)
        values = formula(shape, salt)
        if "linear-col" in row["case"]:  # quantized in the live layout, then moved
            made = quantize(values.T.copy(), scheme.swap_dims(0, 1, 2)).swap_dims(0, 1)
            assert made.scheme == scheme
        else:
            made = quantize(values, scheme)
        assert (made.pack() == payload) is (row["file"] != TWICE), (row["file"], name)


def test_what_burn_refuses_to_quantize_is_refused() -> None:
    failed = [row for row in json.loads((FOLDER / "index.json").read_text())["failed"] if row["config"]]
    assert len(failed) == 16
    for row in failed:
        raw = row["config"]["scheme"]
        store = raw["store"]
        size = raw["block"]["size"]
        scheme = QuantScheme(
            QuantValue(raw["value"]),
            QuantStore(store) if isinstance(store, str) else QuantStore(*next(iter(store.items()))),
            tensor=raw["tensor"] and ScaleDtype(raw["tensor"]),
            block=BlockScale(tuple(size["storage"][: size["len"]]), ScaleDtype(raw["block"]["dtype"])),
        )
        with pytest.raises(ArgumentError, match="quantize: "):
            quantize(np.zeros(row["config"]["shape"], np.float32), scheme)


# By hand


def test_q4_in_words_packed_along_the_first_axis() -> None:
    scheme = QuantScheme(QuantValue.Q4S, QuantStore.packed_u32(1))
    codes = np.array([[1, -1], [2, -2], [3, -3]], np.int8)
    payload = QuantizedBytes(scheme, codes, np.ones(1, np.float32)).pack()
    assert payload[:-4].hex(" ") == "21 03 00 00 ef 0d 00 00"
    np.testing.assert_array_equal(QuantizedBytes.unpack(payload, (3, 2), scheme).codes, codes)


def test_q8_in_words_pads_every_line() -> None:
    scheme = QuantScheme(QuantValue.Q8S)
    payload = QuantizedBytes(scheme, np.arange(6, dtype=np.int8).reshape(2, 3), np.ones(1, np.float32)).pack()
    assert payload[:-4].hex(" ") == "00 01 02 00 03 04 05 00"


def test_e2m1_takes_half_a_byte() -> None:
    scheme = QuantScheme(QuantValue.E2M1, QuantStore.packed_native())
    payload = QuantizedBytes(scheme, np.array([1, 0xF, 6], np.int8), np.ones(1, np.float32)).pack()
    assert payload[:-4].hex(" ") == "f1 06"


def test_negative_q4_in_bytes_of_its_own() -> None:
    codes = np.array([-1], np.int8)
    for store, first in ((QuantStore.native(), 0xFF), (QuantStore.packed_native(), 0x0F)):
        assert QuantizedBytes(QuantScheme(QuantValue.Q4S, store), codes, np.ones(1, np.float32)).pack()[0] == first


def test_block_scales_are_swapped_with_the_values() -> None:
    scheme = QuantScheme(QuantValue.Q8S, QuantStore.packed_u32(1)).per_block([2, 2], ScaleDtype.F32)
    scales = np.array([[1, 2], [3, 4]], np.float32)
    payload = QuantizedBytes(scheme, np.zeros((4, 4), np.int8), scales).pack()
    assert np.frombuffer(payload[-16:], "<f4").tolist() == [1, 3, 2, 4]
    np.testing.assert_array_equal(QuantizedBytes.unpack(payload, (4, 4), scheme).scales, scales)


@pytest.mark.parametrize(
    ("scheme", "shape", "length"),
    [
        (QuantScheme(QuantValue.Q8S, QuantStore.native()), (2, 3), 10),
        (QuantScheme(QuantValue.Q4S), (3, 3), 3 * 4 + 4),
        (QuantScheme(QuantValue.Q4S, QuantStore.native()), (3, 3), 9 + 4),
        (QuantScheme(QuantValue.Q4S).per_block([8], ScaleDtype.F16), (2, 8), 12),
        (QuantScheme.nvfp4(), (2, 32), 32 + 4 + 4),
        (QuantScheme(), (), 8),
        (QuantScheme(), (0, 5), 4),
        (QuantScheme(QuantValue.Q2S).per_block([3, 3], ScaleDtype.UE8M0), (4, 4), 4 * 4 + 4),
        (QuantScheme(QuantValue.Q8S).per_tensor(ScaleDtype.F16), (4,), 6),
    ],
)
def test_payload_lengths(scheme: QuantScheme, shape: tuple[int, ...], length: int) -> None:
    assert scheme.payload_bytes(shape) == length


def test_a_scheme_that_does_not_fit_is_refused() -> None:
    refused = [
        (QuantScheme(store=QuantStore.packed_u32(1)), (4,), "packed dimension 1 of a tensor of rank 1"),
        (QuantScheme(store=QuantStore.packed_u32(1)), (), "rank 0"),
        (QuantScheme(block=BlockScale((2, 2))), (4,), "more extents than dimensions"),
        (QuantScheme(block=BlockScale((0,))), (4,), "1 or more"),
        (QuantScheme(tensor=ScaleDtype.F16, block=BlockScale((2,), ScaleDtype.UE4M3)), (4,), "must be F32"),
    ]
    for scheme, shape, text in refused:
        assert text in (scheme.fault(shape) or "")
        with pytest.raises(ShapeError, match=text):
            scheme.payload_bytes(shape)
    with pytest.raises(ShapeError, match="overflows"):
        QuantScheme().payload_bytes((2**40, 2**40))
    assert "Lookup" in (quantizable(QuantScheme(mode=QuantMode.LOOKUP), (4,)) or "")
    assert "two levels" in (quantizable(QuantScheme(tensor=ScaleDtype.F32, block=BlockScale((2,))), (4,)) or "")


def test_a_payload_of_another_length_is_refused() -> None:
    with pytest.raises(FormatError, match=r"9 bytes, but Q8S, Native of shape \[2, 3\] takes 10 bytes"):
        QuantizedBytes.unpack(bytes(9), (2, 3), QuantScheme(QuantValue.Q8S, QuantStore.native()))


def test_blocks_drop_leading_ones() -> None:
    assert BlockScale.of([1, 32]) == BlockScale.of([32]) == BlockScale((32,))
    assert BlockScale.of([4, 1]).extents == (4, 1)
    for extents in ([0], [256], [2] * 6):
        with pytest.raises(ArgumentError):
            BlockScale.of(extents)


def test_blocks_are_rectangles() -> None:
    layout = BlockLayout.of((4, 6), (2, 3))
    assert (layout.grid, layout.num_blocks, layout.divides) == ((2, 2), 4, True)
    numbers = np.array([layout.block_of(i) for i in range(24)]).reshape(4, 6)
    np.testing.assert_array_equal(layout.spread(np.arange(4).reshape(2, 2)), numbers)
    ragged = BlockLayout.of((3, 5), (2,))
    assert (ragged.grid, ragged.divides) == ((3, 3), False)
    assert ragged.spread(np.arange(9).reshape(3, 3)).tolist()[1] == [3, 3, 4, 4, 5]
    assert layout.maximum(np.arange(24).reshape(4, 6)).tolist() == [[8, 11], [20, 23]]


def test_swapping_axes_moves_the_scheme_along() -> None:
    scheme = QuantScheme(QuantValue.Q4S, QuantStore.packed_u32(0)).per_block([4], ScaleDtype.F16)
    swapped = scheme.swap_dims(0, 1, 2)
    assert (swapped.store.dim, swapped.block) == (1, BlockScale((4, 1), ScaleDtype.F16))
    assert swapped.swap_dims(0, 1, 2) == scheme


def test_qfloat_is_one_object_for_a_scheme() -> None:
    first, second = QFloat(QuantScheme()), QFloat(QuantScheme())
    assert first is second
    assert isinstance(first, DType)
    assert first is not QFloat(QuantScheme().per_tensor(ScaleDtype.F32))
    assert pickle.loads(pickle.dumps(first)) is first
    assert (first.kind, first.is_float, first.is_int, first.is_bool) == ("qfloat", False, False, False)
    assert repr(QFloat(QuantScheme.nvfp4())) == "qfloat(E2M1, PackedNative(0), block [16] UE4M3, tensor F32)"


# Small floats and scales


def test_values_of_the_small_floats() -> None:
    assert value_table(QuantValue.E2M1)[:16].tolist() == [
        0,
        0.5,
        1,
        1.5,
        2,
        3,
        4,
        6,
        -0.0,
        -0.5,
        -1,
        -1.5,
        -2,
        -3,
        -4,
        -6,
    ]
    e4m3, e5m2 = value_table(QuantValue.E4M3), value_table(QuantValue.E5M2)
    assert (e4m3[0x7E], e4m3[0x01], e4m3[0x38]) == (448, 2**-9, 1)
    assert np.isnan(e4m3[[0x7F, 0xFF]]).all()
    assert (e5m2[0x7B], e5m2[0x01], e5m2[0x7C], e5m2[0xFC]) == (57344, 2**-16, np.inf, -np.inf)
    assert np.isnan(e5m2[0x7D])


def test_small_floats_agree_with_another_library() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    codes = torch.arange(256, dtype=torch.uint8)
    for value, name in ((QuantValue.E4M3, "float8_e4m3fn"), (QuantValue.E5M2, "float8_e5m2")):
        np.testing.assert_array_equal(value_table(value), codes.view(getattr(torch, name)).float().numpy())


@pytest.mark.parametrize("dtype", list(ScaleDtype))
@given(scales=arrays(np.float32, 8, elements=st.floats(2.0**-120, 2.0**126, width=32)))
def test_scales_round_up_to_the_next_that_is_stored(dtype: ScaleDtype, scales: np.ndarray) -> None:
    raw = encode_scales(scales, dtype)
    stored = decode_scales(raw, dtype)
    assert len(raw) == 8 * dtype.size_bytes
    fits = scales <= dtype.max
    assert (stored[fits] >= scales[fits]).all()
    assert (stored[~fits] == np.float32(dtype.max)).all()
    assert encode_scales(stored, dtype) == raw, "what is stored is kept exactly"
    if dtype.size_bytes < 4:  # nothing smaller that is stored would do
        width = {1: np.uint8, 2: np.uint16}[dtype.size_bytes]
        codes = np.frombuffer(raw, width)
        below = decode_scales(np.where(codes > 0, codes - 1, 0).astype(width).tobytes(), dtype)
        assert ((below < scales) | (codes == 0)).all()


@given(
    st.sampled_from(list(QuantValue)),
    st.sampled_from(
        [QuantStore.native(), *(QuantStore(k, d) for k in ("PackedU32", "PackedNative") for d in (0, 1, 2))]
    ),
    st.lists(st.integers(0, 9), min_size=0, max_size=4).map(tuple),
    st.one_of(st.none(), st.lists(st.integers(1, 4), min_size=0, max_size=4).map(tuple)),
    st.randoms(use_true_random=False),
)
def test_any_layout_round_trips(
    value: QuantValue, store: QuantStore, shape: tuple[int, ...], extents: tuple[int, ...] | None, random: Any
) -> None:
    scheme = QuantScheme(value, store, block=None if extents is None else BlockScale(extents, ScaleDtype.F16))
    if scheme.fault(shape) is not None:
        return
    rng = np.random.default_rng(random.randrange(2**32))
    codes = rng.integers(-(2 ** (value.bits - 1)), 2 ** (value.bits - 1), shape).astype(np.int8)
    if value is QuantValue.E2M1:
        codes &= 15
    scales = rng.integers(1, 100, scheme.grid(shape)).astype(np.float32)
    payload = QuantizedBytes(scheme, codes, scales).pack()
    assert len(payload) == scheme.payload_bytes(shape)
    back = QuantizedBytes.unpack(payload, shape, scheme)
    np.testing.assert_array_equal(back.codes, codes)
    np.testing.assert_array_equal(back.scales, scales)
    table = value_table(value)
    if back.codes.size and extents is not None:
        layout = BlockLayout.of(shape, extents)
        flat = scales.reshape(-1)
        with np.errstate(invalid="ignore"):
            wanted = [table[c & 255] * flat[layout.block_of(i)] for i, c in enumerate(codes.reshape(-1).tolist())]
            np.testing.assert_array_equal(back.dequantize().reshape(-1), np.array(wanted, np.float32))
    if len(shape) >= 2:
        moved = back.swap_dims(0, -1)
        again = QuantizedBytes.unpack(moved.pack(), moved.shape, moved.scheme)
        np.testing.assert_array_equal(again.codes, codes.swapaxes(0, -1))


@pytest.mark.parametrize("value", list(QuantValue))
def test_quantizing_zeros_and_the_error_bound(value: QuantValue) -> None:
    scheme = QuantScheme(value, QuantStore.native())
    assert not quantize(np.zeros((3, 4), np.float32), scheme).dequantize().any()
    x = np.linspace(-3, 3, 101, dtype=np.float32)
    parts = quantize(x, scheme)
    low, high = value.range
    held = x if value.is_symmetric else np.clip(x, low * parts.scales[0], high * parts.scales[0])
    if not value.is_float:
        assert np.abs(parts.dequantize() - held).max() <= parts.scales[0] / 2 * (1 + 1e-5)
    else:  # the distance to the nearest of the table
        table = value_table(value)
        grid = table[np.isfinite(table)] * parts.scales[0]
        nearest = np.abs(held[:, None] - grid[None, :]).min(axis=1)
        np.testing.assert_allclose(np.abs(parts.dequantize() - held), nearest, atol=1e-6)


def test_what_a_scheme_says_of_itself() -> None:
    plain, nvfp4 = QuantScheme(), QuantScheme.nvfp4()
    assert (plain.tensor_scale, plain.block_scale, plain.block_size, plain.num_levels) == (None, None, None, 1)
    assert (plain.scale_dtype, plain.global_scale_dtype, plain.packing_dim) == (ScaleDtype.F32, None, 0)
    assert (plain.size_bits_value, plain.size_bits_stored, plain.num_quants, plain.native_packing) == (8, 32, 4, 1)
    assert plain.params_shape((3, 5)) == (1,)
    assert (nvfp4.tensor_scale, nvfp4.block_size, nvfp4.num_levels) == (ScaleDtype.F32, (16,), 2)
    assert nvfp4.block_scale == BlockScale((16,), ScaleDtype.UE4M3)
    assert (nvfp4.scale_dtype, nvfp4.global_scale_dtype) == (ScaleDtype.UE4M3, ScaleDtype.F32)
    assert (nvfp4.size_bits_value, nvfp4.size_bits_stored, nvfp4.num_quants, nvfp4.native_packing) == (4, 8, 2, 2)
    assert nvfp4.params_shape((3, 40)) == (3, 3)
    native = QuantScheme(QuantValue.Q2S, QuantStore.native())
    assert (native.packing_dim, native.size_bits_stored, native.num_quants) == (None, 8, 1)
    assert [v.native_packing for v in QuantValue] == [2 if v is QuantValue.E2M1 else 1 for v in QuantValue]


def test_which_schemes_make_tensors() -> None:
    mxfp4 = QuantScheme(QuantValue.E2M1).per_block((32,), ScaleDtype.UE8M0)
    assert QuantScheme().quantizable and QuantScheme.nvfp4().quantizable and mxfp4.quantizable
    assert not QuantScheme(mode=QuantMode.LOOKUP).quantizable
    for dtype in ScaleDtype:
        two = QuantScheme().per_block((4,), dtype).per_tensor(ScaleDtype.F32)
        assert two.quantizable is (dtype in (ScaleDtype.F16, ScaleDtype.UE4M3))
        assert two.quantizable is (quantizable(two, (2, 4)) is None)
        assert not QuantScheme().per_block((4,), ScaleDtype.F16).per_tensor(ScaleDtype.F16).quantizable


def test_axes_move_with_block_and_packed_dimension() -> None:
    scheme = QuantScheme(store=QuantStore.packed_u32(2)).per_block((2, 3, 4), ScaleDtype.F16)
    turned = scheme.permute_dims((1, 2, 0))
    assert turned.block_size == (3, 4, 2) and turned.packing_dim == 0
    assert turned.permute_dims((2, 0, 1)) == scheme
    assert scheme.permute_dims((2, 1, 0)) == scheme.swap_dims(0, 2, 3)
    only = scheme.swap_block_dims(0, 2, 3)
    assert only.block_size == (4, 3, 2) and only.packing_dim == 2
    assert scheme.permute_block_dims((0, 2, 1)).block_size == (2, 4, 3)
    row = QuantScheme().per_block((8,), ScaleDtype.F32)
    assert (
        row.permute_block_dims((1, 0)).block_size == (8, 1)
        and QuantScheme().permute_block_dims((1, 0)) == QuantScheme()
    )
    with pytest.raises(ShapeError, match="more extents"):
        scheme.permute_block_dims((1, 0))
    assert scheme.reshape_packing_dim(2).packing_dim == 0 and scheme.reshape_packing_dim(3) is scheme


@pytest.mark.parametrize("dtype", ScaleDtype)
def test_one_scale_is_rounded_up(dtype: ScaleDtype) -> None:
    for scale in (1.0, 0.3, 3.0, 447.5, 1e-3):
        up = dtype.round_up(scale)
        assert up >= np.float32(scale) and dtype.round_up(up) == up
        below = np.nextafter(np.float32(up), np.float32(0))
        assert dtype.round_up(float(below)) == (up if dtype is not ScaleDtype.F32 else below)
    assert dtype.round_up(1e39) == (float("inf") if dtype is ScaleDtype.F32 else dtype.max)
    assert np.isnan(dtype.round_up(float("nan")))
