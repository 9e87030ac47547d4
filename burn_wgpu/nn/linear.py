"""The affine layer."""

from __future__ import annotations

from burn_wgpu.device import Device
from burn_wgpu.module import Initializer, Module, Param
from burn_wgpu.std.errors import ShapeError
from burn_wgpu.tensor import Tensor, functional


class Linear(Module):
    """x · weight + bias. weight [d_input, d_output], bias [d_output].

    Weights of NumPy get in by `linear.weight.set(Tensor(array))`; those of a PyTorch layer are transposed,
    `Tensor(array.T)`. Many at once: `linear.load_tensors({"weight": …, "bias": …})`.
    """

    pytorch = {"weight": ("weight", True)}  # [out, in] there

    def __init__(
        self,
        d_input: int,
        d_output: int,
        bias: bool = True,
        initializer: Initializer | None = None,
        device: Device | None = None,
    ) -> None:
        device = device or Device()
        init = initializer or Initializer.kaiming_uniform()
        self.weight = Param(
            lambda: init.init((d_input, d_output), device, d_input, d_output), (d_input, d_output), device
        )
        self.bias = (
            Param(lambda: init.init((d_output,), device, d_input, d_output), (d_output,), device) if bias else None
        )

    def forward(self, x: Tensor) -> Tensor:
        """[.., d_input] → [.., d_output]. Raises ShapeError for another last axis."""
        if not x.shape or x.shape[-1] != self.weight.shape[0]:
            raise ShapeError(f"Linear: the input's shape {list(x.shape)} must end in d_input = {self.weight.shape[0]}")
        return functional.linear(x, self.weight.value, self.bias.value if self.bias else None)
