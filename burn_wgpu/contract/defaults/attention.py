"""Scaled dot-product attention, composed; every step from the scores on is in f32 at least.

Shapes: query [N, H, Sq, D], key [N, Hkv, Sk, D], value [N, Hkv, Sk, Dv]. Query head h uses key and value head
h // (H / Hkv): the query heads of a group are stacked as rows, so that keys and values are never repeated.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from burn_wgpu.contract.defaults.common import cast, index_constant, widen
from burn_wgpu.contract.options import AttentionGradients, AttentionModuleOptions
from burn_wgpu.contract.types import BoolPrim, FloatPrim

_LIMITS = np.finfo(np.float32)
_LOWEST = float(_LIMITS.min)
_SMALLEST = float(_LIMITS.tiny)


def attention(
    b: Any,
    query: FloatPrim,
    key: FloatPrim,
    value: FloatPrim,
    mask: BoolPrim | None,
    attn_bias: FloatPrim | None,
    options: AttentionModuleOptions,
) -> FloatPrim:
    scores, _ = _scores(b, query, key, options)
    if mask is not None:
        scores = b.float_mask_fill(scores, mask, -np.inf)
    scores = _hide_future(b, scores, options)
    if attn_bias is not None:
        scores = b.float_add(scores, widen(b, attn_bias))
    return _weighted(b, scores, query, value)[0]


def attention_with_logsumexp(
    b: Any, query: FloatPrim, key: FloatPrim, value: FloatPrim, options: AttentionModuleOptions
) -> tuple[FloatPrim, FloatPrim]:
    scores, _ = _scores(b, query, key, options)
    return _weighted(b, _hide_future(b, scores, options), query, value)


def attention_backward(
    b: Any,
    query: FloatPrim,
    key: FloatPrim,
    value: FloatPrim,
    output: FloatPrim,
    logsumexp: FloatPrim,
    output_grad: FloatPrim,
    options: AttentionModuleOptions,
) -> AttentionGradients:
    heads = key.shape[1]
    scores, capped = _scores(b, query, key, options)
    scores = _hide_future(b, scores, options)
    p = b.float_exp(b.float_sub(scores, b.float_reshape(logsumexp, (*logsumexp.shape, 1))))  # [N, H, Sq, Sk]
    grad = widen(b, output_grad)
    delta = b.float_sum_dim(b.float_mul(grad, widen(b, output)), 3)  # [N, H, Sq, 1]
    value_grad = b.float_matmul(_transposed(b, _stack(b, p, heads)), _stack(b, grad, heads))
    p_grad = b.float_matmul(_stack(b, grad, heads), _transposed(b, widen(b, value)))
    scores_grad = b.float_mul(p, b.float_sub(b.float_reshape(p_grad, p.shape), delta))
    if capped is not None:  # d/ds of c·tanh(s/c)
        slope = b.float_add_scalar(b.float_neg(b.float_mul(capped, capped)), 1.0)
        scores_grad = b.float_mul(scores_grad, slope)
    scores_grad = _stack(b, b.float_mul_scalar(scores_grad, _scale(query, options)), heads)
    query_grad = b.float_reshape(b.float_matmul(scores_grad, widen(b, key)), query.shape)
    key_grad = b.float_matmul(_transposed(b, scores_grad), _stack(b, widen(b, query), heads))
    return AttentionGradients(
        cast(b, query_grad, query.dtype), cast(b, key_grad, key.dtype), cast(b, value_grad, value.dtype)
    )


def _scale(query: FloatPrim, options: AttentionModuleOptions) -> float:
    return 1 / sqrt(query.shape[3]) if options.scale is None else options.scale


def _stack(b: Any, x: FloatPrim, heads: int) -> FloatPrim:
    """[N, H, S, ..] → [N, Hkv, H/Hkv·S, ..]."""
    batch, query_heads, length, width = x.shape
    return b.float_reshape(x, (batch, heads, query_heads // heads * length, width))


def _transposed(b: Any, x: FloatPrim) -> FloatPrim:
    return b.float_swap_dims(x, 2, 3)


def _scores(
    b: Any, query: FloatPrim, key: FloatPrim, options: AttentionModuleOptions
) -> tuple[FloatPrim, FloatPrim | None]:
    """The scaled and capped scores [N, H, Sq, Sk], and tanh(scores/c) with a softcap."""
    batch, heads, queries, _ = query.shape
    stacked = b.float_matmul(_stack(b, widen(b, query), key.shape[1]), _transposed(b, widen(b, key)))
    scores = b.float_reshape(stacked, (batch, heads, queries, key.shape[2]))
    scores = b.float_mul_scalar(scores, _scale(query, options))
    if options.softcap is None:
        return scores, None
    capped = b.float_tanh(b.float_div_scalar(scores, options.softcap))
    return b.float_mul_scalar(capped, options.softcap), capped


def _hide_future(b: Any, scores: FloatPrim, options: AttentionModuleOptions) -> FloatPrim:
    """−inf where the key's position lies beyond the query's."""
    if not options.is_causal:
        return scores
    queries, keys = scores.shape[2:]
    last_seen = np.arange(queries) + options.causal_alignment.offset(queries, keys)
    rows = index_constant(b, last_seen.reshape(1, 1, -1, 1), scores.device)
    columns = index_constant(b, np.arange(keys).reshape(1, 1, 1, -1), scores.device)
    hidden = b.int_greater(columns, rows, scores.device.settings.bool_dtype)
    return b.float_mask_fill(scores, hidden, -np.inf)


def _weighted(b: Any, scores: FloatPrim, query: FloatPrim, value: FloatPrim) -> tuple[FloatPrim, FloatPrim]:
    """softmax(scores)·value and the log of the softmax's sums.

    The bounds of maximum and sum make a fully hidden row give 0 and a finite logsumexp instead of NaN.
    """
    if scores.shape[3] == 0:
        top = b.float_full((*scores.shape[:3], 1), _LOWEST, scores.device, scores.dtype)
    else:
        top = b.float_clamp_min(b.float_max_dim(b.float_detach(scores), 3), _LOWEST)
    powers = b.float_exp(b.float_sub(scores, top))
    total = b.float_clamp_min(b.float_sum_dim(powers, 3), _SMALLEST)
    p = b.float_div(powers, total)
    out = b.float_matmul(_stack(b, p, value.shape[1]), widen(b, value))
    out = b.float_reshape(out, (*query.shape[:3], value.shape[3]))
    logsumexp = b.float_reshape(b.float_add(top, b.float_log(total)), query.shape[:3])
    return cast(b, out, query.dtype), logsumexp
