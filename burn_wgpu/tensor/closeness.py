"""Comparing host data and shapes in tests: tolerances, assertions, a report of closeness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import EllipsisType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from burn_wgpu.std.data import TensorData
from burn_wgpu.std.dtype import F32, DType
from burn_wgpu.std.errors import ArgumentError, DTypeError, ShapeError
from burn_wgpu.std.quant import QFloat
from burn_wgpu.std.quantized import QuantizedBytes
from burn_wgpu.std.text import element
from burn_wgpu.tensor.info import finfo

if TYPE_CHECKING:
    from burn_wgpu.tensor.api import Tensor

Comparable: TypeAlias = "TensorData | Tensor | np.ndarray[Any, Any] | Sequence[Any] | float"

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Numbers are close when they are equal, or |x − y| < max(absolute, relative · max(|x|, |y|)).

    precise  (bytes of a float dtype, "relative" or "absolute", the bound that holds for it instead): one test can have
             one tolerance for all dtypes. See `set_half_precision_relative` and its kin.
    """

    relative: float = 0.005
    absolute: float = 1e-5
    precise: tuple[tuple[int, str, float], ...] = ()

    def __post_init__(self) -> None:
        for size, bound, value in self.precise:
            if not value >= 0 or (bound == "relative" and value > 1):
                raise ArgumentError(
                    f"tolerance: {bound} {value} for floats of {size} bytes; "
                    f"a relative one must lie in [0, 1], an absolute one must not be negative"
                )
        if not 0 <= self.relative <= 1 or not self.absolute >= 0:
            raise ArgumentError(
                f"tolerance: relative {self.relative} and absolute {self.absolute}; "
                f"the relative one must lie in [0, 1], the absolute one must not be negative"
            )

    @staticmethod
    def strict(dtype: DType = F32) -> Tolerance:
        """64 times the smallest normal number, nothing relative."""
        return Tolerance(0.0, 64 * finfo(dtype).min_positive)

    @staticmethod
    def balanced() -> Tolerance:
        """0.5 % or 1e-5: the default."""
        return Tolerance()

    @staticmethod
    def permissive() -> Tolerance:
        """1 % or 0.01."""
        return Tolerance(0.01, 0.01)

    @staticmethod
    def rel_abs(relative: float, absolute: float) -> Tolerance:
        return Tolerance(relative, absolute)

    def with_relative(self, relative: float) -> Tolerance:
        return replace(self, relative=relative)

    def with_absolute(self, absolute: float) -> Tolerance:
        return replace(self, absolute=absolute)

    set_relative, set_absolute = with_relative, with_absolute

    def set_half_precision_relative(self, relative: float) -> Tolerance:
        """The relative bound of f16 and bf16; that of other dtypes stays."""
        return self._with(2, "relative", relative)

    def set_half_precision_absolute(self, absolute: float) -> Tolerance:
        """The absolute bound of f16 and bf16; that of other dtypes stays."""
        return self._with(2, "absolute", absolute)

    def set_single_precision_relative(self, relative: float) -> Tolerance:
        """The relative bound of f32; that of other dtypes stays."""
        return self._with(4, "relative", relative)

    def set_single_precision_absolute(self, absolute: float) -> Tolerance:
        """The absolute bound of f32; that of other dtypes stays."""
        return self._with(4, "absolute", absolute)

    def set_double_precision_relative(self, relative: float) -> Tolerance:
        """The relative bound of f64; that of other dtypes stays."""
        return self._with(8, "relative", relative)

    def set_double_precision_absolute(self, absolute: float) -> Tolerance:
        """The absolute bound of f64; that of other dtypes stays."""
        return self._with(8, "absolute", absolute)

    def _with(self, size: int, bound: str, value: float) -> Tolerance:
        kept = tuple(row for row in self.precise if row[:2] != (size, bound))
        return replace(self, precise=(*kept, (size, bound, value)))

    def get_relative(self, dtype: DType | None = None) -> float:
        """The relative bound, of a float dtype the one that was set for its width."""
        return self._of(dtype, "relative", self.relative)

    def get_absolute(self, dtype: DType | None = None) -> float:
        """The absolute bound, of a float dtype the one that was set for its width."""
        return self._of(dtype, "absolute", self.absolute)

    def _of(self, dtype: DType | None, bound: str, value: float) -> float:
        if dtype is None or not dtype.is_float:
            return value
        return next((v for size, name, v in self.precise if (size, name) == (dtype.size_bytes, bound)), value)

    def approx_eq(self, x: float, y: float, dtype: DType | None = None) -> bool:
        """Whether two numbers (of a dtype) are close; NaN is close to NaN, an infinity to itself."""
        return bool(_close(np.asarray(x, np.float64), np.asarray(y, np.float64), self, dtype))


def assert_eq(left: Comparable, right: Comparable, strict: bool = True) -> None:
    """Raises AssertionError unless shapes and values are equal, and with `strict` the dtypes. NaN equals nothing.

    Either side may be host data, a tensor, or anything that NumPy takes as an array; so for the other assertions.
    Quantized data needs equal value kinds, blocks and levels on both sides, wherever it is packed; its numbers are
    compared.
    """
    a, b = _data(left), _data(right)
    if isinstance(a.dtype, QFloat) or isinstance(b.dtype, QFloat):
        if _scheme(a) != _scheme(b):
            raise AssertionError(f"assert_eq: the dtypes are {a.dtype} and {b.dtype}")
        a, b = _numbers(a), _numbers(b)
    if strict and a.dtype is not b.dtype:
        raise AssertionError(f"assert_eq: the dtypes are {a.dtype} and {b.dtype}")
    _same_shape("assert_eq", a, b)
    x, y = a.numpy(), b.convert(a.dtype).numpy()
    _report("assert_eq", a.dtype, x, y, x == y)


def assert_approx_eq(left: Comparable, right: Comparable, tolerance: Tolerance | None = None) -> None:
    """Raises AssertionError unless shapes are equal and values close; NaN is close to NaN.

    Bounds of a width are those of left's dtype. Quantized data counts as the numbers that it stands for.
    """
    if tolerance is not None and not isinstance(tolerance, Tolerance):
        raise DTypeError(
            f"assert_approx_eq: the tolerance is {tolerance!r}; it must be a Tolerance, such as Tolerance(1e-3, 1e-5)"
        )
    a, b = _numbers(_data(left)), _numbers(_data(right))
    _same_shape("assert_approx_eq", a, b)
    x, y = a.numpy().astype(np.float64), b.numpy().astype(np.float64)
    _report("assert_approx_eq", a.dtype, a.numpy(), b.numpy(), _close(x, y, tolerance or Tolerance(), a.dtype))


def assert_within_range(data: Comparable, low: float, high: float) -> None:
    """Raises AssertionError unless every element lies in [low, high), in the total order: −0 < 0, inf < NaN."""
    found = _data(data)
    x, a, b = _ordered(found.numpy(), low, high)
    _report_range("assert_within_range", found, (x >= a) & (x < b), f"[{low}, {high})")


def assert_within_range_inclusive(data: Comparable, low: float, high: float) -> None:
    """Raises AssertionError unless every element lies in [low, high], in the total order: −0 < 0, inf < NaN."""
    found = _data(data)
    x, a, b = _ordered(found.numpy(), low, high)
    _report_range("assert_within_range_inclusive", found, (x >= a) & (x <= b), f"[{low}, {high}]")


def assert_shape(tensor: Tensor, slots: tuple[int | None | EllipsisType, ...]) -> None:
    """Raises ShapeError unless the shape fits: an int is a size, None any size, one ... any number of axes."""
    if not isinstance(slots, tuple | list) or not hasattr(tensor, "shape"):
        raise DTypeError(
            f"assert_shape: a {type(tensor).__name__} and a {type(slots).__name__}; a tensor and a tuple are needed"
        )
    shape, slots = tensor.shape, tuple(slots)
    if slots.count(...) > 1:
        raise ArgumentError(f"assert_shape: {_slots(slots)} has more than one '...'")
    at = slots.index(...) if ... in slots else len(slots)
    front, back = slots[:at], slots[at + 1 :]
    fits = len(shape) >= len(front) + len(back) if ... in slots else len(shape) == len(slots)
    pairs = [*zip(front, shape, strict=False), *zip(back, shape[len(shape) - len(back) :], strict=False)]
    if not fits or any(slot is not None and slot != n for slot, n in pairs):
        raise ShapeError(f"assert_shape: the tensor has shape {list(shape)}; it must be {_slots(slots)}")


def check_closeness(output: Tensor, reference: Tensor) -> str:
    """A table: the share of elements that differ by less than each of 1e-1 … 1e-8; PASS all, WARN from 90 % on."""
    a, b = _data(output), _data(reference)
    _same_shape("check_closeness", a, b)
    difference = np.abs(a.numpy().astype(np.float64) - b.numpy().astype(np.float64))
    lines = []
    for power in range(1, 9):
        share = float((difference < 10.0**-power).mean()) if difference.size else 1.0
        verdict = "PASS" if share == 1 else "WARN" if share >= 0.9 else "FAIL"
        lines.append(f"{verdict} {share:8.2%} within 1e-{power}")
    return "\n".join(lines)


def _numbers(data: TensorData) -> TensorData:
    """Quantized data as the numbers that it stands for."""
    if not isinstance(data.dtype, QFloat):
        return data
    parts = QuantizedBytes.unpack(data.array.data, data.shape, data.dtype.scheme)
    return TensorData.of(parts.dequantize())


def _scheme(data: TensorData) -> tuple[object, ...] | None:
    """What must be equal of quantized data."""
    if not isinstance(data.dtype, QFloat):
        return None
    scheme = data.dtype.scheme
    return scheme.value, scheme.block_size, scheme.global_scale_dtype


def _data(value: Comparable) -> TensorData:
    return value.to_data() if hasattr(value, "to_data") else TensorData.of(value)


def _slots(slots: tuple[Any, ...]) -> str:
    return "[" + ", ".join("_" if s is None else "..." if s is ... else str(s) for s in slots) + "]"


def _same_shape(name: str, a: TensorData, b: TensorData) -> None:
    if a.shape != b.shape:
        raise AssertionError(f"{name}: the shapes are {list(a.shape)} and {list(b.shape)}")


def _close(x: np.ndarray, y: np.ndarray, tolerance: Tolerance, dtype: DType | None = None) -> np.ndarray:
    relative, absolute = tolerance.get_relative(dtype), tolerance.get_absolute(dtype)
    with np.errstate(invalid="ignore"):
        limit = np.maximum(absolute, relative * np.maximum(np.abs(x), np.abs(y)))
        finite = np.isfinite(x) & np.isfinite(y)
        return (x == y) | (np.isnan(x) & np.isnan(y)) | (finite & (np.abs(x - y) < limit))


def _ordered(values: np.ndarray, *bounds: float) -> list[np.ndarray]:
    """Ints that compare as the values and the bounds do; of floats their bits, those of negative ones turned round."""
    if values.dtype.kind != "f":
        return [np.asarray(x, object) for x in (values, *bounds)]  # Python's numbers compare exactly
    bits = [np.asarray(x, np.float64).view(np.int64) for x in (values, *bounds)]
    return [b ^ ((b >> 63) & np.int64(0x7FFFFFFFFFFFFFFF)) for b in bits]


def _report_range(name: str, data: TensorData, fine: Any, interval: str) -> None:
    values = data.numpy()
    wrong = np.argwhere(~np.asarray(fine, bool).reshape(values.shape))
    if len(wrong):
        shown = ", ".join(f"{at.tolist()}: {element(values[tuple(at)], data.dtype)}" for at in wrong[:_SHOWN])
        more = f"; {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
        raise AssertionError(f"{name}: {len(wrong)} of {values.size} elements are outside {interval}: {shown}{more}")


def _report(name: str, dtype: DType, x: np.ndarray, y: np.ndarray, fine: np.ndarray) -> None:
    wrong = np.argwhere(~np.asarray(fine).reshape(x.shape))
    if not len(wrong):
        return
    shown = [
        f"{at.tolist()}: {element(x[tuple(at)], dtype)} and {element(y[tuple(at)], dtype)}" for at in wrong[:_SHOWN]
    ]
    more = f"; {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
    raise AssertionError(f"{name}: {len(wrong)} of {x.size} elements differ: {', '.join(shown)}{more}")
