"""Matrix products and the linear layer: one plan each, see kernel/matmul.py. Transposed views are read as they lie."""

from __future__ import annotations

from math import prod

from burn_wgpu.backends.wgpu.run import contiguous, run1
from burn_wgpu.backends.wgpu.tensor import WgpuTensor
from burn_wgpu.kernel.matmul import matmul_plan
from burn_wgpu.std.layout import Layout


class MatmulOps:
    """Products accumulate in f32 for every float dtype and wrap for integers."""

    def float_matmul(self, lhs: WgpuTensor, rhs: WgpuTensor) -> WgpuTensor:
        return _matmul("float_matmul", lhs, rhs)

    def int_matmul(self, lhs: WgpuTensor, rhs: WgpuTensor) -> WgpuTensor:
        return _matmul("int_matmul", lhs, rhs)

    def linear(self, x: WgpuTensor, weight: WgpuTensor, bias: WgpuTensor | None) -> WgpuTensor:
        return _linear("linear", x, weight, bias)

    def linear_x_backward(self, weight: WgpuTensor, output_grad: WgpuTensor) -> WgpuTensor:
        return _linear("linear_x_backward", output_grad, weight.view(weight.layout.swap_dims(0, 1)), None)

    def linear_weight_backward(self, x: WgpuTensor, output_grad: WgpuTensor) -> WgpuTensor:
        x, output_grad = _rows(x), _rows(output_grad)
        return _matmul("linear_weight_backward", x.view(x.layout.swap_dims(0, 1)), output_grad)


def _matmul(operation: str, lhs: WgpuTensor, rhs: WgpuTensor) -> WgpuTensor:
    a, b, dtype = lhs.layout, rhs.layout, lhs.dtype
    return run1(lhs.device, (operation, a, b, dtype), lambda c: matmul_plan(operation, a, b, dtype, c), (lhs, rhs))


def _linear(operation: str, x: WgpuTensor, weight: WgpuTensor, bias: WgpuTensor | None) -> WgpuTensor:
    """x [.., k] · weight [k, n] (+ bias [n]) as one product of all rows."""
    shape = (*x.shape[:-1], weight.shape[1])
    x = _rows(x)
    a, b, dtype = x.layout, weight.layout, x.dtype
    if bias is None:
        out = _matmul(operation, x, weight)
    else:
        c = bias.layout
        out = run1(
            x.device,
            (operation, a, b, c, dtype),
            lambda capability: matmul_plan(operation, a, b, dtype, capability, bias=c),
            (x, weight, bias),
        )
    return out if out.shape == shape else out.view(Layout.dense(shape))


def _rows(x: WgpuTensor) -> WgpuTensor:
    """[.., k] → [rows, k], a view where the layout allows one."""
    if x.rank == 2:
        return x
    shape = (prod(x.shape[:-1]), x.shape[-1])
    layout = x.layout.reshape(shape)
    return contiguous(x).view(Layout.dense(shape)) if layout is None else x.view(layout)
