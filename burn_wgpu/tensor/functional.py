"""What layers compute: normalisation, embedding, linear, convolution, pooling, resampling, attention, CTC.

Axes: N batch, C channels (Ci in, Co out), then space. Operands of one call share device and dtype. Options are the
records of `burn_wgpu.contract.options`; halves accumulate in float32.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import nan, prod
from typing import TYPE_CHECKING, Any, NamedTuple

from burn_wgpu.contract.defaults import attention as attention_defaults
from burn_wgpu.contract.options import (
    AttentionModuleOptions,
    ConvOptions,
    ConvTransposeOptions,
    DeformConvOptions,
    InterpolateOptions,
    UnfoldOptions,
    conv_output_size,
    conv_transpose_output_size,
    interpolate_output_size,
    pool_output_size,
)
from burn_wgpu.std.errors import ArgumentError, ShapeError
from burn_wgpu.tensor import check
from burn_wgpu.tensor.core import wrap
from burn_wgpu.tensor.pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    avg_pool1d,
    avg_pool2d,
    avg_pool2d_backward,
    avg_pool3d,
    avg_pool3d_backward,
    avg_pool_output_size,
    max_pool1d,
    max_pool1d_with_indices,
    max_pool2d,
    max_pool2d_with_indices,
    max_pool2d_with_indices_backward,
    max_pool3d,
    max_pool3d_with_indices,
    max_pool3d_with_indices_backward,
    max_pool_output_size,
)

if TYPE_CHECKING:
    from burn_wgpu.tensor.api import Tensor

__all__ = [
    "BatchNormTrain", "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "attention",
    "attention_fallback", "avg_pool1d", "avg_pool2d", "avg_pool2d_backward", "avg_pool3d",
    "avg_pool3d_backward", "avg_pool_output_size",
    "batch_norm", "batch_norm_train", "conv1d", "conv2d", "conv2d_weight_backward", "conv3d", "conv_output_size",
    "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "conv_transpose_output_size",
    "cross_entropy_with_logits", "ctc_loss", "deform_conv2d", "embedding", "fold4d", "interpolate",
    "interpolate_output_size", "layer_norm", "linear", "max_pool1d", "max_pool1d_with_indices", "max_pool2d",
    "max_pool2d_with_indices", "max_pool2d_with_indices_backward", "max_pool3d", "max_pool3d_with_indices",
    "max_pool3d_with_indices_backward", "max_pool_output_size", "pool_output_size", "unfold4d",
]  # fmt: skip


class BatchNormTrain(NamedTuple):
    """output, of x's shape; mean and biased variance [C] of this batch (f32 for halves), without gradient."""

    output: Tensor
    mean: Tensor
    variance: Tensor


# --------------------------------------------------------------------------------------------- normalisation


def batch_norm(x: Tensor, gamma: Tensor, beta: Tensor, mean: Tensor, variance: Tensor, eps: float = 1e-5) -> Tensor:
    """(x − mean) / √(variance + eps) · gamma + beta per channel: x [N, C, ..], the others [C] → x's shape."""
    check.tensor("batch_norm", x, "x")
    check.rank("batch_norm", x.shape, 2, "x")
    check.together("batch_norm", x, gamma=gamma, beta=beta)
    check.same_device("batch_norm", x, mean, variance)
    for what, t in (("gamma", gamma), ("beta", beta), ("mean", mean), ("variance", variance)):
        check.vector("batch_norm", what, t, x.shape[1], "one element per channel of x")
    args = (gamma.primitive, beta.primitive, mean.primitive, variance.primitive)
    return wrap(x._ops.backend.batch_norm(x.primitive, *args, eps), x._ops)


def batch_norm_train(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> BatchNormTrain:
    """Batch norm with x's own statistics, which are returned: x [N, C, ..], gamma and beta [C]."""
    check.tensor("batch_norm_train", x, "x")
    check.rank("batch_norm_train", x.shape, 2, "x")
    check.together("batch_norm_train", x, gamma=gamma, beta=beta)
    for what, t in (("gamma", gamma), ("beta", beta)):
        check.vector("batch_norm_train", what, t, x.shape[1], "one element per channel of x")
    found = x._ops.backend.batch_norm_train(x.primitive, gamma.primitive, beta.primitive, eps)
    output, mean, variance = (wrap(p, x._ops) for p in found)
    return BatchNormTrain(output, mean.detach(), variance.detach())


def layer_norm(x: Tensor, gamma: Tensor, beta: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    """(x − mean) / √(variance + eps) · gamma (+ beta) over the last axis: x [.., D], gamma and beta [D]."""
    check.tensor("layer_norm", x, "x")
    check.tensor("layer_norm", gamma, "gamma")
    check.rank("layer_norm", x.shape, 1, "x")
    check.together("layer_norm", x, gamma=gamma, beta=beta)
    for what, t in (("gamma", gamma), ("beta", beta)):
        if t is not None:
            check.vector("layer_norm", what, t, x.shape[-1], "the size of x's last axis")
    return wrap(x._ops.backend.layer_norm(x.primitive, gamma.primitive, _prim(beta), eps), x._ops)


# ----------------------------------------------------------------------------------------- embedding, linear


def embedding(weights: Tensor, indices: Tensor) -> Tensor:
    """The rows of weights [V, D] at indices of any shape [..] → [.., D].

    An index out of range raises IndexOutOfRange, perhaps at the next synchronisation.
    """
    check.exact_rank("embedding", weights, 2, "weights")
    check.kind("embedding", indices, "the indices", "int")
    check.same_device("embedding", weights, indices)
    flat = indices if indices.rank == 2 else indices.reshape((1, indices.size))
    rows = wrap(weights._ops.backend.embedding(weights.primitive, flat.primitive), weights._ops)
    return rows if indices.rank == 2 else rows.reshape((*indices.shape, weights.shape[1]))


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x · weight (+ bias): x [.., Din], weight [Din, Dout], bias [Dout] → [.., Dout]."""
    check.tensor("linear", x, "x")
    check.rank("linear", x.shape, 1, "x")
    check.exact_rank("linear", weight, 2, "weight")
    x = x.dequantize()
    check.together("linear", x, weight=None if weight.is_quantized else weight, bias=bias)
    if x.shape[-1] != weight.shape[0]:
        raise ShapeError(
            f"linear: x {list(x.shape)} and weight {list(weight.shape)} disagree on the inner size "
            f"({x.shape[-1]} and {weight.shape[0]}); the weight is [in, out]"
        )
    if bias is not None:
        check.vector("linear", "bias", bias, weight.shape[1], "the weight's output size")
    if x.rank == 1:
        return linear(x.unsqueeze_dim(0), weight, bias).squeeze_dim(0)
    if weight.is_quantized:
        # A quantized weight stays quantized: the backend multiplies by it as it is.
        product = x.matmul(weight).dequantize(x.dtype)
        return product if bias is None else product + bias
    return wrap(x._ops.backend.linear(x.primitive, weight.primitive, _prim(bias)), x._ops)


# ----------------------------------------------------------------------------------------------- convolution


def conv1d(x: Tensor, weight: Tensor, bias: Tensor | None = None, options: ConvOptions | None = None) -> Tensor:
    """Cross-correlation: x [N, Ci, L], weight [Co, Ci/groups, k], bias [Co] → [N, Co, Lo].

    Lo = (L + begin + end − dilation·(k−1) − 1) // stride + 1.
    """
    return _conv("conv1d", x, weight, bias, options, 1)


def conv2d(x: Tensor, weight: Tensor, bias: Tensor | None = None, options: ConvOptions | None = None) -> Tensor:
    """Cross-correlation: x [N, Ci, H, W], weight [Co, Ci/groups, kh, kw], bias [Co] → [N, Co, Ho, Wo]."""
    return _conv("conv2d", x, weight, bias, options, 2)


def conv3d(x: Tensor, weight: Tensor, bias: Tensor | None = None, options: ConvOptions | None = None) -> Tensor:
    """Cross-correlation: x [N, Ci, D, H, W], weight [Co, Ci/groups, kd, kh, kw], bias [Co] → [N, Co, Do, Ho, Wo]."""
    return _conv("conv3d", x, weight, bias, options, 3)


def conv_transpose1d(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, options: ConvTransposeOptions | None = None
) -> Tensor:
    """The adjoint of conv1d: x [N, Ci, L], weight [Ci, Co/groups, k], bias [Co] → [N, Co, Lo].

    Lo = (L−1)·stride + dilation·(k−1) + 1 + padding_out − 2·padding.
    """
    return _conv_transpose("conv_transpose1d", x, weight, bias, options, 1)


def conv_transpose2d(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, options: ConvTransposeOptions | None = None
) -> Tensor:
    """The adjoint of conv2d: x [N, Ci, H, W], weight [Ci, Co/groups, kh, kw], bias [Co] → [N, Co, Ho, Wo]."""
    return _conv_transpose("conv_transpose2d", x, weight, bias, options, 2)


def conv_transpose3d(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, options: ConvTransposeOptions | None = None
) -> Tensor:
    """The adjoint of conv3d: x [N, Ci, D, H, W], weight [Ci, Co/groups, kd, kh, kw] → [N, Co, Do, Ho, Wo]."""
    return _conv_transpose("conv_transpose3d", x, weight, bias, options, 3)


def deform_conv2d(
    x: Tensor,
    offset: Tensor,
    weight: Tensor,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    options: DeformConvOptions | None = None,
) -> Tensor:
    """A convolution whose taps are moved by offsets and scaled by a mask.

    x [N, Ci, H, W], offset [N, 2·og·kh·kw, Ho, Wo] (pairs dy, dx), weight [Co, Ci/wg, kh, kw], mask
    [N, og·kh·kw, Ho, Wo], bias [Co] → [N, Co, Ho, Wo]; og and wg are the offset and weight groups.
    """
    name = "deform_conv2d"
    chosen = check.chosen(name, options, DeformConvOptions())
    for what, t in (("x", x), ("offset", offset), ("weight", weight)):
        check.exact_rank(name, t, 4, what)
    check.together(name, x, offset=offset, weight=weight, mask=mask, bias=bias)
    _channels(name, x, weight, chosen.weight_groups)
    kernel = weight.shape[2:]
    taps = chosen.offset_groups * kernel[0] * kernel[1]
    spatial = zip(x.shape[2:], kernel, chosen.stride, chosen.padding, chosen.dilation, strict=True)
    out = tuple(conv_output_size(n, k, s, (p, p), d, name) for n, k, s, p, d in spatial)
    check.same_shape(name, (x.shape[0], 2 * taps, *out), offset.shape, "offset")
    if mask is not None:
        check.same_shape(name, (x.shape[0], taps, *out), mask.shape, "mask")
    if x.shape[1] % chosen.offset_groups:
        raise ShapeError(
            f"{name}: x has {x.shape[1]} channels and there are {chosen.offset_groups} offset groups; "
            f"the channels must divide by the groups"
        )
    if bias is not None:
        check.vector(name, "bias", bias, weight.shape[0], "the weight's output channels")
    args = (offset.primitive, weight.primitive, _prim(mask), _prim(bias), chosen)
    return wrap(x._ops.backend.deform_conv2d(x.primitive, *args), x._ops)


def conv2d_weight_backward(x: Tensor, weight: Tensor, output_grad: Tensor, options: ConvOptions) -> Tensor:
    """The gradient of conv2d's weight, in its shape."""
    check.together("conv2d_weight_backward", x, weight=weight, output_grad=output_grad)
    check.options("conv2d_weight_backward", options, "stride", "padding", "dilation", "groups")
    check.tensor("conv2d_weight_backward", weight, "weight")
    check.tensor("conv2d_weight_backward", output_grad, "output_grad")
    args = (x.primitive, weight.primitive, output_grad.primitive, options)
    return wrap(x._ops.backend.conv2d_weight_backward(*args), x._ops)


def unfold4d(x: Tensor, kernel_size: Sequence[int], options: UnfoldOptions | None = None) -> Tensor:
    """The windows of x [N, C, H, W] as columns → [N, C·kh·kw, blocks]."""
    check.exact_rank("unfold4d", x, 4, "x")
    size = check.sizes("unfold4d", kernel_size, 2, "kernel_size")
    chosen = check.chosen("unfold4d", options, UnfoldOptions())
    return wrap(x._ops.backend.unfold4d(x.primitive, size, chosen), x._ops)


def fold4d(
    x: Tensor, output_size: Sequence[int], kernel_size: Sequence[int], options: UnfoldOptions | None = None
) -> Tensor:
    """The adjoint of unfold4d: columns [N, C·kh·kw, blocks] added into [N, C, *output_size], overlaps summed."""
    check.exact_rank("fold4d", x, 3, "x")
    out = check.sizes("fold4d", output_size, 2, "output_size")
    kernel = check.sizes("fold4d", kernel_size, 2, "kernel_size")
    chosen = check.chosen("fold4d", options, UnfoldOptions())
    return wrap(x._ops.backend.fold4d(x.primitive, out, kernel, chosen), x._ops)


# -------------------------------------------------------------------------------------------------- resampling


def interpolate(x: Tensor, options: InterpolateOptions) -> Tensor:
    """x [N, C, H, W] resampled to the options' output_size, or to ⌊size · scale_factor⌋ → [N, C, Ho, Wo]."""
    check.exact_rank("interpolate", x, 4, "x")
    check.space("interpolate", x)
    check.options("interpolate", options, "output_size", "scale_factor", "mode")
    size = interpolate_output_size(x.shape[2:], options)
    return wrap(x._ops.backend.interpolate(x.primitive, size, options), x._ops)


# --------------------------------------------------------------------------------------- attention and losses


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    attn_bias: Tensor | None = None,
    options: AttentionModuleOptions | None = None,
) -> Tensor:
    """softmax(query·keyᵀ·scale)·value per head.

    query [N, H, Sq, D], key [N, Hkv, Sk, D], value [N, Hkv, Sk, Dv] → [N, H, Sq, Dv], where H is a multiple of Hkv.
    mask (TRUE hides) and attn_bias broadcast to [N, H, Sq, Sk]. A query that sees nothing gives 0.
    """
    args = _attention_args("attention", query, key, value, mask, attn_bias)
    chosen = check.chosen("attention", options, AttentionModuleOptions())
    return wrap(query._ops.backend.attention(*args, chosen), query._ops)


def attention_fallback(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    attn_bias: Tensor | None = None,
    options: AttentionModuleOptions | None = None,
) -> Tensor:
    """`attention`, always composed of matmul and softmax."""
    args = _attention_args("attention_fallback", query, key, value, mask, attn_bias)
    backend = query._ops.backend
    chosen = check.chosen("attention_fallback", options, AttentionModuleOptions())
    return wrap(attention_defaults.attention(backend, *args, chosen), query._ops)


def ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: int = 0
) -> Tensor:
    """−log of the probability of all alignments of each target, [N]; +∞ where there is none.

    log_probs [T, N, C], targets [N, S] ints, lengths [N] ints.
    """
    name = "ctc_loss"
    check.exact_rank(name, log_probs, 3, "log_probs")
    check.exact_rank(name, targets, 2, "targets")
    check.same_device(name, log_probs, targets, input_lengths, target_lengths)
    for what, t in (("targets", targets), ("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        check.kind(name, t, what, "int")
    n, classes = log_probs.shape[1], log_probs.shape[2]
    if targets.shape[0] != n:
        raise ShapeError(
            f"{name}: log_probs {list(log_probs.shape)} and targets {list(targets.shape)} disagree on the batch "
            f"({n} and {targets.shape[0]})"
        )
    for what, t in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        check.vector(name, what, t, n, "the batch size")
    if not 0 <= blank < classes:
        raise ArgumentError(f"{name}: blank is {blank} and there are {classes} classes; it must be one of them")
    args = (targets.primitive, input_lengths.primitive, target_lengths.primitive, blank)
    return wrap(log_probs._ops.backend.ctc_loss(log_probs.primitive, *args), log_probs._ops)


def cross_entropy_with_logits(logits: Tensor, target_probs: Tensor) -> Tensor:
    """−mean(Σ log_softmax(logits) · target_probs over the last axis) → [1]."""
    check.tensor("cross_entropy_with_logits", logits, "logits")
    check.rank("cross_entropy_with_logits", logits.shape, 1, "logits")
    check.operands("cross_entropy_with_logits", logits, target_probs)
    check.same_shape("cross_entropy_with_logits", logits.shape, target_probs.shape, "target_probs")
    log_probs = wrap(logits._ops.backend.log_softmax(logits.primitive, logits.rank - 1), logits._ops)
    ops, rows = log_probs._ops, prod(logits.shape[:-1])
    total = ops.inner(log_probs.primitive, target_probs.dequantize().primitive, tuple(range(logits.rank)))
    return wrap(ops.scale(ops.reshape(total, (1,)), -1 / rows if rows else nan), ops)


# --------------------------------------------------------------------------------------------------- helpers


def _prim(tensor: Tensor | None) -> Any:
    return None if tensor is None else tensor.primitive


def _channels(name: str, x: Tensor, weight: Tensor, groups: int) -> None:
    if x.shape[1] != weight.shape[1] * groups or weight.shape[0] % groups:
        raise ShapeError(
            f"{name}: x {list(x.shape)} has {x.shape[1]} channels and the weight {list(weight.shape)} with {groups} "
            f"groups wants {weight.shape[1] * groups}; the channels of x must be weight.shape[1] · groups, "
            f"and those of the weight must divide by the groups"
        )


def _conv(
    name: str, x: Tensor, weight: Tensor, bias: Tensor | None, options: ConvOptions | None, spatial: int
) -> Tensor:
    chosen = check.chosen(name, options, ConvOptions((1,) * spatial, (0,) * spatial))
    check.exact_rank(name, x, spatial + 2, "x")
    check.exact_rank(name, weight, spatial + 2, "weight")
    check.together(name, x, weight=weight, bias=bias)
    check.spatial(name, spatial, stride=chosen.stride)
    _channels(name, x, weight, chosen.groups)
    axes = zip(x.shape[2:], weight.shape[2:], chosen.stride, chosen.padding, chosen.dilation, strict=True)
    for n, k, s, p, d in axes:
        conv_output_size(n, k, s, p, d, name)
    if bias is not None:
        check.vector(name, "bias", bias, weight.shape[0], "the weight's output channels")
    function = getattr(x._ops.backend, name)
    return wrap(function(x.primitive, weight.primitive, _prim(bias), chosen), x._ops)


def _conv_transpose(
    name: str, x: Tensor, weight: Tensor, bias: Tensor | None, options: ConvTransposeOptions | None, spatial: int
) -> Tensor:
    chosen = check.chosen(name, options, ConvTransposeOptions((1,) * spatial, (0,) * spatial))
    check.exact_rank(name, x, spatial + 2, "x")
    check.exact_rank(name, weight, spatial + 2, "weight")
    check.together(name, x, weight=weight, bias=bias)
    check.spatial(name, spatial, stride=chosen.stride)
    if x.shape[1] != weight.shape[0] or weight.shape[0] % chosen.groups:
        raise ShapeError(
            f"{name}: x {list(x.shape)} has {x.shape[1]} channels and the weight {list(weight.shape)} with "
            f"{chosen.groups} groups wants {weight.shape[0]}; the channels of x must be weight.shape[0], "
            f"which must divide by the groups"
        )
    axes = zip(
        x.shape[2:], weight.shape[2:], chosen.stride, chosen.padding, chosen.padding_out, chosen.dilation, strict=True
    )
    for n, k, s, p, out, d in axes:
        if out >= max(s, d):
            raise ArgumentError(
                f"{name}: padding_out is {out} with stride {s} and dilation {d}; it must be below the larger of them"
            )
        conv_transpose_output_size(n, k, s, p, out, d, name)
    if bias is not None:
        check.vector(name, "bias", bias, weight.shape[1] * chosen.groups, "the weight's output channels")
    function = getattr(x._ops.backend, name)
    return wrap(function(x.primitive, weight.primitive, _prim(bias), chosen), x._ops)


def _attention_args(
    name: str, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, attn_bias: Tensor | None
) -> tuple[Any, Any, Any, Any, Any]:
    for what, t in (("query", query), ("key", key), ("value", value)):
        check.exact_rank(name, t, 4, what)
    check.together(name, query, key=key, value=value, attn_bias=attn_bias)
    (n, heads, sq, d), (nk, kv_heads, sk, dk) = query.shape, key.shape
    if n != nk or not d or d != dk or value.shape[:3] != key.shape[:3] or not kv_heads or heads % kv_heads:
        raise ShapeError(
            f"{name}: query {list(query.shape)}, key {list(key.shape)} and value {list(value.shape)} do not fit; "
            f"query [N, H, Sq, D], key [N, Hkv, Sk, D], value [N, Hkv, Sk, Dv], D at least 1, H a multiple of Hkv"
        )
    scores = (n, heads, sq, sk)
    if mask is not None:
        check.kind(name, mask, "the mask", "bool")
        check.same_device(name, query, mask)
        mask = _fitted(name, mask, scores, "the mask")
    if attn_bias is not None:
        attn_bias = _fitted(name, attn_bias, scores, "attn_bias")
    return query.primitive, key.primitive, value.primitive, _prim(mask), _prim(attn_bias)


def _fitted(name: str, tensor: Tensor, shape: tuple[int, ...], what: str) -> Tensor:
    if check.broadcast(name, tensor.shape, shape) != shape:
        raise ShapeError(f"{name}: {what} has shape {list(tensor.shape)}; it must broadcast to {list(shape)}")
    return tensor.expand(shape)
