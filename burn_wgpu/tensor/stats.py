"""Variance, median, covariance: methods of float tensors. Halves are computed in float32 and rounded once."""
# A mixin of Tensor names its self: mypy wants a supertype there.
# mypy: disable-error-code="misc"

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from burn_wgpu.device import DTypeLike
from burn_wgpu.std.dtype import BF16, F16, F32
from burn_wgpu.std.errors import ShapeError
from burn_wgpu.tensor import check
from burn_wgpu.tensor.base import _squeeze, numpy_way
from burn_wgpu.tensor.core import wrap

if TYPE_CHECKING:
    from burn_wgpu.tensor.api import Tensor

Dims: TypeAlias = "int | Sequence[int] | None"


class Stats:
    """Statistics along an axis, which is kept with size 1 as by `mean_dim`; `mean(dim)` drops it."""

    __slots__ = ()

    def var(
        self: Tensor,
        dim: Dims = None,
        keepdim: bool = True,
        *,
        axis: Dims = None,
        keepdims: bool | None = None,
        ddof: float | None = None,
        dtype: DTypeLike | None = None,
        out: None = None,
    ) -> Tensor:
        """Σ (x − mean)² / (n − 1) along axes, which are kept with size 1 unless keepdim is False, or of all ([1]).

        Called by NumPy's names, as in `np.var(t, axis=0)`, it is NumPy's: divided by n − ddof, where ddof is 0 unless
        given, and the axes go unless keepdims. dtype converts first.
        """
        if axis is None and keepdims is None and ddof is None and dtype is None and out is None:
            return _spread("var", self, dim, keepdim if dim is not None else False, 1)
        return _numpy_spread("var", self, dim, axis, keepdims, ddof, dtype, out)

    def std(
        self: Tensor,
        dim: Dims = None,
        keepdim: bool = True,
        *,
        axis: Dims = None,
        keepdims: bool | None = None,
        ddof: float | None = None,
        dtype: DTypeLike | None = None,
        out: None = None,
    ) -> Tensor:
        """√var, with the arguments of var."""
        if axis is None and keepdims is None and ddof is None and dtype is None and out is None:
            return _spread("std", self, dim, keepdim if dim is not None else False, 1)
        return _numpy_spread("std", self, dim, axis, keepdims, ddof, dtype, out)

    def var_bias(self: Tensor, dim: int) -> Tensor:
        """Σ (x − mean)² / n along an axis."""
        return _var("var_bias", self, (check.dim("var_bias", dim, self.rank),), 0)

    def var_mean(self: Tensor, dim: int) -> tuple[Tensor, Tensor]:
        """(var, mean)."""
        axis = check.dim("var_mean", dim, self.rank)
        return _var("var_mean", self, (axis,), 1), self.mean_dim(axis)

    def var_mean_bias(self: Tensor, dim: int) -> tuple[Tensor, Tensor]:
        """(var_bias, mean)."""
        axis = check.dim("var_mean_bias", dim, self.rank)
        return _var("var_mean_bias", self, (axis,), 0), self.mean_dim(axis)

    def median(self: Tensor, dim: int) -> Tensor:
        """The lower median along an axis: element (n − 1) // 2 in sorted order, where NaN is the largest."""
        axis, at = _middle("median", self, dim)
        return self.sort(axis).narrow(axis, at, 1)

    def median_with_indices(self: Tensor, dim: int) -> tuple[Tensor, Tensor]:
        """(median, its index)."""
        axis, at = _middle("median_with_indices", self, dim)
        values, indices = self.sort_with_indices(axis)
        return values.narrow(axis, at, 1), indices.narrow(axis, at, 1)

    def cov(self: Tensor, dim: int, correction: int = 1) -> Tensor:
        """Xᵀ·X / (n − correction), where X is self centred along dim, with dim (of size n) moved to the front."""
        check.kind("cov", self, "the tensor", "float")
        check.rank("cov", self.shape, 2)
        axis, correction = check.dim("cov", dim, self.rank), check.integer("cov", correction, "correction")
        wide = self.cast(F32) if self.dtype in (F16, BF16) else self
        centred = _near_zero(wide, (axis,))
        centred = (centred - centred.mean_dim(axis)).swap_dims(axis, 0)
        return centred.transpose().matmul(centred).div(self.shape[axis] - correction).cast(self.dtype)


def _spread(name: str, tensor: Tensor, dim: Dims, keepdim: bool, correction: float) -> Tensor:
    check.kind(name, tensor, "the tensor", "float")
    keepdim = check.flag(name, keepdim, "keepdim")
    if dim is None:
        # Of all: [1], or by NumPy's keepdims every axis with size 1. Burn's axes are kept where some are named.
        result = _spread(name, tensor.flatten(), 0, True, correction)
        return result.reshape((1,) * tensor.rank) if keepdim else result
    axes = check.dims(name, dim, tensor.rank)
    result = _var(name, tensor, axes, correction)
    return result if keepdim else _squeeze(name, result, axes)


def _numpy_spread(
    name: str,
    tensor: Tensor,
    dim: Dims,
    axis: Dims,
    keepdims: bool | None,
    ddof: float | None,
    dtype: DTypeLike | None,
    out: None,
) -> Tensor:
    dim, keepdim = numpy_way(name, dim, False, axis, keepdims, out)
    correction = 0 if ddof is None else check.number(name, ddof, "ddof")
    return _spread(name, tensor if dtype is None else tensor.cast(dtype), dim, keepdim, correction)


def _var(name: str, tensor: Tensor, axes: tuple[int, ...], correction: float) -> Tensor:
    check.kind(name, tensor, "the tensor", "float")
    ops = tensor._ops
    return wrap((ops.std if name == "std" else ops.var)(tensor.primitive, axes, correction), ops)


def _near_zero(tensor: Tensor, axes: tuple[int, ...]) -> Tensor:
    """Less the first element along the axes, which no deviation depends on: the mean of numbers far from zero would be
    rounded by more than they deviate.
    """
    first = tensor.detach()
    for axis in axes:
        if not tensor.shape[axis]:
            return tensor
        first = first.narrow(axis, 0, 1)
    return tensor - first


def _middle(name: str, tensor: Tensor, dim: int) -> tuple[int, int]:
    axis = check.dim(name, dim, tensor.rank)
    size = tensor.shape[axis]
    if not size:
        raise ShapeError(f"{name}: axis {axis} of shape {list(tensor.shape)} is empty and has no median")
    return axis, (size - 1) // 2
