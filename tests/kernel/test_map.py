"""Elementwise plans: the way each operand is read, grids and parameters, without a device."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from burn_wgpu.kernel.map import Function, Operand, _way, copy_plan, map_plan, variants
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import check
from burn_wgpu.shader.prelude import raw_kind
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.layout import Layout, collapse_together
from burn_wgpu.std.slice import Slice

CAN = Capability()
ADD = Function("float_add", ("elementwise/float",), "f32", "f32")
X = Layout.dense((8, 16))


@pytest.mark.parametrize(
    ("layout", "way"),
    [
        (X, "dense"),
        (X.slice([Slice(1, 3)]), "dense"),
        (Layout.dense((8, 32)).slice([Slice(0, 8), Slice(4, 20)]), "row"),
        (Layout.dense((8, 32)).slice([Slice(0, 8), Slice(3, 19)]), "gather"),
        (Layout.dense((8, 18)).slice([Slice(0, 8), Slice(0, 16)]), "gather"),
        (X.flip([0]), "row"),
        (X.flip([1]), "gather"),
        (Layout.dense((1, 16)).expand((8, 16)), "row"),
        (Layout.dense((8, 1)).expand((8, 16)), "splat"),
        (Layout.dense((8, 1)).expand((8, 15)), "gather"),
        (Layout.dense((1, 1)).expand((8, 15)), "splat"),
        (Layout.dense((16, 8)).swap_dims(0, 1), "gather"),
        (Layout.dense((1, 1)), "dense"),
    ],
)
def test_each_layout_is_read_in_its_cheapest_way(layout: Layout, way: str) -> None:
    axes, strides = collapse_together([Layout.dense(layout.shape), layout])
    assert _way(layout, axes, strides[1]) == way


def test_the_parameters_of_two_dense_operands_are_two_words_and_two_places() -> None:
    plan = map_plan(
        "float_add", ADD, [Operand(X, dt.F32), Operand(X.slice([Slice(0, 8)]), dt.F32)], (8, 16), dt.F32, CAN
    )
    launch = plan.launches[0]
    assert struct.unpack("<4I", launch.params) == (1, 32, 0, 0)
    assert launch.grid == (1, 1, 1) and launch.operands == (0, 1, 2) and launch.scalars == 0
    assert plan.outputs[0].layout is X


def test_shapes_do_not_enter_the_kernel() -> None:
    keys = {
        map_plan("float_add", ADD, [Operand(Layout.dense((n,)), dt.F32)] * 2, (n,), dt.F32, CAN).launches[0].key
        for n in (1, 5, 64, 1000)
    }
    assert len(keys) == 1


def test_empty_results_have_no_launch() -> None:
    plan = map_plan("float_add", ADD, [Operand(Layout.dense((0, 3)), dt.F32)] * 2, (0, 3), dt.F32, CAN)
    assert plan.launches == () and plan.outputs[0].size_bytes == 0


def test_operands_that_need_more_parameters_than_a_slot_are_given_back() -> None:
    deep = Layout.of((2,) * 16, [3**i for i in range(16)], 0)
    assert map_plan("float_add", ADD, [Operand(deep, dt.F32)] * 3, deep.shape, dt.F32, CAN) is None
    assert copy_plan(deep, dt.F32, CAN).launches  # one operand always fits


def test_a_large_tensor_near_two_to_the_31_bytes_keeps_its_indices_in_32_bits() -> None:
    can = Capability(max_binding_bytes=(1 << 31) - 256, max_buffer_bytes=(1 << 31) - 256)
    for kind in (dt.U8, dt.F16, dt.F32, dt.F64):
        n = can.max_binding_bytes // kind.size_bytes
        plan = copy_plan(Layout.dense((n,)).flip([0]), kind, can)
        x, y, _ = plan.launches[0].grid
        check(plan, can)
        chunks = -(-n // 4)
        assert x * y * 1024 >= chunks  # 256 invocations of 4 chunks
        assert 4 * (x * y * 1024 + 1024) < 1 << 32  # the largest index any invocation computes, also those too many
        words = np.frombuffer(plan.launches[0].params, np.uint32)
        assert (words.astype(np.int64) < 1 << 32).all()


def test_scalars_take_one_word_and_64_bit_ones_two() -> None:
    def scalars(value: str, kind) -> int:
        function = Function("f", (), value, value)
        plan = map_plan("f", function, [Operand(X, kind)], X.shape, kind, CAN, (value, value))
        return plan.launches[0].scalars

    assert (scalars("f32", dt.F32), scalars("i64", dt.I64), scalars("bool", dt.BOOL_U8)) == (2, 4, 2)


def test_every_variant_fits_the_default_limits() -> None:
    plans = list(variants(CAN))
    assert len(plans) > 20
    for plan in plans:
        check(plan, CAN)
        for launch in plan.launches:
            assert len(launch.params) + 4 * launch.scalars <= 256


def test_copies_use_kinds_that_need_no_feature() -> None:
    for kind in (dt.I64, dt.F64, dt.F16, dt.BOOL_U8):
        assert copy_plan(X.flip([1]), kind, CAN).launches[0].key.features == frozenset()
        assert raw_kind(kind.size_bytes).feature is None
