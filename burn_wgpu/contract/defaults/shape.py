"""Creation, movement, padding."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from burn_wgpu.contract.defaults import op
from burn_wgpu.contract.options import PadMode
from burn_wgpu.contract.types import TensorPrim
from burn_wgpu.std.data import TensorData, compute_dtype, store_array
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.errors import ArgumentError, ShapeError
from burn_wgpu.std.scalar import Scalar, as_scalar
from burn_wgpu.std.slice import Slice


def full_data(shape: Sequence[int], scalar: Scalar, kind: DType) -> TensorData:
    """Host data of one repeated number."""
    values = np.full(tuple(shape), as_scalar(scalar, kind), compute_dtype(kind))
    return TensorData(store_array(values, kind), kind)


def arange_data(start: int, end: int, step: int, kind: DType) -> TensorData:
    """start, start + step, … before end, as host data; raises ArgumentError for step 0."""
    if step == 0:
        raise ArgumentError(f"arange_step: the step from {start} to {end} is 0; it must not be 0")
    values = np.arange(start, end, step, dtype=object if max(abs(start), abs(end)) >= 1 << 62 else np.int64)
    return TensorData(store_array(values.astype(kind.numpy), kind), kind)


def transpose(b: Any, tensor: TensorPrim) -> TensorPrim:
    rank = len(tensor.shape)
    return op(b, tensor, "swap_dims")(tensor, rank - 2, rank - 1)  # type: ignore[no-any-return]


def swap_dims(b: Any, tensor: TensorPrim, dim1: int, dim2: int) -> TensorPrim:
    axes = list(range(len(tensor.shape)))
    axes[dim1], axes[dim2] = axes[dim2], axes[dim1]
    return op(b, tensor, "permute")(tensor, axes)  # type: ignore[no-any-return]


def flip(b: Any, tensor: TensorPrim, axes: Sequence[int]) -> TensorPrim:
    slices = [Slice(step=-1) if axis in axes else Slice.full() for axis in range(len(tensor.shape))]
    return op(b, tensor, "slice")(tensor, slices)  # type: ignore[no-any-return]


def flatten(b: Any, tensor: TensorPrim) -> TensorPrim:
    """[prod(shape)], row-major."""
    if len(tensor.shape) == 1:
        return tensor
    return op(b, tensor, "reshape")(tensor, (prod(tensor.shape),))  # type: ignore[no-any-return]


def slice_dim(b: Any, tensor: TensorPrim, dim: int, item: Slice) -> TensorPrim:
    """A slice of one axis."""
    slices = [item if axis == dim else Slice.full() for axis in range(len(tensor.shape))]
    return op(b, tensor, "slice")(tensor, slices)  # type: ignore[no-any-return]


def repeat_dim(b: Any, tensor: TensorPrim, dim: int, times: int) -> TensorPrim:
    """A new axis of size 1 before `dim` is expanded and merged: one copy, whatever `times` is."""
    shape = tensor.shape
    split = (*shape[:dim], 1, *shape[dim:])
    grown = (*shape[:dim], times, *shape[dim:])
    merged = (*shape[:dim], times * shape[dim], *shape[dim + 1 :])
    wide = op(b, tensor, "expand")(op(b, tensor, "reshape")(tensor, split), grown)
    return op(b, tensor, "reshape")(wide, merged)  # type: ignore[no-any-return]


def cat(b: Any, tensors: Sequence[TensorPrim], dim: int) -> TensorPrim:
    first = tensors[0]
    if len(tensors) == 1:
        return first
    shape = list(first.shape)
    shape[dim] = sum(t.shape[dim] for t in tensors)
    result = op(b, first, "empty")(tuple(shape), first.device, first.dtype)
    at = 0
    for tensor in tensors:
        size = tensor.shape[dim]
        slices = [Slice(at, at + size) if axis == dim else Slice.full() for axis in range(len(shape))]
        result = op(b, first, "slice_assign")(result, slices, tensor)
        at += size
    return result  # type: ignore[no-any-return]


def pad(b: Any, tensor: TensorPrim, padding: Sequence[tuple[int, int]], mode: PadMode) -> TensorPrim:
    """Constant: one assignment into a full tensor. Reflect and edge: axis by axis, of slices and one cat each."""
    shape = tensor.shape
    check_padding(shape, padding, mode)
    if mode.kind == "constant":
        grown = tuple(before + n + after for n, (before, after) in zip(shape, padding, strict=True))
        base = op(b, tensor, "full")(grown, as_scalar(mode.value, tensor.dtype), tensor.device, tensor.dtype)
        slices = [Slice(before, before + n) for n, (before, _) in zip(shape, padding, strict=True)]
        return base if 0 in shape else op(b, tensor, "slice_assign")(base, slices, tensor)  # type: ignore[no-any-return]
    for dim, (before, after) in enumerate(padding):
        if before or after:
            parts = _padded_parts(b, tensor, dim, before, after, mode)
            tensor = op(b, tensor, "cat")(parts, dim)
    return tensor


def check_padding(shape: Sequence[int], padding: Sequence[tuple[int, int]], mode: PadMode) -> None:
    """Raises ShapeError when the padding does not fit the shape in this mode."""
    if len(padding) != len(shape):
        raise ShapeError(
            f"pad: {len(padding)} pairs for a tensor of rank {len(shape)}; there must be one (before, after) per axis"
        )
    for dim, (n, (before, after)) in enumerate(zip(shape, padding, strict=True)):
        if mode.kind == "reflect" and max(before, after) >= max(n, 1):
            raise ShapeError(
                f"pad: reflect padding ({before}, {after}) of axis {dim} with size {n}; each must be below the size"
            )
        if mode.kind == "edge" and n == 0 and (before or after):
            raise ShapeError(f"pad: edge padding ({before}, {after}) of axis {dim} with size 0; it has no edge")


def _padded_parts(b: Any, tensor: TensorPrim, dim: int, before: int, after: int, mode: PadMode) -> list[TensorPrim]:
    n = tensor.shape[dim]
    parts = [tensor]
    if mode.kind == "reflect":
        if before:
            parts.insert(0, slice_dim(b, tensor, dim, Slice(1, before + 1, -1)))
        if after:
            parts.append(slice_dim(b, tensor, dim, Slice(n - 1 - after, n - 1, -1)))
        return parts
    for count, edge, at in ((before, Slice(0, 1), 0), (after, Slice(n - 1, n), len(parts) + 1)):
        if count:
            wide = list(tensor.shape)
            wide[dim] = count
            parts.insert(at, op(b, tensor, "expand")(slice_dim(b, tensor, dim, edge), tuple(wide)))
    return parts
