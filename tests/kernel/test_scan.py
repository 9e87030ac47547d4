"""Plans of scans: their cuts and limits. No device is needed."""

from __future__ import annotations

import re
import struct

import pytest

from burn_wgpu.kernel.scan import scan_plan
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import Launch, Out, check
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.layout import Layout

DEFAULT = Capability(features=frozenset({"shader-int64"}))


def params(launch: Launch) -> dict[str, int]:
    """The launch's parameters by name."""
    found = re.search(r"struct Params \{([^}]*)\}", launch.key.prelude)
    assert found
    names = re.findall(r"(\w+): (\w+),", found.group(1))
    return dict(zip([n for n, _ in names], struct.unpack(f"<{len(names)}I", launch.params), strict=True))


def scans(plan_launches: tuple[Launch, ...]) -> list[Launch]:
    return [launch for launch in plan_launches if launch.key.file in ("scan/rows", "scan/columns")]


@pytest.mark.parametrize("kind", [dt.F32, dt.F16, dt.U8, dt.I64], ids=repr)
def test_no_plan_exceeds_the_default_limits(kind: DType) -> None:
    for shape in ((1,), (70_000, 3), (3, 70_000), (1 << 26,), (1 << 24, 1), (1 << 22, 5), (1 << 22, 8), (600, 100_000)):
        for dim in range(len(shape)):
            for layout in (Layout.dense(shape), Layout.dense(shape).flip([dim])):
                plan = scan_plan("test", "sum", layout, kind, dim, DEFAULT)
                check(plan, DEFAULT)
                for launch in scans(plan.launches):
                    given = params(launch)
                    assert given["parts"] * given["span"] >= given["length"]
                    assert launch.grid[0] * launch.grid[1] >= given["groups"] * given["parts"]
                    if launch.key.file == "scan/rows":
                        # A block of 1024 elements costs one turn and eight steps between the invocations.
                        steps = -(-given["span"] // 1024) * 9
                    else:
                        steps = given["span"] + 4
                    assert steps + given["parts"] < 60_000, (shape, dim)


def test_few_long_lanes_are_cut_and_many_short_ones_are_not() -> None:
    one = scan_plan("test", "sum", Layout.dense((1 << 22,)), dt.F32, 0, DEFAULT)
    assert [launch.key.file for launch in one.launches] == ["reduce/rows", "scan/rows"]
    first, second = one.launches
    assert params(first)["parts"] == params(second)["parts"] > 1
    # The fold counts chunks of four elements, the scan counts elements.
    assert 4 * params(first)["span"] == params(second)["span"]
    assert one.scratch == (4 * params(first)["parts"],)
    many = scan_plan("test", "sum", Layout.dense((4096, 4096)), dt.F32, 1, DEFAULT)
    assert [launch.key.file for launch in many.launches] == ["scan/rows"]
    columns = scan_plan("test", "sum", Layout.dense((512, 1 << 16)), dt.F32, 0, DEFAULT)
    assert [launch.key.file for launch in columns.launches] == ["scan/columns"]
    tall = scan_plan("test", "sum", Layout.dense((1 << 20, 8)), dt.F32, 0, DEFAULT)
    assert [launch.key.file for launch in tall.launches] == ["reduce/columns", "scan/columns"]


def test_packed_lanes_that_share_words_are_packed_last() -> None:
    plan = scan_plan("test", "sum", Layout.dense((7, 9)), dt.F16, 1, DEFAULT)
    assert [launch.key.file for launch in plan.launches] == ["scan/rows", "scan/settle"]
    assert plan.scratch == (4 * 63,)
    whole = scan_plan("test", "sum", Layout.dense((7, 8)), dt.F16, 1, DEFAULT)
    assert [launch.key.file for launch in whole.launches] == ["scan/rows"]
    words = scan_plan("test", "sum", Layout.dense((7, 9)), dt.F32, 1, DEFAULT)
    assert [launch.key.file for launch in words.launches] == ["scan/rows"]


def test_a_plan_is_a_value() -> None:
    layout = Layout.dense((12, 40))
    plan = scan_plan("float_cumsum", "sum", layout, dt.F32, 1, DEFAULT)
    assert plan == scan_plan("float_cumsum", "sum", layout, dt.F32, 1, DEFAULT)
    assert plan.outputs == (Out.of((12, 40), dt.F32),)
    assert scan_plan("float_cumsum", "sum", Layout.dense((0, 3)), dt.F32, 0, DEFAULT).launches == ()
