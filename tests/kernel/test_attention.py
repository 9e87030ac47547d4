"""What plans of attention are: workgroups within limits, launches, memory; no device."""

from __future__ import annotations

import numpy as np
import pytest

from burn_wgpu.kernel.attention import (
    MOST_RESULTS,
    MOST_STEPS,
    Operand,
    Scores,
    attention_grads_plan,
    attention_plan,
    fits,
    grad_fits,
    grad_shapes,
    shape_for,
    variants,
    wide_rows,
)
from burn_wgpu.kernel.attention_text import Shape
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import Plan, check
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.layout import Layout
from burn_wgpu.std.slice import Slice

DEFAULT = Capability()
DEVICES = pytest.mark.parametrize("device", [DEFAULT, Capability(software=True)], ids=["hardware", "software"])
PLAIN = Scores(0.125, None, False, 0)


def sound(shape: Shape, width: int) -> bool:
    """Within the default limits, wide enough, and divided into whole slices."""
    small = shape.workgroup_bytes <= DEFAULT.max_workgroup_bytes and shape.threads <= DEFAULT.max_invocations
    slices = shape.slice % shape.deep == 0 and shape.values % min(shape.values, shape.deep) == 0
    weights = shape.keys % shape.values == 0 and (shape.values % shape.across == 0 or shape.across % shape.values == 0)
    return small and slices and weights and shape.results >= width and shape.slice % 4 == 0 and shape.across % 4 == 0


@DEVICES
def test_every_width_has_a_workgroup_within_the_default_limits(device: Capability) -> None:
    for width in range(1, MOST_RESULTS + 1):
        assert all(sound(shape_for(width, queries, device), width) for queries in (1, 8, 9, 32, 33, 5000))
        assert all(sound(shape, width) for shape in grad_shapes(width, device))


def plan_of(queries: int, keys: int, heads: int = 4, shared: int = 2, causal: bool = False, batch: int = 2) -> Plan:
    q, k = Layout.dense((batch, heads, queries, 64)), Layout.dense((batch, shared, keys, 64))
    scores = Scores(0.125, None, causal, keys - queries)
    return attention_plan(q, k, k, dt.F16, None, None, scores, True, DEFAULT)


def test_many_queries_are_one_launch_without_memory_of_its_own() -> None:
    plan = plan_of(20_000, 5000)
    assert plan.scratch == () and len(plan.launches) == 1
    assert [out.dtype for out in plan.outputs] == [dt.F16, dt.F32]


def test_few_workgroups_are_split_over_the_keys() -> None:
    for queries in (1, 3, 100):
        plan = plan_of(queries, 5000)
        assert [launch.key.file for launch in plan.launches] == ["attention/flash", "attention/merge"]
        assert plan.launches[0].grid[0] <= 1024
    assert len(plan_of(1, 60).launches) == 1  # nothing to split
    assert max(plan_of(1, 1_000_000).scratch) == max(plan_of(1, 2_000_000).scratch)


def test_one_query_a_head_reads_each_key_once_for_its_group() -> None:
    """The heads of a group are rows of one workgroup, unless the mask would tell them apart."""
    assert plan_of(1, 60, heads=16).launches[0].grid == (2 * 2, 1, 1)
    assert plan_of(1, 60, heads=16, causal=True).launches[0].grid == (2 * 2, 1, 1)
    assert plan_of(2, 60, heads=16).launches[0].grid == (2 * 16, 1, 1)
    first = Scores(0.125, None, True, 0)  # a query that sees the first key only
    q, k = Layout.dense((1, 4, 1, 8)), Layout.dense((1, 1, 9, 8))
    assert attention_plan(q, k, k, dt.F32, None, None, first, False, DEFAULT).launches[0].grid == (4, 1, 1)
    mask = Operand(Layout.dense((1, 1, 1, 9)).expand((1, 4, 1, 9)), dt.BOOL_U8)
    assert attention_plan(q, k, k, dt.F32, mask, None, PLAIN, False, DEFAULT).launches[0].grid == (1, 1, 1)


def test_halves_whose_rows_share_words_come_in_f32() -> None:
    q, v = Layout.dense((1, 1, 5, 8)), Layout.dense((1, 1, 5, 7))
    assert attention_plan(q, q, v, dt.F16, None, None, PLAIN, False, DEFAULT).outputs[0].dtype is dt.F32
    grad = Layout.dense((1, 1, 5, 7))
    plan = attention_grads_plan(q, q, v, grad, grad, dt.F16, dt.F32, PLAIN, DEFAULT)
    assert [out.dtype for out in plan.outputs] == [dt.F16, dt.F16, dt.F32]


def test_chunks_are_read_where_every_row_starts_at_one() -> None:
    plain = Layout.dense((2, 3, 5, 8))
    assert wide_rows(plain, plain.permute([0, 2, 1, 3]), plain.expand((2, 3, 5, 8)))
    assert wide_rows(Layout.dense((1, 1, 1, 4)), Layout.dense((2, 1, 5, 8)).expand((2, 3, 5, 8)))
    every = Slice.full()
    assert not wide_rows(Layout.dense((2, 3, 5, 7)))
    assert not wide_rows(plain.swap_dims(2, 3))
    assert not wide_rows(plain, Layout.dense((2, 3, 5, 9)).slice([every, every, every, Slice(0, 8)]))
    assert not wide_rows(Layout.dense((2, 3, 5, 12)).slice([every, every, every, Slice(2, 10)]))
    assert wide_rows(Layout.dense((2, 3, 5, 12)).slice([every, every, every, Slice(4, 12)]))


def test_what_does_not_fit_is_said() -> None:
    assert fits(64, 2048, 64, DEFAULT) and fits(128, 10_000_000, 128, DEFAULT)
    for sizes in ((64, 2048, MOST_RESULTS + 1), (64, 0, 64), (0, 9, 64), (10_000_000, 64, 64)):
        assert not fits(*sizes, DEFAULT)


def test_which_gradients_fit() -> None:
    def of(queries: int, keys: int, width: int, results: int) -> bool:
        return grad_fits((2, 8, queries, width), (2, 1, keys, width), (2, 1, keys, results))

    assert of(2048, 2048, 64, 64) and of(1, 1, MOST_RESULTS, MOST_RESULTS) and of(1_000_000, 1_000_000, 64, 64)
    for sizes in ((9, 9, MOST_RESULTS + 1, 8), (9, 9, 8, MOST_RESULTS + 1), (0, 9, 8, 8), (9, 0, 8, 8)):
        assert not of(*sizes)


@DEVICES
def test_no_loop_is_too_long(device: Capability) -> None:
    """Keys in the forward pass, keys and the queries of all heads of a group in the gradients."""
    wide = MOST_RESULTS
    q, k = Layout.dense((1, 64, 30_000, wide)), Layout.dense((1, 1, 200_000, wide))
    words = np.frombuffer(attention_plan(q, k, k, dt.F32, None, None, PLAIN, False, device).launches[0].params, "<u4")
    shape = shape_for(wide, 30_000, device)
    span = int(words[12])
    assert span * (shape.steps(wide) + shape.apply_steps + 1) // shape.keys <= MOST_STEPS and span < 200_000
    plan = attention_grads_plan(q, k, k, q, q, dt.F32, dt.F32, PLAIN, device)
    totals = 200_000, 64 * 30_000
    for launch, shape, total in zip(plan.launches, grad_shapes(wide, device), totals, strict=False):
        splits, span = (int(x) for x in np.frombuffer(launch.params, "<u4")[5:7])
        assert span * (2 * shape.steps(wide) + 2 * shape.apply_steps + 1) // shape.keys <= MOST_STEPS
        assert splits * span >= total and splits > 1


def test_gradients_are_two_launches_and_one_number_a_query() -> None:
    q, k = Layout.dense((2, 4, 3000, 64)), Layout.dense((2, 2, 5000, 64))
    plan = attention_grads_plan(q, k, k, q, q, dt.F32, dt.F32, PLAIN, DEFAULT)
    assert [launch.key.file for launch in plan.launches] == ["attention/query_grad", "attention/key_grad"]
    assert plan.scratch == (4 * 2 * 4 * 3000,)
    assert [out.layout.shape for out in plan.outputs] == [(2, 4, 3000, 64), (2, 2, 5000, 64), (2, 2, 5000, 64)]


@DEVICES
def test_every_variant_fits_the_default_limits(device: Capability) -> None:
    for plan in variants(device):
        check(plan, DEFAULT)
        assert all(len(launch.params) <= 256 for launch in plan.launches)
