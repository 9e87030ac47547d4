"""Reductions: whole tensors as one flat axis, means, products, extrema by index, any and all."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from burn_wgpu.contract.defaults import op
from burn_wgpu.contract.defaults.common import cast, widen
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


def over(b: Any, tensor: TensorPrim, name: str, dims: Sequence[int]) -> Any:
    """The reduction `name` of one axis, along one after another."""
    for dim in dims:
        tensor = op(b, tensor, name)(tensor, dim)
    return tensor


def mean_dims(b: Any, tensor: FloatPrim, dims: Sequence[int]) -> FloatPrim:
    """The mean of means: every slice of an axis has the same size. Halves in f32, so that they are rounded once."""
    return cast(b, over(b, widen(b, tensor), "mean_dim", dims), tensor.dtype)


def var(b: Any, tensor: FloatPrim, dims: Sequence[int], correction: float) -> FloatPrim:
    """Σ (x − mean)² / max(n − correction, 0); halves in f32."""
    count = max(prod(tensor.shape[dim] for dim in dims) - correction, 0)
    wide = widen(b, tensor)
    near = _near_zero(b, wide, dims)
    mean = b.float_div_scalar(b.float_sum_dims(near, dims), prod(tensor.shape[dim] for dim in dims))
    apart = b.float_sub(near, mean)
    squares = b.float_sum_dims(b.float_mul(apart, apart), dims)
    return cast(b, b.float_div_scalar(squares, count), tensor.dtype)


def std(b: Any, tensor: FloatPrim, dims: Sequence[int], correction: float) -> FloatPrim:
    """The root of var; of halves before the rounding, since the variance may be infinite where its root is not."""
    return cast(b, b.float_sqrt(var(b, widen(b, tensor), dims, correction)), tensor.dtype)


def _near_zero(b: Any, tensor: FloatPrim, dims: Sequence[int]) -> FloatPrim:
    """Less the first element along the axes, which no deviation depends on: the mean of numbers far from zero would be
    rounded by more than they deviate.
    """
    first = tensor
    for dim in dims:
        if not tensor.shape[dim]:
            return tensor
        first = slice_dim(b, first, dim, Slice(0, 1))
    return b.float_sub(tensor, first)  # type: ignore[no-any-return]


def norm(b: Any, tensor: FloatPrim, dims: Sequence[int], p: float) -> FloatPrim:
    """(Σ |x|^p)^(1/p), the count of what is not 0 for p = 0; in f32 for halves, where the powers of 300 are finite."""
    wide = widen(b, tensor)
    if p == 0:
        hit = b.float_not_equal_elem(wide, 0.0, tensor.device.settings.bool_dtype)
        return cast(b, b.float_sum_dims(b.bool_into_float(hit, wide.dtype), dims), tensor.dtype)
    if p == 1:
        return cast(b, b.float_sum_dims(b.float_abs(wide), dims), tensor.dtype)
    if p == 2:
        return cast(b, b.float_sqrt(b.float_sum_dims(b.float_mul(wide, wide), dims)), tensor.dtype)
    even = p % 2 == 0 and abs(p) < 2**31
    powers = b.float_powi_scalar(wide, int(p)) if even else b.float_powf_scalar(b.float_abs(wide), p)
    return cast(b, b.float_powf_scalar(b.float_sum_dims(powers, dims), 1 / p), tensor.dtype)


def inner(b: Any, lhs: FloatPrim, rhs: FloatPrim, dims: Sequence[int]) -> FloatPrim:
    products = b.float_mul(widen(b, lhs), widen(b, rhs))
    return cast(b, b.float_sum_dims(products, dims), lhs.dtype)


def cosine(b: Any, lhs: FloatPrim, rhs: FloatPrim, dim: int, eps: float) -> FloatPrim:
    """The product of unit vectors. Operands broadcast, but dim has one size."""
    return cast(b, inner(b, _unit(b, lhs, dim, eps), _unit(b, rhs, dim, eps), (dim,)), lhs.dtype)


def _unit(b: Any, tensor: FloatPrim, dim: int, eps: float) -> FloatPrim:
    """Vectors along dim, divided by max(length, eps); 0 for those of length 0. Scaled by their largest magnitude first,
    so that squares neither overflow nor vanish.
    """
    wide, kind = widen(b, tensor), tensor.device.settings.bool_dtype
    if not tensor.shape[dim]:
        return wide
    largest = b.float_max_abs_dim(wide, dim)
    scale = b.float_mask_fill(largest, b.float_equal_elem(largest, 0.0, kind), 1.0)
    scaled = b.float_div(wide, scale)
    squares = b.float_sum_dim(b.float_mul(scaled, scaled), dim)
    length = b.float_sqrt(b.float_mask_fill(squares, b.float_equal_elem(squares, 0.0, kind), 1.0))
    if eps:
        length = b.float_max_pair(length, b.float_rdiv_scalar(scale, eps))
    return b.float_div(scaled, length)  # type: ignore[no-any-return]


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
