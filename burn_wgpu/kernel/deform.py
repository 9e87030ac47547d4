"""The parts of a deformable convolution that are its own: sampled columns, and the gradients of what they are made of.

The products with the weight are convolutions of the columns with one tap (kernel/conv.py). Everything here is f32
inside; inputs may be halves.

The gradient of x is gathered, not scattered: a workgroup owns a tile of elements, looks through the taps of its plane
in order and adds those that reach the tile, so the same input gives the same bits and no float is added atomically.
Nothing is sorted, and nothing but the gradient is written. Taps go by blocks of neighbours, each with the box of the
elements that it looks at: while offsets are alike a tile reads few blocks but those that reach it, and the work is
about that of the columns. Offsets without any order cost a test of every tap in every tile, and no more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from burn_wgpu.contract.options import DeformConvOptions, conv_output_size
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import KernelKey, Launch, Out, Plan, fold
from burn_wgpu.shader.prelude import KINDS, Prelude, words
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.layout import Shape

THREADS = 128
LEAST_THREADS = 1 << 16  # that keep a big GPU busy; fewer (tap, point) pairs share their channels out
MOST_LANES = 8
MOST_CHANNELS = 32  # of a tile: its sums fit the least workgroup memory
MOST_BLOCKS = 1536  # of one launch: loops of an invocation must stay below 65,535 steps on Mesa 22


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

    @property
    def planes(self) -> int:
        """(batch, offset group)."""
        return self.x[0] * self.options.offset_groups

    @property
    def blocks(self) -> int:
        """Of THREADS neighbours (tap, point) of a plane."""
        return -(-prod(self.kernel) * prod(self.out) // THREADS)

    @property
    def lanes(self) -> int:
        """Threads that share the channels of a (tap, point), and boxes of a block."""
        lanes = 1
        while lanes < MOST_LANES and self.entries * lanes < LEAST_THREADS and 8 * lanes <= self.group_channels:
            lanes *= 2
        return lanes

    def together(self, row: int) -> bool:
        """Whether the words of a result with rows of this length each belong to one row."""
        return row % KINDS[self.dtype].lanes == 0


def columns_plan(what: Deformed, device: Capability) -> Plan:
    """x, offset, mask if there is one → columns [N, C · taps, points], f32, scaled by the mask."""
    taps, points = prod(what.kernel), prod(what.out)
    out = Out.of((what.x[0], what.x[1] * taps, points), dt.F32)
    inputs = 2 + what.masked
    if out.layout.size == 0:
        return Plan("deform_conv2d", inputs, (out,), ())
    prelude = _prelude(what, ("x", "offset"))
    prelude.storage("out", dt.F32)
    groups = -(-out.layout.size // THREADS)
    launch = _launch("deform_columns", prelude, what, {"size": out.layout.size}, groups, range(inputs + 1), device)
    return Plan("deform_conv2d", inputs, (out,), (launch,))


def gradients_plan(what: Deformed, device: Capability) -> Plan:
    """x, offset, the columns' gradient [N, C, taps, points] (f32), mask if there is one → the columns in f32, the boxes
    that `gather_plan` takes, the gradient of offset and, with a mask, that of the mask.

    The gradients are in f32 where halves would share words between rows of points (`together`), else in what.dtype.
    """
    batch, points, taps = what.x[0], what.out, prod(what.kernel)
    channels = what.options.offset_groups * taps
    made = what.dtype if what.together(prod(points)) else dt.F32
    lanes = what.lanes
    outs = [
        Out.of((batch, what.x[1] * taps, prod(points)), dt.F32),
        Out.of((what.planes * what.blocks * lanes, 4), dt.I32),
        Out.of((batch, 2 * channels, *points), made),
    ]
    inputs = 3 + what.masked
    if what.masked:
        outs.append(Out.of((batch, channels, *points), made))
    if what.entries == 0:
        return Plan("deform_conv2d_backward", inputs, tuple(outs), ())
    prelude = _prelude(what, ("x", "offset", "grad"))
    prelude.storage("columns", dt.F32)
    prelude.raw_storage("boxes", "array<vec4<i32>>")
    own = prelude.storage("offset_grad", made).lanes
    prelude.text(f"fn put_offset(i: u32, a: f32, b: f32) {{ {_stored('offset_grad', own)} }}")
    if what.masked:
        prelude.storage("mask_grad", made)
    prelude.text(f"fn put_mask(i: u32, a: f32, b: f32) {{ {_stored('mask_grad', own) if what.masked else ''} }}")
    prelude.const("LANES", lanes)
    prelude.const("OWN", own)
    groups = what.planes * what.blocks * lanes
    numbers = {"size": groups, "boxes": what.blocks * lanes, "entries": what.entries // what.planes}
    operands = range(inputs + len(outs))
    launch = _launch("deform_gradients", prelude, what, numbers, groups, operands, device, 4 * (4 * THREADS + 4))
    return Plan("deform_conv2d_backward", inputs, tuple(outs), (launch,))


def gather_plan(what: Deformed, device: Capability, most_blocks: int = MOST_BLOCKS) -> Plan:
    """offset, the columns' gradient [N, C, taps, points] (f32), the boxes, mask if there is one → the gradient of x.

    It is in f32 where halves would share words between rows, or where a plane has more than `most_blocks` blocks of
    taps, which are then added in several launches; else in what.dtype.
    """
    inputs = 3 + what.masked
    several = what.blocks > most_blocks
    made = what.dtype if what.together(what.x[3]) and not several else dt.F32
    out = Out.of(what.x, made)
    if out.layout.size == 0:
        return Plan("deform_conv2d_backward", inputs, (out,), ())
    channels = 1
    while channels < min(what.group_channels, MOST_CHANNELS):
        channels *= 2
    # An invocation owns at least one element.
    columns = 16 if channels == 1 else 8
    chunks, tiles_y, tiles_x = -(-what.group_channels // channels), -(-what.x[2] // 8), -(-what.x[3] // columns)
    groups = what.planes * chunks * tiles_y * tiles_x
    memory = 4 * (8 * columns * (channels + 1) + 8 * THREADS + 8)
    launches = []
    for first in range(0, what.blocks, most_blocks):
        prelude = _prelude(what, ("offset", "grad"))
        prelude.raw_storage("boxes", "array<vec4<i32>>")
        own = prelude.storage("x_grad", made).lanes
        prelude.text(f"fn put_x(i: u32, a: f32, b: f32) {{ {_stored('x_grad', own)} }}")
        prelude.text(f"fn before(i: u32) -> f32 {{ return {'load_x_grad(i)' if first else '0.0'}; }}")
        for name, value in {"CHANNELS": channels, "COLUMNS": columns, "BOXES": what.lanes, "OWN": own}.items():
            prelude.const(name, value)
        numbers = {
            "size": groups, "entries": what.entries // what.planes, "blocks": what.blocks, "first": first,
            "last": min(first + most_blocks, what.blocks), "chunks": chunks, "tiles_y": tiles_y, "tiles_x": tiles_x,
        }  # fmt: skip
        operands = (0, 1, *range(3, inputs), 2, inputs)
        launches.append(_launch("deform_gather", prelude, what, numbers, groups, operands, device, memory))
    return Plan("deform_conv2d_backward", inputs, (out,), tuple(launches))


def _stored(name: str, lanes: int) -> str:
    """Stores a, and with halves its neighbour b, at element i."""
    return f"store_{name}(i, a);" if lanes == 1 else f"store_{name}(i / 2u, a, b);"


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
    name: str, prelude: Prelude, what: Deformed, own: dict[str, int], groups: int, operands: Sequence[int],
    device: Capability, workgroup_bytes: int = 0,
) -> Launch:  # fmt: skip
    options = what.options
    numbers = own | {
        "channels": what.x[1], "height": what.x[2], "width": what.x[3], "taps": prod(what.kernel),
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
    grid = fold(groups, device)
    key = KernelKey(
        f"conv/{name}", prelude.build(), tuple(prelude.uses), prelude.bindings, workgroup_bytes, THREADS,
        frozenset(prelude.features), trusted=True,
    )  # fmt: skip
    return Launch(key, tuple(operands), words(grid[0], *numbers.values()), grid)


def variants(device: Capability) -> Iterator[Plan]:
    """The three kernels, with and without a mask, every dtype, tile and way of storing."""
    for dtype in (dt.F32, dt.F16, dt.BF16, dt.F64):
        for masked in (False, True):
            for channels, width in ((4, 7), (16, 8)):
                options = DeformConvOptions(offset_groups=2)
                what = Deformed.of((2, channels, 6, width), (3, 3), options, dtype, masked)
                yield columns_plan(what, device)
                yield gradients_plan(what, device)
                yield gather_plan(what, device, 1)
    channels = 1
    while channels <= MOST_CHANNELS:
        what = Deformed.of((1, channels, 8, 8), (3, 3), DeformConvOptions(), dt.F32, True)
        yield gradients_plan(what, device)
        yield gather_plan(what, device)
        channels *= 2
