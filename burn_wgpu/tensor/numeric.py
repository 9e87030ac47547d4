"""Methods of float and int tensors: arithmetic, comparison, reductions, order."""
# A mixin of Tensor names its self: mypy wants a supertype there.
# mypy: disable-error-code="misc"

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from burn_wgpu.contract.options import PadMode
from burn_wgpu.device import DTypeLike
from burn_wgpu.std.dtype import RANGES
from burn_wgpu.std.errors import ArgumentError, DTypeError, ShapeError
from burn_wgpu.tensor import check
from burn_wgpu.tensor.base import _squeeze, numpy_way
from burn_wgpu.tensor.core import (
    Operand,
    as_tensor,
    binary,
    broadcast,
    compare,
    constant,
    meet,
    method,
    operand,
    unary,
    wrap,
)
from burn_wgpu.tensor.creation import room

if TYPE_CHECKING:
    from burn_wgpu.tensor.api import Tensor

Dims = int | Sequence[int] | None


class Numeric:
    """What float and int tensors have in common. A bool tensor raises DTypeError: convert it first."""

    __slots__ = ()

    # ------------------------------------------------------------------------------------------- arithmetic

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

    # ----------------------------------------------------------------------------------------- ordered pairs

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

    # ------------------------------------------------------------------------------------------- reductions

    def sum(
        self: Tensor,
        dim: Dims = None,
        keepdim: bool = False,
        *,
        axis: Dims = None,
        keepdims: bool | None = None,
        dtype: DTypeLike | None = None,
        out: None = None,
    ) -> Tensor:
        """The sum of all elements ([1]), or along axes, which go unless keepdim; 0 of none. Bools are counted.

        axis and keepdims are NumPy's names for dim and keepdim, for `np.sum(t, axis=0)`; dtype converts first.
        """
        if axis is not None or keepdims is not None or out is not None:
            dim, keepdim = numpy_way("sum", dim, keepdim, axis, keepdims, out)
        if dtype is not None:
            self = self.cast(dtype)
        elif self.kind == "bool":
            self = self.cast(int)
        return _whole(self, "sum", keepdim) if dim is None else _reduce(self, "sum", dim, keepdim)

    def mean(
        self: Tensor,
        dim: Dims = None,
        keepdim: bool = False,
        *,
        axis: Dims = None,
        keepdims: bool | None = None,
        dtype: DTypeLike | None = None,
        out: None = None,
    ) -> Tensor:
        """The mean of all elements ([1]), or along axes, which go unless keepdim. Ints truncate; NaN of no floats."""
        if axis is not None or keepdims is not None or out is not None:
            dim, keepdim = numpy_way("mean", dim, keepdim, axis, keepdims, out)
        if dtype is not None:
            self = self.cast(dtype)
        return _whole(self, "mean", keepdim) if dim is None else _reduce(self, "mean", dim, keepdim)

    def prod(
        self: Tensor,
        dim: Dims = None,
        keepdim: bool = False,
        *,
        axis: Dims = None,
        keepdims: bool | None = None,
        dtype: DTypeLike | None = None,
        out: None = None,
    ) -> Tensor:
        """The product of all elements ([1]), or along axes, which go unless keepdim; 1 of none."""
        if axis is not None or keepdims is not None or out is not None:
            dim, keepdim = numpy_way("prod", dim, keepdim, axis, keepdims, out)
        if dtype is not None:
            self = self.cast(dtype)
        return _whole(self, "prod", keepdim) if dim is None else _reduce(self, "prod", dim, keepdim)

    def max(
        self: Tensor,
        dim: Dims = None,
        keepdim: bool = False,
        *,
        axis: Dims = None,
        keepdims: bool | None = None,
        out: None = None,
    ) -> Tensor:
        """The maximum of all elements ([1]), or along axes, which go unless keepdim. NaN wins; ShapeError of none."""
        if axis is not None or keepdims is not None or out is not None:
            dim, keepdim = numpy_way("max", dim, keepdim, axis, keepdims, out)
        return _whole(self, "max", keepdim) if dim is None else _reduce(self, "max", dim, keepdim)

    def min(
        self: Tensor,
        dim: Dims = None,
        keepdim: bool = False,
        *,
        axis: Dims = None,
        keepdims: bool | None = None,
        out: None = None,
    ) -> Tensor:
        """The minimum of all elements ([1]), or along axes, which go unless keepdim. NaN wins; ShapeError of none."""
        if axis is not None or keepdims is not None or out is not None:
            dim, keepdim = numpy_way("min", dim, keepdim, axis, keepdims, out)
        return _whole(self, "min", keepdim) if dim is None else _reduce(self, "min", dim, keepdim)

    def max_abs(self: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
        """The largest |x| of all elements ([1]), or along axes, which go unless keepdim. NaN wins."""
        return _whole(self, "max_abs", keepdim) if dim is None else _reduce(self, "max_abs", dim, keepdim)

    def sum_dim(self: Tensor, dim: int) -> Tensor:
        """The sum along an axis, which is kept with size 1."""
        return _along(self, "sum_dim", dim)

    def mean_dim(self: Tensor, dim: int) -> Tensor:
        """The mean along an axis, which is kept with size 1."""
        return _along(self, "mean_dim", dim)

    def prod_dim(self: Tensor, dim: int) -> Tensor:
        """The product along an axis, which is kept with size 1."""
        return _along(self, "prod_dim", dim)

    def max_dim(self: Tensor, dim: int) -> Tensor:
        """The maximum along an axis, which is kept with size 1."""
        return _along(self, "max_dim", dim)

    def min_dim(self: Tensor, dim: int) -> Tensor:
        """The minimum along an axis, which is kept with size 1."""
        return _along(self, "min_dim", dim)

    def max_abs_dim(self: Tensor, dim: int) -> Tensor:
        """The largest |x| along an axis, which is kept with size 1."""
        return _along(self, "max_abs_dim", dim)

    def sum_dims(self: Tensor, dims: Sequence[int]) -> Tensor:
        """The sum along several axes, which are kept with size 1."""
        return _reduce(self, "sum", dims, True, "sum_dims")

    def mean_dims(self: Tensor, dims: Sequence[int]) -> Tensor:
        """The mean along several axes, which are kept with size 1."""
        return _reduce(self, "mean", dims, True, "mean_dims")

    def prod_dims(self: Tensor, dims: Sequence[int]) -> Tensor:
        """The product along several axes, which are kept with size 1."""
        return _reduce(self, "prod", dims, True, "prod_dims")

    def max_dims(self: Tensor, dims: Sequence[int]) -> Tensor:
        """The maximum along several axes, which are kept with size 1."""
        return _reduce(self, "max", dims, True, "max_dims")

    def min_dims(self: Tensor, dims: Sequence[int]) -> Tensor:
        """The minimum along several axes, which are kept with size 1."""
        return _reduce(self, "min", dims, True, "min_dims")

    def max_abs_dims(self: Tensor, dims: Sequence[int]) -> Tensor:
        """The largest |x| along several axes, kept with size 1; |x| itself for no axes."""
        return _reduce(self, "max_abs", dims, True, "max_abs_dims")

    def sum_dims_squeeze(self: Tensor, dims: Sequence[int]) -> Tensor:
        """The sum along several axes, which go."""
        return _reduce(self, "sum", dims, False, "sum_dims_squeeze")

    def max_dim_with_indices(self: Tensor, dim: int) -> tuple[Tensor, Tensor]:
        """(max_dim, argmax): the axis is kept with size 1."""
        return _with_indices(self, "max_dim_with_indices", dim)

    def min_dim_with_indices(self: Tensor, dim: int) -> tuple[Tensor, Tensor]:
        """(min_dim, argmin): the axis is kept with size 1."""
        return _with_indices(self, "min_dim_with_indices", dim)

    def argmax(
        self: Tensor,
        dim: int | None = None,
        keepdim: bool = True,
        *,
        axis: int | None = None,
        keepdims: bool = False,
        out: None = None,
    ) -> Tensor:
        """The index of the maximum along an axis, kept with size 1 unless keepdim is False: the lowest on ties.

        The first NaN wins. Without an axis: [1], the index in row-major order. By NumPy's name, `argmax(axis=0)`, the
        axis goes unless keepdims.
        """
        if axis is not None or out is not None:
            dim, keepdim = numpy_way("argmax", dim, False, axis, keepdims, out)
        return _arg(self, "argmax", dim, keepdim)

    def argmin(
        self: Tensor,
        dim: int | None = None,
        keepdim: bool = True,
        *,
        axis: int | None = None,
        keepdims: bool = False,
        out: None = None,
    ) -> Tensor:
        """The index of the minimum along an axis, with the rules of argmax."""
        if axis is not None or out is not None:
            dim, keepdim = numpy_way("argmin", dim, False, axis, keepdims, out)
        return _arg(self, "argmin", dim, keepdim)

    def cumsum(self: Tensor, dim: int) -> Tensor:
        """Running sums along an axis."""
        return _along(self, "cumsum", dim)

    def cumprod(self: Tensor, dim: int) -> Tensor:
        """Running products along an axis."""
        return _along(self, "cumprod", dim)

    def cummin(self: Tensor, dim: int) -> Tensor:
        """Running minima along an axis; from the first NaN on, NaN."""
        return _along(self, "cummin", dim)

    def cummax(self: Tensor, dim: int) -> Tensor:
        """Running maxima along an axis; from the first NaN on, NaN."""
        return _along(self, "cummax", dim)

    # ------------------------------------------------------------------------------------------------ order

    def sort(self: Tensor, dim: int = -1, descending: bool = False) -> Tensor:
        """Sorted along an axis, stable; NaN is the largest, −0 equals +0."""
        axis = check.dim("sort", dim, self.rank)
        return wrap(self._ops.sort(self.primitive, axis, check.flag("sort", descending, "descending")), self._ops)

    def sort_descending(self: Tensor, dim: int = -1) -> Tensor:
        """Sorted along an axis, the largest first."""
        return self.sort(dim, True)

    def sort_with_indices(self: Tensor, dim: int = -1, descending: bool = False) -> tuple[Tensor, Tensor]:
        """(sort, argsort)."""
        return _with_indices(self, "sort_with_indices", dim, check.flag("sort_with_indices", descending, "descending"))

    def sort_descending_with_indices(self: Tensor, dim: int = -1) -> tuple[Tensor, Tensor]:
        """(sort_descending, argsort_descending)."""
        return _with_indices(self, "sort_with_indices", dim, True)

    def argsort(self: Tensor, dim: int = -1, descending: bool = False) -> Tensor:
        """The permutation along an axis that sorts; equal elements keep their order."""
        axis, ops = check.dim("argsort", dim, self.rank), self._ops
        down = check.flag("argsort", descending, "descending")
        return wrap(ops.argsort(self.primitive, axis, down, *_index_dtype(self)), ops.of("int"))

    def argsort_descending(self: Tensor, dim: int = -1) -> Tensor:
        """The permutation along an axis that sorts, the largest first."""
        return self.argsort(dim, True)

    def topk(self: Tensor, k: int, dim: int = -1) -> Tensor:
        """The k largest along an axis, the largest first."""
        axis, k = _k("topk", self, k, dim)
        return wrap(self._ops.topk(self.primitive, axis, k), self._ops)

    def topk_with_indices(self: Tensor, k: int, dim: int = -1) -> tuple[Tensor, Tensor]:
        """(topk, argtopk)."""
        (axis, k), ops = _k("topk_with_indices", self, k, dim), self._ops
        values, indices = ops.topk_with_indices(self.primitive, axis, k, *_index_dtype(self))
        return wrap(values, ops), wrap(indices, ops.of("int"))

    def argtopk(self: Tensor, k: int, dim: int = -1) -> Tensor:
        """The indices of the k largest along an axis, the largest first, ties by lowest index."""
        (axis, k), ops = _k("argtopk", self, k, dim), self._ops
        return wrap(ops.argtopk(self.primitive, axis, k, *_index_dtype(self)), ops.of("int"))

    def one_hot(self: Tensor, num_classes: int) -> Tensor:
        """[*shape, num_classes]: 1 at the class that the element names, else 0; self's dtype.

        Classes from −num_classes to num_classes − 1, negatives count from the end; others raise IndexOutOfRange.
        Waits for the device.
        """
        _no_quantized("one_hot", self)
        num_classes = check.positive("one_hot", num_classes, "num_classes")
        if num_classes < 2:
            raise ArgumentError(f"one_hot: num_classes is {num_classes}; it must be at least 2")
        classes = self.to_data().numpy().astype(np.float64)
        wrong = classes[~((classes >= -num_classes) & (classes < num_classes))]
        if wrong.size:
            from burn_wgpu.std.errors import IndexOutOfRange

            raise IndexOutOfRange(
                f"one_hot: class {wrong.reshape(-1)[0]:g} with num_classes {num_classes}; "
                f"classes run from {-num_classes} to {num_classes - 1}"
            )
        return self.one_hot_fill(num_classes, 1, 0, -1)

    def one_hot_fill(self: Tensor, num_classes: int, on_value: float, off_value: float, axis: int = -1) -> Tensor:
        """A new axis of num_classes at `axis`: on_value at the class that the element names, else off_value.

        Negative classes count from the end, floats are truncated, classes out of range and NaN give off_value only.
        """
        _no_quantized("one_hot_fill", self)
        num_classes = check.integer("one_hot_fill", num_classes, "num_classes")
        if num_classes < 0:
            raise ArgumentError(f"one_hot_fill: num_classes is {num_classes}; it must not be negative")
        at = check.dim("one_hot_fill", axis, self.rank + 1, "axis")
        shape = (*self.shape[:at], num_classes, *self.shape[at:])
        room("one_hot", shape, self.device, self.dtype)
        on, off = (check.fill("one_hot_fill", v, self.dtype) for v in (on_value, off_value))
        column = (1,) * at + (num_classes,) + (1,) * (self.rank - at)
        if self.kind != "bool" and self.dtype.size_bytes >= 4 and num_classes <= 1 << 24:
            labels = type(self).arange(num_classes, device=self.device, dtype=self.dtype).reshape(column)
            function, rows = self._ops.one_hot, self.unsqueeze_dim(at)
            return wrap(function(rows.primitive, labels.primitive, num_classes, on, off), self._ops)
        # Compared as what holds every class: in a narrow dtype some would be equal.
        wanted = unary(self, "trunc") if self.kind == "float" else self
        if self.dtype.size_bytes < 4:
            wanted = wanted.cast("f32" if self.kind == "float" else "i32")
        wanted = wanted.unsqueeze_dim(at)
        classes = type(self).arange(num_classes, device=self.device).cast(wanted.dtype).reshape(column)
        hit = wanted.equal(classes)
        if wanted.dtype.kind != "uint":  # (an unsigned sum could wrap onto a class)
            hit = hit.bool_or(wanted.add(num_classes).equal(classes))
        return constant(self, off, "one_hot_fill").unsqueeze(rank=self.rank + 1).expand(hit.shape).mask_fill(hit, on)

    # ------------------------------------------------------------------------------------- matrices and pads

    def matmul(self: Tensor, other: Tensor | np.ndarray) -> Tensor:
        """The matrix product over the last two axes; leading axes broadcast.

        self [.., m, k], other [.., k, n] → [.., m, n]; an operand of rank 1 is a row on the left, a column on the
        right, and its axis goes. Accumulates in float32 whatever the float dtype.
        """
        return method(_matmul(self, other), "matmul", other)

    def dot(self: Tensor, other: Tensor) -> Tensor:
        """Σ self · other of two tensors of rank 1 and equal size → [1]."""
        check.exact_rank("dot", self, 1, "lhs")
        check.operands("dot", self, other)
        check.exact_rank("dot", other, 1, "rhs")
        if self.shape != other.shape:
            raise ShapeError(f"dot: lhs has {self.shape[0]} elements and rhs {other.shape[0]}; the sizes must be equal")
        if self.kind != "float" or self.is_quantized or other.is_quantized:
            return self.mul(other).sum()
        return wrap(self._ops.inner(self.primitive, other.primitive, (0,)), self._ops)

    def triu(self: Tensor, diagonal: int = 0) -> Tensor:
        """The upper triangle of the last two axes from the diagonal on; 0 elsewhere."""
        check.rank("triu", self.shape, 2)
        diagonal = check.integer("triu", diagonal, "diagonal")
        return self.mask_fill(type(self).triu_mask(self.shape[-2:], diagonal, self.device), 0)

    def tril(self: Tensor, diagonal: int = 0) -> Tensor:
        """The lower triangle of the last two axes up to the diagonal; 0 elsewhere."""
        check.rank("tril", self.shape, 2)
        diagonal = check.integer("tril", diagonal, "diagonal")
        return self.mask_fill(type(self).tril_mask(self.shape[-2:], diagonal, self.device), 0)

    def pad(
        self: Tensor, padding: Sequence[tuple[int, int]] | tuple[int, int, int, int], mode: PadMode | float | str = 0.0
    ) -> Tensor:
        """(before, after) for each of the last axes, or (left, right, top, bottom) for the last two.

        mode: a number, `PadMode`, "constant", "reflect" (pads below the axis' size) or "edge" (axis not empty).
        """
        pairs: list[tuple[int, int]]
        values: Any = list(padding) if check.listed(padding) else [padding]
        if len(values) == 4 and all(hasattr(v, "__index__") for v in values):
            left, right, top, bottom = values
            values = [(top, bottom), (left, right)]
        try:
            pairs = [(operator.index(before), operator.index(after)) for before, after in values]
        except (TypeError, ValueError):
            raise DTypeError(
                f"pad: padding {padding!r} is made of something else than ints; it is (before, after) for each axis"
            ) from None
        if len(pairs) > self.rank:
            raise ShapeError(
                f"pad: {len(pairs)} pairs for shape {list(self.shape)}; there must not be more pairs than axes"
            )
        if any(n < 0 for pair in pairs for n in pair):
            raise ArgumentError(f"pad: padding {pairs} has a negative number; narrow the tensor instead")
        full = [(0, 0)] * (self.rank - len(pairs)) + pairs
        made = PadMode.of(mode)
        if made.kind == "constant":
            made = PadMode.constant(check.fill("pad", made.value, self.dtype))
        return wrap(self._ops.pad(self.primitive, full, made), self._ops)


# ---------------------------------------------------------------------------------------------------- roads


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


def _along(tensor: Tensor, name: str, dim: int) -> Tensor:
    axis = check.dim(name, dim, len(tensor.primitive.shape))
    function = getattr(tensor._ops, name)
    if name in _ORDERED:
        check.some(name, tensor.primitive.shape, axis)
    return wrap(function(tensor.primitive, axis), tensor._ops)


_ORDERED = frozenset(("max", "min", "max_abs", "max_dim", "min_dim", "max_abs_dim"))


def _whole(tensor: Tensor, name: str, keepdim: bool) -> Tensor:
    """[1], or with keepdim every axis with size 1."""
    ops, p = tensor._ops, tensor.primitive
    function = getattr(ops, name)
    if name in _ORDERED:
        check.some(name, p.shape)
    result = wrap(function(p if p.shape else ops.reshape(p, (1,))), ops)
    return result.reshape((1,) * tensor.rank) if check.flag(name, keepdim, "keepdim") else result


def _reduce(tensor: Tensor, name: str, dim: int | Sequence[int], keepdim: bool, label: str = "") -> Tensor:
    axes, keepdim = check.dims(label or name, dim, tensor.rank), check.flag(name, keepdim, "keepdim")
    ops, p = tensor._ops, tensor.primitive
    if not axes:
        return unary(tensor, "abs") if name == "max_abs" else tensor
    if len(axes) > 1 and name in ("sum", "mean", "max", "min") and ops.prefix == "float_":
        if name in _ORDERED:
            check.some(label or name, p.shape, *axes)
        p = getattr(ops, name + "_dims")(p, axes)
    else:
        # The mean of means is the mean, because every slice of an axis has the same size; but ints truncate once.
        if name == "mean" and ops.kind == "int" and len(axes) > 1:
            return _int_mean(tensor, axes, keepdim)
        function = getattr(ops, name + "_dim")
        if name in _ORDERED:
            check.some(label or name, p.shape, *axes)
        for axis in axes:
            p = function(p, axis)
    result = wrap(p, ops)
    return result if keepdim else _squeeze(name, result, axes)


def _int_mean(tensor: Tensor, axes: tuple[int, ...], keepdim: bool) -> Tensor:
    """All the axes moved to the end and merged, so that the division happens once."""
    rest = [axis for axis in range(tensor.rank) if axis not in axes]
    moved = tensor.permute([*rest, *axes])
    result = moved.flatten(len(rest), -1).mean_dim(-1).squeeze_dim(-1)
    return result.reshape(tuple(1 if i in axes else n for i, n in enumerate(tensor.shape))) if keepdim else result


def _index_dtype(tensor: Tensor) -> tuple[Any, ...]:
    """The extra argument that float functions take for their indices; int functions know theirs."""
    return () if tensor.kind == "int" else (tensor.device.settings.int_dtype,)


def _with_indices(tensor: Tensor, name: str, dim: int, *extra: bool) -> tuple[Tensor, Tensor]:
    axis, ops = check.dim(name, dim, tensor.rank), tensor._ops
    if name.startswith("m"):  # an empty axis can be sorted, but has no maximum
        check.some(name, tensor.shape, axis)
    values, indices = getattr(ops, name)(tensor.primitive, axis, *extra, *_index_dtype(tensor))
    return wrap(values, ops), wrap(indices, ops.of("int"))


def _arg(tensor: Tensor, name: str, dim: int | None, keepdim: bool) -> Tensor:
    if dim is None:
        check.some(name, tensor.shape)
        tensor, dim, keepdim = tensor.flatten(), 0, True
    axis, ops = check.dim(name, dim, tensor.rank), tensor._ops
    keepdim = check.flag(name, keepdim, "keepdim")
    function = getattr(ops, name)
    check.some(name, tensor.shape, axis)
    result = wrap(function(tensor.primitive, axis, *_index_dtype(tensor)), ops.of("int"))
    return result if keepdim else _squeeze(name, result, (axis,))


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


def _k(name: str, tensor: Tensor, k: int, dim: int) -> tuple[int, int]:
    axis, k = check.dim(name, dim, tensor.rank), check.integer(name, k, "k")
    if not 0 <= k <= tensor.shape[axis]:
        raise ArgumentError(
            f"{name}: k is {k} and axis {axis} of shape {list(tensor.shape)} has size {tensor.shape[axis]}; "
            f"k must lie between 0 and the size"
        )
    return axis, k


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


def _no_quantized(name: str, tensor: Tensor) -> None:
    if tensor.dtype.kind == "qfloat":
        raise DTypeError(f"{name}: the tensor is quantized ({tensor.dtype}); call .dequantize() first")
