"""Quantized tensors on the device, beside the reference to the byte."""

from __future__ import annotations

from itertools import permutations
from math import prod
from typing import Any

import numpy as np
import pytest

from burn_wgpu.backends.wgpu.tensor import WgpuDevice
from burn_wgpu.contract.options import QuantizationParameters
from burn_wgpu.contract.transaction_ops import TransactionPrimitive
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.data import TensorData
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.errors import ArgumentError, DTypeError, ShapeError, UnsupportedError
from burn_wgpu.std.quant import QFloat, QuantMode, QuantScheme, QuantStore, QuantValue, ScaleDtype
from burn_wgpu.testing.launches import CountingDevice
from tests.backends.quant_cases import EVERY, MOVED, SCALED, SCALES, burn_quantized, numbers, ties
from tests.backends.wgpu.oracle import REF, REF_DEVICE, B, layouts, up

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def device() -> WgpuDevice:
    return WgpuDevice(0)


def payload(tensor: Any) -> bytes:
    backend = REF if tensor.device is REF_DEVICE else B
    data = backend.q_into_data(tensor)
    assert data.dtype is tensor.dtype and data.shape == tensor.shape
    return data.as_bytes()


def both(x: Any, scheme: QuantScheme, scales: Any, overall: Any, device: WgpuDevice, kind: DType = dt.F32) -> Any:
    """The reference's and the device's tensor of the same numbers and scales."""
    made = []
    for b, d in ((REF, REF_DEVICE), (B, device)):
        parameters = QuantizationParameters(
            up(scales, dt.F32, d), None if overall is None else up([overall], dt.F32, d)
        )
        made.append(b.quantize(up(x, kind, d), scheme, parameters))
    return made


def same(reference: Any, found: Any) -> None:
    assert found.shape == reference.shape and found.dtype is reference.dtype
    assert payload(found) == payload(reference)


def same_numbers(reference: Any, found: Any, kind: DType = dt.F32) -> None:
    """To the bit, but for what is in a NaN, and for the sign of one."""
    want = REF.float_into_data(REF.dequantize(reference, kind))
    got = B.float_into_data(B.dequantize(found, kind))
    assert got.dtype is kind and got.shape == want.shape
    a, b = want.numpy(), got.numpy()
    np.testing.assert_array_equal(np.isnan(a), np.isnan(b))
    finite = ~np.isnan(a)
    assert want.array[finite].tobytes() == got.array[finite].tobytes()


def scales_for(scheme: QuantScheme, shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(5).uniform(0.01, 0.02, scheme.params_shape(shape)).astype(np.float32)


def overall_for(scheme: QuantScheme) -> float | None:
    return None if scheme.global_scale_dtype is None else 0.37


def test_what_burn_wrote_goes_up_and_down_to_the_byte_and_has_burns_numbers(device: WgpuDevice) -> None:
    count = 0
    for where, shape, scheme, raw in burn_quantized():
        data = TensorData.from_bytes(raw, shape, QFloat(scheme))
        here, there = REF.q_from_data(data, REF_DEVICE), B.q_from_data(data, device)
        assert payload(here) == payload(there) == raw, where
        if scheme.mode is QuantMode.SYMMETRIC:
            same_numbers(here, there)
        count += 1
    assert count == 175


@pytest.mark.parametrize("scheme", EVERY, ids=str)
@pytest.mark.parametrize("shape", [(4, 16), (3, 5, 7)], ids=str)
def test_every_kind_in_every_store(shape: tuple[int, ...], scheme: QuantScheme, device: WgpuDevice) -> None:
    reference, found = both(numbers(shape), scheme, [0.0172], None, device)
    same(reference, found)
    same_numbers(reference, found)


@pytest.mark.parametrize(("shape", "scheme"), MOVED, ids=str)
def test_blocks_levels_and_packed_axes(shape: tuple[int, ...], scheme: QuantScheme, device: WgpuDevice) -> None:
    reference, found = both(numbers(shape), scheme, scales_for(scheme, shape), overall_for(scheme), device)
    same(reference, found)
    same_numbers(reference, found)


@pytest.mark.parametrize("value", QuantValue)
def test_ties_and_their_neighbours_go_where_the_exact_quotient_says(value: QuantValue, device: WgpuDevice) -> None:
    scheme = QuantScheme(value, QuantStore.native())
    for scale in (0.0172, 1 / 3, 7.0, 1e-20):
        same(*both(ties(value, scale), scheme, [scale], None, device))


@pytest.mark.parametrize("scheme", SCALED, ids=str)
def test_scales_are_rounded_up_and_what_is_no_scale_is_replaced(scheme: QuantScheme, device: WgpuDevice) -> None:
    blocks = QuantScheme(scheme.value, scheme.store).per_block((2,), scheme.scale_dtype)
    x = np.random.default_rng(1).normal(size=(SCALES.size, 2)).astype(np.float32)
    reference, found = both(x, blocks, SCALES.reshape(-1, 1), None, device)
    same(reference, found)
    same_numbers(reference, found)
    same(*both(x, scheme, [0.0172], None, device))


def test_tiny_global_scales_keep_their_digits(device: WgpuDevice) -> None:
    scheme = QuantScheme.nvfp4()
    for overall in (2.0**-126, 1e-36, 0.0, float("nan")):
        x = np.random.default_rng(2).normal(size=(2, 32)).astype(np.float32) * np.float32(1e-34)
        reference, found = both(x, scheme, [[1.5, 448.0], [0.25, 0.002]], overall, device)
        same(reference, found)
        same_numbers(reference, found)


@pytest.mark.filterwarnings("ignore::burn_wgpu.PrecisionWarning")
@pytest.mark.parametrize("kind", [dt.F16, dt.BF16, dt.F64], ids=str)
def test_other_floats_come_and_go(kind: DType, device: WgpuDevice) -> None:
    scheme = QuantScheme(QuantValue.Q8S).per_block((4,), ScaleDtype.F16)
    x = np.random.default_rng(3).normal(size=(3, 8))
    reference, found = both(x, scheme, scales_for(scheme, (3, 8)), None, device, kind)
    same(reference, found)
    same_numbers(reference, found, kind)
    with pytest.raises(DTypeError, match="no floats of i32"):
        B.dequantize(found, dt.I32)


def test_any_layout_of_numbers_and_scales(device: WgpuDevice) -> None:
    values = np.random.default_rng(4).normal(size=(3, 4, 6)).astype(np.float32)
    scheme = QuantScheme(QuantValue.Q4S).per_block((2, 3), ScaleDtype.F32)
    scales = scales_for(scheme, values.shape)
    want = payload(both(values, scheme, scales, None, device)[0])
    turned = B.float_permute(up(scales.transpose(2, 1, 0), dt.F32, device), (2, 1, 0))
    for name, t in layouts(values, dt.F32, device):
        assert payload(B.quantize(t, scheme, QuantizationParameters(turned))) == want, name


@pytest.mark.parametrize(("shape", "scheme"), MOVED, ids=str)
def test_movement_keeps_codes_and_scales(shape: tuple[int, ...], scheme: QuantScheme, device: WgpuDevice) -> None:
    x = np.random.default_rng(6).normal(size=shape).astype(np.float32)
    reference, found = both(x, scheme, scales_for(scheme, shape), overall_for(scheme), device)
    values = REF.float_into_data(REF.dequantize(reference, dt.F32)).array
    rank = len(shape)
    for axes in permutations(range(rank)):
        want = REF.q_permute(reference, axes)
        same(want, B.q_permute(found, axes))
        np.testing.assert_array_equal(REF.float_into_data(REF.dequantize(want, dt.F32)).array, values.transpose(axes))
    for axes in ((0,), (rank - 1,), tuple(range(rank))):
        want = REF.q_flip(reference, axes)
        same(want, B.q_flip(found, axes))
        np.testing.assert_array_equal(REF.float_into_data(REF.dequantize(want, dt.F32)).array, np.flip(values, axes))
    same(REF.q_swap_dims(reference, 0, rank - 1), B.q_swap_dims(found, 0, rank - 1))
    back = B.q_swap_dims(B.q_swap_dims(found, 0, rank - 1), 0, rank - 1)
    assert payload(back) == payload(found) and back.dtype is found.dtype


@pytest.mark.parametrize(("shape", "scheme"), MOVED, ids=str)
def test_reshapes_that_keep_the_blocks(shape: tuple[int, ...], scheme: QuantScheme, device: WgpuDevice) -> None:
    x = np.random.default_rng(7).normal(size=shape).astype(np.float32)
    reference, found = both(x, scheme, scales_for(scheme, shape), overall_for(scheme), device)
    values = REF.float_into_data(REF.dequantize(reference, dt.F32)).array
    size, block = prod(shape), scheme.block_size
    done = 0
    for target in ((size,), (1, *shape), (*shape[:-1], 1, shape[-1]), (prod(shape[:-1]), shape[-1]), (2, size // 2)):
        if prod(target) != size or scheme.store.dim >= len(target) and block and len(block) > len(target):
            continue
        try:
            want = REF.q_reshape(reference, target)
        except ShapeError as error:
            assert block is not None
            with pytest.raises(ShapeError, match="reshape: shape") as caught:
                B.q_reshape(found, target)
            assert str(caught.value) == str(error)
            continue
        same(want, B.q_reshape(found, target))
        np.testing.assert_array_equal(REF.float_into_data(REF.dequantize(want, dt.F32)).array, values.reshape(target))
        done += 1
    assert done


def test_blocks_of_rank_two_cannot_be_reshaped_apart(device: WgpuDevice) -> None:
    scheme = QuantScheme(QuantValue.Q8S).per_block((2, 2), ScaleDtype.F32)
    for found in both(np.ones((4, 4)), scheme, np.ones((2, 2)), None, device):
        b = REF if found.device is REF_DEVICE else B
        with pytest.raises(ShapeError, match=r"reshape: shape \[4, 4\] with blocks of \[2, 2\] to \[16\]"):
            b.q_reshape(found, (16,))


def test_dynamic_scales_are_those_of_the_reference(device: WgpuDevice) -> None:
    """A driver's quotient may be a unit off, so the scales are near and the codes those of near scales."""
    for shape, scheme in MOVED:
        x = np.random.default_rng(8).normal(size=shape).astype(np.float32)
        want = REF.quantize_dynamic(up(x, dt.F32, REF_DEVICE), scheme)
        got = B.quantize_dynamic(up(x, dt.F32, device), scheme)
        assert got.dtype is want.dtype
        a = REF.float_into_data(REF.dequantize(want, dt.F32)).array
        b = B.float_into_data(B.dequantize(got, dt.F32)).array
        near = np.isclose(a, b, rtol=1e-5, atol=1e-7)
        assert near.mean() > 0.98, scheme


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1, 1)], ids=str)
@pytest.mark.parametrize("store", [QuantStore.native(), QuantStore.packed_native(), QuantStore.packed_u32()], ids=str)
def test_no_axis_and_no_element(shape: tuple[int, ...], store: QuantStore, device: WgpuDevice) -> None:
    scheme = QuantScheme(QuantValue.Q4S, store)
    reference, found = both(np.full(shape, 0.5), scheme, [0.25], None, device)
    same(reference, found)
    same_numbers(reference, found)
    if shape:
        same(REF.q_flip(reference, (0,)), B.q_flip(found, (0,)))
        same(REF.q_reshape(reference, (prod(shape),)), B.q_reshape(found, (prod(shape),)))
        dynamic = B.quantize_dynamic(up(np.full(shape, 0.5), dt.F32, device), scheme)
        same(REF.quantize_dynamic(up(np.full(shape, 0.5), dt.F32, REF_DEVICE), scheme), dynamic)


def test_what_is_refused_on_both(device: WgpuDevice) -> None:
    two = QuantScheme(QuantValue.Q8S).per_block((2,), ScaleDtype.F32).per_tensor(ScaleDtype.F32)
    lookup = QuantScheme(QuantValue.Q4S).with_mode(QuantMode.LOOKUP)
    ragged = QuantScheme(QuantValue.Q8S, QuantStore.native()).per_block((2,), ScaleDtype.F32)
    for b, d in ((REF, REF_DEVICE), (B, device)):
        x, one = up(np.ones((2, 3)), dt.F32, d), QuantizationParameters(up([1.0], dt.F32, d))
        for scheme, message in (
            (lookup, "mode Lookup"), (ragged, "do not divide"), (two, "must be F16 or UE4M3"),
            (QuantScheme(store=QuantStore.packed_u32(2)), "packed dimension 2"),
        ):  # fmt: skip
            with pytest.raises(ArgumentError, match=message):
                b.quantize(x, scheme, one)
        with pytest.raises(ArgumentError, match="a global scale is missing"):
            b.quantize(up(np.ones((2, 16)), dt.F32, d), QuantScheme.nvfp4(), one)
        with pytest.raises(ShapeError, match=r"scales of shape \[2\]"):
            b.quantize(x, QuantScheme(), QuantizationParameters(up([1.0, 1.0], dt.F32, d)))
        carried = b.q_from_data(TensorData.from_bytes(bytes(8), (8,), QFloat(lookup)), d)
        assert b.q_into_data(b.q_flip(carried, (0,))).as_bytes() == bytes(8)
        with pytest.raises(UnsupportedError, match="mode Lookup needs a table"):
            b.dequantize(carried, dt.F32)
        # Three elements in blocks of two are read, but the short block cannot come first.
        short = b.q_from_data(TensorData.from_bytes(bytes(6) + bytes(16), (2, 3), QFloat(ragged)), d)
        assert b.dequantize(short, dt.F32).shape == (2, 3)
        assert b.q_flip(short, (0,)).shape == (2, 3)
        with pytest.raises(ShapeError, match="a flipped axis must be a whole number of blocks"):
            b.q_flip(short, (1,))
    with pytest.raises(DTypeError, match="not a device of the wgpu backend"):
        B.q_to_device(B.q_from_data(TensorData.from_bytes(bytes(8), (4,), QFloat(QuantScheme())), device), REF_DEVICE)


def test_another_device_gets_the_payload(device: WgpuDevice) -> None:
    for shape, scheme in MOVED[:4]:
        reference, found = both(numbers(shape), scheme, scales_for(scheme, shape), None, device)
        other = WgpuDevice(0, default_limits=True)
        moved = B.q_to_device(found, other)
        assert moved.device is other and B.q_to_device(found, device) is found
        same(reference, moved)


def _drawn(rng: np.random.Generator) -> tuple[tuple[int, ...], QuantScheme]:
    """A shape of up to five axes with a scheme that fits it."""
    rank = int(rng.integers(0, 6))
    extents = [int(e) for e in rng.choice([1, 1, 2, 3, 4, 8], rank)]
    shape = tuple(int(e * rng.integers(1, 4)) for e in extents)
    packed = int(rng.integers(0, max(rank, 1)))
    store = (QuantStore.native(), QuantStore.packed_native(packed), QuantStore.packed_u32(packed))[rng.integers(3)]
    scheme = QuantScheme(list(QuantValue)[rng.integers(9)], store)
    dtype, levels = list(ScaleDtype)[rng.integers(5)], rng.integers(3)
    if levels == 0 or rank == 0:
        return shape, scheme.per_tensor(dtype)
    scheme = scheme.per_block(extents[rng.integers(0, rank) :], dtype)
    two = levels == 2 and dtype in (ScaleDtype.F16, ScaleDtype.UE4M3)
    return shape, scheme.per_tensor(ScaleDtype.F32) if two else scheme


@pytest.mark.parametrize("seed", range(25))
def test_drawn_schemes_survive_a_chain_of_movements(seed: int, device: WgpuDevice) -> None:
    rng = np.random.default_rng(seed)
    shape, scheme = _drawn(rng)
    x = (rng.normal(size=shape) * 10.0 ** rng.integers(-6, 7)).astype(np.float32)
    a, b = both(x, scheme, scales_for(scheme, shape), overall_for(scheme), device)
    same(a, b)
    for _ in range(3):
        axes = tuple(int(i) for i in rng.permutation(len(a.shape)))
        name, argument = (
            ("q_permute", axes), ("q_flip", axes[: rng.integers(0, len(axes) + 1)]), ("q_reshape", (1, *a.shape)),
        )[rng.integers(3)]  # fmt: skip
        try:
            a = getattr(REF, name)(a, argument)
        except ArgumentError as error:  # a block of more than five extents
            with pytest.raises(ArgumentError) as caught:
                getattr(B, name)(b, argument)
            assert str(caught.value) == str(error)
            continue
        b = getattr(B, name)(b, argument)
        same(a, b)
    same_numbers(a, b)


def test_a_transaction_reads_quantized_tensors_in_the_same_wait(
    device: WgpuDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    (shape, scheme), (other, native) = MOVED[1], MOVED[2]
    first, second = (both(numbers(s), q, [0.1], None, device)[1] for s, q in ((shape, scheme), (other, native)))
    transaction = TransactionPrimitive([up([1.5], dt.F32, device)], [first, second], [], [])
    waits: list[int] = []
    download = device.client.stream.download
    monkeypatch.setattr(
        device.client.stream, "download", lambda requests: (waits.append(len(requests)), download(requests))[1]
    )
    found = B.tr_execute(transaction)
    assert waits == [3] and found.read_floats[0].to_vec() == [1.5]
    for data, tensor in zip(found.read_qfloats, (first, second), strict=True):
        assert data.dtype is tensor.dtype and data.shape == tensor.shape and data.as_bytes() == payload(tensor)


def test_one_kernel_each_and_none_where_only_names_change() -> None:
    device = CountingDevice()
    device.client  # noqa: B018  # opened before it counts

    def launches(call: Any) -> tuple[int, Any]:
        device.cost.launches.clear()
        result = call()
        return len(device.cost.launches), result

    x, scales = up(np.ones((6, 32)), dt.F32, device), QuantizationParameters(up([0.5], dt.F32, device))
    count, q = launches(lambda: B.quantize(x, QuantScheme(QuantValue.Q4S), scales))
    assert count == 1
    for wanted, call in (
        (1, lambda: B.dequantize(q, dt.F32)),
        (1, lambda: B.q_flip(q, (1,))),
        (0, lambda: B.q_swap_dims(q, 0, 1)),  # the packed axis moves along: the same payload
        (0, lambda: B.q_reshape(q, (2, 3, 32))),
        (0, lambda: B.q_reshape(q, (192,))),
        (1, lambda: B.q_reshape(B.q_swap_dims(q, 0, 1), (4, 8, 6))),  # packed along another axis than before
        (0, lambda: B.q_permute(B.q_reshape(q, (1, 6, 32)), (1, 0, 2))),
        (1, lambda: B.q_permute(B.q_reshape(q, (2, 3, 32)), (1, 0, 2))),
    ):
        assert launches(call)[0] == wanted
    nvfp4 = QuantScheme.nvfp4()
    parameters = QuantizationParameters(up(np.ones((6, 2)), dt.F32, device), up([0.5], dt.F32, device))
    assert launches(lambda: B.quantize(x, nvfp4, parameters))[0] == 1
    # The largest magnitudes, the scales, the codes: no minimum and maximum apart.
    assert launches(lambda: B.quantize_dynamic(x, QuantScheme()))[0] == 3
    assert launches(lambda: B.quantize_dynamic(x, QuantScheme().per_block((8,), ScaleDtype.F16)))[0] == 3
