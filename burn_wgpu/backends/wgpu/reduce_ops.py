"""Reductions of the three kinds of tensors: one plan each (kernel/reduce.py), whole tensors and axes alike."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from burn_wgpu.backends.wgpu.movement_ops import stored
from burn_wgpu.backends.wgpu.run import contiguous, run, run1
from burn_wgpu.backends.wgpu.tensor import WgpuTensor
from burn_wgpu.contract.defaults import reduce
from burn_wgpu.contract.defaults.order import index_dtype
from burn_wgpu.kernel.reduce import cosine_plan, inner_plan, norm_plan, reduce_plan, spread_plan
from burn_wgpu.std.dtype import DType


def _reduce(
    operation: str, how: str, tensor: WgpuTensor, axes: tuple[int, ...] | None, out: DType | None = None
) -> WgpuTensor:
    """Along axes, or of the whole tensor; in the tensor's dtype unless `out` says otherwise."""
    layout, dtype, target = tensor.layout, tensor.dtype, stored(out or tensor.dtype)
    return run1(
        tensor.device,
        (operation, layout, dtype, axes, target),
        lambda c: reduce_plan(operation, how, layout, dtype, axes, c, target),
        (tensor,),
    )


def _position(operation: str, how: str, tensor: WgpuTensor, dim: int, indices: DType) -> WgpuTensor:
    layout, dtype = tensor.layout, tensor.dtype
    return run1(
        tensor.device,
        (operation, layout, dtype, dim, indices),
        lambda c: reduce_plan(operation, how, layout, dtype, (dim,), c, None, indices),
        (tensor,),
    )


def _with_indices(
    operation: str, how: str, tensor: WgpuTensor, dim: int, indices: DType
) -> tuple[WgpuTensor, WgpuTensor]:
    layout, dtype = tensor.layout, tensor.dtype
    values, places = run(
        tensor.device,
        (operation, layout, dtype, dim, indices),
        lambda c: reduce_plan(operation, how, layout, dtype, (dim,), c, dtype, indices),
        (tensor,),
    )
    return values, places


def _spread(b: ReduceOps, name: str, tensor: WgpuTensor, axes: tuple[int, ...], correction: float) -> WgpuTensor:
    layout, dtype, root = tensor.layout, tensor.dtype, name == "float_std"
    if not axes or not isfinite(correction):
        return (reduce.std if root else reduce.var)(b, tensor, axes, correction)  # type: ignore[return-value]
    amount = float(correction)
    key = (name, layout, dtype, axes, amount)
    return run1(tensor.device, key, lambda c: spread_plan(name, layout, dtype, axes, amount, root, c), (tensor,))


def _alike(lhs: WgpuTensor, rhs: WgpuTensor) -> tuple[WgpuTensor, WgpuTensor]:
    """Two tensors of one shape that lie alike."""
    return (lhs, rhs) if lhs.layout is rhs.layout else (contiguous(lhs), contiguous(rhs))


class ReduceOps:
    """Sums, products, means, extrema, positions, any and all."""

    # ------------------------------------------------------------------------------------------------------- float

    def float_sum(self, tensor: WgpuTensor) -> WgpuTensor:
        return _reduce("float_sum", "sum", tensor, None)

    def float_sum_dim(self, tensor: WgpuTensor, dim: int) -> WgpuTensor:
        return _reduce("float_sum_dim", "sum", tensor, (dim,))

    def float_sum_dims(self, tensor: WgpuTensor, dims: Sequence[int]) -> WgpuTensor:
        """All axes in one kernel."""
        return _reduce("float_sum_dims", "sum", tensor, tuple(dims)) if dims else tensor

    def float_mean_dims(self, tensor: WgpuTensor, dims: Sequence[int]) -> WgpuTensor:
        return _reduce("float_mean_dims", "mean", tensor, tuple(dims)) if dims else tensor

    def float_max_dims(self, tensor: WgpuTensor, dims: Sequence[int]) -> WgpuTensor:
        return _reduce("float_max_dims", "max", tensor, tuple(dims)) if dims else tensor

    def float_min_dims(self, tensor: WgpuTensor, dims: Sequence[int]) -> WgpuTensor:
        return _reduce("float_min_dims", "min", tensor, tuple(dims)) if dims else tensor

    def float_var(self, tensor: WgpuTensor, dims: Sequence[int], correction: float) -> WgpuTensor:
        return _spread(self, "float_var", tensor, tuple(dims), correction)

    def float_std(self, tensor: WgpuTensor, dims: Sequence[int], correction: float) -> WgpuTensor:
        return _spread(self, "float_std", tensor, tuple(dims), correction)

    def float_norm(self, tensor: WgpuTensor, dims: Sequence[int], p: float) -> WgpuTensor:
        layout, dtype, axes = tensor.layout, tensor.dtype, tuple(dims)
        if p not in (0, 1, 2) or not axes:
            return reduce.norm(self, tensor, axes, p)  # type: ignore[return-value]
        key = ("float_norm", layout, dtype, axes, p)
        return run1(tensor.device, key, lambda c: norm_plan("float_norm", layout, dtype, axes, int(p), c), (tensor,))  # type: ignore[arg-type]

    def float_inner(self, lhs: WgpuTensor, rhs: WgpuTensor, dims: Sequence[int]) -> WgpuTensor:
        lhs, rhs = _alike(lhs, rhs)
        layout, dtype, axes = lhs.layout, lhs.dtype, tuple(dims)
        key = ("float_inner", layout, dtype, axes)
        return run1(lhs.device, key, lambda c: inner_plan("float_inner", layout, dtype, axes, c), (lhs, rhs))

    def float_cosine(self, lhs: WgpuTensor, rhs: WgpuTensor, dim: int, eps: float) -> WgpuTensor:
        if lhs.shape != rhs.shape or not isfinite(eps):
            return reduce.cosine(self, lhs, rhs, dim, eps)  # type: ignore[return-value]
        lhs, rhs = _alike(lhs, rhs)
        layout, dtype = lhs.layout, lhs.dtype
        key = ("float_cosine", layout, dtype, dim, eps)
        return run1(lhs.device, key, lambda c: cosine_plan("float_cosine", layout, dtype, dim, eps, c), (lhs, rhs))

    def float_prod(self, tensor: WgpuTensor) -> WgpuTensor:
        return _reduce("float_prod", "prod", tensor, None)

    def float_prod_dim(self, tensor: WgpuTensor, dim: int) -> WgpuTensor:
        return _reduce("float_prod_dim", "prod", tensor, (dim,))

    def float_mean(self, tensor: WgpuTensor) -> WgpuTensor:
        return _reduce("float_mean", "mean", tensor, None)

    def float_mean_dim(self, tensor: WgpuTensor, dim: int) -> WgpuTensor:
        return _reduce("float_mean_dim", "mean", tensor, (dim,))

    def float_max(self, tensor: WgpuTensor) -> WgpuTensor:
        return _reduce("float_max", "max", tensor, None)

    def float_max_dim(self, tensor: WgpuTensor, dim: int) -> WgpuTensor:
        return _reduce("float_max_dim", "max", tensor, (dim,))

    def float_max_dim_with_indices(
        self, tensor: WgpuTensor, dim: int, out_dtype: DType
    ) -> tuple[WgpuTensor, WgpuTensor]:
        return _with_indices("float_max_dim_with_indices", "argmax", tensor, dim, out_dtype)

    def float_min(self, tensor: WgpuTensor) -> WgpuTensor:
        return _reduce("float_min", "min", tensor, None)

    def float_min_dim(self, tensor: WgpuTensor, dim: int) -> WgpuTensor:
        return _reduce("float_min_dim", "min", tensor, (dim,))

    def float_min_dim_with_indices(
        self, tensor: WgpuTensor, dim: int, out_dtype: DType
    ) -> tuple[WgpuTensor, WgpuTensor]:
        return _with_indices("float_min_dim_with_indices", "argmin", tensor, dim, out_dtype)

    def float_max_abs(self, tensor: WgpuTensor) -> WgpuTensor:
        return _reduce("float_max_abs", "max_abs", tensor, None)

    def float_max_abs_dim(self, tensor: WgpuTensor, dim: int) -> WgpuTensor:
        return _reduce("float_max_abs_dim", "max_abs", tensor, (dim,))

    def float_argmax(self, tensor: WgpuTensor, dim: int, out_dtype: DType) -> WgpuTensor:
        return _position("float_argmax", "argmax", tensor, dim, out_dtype)

    def float_argmin(self, tensor: WgpuTensor, dim: int, out_dtype: DType) -> WgpuTensor:
        return _position("float_argmin", "argmin", tensor, dim, out_dtype)

    def float_any(self, tensor: WgpuTensor, out_dtype: DType) -> WgpuTensor:
        return _reduce("float_any", "any", tensor, None, out_dtype)

    def float_any_dim(self, tensor: WgpuTensor, dim: int, out_dtype: DType) -> WgpuTensor:
        return _reduce("float_any_dim", "any", tensor, (dim,), out_dtype)

    def float_all(self, tensor: WgpuTensor, out_dtype: DType) -> WgpuTensor:
        return _reduce("float_all", "all", tensor, None, out_dtype)

    def float_all_dim(self, tensor: WgpuTensor, dim: int, out_dtype: DType) -> WgpuTensor:
        return _reduce("float_all_dim", "all", tensor, (dim,), out_dtype)

    # --------------------------------------------------------------------------------------------------------- int

    def int_sum(self, tensor: WgpuTensor) -> WgpuTensor:
        return _reduce("int_sum", "sum", tensor, None)

    def int_sum_dim(self, tensor: WgpuTensor, dim: int) -> WgpuTensor:
        return _reduce("int_sum_dim", "sum", tensor, (dim,))

    def int_prod(self, tensor: WgpuTensor) -> WgpuTensor:
        return _reduce("int_prod", "prod", tensor, None)

    def int_prod_dim(self, tensor: WgpuTensor, dim: int) -> WgpuTensor:
        return _reduce("int_prod_dim", "prod", tensor, (dim,))

    def int_mean(self, tensor: WgpuTensor) -> WgpuTensor:
        return _reduce("int_mean", "mean", tensor, None)

    def int_mean_dim(self, tensor: WgpuTensor, dim: int) -> WgpuTensor:
        return _reduce("int_mean_dim", "mean", tensor, (dim,))

    def int_max(self, tensor: WgpuTensor) -> WgpuTensor:
        return _reduce("int_max", "max", tensor, None)

    def int_max_dim(self, tensor: WgpuTensor, dim: int) -> WgpuTensor:
        return _reduce("int_max_dim", "max", tensor, (dim,))

    def int_max_dim_with_indices(self, tensor: WgpuTensor, dim: int) -> tuple[WgpuTensor, WgpuTensor]:
        indices = index_dtype(tensor.dtype, tensor.shape[dim])
        return _with_indices("int_max_dim_with_indices", "argmax", tensor, dim, indices)

    def int_min(self, tensor: WgpuTensor) -> WgpuTensor:
        return _reduce("int_min", "min", tensor, None)

    def int_min_dim(self, tensor: WgpuTensor, dim: int) -> WgpuTensor:
        return _reduce("int_min_dim", "min", tensor, (dim,))

    def int_min_dim_with_indices(self, tensor: WgpuTensor, dim: int) -> tuple[WgpuTensor, WgpuTensor]:
        indices = index_dtype(tensor.dtype, tensor.shape[dim])
        return _with_indices("int_min_dim_with_indices", "argmin", tensor, dim, indices)

    def int_max_abs(self, tensor: WgpuTensor) -> WgpuTensor:
        return _reduce("int_max_abs", "max_abs", tensor, None)

    def int_max_abs_dim(self, tensor: WgpuTensor, dim: int) -> WgpuTensor:
        return _reduce("int_max_abs_dim", "max_abs", tensor, (dim,))

    def int_argmax(self, tensor: WgpuTensor, dim: int) -> WgpuTensor:
        return _position("int_argmax", "argmax", tensor, dim, index_dtype(tensor.dtype, tensor.shape[dim]))

    def int_argmin(self, tensor: WgpuTensor, dim: int) -> WgpuTensor:
        return _position("int_argmin", "argmin", tensor, dim, index_dtype(tensor.dtype, tensor.shape[dim]))

    def int_any(self, tensor: WgpuTensor, out_dtype: DType) -> WgpuTensor:
        return _reduce("int_any", "any", tensor, None, out_dtype)

    def int_any_dim(self, tensor: WgpuTensor, dim: int, out_dtype: DType) -> WgpuTensor:
        return _reduce("int_any_dim", "any", tensor, (dim,), out_dtype)

    def int_all(self, tensor: WgpuTensor, out_dtype: DType) -> WgpuTensor:
        return _reduce("int_all", "all", tensor, None, out_dtype)

    def int_all_dim(self, tensor: WgpuTensor, dim: int, out_dtype: DType) -> WgpuTensor:
        return _reduce("int_all_dim", "all", tensor, (dim,), out_dtype)

    # -------------------------------------------------------------------------------------------------------- bool

    def bool_any(self, tensor: WgpuTensor) -> WgpuTensor:
        return _reduce("bool_any", "any", tensor, None)

    def bool_any_dim(self, tensor: WgpuTensor, dim: int) -> WgpuTensor:
        return _reduce("bool_any_dim", "any", tensor, (dim,))

    def bool_all(self, tensor: WgpuTensor) -> WgpuTensor:
        return _reduce("bool_all", "all", tensor, None)

    def bool_all_dim(self, tensor: WgpuTensor, dim: int) -> WgpuTensor:
        return _reduce("bool_all_dim", "all", tensor, (dim,))
