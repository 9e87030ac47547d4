"""The parts of a deformable convolution that are its own: sampled columns, their gradients, and where those belong.

The products with the weight are convolutions of the columns with one tap (kernel/conv.py); the gradient of x is written
by index (kernel/scatter.py), in a fixed order. Everything here is f32 inside; inputs may be halves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from burn_wgpu.contract.options import DeformConvOptions, conv_output_size
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import KernelKey, Launch, Out, Plan, fold
from burn_wgpu.shader.prelude import Prelude, words
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.layout import Shape

THREADS = 128


@dataclass(frozen=True, slots=True)
class Deformed:
    """x's shape [N, C, H, W], the kernel's and the output's sizes, and the options. All tensors lie packed."""

    x: Shape
    kernel: Shape
    out: Shape
    options: DeformConvOptions
    dtype: DType
    masked: bool

    @staticmethod
    def of(x: Shape, kernel: Sequence[int], options: DeformConvOptions, dtype: DType, masked: bool) -> Deformed:
        """Raises ShapeError when the kernel does not fit."""
        out = tuple(
            conv_output_size(n, k, s, (p, p), d, "deform_conv2d")
            for n, k, s, p, d in zip(x[2:], kernel, options.stride, options.padding, options.dilation, strict=True)
        )
        return Deformed(x, tuple(kernel), out, options, dtype, masked)

    @property
    def entries(self) -> int:
        """(batch, offset group, tap, point)."""
        return self.x[0] * self.options.offset_groups * prod(self.kernel) * prod(self.out)

    @property
    def group_channels(self) -> int:
        return self.x[1] // self.options.offset_groups


def columns_plan(what: Deformed, device: Capability) -> Plan:
    """x, offset, mask if there is one → columns [N, C · taps, points], f32, scaled by the mask."""
    taps, points = prod(what.kernel), prod(what.out)
    out = Out.of((what.x[0], what.x[1] * taps, points), dt.F32)
    inputs = 2 + what.masked
    if out.layout.size == 0:
        return Plan("deform_conv2d", inputs, (out,), ())
    prelude = _prelude(what, ("x", "offset"))
    prelude.storage("out", dt.F32)
    launch = _launch("deform_columns", prelude, what, out.layout.size, out.layout.size, range(inputs + 1), device)
    return Plan("deform_conv2d", inputs, (out,), (launch,))


def slopes_plan(what: Deformed, device: Capability) -> Plan:
    """x, offset, the columns' gradient (f32), mask if there is one → gradients of offset and mask in f32."""
    batch, points = what.x[0], what.out
    channels = what.options.offset_groups * prod(what.kernel)
    outs = [Out.of((batch, 2 * channels, *points), dt.F32)]
    inputs = 3 + what.masked
    if what.masked:
        outs.append(Out.of((batch, channels, *points), dt.F32))
    if what.entries == 0:
        return Plan("deform_conv2d_backward", inputs, tuple(outs), ())
    prelude = _prelude(what, ("x", "offset", "grad"))
    prelude.storage("out", dt.F32)
    if what.masked:
        prelude.storage("mask_grad", dt.F32)
    body = "store_mask_grad(i, v);" if what.masked else ""
    prelude.text(f"fn put_mask(i: u32, v: f32) {{ {body} }}")
    operands = range(inputs + len(outs))
    launch = _launch("deform_slopes", prelude, what, what.entries, what.entries, operands, device)
    return Plan("deform_conv2d_backward", inputs, tuple(outs), (launch,))


def corners_plan(what: Deformed, device: Capability) -> Plan:
    """offset, the columns' gradient (f32), mask if there is one → rows [4 · entries] (i32) and what is added there."""
    count = 4 * what.entries
    outs = (Out.of((count,), dt.I32), Out.of((count, what.group_channels), dt.F32))
    inputs = 2 + what.masked
    if outs[1].layout.size == 0:
        return Plan("deform_conv2d_backward", inputs, outs, ())
    prelude = _prelude(what, ("offset", "grad"))
    prelude.raw_storage("rows", "array<u32>")
    prelude.storage("out", dt.F32)
    launch = _launch("deform_corners", prelude, what, what.entries, count, range(inputs + 2), device)
    return Plan("deform_conv2d_backward", inputs, outs, (launch,))


def _prelude(what: Deformed, names: Sequence[str]) -> Prelude:
    prelude = Prelude()
    prelude.alias("V", "f32")
    for name in names:
        prelude.storage(name, dt.F32 if name == "grad" else what.dtype)
    if what.masked:
        prelude.storage("mask", what.dtype)
        read = "load_mask(((e.x * params.offset_groups + e.y) * params.taps + e.z) * params.points + e.w)"
    else:
        read = "1.0"
    prelude.text(f"fn mask_at(e: vec4<u32>) -> f32 {{ return {read}; }}")
    return prelude


def _launch(
    name: str, prelude: Prelude, what: Deformed, size: int, threads: int, operands: Sequence[int], device: Capability
) -> Launch:
    options = what.options
    numbers = {
        "size": size, "channels": what.x[1], "height": what.x[2], "width": what.x[3], "taps": prod(what.kernel),
        "kernel_width": what.kernel[1], "points": prod(what.out), "out_width": what.out[1],
        "offset_groups": options.offset_groups, "group_channels": what.group_channels,
    }  # fmt: skip
    for axis in range(2):
        numbers |= {
            f"stride{axis}": options.stride[axis], f"padding{axis}": options.padding[axis],
            f"dilation{axis}": options.dilation[axis],
        }  # fmt: skip
    prelude.const("THREADS", THREADS)
    prelude.params(groups_x="u32", **dict.fromkeys(numbers, "u32"))
    grid = fold(-(-threads // THREADS), device)
    key = KernelKey(
        f"conv/{name}", prelude.build(), tuple(prelude.uses), prelude.bindings, 0, THREADS,
        frozenset(prelude.features), trusted=True,
    )  # fmt: skip
    return Launch(key, tuple(operands), words(grid[0], *numbers.values()), grid)


def variants(device: Capability) -> Iterator[Plan]:
    """The three kernels, with and without a mask, every dtype."""
    for dtype in (dt.F32, dt.F16, dt.BF16, dt.F64):
        for masked in (False, True):
            what = Deformed.of((2, 4, 6, 7), (3, 2), DeformConvOptions(offset_groups=2), dtype, masked)
            yield columns_plan(what, device)
            yield slopes_plan(what, device)
            yield corners_plan(what, device)
