"""Windows: big tiled products whose columns are output positions, each with a thread of its own that keeps its place.
Taps are written out and the weights turned to [k, rows] first; for weight gradients k runs along memory instead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from burn_wgpu.kernel.conv_parts import Task
from burn_wgpu.kernel.conv_product import Product, Share, share_out
from burn_wgpu.kernel.conv_text import Axis, places_text, repair_text
from burn_wgpu.kernel.conv_window_text import (
    LINE_PAD,
    lines_text,
    pick,
    products_text,
    weight_text,
    weights_text,
    window_text,
)
from burn_wgpu.kernel.correlation import MOST_PHASES, Correlation, alike, phases
from burn_wgpu.kernel.matmul_text import Side, Tile, chunk_text, declare_side
from burn_wgpu.kernel.matmul_text import results_text as block_text
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.prelude import Prelude
from burn_wgpu.std.layout import Layout, contiguous_strides


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


def window_tile(phase: Correlation, window: Window, device: Capability) -> Tile:
    """The tile with the depth that suits the taps of a phase (one without `divide`)."""
    tile = Tile(window.rows, window.columns, window.depth, window.thread_rows, window.thread_columns, last_apart=True)
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
    """Of workgroup memory: `buffers` slices of both operands, in 4-byte values."""
    pad = 2 * LINE_PAD if window.lines else 0
    return 4 * window.buffers * tile.depth * (tile.rows + tile.columns + pad)


def window_fits(what: Correlation, window: Window, device: Capability) -> bool:
    """Whether the window kernel can compute it: few taps an axis, few phases, and slices that fit workgroup memory."""
    if what.terms == 0 or what.remainders > MOST_PHASES:
        return False
    if window.lines:
        seen = sum(axis.out for axis in what.axes if not axis.inside)
        if seen > 32 or any(axis.divide > 1 for axis in what.axes):
            return False
    live = phases(what)
    if not live or (not window.lines and any(_inner(phase.axes, window.depth) is None for phase in live)):
        return False
    tiles = [window_tile(phase, window, device) for phase in live]
    return all(window_bytes(tile, window) <= device.max_workgroup_bytes for tile in tiles)


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


def windows(task: Task, window: Window, splits: int) -> None:
    """One product for phases that are alike, else one for each."""
    what, source = (task.what, 1) if window.lines else _turned(task)
    live = phases(what)
    tiles = [window_tile(phase, window, task.device) for phase in live]
    shares, target, splits = share_out(task, live, tiles, splits)
    if alike(live):
        _window(task, live, window, source, shares[0])
    else:
        for phase, share in zip(live, shares, strict=True):
            _window(task, [phase], window, source, share)
    task.finish(target, splits)


def _turned(task: Task) -> tuple[Correlation, int]:
    """The correlation over weights [group, channel, taps, rows], whose rows are read four at a time, and their
    operand."""
    what = task.what
    taps = [axis.taps for axis in what.axes]
    strides = (what.w_group, what.w_channel, *[axis.w for axis in what.axes], what.w_row)
    full = Layout.of((what.groups, what.channels, *taps, what.rows), strides, what.w_at)
    lies = full.contiguous and full.offset % 4 == 0
    made = contiguous_strides(full.shape)
    first, second, third = (replace(axis, w=made[2 + a]) for a, axis in enumerate(what.axes))
    turned = replace(
        what, axes=(first, second, third), w_at=full.offset if lies else 0, w_group=made[0], w_channel=made[1], w_row=1
    )
    return turned, 1 if lies else task.copied(full)


def _window(task: Task, parts: Sequence[Correlation], window: Window, source: int, share: Share) -> None:
    """One launch for phases that are alike but for where they begin."""
    phase, tile, buffers = parts[0], share.tile, window.buffers
    phased = len(parts) > 1
    axes = [_widest([p.axes[a] for p in parts]) for a in range(3)]
    made = Product(task, phase, share, phase.columns, phase.groups * len(parts), phase.groups)
    prelude = made.head.prelude
    made.head.numbers |= {
        "a_at": phase.w_at, "a_z0": phase.w_group, "a_o": phase.w_row, "w_c": phase.w_channel,
        "b_at": phase.x_at, "b_group": phase.x_group,
    }  # fmt: skip
    made.head.space(phase)
    line = Layout.of(
        (phase.channels, *[axis.taps for axis in phase.axes]), (phase.w_channel, *[axis.w for axis in phase.axes])
    ).collapse()
    made.head.numbers["a_k"] = line.strides[0] if line.rank == 1 else 0
    side = Side("a", task.kind, False, not window.lines and _wide(task, parts))
    _places(prelude, side, parts)
    weight_text(prelude, phase.axes, line.rank <= 1)
    if window.lines:
        lines_text(prelude, tile, axes, made.edges, made.edge_k, buffers)
    else:
        inner = _inner(phase.axes, window.depth)
        assert inner is not None
        weights_text(prelude, tile, side, made.edges, made.edge_k, buffers)
        window_text(prelude, tile, axes, inner, made.edges, made.edge_k, buffers)
    products_text(prelude, tile, LINE_PAD if window.lines else 0)
    if phase.skips and not all(p.inside for p in parts):
        block_text(prelude, tile, made.edges, "put_block", "doubt")
        places_text(prelude, axes, "first{}()")
        repair_text(prelude, tile, axes, "weight_at(k)")
    else:
        block_text(prelude, tile, made.edges)
    made.launch("conv/window" if buffers == 1 else "matmul/tile", source, window_bytes(tile, window), phased=phased)


def _wide(task: Task, parts: Sequence[Correlation]) -> bool:
    """Whether weights are read four rows at a time, in every phase."""
    phase = parts[0]
    strides = (*[p.w_at for p in parts], phase.w_group, phase.w_channel, *[a.w for a in phase.axes if a.taps > 1])
    whole = phase.rows % 4 == 0 and all(s % 4 == 0 for s in strides)
    return task.kind.per_word > 0 and phase.w_row == 1 and whole


def _places(prelude: Prelude, side: Side, parts: Sequence[Correlation]) -> None:
    """Both operands, and where a batch begins: in the weights, x, the result, and along each axis of x."""
    phased = len(parts) > 1
    if phased:
        prelude.storage("a", side.kind, "chunk" if side.wide else "element")
        if side.wide:
            prelude.text(chunk_text("a", side.kind))
        prelude.text("var<private> phase: u32;")
        prelude.text(
            "fn place_a(z: u32) -> u32 {\n    phase = z / params.groups_count;\n"
            f"    return {pick([p.w_at for p in parts], 'phase')} + z % params.groups_count * params.a_z0;\n}}"
        )
        prelude.text("fn place_b(z: u32) -> u32 { return params.b_at + z % params.groups_count * params.b_group; }")
        prelude.text(f"fn phase_at(phase: u32) -> u32 {{ return {pick([p.y_at for p in parts], 'phase')}; }}")
    else:
        declare_side(prelude, side, 1)
        prelude.text("fn place_b(z: u32) -> u32 { return params.b_at + z * params.b_group; }")
    prelude.storage("b", side.kind)
    for a in range(3):
        if not parts[0].axes[a].trivial:
            where = pick([p.axes[a].first for p in parts], "phase") if phased else f"params.first{a}"
            prelude.text(f"fn first{a}() -> u32 {{ return {where}; }}")
