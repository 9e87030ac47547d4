"""Quantized tensors over a backend that keeps one code and one scale for each element."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from burn_wgpu import Device, Tensor
from burn_wgpu.backends.reference import ReferenceBackend
from burn_wgpu.std.data import TensorData
from burn_wgpu.std.errors import ArgumentError, DTypeError
from burn_wgpu.std.quant import QFloat, QuantScheme, QuantValue, ScaleDtype
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
