"""What plans of attention are: workgroups within limits, one launch; no device."""

from __future__ import annotations

import pytest

from burn_wgpu.kernel.attention import MOST_RESULTS, Scores, attention_plan, fits, shape_for, variants
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import check
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.layout import Layout

DEFAULT = Capability()
PLAIN = Scores(0.125, None, False, 0)


@pytest.mark.parametrize("device", [DEFAULT, Capability(software=True)], ids=["hardware", "software"])
def test_every_width_has_a_workgroup_within_the_default_limits(device: Capability) -> None:
    for results in range(1, MOST_RESULTS + 1):
        for queries in (1, 64):
            shape = shape_for(results, queries, device)
            assert shape.workgroup_bytes <= DEFAULT.max_workgroup_bytes and shape.threads <= DEFAULT.max_invocations
            assert shape.results >= results and shape.keys % shape.values == 0
            assert shape.slice % shape.deep == 0 and shape.values % min(shape.values, shape.deep) == 0


def test_memory_does_not_grow_with_the_keys() -> None:
    q, k = Layout.dense((2, 4, 100, 64)), Layout.dense((2, 2, 5000, 64))
    plan = attention_plan(q, k, k, dt.F16, None, None, PLAIN, True, DEFAULT)
    assert plan.scratch == () and len(plan.launches) == 1
    assert [out.dtype for out in plan.outputs] == [dt.F16, dt.F32]


def test_halves_whose_rows_share_words_come_in_f32() -> None:
    q, v = Layout.dense((1, 1, 5, 8)), Layout.dense((1, 1, 5, 7))
    assert attention_plan(q, q, v, dt.F16, None, None, PLAIN, False, DEFAULT).outputs[0].dtype is dt.F32


def test_what_does_not_fit_is_said() -> None:
    assert fits(64, 2048, 64, DEFAULT) and fits(128, 32_768, 128, DEFAULT)
    for sizes in ((64, 2048, MOST_RESULTS + 1), (64, 0, 64), (64, 10_000_000, 64)):
        assert not fits(*sizes, DEFAULT)


def test_every_variant_fits_the_default_limits() -> None:
    for plan in variants(DEFAULT):
        check(plan, DEFAULT)
        assert all(len(launch.params) <= 256 for launch in plan.launches)
