"""Convolutions, transposed ones and all their gradients: one idea, the correlation, and a handful of kernels.

    y[image, group, row, o] = Σ_c Σ_t w[group, row, c, t] · x[image, group, c, (o·step + t·tap_step + first) / divide]

Which tensors play x and w says what is computed: a convolution has o·stride + t·dilation − padding; its input gradient
and the transposed convolution (o − t·dilation + padding) / stride; a weight gradient takes the taps for outputs, the
outputs for taps and the batch for channels. Padding is a test, never a copy.

| kernel | for |
|---|---|
| tile_… | the tiled product of kernel/matmul.py: weights [rows, k] times windows [k, columns], computed on the way |
| window_… | the same, big: a thread owns a column, taps are written out, the weights are turned to [k, rows] first |
| lines_… | weight gradients: k runs along memory, and a thread owns one of it |
| strip | depthwise, groups of few rows: a thread reads each element of a block's windows once, taps written out |
| direct | few rows, what strips cannot: a thread computes four neighbours |
| dots | few results with long sums: a workgroup computes four |

Where `divide` is above 1 tiles, windows and strips work phase by phase: outputs of one remainder see one subset of the
taps, without gaps; phases of windows that are alike are one launch. A kernel asked for by name that cannot compute
something gives it to a simpler one. Results that do not fill words of their own, and split sums, pass through f32
scratch and matmul/finish.wgsl. Sums are in f32, in an order that depends on shapes only.

Here tensors get their parts and the correlation a kernel. The value is correlation.py's, the choice conv_choice.py's;
conv_tile.py, conv_window.py (lines as well), conv_strip.py and conv_direct.py (dots as well) make the launches.

Where padding is a zero of x, its product with the weight counts: an infinite weight makes it NaN, as in every library
that pads. A transposed convolution and the gradient of x have no padding: a place outside x has no product (`skips`).
The tiles multiply there all the same, and sum again, without those places, what came out as NaN.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

from burn_wgpu.contract.options import (
    ConvOptions,
    ConvTransposeOptions,
    conv_output_size,
    conv_transpose_input_size,
    conv_transpose_output_size,
)
from burn_wgpu.kernel.conv_choice import KERNELS, able, choose
from burn_wgpu.kernel.conv_direct import direct, dots
from burn_wgpu.kernel.conv_parts import Task
from burn_wgpu.kernel.conv_strip import strips
from burn_wgpu.kernel.conv_text import Axis
from burn_wgpu.kernel.conv_tile import tiles
from burn_wgpu.kernel.conv_window import WINDOWS, windows
from burn_wgpu.kernel.correlation import ONE, Correlation
from burn_wgpu.kernel.matmul import TILES
from burn_wgpu.kernel.walk import Steps
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import Out, Plan
from burn_wgpu.shader.prelude import KINDS
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.errors import ArgumentError, DTypeError
from burn_wgpu.std.layout import Layout, Shape, contiguous_strides

_COMMON = ("window_64x128", "window_64x64", "strip")  # of variants

# ------------------------------------------------------------------------------------------ what plays which part


def _three(axes: Sequence[Axis]) -> tuple[Axis, Axis, Axis]:
    """Three axes: neighbours that are one run become one, trivial ones in front fill up."""
    merged: list[Axis] = []
    for axis in axes:
        if axis.trivial:
            continue
        before = merged[-1] if merged else None
        runs = before is not None and (before.x, before.y) == (axis.x * axis.size, axis.y * axis.out)
        if before is not None and runs and before.identity and axis.identity:
            merged[-1] = replace(axis, size=before.size * axis.size, out=before.out * axis.out)
        else:
            merged.append(axis)
    filled = [*[ONE] * (3 - len(merged)), *merged]
    return filled[0], filled[1], filled[2]


def _correlation(
    x: Layout, w: Layout, out: Shape, groups: int, axes: Sequence[tuple[int, int, int, int]],
    x_parts: tuple[int, int], w_parts: tuple[int, int], rows_first: bool,
) -> Correlation:  # fmt: skip
    """x and w with their (image or row, channel) axes first, groups still inside; axes (step, tap_step, first, divide).

    x_parts  (images, channels) a group of x has; the groups lie along x's axis 1 (rows_first: 0)
    w_parts  (rows, channels) a group of w has; the groups lie along w's axis 0, or 1 when its rows are not grouped
    """
    space, taps, sizes = x.shape[2:], w.shape[2:], out[2:]
    images, channels = x_parts
    rows = w_parts[0]
    steps = contiguous_strides(out)
    made = [
        Axis(space[a], sizes[a], taps[a], *axes[a], x.strides[2 + a], w.strides[2 + a], steps[2 + a])
        for a in range(len(space))
    ]
    x_group = x.strides[0] * images if rows_first else x.strides[1] * channels
    w_group = w.strides[0] * rows if w.shape[0] == rows * groups else w.strides[1] * channels
    y_image, y_row = (steps[1], steps[0]) if rows_first else steps[:2]
    return Correlation(
        images, groups, rows, channels, _three(made),
        x.offset, x.strides[0], x_group, x.strides[1], w.offset, w_group, w.strides[0], w.strides[1],
        0, y_image, y_row * rows, y_row, rows_first,
    )  # fmt: skip


def conv_correlation(x: Layout, weight: Layout, options: ConvOptions, operation: str) -> tuple[Shape, Correlation]:
    """x [N, Ci, ..], weight [Co, Ci/groups, ..] → [N, Co, ..]."""
    groups = options.groups
    space = [
        conv_output_size(*axis, operation)
        for axis in zip(x.shape[2:], weight.shape[2:], options.stride, options.padding, options.dilation, strict=True)
    ]
    out = (x.shape[0], weight.shape[0], *space)
    axes = [(s, d, -p, 1) for s, d, p in zip(options.stride, options.dilation, options.padding_begin, strict=True)]
    parts = (x.shape[0], weight.shape[1]), (weight.shape[0] // groups, weight.shape[1])
    return out, _correlation(x, weight, out, groups, axes, *parts, rows_first=False)


def _spread(
    x: Layout, weight: Layout, out: Shape, stride: Sequence[int], dilation: Sequence[int], padding: Sequence[int],
    groups: int,
) -> Correlation:  # fmt: skip
    """x [N, Ci, ..] spread by weight [Ci, Co/groups, ..] over out [N, Co, ..]."""
    axes = [(1, -d, p, s) for s, d, p in zip(stride, dilation, padding, strict=True)]
    channels, rows = weight.shape[0] // groups, weight.shape[1]
    turned = weight.swap_dims(0, 1)  # [rows, Ci, ..]
    made = _correlation(x, turned, out, groups, axes, (x.shape[0], channels), (rows, channels), rows_first=False)
    return replace(made, w_group=turned.strides[1] * channels, skips=True)


def conv_x_correlation(x: Shape, weight: Layout, grad: Layout, options: ConvOptions) -> tuple[Shape, Correlation]:
    """The gradient of x, in its shape."""
    return x, _spread(grad, weight, x, options.stride, options.dilation, options.padding_begin, options.groups)


def conv_transpose_correlation(
    x: Layout, weight: Layout, options: ConvTransposeOptions, operation: str
) -> tuple[Shape, Correlation]:
    """x [N, Ci, ..], weight [Ci, Co/groups, ..] → [N, Co, ..]."""
    settings = zip(options.stride, options.padding, options.padding_out, options.dilation, strict=True)
    space = [
        conv_transpose_output_size(size, kernel, *setting, operation=operation)
        for size, kernel, setting in zip(x.shape[2:], weight.shape[2:], settings, strict=True)
    ]
    out = (x.shape[0], weight.shape[1] * options.groups, *space)
    return out, _spread(x, weight, out, options.stride, options.dilation, options.padding, options.groups)


def conv_transpose_x_correlation(
    weight: Layout, grad: Layout, options: ConvTransposeOptions
) -> tuple[Shape, Correlation]:
    """The gradient of x [N, Ci, ..]: the convolution of the gradient [N, Co, ..] with weight [Ci, Co/groups, ..]."""
    groups, (channels, rows) = options.groups, (weight.shape[1], weight.shape[0] // options.groups)
    space = [
        conv_transpose_input_size(*axis)
        for axis in zip(
            grad.shape[2:], weight.shape[2:], options.stride, options.padding, options.padding_out, options.dilation,
            strict=True,
        )
    ]  # fmt: skip
    out = (grad.shape[0], weight.shape[0], *space)
    axes = [(s, d, -p, 1) for s, d, p in zip(options.stride, options.dilation, options.padding, strict=True)]
    parts = (grad.shape[0], channels), (rows, channels)
    return out, _correlation(grad, weight, out, groups, axes, *parts, rows_first=False)


def _weight_correlation(
    weight: Shape, wide: Layout, narrow: Layout, stride: Sequence[int], dilation: Sequence[int],
    padding: Sequence[int], groups: int,
) -> Correlation:  # fmt: skip
    """weight [A, B/groups, k..] from the tensor whose windows were seen [N, B, ..] and that of positions [N, A, ..]."""
    axes = [(d, s, -p, 1) for s, d, p in zip(stride, dilation, padding, strict=True)]
    x, w = wide.swap_dims(0, 1), narrow.swap_dims(0, 1)
    parts = (weight[1], x.shape[1]), (weight[0] // groups, x.shape[1])
    return _correlation(x, w, weight, groups, axes, *parts, rows_first=True)


def conv_weight_correlation(x: Layout, weight: Shape, grad: Layout, options: ConvOptions) -> tuple[Shape, Correlation]:
    """The gradient of the weight [Co, Ci/groups, ..], in its shape."""
    padding = options.padding_begin
    return weight, _weight_correlation(weight, x, grad, options.stride, options.dilation, padding, options.groups)


def conv_transpose_weight_correlation(
    x: Layout, weight: Shape, grad: Layout, options: ConvTransposeOptions
) -> tuple[Shape, Correlation]:
    """The gradient of the weight [Ci, Co/groups, ..], in its shape."""
    padding = options.padding
    return weight, _weight_correlation(weight, grad, x, options.stride, options.dilation, padding, options.groups)


# ------------------------------------------------------------------------------------------------------------ plans


def correlation_plan(
    operation: str,
    out: Shape,
    what: Correlation,
    dtype: DType,
    device: Capability,
    bias: bool = False,
    kernel: str | None = None,
    splits: int | None = None,
) -> Plan:
    """The result of `out`'s shape. Inputs are x, w and, with bias, a packed vector of groups · rows, all of one dtype.

    `kernel` and `splits` override the choice. Raises DTypeError for what is no float.
    """
    if KINDS[dtype].value != "f32":
        raise DTypeError(f"{operation}: {device.adapter} has no arithmetic for {dtype}; cast to f32")
    made = Out.of(out, dtype)
    steps = Steps(3 if bias else 2, [made])
    if made.layout.size == 0:
        return steps.plan(operation)
    if kernel is None:
        kernel, chosen = choose(what, device)
        splits = splits or chosen
    elif kernel not in KERNELS:
        raise ArgumentError(f"{operation}: there is no kernel '{kernel}'; there are {', '.join(KERNELS)}")
    kernel = able(kernel, what, device)
    task = Task(steps, what, dtype, bias, device)
    if kernel == "direct":
        direct(task)
    elif kernel == "dots":
        dots(task, splits or 1)
    elif kernel == "strip":
        strips(task)
    elif kernel in WINDOWS:
        windows(task, WINDOWS[kernel], splits or 1)
    else:
        tiles(task, TILES[kernel], splits or 1)
    return steps.plan(operation)


def variants(device: Capability) -> Iterator[Plan]:
    """Every kernel over every way of reading and storing, each dtype, each rank."""
    fitting = [name for name in TILES if TILES[name].workgroup_bytes <= device.max_workgroup_bytes]
    shapes = (((12, 16), (3, 3)), ((9, 7), (3, 2)), ((8, 8), (1, 1)), ((4, 5, 6), (2, 3, 3)), ((33,), (5,)))
    for dtype in (dt.F32, dt.F16, dt.BF16, dt.F64):
        f32 = dtype is dt.F32
        for space, kernel in shapes if f32 else shapes[1:3]:
            rank = len(space)
            for stride, padding in ((1, 1), (2, 0)):
                options = ConvOptions((stride,) * rank, (padding,) * rank)
                x, w = Layout.dense((2, 16, *space)), Layout.dense((32, 16, *kernel))
                out, what = conv_correlation(x, w, options, "conv")
                grad = Layout.dense(out)
                names = (*fitting, *WINDOWS) if f32 else (fitting[-1],)
                for name in ("direct", "dots", *names, *_COMMON):
                    yield correlation_plan("conv", out, what, dtype, device, bias=True, kernel=name)
                back = conv_x_correlation(x.shape, w, grad, options)
                for name in ("direct", *(fitting if f32 and stride == 2 else fitting[-1:]), _COMMON[0]):
                    yield correlation_plan("conv_x_backward", *back, dtype, device, kernel=name)
                made = conv_weight_correlation(x, w.shape, grad, options)
                for name in ("dots", "tile_32x32", "lines_64x64", "lines_8x64"):
                    yield correlation_plan("conv_weight_backward", *made, dtype, device, kernel=name, splits=2)
        # Phases that are alike; rows that are no whole chunks; more taps than a slice writes out.
        x, w = Layout.dense((2, 16, 7, 8)), Layout.dense((16, 32, 4, 4))
        out, what = conv_transpose_correlation(x, w, ConvTransposeOptions((2, 2), (1, 1)), "conv_transpose")
        for name in _COMMON:
            yield correlation_plan("conv_transpose", out, what, dtype, device, bias=True, kernel=name)
        options = ConvOptions((2, 2), (3, 3))
        for rows in (30, 32):
            out, what = conv_correlation(Layout.dense((2, 3, 20, 20)), Layout.dense((rows, 3, 7, 7)), options, "conv")
            for name in _COMMON:
                yield correlation_plan("conv", out, what, dtype, device, kernel=name)
        for taps, stride, rows, width in product((3, 5), (1, 2), (1, 4), (12, 13)):
            x, w = Layout.dense((2, 2 * rows, 12, width)), Layout.dense((2 * rows, rows, taps, taps))
            options = ConvOptions((stride,) * 2, (taps // 2,) * 2, groups=2)
            out, what = conv_correlation(x, w, options, "conv")
            yield correlation_plan("conv", out, what, dtype, device, bias=True, kernel="strip")
            back = conv_x_correlation(x.shape, w, Layout.dense(out), options)
            yield correlation_plan("conv_x_backward", *back, dtype, device, kernel="strip")
        x, w = Layout.dense((64, 144, 56, 56)), Layout.dense((144, 1, 5, 5))  # blocks of several rows
        for stride in (1, 2):
            options = ConvOptions((stride,) * 2, (2, 2), groups=144)
            out, what = conv_correlation(x, w, options, "conv")
            yield correlation_plan("conv", out, what, dtype, device, kernel="strip")
            back = conv_x_correlation(x.shape, w, Layout.dense(out), options)
            yield correlation_plan("conv_x_backward", *back, dtype, device, kernel="strip")
        x, w = Layout.dense((2, 8, 12, 12)), Layout.dense((8, 1, 3, 3))
        out, what = conv_correlation(x, w, ConvOptions((1, 1), (1, 1), groups=8), "conv")
        yield correlation_plan("depthwise", out, what, dtype, device)
