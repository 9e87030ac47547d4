"""Conversions between all dtypes on the wgpu backend, against exact integer arithmetic of Python."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from burn_wgpu.backends.wgpu.backend import WgpuBackend
from burn_wgpu.backends.wgpu.cast_ops import cast
from burn_wgpu.backends.wgpu.tensor import WgpuDevice, WgpuTensor
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.data import TensorData
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.errors import DTypeError
from burn_wgpu.std.layout import Layout
from burn_wgpu.std.slice import Slice

pytestmark = pytest.mark.gpu

B: Any = WgpuBackend()
FLOATS = (dt.F64, dt.F32, dt.F16, dt.BF16)
BOOLS = (dt.BOOL_U8, dt.BOOL_U32)
ALL = (*FLOATS, *dt.INTS, *BOOLS)
PAIRS = [(a, b) for a in ALL for b in ALL if a is not b]
# significant bits, exponent of the smallest unit, exponent of the first power that is infinite
FORMAT = {dt.F64: (53, -1074, 1024), dt.F32: (24, -149, 128), dt.F16: (11, -24, 16), dt.BF16: (8, -133, 128)}


@pytest.fixture(scope="module")
def device() -> WgpuDevice:
    return WgpuDevice(0)


def up(stored: np.ndarray, dtype: DType, device: WgpuDevice) -> WgpuTensor:
    stored = np.ascontiguousarray(stored)
    return WgpuTensor(device.client.upload(stored, stored.nbytes), Layout.dense(stored.shape), dtype, device)


def down(tensor: WgpuTensor) -> np.ndarray:
    """Stored bits."""
    size = tensor.layout.size * tensor.dtype.size_bytes
    raw = tensor.device.client.stream.download([(tensor.lease, 0, size)])[0]
    return raw.view(tensor.dtype.numpy).reshape(tensor.shape)


def samples(dtype: DType, rng: np.random.Generator) -> np.ndarray:
    """Stored bits: all values of narrow dtypes, else the ends, neighbours of powers of two, ties, and any bits."""
    if dtype.is_bool:
        return np.array([0, 1, 1, 0, 1], dtype.numpy)
    if dtype.size_bytes == 1:
        return np.arange(256).astype(np.uint8).view(dtype.numpy)
    if dtype.size_bytes == 2:
        return np.arange(65536).astype(np.uint16).view(dtype.numpy)
    bits = 8 * dtype.size_bytes
    word = np.dtype(f"<u{dtype.size_bytes}")
    some = rng.integers(0, 1 << bits, 1500, dtype=word, endpoint=False) if bits < 64 else any_words(rng, 1500)
    if dtype.is_int:
        info = np.iinfo(dtype.numpy)
        near = {s * ((1 << b) + d) for b in range(bits) for d in (-1, 0, 1) for s in (1, -1)}
        # Halfway between neighbouring f32, bf16 and f64 numbers, and just beside.
        for digits in (8, 11, 24, 53):
            near |= {(((1 << digits) + odd) << e) + d for e in range(1, 60, 7) for odd in (1, 3) for d in (-1, 0, 1)}
        kept = [v for v in sorted(near | {info.min, info.max, info.max - 1}) if info.min <= v <= info.max]
        shifted = (some >> rng.integers(0, bits, some.size).astype(word)).view(dtype.numpy)
        return np.concatenate([np.array(kept, dtype.numpy), some.view(dtype.numpy), shifted])
    named = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, 255.5, -128.9, 65519.99, 65520.0, -65519.99, 2.0**-25,
             2.0**-24 * 1.5,
             2.0**31, 2.0**31 - 0.5, -(2.0**31), -(2.0**31) - 0.6, 2.0**32, 2.0**32 - 0.5, 2.0**63, -(2.0**63), 2.0**64,
             2.0**53 + 2, 1e-310, 1e-320, 3.4028235677973366e38, 3.39e38, 1.2e-38, 1e-45, 2.0**-150, 2.0**-150 * 1.01,
             math.inf, -math.inf, math.nan]  # fmt: skip
    ordinary = rng.standard_normal(1500) * np.exp(rng.uniform(-30, 50, 1500))
    with np.errstate(over="ignore"):
        values = np.concatenate([np.array(named), ordinary]).astype(dtype.numpy)
    found = [values, some.view(dtype.numpy)]
    if dtype is dt.F64:
        # Ties of the narrower formats, and one bit beside: rounding twice shows here.
        for digits in (8, 11, 24):
            tie = (1.0 + (2 * rng.integers(0, 1 << (digits - 1), 60) + 1) * 2.0**-digits) * 2.0 ** rng.integers(
                -9, 9, 60
            )
            found += [tie, np.nextafter(tie, np.inf), np.nextafter(tie, 0)]
        found.append(np.ldexp(rng.uniform(1, 2, 300), rng.integers(-155, -120, 300)))
    return np.concatenate(found)


def any_words(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.integers(0, 1 << 32, 2 * n, dtype=np.uint32).view("<u8")


def numbers(stored: np.ndarray, dtype: DType) -> list[Any]:
    """Python ints, floats and bools, exact."""
    with np.errstate(invalid="ignore"):
        return TensorData(stored, dtype).numpy().tolist()


def nearest(value: int | float, dtype: DType) -> float:
    """The float of this dtype nearest to the value, ties to even, by integers."""
    digits, lowest, top = FORMAT[dtype]
    if isinstance(value, float):
        if not math.isfinite(value):
            return value
        fraction, exponent = math.frexp(value)
        whole, exponent = int(abs(fraction) * (1 << 53)), exponent - 53
        sign = math.copysign(1.0, value)
    else:
        whole, exponent, sign = abs(value), 0, -1.0 if value < 0 else 1.0
    unit = max(exponent + whole.bit_length() - digits, lowest)
    shift = unit - exponent
    if shift > 0:
        kept, lost, half = whole >> shift, whole & ((1 << shift) - 1), 1 << (shift - 1)
        whole, exponent = kept + (lost > half or (lost == half and kept & 1 == 1)), unit
    if whole and exponent + whole.bit_length() > top:
        return math.copysign(math.inf, sign)
    return math.copysign(math.ldexp(whole, exponent), sign)


def whole_number(value: int | float, dtype: DType) -> int:
    """Truncated and saturated from a float, the low bits of an int."""
    info = np.iinfo(dtype.numpy)
    if isinstance(value, float):
        if math.isnan(value):
            return 0
        if math.isinf(value):
            return int(info.max if value > 0 else info.min)
        return int(min(max(int(value), info.min), info.max))
    bits = 8 * dtype.size_bytes
    low = value & ((1 << bits) - 1)
    return low - (1 << bits) if info.min < 0 and low >> (bits - 1) else low


def expected(values: Iterable[Any], source: DType, target: DType) -> list[Any]:
    if target.is_bool:
        return [v != 0 for v in values]
    if source.is_bool:
        values = [int(v) for v in values]
    if target.is_float:
        return [nearest(v, target) for v in values]
    return [whole_number(v, target) for v in values]


def agree(got: Any, wanted: Any) -> bool:
    if isinstance(wanted, float):
        if math.isnan(wanted):
            return math.isnan(got)
        return bool(got == wanted and math.copysign(1, got) == math.copysign(1, wanted))
    return bool(got == wanted)


@pytest.mark.parametrize(("source", "target"), PAIRS, ids=[f"{a}-{b}" for a, b in PAIRS])
def test_a_cast_rounds_once_saturates_or_keeps_the_low_bits(source: DType, target: DType, device: WgpuDevice) -> None:
    stored = samples(source, np.random.default_rng(5))
    out = cast(up(stored, source, device), target)
    assert out.dtype is target and out.shape == stored.shape
    bits = down(out)
    if target.is_bool:
        assert np.isin(bits, (0, 1)).all()
    got = numbers(bits, target)
    given = numbers(stored, source)
    wrong = [(v, g, w) for v, g, w in zip(given, got, expected(given, source, target), strict=True) if not agree(g, w)]
    assert not wrong, f"{len(wrong)} of {len(got)} differ, first (value, got, expected): {wrong[:3]}"


@pytest.mark.parametrize("half", [dt.F16, dt.BF16])
def test_every_midpoint_between_halves_rounds_to_the_even_one(half: DType, device: WgpuDevice) -> None:
    """All finite halves, the f32 halfway to the next one, and its neighbours."""
    infinite = 0x7C00 if half is dt.F16 else 0x7F80
    bits = np.arange(infinite, dtype=np.uint16)
    below = TensorData(bits.view(half.numpy), half).numpy().astype(np.float64)
    # Beyond the largest finite half the next step is a power of two, where infinity begins.
    middle = ((below + np.append(below[1:], 2.0 ** FORMAT[half][2])) / 2).astype(np.float32)
    assert (middle.astype(np.float64) > below).all()
    for values, steps in (
        (below.astype(np.float32), np.zeros(infinite, np.uint16)),
        (middle, (bits & 1).astype(np.uint16)),
        (np.nextafter(middle, np.float32(np.inf)), np.ones(infinite, np.uint16)),
        (np.nextafter(middle, np.float32(0)), np.zeros(infinite, np.uint16)),
    ):
        for sign in (0, 0x8000):
            x = (values.view(np.uint32) | np.uint32(sign << 16)).view(np.float32)
            got = down(cast(up(x, dt.F32, device), half)).view(np.uint16)
            assert np.array_equal(got, (bits + steps) | np.uint16(sign))


@pytest.mark.parametrize("half", [dt.F16, dt.BF16])
def test_halves_survive_the_way_to_f32_and_back(half: DType, device: WgpuDevice) -> None:
    bits = np.arange(65536).astype(np.uint16)
    back = down(cast(cast(up(bits.view(half.numpy), half, device), dt.F32), half)).view(np.uint16)
    nan = np.isnan(TensorData(bits.view(half.numpy), half).numpy())
    assert np.array_equal(back[~nan], bits[~nan])
    assert np.isnan(TensorData(back[nan].view(half.numpy), half).numpy()).all()


@pytest.mark.parametrize(("source", "target"), [(dt.F32, dt.F16), (dt.I64, dt.F32), (dt.U8, dt.I64), (dt.F64, dt.I16)])
@pytest.mark.parametrize("size", [0, 1, 2, 3, 5, 33])
def test_views_and_odd_sizes_convert(source: DType, target: DType, size: int, device: WgpuDevice) -> None:
    stored = np.arange(2 * 3 * (size + 1)).astype(source.numpy).reshape(2, 3, size + 1)
    tensor = up(stored, source, device)
    layout = tensor.layout.slice([Slice(0, 2), Slice(0, 3), Slice(1, size + 1)]).permute([2, 0, 1]).flip([1])
    got = down(cast(tensor.view(layout), target))
    assert np.array_equal(got, stored[:, :, 1:].transpose(2, 0, 1)[:, ::-1].astype(target.numpy))


def test_the_same_dtype_is_the_same_tensor(device: WgpuDevice) -> None:
    tensor = up(np.ones(3, np.float32), dt.F32, device)
    assert B.float_cast(tensor, dt.F32) is tensor


def test_the_contract_functions_convert(device: WgpuDevice) -> None:
    x = up(np.array([1.9, -1.9, 300.0, np.nan], np.float32), dt.F32, device)
    assert down(B.float_into_int(x, dt.I8)).tolist() == [1, -1, 127, 0]
    assert down(B.float_cast(x, dt.F64))[:1].tolist() == [float(np.float32(1.9))]
    n = up(np.array([-1, 2**40 + 1], np.int64), dt.I64, device)
    assert down(B.int_cast(n, dt.U32)).tolist() == [2**32 - 1, 1]
    assert down(B.int_into_float(n, dt.F32)).tolist() == [-1.0, 2.0**40]
    b = up(np.array([1, 0], np.uint8), dt.BOOL_U8, device)
    assert down(B.bool_into_int(b, dt.I64)).tolist() == [1, 0]
    assert down(B.bool_into_float(b, dt.F16)).tolist() == [1.0, 0.0]


def test_a_dtype_that_devices_do_not_store_is_refused(device: WgpuDevice) -> None:
    with pytest.raises(DTypeError) as error:
        B.float_cast(up(np.ones(3, np.float32), dt.F32, device), dt.BOOL)
    assert str(error.value).startswith("float_cast: wgpu:0 does not store bool; it stores f32, flex32, f16")


def test_casts_of_64_bits_need_no_feature() -> None:
    from burn_wgpu.kernel.cast import cast_plan
    from burn_wgpu.shader.capability import Capability

    for source, target in PAIRS:
        for launch in cast_plan(Layout.dense((8,)), source, target, Capability()).launches:
            assert not launch.key.features, (source, target)
