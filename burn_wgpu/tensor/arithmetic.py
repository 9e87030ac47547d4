"""Operators and their named forms: +, −, ×, ÷, remainders, powers, products of matrices."""
# A mixin of Tensor names its self: mypy wants a supertype there.
# mypy: disable-error-code="misc"

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from burn_wgpu.std.errors import ArgumentError, DTypeError, ShapeError
from burn_wgpu.tensor import check
from burn_wgpu.tensor.core import (
    Operand,
    binary,
    broadcast,
    constant,
    meet,
    method,
    operand,
    unary,
    wrap,
)

if TYPE_CHECKING:
    from burn_wgpu.tensor.api import Tensor


class Arithmetic:
    """A bool tensor raises DTypeError: convert it first."""

    __slots__ = ()

    def __add__(self: Tensor, other: Operand) -> Tensor:
        return binary(self, other, "add", "add_scalar")

    __radd__ = __add__

    def __sub__(self: Tensor, other: Operand) -> Tensor:
        return binary(self, other, "sub", "sub_scalar")

    def __rsub__(self: Tensor, other: Operand) -> Tensor:
        if type(other) is float or type(other) is int:
            if self.kind == "bool":
                self._ops.sub  # raises  # noqa: B018
            return binary(self, other, "sub", "rsub_scalar")
        return _reflected(self, other, "sub", "sub_scalar")

    def __mul__(self: Tensor, other: Operand) -> Tensor:
        return binary(self, other, "mul", "mul_scalar")

    __rmul__ = __mul__

    def __truediv__(self: Tensor, other: Operand) -> Tensor:
        return binary(self, other, "div", "div_scalar")

    def __rtruediv__(self: Tensor, other: Operand) -> Tensor:
        if self.kind == "float" and (type(other) is float or type(other) is int) and other == 1:
            return unary(self, "recip")
        return _reflected(self, other, "div", "div_scalar", "rdiv_scalar")

    def __floordiv__(self: Tensor, other: Operand) -> Tensor:
        """⌊self / other⌋, as Python's //, for negative operands too; floats by 0 and ±inf as NumPy's floor_divide."""
        return _floor_divide(self, other)

    def __rfloordiv__(self: Tensor, other: Operand) -> Tensor:
        found = operand("floor_divide", other, self)
        if found is None:
            return NotImplemented
        return _floor_divide(_left(self, found, "floor_divide"), self)

    def __mod__(self: Tensor, other: Operand) -> Tensor:
        return binary(self, other, "remainder", "remainder_scalar")

    def __rmod__(self: Tensor, other: Operand) -> Tensor:
        return _reflected(self, other, "remainder", "remainder_scalar")

    def __divmod__(self: Tensor, other: Operand) -> tuple[Tensor, Tensor]:
        return self.__floordiv__(other), self.__mod__(other)

    def __rdivmod__(self: Tensor, other: Operand) -> tuple[Tensor, Tensor]:
        return self.__rfloordiv__(other), self.__rmod__(other)

    def __round__(self: Tensor, ndigits: int | None = None) -> Tensor:
        """round(t) and round(t, 2): to even, a float tensor in any case; ints stay as they are."""
        digits = 0 if ndigits is None else check.integer("round", ndigits, "ndigits")
        if self.kind == "int" and digits >= 0:
            return self
        return self.round_to(digits) if digits else self.round()

    def __floor__(self: Tensor) -> Tensor:
        return self if self.kind == "int" else self.floor()

    def __ceil__(self: Tensor) -> Tensor:
        return self if self.kind == "int" else self.ceil()

    def __trunc__(self: Tensor) -> Tensor:
        return self if self.kind == "int" else self.trunc()

    def __pow__(self: Tensor, other: Operand) -> Tensor:
        return _power(self, other)

    def __rpow__(self: Tensor, other: Operand) -> Tensor:
        return _reflected(self, other, "powf" if self.kind == "float" else "powi", None, "rpowf_scalar")

    def __matmul__(self: Tensor, other: Tensor | np.ndarray) -> Tensor:
        return _matmul(self, other)

    def __rmatmul__(self: Tensor, other: np.ndarray) -> Tensor:
        found = operand("matmul", other, self)
        return NotImplemented if found is None or isinstance(found, (int, float)) else _matmul(found, self)

    def __neg__(self: Tensor) -> Tensor:
        return unary(self, "neg")

    def __pos__(self: Tensor) -> Tensor:
        return self

    def __abs__(self: Tensor) -> Tensor:
        return unary(self, "abs")

    def add(self: Tensor, other: Operand) -> Tensor:
        """self + other, broadcasting; ints wrap."""
        return method(binary(self, other, "add", "add_scalar"), "add", other)

    def sub(self: Tensor, other: Operand) -> Tensor:
        """self − other, broadcasting; ints wrap."""
        return method(binary(self, other, "sub", "sub_scalar"), "sub", other)

    def mul(self: Tensor, other: Operand) -> Tensor:
        """self · other, broadcasting; ints wrap."""
        return method(binary(self, other, "mul", "mul_scalar"), "mul", other)

    def div(self: Tensor, other: Operand) -> Tensor:
        """self / other, broadcasting. Ints truncate toward zero and raise DivisionByZero, perhaps at the next sync."""
        return method(binary(self, other, "div", "div_scalar"), "div", other)

    def remainder(self: Tensor, other: Operand) -> Tensor:
        """self − ⌊self / other⌋·other, with the sign of other, as Python's %."""
        return method(binary(self, other, "remainder", "remainder_scalar"), "remainder", other)

    def floor_divide(self: Tensor, other: Operand) -> Tensor:
        """⌊self / other⌋, as Python's //."""
        return method(self.__floordiv__(other), "floor_divide", other)

    add_scalar, sub_scalar, mul_scalar, div_scalar, remainder_scalar = add, sub, mul, div, remainder

    def neg(self: Tensor) -> Tensor:
        """−x."""
        return unary(self, "neg")

    def sign(self: Tensor) -> Tensor:
        """−1, 0 or 1; 0 for NaN."""
        return unary(self, "sign")

    def abs(self: Tensor) -> Tensor:
        """|x|; the smallest int stays as it is."""
        return unary(self, "abs")

    def square(self: Tensor) -> Tensor:
        """x · x."""
        if self.kind == "int":
            return unary(self, "square")
        return binary(self, self, "mul", None)

    def powi(self: Tensor, other: Operand) -> Tensor:
        """self to an integer power: an int tensor (for floats, a float one of self's dtype too) or an int.

        Int results are exact and wrap. A negative number as exponent of ints is an ArgumentError; in an int tensor of
        exponents, a negative one gives the real power truncated toward zero: 0, or ±1 for a base of ±1 (a base of 0
        raises DivisionByZero). That holds for a number as base, `2 ** t`, as well.
        """
        return method(_power(self, other), "powi", other)

    powi_scalar = powi


def _reflected(rhs: Tensor, lhs: Operand, name: str, scalar: str | None, left: str | None = None) -> Tensor:
    """`lhs name rhs` where lhs is a number or an array; of floats and a number by the function `left`."""
    found = operand(name, lhs, rhs)
    if found is None:
        return NotImplemented  # type: ignore[no-any-return]
    if left is not None and rhs.kind == "float" and isinstance(found, (int, float)):
        return wrap(getattr(rhs._ops, left)(rhs.primitive, found), rhs._ops)
    return binary(_left(rhs, found, name), rhs, name, scalar)


def _left(rhs: Tensor, found: Tensor | int | float, name: str) -> Tensor:
    """A left operand as a tensor beside `rhs`."""
    if not isinstance(found, (int, float)):
        return found
    if type(found) is float and rhs.kind == "int" and not found.is_integer():
        raise DTypeError(
            f"{name}: the number {found!r} and a tensor of {rhs.dtype}; an int tensor computes with integers only. "
            f"Convert the tensor with .float()"
        )
    return constant(rhs, found, name)


def _floor_divide(lhs: Tensor, rhs: Operand) -> Tensor:
    other: Any = operand("floor_divide", rhs, lhs)
    if other is None:
        return NotImplemented  # type: ignore[no-any-return]
    if lhs.kind == "bool":
        lhs._ops.floor_divide  # raises  # noqa: B018
    if not isinstance(other, (int, float)):
        lhs, other = meet(lhs, other)
        check.operands("floor_divide", lhs, other)
        check.broadcast("floor_divide", lhs.shape, other.shape)
    elif lhs.kind == "int":
        other = check.operation_scalar("floor_divide", other, lhs.dtype)
    if lhs.kind == "float":
        return binary(lhs.dequantize(), other, "floor_divide", "floor_divide_scalar")
    return binary(lhs, other, "floor_divide", "floor_divide_scalar")


def _power(base: Tensor, exponent: Operand) -> Tensor:
    ops = base._ops
    found = operand("pow", exponent, base)
    if found is None:
        return NotImplemented  # type: ignore[no-any-return]
    if isinstance(found, (int, float)):
        if ops.kind == "int":
            if type(found) is float and found.is_integer():
                found = int(found)
            if not isinstance(found, int):
                raise DTypeError(
                    f"pow: an int tensor ({base.dtype}) to the power of {found!r}; the exponent must be an int. "
                    f"Convert the tensor with .float()"
                )
            if found < 0:
                raise ArgumentError(
                    f"pow: an int tensor ({base.dtype}) to the power of {found}; the exponent must not be negative. "
                    f"Convert the tensor with .float()"
                )
            return wrap(ops.powi_scalar(base.primitive, found), ops)
        if isinstance(found, int):
            return wrap(ops.powi_scalar(base.primitive, found), ops)
        return wrap(ops.powf_scalar(base.primitive, found), ops)
    if ops.kind == "float" and found.kind == "int":
        check.same_device("pow", base, found)
        base = base.dequantize()
        return wrap(base._ops.powi(*broadcast("pow", base, found)), base._ops)
    return binary(base, found, "powf" if ops.kind == "float" else "powi", None)


def _matmul(lhs: Tensor, rhs: Tensor | np.ndarray) -> Tensor:
    ops = lhs._ops
    other = operand("matmul", rhs, lhs)
    if other is None or isinstance(other, (int, float)):
        return NotImplemented  # type: ignore[no-any-return]
    if other._ops is not ops or other.primitive.dtype is not lhs.primitive.dtype:
        if lhs.kind == other.kind and (ops.quantized or other._ops.quantized):
            check.same_device("matmul", lhs, other)
            ops = ops if ops.quantized else other._ops
        else:
            check.operands("matmul", lhs, other)
    p, q = lhs.primitive, other.primitive
    a, b = p.shape, q.shape
    m, n = len(a), len(b)
    if m < 2 or n < 2:
        if not m or not n:
            raise ShapeError(f"matmul: lhs {list(a)} and rhs {list(b)}; an operand of rank 0 has no axis to sum over")
        row, column = m == 1, n == 1
        inner = b[0] if column else b[-2]
        if a[-1] != inner:
            raise ShapeError(
                f"matmul: lhs {list(a)} and rhs {list(b)} disagree on the inner size ({a[-1]} and {inner})"
            )
        result = _matmul(lhs.unsqueeze_dim(0) if row else lhs, other.unsqueeze_dim(1) if column else other)
        shape = list(result.shape)
        if column:
            del shape[-1]
        if row:
            del shape[-1 if column else -2]
        return result.reshape(tuple(shape))
    if a[-1] != b[-2]:
        raise ShapeError(f"matmul: lhs {list(a)} and rhs {list(b)} disagree on the inner size ({a[-1]} and {b[-2]})")
    if a[:-2] != b[:-2]:
        check.broadcast("matmul", tuple(a[:-2]), tuple(b[:-2]))
        if m < n:
            p = lhs._ops.reshape(p, (1,) * (n - m) + tuple(a))
        elif n < m:
            q = other._ops.reshape(q, (1,) * (m - n) + tuple(b))
    return wrap(ops.matmul(p, q), ops)
