"""Activations as modules, for places that hold a module."""

from __future__ import annotations

from burn_wgpu.module import Module
from burn_wgpu.tensor import Tensor, activation


class Gelu(Module):
    """x · Φ(x), Φ the normal distribution function: the exact form with erf."""

    def forward(self, x: Tensor) -> Tensor:
        """Elementwise."""
        return activation.gelu(x)


class Relu(Module):
    """max(x, 0)."""

    def forward(self, x: Tensor) -> Tensor:
        """Elementwise."""
        return activation.relu(x)
