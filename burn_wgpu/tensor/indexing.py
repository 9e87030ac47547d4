"""Slices, selection, gather and scatter by their Burn names, and `t[...]` in Python's way.

Burn's functions do not wrap element indices: a negative one is out of range. `t[...]` counts them from the end.
"""
# A mixin of Tensor names its self: mypy wants a supertype there.
# mypy: disable-error-code="misc"

from __future__ import annotations

import operator
from collections.abc import Sequence
from math import prod
from types import EllipsisType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from burn_wgpu.contract.options import IndexingUpdateOp
from burn_wgpu.std.data import TensorData
from burn_wgpu.std.errors import ArgumentError, DTypeError, IndexOutOfRange, ShapeError
from burn_wgpu.std.layout import Shape
from burn_wgpu.std.slice import Slice
from burn_wgpu.tensor import check
from burn_wgpu.tensor.core import Core, as_mask, constant, from_host, host_array, wrap

if TYPE_CHECKING:
    from burn_wgpu.tensor.api import Tensor

SliceLike: TypeAlias = "Slice | slice | range | int | tuple[int, int] | tuple[int, int, int]"
Indices: TypeAlias = "Tensor | Sequence[int] | Sequence[Sequence[Any]] | np.ndarray[Any, Any]"
Update: TypeAlias = "IndexingUpdateOp | str"
Item: TypeAlias = "int | slice | Slice | EllipsisType | None | Sequence[Any] | np.ndarray[Any, Any] | Tensor"


class Indexing:
    """Reading and replacing parts of tensors."""

    __slots__ = ()

    # ---------------------------------------------------------------------------------------------- slices

    def slice(self: Tensor, slices: SliceLike | Sequence[SliceLike]) -> Tensor:
        """Burn's slices of the leading axes: ranges are clamped, a negative step walks [start, end) backwards.

        Each is a Slice, an int, (start, end), (start, end, step), a range or a Python slice read in Burn's sense.
        """
        wanted = _slices("slice", self.shape, slices)
        return wrap(self._ops.slice(self.primitive, wanted), self._ops)

    def slice_dim(self: Tensor, dim: int, item: SliceLike) -> Tensor:
        """Burn's slice of one axis."""
        axis = check.dim("slice_dim", dim, self.rank)
        wanted = [Slice.full()] * axis + [_slice("slice_dim", item)]
        return wrap(self._ops.slice(self.primitive, wanted), self._ops)

    def slice_assign(self: Tensor, slices: SliceLike | Sequence[SliceLike], values: Tensor) -> Tensor:
        """A copy with the region replaced by values, whose shape is the region's or broadcasts to it."""
        wanted = _slices("slice_assign", self.shape, slices)
        check.operands("slice_assign", self, values)
        region = tuple(s.output_size(n) for s, n in zip(wanted, self.shape, strict=True))
        common = check.broadcast("slice_assign", region, values.shape)
        if common != region:
            raise ShapeError(
                f"slice_assign: the region has shape {list(region)} and the values {list(values.shape)}; "
                f"the values must fit into the region"
            )
        if not prod(region):
            return self
        return wrap(self._ops.slice_assign(self.primitive, wanted, values.expand(region).primitive), self._ops)

    def slice_fill(self: Tensor, slices: SliceLike | Sequence[SliceLike], value: float | int | bool) -> Tensor:
        """A copy with a number in the region."""
        return self.slice_assign(slices, constant(self, value, "slice_fill"))

    def select_dim(self: Tensor, dim: int, index: int) -> Tensor:
        """One index of an axis, which goes; negatives count from the end."""
        axis = check.dim("select_dim", dim, self.rank)
        size = self.shape[axis]
        at = check.integer("select_dim", index, "index")
        if not -size <= at < size:
            raise IndexOutOfRange(f"select_dim: index {at} is out of range for axis {axis} of size {size}")
        at %= size
        shape = (*self.shape[:axis], *self.shape[axis + 1 :])
        taken = self._ops.slice(self.primitive, [Slice.full()] * axis + [Slice(at, at + 1)])
        return wrap(self._ops.reshape(taken, shape), self._ops)

    # ------------------------------------------------------------------------------------- by int tensors

    def select(self: Tensor, dim: int, indices: Indices) -> Tensor:
        """The slices at indices [k] of an axis, whose size becomes k. Out of range raises IndexOutOfRange.

        For indices in device memory the error may come at the next synchronisation.
        """
        axis = check.dim("select", dim, self.rank)
        found = _indices("select", self, indices, self.shape[axis])
        check.exact_rank("select", found, 1, "indices")
        return wrap(self._ops.select(self.primitive, axis, found.primitive), self._ops)

    def select_assign(self: Tensor, dim: int, indices: Indices, values: Tensor, update: Update = "add") -> Tensor:
        """A copy with the slices at indices [k] of an axis updated by values, whose axis has size k."""
        axis = check.dim("select_assign", dim, self.rank)
        found = _indices("select_assign", self, indices, self.shape[axis])
        check.exact_rank("select_assign", found, 1, "indices")
        check.operands("select_assign", self, values)
        expected = (*self.shape[:axis], found.shape[0], *self.shape[axis + 1 :])
        check.same_shape("select_assign", expected, values.shape, "values")
        op = _update("select_assign", update)
        return wrap(self._ops.select_assign(self.primitive, axis, found.primitive, values.primitive, op), self._ops)

    def gather(self: Tensor, dim: int, indices: Indices) -> Tensor:
        """out[.., i, ..] = self[.., indices[.., i, ..], ..]: indices have self's shape but for axis dim."""
        axis = check.dim("gather", dim, self.rank)
        found = _indices("gather", self, indices, self.shape[axis])
        _like_but("gather", self, found, axis)
        return wrap(self._ops.gather(axis, self.primitive, found.primitive), self._ops)

    def scatter(self: Tensor, dim: int, indices: Indices, values: Tensor, update: Update = "add") -> Tensor:
        """A copy with element indices[.., i, ..] along dim updated by values[.., i, ..].

        update: "assign", "add", "mul", "min" or "max"; bools: add and max are or, mul and min are and.
        """
        axis = check.dim("scatter", dim, self.rank)
        found = _indices("scatter", self, indices, self.shape[axis])
        _like_but("scatter", self, found, axis)
        check.operands("scatter", self, values)
        check.same_shape("scatter", found.shape, values.shape, "values")
        op = _update("scatter", update)
        return wrap(self._ops.scatter(axis, self.primitive, found.primitive, values.primitive, op), self._ops)

    def gather_nd(self: Tensor, indices: Indices) -> Tensor:
        """indices [.., K] hold K leading coordinates → [.., *shape[K:]]."""
        found = _indices("gather_nd", self, indices, None)
        _coordinates("gather_nd", self, found)
        return wrap(self._ops.gather_nd(self.primitive, found.primitive), self._ops)

    def scatter_nd(self: Tensor, indices: Indices, values: Tensor, update: Update = "add") -> Tensor:
        """A copy with the slices at indices [.., K] updated by values [.., *shape[K:]]."""
        found = _indices("scatter_nd", self, indices, None)
        k = _coordinates("scatter_nd", self, found)
        check.operands("scatter_nd", self, values)
        check.same_shape("scatter_nd", (*found.shape[:-1], *self.shape[k:]), values.shape, "values")
        op = _update("scatter_nd", update)
        return wrap(self._ops.scatter_nd(self.primitive, found.primitive, values.primitive, op), self._ops)

    def take(self: Tensor, dim: int, indices: Indices) -> Tensor:
        """The slices at indices of any rank: [*shape[:dim], *indices.shape, *shape[dim+1:]]."""
        axis = check.dim("take", dim, self.rank)
        found = _indices("take", self, indices, self.shape[axis])
        check.new_rank("take", self.rank - 1 + found.rank)
        return _take(self, axis, found)

    # --------------------------------------------------------------------------------------------- t[...]

    def __getitem__(self: Tensor, item: Item | tuple[Item, ...]) -> Tensor:
        """Python's indexing: ints, slices with any step, ..., None, bool masks, and arrays, lists or tensors of ints.

        Negative indices count from the end. A Slice is read in Burn's sense. Masks wait for the device.
        """
        return _getitem(self, item if isinstance(item, tuple) else (item,))

    def __setitem__(self: Tensor, item: object, value: object) -> None:
        raise DTypeError(
            "setitem: tensors are immutable, t[...] = v is not possible; "
            "use t = t.slice_assign(slices, values), t.mask_fill(mask, value) or t.scatter(dim, indices, values)"
        )


# ---------------------------------------------------------------------------------------------------- arguments


def _slice(name: str, value: Any) -> Slice:
    try:
        return Slice.of(value)
    except TypeError:
        raise DTypeError(f"{name}: {value!r} is no slice; use ints, (start, end), range or Slice") from None


def _is_index(value: object) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, (np.ndarray, Core))


def _slices(name: str, shape: Shape, value: Any) -> list[Slice]:
    if isinstance(value, (Slice, slice, range)) or _is_index(value):
        value = [value]
    elif isinstance(value, tuple) and value and all(_is_index(v) for v in value) and len(value) in (2, 3):
        # (1, 3) is one range, as Burn's 1..3; two indices are [1, 3].
        value = [value]
    if not check.listed(value):
        raise DTypeError(f"{name}: {value!r} is no slice; use ints, (start, end), range or Slice")
    found = [_slice(name, v) for v in value]
    if len(found) > len(shape):
        raise ShapeError(
            f"{name}: {len(found)} slices for shape {list(shape)}; there must not be more slices than axes"
        )
    return found + [Slice.full()] * (len(shape) - len(found))


def _update(name: str, value: Update) -> IndexingUpdateOp:
    if isinstance(value, IndexingUpdateOp):
        return value
    try:
        return IndexingUpdateOp(value)
    except ValueError:
        known = ", ".join(repr(op.value) for op in IndexingUpdateOp)
        raise ArgumentError(f"{name}: update {value!r} is unknown; use one of {known}") from None


def _indices(name: str, tensor: Tensor, indices: Any, size: int | None) -> Tensor:
    """Indices as an int tensor on the device; those that come from the host are checked against the axis' size."""
    if isinstance(indices, Core):
        if indices.kind != "int":
            raise DTypeError(
                f"{name}: indices are of kind {indices.kind} ({indices.dtype}); they must be int. "
                f"Convert them with .int()"
            )
        check.same_device(name, tensor, indices)  # type: ignore[arg-type]
        return indices  # type: ignore[return-value]
    array = host_array(name, indices)
    if array.size == 0:
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise DTypeError(f"{name}: indices are of NumPy dtype {array.dtype}; they must be ints")
    if size is not None:
        check.host_indices(name, array, size)
    return from_host(name, TensorData.of(array), tensor.device, "int", tensor.device.settings.int_dtype)


def _like_but(name: str, tensor: Tensor, indices: Tensor, axis: int) -> None:
    a, b = list(tensor.shape), list(indices.shape)
    if len(a) != len(b) or a[:axis] + a[axis + 1 :] != b[:axis] + b[axis + 1 :]:
        raise ShapeError(
            f"{name}: the tensor has shape {a} and the indices {b}; they must be equal but for axis {axis}"
        )


def _coordinates(name: str, tensor: Tensor, indices: Tensor) -> int:
    if not indices.shape:
        raise ShapeError(f"{name}: the indices have rank 0; their last axis holds the coordinates")
    k = indices.shape[-1]
    if k > tensor.rank:
        raise ShapeError(
            f"{name}: the indices have shape {list(indices.shape)}, so {k} coordinates, for a tensor of shape "
            f"{list(tensor.shape)}; there must not be more coordinates than axes"
        )
    check.new_rank(name, indices.rank - 1 + tensor.rank - k)
    return k


def _take(tensor: Tensor, axis: int, indices: Tensor) -> Tensor:
    flat = indices if indices.rank == 1 else indices.reshape((indices.size,))
    rows = wrap(tensor._ops.select(tensor.primitive, axis, flat.primitive), tensor._ops)
    return rows if indices.rank == 1 else rows.reshape(
        (*tensor.shape[:axis], *indices.shape, *tensor.shape[axis + 1 :])
    )  # fmt: skip


# --------------------------------------------------------------------------------------------------- Python's way


def _getitem(tensor: Tensor, items: tuple[Any, ...]) -> Tensor:
    shape = tensor.shape
    used = sum(_axes_used(i) for i in items)
    if sum(1 for i in items if i is Ellipsis) > 1:
        raise ShapeError("getitem: an index may hold only one '...'")
    if used > len(shape):
        raise IndexOutOfRange(
            f"getitem: {used} indices for shape {list(shape)}; there must not be more indices than axes"
        )
    if not any(i is Ellipsis for i in items):
        items = (*items, Ellipsis)

    # One pass over the axes: basic indices become slices; ints drop axes, None adds them, arrays wait.
    slices: list[Slice] = []
    after: list[int] = []  # shape after slicing, ints dropped and None inserted
    arrays: list[tuple[int, Any]] = []  # (position in `after`, index)
    basic_int = False
    axis = 0
    for item in items:
        if item is Ellipsis:
            for _ in range(len(shape) - used):
                slices.append(Slice.full())
                after.append(shape[axis])
                axis += 1
        elif item is None:
            after.append(1)
        elif isinstance(item, (slice, Slice)):
            size = shape[axis]
            chosen = item if isinstance(item, Slice) else _python_slice(item, size)
            slices.append(chosen)
            after.append(chosen.output_size(size))
            axis += 1
        elif _is_mask(item):
            mask_shape = item.shape if isinstance(item, Core) else np.shape(item)
            for n, m in zip(shape[axis:], mask_shape, strict=False):
                if n != m:
                    raise ShapeError(
                        f"getitem: a mask of shape {list(mask_shape)} on axes of shape "
                        f"{list(shape[axis : axis + len(mask_shape)])}; they must be equal"
                    )
            arrays.append((len(after), item))
            for _ in mask_shape:
                slices.append(Slice.full())
                after.append(shape[axis])
                axis += 1
        elif isinstance(item, (Core, np.ndarray, list, range)) and not _is_int(item):
            arrays.append((len(after), item))
            slices.append(Slice.full())
            after.append(shape[axis])
            axis += 1
        else:
            index = _integer(item)
            size = shape[axis]
            if not -size <= index < size:
                raise IndexOutOfRange(f"getitem: index {index} is out of range for axis {axis} of size {size}")
            slices.append(Slice(index % size, index % size + 1))
            basic_int = True
            axis += 1

    result = tensor
    if any(s != Slice.full() for s in slices):
        result = wrap(tensor._ops.slice(tensor.primitive, slices), tensor._ops)
    if basic_int or len(after) != len(shape):
        check.new_rank("getitem", len(after))
        result = wrap(result._ops.reshape(result.primitive, tuple(after)), result._ops)
    return _advanced(result, arrays, _is_split(items)) if arrays else result


def _is_split(items: tuple[Any, ...]) -> bool:
    """Whether something stands between the ints and arrays: NumPy then puts the arrays' axes first."""
    marks = ""
    for item in items:
        marks += " " if item is None or item is Ellipsis or isinstance(item, (slice, Slice)) else "x"
    return " " in marks.strip()


def _axes_used(item: Any) -> int:
    if item is None or item is Ellipsis:
        return 0
    if _is_mask(item):
        return len(item.shape if isinstance(item, Core) else np.shape(item))
    return 1


def _is_mask(item: Any) -> bool:
    if isinstance(item, (bool, np.bool_)):
        raise DTypeError(
            "getitem: a bare bool is no index; use a mask with the shape of the axes, or None for a new axis"
        )
    if isinstance(item, Core):
        return item.kind == "bool"
    if isinstance(item, np.ndarray):
        return item.dtype.kind == "b"
    return isinstance(item, list) and len(item) > 0 and host_array("getitem", item).dtype.kind == "b"


def _is_int(item: Any) -> bool:
    """An int in disguise: a NumPy array of rank 0 (a tensor of rank 0 stays on the device)."""
    return isinstance(item, np.ndarray) and item.ndim == 0


def _integer(item: Any) -> int:
    try:
        return operator.index(item)
    except TypeError:
        raise DTypeError(
            f"getitem: {item!r} is no index; use ints, slices, ..., None, masks, or arrays of ints"
        ) from None


def _python_slice(item: slice, size: int) -> Slice:
    try:
        return Slice.from_python(item, size)
    except ValueError:
        raise ArgumentError(f"getitem: the step of {item} is 0; it must be positive or negative") from None
    except TypeError:
        raise DTypeError(f"getitem: {item} has an end that is no int") from None


def _advanced(tensor: Tensor, arrays: list[tuple[int, Any]], front: bool) -> Tensor:
    """NumPy's advanced indexing of the axes at the given positions of `tensor`.

    The arrays' axes come in place of the axes that they index, or first where those are split.
    """
    if len(arrays) == 1 and _is_mask(arrays[0][1]):
        mask = _as_mask(tensor, arrays[0][1])
        if mask.rank == tensor.rank:
            return tensor.mask_select(mask)
    axes: list[int] = []
    found: list[Tensor] = []
    for at, item in arrays:
        if _is_mask(item):
            mask = _as_mask(tensor, item)
            where = mask.argwhere()
            found += [where.slice_dim(1, Slice(i, i + 1)).squeeze_dim(1) for i in range(mask.rank)]
            axes += range(at, at + mask.rank)
        else:
            found.append(_wrapped(tensor, item, tensor.shape[at], at))
            axes.append(at)
    common = check.broadcast_all("getitem", [i.shape for i in found])
    n, start = len(common), axes[0]
    if len(found) == 1:
        result = _take(tensor, start, found[0])
        return result.movedim(list(range(start, start + n)), list(range(n))) if front and start else result
    # Several: the indexed axes come first and gather_nd reads the coordinates.
    dtype = max((i.dtype for i in found), key=lambda d: d.size_bytes)
    columns = [i.cast(dtype).expand(common).unsqueeze_dim(-1) for i in found]
    rest = [a for a in range(tensor.rank) if a not in axes]
    picked = tensor.permute([*axes, *rest]).gather_nd(type(tensor).cat(columns, -1))
    if front or not start:
        return picked
    return picked.permute([*range(n, n + start), *range(n), *range(n + start, picked.rank)])


def _as_mask(tensor: Tensor, item: Any) -> Tensor:
    return as_mask("getitem", item, tensor)


def _wrapped(tensor: Tensor, item: Any, size: int, axis: int) -> Tensor:
    """Indices with negatives counted from the end; host ones are checked here, device ones by the backend."""
    if isinstance(item, Core):
        found = _indices("getitem", tensor, item, None)
        if found.dtype.kind == "uint":
            return found
        if size > np.iinfo(found.dtype.numpy).max:
            found = found.cast("int")
        # An index below -size stays as it is, so that the error names the one that was given.
        return wrap(found._ops.wrapped_index(found.primitive, size), found._ops) if size else found
    array = host_array("getitem", item)
    if array.size == 0:
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise DTypeError(f"getitem: an index array is of NumPy dtype {array.dtype}; it must be of ints or bools")
    low, high = (int(array.min()), int(array.max())) if array.size else (0, -1)
    if low < -size or high >= size:
        wrong = low if low < -size else high
        raise IndexOutOfRange(f"getitem: index {wrong} is out of range for axis {axis} of size {size}")
    array = np.where(array < 0, array.astype(np.int64) + size, array)
    return _indices("getitem", tensor, array, None)
