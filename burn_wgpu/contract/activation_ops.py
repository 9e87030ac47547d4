"""ActivationOps: nonlinearities and their gradients. Those that map element to element are one kernel each."""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

import math
from typing import Any

import numpy as np

from burn_wgpu.contract.declare import elementwise
from burn_wgpu.contract.defaults import norm
from burn_wgpu.contract.types import FloatPrim, Group

_erfc = np.frompyfunc(math.erfc, 1, 1)


def _sigmoid(x: Any) -> Any:
    """1 / (1 + e^−x) from e^−|x|, which never overflows."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + small), small / (1 + small))


def _normal_cdf(x: Any) -> Any:
    """The standard normal distribution function Φ(x) = erfc(−x/√2)/2 in float64."""
    return 0.5 * np.asarray(_erfc(-np.asarray(x, np.float64) / np.sqrt(2.0)), np.float64)


def _gelu_backward(x: Any, grad: Any) -> Any:
    wide = np.asarray(x, np.float64)
    density = np.exp(-0.5 * wide * wide) / np.sqrt(2 * np.pi)
    return grad * (_normal_cdf(wide) + wide * density)


# Formulas of several steps are evaluated in float64: the reference rounds once, as a kernel nearly does.


def _gated(x: Any, gate: Any) -> Any:
    """x · sigmoid(gate). The sigmoid of a finite number is above 0: infinity times it is no NaN."""
    x, gate = np.asarray(x, np.float64), np.asarray(gate, np.float64)
    return np.where(np.isinf(x) & np.isfinite(gate), x, x * _sigmoid(gate))


def _gelu_approximate(x: Any) -> Any:
    wide = np.asarray(x, np.float64)
    return _gated(wide, 2 * np.sqrt(2 / np.pi) * (wide + 0.044715 * wide**3))


def _softplus(x: Any) -> Any:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _limited_softplus(x: Any, beta: Any, limit: Any) -> Any:
    scaled = np.asarray(x, np.float64) * beta
    return np.where(scaled > limit, x, _softplus(scaled) / beta)


def _mish(x: Any) -> Any:
    wide = np.asarray(x, np.float64)
    return wide * np.tanh(_softplus(wide))


def _elu(x: Any, alpha: Any, gamma: Any, width: Any) -> Any:
    wide = np.asarray(x, np.float64)
    return gamma * np.where(wide > 0, wide, alpha * np.expm1(np.where(wide > 0, 0, wide) / width))


def _tanhshrink(x: Any) -> Any:
    """x − tanh x; below 0.02, where the difference loses its digits, x³/3 − 2x⁵/15 + 17x⁷/315."""
    wide = np.asarray(x, np.float64)
    z = wide * wide
    series = wide * z * (1 / 3 - z * (2 / 15 - z * (17 / 315)))
    return np.where(np.abs(wide) < 0.02, series, wide - np.tanh(wide))


class ActivationOps(Group):
    """Burn's 14 functions, and 12 that Burn composes of several in its tensor API."""

    @elementwise(lambda x, slope: np.where(x < 0, x * slope, x), scalars=1)
    def leaky_relu(self, tensor: FloatPrim, negative_slope: float) -> FloatPrim:
        """x, or x · negative_slope below 0. Same shape, same dtype."""

    @elementwise(lambda x: np.where(x <= 0, 0, x))
    def relu(self, tensor: FloatPrim) -> FloatPrim:
        """max(x, 0); NaN stays NaN, −0 becomes 0."""

    @elementwise(lambda output, grad: np.where(output <= 0, 0, grad), tensors=2)
    def relu_backward(self, output: FloatPrim, grad: FloatPrim) -> FloatPrim:
        """grad where relu's output is above 0, else 0 (0 at exactly 0)."""

    @elementwise(lambda x: x * _normal_cdf(x))
    def gelu(self, tensor: FloatPrim) -> FloatPrim:
        """x · Φ(x) = x · (1 + erf(x/√2)) / 2, the exact form."""

    @elementwise(lambda x, alpha: np.where(x < 0, x * alpha, x), tensors=2)
    def prelu(self, tensor: FloatPrim, alpha: FloatPrim) -> FloatPrim:
        """x, or x · alpha below 0; alpha broadcasts against the tensor."""

    @elementwise(_gelu_backward, tensors=2)
    def gelu_backward(self, x: FloatPrim, grad: FloatPrim) -> FloatPrim:
        """grad · (Φ(x) + x · φ(x)), φ(x) = e^(−x²/2)/√(2π)."""

    @elementwise(_sigmoid)
    def sigmoid(self, tensor: FloatPrim) -> FloatPrim:
        """1 / (1 + e^−x); computed in f32 for f16 and bf16."""

    @elementwise(lambda output, grad: grad * output * (1 - output), tensors=2)
    def sigmoid_backward(self, output: FloatPrim, grad: FloatPrim) -> FloatPrim:
        """grad · s · (1 − s), where s is sigmoid's output."""

    @elementwise(lambda x, alpha, beta: np.clip(alpha * x + beta, 0, 1), scalars=2)
    def hard_sigmoid(self, tensor: FloatPrim, alpha: float, beta: float) -> FloatPrim:
        """alpha · x + beta, clamped to [0, 1]; NaN stays NaN."""

    @elementwise(lambda x: np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x))))
    def log_sigmoid(self, tensor: FloatPrim) -> FloatPrim:
        """log(1 / (1 + e^−x)) without overflow."""

    @elementwise(lambda x, grad: grad * _sigmoid(-x), tensors=2)
    def log_sigmoid_backward(self, x: FloatPrim, grad: FloatPrim) -> FloatPrim:
        """grad · (1 − sigmoid(x))."""

    # ------------------------------------------------------------------- what Burn's tensor API composes of several

    @elementwise(lambda x: _gated(x, x))
    def silu(self, tensor: FloatPrim) -> FloatPrim:
        """x · sigmoid(x); NaN at −∞."""

    @elementwise(_gated, tensors=2)
    def glu(self, tensor: FloatPrim, gate: FloatPrim) -> FloatPrim:
        """tensor · sigmoid(gate): the two halves of what the tensor API splits."""

    @elementwise(_gelu_approximate)
    def gelu_approximate(self, tensor: FloatPrim) -> FloatPrim:
        """x/2 · (1 + tanh(√(2/π) · (x + 0.044715 x³))), as x · sigmoid(2√(2/π) · (x + 0.044715 x³)): 1 + tanh would
        lose the digits of large negative x.
        """

    @elementwise(_limited_softplus, scalars=2, wide=True)
    def softplus(self, tensor: FloatPrim, beta: float, limit: float) -> FloatPrim:
        """log(1 + e^(beta·x)) / beta, and x itself where beta·x exceeds the limit."""

    @elementwise(_mish)
    def mish(self, tensor: FloatPrim) -> FloatPrim:
        """x · tanh(log(1 + eˣ)); NaN at −∞."""

    @elementwise(_elu, scalars=3, wide=True)
    def elu(self, tensor: FloatPrim, alpha: float, gamma: float, width: float) -> FloatPrim:
        """gamma · x, or gamma · alpha · (e^(x/width) − 1) for x ≤ 0: elu, selu (gamma) and celu (width = alpha)."""

    @elementwise(lambda x: x * np.clip((np.asarray(x, np.float64) + 3) / 6, 0, 1))
    def hard_swish(self, tensor: FloatPrim) -> FloatPrim:
        """x · clamp(x/6 + 1/2, 0, 1); NaN at −∞."""

    @elementwise(_tanhshrink)
    def tanhshrink(self, tensor: FloatPrim) -> FloatPrim:
        """x − tanh x, with every digit near 0."""

    @elementwise(lambda x: x / (1 + np.abs(np.asarray(x, np.float64))))
    def softsign(self, tensor: FloatPrim) -> FloatPrim:
        """x / (1 + |x|); NaN at ±∞."""

    @elementwise(lambda x, threshold, value: np.where(x <= threshold, value, x), scalars=2)
    def threshold(self, tensor: FloatPrim, threshold: float, value: float) -> FloatPrim:
        """The value where x ≤ threshold, else x; NaN stays NaN."""

    @elementwise(lambda x, limit: np.where(np.abs(x) <= limit, 0, x), scalars=1)
    def hard_shrink(self, tensor: FloatPrim, limit: float) -> FloatPrim:
        """0 where |x| ≤ limit, else x; NaN stays NaN."""

    @elementwise(lambda x, limit, bias: np.where(np.abs(x) <= limit, 0, x - np.sign(x) * bias), scalars=2)
    def shrink(self, tensor: FloatPrim, limit: float, bias: float) -> FloatPrim:
        """0 where |x| ≤ limit, else x moved toward 0 by the bias; NaN stays NaN."""

    # ------------------------------------------------------------------------------------------------ along an axis

    def softmax(self, tensor: FloatPrim, dim: int) -> FloatPrim:
        """e^(x − max) / Σ e^(x − max) along dim. Same shape, same dtype; in f32 for f16 and bf16.

        A lane of −∞ only is NaN, and so is a lane with a NaN or +∞.
        """
        return norm.softmax(self, tensor, dim)

    def log_softmax(self, tensor: FloatPrim, dim: int) -> FloatPrim:
        """(x − max) − log Σ e^(x − max) along dim; as softmax."""
        return norm.log_softmax(self, tensor, dim)

    def softmin(self, tensor: FloatPrim, dim: int) -> FloatPrim:
        """softmax(−x) along dim."""
        return self.softmax(self.float_neg(tensor), dim)
