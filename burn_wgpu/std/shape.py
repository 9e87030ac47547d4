"""Arithmetic of shapes, for programs that plan sizes without a tensor: any sequence goes in, tuples come out."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from math import prod

from burn_wgpu.std.errors import DTypeError, IndexOutOfRange, ShapeError
from burn_wgpu.std.layout import Shape, broadcast_shapes
from burn_wgpu.std.slice import Slice


def num_elements(shape: Sequence[int]) -> int:
    """The product of the sizes; 1 for rank 0."""
    return prod(shape)


def wrap_index(index: int, size: int) -> int:
    """The index modulo the size: any int names an element. Raises ShapeError for size 0."""
    if size < 1:
        raise ShapeError(f"wrap_index: index {index} in an axis of size {size}; the axis must not be empty")
    return index % size


def ravel_index(shape: Sequence[int], coordinates: Sequence[int]) -> int:
    """The row-major position of an element; negative coordinates count from the end.

    Raises ShapeError for another number of coordinates than axes, IndexOutOfRange for one outside its axis.
    """
    if len(coordinates) != len(shape):
        raise ShapeError(f"ravel_index: {len(coordinates)} coordinates for shape {list(shape)}; one per axis is needed")
    position = 0
    for axis, (place, size) in enumerate(zip(coordinates, shape, strict=True)):
        try:
            index = operator.index(place)
        except TypeError:
            raise DTypeError(
                f"ravel_index: the coordinate on axis {axis} is of type {type(place).__name__}; it must be an int"
            ) from None
        if not -size <= index < size:
            raise IndexOutOfRange(f"ravel_index: index {index} is outside axis {axis}, which has size {size}")
        position = position * size + index % size
    return position


def flatten_dims(shape: Sequence[int], start: int, end: int) -> Shape:
    """The axes start to end, both included, merged into one."""
    first, last = _axis("flatten_dims", shape, start), _axis("flatten_dims", shape, end)
    if first > last:
        raise ShapeError(f"flatten_dims: start {start} comes after end {end} in {list(shape)}; it must not")
    return (*shape[:first], prod(shape[first : last + 1]), *shape[last + 1 :])


def repeat(shape: Sequence[int], dim: int, times: int) -> Shape:
    """One axis times as long."""
    axis = _axis("repeat", shape, dim)
    if times < 0:
        raise ShapeError(f"repeat: axis {dim} of {list(shape)} {times} times; times must not be negative")
    return (*shape[:axis], shape[axis] * times, *shape[axis + 1 :])


def reduce(shape: Sequence[int], dim: int) -> Shape:
    """One axis of size 1, as a reduction leaves it."""
    axis = _axis("reduce", shape, dim)
    return (*shape[:axis], 1, *shape[axis + 1 :])


def cat(shapes: Sequence[Sequence[int]], dim: int) -> Shape:
    """The shape of a concatenation. Raises ShapeError for no shapes and for other axes that differ."""
    if not shapes:
        raise ShapeError("cat: the list of shapes is empty; at least one is needed")
    first = tuple(shapes[0])
    axis = _axis("cat", first, dim)
    for shape in shapes[1:]:
        if len(shape) != len(first) or reduce(shape, axis) != reduce(first, axis):
            raise ShapeError(f"cat: shapes {list(first)} and {list(shape)} must be equal except on axis {axis}")
    return (*first[:axis], sum(shape[axis] for shape in shapes), *first[axis + 1 :])


def slice_shape(shape: Sequence[int], slices: Sequence[Slice]) -> Shape:
    """The shape of `Tensor.slice`; axes without a slice stay whole. Raises ShapeError for more slices than axes."""
    if len(slices) > len(shape):
        raise ShapeError(f"slice: {len(slices)} slices for shape {list(shape)}; there must not be more than axes")
    cut = [one.output_size(n) for one, n in zip(slices, shape, strict=False)]
    return (*cut, *shape[len(slices) :])


def matmul_output(lhs: Sequence[int], rhs: Sequence[int]) -> Shape:
    """The shape of a matrix product: batch axes equal or 1. Raises ShapeError for other sizes and ranks."""
    a, b = tuple(lhs), tuple(rhs)
    if len(a) != len(b) or len(a) < 2 or a[-1] != b[-2]:
        raise ShapeError(f"matmul: shapes {list(a)} and {list(b)}; [.., m, k] and [.., k, n] of one rank are needed")
    return (*broadcast_shapes("matmul", a[:-2], b[:-2]), a[-2], b[-1])


def _axis(name: str, shape: Sequence[int], dim: int) -> int:
    try:
        dim = operator.index(dim)
    except TypeError:
        raise DTypeError(f"{name}: the axis is of type {type(dim).__name__}; it must be an int") from None
    if not -len(shape) <= dim < len(shape):
        raise ShapeError(f"{name}: axis {dim} is outside shape {list(shape)} of rank {len(shape)}")
    return dim % len(shape)
