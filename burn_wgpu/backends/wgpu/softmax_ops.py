"""Softmax, log-softmax and softmin: one plan each, see kernel/softmax.py."""

from __future__ import annotations

from burn_wgpu.backends.wgpu.run import run1
from burn_wgpu.backends.wgpu.tensor import WgpuTensor
from burn_wgpu.kernel.softmax import Mode, softmax_plan


def _softmax(mode: Mode, tensor: WgpuTensor, dim: int) -> WgpuTensor:
    layout, dtype = tensor.layout, tensor.dtype
    return run1(
        tensor.device, (mode, layout, dtype, dim), lambda c: softmax_plan(mode, layout, dtype, dim, c), (tensor,)
    )


class SoftmaxOps:
    """The activations that look along an axis."""

    def softmax(self, tensor: WgpuTensor, dim: int) -> WgpuTensor:
        return _softmax("softmax", tensor, dim)

    def log_softmax(self, tensor: WgpuTensor, dim: int) -> WgpuTensor:
        return _softmax("log_softmax", tensor, dim)

    def softmin(self, tensor: WgpuTensor, dim: int) -> WgpuTensor:
        return _softmax("softmin", tensor, dim)
