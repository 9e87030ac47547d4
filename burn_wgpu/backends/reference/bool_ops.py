"""Bool functions that are neither elementwise nor the same for every kind."""
# mypy: disable-error-code="override"

from __future__ import annotations

import numpy as np

from burn_wgpu.backends.reference.tensor import RefTensor, lower
from burn_wgpu.contract.bool_ops import BoolOps
from burn_wgpu.std.dtype import DType


class ReferenceBoolOps(BoolOps):
    """Values are NumPy bools whatever the storage; storage shows when data is read."""

    def bool_into_int(self, tensor: RefTensor, out_dtype: DType) -> RefTensor:
        return RefTensor(tensor.values.astype(out_dtype.numpy), out_dtype, tensor.device)

    def bool_into_float(self, tensor: RefTensor, out_dtype: DType) -> RefTensor:
        return RefTensor(lower(tensor.values, out_dtype), out_dtype, tensor.device)

    def bool_any_dim(self, tensor: RefTensor, dim: int) -> RefTensor:
        return tensor.like(np.any(tensor.values, axis=dim, keepdims=True))

    def bool_all_dim(self, tensor: RefTensor, dim: int) -> RefTensor:
        return tensor.like(np.all(tensor.values, axis=dim, keepdims=True))
