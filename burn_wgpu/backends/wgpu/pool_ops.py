"""Pooling: one plan each, see kernel/pool.py. Windows too long for one invocation take the contract's default."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from burn_wgpu.backends.wgpu.run import run, run1
from burn_wgpu.backends.wgpu.tensor import WgpuTensor
from burn_wgpu.contract.module_ops import ModuleOps
from burn_wgpu.kernel.pool import Windows, pool_backward_plan, pool_plan
from burn_wgpu.std.dtype import DType


def _tuple(value: int | Sequence[int]) -> tuple[int, ...]:
    return (value,) if isinstance(value, int) else tuple(value)


def _pool(operation: str, x: WgpuTensor, windows: Windows, maximum: bool) -> WgpuTensor:
    layout, dtype = x.layout, x.dtype
    return run1(
        x.device,
        (operation, layout, windows, dtype),
        lambda c: pool_plan(operation, layout, windows, maximum, None, dtype, c),
        (x,),
    )


def _average_backward(operation: str, x: WgpuTensor, grad: WgpuTensor, windows: Windows) -> WgpuTensor:
    shape, layout, dtype = x.shape, grad.layout, grad.dtype
    return run1(
        x.device,
        (operation, shape, layout, windows, dtype),
        lambda c: pool_backward_plan(operation, shape, layout, windows, None, dtype, c),
        (grad,),
    )


def _avg_pool(rank: int) -> Any:
    name = f"avg_pool{rank}d"
    default = getattr(ModuleOps, name)

    def method(
        self: Any, x: WgpuTensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
        count_include_pad: bool, ceil_mode: bool,
    ) -> WgpuTensor:  # fmt: skip
        sizes = (_tuple(kernel_size), _tuple(stride), _tuple(padding), _tuple(dilation))
        windows = Windows.fixed(x.shape[2:], *sizes, ceil_mode, count_include_pad, name)
        if not windows.short:
            return default(self, x, kernel_size, stride, padding, dilation, count_include_pad, ceil_mode)  # type: ignore[no-any-return]
        return _pool(name, x, windows, False)

    return method


def _avg_pool_backward(rank: int) -> Any:
    name = f"avg_pool{rank}d_backward"
    default = getattr(ModuleOps, name)

    def method(
        self: Any, x: WgpuTensor, output_grad: WgpuTensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
        count_include_pad: bool, ceil_mode: bool,
    ) -> WgpuTensor:  # fmt: skip
        sizes = (_tuple(kernel_size), _tuple(stride), _tuple(padding), _tuple(dilation))
        windows = Windows.fixed(x.shape[2:], *sizes, ceil_mode, count_include_pad, name)
        if not windows.short_backward:
            return default(  # type: ignore[no-any-return]
                self, x, output_grad, kernel_size, stride, padding, dilation, count_include_pad, ceil_mode
            )
        return _average_backward(name, x, output_grad, windows)

    return method


def _adaptive_avg_pool(rank: int) -> Any:
    name = f"adaptive_avg_pool{rank}d"
    default = getattr(ModuleOps, name)

    def method(self: Any, x: WgpuTensor, output_size: Any) -> WgpuTensor:
        outputs = _tuple(output_size)
        if outputs == (1,) * rank and 0 not in x.shape[2:]:  # the mean of the whole plane is a reduction
            flat = self.float_reshape(x, (*x.shape[:2], prod(x.shape[2:])))
            return self.float_reshape(self.float_mean_dim(flat, 2), (*x.shape[:2], *outputs))  # type: ignore[no-any-return]
        windows = Windows.covering(x.shape[2:], outputs)
        return _pool(name, x, windows, False) if windows.short else default(self, x, output_size)

    return method


def _adaptive_avg_pool_backward(rank: int) -> Any:
    name = f"adaptive_avg_pool{rank}d_backward"
    default = getattr(ModuleOps, name)

    def method(self: Any, x: WgpuTensor, output_grad: WgpuTensor) -> WgpuTensor:
        windows = Windows.covering(x.shape[2:], output_grad.shape[2:])
        if not windows.short_backward:
            return default(self, x, output_grad)  # type: ignore[no-any-return]
        return _average_backward(name, x, output_grad, windows)

    return method


def _max_pool(rank: int) -> Any:
    name = f"max_pool{rank}d"
    default = getattr(ModuleOps, name)

    def method(
        self: Any, x: WgpuTensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
    ) -> WgpuTensor:
        sizes = (_tuple(kernel_size), _tuple(stride), _tuple(padding), _tuple(dilation))
        windows = Windows.fixed(x.shape[2:], *sizes, ceil_mode, True, name)
        if not windows.short:
            return default(self, x, kernel_size, stride, padding, dilation, ceil_mode)  # type: ignore[no-any-return]
        return _pool(name, x, windows, True)

    return method


def _max_pool_with_indices(rank: int) -> Any:
    name = f"max_pool{rank}d_with_indices"
    default = getattr(ModuleOps, name)

    def method(
        self: Any, x: WgpuTensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool,
        out_dtype: DType,
    ) -> tuple[WgpuTensor, WgpuTensor]:  # fmt: skip
        sizes = (_tuple(kernel_size), _tuple(stride), _tuple(padding), _tuple(dilation))
        windows = Windows.fixed(x.shape[2:], *sizes, ceil_mode, True, name)
        if not windows.short:
            return default(self, x, kernel_size, stride, padding, dilation, ceil_mode, out_dtype)  # type: ignore[no-any-return]
        layout, dtype = x.layout, x.dtype
        out, indices = run(
            x.device,
            (name, layout, windows, dtype, out_dtype),
            lambda c: pool_plan(name, layout, windows, True, out_dtype, dtype, c),
            (x,),
        )
        return out, indices

    return method


def _max_pool_backward(rank: int) -> Any:
    name = f"max_pool{rank}d_with_indices_backward"
    default = getattr(ModuleOps, name)

    def method(
        self: Any, x: WgpuTensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool,
        output_grad: WgpuTensor, indices: WgpuTensor,
    ) -> WgpuTensor:  # fmt: skip
        sizes = (_tuple(kernel_size), _tuple(stride), _tuple(padding), _tuple(dilation))
        windows = Windows.fixed(x.shape[2:], *sizes, ceil_mode, True, name)
        if not windows.short_backward:
            return default(  # type: ignore[no-any-return]
                self, x, kernel_size, stride, padding, dilation, ceil_mode, output_grad, indices
            )
        shape, layout, dtype = x.shape, output_grad.layout, output_grad.dtype
        at = (indices.layout, indices.dtype)
        return run1(
            x.device,
            (name, shape, layout, windows, dtype, at),
            lambda c: pool_backward_plan(name, shape, layout, windows, at, dtype, c),
            (output_grad, indices),
        )

    return method


class PoolOps:
    """See `contract.module_ops`; sums are in f32 and rounded once."""

    avg_pool1d, avg_pool2d, avg_pool3d = (_avg_pool(rank) for rank in (1, 2, 3))
    avg_pool1d_backward, avg_pool2d_backward, avg_pool3d_backward = (_avg_pool_backward(rank) for rank in (1, 2, 3))
    adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = (_adaptive_avg_pool(rank) for rank in (1, 2, 3))
    adaptive_avg_pool1d_backward, adaptive_avg_pool2d_backward, adaptive_avg_pool3d_backward = (
        _adaptive_avg_pool_backward(rank) for rank in (1, 2, 3)
    )
    max_pool1d, max_pool2d, max_pool3d = (_max_pool(rank) for rank in (1, 2, 3))
    max_pool1d_with_indices, max_pool2d_with_indices, max_pool3d_with_indices = (
        _max_pool_with_indices(rank) for rank in (1, 2, 3)
    )
    max_pool1d_with_indices_backward, max_pool2d_with_indices_backward, max_pool3d_with_indices_backward = (
        _max_pool_backward(rank) for rank in (1, 2, 3)
    )
