"""Normalisation, linear layers and embeddings, composed. f16 and bf16 are computed in f32 and rounded once."""

from __future__ import annotations

from math import prod
from typing import Any

from burn_wgpu.contract.defaults.common import cast, row, sum_axes, widen, zeros_like
from burn_wgpu.contract.options import BatchNormGradients, BatchNormTrain, IndexingUpdateOp
from burn_wgpu.contract.types import FloatPrim, IntPrim


def batch_norm(
    b: Any, x: FloatPrim, gamma: FloatPrim, beta: FloatPrim, mean: FloatPrim, variance: FloatPrim, eps: float
) -> FloatPrim:
    centred = b.float_sub(widen(b, x), _per_channel(b, mean, x))
    scale = b.float_mul(_per_channel(b, gamma, x), _inverse_std(b, _per_channel(b, variance, x), eps))
    return cast(b, b.float_add(b.float_mul(centred, scale), _per_channel(b, beta, x)), x.dtype)


def batch_norm_train(b: Any, x: FloatPrim, gamma: FloatPrim, beta: FloatPrim, eps: float) -> BatchNormTrain:
    wide = widen(b, x)
    mean = _channel_mean(b, wide)
    centred = b.float_sub(wide, mean)
    # Two passes: the mean of squares minus the squared mean would lose every digit of a small variance.
    variance = _channel_mean(b, b.float_mul(centred, centred))
    scale = b.float_mul(_per_channel(b, gamma, x), _inverse_std(b, variance, eps))
    output = b.float_add(b.float_mul(centred, scale), _per_channel(b, beta, x))
    channels = (x.shape[1],)
    return BatchNormTrain(
        cast(b, output, x.dtype), b.float_reshape(mean, channels), b.float_reshape(variance, channels)
    )


def batch_norm_train_backward(
    b: Any, x: FloatPrim, gamma: FloatPrim, mean: FloatPrim, variance: FloatPrim, eps: float, output_grad: FloatPrim
) -> BatchNormGradients:
    grad = widen(b, output_grad)
    inverse = _inverse_std(b, _per_channel(b, variance, x), eps)
    normal = b.float_mul(b.float_sub(widen(b, x), _per_channel(b, mean, x)), inverse)
    grad_mean = _channel_mean(b, grad)
    grad_normal_mean = _channel_mean(b, b.float_mul(grad, normal))
    inner = b.float_sub(b.float_sub(grad, grad_mean), b.float_mul(normal, grad_normal_mean))
    x_grad = b.float_mul(inner, b.float_mul(_per_channel(b, gamma, x), inverse))
    count = prod(x.shape) // max(x.shape[1], 1)
    channels = (x.shape[1],)
    gamma_grad = b.float_reshape(b.float_mul_scalar(grad_normal_mean, count), channels)
    beta_grad = b.float_reshape(b.float_mul_scalar(grad_mean, count), channels)
    return BatchNormGradients(
        cast(b, x_grad, x.dtype), cast(b, gamma_grad, gamma.dtype), cast(b, beta_grad, gamma.dtype)
    )


def layer_norm(b: Any, x: FloatPrim, gamma: FloatPrim, beta: FloatPrim | None, eps: float) -> FloatPrim:
    last = len(x.shape) - 1
    shape = row(x.shape[last], last, last + 1)
    wide = widen(b, x)
    centred = b.float_sub(wide, b.float_mean_dim(wide, last))
    variance = b.float_mean_dim(b.float_mul(centred, centred), last)
    out = b.float_mul(centred, _inverse_std(b, variance, eps))
    out = b.float_mul(out, b.float_reshape(widen(b, gamma), shape))
    if beta is not None:
        out = b.float_add(out, b.float_reshape(widen(b, beta), shape))
    return cast(b, out, x.dtype)


def _inverse_std(b: Any, variance: FloatPrim, eps: float) -> FloatPrim:
    return b.float_recip(b.float_sqrt(b.float_add_scalar(variance, eps)))


def _per_channel(b: Any, vector: FloatPrim, x: FloatPrim) -> FloatPrim:
    """[C] → [1, C, 1, ..] against x, in f32 at least."""
    return b.float_reshape(widen(b, vector), row(x.shape[1], 1, len(x.shape)))


def _channel_mean(b: Any, x: FloatPrim) -> FloatPrim:
    """[N, C, ..] → [1, C, 1, ..]: means of means, which are the mean because every channel has as many elements."""
    flat = b.float_reshape(x, (x.shape[0], x.shape[1], prod(x.shape[2:])))
    mean = b.float_mean_dim(b.float_mean_dim(flat, 2), 0)
    return b.float_reshape(mean, row(x.shape[1], 1, len(x.shape)))


# ---------------------------------------------------------------------------------------------- linear, embedding


def linear(b: Any, x: FloatPrim, weight: FloatPrim, bias: FloatPrim | None) -> FloatPrim:
    rows = b.float_matmul(flat_rows(b, x), weight)
    if bias is not None:
        rows = b.float_add(rows, b.float_reshape(bias, (1, bias.shape[0])))
    return b.float_reshape(rows, (*x.shape[:-1], weight.shape[1]))


def linear_weight_backward(b: Any, x: FloatPrim, output_grad: FloatPrim) -> FloatPrim:
    return b.float_matmul(b.float_swap_dims(flat_rows(b, x), 0, 1), flat_rows(b, output_grad))


def linear_bias_backward(b: Any, output_grad: FloatPrim) -> FloatPrim:
    return b.float_reshape(sum_axes(b, flat_rows(b, output_grad), [0]), (output_grad.shape[-1],))


def flat_rows(b: Any, x: FloatPrim) -> FloatPrim:
    """[.., D] → [rows, D]."""
    return x if len(x.shape) == 2 else b.float_reshape(x, (prod(x.shape[:-1]), x.shape[-1]))


def embedding(b: Any, weights: FloatPrim, indices: IntPrim) -> FloatPrim:
    flat = b.int_reshape(indices, (prod(indices.shape),))
    return b.float_reshape(b.float_select(weights, 0, flat), (*indices.shape, weights.shape[1]))


def embedding_backward(b: Any, weights: FloatPrim, output_grad: FloatPrim, indices: IntPrim) -> FloatPrim:
    flat = b.int_reshape(indices, (prod(indices.shape),))
    grad = widen(b, flat_rows(b, output_grad))
    total = b.float_select_assign(zeros_like(b, grad, weights.shape), 0, flat, grad, IndexingUpdateOp.ADD)
    return cast(b, total, weights.dtype)


# ------------------------------------------------------------------------------------------------------ activations


def softmax(b: Any, tensor: FloatPrim, dim: int) -> FloatPrim:
    shifted = _minus_max(b, tensor, dim)
    powers = b.float_exp(shifted)
    return cast(b, b.float_div(powers, b.float_sum_dim(powers, dim)), tensor.dtype)


def log_softmax(b: Any, tensor: FloatPrim, dim: int) -> FloatPrim:
    shifted = _minus_max(b, tensor, dim)
    total = b.float_log(b.float_sum_dim(b.float_exp(shifted), dim))
    return cast(b, b.float_sub(shifted, total), tensor.dtype)


def _minus_max(b: Any, tensor: FloatPrim, dim: int) -> FloatPrim:
    """The maximum is a constant to the gradient: the result does not depend on it."""
    wide = widen(b, tensor)
    if tensor.shape[dim] == 0:
        return wide
    return b.float_sub(wide, b.float_max_dim(b.float_detach(wide), dim))
