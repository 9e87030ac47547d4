"""TensorData: bytes on the host with a shape and a dtype; what tensors are made from and read into."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from burn_wgpu.std.distribution import Distribution
from burn_wgpu.std.dtype import BF16, BOOL, F32, RANGES, DType, bf16_to_float32, dtype, float32_to_bf16
from burn_wgpu.std.errors import ArgumentError, DTypeError, ShapeError
from burn_wgpu.std.quant import QFloat, QuantScheme
from burn_wgpu.std.quantized import QuantizedBytes
from burn_wgpu.std.shape import ravel_index
from burn_wgpu.std.text import element


@dataclass(frozen=True, slots=True, eq=False)
class TensorData:
    """A C-contiguous NumPy array of the dtype's stored bits (`DType.numpy`; uint16 for bf16) and its dtype.

    Of quantized data the array is the payload, flat bytes of codes and scales, and `lengths` the tensor's shape.
    """

    array: np.ndarray
    dtype: DType
    lengths: tuple[int, ...] | None = None

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
    def from_bytes(data: bytes | bytearray | memoryview, shape: Sequence[int], kind: object) -> TensorData:
        """Little-endian, row-major bytes; raises ShapeError when the length is not what shape and dtype imply.

        Of a quantized dtype the bytes are a payload: codes, then scales (see `std.quant`). Values are not looked at.
        Raises ShapeError too for a scheme that does not fit the shape.
        """
        kind = dtype(kind)
        shape = _sizes("from_bytes", shape)
        if isinstance(kind, QFloat):
            expected, size = kind.scheme.payload_bytes(shape), memoryview(data).nbytes
            if size != expected:
                raise ShapeError(f"data: {size} bytes for shape {list(shape)} of {kind}, which needs {expected}")
            return TensorData(np.frombuffer(data, np.uint8), kind, shape)
        expected = prod(shape) * kind.size_bytes
        size = memoryview(data).nbytes
        if size != expected:
            raise ShapeError(f"data: {size} bytes for shape {list(shape)} of {kind}, which needs {expected}")
        return TensorData(np.frombuffer(data, kind.numpy).reshape(shape), kind)

    # Where Burn returns a result or an error, a call returns or raises: the names are one function.
    try_from_bytes = from_bytes_vec = try_from_bytes_vec = from_bytes

    @staticmethod
    def quantized(
        values: object, shape: Sequence[int], scheme: QuantScheme, scales: object, global_scale: float | None = None
    ) -> TensorData:
        """Codes and scales as quantized data: what q_from_data takes.

        values        ints, one code an element, row-major: numbers of a Q kind, the bits of an E kind
        scales        one for each block, row-major, or one; rounded up to the scheme's scale dtype
        global_scale  of a two-level scheme, and only of one

        Raises ShapeError for other counts than the scheme has and for a scheme that does not fit the shape,
        ArgumentError for codes that its width cannot hold and for a global scale too many or too few.
        """
        shape = _sizes("quantized", shape)
        if (reason := scheme.fault(shape)) is not None:
            raise ShapeError(f"quantized: {reason}")
        codes, found = np.asarray(values), np.asarray(scales, np.float32)
        for what, array, count in (("values", codes, prod(shape)), ("scales", found, prod(scheme.grid(shape)))):
            if array.size != count:
                raise ShapeError(
                    f"quantized: {array.size} {what} for shape {list(shape)} of {scheme}, which needs {count}"
                )
        if codes.size and codes.dtype.kind not in "iu":
            raise DTypeError(f"quantized: the values are of NumPy dtype {codes.dtype}; codes must be ints")
        top = 1 << scheme.value.bits
        if codes.size and not -top // 2 <= codes.min() <= codes.max() < (top if scheme.value.is_float else top // 2):
            raise ArgumentError(
                f"quantized: values from {codes.min()} to {codes.max()}; a code of {scheme.value.value} has "
                f"{scheme.value.bits} bits"
            )
        if (global_scale is None) != (scheme.global_scale_dtype is None):
            have = "is missing" if global_scale is None else "is given"
            raise ArgumentError(f"quantized: a global scale {have} for the scheme {scheme}; two-level schemes have one")
        bits = codes.astype(np.int64).astype(np.uint8)
        if scheme.value.is_float:
            bits &= np.uint8(top - 1)
        overall = None if global_scale is None else np.float32(global_scale)
        grid = found.reshape(scheme.grid(shape))
        payload = QuantizedBytes(scheme, bits.view(np.int8).reshape(shape), grid, overall).pack()
        return TensorData.from_bytes(payload, shape, QFloat(scheme))

    @staticmethod
    def zeros(shape: Sequence[int], kind: object = F32) -> TensorData:
        """All 0, or false. Raises DTypeError for a quantized dtype."""
        return TensorData.full(shape, 0, kind)

    @staticmethod
    def ones(shape: Sequence[int], kind: object = F32) -> TensorData:
        """All 1, or true. Raises DTypeError for a quantized dtype."""
        return TensorData.full(shape, 1, kind)

    @staticmethod
    def full(shape: Sequence[int], value: float | int | bool, kind: object = F32) -> TensorData:
        """One number everywhere. Raises ArgumentError for one that an int dtype cannot hold, DTypeError for a
        quantized dtype."""
        one = TensorData.of(value).try_cast(_plain("full", kind))
        return TensorData(np.full(_sizes("full", shape), one.array), one.dtype)

    @staticmethod
    def random(
        shape: Sequence[int],
        distribution: Distribution | None = None,
        kind: object = F32,
        rng: np.random.Generator | int | None = None,
    ) -> TensorData:
        """Numbers drawn on the host by NumPy; `rng` is a generator or its seed. Not the numbers of `Tensor.random`.

        An int dtype takes the part of the distribution that it can hold; a bool one takes the default (half of them
        true) and Bernoulli's. Raises DTypeError for a quantized dtype and for bools of another distribution.
        """
        target, drawn = _plain("random", kind), Distribution() if distribution is None else distribution
        if not isinstance(drawn, Distribution):
            raise DTypeError(f"random: the distribution is {drawn!r}; it must be a Distribution")
        source = rng if isinstance(rng, np.random.Generator) else np.random.default_rng(rng)
        values = _draw(source, _sizes("random", shape), drawn, target)
        return TensorData(store_array(values, target), target)

    # Burn's names for a dtype that is a value; here it always is.
    zeros_dtype, ones_dtype, full_dtype, random_dtype = zeros, ones, full, random

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape if self.lengths is None else self.lengths

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def num_elements(self) -> int:
        """The number of elements; 1 for rank 0."""
        return prod(self.shape)

    @property
    def size_bytes(self) -> int:
        return int(self.array.nbytes)

    def as_bytes(self) -> bytes:
        """The stored bits, row-major and little-endian, copied."""
        return self.array.tobytes()

    into_bytes = as_bytes

    def into_parts(self) -> tuple[bytes, tuple[int, ...], DType]:
        """(bytes, shape, dtype), which `from_bytes` takes."""
        return self.as_bytes(), self.shape, self.dtype

    def as_slice(self, kind: object = None) -> np.ndarray:
        """The stored bits as a flat read-only array, no copy; bf16 as uint16.

        A given dtype must be the data's own, except that bool(u8) also reads as u8 and bool(u32) as u32. Raises
        DTypeError for another.
        """
        view = self.array.reshape(-1).view()
        view.flags.writeable = False
        if kind is not None and f"bool({dtype(kind)})" != self.dtype.name:
            self._must_be("as_slice", kind)
        return view

    def to_vec(self, kind: object = None) -> list[Any]:
        """A flat list of Python numbers, row-major. Raises DTypeError unless a given dtype is the data's own."""
        if kind is not None:
            self._must_be("to_vec", kind)
        return self._values("to_vec").reshape(-1).tolist()

    def to_vec_as(self, kind: object) -> list[Any]:
        """A flat list of Python numbers, converted first; errors as `try_cast`."""
        return self.try_cast(kind).to_vec()

    # Where Burn returns a result or an error, a call returns or raises: the two names are one function.
    into_vec = try_to_vec = try_into_vec = to_vec
    try_to_vec_as = try_into_vec_as = to_vec_as

    def iter(self, kind: object = None) -> Iterator[Any]:
        """The elements as Python numbers, row-major, converted if a dtype is given; errors as `try_cast`.

        Of quantized data with integer codes: the codes, as Burn gives them.
        """
        if kind is None and self.lengths is not None and not self.dtype.scheme.value.is_float:  # type: ignore[attr-defined]
            unpacked = QuantizedBytes.unpack(self.array.data, self.shape, self.dtype.scheme)  # type: ignore[attr-defined]
            return iter(unpacked.codes.reshape(-1).tolist())
        return iter((self if kind is None else self.try_cast(kind)).to_vec())

    def view(self) -> DataView:
        """The elements by their coordinates: `data.view()[1, 2]`. Raises DTypeError for quantized data."""
        return DataView(self)

    try_view = view

    def _must_be(self, name: str, kind: object) -> None:
        wanted = dtype(kind)
        if wanted is not self.dtype:
            raise DTypeError(f"{name}: the data is {self.dtype}, not {wanted}; call .convert({wanted.name!r}) first")

    def _values(self, name: str) -> np.ndarray:
        if self.dtype.kind == "qfloat":
            raise DTypeError(
                f"{name}: the data is {self.dtype}, whose codes are no numbers; dequantize the tensor first"
            )
        return self.numpy()

    def numpy(self) -> np.ndarray:
        """The values: bf16 widened to float32, bools as NumPy bool; otherwise the array itself (not a copy)."""
        if self.dtype is BF16:
            return bf16_to_float32(self.array)
        if self.dtype.is_bool:
            return self.array.astype(bool)
        return self.array

    def convert(self, target: object) -> TensorData:
        """The same values as another dtype, by the rules of `cast_array`: ints saturate and wrap (see `try_cast`)."""
        if target is self.dtype:
            return self
        found = dtype(target)
        if found is self.dtype:
            return self
        if "qfloat" in (found.kind, self.dtype.kind):
            raise DTypeError(f"convert: {self.dtype} data as {found}; host data is neither quantized nor dequantized")
        return TensorData(store_array(cast_array(self.numpy(), found), found), found)

    convert_dtype = convert

    def try_cast(self, target: object) -> TensorData:
        """The same values as another dtype, or an error: floats are truncated to ints and may become infinite.

        Raises ArgumentError for a value that an int dtype cannot hold, DTypeError to and from quantized dtypes.
        """
        found = dtype(target)
        if found is self.dtype:
            return self
        if "qfloat" in (found.kind, self.dtype.kind):
            raise DTypeError(f"cast: {self.dtype} data as {found}; host data is neither quantized nor dequantized")
        if found.is_int and not self.dtype.is_bool:
            _check_range(self.numpy(), found)
        return self.convert(found)

    try_cast_as = try_cast

    def __str__(self) -> str:
        """A flat list of the values; of quantized data the integer codes (of float codes a placeholder), then the dtype
        with its scheme."""
        if isinstance(self.dtype, QFloat):
            if self.lengths is None or self.dtype.scheme.value.is_float:
                return f"[<quantized values>] {self.dtype}"
            codes = QuantizedBytes.unpack(self.array.data, self.shape, self.dtype.scheme).codes
            return f"[{', '.join(map(str, codes.reshape(-1).tolist()))}] {self.dtype}"
        return "[" + ", ".join(element(v, self.dtype) for v in self.numpy().reshape(-1)) + "]"


class DataView:
    """Host data by coordinates: one int per axis gives a Python number. Negative ones count from the end."""

    __slots__ = ("_data", "_flat")

    def __init__(self, data: TensorData) -> None:
        self._data = data
        self._flat = data._values("view").reshape(-1)

    @property
    def shape(self) -> tuple[int, ...]:
        return self._data.shape

    @property
    def dtype(self) -> DType:
        return self._data.dtype

    def ravel_index(self, coordinates: int | Sequence[int]) -> int:
        """The row-major position of an element. Raises ShapeError for another number of coordinates than axes,
        IndexOutOfRange for one outside its axis."""
        places = coordinates if isinstance(coordinates, Sequence) else (coordinates,)
        return ravel_index(self.shape, places)

    def __getitem__(self, coordinates: int | Sequence[int]) -> Any:
        return self._flat[self.ravel_index(coordinates)].item()


def _plain(name: str, kind: object) -> DType:
    found = dtype(kind)
    if found.kind == "qfloat":
        raise DTypeError(f"{name}: host data of {found} cannot be made from numbers; quantize a tensor")
    return found


def _sizes(name: str, shape: Sequence[int] | int) -> tuple[int, ...]:
    try:
        sizes = tuple(operator.index(n) for n in (shape if isinstance(shape, Iterable) else (shape,)))
    except TypeError:
        raise DTypeError(f"{name}: the shape is {shape!r}; it must be made of ints") from None
    if any(n < 0 for n in sizes):
        raise ShapeError(f"{name}: shape {list(sizes)} has a negative size; sizes must not be negative")
    return sizes


def _check_range(values: np.ndarray, target: DType) -> None:
    low, high = RANGES[target]
    for value in () if not values.size else (values.min(), values.max()):  # NaN is the minimum if there is one
        number = value.item()
        if number != number or not low - 1 < number < high + 1:
            raise ArgumentError(f"cast: {number} cannot be {target}; it must lie in [{low}, {high}]")


def _draw(rng: np.random.Generator, shape: tuple[int, ...], drawn: Distribution, target: DType) -> np.ndarray:
    """Values of the dtype (see `compute_dtype`)."""
    if drawn.kind == "bernoulli" or target.is_bool:
        if drawn.kind not in ("bernoulli", "default"):
            raise DTypeError(f"random: bools of the distribution '{drawn.kind}'; they take default and bernoulli")
        return cast_array(rng.random(shape) < (drawn.a if drawn.kind == "bernoulli" else 0.5), target)
    if drawn.kind == "normal":
        return cast_array(rng.normal(drawn.a, drawn.b, shape), target)
    if target.is_int:
        low, count = drawn.interval(*RANGES[target])
        if not count:
            return np.full(shape, low, target.numpy)
        return rng.integers(low, low + count, shape, target.numpy.type)
    values = cast_array(drawn.a + rng.random(shape) * (drawn.b - drawn.a), target)
    # Rounding to a narrow dtype may reach the upper end, which is not part of the interval.
    return np.where(values >= drawn.b, cast_array(np.asarray(drawn.a, np.float64), target), values)


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
