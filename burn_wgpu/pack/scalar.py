"""Typed scalars: the kind is part of the value and survives a round trip, floats to the last bit."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from burn_wgpu.pack.cbor import UINT64_MAX, bits_to_float, float_to_bits
from burn_wgpu.pack.errors import PackError, PackFault

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1


class ScalarKind(StrEnum):
    """Burn's four kinds, spelled as in the file."""

    INT = "Int"
    UINT = "UInt"
    FLOAT = "Float"
    BOOL = "Bool"


@dataclass(frozen=True, slots=True, eq=False)
class Scalar:
    """One scalar of a container. Build it with `of_int`, `of_uint`, `of_float`, `of_bool`, or `of` for a typed value.

    Two scalars are equal if kind and bits are: -0.0 differs from 0.0, and a NaN equals itself.
    """

    kind: ScalarKind
    value: int | float | bool

    @classmethod
    def of_int(cls, value: int) -> Scalar:
        """A signed 64-bit integer, the kind of Burn's i8 … i64, isize. Raises PackError (SCALAR) outside its range."""
        return cls(ScalarKind.INT, _in_range(value, INT64_MIN, INT64_MAX, "Int"))

    @classmethod
    def of_uint(cls, value: int) -> Scalar:
        """An unsigned 64-bit integer, the kind of Burn's u8 … u64, usize: every counter."""
        return cls(ScalarKind.UINT, _in_range(value, 0, UINT64_MAX, "UInt"))

    @classmethod
    def of_float(cls, value: float) -> Scalar:
        """A double."""
        return cls(ScalarKind.FLOAT, float(value))

    @classmethod
    def of_bool(cls, value: bool) -> Scalar:
        return cls(ScalarKind.BOOL, bool(value))

    @classmethod
    def of(cls, value: object) -> Scalar:
        """The scalar of a bool, float or NumPy number; a plain int says nothing about its kind and is refused.

        Raises PackError (SCALAR).
        """
        match value:
            case Scalar():
                return value
            case bool() | np.bool_():
                return cls(ScalarKind.BOOL, bool(value))
            case float() | np.floating():
                return cls(ScalarKind.FLOAT, float(value))
            case np.unsignedinteger():
                return cls.of_uint(value.item())
            case np.signedinteger():
                return cls.of_int(value.item())
        hint = (
            "Scalar.of_int(…) or Scalar.of_uint(…)"
            if type(value).__name__ == "int"
            else "bool, float, NumPy number or Scalar"
        )
        raise PackError(
            PackFault.SCALAR, "the kind of a scalar is not clear", found=repr(type(value).__name__), wanted=hint
        )

    @property
    def bits(self) -> int:
        """The value as a number that tells every float apart."""
        return float_to_bits(self.value) if self.kind is ScalarKind.FLOAT else int(self.value)

    @classmethod
    def from_bits(cls, bits: int) -> Scalar:
        """A Float from the 64 bits of its double."""
        return cls(ScalarKind.FLOAT, bits_to_float(bits))

    def as_int(self, low: int = INT64_MIN, high: int = UINT64_MAX) -> int:
        """The integer of an Int or UInt between low and high. Raises PackError (SCALAR) for anything else."""
        if self.kind not in (ScalarKind.INT, ScalarKind.UINT) or not low <= self.value <= high:
            raise self._unfit(f"an integer from {low} to {high}")
        return int(self.value)

    def as_float(self) -> float:
        """The number of a Float, Int or UInt as a double. Raises PackError (SCALAR) for a Bool."""
        if self.kind is ScalarKind.BOOL:
            raise self._unfit("a number")
        return float(self.value)

    def as_bool(self) -> bool:
        """The truth value of a Bool. Raises PackError (SCALAR) for anything else."""
        if self.kind is not ScalarKind.BOOL:
            raise self._unfit("a Bool")
        return bool(self.value)

    def _unfit(self, wanted: str) -> PackError:
        return PackError(
            PackFault.SCALAR, "a scalar does not convert", found=f"{self.kind} {self.value!r}", wanted=wanted
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Scalar):
            return NotImplemented
        return self.kind is other.kind and self.bits == other.bits

    def __hash__(self) -> int:
        return hash((self.kind, self.bits))


def _in_range(value: int, low: int, high: int, kind: str) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise PackError(
            PackFault.SCALAR, f"a scalar of kind {kind}", found=repr(type(value).__name__), wanted="an integer"
        )
    number = value.__index__()
    if not low <= number <= high:
        raise PackError(
            PackFault.SCALAR, f"a scalar of kind {kind} is out of range", found=str(number), wanted=f"{low} to {high}"
        )
    return number
