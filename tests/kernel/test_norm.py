"""Plans of layer norm and batch norm: which kernel takes which layout, and limits. No device is needed."""

from __future__ import annotations

import pytest

from burn_wgpu.kernel.norm import (
    batch_norm_plan,
    batch_norm_train_backward_plan,
    batch_norm_train_plan,
    layer_norm_plan,
)
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import Out, check
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.layout import Layout

DEFAULT = Capability()
EPS = 1e-5


@pytest.mark.parametrize("kind", [dt.F32, dt.F16], ids=repr)
def test_no_plan_exceeds_the_default_limits(kind: DType) -> None:
    for shape in ((1, 1), (70_000, 3), (3, 70_000), (1 << 22, 4), (1, 1 << 26), (16_384, 4096), (64, 128, 56, 56)):
        layout = Layout.dense(shape)
        plans = [
            layer_norm_plan(layout, kind, kind, kind, EPS, DEFAULT),
            layer_norm_plan(layout, kind, kind, None, EPS, DEFAULT),
            batch_norm_plan(layout, kind, (kind, kind, dt.F32, dt.F32), EPS, DEFAULT),
            batch_norm_train_plan(layout, kind, kind, kind, EPS, DEFAULT),
            batch_norm_train_backward_plan(layout, kind, kind, kind, dt.F32, dt.F32, EPS, DEFAULT),
        ]
        for plan in plans:
            check(plan, DEFAULT)
            assert plan.outputs[0] == Out.of(shape, kind)
            assert all(len(launch.params) <= 256 for launch in plan.launches)


@pytest.mark.parametrize(
    ("layout", "kind", "files"),
    [
        (Layout.dense((16, 4096)), dt.F32, ["norm/rows"]),
        (Layout.dense((16, 768)), dt.F16, ["norm/rows"]),
        (Layout.dense((16, 767)), dt.F32, ["norm/rows"]),
        (Layout.dense((16, 767)), dt.F16, ["reduce/rows", "norm/apply"]),
        (Layout.dense((1024, 16_384)), dt.F32, ["reduce/rows", "norm/apply"]),
    ],
)
def test_which_kernels_layer_norm_takes(layout: Layout, kind: DType, files: list[str]) -> None:
    plan = layer_norm_plan(layout, kind, kind, kind, EPS, DEFAULT)
    assert [launch.key.file for launch in plan.launches] == files


def test_statistics_are_f32_beside_halves() -> None:
    plan = batch_norm_train_plan(Layout.dense((4, 6, 8)), dt.F16, dt.F16, dt.F16, EPS, DEFAULT)
    assert [out.dtype for out in plan.outputs] == [dt.F16, dt.F32, dt.F32]
    # One fold of all statistics, one pass over the elements.
    assert [launch.key.file for launch in plan.launches][-1] == "norm/apply"


def test_eps_is_a_parameter_and_not_part_of_the_kernel() -> None:
    def key(eps: float) -> object:
        return layer_norm_plan(Layout.dense((4, 64)), dt.F32, dt.F32, None, eps, DEFAULT).launches[0].key

    assert key(1e-5) == key(1e-3)
