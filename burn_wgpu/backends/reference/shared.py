"""What is the same for float, int and bool tensors: transfer, movement, indexing; installed under each prefix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from burn_wgpu.backends.reference.tensor import ReferenceDevice, RefTensor, lift64, lower
from burn_wgpu.contract.options import IndexingUpdateOp
from burn_wgpu.std.data import TensorData, store_array
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.errors import IndexOutOfRange, ShapeError
from burn_wgpu.std.slice import Slice

# ----------------------------------------------------------------------------------------------------- transfer


def from_data(self: Any, data: TensorData, device: ReferenceDevice) -> RefTensor:
    values = data.numpy()
    # A copy, because the caller's array may change later.
    return RefTensor(values.copy() if np.may_share_memory(values, data.array) else values, data.dtype, device)


def into_data(self: Any, tensor: RefTensor) -> TensorData:
    array = store_array(tensor.values, tensor.dtype)
    # A copy, because the caller may write to it.
    return TensorData(array.copy() if np.may_share_memory(array, tensor.values) else array, tensor.dtype)


def to_device(self: Any, tensor: RefTensor, device: ReferenceDevice) -> RefTensor:
    return tensor if tensor.device is device else RefTensor(tensor.values, tensor.dtype, device)


def empty(self: Any, shape: Sequence[int], device: ReferenceDevice, dtype: DType) -> RefTensor:
    return RefTensor(lower(np.zeros(tuple(shape), bool), dtype), dtype, device)


# ----------------------------------------------------------------------------------------------------- movement


def reshape(self: Any, tensor: RefTensor, shape: Sequence[int]) -> RefTensor:
    return tensor.like(tensor.values.reshape(tuple(shape)))


def permute(self: Any, tensor: RefTensor, axes: Sequence[int]) -> RefTensor:
    return tensor.like(tensor.values.transpose(tuple(axes)))


def expand(self: Any, tensor: RefTensor, shape: Sequence[int]) -> RefTensor:
    return tensor.like(np.broadcast_to(tensor.values, tuple(shape)))


def cat(self: Any, tensors: Sequence[RefTensor], dim: int) -> RefTensor:
    return tensors[0].like(np.concatenate([tensor.values for tensor in tensors], axis=dim))


def slice_(self: Any, tensor: RefTensor, slices: Sequence[Slice]) -> RefTensor:
    return tensor.like(tensor.values[_window(tensor.shape, slices)])


def slice_assign(self: Any, tensor: RefTensor, slices: Sequence[Slice], value: RefTensor) -> RefTensor:
    values = tensor.values.copy()
    values[_window(tensor.shape, slices)] = value.values
    return tensor.like(values)


def _window(shape: Sequence[int], slices: Sequence[Slice]) -> tuple[slice, ...]:
    """Burn's slices as NumPy's."""
    window = []
    for size, item in zip(shape, slices, strict=False):
        first, count, step = item.walk(size)
        stop: int | None = first + count * step
        window.append(slice(first, stop if stop is not None and stop >= 0 else None, step) if count else slice(0, 0))
    return tuple(window)


def unfold(self: Any, tensor: RefTensor, dim: int, size: int, step: int) -> RefTensor:
    if size > tensor.shape[dim]:
        raise ShapeError(
            f"unfold: windows of {size} on axis {dim} of shape {list(tensor.shape)} with size {tensor.shape[dim]}; "
            f"a window must not exceed the axis"
        )
    windows = np.lib.stride_tricks.sliding_window_view(tensor.values, size, axis=dim)
    return tensor.like(windows[(slice(None),) * dim + (slice(None, None, step),)])


# ----------------------------------------------------------------------------------------------------- indexing


def check_indices(operation: str, indices: np.ndarray, size: int, dim: int) -> np.ndarray:
    """The indices as int64; raises IndexOutOfRange with the first that is outside [0, size)."""
    bad = (indices < 0) | (indices >= size)
    if bad.any():
        raise IndexOutOfRange(
            f"{operation}: index {indices[bad].flat[0]} is outside axis {dim} of size {size}; "
            f"indices count from 0 and are not wrapped"
        )
    return indices.astype(np.int64)


def select(self: Any, tensor: RefTensor, dim: int, indices: RefTensor) -> RefTensor:
    rows = check_indices("select", indices.values, tensor.shape[dim], dim)
    return tensor.like(np.take(tensor.values, rows, axis=dim))


def select_assign(
    self: Any, tensor: RefTensor, dim: int, indices: RefTensor, values: RefTensor, update: IndexingUpdateOp
) -> RefTensor:
    rows = check_indices("select_assign", indices.values, tensor.shape[dim], dim)
    return _updated(tensor, (slice(None),) * dim + (rows,), values, update)


def gather(self: Any, dim: int, tensor: RefTensor, indices: RefTensor) -> RefTensor:
    return tensor.like(tensor.values[_places("gather", dim, tensor, indices)])


def scatter(
    self: Any, dim: int, tensor: RefTensor, indices: RefTensor, values: RefTensor, update: IndexingUpdateOp
) -> RefTensor:
    return _updated(tensor, _places("scatter", dim, tensor, indices), values, update)


def _places(operation: str, dim: int, tensor: RefTensor, indices: RefTensor) -> tuple[np.ndarray, ...]:
    """One index array per axis: the position itself, but along `dim` what indices say."""
    along = check_indices(operation, indices.values, tensor.shape[dim], dim)
    grid = list(np.ogrid[tuple(slice(n) for n in indices.shape)])
    grid[dim] = along
    return tuple(grid)


def gather_nd(self: Any, data: RefTensor, indices: RefTensor) -> RefTensor:
    values, places = _coordinates("gather_nd", data, indices)
    return data.like(values[places])


def scatter_nd(
    self: Any, data: RefTensor, indices: RefTensor, values: RefTensor, update: IndexingUpdateOp
) -> RefTensor:
    wide, places = _coordinates("scatter_nd", data, indices)
    return data.like(_updated(data.like(wide), places, values, update).values.reshape(data.shape))


def _coordinates(operation: str, data: RefTensor, indices: RefTensor) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    """indices [.., K] as K index arrays; K = 0 addresses the whole tensor, seen as the only row of a longer one."""
    if indices.shape[-1] == 0:
        return data.values[None], (np.zeros(indices.shape[:-1], np.int64),)
    columns = np.moveaxis(indices.values, -1, 0)
    return data.values, tuple(
        check_indices(operation, column, data.shape[axis], axis) for axis, column in enumerate(columns)
    )


_UPDATES: dict[IndexingUpdateOp, np.ufunc] = {
    IndexingUpdateOp.ADD: np.add,
    IndexingUpdateOp.MUL: np.multiply,
    IndexingUpdateOp.MIN: np.minimum,
    IndexingUpdateOp.MAX: np.maximum,
}


def _updated(tensor: RefTensor, places: Any, values: RefTensor, update: IndexingUpdateOp) -> RefTensor:
    """The tensor with values combined into places; duplicates count one after another, in row-major order.

    On bools NumPy's add and maximum are OR, multiply and minimum are AND.
    """
    result = lift64(tensor).copy()
    if update is IndexingUpdateOp.ASSIGN:
        result[places] = lift64(values)
    else:
        with np.errstate(all="ignore"):
            _UPDATES[update].at(result, places, lift64(values))
    return tensor.like(lower(result, tensor.dtype))


# --------------------------------------------------------------------------------------------------- installing

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "from_data": from_data,
    "into_data": into_data,
    "to_device": to_device,
    "empty": empty,
    "reshape": reshape,
    "permute": permute,
    "expand": expand,
    "cat": cat,
    "slice": slice_,
    "slice_assign": slice_assign,
    "unfold": unfold,
    "select": select,
    "select_assign": select_assign,
    "gather": gather,
    "scatter": scatter,
    "gather_nd": gather_nd,
    "scatter_nd": scatter_nd,
}


def install_shared(backend: type) -> None:
    """Gives a backend class every function above as float_…, int_… and bool_…."""
    for kind in ("float", "int", "bool"):
        for name, function in FUNCTIONS.items():
            setattr(backend, f"{kind}_{name}", function)
