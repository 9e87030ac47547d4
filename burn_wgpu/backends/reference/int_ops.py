"""Integer functions that are neither elementwise nor the same for every kind."""
# mypy: disable-error-code="override"

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from burn_wgpu.backends.reference.random import random_ints
from burn_wgpu.backends.reference.tensor import ReferenceDevice, RefTensor, lower
from burn_wgpu.contract.defaults.order import index_dtype
from burn_wgpu.contract.defaults.reduce import require_elements
from burn_wgpu.contract.int_ops import IntOps
from burn_wgpu.std.data import cast_array
from burn_wgpu.std.distribution import Distribution
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.scalar import Scalar, as_scalar


class ReferenceIntOps(IntOps):
    """Arithmetic in the tensor's own dtype, which wraps as the contract wants."""

    def int_random(
        self, shape: Sequence[int], distribution: Distribution, device: ReferenceDevice, dtype: DType
    ) -> RefTensor:
        count = int(np.prod(shape, dtype=np.int64))
        return RefTensor(random_ints(device.stream, count, distribution, dtype).reshape(shape), dtype, device)

    def int_full(self, shape: Sequence[int], scalar: Scalar, device: ReferenceDevice, dtype: DType) -> RefTensor:
        return RefTensor(np.full(tuple(shape), as_scalar(scalar, dtype), dtype.numpy), dtype, device)

    def int_into_float(self, tensor: RefTensor, out_dtype: DType) -> RefTensor:
        return RefTensor(lower(tensor.values, out_dtype), out_dtype, tensor.device)

    def int_cast(self, tensor: RefTensor, dtype: DType) -> RefTensor:
        return RefTensor(cast_array(tensor.values, dtype), dtype, tensor.device)

    def int_matmul(self, lhs: RefTensor, rhs: RefTensor) -> RefTensor:
        return lhs.like(np.matmul(lhs.values, rhs.values))

    def int_sum_dim(self, tensor: RefTensor, dim: int) -> RefTensor:
        return tensor.like(np.sum(tensor.values, axis=dim, keepdims=True, dtype=tensor.values.dtype))

    def int_prod_dim(self, tensor: RefTensor, dim: int) -> RefTensor:
        return tensor.like(np.prod(tensor.values, axis=dim, keepdims=True, dtype=tensor.values.dtype))

    def int_cumsum(self, tensor: RefTensor, dim: int) -> RefTensor:
        return tensor.like(np.cumsum(tensor.values, axis=dim, dtype=tensor.values.dtype))

    def int_cumprod(self, tensor: RefTensor, dim: int) -> RefTensor:
        return tensor.like(np.cumprod(tensor.values, axis=dim, dtype=tensor.values.dtype))

    def int_cummin(self, tensor: RefTensor, dim: int) -> RefTensor:
        return tensor.like(np.minimum.accumulate(tensor.values, axis=dim))

    def int_cummax(self, tensor: RefTensor, dim: int) -> RefTensor:
        return tensor.like(np.maximum.accumulate(tensor.values, axis=dim))

    def int_argmax(self, tensor: RefTensor, dim: int) -> RefTensor:
        return self._argument("argmax", tensor, dim, np.argmax)

    def int_argmin(self, tensor: RefTensor, dim: int) -> RefTensor:
        return self._argument("argmin", tensor, dim, np.argmin)

    @staticmethod
    def _argument(operation: str, tensor: RefTensor, dim: int, find: Callable[..., Any]) -> RefTensor:
        require_elements(operation, tensor.shape, dim)
        kind = index_dtype(tensor.dtype, tensor.shape[dim])
        found = find(tensor.values, axis=dim, keepdims=True)
        return RefTensor(found.astype(kind.numpy), kind, tensor.device)
