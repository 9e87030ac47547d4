"""The SafeTensors reader and writer: beside the format's own library, and one broken file for each rule."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import safetensors
import safetensors.numpy

from burn_wgpu.std import dtype as dt
from burn_wgpu.store import SafetensorsError, SafetensorsReader, write_safetensors
from burn_wgpu.store.safetensors import MAX_HEADER

Craft = Callable[..., Path]

NUMPY = (
    dt.F64, dt.F32, dt.F16, dt.I64, dt.I32, dt.I16, dt.I8, dt.U64, dt.U32, dt.U16, dt.U8, dt.BOOL,
)  # fmt: skip


def arrays() -> dict[str, np.ndarray]:
    """Every dtype that NumPy has, with axes, without, and empty."""
    rng = np.random.default_rng(3)
    found = {}
    for dtype in NUMPY:
        for shape in [(3, 5), (), (0, 2), (7,)]:
            bits = rng.integers(0, 2 if dtype.is_bool else 100, shape)
            found[f"é {dtype} {shape}"] = np.asarray(bits, bool if dtype is dt.BOOL else dtype.numpy)
    return found


def test_what_the_library_writes_is_read(tmp_path: Path) -> None:
    path = tmp_path / "theirs.safetensors"
    wanted = arrays()
    safetensors.numpy.save_file(wanted, path, {"who": "them", "ü": "\u2028"})
    with SafetensorsReader(path) as reader:
        assert reader.metadata == {"who": "them", "ü": "\u2028"}
        assert set(reader.entries) == set(wanted)
        for name, array in wanted.items():
            entry = reader.entries[name]
            assert entry.shape == array.shape
            assert entry.dtype is (dt.BOOL if array.dtype == bool else dt.dtype(array.dtype))
            assert bytes(reader.view(name)) == array.tobytes()
        starts = [entry.start for entry in reader]
        assert starts == sorted(starts)


def test_what_we_write_is_what_the_library_writes(tmp_path: Path) -> None:
    theirs, ours = tmp_path / "theirs.safetensors", tmp_path / "ours.safetensors"
    wanted = arrays()
    safetensors.numpy.save_file(wanted, theirs, {"one": "entry"})
    rows = []
    for name, array in wanted.items():
        dtype = dt.BOOL if array.dtype == bool else dt.dtype(array.dtype)
        data = array.tobytes()
        rows.append((name, dtype, array.shape, lambda data=data: [memoryview(data)[:3], memoryview(data)[3:]]))
    write_safetensors(ours, rows, {"one": "entry"})
    assert ours.read_bytes() == theirs.read_bytes()
    for name, array in safetensors.numpy.load_file(ours).items():
        np.testing.assert_array_equal(array, wanted[name])


def test_bf16_and_bools_of_the_device_go_both_ways(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    bits = np.array([0x3F80, 0xC000, 0x7FC0], np.uint16).tobytes()
    rows = [("h", dt.BF16, (3,), lambda: [memoryview(bits)]), ("b", dt.BOOL_U8, (2,), lambda: [memoryview(b"\1\0")])]
    write_safetensors(path, rows)
    with safetensors.safe_open(path, "np") as theirs:
        assert theirs.get_slice("h").get_dtype() == "BF16"
        assert theirs.get_slice("b").get_dtype() == "BOOL"
    with SafetensorsReader(path) as reader:
        assert (reader.entries["h"].dtype, bytes(reader.view("h"))) == (dt.BF16, bits)
        assert (reader.entries["b"].dtype, bytes(reader.view("b"))) == (dt.BOOL, b"\1\0")


def test_an_empty_file_of_the_format_is_read_and_written(tmp_path: Path) -> None:
    path = tmp_path / "none.safetensors"
    write_safetensors(path, [])
    assert path.read_bytes() == struct.pack("<Q", 8) + b"{}      "
    with SafetensorsReader(path) as reader:
        assert (reader.entries, reader.metadata) == ({}, {})
    assert safetensors.numpy.load_file(path) == {}


def test_views_outlive_the_reader(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    safetensors.numpy.save_file({"a": np.arange(4)}, path)
    with SafetensorsReader(path) as reader:
        view = reader.view("a")
        with pytest.raises(KeyError):
            reader.view("b")
    assert np.frombuffer(view, np.int64).tolist() == [0, 1, 2, 3]
    assert view.readonly


ONE = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
NOT_OBJECT = "tensor 'a' must be an object with dtype, shape and data_offsets"
WHOLE = "it must be a list of integers from 0 below 2^63"
KNOWN = "known are U64, I64, F64, F32, U32, I32, BF16, F16, U16, I16, I8, U8, BOOL"

# header, bytes of data, what the error says after "safetensors PATH: "
BROKEN: list[tuple[str, object, int, str]] = [
    ("list", b"[1]", 0, "the header begins with b'['; it must be a JSON object"),
    ("blank", b' {"a":1}', 0, "the header begins with b' '; it must be a JSON object"),
    ("empty header", b"", 0, "the header begins with b''; it must be a JSON object"),
    ("cut", b'{"a":', 0, "the header is not JSON (Expecting value: line 1 column 6 (char 5))"),
    ("latin", b'{"\xe9":1}', 0, "the header is not JSON ('utf-8' codec can't decode byte 0xe9 in position 2: "
     "invalid continuation byte)"),
    ("twice", b'{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"a":{"dtype":"U8","shape":[0],'
     b'"data_offsets":[0,0]}}', 0, "the key 'a' stands twice in the header"),
    ("field twice", b'{"a":{"dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0]}}', 0,
     "the key 'dtype' stands twice in the header"),
    ("surrogate", b'{"\\ud800":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}', 0,
     "the name '\\ud800' holds a lone surrogate, which is not text"),
    ("metadata list", {"__metadata__": []}, 0, "__metadata__ must map text to text"),
    ("metadata number", {"__metadata__": {"a": 1}}, 0, "__metadata__ must map text to text"),
    ("tensor a number", {"a": 3}, 0, NOT_OBJECT),
    ("field missing", {"a": {"dtype": "F32", "shape": [2]}}, 8, NOT_OBJECT),
    ("dtype unknown", {"a": {**ONE, "dtype": "F33"}}, 8, f"tensor 'a' has the unknown dtype 'F33'; {KNOWN}"),
    ("dtype a list", {"a": {**ONE, "dtype": ["F32"]}}, 8, f"tensor 'a' has the unknown dtype ['F32']; {KNOWN}"),
    ("dtype foreign", {"a": {**ONE, "dtype": "F8_E4M3"}}, 8,
     "tensor 'a' has dtype F8_E4M3, which is not supported; convert it first"),
    ("shape a number", {"a": {**ONE, "shape": 2}}, 8, f"tensor 'a' has shape 2; {WHOLE}"),
    ("shape of floats", {"a": {**ONE, "shape": [2.0]}}, 8, f"tensor 'a' has shape [2.0]; {WHOLE}"),
    ("shape of bools", {"a": {**ONE, "shape": [True, 2]}}, 8, f"tensor 'a' has shape [True, 2]; {WHOLE}"),
    ("shape negative", {"a": {**ONE, "shape": [-2]}}, 8, f"tensor 'a' has shape [-2]; {WHOLE}"),
    ("shape huge", {"a": {**ONE, "shape": [0, 2**63]}}, 8,
     f"tensor 'a' has shape [0, 9223372036854775808]; {WHOLE}"),
    ("shape another", {"a": {**ONE, "shape": [3]}}, 8, "tensor 'a' has 8 bytes; shape [3] of F32 needs 12"),
    ("offsets three", {"a": {**ONE, "data_offsets": [0, 4, 8]}}, 8,
     "tensor 'a' has data_offsets [0, 4, 8]; they must be [begin, end]"),
    ("offsets backwards", {"a": {**ONE, "data_offsets": [8, 0]}}, 8,
     "tensor 'a' has data_offsets [8, 0]; they must be [begin, end]"),
    ("hole at the start", {"a": {**ONE, "data_offsets": [4, 12]}}, 12,
     "tensor 'a' at [4, 12) leaves a hole before it"),
    ("hole between", {"a": ONE, "b": {**ONE, "data_offsets": [12, 20]}}, 20,
     "tensor 'b' at [12, 20) leaves a hole before it"),
    ("overlap", {"a": ONE, "b": {**ONE, "data_offsets": [4, 12]}}, 12,
     "tensor 'b' at [4, 12) overlaps the tensor before it"),
]  # fmt: skip


@pytest.mark.parametrize(("header", "size", "text"), [row[1:] for row in BROKEN], ids=[row[0] for row in BROKEN])
def test_every_broken_header_is_refused_with_its_reason(craft: Craft, header: object, size: int, text: str) -> None:
    path = craft(header, bytes(size))
    with pytest.raises(SafetensorsError) as caught:
        SafetensorsReader(path)
    assert str(caught.value) == f"safetensors {path}: {text}"
    if "twice" not in text:  # the format forbids it; the library does not look
        with pytest.raises(safetensors.SafetensorError):
            safetensors.numpy.load_file(path)


def test_fields_that_the_format_does_not_know_are_passed_over(craft: Craft) -> None:
    with SafetensorsReader(craft({"a": {**ONE, "x": [1]}}, bytes(8))) as reader:
        assert reader.entries["a"].shape == (2,)


def test_what_ends_behind_the_file_or_before_it_is_refused(craft: Craft) -> None:
    path = craft({"a": ONE}, bytes(7))
    size = path.stat().st_size
    with pytest.raises(SafetensorsError) as caught:
        SafetensorsReader(path)
    assert str(caught.value) == f"safetensors {path}: tensor 'a' ends at byte {size + 1}, but the file has {size}"
    path = craft({"a": ONE}, bytes(9))
    with pytest.raises(SafetensorsError) as caught:
        SafetensorsReader(path)
    assert str(caught.value) == (
        f"safetensors {path}: the tensors end at byte {size + 1}, the file at {size + 2}; they must agree"
    )


@pytest.mark.parametrize("size", [0, 1, 7])
def test_a_file_shorter_than_its_length_field_is_refused(tmp_path: Path, size: int) -> None:
    path = tmp_path / "short.safetensors"
    path.write_bytes(bytes(size))
    with pytest.raises(SafetensorsError) as caught:
        SafetensorsReader(path)
    assert str(caught.value) == (f"safetensors {path}: the file has {size} bytes; the header's length alone takes 8")


def test_a_header_that_lies_about_its_length_is_refused(craft: Craft) -> None:
    path = craft(b"{}", length=3)
    with pytest.raises(SafetensorsError) as caught:
        SafetensorsReader(path)
    assert str(caught.value) == f"safetensors {path}: the header claims 3 bytes, but the file has 10"
    for length in (MAX_HEADER + 1, 2**64 - 1):
        path = craft(b"{}", length=length)
        with pytest.raises(SafetensorsError) as caught:
            SafetensorsReader(path)
        assert str(caught.value) == (
            f"safetensors {path}: the header claims {length} bytes; at most 100000000 are read"
        )


def test_nesting_without_end_and_numbers_without_end_are_refused(craft: Craft) -> None:
    for header in (b'{"a":' + b"[" * 200_000, b'{"a":' + b"9" * 10_000 + b"}"):
        with pytest.raises(SafetensorsError, match="the header is not JSON"):
            SafetensorsReader(craft(header))


def test_null_metadata_is_none(craft: Craft) -> None:
    with SafetensorsReader(craft({"__metadata__": None})) as reader:
        assert reader.metadata == {}


def test_a_file_that_is_not_there_is_an_oserror(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        SafetensorsReader(tmp_path / "none.safetensors")


# Writing


def source(data: bytes):
    return lambda: [memoryview(data)]


REFUSED = [
    ([("q", dt.BOOL_U32, (1,), source(b"\1\0\0\0"))], {}, "tensor 'q' has dtype bool(u32), which the format lacks"),
    ([("a", dt.U8, (1,), source(b"1")), ("a", dt.U8, (1,), source(b"1"))], {},
     "the name 'a' was given twice; names must differ"),
    ([("__metadata__", dt.U8, (1,), source(b"1"))], {},
     "the name '__metadata__' is the format's own; rename the tensor"),
    ([("\ud800", dt.U8, (1,), source(b"1"))], {}, "'\\ud800' holds a lone surrogate, which UTF-8 cannot"),
    ([], {"k": "\udfff"}, "'\\udfff' holds a lone surrogate, which UTF-8 cannot"),
    ([("a", dt.U8, (2,), source(b"1"))], {},
     "the source of tensor 'a' gave 1 bytes too few for shape [2] of u8"),
    ([("a", dt.F32, (1,), source(b"12345"))], {},
     "the source of tensor 'a' gave 1 bytes too many for shape [1] of f32"),
]  # fmt: skip


@pytest.mark.parametrize(("rows", "metadata", "text"), REFUSED, ids=[row[2][:30] for row in REFUSED])
def test_what_cannot_be_written_leaves_the_old_file(tmp_path: Path, rows, metadata, text: str) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(b"old")
    with pytest.raises(SafetensorsError) as caught:
        write_safetensors(path, rows, metadata)
    assert str(caught.value) == f"safetensors {path}: {text}"
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_source_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    def fail():
        yield memoryview(b"1234")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_safetensors(tmp_path / "x.safetensors", [("a", dt.U8, (8,), fail)])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_permissions_are_those_of_the_old_file_or_of_the_umask(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    mask = os.umask(0o027)
    try:
        write_safetensors(path, [])
    finally:
        os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o640
    path.chmod(0o604)
    write_safetensors(path, [])
    assert path.stat().st_mode & 0o777 == 0o604
