"""One view of every weight file: names, dtypes, shapes, and payloads as arrays over the memory map."""

from __future__ import annotations

import os
from math import prod
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

import numpy as np

from burn_wgpu.pack.reader import PackReader
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.errors import ArgumentError, FormatError
from burn_wgpu.std.quant import QFloat
from burn_wgpu.store.safetensors import SafetensorsReader

SUFFIXES = (".safetensors", ".bpk")
MAX_RANK = 64 if int(np.__version__.split(".", 1)[0]) >= 2 else 32
"""NumPy's: every tensor passes through an array on its way to a device."""
_MAX_BYTES = 2**63 - 1


class Stored(NamedTuple):
    """One tensor of a file."""

    name: str
    dtype: DType
    shape: tuple[int, ...]
    size_bytes: int


class WeightFile:
    """An open .bpk or .safetensors file; a context manager.

    tensors   name → Stored, in the order of their bytes, so that reading all of them is one sweep
    metadata  the text map

    Raises FormatError for a file that breaks its format, ArgumentError for another suffix, OSError.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._pack: PackReader | None = None
        self._safetensors: SafetensorsReader | None = None
        kind = self.path.suffix.lower()
        if self.path.is_dir():
            raise ArgumentError(f"open: {os.fspath(path)!r} is a folder; name a file in it")
        if kind == ".bpk":
            self._pack = pack = PackReader.open(self.path, exact=True)
            rows = [Stored(t.name, t.dtype, tuple(t.shape), t.size_bytes) for t in pack.in_file_order()]
            self.metadata = dict(pack.metadata)
        elif kind == ".safetensors":
            self._safetensors = reader = SafetensorsReader(self.path)
            rows = [Stored(e.name, e.dtype, e.shape, e.end - e.start) for e in reader]
            self.metadata = dict(reader.metadata)
        else:
            raise ArgumentError(
                f"open: {os.fspath(path)!r} ends in {self.path.suffix!r}; known are {' and '.join(SUFFIXES)}"
            )
        self.tensors = {row.name: row for row in rows}

    @property
    def size_bytes(self) -> int:
        """The bytes of all tensors."""
        return sum(t.size_bytes for t in self.tensors.values())

    def check(self, name: str) -> None:
        """Raises FormatError for a shape that the format allows and an array cannot have."""
        stored = self.tensors[name]
        if isinstance(stored.dtype, QFloat):
            return
        if len(stored.shape) > MAX_RANK:
            raise FormatError(
                f"{self.path}: tensor {name!r} has rank {len(stored.shape)}; tensors have a rank of at most {MAX_RANK}"
            )
        # An empty tensor has no bytes whatever its other axes claim, but strides are counted without the empty ones.
        if prod(n for n in stored.shape if n) * stored.dtype.size_bytes > _MAX_BYTES:
            raise FormatError(
                f"{self.path}: tensor {name!r} has shape {list(stored.shape)} of {stored.dtype}; the axes that are not "
                f"empty must stay below 2^63 bytes"
            )

    def view(self, name: str) -> memoryview:
        """A tensor's bytes, not copied; alive as long as the view is. Raises KeyError, and FormatError for a bool that
        is neither 0 nor 1."""
        if self._pack is not None:
            return self._pack.view(self.tensors[name].name)
        assert self._safetensors is not None
        return self._safetensors.view(name)

    def array(self, name: str) -> np.ndarray:
        """A tensor's stored bits as a read-only array over the map, not copied; flat bytes for a quantized tensor."""
        stored = self.tensors[name]
        if isinstance(stored.dtype, QFloat):
            return np.frombuffer(self.view(name), np.uint8)
        self.check(name)
        return np.frombuffer(self.view(name), stored.dtype.numpy).reshape(stored.shape)

    def close(self) -> None:
        """Closes the file; arrays that are alive keep their bytes."""
        (self._pack or self._safetensors).close()  # type: ignore[union-attr]  # one of them is set

    def __enter__(self) -> WeightFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
