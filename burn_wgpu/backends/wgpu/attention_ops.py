"""Attention and its gradient as fused kernels. See kernel/attention.py."""

from __future__ import annotations

from math import sqrt
from typing import Any

from burn_wgpu.backends.wgpu.run import contiguous, run
from burn_wgpu.backends.wgpu.tensor import WgpuTensor
from burn_wgpu.contract.defaults import attention as defaults
from burn_wgpu.contract.defaults.common import cast
from burn_wgpu.contract.options import AttentionGradients, AttentionModuleOptions
from burn_wgpu.kernel.attention import Operand, Scores, attention_grads_plan, attention_plan, fits, grad_fits


def _scores(query: WgpuTensor, key: WgpuTensor, options: AttentionModuleOptions) -> Scores:
    scale = 1 / sqrt(query.shape[3]) if options.scale is None else options.scale
    offset = options.causal_alignment.offset(query.shape[2], key.shape[2]) if options.is_causal else 0
    return Scores(float(scale), options.softcap, options.is_causal, offset)


def _forward(
    b: Any,
    query: WgpuTensor,
    key: WgpuTensor,
    value: WgpuTensor,
    mask: WgpuTensor | None,
    bias: WgpuTensor | None,
    options: AttentionModuleOptions,
    logsumexp: bool,
) -> list[WgpuTensor]:
    scores, dtype = _scores(query, key, options), query.dtype
    layouts = (query.layout, key.layout, value.layout)
    more = tuple(t for t in (mask, bias) if t is not None)
    hides, adds = (None if t is None else Operand(t.layout, t.dtype) for t in (mask, bias))
    outputs = run(
        query.device,
        ("attention", layouts, dtype, hides, adds, scores, logsumexp),
        lambda c: attention_plan(*layouts, dtype, hides, adds, scores, logsumexp, c),
        (query, key, value, *more),
    )
    return [cast(b, outputs[0], dtype), *outputs[1:]]  # type: ignore[list-item]


def _fused(query: WgpuTensor, key: WgpuTensor, value: WgpuTensor) -> bool:
    same = query.dtype is key.dtype is value.dtype
    return same and fits(query.shape[3], key.shape[2], value.shape[3], query.device.capability)


class AttentionOps:
    """See `contract.module_ops`. What the fused kernel does not take is composed."""

    def attention(
        self,
        query: WgpuTensor,
        key: WgpuTensor,
        value: WgpuTensor,
        mask: WgpuTensor | None,
        attn_bias: WgpuTensor | None,
        options: AttentionModuleOptions,
    ) -> WgpuTensor:
        if not _fused(query, key, value):
            return defaults.attention(self, query, key, value, mask, attn_bias, options)  # type: ignore[return-value]
        return _forward(self, query, key, value, mask, attn_bias, options, False)[0]

    def has_attention_backward(self) -> bool:
        return True

    def attention_with_logsumexp(
        self, query: WgpuTensor, key: WgpuTensor, value: WgpuTensor, options: AttentionModuleOptions
    ) -> tuple[WgpuTensor, WgpuTensor]:
        if not _fused(query, key, value):
            return defaults.attention_with_logsumexp(self, query, key, value, options)  # type: ignore[return-value]
        out, logsumexp = _forward(self, query, key, value, None, None, options, True)
        return out, logsumexp

    def attention_backward(
        self: Any,
        query: WgpuTensor,
        key: WgpuTensor,
        value: WgpuTensor,
        output: WgpuTensor,
        logsumexp: WgpuTensor,
        output_grad: WgpuTensor,
        options: AttentionModuleOptions,
    ) -> AttentionGradients:
        """Scores are made again from query and key, in tiles: memory is that of the operands."""
        same = query.dtype is key.dtype is value.dtype is output.dtype is output_grad.dtype
        if not same or not grad_fits(query.shape, key.shape, value.shape):
            return defaults.attention_backward(self, query, key, value, output, logsumexp, output_grad, options)
        scores, dtype, statistic = _scores(query, key, options), query.dtype, logsumexp.dtype
        layouts = (query.layout, key.layout, value.layout, output_grad.layout, output.layout)
        grads = run(
            query.device,
            ("attention grads", layouts, dtype, statistic, scores),
            lambda c: attention_grads_plan(*layouts, dtype, statistic, scores, c),
            (query, key, value, output_grad, output, contiguous(logsumexp)),
        )
        return AttentionGradients(*(cast(self, x, dtype) for x in grads))
