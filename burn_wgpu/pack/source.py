"""Where the bytes of a container are: in memory, or in a regular file that is read and mapped on demand."""

from __future__ import annotations

import errno
import mmap
import os
import stat
import threading
from pathlib import Path
from typing import NoReturn

from burn_wgpu.pack.errors import PackError, PackFault, PackFileError, file_error

EXTENSION = ".bpk"
NO_FILE = "<bytes>"

_READ_MOST = 1 << 30
"""Of one system call; Linux moves at most 2 GiB."""


def with_extension(path: str | os.PathLike[str]) -> Path:
    """The path with ".bpk" if its last part has no extension, by Burn's rule.

    An extension is a dot that is not the first character of the name: "model" → "model.bpk", ".hidden" → ".hidden.bpk",
    "model.v1" and "model." stay. A path without a file name ("..", "/") stays as well.
    """
    plain = Path(path)
    if plain.name in ("", "..") or "." in plain.name[1:]:
        return plain
    return plain.with_name(plain.name + EXTENSION)


class Source:
    """Random access to the bytes of a container."""

    file: str
    size_bytes: int
    is_file: bool
    closed: bool = False

    def read(self, start: int, length: int) -> bytes:
        raise NotImplementedError

    def view(self, start: int, length: int) -> memoryview:
        raise NotImplementedError

    def close(self) -> None:
        self.closed = True

    def check_open(self) -> None:
        if self.closed:
            raise PackError(
                PackFault.CLOSED,
                "the reader is closed; open the file anew, or read what you need before",
                file=self.file,
            )


class BytesSource(Source):
    is_file = False

    def __init__(self, data: bytes | bytearray | memoryview, name: str) -> None:
        self.file = name
        try:
            view = memoryview(data)
            self._view = view.cast("B").toreadonly() if view.nbytes else memoryview(b"")
        except (TypeError, ValueError) as error:
            raise PackError(
                PackFault.SOURCE,
                f"this is no buffer of contiguous bytes: {error}",
                file=name,
                found=type(data).__name__,
                wanted="bytes, bytearray or a contiguous memoryview",
            ) from None
        self.size_bytes = self._view.nbytes

    def read(self, start: int, length: int) -> bytes:
        self.check_open()
        return bytes(self._view[start : start + length])

    def view(self, start: int, length: int) -> memoryview:
        self.check_open()
        return self._view[start : start + length]

    def close(self) -> None:
        super().close()
        self._view = memoryview(b"")


class FileSource(Source):
    """A regular file; mapped into memory when the first view is asked for."""

    is_file = True

    def __init__(self, path: str | os.PathLike[str], exact: bool) -> None:
        self._lock = threading.Lock()
        self._map: mmap.mmap | None = None
        self._descriptor = -1
        try:
            text = os.fsdecode(path)
        except TypeError:
            raise PackError(
                PackFault.SOURCE, "this is no path", found=type(path).__name__, wanted="str or os.PathLike"
            ) from None
        self.file = text
        # Not blocking: a named pipe would otherwise hold us here until someone writes to it.
        flags = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
        try:
            try:
                self._descriptor = os.open(text, flags)
            except FileNotFoundError:
                longer = str(with_extension(text))
                if exact or longer == str(Path(text)):
                    raise
                self._descriptor = os.open(longer, flags)
                self.file = longer
            status = os.fstat(self._descriptor)
        except (OSError, ValueError) as error:
            self.close()
            raise file_error(error, "the file cannot be opened", self.file) from error
        if not stat.S_ISREG(status.st_mode):
            self.close()
            raise PackFileError(
                PackFault.IO, "only regular files can be opened; read other sources into memory first", file=self.file
            )
        self.size_bytes = status.st_size

    def read(self, start: int, length: int) -> bytes:
        self.check_open()
        pieces, position, end = [], start, start + length
        try:
            while position < end:
                piece = self._read_at(position, min(end - position, _READ_MOST))
                if not piece:
                    self._shrunk(os.fstat(self._descriptor).st_size)
                pieces.append(piece)
                position += len(piece)
        except OSError as error:
            if isinstance(error, PackError):
                raise
            raise file_error(error, "the file cannot be read", self.file) from error
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _read_at(self, position: int, length: int) -> bytes:
        if hasattr(os, "pread"):
            return os.pread(self._descriptor, length, position)
        with self._lock:
            os.lseek(self._descriptor, position, os.SEEK_SET)
            return os.read(self._descriptor, length)

    def view(self, start: int, length: int) -> memoryview:
        self.check_open()
        if length == 0:
            return memoryview(b"")
        try:
            with self._lock:
                size = os.fstat(self._descriptor).st_size
                if size < self.size_bytes:
                    self._shrunk(size)
                if self._map is None:
                    self._map = mmap.mmap(self._descriptor, self.size_bytes, access=mmap.ACCESS_READ)
        except OSError as error:
            if isinstance(error, PackError):
                raise
            raise file_error(error, "the file cannot be mapped into memory", self.file) from error
        return memoryview(self._map)[start : start + length]

    def _shrunk(self, size: int) -> NoReturn:
        raise PackError(
            PackFault.TRUNCATED,
            "the file was shortened after it was opened",
            file=self.file,
            found=f"{size} bytes",
            wanted=f"{self.size_bytes}",
        )

    def close(self) -> None:
        super().close()
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            try:
                os.close(descriptor)
            except OSError as error:
                if error.errno != errno.EBADF:
                    raise file_error(error, "the file cannot be closed", self.file) from error
        # Dropped, not closed: views may still use the map, and the last of them unmaps it.
        self._map = None

    def __del__(self) -> None:
        if getattr(self, "_descriptor", -1) >= 0:
            self.close()
