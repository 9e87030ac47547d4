"""Attention on float64 arrays, with keys and values repeated for the query heads of their group."""

from __future__ import annotations

import numpy as np

from burn_wgpu.contract.options import AttentionModuleOptions, CausalAlignment


def attention(
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    mask: np.ndarray | None,
    bias: np.ndarray | None,
    options: AttentionModuleOptions,
) -> tuple[np.ndarray, np.ndarray]:
    """The output [N, H, Sq, Dv] and the logsumexp [N, H, Sq] (−inf for a query that sees nothing)."""
    scores = _scores(query, key, options)[0]
    if mask is not None:
        scores = np.where(mask, -np.inf, scores)
    scores = np.where(_future(scores, options), -np.inf, scores)
    if bias is not None:
        scores = scores + bias
    with np.errstate(all="ignore"):
        top = scores.max(3, keepdims=True, initial=-np.inf)
        powers = np.exp(scores - np.where(top == -np.inf, 0.0, top))
        total = powers.sum(3, keepdims=True)
        p = powers / np.where(total == 0, 1.0, total)
        return p @ _repeated(value, query), (top + np.log(total))[..., 0]


def attention_backward(
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    output_grad: np.ndarray,
    options: AttentionModuleOptions,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The gradients, from the probabilities themselves rather than from a rounded output and logsumexp."""
    scores, slope = _scores(query, key, options)
    scores = np.where(_future(scores, options), -np.inf, scores)
    with np.errstate(all="ignore"):
        top = scores.max(3, keepdims=True, initial=-np.inf)
        powers = np.exp(scores - np.where(top == -np.inf, 0.0, top))
        total = powers.sum(3, keepdims=True)
        p = powers / np.where(total == 0, 1.0, total)
        p_grad = output_grad @ _repeated(value, query).swapaxes(2, 3)
        scores_grad = p * (p_grad - (p * p_grad).sum(3, keepdims=True)) * slope
        return (
            scores_grad @ _repeated(key, query),
            _collected(scores_grad.swapaxes(2, 3) @ query, key),
            _collected(p.swapaxes(2, 3) @ output_grad, value),
        )


def _scores(query: np.ndarray, key: np.ndarray, options: AttentionModuleOptions) -> tuple[np.ndarray, np.ndarray]:
    """The scores and their derivative by the plain product query·key."""
    scale = query.shape[3] ** -0.5 if options.scale is None else options.scale
    with np.errstate(all="ignore"):
        scores = query @ _repeated(key, query).swapaxes(2, 3) * scale
        if options.softcap is None:
            return scores, np.full(1, scale)
        capped = np.tanh(scores / options.softcap)
        return options.softcap * capped, scale * (1 - capped**2)


def _future(scores: np.ndarray, options: AttentionModuleOptions) -> np.ndarray:
    queries, keys = scores.shape[2:]
    if not options.is_causal:
        return np.zeros((1, 1), bool)
    offset = keys - queries if options.causal_alignment is CausalAlignment.BOTTOM_RIGHT else 0
    return ~np.tri(queries, keys, offset, dtype=bool)


def _repeated(x: np.ndarray, query: np.ndarray) -> np.ndarray:
    return np.repeat(x, query.shape[1] // x.shape[1], axis=1)


def _collected(grad: np.ndarray, like: np.ndarray) -> np.ndarray:
    """[N, H, ..] summed over the query heads of each key head."""
    batch, heads = like.shape[:2]
    return grad.reshape(batch, heads, grad.shape[1] // heads, *grad.shape[2:]).sum(2)
