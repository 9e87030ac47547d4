"""Quantized tensors over a backend that keeps one code and one scale for each element."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from burn_wgpu import Device, Tensor
from burn_wgpu.backends.reference import ReferenceBackend
from burn_wgpu.std.data import TensorData
from burn_wgpu.std.errors import ArgumentError, DTypeError, ShapeError
from burn_wgpu.std.quant import QFloat, QuantScheme, QuantStore, QuantValue, ScaleDtype
from burn_wgpu.tensor import activation, functional
from burn_wgpu.tensor.quantization import QParams, compute_q_params, compute_range

SCHEME = QuantScheme(QuantValue.Q8S)
OTHER = QuantScheme(QuantValue.Q4S)


class Codes:
    def __init__(self, codes: np.ndarray, scale: np.ndarray, scheme: QuantScheme, device: Any) -> None:
        self.codes, self.scale, self.dtype, self.device = codes, scale, QFloat(scheme), device
        self.shape = codes.shape


class Quantizing(ReferenceBackend):
    def quantize(self, tensor: Any, scheme: Any, qparams: Any) -> Any:
        scale = self.float_into_data(qparams.scales).numpy().astype(np.float64).reshape(())
        low, high = scheme.value.range
        codes = np.clip(np.round(self.float_into_data(tensor).numpy() / np.where(scale == 0, 1, scale)), low, high)
        return Codes(codes, scale, scheme, tensor.device)

    def dequantize(self, tensor: Any, dtype: Any) -> Any:
        return self.float_from_data(TensorData.of(tensor.codes * tensor.scale, dtype), tensor.device)

    def q_reshape(self, tensor: Any, shape: Any) -> Any:
        return Codes(tensor.codes.reshape(shape), tensor.scale, tensor.dtype.scheme, tensor.device)

    def q_swap_dims(self, tensor: Any, dim1: int, dim2: int) -> Any:
        return Codes(tensor.codes.swapaxes(dim1, dim2), tensor.scale, tensor.dtype.scheme, tensor.device)


@pytest.fixture(scope="module")
def device() -> Device:
    device = Device("cpu:31")
    device._backend = Quantizing()
    return device


A = np.array([[1.0, -2.0, 0.5], [4.0, 3.0, -1.0]], np.float32)


def near(got: Tensor, want: np.ndarray, tolerance: float = 0.05) -> None:
    assert got.shape == want.shape
    np.testing.assert_allclose(got.numpy(), want, atol=tolerance)


def test_there_and_back(device: Device) -> None:
    x = Tensor(A, device=device)
    q = x.quantize_dynamic(SCHEME)
    assert q.is_quantized and q.kind == "float" and q.dtype is QFloat(SCHEME) and not x.is_quantized
    near(q, A)
    near(q.dequantize(), A)
    assert q.dequantize("f16").dtype.name == "f16" and q.cast("f16").dtype.name == "f16"
    assert x.dequantize() is x
    parameters = compute_q_params(SCHEME, compute_range(SCHEME, x))
    np.testing.assert_array_equal(x.quantize(SCHEME, parameters).numpy(), q.numpy())
    with pytest.raises(DTypeError, match="quantize_dynamic: the tensor is quantized already"):
        q.quantize_dynamic(SCHEME)
    with pytest.raises(ArgumentError, match="a global scale is given for the scheme"):
        x.quantize(SCHEME, QParams(parameters.scales, parameters.scales))
    two_levels = SCHEME.per_block((3,), ScaleDtype.UE4M3).per_tensor(ScaleDtype.F32)
    with pytest.raises(ArgumentError, match="a global scale is missing for the scheme"):
        x.quantize(two_levels, parameters)


def test_movement_stays_quantized_and_arithmetic_gives_floats(device: Device) -> None:
    q = Tensor(A, device=device).quantize_dynamic(SCHEME)
    for moved, want in ((q.reshape(3, 2), A.reshape(3, 2)), (q.transpose(), A.T), (q[:, 1:], A[:, 1:])):
        assert moved.is_quantized
        near(moved, want)
    for got, want in (
        (q + q, A + A), (q * 2.0, A * 2), (q.exp(), np.exp(A)), (q.sum_dim(1), A.sum(1, keepdims=True)), (-q, -A),
        (q.floor(), np.floor(q.numpy())), (q.mask_fill(q > 0, 0.0), np.minimum(A, 0)),
        (activation.relu(q), np.maximum(A, 0)),
    ):  # fmt: skip
        assert not got.is_quantized
        near(got, want, 1.0)
    near(q + q[:1], A + A[:1])
    np.testing.assert_array_equal((q > 0).numpy(), A > 0)
    assert q.any().item() is True and q.argmax(1).tolist() == [[0], [0]]


def test_a_float_beside_a_quantized_tensor_decides_the_dtype(device: Device) -> None:
    x, half = Tensor(A, device=device), Tensor(A, device=device, dtype="f16")
    q, coarse = x.quantize_dynamic(SCHEME), x.quantize_dynamic(OTHER)
    for got, dtype in ((q + x, "f32"), (x * q, "f32"), (half - q, "f16"), (q + coarse, "f32")):
        assert got.dtype.name == dtype
    near(q + x, A + A)
    near(q + coarse, A + A, 0.5)
    near(x @ q.transpose(), A @ A.T, 0.3)
    near(q @ x.transpose(), A @ A.T, 0.3)
    near(functional.linear(x, q.transpose(), Tensor([1.0, 2.0], device=device)), A @ A.T + [1, 2], 0.3)


def test_what_is_not_for_quantized_tensors_says_so(device: Device) -> None:
    q = Tensor(A, device=device).quantize_dynamic(SCHEME)
    for call in (q.zeros_like, q.ones_like, q.random_like, lambda: q.one_hot(3), lambda: Tensor.einsum("ij->ji", q)):
        with pytest.raises(DTypeError, match="is quantized"):
            call()
    text = repr(q)
    assert "<quantized values>," in text and f"scheme:  {SCHEME}," in text


# ------------------------------------------------------------------------------------- the backends' own functions

DEVICES = ["cpu", pytest.param("wgpu", marks=pytest.mark.gpu)]
PACKED = QuantScheme(QuantValue.Q4S).per_block((2,), ScaleDtype.F16)


def data(scheme: QuantScheme = PACKED) -> TensorData:
    """[2, 4]: the codes −7 … 7 in steps of two, with scales 0.5, 1, 2 and 4."""
    codes = [-7, -5, -3, -1, 1, 3, 5, 7]
    return TensorData.quantized(codes, (2, 4), scheme, [[0.5, 1.0], [2.0, 4.0]])


VALUES = np.array([[-3.5, -2.5, -3.0, -1.0], [2.0, 6.0, 20.0, 28.0]], np.float32)


@pytest.mark.parametrize("spec", DEVICES)
def test_host_data_becomes_a_quantized_tensor_and_comes_back(spec: str) -> None:
    device = Device(spec)
    t = Tensor.from_data(data(), device)
    assert t.is_quantized and t.dtype is QFloat(PACKED) and t.shape == (2, 4) and t.kind == "float"
    assert t.numpy().tolist() == VALUES.tolist() and t.to_data().as_bytes() == data().as_bytes()
    halves = Tensor.from_data(data(), device, dtype="f16")
    assert halves.dtype.name == "f16" and halves.numpy().tolist() == VALUES.tolist()
    text = repr(t)
    assert "<quantized values>" in text and str(PACKED) in text


@pytest.mark.gpu
def test_a_payload_travels_between_the_backends() -> None:
    there = Tensor.from_data(data(), Device("cpu")).to_device("wgpu")
    assert there.device.type == "wgpu" and there.is_quantized
    assert there.to_data().as_bytes() == data().as_bytes() == there.cpu().to_data().as_bytes()


@pytest.mark.parametrize("spec", DEVICES)
def test_movement_and_arithmetic_of_packed_tensors(spec: str) -> None:
    t = Tensor.from_data(data(), Device(spec))
    for moved, want in (
        (t.transpose(), VALUES.T), (t.flip(1), VALUES[:, ::-1]), (t.reshape(4, 2), VALUES.reshape(4, 2)),
        (t.permute(1, 0).permute(1, 0), VALUES),
    ):  # fmt: skip
        assert moved.is_quantized and moved.numpy().tolist() == want.tolist()
    for got, want in (
        (t + t, VALUES * 2),
        (t * 0.5, VALUES / 2),
        (t @ t.transpose(), VALUES @ VALUES.T),
        (-t, -VALUES),
    ):
        assert not got.is_quantized
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-6)
    assert t.argmax(1).tolist() == [[3], [3]] and t.any().item() is True
    with pytest.raises(ShapeError, match=r"axis 0 of shape \[1\] does not divide into blocks of \[2\]"):
        t.max()  # it would be quantized with the blocks of its operand
    assert t.dequantize().quantize_dynamic(SCHEME).max().item() == 28
    with pytest.raises(ShapeError, match="blocks must divide the last axis"):
        t.reshape(8, 1)


@pytest.mark.parametrize("spec", DEVICES)
def test_every_scheme_brings_numbers_back_within_half_a_step(spec: str) -> None:
    x = np.random.default_rng(3).normal(size=(4, 32)).astype(np.float32)
    device = Device(spec)
    for value in QuantValue:
        for scheme in (QuantScheme(value), QuantScheme(value, QuantStore.native()).per_block((8,), ScaleDtype.F16)):
            found = Tensor(x, device=device).quantize_dynamic(scheme).numpy()
            largest = np.abs(x).max() if scheme.block is None else np.abs(x).reshape(4, 4, 8).max(2).repeat(8, 1)
            low, high = value.range
            scale = 2 * largest / (high - low)
            steps = {QuantValue.E4M3: 32, QuantValue.E5M2: 8192, QuantValue.E2M1: 2}.get(value, 1)
            # The most negative or most positive number may be cut by half a step of an unsymmetric range.
            step = scale * steps * (1.001 if value.is_symmetric else 2)
            assert (np.abs(found - x) <= step / 2 + 1e-6).all(), scheme


@pytest.mark.parametrize("spec", ["cpu:37", pytest.param("wgpu", marks=pytest.mark.gpu)])
def test_results_stay_quantized_where_the_device_says_so(spec: str) -> None:
    from burn_wgpu.std.quant import QuantConfig, QuantPropagation

    # A device object of its own: the settings of the shared one stay.
    plain = Device(spec)
    handle = type(plain.handle)(37) if plain.type == "cpu" else type(plain.handle)(0)
    device = Device.of_handle(handle)
    device.configure(quantization=QuantConfig(SCHEME, QuantPropagation.PROPAGATE))
    t = Tensor(A, device=device).quantize_dynamic(SCHEME)
    total = t + t
    assert total.is_quantized and total.dtype is QFloat(SCHEME)
    near(total, 2 * A, 0.1)
    assert (t @ t.transpose()).is_quantized and t.exp().is_quantized
    with pytest.raises(DTypeError, match="must be a QuantConfig"):
        Device.of_handle(type(plain.handle)(37) if plain.type == "cpu" else type(plain.handle)(0)).configure(
            quantization=QuantPropagation.PROPAGATE  # type: ignore[arg-type]
        )


def test_host_codes_are_checked() -> None:
    codes = list(range(-4, 4))
    for call, error, message in (
        (lambda: TensorData.quantized(codes[1:], (2, 4), PACKED, [1] * 4), ShapeError, "7 values for shape"),
        (lambda: TensorData.quantized(codes, (2, 4), PACKED, [1] * 3), ShapeError, "3 scales for shape"),
        (lambda: TensorData.quantized([8] * 8, (2, 4), PACKED, [1] * 4), ArgumentError, "has 4 bits"),
        (lambda: TensorData.quantized([0.5] * 8, (2, 4), PACKED, [1] * 4), DTypeError, "codes must be ints"),
        (lambda: TensorData.quantized(codes, (2, 4), PACKED, [1] * 4, 2.0), ArgumentError, "a global scale is given"),
        (lambda: TensorData.quantized([0] * 16, (16,), QuantScheme.nvfp4(), [1]), ArgumentError, "is missing"),
        (lambda: TensorData.quantized(codes, (8,), PACKED.per_block((2, 2), ScaleDtype.F32), [1]), ShapeError, "rank"),
        (lambda: data().convert("f32"), DTypeError, "neither quantized"),
    ):  # fmt: skip
        with pytest.raises(error, match=message):
            call()
    assert list(data().iter()) == [-7, -5, -3, -1, 1, 3, 5, 7] and str(data()).startswith(
        "[-7, -5, -3, -1, 1, 3, 5, 7]"
    )
    floats = TensorData.quantized([0, 0x3F, 0x7F, 0xBF], (4,), QuantScheme(QuantValue.E4M3), [1.0])
    assert str(floats).startswith("[<quantized values>]")
    assert floats.num_elements == 4 and floats.rank == 1 and floats.size_bytes == 8
