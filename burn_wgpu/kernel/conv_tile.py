"""Convolutions by the tiled product of kernel/matmul.py: weights [rows, k] times windows [k, columns], which nobody
stores: a tile computes them on the way. A product for each image, where they are the positions as they lie."""

from __future__ import annotations

from dataclasses import replace

from burn_wgpu.kernel.conv_parts import Task
from burn_wgpu.kernel.conv_product import Product, Share, share_out
from burn_wgpu.kernel.conv_text import gather_text, repair_text
from burn_wgpu.kernel.correlation import Correlation, phases
from burn_wgpu.kernel.matmul import Matrices
from burn_wgpu.kernel.matmul_text import Side, Tile, declare_side, multiply_text, operand_text
from burn_wgpu.kernel.matmul_text import results_text as block_text
from burn_wgpu.std.layout import Layout


def tiles(task: Task, tile: Tile, splits: int) -> None:
    """One product for each phase of the outputs."""
    live = phases(task.what)
    shares, target, splits = share_out(task, live, [tile] * len(live), splits)
    for phase, share in zip(live, shares, strict=True):
        _tile(task, phase, share)
    task.finish(target, splits)


def _tile(task: Task, phase: Correlation, share: Share) -> None:
    groups, m, k, tile = phase.groups, phase.rows, phase.terms, share.tile
    weights, source = _weights(task, phase)
    last = phase.axes[2]
    plain = phase.pointwise and phase.run and (phase.y_at, phase.points) == (0, task.what.points)
    n = phase.points if plain else phase.columns
    made = Product(task, phase, share, n, phase.images * groups if plain else groups)
    prelude, numbers = made.head.prelude, made.head.numbers
    a = replace(weights, batch=(0, *weights.batch)) if plain else weights
    a_side = a.side("a", m, k)
    declare_side(prelude, a_side, len(a.batch))
    numbers |= {"a_at": a.offset, "a_o": a.outer, "a_k": a.along}
    numbers |= {f"a_z{i}": s for i, s in enumerate(a.batch)}
    if plain:
        numbers["z1"] = groups
        b = Matrices(task.kind, phase.x_at, (phase.x_image, phase.x_group), last.x, phase.x_channel)
        b_side = b.side("b", n, k)
        declare_side(prelude, b_side, 2)
        numbers |= {"b_at": b.offset, "b_o": b.outer, "b_k": b.along}
        numbers |= {f"b_z{i}": s for i, s in enumerate(b.batch)}
        operand_text(prelude, tile, b_side, tile.columns, "n", "f32", made.edges, made.edge_k)
    else:
        # Loads run along whatever has neighbours in memory: long rows of taps (weight gradients), else columns.
        b_side = Side("b", task.kind, last.taps > last.out, False)
        prelude.storage("b", task.kind)
        numbers |= {"b_at": phase.x_at, "b_group": phase.x_group}
        prelude.text("fn place_b(z: u32) -> u32 { return params.b_at + z * params.b_group; }")
        made.head.space(phase)
        gather_text(prelude, tile, phase.axes, b_side.along_k, phase.together, made.edges, made.edge_k)
    operand_text(prelude, tile, a_side, tile.rows, "m", "f32", made.edges, made.edge_k)
    multiply_text(prelude, tile, a_side, b_side, "f32")
    if phase.skips and not plain and not phase.inside:
        block_text(prelude, tile, made.edges, "put_block", "doubt")
        repair_text(prelude, tile, phase.axes)
    else:
        block_text(prelude, tile, made.edges)
    made.launch("matmul/tile", source, tile.workgroup_bytes, whole=plain)


def _weights(task: Task, phase: Correlation) -> tuple[Matrices, int]:
    """The weights as matrices [group][row, k], and their operand: a copy when k is not one run of strides."""
    shape = (phase.channels, *[axis.taps for axis in phase.axes])
    strides = (phase.w_channel, *[axis.w for axis in phase.axes])
    line = Layout.of(shape, strides).collapse()
    if line.rank <= 1:
        along = line.strides[0] if line.rank else 0
        return Matrices(task.kind, phase.w_at, (phase.w_group,), phase.w_row, along), 1
    full = Layout.of((phase.groups, phase.rows, *shape), (phase.w_group, phase.w_row, *strides), phase.w_at)
    k = phase.terms
    return Matrices(task.kind, 0, (phase.rows * k,), k, 1), task.copied(full)
