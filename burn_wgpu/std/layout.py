"""Where the elements of a tensor lie in its buffer: shape, strides and offset, all in elements.

Layouts are interned: equal ones are one object, so that a cache of plans compares and hashes them by identity.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from weakref import WeakValueDictionary

from burn_wgpu.std.errors import ShapeError
from burn_wgpu.std.slice import Slice

Shape = tuple[int, ...]
MAX_RANK = 16

_interned: WeakValueDictionary[tuple[Shape, Shape, int], Layout] = WeakValueDictionary()


def contiguous_strides(shape: Sequence[int]) -> Shape:
    """Row-major strides in elements: the last axis has stride 1."""
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * max(shape[axis + 1], 1)
    return tuple(strides)


class Layout:
    """A view of a buffer. Made by `Layout.of` and `Layout.dense` only; equal layouts are the same object.

    shape       sizes per axis
    strides     elements between neighbours per axis; 0 for an expanded axis, negative for a flipped one
    offset      elements before the first one
    size        number of elements
    contiguous  row-major without gaps from offset on (axes of size 1 may have any stride)
    """

    __slots__ = ("__weakref__", "contiguous", "offset", "packed", "rank", "shape", "size", "strides")

    shape: Shape
    strides: Shape
    offset: int
    size: int
    rank: int
    contiguous: bool
    packed: bool  # contiguous and offset 0: the buffer from its start

    @staticmethod
    def of(shape: Sequence[int], strides: Sequence[int], offset: int = 0) -> Layout:
        """The interned layout. Strides of axes of size 1 carry no meaning and are made canonical."""
        shape = tuple(shape)
        expected = contiguous_strides(shape)
        size = prod(shape)
        strides = expected if size == 0 else tuple(
            e if n == 1 else s for n, s, e in zip(shape, strides, expected, strict=True)
        )  # fmt: skip
        if size == 0:
            offset = 0
        key = (shape, strides, offset)
        found = _interned.get(key)
        if found is None:
            found = object.__new__(Layout)
            found.shape, found.strides, found.offset = shape, strides, offset
            found.size, found.rank = size, len(shape)
            found.contiguous = strides == expected
            found.packed = found.contiguous and offset == 0
            found = _interned.setdefault(key, found)  # another thread may have been first
        return found

    @staticmethod
    def dense(shape: Sequence[int]) -> Layout:
        """Row-major from the start of the buffer."""
        return Layout.of(shape, contiguous_strides(shape))

    def __reduce__(self) -> tuple[object, ...]:
        return Layout.of, (self.shape, self.strides, self.offset)

    def __repr__(self) -> str:
        return f"Layout({list(self.shape)}, strides={list(self.strides)}, offset={self.offset})"

    # Views: each gives the layout of a tensor that shares the buffer.

    def swap_dims(self, dim1: int, dim2: int) -> Layout:
        axes = list(range(self.rank))
        axes[dim1], axes[dim2] = axes[dim2], axes[dim1]
        return self.permute(axes)

    def permute(self, axes: Sequence[int]) -> Layout:
        return Layout.of([self.shape[a] for a in axes], [self.strides[a] for a in axes], self.offset)

    def expand(self, shape: Sequence[int]) -> Layout:
        """Axes of size 1 grow with stride 0; new leading axes are allowed."""
        lead = len(shape) - self.rank
        strides = [0] * lead
        for axis, (old, new) in enumerate(zip(self.shape, shape[lead:], strict=True)):
            if old != new and old != 1:
                raise ShapeError(
                    f"expand: axis {axis} of shape {list(self.shape)} has size {old}, which cannot become {new}; "
                    f"only axes of size 1 grow (wanted {list(shape)})"
                )
            strides.append(self.strides[axis] if old == new else 0)
        return Layout.of(shape, strides, self.offset)

    def flip(self, axes: Sequence[int]) -> Layout:
        strides, offset = list(self.strides), self.offset
        for axis in axes:
            if self.shape[axis] > 1:
                offset += (self.shape[axis] - 1) * strides[axis]
                strides[axis] = -strides[axis]
        return Layout.of(self.shape, strides, offset)

    def slice(self, slices: Sequence[Slice]) -> Layout:
        """Burn's slices, one per leading axis, already valid for this shape (see `Slice.bounds`)."""
        shape, strides, offset = list(self.shape), list(self.strides), self.offset
        for axis, item in enumerate(slices):
            first, count, step = item.walk(self.shape[axis])
            offset += first * strides[axis]
            shape[axis], strides[axis] = count, strides[axis] * step
        return Layout.of(shape, strides, offset)

    def unfold(self, dim: int, size: int, step: int) -> Layout:
        """Windows in place of `dim`, their elements as a new last axis."""
        windows = max(0, (self.shape[dim] - size) // step + 1)
        shape, strides = list(self.shape), list(self.strides)
        stride = strides[dim]
        shape[dim], strides[dim] = windows, stride * step
        return Layout.of([*shape, size], [*strides, stride], self.offset)

    def reshape(self, shape: Sequence[int]) -> Layout | None:
        """The same elements in row-major order under another shape, or None when that needs a copy."""
        shape = tuple(shape)
        if shape == self.shape:
            return self
        if self.contiguous:
            return Layout.of(shape, contiguous_strides(shape), self.offset)
        if self.size == 0:
            return Layout.dense(shape)
        groups, strides = _merged(self.shape, self.strides)
        new: list[int] = []
        group, left = 0, groups[0] if groups else 1
        # Walk the target axes from the front; each must fall inside one merged run of the source.
        for n in shape:
            if n == 1:
                new.append(1)
                continue
            while left == 1 and group + 1 < len(groups):
                group += 1
                left = groups[group]
            if left % n:
                return None
            left //= n
            new.append(strides[group] * left)
        return Layout.of(shape, new, self.offset)

    def collapse(self) -> Layout:
        """The layout with as few axes as address the same elements in the same order."""
        shape, strides = _merged(self.shape, self.strides)
        return Layout.of(shape, strides, self.offset)


def _merged(shape: Sequence[int], strides: Sequence[int]) -> tuple[list[int], list[int]]:
    """Neighbouring axes that are one run become one; axes of size 1 vanish."""
    out_shape: list[int] = []
    out_strides: list[int] = []
    for n, s in zip(shape, strides, strict=True):
        if n == 1:
            continue
        if out_shape and out_strides[-1] == s * n:
            out_shape[-1] *= n
            out_strides[-1] = s
        else:
            out_shape.append(n)
            out_strides.append(s)
    return out_shape, out_strides


def collapse_together(layouts: Sequence[Layout]) -> tuple[Shape, tuple[Shape, ...]]:
    """Several layouts of one shape with as few common axes as possible: (shape, strides of each)."""
    shape: list[int] = []
    strides: list[list[int]] = [[] for _ in layouts]
    for axis, n in enumerate(layouts[0].shape):
        if n == 1:
            continue
        here = [layout.strides[axis] for layout in layouts]
        if shape and all(row[-1] == s * n for row, s in zip(strides, here, strict=True)):
            shape[-1] *= n
            for row, s in zip(strides, here, strict=True):
                row[-1] = s
        else:
            shape.append(n)
            for row, s in zip(strides, here, strict=True):
                row.append(s)
    return tuple(shape), tuple(tuple(row) for row in strides)


def broadcast_shapes(operation: str, *shapes: Shape) -> Shape:
    """The common shape of operands of equal rank: per axis equal, or 1. Raises ShapeError that shows the operands."""
    first = shapes[0]
    if all(shape == first for shape in shapes):
        return first
    out = []
    for axis in range(len(first)):
        sizes = {shape[axis] for shape in shapes} - {1}
        if len(sizes) > 1:
            raise ShapeError(
                f"{operation}: shapes {' and '.join(str(list(s)) for s in shapes)} disagree on axis {axis} "
                f"({' and '.join(str(s[axis]) for s in shapes)}); sizes must be equal or 1"
            )
        out.append(sizes.pop() if sizes else 1)
    return tuple(out)
