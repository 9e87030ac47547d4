"""Attention in its variants, and what stands around it."""

from __future__ import annotations

from math import sqrt
from typing import Any

import onnx

from burn_wgpu import Tensor, cat, stack
from burn_wgpu.contract.options import AttentionModuleOptions
from burn_wgpu.tensor import activation, functional
from tests.onnx_suite.interpreter import Node, iota, operator


def _heads(x: Tensor, heads: int) -> Tensor:
    """[N, S, H·D] → [N, H, S, D]."""
    return x.reshape(x.shape[0], x.shape[1], heads, x.shape[2] // heads).swap_dims(1, 2)


def _merged(x: Tensor) -> Tensor:
    """[N, H, S, D] → [N, S, H·D]."""
    return x.swap_dims(1, 2).flatten(2, 3)


def _repeated(x: Tensor, times: int) -> Tensor:
    """Every key or value head `times` times in a row."""
    n, h, s, d = x.shape
    return x if times == 1 else x.unsqueeze_dim(2).expand(n, h, times, s, d).reshape(n, h * times, s, d)


@operator("Attention")
def attention(
    node: Node,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    past_key: Tensor | None = None,
    past_value: Tensor | None = None,
    lengths: Tensor | None = None,
) -> tuple[Tensor, ...]:
    flat = q.rank == 3
    if flat:
        q = _heads(q, node.get("q_num_heads"))
        k, v = (_heads(t, node.get("kv_num_heads")) for t in (k, v))
    offset: Any = 0
    if past_key is not None and past_value is not None:
        offset = past_key.shape[2]
        k, v = cat([past_key, k], 2), cat([past_value, v], 2)
    queries, keys = q.shape[2], k.shape[2]

    # Everything that hides becomes one mask in Burn's sense (true hides); what is added stays apart.
    hidden: Tensor | None = None
    bias: Tensor | None = None
    if mask is not None:
        lack = keys - mask.shape[-1]
        if mask.kind == "bool":
            hidden = mask.bool_not()
            if lack:
                hidden = cat([hidden, Tensor.full((*mask.shape[:-1], lack), True, q.device)], -1)
        else:
            bias = mask.pad([(0, lack)], float("-inf")) if lack else mask
            bias = bias.cast(q.dtype)
    row, column = iota(queries, q).unsqueeze_dim(1), iota(keys, q).unsqueeze_dim(0)
    if lengths is not None:
        ends = lengths.int().reshape(-1, 1, 1, 1)
        hidden = _or(hidden, column.greater_equal(ends))
        offset = ends - queries
    ahead = column - (row + offset)
    limits = [ahead.greater(0)] if node.get("is_causal", 0) else []
    if node.get("left_window_size", -1) >= 0:
        limits.append(ahead.lower(-node.get("left_window_size")))
    if node.get("right_window_size", -1) >= 0:
        limits.append(ahead.greater(node.get("right_window_size")))
    for limit in limits:
        hidden = _or(hidden, limit)

    scale = node.get("scale", 1 / sqrt(q.shape[3]))
    softcap = node.get("softcap", 0.0) or None
    options = AttentionModuleOptions(scale, softcap)
    found = functional.attention(q, k, v, hidden, bias, options)
    found = _merged(found) if flat else found
    if not node.wants(3):
        return found, k, v
    mode = node.get("qk_matmul_output_mode", 0)
    scores = (q * sqrt(scale)).matmul(_repeated(k, q.shape[1] // k.shape[1]).transpose() * sqrt(scale))
    if softcap and mode >= 1:
        scores = (scores / softcap).tanh() * softcap
    if mode >= 2:
        scores = scores if hidden is None else scores.mask_fill(hidden, float("-inf"))
        scores = scores if bias is None else scores + bias
    if mode == 3:
        scores = activation.softmax(scores, -1)
        scores = scores.mask_fill(scores.is_nan(), 0.0)  # a row that sees nothing
    return found, k, v, scores


def _or(a: Tensor | None, b: Tensor) -> Tensor:
    return b if a is None else a.bool_or(b)


@operator("ai.onnx.preview.FlexAttention")
def flex_attention(node: Node, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    times = q.shape[1] // k.shape[1]
    k, v = _repeated(k, times), _repeated(v, times)
    precision = node.get(
        "softmax_precision", onnx.TensorProto.DOUBLE if q.dtype.name == "f64" else onnx.TensorProto.FLOAT
    )
    scale = node.get("scale", 1 / sqrt(q.shape[3]))
    scores = (q.matmul(k.transpose()) * scale).cast(node.target(precision))
    if node.has("score_mod"):
        (scores,) = node.subgraph(node.get("score_mod"), [scores])  # type: ignore[assignment]
    scores = activation.softmax(scores, -1)
    if node.has("prob_mod"):
        (scores,) = node.subgraph(node.get("prob_mod"), [scores])  # type: ignore[assignment]
    return scores.cast(v.dtype).matmul(v)


@operator("LinearAttention")
def linear_attention(
    node: Node,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    past: Tensor | None = None,
    decay: Tensor | None = None,
    beta: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """The recurrence token by token, in f32: the state is [N, H, Dk, Dv]."""
    dtype, heads, kv_heads = q.dtype, node.get("q_num_heads"), node.get("kv_num_heads")
    rule = node.get("update_rule", "gated_delta")
    q, k, v = _heads(q, heads).float(), _heads(k, kv_heads).float(), _heads(v, kv_heads).float()
    n, _, steps, width = k.shape
    scale = node.get("scale", 0.0) or 1 / sqrt(width)
    state = Tensor.zeros((n, kv_heads, width, v.shape[3]), q.device) if past is None else past.float()
    kept_dtype = dtype if past is None else past.dtype
    gates = _heads(decay, kv_heads).float().exp() if decay is not None and rule in ("gated", "gated_delta") else None
    rates = _heads(beta, kv_heads if beta.shape[2] % kv_heads == 0 else 1).float() if beta is not None else None
    outputs = []
    for t in range(steps):
        key, value = k.select_dim(2, t).unsqueeze_dim(3), v.select_dim(2, t).unsqueeze_dim(2)
        if gates is not None:
            state = state * gates.select_dim(2, t).unsqueeze_dim(3)
        if rule in ("delta", "gated_delta"):
            value = value - key.transpose().matmul(state)
            if rates is not None:
                value = value * rates.select_dim(2, t).unsqueeze_dim(3)
        state = state + key.matmul(value)
        query = q.select_dim(2, t).unsqueeze_dim(2)
        outputs.append(query.matmul(_repeated(state, heads // kv_heads)).squeeze_dim(2) * scale)
    return _merged(stack(outputs, 2)).cast(dtype), state.cast(kept_dtype)


@operator("RotaryEmbedding")
def rotary_embedding(node: Node, x: Tensor, cosines: Tensor, sines: Tensor, positions: Tensor | None = None) -> Tensor:
    shape = x.shape
    x = x.swap_dims(1, 2) if x.rank == 4 else x.reshape(*shape[:2], node.get("num_heads"), -1)
    turned = node.get("rotary_embedding_dim", 0) or x.shape[3]
    if positions is not None:
        cosines, sines = cosines.take(0, positions), sines.take(0, positions)
    cosines, sines = cosines.unsqueeze_dim(2), sines.unsqueeze_dim(2)
    part, rest = x.slice_dim(3, (0, turned)), x.slice_dim(3, (turned, x.shape[3]))
    if node.get("interleaved", 0):
        a, b = part.slice_dim(3, (0, turned, 2)), part.slice_dim(3, (1, turned, 2))
    else:
        a, b = part.split(turned // 2, 3)
    real, imaginary = a * cosines - b * sines, a * sines + b * cosines
    if node.get("interleaved", 0):
        part = stack([real, imaginary], -1).flatten(3, 4)
    else:
        part = cat([real, imaginary], 3)
    found = cat([part, rest], 3) if rest.size else part
    return found.swap_dims(1, 2) if len(shape) == 4 else found.reshape(shape)
