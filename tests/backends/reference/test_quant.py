"""Quantized tensors of the reference backend, against what Burn wrote."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from burn_wgpu.backends.reference import ReferenceDevice
from burn_wgpu.contract.options import QuantizationParameters
from burn_wgpu.std.data import TensorData
from burn_wgpu.std.dtype import BF16, F16, F32, F64
from burn_wgpu.std.quant import QFloat, QuantMode, QuantScheme, QuantStore, QuantValue, ScaleDtype
from burn_wgpu.std.quantized import QuantizedBytes, quantizable, quantize
from tests.backends.quant_cases import EVERY, MOVED, SCALED, burn_quantized
from tests.backends.reference.tools import CPU, B, floats, read


def restored(shape: Any, scheme: QuantScheme, payload: bytes) -> Any:
    return B.q_from_data(TensorData.from_bytes(payload, shape, QFloat(scheme)), CPU)


def test_burns_payloads_come_back_to_the_byte_and_dequantize_to_its_numbers() -> None:
    count = 0
    for where, shape, scheme, payload in burn_quantized():
        tensor = restored(shape, scheme, payload)
        data = B.q_into_data(tensor)
        assert (data.as_bytes(), data.shape, data.dtype) == (payload, tuple(shape), QFloat(scheme)), where
        if scheme.mode is QuantMode.SYMMETRIC:  # test_quant of std holds these numbers against Burn's own
            want = QuantizedBytes.unpack(payload, shape, scheme).dequantize()
            np.testing.assert_array_equal(read(B.dequantize(tensor, F32)), want)
        count += 1
    assert count == 175


@pytest.mark.parametrize("scheme", [*EVERY, *SCALED], ids=str)
def test_dynamic_quantization_is_burns(scheme: QuantScheme) -> None:
    """`std.quantized.quantize` makes Burn's payloads; so must the contract's reduction, scales and codes."""
    x = np.random.default_rng(0).normal(size=(4, 6, 8)).astype(np.float32)
    assert B.q_into_data(B.quantize_dynamic(floats(x), scheme)).as_bytes() == quantize(x, scheme).pack()


def test_dynamic_quantization_of_blocks_and_levels_is_burns() -> None:
    for shape, scheme in MOVED:
        x = np.random.default_rng(1).normal(size=shape).astype(np.float32)
        assert quantizable(scheme, shape) is None
        assert B.q_into_data(B.quantize_dynamic(floats(x), scheme)).as_bytes() == quantize(x, scheme).pack(), scheme


def test_codes_are_rounded_to_even_and_clamped() -> None:
    scheme = QuantScheme(QuantValue.Q4F, QuantStore.native())
    made = B.quantize(
        floats([0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 100.0, -100.0, np.nan]), scheme, QuantizationParameters(floats([1.0]))
    )
    assert made.parts.codes.tolist() == [0, 2, 2, 0, -2, -2, 7, -8, 0]
    np.testing.assert_array_equal(read(B.dequantize(made, F32)), [0, 2, 2, 0, -2, -2, 7, -8, 0])
    kinds = {QuantValue.E2M1: [0.5, 1.0, 4.0, 6.0, 0.0], QuantValue.E4M3: [0.5, 1.125, 5.0, 448.0, np.nan]}
    for value, want in kinds.items():
        made = B.quantize(
            floats([0.5, 1.125, 5.0, 1e9, np.nan]), QuantScheme(value), QuantizationParameters(floats([1.0]))
        )
        np.testing.assert_array_equal(read(B.dequantize(made, F32)), want)


def test_scales_are_stored_rounded_up_and_the_stored_ones_divide() -> None:
    scheme = QuantScheme(QuantValue.Q8S).per_tensor(ScaleDtype.UE8M0)
    made = B.quantize(floats([3.0, 8.0]), scheme, QuantizationParameters(floats([0.6])))
    np.testing.assert_array_equal(read(B.dequantize(made, F32)), [3.0, 8.0])
    assert B.q_into_data(made).as_bytes()[-1] == 127 and made.parts.codes.tolist() == [3, 8]


@pytest.mark.parametrize("kind", [F16, BF16, F64], ids=str)
def test_a_dtype_is_rounded_to_once(kind: Any) -> None:
    made = B.quantize(floats([1.0, 0.3]), QuantScheme(QuantValue.Q8S), QuantizationParameters(floats([0.0079])))
    want = np.array([127, 38], np.float32) * np.float32(0.0079)
    assert read(B.dequantize(made, kind)).tolist() == TensorData.of(want, kind).numpy().tolist()


def test_another_device_shares_the_payload() -> None:
    shape, scheme = MOVED[0]
    tensor = B.quantize_dynamic(floats(np.ones(shape)), scheme)
    other = ReferenceDevice(23)
    moved = B.q_to_device(tensor, other)
    assert moved.device is other and moved.payload is tensor.payload and B.q_to_device(tensor, CPU) is tensor


def test_turned_twice_a_payload_is_what_it_was_even_with_scales_that_no_one_makes() -> None:
    """Negative scales of a dtype without a sign, and NaN, are moved as bits."""
    scheme = QuantScheme(QuantValue.Q4S, QuantStore.packed_u32(1)).per_block((2,), ScaleDtype.UE4M3)
    tensor = restored((2, 5, 4), scheme, bytes(range(8, 40)) + bytes([0x80, 0xFF, 0x7F, 0x01] * 5))
    clean = B.q_flip(B.q_flip(tensor, (1,)), (1,))
    turned = B.q_permute(B.q_permute(clean, (2, 0, 1)), (1, 2, 0))
    assert turned.payload == clean.payload and turned.dtype is tensor.dtype
    np.testing.assert_array_equal(turned.parts.scales, tensor.parts.scales)
