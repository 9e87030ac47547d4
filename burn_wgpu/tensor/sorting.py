"""Sorted values and positions, the k largest."""
# A mixin of Tensor names its self: mypy wants a supertype there.
# mypy: disable-error-code="misc"

from __future__ import annotations

from typing import TYPE_CHECKING

from burn_wgpu.std.errors import ArgumentError
from burn_wgpu.tensor import check
from burn_wgpu.tensor.core import (
    wrap,
)
from burn_wgpu.tensor.reduction import _index_dtype, _with_indices

if TYPE_CHECKING:
    from burn_wgpu.tensor.api import Tensor


class Sorting:
    """Stable; −0 equals +0; NaN is the largest, whatever its sign."""

    __slots__ = ()

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


def _k(name: str, tensor: Tensor, k: int, dim: int) -> tuple[int, int]:
    axis, k = check.dim(name, dim, tensor.rank), check.integer(name, k, "k")
    if not 0 <= k <= tensor.shape[axis]:
        raise ArgumentError(
            f"{name}: k is {k} and axis {axis} of shape {list(tensor.shape)} has size {tensor.shape[axis]}; "
            f"k must lie between 0 and the size"
        )
    return axis, k
