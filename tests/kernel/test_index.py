"""Plans of reading and writing by index, without a device."""

from __future__ import annotations

from math import prod

import pytest

from burn_wgpu.contract.options import IndexingUpdateOp as Update
from burn_wgpu.kernel import scatter
from burn_wgpu.kernel.index import (
    Axis,
    embedding_places,
    gather_nd_places,
    gather_places,
    gather_plan,
    select_places,
)
from burn_wgpu.kernel.scatter import block_size, scatter_nd_places, scatter_places, scatter_plan, select_assign_places
from burn_wgpu.kernel.where import TILE, arange_plan, count_plan, where_plan
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.fault import FAULT_OPERAND
from burn_wgpu.shader.launch import Plan, check
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.layout import Layout
from burn_wgpu.std.slice import Slice

DEFAULT = Capability()  # WebGPU's own limits
SLOT_BYTES = 256


def fits(plan: Plan) -> None:
    check(plan, DEFAULT)
    for launch in plan.launches:
        assert len(launch.params) + 4 * launch.scalars <= SLOT_BYTES
        assert launch.key.bindings == len(launch.operands)


def embedding(width: int, kind: dt.DType = dt.F32, offset: int = 0) -> Plan:
    weights = Layout.of((100, width), (width, 1), offset)
    return gather_plan("embedding", embedding_places(weights, Layout.dense((2, 7))), kind, dt.I32, DEFAULT)


@pytest.mark.parametrize(
    ("width", "kind", "offset", "unit"),
    [
        (384, dt.F32, 0, "vec4<u32>"), (6, dt.F32, 0, "vec2<u32>"), (5, dt.F32, 0, "u32"), (384, dt.F32, 1, "u32"),
        (384, dt.F32, 2, "vec2<u32>"), (384, dt.F16, 0, "vec4<u32>"), (3, dt.I64, 0, "vec2<u32>"),
        (4, dt.I64, 0, "vec4<u32>"), (16, dt.U8, 0, "vec4<u32>"),
    ],
    ids=str,
)  # fmt: skip
def test_rows_move_in_the_widest_unit_that_fits(width: int, kind: dt.DType, offset: int, unit: str) -> None:
    plan = embedding(width, kind, offset)
    (launch,) = plan.launches
    assert launch.key.file == "index/gather"
    assert f"src: array<{unit}>;" in launch.key.prelude
    assert launch.operands == (0, 1, 2, FAULT_OPERAND) and plan.flags
    assert plan.outputs[0].layout.shape == (2, 7, width)
    fits(plan)


def test_small_elements_in_odd_rows_own_whole_words() -> None:
    (launch,) = embedding(7, dt.U8).launches
    assert launch.key.file == "index/gather_packed"
    assert "const PER_WORD: u32 = u32(4);" in launch.key.prelude


def test_sizes_are_parameters_so_that_kernels_are_shared() -> None:
    assert embedding(384).launches[0].key == embedding(400).launches[0].key
    assert embedding(384).launches[0].params != embedding(400).launches[0].params


def test_places_of_each_way_of_reading() -> None:
    tensor, indices = Layout.dense((4, 5, 6)), Layout.dense((3,))
    picked = select_places(tensor, 1, indices)
    assert (picked.source, picked.at) == (Layout.of((4, 3, 6), (30, 0, 1)), Layout.of((4, 3, 6), (0, 1, 0)))
    assert picked.axes == (Axis(5, 6),)
    picked = gather_places(1, tensor, Layout.dense((2, 9, 6)))
    assert (picked.source, picked.axes) == (Layout.of((2, 9, 6), (30, 0, 1)), (Axis(5, 6),))
    picked = gather_nd_places(tensor, Layout.dense((7, 2)))
    assert (picked.source, picked.at) == (Layout.of((7, 6), (0, 1)), Layout.of((7, 6), (2, 0)))
    assert picked.axes == (Axis(4, 30), Axis(5, 6)) and picked.index_step == 1


def test_an_empty_output_has_no_launch() -> None:
    plan = gather_plan("select", select_places(Layout.dense((4, 0)), 0, Layout.dense((3,))), dt.F32, dt.I32, DEFAULT)
    assert plan.launches == () and plan.outputs[0].layout.shape == (3, 0)


def test_numbers_beyond_a_slot_become_constants() -> None:
    shape, inner = (3,) * 16, (2,) * 16
    reverse = Layout.dense(inner).permute(range(15, -1, -1))
    every = Layout.dense(shape).slice([Slice(0, 2)] * 16)
    fits(gather_plan("gather", gather_places(8, every, reverse), dt.F32, dt.I32, DEFAULT))
    plan = scatter_plan("scatter", scatter_places(shape, 8, every, reverse), True, dt.F32, dt.I32, Update.ADD, DEFAULT)
    fits(plan)
    assert "const NUMBER_" in plan.launches[0].key.prelude


def select_assign(rows: int, width: int, entries: int, update: Update = Update.ADD, kind: dt.DType = dt.F32) -> Plan:
    values = Layout.dense((entries, width))
    places = select_assign_places((rows, width), 0, Layout.dense((entries,)), values)
    return scatter_plan("select_assign", places, False, kind, dt.I64, update, DEFAULT)


def files(plan: Plan) -> list[str]:
    return [launch.key.file for launch in plan.launches]


def test_few_candidates_are_looked_at_and_many_are_sorted() -> None:
    assert files(select_assign(100_000, 64, scatter.FEW_CANDIDATES)) == ["index/scatter_few"]
    assert files(select_assign(16, 16, 4000)) == ["index/scatter_few"]
    assert files(select_assign(16, 16, 20_000))[0] == "index/rows"
    plan = select_assign(30_000, 384, 1024)
    assert files(plan) == ["index/rows", "sort/radix", "index/blocks", "index/segments"]
    assert files(select_assign(30_000, 384, 1024, Update.ASSIGN)) == ["index/rows", "sort/radix", "index/segments"]
    assert files(select_assign(30_000, 384, 100)) == ["index/rows", "sort/radix", "index/segments"]
    fits(plan)


@pytest.mark.parametrize("update", Update)
@pytest.mark.parametrize("kind", [d for d in dt.ALL if d is not dt.BOOL], ids=str)
@pytest.mark.parametrize("entries", [3, 9000])
def test_every_update_fits_the_default_limits_without_features(update: Update, kind: dt.DType, entries: int) -> None:
    shape = (2000, 40)
    grid = Layout.dense((entries, 40))
    for places, linear in (
        (select_assign_places(shape, 0, Layout.dense((entries,)), grid), False),
        (scatter_places(shape, 0, grid, grid), True),
        (scatter_nd_places(shape, Layout.dense((entries, 1))), False),
    ):
        plan = scatter_plan("update", places, linear, kind, dt.I64, update, DEFAULT)
        fits(plan)
        assert not any(launch.key.features for launch in plan.launches)
        assert plan.flags


@pytest.mark.parametrize("entries", [1, 1000, 131_072, 131_073, 1_000_000, 20_000_000])
def test_an_invocation_never_loops_too_long(entries: int) -> None:
    """Four elements, each with two ends of a segment and the blocks between; Mesa 22.3 ends loops at 65,535."""
    block = block_size(entries)
    assert block < 60_000
    assert 4 * (2 * block + entries // block + 64) < 60_000
    assert 4 * scatter.MOST_CANDIDATES < 60_000


def test_argwhere_reads_a_count_and_writes_coordinates() -> None:
    plan = count_plan(3 * TILE + 1, dt.BOOL_U8, DEFAULT)
    assert files(plan) == ["index/count", "index/offsets"]
    assert [out.layout.shape for out in plan.outputs] == [(4,), (1,)]
    fits(plan)
    plan = where_plan((3, TILE), 17, dt.BOOL_U8, dt.I32, DEFAULT)
    assert files(plan) == ["index/where"] and plan.outputs[0].layout.shape == (17, 2)
    assert files(where_plan((3, TILE), 17, dt.BOOL_U8, dt.U8, DEFAULT)) == ["index/where", "elementwise/map"]
    assert where_plan((3, TILE), 0, dt.BOOL_U8, dt.I32, DEFAULT).launches == ()


def test_a_range_is_one_launch_whose_ends_are_open() -> None:
    plan = arange_plan(1000, dt.I64, DEFAULT)
    (launch,) = plan.launches
    assert launch.scalars == 4 and launch.grid == (1, 1, 1)
    assert prod(plan.outputs[0].layout.shape) == 1000
    fits(plan)
