"""Damaged files: nothing but the documented error, and nothing slow."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from burn_wgpu.pack import PackError, PackReader, format_report, inspect_pack, pack_bytes

FOLDER = Path(__file__).resolve().parent.parent / "data" / "burnpack"
SEEDS = [
    path.read_bytes() for path in sorted(FOLDER.glob("*.bpk")) if path.name[0] in "xel" and path.stat().st_size < 4096
]
BOUND = 2.0  # seconds for one file, as generous as the index of the fixtures


def examine(raw: bytes) -> None:
    """Opens, reads everything, reports; a file that passes can be written again and reads the same."""
    start = time.perf_counter()
    try:
        with PackReader.from_bytes(raw) as reader:
            reader.verify()
            report = inspect_pack(reader, verify=True, digests=True)
            assert not report["problems"]
            format_report(report)
            entries = [(i.name, i.dtype, i.shape, i.param_id, reader.view(i.name)) for i in reader.in_file_order()]
            again = PackReader.from_bytes(pack_bytes(entries, metadata=reader.metadata, scalars=reader.scalars))
            assert dict(again.scalars) == dict(reader.scalars)
            assert dict(again.metadata) == dict(reader.metadata)
            assert [(i.name, i.dtype, i.shape, again.read(i.name)) for i in again] == [
                (i.name, i.dtype, i.shape, reader.read(i.name)) for i in reader
            ]
    except PackError as error:
        assert str(error).isprintable()
    assert time.perf_counter() - start < BOUND


slow_machine = settings(max_examples=1500, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@slow_machine
@given(st.sampled_from(SEEDS), st.lists(st.tuples(st.integers(0, 4095), st.integers(0, 7)), min_size=1, max_size=6))
def test_flipped_bits(raw: bytes, flips: list[tuple[int, int]]) -> None:
    damaged = bytearray(raw)
    for position, bit in flips:
        damaged[position % len(damaged)] ^= 1 << bit
    examine(bytes(damaged))


@slow_machine
@given(st.sampled_from(SEEDS), st.integers(10, 600), st.binary(min_size=1, max_size=12))
def test_overwritten_metadata(raw: bytes, position: int, patch: bytes) -> None:
    end = 10 + int.from_bytes(raw[6:10], "little")
    position = 10 + position % max(end - 10, 1)
    examine(raw[:position] + patch + raw[position + len(patch) :])


@slow_machine
@given(st.sampled_from(SEEDS), st.integers(0, 4096), st.binary(max_size=8), st.integers(0, 8))
def test_inserted_and_deleted_metadata(raw: bytes, position: int, patch: bytes, deleted: int) -> None:
    """The size in the header follows, so that the damage reaches the decoder."""
    end = 10 + int.from_bytes(raw[6:10], "little")
    position = 10 + position % max(end - 10, 1)
    metadata = raw[10:position] + patch + raw[min(position + deleted, end) : end]
    head = raw[:6] + len(metadata).to_bytes(4, "little") + metadata
    padded = head.ljust(-(-len(head) // 256) * 256, b"\0")
    examine(padded + raw[-(-end // 256) * 256 :])


@slow_machine
@given(st.binary(max_size=200))
def test_metadata_of_noise(metadata: bytes) -> None:
    examine((b"NRUB\1\0" + len(metadata).to_bytes(4, "little") + metadata).ljust(512, b"\0"))


@pytest.mark.parametrize("raw", [raw for raw in SEEDS if len(raw) < 800][::4])
def test_every_truncation(raw: bytes) -> None:
    for length in range(len(raw)):
        examine(raw[:length])


@pytest.mark.parametrize("name", ["x1-all-sections.bpk", "x5-quantized.bpk", "e04-unknown-fields.bpk"])
def test_every_bit_of_the_metadata(name: str) -> None:
    raw = (FOLDER / name).read_bytes()
    end = 10 + int.from_bytes(raw[6:10], "little")
    for position in range(end):
        for bit in range(8):
            damaged = bytearray(raw)
            damaged[position] ^= 1 << bit
            examine(bytes(damaged))
