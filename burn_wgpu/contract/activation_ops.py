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


class ActivationOps(Group):
    """14 functions."""

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
