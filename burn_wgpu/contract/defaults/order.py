"""Sorting on the host, and the first k of a sorted axis.

Sorts are stable; −0 equals +0; NaN of either sign is the largest: last ascending, first descending.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from burn_wgpu.contract.defaults import op
from burn_wgpu.contract.defaults.shape import slice_dim
from burn_wgpu.contract.types import IntPrim, TensorPrim
from burn_wgpu.std.data import TensorData
from burn_wgpu.std.dtype import I32, DType
from burn_wgpu.std.slice import Slice


def index_dtype(kind: DType, size: int) -> DType:
    """The dtype of index results along an axis of an int tensor: the tensor's own, or i32 where that would wrap.

    Burn always keeps the tensor's own; 8 and 16 bits cannot hold every index.
    """
    return kind if size - 1 <= np.iinfo(kind.numpy).max else I32


def stable_order(values: np.ndarray, dim: int, descending: bool) -> np.ndarray:
    """The indices along `dim` that sort it."""
    if not descending:
        return np.argsort(values, axis=dim, kind="stable")
    # Sorting the reversed axis and reading the result backwards keeps equal elements in their order.
    backwards = np.flip(np.argsort(np.flip(values, dim), axis=dim, kind="stable"), dim)
    return values.shape[dim] - 1 - backwards


def sort_with_indices(
    b: Any, tensor: TensorPrim, dim: int, descending: bool, out_dtype: DType
) -> tuple[TensorPrim, IntPrim]:
    """Reads the tensor back."""
    data = op(b, tensor, "into_data")(tensor)
    order = stable_order(data.numpy(), dim, descending)
    values = TensorData(np.take_along_axis(data.array, order, dim), data.dtype)
    return op(b, tensor, "from_data")(values, tensor.device), _indices(b, order, out_dtype, tensor)


def argsort(b: Any, tensor: TensorPrim, dim: int, descending: bool, out_dtype: DType) -> IntPrim:
    """Reads the tensor back."""
    data = op(b, tensor, "into_data")(tensor)
    return _indices(b, stable_order(data.numpy(), dim, descending), out_dtype, tensor)


def first(b: Any, tensor: TensorPrim, dim: int, k: int) -> TensorPrim:
    """The first k along an axis."""
    return slice_dim(b, tensor, dim, Slice(0, k))


def _indices(b: Any, order: np.ndarray, kind: DType, like: TensorPrim) -> IntPrim:
    array = np.ascontiguousarray(order.astype(kind.numpy))
    return b.int_from_data(TensorData(array, kind), like.device)  # type: ignore[no-any-return]
