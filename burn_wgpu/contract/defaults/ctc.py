"""Connectionist temporal classification (Graves et al. 2006), composed of contract functions.

The target of each sample is read as l′ = blank, t₁, blank, t₂, …, blank with P = 2·S + 1 places; alpha[t, n, s] is the
log-probability of every alignment of the first t + 1 steps that ends at place s. Before any step it is 0 at place 0 and
−∞ elsewhere: the first step enters place 0 or 1 from there, and without a step only an empty target is reached.
"""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from burn_wgpu.contract.defaults.common import cast, float_constant, int_constant, narrow, widen, zeros_like
from burn_wgpu.contract.options import IndexingUpdateOp
from burn_wgpu.contract.types import BoolPrim, FloatPrim, IntPrim
from burn_wgpu.std.dtype import I32
from burn_wgpu.std.slice import Slice


def ctc_loss(
    b: Any, log_probs: FloatPrim, targets: IntPrim, input_lengths: IntPrim, target_lengths: IntPrim, blank: int
) -> FloatPrim:
    wide = widen(b, log_probs)
    input_lengths = _looked_up(b, input_lengths, log_probs.shape[0])
    target_lengths = _looked_up(b, target_lengths, targets.shape[1])
    labels = _extended(b, targets, target_lengths, blank)
    places = _at_labels(b, wide, labels)
    last = _recursion(b, places, _may_skip(b, labels, blank), input_lengths)[-1]
    return cast(b, b.float_neg(_total(b, last, target_lengths)), log_probs.dtype)


def ctc_loss_backward(
    b: Any,
    log_probs: FloatPrim,
    targets: IntPrim,
    input_lengths: IntPrim,
    target_lengths: IntPrim,
    output_grad: FloatPrim,
    blank: int,
) -> FloatPrim:
    """exp(lp)·g − g·Σ over the places of a class of exp(alpha + beta − lp + loss); 0 beyond a sample's steps.

    beta is the alpha recursion of the sample mirrored within its own lengths, mirrored back.
    """
    wide = widen(b, log_probs)
    steps, batch, _ = wide.shape
    if not steps:
        return cast(b, zeros_like(b, wide), log_probs.dtype)
    input_lengths = _looked_up(b, input_lengths, steps)
    target_lengths = _looked_up(b, target_lengths, targets.shape[1])
    kind = wide.device.settings.bool_dtype
    labels = _extended(b, targets, target_lengths, blank)
    count = labels.shape[1]
    places = _at_labels(b, wide, labels)
    skip = _may_skip(b, labels, blank)
    alpha_steps = _recursion(b, places, skip, input_lengths)
    alpha = _stacked(b, alpha_steps[1:])
    loss = b.float_reshape(b.float_neg(_total(b, alpha_steps[-1], target_lengths)), (1, batch, 1))

    flip_step = _mirror(b, input_lengths, steps)  # [T, N]
    last_place = b.int_add_scalar(b.int_mul_scalar(target_lengths, 2), 1)
    flip_place = b.int_swap_dims(_mirror(b, last_place, count), 0, 1)  # [N, P]
    step_index = b.int_expand(b.int_reshape(flip_step, (steps, batch, 1)), (steps, batch, count))
    place_index = b.int_expand(b.int_reshape(flip_place, (1, batch, count)), (steps, batch, count))

    def mirrored(values: FloatPrim) -> FloatPrim:
        return b.float_gather(2, b.float_gather(0, values, step_index), place_index)

    # A step over a place is the same in both directions: that from p to p + 2 is p + 2's. Labels alone would not tell
    # when one of the targets is the blank.
    head = min(count, 2)
    none = b.bool_zeros((batch, head), wide.device, kind)
    ahead = b.bool_cat([b.bool_slice(skip, [Slice.full(), Slice(2, None)]), none], 1) if count > head else none
    beta_steps = _recursion(b, mirrored(places), b.bool_gather(1, ahead, flip_place), input_lengths)
    beta = mirrored(_stacked(b, beta_steps[1:]))

    # −inf stands on both sides where a place is unreachable: there the share is 0, not −inf + inf.
    dead = b.bool_or(b.float_equal_elem(b.float_add(alpha, beta), -inf, kind), b.float_equal_elem(places, -inf, kind))
    dead = b.bool_or(dead, b.bool_expand(b.float_equal_elem(loss, inf, kind), dead.shape))
    beyond = b.int_greater_equal(
        int_constant(b, np.arange(count).reshape(1, 1, -1), last_place),
        b.int_reshape(last_place, (1, batch, 1)),
        kind,
    )
    dead = b.bool_or(dead, b.bool_expand(beyond, dead.shape))
    share = b.float_add(b.float_sub(b.float_add(alpha, beta), places), loss)
    share = b.float_exp(b.float_mask_fill(share, dead, -inf))
    label_index = b.int_expand(b.int_reshape(labels, (1, batch, count)), (steps, batch, count))
    shares = b.float_scatter(2, zeros_like(b, wide), label_index, share, IndexingUpdateOp.ADD)
    grad = b.float_mul(b.float_sub(b.float_exp(wide), shares), b.float_reshape(widen(b, output_grad), (1, batch, 1)))
    over = b.int_greater_equal(
        int_constant(b, np.arange(steps).reshape(-1, 1, 1), input_lengths),
        b.int_reshape(input_lengths, (1, batch, 1)),
        kind,
    )
    hopeless = b.float_equal_elem(loss, inf, kind)
    nothing = b.bool_or(b.bool_expand(over, (steps, batch, 1)), b.bool_expand(hopeless, (steps, batch, 1)))
    return cast(b, b.float_mask_fill(grad, nothing, 0.0), log_probs.dtype)


def _looked_up(b: Any, lengths: IntPrim, most: int) -> IntPrim:
    """The lengths as i32, read from a list of the possible ones: one outside [0, most] is an index out of range."""
    return b.int_select(b.int_arange(0, most + 1, lengths.device, I32), 0, lengths)  # type: ignore[no-any-return]


def _extended(b: Any, targets: IntPrim, target_lengths: IntPrim, blank: int) -> IntPrim:
    """l′ [N, 2·S + 1]; what stands in `targets` beyond a sample's length is not looked at."""
    batch, length = targets.shape
    position = int_constant(b, np.arange(length).reshape(1, -1), target_lengths)
    unused = b.int_greater_equal(
        position, b.int_reshape(target_lengths, (batch, 1)), targets.device.settings.bool_dtype
    )
    clean = b.int_reshape(b.int_mask_fill(targets, unused, blank), (batch, length, 1))
    blanks = b.int_full((batch, length, 1), blank, targets.device, targets.dtype)
    pairs = b.int_reshape(b.int_cat([blanks, clean], 2), (batch, 2 * length))
    return b.int_cat([pairs, b.int_full((batch, 1), blank, targets.device, targets.dtype)], 1)


def _at_labels(b: Any, log_probs: FloatPrim, labels: IntPrim) -> FloatPrim:
    """[T, N, C] → [T, N, P]: the log-probability of each place's label."""
    steps, batch, _ = log_probs.shape
    count = labels.shape[1]
    index = b.int_expand(b.int_reshape(labels, (1, batch, count)), (steps, batch, count))
    return b.float_gather(2, log_probs, index)


def _may_skip(b: Any, labels: IntPrim, blank: int) -> BoolPrim:
    """[N, P]: whether a place may be entered from two places before: a label, unlike the one before it."""
    kind = labels.device.settings.bool_dtype
    batch, count = labels.shape
    head = min(count, 2)
    none = b.bool_zeros((batch, head), labels.device, kind)
    if count <= 2:
        return none
    here = b.int_slice(labels, [Slice.full(), Slice(2, None)])
    before = b.int_slice(labels, [Slice.full(), Slice(0, count - 2)])
    rest = b.bool_and(b.int_not_equal_elem(here, blank, kind), b.int_not_equal(here, before, kind))
    return b.bool_cat([none, rest], 1)


def _recursion(b: Any, places: FloatPrim, skip: BoolPrim, input_lengths: IntPrim) -> list[FloatPrim]:
    """alpha before the first step and after every one, each [N, P]; a sample stays as it is after its last step."""
    kind = places.device.settings.bool_dtype
    steps, batch, count = places.shape
    start = np.where(np.arange(count) == 0, 0.0, -inf).reshape(1, -1)
    alpha = b.float_expand(float_constant(b, start, places), (batch, count))
    found = [alpha]
    no_skip = b.bool_not(skip)
    for t in range(steps):
        one = _shifted(b, alpha, 1)
        two = b.float_mask_fill(_shifted(b, alpha, 2), no_skip, -inf)
        step = b.float_reshape(narrow(b, places, 0, t, 1), (batch, count))
        entered = b.float_add(_log_add(b, [alpha, one, two]), step)
        ended = b.bool_reshape(b.int_lower_equal_elem(input_lengths, t, kind), (batch, 1))
        alpha = b.float_mask_where(entered, ended, alpha)
        found.append(alpha)
    return found


def _shifted(b: Any, alpha: FloatPrim, by: int) -> FloatPrim:
    """alpha moved `by` places up, with −inf below."""
    batch, count = alpha.shape
    keep = max(count - by, 0)
    below = b.float_full((batch, count - keep), -inf, alpha.device, alpha.dtype)
    return b.float_cat([below, narrow(b, alpha, 1, 0, keep)], 1) if keep else below


def _log_add(b: Any, terms: list[FloatPrim]) -> FloatPrim:
    """log Σ exp(term) without NaN, in value and gradient, where every term is −inf."""
    kind = terms[0].device.settings.bool_dtype
    top = b.float_detach(terms[0])
    for term in terms[1:]:
        top = b.float_mask_where(top, b.float_lower(top, b.float_detach(term), kind), b.float_detach(term))
    dead = b.float_equal_elem(top, -inf, kind)
    safe = b.float_mask_fill(top, dead, 0.0)
    total: Any = None
    for term in terms:
        power = b.float_exp(b.float_sub(term, safe))
        total = power if total is None else b.float_add(total, power)
    # log(1) stands in for log(0), whose gradient is infinite; the mask puts −inf back and stops the gradient.
    result = b.float_add(b.float_log(b.float_mask_fill(total, dead, 1.0)), safe)
    return b.float_mask_fill(result, dead, -inf)


def _total(b: Any, alpha: FloatPrim, target_lengths: IntPrim) -> FloatPrim:
    """The log-probability [N] of ending at the last label or the blank behind it."""
    kind = alpha.device.settings.bool_dtype
    column = b.int_reshape(b.int_mul_scalar(target_lengths, 2), (alpha.shape[0], 1))
    end = b.float_gather(1, alpha, column)
    label = b.float_gather(1, alpha, b.int_clamp_min(b.int_sub_scalar(column, 1), 0))
    label = b.float_mask_fill(label, b.int_equal_elem(column, 0, kind), -inf)
    return b.float_reshape(_log_add(b, [end, label]), (alpha.shape[0],))


def _stacked(b: Any, steps: list[FloatPrim]) -> FloatPrim:
    return b.float_cat([b.float_reshape(alpha, (1, *alpha.shape)) for alpha in steps], 0)


def _mirror(b: Any, lengths: IntPrim, size: int) -> IntPrim:
    """[size, N]: i → length − 1 − i inside each sample's length, i beyond it."""
    position = int_constant(b, np.arange(size).reshape(-1, 1), lengths)
    length = b.int_reshape(lengths, (1, lengths.shape[0]))
    back = b.int_sub_scalar(b.int_sub(length, position), 1)
    beyond = b.int_lower_elem(back, 0, lengths.device.settings.bool_dtype)
    return b.int_mask_where(back, beyond, b.int_expand(position, back.shape))
