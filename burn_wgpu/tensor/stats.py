"""Variance, median, covariance: methods of float tensors. Halves are computed in float32 and rounded once."""
# A mixin of Tensor names its self: mypy wants a supertype there.
# mypy: disable-error-code="misc"

from __future__ import annotations

from typing import TYPE_CHECKING

from burn_wgpu.std.dtype import BF16, F16, F32
from burn_wgpu.std.errors import ShapeError
from burn_wgpu.tensor import check

if TYPE_CHECKING:
    from burn_wgpu.tensor.api import Tensor


class Stats:
    """Statistics along an axis, which is kept with size 1 as by `mean_dim`; `mean(dim)` drops it."""

    __slots__ = ()

    def var(self: Tensor, dim: int) -> Tensor:
        """Σ (x − mean)² / (n − 1) along an axis, which is kept with size 1."""
        return _var_mean("var", self, dim, 1)[0]

    def var_bias(self: Tensor, dim: int) -> Tensor:
        """Σ (x − mean)² / n along an axis."""
        return _var_mean("var_bias", self, dim, 0)[0]

    def var_mean(self: Tensor, dim: int) -> tuple[Tensor, Tensor]:
        """(var, mean)."""
        return _var_mean("var_mean", self, dim, 1)

    def var_mean_bias(self: Tensor, dim: int) -> tuple[Tensor, Tensor]:
        """(var_bias, mean)."""
        return _var_mean("var_mean_bias", self, dim, 0)

    def std(self: Tensor, dim: int) -> Tensor:
        """√var: the axis is kept with size 1."""
        return _var_mean("std", self, dim, 1)[0].sqrt()

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
        centred = (self - self.mean_dim(axis)).swap_dims(axis, 0)
        return centred.transpose().matmul(centred).div(self.shape[axis] - correction)


def _var_mean(name: str, tensor: Tensor, dim: int, correction: int) -> tuple[Tensor, Tensor]:
    check.kind(name, tensor, "the tensor", "float")
    axis = check.dim(name, dim, tensor.rank)
    half = tensor.dtype in (F16, BF16)
    wide = tensor.cast(F32) if half else tensor
    mean = wide.mean_dim(axis)
    spread = (wide - mean).square().sum_dim(axis).div(tensor.shape[axis] - correction)
    return (spread.cast(tensor.dtype), mean.cast(tensor.dtype)) if half else (spread, mean)


def _middle(name: str, tensor: Tensor, dim: int) -> tuple[int, int]:
    axis = check.dim(name, dim, tensor.rank)
    size = tensor.shape[axis]
    if not size:
        raise ShapeError(f"{name}: axis {axis} of shape {list(tensor.shape)} is empty and has no median")
    return axis, (size - 1) // 2
