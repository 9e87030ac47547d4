"""Layers. May import: module and everything below. One file a layer family; names and defaults are Burn's."""

from burn_wgpu.nn.activation import Gelu, Relu
from burn_wgpu.nn.attention import MultiHeadAttention
from burn_wgpu.nn.embedding import Embedding
from burn_wgpu.nn.linear import Linear
from burn_wgpu.nn.norm import LayerNorm

__all__ = ["Embedding", "Gelu", "LayerNorm", "Linear", "MultiHeadAttention", "Relu"]
