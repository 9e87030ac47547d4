"""Numbers as text: the shortest decimals that read back as the same number of their dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from burn_wgpu.std.dtype import BF16, FLEX32, DType, bf16_to_float32, float32_to_bf16


def element(value: Any, dtype: DType, precision: int | None = None) -> str:
    """One value: the shortest decimal that reads back as the same number of the dtype, or fixed decimals."""
    if dtype.is_bool:
        return "true" if value else "false"
    if dtype.is_int:
        return str(int(value))
    number = float(value)
    if number != number:
        return "NaN"
    if number in (float("inf"), float("-inf")):
        return "inf" if number > 0 else "-inf"
    if precision is not None:
        return f"{number:.{precision}f}"
    return _shortest(number, value, dtype)


def _shortest(number: float, value: Any, dtype: DType) -> str:
    if dtype is BF16:
        # NumPy's shortest decimals are for float32; bf16 needs at most four digits.
        digits = next(d for d in range(1, 10) if _as_bf16(float(f"{number:.{d}g}")) == number)
        scalar: Any = float(f"{number:.{digits}g}")
    else:
        scalar = np.float32(number) if dtype is FLEX32 else value
    if number == 0 or 1e-5 <= abs(number) < 1e16:
        return np.format_float_positional(scalar, unique=True, trim="0")
    return np.format_float_scientific(scalar, unique=True, trim="-", exp_digits=1)


def _as_bf16(number: float) -> float:
    with np.errstate(over="ignore"):
        return float(bf16_to_float32(float32_to_bf16(np.asarray(number, np.float32))))
