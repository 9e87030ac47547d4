"""Running sums, products and extrema: one plan each, see kernel/scan.py."""

from __future__ import annotations

from burn_wgpu.backends.wgpu.run import run1
from burn_wgpu.backends.wgpu.tensor import WgpuTensor
from burn_wgpu.kernel.scan import How, scan_plan


def _scan(operation: str, how: How, tensor: WgpuTensor, dim: int) -> WgpuTensor:
    layout, dtype = tensor.layout, tensor.dtype
    return run1(
        tensor.device,
        (operation, layout, dtype, dim),
        lambda c: scan_plan(operation, how, layout, dtype, dim, c),
        (tensor,),
    )


class ScanOps:
    """Cumulative functions along an axis."""

    def float_cumsum(self, tensor: WgpuTensor, dim: int) -> WgpuTensor:
        return _scan("float_cumsum", "sum", tensor, dim)

    def float_cumprod(self, tensor: WgpuTensor, dim: int) -> WgpuTensor:
        return _scan("float_cumprod", "prod", tensor, dim)

    def float_cummax(self, tensor: WgpuTensor, dim: int) -> WgpuTensor:
        return _scan("float_cummax", "max", tensor, dim)

    def float_cummin(self, tensor: WgpuTensor, dim: int) -> WgpuTensor:
        return _scan("float_cummin", "min", tensor, dim)

    def int_cumsum(self, tensor: WgpuTensor, dim: int) -> WgpuTensor:
        return _scan("int_cumsum", "sum", tensor, dim)

    def int_cumprod(self, tensor: WgpuTensor, dim: int) -> WgpuTensor:
        return _scan("int_cumprod", "prod", tensor, dim)

    def int_cummax(self, tensor: WgpuTensor, dim: int) -> WgpuTensor:
        return _scan("int_cummax", "max", tensor, dim)

    def int_cummin(self, tensor: WgpuTensor, dim: int) -> WgpuTensor:
        return _scan("int_cummin", "min", tensor, dim)
