"""Float functions that are elementwise but for one argument: integer powers and cross products."""

from __future__ import annotations

from burn_wgpu.backends.wgpu.run import run1
from burn_wgpu.backends.wgpu.tensor import WgpuTensor
from burn_wgpu.kernel.cross import cross_plan
from burn_wgpu.kernel.power import powi_plan


class MathOps:
    """See `contract.float_ops`; computed in f32 and rounded once."""

    def float_cross(self, lhs: WgpuTensor, rhs: WgpuTensor, dim: int) -> WgpuTensor:
        left, right, dtype = lhs.layout, rhs.layout, lhs.dtype
        key = ("float_cross", left, right, dim, dtype)
        return run1(lhs.device, key, lambda c: cross_plan(left, right, dim, dtype, c), (lhs, rhs))

    def float_powi(self, lhs: WgpuTensor, rhs: WgpuTensor) -> WgpuTensor:
        left, right, dtype, kind = lhs.layout, rhs.layout, lhs.dtype, rhs.dtype
        key = ("float_powi", left, right, dtype, kind)
        return run1(lhs.device, key, lambda c: powi_plan(left, right, dtype, kind, c), (lhs, rhs))
