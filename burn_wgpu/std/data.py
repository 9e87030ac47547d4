"""TensorData: bytes on the host with a shape and a dtype; what tensors are made from and read into."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from burn_wgpu.std.dtype import BF16, BOOL, DType, bf16_to_float32, dtype, float32_to_bf16
from burn_wgpu.std.errors import DTypeError, ShapeError


@dataclass(frozen=True, slots=True, eq=False)
class TensorData:
    """A C-contiguous NumPy array of the dtype's stored bits (`DType.numpy`; uint16 for bf16) and its dtype."""

    array: np.ndarray
    dtype: DType

    @staticmethod
    def of(value: object, wanted: DType | None = None) -> TensorData:
        """From anything NumPy takes: arrays of any order and byte order, nested lists, scalars, buffers.

        Without `wanted` the dtype is the array's own. Raises DTypeError for objects and complex numbers.
        """
        if isinstance(value, TensorData):
            return value if wanted is None else value.convert(wanted)
        array = np.asarray(value)
        if array.dtype.kind not in "fiub" and array.dtype.name != "bfloat16":
            raise DTypeError(f"data: NumPy dtype {array.dtype} has no counterpart; use numbers or bools")
        if array.dtype.name == "bfloat16":  # ml_dtypes' type, when an array of it is handed in
            found = TensorData(_c_order(array).view(np.uint16), BF16)
        else:
            found = TensorData(_c_order(array.astype(array.dtype.newbyteorder("<"), copy=False)), dtype(array.dtype))
        return found if wanted is None else found.convert(wanted)

    @staticmethod
    def from_bytes(data: bytes | bytearray | memoryview, shape: tuple[int, ...], kind: DType) -> TensorData:
        """Little-endian, row-major bytes; raises ShapeError when the length is not what shape and dtype imply."""
        expected = prod(shape) * kind.size_bytes
        if len(data) != expected:
            raise ShapeError(f"data: {len(data)} bytes for shape {list(shape)} of {kind}, which needs {expected}")
        return TensorData(np.frombuffer(data, kind.numpy).reshape(shape), kind)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def size_bytes(self) -> int:
        return int(self.array.nbytes)

    def as_bytes(self) -> bytes:
        return self.array.tobytes()

    def numpy(self) -> np.ndarray:
        """The values: bf16 widened to float32, bools as NumPy bool; otherwise the array itself (not a copy)."""
        if self.dtype is BF16:
            return bf16_to_float32(self.array)
        if self.dtype.is_bool:
            return self.array.astype(bool)
        return self.array

    def convert(self, target: DType) -> TensorData:
        """The same values as another dtype, by the rules of `cast_array`."""
        if target is self.dtype:
            return self
        return TensorData(store_array(cast_array(self.numpy(), target), target), target)


def _c_order(array: np.ndarray) -> np.ndarray:
    return array if array.flags.c_contiguous else np.ascontiguousarray(array).reshape(array.shape)


def compute_dtype(kind: DType) -> np.dtype:
    """The NumPy dtype that holds the values of a dtype: float32 for bf16, bool for the bools."""
    if kind is BF16:
        return np.dtype(np.float32)
    return np.dtype(bool) if kind.is_bool else kind.numpy


def cast_array(values: np.ndarray, target: DType) -> np.ndarray:
    """Values (see `compute_dtype`) as another dtype's values.

    float → int saturates, NaN gives 0; int → int keeps the low bits; any number → bool is `!= 0` with NaN true;
    float → f16/bf16 rounds to nearest even, too large becomes infinity.
    """
    if target.is_bool:
        return values != 0 if values.dtype != np.bool_ else values
    if target is BF16:
        return bf16_to_float32(float32_to_bf16(_to_odd(values)))
    if target.is_float or values.dtype.kind != "f":
        with np.errstate(over="ignore", invalid="ignore"):  # a signalling NaN is invalid
            return values.astype(target.numpy)
    info = np.iinfo(target.numpy)
    with np.errstate(invalid="ignore"):
        wide = values.astype(np.float64)
    # The largest float64 below 2^63 or 2^64 would round up, so the top is set apart.
    low, high = float(info.min), float(info.max)
    with np.errstate(invalid="ignore"):
        inside = np.trunc(np.where((wide >= low) & (wide < high), wide, 0.0)).astype(target.numpy)
    result = np.where(wide >= high, info.max, np.where(wide < low, info.min, inside))
    return result.astype(target.numpy)


def _to_odd(values: np.ndarray) -> np.ndarray:
    """float32 rounded to odd where it cannot hold a value, so that rounding it again rounds the value once."""
    if values.dtype.kind in "iu" and values.dtype.itemsize == 8:
        # Of 33 bits and more, the last 20 matter only by being there: float64 holds the rest.
        kind = values.dtype.type
        low, high = values & kind(0xFFFFF), values >> kind(32)
        large = (high != 0) & (high != ~kind(0))
        values = np.where(large & (low != 0), (values - low) | kind(1 << 19), values)
    with np.errstate(over="ignore", invalid="ignore"):
        wide = np.asarray(values, np.float64)
        single = wide.astype(np.float32)
    lost = (single != wide) & ~np.isnan(wide)
    beyond = lost & (np.abs(single) > np.abs(wide))
    bits = single.view(np.uint32) - beyond.astype(np.uint32)
    return (bits | lost.astype(np.uint32)).view(np.float32)


def store_array(values: np.ndarray, target: DType) -> np.ndarray:
    """Values as the stored bits of a dtype, C-contiguous."""
    if target is BF16:
        return float32_to_bf16(values)
    return _c_order(np.asarray(values).astype(BOOL.numpy if target is BOOL else target.numpy, copy=False))
