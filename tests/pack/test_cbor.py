"""The CBOR layer: shortest forms, strictness, bounds."""

from __future__ import annotations

import struct
import time
import tracemalloc

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from burn_wgpu.pack import PackError, PackFault, PackLimits, PackReader
from burn_wgpu.pack.cbor import (
    Decoder,
    bits_to_float,
    encode_array_head,
    encode_float_bits,
    encode_integer,
    encode_map_head,
    encode_text,
    float_to_bits,
)


def decoder(data: bytes, nesting: int = 128) -> Decoder:
    return Decoder(data, file="m.bpk", nesting=nesting)


def container(metadata: bytes) -> bytes:
    """A file of just this metadata item."""
    return b"NRUB\1\0" + len(metadata).to_bytes(4, "little") + metadata


def with_unknown(value: bytes) -> bytes:
    return container(encode_map_head(2) + encode_text("tensors") + encode_map_head(0) + encode_text("x") + value)


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (0.0, "f90000"),
        (-0.0, "f98000"),
        (1.0, "f93c00"),
        (65504.0, "f97bff"),
        (65505.0, "fa477fe100"),
        (struct.unpack("<f", struct.pack("<f", 0.1))[0], "fa3dcccccd"),
        (0.1, "fb3fb999999999999a"),
        (2.0**-24, "f90001"),
        (2.0**-25, "fa33000000"),
        (2.0**-149, "fa00000001"),
        (2.0**-150, "fb3690000000000000"),
        (float("inf"), "f97c00"),
        (float("-inf"), "f9fc00"),
        (5e-324, "fb0000000000000001"),
    ],
)
def test_a_float_takes_its_shortest_exact_form(value: float, wanted: str) -> None:
    assert encode_float_bits(float_to_bits(value)).hex() == wanted


@pytest.mark.parametrize(
    ("bits", "wanted"),
    [
        (0x7FF8000000000000, "f97e00"),  # the plain NaN
        (0xFFF8000000000000, "f9fe00"),
        (0x7FFFFC0000000000, "f97fff"),  # payload that a half holds
        (0x7FF8000020000000, "fa7fc00001"),  # payload that a single holds
        (0x7FF8000000000001, "fb7ff8000000000001"),
        (0x7FF4000000000000, "fb7ff4000000000000"),  # signalling: Burn writes it in full
    ],
)
def test_a_nan_keeps_its_bits(bits: int, wanted: str) -> None:
    assert encode_float_bits(bits).hex() == wanted
    assert decoder(bytes.fromhex(wanted)).float_bits("x") == bits


@given(st.integers(0, 2**64 - 1))
@example(0x7FEFFFFFFFFFFFFF)
def test_every_double_comes_back_with_all_bits(bits: int) -> None:
    assert decoder(encode_float_bits(bits)).float_bits("x") == bits


@given(st.integers(0, 2**16 - 1))
def test_every_half_reads_as_its_value(bits: int) -> None:
    raw = b"\xf9" + bits.to_bytes(2, "big")
    read = decoder(raw).float_bits("x")
    value = struct.unpack(">e", raw[1:])[0]
    if value == value:
        assert read == float_to_bits(value)
        assert encode_float_bits(read) == raw
    else:
        assert bits_to_float(read) != bits_to_float(read)


@given(st.integers(0, 2**32 - 1))
def test_every_single_reads_as_its_value(bits: int) -> None:
    raw = b"\xfa" + bits.to_bytes(4, "big")
    value = struct.unpack(">f", raw[1:])[0]
    if value == value:
        assert decoder(raw).float_bits("x") == float_to_bits(value)


@given(st.integers(-(2**64), 2**64 - 1))
def test_integers_round_trip_in_the_shortest_form(value: int) -> None:
    raw = encode_integer(value)
    assert decoder(raw).integer("x") == value
    magnitude = value if value >= 0 else -1 - value
    assert len(raw) == 1 + next(
        w for w, top in ((0, 24), (1, 2**8), (2, 2**16), (4, 2**32), (8, 2**64)) if magnitude < top
    )


@given(st.text(max_size=300))
def test_text_round_trips_in_one_piece_and_in_chunks(value: str) -> None:
    assert decoder(encode_text(value)).text("x") == value
    half = len(value) // 2
    chunked = b"\x7f" + encode_text(value[:half]) + encode_text(value[half:]) + b"\xff"
    assert decoder(chunked).text("x") == value


@pytest.mark.parametrize(
    "value",
    [
        "f8ff",  # simple value 255
        "f820",
        "f0",  # simple value 16
        "fc",  # reserved
        "ff",  # a break without anything open
        "9fff00",  # an item behind
        "bf01ff",  # a map that ends after a key
        "5f6161ff",  # a chunk of another type
        "5f5f4161ffff",  # a chunk that is indefinite itself
        "61ff",  # text that is not UTF-8
        "7f61c36184ff",  # a character cut in two by chunks that are no text each
        "df",  # an indefinite tag
        "1f",
        "3f",
        "c1",  # a tag without a value
        "82",
        "a101",
        "5a00ffffff",
        "7b0000000100000000",
    ],
)
def test_a_malformed_unknown_value_is_refused(value: str) -> None:
    with pytest.raises(PackError) as caught:
        PackReader.from_bytes(with_unknown(bytes.fromhex(value)))
    assert caught.value.kind in (PackFault.CBOR, PackFault.TRAILING)


@pytest.mark.parametrize(
    "value",
    ["f6", "f7", "f4", "f93c00", "c1c20102"[:6], "9fff", "bfff", "5f41614162ff", "7fff", "a0", "80", "d9d9f700"],
)
def test_a_well_formed_unknown_value_is_passed_over(value: str) -> None:
    assert len(PackReader.from_bytes(with_unknown(bytes.fromhex(value)))) == 0


@pytest.mark.parametrize("opening", [b"\x81", b"\x9f", b"\xa1\x00", b"\xbf\x00", b"\xc1"])
def test_nesting_is_counted_for_every_kind(opening: bytes) -> None:
    closing = b"\xff" if opening[0] in (0x9F, 0xBF) else b""
    for depth, fits in ((126, True), (127, True), (128, False), (100_000, False)):
        data = with_unknown(opening * depth + b"\x00" + closing * depth)
        if fits:
            PackReader.from_bytes(data)
            continue
        with pytest.raises(PackError) as caught:
            PackReader.from_bytes(data)
        assert caught.value.kind is PackFault.NESTING


def test_a_lower_nesting_limit_is_kept() -> None:
    data = with_unknown(b"\x81" * 10 + b"\x00")
    PackReader.from_bytes(data, limits=PackLimits(max_nesting=11))
    with pytest.raises(PackError, match="at most 10"):
        PackReader.from_bytes(data, limits=PackLimits(max_nesting=10))


@pytest.mark.parametrize(
    "value",
    [
        b"\x9a" + (5_000_000).to_bytes(4, "big") + b"\0" * 5_000_000,
        b"\x9f" + b"\xf6" * 5_000_000 + b"\xff",
        b"\xbf" + b"\x01\x60" * 2_500_000 + b"\xff",
        b"\x5a" + (5_000_000).to_bytes(4, "big") + b"x" * 5_000_000,
    ],
    ids=["array", "indefinite array", "indefinite map", "bytes"],
)
def test_millions_of_items_that_nobody_asked_for_cost_neither_time_nor_memory(value: bytes) -> None:
    data = with_unknown(value)
    tracemalloc.start()
    start = time.perf_counter()
    PackReader.from_bytes(data)
    seconds = time.perf_counter() - start
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert seconds < 2
    assert peak < len(data) + (1 << 20)


def test_a_shape_cannot_fill_the_memory() -> None:
    dims = encode_array_head(5000) + b"\x01" * 5000
    descriptor = encode_map_head(3) + encode_text("dtype") + encode_text("U8") + encode_text("shape") + dims
    descriptor += encode_text("data_offsets") + bytes.fromhex("820001")
    data = container(encode_map_head(1) + encode_text("tensors") + encode_map_head(1) + encode_text("w") + descriptor)
    with pytest.raises(PackError, match="shape has too many entries") as caught:
        PackReader.from_bytes(data)
    assert (caught.value.kind, caught.value.name) == (PackFault.SCHEMA, "w")


@pytest.mark.parametrize("where", ["root", "unknown", "descriptor", "metadata", "scalars"])
def test_a_key_twice_is_refused_in_every_map(where: str) -> None:
    text, empty = encode_text, encode_map_head(0)
    descriptor = (
        text("dtype") + text("U8") + text("shape") + b"\x81\x00" + text("data_offsets") + bytes.fromhex("820000")
    )
    scalar = encode_map_head(1) + text("Int") + b"\x00"
    maps = {
        "root": encode_map_head(2) + (text("tensors") + empty) * 2,
        "unknown": encode_map_head(3) + text("tensors") + empty + (text("k") + b"\x00") * 2,
        "descriptor": encode_map_head(1) + text("tensors") + encode_map_head(1) + text("k")
        + encode_map_head(5) + descriptor + (text("z") + b"\x00") * 2,
        "metadata": encode_map_head(2) + text("tensors") + empty + text("metadata")
        + encode_map_head(2) + (text("k") + text("v")) * 2,
        "scalars": encode_map_head(2) + text("tensors") + empty + text("scalars")
        + encode_map_head(2) + (text("k") + scalar) * 2,
    }  # fmt: skip
    with pytest.raises(PackError, match="duplicate") as caught:
        PackReader.from_bytes(container(maps[where]))
    assert caught.value.kind is PackFault.DUPLICATE


def test_tags_and_bignums_stand_for_the_value_behind_them() -> None:
    assert decoder(bytes.fromhex("d9d9f7c1c249000000000000000005")).integer("x") == 5
    assert decoder(bytes.fromhex("c341ff")).integer("x") == -256
    assert decoder(bytes.fromhex("c1626869")).text("x") == "hi"
    with pytest.raises(PackError, match="a bignum of 9 bytes"):
        decoder(bytes.fromhex("c249010000000000000000")).integer("x")
