"""Pooling: one plan each, see kernel/pool.py.

Windows with too many elements for one invocation are pooled one axis after the other, with the same result; where a
single axis is too long, the contract's default takes over.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from burn_wgpu.backends.wgpu.run import run, run1
from burn_wgpu.backends.wgpu.tensor import WgpuTensor
from burn_wgpu.contract.defaults.common import cast, widen
from burn_wgpu.contract.defaults.pool import held
from burn_wgpu.contract.module_ops import ModuleOps
from burn_wgpu.kernel.pool import Windows, pool_backward_plan, pool_plan
from burn_wgpu.std.dtype import I32, DType

Sizes = tuple[int, ...]


def _tuple(value: int | Sequence[int]) -> Sizes:
    return (value,) if isinstance(value, int) else tuple(value)


def _by_axis(sizes: tuple[Sizes, Sizes, Sizes, Sizes]) -> list[tuple[Sizes, Sizes, Sizes, Sizes]]:
    """Kernel, stride, padding, dilation of each axis alone, first axis first; [] when only one axis is pooled."""
    rank = len(sizes[0])

    def only(axis: int, row: Sizes, plain: int) -> Sizes:
        return tuple(n if a == axis else plain for a, n in enumerate(row))

    kernel, stride, padding, dilation = sizes
    alone = [
        (only(axis, kernel, 1), only(axis, stride, 1), only(axis, padding, 0), only(axis, dilation, 1))
        for axis in range(rank)
    ]
    return alone if sum(k > 1 for k in sizes[0]) > 1 else []


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
        if windows.short:
            return _pool(name, x, windows, False)
        axes = _by_axis(sizes)
        if not axes:
            return default(self, x, kernel_size, stride, padding, dilation, count_include_pad, ceil_mode)  # type: ignore[no-any-return]
        total: Any = widen(self, x)
        for alone in reversed(axes):  # a mean of means, as every row of a window counts as many elements
            total = method(self, total, *alone, count_include_pad, ceil_mode)
        return cast(self, total, x.dtype)  # type: ignore[no-any-return]

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
        if windows.short_backward:
            return _average_backward(name, x, output_grad, windows)
        axes = _by_axis(sizes)
        if not axes:
            return default(  # type: ignore[no-any-return]
                self, x, output_grad, kernel_size, stride, padding, dilation, count_include_pad, ceil_mode
            )
        grad: Any = widen(self, output_grad)
        for axis, alone in enumerate(axes):
            shape = (*x.shape[: 3 + axis], *grad.shape[3 + axis :])
            like = self.float_empty(shape, x.device, grad.dtype)
            grad = method(self, like, grad, *alone, count_include_pad, ceil_mode)
        return cast(self, grad, x.dtype)  # type: ignore[no-any-return]

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
        if windows.short:
            return _pool(name, x, windows, True)
        axes = _by_axis(sizes)
        if not axes:
            return default(self, x, kernel_size, stride, padding, dilation, ceil_mode)  # type: ignore[no-any-return]
        for alone in reversed(axes):
            x = method(self, x, *alone, ceil_mode)
        return x

    return method


def _looked_up(self: Any, places: WgpuTensor, found: WgpuTensor) -> WgpuTensor:
    """The places that stand where `found` points to, in each plane."""
    planes = places.shape[:2]
    flat = self.int_reshape(places, (*planes, prod(places.shape[2:])))
    taken = self.int_gather(2, flat, self.int_reshape(found, (*planes, prod(found.shape[2:]))))
    return self.int_reshape(taken, found.shape)  # type: ignore[no-any-return]


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
            axes = _by_axis(sizes)
            if not axes or not held(x.shape[2:], *sizes, ceil_mode, name).all():
                return default(self, x, kernel_size, stride, padding, dilation, ceil_mode, out_dtype)  # type: ignore[no-any-return]
            places: Any = None
            for alone in reversed(axes):  # the first of the rows' first maxima is the window's
                x, found = method(self, x, *alone, ceil_mode, I32)
                places = found if places is None else _looked_up(self, places, found)
            return x, self.int_cast(places, out_dtype)
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
