"""Softmax and its relatives in float64 and rounded once; the other activations are their formulas."""
# mypy: disable-error-code="override"

from __future__ import annotations

import numpy as np

from burn_wgpu.backends.reference.tensor import RefTensor, lift64, lower
from burn_wgpu.contract.activation_ops import ActivationOps


class ReferenceActivationOps(ActivationOps):
    """Straight from the definitions."""

    def softmax(self, tensor: RefTensor, dim: int) -> RefTensor:
        with np.errstate(all="ignore"):
            powers = np.exp(_shifted(tensor, dim))
            return tensor.like(lower(powers / powers.sum(dim, keepdims=True), tensor.dtype))

    def log_softmax(self, tensor: RefTensor, dim: int) -> RefTensor:
        with np.errstate(all="ignore"):
            shifted = _shifted(tensor, dim)
            total = np.log(np.exp(shifted).sum(dim, keepdims=True))
            return tensor.like(lower(shifted - total, tensor.dtype))


def _shifted(tensor: RefTensor, dim: int) -> np.ndarray:
    values = lift64(tensor)
    return values - values.max(dim, keepdims=True, initial=-np.inf)
