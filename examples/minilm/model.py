"""all-MiniLM-L6-v2: a BERT-shaped encoder whose masked mean, scaled to length 1, is the sentence's vector.

Words, positions and one segment become vectors of 384; six layers of attention and feed-forward, each followed by a
residual sum and a layer norm (post-norm, Devlin et al. 2018); the mean over the tokens that are not padding.
"""

from __future__ import annotations

import numpy as np

from burn_wgpu import Device, Tensor
from burn_wgpu.module import Module
from burn_wgpu.nn import Embedding, Gelu, LayerNorm, Linear, MultiHeadAttention

VOCABULARY, POSITIONS, SEGMENTS = 30_522, 512, 2
WIDTH, HEADS, HIDDEN, LAYERS = 384, 12, 1536, 6
EPSILON = 1e-12

# The checkpoint's names, rewritten into the attributes below.
RENAME = (
    (r"^embeddings\.(word|position|token_type)_embeddings\.", r"\1."),
    (r"^embeddings\.LayerNorm\.", "norm."),
    (r"^encoder\.layer\.", "layers."),
    (r"\.attention\.self\.", ".attention."),
    (r"\.attention\.output\.dense\.", ".attention.output."),
    (r"\.attention\.output\.LayerNorm\.", ".attention_norm."),
    (r"\.intermediate\.dense\.", ".up."),
    (r"^(layers\.\d+)\.output\.dense\.", r"\1.down."),
    (r"^(layers\.\d+)\.output\.LayerNorm\.", r"\1.norm."),
)
# In the file and without a place here: the numbers 0 to 511 as int64, and a head that sentence vectors do not use.
IGNORE = ("embeddings.position_ids", "pooler.dense.weight", "pooler.dense.bias")


class Layer(Module):
    """x + attention(x), normed; then x + feed-forward(x), normed."""

    def __init__(self, device: Device) -> None:
        self.attention = MultiHeadAttention(WIDTH, HEADS, device=device)
        self.attention_norm = LayerNorm(WIDTH, EPSILON, device=device)
        self.up = Linear(WIDTH, HIDDEN, device=device)
        self.gelu = Gelu()
        self.down = Linear(HIDDEN, WIDTH, device=device)
        self.norm = LayerNorm(WIDTH, EPSILON, device=device)

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        """x [batch, length, 384] → the same shape; bias [batch, 1, 1, length] is −∞ at padding and 0 elsewhere."""
        x = self.attention_norm(x + self.attention(x, x, x, bias))
        return self.norm(x + self.down(self.gelu(self.up(x))))


class MiniLM(Module):
    """Token ids to sentence vectors."""

    def __init__(self, device: Device) -> None:
        self.word = Embedding(VOCABULARY, WIDTH, device=device)
        self.position = Embedding(POSITIONS, WIDTH, device=device)
        self.token_type = Embedding(SEGMENTS, WIDTH, device=device)
        self.norm = LayerNorm(WIDTH, EPSILON, device=device)
        self.layers = [Layer(device) for _ in range(LAYERS)]

    def embed(self, ids: Tensor) -> Tensor:
        """ids [batch, length] → [batch, length, 384]; every token is of segment 0."""
        length = ids.shape[1]
        place = self.position.weight.value[:length] + self.token_type.weight.value[:1]  # [length, 384]
        return self.norm(self.word(ids) + place)

    def attention_bias(self, mask: np.ndarray) -> Tensor:
        """mask [batch, length], 1 for tokens and 0 for padding → [batch, 1, 1, length], 0 and −∞."""
        hidden = np.where(mask[:, None, None, :] != 0, np.float32(0), np.float32(-np.inf))
        weight = self.word.weight.value
        return Tensor.from_data(hidden, weight.device, weight.dtype)

    def forward(self, ids: np.ndarray, mask: np.ndarray) -> Tensor:
        """ids and mask [batch, length] → vectors [batch, 384] of length 1, in f32 whatever the weights are."""
        device = self.word.weight.value.device
        bias = self.attention_bias(mask)
        x = self.embed(Tensor.from_data(ids, device))
        for layer in self.layers:
            x = layer(x, bias)
        return pool(x, mask)


def pool(x: Tensor, mask: np.ndarray) -> Tensor:
    """The mean of x [batch, length, 384] over the tokens where mask [batch, length] is 1, scaled to length 1."""
    counts = np.maximum(mask.sum(1, keepdims=True), 1)
    shares = Tensor.from_data((mask / counts).astype(np.float32)[:, None, :], x.device, "f32")  # [batch, 1, length]
    mean = shares.matmul(x.cast("f32"))  # [batch, 1, 384]
    mean = mean.reshape((-1, WIDTH))  # [batch, 384]
    return mean / mean.square().sum_dim(1).sqrt()
