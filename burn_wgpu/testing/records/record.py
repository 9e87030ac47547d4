"""The record of an elementwise function, its domains, and the comparison with the exact result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from burn_wgpu.std.data import TensorData, cast_array
from burn_wgpu.std.dtype import BF16, F16, F64, DType
from burn_wgpu.std.scalar import Scalar

Draw = Callable[[np.random.Generator, DType, int], np.ndarray]
"""(generator, dtype, n) → n values of `compute_dtype(dtype)`: for bf16 floats that it can hold."""

SPECIAL = (
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 1.5, 2.5, -2.5, 7.0, 1 / 3, 20.0, -20.0, 44.0, -44.0, 89.0,
    -89.0, 1e-8, -1e-8, 1e4, -1e4, 1e5, 1e9, 1.17549435e-38, 1e-40, -1e-40, 1.4e-45, 3.4e38, -3.4e38,
    float("inf"), float("-inf"), float("nan"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Record:
    """What tests must know of an elementwise function beside its declaration.

    domain     how each tensor operand is drawn, in order; the operand that is a mask is drawn as bool
    dtypes     that it takes
    scalars    the numbers to call it with, one tuple a call; () for a function without
    ulp        error allowed, in units in the last place of f32 at the exact result; 0: the result is exactly rounded
    absolute   error allowed beside it
    zero_sign  the sign of an exact zero counts
    """

    name: str
    domain: tuple[Draw, ...]
    dtypes: tuple[DType, ...]
    scalars: tuple[tuple[Scalar, ...], ...] = ((),)
    ulp: float = 0.0
    absolute: float = 0.0
    zero_sign: bool = True

    def draw(self, rng: np.random.Generator, dtype: DType, n: int, mask: int | None = None) -> list[np.ndarray]:
        """n values for each operand; all pairs of special values come first when there is room for them."""
        drawn = [_held(domain(rng, dtype, n), dtype) for domain in self.domain]
        special = getattr(self.domain[0], "special", ())
        if len(self.domain) == 2 and special and n >= len(special) ** 2:
            values = _held(np.array(special, np.float64 if dtype.is_float else object), dtype)
            pairs = np.meshgrid(values, values)
            for array, grid in zip(drawn, pairs, strict=True):
                array[: grid.size] = grid.ravel()
        if mask is not None:
            drawn[mask] = rng.uniform(size=n) < 0.5
        return drawn


def _held(values: np.ndarray, dtype: DType) -> np.ndarray:
    """Values as the dtype holds them, in its computing dtype."""
    if values.dtype == object:
        info = np.iinfo(dtype.numpy)
        return np.array([v for v in values if info.min <= v <= info.max], dtype.numpy)
    with np.errstate(over="ignore"):
        return np.array(TensorData.of(values, dtype).numpy())


def anything() -> Draw:
    """Special values, any bit pattern, and ordinary numbers of several sizes."""

    def draw(rng: np.random.Generator, dtype: DType, n: int) -> np.ndarray:
        if dtype.is_bool:
            return rng.uniform(size=n) < 0.5
        if dtype.is_int:
            info = np.iinfo(dtype.numpy)
            values = rng.integers(info.min, info.max, n, dtype=dtype.numpy, endpoint=True)
            small = rng.integers(max(info.min, -9), 10, n).astype(dtype.numpy)
            return np.where(rng.uniform(size=n) < 0.5, values, small)
        bits = rng.integers(0, 1 << 32, n, dtype=np.uint32).view(np.float32)
        ordinary = (rng.standard_normal(n) * 10.0 ** rng.integers(-2, 3, n)).astype(np.float32)
        values = np.where(rng.uniform(size=n) < 0.3, bits, ordinary)
        head = min(n // 4, len(SPECIAL))
        values[:head] = rng.permutation(np.array(SPECIAL, np.float32))[:head]
        if dtype is F64:  # its whole range too, and numbers that f32 could not tell apart
            whole = rng.integers(0, 1 << 64, n, dtype=np.uint64).view(np.float64)
            near = rng.integers(-3, 4, n) * (1 + rng.integers(-2, 3, n) * 2.0**-40)
            with np.errstate(invalid="ignore"):  # signalling NaN
                return np.choose(rng.integers(0, 3, n), [values.astype(np.float64), whole, near])
        return values

    draw.special = SPECIAL  # type: ignore[attr-defined]
    return draw


def whole() -> Draw:
    """Integers of any size, with the ends of the range and small numbers."""
    draw = anything()
    ends = (s * (1 << b) - (s > 0) for b in (7, 8, 15, 16, 31, 32, 63, 64) for s in (1, -1))
    draw.special = (0, 1, 2, 3, 7, -1, -2, -3, 100, *ends)  # type: ignore[attr-defined]
    return draw


def normal(scale: float, *also: float) -> Draw:
    """Normal numbers of this deviation, and some named ones."""

    def draw(rng: np.random.Generator, dtype: DType, n: int) -> np.ndarray:
        values = rng.standard_normal(n) * scale
        head = min(n // 4, len(also))
        values[:head] = also[:head]
        return values.astype(np.float32)

    return draw


def between(low: float, high: float) -> Draw:
    """Evenly between two numbers, the ends included."""

    def draw(rng: np.random.Generator, dtype: DType, n: int) -> np.ndarray:
        values = rng.uniform(low, high, n)
        if n > 4:
            values[:2] = low, high
        return values.astype(np.float32) if dtype.is_float else values.astype(np.int64)

    return draw


def sizes(low: float, high: float) -> Draw:
    """Positive numbers from e^low to e^high, evenly by their logarithm."""

    def draw(rng: np.random.Generator, dtype: DType, n: int) -> np.ndarray:
        return np.exp(rng.uniform(low, high, n)).astype(np.float32)

    return draw


def mixed(*draws: Draw) -> Draw:
    """Each element from one of these; the special values are those of the first."""

    def draw(rng: np.random.Generator, dtype: DType, n: int) -> np.ndarray:
        return np.choose(rng.integers(0, len(draws), n), [d(rng, dtype, n) for d in draws])

    draw.special = getattr(draws[0], "special", ())  # type: ignore[attr-defined]
    return draw


_FORMAT = {F16: (11, -24, 16), BF16: (8, -133, 128)}


def spacing(values: np.ndarray, digits: int, lowest: int) -> np.ndarray:
    """The distance of neighbouring numbers of `digits` bits at |values|; at least 2^lowest."""
    _, exponent = np.frexp(np.where(np.isfinite(values), values, 1.0))
    return np.exp2(np.maximum(exponent - digits, lowest).astype(np.float64))


def flushed(values: np.ndarray) -> np.ndarray:
    """Values with subnormal f32 numbers replaced by zeros of their sign, as some devices read them."""
    if values.dtype.kind != "f":
        return values
    return np.where(np.abs(values) < 2.0**-126, np.copysign(0.0, values), values)


def mismatches(record: Record, dtype: DType, got: np.ndarray, exact: np.ndarray, flushes: bool = False) -> np.ndarray:
    """Where the result is not what the record allows.

    got      values of `compute_dtype(dtype)`; bools and integers must be equal
    exact    the formula's values in float64 (floats), or its own dtype
    flushes  the device writes zero for a result below the smallest normal f32; allowed where an error is
    Halves are computed in f32 and rounded once: one unit of theirs where the record allows an error at all.
    """
    if got.dtype.kind != "f":
        return np.asarray(got != exact)
    digits, lowest, top = _FORMAT.get(dtype, (24, -149, 128))
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = cast_array(exact, dtype).astype(np.float64)
        wide = got.astype(np.float64)
        same = (wide == rounded) | (np.isnan(wide) & np.isnan(rounded))
        if record.zero_sign:
            same &= ~((wide == 0) & (exact == 0) & (np.signbit(wide) != np.signbit(exact)))
        if record.ulp == 0 and record.absolute == 0:
            return ~same
        limit = 2.0**top
        allowed = np.maximum(record.ulp * spacing(exact, 24, -149), record.absolute)
        if dtype in _FORMAT:
            allowed = np.maximum(allowed, spacing(exact, digits, lowest))
        error = np.abs(np.clip(wide, -limit, limit) - np.clip(exact, -limit, limit))
        near = (error <= allowed) & np.isfinite(exact) & (exact != 0)
        tiny = 2.0**-126 * (1 + 2.0**-20)  # an error of a few units may take the result below
        lost = flushes & (wide == 0) & (np.abs(exact) < tiny) & (exact != 0)
    return ~(same | near | lost)
