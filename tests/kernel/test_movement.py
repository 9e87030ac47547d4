"""Plans of copies: when tiles are used, how wide a unit gets, what is left out."""

from __future__ import annotations

import numpy as np
import pytest

from burn_wgpu.kernel.movement import (
    cat_plan,
    contiguous_plan,
    full_bits,
    full_plan,
    place_launch,
    slice_assign_plan,
    transpose_plan,
    variants,
)
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import check
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.layout import Layout
from burn_wgpu.std.slice import Slice

CAN = Capability()


@pytest.mark.parametrize(
    ("layout", "tiled"),
    [
        (Layout.dense((40, 50)).swap_dims(0, 1), True),
        (Layout.dense((3, 40, 50)).swap_dims(1, 2), True),
        (Layout.dense((40, 50)), False),
        (Layout.dense((40, 8)).swap_dims(0, 1), False),  # too narrow for tiles
        (Layout.dense((40, 50)).flip([1]), False),
        (Layout.dense((20, 30, 40)).permute((2, 0, 1)), True),  # the two it passes are one
        (Layout.dense((20, 30, 40)).permute((2, 1, 0)), False),  # the fast axis ends two places away
        (Layout.dense((0, 50)).swap_dims(0, 1), False),
    ],
)
def test_tiles_are_used_where_the_fast_axis_changes_places_with_its_neighbour(layout: Layout, tiled: bool) -> None:
    plan = transpose_plan(layout, dt.F32, CAN, "t")
    assert (plan is not None) == (tiled and layout.size > 0)
    if tiled:
        assert contiguous_plan(layout, dt.F32, CAN).launches[0].key.file == "movement/transpose"


@pytest.mark.parametrize(
    ("width", "kind", "file", "unit"),
    [
        (16, dt.F32, "movement/place", "vec4<u32>"),
        (6, dt.F32, "movement/place", "vec2<u32>"),
        (5, dt.F32, "movement/place", "u32"),
        (16, dt.U8, "movement/place", "vec4<u32>"),
        (6, dt.U8, "movement/place_packed", "u32"),
        (7, dt.F16, "movement/place_packed", "u32"),
        (3, dt.F64, "movement/place", "vec2<u32>"),
    ],
)
def test_a_copy_moves_the_widest_units_that_both_sides_allow(width: int, kind, file: str, unit: str) -> None:
    region = Layout.dense((5, 2 * width)).slice([Slice.full(), Slice(width, 2 * width)])
    launch = place_launch(Layout.dense((5, width)), region, kind.size_bytes, (0, 1), CAN)
    assert launch.key.file == file
    assert f"src: array<{unit}>" in launch.key.prelude


def test_nothing_is_launched_for_nothing() -> None:
    empty = Layout.dense((0, 4))
    assert place_launch(empty, empty, 4, (0, 1), CAN) is None
    plan = cat_plan([empty, Layout.dense((2, 4)), empty], 0, dt.F32, CAN)
    assert len(plan.launches) == 1 and plan.outputs[0].layout is Layout.dense((2, 4))
    plan = slice_assign_plan(Layout.dense((3,)), [Slice(1, 1)], Layout.dense((0,)), dt.F32, CAN)
    assert len(plan.launches) == 1


def test_cat_writes_each_tensor_behind_the_one_before() -> None:
    plan = cat_plan([Layout.dense((2, 3)), Layout.dense((2, 5))], 1, dt.F32, CAN)
    assert plan.outputs[0].layout is Layout.dense((2, 8))
    places = [np.frombuffer(launch.params, np.uint32)[3] for launch in plan.launches]
    assert places == [0, 3] and [launch.operands for launch in plan.launches] == [(0, 2), (1, 2)]


def test_the_stored_bytes_become_words() -> None:
    assert full_bits(b"\x07") == b"\x07\0\0\0" and full_bits(b"\1\2") == b"\1\2\0\0"
    assert full_bits(bytes(range(8))) == bytes(range(8))
    assert full_plan((3,), dt.F64, CAN).launches[0].scalars == 2


def test_every_variant_fits_the_default_limits() -> None:
    plans = list(variants(CAN))
    files = {launch.key.file for plan in plans for launch in plan.launches}
    assert {"movement/transpose", "movement/place", "movement/place_packed", "elementwise/map"} <= files
    for plan in plans:
        check(plan, CAN)
        assert all(len(launch.params) + 4 * launch.scalars <= 256 for launch in plan.launches)
