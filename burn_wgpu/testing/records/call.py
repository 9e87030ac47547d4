"""The record of a function that is not elementwise: how it is called, and how exact the result must be.

The reference backend is the oracle. Where an error is allowed it is called in float64 on the same numbers, so that its
own rounding does not count; where none is, in the same dtype, and the results must be equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from burn_wgpu.contract.transaction_ops import TransactionPrimitiveData
from burn_wgpu.std.data import TensorData, cast_array, compute_dtype, store_array
from burn_wgpu.std.dtype import BF16, F16, F32, F64, I32, DType
from burn_wgpu.testing.records.record import anything, flushed, spacing


@dataclass(frozen=True, slots=True, eq=False)
class Given:
    """A tensor argument: values of `compute_dtype(dtype)`; a backend gets a tensor in some layout in its place.

    free  the values may be replaced by one row repeated, so that the tensor can be an expanded one
    """

    values: np.ndarray
    dtype: DType
    free: bool = True

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape

    def data(self) -> TensorData:
        return TensorData(store_array(self.values, self.dtype), self.dtype)


class _Device:
    """Stands for the device of the backend that is called."""

    def __repr__(self) -> str:
        return "DEVICE"


DEVICE = _Device()


class Draw:
    """What a case draws its arguments with: a generator, the dtype and the size n that the test asks for."""

    def __init__(self, seed: int, dtype: DType, n: int) -> None:
        self.rng = np.random.default_rng([seed, n])
        self.dtype = dtype
        self.n = n

    def normal(self, *shape: int, scale: float = 1.0, dtype: DType | None = None) -> Given:
        """Ordinary numbers: normal floats, integers from −9 (0 if unsigned) to 9, evenly drawn bools."""
        kind = dtype or self.dtype
        if kind.is_bool:
            return Given(self.rng.uniform(size=shape) < 0.5, kind)
        if kind.is_int:
            low = -9 if kind.kind == "int" else 0
            return Given(self.rng.integers(low, 10, shape).astype(kind.numpy), kind)
        return Given(held(self.rng.standard_normal(shape) * scale, kind), kind)

    def uniform(self, low: float, high: float, *shape: int, dtype: DType | None = None) -> Given:
        kind = dtype or self.dtype
        return Given(held(self.rng.uniform(low, high, shape), kind), kind)

    def wild(self, *shape: int) -> Given:
        """Any bits: special floats and NaN, integers of the whole range."""
        size = int(np.prod(shape, dtype=np.int64))
        values = anything()(self.rng, self.dtype, size)
        return Given((values if self.dtype is F64 else held(values, self.dtype)).reshape(shape), self.dtype)

    def ties(self, *shape: int) -> Given:
        """Few different values, with NaN, both zeros and infinities among the floats."""
        if not self.dtype.is_float:
            return self.normal(*shape)
        few = np.array([0.0, -0.0, 1.0, 1.0, -1.0, 2.0, np.inf, -np.inf, np.nan])
        return Given(held(self.rng.choice(few, shape, p=[0.2, 0.1, 0.2, 0.1, 0.2, 0.1, 0.04, 0.04, 0.02]), self.dtype),
                     self.dtype)  # fmt: skip

    def mask(self, *shape: int, share: float = 0.5, dtype: DType) -> Given:
        return Given(self.rng.uniform(size=shape) < share, dtype)

    def indices(self, size: int, *shape: int, dtype: DType = I32) -> Given:
        """Indices of an axis of this size; none may be asked for when it is 0."""
        return Given(self.rng.integers(0, max(size, 1), shape if size else tuple(0 for _ in shape)).astype(dtype.numpy),
                     dtype)  # fmt: skip

    def distinct(self, size: int, count: int, dtype: DType = I32) -> Given:
        """Different indices of an axis of this size."""
        return Given(self.rng.permutation(size)[:count].astype(dtype.numpy), dtype, free=False)


Case = Callable[[Draw], tuple[Any, ...]]
Scale = Literal["result", "absolute", "largest"]


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """What tests must know of a contract function that is not elementwise.

    name      of the function
    dtypes    of its main tensors that it takes on a GPU
    cases     each draws one tuple of arguments, with `Given` for tensors and `DEVICE` for a device handle
    units     error allowed in units of 2^−23 of the scale, or how many from the arguments; 0: equal
    scale     what the units count: "result" the magnitude of each element, "absolute" the result for the magnitudes of
              all floats (what was added up), "largest" the largest finite element of the result
    least     the scale is at least this: the size of terms that may cancel to nothing
    roundings how often a half is rounded on the way, at most; the last one is free
    halves    the scale of those roundings
    moves     elements are only moved: every dtype is native, whatever it can compute
    bits      f64 is compared or converted by its bits and so exact; without it a GPU computes f64 through f32
    largest   n that is sensible
    invoke    calls the function when that is more than passing the arguments
    """

    name: str
    dtypes: tuple[DType, ...]
    cases: tuple[Case, ...]
    units: float | Callable[..., float] = 0.0
    scale: Scale = "result"
    least: float = 0.0
    roundings: int = 0
    halves: Scale = "largest"
    moves: bool = False
    bits: bool = False
    largest: int = 1 << 30
    invoke: Callable[..., Any] | None = None

    @property
    def exact(self) -> bool:
        return not callable(self.units) and self.units == 0

    def __call__(self, backend: Any, args: tuple[Any, ...]) -> Any:
        return self.invoke(backend, *args) if self.invoke else getattr(backend, self.name)(*args)


def held(values: np.ndarray, kind: DType) -> np.ndarray:
    """Values as the dtype holds them, in its computing dtype; f64 has values of f32, which a GPU computes with."""
    with np.errstate(over="ignore", invalid="ignore"):
        if kind is F64:
            values = np.asarray(values).astype(np.float32)
        return np.asarray(cast_array(np.asarray(values), kind)).astype(compute_dtype(kind), copy=False)


def replaced(args: Any, change: Callable[[Any], Any]) -> Any:
    """The arguments with `change` applied to every leaf, inside tuples and lists too."""
    if isinstance(args, (tuple, list)) and not hasattr(args, "_fields"):
        return type(args)(replaced(a, change) for a in args)
    return change(args)


def leaves(result: Any) -> Iterator[Any]:
    """The parts of a result in order: of tuples, lists and what tr_execute gives."""
    if isinstance(result, TransactionPrimitiveData):
        result = (result.read_floats, result.read_qfloats, result.read_ints, result.read_bools)
    if isinstance(result, (tuple, list)):
        for part in result:
            yield from leaves(part)
    else:
        yield result


def wide(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Float tensors in float64."""
    return replaced(args, lambda a: replace(a, values=a.values.astype(np.float64), dtype=F64) if _floats(a) else a)  # type: ignore[no-any-return]


def magnitudes(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Float tensors in float64, by their absolute values."""
    return replaced(  # type: ignore[no-any-return]
        args,
        lambda a: replace(a, values=np.abs(a.values.astype(np.float64)), dtype=F64) if _floats(a) else a,
    )


def _floats(value: Any) -> bool:
    return isinstance(value, Given) and value.dtype.is_float


_HALF = {F16: (11, -24, 65504.0), BF16: (8, -133, 3.3895313892515355e38)}


def far(
    call: Call,
    args: tuple[Any, ...],
    kind: DType,
    got: np.ndarray,
    exact: np.ndarray,
    absolute: np.ndarray | None,
    flushes: bool,
) -> np.ndarray:
    """Where a float result differs from the exact one (float64) by more than the record allows.

    NaN and infinities must be where they are in the exact result, rounded to the dtype; a device that flushes may make
    zeros of what is below the smallest normal f32. f64 is computed through f32, and allowed what f32 is.
    """
    kind = F32 if kind is F64 else kind
    units = float(call.units(*args)) if callable(call.units) else call.units
    digits, lowest, top = _HALF.get(kind, (24, -149, 3.4028234663852886e38))
    values = got.astype(np.float64)
    with np.errstate(all="ignore"):
        rounded = cast_array(exact, kind).astype(np.float64)
        same = (values == rounded) | (np.isnan(values) & np.isnan(exact))
        finite = np.abs(exact[np.isfinite(exact)])
        most = np.full(exact.shape, finite.max() if finite.size else 0.0)
        scales = {"result": np.abs(exact), "largest": most, "absolute": most if absolute is None else absolute}
        allowed = units * 2.0**-23 * np.maximum(scales[call.scale], call.least)
        if kind in _HALF:
            allowed = allowed + 0.501 * spacing(exact, digits, lowest)
            allowed += call.roundings * 0.5 * spacing(scales[call.halves], digits, lowest)
        allowed = np.maximum(allowed, 2.0**-126 if flushes else units * 2.0**-149)
        near = (np.abs(np.clip(values, -top, top) - np.clip(exact, -top, top)) <= allowed) & ~np.isnan(exact)
        near &= ~(np.isinf(exact) & ~np.isinf(values))
    return ~(same | near)


def unlike(got: np.ndarray, want: np.ndarray, flushes: bool) -> np.ndarray:
    """Where results that must be equal are not; a device that flushes may take subnormal f32 numbers for zeros."""
    if got.dtype.kind != "f":
        return np.asarray(got != want)
    differ = ~((got == want) | (np.isnan(got) & np.isnan(want)))
    if flushes and got.dtype == np.float32 and differ.any():
        differ &= flushed(got) != flushed(want)
    return np.asarray(differ)
