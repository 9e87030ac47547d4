"""Normalisation layers."""

from __future__ import annotations

from burn_wgpu.device import Device
from burn_wgpu.module import Initializer, Module, Param
from burn_wgpu.std.errors import ShapeError
from burn_wgpu.tensor import Tensor, functional


class LayerNorm(Module):
    """(x − mean) / √(variance + epsilon) · gamma + beta over the last axis, with the biased variance.

    gamma, beta [d_model]. Halves are computed in f32.
    """

    pytorch = {"gamma": ("weight", False), "beta": ("bias", False)}

    def __init__(self, d_model: int, epsilon: float = 1e-5, bias: bool = True, device: Device | None = None) -> None:
        device = device or Device()
        self.gamma = Param(lambda: Initializer.ones().init((d_model,), device), (d_model,), device)
        self.beta = Param(lambda: Initializer.zeros().init((d_model,), device), (d_model,), device) if bias else None
        self.epsilon = epsilon

    def forward(self, x: Tensor) -> Tensor:
        """[.., d_model] → the same shape. Raises ShapeError for another last axis."""
        if not x.shape or x.shape[-1] != self.gamma.shape[0]:
            raise ShapeError(
                f"LayerNorm: the input's shape {list(x.shape)} must end in d_model = {self.gamma.shape[0]}"
            )
        return functional.layer_norm(x, self.gamma.value, self.beta.value if self.beta else None, self.epsilon)
