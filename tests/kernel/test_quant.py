"""Plans of quantized tensors: sizes, limits, which payloads only change their names. No device is needed."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from burn_wgpu.kernel.quant import Form, dequantize_plan, move_plan, quantize_plan, same_payload, variants
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import Out, check, check_outputs
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.errors import UnsupportedError
from burn_wgpu.std.layout import Layout
from burn_wgpu.std.quant import QuantScheme, QuantStore, QuantValue, ScaleDtype
from burn_wgpu.std.quantized import QuantizedBytes, StoredParts
from tests.backends.quant_cases import EVERY, MOVED

DEFAULT = Capability()


def codes(shape: tuple[int, ...], scheme: QuantScheme) -> StoredParts:
    """A payload whose codes and scales are all different as far as they can be."""
    top = 1 << scheme.value.bits
    numbers = (np.arange(np.prod(shape, dtype=int)) % top).astype(np.uint8).reshape(shape)
    if not scheme.value.is_float:
        shift = np.uint8(8 - scheme.value.bits)
        numbers = ((numbers << shift).view(np.int8) >> shift.view(np.int8)).view(np.uint8)
    scales = np.arange(1, 1 + np.prod(scheme.grid(shape), dtype=int), dtype=np.float32).reshape(scheme.grid(shape))
    overall = None if scheme.global_scale_dtype is None else np.float32(2)
    raw = QuantizedBytes(scheme, numbers.view(np.int8), scales, overall).pack()
    return StoredParts.split(raw, shape, scheme)


def test_no_plan_exceeds_the_default_limits() -> None:
    count = 0
    for plan in variants(DEFAULT):
        check(plan, DEFAULT)
        assert len(plan.launches) == 1 and len(plan.launches[0].params) <= 256
        count += 1
    assert count > 100
    for shape in ((1 << 28,), (1 << 20, 256), (3,) * 16):
        scheme = QuantScheme(QuantValue.Q4S).per_block(
            (1,) * 4 + (shape[-1],) if shape == (3,) * 16 else (4,), ScaleDtype.F32
        )
        plan = dequantize_plan(shape, scheme, dt.F16, DEFAULT)
        check(plan, DEFAULT)
        assert plan.outputs == (Out.of(shape, dt.F16),) and len(plan.launches[0].params) <= 256
        made = quantize_plan(Layout.dense(shape), dt.F32, scheme, dt.F32, None, DEFAULT)
        check(made, DEFAULT)
        assert made.outputs[0].size_bytes == -(-scheme.payload_bytes(shape) // 4) * 4


def test_more_bytes_than_a_kernel_counts_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="bytes of one quantized tensor"):
        quantize_plan(Layout.dense((1 << 32,)), dt.F32, QuantScheme(), dt.F32, None, DEFAULT)
    check_outputs(dequantize_plan((1 << 31,), QuantScheme(QuantValue.Q4S), dt.F16, DEFAULT), DEFAULT)


@pytest.mark.parametrize("scheme", EVERY, ids=str)
@pytest.mark.parametrize("shape", [(4, 6, 32), (3, 5, 7), (2, 1), (4, 0, 3)], ids=str)
def test_the_parts_of_a_payload_are_as_long_as_the_format_says(shape: tuple[int, ...], scheme: QuantScheme) -> None:
    form = Form(shape, scheme)
    assert form.value_bytes + form.scale_count * scheme.scale_dtype.size_bytes == scheme.payload_bytes(shape)
    assert form.words * 4 - form.payload_bytes in range(4)


@pytest.mark.parametrize(("shape", "scheme"), MOVED, ids=str)
def test_a_payload_keeps_its_bytes_where_permuting_only_renames(shape: tuple[int, ...], scheme: QuantScheme) -> None:
    parts = codes(shape, scheme)
    kept = 0
    for axes in permutations(range(len(shape))):
        target = scheme.permute_dims(axes)
        scales = parts.scales if scheme.block is None else parts.scales.transpose(axes)
        moved = StoredParts(parts.codes.transpose(axes), scales, parts.global_scale).join(target)
        same = same_payload(Form(shape, scheme), axes, target)
        if same:
            assert moved == parts.join(scheme), axes
            kept += 1
    assert kept >= 1  # not to permute at all


def test_a_packed_matrix_is_transposed_by_its_name_and_bytes_are_not() -> None:
    for store in (QuantStore.packed_u32(), QuantStore.packed_native(), QuantStore.packed_u32(1)):
        scheme = QuantScheme(QuantValue.Q4S, store)
        assert same_payload(Form((4, 6), scheme), (1, 0), scheme.permute_dims((1, 0)))
    native = QuantScheme(QuantValue.Q4S, QuantStore.native())
    assert not same_payload(Form((4, 6), native), (1, 0), native)
    assert same_payload(Form((4, 1), native), (1, 0), native)
    assert same_payload(Form((), QuantScheme()), (), QuantScheme())


def test_a_plan_is_a_value() -> None:
    scheme = QuantScheme.nvfp4()
    layout, form = Layout.dense((6, 32)), Form((6, 32), scheme)
    assert quantize_plan(layout, dt.F32, scheme, dt.F32, dt.F32, DEFAULT) == quantize_plan(
        layout, dt.F32, scheme, dt.F32, dt.F32, DEFAULT
    )
    grid = form.places_of_scales()
    assert move_plan("q_flip", form, layout, grid, scheme, DEFAULT) == move_plan(
        "q_flip", form, layout, grid, scheme, DEFAULT
    )
    assert dequantize_plan((0, 3), QuantScheme(), dt.F32, DEFAULT).launches == ()
