"""Plans of softmax: which kernel takes which layout, and limits. No device is needed."""

from __future__ import annotations

import pytest

from burn_wgpu.kernel.softmax import softmax_plan
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import Out, check
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.layout import Layout

DEFAULT = Capability()
LANES = ["softmax/apply"]


@pytest.mark.parametrize("kind", [dt.F32, dt.F16, dt.BF16], ids=repr)
def test_no_plan_exceeds_the_default_limits(kind: DType) -> None:
    for shape in ((1,), (70_000, 3), (3, 70_000), (1 << 22, 4), (1, 1 << 26), (16_384, 4096), (1 << 20, 64), (5, 9, 7)):
        for dim in range(len(shape)):
            for mode in ("softmax", "log_softmax", "softmin"):
                plan = softmax_plan(mode, Layout.dense(shape), kind, dim, DEFAULT)  # type: ignore[arg-type]
                check(plan, DEFAULT)
                assert all(len(launch.params) <= 256 for launch in plan.launches)
                assert plan.outputs == (Out.of(shape, kind),)


@pytest.mark.parametrize(
    ("layout", "dim", "kind", "files"),
    [
        (Layout.dense((16, 4096)), 1, dt.F32, ["softmax/rows"]),
        (Layout.dense((16, 4096)), 1, dt.F16, ["softmax/rows"]),
        (Layout.dense((16, 8192)), 1, dt.F32, ["softmax/rows"]),
        (Layout.dense((16, 4095)), 1, dt.F32, ["softmax/rows"]),
        (Layout.dense((4096, 16)).swap_dims(0, 1), 1, dt.F32, ["softmax/rows"]),
        # Rows that share words, that are too long, or that are not rows take two passes.
        (Layout.dense((16, 4095)), 1, dt.F16, ["reduce/rows", *LANES]),
        (Layout.dense((1024, 16_384)), 1, dt.F32, ["reduce/rows", *LANES]),
        (Layout.dense((1, 1 << 22)), 1, dt.F32, ["reduce/rows", "reduce/columns", *LANES]),
        (Layout.dense((64, 8192)), 0, dt.F32, ["reduce/columns", *LANES]),
    ],
)
def test_which_kernels(layout: Layout, dim: int, kind: DType, files: list[str]) -> None:
    plan = softmax_plan("softmax", layout, kind, dim, DEFAULT)
    assert [launch.key.file for launch in plan.launches] == files


def test_a_plan_is_a_value() -> None:
    layout = Layout.dense((12, 40))
    assert softmax_plan("softmax", layout, dt.F32, 1, DEFAULT) == softmax_plan("softmax", layout, dt.F32, 1, DEFAULT)
    assert softmax_plan("softmax", Layout.dense((0, 3)), dt.F32, 0, DEFAULT).launches == ()
