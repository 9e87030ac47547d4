"""Float functions that are neither elementwise nor the same for every kind."""
# mypy: disable-error-code="override"

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from burn_wgpu.backends.reference.random import random_floats
from burn_wgpu.backends.reference.tensor import ReferenceDevice, RefTensor, lift, lift64, lower
from burn_wgpu.contract.defaults.reduce import require_elements
from burn_wgpu.contract.float_ops import FloatOps
from burn_wgpu.std.data import cast_array
from burn_wgpu.std.distribution import Distribution
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.scalar import Scalar, as_scalar


class ReferenceFloatOps(FloatOps):
    """Sums, products and matrix products are accumulated in float64 and rounded once."""

    def float_random(
        self, shape: Sequence[int], distribution: Distribution, device: ReferenceDevice, dtype: DType
    ) -> RefTensor:
        count = int(np.prod(shape, dtype=np.int64))
        return RefTensor(random_floats(device.stream, count, distribution, dtype).reshape(shape), dtype, device)

    def float_full(self, shape: Sequence[int], scalar: Scalar, device: ReferenceDevice, dtype: DType) -> RefTensor:
        return RefTensor(lower(np.full(tuple(shape), as_scalar(scalar, dtype)), dtype), dtype, device)

    def float_into_int(self, tensor: RefTensor, out_dtype: DType) -> RefTensor:
        return RefTensor(cast_array(lift(tensor), out_dtype), out_dtype, tensor.device)

    def float_cast(self, tensor: RefTensor, dtype: DType) -> RefTensor:
        return RefTensor(lower(tensor.values, dtype), dtype, tensor.device)

    def float_matmul(self, lhs: RefTensor, rhs: RefTensor) -> RefTensor:
        with np.errstate(all="ignore"):
            return lhs.like(lower(np.matmul(lift64(lhs), lift64(rhs)), lhs.dtype))

    def float_sum_dim(self, tensor: RefTensor, dim: int) -> RefTensor:
        return self._reduced(tensor, dim, np.add)

    def float_sum_dims(self, tensor: RefTensor, dims: Sequence[int]) -> RefTensor:
        return self._reduced(tensor, tuple(dims), np.add)

    def float_var(self, tensor: RefTensor, dims: Sequence[int], correction: float) -> RefTensor:
        return self._spread(tensor, dims, correction, np.positive)

    def float_std(self, tensor: RefTensor, dims: Sequence[int], correction: float) -> RefTensor:
        return self._spread(tensor, dims, correction, np.sqrt)

    @staticmethod
    def _spread(tensor: RefTensor, dims: Sequence[int], correction: float, finish: np.ufunc) -> RefTensor:
        axes, values = tuple(dims), lift64(tensor)
        count = int(np.prod([tensor.shape[a] for a in axes], dtype=np.int64))
        with np.errstate(all="ignore"):
            apart = values - np.sum(values, axis=axes, keepdims=True) / np.float64(count)
            spread = np.sum(apart * apart, axis=axes, keepdims=True) / np.float64(max(count - correction, 0))
            return tensor.like(lower(finish(spread), tensor.dtype))

    def float_inner(self, lhs: RefTensor, rhs: RefTensor, dims: Sequence[int]) -> RefTensor:
        with np.errstate(all="ignore"):
            total = np.sum(lift64(lhs) * lift64(rhs), axis=tuple(dims), keepdims=True)
            return lhs.like(lower(total, lhs.dtype))

    def float_prod_dim(self, tensor: RefTensor, dim: int) -> RefTensor:
        return self._reduced(tensor, dim, np.multiply)

    def float_mean_dim(self, tensor: RefTensor, dim: int) -> RefTensor:
        with np.errstate(all="ignore"):
            total = np.sum(lift64(tensor), axis=dim, keepdims=True)
            return tensor.like(lower(total / np.float64(tensor.shape[dim]), tensor.dtype))

    def float_cumsum(self, tensor: RefTensor, dim: int) -> RefTensor:
        return self._running(tensor, dim, np.add)

    def float_cumprod(self, tensor: RefTensor, dim: int) -> RefTensor:
        return self._running(tensor, dim, np.multiply)

    def float_cummin(self, tensor: RefTensor, dim: int) -> RefTensor:
        return self._running(tensor, dim, np.minimum)

    def float_cummax(self, tensor: RefTensor, dim: int) -> RefTensor:
        return self._running(tensor, dim, np.maximum)

    def float_argmax(self, tensor: RefTensor, dim: int, out_dtype: DType) -> RefTensor:
        require_elements("argmax", tensor.shape, dim)
        found = np.argmax(lift(tensor), axis=dim, keepdims=True)
        return RefTensor(found.astype(out_dtype.numpy), out_dtype, tensor.device)

    def float_argmin(self, tensor: RefTensor, dim: int, out_dtype: DType) -> RefTensor:
        require_elements("argmin", tensor.shape, dim)
        found = np.argmin(lift(tensor), axis=dim, keepdims=True)
        return RefTensor(found.astype(out_dtype.numpy), out_dtype, tensor.device)

    @staticmethod
    def _reduced(tensor: RefTensor, dim: int | tuple[int, ...], combine: np.ufunc) -> RefTensor:
        with np.errstate(all="ignore"):
            return tensor.like(lower(combine.reduce(lift64(tensor), axis=dim, keepdims=True), tensor.dtype))

    @staticmethod
    def _running(tensor: RefTensor, dim: int, combine: np.ufunc) -> RefTensor:
        with np.errstate(all="ignore"):
            return tensor.like(lower(combine.accumulate(lift64(tensor), axis=dim), tensor.dtype))
