"""The element types: one row each, interned, compared by identity.

`bfloat16` has no NumPy type: on the host its bits travel as uint16 (`DType.numpy`), and values are exchanged as
float32 (`to_float32`, `from_float32`). Adding a dtype is one row here and one file in shaders/lib/dtype/.
"""

from __future__ import annotations

from enum import Flag, auto
from typing import Literal

import numpy as np

Kind = Literal["float", "int", "uint", "bool", "qfloat"]


class DTypeUsage(Flag):
    """What a device can do with a dtype; proved by a kernel that ran, not read off a feature list."""

    NONE = 0
    STORAGE = auto()
    """lives in device memory and converts to and from other dtypes"""
    ARITHMETIC = auto()
    """arithmetic, elementwise operations and reductions, with the digits of the dtype"""
    ACCELERATED = auto()
    """a matrix unit is really used by matmul for it"""

    @classmethod
    def general(cls) -> DTypeUsage:
        return cls.STORAGE | cls.ARITHMETIC


class DType:
    """One element type.

    name        Burn's word: "f32", "bf16", "bool(u8)" …
    kind        "float", "int" (signed), "uint", "bool" or "qfloat"
    size_bytes  of one element in memory
    numpy       the NumPy dtype of the stored bits, little-endian (uint16 for bf16)
    """

    __slots__ = ("kind", "name", "numpy", "size_bytes")

    def __init__(self, name: str, kind: Kind, size_bytes: int, numpy: str) -> None:
        self.name = name
        self.kind = kind
        self.size_bytes = size_bytes
        self.numpy = np.dtype(numpy)

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def is_int(self) -> bool:
        """Signed or unsigned integer."""
        return self.kind in ("int", "uint")

    @property
    def is_bool(self) -> bool:
        return self.kind == "bool"

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[object, ...]:
        return dtype, (self.name,)


F64 = DType("f64", "float", 8, "<f8")
F32 = DType("f32", "float", 4, "<f4")
FLEX32 = DType("flex32", "float", 4, "<f4")
F16 = DType("f16", "float", 2, "<f2")
BF16 = DType("bf16", "float", 2, "<u2")
I64 = DType("i64", "int", 8, "<i8")
I32 = DType("i32", "int", 4, "<i4")
I16 = DType("i16", "int", 2, "<i2")
I8 = DType("i8", "int", 1, "i1")
U64 = DType("u64", "uint", 8, "<u8")
U32 = DType("u32", "uint", 4, "<u4")
U16 = DType("u16", "uint", 2, "<u2")
U8 = DType("u8", "uint", 1, "u1")
BOOL = DType("bool", "bool", 1, "?")
BOOL_U8 = DType("bool(u8)", "bool", 1, "u1")
BOOL_U32 = DType("bool(u32)", "bool", 4, "<u4")

FLOATS = (F64, F32, FLEX32, F16, BF16)
INTS = (I64, I32, I16, I8, U64, U32, U16, U8)
BOOLS = (BOOL, BOOL_U8, BOOL_U32)
ALL = FLOATS + INTS + BOOLS

_BY_NAME = {d.name: d for d in ALL} | {
    "float64": F64, "float32": F32, "float16": F16, "bfloat16": BF16,
    "int64": I64, "int32": I32, "int16": I16, "int8": I8,
    "uint64": U64, "uint32": U32, "uint16": U16, "uint8": U8,
}  # fmt: skip

RANGES: dict[DType, tuple[int, int]] = {d: (int(np.iinfo(d.numpy).min), int(np.iinfo(d.numpy).max)) for d in INTS}
"""The smallest and the largest value of every int dtype."""

_BY_NUMPY = {d.numpy: d for d in ALL if d not in (BF16, FLEX32, BOOL_U8, BOOL_U32)}


def dtype(value: object) -> DType:
    """The DType for a DType, a name of ours or NumPy's long one ("f32", "float32", "bf16" …), a NumPy dtype or scalar
    type (`np.float16`, `np.dtype("<f2")`), or the Python types float, int and bool, which are f64, i64 and bool.

    NumPy's letter codes ("f8", "i4") are no names: they would read as other widths. Raises DTypeError, which lists the
    names.
    """
    if isinstance(value, DType):
        return value
    if isinstance(value, str) and value in _BY_NAME:
        return _BY_NAME[value]
    known = None
    if isinstance(value, np.dtype) or isinstance(value, type) and issubclass(value, (np.generic, float, int)):
        try:
            found = np.dtype(value)
        except TypeError:  # an abstract scalar type, as np.floating
            found = np.dtype(object)
        known = _BY_NUMPY.get(found.newbyteorder("<")) or _BY_NAME.get(found.name)  # (ml_dtypes has a bfloat16)
    if known is None:
        from burn_wgpu.std.errors import DTypeError

        raise DTypeError(f"dtype: {value!r} is not a dtype. Known: {', '.join(_BY_NAME)}")
    return known


def bf16_to_float32(bits: np.ndarray) -> np.ndarray:
    """uint16 bit patterns of bfloat16 → float32, exact."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def float32_to_bf16(values: np.ndarray) -> np.ndarray:
    """float32 → uint16 bit patterns of bfloat16, rounded to nearest even; every NaN stays a NaN."""
    bits = np.asarray(values, np.float32, order="C").view(np.uint32)  # (ascontiguousarray would make rank 0 rank 1)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    nan = (bits & 0x7FFFFFFF) > 0x7F800000
    return np.where(nan, (bits >> 16) | 0x40, rounded).astype(np.uint16)
