"""The activations that people write as methods; `burn_wgpu.tensor.activation` has all of them."""
# A mixin of Tensor names its self: mypy wants a supertype there.
# mypy: disable-error-code="misc"

from __future__ import annotations

from typing import TYPE_CHECKING

from burn_wgpu.tensor import activation

if TYPE_CHECKING:
    from burn_wgpu.tensor.api import Tensor


class Shortcuts:
    """Activations of float tensors as methods."""

    __slots__ = ()

    def relu(self: Tensor) -> Tensor:
        """max(x, 0)."""
        return activation.relu(self)

    def leaky_relu(self: Tensor, negative_slope: float = 0.01) -> Tensor:
        """x, or x · negative_slope below 0."""
        return activation.leaky_relu(self, negative_slope)

    def gelu(self: Tensor) -> Tensor:
        """x · Φ(x), the exact form."""
        return activation.gelu(self)

    def silu(self: Tensor) -> Tensor:
        """x · sigmoid(x)."""
        return activation.silu(self)

    def sigmoid(self: Tensor) -> Tensor:
        """1 / (1 + e^−x)."""
        return activation.sigmoid(self)

    def log_sigmoid(self: Tensor) -> Tensor:
        """log(1 / (1 + e^−x))."""
        return activation.log_sigmoid(self)

    def softmax(self: Tensor, dim: int) -> Tensor:
        """e^(x − max) / Σ e^(x − max) along an axis."""
        return activation.softmax(self, dim)

    def log_softmax(self: Tensor, dim: int) -> Tensor:
        """log(softmax) along an axis."""
        return activation.log_softmax(self, dim)
