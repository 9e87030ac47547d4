"""Convolutions and their gradients: one plan each, see kernel/conv.py. Every layout is read as it lies."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from burn_wgpu.backends.wgpu.run import contiguous, run1
from burn_wgpu.backends.wgpu.tensor import WgpuTensor
from burn_wgpu.contract.options import ConvOptions, ConvTransposeOptions
from burn_wgpu.kernel.conv import (
    Correlation,
    conv_correlation,
    conv_transpose_correlation,
    conv_transpose_weight_correlation,
    conv_transpose_x_correlation,
    conv_weight_correlation,
    conv_x_correlation,
    correlation_plan,
)
from burn_wgpu.std.layout import Shape


def _run(
    operation: str,
    key: Hashable,
    what: Callable[[], tuple[Shape, Correlation]],
    x: WgpuTensor,
    w: WgpuTensor,
    bias: WgpuTensor | None = None,
) -> WgpuTensor:
    dtype = x.dtype
    inputs = (x, w) if bias is None else (x, w, contiguous(bias))
    return run1(
        x.device,
        (operation, x.layout, w.layout, dtype, bias is None, key),
        lambda c: correlation_plan(operation, *what(), dtype, c, bias is not None),
        inputs,
    )


def _conv(rank: int) -> Any:
    name = f"conv{rank}d"

    def method(
        self: Any, x: WgpuTensor, weight: WgpuTensor, bias: WgpuTensor | None, options: ConvOptions
    ) -> WgpuTensor:
        return _run(name, options, lambda: conv_correlation(x.layout, weight.layout, options, name), x, weight, bias)

    return method


def _conv_x_backward(rank: int) -> Any:
    name = f"conv{rank}d_x_backward"

    def method(
        self: Any, x: WgpuTensor, weight: WgpuTensor, output_grad: WgpuTensor, options: ConvOptions
    ) -> WgpuTensor:
        shape = x.shape
        make = lambda: conv_x_correlation(shape, weight.layout, output_grad.layout, options)  # noqa: E731
        return _run(name, (shape, options), make, output_grad, weight)

    return method


def _conv_weight_backward(rank: int) -> Any:
    name = f"conv{rank}d_weight_backward"

    def method(
        self: Any, x: WgpuTensor, weight: WgpuTensor, output_grad: WgpuTensor, options: ConvOptions
    ) -> WgpuTensor:
        shape = weight.shape
        make = lambda: conv_weight_correlation(x.layout, shape, output_grad.layout, options)  # noqa: E731
        return _run(name, (shape, options), make, x, output_grad)

    return method


def _conv_transpose(rank: int) -> Any:
    name = f"conv_transpose{rank}d"

    def method(
        self: Any, x: WgpuTensor, weight: WgpuTensor, bias: WgpuTensor | None, options: ConvTransposeOptions
    ) -> WgpuTensor:
        make = lambda: conv_transpose_correlation(x.layout, weight.layout, options, name)  # noqa: E731
        return _run(name, options, make, x, weight, bias)

    return method


def _conv_transpose_x_backward(rank: int) -> Any:
    name = f"conv_transpose{rank}d_x_backward"

    def method(self: Any, weight: WgpuTensor, output_grad: WgpuTensor, options: ConvTransposeOptions) -> WgpuTensor:
        make = lambda: conv_transpose_x_correlation(weight.layout, output_grad.layout, options)  # noqa: E731
        return _run(name, options, make, output_grad, weight)

    return method


def _conv_transpose_weight_backward(rank: int) -> Any:
    name = f"conv_transpose{rank}d_weight_backward"

    def method(
        self: Any, x: WgpuTensor, weight: WgpuTensor, output_grad: WgpuTensor, options: ConvTransposeOptions
    ) -> WgpuTensor:
        shape = weight.shape
        make = lambda: conv_transpose_weight_correlation(x.layout, shape, output_grad.layout, options)  # noqa: E731
        return _run(name, (shape, options), make, output_grad, x)

    return method


class ConvOps:
    """See `contract.module_ops`; f16 and bf16 are summed in f32 and rounded once."""

    conv1d, conv2d, conv3d = (_conv(rank) for rank in (1, 2, 3))
    conv1d_x_backward, conv2d_x_backward, conv3d_x_backward = (_conv_x_backward(rank) for rank in (1, 2, 3))
    conv1d_weight_backward, conv2d_weight_backward, conv3d_weight_backward = (
        _conv_weight_backward(rank) for rank in (1, 2, 3)
    )
    conv_transpose1d, conv_transpose2d, conv_transpose3d = (_conv_transpose(rank) for rank in (1, 2, 3))
    conv_transpose1d_x_backward, conv_transpose2d_x_backward, conv_transpose3d_x_backward = (
        _conv_transpose_x_backward(rank) for rank in (1, 2, 3)
    )
    conv_transpose1d_weight_backward, conv_transpose2d_weight_backward, conv_transpose3d_weight_backward = (
        _conv_transpose_weight_backward(rank) for rank in (1, 2, 3)
    )
