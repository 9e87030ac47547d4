"""Writes a burnpack container, byte for byte as Burn does, one payload at a time.

    write_pack("model.bpk", [
        PackEntry("weight", F32, (2, 3), 100, weight_bytes),
        PackEntry("bias", F32, (3,), 101, lambda: chunks_of_bias()),
    ])

Everything is planned and checked before a byte is written, with the reader's limits, so what was written can be read.
Files are published atomically: a scratch file in the same folder, fsync, then one rename. Payloads lie in the order
of the entries; the tables in the metadata are sorted by name.
"""

from __future__ import annotations

import errno
import itertools
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from burn_wgpu.pack.cbor import UINT64_MAX
from burn_wgpu.pack.errors import PackError, PackExistsError, PackFault, PackFileError, file_error, shown_path
from burn_wgpu.pack.metadata import MAX_RANK, PackLimits, TensorInfo, dtype_spelling, encode_metadata, payload_bytes
from burn_wgpu.pack.reader import HEADER_BYTES, MAGIC, VERSION, align, check_bools
from burn_wgpu.pack.scalar import Scalar
from burn_wgpu.pack.source import with_extension
from burn_wgpu.std.dtype import DType, dtype
from burn_wgpu.std.errors import BurnError, ShapeError
from burn_wgpu.std.quant import QFloat

# Whatever gives its memory through the buffer protocol; typing has no word for it before Python 3.12.
Buffer = Any
Data = Buffer | Callable[[], Buffer | Iterable[Buffer]]

_WINDOW = 8 << 20
_ZEROS = bytes(256)
_counter = itertools.count()


class PackEntry(NamedTuple):
    """One tensor to write.

    data  its payload: a contiguous little-endian buffer (bytes, memoryview, NumPy array …), or a function that gives
          such a buffer or an iterable of them. The function is called once, when the writer reaches the tensor, and
          each piece is dropped before the next is asked for.
    """

    name: str
    dtype: DType
    shape: Sequence[int]
    param_id: int | None
    data: Data


@dataclass(frozen=True, slots=True)
class PackPlan:
    """The layout of a container that is not written yet. Made by `plan_pack`.

    tensors     in the order of their payloads
    preamble    header, metadata and padding
    size_bytes  of the whole file
    """

    tensors: tuple[TensorInfo, ...]
    preamble: bytes
    size_bytes: int
    data: tuple[Data, ...]

    def stream(self, write: Callable[[memoryview], object], *, file: str | None = None) -> None:
        """Hands the file to `write` from front to back, in pieces of at most 8 MiB.

        Raises PackError (SOURCE, BOOL) for a payload that is not what the plan says. An exception out of a payload
        function passes through with a note that names the tensor.
        """
        _write_windows(write, memoryview(self.preamble))
        position = 0
        for info, data in zip(self.tensors, self.data, strict=True):
            write(memoryview(_ZEROS)[: info.start - position])
            written = 0
            for piece in _pieces(info, data, file):
                if written + piece.nbytes > info.size_bytes:
                    raise _wrong_length(info, f"at least {written + piece.nbytes}", file)
                check_bools(info, piece, file, written)
                _write_windows(write, piece)
                written += piece.nbytes
                del piece  # before the next one is made
            if written != info.size_bytes:
                raise _wrong_length(info, str(written), file)
            position = info.end


def plan_pack(
    entries: Iterable[PackEntry | tuple[str, DType, Sequence[int], int | None, Data]],
    *,
    metadata: Mapping[str, str] | None = None,
    scalars: Mapping[str, object] | None = None,
    limits: PackLimits | None = None,
) -> PackPlan:
    """The layout: each payload on the next multiple of 256, in the order given. No payload function is called.

    scalars  Scalar, or anything that `Scalar.of` takes
    Raises PackError: DUPLICATE for a name twice, LENGTH for a buffer of another length than dtype and shape say,
    SCHEME, LIMIT, SCALAR, and SOURCE for names, ids, shapes or buffers that cannot be written.
    """
    limits = limits or PackLimits()
    infos: list[TensorInfo] = []
    sources: list[Data] = []
    names: set[str] = set()
    end = 0
    for raw in entries:
        entry = PackEntry(*raw)
        info = _plan_tensor(entry, align(end), limits)
        if info.name in names:
            raise _entry_error(
                PackFault.DUPLICATE, "duplicate tensor name", info.name, "it a second time", "each name once"
            )
        names.add(info.name)
        if len(names) > limits.max_tensors:
            raise PackError(
                PackFault.LIMIT, "too many tensors", found=f"{len(names)} or more", wanted=f"{limits.max_tensors}"
            )
        infos.append(info)
        sources.append(entry.data)
        end = info.end
    texts = {_text(k, "metadata key", k): _text(v, "metadata key", k) for k, v in (metadata or {}).items()}
    numbers = {_text(k, "scalar", k): _scalar(k, v) for k, v in (scalars or {}).items()}
    encoded = encode_metadata(infos, texts, numbers)
    if len(encoded) > limits.max_metadata_bytes:
        found, wanted = f"{len(encoded)} bytes", f"at most {limits.max_metadata_bytes}"
        raise PackError(PackFault.LIMIT, "the metadata exceeds its limit", found=found, wanted=wanted)
    data_start = align(HEADER_BYTES + len(encoded))
    if data_start + end > limits.max_file_bytes:
        found, wanted = f"{data_start + end} bytes", f"at most {limits.max_file_bytes}"
        raise PackError(PackFault.LIMIT, "the file exceeds its limit", found=found, wanted=wanted)
    header = MAGIC + VERSION.to_bytes(2, "little") + len(encoded).to_bytes(4, "little")
    preamble = (header + encoded).ljust(data_start, b"\0")
    return PackPlan(tuple(infos), preamble, data_start + end, tuple(sources))


def pack_bytes(
    entries: Iterable[PackEntry | tuple[str, DType, Sequence[int], int | None, Data]],
    *,
    metadata: Mapping[str, str] | None = None,
    scalars: Mapping[str, object] | None = None,
    limits: PackLimits | None = None,
) -> bytes:
    """The container in memory. Arguments and errors as `plan_pack` and `PackPlan.stream`."""
    target = bytearray()
    plan_pack(entries, metadata=metadata, scalars=scalars, limits=limits).stream(target.extend)
    return bytes(target)


def write_pack(
    path: str | os.PathLike[str],
    entries: Iterable[PackEntry | tuple[str, DType, Sequence[int], int | None, Data]],
    *,
    metadata: Mapping[str, str] | None = None,
    scalars: Mapping[str, object] | None = None,
    overwrite: bool = True,
    auto_extension: bool = True,
    atomic: bool = True,
    limits: PackLimits | None = None,
) -> Path:
    """Writes the container and gives the path that it has now (".bpk" added by `with_extension` if auto_extension).

    atomic      write to a scratch file beside the destination and publish it with one rename: on any failure the
                destination is untouched and the scratch file gone. Permission bits of a replaced file are kept; a
                symbolic link at the destination is replaced, not followed. Otherwise the destination is truncated and
                written in place; a source that reads from it must not be used then.
    overwrite   False: raises PackExistsError if anything stands at the destination, decided at the moment of publishing
    Raises PackFileError for what the system refuses, else as `plan_pack` and `PackPlan.stream`.
    """
    try:
        target = Path(os.fsdecode(path))
    except TypeError:
        raise PackError(
            PackFault.SOURCE, "this is no path", found=type(path).__name__, wanted="str or os.PathLike"
        ) from None
    if auto_extension:
        target = with_extension(target)
    if target.name in ("", ".."):
        raise PackFileError(PackFault.IO, "the path names no file", file=str(target))
    try:
        plan = plan_pack(entries, metadata=metadata, scalars=scalars, limits=limits)
    except PackError as error:
        raise (error if error.file is not None else error.in_file(str(target))) from error.__cause__
    if atomic:
        _write_atomic(plan, target, overwrite)
    else:
        _write_in_place(plan, target, overwrite)
    return target


# Planning


def _entry_error(
    kind: PackFault, text: str, name: str, found: str | None = None, wanted: str | None = None, file: str | None = None
) -> PackError:
    return PackError(kind, text, file=file, place="tensor", name=name, found=found, wanted=wanted)


def _plan_tensor(entry: PackEntry, start: int, limits: PackLimits) -> TensorInfo:
    name = _text(entry.name, "tensor", entry.name)
    try:
        kind = dtype(entry.dtype)
    except BurnError as error:
        raise _entry_error(PackFault.DTYPE, str(error), name) from None
    shape = tuple(_unsigned(dim, name, "a dimension") for dim in entry.shape)
    if len(shape) > MAX_RANK:
        raise _entry_error(PackFault.SCHEMA, "the rank is too large", name, str(len(shape)), f"at most {MAX_RANK}")
    param_id = None if entry.param_id is None else _unsigned(entry.param_id, name, "the param_id")
    if isinstance(kind, QFloat) and (reason := kind.scheme.fault(shape)) is not None:
        raise _entry_error(PackFault.SCHEME, f"the quantization scheme does not fit: {reason}", name, str(kind))
    try:
        length = payload_bytes(kind, shape)
    except ShapeError as error:
        raise _entry_error(PackFault.LENGTH, str(error), name, f"shape {list(shape)}") from None
    if length > limits.max_tensor_bytes:
        found, wanted = f"{length} bytes", f"at most {limits.max_tensor_bytes}"
        raise _entry_error(PackFault.LIMIT, "the tensor exceeds its limit", name, found, wanted)
    info = TensorInfo(name, kind, shape, param_id, start, start + length)
    if not callable(entry.data):
        piece = _buffer(info, entry.data, None)
        if piece.nbytes != length:
            raise _wrong_length(info, str(piece.nbytes), None)
    return info


def _text(value: object, place: str, name: object) -> str:
    if not isinstance(value, str):
        raise PackError(PackFault.SOURCE, f"{place} {name!r} is not text", found=type(value).__name__, wanted="str")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise PackError(
            PackFault.SOURCE, "text that UTF-8 cannot hold (a lone surrogate)", place=place, name=str(name)
        ) from None
    return value


def _unsigned(value: object, name: str, what: str) -> int:
    if isinstance(value, (bool, np.bool_)) or not hasattr(value, "__index__"):
        raise _entry_error(PackFault.SOURCE, f"{what} is not an integer", name, type(value).__name__, "an integer")
    number = int(value.__index__())
    if not 0 <= number <= UINT64_MAX:
        raise _entry_error(PackFault.SOURCE, f"{what} is out of range", name, str(number), "0 to 2^64 - 1")
    return number


def _scalar(name: str, value: object) -> Scalar:
    try:
        return Scalar.of(value)
    except PackError as error:
        raise PackError(
            error.kind, error.text, place="scalar", name=name, found=error.found, wanted=error.wanted
        ) from None


# Payloads


def _buffer(info: TensorInfo, data: Buffer, file: str | None) -> memoryview:
    """The bytes of a buffer, flat."""
    if isinstance(data, np.ndarray):
        if data.dtype.byteorder == ">" or data.dtype.hasobject:
            found = f"an array of {data.dtype.str}"
            raise _entry_error(
                PackFault.SOURCE, "the payload must be little-endian numbers", info.name, found, file=file
            )
        if not data.flags.c_contiguous:
            raise _entry_error(
                PackFault.SOURCE, "the payload must be contiguous, row-major", info.name, "strides", file=file
            )
        data = data.reshape(-1).view(np.uint8)
    try:
        view = memoryview(data)
        return view.cast("B") if view.nbytes else memoryview(b"")
    except (TypeError, ValueError) as error:
        raise _entry_error(
            PackFault.SOURCE, f"the payload is no contiguous buffer: {error}", info.name, type(data).__name__, file=file
        ) from None


def _pieces(info: TensorInfo, data: Data, file: str | None) -> Iterator[memoryview]:
    """The payload in the pieces in which it comes; holds none of them while the next is made."""
    if not callable(data):
        yield _buffer(info, data, file)
        return
    source = _Noted(info)
    with source:
        produced = data()
    if isinstance(produced, (bytes, bytearray, memoryview, np.ndarray)) or _is_buffer(produced):
        yield _buffer(info, produced, file)
        return
    if isinstance(produced, str) or not isinstance(produced, Iterable):
        raise _entry_error(
            PackFault.SOURCE,
            "the payload function gave neither a buffer nor an iterable of buffers",
            info.name,
            type(produced).__name__,
            file=file,
        )
    iterator = iter(produced)
    del produced
    while True:
        with source:
            piece = next(iterator, None)
        if piece is None:
            return
        yield _buffer(info, piece, file)
        del piece


def _is_buffer(value: object) -> bool:
    try:
        memoryview(value)  # type: ignore[arg-type]  # this is the question
    except TypeError:
        return False
    return True


class _Noted:
    """Adds the tensor's name to an exception that comes out of its payload function."""

    def __init__(self, info: TensorInfo) -> None:
        self._info = info

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            error.add_note(f"while the payload of tensor {self._info.name!r} was produced")


def _wrong_length(info: TensorInfo, found: str, file: str | None) -> PackError:
    return _entry_error(
        PackFault.LENGTH,
        "the payload has another length than dtype and shape say",
        info.name,
        f"{found} bytes",
        f"{info.size_bytes} bytes for {dtype_spelling(info.dtype)} of shape {list(info.shape)}",
        file,
    )


def _write_windows(write: Callable[[memoryview], object], view: memoryview) -> None:
    for start in range(0, view.nbytes, _WINDOW):
        write(view[start : start + _WINDOW])


# Files


def _write_all(descriptor: int, view: memoryview, file: str) -> None:
    """Writes to the end; the system may take less than it is given."""
    try:
        while view.nbytes:
            view = view[os.write(descriptor, view) :]
    except OSError as error:
        raise file_error(error, "the file cannot be written", file) from error


_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def _write_in_place(plan: PackPlan, target: Path, overwrite: bool) -> None:
    file = str(target)
    try:
        descriptor = os.open(
            target, os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if overwrite else os.O_EXCL) | _FLAGS, 0o666
        )
    except FileExistsError as error:
        raise _exists(file) from error
    except (OSError, ValueError) as error:
        raise file_error(error, "the file cannot be opened for writing", file) from error
    try:
        plan.stream(lambda view: _write_all(descriptor, view, file), file=file)
    finally:
        os.close(descriptor)


def _write_atomic(plan: PackPlan, target: Path, overwrite: bool) -> None:
    file = str(target)
    scratch, descriptor = _open_scratch(target)
    try:
        try:
            plan.stream(lambda view: _write_all(descriptor, view, file), file=file)
            try:
                if overwrite:
                    _keep_permissions(target, descriptor, scratch)
                os.fsync(descriptor)
            except OSError as error:
                raise file_error(error, "the file cannot be completed", file) from error
        finally:
            os.close(descriptor)
        _publish(scratch, target, overwrite)
    except BaseException:
        # Also on KeyboardInterrupt: nothing of ours stays behind.
        scratch.unlink(missing_ok=True)
        raise
    _sync_folder(target)


def _open_scratch(target: Path) -> tuple[Path, int]:
    """A new file beside the target. An existing path or link of that name is never used."""
    # A name near the system's limit has no room for the suffix.
    stem = target.name if len(os.fsencode(target.name)) <= 200 else target.name[:40]
    while True:
        scratch = target.with_name(f"{stem}.{os.getpid()}-{next(_counter)}.tmp")
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | _FLAGS
            return scratch, os.open(scratch, flags, 0o666)
        except FileExistsError:
            continue
        except (OSError, ValueError) as error:
            raise file_error(error, "no file can be created in this folder", str(target)) from error


def _keep_permissions(target: Path, descriptor: int, scratch: Path) -> None:
    try:
        status = os.lstat(target)
    except FileNotFoundError:
        return
    if stat.S_ISREG(status.st_mode):
        mode = stat.S_IMODE(status.st_mode)
        if hasattr(os, "fchmod"):
            os.fchmod(descriptor, mode)
        else:
            scratch.chmod(mode)


# What systems say where hard links do not exist or are forbidden.
_NO_LINKS = {
    errno.EPERM,
    errno.EOPNOTSUPP,
    errno.ENOTSUP,
    errno.ENOSYS,
    errno.EMLINK,
    errno.EXDEV,
    errno.EINVAL,
    errno.EACCES,
}


def _publish(scratch: Path, target: Path, overwrite: bool) -> None:
    file = str(target)
    try:
        if overwrite:
            os.replace(scratch, target)
            return
        try:
            os.link(scratch, target, follow_symlinks=False)
        except OSError as error:
            if isinstance(error, FileExistsError) or error.errno not in _NO_LINKS:
                raise
            # A short race remains here: the check and the rename are two calls.
            if os.path.lexists(target):
                raise _exists(file) from error
            os.rename(scratch, target)
            return
    except FileExistsError as error:
        raise (error if isinstance(error, PackError) else _exists(file)) from error
    except OSError as error:
        raise file_error(error, "the finished file cannot be put in place", file) from error
    try:
        scratch.unlink()
    except OSError as error:
        text = f"the file was saved, but its scratch name {shown_path(scratch.name)} cannot be removed"
        raise file_error(error, text, file) from error


def _sync_folder(target: Path) -> None:
    """Makes the rename durable where a folder can be synchronized (not on Windows)."""
    if os.name == "nt":
        return
    try:
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        if error.errno in (errno.EINVAL, errno.ENOTSUP, errno.EACCES):
            return  # some file systems cannot synchronize a folder, and a folder may be writable but not readable
        raise file_error(error, "the file is in place, but its folder cannot be synchronized", str(target)) from error


def _exists(file: str) -> PackExistsError:
    error = PackExistsError(
        PackFault.EXISTS, "the file exists already", file=file, wanted="a free path, or overwrite=True"
    )
    error.errno = errno.EEXIST
    return error
