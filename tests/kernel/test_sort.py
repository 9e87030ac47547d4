"""Plans of sorting, without a device."""

from __future__ import annotations

from dataclasses import replace

import pytest

from burn_wgpu.kernel.sort import (
    CHUNK,
    SELECTED,
    WAYS,
    Items,
    chunk_of,
    sort_plan,
    tile_shape,
    way_of,
    widest,
)
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import Plan, check
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.layout import Layout

DEFAULT = Capability()  # WebGPU's own limits
LARGE = replace(DEFAULT, max_workgroup_bytes=48 << 10, max_invocations=1024)

PASS = ["sort/histogram", "sort/offsets", "sort/radix"]


def planned(
    shape: tuple[int, ...],
    dim: int,
    k: int,
    kind: dt.DType = dt.F32,
    indices: dt.DType | None = dt.I32,
    values: bool = False,
    way: str | None = None,
    device: Capability = DEFAULT,
) -> Plan:
    plan = sort_plan("sort", Layout.dense(shape), kind, dim, k, False, device, values, indices, way)
    check(plan, device)
    for launch in plan.launches:
        assert launch.key.bindings == len(launch.operands)
        assert not launch.key.features
    return plan


def files(plan: Plan) -> list[str]:
    return [launch.key.file for launch in plan.launches]


@pytest.mark.parametrize(
    ("n", "words", "default", "large"),
    [
        (1, 1, (1, 8), (1, 8)),
        (8, 1, (1, 8), (1, 8)),
        (9, 2, (2, 8), (2, 8)),
        (2048, 3, (256, 8), (256, 8)),
        (4096, 1, None, (512, 8)),
        (4096, 2, None, (256, 16)),
        (8192, 2, None, (1024, 8)),
    ],
)
def test_threads_and_elements_hold_a_row(
    n: int, words: int, default: tuple[int, int] | None, large: tuple[int, int]
) -> None:
    for device, shape in ((DEFAULT, default), (LARGE, large)):
        if shape:
            threads, per = tile_shape(n, words, device)
            assert (threads, per) == shape and threads * per >= n
            assert threads <= widest(device)
    assert (widest(DEFAULT), widest(LARGE)) == (256, 1024)


@pytest.mark.parametrize(
    ("n", "k", "default", "large"),
    [
        (2048, 2048, "tile", "tile"),
        (2049, 2049, "passes", "tile"),
        (8193, 8193, "passes", "passes"),
        (255, 3, "tile", "tile"),
        (256, 16, "select", "select"),
        (256, 17, "tile", "tile"),
        (3000, 256, "select", "tile"),
        (10**6, 256, "select", "select"),
        (10**6, 257, "passes", "passes"),
    ],
)
def test_the_way_follows_from_sizes_and_limits(n: int, k: int, default: str, large: str) -> None:
    assert (way_of(n, k, 4, DEFAULT), way_of(n, k, 4, LARGE)) == (default, large)


def test_an_elements_words() -> None:
    assert Items.of(dt.F32, 100, False).words == 1
    assert Items.of(dt.F32, 100, True).words == 2
    assert Items.of(dt.F16, 65_536, True).words == 1, "bits and position fit one word"
    assert Items.of(dt.F16, 65_537, True).words == 2
    assert Items.of(dt.I64, 100, False).words == 2
    assert Items.of(dt.F64, 100, True).words == 3


def test_short_rows_take_one_launch_and_share_kernels() -> None:
    plan = planned((100, 500), 1, 500, values=True, indices=dt.I64)
    assert files(plan) == ["sort/radix"] and plan.scratch == ()
    assert plan.launches[0].key == planned((7, 300), 1, 300, values=True, indices=dt.I64).launches[0].key
    descending = sort_plan("sort", Layout.dense((100, 500)), dt.F32, 1, 500, True, DEFAULT, True, dt.I64)
    assert descending.launches[0].key == plan.launches[0].key


def test_a_workgroup_sorts_many_short_rows() -> None:
    assert planned((100_000, 5), 1, 5).launches[0].grid == (391, 1, 1)
    assert planned((100_000, 9), 1, 9).launches[0].grid == (782, 1, 1)


def test_narrow_results_are_written_by_whole_words_or_later() -> None:
    assert files(planned((3, 50), 1, 50, dt.F16, None, True)) == ["sort/radix"]
    assert files(planned((51,), 0, 51, dt.F16, None, True)) == ["sort/radix"], "no other row meets the last word"
    assert files(planned((3, 51), 1, 51, dt.F16, None, True)) == ["sort/radix", "elementwise/map"]
    assert files(planned((3, 50), 1, 50, dt.F32, dt.U8)) == ["sort/radix", "elementwise/map"]
    assert files(planned((3, 52), 1, 52, dt.F32, dt.U8)) == ["sort/radix"]


@pytest.mark.parametrize(
    ("kind", "count"), [(dt.U8, 1), (dt.I16, 2), (dt.F16, 2), (dt.BF16, 2), (dt.F32, 4), (dt.I64, 8), (dt.F64, 8)]
)
def test_long_rows_take_a_pass_for_each_byte_that_the_dtype_has(kind: dt.DType, count: int) -> None:
    assert files(planned((3, 9000), 1, 9000, kind)) == count * PASS


def test_passes_take_turns_between_two_sets_of_buffers() -> None:
    plan = planned((9000,), 0, 9000)
    words, counts = 2, 1
    assert len(plan.scratch) == 2 * words + counts
    moves = [launch.operands for launch in plan.launches if launch.key.file == "sort/radix"]
    assert moves[0][0] == 0 and moves[-1][-2] == 1, "from the tensor to the output"
    for before, after in zip(moves, moves[1:], strict=False):
        assert before[-3:-1] == after[:2]


def test_counts_of_many_blocks_are_summed_up_in_two_levels() -> None:
    assert files(planned((CHUNK * 2048,), 0, CHUNK * 2048, dt.U8)) == PASS
    plan = planned((CHUNK * 2048 + 1,), 0, CHUNK * 2048 + 1, dt.U8)
    assert files(plan) == ["sort/histogram", "sort/offsets", "sort/offsets", "sort/radix"]
    # 65 blocks, two chunks of them, and one total: 256 words each.
    assert plan.scratch == (4 * 256 * (CHUNK + 1 + 2 + 1),)


def test_top_k_of_a_long_row_keeps_k_of_each_block() -> None:
    plan = planned((1_000_000,), 0, 10)
    assert plan.outputs[0].layout.shape == (10,)
    assert files(plan) == ["sort/select"] * 2
    assert plan.scratch == (4 * 10 * 245, 4 * 10 * 245)  # the last of 245 blocks of 4096 has more than 10 too
    assert files(planned((10**7,), 0, SELECTED)) == ["sort/select"] * 4


def test_outputs_have_the_sorted_axis_last() -> None:
    plan = planned((4, 5, 6), 0, 3, dt.F16, dt.I64, values=True)
    assert [(out.layout.shape, out.dtype) for out in plan.outputs] == [((5, 6, 3), dt.F16), ((5, 6, 3), dt.I64)]
    assert files(plan) == ["sort/radix", "elementwise/map"]


def test_nothing_to_sort_has_no_launch() -> None:
    assert planned((0, 3), 1, 3).launches == ()
    assert planned((3, 4), 1, 0).launches == ()


@pytest.mark.parametrize("kind", [*dt.FLOATS, *dt.INTS], ids=str)
@pytest.mark.parametrize("device", [DEFAULT, LARGE], ids=["default", "large"])
def test_every_way_of_every_dtype_fits_the_limits(kind: dt.DType, device: Capability) -> None:
    for n, k, way in ((2000, 2000, "tile"), (70_000, 70_000, "passes"), (70_000, SELECTED, "select")):
        assert way in WAYS
        for indices in (None, dt.U8, dt.I64):
            planned((3, n), 1, k, kind, indices, True, way, device)


def test_loops_stay_short() -> None:
    """Mesa 22.3 ends an invocation's loops at 65,535 iterations in total."""
    blocks = (1 << 32) // 2048
    chunk = chunk_of(blocks)
    assert chunk < 60_000 and -(-blocks // chunk) < 60_000
    # The tile of two-word keys: 16 passes over 16 elements, counted, ranked and exchanged word by word.
    assert 16 * (3 * (2 * 16 + 1) + 3 * 16 + 3 * 8 + 5 * 4) < 60_000
    # Selection: ten bytes, of 16 elements, and 256 ranks.
    assert 10 * (16 * 2 + 4 * 4) + SELECTED < 60_000
