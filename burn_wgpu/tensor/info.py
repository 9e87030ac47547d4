"""Limits of the dtypes: `finfo` and `iinfo`, as NumPy has them, for bfloat16 too."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from burn_wgpu.device import DTypeLike
from burn_wgpu.std.dtype import BF16, F16, FLEX32, DType
from burn_wgpu.std.dtype import dtype as as_dtype
from burn_wgpu.std.errors import DTypeError


@dataclass(frozen=True, slots=True)
class FloatInfo:
    """epsilon (1 to the next number), max, min (−max) and min_positive (the smallest normal number)."""

    dtype: DType
    epsilon: float
    max: float
    min: float
    min_positive: float
    bits: int

    @property
    def eps(self) -> float:
        return self.epsilon

    @property
    def tiny(self) -> float:
        return self.min_positive


@dataclass(frozen=True, slots=True)
class IntInfo:
    """The range of an int dtype."""

    dtype: DType
    min: int
    max: int
    bits: int


def finfo(dtype: DTypeLike) -> FloatInfo:
    """The limits of a float dtype. flex32 has those of f16, in which it may be computed. DTypeError for others."""
    kind = as_dtype(dtype)
    if not kind.is_float:
        raise DTypeError(f"finfo: {kind} is of kind {kind.kind}; it must be a float dtype (see iinfo)")
    if kind is BF16:
        return FloatInfo(
            kind, 2.0**-7, float(2.0**127 * (2 - 2.0**-7)), -float(2.0**127 * (2 - 2.0**-7)), 2.0**-126, 16
        )
    info = np.finfo((F16 if kind is FLEX32 else kind).numpy)
    bits = 8 * kind.size_bytes
    return FloatInfo(kind, float(info.eps), float(info.max), float(info.min), float(info.tiny), bits)


def iinfo(dtype: DTypeLike) -> IntInfo:
    """The range of an int dtype. DTypeError for others."""
    kind = as_dtype(dtype)
    if not kind.is_int:
        raise DTypeError(f"iinfo: {kind} is of kind {kind.kind}; it must be an int dtype (see finfo)")
    info = np.iinfo(kind.numpy)
    return IntInfo(kind, int(info.min), int(info.max), 8 * kind.size_bytes)
