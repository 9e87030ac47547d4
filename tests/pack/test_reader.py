"""The reader: access, closing, limits, messages, inspection."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
from pathlib import Path

import numpy as np
import pytest

from burn_wgpu.pack import (
    PackError,
    PackFault,
    PackFileError,
    PackLimits,
    PackLookupError,
    PackNotFoundError,
    PackReader,
    Scalar,
    format_report,
    inspect_pack,
    pack_bytes,
    plan_pack,
    write_pack,
)
from burn_wgpu.std.dtype import BOOL, BOOL_U32, F32, U8
from burn_wgpu.std.errors import ArgumentError, BurnError, FormatError

ENTRIES = [("b", F32, (2, 2), 5, np.arange(4, dtype="<f4")), ("a", U8, (3,), None, b"abc")]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_pack(tmp_path / "m.bpk", ENTRIES, metadata={"k": "v"}, scalars={"step": Scalar.of_uint(3)})


def test_descriptors_payloads_scalars_and_text(path: Path) -> None:
    with PackReader.open(path) as reader:
        assert [info.name for info in reader] == ["a", "b"]
        assert [info.name for info in reader.in_file_order()] == ["b", "a"]
        assert (len(reader), "a" in reader, "c" in reader) == (2, True, False)
        info = reader.info("b")
        assert (info.dtype, info.shape, info.param_id, info.start, info.size_bytes) == (F32, (2, 2), 5, 0, 16)
        view = reader.view("b")
        assert view.readonly
        assert view == np.arange(4, dtype="<f4").tobytes() == reader.read("b")
        array = reader.array("b")
        assert array.tolist() == [[0, 1], [2, 3]]
        assert not array.flags.writeable
        assert reader.scalar("step") == Scalar.of_uint(3)
        assert dict(reader.metadata) == {"k": "v"}
        assert reader.legacy == ()


def test_a_view_of_bytes_shares_their_memory() -> None:
    raw = bytearray(pack_bytes(ENTRIES))
    reader = PackReader.from_bytes(raw)
    view = reader.view("a")
    raw[reader.data_start + reader.info("a").start] = ord("z")
    assert bytes(view) == b"zbc"
    assert view.readonly


def test_names_that_are_not_there_are_named(path: Path) -> None:
    with PackReader.open(path) as reader:
        for ask, place in [
            (reader.info, "tensor"),
            (reader.view, "tensor"),
            (reader.read, "tensor"),
            (reader.scalar, "scalar"),
        ]:
            with pytest.raises(PackLookupError, match=f"{place} 'c': no such {place}") as caught:
                ask("c")
            assert caught.value.kind is PackFault.NOT_FOUND
            assert isinstance(caught.value, LookupError)


def test_a_closed_reader_says_so_and_its_views_live_on(path: Path) -> None:
    reader = PackReader.open(path)
    view, array = reader.view("a"), reader.array("b")
    reader.close()
    reader.close()
    assert reader.closed
    assert bytes(view) == b"abc"
    assert array.tolist() == [[0, 1], [2, 3]]
    for ask in (reader.view, reader.read, reader.array):
        with pytest.raises(PackError, match="the reader is closed") as caught:
            ask("a")
        assert caught.value.kind is PackFault.CLOSED
    with pytest.raises(PackError, match="the reader is closed"):
        reader.verify()
    assert "closed" in repr(reader)
    in_memory = PackReader.from_bytes(path.read_bytes())
    with in_memory:
        pass
    with pytest.raises(PackError, match="the reader is closed"):
        in_memory.view("a")


def test_no_descriptor_is_left_open(path: Path) -> None:
    folder = Path("/proc/self/fd")
    if not folder.exists():
        pytest.skip("open descriptors can only be counted through /proc")
    before = len(os.listdir(folder))
    for _ in range(3):
        with PackReader.open(path) as reader:
            reader.view("a")
        PackReader.open(path).read("a")  # not closed by hand
    del reader
    broken = path.with_name("broken.bpk")
    broken.write_bytes(path.read_bytes()[:300])
    with pytest.raises(PackError):
        PackReader.open(broken)
    assert len(os.listdir(folder)) == before


def test_the_extension_is_added_only_if_the_path_does_not_exist(path: Path) -> None:
    bare = path.with_suffix("")
    with PackReader.open(bare) as reader:
        assert reader.file == str(path)
    with pytest.raises(PackNotFoundError) as caught:
        PackReader.open(bare, exact=True)
    assert caught.value.file == str(bare)
    bare.write_bytes(pack_bytes([]))
    with PackReader.open(bare) as reader:
        assert len(reader) == 0


def test_what_is_not_a_regular_file_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(PackFileError):
        PackReader.open(tmp_path)
    with pytest.raises(PackNotFoundError):
        PackReader.open(tmp_path / "no.bpk")
    with pytest.raises(PackFileError, match=r"a\\x00b"):
        PackReader.open(f"{tmp_path}/a\0b")
    with pytest.raises(PackError, match="no path"):
        PackReader.open(5)  # type: ignore[arg-type]  # what a mistake looks like
    with pytest.raises(PackError, match="no buffer"):
        PackReader.from_bytes("text")  # type: ignore[arg-type]  # likewise
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(PackFileError, match="only regular files"):
            PackReader.open(tmp_path / "pipe")


def test_a_file_that_shrinks_after_opening_is_noticed(path: Path) -> None:
    with PackReader.open(path) as reader:
        os.truncate(path, reader.data_start + 10)
        for ask in (reader.read, reader.view):
            with pytest.raises(PackError, match="shortened after it was opened") as caught:
                ask("a")
            assert caught.value.kind is PackFault.TRUNCATED


def test_the_limits_of_tensor_and_file_bind_on_access(path: Path) -> None:
    size = path.stat().st_size
    with PackReader.open(path, limits=PackLimits(max_tensor_bytes=3)) as reader:
        assert reader.read("a") == b"abc"
        with pytest.raises(PackError, match="found 16 bytes, wanted at most 3") as caught:
            reader.view("b")
        assert (caught.value.kind, caught.value.name) == (PackFault.LIMIT, "b")
    PackReader.open(path, limits=PackLimits(max_file_bytes=size)).verify()
    with PackReader.open(path, limits=PackLimits(max_file_bytes=size - 1)) as reader:
        assert list(reader.tensors) == ["a", "b"]
        with pytest.raises(PackError, match="the file exceeds its limit"):
            reader.read("a")
    PackReader.from_bytes(path.read_bytes(), limits=PackLimits(max_file_bytes=0)).verify()


def test_the_limits_of_the_metadata_bind_at_open(path: Path) -> None:
    for limits in (PackLimits(max_tensors=1), PackLimits(max_metadata_bytes=50), PackLimits(max_nesting=3)):
        with pytest.raises(PackError):
            PackReader.open(path, limits=limits)
    for limits in (
        {"max_tensors": 100_001},
        {"max_nesting": 129},
        {"max_metadata_bytes": 2**30},
        {"max_tensor_bytes": -1},
    ):
        with pytest.raises(ArgumentError):
            PackLimits(**limits)


def test_default_limits_at_their_exact_values(tmp_path: Path) -> None:
    """On files with holes, which take no room on the disk."""
    tensor = 10 << 30
    for size, fits in ((tensor, True), (tensor + 1, False)):
        plan_limits = PackLimits(max_tensor_bytes=tensor + 1)
        path = tmp_path / "sparse.bpk"
        plan = plan_pack([("w", U8, (size,), None, lambda: b"")], limits=plan_limits)
        with path.open("wb") as file:
            file.write(plan.preamble)
            try:
                file.truncate(plan.size_bytes)
            except OSError:
                pytest.skip("this file system has no files of that size")
        with PackReader.open(path) as reader:
            if fits:
                assert len(reader.view("w")) == size
            else:
                with pytest.raises(PackError, match="the tensor exceeds its limit"):
                    reader.view("w")
        with PackReader.open(path, limits=plan_limits) as reader:
            assert len(reader.view("w")) == size


def test_a_file_cut_by_exactly_its_padding_is_not_taken_for_an_old_one() -> None:
    """Burn 0.19 had no padding; a current file of the same length must not be read shifted."""
    raw = pack_bytes([("w", U8, (300,), None, bytes(300))])
    reader = PackReader.from_bytes(raw)
    missing = reader.data_start - 10 - reader.metadata_bytes
    with pytest.raises(PackError, match="truncated or has the legacy layout of Burn 0.19") as caught:
        PackReader.from_bytes(raw[:-missing])
    assert caught.value.kind is PackFault.TRUNCATED


@pytest.mark.parametrize(
    ("dtype", "good", "bad"), [(BOOL, b"\0\1", b"\0\2"), (BOOL_U32, b"\1\0\0\0" * 2, b"\1\0\0\0\1\1\0\0")]
)
def test_booleans_are_checked_on_every_way_in(tmp_path: Path, dtype: object, good: bytes, bad: bytes) -> None:
    raw = pack_bytes([("w", dtype, (2,), None, good)])
    PackReader.from_bytes(raw).verify()
    path = tmp_path / "m.bpk"
    path.write_bytes(raw[: -len(good)] + bad)
    with PackReader.open(path) as reader:
        for ask in (reader.view, reader.read, reader.array, lambda name: reader.verify()):
            with pytest.raises(PackError, match="element 1 of a bool tensor is neither 0 nor 1") as caught:
                ask("w")
            assert caught.value.kind is PackFault.BOOL


def test_a_shape_that_numpy_cannot_hold_is_our_error() -> None:
    reader = PackReader.from_bytes(pack_bytes([("w", U8, (0, 2**63), None, b""), ("v", U8, (1,) * 100, None, b"x")]))
    assert reader.read("w") == b""
    for name in ("w", "v"):
        with pytest.raises(PackError, match="NumPy cannot hold this shape"):
            reader.array(name)


HOSTILE = [
    "\x1b[2J\x1b]0;owned\x07",
    "a\nb",
    "\u202egpj.exe",
    "%s%n{0}",
    "\x00",
    "\u2028",
    "\x9b31m",
    "x" * 5000,
    "\ufeff",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_data_and_never_reach_a_terminal_raw(name: str, tmp_path: Path) -> None:
    path = write_pack(
        tmp_path / "m.bpk", [(name, BOOL, (1,), None, b"\1")], metadata={name: name}, scalars={name: True}
    )
    raw = bytearray(path.read_bytes())
    raw[-1] = 2
    path.write_bytes(raw)
    with PackReader.open(path) as reader:
        assert list(reader.tensors) == [name]
        with pytest.raises(PackError) as caught:
            reader.read(name)
        assert caught.value.name == name
        texts = [
            str(caught.value),
            repr(caught.value),
            format_report(inspect_pack(reader, verify=True)).replace("\n", ""),
        ]
        with pytest.raises(PackLookupError) as missing:
            reader.info(name + "!")
        texts.append(str(missing.value))
    for text in texts:
        assert text.isprintable()
        assert len(text) < 2500
    assert os.listdir(tmp_path) == ["m.bpk"]


def test_the_error_family(path: Path) -> None:
    path.write_bytes(b"PK\3\4" + bytes(300))
    with pytest.raises(PackError) as caught:
        PackReader.open(path)
    error = caught.value
    assert str(error) == (
        f"{path}: the magic number is not burnpack's; found bytes 50 4b 03 04, wanted 4e 52 55 42, the letters NRUB"
    )
    assert isinstance(error, FormatError)
    assert isinstance(error, BurnError)
    assert isinstance(error, ValueError)
    assert (error.kind, error.kind.value, error.file) == (PackFault.MAGIC, "magic", str(path))
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.kind, copy.found) == (str(error), error.kind, error.found)
    with pytest.raises(PackNotFoundError) as missing:
        PackReader.open(path.with_name("none.bpk"))
    copy = pickle.loads(pickle.dumps(missing.value))
    assert (type(copy), str(copy), copy.errno) == (PackNotFoundError, str(missing.value), 2)


def test_a_report_is_plain_values_and_tells_everything(path: Path) -> None:
    report = inspect_pack(path, verify=True, digests=True)
    assert json.loads(json.dumps(report)) == report
    assert report["problems"] == []
    assert [row["name"] for row in report["tensors"]] == ["a", "b"]
    row = report["tensors"][1]
    start = report["data_start"]
    digest = hashlib.sha256(np.arange(4, dtype="<f4").tobytes()).hexdigest()
    assert row == {
        "name": "b", "dtype": "F32", "shape": [2, 2], "param_id": "5", "data_offsets": [0, 16], "file_offset": start,
        "size_bytes": 16, "aligned": True, "order": 0, "sha256": digest,
    }  # fmt: skip
    assert report["scalars"] == {"step": {"kind": "UInt", "value": "3"}}
    assert report["metadata"] == {"k": "v"}
    assert (report["payload_bytes"], report["unused_bytes"], report["bytes_after_data"]) == (19, 240, 0)
    text = format_report(report)
    assert f"  'b' F32 [2, 2] [0, 16) id 5 sha256 {digest}\n" in text
    assert text.endswith("every payload is sound")


def test_a_report_finds_unaligned_tensors_gaps_and_what_lies_behind(burnpack_folder: Path) -> None:
    unaligned = inspect_pack(burnpack_folder / "e06-unaligned-offsets.bpk")
    assert [row["aligned"] for row in unaligned["tensors"]] == [False, False]
    assert "unaligned" in format_report(unaligned)
    assert inspect_pack(burnpack_folder / "e16-bytes-after-data.bpk")["bytes_after_data"] == 40
    assert inspect_pack(burnpack_folder / "e15-gaps-and-dirty-padding.bpk")["unused_bytes"] > 0
    broken = inspect_pack(burnpack_folder / "n099-bool-byte-2.bpk", verify=True)
    assert len(broken["problems"]) == 1
    assert "1 problems" in format_report(broken)
    assert "older layout" in format_report(inspect_pack(burnpack_folder / "l02-burn-0.20-plain-bool.bpk"))
