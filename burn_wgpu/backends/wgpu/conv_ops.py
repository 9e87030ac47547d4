"""Convolutions and their gradients: one plan each, see kernel/conv.py. Every layout is read as it lies."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from math import prod
from typing import Any

from burn_wgpu.backends.wgpu.run import contiguous, run, run1
from burn_wgpu.backends.wgpu.tensor import WgpuTensor
from burn_wgpu.contract.defaults.common import cast
from burn_wgpu.contract.defaults.conv import conv_bias_backward
from burn_wgpu.contract.options import (
    ConvOptions,
    ConvTransposeOptions,
    DeformConvGradients,
    DeformConvOptions,
)
from burn_wgpu.kernel.conv import (
    conv_correlation,
    conv_transpose_correlation,
    conv_transpose_weight_correlation,
    conv_transpose_x_correlation,
    conv_weight_correlation,
    conv_x_correlation,
    correlation_plan,
)
from burn_wgpu.kernel.correlation import Correlation
from burn_wgpu.kernel.deform import Deformed, columns_plan, gather_plan, gradients_plan
from burn_wgpu.std.dtype import F32
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

    def deform_conv2d(
        self: Any,
        x: WgpuTensor,
        offset: WgpuTensor,
        weight: WgpuTensor,
        mask: WgpuTensor | None,
        bias: WgpuTensor | None,
        options: DeformConvOptions,
    ) -> WgpuTensor:
        what = Deformed.of(x.shape, weight.shape[2:], options, x.dtype, mask is not None)
        columns = _columns(what, x, offset, mask)
        plain = ConvOptions((1,), (0,), groups=options.weight_groups)
        out = self.conv1d(columns, _rows(self, weight), None if bias is None else cast(self, bias, F32), plain)
        shaped: WgpuTensor = self.float_reshape(out, (x.shape[0], weight.shape[0], *what.out))
        return cast(self, shaped, x.dtype)

    def deform_conv2d_backward(
        self: Any,
        x: WgpuTensor,
        offset: WgpuTensor,
        weight: WgpuTensor,
        mask: WgpuTensor | None,
        bias: WgpuTensor | None,
        output_grad: WgpuTensor,
        options: DeformConvOptions,
    ) -> DeformConvGradients:
        dtype, device = x.dtype, x.device
        what = Deformed.of(x.shape, weight.shape[2:], options, dtype, mask is not None)
        x, offset, mask = contiguous(x), contiguous(offset), None if mask is None else contiguous(mask)
        last = () if mask is None else (mask,)
        plain = ConvOptions((1,), (0,), groups=options.weight_groups)
        grad = cast(self, output_grad, F32)
        grad = self.float_reshape(grad, (x.shape[0], weight.shape[0], prod(what.out)))
        rows, width = _rows(self, weight), (x.shape[0], x.shape[1] * prod(what.kernel), prod(what.out))
        columns_grad = _run(
            "conv1d_x_backward", (width, plain), lambda: conv_x_correlation(width, rows.layout, grad.layout, plain),
            grad, rows,
        )  # fmt: skip
        columns, boxes, *made = run(
            device, ("deform gradients", what), lambda c: gradients_plan(what, c), (x, offset, columns_grad, *last)
        )
        x_grad = run1(
            device, ("deform gather", what), lambda c: gather_plan(what, c), (offset, columns_grad, boxes, *last)
        )
        weight_grad = self.conv1d_weight_backward(columns, rows, grad, plain)
        return DeformConvGradients(
            cast(self, x_grad, dtype),
            cast(self, made[0], offset.dtype),
            cast(self, self.float_reshape(weight_grad, weight.shape), weight.dtype),
            None if mask is None else cast(self, made[1], mask.dtype),
            None if bias is None else conv_bias_backward(self, output_grad),
        )


def _columns(what: Deformed, x: WgpuTensor, offset: WgpuTensor, mask: WgpuTensor | None) -> WgpuTensor:
    last = () if mask is None else (contiguous(mask),)
    return run1(
        x.device, ("deform columns", what), lambda c: columns_plan(what, c), (contiguous(x), contiguous(offset), *last)
    )


def _rows(b: Any, weight: WgpuTensor) -> WgpuTensor:
    """The weight [Co, Ci/groups, kh, kw] as that of a convolution of columns, [Co, Ci/groups · taps, 1], in f32."""
    return b.float_reshape(cast(b, weight, F32), (weight.shape[0], prod(weight.shape[1:]), 1))  # type: ignore[no-any-return]
