"""Formulas of elementwise functions that need more than one NumPy call, and small compositions.

A formula sees float32 (for f16, bf16, f32) or float64 arrays, the int dtype, or bools; NumPy warnings are silent.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from burn_wgpu.contract.defaults.common import cast, widen, zeros_like
from burn_wgpu.contract.defaults.shape import slice_dim
from burn_wgpu.contract.types import FloatPrim, IntPrim
from burn_wgpu.std.dtype import BF16, F16, DType
from burn_wgpu.std.errors import ArgumentError
from burn_wgpu.std.slice import Slice

_erf = np.frompyfunc(math.erf, 1, 1)


def erf(x: np.ndarray) -> np.ndarray:
    """2/√π · ∫₀ˣ exp(−t²) dt, correctly rounded but for the last bit: NumPy has none, the C library has."""
    return np.asarray(_erf(np.asarray(x, np.float64))).astype(x.dtype)


def sign(x: np.ndarray) -> np.ndarray:
    """−1, 0 or 1; +0 for ±0 and for NaN."""
    return (x > 0).astype(x.dtype) - (x < 0).astype(x.dtype) if x.dtype.kind != "u" else (x > 0).astype(x.dtype)


def power(x: Any, y: Any) -> Any:
    """x to the y by IEEE 754. Where the exponent is one number ½, NumPy takes the square root instead, which differs at
    −0 and −∞: (−0)^½ is +0 and (−∞)^½ is +∞.
    """
    return np.where((y == 0.5) & ((x == 0) | (x == -np.inf)), np.abs(x), np.power(x, y))


def hypot(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """√(x² + y²) without overflow; unlike C's, NaN wins over infinity."""
    return np.where(np.isnan(x) | np.isnan(y), x.dtype.type(np.nan), np.hypot(x, y))


def round_to(x: np.ndarray, up: Any, down: Any) -> np.ndarray:
    """Ties to even; what is too large to be scaled has no places."""
    scaled = x * up / down
    return np.where(np.isfinite(scaled), np.rint(scaled) * down / up, x)


def is_close(x: np.ndarray, y: np.ndarray, rtol: Any, atol: Any) -> np.ndarray:
    """Infinities of one sign are close, NaN never is."""
    return np.where(np.isfinite(x) & np.isfinite(y), np.abs(x - y) <= atol + rtol * np.abs(y), x == y)


def int_div(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """x / y truncated toward zero; MIN / −1 wraps to MIN; 0 where y is 0."""
    zero = y == 0
    safe = np.where(zero, y.dtype.type(1), y)
    floor = np.floor_divide(x, safe)
    # The floor is one too low where the signs differ and something remains.
    up = (np.remainder(x, safe) != 0) & ((x < 0) != (safe < 0))
    return np.where(zero, x.dtype.type(0), floor + up.astype(x.dtype))


def int_floor_divide(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """⌊x / y⌋; MIN // −1 wraps to MIN; 0 where y is 0."""
    zero = y == 0
    return np.where(zero, x.dtype.type(0), np.floor_divide(x, np.where(zero, y.dtype.type(1), y)))


def one_hot(x: np.ndarray, classes: np.ndarray, count: Any, on: Any, off: Any) -> np.ndarray:
    if x.dtype.kind == "f":
        x = np.trunc(x)
    return np.where((x == classes) | ((x < 0) & (np.where(x < 0, x + count, x) == classes)), on, off)


def wrapped_index(x: np.ndarray, size: np.ndarray) -> np.ndarray:
    """x + size for x in [−size, −1], else x."""
    if x.dtype.kind == "u":
        return x
    return np.where((x < 0) & (x >= -size), x + size, x)


def int_remainder(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """x − ⌊x / y⌋·y: the sign of y; 0 where y is 0."""
    zero = y == 0
    return np.where(zero, x.dtype.type(0), np.remainder(x, np.where(zero, y.dtype.type(1), y)))


def int_powi(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """x to the y, wrapping; y < 0: the real result truncated (±1 stay, all else 0)."""
    power = np.power(x, np.where(y < 0, y.dtype.type(0), y))
    if y.dtype.kind == "u":
        return power
    unit = np.where((x == 1) | (x == -1), np.where((y & 1) == 0, x.dtype.type(1), x), x.dtype.type(0))
    return np.where(y < 0, unit, power)


def left_shift(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """x shifted by y modulo the width."""
    return np.left_shift(x, y & x.dtype.type(8 * x.dtype.itemsize - 1))


def right_shift(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """x shifted by y modulo the width; the sign fills signed types."""
    return np.right_shift(x, y & x.dtype.type(8 * x.dtype.itemsize - 1))


def float_powi(b: Any, lhs: FloatPrim, rhs: IntPrim) -> FloatPrim:
    """|lhs| to the rhs, with the sign of lhs where rhs is odd.

    Halves go through f32. Whether the exponent is odd is asked of the integer: a large one as a float is even.
    """
    wide = widen(b, lhs)
    kind = lhs.device.settings.bool_dtype
    power = b.float_powf(b.float_abs(wide), b.int_into_float(rhs, wide.dtype))
    odd = b.int_not_equal_elem(b.bitwise_and_scalar(rhs, 1), 0, kind)
    # The angle of −0 is π, as of every number below 0.
    below = b.float_greater_elem(b.float_atan2(zeros_like(b, wide), wide), 1.0, kind)
    return cast(b, b.float_mask_where(power, b.bool_and(odd, below), b.float_neg(power)), lhs.dtype)


def float_powi_scalar(b: Any, tensor: FloatPrim, scalar: int) -> FloatPrim:
    """Small powers as products, which are cheaper and exact in sign; the rest by float_powi_scalar_impl."""
    if scalar == 0:
        return b.float_ones(tensor.shape, tensor.device, tensor.dtype)  # type: ignore[no-any-return]
    if scalar == 1:
        return tensor
    if scalar == 2:
        return b.float_mul(tensor, tensor)  # type: ignore[no-any-return]
    if scalar == -1:
        return b.float_recip(tensor)  # type: ignore[no-any-return]
    if scalar == -2 and tensor.dtype not in (F16, BF16):  # the square of a half may not be one
        return b.float_recip(b.float_mul(tensor, tensor))  # type: ignore[no-any-return]
    return b.float_powi_scalar_impl(tensor, scalar)  # type: ignore[no-any-return]


def int_powi_scalar(b: Any, tensor: IntPrim, scalar: int) -> IntPrim:
    if scalar < 0:
        raise ArgumentError(f"int_powi_scalar: the exponent is {scalar}; an integer's exponent must not be negative")
    if scalar == 0:
        return b.int_ones(tensor.shape, tensor.device, tensor.dtype)  # type: ignore[no-any-return]
    if scalar == 1:
        return tensor
    if scalar == 2:
        return b.int_mul(tensor, tensor)  # type: ignore[no-any-return]
    return b.int_powi_scalar_impl(tensor, fitting_exponent(scalar, tensor.dtype))  # type: ignore[no-any-return]


def fitting_exponent(n: int, kind: DType) -> int:
    """An exponent that the dtype can hold and that gives the same wrapped power.

    Modulo 2^w the order of an odd number divides 2^(w−2), and an even number to the w or more is 0.
    """
    width = 8 * kind.size_bytes
    if n <= np.iinfo(kind.numpy).max:
        return n
    return width + (n - width) % (1 << (width - 2))


def cross(b: Any, lhs: FloatPrim, rhs: FloatPrim, dim: int) -> FloatPrim:
    """lhs[i+1]·rhs[i+2] − lhs[i+2]·rhs[i+1], indices modulo 3: the turned lhs[i]·rhs[i+1] − lhs[i+1]·rhs[i]."""

    def turned(tensor: FloatPrim) -> FloatPrim:
        return b.float_cat(  # type: ignore[no-any-return]
            [slice_dim(b, tensor, dim, Slice(1, 3)), slice_dim(b, tensor, dim, Slice(0, 1))], dim
        )

    left, right = widen(b, lhs), widen(b, rhs)
    product = b.float_sub(b.float_mul(left, turned(right)), b.float_mul(turned(left), right))
    return cast(b, turned(product), lhs.dtype)
