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

Where padding is a zero of x, its product with the weight counts: an infinite weight makes it NaN, as in every library
that pads. A transposed convolution and the gradient of x have no padding: a place outside x has no product (`skips`).
The tiles multiply there all the same, and sum again, without those places, what came out as NaN.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import gcd, prod

from burn_wgpu.contract.options import (
    ConvOptions,
    ConvTransposeOptions,
    conv_output_size,
    conv_transpose_input_size,
    conv_transpose_output_size,
)
from burn_wgpu.kernel.conv_text import (
    Axis,
    columns_text,
    flat_text,
    gather_text,
    lanes_text,
    places_text,
    repair_text,
    results_text,
)
from burn_wgpu.kernel.conv_window_text import (
    LINE_PAD,
    lines_text,
    pick,
    products_text,
    strip_text,
    weight_text,
    weights_text,
    window_text,
)
from burn_wgpu.kernel.map import copy_plan
from burn_wgpu.kernel.matmul import TILES, Matrices
from burn_wgpu.kernel.matmul_text import Side, Tile, chunk_text, declare_side, multiply_text, operand_text
from burn_wgpu.kernel.matmul_text import results_text as block_text
from burn_wgpu.kernel.reduce import fill_launches
from burn_wgpu.kernel.walk import Steps
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import KernelKey, Launch, Out, Plan, fold
from burn_wgpu.shader.prelude import KINDS, Prelude, WordKind, words
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.errors import ArgumentError, DTypeError
from burn_wgpu.std.layout import Layout, Shape, contiguous_strides


@dataclass(frozen=True, slots=True)
class Window:
    """A tiled product of windows: the tile, and the most of k a slice may have.

    lines    k runs along memory and columns see few places (see conv_window_text.lines_text); else taps are written out
    buffers  two: the next slice is loaded while one is multiplied
    """

    rows: int
    columns: int
    thread_rows: int
    thread_columns: int
    depth: int
    buffers: int = 1
    lines: bool = False


WINDOWS = {
    "window_64x128": Window(64, 128, 8, 8, 10, 2),
    "window_64x64": Window(64, 64, 8, 4, 18, 2),
    "lines_64x64": Window(64, 64, 8, 8, 16, lines=True),
    "lines_8x64": Window(8, 64, 4, 4, 16, lines=True),
}
_COMMON = ("window_64x128", "window_64x64", "strip")  # of variants
KERNELS = (*TILES, *WINDOWS, "strip", "direct", "dots")
THREADS = 128  # of direct
DOTS = 256  # threads of dots
STRIP_THREADS = 128
STRIP_TAPS = 50  # most products of one weight group that a strip writes out for one of its rows
STRIP_BUSY = 1 << 16  # threads that keep a big GPU busy
BUSY = 256  # workgroups that keep a big GPU busy
DIRECT_TERMS = 20_000  # longest sum of direct: loops of an invocation must stay below 65,535 steps on Mesa 22
TILE_STEPS = 50_000
MOST_PHASES = 16
LEAST_WINDOWS = 160  # workgroups from which windows are faster than smaller tiles
LEAST_STRIPS = 1 << 13  # threads from which a strip's long sums are worth it
LONG_TERMS = 4096  # of a weight gradient, from which lines are faster than tiles
LEAST_COLUMNS = 32  # pointwise products with fewer positions an image join the images

_ONE = Axis(1, 1, 1, 1, 1, 0, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Correlation:
    """See the module. Strides and offsets are in elements; the result is dense, [images, groups, rows, ..] or, with
    rows_first, [groups, rows, images, ..].

    skips  places outside x have no product; else that of zero and the weight, which for an infinite weight is NaN
    """

    images: int
    groups: int
    rows: int
    channels: int
    axes: tuple[Axis, Axis, Axis]
    x_at: int
    x_image: int
    x_group: int
    x_channel: int
    w_at: int
    w_group: int
    w_row: int
    w_channel: int
    y_at: int
    y_image: int
    y_group: int
    y_row: int
    rows_first: bool = False
    skips: bool = False

    @property
    def points(self) -> int:
        """Results of an image and row."""
        return prod(axis.out for axis in self.axes)

    @property
    def taps(self) -> int:
        return prod(axis.taps for axis in self.axes)

    @property
    def terms(self) -> int:
        """The length of a sum."""
        return self.channels * self.taps

    @property
    def columns(self) -> int:
        return self.images * self.points

    @property
    def size(self) -> int:
        return self.columns * self.groups * self.rows

    @property
    def together(self) -> bool:
        return self.axes[2].out % 4 == 0


# ------------------------------------------------------------------------------------------ what plays which part


def _three(axes: Sequence[Axis]) -> tuple[Axis, Axis, Axis]:
    """Three axes: neighbours that are one run become one, trivial ones in front fill up."""
    merged: list[Axis] = []
    for axis in axes:
        if axis.trivial:
            continue
        before = merged[-1] if merged else None
        if before is not None and all(
            (a.taps, a.step, a.first, a.divide, a.out) == (1, 1, 0, 1, a.size) for a in (before, axis)
        ) and (before.x, before.y) == (axis.x * axis.size, axis.y * axis.out):  # fmt: skip
            merged[-1] = replace(axis, size=before.size * axis.size, out=before.out * axis.out)
        else:
            merged.append(axis)
    filled = [*[_ONE] * (3 - len(merged)), *merged]
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
    inputs = 3 if bias else 2
    steps = Steps(inputs, [made])
    if made.layout.size == 0:
        return steps.plan(operation)
    if kernel is None:
        kernel, chosen = choose(what, device)
        splits = splits or chosen
    elif kernel not in KERNELS:
        raise ArgumentError(f"{operation}: there is no kernel '{kernel}'; there are {', '.join(KERNELS)}")
    if kernel in WINDOWS and not _window_fits(what, WINDOWS[kernel], device):
        kernel = "tile_64x64" if prod(axis.divide for axis in what.axes) <= MOST_PHASES else "direct"
    if kernel == "strip" and not strip_parts(what):
        kernel = "direct"
    make = _Maker(steps, what, KINDS[dtype], dtype, bias, device)
    if what.terms == 0 or kernel == "direct":
        make.direct()
    elif kernel == "strip":
        make.strip()
    elif kernel == "dots":
        make.dots(splits or 1)
    else:
        make.tiles(kernel, splits or 1)
    return steps.plan(operation)


def choose(what: Correlation, device: Capability) -> tuple[str, int]:
    """The kernel and over how many workgroups its sums are split; see the module."""
    m, n, k = what.rows, what.columns, what.terms
    few = m < 8 or n < 4
    if what.rows_first and k >= LONG_TERMS and not device.software and m > 1 and n >= 16:
        lines, wanted = ("lines_8x64", 8 * BUSY) if m <= 8 else ("lines_64x64", 2 * BUSY)
        if _window_fits(what, WINDOWS[lines], device):
            return lines, _splits(_groups(what, n, lines), k, 256, wanted)
    if few and k >= 512 and what.size <= 1 << 16:
        return "dots", _splits(-(-what.size // 4), k, 4096)
    shared = few or (m == 8 and what.groups > 1)
    if shared and strip_parts(what) and (k <= 128 or what.size // (4 * m) >= LEAST_STRIPS):
        return "strip", 1
    phases = prod(axis.divide for axis in what.axes)
    if k <= DIRECT_TERMS and (few or k < 8 or phases > MOST_PHASES):
        return "direct", 1
    if phases > MOST_PHASES:
        return "dots", 1
    small = device.software or min(m, n) <= 32 or m * n * what.groups <= 1 << 16
    if small:
        n, k = n // phases, max(k // phases, 1)
        return "tile_32x32", _splits(_groups(what, n, "tile_32x32"), k, 128)
    if _pointwise(what):
        return _choose_pointwise(what, device)
    if _window_fits(what, WINDOWS["window_64x128"], device):
        live = [phase for phase in _phases(what) if phase is not None]
        count = max(_groups(what, phase.columns, "window_64x128") for phase in live) * (
            len(live) if _alike(live) else 1
        )
        if count >= LEAST_WINDOWS:
            return ("window_64x64" if count < BUSY and len(live) > 1 else "window_64x128"), 1
        if 4 * count >= BUSY and k >= 1024:
            return "window_64x128", _splits(count, k, 512)
    n, k = n // phases, max(k // phases, 1)
    for kernel in ("tile_64x128_deep", "tile_64x128"):
        fits = TILES[kernel].workgroup_bytes <= device.max_workgroup_bytes
        if fits and _groups(what, n, kernel) >= BUSY:
            return kernel, 1
    return "tile_64x64", _splits(_groups(what, n, "tile_64x64"), k, 128)


def _pointwise(what: Correlation) -> bool:
    """Whether it is a plain product for each image, whose columns are the positions as they lie."""
    last = what.axes[2]
    return (
        what.axes[0] == _ONE and what.axes[1] == _ONE and (last == _ONE or (
            (last.taps, last.step, last.first, last.divide, last.out) == (1, 1, 0, 1, last.size)
        )) and (what.points >= LEAST_COLUMNS or what.images == 1) and not what.rows_first
    )  # fmt: skip


def _choose_pointwise(what: Correlation, device: Capability) -> tuple[str, int]:
    """As kernel/matmul.py chooses for a batch of images, and of two tiles the one that covers less."""
    counts = {
        name: what.images * what.groups * -(-what.rows // tile.rows) * -(-what.points // tile.columns)
        for name, tile in TILES.items()
    }
    if what.rows <= 64 and counts["tile_64x64"] >= 2 * BUSY:
        return "tile_64x64", 1
    big = min(("tile_64x128", "tile_128x64"), key=lambda name: counts[name])
    for name, least in ((big, 2 * BUSY), ("tile_64x128_deep", BUSY)):
        if counts[name] >= least and TILES[name].workgroup_bytes <= device.max_workgroup_bytes:
            return name, 1
    return "tile_64x64", _splits(counts["tile_64x64"], what.terms, 128)


def strip_parts(what: Correlation) -> list[Correlation]:
    """What the strip kernel computes one by one: all of it, or its phases; nothing when it cannot."""
    if what.rows > 8 or what.rows_first or what.terms == 0 or prod(axis.divide for axis in what.axes) > MOST_PHASES:
        return []
    down, along = what.axes[1:]
    if 4 * along.step % along.divide == 0 and 4 * down.step % down.divide == 0:
        if _strip_fits(what):
            return [what]
    phases = [phase for phase in _phases(what) if phase is not None and _strip_fits(phase)]
    return phases if len(phases) == prod(min(a.divide, a.out) for a in what.axes) else []


def _strip_fits(what: Correlation) -> bool:
    high = min(h for h in (1, 2, 4) if h * what.axes[1].step % what.axes[1].divide == 0)
    return (
        what.axes[0].trivial and what.taps <= STRIP_TAPS and what.taps * what.rows <= 2 * STRIP_TAPS
        and what.channels <= TILE_STEPS
        and (not what.skips or 4 * high * what.rows * what.terms <= TILE_STEPS)
    )  # fmt: skip


def strip_rows(what: Correlation) -> int:
    """Rows of outputs of a thread: more reuse of what is read, while registers last and threads are many. Few taps are
    bound by memory, which more threads keep busier."""
    down = what.axes[1]
    fitting = [high for high in (4, 2, 1) if high * down.step % down.divide == 0]
    many = what.taps > 9 * down.divide**2
    for high in fitting[:-1]:
        if (high == 4 and (not many or down.step > 1 or what.rows > 1)) or (down.step > 1 and not many):
            continue
        fits = not what.skips or 4 * what.rows * high * what.terms <= TILE_STEPS
        if fits and high <= down.out and what.size // (4 * high * what.rows) >= STRIP_BUSY:
            return high
    return fitting[-1]


def _alike(phases: Sequence[Correlation]) -> bool:
    """Whether phases differ only in where they begin, so that one launch computes them."""
    shapes = {
        replace(p, w_at=0, y_at=0, axes=tuple(replace(axis, first=0) for axis in p.axes))  # type: ignore[arg-type]
        for p in phases
    }
    trivial = {tuple(axis.trivial for axis in p.axes) for p in phases}
    return len(phases) > 1 and len(shapes) == 1 and len(trivial) == 1


def _widest(axes: Sequence[Axis]) -> Axis:
    """One of axes that differ in `first` only: one that looks outside, if any does."""
    return next((axis for axis in axes if not axis.inside), axes[0])


def _inner(axes: Sequence[Axis], most: int) -> int | None:
    """The first of the axes whose taps a window writes out; None when even the last axis has too many."""
    if axes[2].taps > most:
        return None
    inner = 2
    while inner > 0 and prod(axis.taps for axis in axes[inner - 1 :]) <= most:
        inner -= 1
    return inner


def window_tile(phase: Correlation, window: Window, device: Capability) -> Tile:
    """The tile with the depth that suits the taps of a phase (one without `divide`)."""
    tile = Tile(window.rows, window.columns, window.depth, window.thread_rows, window.thread_columns)
    if window.lines:
        return tile
    inner = _inner(phase.axes, window.depth)
    assert inner is not None
    taps = prod(axis.taps for axis in phase.axes[inner:])
    outer = phase.terms // taps
    parts = max(tile.threads // tile.columns, 1)
    most = max(window.depth // (taps * parts), 1)
    while most > 1 and window_bytes(replace(tile, depth=taps * parts * most), window) > device.max_workgroup_bytes:
        most -= 1
    # Whole slices if they cost no more than a third of the depth.
    whole = next((count for count in range(most, (2 * most + 2) // 3 - 1, -1) if outer % (count * parts) == 0), most)
    return replace(tile, depth=taps * parts * whole)


def window_bytes(tile: Tile, window: Window) -> int:
    pad = 2 * LINE_PAD if window.lines else 0
    return 4 * window.buffers * tile.depth * (tile.rows + tile.columns + pad)


def _window_fits(what: Correlation, window: Window, device: Capability) -> bool:
    """Whether the window kernel can compute it: few taps an axis, few phases, and slices that fit workgroup memory."""
    if what.terms == 0 or prod(axis.divide for axis in what.axes) > MOST_PHASES:
        return False
    if window.lines:
        seen = sum(axis.out for axis in what.axes if not axis.trivial and not axis.inside)
        if seen > 32 or any(axis.divide > 1 for axis in what.axes):
            return False
    phases = [phase for phase in _phases(what) if phase is not None]
    if not phases or (not window.lines and any(_inner(phase.axes, window.depth) is None for phase in phases)):
        return False
    tiles = [window_tile(phase, window, device) for phase in phases]
    return all(window_bytes(tile, window) <= device.max_workgroup_bytes for tile in tiles)


def _groups(what: Correlation, columns: int, kernel: str) -> int:
    tile = TILES[kernel] if kernel in TILES else WINDOWS[kernel]
    return what.groups * -(-what.rows // tile.rows) * -(-columns // tile.columns)


def _splits(groups: int, k: int, least: int, wanted: int = BUSY) -> int:
    """Splits of k that make about `wanted` workgroups, each with at least `least` of k."""
    return max(1, min(wanted // groups, k // least))


class _Head:
    """A prelude with the parameters' names and values side by side."""

    def __init__(self) -> None:
        self.prelude = Prelude()
        self.prelude.alias("V", "f32")
        self.numbers: dict[str, int] = {}

    def launch(
        self, file: str, operands: Sequence[int], groups: int, threads: int, workgroup_bytes: int, device: Capability
    ) -> Launch:
        prelude = self.prelude
        grid = fold(groups, device)
        prelude.params(groups_x="u32", groups="u32", **dict.fromkeys(self.numbers, "u32"))
        prelude.const("THREADS", threads)
        key = KernelKey(
            file, prelude.build(), tuple(prelude.uses), prelude.bindings, workgroup_bytes, threads,
            frozenset(prelude.features), trusted=True,
        )  # fmt: skip
        return Launch(key, tuple(operands), words(grid[0], groups, *self.numbers.values()), grid)


class _Maker:
    """Adds the launches of one correlation to a plan; operands 0, 1, 2 are x, w and the bias."""

    def __init__(
        self, steps: Steps, what: Correlation, kind: WordKind, dtype: DType, bias: bool, device: Capability
    ) -> None:
        self.steps = steps
        self.what = what
        self.kind = kind
        self.dtype = dtype
        self.bias = bias
        self.device = device
        self.out = steps.output(0)

    def direct(self) -> None:
        what = self.what
        head = _Head()
        self._lanes(head)
        self._flat(head)
        head.numbers["channels"] = what.channels if what.taps else 0
        groups = -(-what.size // (4 * THREADS))
        self.steps.launch(head.launch("conv/direct", self._bound(0, 1), groups, THREADS, 0, self.device))

    def dots(self, splits: int) -> None:
        what = self.what
        splits = max(splits, -(-what.terms // (TILE_STEPS * DOTS)))
        span = -(-what.terms // splits)
        splits = -(-what.terms // span)
        chunks = -(-what.size // 4)
        head = _Head()
        self._lanes(head)
        head.numbers |= {"k": what.terms, "k_span": span, "chunks": chunks}
        if splits == 1:
            self._flat(head)
            indices = ", ".join(f"min(first + {e}u, params.size - 1u)" for e in range(4))
            head.prelude.text(
                "fn put_sums(split: u32, first: u32, v: vec4<f32>) { "
                f"put4_flat(first, vec4<u32>({indices}), v.x, v.y, v.z, v.w); }}"
            )
            operands = self._bound(0, 1)
        else:
            head.prelude.storage("out", dt.F32)
            stores = [
                f"    if (first + {e}u < params.size) {{ store_out(split * params.size + first + {e}u, v[{e}]); }}"
                for e in range(4)
            ]
            head.prelude.text("fn put_sums(split: u32, first: u32, v: vec4<f32>) {\n" + "\n".join(stores) + "\n}")
            operands = (0, 1, self.steps.scratch(4 * splits * what.size))
        self.steps.launch(head.launch("conv/dots", operands, chunks * splits, DOTS, 16 * DOTS, self.device))
        if splits > 1:
            self._finish(operands[-1], splits)

    def strip(self) -> None:
        parts = strip_parts(self.what)
        direct = self.kind.lanes == 1 or (len(parts) == 1 and self.what.together)
        kind = self.kind if direct else KINDS[dt.F32]
        target = self.out if direct else self.steps.scratch(4 * self.what.size)
        for part in parts:
            self._strip(part, kind, target, self.bias and direct)
        if not direct:
            self._finish(target, 1)

    def _strip(self, what: Correlation, kind: WordKind, target: int, bias: bool) -> None:
        high = strip_rows(what)
        along = what.axes[2]
        head = _Head()
        self._space(head, what)
        wide = (
            self.kind.per_word > 0 and along.x == 1 and along.size % 4 == 0 and along.divide == 1
            and all(s % 4 == 0 for s in (what.x_at, what.x_image, what.x_group, what.x_channel, what.axes[1].x))
        )  # fmt: skip
        declare_side(head.prelude, Side("x", self.kind, True, wide), 0)
        head.prelude.storage("w", self.kind)
        if bias:
            head.prelude.storage("bias", self.kind)
        chunked = along.out % 4 == 0 and (along.trivial or along.y == 1)
        head.prelude.storage("out", kind, "chunk" if chunked else "element")
        inside = all(axis.inside for axis in what.axes)
        strip_text(head.prelude, what.axes, what.rows, high, wide, chunked, bias, what.skips and not inside)
        count = what.images * what.groups * -(-what.axes[1].out // high) * -(-along.out // 4)
        head.numbers |= {
            "count": count, "channels": what.channels, "groups_count": what.groups, "x_at": what.x_at,
            "x_group": what.x_group, "w_at": what.w_at, "w_group": what.w_group, "w_row": what.w_row,
            "w_c": what.w_channel, "y_at": what.y_at, "y_image": what.y_image, "y_group": what.y_group,
            "y_row": what.y_row,
        }  # fmt: skip
        groups = -(-count // STRIP_THREADS)
        operands = (0, 1, 2, target) if bias else (0, 1, target)
        self.steps.launch(head.launch("conv/strip", operands, groups, STRIP_THREADS, 0, self.device))

    def tiles(self, kernel: str, splits: int) -> None:
        """One product, or one for each phase of the outputs."""
        window = WINDOWS.get(kernel)
        what = self.what
        source = 1
        if window is not None and not window.lines:
            what, source = self._turned()
        phases = list(_phases(what))
        live = [phase for phase in phases if phase is not None]
        shapes = [TILES[kernel] if window is None else window_tile(phase, window, self.device) for phase in live]
        slices = [-(-phase.terms // tile.depth) for phase, tile in zip(live, shapes, strict=True)]
        longest = max(slices, default=1)
        splits = max(splits, -(-longest // TILE_STEPS))
        if what.skips and self.device.software:  # where all of a thread's results are summed again one by one
            loops = (
                count * tile.depth * tile.thread_rows * tile.thread_columns
                for count, tile in zip(slices, shapes, strict=True)
            )
            splits = max(splits, -(-max(loops, default=1) // TILE_STEPS))
        spans = [-(-count // splits) for count in slices]
        parts = [-(-count // span) for count, span in zip(slices, spans, strict=True)]
        splits = max(parts, default=1)
        empty = len(live) < len(phases) or any(count < splits for count in parts)
        direct = splits == 1 and (self.kind.lanes == 1 or all(self._chunked(phase) for phase in live))
        direct = direct and not (empty and self.bias)
        kind = self.kind if direct else KINDS[dt.F32]
        target = self.out if direct else self.steps.scratch(4 * splits * what.size)
        if empty:
            whole = self.steps.outputs[0] if direct else Out.of((splits * what.size,), dt.F32)
            for launch in fill_launches(whole, 0.0, target, self.device):
                self.steps.launch(launch)
        if window is not None and _alike(live):
            self._window(live, window, shapes[0], source, parts[0], spans[0], kind, target, self.bias and direct)
            live = []
        for phase, tile, count, span in zip(live, shapes, parts, spans, strict=False):
            if window is None:
                self._tile(phase, tile, count, span, kind, target, self.bias and direct)
            else:
                self._window([phase], window, tile, source, count, span, kind, target, self.bias and direct)
        if not direct:
            self._finish(target, splits)

    # -------------------------------------------------------------------------------------------------- launches

    def _bound(self, *inputs: int) -> tuple[int, ...]:
        """Operands of a kernel that makes the output."""
        return (*inputs, 2, self.out) if self.bias else (*inputs, self.out)

    def _lanes(self, head: _Head) -> None:
        what, prelude = self.what, head.prelude
        prelude.storage("x", self.kind)
        prelude.storage("w", self.kind)
        lanes_text(prelude, what.axes, what.rows_first, what.together, what.skips)
        self._space(head, what)
        head.numbers |= {
            "size": what.size, "rows_count": what.rows, "images_count": what.images, "groups_count": what.groups,
            "x_at": what.x_at, "x_group": what.x_group, "w_at": what.w_at, "w_group": what.w_group,
            "w_row": what.w_row, "w_c": what.w_channel,
        }  # fmt: skip

    @staticmethod
    def _space(head: _Head, what: Correlation) -> None:
        head.numbers |= {"x_image": what.x_image, "x_c": what.x_channel}
        for a, axis in enumerate(what.axes):
            head.prelude.const(f"TAPS{a}", axis.taps)
            if not axis.trivial:
                head.numbers |= {
                    f"size{a}": axis.size, f"out{a}": axis.out, f"step{a}": axis.step, f"first{a}": axis.first,
                    f"x{a}": axis.x, f"w{a}": axis.w, f"y{a}": axis.y,
                }  # fmt: skip

    def _flat(self, head: _Head) -> None:
        """The bias, and stores of whole chunks of the result."""
        if self.bias:
            head.prelude.storage("bias", self.kind)
        flat_text(head.prelude, self.kind, self.bias, self.what.points, self.what.groups * self.what.rows)

    def _finish(self, partial: int, splits: int) -> None:
        size = self.what.size
        head = _Head()
        head.numbers |= {"size": size, "splits": splits, "n": size}
        whole = size % 4 == 0
        head.prelude.storage("partial", dt.F32, "chunk" if whole else "element")
        if whole:
            body = "return load4_partial((split * params.size + first) / 4u);"
        else:
            loads = ", ".join(f"load_partial(start + min(first + {e}u, params.size - 1u))" for e in range(4))
            body = f"let start = split * params.size; return array<f32, 4>({loads});"
        head.prelude.text(f"fn get4_partial(split: u32, first: u32) -> array<f32, 4> {{ {body} }}")
        self._flat(head)
        groups = -(-size // (4 * 256))
        self.steps.launch(head.launch("matmul/finish", self._bound(partial), groups, 256, 0, self.device))

    @staticmethod
    def _run(phase: Correlation) -> bool:
        """Whether the positions of an image and row are one run of the result."""
        return Layout.of([a.out for a in phase.axes], [a.y for a in phase.axes]).contiguous

    def _chunked(self, phase: Correlation) -> bool:
        """Whether four neighbouring columns are a chunk of the result."""
        return self._run(phase) and phase.points % 4 == 0

    def _tile(
        self, phase: Correlation, tile: Tile, splits: int, span: int, kind: WordKind, target: int, bias: bool
    ) -> None:
        groups, m, k = phase.groups, phase.rows, phase.terms
        weights, source = self._weights(phase)
        last = phase.axes[2]
        plain = _pointwise(phase) and self._run(phase) and (phase.y_at, phase.points) == (0, self.what.points)
        n = phase.points if plain else phase.columns
        head = _Head()
        prelude = head.prelude
        batch = phase.images * groups if plain else groups
        tiles_m, tiles_n = -(-m // tile.rows), -(-n // tile.columns)
        head.numbers |= {
            "m": m, "n": n, "k": k, "k_span": span * tile.depth, "tiles_m": tiles_m, "tiles_n": tiles_n,
            "batch": batch, "images": phase.images, "size": self.what.size, "y_at": phase.y_at,
            "y_image": phase.y_image, "y_group": phase.y_group, "y_row": phase.y_row,
        }  # fmt: skip
        edges = m % tile.rows != 0 or n % tile.columns != 0
        edge_k = k % tile.depth != 0
        lead = (0, weights.batch[0]) if plain else weights.batch
        a = replace(weights, batch=lead)
        a_side = a.side("a", m, k)
        declare_side(prelude, a_side, len(lead))
        head.numbers |= {"a_at": a.offset, "a_o": a.outer, "a_k": a.along}
        head.numbers |= {f"a_z{i}": s for i, s in enumerate(lead)}
        if plain:
            head.numbers["z1"] = groups
            b = Matrices(self.kind, phase.x_at, (phase.x_image, phase.x_group), last.x, phase.x_channel)
            b_side = b.side("b", n, k)
            declare_side(prelude, b_side, 2)
            head.numbers |= {"b_at": b.offset, "b_o": b.outer, "b_k": b.along}
            head.numbers |= {f"b_z{i}": s for i, s in enumerate(b.batch)}
            operand_text(prelude, tile, b_side, tile.columns, "n", "f32", edges, edge_k)
        else:
            # Loads run along whatever has neighbours in memory: long rows of taps (weight gradients), else columns.
            b_side = Side("b", self.kind, last.taps > last.out, False)
            prelude.storage("b", self.kind)
            head.numbers |= {"b_at": phase.x_at, "b_group": phase.x_group}
            prelude.text("fn place_b(z: u32) -> u32 { return params.b_at + z * params.b_group; }")
            self._space(head, phase)
            gather_text(prelude, tile, phase.axes, b_side.along_k, phase.together, edges, edge_k)
        operand_text(prelude, tile, a_side, tile.rows, "m", "f32", edges, edge_k)
        multiply_text(prelude, tile, a_side, b_side, "f32")
        if phase.skips and not plain and not all(axis.trivial or axis.inside for axis in phase.axes):
            block_text(prelude, tile, edges, "put_block", "doubt")
            repair_text(prelude, tile, phase.axes)
        else:
            block_text(prelude, tile, edges)
        if bias:
            prelude.storage("bias", self.kind)
        results_text(prelude, kind, self._chunked(phase), plain, bias)
        if not plain:
            columns_text(prelude, phase.axes, self._run(phase))
        prelude.const("TILE_M", tile.rows)
        prelude.const("TILE_N", tile.columns)
        prelude.const("DEPTH", tile.depth)
        prelude.const("LAST_APART", tile.last_apart)
        operands = (source, 0, 2, target) if bias else (source, 0, target)
        count = tiles_m * tiles_n * batch * splits
        self.steps.launch(head.launch("matmul/tile", operands, count, tile.threads, tile.workgroup_bytes, self.device))

    def _window(
        self, phases: Sequence[Correlation], window: Window, tile: Tile, source: int, splits: int, span: int,
        kind: WordKind, target: int, bias: bool,
    ) -> None:  # fmt: skip
        """One launch for phases that are alike but for where they begin."""
        phase, phased = phases[0], len(phases) > 1
        m, n, k, groups = phase.rows, phase.columns, phase.terms, phase.groups
        axes = [_widest([p.axes[a] for p in phases]) for a in range(3)]
        head = _Head()
        prelude = head.prelude
        tiles_m, tiles_n = -(-m // tile.rows), -(-n // tile.columns)
        head.numbers |= {
            "m": m, "n": n, "k": k, "k_span": span * tile.depth, "tiles_m": tiles_m, "tiles_n": tiles_n,
            "batch": groups * len(phases), "groups_count": groups, "images": phase.images, "size": self.what.size,
            "y_at": phase.y_at, "y_image": phase.y_image, "y_group": phase.y_group, "y_row": phase.y_row,
            "a_at": phase.w_at, "a_z0": phase.w_group, "a_o": phase.w_row, "w_c": phase.w_channel,
            "b_at": phase.x_at, "b_group": phase.x_group,
        }  # fmt: skip
        self._space(head, phase)
        edges = m % tile.rows != 0 or n % tile.columns != 0
        edge_k = k % tile.depth != 0
        line = Layout.of(
            (phase.channels, *[axis.taps for axis in phase.axes]), (phase.w_channel, *[axis.w for axis in phase.axes])
        ).collapse()
        head.numbers["a_k"] = line.strides[0] if line.rank == 1 else 0
        strides = (*[p.w_at for p in phases], phase.w_group, phase.w_channel, *[a.w for a in phase.axes if a.taps > 1])
        wide = (
            not window.lines and self.kind.per_word > 0 and phase.w_row == 1 and m % 4 == 0
            and all(s % 4 == 0 for s in strides)
        )  # fmt: skip
        side = Side("a", self.kind, False, wide)
        if phased:
            prelude.storage("a", self.kind, "chunk" if wide else "element")
            if wide:
                prelude.text(chunk_text("a", self.kind))
            prelude.text("var<private> phase: u32;")
            prelude.text(
                "fn place_a(z: u32) -> u32 {\n    phase = z / params.groups_count;\n"
                f"    return {pick([p.w_at for p in phases], 'phase')} + z % params.groups_count * params.a_z0;\n}}"
            )
            prelude.text("fn place_b(z: u32) -> u32 { return params.b_at + z % params.groups_count * params.b_group; }")
            prelude.text(f"fn phase_at(phase: u32) -> u32 {{ return {pick([p.y_at for p in phases], 'phase')}; }}")
        else:
            declare_side(prelude, side, 1)
            prelude.text("fn place_b(z: u32) -> u32 { return params.b_at + z * params.b_group; }")
        prelude.storage("b", self.kind)
        for a in range(3):
            if not phase.axes[a].trivial:
                firsts = [p.axes[a].first for p in phases]
                where = pick(firsts, "phase") if phased else f"params.first{a}"
                prelude.text(f"fn first{a}() -> u32 {{ return {where}; }}")
        weight_text(prelude, phase.axes, line.rank <= 1)
        again = phase.skips and not all(axis.trivial or axis.inside for p in phases for axis in p.axes)
        if window.lines:
            lines_text(prelude, tile, axes, edges, edge_k, window.buffers)
        else:
            inner = _inner(phase.axes, window.depth)
            assert inner is not None
            weights_text(prelude, tile, side, edges, edge_k, window.buffers)
            window_text(prelude, tile, axes, inner, edges, edge_k, window.buffers)
        products_text(prelude, tile, LINE_PAD if window.lines else 0)
        if again:
            block_text(prelude, tile, edges, "put_block", "doubt")
            places_text(prelude, axes, "first{}()")
            repair_text(prelude, tile, axes, "weight_at(k)")
        else:
            block_text(prelude, tile, edges)
        if bias:
            prelude.storage("bias", self.kind)
        results_text(prelude, kind, self._chunked(phase), False, bias, phased)
        columns_text(prelude, phase.axes, self._run(phase))
        prelude.const("TILE_M", tile.rows)
        prelude.const("TILE_N", tile.columns)
        prelude.const("DEPTH", tile.depth)
        prelude.const("LAST_APART", True)
        operands = (source, 0, 2, target) if bias else (source, 0, target)
        count = tiles_m * tiles_n * groups * len(phases) * splits
        file = "conv/window" if window.buffers == 1 else "matmul/tile"
        size = window_bytes(tile, window)
        self.steps.launch(head.launch(file, operands, count, tile.threads, size, self.device))

    def _turned(self) -> tuple[Correlation, int]:
        """The correlation over weights [group, channel, taps, rows], whose rows are read four at a time, and their
        operand."""
        what = self.what
        taps = [axis.taps for axis in what.axes]
        strides = (what.w_group, what.w_channel, *[axis.w for axis in what.axes], what.w_row)
        full = Layout.of((what.groups, what.channels, *taps, what.rows), strides, what.w_at)
        copied = 1
        if not full.contiguous or full.offset % 4 != 0:
            copied = self.steps.scratch(-(-full.size * self.dtype.size_bytes // 4) * 4)
            for launch in copy_plan(full, self.dtype, self.device).launches:
                self.steps.launch(Launch(launch.key, (1, copied), launch.params, launch.grid))
        made = contiguous_strides(full.shape)
        axes = [replace(axis, w=made[2 + a]) for a, axis in enumerate(what.axes)]
        turned = replace(
            what, axes=(axes[0], axes[1], axes[2]), w_at=0 if copied != 1 else full.offset, w_group=made[0],
            w_channel=made[1], w_row=1,
        )  # fmt: skip
        return turned, copied

    def _weights(self, phase: Correlation) -> tuple[Matrices, int]:
        """The weights as matrices [group][row, k], and their operand: a copy when k is not one run of strides."""
        shape = (phase.channels, *[axis.taps for axis in phase.axes])
        strides = (phase.w_channel, *[axis.w for axis in phase.axes])
        line = Layout.of(shape, strides).collapse()
        if line.rank <= 1:
            along = line.strides[0] if line.rank else 0
            return Matrices(self.kind, phase.w_at, (phase.w_group,), phase.w_row, along), 1
        full = Layout.of((phase.groups, phase.rows, *shape), (phase.w_group, phase.w_row, *strides), phase.w_at)
        copied = self.steps.scratch(-(-full.size * self.dtype.size_bytes // 4) * 4)
        for launch in copy_plan(full, self.dtype, self.device).launches:
            self.steps.launch(Launch(launch.key, (1, copied), launch.params, launch.grid))
        k = phase.terms
        return Matrices(self.kind, 0, (phase.rows * k,), k, 1), copied


def _phases(what: Correlation) -> Iterator[Correlation | None]:
    """The parts of the outputs that see one subset of the taps; None for one that sees no tap."""
    choices = []
    for axis in what.axes:
        if axis.divide == 1:
            choices.append([(axis, 0, 0)])
            continue
        made: list[tuple[Axis, int, int] | None] = []
        s, d = axis.divide, -axis.tap_step
        period = s // gcd(s, d)
        for f in range(min(s, axis.out)):
            start = next((t for t in range(min(period, axis.taps)) if (f + axis.first - d * t) % s == 0), None)
            if start is None:
                made.append(None)
                continue
            part = Axis(
                axis.size, -(-(axis.out - f) // s), -(-(axis.taps - start) // period), 1, -(d * period // s),
                (f + axis.first - d * start) // s, 1, axis.x, axis.w * period, axis.y * s,
            )  # fmt: skip
            made.append((part, start * axis.w, f * axis.y))
        choices.append(made)  # type: ignore[arg-type]
    for parts in product(*choices):
        if any(part is None for part in parts):
            yield None
            continue
        first, second, third = (part[0] for part in parts)
        yield replace(
            what, axes=(first, second, third), w_at=what.w_at + sum(part[1] for part in parts),
            y_at=what.y_at + sum(part[2] for part in parts),
        )  # fmt: skip


def variants(device: Capability) -> Iterator[Plan]:
    """Every kernel over every way of reading and storing, each dtype, each rank."""
    tiles = [name for name in TILES if TILES[name].workgroup_bytes <= device.max_workgroup_bytes]
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
                for name in ("direct", "dots", *(tiles if f32 else tiles[-1:]), *(WINDOWS if f32 else ()), *_COMMON):
                    yield correlation_plan("conv", out, what, dtype, device, bias=True, kernel=name)
                back = conv_x_correlation(x.shape, w, grad, options)
                for name in ("direct", *(tiles if f32 and stride == 2 else tiles[-1:]), _COMMON[0]):
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
            yield correlation_plan(
                "conv_x_backward",
                *conv_x_correlation(x.shape, w, Layout.dense(out), options),
                dtype,
                device,
                kernel="strip",
            )
        x, w = Layout.dense((2, 8, 12, 12)), Layout.dense((8, 1, 3, 3))
        out, what = conv_correlation(x, w, ConvOptions((1, 1), (1, 1), groups=8), "conv")
        yield correlation_plan("depthwise", out, what, dtype, device)
