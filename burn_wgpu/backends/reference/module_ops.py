"""What layers are made of, in float64 and rounded once: convolutions, pooling, norms, resampling, attention, CTC."""
# mypy: disable-error-code="override"

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from burn_wgpu.backends.reference import attention as attentions
from burn_wgpu.backends.reference import conv, pool
from burn_wgpu.backends.reference import interpolate as resampling
from burn_wgpu.backends.reference.shared import check_indices
from burn_wgpu.backends.reference.tensor import RefTensor, lift64, lower
from burn_wgpu.contract.module_ops import ModuleOps
from burn_wgpu.contract.options import (
    AttentionGradients,
    AttentionModuleOptions,
    BatchNormGradients,
    BatchNormTrain,
    ConvOptions,
    ConvTransposeOptions,
    DeformConvGradients,
    DeformConvOptions,
    InterpolateOptions,
)
from burn_wgpu.std.dtype import F32, F64, DType


def _rounded(values: np.ndarray, like: RefTensor) -> RefTensor:
    return like.like(lower(values, like.dtype))


def _optional(tensor: RefTensor | None) -> np.ndarray | None:
    return None if tensor is None else lift64(tensor)


def _wide(tensor: RefTensor) -> RefTensor:
    return RefTensor(lift64(tensor), F64, tensor.device) if tensor.dtype.is_float else tensor


def _statistic(tensor: RefTensor, like: RefTensor) -> RefTensor:
    """A float64 statistic as the contract returns it: f32 beside halves and f32."""
    kind = F64 if like.dtype is F64 else F32
    return RefTensor(lower(tensor.values, kind), kind, tensor.device)


def _check_ctc(
    operation: str, log_probs: RefTensor, targets: RefTensor, input_lengths: RefTensor, target_lengths: RefTensor
) -> None:
    """Raises IndexOutOfRange for a length that is more than there is, or a label in use that is no class."""
    steps, _, classes = log_probs.shape
    used = np.arange(targets.shape[1]) < target_lengths.values[:, None]
    check_indices(f"{operation}, input_lengths", input_lengths.values, steps + 1, 0)
    check_indices(f"{operation}, target_lengths", target_lengths.values, targets.shape[1] + 1, 0)
    check_indices(f"{operation}, targets", np.where(used, targets.values, 0), classes, 2)


class ReferenceModuleOps(ModuleOps):
    """Every function that the contract requires, and exact versions of those that it composes."""

    # ------------------------------------------------------------------------------------------- convolution

    def _conv(
        self, name: str, x: RefTensor, weight: RefTensor, bias: RefTensor | None, options: ConvOptions
    ) -> RefTensor:
        with np.errstate(all="ignore"):
            return _rounded(conv.conv(lift64(x), lift64(weight), _optional(bias), options, name), x)

    def _conv_transpose(
        self, name: str, x: RefTensor, weight: RefTensor, bias: RefTensor | None, options: ConvTransposeOptions
    ) -> RefTensor:
        with np.errstate(all="ignore"):
            return _rounded(conv.conv_transpose(lift64(x), lift64(weight), _optional(bias), options, name), x)

    def conv1d(self, x: RefTensor, weight: RefTensor, bias: RefTensor | None, options: ConvOptions) -> RefTensor:
        return self._conv("conv1d", x, weight, bias, options)

    def conv2d(self, x: RefTensor, weight: RefTensor, bias: RefTensor | None, options: ConvOptions) -> RefTensor:
        return self._conv("conv2d", x, weight, bias, options)

    def conv3d(self, x: RefTensor, weight: RefTensor, bias: RefTensor | None, options: ConvOptions) -> RefTensor:
        return self._conv("conv3d", x, weight, bias, options)

    def conv_transpose1d(
        self, x: RefTensor, weight: RefTensor, bias: RefTensor | None, options: ConvTransposeOptions
    ) -> RefTensor:
        return self._conv_transpose("conv_transpose1d", x, weight, bias, options)

    def conv_transpose2d(
        self, x: RefTensor, weight: RefTensor, bias: RefTensor | None, options: ConvTransposeOptions
    ) -> RefTensor:
        return self._conv_transpose("conv_transpose2d", x, weight, bias, options)

    def conv_transpose3d(
        self, x: RefTensor, weight: RefTensor, bias: RefTensor | None, options: ConvTransposeOptions
    ) -> RefTensor:
        return self._conv_transpose("conv_transpose3d", x, weight, bias, options)

    def deform_conv2d(
        self,
        x: RefTensor,
        offset: RefTensor,
        weight: RefTensor,
        mask: RefTensor | None,
        bias: RefTensor | None,
        options: DeformConvOptions,
    ) -> RefTensor:
        arrays = lift64(x), lift64(offset), lift64(weight), _optional(mask), _optional(bias)
        with np.errstate(all="ignore"):
            return _rounded(conv.deform_conv2d(*arrays, options), x)

    def deform_conv2d_backward(
        self,
        x: RefTensor,
        offset: RefTensor,
        weight: RefTensor,
        mask: RefTensor | None,
        bias: RefTensor | None,
        output_grad: RefTensor,
        options: DeformConvOptions,
    ) -> DeformConvGradients:
        grad = lift64(output_grad)
        arrays = lift64(x), lift64(offset), lift64(weight), _optional(mask)
        with np.errstate(all="ignore"):
            x_grad, offset_grad, weight_grad, mask_grad = conv.deform_conv2d_backward(*arrays, grad, options)
            return DeformConvGradients(
                _rounded(x_grad, x),
                _rounded(offset_grad, offset),
                _rounded(weight_grad, weight),
                None if mask is None or mask_grad is None else _rounded(mask_grad, mask),
                None if bias is None else _rounded(grad.sum((0, 2, 3)), bias),
            )

    # ----------------------------------------------------------------------------------------------- pooling

    def avg_pool2d(
        self,
        x: RefTensor,
        kernel_size: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        count_include_pad: bool,
        ceil_mode: bool,
    ) -> RefTensor:
        window = pool.Pooling(x.shape[2:], kernel_size, stride, padding, dilation, ceil_mode, "avg_pool2d")
        with np.errstate(all="ignore"):
            return _rounded(pool.average(lift64(x), window, count_include_pad), x)

    def avg_pool2d_backward(
        self,
        x: RefTensor,
        output_grad: RefTensor,
        kernel_size: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        count_include_pad: bool,
        ceil_mode: bool,
    ) -> RefTensor:
        window = pool.Pooling(x.shape[2:], kernel_size, stride, padding, dilation, ceil_mode, "avg_pool2d_backward")
        with np.errstate(all="ignore"):
            return _rounded(pool.average_backward(lift64(output_grad), window, count_include_pad), x)

    def avg_pool3d(
        self,
        x: RefTensor,
        kernel_size: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        count_include_pad: bool,
        ceil_mode: bool,
    ) -> RefTensor:
        window = pool.Pooling(x.shape[2:], kernel_size, stride, padding, dilation, ceil_mode, "avg_pool3d")
        with np.errstate(all="ignore"):
            return _rounded(pool.average(lift64(x), window, count_include_pad), x)

    def avg_pool3d_backward(
        self,
        x: RefTensor,
        output_grad: RefTensor,
        kernel_size: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        count_include_pad: bool,
        ceil_mode: bool,
    ) -> RefTensor:
        window = pool.Pooling(x.shape[2:], kernel_size, stride, padding, dilation, ceil_mode, "avg_pool3d_backward")
        with np.errstate(all="ignore"):
            return _rounded(pool.average_backward(lift64(output_grad), window, count_include_pad), x)

    def adaptive_avg_pool2d(self, x: RefTensor, output_size: Sequence[int]) -> RefTensor:
        with np.errstate(all="ignore"):
            return _rounded(pool.adaptive_average(lift64(x), output_size), x)

    def adaptive_avg_pool2d_backward(self, x: RefTensor, output_grad: RefTensor) -> RefTensor:
        with np.errstate(all="ignore"):
            return _rounded(pool.adaptive_average_backward(lift64(output_grad), x.shape[2:]), x)

    def adaptive_avg_pool3d(self, x: RefTensor, output_size: Sequence[int]) -> RefTensor:
        with np.errstate(all="ignore"):
            return _rounded(pool.adaptive_average(lift64(x), output_size), x)

    def adaptive_avg_pool3d_backward(self, x: RefTensor, output_grad: RefTensor) -> RefTensor:
        with np.errstate(all="ignore"):
            return _rounded(pool.adaptive_average_backward(lift64(output_grad), x.shape[2:]), x)

    def max_pool2d(
        self,
        x: RefTensor,
        kernel_size: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        ceil_mode: bool,
    ) -> RefTensor:
        window = pool.Pooling(x.shape[2:], kernel_size, stride, padding, dilation, ceil_mode, "max_pool2d")
        return x.like(pool.maximum(x.values, window)[0])

    def max_pool2d_with_indices(
        self,
        x: RefTensor,
        kernel_size: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        ceil_mode: bool,
        out_dtype: DType,
    ) -> tuple[RefTensor, RefTensor]:
        window = pool.Pooling(x.shape[2:], kernel_size, stride, padding, dilation, ceil_mode, "max_pool2d")
        values, indices = pool.maximum(x.values, window)
        return x.like(values), RefTensor(lower(indices, out_dtype), out_dtype, x.device)

    def max_pool2d_with_indices_backward(
        self,
        x: RefTensor,
        kernel_size: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        ceil_mode: bool,
        output_grad: RefTensor,
        indices: RefTensor,
    ) -> RefTensor:
        name = "max_pool2d_with_indices_backward"
        window = pool.Pooling(x.shape[2:], kernel_size, stride, padding, dilation, ceil_mode, name)
        with np.errstate(all="ignore"):
            return _rounded(pool.maximum_backward(lift64(output_grad), indices.values, window), x)

    def max_pool3d(
        self,
        x: RefTensor,
        kernel_size: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        ceil_mode: bool,
    ) -> RefTensor:
        window = pool.Pooling(x.shape[2:], kernel_size, stride, padding, dilation, ceil_mode, "max_pool3d")
        return x.like(pool.maximum(x.values, window)[0])

    def max_pool3d_with_indices(
        self,
        x: RefTensor,
        kernel_size: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        ceil_mode: bool,
        out_dtype: DType,
    ) -> tuple[RefTensor, RefTensor]:
        window = pool.Pooling(x.shape[2:], kernel_size, stride, padding, dilation, ceil_mode, "max_pool3d")
        values, indices = pool.maximum(x.values, window)
        return x.like(values), RefTensor(lower(indices, out_dtype), out_dtype, x.device)

    def max_pool3d_with_indices_backward(
        self,
        x: RefTensor,
        kernel_size: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        ceil_mode: bool,
        output_grad: RefTensor,
        indices: RefTensor,
    ) -> RefTensor:
        name = "max_pool3d_with_indices_backward"
        window = pool.Pooling(x.shape[2:], kernel_size, stride, padding, dilation, ceil_mode, name)
        with np.errstate(all="ignore"):
            return _rounded(pool.maximum_backward(lift64(output_grad), indices.values, window), x)

    # -------------------------------------------------------------------------------------------- resampling

    def interpolate(self, x: RefTensor, output_size: Sequence[int], options: InterpolateOptions) -> RefTensor:
        with np.errstate(all="ignore"):
            return _rounded(resampling.interpolate(lift64(x), output_size, options), x)

    def interpolate_backward(
        self, x: RefTensor, output_grad: RefTensor, output_size: Sequence[int], options: InterpolateOptions
    ) -> RefTensor:
        with np.errstate(all="ignore"):
            return _rounded(resampling.interpolate_backward(lift64(output_grad), x.shape[2:], options), x)

    # --------------------------------------------------------------------------------------------- attention

    def attention(
        self,
        query: RefTensor,
        key: RefTensor,
        value: RefTensor,
        mask: RefTensor | None,
        attn_bias: RefTensor | None,
        options: AttentionModuleOptions,
    ) -> RefTensor:
        hidden = None if mask is None else mask.values
        output, _ = attentions.attention(
            lift64(query), lift64(key), lift64(value), hidden, _optional(attn_bias), options
        )
        return _rounded(output, query)

    def attention_with_logsumexp(
        self, query: RefTensor, key: RefTensor, value: RefTensor, options: AttentionModuleOptions
    ) -> tuple[RefTensor, RefTensor]:
        output, logsumexp = attentions.attention(lift64(query), lift64(key), lift64(value), None, None, options)
        # Finite where a query sees nothing, so that exp(−∞ − logsumexp) is 0.
        finite = np.where(logsumexp == -np.inf, np.float64(np.finfo(np.float32).min), logsumexp)
        return _rounded(output, query), _statistic(RefTensor(finite, F64, query.device), query)

    def attention_backward(
        self,
        query: RefTensor,
        key: RefTensor,
        value: RefTensor,
        output: RefTensor,
        logsumexp: RefTensor,
        output_grad: RefTensor,
        options: AttentionModuleOptions,
    ) -> AttentionGradients:
        arrays = lift64(query), lift64(key), lift64(value), lift64(output_grad)
        grads = attentions.attention_backward(*arrays, options)
        return AttentionGradients(*(_rounded(g, t) for g, t in zip(grads, (query, key, value), strict=True)))

    # -------------------------------------------------------- the contract's own bodies, run in float64 and rounded

    def batch_norm(
        self, x: RefTensor, gamma: RefTensor, beta: RefTensor, mean: RefTensor, variance: RefTensor, eps: float
    ) -> RefTensor:
        statistics = _wide(mean), _wide(variance)
        out: Any = super().batch_norm(_wide(x), _wide(gamma), _wide(beta), *statistics, eps)
        return _rounded(out.values, x)

    def batch_norm_train(self, x: RefTensor, gamma: RefTensor, beta: RefTensor, eps: float) -> BatchNormTrain:
        found = super().batch_norm_train(_wide(x), _wide(gamma), _wide(beta), eps)
        return BatchNormTrain(
            _rounded(found.output.values, x), _statistic(found.mean, x), _statistic(found.variance, x)
        )

    def batch_norm_train_backward(
        self,
        x: RefTensor,
        gamma: RefTensor,
        mean: RefTensor,
        variance: RefTensor,
        eps: float,
        output_grad: RefTensor,
    ) -> BatchNormGradients:
        statistics = _wide(mean), _wide(variance)
        found = super().batch_norm_train_backward(_wide(x), _wide(gamma), *statistics, eps, _wide(output_grad))
        return BatchNormGradients(
            _rounded(found.x_grad.values, x),
            _rounded(found.gamma_grad.values, gamma),
            _rounded(found.beta_grad.values, gamma),
        )

    def layer_norm(self, x: RefTensor, gamma: RefTensor, beta: RefTensor | None, eps: float) -> RefTensor:
        wide_beta = None if beta is None else _wide(beta)
        out: Any = super().layer_norm(_wide(x), _wide(gamma), wide_beta, eps)
        return _rounded(out.values, x)

    def linear(self, x: RefTensor, weight: RefTensor, bias: RefTensor | None) -> RefTensor:
        wide_bias = None if bias is None else _wide(bias)
        out: Any = super().linear(_wide(x), _wide(weight), wide_bias)
        return _rounded(out.values, x)

    def ctc_loss(
        self,
        log_probs: RefTensor,
        targets: RefTensor,
        input_lengths: RefTensor,
        target_lengths: RefTensor,
        blank: int,
    ) -> RefTensor:
        _check_ctc("ctc_loss", log_probs, targets, input_lengths, target_lengths)
        loss: Any = super().ctc_loss(_wide(log_probs), targets, input_lengths, target_lengths, blank)
        return _rounded(loss.values, log_probs)

    def ctc_loss_backward(
        self,
        log_probs: RefTensor,
        targets: RefTensor,
        input_lengths: RefTensor,
        target_lengths: RefTensor,
        output_grad: RefTensor,
        blank: int,
    ) -> RefTensor:
        _check_ctc("ctc_loss_backward", log_probs, targets, input_lengths, target_lengths)
        wide = _wide(log_probs)
        grad: Any = super().ctc_loss_backward(wide, targets, input_lengths, target_lengths, _wide(output_grad), blank)
        return _rounded(grad.values, log_probs)
