"""Along axes: sums, means, products, extrema, their positions, and running ones."""
# A mixin of Tensor names its self: mypy wants a supertype there.
# mypy: disable-error-code="misc"

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from burn_wgpu.device import DTypeLike
from burn_wgpu.tensor import check
from burn_wgpu.tensor.base import _squeeze, numpy_way
from burn_wgpu.tensor.core import (
    unary,
    wrap,
)

if TYPE_CHECKING:
    from burn_wgpu.tensor.api import Tensor

Dims = int | Sequence[int] | None


class Reduction:
    """`dim` is None (all axes, shape [1]), an axis or several; an axis that was reduced stays with keepdim."""

    __slots__ = ()

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
