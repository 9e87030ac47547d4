"""What the tables of resampling hold, and what plans are; no device."""

from __future__ import annotations

import numpy as np
import pytest

from burn_wgpu.contract.defaults.interpolate import both_axes
from burn_wgpu.contract.options import CoordinateTransformMode, InterpolateMode, InterpolateOptions
from burn_wgpu.kernel.resample import (
    adjoint_table,
    adjoint_words,
    forward_table,
    resample_backward_plan,
    resample_plan,
    variants,
)
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import check
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.layout import Layout

DEFAULT = Capability()


@pytest.mark.parametrize("mode", InterpolateMode, ids=lambda m: m.value)
def test_the_adjoint_table_is_the_transpose_of_the_forward_one(mode: InterpolateMode) -> None:
    taps = both_axes((5, 7), (9, 4), InterpolateOptions(mode))
    table, most = adjoint_table(taps, (5, 7))
    begin = 0
    for axis, size, out in zip(taps, (5, 7), (9, 4), strict=True):
        weight = np.ones(axis.index.shape) if axis.weight is None else axis.weight
        dense = np.zeros((out, size))
        np.add.at(dense, (np.arange(out)[:, None], axis.index), weight)
        found = np.zeros((out, size))
        starts = table[begin : begin + size + 1]
        pairs = table[begin + size + 1 :].reshape(-1)
        for element in range(size):
            assert starts[element + 1] - starts[element] <= most
            for e in range(starts[element], starts[element + 1]):
                found[pairs[2 * e], element] += pairs[2 * e + 1 : 2 * e + 2].view(np.float32)[0]
        np.testing.assert_allclose(found, dense, atol=1e-6)
        begin += adjoint_words(axis, size)
    assert begin == table.size


def test_the_outside_of_a_crop_is_marked_and_leaves_the_gradient() -> None:
    crop = CoordinateTransformMode.tf_crop_and_resize(((-1.0, 0.5), (0.0, 1.0)))
    taps = both_axes((4, 4), (3, 2), InterpolateOptions(InterpolateMode.NEAREST, crop))
    marked = forward_table(taps)[:3] >> 31
    assert marked.tolist() == [1, 1, 0]
    assert adjoint_words(taps[0], 4) == 4 + 1 + 2 * 1


def test_plans_are_one_launch_and_two() -> None:
    x, grad = Layout.dense((2, 3, 5, 6)), Layout.dense((2, 3, 7, 8))
    assert len(resample_plan(x, (7, 8), 2, True, 0.0, dt.F32, DEFAULT).launches) == 1
    plan = resample_backward_plan(x.shape, grad, 30, dt.F16, DEFAULT)
    assert len(plan.launches) == 2 and plan.scratch == (4 * 2 * 3 * 7 * 6,)
    assert resample_plan(Layout.dense((0, 3, 5, 6)), (7, 8), 2, True, 0.0, dt.F32, DEFAULT).launches == ()


def test_every_variant_fits_the_default_limits() -> None:
    for plan in variants(DEFAULT):
        check(plan, DEFAULT)
