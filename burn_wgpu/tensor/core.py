"""What every tensor method stands on: the tensor's slots, wrapping of results, and the road of an operation.

An operation on operands of one device, kind, dtype and shape is the fast road: a few identity tests and the contract
call. Everything else (numbers of other types, arrays, broadcasting, errors) is the slow road, in functions of its own.
"""

from __future__ import annotations

import math
import numbers
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from burn_wgpu.device import Device, Kind, KindOps
from burn_wgpu.std.data import TensorData
from burn_wgpu.std.dtype import RANGES, DType
from burn_wgpu.std.errors import DTypeError, ShapeError
from burn_wgpu.std.layout import Shape
from burn_wgpu.tensor import check

if TYPE_CHECKING:
    from burn_wgpu.contract.types import TensorPrim
    from burn_wgpu.tensor.api import Tensor

Number: TypeAlias = int | float | np.number[Any] | np.bool_
Operand: TypeAlias = "Tensor | Number | np.ndarray[Any, Any]"

_new = object.__new__
_class: Any = None


class Core:
    """The slots of a tensor: the backend's primitive, and the table of functions of its device and kind."""

    __slots__ = ("__weakref__", "_ops", "primitive")

    primitive: TensorPrim
    _ops: KindOps

    @property
    def kind(self) -> Kind:
        """ "float", "int" or "bool"; a quantized tensor is "float"."""
        return self._ops.kind

    @property
    def device(self) -> Device:
        return self._ops.device

    @property
    def dtype(self) -> DType:
        return self.primitive.dtype

    @property
    def shape(self) -> Shape:
        return self.primitive.shape

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self.primitive.shape)

    @property
    def ndim(self) -> int:
        """The number of axes, as NumPy calls it."""
        return len(self.primitive.shape)


def register(tensor_class: type) -> None:
    """Says which class results have; called once, where it is defined."""
    global _class
    _class = tensor_class


def wrap(primitive: TensorPrim, ops: KindOps) -> Tensor:
    """A primitive of the device and kind of `ops` as a tensor."""
    if ops.quantized:
        ops = _settled(primitive, ops)
    tensor: Tensor = _new(_class)
    tensor.primitive = primitive
    tensor._ops = ops
    return tensor


def wrap_kind(primitive: TensorPrim, ops: KindOps) -> Tensor:
    """A primitive as a tensor of the kind of its dtype, on the device of `ops`."""
    dtype = primitive.dtype
    if dtype.kind == "qfloat":
        return wrap(primitive, ops.device.quantized_ops)
    return wrap(primitive, ops.of("float" if dtype.is_float else "int" if dtype.is_int else "bool"))


def _settled(primitive: TensorPrim, ops: KindOps) -> KindOps:
    """Operations on quantized tensors may give floats."""
    return ops if primitive.dtype.kind == "qfloat" else ops.of("float")


def rebind(tensor: Tensor, other: Tensor) -> None:
    """Makes `tensor` another name of `other`'s value; those who hold the old primitive keep it."""
    tensor.primitive = other.primitive
    tensor._ops = other._ops


# ------------------------------------------------------------------------------------------------ operations


def unary(tensor: Tensor, name: str) -> Tensor:
    """`name` of one tensor; the result has its kind."""
    ops = tensor._ops
    if ops.quantized:
        return wrap(getattr(ops, name)(tensor.primitive), ops)
    result: Tensor = _new(_class)
    result.primitive = getattr(ops, name)(tensor.primitive)
    result._ops = ops
    return result


def binary(lhs: Tensor, rhs: Any, name: str, scalar: str | None) -> Tensor:
    """`name` of two tensors, or `scalar` of a tensor and a number; the result has lhs's kind.

    NotImplemented for what is no operand, so that operators may ask the other side.
    """
    ops = lhs._ops
    if type(rhs) is _class:
        if rhs._ops is ops:
            p, q = lhs.primitive, rhs.primitive
            if p.dtype is q.dtype:
                if p.shape != q.shape or ops.quantized:
                    function = getattr(ops, name)
                    p, q = broadcast(name, lhs, rhs)
                    return wrap(function(p, q), ops)
                result: Tensor = _new(_class)
                result.primitive = getattr(ops, name)(p, q)
                result._ops = ops
                return result
    elif scalar is not None and (type(rhs) is float or type(rhs) is int):
        if ops.kind == "int":
            rhs = check.operation_scalar(name, rhs, lhs.primitive.dtype)
        return wrap(getattr(ops, scalar)(lhs.primitive, rhs), ops)
    return _binary(lhs, rhs, name, scalar)


def _binary(lhs: Tensor, rhs: Any, name: str, scalar: str | None) -> Tensor:
    found = operand(name, rhs, lhs)
    if found is None:
        return NotImplemented  # type: ignore[no-any-return]
    ops = lhs._ops
    if not isinstance(found, Core):
        if ops.kind == "int":
            found = check.operation_scalar(name, found, lhs.dtype)
        if scalar is not None:
            return wrap(getattr(ops, scalar)(lhs.primitive, found), ops)
        found = constant(lhs, found, name)
    lhs, found = meet(lhs, found)
    ops = lhs._ops
    function = getattr(ops, name)
    check.operands(name, lhs, found)
    p, q = broadcast(name, lhs, found)
    return wrap(function(p, q), ops)


def compare(lhs: Tensor, rhs: Any, name: str, scalar: str) -> Tensor:
    """As `binary`, with a bool result."""
    ops = lhs._ops
    if type(rhs) is _class:
        if rhs._ops is ops:
            p, q = lhs.primitive, rhs.primitive
            if p.shape == q.shape and p.dtype is q.dtype:
                return _compared(ops, getattr(ops, name), p, q)
    elif type(rhs) is float or type(rhs) is int:
        return _compare_number(lhs, rhs, name, scalar)
    found = operand(name, rhs, lhs)
    if found is None:
        return NotImplemented  # type: ignore[no-any-return]
    if not isinstance(found, Core):
        return _compare_number(lhs, found, name, scalar)
    lhs, found = meet(lhs, found)
    ops = lhs._ops
    function = getattr(ops, name)
    check.operands(name, lhs, found)
    return _compared(ops, function, *broadcast(name, lhs, found))


def _compare_number(lhs: Tensor, value: int | float, name: str, scalar: str) -> Tensor:
    """Exact for every number, whatever the ints can hold: 2.5 and 2**40 are compared as what they are."""
    ops = lhs._ops
    if ops.kind == "int":
        low, high = RANGES[lhs.primitive.dtype]
        if not low <= value <= high:
            return _verdict(
                lhs,
                name == "not_equal"
                or value == value
                and (name.startswith("lower") == (value > high))
                and name != "equal",
            )
        if type(value) is float:
            if not value.is_integer():
                if name in ("equal", "not_equal"):
                    return _verdict(lhs, name == "not_equal")
                value = math.floor(value) if name in ("lower_equal", "greater") else math.ceil(value)
            value = int(value)
    elif ops.kind == "bool" and value not in (0, 1) and name in ("equal", "not_equal"):
        return _verdict(lhs, name == "not_equal")
    return _compared(ops, getattr(ops, scalar), lhs.primitive, value)


def _verdict(like: Tensor, value: bool) -> Tensor:
    """One truth for every element."""
    ops = like._ops.of("bool")
    return wrap((ops.ones if value else ops.zeros)(like.shape, ops.handle, ops.bool_dtype), ops)


def _compared(ops: KindOps, function: Any, lhs: Any, rhs: Any) -> Tensor:
    if ops.kind == "bool":
        return wrap(function(lhs, rhs), ops)
    return wrap(function(lhs, rhs, ops.bool_dtype), ops.of("bool"))


def method(result: Tensor, name: str, rhs: object) -> Tensor:
    """The result of a binary function called by its name, where NotImplemented is an error."""
    if result is NotImplemented:
        raise DTypeError(
            f"{name}: the right operand is {type(rhs).__name__}; it must be a tensor, a number or a NumPy array"
        )
    return result


# -------------------------------------------------------------------------------------------------- operands


def operand(name: str, value: object, like: Tensor) -> Tensor | int | float | None:
    """A tensor, or a Python number; an array becomes a tensor on `like`'s device. None for anything else."""
    if isinstance(value, Core):
        return value  # type: ignore[return-value]
    if isinstance(value, np.ndarray):
        return from_array(name, value, like)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (int, float)):
        return value
    if isinstance(value, numbers.Real):
        return float(value)
    return None


def as_tensor(name: str, value: object, like: Tensor, what: str) -> Tensor:
    """A tensor as it is; an array or a number becomes one of `like`'s dtype. Raises DTypeError for anything else."""
    found = operand(name, value, like)
    if found is None:
        raise DTypeError(
            f"{name}: {what} is of type {type(value).__name__}; it must be a tensor, a number or a NumPy array"
        )
    return found if isinstance(found, Core) else constant(like, found, name)


def as_mask(name: str, value: object, like: Tensor) -> Tensor:
    """A bool tensor on `like`'s device; a bool array or (nested) list of bools becomes one."""
    if isinstance(value, Core):
        check.kind(name, value, "the mask", "bool")  # type: ignore[arg-type]  # every Core is a Tensor
        check.same_device(name, like, value)  # type: ignore[arg-type]
        return value  # type: ignore[return-value]
    array = host_array(name, value)
    if array.dtype.kind != "b":
        of = f"NumPy dtype {array.dtype}" if isinstance(value, np.ndarray) else f"type {type(value).__name__}"
        raise DTypeError(f"{name}: the mask is of {of}; it must be a bool tensor or an array of bools")
    ops = like._ops.of("bool")
    return from_host(name, TensorData.of(array), like.device, "bool", ops.bool_dtype)


def host_array(name: str, value: object) -> np.ndarray:
    """Anything that NumPy takes as an array; ragged lists raise ShapeError."""
    try:
        return np.asarray(value)
    except ValueError as error:
        raise ShapeError(f"{name}: the nested lists do not form a regular array ({error})") from None


def from_array(name: str, value: np.ndarray, like: Tensor) -> Tensor:
    """An array beside a tensor takes the tensor's dtype; a float array needs a float tensor, bools a bool one."""
    kind = {"f": "float", "i": "int", "u": "int", "b": "bool"}.get(value.dtype.kind)
    if kind is None or kind != like.kind and not (kind == "int" and like.kind == "float"):
        raise DTypeError(
            f"{name}: a NumPy array of {value.dtype} beside a tensor of {like.dtype}; "
            f"make a tensor of it first: Tensor(array)"
        )
    return from_host(name, TensorData.of(value), like.device, like.kind, like.dtype)


def constant(like: Tensor, value: object, name: str) -> Tensor:
    """A tensor of `like`'s rank and dtype that holds one number. Raises ArgumentError for one that an int cannot be."""
    value = check.fill(name, value, like.dtype)
    ops = like._ops
    shape = (1,) * len(like.shape)
    if ops.quantized:
        ops = ops.of("float")
        return wrap(ops.full(shape, value, ops.handle, like.device.settings.float_dtype), ops)
    if ops.kind == "bool":
        make = ops.ones if value else ops.zeros
        return wrap(make(shape, ops.handle, like.dtype), ops)
    return wrap(ops.full(shape, value, ops.handle, like.dtype), ops)


def meet(lhs: Tensor, rhs: Tensor) -> tuple[Tensor, Tensor]:
    """A quantized operand beside a float one, or beside one of another scheme, is dequantized."""
    a, b = lhs.primitive.dtype, rhs.primitive.dtype
    if a is b or a.kind != "qfloat" and b.kind != "qfloat":
        return lhs, rhs
    target = a if a.is_float else b if b.is_float else lhs.device.settings.float_dtype
    return lhs.dequantize(target), rhs.dequantize(target)


def from_host(name: str, data: TensorData, device: Device, kind: Kind, dtype: DType) -> Tensor:
    """Host data as a tensor of the dtype. Raises ArgumentError for a number that an int dtype cannot hold."""
    ops = device.quantized_ops if dtype.kind == "qfloat" else device.ops(kind)
    if data.dtype is not dtype:
        if kind == "int":
            check.fits(name, data, dtype)
        data = data.convert(dtype)
    return wrap(ops.from_data(data, ops.handle), ops)


def broadcast(name: str, lhs: Tensor, rhs: Tensor) -> tuple[TensorPrim, TensorPrim]:
    """The primitives with equal ranks: missing leading axes get size 1. Raises ShapeError."""
    p, q = lhs.primitive, rhs.primitive
    check.broadcast(name, p.shape, q.shape)
    m, n = len(p.shape), len(q.shape)
    if m < n:
        p = lhs._ops.reshape(p, (1,) * (n - m) + tuple(p.shape))
    elif n < m:
        q = rhs._ops.reshape(q, (1,) * (m - n) + tuple(q.shape))
    return p, q
