"""Small steps that several default bodies share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from burn_wgpu.contract.types import FloatPrim, IntPrim, TensorPrim
from burn_wgpu.std.data import TensorData
from burn_wgpu.std.dtype import BF16, F16, F32, DType
from burn_wgpu.std.slice import Slice

# A backend calls these with its own primitive and gets it back.
_Prim = TypeVar("_Prim", bound=TensorPrim)


def widen(b: Any, tensor: _Prim) -> _Prim:
    """f16 and bf16 as f32, others unchanged: sums and squares inside a composition need the range and the digits."""
    return b.float_cast(tensor, F32) if tensor.dtype in (F16, BF16) else tensor


def cast(b: Any, tensor: _Prim, dtype: DType) -> _Prim:
    """Rounded to the dtype, or the tensor itself when it has it already."""
    return tensor if tensor.dtype is dtype else b.float_cast(tensor, dtype)


def float_constant(b: Any, values: np.ndarray, like: FloatPrim) -> FloatPrim:
    """Host numbers as a float tensor with the dtype and device of another tensor."""
    return b.float_from_data(TensorData.of(np.asarray(values), like.dtype), like.device)


def index_constant(b: Any, values: np.ndarray, device: Any) -> IntPrim:
    """Host indices as an int tensor of the device's int dtype."""
    return b.int_from_data(TensorData.of(np.asarray(values), device.settings.int_dtype), device)


def int_constant(b: Any, values: np.ndarray, like: IntPrim) -> IntPrim:
    """Host ints as an int tensor with the dtype and device of another tensor."""
    return b.int_from_data(TensorData.of(np.asarray(values), like.dtype), like.device)


def bool_constant(b: Any, values: np.ndarray, device: Any) -> TensorPrim:
    """Host bools as a bool tensor of the device's bool storage."""
    return b.bool_from_data(TensorData.of(np.asarray(values, bool), device.settings.bool_dtype), device)


def zeros_like(b: Any, tensor: FloatPrim, shape: Sequence[int] | None = None) -> FloatPrim:
    return b.float_zeros(tuple(tensor.shape if shape is None else shape), tensor.device, tensor.dtype)


def narrow(b: Any, tensor: FloatPrim, dim: int, start: int, length: int) -> FloatPrim:
    """`length` elements of one axis from `start` on; the tensor itself when that is all of it."""
    if start == 0 and length == tensor.shape[dim]:
        return tensor
    return b.float_slice(tensor, [Slice.full()] * dim + [Slice(start, start + length)])


def crop(b: Any, tensor: FloatPrim, starts: Sequence[int], sizes: Sequence[int]) -> FloatPrim:
    """A block of the trailing axes, given its first element and its sizes there."""
    lead = len(tensor.shape) - len(sizes)
    if tuple(tensor.shape[lead:]) == tuple(sizes):
        return tensor
    block = [Slice(start, start + size) for start, size in zip(starts, sizes, strict=True)]
    return b.float_slice(tensor, [Slice.full()] * lead + block)


def sum_axes(b: Any, tensor: FloatPrim, dims: Sequence[int]) -> FloatPrim:
    """The sum over several axes (kept with size 1), accumulated in f32 for f16 and bf16 and rounded once."""
    return cast(b, b.float_sum_dims(widen(b, tensor), list(dims)), tensor.dtype)


def row(size: int, axis: int, rank: int) -> tuple[int, ...]:
    """The shape that lays a vector along one axis of a tensor of `rank` axes."""
    return tuple(size if a == axis else 1 for a in range(rank))
