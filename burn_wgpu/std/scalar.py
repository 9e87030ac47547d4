"""Python numbers on their way into an operation: always converted to the tensor's dtype first."""

from __future__ import annotations

import numbers
import struct

import numpy as np

from burn_wgpu.std.data import cast_array
from burn_wgpu.std.dtype import BF16, F32, DType
from burn_wgpu.std.errors import DTypeError

Scalar = bool | int | float
_F32 = struct.Struct("<f")


def as_scalar(value: object, target: DType) -> Scalar:
    """The Python number that `target` can hold: floats rounded to the dtype, ints wrapped to its width.

    A float becomes an int by truncation (Burn's rule for scalars of an int tensor). Raises DTypeError for what is not
    a number.
    """
    if target is F32 and type(value) is float:  # the usual case, without NumPy
        try:
            return float(_F32.unpack(_F32.pack(value))[0])
        except OverflowError:
            return value * float("inf")
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, numbers.Real):
        raise DTypeError(f"scalar: {value!r} is not a real number, and the tensor's dtype is {target}")
    if target.is_float:
        try:
            number = float(value)
        except OverflowError:  # an int beyond every float
            number = float("inf") if int(value) > 0 else float("-inf")  # type: ignore[call-overload]
        with np.errstate(over="ignore"):
            if target is BF16:
                return float(cast_array(np.asarray(number, np.float64), BF16))
            return float(target.numpy.type(number))
    if target.is_bool:
        return bool(value)
    if isinstance(value, float):
        if value != value:
            return 0
        info = np.iinfo(target.numpy)
        return int(min(max(value, info.min), info.max))
    bits = 8 * target.size_bytes
    wrapped = int(value) & ((1 << bits) - 1)  # type: ignore[call-overload]  # Real has no __int__, all that are have
    if target.kind == "int" and wrapped >> (bits - 1):
        wrapped -= 1 << bits
    return wrapped
