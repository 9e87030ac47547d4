"""Convolutions composed of others: lower ranks, asymmetric padding and every gradient; unfold4d and fold4d.

Sizes: x [N, Ci, ..], weight [Co, Ci/groups, ..], gradients as the tensors they belong to.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from burn_wgpu.contract.defaults.common import cast, crop, index_constant, sum_axes, widen, zeros_like
from burn_wgpu.contract.options import (
    ConvOptions,
    ConvTransposeOptions,
    IndexingUpdateOp,
    PadMode,
    UnfoldOptions,
    conv_output_size,
    conv_transpose_input_size,
    gradient_padding_out,
)
from burn_wgpu.contract.types import FloatPrim
from burn_wgpu.std.errors import ShapeError
from burn_wgpu.std.slice import Slice


def pad_asymmetric_conv_input(b: Any, x: FloatPrim, options: ConvOptions) -> tuple[FloatPrim, ConvOptions]:
    """x with its asymmetric padding made of zeros and options without padding; symmetric ones stay as they are."""
    if not options.is_asymmetric:
        return x, options
    return b.float_pad(x, [(0, 0), (0, 0), *options.padding], PadMode.constant(0.0)), options.without_padding()


# ------------------------------------------------------------------------------------------------- one dimension


def conv1d(b: Any, x: FloatPrim, weight: FloatPrim, bias: FloatPrim | None, options: ConvOptions) -> FloatPrim:
    x, options = pad_asymmetric_conv_input(b, x, options)
    flat = ConvOptions((*options.stride, 1), (*options.padding, 0), (*options.dilation, 1), options.groups)
    return _drop_last(b, b.conv2d(_add_last(b, x), _add_last(b, weight), bias, flat))


def conv_transpose1d(
    b: Any, x: FloatPrim, weight: FloatPrim, bias: FloatPrim | None, options: ConvTransposeOptions
) -> FloatPrim:
    flat = ConvTransposeOptions(
        (*options.stride, 1), (*options.padding, 0), (*options.padding_out, 0), (*options.dilation, 1), options.groups
    )
    return _drop_last(b, b.conv_transpose2d(_add_last(b, x), _add_last(b, weight), bias, flat))


def _add_last(b: Any, x: FloatPrim) -> FloatPrim:
    return b.float_reshape(x, (*x.shape, 1))


def _drop_last(b: Any, x: FloatPrim) -> FloatPrim:
    return b.float_reshape(x, x.shape[:-1])


# ------------------------------------------------------------------------------------------------------ gradients


def _conv(b: Any, rank: int) -> Any:
    return (b.conv1d, b.conv2d, b.conv3d)[rank - 1]


def _conv_transpose(b: Any, rank: int) -> Any:
    return (b.conv_transpose1d, b.conv_transpose2d, b.conv_transpose3d)[rank - 1]


def conv_x_backward(b: Any, x: FloatPrim, weight: FloatPrim, output_grad: FloatPrim, options: ConvOptions) -> FloatPrim:
    """The transposed convolution of the gradient; elements of x that no window reached get 0."""
    sizes = x.shape[2:]
    if options.is_asymmetric:
        padded = [n + begin + end for n, (begin, end) in zip(sizes, options.padding, strict=True)]
        grad = _x_backward(b, padded, weight, output_grad, options.without_padding())
        return crop(b, grad, options.padding_begin, sizes)
    return _x_backward(b, sizes, weight, output_grad, options)


def _x_backward(
    b: Any, sizes: Sequence[int], weight: FloatPrim, output_grad: FloatPrim, options: ConvOptions
) -> FloatPrim:
    padding = options.symmetric_padding
    padding_out = [
        gradient_padding_out(*axis)
        for axis in zip(
            sizes, output_grad.shape[2:], weight.shape[2:], options.stride, padding, options.dilation, strict=True
        )
    ]
    transposed = ConvTransposeOptions(options.stride, padding, padding_out, options.dilation, options.groups)
    return _conv_transpose(b, len(sizes))(output_grad, weight, None, transposed)


def conv_weight_backward(
    b: Any, x: FloatPrim, weight: FloatPrim, output_grad: FloatPrim, options: ConvOptions
) -> FloatPrim:
    """A convolution of x with the gradient as its kernel, stride and dilation swapped."""
    x, options = pad_asymmetric_conv_input(b, x, options)
    found = _correlate(
        b, x, output_grad, options.dilation, options.symmetric_padding, options.stride, options.groups
    )  # [Ci/groups, Co, k..]
    return crop(b, b.float_swap_dims(found, 0, 1), (0,) * (len(x.shape) - 2), weight.shape[2:])


def conv_bias_backward(b: Any, output_grad: FloatPrim) -> FloatPrim:
    """The sum over the batch and space: [N, Co, ..] → [Co]."""
    dims = [axis for axis in range(len(output_grad.shape)) if axis != 1]
    return b.float_reshape(sum_axes(b, output_grad, dims), (output_grad.shape[1],))


def conv_transpose_x_backward(
    b: Any, weight: FloatPrim, output_grad: FloatPrim, options: ConvTransposeOptions
) -> FloatPrim:
    """The convolution of the gradient; windows that exist only because of padding_out are cut off."""
    sizes = [
        conv_transpose_input_size(*axis)
        for axis in zip(
            output_grad.shape[2:],
            weight.shape[2:],
            options.stride,
            options.padding,
            options.padding_out,
            options.dilation,
            strict=True,
        )
    ]
    plain = ConvOptions(options.stride, options.padding, options.dilation, options.groups)
    grad = _conv(b, len(sizes))(output_grad, weight, None, plain)
    return crop(b, grad, (0,) * len(sizes), sizes)


def conv_transpose_weight_backward(
    b: Any, x: FloatPrim, weight: FloatPrim, output_grad: FloatPrim, options: ConvTransposeOptions
) -> FloatPrim:
    """A convolution of the gradient with x as its kernel, stride and dilation swapped."""
    found = _correlate(
        b, output_grad, x, options.dilation, options.padding, options.stride, options.groups
    )  # [Co/groups, Ci, k..]
    return crop(b, b.float_swap_dims(found, 0, 1), (0,) * (len(x.shape) - 2), weight.shape[2:])


def _correlate(
    b: Any,
    signal: FloatPrim,
    kernel: FloatPrim,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> FloatPrim:
    """Sums over the batch what a convolution sums over channels.

    signal [N, A, ..], kernel [N, B, ..] → [A/groups, B, ..]: one grouped convolution in which the batch is the
    channels, so that groups need no loop.
    """
    batch, channels, *space = signal.shape
    rank = len(space)
    per_group = channels // groups
    split = b.float_reshape(signal, (batch, groups, per_group, *space))
    moved = b.float_permute(split, [2, 1, 0, *range(3, 3 + rank)])  # [A/groups, groups, N, ..]
    moved = b.float_reshape(moved, (per_group, groups * batch, *space))
    options = ConvOptions(stride, padding, dilation, groups)
    return _conv(b, rank)(moved, b.float_swap_dims(kernel, 0, 1), None, options)


# --------------------------------------------------------------------------------------------------- unfold, fold


def unfold4d(b: Any, x: FloatPrim, kernel_size: Sequence[int], options: UnfoldOptions) -> FloatPrim:
    """Windows as views, then one copy; a one-hot convolution would let a NaN reach every element of its window."""
    batch, channels, height, width = x.shape
    out = [
        conv_output_size(n, k, s, (p, p), d, "unfold4d")
        for n, k, s, p, d in zip(
            (height, width), kernel_size, options.stride, options.padding, options.dilation, strict=True
        )
    ]
    if any(options.padding):
        pads = [(0, 0), (0, 0), *((p, p) for p in options.padding)]
        x = b.float_pad(x, pads, PadMode.constant(0.0))
    for axis in (0, 1):
        span = options.dilation[axis] * (kernel_size[axis] - 1) + 1
        x = b.float_unfold(x, 2 + axis, span, options.stride[axis])
        if options.dilation[axis] > 1:
            last = len(x.shape) - 1
            x = b.float_slice(x, [Slice.full()] * last + [Slice(0, None, options.dilation[axis])])
    x = b.float_permute(x, [0, 1, 4, 5, 2, 3])  # [N, C, kh, kw, Ho, Wo]
    return b.float_reshape(x, (batch, channels * prod(kernel_size), prod(out)))


def fold4d(
    b: Any, x: FloatPrim, output_size: Sequence[int], kernel_size: Sequence[int], options: UnfoldOptions
) -> FloatPrim:
    """Every window's elements are added where they came from; ShapeError when the sizes do not belong together."""
    batch, channels, blocks = x.shape
    taps = prod(kernel_size)
    out = [
        conv_output_size(n, k, s, (p, p), d, "fold4d")
        for n, k, s, p, d in zip(
            output_size, kernel_size, options.stride, options.padding, options.dilation, strict=True
        )
    ]
    if channels % taps:
        raise ShapeError(
            f"fold4d: {channels} channels do not divide by the kernel's {taps} elements ({list(kernel_size)}); "
            f"x must be [batch, channels·{kernel_size[0]}·{kernel_size[1]}, blocks]"
        )
    if blocks != prod(out):
        raise ShapeError(
            f"fold4d: x has {blocks} blocks, but output size {list(output_size)} has {prod(out)} windows "
            f"({out[0]}·{out[1]}); the two must agree"
        )
    padded = [n + 2 * p for n, p in zip(output_size, options.padding, strict=True)]
    # Element (i, j) of window (oy, ox) lies at row oy·s + i·d and column ox·s + j·d of the padded image.
    rows, columns = (
        np.arange(k)[:, None] * d + np.arange(o)[None, :] * s
        for k, o, s, d in zip(kernel_size, out, options.stride, options.dilation, strict=True)
    )
    places = rows[:, None, :, None] * padded[1] + columns[None, :, None, :]  # [kh, kw, Ho, Wo]
    planes = batch * channels // taps
    values = widen(b, b.float_reshape(x, (planes, taps * blocks)))
    image = b.float_select_assign(
        zeros_like(b, values, (planes, prod(padded))),
        1,
        index_constant(b, places.reshape(-1), x.device),
        values,
        IndexingUpdateOp.ADD,
    )
    image = b.float_reshape(cast(b, image, x.dtype), (batch, channels // taps, *padded))
    return crop(b, image, options.padding, output_size)
