"""Plans of reductions: what they choose, and that nothing exceeds WebGPU's default limits. No device is needed."""

from __future__ import annotations

import re
import struct
from itertools import product

import pytest

from burn_wgpu.kernel.reduce import Domain, reduce_plan
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.compose import compose
from burn_wgpu.shader.launch import Launch, Out, Plan, check
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.layout import Layout

DEFAULT = Capability(features=frozenset({"shader-int64"}))
SHAPES = [
    (1,), (3,), (70_000,), (3_000_001,), (1 << 28,), (70_000, 3), (3, 70_000), (16_384, 4096), (4096, 16_384),
    (5, 1 << 20), (1 << 20, 5), (2, 3, 4, 5), (1 << 22, 1), (200_000, 7, 2), (1, 1 << 27),
]  # fmt: skip


def params(launch: Launch) -> dict[str, int]:
    """The launch's parameters by name."""
    found = re.search(r"struct Params \{([^}]*)\}", launch.key.prelude)
    assert found
    names = re.findall(r"(\w+): (\w+),", found.group(1))
    values = struct.unpack(f"<{len(names)}I", launch.params)
    return {name: value for (name, _), value in zip(names, values, strict=True)}


def constant(launch: Launch, name: str) -> int:
    found = re.search(rf"const {name}: u32 = u32\((\d+)\);", launch.key.prelude)
    assert found, name
    return int(found.group(1))


def iterations(launch: Launch) -> int:
    """How many units one invocation looks at."""
    given = params(launch)
    assert constant(launch, "WORKGROUP") == 256
    if launch.key.file == "reduce/rows":
        return -(-given["span"] // constant(launch, "TEAM")) * constant(launch, "LANES")
    return -(-given["span"] // (256 // constant(launch, "TX")))


def covers(launch: Launch, outputs: int) -> bool:
    """Whether the grid reaches every output of every part."""
    given = params(launch)
    if launch.key.file == "reduce/rows":
        each = 256 // constant(launch, "TEAM") * constant(launch, "LANES")
    else:
        each = constant(launch, "TX") * constant(launch, "COLS")
    groups = launch.grid[0] * launch.grid[1]
    return (
        given["groups"] * each >= outputs
        and groups >= given["groups"] * given["parts"]
        and given["parts"] * given["span"] >= given["units"]
        and launch.grid[0] == given["groups_x"]
    )


@pytest.mark.parametrize("kind", [dt.F32, dt.F16, dt.U8, dt.I64, dt.BF16, dt.I16], ids=repr)
def test_no_plan_exceeds_the_default_limits(kind: DType) -> None:
    for shape in SHAPES:
        if Layout.dense(shape).size * kind.size_bytes > 1 << 32:
            continue
        dense = Layout.dense(shape)
        layouts = [dense, dense.permute(list(range(len(shape)))[::-1]), dense.flip([0])]
        for layout, axes in product(layouts, [None, *[(a,) for a in range(len(shape))]]):
            for how in ("sum", "max", "argmin"):
                if how == "argmin" and axes is None:
                    continue
                out, indices = (None, dt.I32) if how == "argmin" else (kind, None)
                plan = reduce_plan("test", how, layout, kind, axes, DEFAULT, out, indices)
                check(plan, DEFAULT)
                outputs = plan.outputs[0].layout.size
                for launch in plan.launches:
                    assert len(launch.params) <= 256
                    assert iterations(launch) < 60_000, (shape, layout, axes)
                    assert covers(launch, outputs), (shape, layout, axes)


def test_small_workgroup_memory_suffices_for_the_largest_accumulator() -> None:
    layout = Layout.dense((1 << 16, 64))
    plan = reduce_plan("test", "argmax", layout, dt.I64, (0,), DEFAULT, dt.I64, dt.I64, "columns")
    assert max(launch.key.workgroup_bytes for launch in plan.launches) <= 16 << 10


def test_a_plan_is_a_value() -> None:
    def make() -> Plan:
        return reduce_plan("float_sum_dim", "sum", Layout.dense((12, 40)), dt.F32, (1,), DEFAULT, dt.F32)

    plan = make()
    assert plan == make()
    assert plan.outputs == (Out.of((12, 1), dt.F32),)
    assert (plan.inputs, plan.scratch, len(plan.launches)) == (1, (), 1)
    assert plan.launches[0].operands == (0, 1)


def test_a_kernel_serves_every_size_and_place_of_its_form() -> None:
    def key(shape: tuple[int, ...], offset: int) -> object:
        layout = Layout.of(shape, (shape[1], 1), offset)
        return reduce_plan("test", "mean", layout, dt.F32, (1,), DEFAULT, dt.F32).launches[0].key

    assert key((12, 4096), 0) == key((700, 5000), 64)


@pytest.mark.parametrize(
    ("layout", "axes", "algorithm"),
    [
        (Layout.dense((8, 64)), (1,), "rows"),
        (Layout.dense((8, 64)), (0,), "columns"),
        (Layout.dense((8, 64)).swap_dims(0, 1), (0,), "rows"),
        (Layout.dense((8, 64)).swap_dims(0, 1), (1,), "columns"),
        (Layout.dense((8, 64)), (0, 1), "rows"),
        (Layout.dense((4, 8, 64)), (0, 2), "rows"),
        (Layout.dense((4, 8, 64)), (0, 1), "columns"),
        (Layout.dense((8, 1)).expand((8, 64)), (0,), "rows"),
        (Layout.dense((8, 64)).flip([1]), (1,), "rows"),
    ],
)
def test_neighbours_read_neighbours(layout: Layout, axes: tuple[int, ...], algorithm: str) -> None:
    plan = reduce_plan("test", "sum", layout, dt.F32, axes, DEFAULT, dt.F32)
    assert plan.launches[0].key.file == f"reduce/{algorithm}"


def test_a_whole_permuted_tensor_is_one_run_of_memory() -> None:
    layout = Layout.dense((6, 8, 12)).permute([2, 0, 1]).flip([0, 2])
    domain = Domain.of(layout, range(3))
    assert (domain.reduced, domain.offset) == (((576,), (1,)), 0)
    # Positions depend on the order, so nothing is rearranged for them.
    kept = Domain.of(Layout.dense((4, 6)).flip([1]), (1,), ordered=True)
    assert (kept.reduced, kept.offset) == (((6,), (-1,)), 5)


def test_chunks_of_four_only_where_four_lie_together() -> None:
    def chunked(layout: Layout, axes: tuple[int, ...], algorithm: str) -> bool:
        return Domain.of(layout, axes, ordered=True).chunked(algorithm) is not None  # type: ignore[arg-type]

    assert chunked(Layout.dense((3, 8)), (1,), "rows")
    assert chunked(Layout.dense((3, 8)), (0,), "columns")
    assert not chunked(Layout.dense((3, 6)), (1,), "rows")
    assert not chunked(Layout.of((3, 8), (8, 1), 2), (1,), "rows")
    assert not chunked(Layout.of((3, 8), (9, 1), 0), (1,), "rows")
    assert not chunked(Layout.dense((3, 8)).flip([1]), (1,), "rows")
    assert not chunked(Layout.dense((3, 6)), (0,), "columns")
    assert chunked(Layout.of((3, 8), (12, 1), 4), (1,), "rows")


def test_long_reductions_are_cut_and_short_ones_are_not() -> None:
    long = reduce_plan("test", "sum", Layout.dense((1 << 22,)), dt.F32, None, DEFAULT, dt.F32)
    assert [launch.key.file for launch in long.launches] == ["reduce/rows", "reduce/columns"]
    assert long.scratch == (4 * params(long.launches[0])["parts"],)
    assert long.launches[1].operands == (2, 1)
    short = reduce_plan("test", "sum", Layout.dense((4096, 4096)), dt.F32, (1,), DEFAULT, dt.F32)
    assert len(short.launches) == 1


def test_positions_in_64_bits_need_no_feature() -> None:
    plan = reduce_plan("test", "argmax", Layout.dense((5, 9)), dt.F32, (1,), Capability(), None, dt.I64)
    check(plan, Capability())
    assert plan.outputs == (Out.of((5, 1), dt.I64),)


def test_packed_outputs_are_stored_in_whole_words() -> None:
    for kind, lanes in ((dt.F32, 1), (dt.F16, 2), (dt.U8, 4)):
        plan = reduce_plan("test", "max", Layout.dense((7, 9)), kind, (1,), DEFAULT, kind)
        assert constant(plan.launches[0], "LANES") == lanes


def test_every_kernel_composes_for_both_implementations() -> None:
    for how, kind in product(("sum", "prod", "mean", "max", "min", "max_abs", "any", "all"), (dt.F32, dt.I8, dt.U64)):
        out = dt.BOOL_U8 if how in ("any", "all") else kind
        for axes in ((0,), (1,), None):
            plan = reduce_plan("test", how, Layout.dense((400, 4096)), kind, axes, DEFAULT, out)
            for launch in plan.launches:
                assert "enable" not in compose(launch.key, "naga")
                assert "fn main" in compose(launch.key, "tint")
