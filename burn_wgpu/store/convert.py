"""Conversion between .safetensors and .bpk, streamed: one piece of one tensor in memory at a time."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from burn_wgpu.pack.reader import PackReader
from burn_wgpu.pack.writer import PackEntry, write_pack
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.errors import ArgumentError
from burn_wgpu.store.file import SUFFIXES, WeightFile
from burn_wgpu.store.safetensors import SafetensorsReader, named, pieces, write_safetensors

Progress = Callable[[int], None]


def convert(source: str | os.PathLike[str], target: str | os.PathLike[str], progress: Progress | None = None) -> int:
    """Writes `target` from `source`, formats by suffix; gives the bytes of tensors moved.

    Names, dtypes, shapes and bytes are kept; text metadata too; ids and scalars of a .bpk have no place in a
    .safetensors file: ids are dropped, scalars are an error. `target` is replaced only when it is complete.

    Raises ArgumentError for other suffixes, for two files of one kind and for one file under two names; FormatError,
    OSError.
    """
    kinds = tuple(Path(p).suffix.lower() for p in (source, target))
    for path, kind in zip((source, target), kinds, strict=True):
        if os.path.isdir(path):
            raise ArgumentError(
                f"convert: {os.fspath(path)!r} is a folder; name a file that ends in {' or '.join(SUFFIXES)}"
            )
        if kind not in SUFFIXES:
            raise ArgumentError(f"convert: {os.fspath(path)!r} ends in {kind!r}; known are {' and '.join(SUFFIXES)}")
    if os.path.exists(target) and os.path.samefile(source, target):
        raise ArgumentError(f"convert: {os.fspath(source)!r} and {os.fspath(target)!r} are the same file; name another")
    ways = {(".safetensors", ".bpk"): _to_pack, (".bpk", ".safetensors"): _to_safetensors}
    if kinds in ways:
        with named(target):
            return ways[kinds](source, target, progress)
    raise ArgumentError(f"convert: both files are {kinds[0]}; one must be {SUFFIXES[0]} and the other {SUFFIXES[1]}")


def total_bytes(source: str | os.PathLike[str]) -> int:
    """The bytes of tensors in a file of either format."""
    with WeightFile(source) as file:
        return file.size_bytes


def _to_pack(source: str | os.PathLike[str], target: str | os.PathLike[str], progress: Progress | None) -> int:
    with SafetensorsReader(source) as reader:
        entries = [
            PackEntry(
                e.name,
                dt.BOOL_U8 if e.dtype is dt.BOOL else e.dtype,
                e.shape,
                None,
                partial(lambda name: pieces(reader.view(name), progress), e.name),
            )
            for e in reader
        ]
        write_pack(target, entries, metadata=reader.metadata)
        return sum(e.end - e.start for e in reader)


def _to_safetensors(source: str | os.PathLike[str], target: str | os.PathLike[str], progress: Progress | None) -> int:
    with PackReader.open(source, exact=True) as pack:
        if pack.scalars:
            raise ArgumentError(
                f"convert: {os.fspath(source)!r} holds {len(pack.scalars)} scalars ({next(iter(pack.scalars))}, …), "
                f"which a .safetensors file cannot; it is a record of training state, keep it as .bpk"
            )
        rows = [
            (
                info.name,
                info.dtype,
                info.shape,
                partial(lambda name: pieces(pack.view(name), progress), info.name),
            )
            for info in pack.in_file_order()
        ]
        write_safetensors(target, rows, metadata=pack.metadata)
        return sum(info.size_bytes for info in pack)
