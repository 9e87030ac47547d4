"""Reductions: whole tensors as one flat axis, means, products, extrema by index, any and all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from burn_wgpu.contract.defaults import op
from burn_wgpu.contract.defaults.shape import flatten, slice_dim
from burn_wgpu.contract.types import BoolPrim, FloatPrim, IntPrim, TensorPrim
from burn_wgpu.std.dtype import BF16, F16, F32, I32, U32, DType
from burn_wgpu.std.errors import ShapeError
from burn_wgpu.std.slice import Slice


def require_elements(operation: str, shape: Sequence[int], dim: int) -> None:
    """Raises ShapeError when the reduced axis is empty and the reduction has no neutral element."""
    if shape[dim] == 0:
        raise ShapeError(f"{operation}: axis {dim} of shape {list(shape)} has size 0; it must have an element")


def whole(b: Any, tensor: TensorPrim, name: str, *args: Any) -> Any:
    """The reduction `name` (of one axis) over all elements: shape [1]."""
    return op(b, tensor, name)(flatten(b, tensor), 0, *args)


def sum_dims(b: Any, tensor: FloatPrim, dims: Sequence[int]) -> FloatPrim:
    """One axis after another; halves in f32, so that they are rounded once."""
    kind = tensor.dtype
    if kind in (F16, BF16) and len(dims) > 1:
        return b.float_cast(sum_dims(b, b.float_cast(tensor, F32), dims), kind)  # type: ignore[no-any-return]
    for dim in dims:
        tensor = b.float_sum_dim(tensor, dim)
    return tensor


def prod_dim(b: Any, tensor: TensorPrim, dim: int) -> TensorPrim:
    """The last of the running products: exact in sign and zero, unlike exp(sum(log x))."""
    n = tensor.shape[dim]
    if n == 0:
        shape = tuple(1 if axis == dim else size for axis, size in enumerate(tensor.shape))
        return op(b, tensor, "ones")(shape, tensor.device, tensor.dtype)  # type: ignore[no-any-return]
    return slice_dim(b, op(b, tensor, "cumprod")(tensor, dim), dim, Slice(n - 1, n))


def float_mean_dim(b: Any, tensor: FloatPrim, dim: int) -> FloatPrim:
    """sum / n; half types are summed and divided in f32, where 1024 numbers near 1000 still fit. Empty: NaN."""
    kind, n = tensor.dtype, tensor.shape[dim]
    if kind in (F16, BF16):
        return b.float_cast(float_mean_dim(b, b.float_cast(tensor, F32), dim), kind)  # type: ignore[no-any-return]
    return b.float_div_scalar(b.float_sum_dim(tensor, dim), float(n))  # type: ignore[no-any-return]


def int_mean_dim(b: Any, tensor: IntPrim, dim: int) -> IntPrim:
    """sum / n truncated; types below 32 bits are summed in 32, so that neither the sum nor n wraps."""
    require_elements("int_mean_dim", tensor.shape, dim)
    kind = tensor.dtype
    if kind.size_bytes < 4:
        wide = I32 if kind.kind == "int" else U32
        return b.int_cast(int_mean_dim(b, b.int_cast(tensor, wide), dim), kind)  # type: ignore[no-any-return]
    return b.int_div_scalar(b.int_sum_dim(tensor, dim), tensor.shape[dim])  # type: ignore[no-any-return]


def extremum(b: Any, tensor: TensorPrim, dim: int, which: str, out_dtype: DType | None) -> tuple[TensorPrim, IntPrim]:
    """(values, indices) of "max" or "min": the argument of the extremum, and what stands there."""
    require_elements(f"{which}_dim", tensor.shape, dim)
    arg = op(b, tensor, f"arg{which}")
    indices = arg(tensor, dim) if out_dtype is None else arg(tensor, dim, out_dtype)
    return op(b, tensor, "gather")(dim, tensor, indices), indices


def bool_any_dim(b: Any, tensor: BoolPrim, dim: int) -> BoolPrim:
    counted = b.int_sum_dim(b.bool_into_int(tensor, I32), dim)
    return b.int_greater_elem(counted, 0, tensor.dtype)  # type: ignore[no-any-return]


def bool_all_dim(b: Any, tensor: BoolPrim, dim: int) -> BoolPrim:
    """No element is false: exact at every size, where a count may not be."""
    return b.bool_not(b.bool_any_dim(b.bool_not(tensor), dim))  # type: ignore[no-any-return]
