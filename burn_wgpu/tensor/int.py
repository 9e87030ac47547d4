"""Methods of int tensors, and the operators & | ^ ~ << >>, which mean logic on bool tensors."""
# A mixin of Tensor names its self: mypy wants a supertype there.
# mypy: disable-error-code="misc"

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from burn_wgpu.std.errors import DTypeError
from burn_wgpu.tensor import check
from burn_wgpu.tensor.core import Operand, broadcast, constant, method, operand, wrap

if TYPE_CHECKING:
    from burn_wgpu.tensor.api import Tensor


class Int:
    """Bits of ints. A float or bool tensor raises DTypeError."""

    __slots__ = ()

    def bitwise_and(self: Tensor, other: Operand) -> Tensor:
        """Bitwise and."""
        return method(_bits(self, other, "bitwise_and"), "bitwise_and", other)

    def bitwise_or(self: Tensor, other: Operand) -> Tensor:
        """Bitwise or."""
        return method(_bits(self, other, "bitwise_or"), "bitwise_or", other)

    def bitwise_xor(self: Tensor, other: Operand) -> Tensor:
        """Bitwise exclusive or."""
        return method(_bits(self, other, "bitwise_xor"), "bitwise_xor", other)

    def bitwise_left_shift(self: Tensor, other: Operand) -> Tensor:
        """self · 2^other, wrapping; the shift is taken modulo the width."""
        return method(_bits(self, other, "bitwise_left_shift"), "bitwise_left_shift", other)

    def bitwise_right_shift(self: Tensor, other: Operand) -> Tensor:
        """self shifted right by other modulo the width; the sign fills signed types."""
        return method(_bits(self, other, "bitwise_right_shift"), "bitwise_right_shift", other)

    bitwise_and_scalar, bitwise_or_scalar, bitwise_xor_scalar = bitwise_and, bitwise_or, bitwise_xor
    bitwise_left_shift_scalar, bitwise_right_shift_scalar = bitwise_left_shift, bitwise_right_shift

    def bitwise_not(self: Tensor) -> Tensor:
        """Every bit inverted."""
        check.kind("bitwise_not", self, "the tensor", "int")
        return wrap(self._ops.backend.bitwise_not(self.primitive), self._ops)

    def __and__(self: Tensor, other: Operand) -> Tensor:
        return _logic_or_bits(self, other, "and")

    def __or__(self: Tensor, other: Operand) -> Tensor:
        return _logic_or_bits(self, other, "or")

    def __xor__(self: Tensor, other: Operand) -> Tensor:
        return _logic_or_bits(self, other, "xor")

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __invert__(self: Tensor) -> Tensor:
        return self.bool_not() if self.kind == "bool" else self.bitwise_not()

    def __lshift__(self: Tensor, other: Operand) -> Tensor:
        return _bits(self, other, "bitwise_left_shift")

    def __rshift__(self: Tensor, other: Operand) -> Tensor:
        return _bits(self, other, "bitwise_right_shift")

    def __rlshift__(self: Tensor, other: Operand) -> Tensor:
        name = "bitwise_left_shift"
        found = operand(name, other, self)
        return NotImplemented if found is None else _bits(_tensor(found, self, name), self, name)

    def __rrshift__(self: Tensor, other: Operand) -> Tensor:
        name = "bitwise_right_shift"
        found = operand(name, other, self)
        return NotImplemented if found is None else _bits(_tensor(found, self, name), self, name)


def _tensor(value: Tensor | int | float, like: Tensor, name: str) -> Tensor:
    return constant(like, value, name) if isinstance(value, (int, float)) else value


def _bits(lhs: Tensor, rhs: Operand, name: str) -> Tensor:
    check.kind(name, lhs, "the tensor", "int")
    ops = lhs._ops
    found = operand(name, rhs, lhs)
    if found is None:
        return NotImplemented  # type: ignore[no-any-return]
    if isinstance(found, (int, float)):
        if not isinstance(found, int):
            raise DTypeError(f"{name}: the right operand is {found!r}; it must be an int")
        return wrap(getattr(ops.backend, name + "_scalar")(lhs.primitive, found), ops)
    check.operands(name, lhs, found)
    return wrap(getattr(ops.backend, name)(*broadcast(name, lhs, found)), ops)


def _logic_or_bits(lhs: Tensor, rhs: Operand, name: str) -> Tensor:
    if lhs.kind != "bool":
        return _bits(lhs, rhs, "bitwise_" + name)
    return logic(lhs, rhs, name)


def logic(lhs: Tensor, rhs: Operand, name: str) -> Tensor:
    """bool_and, bool_or, bool_xor; a number on the right must be a truth value."""
    what = "bool_" + name
    ops = lhs._ops
    if type(rhs) is type(lhs) and rhs._ops is ops:
        found: Any = rhs
    else:
        found = operand(what, rhs, lhs)
        if found is None:
            return NotImplemented  # type: ignore[no-any-return]
        if isinstance(found, (int, float)):
            if found not in (0, 1):
                raise DTypeError(
                    f"{what}: a tensor of {lhs.dtype} and the number {found!r}; the number must be True or False. "
                    f"Convert the tensor with .int()"
                )
            found = constant(lhs, found, what)
        check.operands(what, lhs, found)
    p, q = lhs.primitive, found.primitive
    if p.shape != q.shape:
        p, q = broadcast(what, lhs, found)
    return wrap(getattr(ops.backend, what)(p, q), ops)
