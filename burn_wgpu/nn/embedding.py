"""Rows of a table by index."""

from __future__ import annotations

from burn_wgpu.device import Device
from burn_wgpu.module import Initializer, Module, Param
from burn_wgpu.tensor import Tensor, functional


class Embedding(Module):
    """weight [n_embedding, d_model]; each index becomes its row."""

    def __init__(
        self,
        n_embedding: int,
        d_model: int,
        initializer: Initializer | None = None,
        device: Device | None = None,
    ) -> None:
        device = device or Device()
        init = initializer or Initializer.normal(0.0, 1.0)
        shape = (n_embedding, d_model)
        self.weight = Param(lambda: init.init(shape, device), shape, device)

    def forward(self, indices: Tensor) -> Tensor:
        """Int [batch, length] → float [batch, length, d_model]. An index outside the table raises IndexOutOfRange, at
        the next synchronisation on a GPU."""
        return functional.embedding(self.weight.value, indices)
