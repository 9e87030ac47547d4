"""select, select_assign, gather_nd and scatter_nd by way of gather and scatter; masks; the bool scatter family."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from burn_wgpu.contract.defaults import op
from burn_wgpu.contract.defaults.shape import flatten, slice_dim
from burn_wgpu.contract.options import IndexingUpdateOp
from burn_wgpu.contract.types import BoolPrim, IntPrim, TensorPrim
from burn_wgpu.std.data import TensorData
from burn_wgpu.std.dtype import I32, I64, DType
from burn_wgpu.std.slice import Slice


def select(b: Any, tensor: TensorPrim, dim: int, indices: IntPrim) -> TensorPrim:
    return op(b, tensor, "gather")(dim, tensor, _along(b, indices, dim, tensor.shape))  # type: ignore[no-any-return]


def select_assign(
    b: Any, tensor: TensorPrim, dim: int, indices: IntPrim, values: TensorPrim, update: IndexingUpdateOp
) -> TensorPrim:
    wide = _along(b, indices, dim, tensor.shape)
    return op(b, tensor, "scatter")(dim, tensor, wide, values, update)  # type: ignore[no-any-return]


def gather_nd(b: Any, data: TensorPrim, indices: IntPrim) -> TensorPrim:
    """Rows of data flattened to [prod(first K axes), rest]."""
    k = indices.shape[-1]
    shape = (*indices.shape[:-1], *data.shape[k:])
    rows = op(b, data, "select")(_as_rows(b, data, k), 0, _row_numbers(b, indices, data.shape))
    return op(b, data, "reshape")(rows, shape)  # type: ignore[no-any-return]


def scatter_nd(b: Any, data: TensorPrim, indices: IntPrim, values: TensorPrim, update: IndexingUpdateOp) -> TensorPrim:
    k = indices.shape[-1]
    count, rest = prod(indices.shape[:-1]), prod(data.shape[k:])
    rows = op(b, data, "reshape")(values, (count, rest))
    done = op(b, data, "select_assign")(_as_rows(b, data, k), 0, _row_numbers(b, indices, data.shape), rows, update)
    return op(b, data, "reshape")(done, data.shape)  # type: ignore[no-any-return]


def mask_select(b: Any, tensor: TensorPrim, mask: BoolPrim) -> TensorPrim:
    """Reads the mask back (bool_argwhere), because the result's size depends on it."""
    kind = I32 if prod(mask.shape) <= np.iinfo(np.int32).max else I64
    where = b.bool_argwhere(flatten(b, mask), kind)
    return op(b, tensor, "select")(flatten(b, tensor), 0, flatten(b, where))  # type: ignore[no-any-return]


def argwhere(b: Any, tensor: BoolPrim, out_dtype: DType) -> IntPrim:
    """Reads the tensor back."""
    found = np.argwhere(b.bool_into_data(tensor).numpy())
    array = np.ascontiguousarray(found.astype(out_dtype.numpy))
    return b.int_from_data(TensorData(array, out_dtype), tensor.device)  # type: ignore[no-any-return]


_BOOL_AS_INT = {
    IndexingUpdateOp.ASSIGN: IndexingUpdateOp.ASSIGN,
    IndexingUpdateOp.ADD: IndexingUpdateOp.MAX,
    IndexingUpdateOp.MAX: IndexingUpdateOp.MAX,
    IndexingUpdateOp.MUL: IndexingUpdateOp.MIN,
    IndexingUpdateOp.MIN: IndexingUpdateOp.MIN,
}


def bool_by_int(b: Any, name: str, *args: Any) -> BoolPrim:
    """A bool function as the int function `name` on zeros and ones: Add and Max are or, Mul and Min are and."""
    storage = next(a.dtype for a in args if hasattr(a, "dtype") and a.dtype.is_bool)
    ints = [
        _BOOL_AS_INT[a] if isinstance(a, IndexingUpdateOp)
        else b.bool_into_int(a, I32) if hasattr(a, "dtype") and a.dtype.is_bool
        else a
        for a in args
    ]  # fmt: skip
    return b.int_not_equal_elem(getattr(b, name)(*ints), 0, storage)  # type: ignore[no-any-return]


def _along(b: Any, indices: IntPrim, dim: int, shape: Sequence[int]) -> IntPrim:
    """indices [k] as gather wants them: shape with `dim` replaced by k; a view."""
    k = indices.shape[0]
    column = b.int_reshape(indices, tuple(k if axis == dim else 1 for axis in range(len(shape))))
    return b.int_expand(column, tuple(k if axis == dim else n for axis, n in enumerate(shape)))  # type: ignore[no-any-return]


def _as_rows(b: Any, data: TensorPrim, k: int) -> TensorPrim:
    return op(b, data, "reshape")(data, (prod(data.shape[:k]), prod(data.shape[k:])))  # type: ignore[no-any-return]


def _row_numbers(b: Any, indices: IntPrim, shape: Sequence[int]) -> IntPrim:
    """indices [.., K] → [prod(..)]: the row-major number of each coordinate, −1 where one is outside its axis.

    Without the −1 a coordinate past its axis would silently address the next row. A negative number stays negative:
    −1 · size + coordinate < 0 for every coordinate inside.
    """
    k = indices.shape[-1]
    kind = I64 if prod(shape[:k]) > np.iinfo(np.int32).max else I32
    count = prod(indices.shape[:-1])
    table = b.int_reshape(b.int_cast(indices, kind), (count, k))
    numbers = b.int_zeros((count, 1), indices.device, kind)
    stored = indices.device.settings.bool_dtype
    for axis in range(k):
        column = slice_dim(b, table, 1, Slice(axis, axis + 1))
        outside = b.bool_or(b.int_lower_elem(column, 0, stored), b.int_greater_equal_elem(column, shape[axis], stored))
        numbers = b.int_mask_fill(b.int_add(b.int_mul_scalar(numbers, shape[axis]), column), outside, -1)
    return b.int_reshape(numbers, (count,))  # type: ignore[no-any-return]
