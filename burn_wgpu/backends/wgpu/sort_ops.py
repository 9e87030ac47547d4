"""sort, argsort, top-k and their forms with indices, along any axis."""

from __future__ import annotations

from burn_wgpu.backends.wgpu.run import run
from burn_wgpu.backends.wgpu.tensor import WgpuTensor
from burn_wgpu.contract.defaults.order import index_dtype
from burn_wgpu.kernel.sort import sort_plan
from burn_wgpu.std.dtype import DType


def ordered(
    operation: str, tensor: WgpuTensor, dim: int, k: int, descending: bool, values: bool, indices: DType | None
) -> list[WgpuTensor]:
    """The first k along dim: values if asked for, then indices of a dtype if given."""
    layout, dtype = tensor.layout, tensor.dtype
    found = run(
        tensor.device,
        (operation, layout, dtype, dim, k, descending, indices),
        lambda c: sort_plan(operation, layout, dtype, dim, k, descending, c, values, indices),
        (tensor,),
    )
    last = tensor.rank - 1
    if dim == last:
        return found
    # The kernels write the sorted axis last.
    axes = [*range(dim), last, *range(dim, last)]
    return [t.view(t.layout.permute(axes)) for t in found]


class SortOps:
    """See `contract.float_ops` and `contract.int_ops`."""

    def float_sort(self, tensor: WgpuTensor, dim: int, descending: bool) -> WgpuTensor:
        return ordered("sort", tensor, dim, tensor.shape[dim], descending, True, None)[0]

    int_sort = float_sort

    def float_sort_with_indices(
        self, tensor: WgpuTensor, dim: int, descending: bool, out_dtype: DType
    ) -> tuple[WgpuTensor, WgpuTensor]:
        values, indices = ordered("sort_with_indices", tensor, dim, tensor.shape[dim], descending, True, out_dtype)
        return values, indices

    def int_sort_with_indices(self, tensor: WgpuTensor, dim: int, descending: bool) -> tuple[WgpuTensor, WgpuTensor]:
        return self.float_sort_with_indices(tensor, dim, descending, index_dtype(tensor.dtype, tensor.shape[dim]))

    def float_argsort(self, tensor: WgpuTensor, dim: int, descending: bool, out_dtype: DType) -> WgpuTensor:
        return ordered("argsort", tensor, dim, tensor.shape[dim], descending, False, out_dtype)[0]

    def int_argsort(self, tensor: WgpuTensor, dim: int, descending: bool) -> WgpuTensor:
        return self.float_argsort(tensor, dim, descending, index_dtype(tensor.dtype, tensor.shape[dim]))

    def float_topk(self, tensor: WgpuTensor, dim: int, k: int) -> WgpuTensor:
        return ordered("topk", tensor, dim, k, True, True, None)[0]

    int_topk = float_topk

    def float_argtopk(self, tensor: WgpuTensor, dim: int, k: int, out_dtype: DType) -> WgpuTensor:
        return ordered("argtopk", tensor, dim, k, True, False, out_dtype)[0]

    def int_argtopk(self, tensor: WgpuTensor, dim: int, k: int) -> WgpuTensor:
        return self.float_argtopk(tensor, dim, k, index_dtype(tensor.dtype, tensor.shape[dim]))

    def float_topk_with_indices(
        self, tensor: WgpuTensor, dim: int, k: int, out_dtype: DType
    ) -> tuple[WgpuTensor, WgpuTensor]:
        values, indices = ordered("topk_with_indices", tensor, dim, k, True, True, out_dtype)
        return values, indices

    def int_topk_with_indices(self, tensor: WgpuTensor, dim: int, k: int) -> tuple[WgpuTensor, WgpuTensor]:
        return self.float_topk_with_indices(tensor, dim, k, index_dtype(tensor.dtype, tensor.shape[dim]))
