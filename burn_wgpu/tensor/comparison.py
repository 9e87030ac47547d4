"""Order of two operands: comparisons, the larger and the smaller, limits."""
# A mixin of Tensor names its self: mypy wants a supertype there.
# mypy: disable-error-code="misc"

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from burn_wgpu.std.dtype import RANGES
from burn_wgpu.std.errors import ArgumentError
from burn_wgpu.tensor import check
from burn_wgpu.tensor.base import numpy_way
from burn_wgpu.tensor.core import (
    Operand,
    as_tensor,
    broadcast,
    compare,
    meet,
    method,
    operand,
    wrap,
)

if TYPE_CHECKING:
    from burn_wgpu.tensor.api import Tensor


class Comparison:
    """A NaN compares as false, and wins where a value is chosen."""

    __slots__ = ()

    def greater(self: Tensor, other: Operand) -> Tensor:
        """self > other, a bool tensor; false where a NaN is."""
        return method(compare(self, other, "greater", "greater_elem"), "greater", other)

    def greater_equal(self: Tensor, other: Operand) -> Tensor:
        """self ≥ other, a bool tensor."""
        return method(compare(self, other, "greater_equal", "greater_equal_elem"), "greater_equal", other)

    def lower(self: Tensor, other: Operand) -> Tensor:
        """self < other, a bool tensor."""
        return method(compare(self, other, "lower", "lower_elem"), "lower", other)

    def lower_equal(self: Tensor, other: Operand) -> Tensor:
        """self ≤ other, a bool tensor."""
        return method(compare(self, other, "lower_equal", "lower_equal_elem"), "lower_equal", other)

    greater_scalar = greater_elem = greater
    greater_equal_scalar = greater_equal_elem = greater_equal
    lower_scalar = lower_elem = lower
    lower_equal_scalar = lower_equal_elem = lower_equal

    def __gt__(self: Tensor, other: Operand) -> Tensor:
        return compare(self, other, "greater", "greater_elem")

    def __ge__(self: Tensor, other: Operand) -> Tensor:
        return compare(self, other, "greater_equal", "greater_equal_elem")

    def __lt__(self: Tensor, other: Operand) -> Tensor:
        return compare(self, other, "lower", "lower_elem")

    def __le__(self: Tensor, other: Operand) -> Tensor:
        return compare(self, other, "lower_equal", "lower_equal_elem")

    def max_pair(self: Tensor, other: Operand) -> Tensor:
        """The larger of both, elementwise; NaN on either side gives NaN."""
        return _pair(self, other, "max_pair", "clamp_min")

    def min_pair(self: Tensor, other: Operand) -> Tensor:
        """The smaller of both, elementwise; NaN on either side gives NaN."""
        return _pair(self, other, "min_pair", "clamp_max")

    def maximum(self: Tensor, other: Operand) -> Tensor:
        """`max_pair`, as NumPy calls it."""
        return _pair(self, other, "maximum", "clamp_min")

    def minimum(self: Tensor, other: Operand) -> Tensor:
        """`min_pair`, as NumPy calls it."""
        return _pair(self, other, "minimum", "clamp_max")

    def clamp(self: Tensor, min: float | None = None, max: float | None = None) -> Tensor:
        """x limited to min … max, numbers, either of which may be left out; NaN stays NaN. min above max is an error.

        Limits of ints may be any numbers: fractions are rounded inward, those beyond the dtype are its ends.
        """
        if min is None or max is None:
            if min is None and max is None:
                raise ArgumentError("clamp: neither min nor max is given; give at least one")
            return _clamp_min("clamp", self, min) if max is None else _clamp_max("clamp", self, max)
        low, high = _limit("clamp", self, min, "min"), _limit("clamp", self, max, "max")
        if min > max or low > high:
            raise ArgumentError(
                f"clamp: min is {min} and max is {max}; "
                + ("min must not exceed max" if min > max else f"no value of {self.dtype} lies between them")
            )
        return wrap(self._ops.clamp(self.primitive, low, high), self._ops)

    def clip(self: Tensor, min: float | None = None, max: float | None = None, out: None = None) -> Tensor:
        """`clamp`, as NumPy calls it."""
        numpy_way("clip", None, False, None, None, out)
        return self.clamp(min, max)

    def clamp_min(self: Tensor, min: float) -> Tensor:
        """max(x, min); NaN on either side gives NaN."""
        return _clamp_min("clamp_min", self, min)

    def clamp_max(self: Tensor, max: float) -> Tensor:
        """min(x, max); NaN on either side gives NaN."""
        return _clamp_max("clamp_max", self, max)


def _pair(lhs: Tensor, value: Operand, name: str, scalar: str) -> Tensor:
    """The larger or the smaller of both; of a number by the function `scalar`."""
    found: Any = operand(name, value, lhs)
    if lhs.kind == "bool":
        lhs._ops.clamp  # raises  # noqa: B018
    if isinstance(found, (int, float)):
        if lhs.kind == "int":
            found = check.fill(name, check.operation_scalar(name, found, lhs.dtype), lhs.dtype)
        return wrap(getattr(lhs._ops, scalar)(lhs.primitive, found), lhs._ops)
    lhs, rhs = meet(lhs, as_tensor(name, found if found is not None else value, lhs, "the right operand"))
    check.operands(name, lhs, rhs)
    function = getattr(lhs._ops, "max_pair" if scalar == "clamp_min" else "min_pair")
    return wrap(function(*broadcast(name, lhs, rhs)), lhs._ops)


def _clamp_min(name: str, tensor: Tensor, limit: object) -> Tensor:
    return wrap(tensor._ops.clamp_min(tensor.primitive, _limit(name, tensor, limit, "min")), tensor._ops)


def _clamp_max(name: str, tensor: Tensor, limit: object) -> Tensor:
    return wrap(tensor._ops.clamp_max(tensor.primitive, _limit(name, tensor, limit, "max")), tensor._ops)


def _limit(name: str, tensor: Tensor, value: object, what: str) -> int | float:
    """A limit of clamp. For ints: the nearest int inside it, or the end of the dtype that it lies beyond."""
    limit = check.number(name, value, what)
    ends = RANGES.get(tensor.dtype)
    if ends is None:
        return limit
    if limit != limit:
        raise ArgumentError(f"{name}: {what} is NaN, and the dtype {tensor.dtype} cannot hold it")
    low, high = ends
    if limit <= low or limit >= high:
        return low if limit <= low else high
    return math.ceil(limit) if what == "min" else math.floor(limit)
