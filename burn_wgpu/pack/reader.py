"""Reads a burnpack container: the metadata at once and checked, payloads when they are asked for.

    with PackReader.open("model.bpk") as pack:
        for tensor in pack.in_file_order():
            pack.view(tensor.name)      # read-only memoryview of the payload, nothing is copied

Opening checks everything that can be known without touching a payload: header, CBOR, schema, schemes, lengths, ranges
inside the file, overlap. The limits for a tensor and a file, and the values of booleans, are checked on access.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from types import MappingProxyType, TracebackType
from typing import NoReturn

import numpy as np

from burn_wgpu.pack.errors import PackError, PackFault, PackLookupError, shown
from burn_wgpu.pack.metadata import (
    Metadata,
    PackLimits,
    TensorInfo,
    decode_metadata,
    dtype_spelling,
    payload_bytes,
)
from burn_wgpu.pack.scalar import Scalar
from burn_wgpu.pack.source import NO_FILE, BytesSource, FileSource, Source
from burn_wgpu.std.errors import ShapeError
from burn_wgpu.std.quant import QFloat

MAGIC = b"NRUB"
VERSION = 1
HEADER_BYTES = 10
ALIGNMENT = 256

_WINDOW = 8 << 20
_BOOL_WINDOW = 1 << 20


def align(offset: int) -> int:
    """The next multiple of 256."""
    return -(-offset // ALIGNMENT) * ALIGNMENT


class PackReader:
    """An open container. Made by `open` or `from_bytes`; a context manager.

    file        the path as text, or "<bytes>"
    size_bytes  of the whole container
    data_start  where the data section begins
    tensors     name → TensorInfo, sorted by the bytes of the name
    metadata    the text map
    scalars     name → Scalar
    legacy      what of an older Burn's layout was met and read, as texts; empty for current files

    Views stay valid when the reader is closed, until they are dropped; every later call raises PackError (CLOSED).
    """

    def __init__(
        self,
        source: Source,
        limits: PackLimits,
        size_bytes: int,
        data_start: int,
        metadata_bytes: int,
        decoded: Metadata,
    ) -> None:
        self._source = source
        self.limits = limits
        self.file = source.file
        self.version = VERSION
        self.size_bytes = size_bytes
        self.data_start = data_start
        self.metadata_bytes = metadata_bytes
        self.tensors: Mapping[str, TensorInfo] = MappingProxyType(
            {name: decoded.tensors[name] for name in sorted(decoded.tensors)}  # code points sort as UTF-8 bytes do
        )
        self.metadata: Mapping[str, str] = MappingProxyType(decoded.metadata)
        self.scalars: Mapping[str, Scalar] = MappingProxyType(decoded.scalars)
        self.legacy = tuple(decoded.legacy)

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, exact: bool = False, limits: PackLimits | None = None) -> PackReader:
        """Opens a file. A path without an extension that does not exist is tried with ".bpk", unless `exact`.

        Raises PackFileError (PackNotFoundError if there is no such file), PackError for a file that breaks the format.
        """
        source = FileSource(path, exact)
        try:
            return cls._load(source, limits or PackLimits())
        except BaseException:
            source.close()
            raise

    @classmethod
    def from_bytes(
        cls, data: bytes | bytearray | memoryview, *, name: str = NO_FILE, limits: PackLimits | None = None
    ) -> PackReader:
        """Reads a container that is in memory; `name` stands for the file in messages. The buffer is not copied."""
        return cls._load(BytesSource(data, name), limits or PackLimits())

    @classmethod
    def _load(cls, source: Source, limits: PackLimits) -> PackReader:
        file, size = source.file, source.size_bytes
        header = source.read(0, min(HEADER_BYTES, size))
        if len(header) < HEADER_BYTES:
            found, wanted = f"a file of {len(header)} bytes", f"{HEADER_BYTES} header bytes"
            raise PackError(
                PackFault.HEADER, "the file is too short for the header", file=file, found=found, wanted=wanted
            )
        if header[:4] != MAGIC:
            found, wanted = f"bytes {header[:4].hex(' ')}", f"{MAGIC.hex(' ')}, the letters NRUB"
            raise PackError(
                PackFault.MAGIC, "the magic number is not burnpack's", file=file, found=found, wanted=wanted
            )
        version = int.from_bytes(header[4:6], "little")
        if version != VERSION:
            raise PackError(
                PackFault.VERSION, "unsupported format version", file=file, found=str(version), wanted=str(VERSION)
            )
        length = int.from_bytes(header[6:10], "little")
        if length > limits.max_metadata_bytes:
            raise PackError(
                PackFault.LIMIT,
                "the metadata exceeds its limit",
                file=file,
                found=f"{length} bytes",
                wanted=f"at most {limits.max_metadata_bytes}",
            )
        if HEADER_BYTES + length > size:
            raise PackError(
                PackFault.TRUNCATED,
                "the metadata reaches beyond the end of the file",
                file=file,
                found=f"{size - HEADER_BYTES} bytes after the header",
                wanted=f"{length}",
            )
        region = source.read(HEADER_BYTES, length)
        decoded = decode_metadata(region, file=file, base=HEADER_BYTES, limits=limits)
        del region
        data_start = _check_tensors(decoded, file, HEADER_BYTES + length, size)
        return cls(source, limits, size, data_start, length, decoded)

    # Access

    def __len__(self) -> int:
        """Tensors in the container."""
        return len(self.tensors)

    def __contains__(self, name: object) -> bool:
        return name in self.tensors

    def __iter__(self) -> Iterator[TensorInfo]:
        """The tensors by name; `in_file_order` for the order of the payloads."""
        return iter(self.tensors.values())

    def in_file_order(self) -> list[TensorInfo]:
        """The tensors as their payloads lie in the file: the order in which they were written."""
        return sorted(self.tensors.values(), key=lambda info: (info.start, info.end))

    def info(self, name: str) -> TensorInfo:
        """The descriptor. Raises PackLookupError."""
        try:
            return self.tensors[name]
        except KeyError:
            raise PackLookupError(
                PackFault.NOT_FOUND,
                "no such tensor in the container",
                file=self.file,
                place="tensor",
                name=name,
                found=f"{len(self.tensors)} other tensors",
            ) from None

    def scalar(self, name: str) -> Scalar:
        """The scalar of that name. Raises PackLookupError."""
        try:
            return self.scalars[name]
        except KeyError:
            raise PackLookupError(
                PackFault.NOT_FOUND, "no such scalar in the container", file=self.file, place="scalar", name=name
            ) from None

    def view(self, name: str) -> memoryview:
        """The payload as a read-only memoryview of bytes, without a copy.

        From a file it is a view of a memory map. The file must not be shortened in place while views live (the system
        would end the process on touching them); replacing it, as the writer does, is safe. `read` has no such
        condition. Raises PackLookupError, and PackError for LIMIT, BOOL, TRUNCATED, CLOSED.
        """
        info = self._checked(name)
        view = self._source.view(self.data_start + info.start, info.size_bytes)
        check_bools(info, view, self.file)
        return view

    def read(self, name: str) -> bytes:
        """The payload as bytes, read anew. Raises as `view` does."""
        info = self._checked(name)
        payload = self._source.read(self.data_start + info.start, info.size_bytes)
        check_bools(info, payload, self.file)
        return payload

    def array(self, name: str) -> np.ndarray:
        """The tensor as a read-only NumPy array over the view, of shape `shape`.

        bf16 comes as its bits in uint16, quantized tensors as their payload bytes in uint8 (one axis). Raises as `view`
        does, and PackError (SCHEMA) for a shape that NumPy cannot hold.
        """
        info = self.info(name)
        view = self.view(name)
        if isinstance(info.dtype, QFloat):
            return np.frombuffer(view, np.uint8)
        try:
            return np.frombuffer(view, info.dtype.numpy).reshape(info.shape)
        except (ValueError, OverflowError) as error:
            raise PackError(
                PackFault.SCHEMA,
                f"NumPy cannot hold this shape: {error}",
                file=self.file,
                place="tensor",
                name=name,
                found=f"rank {len(info.shape)}",
            ) from None

    def verify(self) -> None:
        """Touches every payload: they are there, within the limits, and booleans are 0 or 1. Raises PackError."""
        for info in self.in_file_order():
            self._checked(info.name)
            for start in range(0, info.size_bytes, _WINDOW):
                length = min(_WINDOW, info.size_bytes - start)
                check_bools(info, self._source.read(self.data_start + info.start + start, length), self.file, start)

    def _checked(self, name: str) -> TensorInfo:
        self._source.check_open()
        info = self.info(name)
        if self._source.is_file and self.size_bytes > self.limits.max_file_bytes:
            raise PackError(
                PackFault.LIMIT,
                "the file exceeds its limit",
                file=self.file,
                found=f"{self.size_bytes} bytes",
                wanted=f"at most {self.limits.max_file_bytes}",
            )
        if info.size_bytes > self.limits.max_tensor_bytes:
            raise PackError(
                PackFault.LIMIT,
                "the tensor exceeds its limit",
                file=self.file,
                place="tensor",
                name=name,
                found=f"{info.size_bytes} bytes",
                wanted=f"at most {self.limits.max_tensor_bytes}",
            )
        return info

    # Closing

    @property
    def closed(self) -> bool:
        return self._source.closed

    def close(self) -> None:
        """Lets go of the file; a second time does nothing. Views that exist keep their memory."""
        self._source.close()

    def __enter__(self) -> PackReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self.closed else f"{len(self.tensors)} tensors, {len(self.scalars)} scalars"
        return f"PackReader({shown(self.file)}, {state})"


def check_bools(info: TensorInfo, payload: bytes | memoryview, file: str | None, offset: int = 0) -> None:
    """Refuses a piece of a boolean payload that holds anything but 0 and 1; `offset` is where the piece begins.

    Other dtypes pass. Raises PackError (BOOL).
    """
    if not info.dtype.is_bool:
        return
    size = info.dtype.size_bytes
    most = np.array([1] + [0] * (size - 1), np.uint8)  # the lowest byte of each element may be 1, the others are 0
    for start in range(0, len(payload), _BOOL_WINDOW):
        piece = np.frombuffer(payload, np.uint8, count=min(_BOOL_WINDOW, len(payload) - start), offset=start)
        bad = piece > (1 if size == 1 else np.resize(np.roll(most, -(offset + start)), piece.size))
        if bad.any():
            at = int(bad.argmax())
            raise PackError(
                PackFault.BOOL,
                f"element {(offset + start + at) // size} of a bool tensor is neither 0 nor 1",
                file=file,
                place="tensor",
                name=info.name,
                found=f"byte {int(piece[at])} at offset {offset + start + at}",
                wanted="0 or 1" if size == 1 else f"0 or 1 in {size} bytes",
            )


# Checks at open


def _check_tensors(decoded: Metadata, file: str, metadata_end: int, size: int) -> int:
    """Checks ranges, lengths and overlap; gives the start of the data section."""
    tensors = decoded.tensors
    for info in tensors.values():
        fault = _range_fault(info)
        if fault is not None:
            kind, text, found, wanted = fault
            raise PackError(kind, text, file=file, place="tensor", name=info.name, found=found, wanted=wanted)
    data_start = align(metadata_end)
    if not tensors:
        return data_start
    last = max(tensors.values(), key=lambda info: info.end)
    if data_start + last.end > size:
        if _is_unpadded(tensors, metadata_end, last.end, size):
            decoded.legacy.append("a data section without padding (Burn 0.19)")
            data_start = metadata_end
        else:
            _truncated(last, file, metadata_end, data_start, size)
    _check_overlap(tensors, file)
    return data_start


_Fault = tuple[PackFault, str, str, str]


def _range_fault(info: TensorInfo) -> _Fault | None:
    offsets = f"[{info.start}, {info.end}]"
    if info.end < info.start:
        return PackFault.OFFSETS, "data_offsets run backwards", offsets, "start <= end"
    if info.end > 2**63:  # the sum with the start of the data must stay a file offset
        return PackFault.OFFSETS, "data_offsets overflow a file offset", offsets, "an end far below 2^63"
    quantized = isinstance(info.dtype, QFloat)
    if isinstance(info.dtype, QFloat) and (reason := info.dtype.scheme.fault(info.shape)) is not None:
        return PackFault.SCHEME, f"the quantization scheme does not fit: {reason}", str(info.dtype), "a sound scheme"
    shape = _shown_shape(info.shape)
    try:
        wanted = payload_bytes(info.dtype, info.shape)
    except ShapeError:
        found = f"{dtype_spelling(info.dtype)} of shape {shape}"
        return PackFault.LENGTH, "the size in bytes overflows 64 bits", found, "at most 2^64 - 1 bytes"
    if info.size_bytes != wanted:
        what = "quantized payload" if quantized else "payload"
        return (
            PackFault.LENGTH,
            f"the length of the {what} disagrees with dtype and shape",
            f"{info.size_bytes} bytes in data_offsets {offsets}",
            f"{wanted} bytes for {dtype_spelling(info.dtype)} of shape {shape}",
        )
    return None


def _shown_shape(shape: tuple[int, ...]) -> str:
    return str(list(shape)) if len(shape) <= 16 else f"{str(list(shape[:16]))[:-1]}, … {len(shape)} dimensions]"


def _is_unpadded(tensors: Mapping[str, TensorInfo], metadata_end: int, last_end: int, size: int) -> bool:
    """Whether this can only be the layout of Burn 0.19: no padding anywhere, payloads back to back.

    A current file that was cut by exactly its padding has the same length, but every start on a multiple of 256.
    """
    if metadata_end + last_end != size or all(info.start % ALIGNMENT == 0 for info in tensors.values()):
        return False
    position = 0
    for info in sorted(tensors.values(), key=lambda info: (info.start, info.end)):
        if info.start != position:
            return False
        position = info.end
    return True


def _truncated(info: TensorInfo, file: str, metadata_end: int, data_start: int, size: int) -> NoReturn:
    text = "the payload reaches beyond the end of the file"
    if metadata_end + info.end == size:
        text += ", which is truncated or has the legacy layout of Burn 0.19 without padding"
    raise PackError(
        PackFault.TRUNCATED,
        text,
        file=file,
        place="tensor",
        name=info.name,
        found=f"a file of {size} bytes",
        wanted=f"at least {data_start + info.end} (data from {data_start}, data_offsets [{info.start}, {info.end}])",
    )


def _check_overlap(tensors: Mapping[str, TensorInfo], file: str) -> None:
    filled = sorted((info for info in tensors.values() if info.start < info.end), key=lambda info: info.start)
    for before, after in zip(filled, filled[1:], strict=False):
        if after.start < before.end:
            raise PackError(
                PackFault.OVERLAP,
                f"its bytes overlap with those of tensor {shown(after.name)}",
                file=file,
                place="tensor",
                name=before.name,
                found=f"[{before.start}, {before.end}] and [{after.start}, {after.end}]",
                wanted="ranges without a common byte",
            )
