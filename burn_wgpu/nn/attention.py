"""Multi-head attention."""

from __future__ import annotations

import math

from burn_wgpu.device import Device
from burn_wgpu.module import Initializer, Module
from burn_wgpu.nn.linear import Linear
from burn_wgpu.std.errors import ArgumentError
from burn_wgpu.tensor import Tensor, activation


class MultiHeadAttention(Module):
    """softmax(q · kᵀ / √d_head) · v per head, projected; query, key, value and output are Linear(d_model, d_model).

    Vaswani et al. 2017, section 3.2.
    """

    def __init__(
        self, d_model: int, n_heads: int, initializer: Initializer | None = None, device: Device | None = None
    ) -> None:
        if n_heads < 1 or d_model % n_heads:
            raise ArgumentError(f"MultiHeadAttention: d_model {d_model} is not a multiple of n_heads {n_heads}")
        self.query, self.key, self.value, self.output = (
            Linear(d_model, d_model, initializer=initializer, device=device) for _ in range(4)
        )
        self.n_heads = n_heads

    def weights(self, query: Tensor, key: Tensor, bias: Tensor | None = None) -> Tensor:
        """The attention weights [batch, heads, queries, keys] of inputs [batch, length, d_model].

        bias is added to the scores before the softmax, broadcast to [batch, heads, queries, keys]; −inf hides a key.
        """
        q, k = self._heads(self.query(query)), self._heads(self.key(key))
        scores = q.matmul(k.transpose()) * (1 / math.sqrt(q.shape[-1]))  # [batch, heads, queries, keys]
        if bias is not None:
            scores = scores + bias
        return activation.softmax(scores, -1)

    def forward(self, query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None = None) -> Tensor:
        """[batch, queries, d_model] from inputs [batch, length, d_model]; bias as in `weights`."""
        heads = self.weights(query, key, bias).matmul(self._heads(self.value(value)))  # [batch, heads, queries, d]
        batch, _, length, _ = heads.shape
        return self.output(heads.swap_dims(1, 2).reshape((batch, length, -1)))  # [batch, queries, d_model]

    def _heads(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        split = x.reshape((batch, length, self.n_heads, width // self.n_heads))  # [batch, length, heads, d]
        return split.swap_dims(1, 2)  # [batch, heads, length, d]
