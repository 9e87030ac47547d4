"""Host data: dtypes, conversions, scalars, distributions."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from burn_wgpu.std import dtype as dt
from burn_wgpu.std.data import TensorData, cast_array, compute_dtype, store_array
from burn_wgpu.std.distribution import Distribution
from burn_wgpu.std.errors import DTypeError, ShapeError
from burn_wgpu.std.quant import QFloat, QuantScheme
from burn_wgpu.std.scalar import as_scalar

NUMBERS = dt.FLOATS + dt.INTS


def test_dtypes_are_found_by_name_and_by_numpy() -> None:
    for kind in dt.ALL:
        assert dt.dtype(kind.name) is kind and dt.dtype(kind) is kind
        assert pickle.loads(pickle.dumps(kind)) is kind
        assert kind.numpy.itemsize == kind.size_bytes
    assert dt.dtype("float32") is dt.dtype(np.float32) is dt.F32
    assert dt.dtype(np.dtype(">i4")) is dt.I32 and dt.dtype(bool) is dt.BOOL and dt.dtype(int) is dt.I64
    for bad in ("complex64", "f33", object()):
        with pytest.raises(DTypeError, match="is not a dtype. Known: f64, f32"):
            dt.dtype(bad)


def test_bf16_rounds_to_nearest_even_for_every_pattern() -> None:
    bits = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16)
    values = dt.bf16_to_float32(bits)
    back = dt.float32_to_bf16(values)
    nan = np.isnan(values)
    np.testing.assert_array_equal(back[~nan], bits[~nan])
    assert np.isnan(dt.bf16_to_float32(back[nan])).all()
    half = np.float32(1) + np.float32(2.0**-8)  # halfway between two neighbours: to even
    halves = np.array([half, half + np.float32(2.0**-7)], np.float32)
    assert dt.bf16_to_float32(dt.float32_to_bf16(halves)).tolist() == [1.0, 1 + 2 * 2.0**-7]
    assert dt.float32_to_bf16(np.float32(3.4e38)).shape == ()


@given(st.lists(st.floats(width=32), max_size=8), st.sampled_from(dt.INTS))
def test_floats_become_ints_by_truncation_and_saturation(values: list[float], kind) -> None:
    info = np.iinfo(kind.numpy)
    result = cast_array(np.array(values, np.float32), kind)
    assert result.dtype == kind.numpy
    for value, found in zip(values, result.tolist(), strict=True):
        if value != value:
            assert found == 0
        elif value in (float("inf"), float("-inf")):
            assert found == (info.max if value > 0 else info.min)
        else:
            assert found == min(max(int(value), info.min), info.max)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=8), st.sampled_from(dt.INTS))
def test_ints_keep_their_low_bits(values: list[int], kind) -> None:
    bits = 8 * kind.size_bytes
    for value, found in zip(values, cast_array(np.array(values, np.int64), kind).tolist(), strict=True):
        assert (found - value) % (1 << bits) == 0


def test_bools_are_not_zero_and_nan_is_true() -> None:
    assert cast_array(np.array([0.0, -0.0, 0.1, np.nan]), dt.BOOL_U32).tolist() == [False, False, True, True]
    assert store_array(np.array([True, False]), dt.BOOL_U32).tolist() == [1, 0]


@pytest.mark.parametrize("kind", dt.ALL, ids=str)
def test_data_converts_to_itself_and_survives_bytes(kind) -> None:
    data = TensorData.of(np.array([[0, 1], [1, 0]]), kind)
    assert data.convert(kind) is data and data.shape == (2, 2) and data.size_bytes == 4 * kind.size_bytes
    again = TensorData.from_bytes(data.as_bytes(), (2, 2), kind)
    np.testing.assert_array_equal(again.array, data.array)
    assert again.numpy().dtype == compute_dtype(kind)


def test_data_is_made_of_any_array() -> None:
    fortran = np.asfortranarray(np.arange(6, dtype=">f4").reshape(2, 3))
    data = TensorData.of(fortran)
    assert data.dtype is dt.F32 and data.array.flags.c_contiguous and data.array.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert TensorData.of(3).shape == () and TensorData.of(3).array.flags.c_contiguous
    assert TensorData.of([True]).dtype is dt.BOOL
    with pytest.raises(DTypeError, match="complex128 has no counterpart"):
        TensorData.of([1j])
    with pytest.raises(ShapeError) as error:
        TensorData.from_bytes(b"123", (1,), dt.F32)
    assert str(error.value) == "data: 3 bytes for shape [1] of f32, which needs 4"


@given(st.integers() | st.floats(), st.sampled_from(NUMBERS))
def test_scalars_take_the_tensors_dtype(value: float, kind) -> None:
    found = as_scalar(value, kind)
    if kind.is_float:
        assert isinstance(found, float)
        if kind is dt.F32:
            try:
                wide = float(value)
            except OverflowError:
                wide = float("inf") if value > 0 else float("-inf")
            with np.errstate(over="ignore"):
                expected = float(np.float32(wide))
            assert found == expected or (found != found and expected != expected)
        assert found != found or as_scalar(found, kind) == found
    else:
        info = np.iinfo(kind.numpy)
        assert type(found) is int and info.min <= found <= info.max
        if isinstance(value, int):
            assert (found - value) % (1 << 8 * kind.size_bytes) == 0
        elif value == value and abs(value) != float("inf"):
            assert found == min(max(int(value), info.min), info.max)


def test_what_is_no_number_is_refused() -> None:
    for bad in ("1", None, 1j, [1]):
        with pytest.raises(DTypeError, match="is not a real number, and the tensor's dtype is f32"):
            as_scalar(bad, dt.F32)
    assert as_scalar(np.float64(2.5), dt.I32) == 2 and as_scalar(True, dt.F16) == 1.0 and as_scalar(2, dt.BOOL) is True


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Distribution.bernoulli(1.5), "bernoulli: the probability is 1.5; it must lie in [0, 1]"),
        (lambda: Distribution.uniform(2, 1), "uniform: low is 2 and high is 1; low must not exceed high"),
        (lambda: Distribution.normal(0, -1), "normal: the standard deviation is -1; it must not be negative"),
        (
            lambda: Distribution.normal(0, float("nan")),
            "normal: the standard deviation is nan; it must not be negative",
        ),
    ],
)
def test_distributions_check_their_numbers(make, message: str) -> None:
    with pytest.raises(ValueError) as error:
        make()
    assert str(error.value) == message


def test_data_is_taken_apart_and_put_together() -> None:
    data = TensorData.of(np.arange(6, dtype=np.int16).reshape(2, 3))
    raw, shape, kind = data.into_parts()
    assert raw == data.into_bytes() == data.array.tobytes() and shape == (2, 3) and kind is dt.I16
    for make in (TensorData.from_bytes, TensorData.try_from_bytes, TensorData.try_from_bytes_vec):
        back = make(bytearray(raw), [2, 3], "i16")
        assert back.dtype is dt.I16 and back.to_vec() == data.to_vec()
    wide = TensorData.from_bytes(memoryview(np.arange(6, dtype=np.int32)), (6,), dt.I32)  # its len() counts elements
    assert wide.to_vec() == list(range(6))
    assert TensorData.full_dtype((2,), 3, "u8").to_vec() == [3, 3]
    assert TensorData.zeros_dtype((1,), "bf16").to_vec() == [0]


@pytest.mark.parametrize(("length", "shape"), [(11, (2, 3)), (0, (1,)), (12, (2, 3, 2))])
def test_bytes_of_another_length_are_refused(length: int, shape: tuple[int, ...]) -> None:
    with pytest.raises(ShapeError, match=f"data: {length} bytes for shape"):
        TensorData.from_bytes(bytes(length), shape, "i16")


def test_bytes_of_quantized_data_are_a_payload_and_negative_sizes_are_refused() -> None:
    kind = QFloat(QuantScheme())
    data = TensorData.from_bytes(bytes(range(8)), (4,), kind)
    assert data.shape == (4,) and data.dtype is kind and data.as_bytes() == bytes(range(8))
    with pytest.raises(ShapeError, match="which needs 8"):
        TensorData.from_bytes(bytes(4), (4,), kind)
    with pytest.raises(ShapeError, match="negative size"):
        TensorData.from_bytes(bytes(4), (-2, -2), "u8")
