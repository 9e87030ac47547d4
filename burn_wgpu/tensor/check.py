"""Every check of a user's arguments to a tensor operation.

A message is one sentence with the operation, the values and the rule; a second one says what to do. Below, in the
contract and the backends, these things hold and are only asserted.
"""

from __future__ import annotations

import dataclasses
import numbers
import operator
from collections.abc import Iterable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar

import numpy as np

from burn_wgpu.std.dtype import RANGES, DType
from burn_wgpu.std.errors import (
    ArgumentError,
    DeviceMismatch,
    DivisionByZero,
    DTypeError,
    IndexOutOfRange,
    ShapeError,
)
from burn_wgpu.std.layout import MAX_RANK, Shape

if TYPE_CHECKING:
    from burn_wgpu.std.data import TensorData
    from burn_wgpu.tensor.api import Tensor

T = TypeVar("T")

_compatible: dict[tuple[Shape, Shape], Shape] = {}
_KEPT = 4096


# ------------------------------------------------------------------------------------------ operands together


def tensor(name: str, value: object, what: str) -> None:
    """The argument is a tensor, not an array, a list or a number that looks like one."""
    if not hasattr(value, "primitive"):
        raise DTypeError(
            f"{name}: {what} is of type {type(value).__name__}; it must be a tensor. Make one with Tensor(data)"
        )


def operands(name: str, lhs: Tensor, rhs: Tensor) -> None:
    """Both on one device, of one kind and dtype."""
    tensor(name, rhs, "rhs")
    same_device(name, lhs, rhs)
    if lhs.kind != rhs.kind:
        raise DTypeError(
            f"{name}: lhs is of kind {lhs.kind} ({lhs.dtype}) and rhs of kind {rhs.kind} ({rhs.dtype}); "
            f"the kinds must be equal. Convert one with .float(), .int() or .bool()"
        )
    if lhs.dtype is not rhs.dtype:
        raise DTypeError(
            f"{name}: lhs is {lhs.dtype} and rhs is {rhs.dtype}; the dtypes must be equal. "
            f"Convert one with .cast('{lhs.dtype}')"
        )


def same_device(name: str, *tensors: Tensor) -> None:
    tensor(name, tensors[0], "operand 0")
    first = tensors[0].device
    for i, other in enumerate(tensors[1:], 1):
        tensor(name, other, f"operand {i}")
        device = other.device
        if device is not first and device != first:
            raise DeviceMismatch(
                f"{name}: operands are on {first} and {device}; they must be on one device. "
                f"Move one with .to_device('{first}')"
            )


def same_dtype(name: str, *tensors: Tensor) -> None:
    first = tensors[0].dtype
    for other in tensors[1:]:
        if other.dtype is not first:
            raise DTypeError(
                f"{name}: operands are {first} and {other.dtype}; the dtypes must be equal. "
                f"Convert one with .cast('{first}')"
            )


def kind(name: str, value: Tensor, what: str, *wanted: str) -> None:
    """A tensor of one of the kinds."""
    tensor(name, value, what)
    if value.kind not in wanted:
        remedy = " or ".join(f".{w}()" for w in wanted)
        raise DTypeError(
            f"{name}: {what} is of kind {value.kind} ({value.dtype}); it must be {' or '.join(wanted)}. "
            f"Convert it with {remedy}"
        )


def broadcast(name: str, lhs: Shape, rhs: Shape) -> Shape:
    """The common shape by NumPy's rule: aligned from the right, sizes equal or 1."""
    key = (lhs, rhs)
    found = _compatible.get(key)
    if found is None:
        n = max(len(lhs), len(rhs))
        a, b = (1,) * (n - len(lhs)) + tuple(lhs), (1,) * (n - len(rhs)) + tuple(rhs)
        for axis, (x, y) in enumerate(zip(a, b, strict=True)):
            if x != y and x != 1 and y != 1:
                raise ShapeError(
                    f"{name}: shapes {list(lhs)} and {list(rhs)} disagree on axis {axis - n} ({x} and {y}); "
                    f"sizes must be equal or 1"
                )
        found = tuple(y if x == 1 else x for x, y in zip(a, b, strict=True))
        if len(_compatible) >= _KEPT:
            _compatible.clear()
        _compatible[key] = found
    return found


def broadcast_all(name: str, shapes: Sequence[Shape]) -> Shape:
    """The common shape of any number of shapes."""
    result: Shape = ()
    for shape in shapes:
        result = broadcast(name, result, shape)
    return result


def same_shape(name: str, lhs: Shape, rhs: Shape, what: str = "rhs") -> None:
    if tuple(lhs) != tuple(rhs):
        raise ShapeError(f"{name}: {what} has shape {list(rhs)}; it must be {list(lhs)}")


# ------------------------------------------------------------------------------------------------------ axes


def integer(name: str, value: object, what: str) -> int:
    """An int of any type that can be an index: Python's, NumPy's, a bool, an int tensor of one element."""
    try:
        return operator.index(value)  # type: ignore[arg-type]  # whatever is none raises TypeError
    except TypeError:
        raise DTypeError(f"{name}: {what} is {_shown(value)}; it must be an int") from None


def _shown(value: object) -> str:
    """A value for a message: tensors and long things by their type."""
    text = "" if hasattr(value, "primitive") else repr(value)
    return text if 0 < len(text) <= 60 and "\n" not in text else f"of type {type(value).__name__}"


def dim(name: str, value: int, rank: int, what: str = "dim") -> int:
    """An axis, negatives counted from the end."""
    index = integer(name, value, what)
    if not -rank <= index < rank:
        if rank == 0:
            raise ShapeError(f"{name}: {what} {index} of a tensor of rank 0, which has no axes")
        raise ShapeError(
            f"{name}: {what} {index} is out of range for rank {rank}; it must lie in {-rank} .. {rank - 1}"
        )
    return index + rank if index < 0 else index


def flag(name: str, value: object, what: str) -> bool:
    """True or False, and no number: in `t.sum(0, 1)` the 1 was meant as an axis."""
    if value is True or value is False:
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    remedy = f". Several axes are one argument, as {name}((0, 1))" if what.startswith("keepdim") else ""
    raise DTypeError(f"{name}: {what} is {_shown(value)}; it must be True or False{remedy}")


def listed(value: object) -> TypeGuard[Iterable[Any]]:
    """Something to go through: a NumPy array of rank 0 only looks like it."""
    return isinstance(value, Iterable) and getattr(value, "ndim", 1) != 0


def dims(name: str, values: int | Iterable[int], rank: int, what: str = "dim") -> tuple[int, ...]:
    """Unique axes."""
    each: Iterable[Any] = values if listed(values) else (values,)
    found = tuple(dim(name, v, rank, what) for v in each)
    if len(set(found)) != len(found):
        raise ShapeError(f"{name}: axes {list(found)} name one axis twice; each may occur once")
    return found


def rank(name: str, shape: Shape, at_least: int, what: str = "the tensor") -> None:
    if len(shape) < at_least:
        raise ShapeError(
            f"{name}: {what} has shape {list(shape)} of rank {len(shape)}; the rank must be {at_least} or more"
        )


def some(name: str, shape: Shape, *axes: int) -> None:
    """An element along every one of the axes, or at all: of none there is no maximum."""
    for axis in axes:
        if not shape[axis]:
            raise ShapeError(f"{name}: axis {axis} of shape {list(shape)} has size 0; it must have an element")
    if not axes and not prod(shape):
        raise ShapeError(f"{name}: shape {list(shape)} has no elements; there must be one")


def exact_rank(name: str, value: Tensor, wanted: int, what: str) -> None:
    tensor(name, value, what)
    if len(value.shape) != wanted:
        raise ShapeError(
            f"{name}: {what} has shape {list(value.shape)} of rank {len(value.shape)}; the rank must be {wanted}"
        )


# ---------------------------------------------------------------------------------------------------- shapes


def integers(name: str, values: Sequence[Any], what: str = "shape") -> tuple[int, ...]:
    """Ints given as f(2, 3), f((2, 3)) or f([2, 3])."""
    if len(values) == 1 and (not hasattr(values[0], "__index__") or getattr(values[0], "ndim", 0) > 0):
        values = values[0]
    try:
        return tuple(operator.index(v) for v in values)
    except TypeError:
        raise DTypeError(f"{name}: {what} is {_shown(values)}; it must be made of ints") from None


def shape(name: str, value: Any) -> Shape:
    """A shape for a new tensor: an int or a sequence of sizes, none negative."""
    found = integers(name, (value,))
    if any(n < 0 for n in found):
        raise ShapeError(f"{name}: shape {list(found)} has a negative size")
    if prod(n for n in found if n) >= 1 << 62:
        raise ShapeError(f"{name}: shape {list(found)} has 2^62 elements or more, beside its empty axes; no tensor has")
    if len(found) > MAX_RANK:
        raise ShapeError(f"{name}: shape {list(found)} has rank {len(found)}; ranks go up to {MAX_RANK}")
    return found


def new_rank(name: str, rank: int) -> None:
    if rank > MAX_RANK:
        raise ShapeError(f"{name}: the result would have rank {rank}; ranks go up to {MAX_RANK}")


def reshape(old: Shape, wanted: tuple[int, ...], name: str = "reshape") -> Shape:
    """The target shape with its one −1 filled in; 0 is an empty axis."""
    size = prod(old)
    if any(n < -1 for n in wanted):
        raise ShapeError(f"{name}: shape {list(wanted)} has a size below -1; -1 infers one axis")
    holes = wanted.count(-1)
    if holes > 1:
        raise ShapeError(f"{name}: shape {list(wanted)} has {holes} axes of -1; at most one can be inferred")
    if holes:
        known = prod(n for n in wanted if n != -1)
        if known == 0:
            raise ShapeError(f"{name}: shape {list(wanted)} has -1 beside a size of 0, so -1 could be anything")
        if size % known:
            raise ShapeError(
                f"{name}: {list(old)} has {size} elements, which do not divide into {list(wanted)} ({known} each)"
            )
        wanted = tuple(size // known if n == -1 else n for n in wanted)
    elif prod(wanted) != size:
        raise ShapeError(
            f"{name}: {list(old)} has {size} elements and {list(wanted)} has {prod(wanted)}; the counts must be equal"
        )
    new_rank(name, len(wanted))
    return wanted


def expand(old: Shape, wanted: tuple[int, ...]) -> Shape:
    """The target shape of expand: −1 keeps an axis, only axes of size 1 grow, new axes are leading."""
    lead = len(wanted) - len(old)
    if lead < 0:
        raise ShapeError(f"expand: {list(old)} to {list(wanted)}; the target must not have fewer axes")
    new_rank("expand", len(wanted))
    found = []
    for axis, size in enumerate(wanted):
        if axis < lead:
            if size < 0:
                raise ShapeError(
                    f"expand: {list(old)} to {list(wanted)}; -1 keeps an axis, but axis {axis} is new and needs a size"
                )
            found.append(size)
            continue
        have = old[axis - lead]
        if size == -1:
            found.append(have)
        elif size == have or have == 1 and size >= 0:
            found.append(size)
        else:
            raise ShapeError(
                f"expand: {list(old)} to {list(wanted)}; axis {axis} of size {have} cannot become {size}, "
                f"only axes of size 1 grow"
            )
    return tuple(found)


# ---------------------------------------------------------------------------------------------------- values


def fits(name: str, data: TensorData, target: DType) -> None:
    """Every value can be held by an int dtype; floats are truncated."""
    values = data.numpy()
    if values.size == 0 or values.dtype == np.bool_:
        return
    info = np.iinfo(target.numpy)
    low, high = values.min(), values.max()
    if low != low or high != high:
        raise ArgumentError(f"{name}: NaN is among the values, and the dtype {target} cannot hold it")
    if int(info.min) <= _integer(low) and _integer(high) <= int(info.max):
        return
    wrong = low if _integer(low) < info.min else high
    raise ArgumentError(
        f"{name}: the value {wrong} does not fit into {target} ({info.min} .. {info.max}). "
        f"Give a wider dtype, for example dtype='i64'"
    )


def number(name: str, value: object, what: str = "the value") -> int | float:
    """A Python number of any real number; a bool is one."""
    if type(value) is float or type(value) is int:
        return value
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (int, float)):
        return value
    if isinstance(value, numbers.Real):
        return float(value)
    raise DTypeError(f"{name}: {what} is {_shown(value)}; it must be a number")


def fill(name: str, value: object, target: DType) -> int | float:
    """A number to fill a tensor of the dtype with. Into an int dtype it must fit; floats are truncated."""
    found = number(name, value)
    if target not in RANGES:
        return found
    low, high = RANGES[target]
    if found != found:
        raise ArgumentError(f"{name}: the value is NaN, and the dtype {target} cannot hold it")
    if found in (float("inf"), float("-inf")) or not low <= int(found) <= high:
        raise ArgumentError(
            f"{name}: the value {found} does not fit into {target} ({low} .. {high}). "
            f"Give a wider dtype, for example dtype='i64'"
        )
    return int(found)


def operation_scalar(name: str, value: int | float, target: DType) -> int:
    """A number in arithmetic with ints of the dtype.

    It must be integral. Sums and products are modulo 2^bits, so that any int will do; in a division it must fit.
    """
    if type(value) is float:
        if not value.is_integer():
            raise DTypeError(
                f"{name}: a tensor of {target} and the number {value!r}; an int tensor computes with integers only. "
                f"Convert the tensor with .float()"
            )
        low, high = RANGES[target]
        if not low <= value <= high:
            raise ArgumentError(
                f"{name}: the number {value!r} does not fit into the tensor's {target} ({low} .. {high}). "
                f"Convert the tensor with .float()"
            )
        value = int(value)
    if name in ("div", "remainder", "floor_divide"):
        low, high = RANGES[target]
        if value == 0:
            raise DivisionByZero(f"{name}: the divisor of a tensor of {target} is 0; integers have no infinity to give")
        if not low <= value <= high:
            raise ArgumentError(
                f"{name}: the number {value} does not fit into {target} ({low} .. {high}), the tensor's dtype. "
                f"Convert the tensor with .cast('i64')"
            )
    return int(value)


def _integer(value: Any) -> float | int:
    return float(value) if value in (float("inf"), float("-inf")) else int(value)


def positive(name: str, value: int, what: str) -> int:
    index = integer(name, value, what)
    if index < 1:
        raise ArgumentError(f"{name}: {what} is {index}; it must be at least 1")
    return index


def host_indices(name: str, values: np.ndarray, size: int) -> None:
    """Indices that came from the host lie on the axis."""
    if values.size == 0:
        return
    low, high = int(values.min()), int(values.max())
    if low < 0 or high >= size:
        wrong = low if low < 0 else high
        raise IndexOutOfRange(
            f"{name}: index {wrong} is out of range for an axis of size {size}; indices run from 0 to {size - 1}"
        )


def not_empty(name: str, tensors: Sequence[Tensor]) -> None:
    if not isinstance(tensors, (list, tuple)):
        raise DTypeError(f"{name}: the tensors are of type {type(tensors).__name__}; they must be a list of tensors")
    if not tensors:
        raise ArgumentError(f"{name}: the list of tensors is empty; it needs at least one")


# ------------------------------------------------------------------------------------- module functions


def together(name: str, x: Tensor, **others: Tensor | None) -> None:
    """x is float, and all the others share its device, kind and dtype."""
    tensor(name, x, "x")
    ops, dtype = x._ops, x.primitive.dtype
    if ops.kind != "float":
        kind(name, x, "x", "float")
    for what, other in others.items():
        if other is None:
            continue
        tensor(name, other, what)
        if other._ops is ops and other.primitive.dtype is dtype:
            continue
        same_device(name, x, other)
        kind(name, other, what, "float")
        if other.dtype is not dtype:
            raise DTypeError(
                f"{name}: x is {dtype} and {what} is {other.dtype}; the dtypes must be equal. "
                f"Convert one with .cast('{dtype}')"
            )


def space(name: str, x: Tensor, what: str = "x") -> None:
    """That no axis behind [N, C] is empty: there would be nothing to read."""
    if 0 in x.shape[2:]:
        raise ShapeError(
            f"{name}: {what} has shape {list(x.shape)}; every axis behind batch and channels needs at least one element"
        )


def vector(name: str, what: str, value: Tensor, size: int, why: str) -> None:
    """A tensor of shape [size]."""
    tensor(name, value, what)
    if value.shape != (size,):
        raise ShapeError(f"{name}: {what} has shape {list(value.shape)}; it must be [{size}], {why}")


def sizes(name: str, values: Sequence[int], count: int, what: str) -> tuple[int, ...]:
    """`count` sizes, each at least 1."""
    found = integers(name, (values,), what)
    if len(found) != count or any(n < 1 for n in found):
        raise ArgumentError(f"{name}: {what} is {list(found)}; it must be {count} numbers of at least 1")
    return found


def options(name: str, value: object, *fields: str) -> None:
    """The options are a record with these fields."""
    if not all(hasattr(value, field) for field in fields):
        raise DTypeError(
            f"{name}: the options are {_shown(value)}; they must be one of the records of burn_wgpu.contract.options"
        )


def chosen(name: str, value: Any, default: T) -> T:
    """The options, which are a record with the fields of the default one, or the default where none are given."""
    if value is None:
        return default
    fields = dataclasses.fields(default)  # type: ignore[arg-type]
    if not all(hasattr(value, field.name) for field in fields):
        raise DTypeError(f"{name}: the options are {_shown(value)}; they must be {type(default).__name__}")
    return value  # type: ignore[no-any-return]


def spatial(name: str, n: int, **fields: tuple[Any, ...]) -> None:
    """Options with one entry per spatial axis."""
    for what, value in fields.items():
        if len(value) != n:
            raise ArgumentError(f"{name}: the options have {what} {list(value)}; there must be {n} entries")
