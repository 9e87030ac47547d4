"""SafeTensors files: a lazy reader over mmap and a streaming, atomic writer.

Layout: 8 bytes little-endian N, N bytes of JSON (an object, first byte `{`, padded with spaces), then the data. Each
tensor has dtype, shape and `data_offsets` [begin, end) into the data; the ranges cover the data without holes, no key
stands twice, `__metadata__` maps text to text. Rank 0 and empty tensors are allowed.
Format: https://github.com/huggingface/safetensors, README, section "Format"; the order of the tensors is that of its
Rust library, so that equal tensors give equal files.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from math import prod
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from burn_wgpu.std import dtype as dt
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.errors import FormatError

MAX_HEADER = 100_000_000
_MAX_SIZE = 2**63 - 1
_PIECE = 8 << 20
# In the order in which the format's own library writes them.
_NAMES = {
    "U64": dt.U64, "I64": dt.I64, "F64": dt.F64, "F32": dt.F32, "U32": dt.U32, "I32": dt.I32, "BF16": dt.BF16,
    "F16": dt.F16, "U16": dt.U16, "I16": dt.I16, "I8": dt.I8, "U8": dt.U8, "BOOL": dt.BOOL,
}  # fmt: skip
_ORDER = {name: place for place, name in enumerate(_NAMES)}
_WRITTEN = {d: n for n, d in _NAMES.items()} | {dt.FLEX32: "F32", dt.BOOL_U8: "BOOL"}
# What the format knows and we have no dtype for: named in the error.
_FOREIGN = {
    "F8_E4M3", "F8_E5M2", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ", "F6_E2M3", "F6_E3M2", "F4", "C64",
}  # fmt: skip


class SafetensorsError(FormatError):
    """A file that is not a sound SafeTensors file, or a tensor that the format cannot hold."""


class Entry(NamedTuple):
    """One tensor: name, dtype, shape, and its bytes as [start, end) in the file."""

    name: str
    dtype: DType
    shape: tuple[int, ...]
    start: int
    end: int


class SafetensorsReader:
    """An open file. Tensors are views of the mmap: nothing is read before it is looked at.

    Raises SafetensorsError, which names the file and the key, for everything that breaks the format.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._file = open(self.path, "rb")  # noqa: SIM115 - closed by close()
        self._map: mmap.mmap | None = None
        try:
            self.size = os.fstat(self._file.fileno()).st_size
            header, data_start = self._header()
            self.entries, self.metadata = self._entries(header, data_start)
            if self.size:
                self._map = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        except BaseException:
            self._file.close()
            raise

    def _fail(self, text: str) -> SafetensorsError:
        return SafetensorsError(f"safetensors {self.path}: {text}")

    def _header(self) -> tuple[dict[str, Any], int]:
        first = self._file.read(8)
        if len(first) < 8:
            raise self._fail(f"the file has {len(first)} bytes; the header's length alone takes 8")
        (length,) = struct.unpack("<Q", first)
        if length > MAX_HEADER:
            raise self._fail(f"the header claims {length} bytes; at most {MAX_HEADER} are read")
        if 8 + length > self.size:
            raise self._fail(f"the header claims {length} bytes, but the file has {self.size}")
        raw = self._file.read(length)
        if not raw.startswith(b"{"):
            raise self._fail(f"the header begins with {raw[:1]!r}; it must be a JSON object")

        def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
            seen: dict[str, Any] = {}
            for key, value in pairs:
                if key in seen:
                    raise self._fail(f"the key {key!r} stands twice in the header")
                seen[key] = value
            return seen

        try:
            header = json.loads(raw.decode("utf-8"), object_pairs_hook=unique)
        except SafetensorsError:
            raise
        except (ValueError, RecursionError) as error:
            raise self._fail(f"the header is not JSON ({error})") from None
        return header, 8 + length

    def _entries(self, header: dict[str, Any], start: int) -> tuple[dict[str, Entry], dict[str, str]]:
        metadata = header.pop("__metadata__", None)
        if metadata is None:
            metadata = {}
        if not isinstance(metadata, dict) or any(not isinstance(v, str) for v in metadata.values()):
            raise self._fail("__metadata__ must map text to text")
        entries = [self._entry(name, value, start) for name, value in header.items()]
        position = start
        for entry in sorted(entries, key=lambda e: (e.start, e.end)):
            if entry.start != position:
                what = "overlaps the tensor before it" if entry.start < position else "leaves a hole before it"
                raise self._fail(f"tensor {entry.name!r} at [{entry.start - start}, {entry.end - start}) {what}")
            position = entry.end
        if position != self.size:
            raise self._fail(f"the tensors end at byte {position}, the file at {self.size}; they must agree")
        return {e.name: e for e in entries}, metadata

    def _entry(self, name: str, value: Any, start: int) -> Entry:
        if not _encodes(name):
            raise self._fail(f"the name {name!r} holds a lone surrogate, which is not text")
        if not isinstance(value, dict) or not {"dtype", "shape", "data_offsets"} <= set(value):
            raise self._fail(f"tensor {name!r} must be an object with dtype, shape and data_offsets")
        kind, shape, offsets = value["dtype"], value["shape"], value["data_offsets"]
        if isinstance(kind, str) and kind in _FOREIGN:
            raise self._fail(f"tensor {name!r} has dtype {kind}, which is not supported; convert it first")
        if not isinstance(kind, str) or kind not in _NAMES:
            raise self._fail(f"tensor {name!r} has the unknown dtype {kind!r}; known are {', '.join(_NAMES)}")
        if not _whole(shape):
            raise self._fail(f"tensor {name!r} has shape {shape!r}; it must be a list of integers from 0 below 2^63")
        if not _whole(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
            raise self._fail(f"tensor {name!r} has data_offsets {offsets!r}; they must be [begin, end]")
        dtype = _NAMES[kind]
        wanted = prod(shape) * dtype.size_bytes
        if offsets[1] - offsets[0] != wanted:
            raise self._fail(
                f"tensor {name!r} has {offsets[1] - offsets[0]} bytes; shape {shape} of {kind} needs {wanted}"
            )
        if start + offsets[1] > self.size:
            raise self._fail(f"tensor {name!r} ends at byte {start + offsets[1]}, but the file has {self.size}")
        return Entry(name, dtype, tuple(shape), start + offsets[0], start + offsets[1])

    def __iter__(self) -> Iterator[Entry]:
        """Entries in the order of their bytes."""
        return iter(sorted(self.entries.values(), key=lambda e: (e.start, e.end)))

    def view(self, name: str) -> memoryview:
        """The tensor's bytes, without a copy; they die with the reader. Raises KeyError for an unknown name."""
        entry = self.entries[name]
        if entry.start == entry.end:
            return memoryview(b"")
        assert self._map is not None
        return memoryview(self._map)[entry.start : entry.end]

    def close(self) -> None:
        """Closes the file. A view that is still alive keeps its bytes readable until it dies."""
        if self._map is not None:
            try:
                self._map.close()
            except BufferError:  # views are alive: the map closes with the last of them
                pass
            self._map = None
        self._file.close()

    def __enter__(self) -> SafetensorsReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _whole(value: object) -> bool:
    return isinstance(value, list) and all(type(n) is int and 0 <= n <= _MAX_SIZE for n in value)


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


Source = Callable[[], Iterable[memoryview]]


def write_safetensors(
    path: str | os.PathLike[str],
    tensors: Iterable[tuple[str, DType, tuple[int, ...], Source]],
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Writes a file, one tensor at a time, published by one rename: an error leaves what was there.

    tensors: (name, dtype, shape, source); source() gives the bytes in pieces. They are ordered by dtype, wide ones
    first, then by name, so every tensor is aligned to its dtype. Raises SafetensorsError for a dtype that the format
    does not have, a name or key that is not text or stands twice, or pieces of another length than the shape says.
    """
    rows = list(tensors)
    seen: set[str] = set()
    for name, dtype, _, _ in rows:
        if dtype not in _WRITTEN:
            raise SafetensorsError(f"safetensors {path}: tensor {name!r} has dtype {dtype}, which the format lacks")
        if name == "__metadata__":
            raise SafetensorsError(
                f"safetensors {path}: the name '__metadata__' is the format's own; rename the tensor"
            )
        if name in seen:
            raise SafetensorsError(f"safetensors {path}: the name {name!r} was given twice; names must differ")
        seen.add(name)
    for text in (*seen, *(metadata or {}).keys(), *(metadata or {}).values()):
        if not _encodes(text):
            raise SafetensorsError(f"safetensors {path}: {text!r} holds a lone surrogate, which UTF-8 cannot")
    rows.sort(key=lambda row: (_ORDER[_WRITTEN[row[1]]], row[0]))
    header: dict[str, Any] = {"__metadata__": dict(sorted(metadata.items()))} if metadata else {}
    position = 0
    for name, dtype, shape, _ in rows:
        end = position + prod(shape) * dtype.size_bytes
        header[name] = {"dtype": _WRITTEN[dtype], "shape": list(shape), "data_offsets": [position, end]}
        position = end
    encoded = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    encoded += b" " * (-len(encoded) % 8)
    if len(encoded) > MAX_HEADER:
        raise SafetensorsError(
            f"safetensors {path}: the header has {len(encoded)} bytes; at most {MAX_HEADER} are read"
        )
    target = Path(path)
    with named(target), _atomic(target) as file:
        file.write(struct.pack("<Q", len(encoded)) + encoded)
        for name, dtype, shape, source in rows:
            left = prod(shape) * dtype.size_bytes
            for piece in source():
                left -= len(piece)
                file.write(piece)
            if left:
                more = f"{-left} bytes too many" if left < 0 else f"{left} bytes too few"
                raise SafetensorsError(
                    f"safetensors {path}: the source of tensor {name!r} gave {more} for shape {list(shape)} of {dtype}"
                )


@contextmanager
def named(path: str | os.PathLike[str]) -> Iterator[None]:
    """An OSError of a write knows no file name (a full disk): it gets this one."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = os.fspath(path)
        raise


class _atomic:  # noqa: N801 - used as a statement
    """A scratch file beside the target that replaces it on success and vanishes on failure."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __enter__(self) -> Any:
        handle, self.name = tempfile.mkstemp(
            prefix=f".{self.target.name[:40]}.", suffix=".tmp", dir=self.target.parent or "."
        )
        self.file = os.fdopen(handle, "wb")
        return self.file

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            with self.file:
                if kind is None:
                    self.file.flush()
                    os.fsync(self.file.fileno())
            if kind is None:
                mode = self.target.stat().st_mode & 0o777 if self.target.exists() else 0o666 & ~_umask()
                os.chmod(self.name, mode)
                os.replace(self.name, self.target)
        finally:
            if os.path.exists(self.name):
                os.unlink(self.name)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def pieces(view: memoryview, progress: Callable[[int], None] | None = None) -> Iterator[memoryview]:
    """A long view in short pieces; `progress` is told the length of each as it is handed out."""
    for start in range(0, len(view), _PIECE):
        piece = view[start : start + _PIECE]
        if progress is not None:
            progress(len(piece))
        yield piece
