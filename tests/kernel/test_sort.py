"""Plans of sorting, without a device."""

from __future__ import annotations

import pytest

from burn_wgpu.kernel.sort import sort_plan, tile_size
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import Plan, check
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.layout import Layout

DEFAULT = Capability()  # WebGPU's own limits


def planned(
    shape: tuple[int, ...],
    dim: int,
    k: int,
    kind: dt.DType = dt.F32,
    indices: dt.DType | None = dt.I32,
    values: bool = False,
) -> Plan:
    plan = sort_plan("sort", Layout.dense(shape), kind, dim, k, False, DEFAULT, values, indices)
    check(plan, DEFAULT)
    for launch in plan.launches:
        assert launch.key.bindings == len(launch.operands)
        assert not launch.key.features
    return plan


def files(plan: Plan) -> list[str]:
    return [launch.key.file for launch in plan.launches]


@pytest.mark.parametrize(
    ("n", "key_words", "tile"), [(1, 1, 16), (17, 1, 32), (2048, 1, 2048), (10**6, 1, 2048), (10**6, 2, 1024)]
)
def test_a_tile_fills_the_default_workgroup_memory_at_most(n: int, key_words: int, tile: int) -> None:
    assert tile_size(n, key_words, DEFAULT) == tile
    assert tile * 4 * (key_words + 1) <= DEFAULT.max_workgroup_bytes


def test_short_rows_take_one_launch_and_share_kernels() -> None:
    plan = planned((100, 500), 1, 500)
    assert files(plan) == ["sort/tile"] and plan.scratch == ()
    assert plan.launches[0].key == planned((7, 300), 1, 300).launches[0].key
    descending = sort_plan("sort", Layout.dense((100, 500)), dt.F32, 1, 500, True, DEFAULT, False, dt.I32)
    assert descending.launches[0].key == plan.launches[0].key


def test_long_rows_merge_two_by_two_between_two_sets_of_buffers() -> None:
    plan = planned((1_000_000,), 0, 1_000_000)
    tiles = -(-1_000_000 // 2048)
    assert files(plan) == ["sort/tile"] + ["sort/merge"] * (tiles - 1).bit_length()
    assert len(plan.scratch) == 4 and max(plan.scratch) < 4.3e6
    outputs = [launch.operands[-1 if i == len(plan.launches) - 1 else -2] for i, launch in enumerate(plan.launches)]
    assert outputs[-1] == 1 and outputs[0] == outputs[2] != outputs[1] == outputs[3]


def test_top_k_keeps_k_of_each_run() -> None:
    plan = planned((1_000_000,), 0, 10)
    assert plan.outputs[0].layout.shape == (10,)
    assert max(plan.scratch) == 4 * 10 * -(-1_000_000 // 2048)


def test_outputs_have_the_sorted_axis_last() -> None:
    plan = planned((4, 5, 6), 0, 3, dt.F16, dt.I64, values=True)
    assert [(out.layout.shape, out.dtype) for out in plan.outputs] == [((5, 6, 3), dt.F16), ((5, 6, 3), dt.I64)]
    assert files(plan) == ["sort/tile", "index/gather_packed", "elementwise/map"]


def test_nothing_to_sort_has_no_launch() -> None:
    assert planned((0, 3), 1, 3).launches == ()
    assert planned((3, 4), 1, 0).launches == ()


@pytest.mark.parametrize("kind", [*dt.FLOATS, *dt.INTS], ids=str)
def test_every_dtype_fits_the_default_limits(kind: dt.DType) -> None:
    planned((3, 70_000), 1, 70_000, kind, dt.U8, values=True)


def test_loops_stay_short() -> None:
    """A tile's network: log² steps of a few pairs an invocation; Mesa 22.3 ends loops at 65,535."""
    tile, workgroup = 2048, 256
    steps = 11 * 12 // 2
    assert steps * (tile // 2 // workgroup) + 2 * tile // workgroup < 60_000
