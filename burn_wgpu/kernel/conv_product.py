"""What the tiled products of windows share, tiles and windows alike: k split into slices, results into blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from burn_wgpu.kernel.conv_parts import MOST_STEPS, Head, Target, Task
from burn_wgpu.kernel.conv_text import columns_text, results_text
from burn_wgpu.kernel.correlation import Correlation
from burn_wgpu.kernel.matmul_text import Tile
from burn_wgpu.kernel.reduce import fill_launches
from burn_wgpu.shader.launch import Out
from burn_wgpu.std import dtype as dt


@dataclass(frozen=True, slots=True)
class Share:
    """How a phase is computed: by which tile, over how many workgroups a sum, each with `span` slices of k."""

    tile: Tile
    splits: int
    span: int
    target: Target


def share_out(
    task: Task, live: Sequence[Correlation], tiles: Sequence[Tile], splits: int
) -> tuple[list[Share], Target, int]:
    """A share for each phase, where all go, and how many splits `Task.finish` adds up. `splits` are wanted; there are
    more where a thread would loop too long. What no share computes is filled with 0."""
    what = task.what
    slices = [-(-phase.terms // tile.depth) for phase, tile in zip(live, tiles, strict=True)]
    splits = max(splits, -(-max(slices, default=1) // MOST_STEPS))
    if what.skips and task.device.software:  # where all of a thread's results are summed again one by one
        loops = (
            count * tile.depth * tile.thread_rows * tile.thread_columns
            for count, tile in zip(slices, tiles, strict=True)
        )
        splits = max(splits, -(-max(loops, default=1) // MOST_STEPS))
    spans = [-(-count // splits) for count in slices]
    parts = [-(-count // span) for count, span in zip(slices, spans, strict=True)]
    splits = max(parts, default=1)
    empty = len(live) < what.phase_count or any(count < splits for count in parts)
    direct = splits == 1 and (task.kind.lanes == 1 or all(phase.chunked for phase in live))
    direct = direct and not (empty and task.out.bias)
    target = task.out if direct else task.sums(splits)
    if empty:
        whole = task.steps.outputs[0] if direct else Out.of((splits * what.size,), dt.F32)
        for launch in fill_launches(whole, 0.0, target.operand, task.device):
            task.steps.launch(launch)
    shares = [Share(tile, part, span, target) for tile, part, span in zip(tiles, parts, spans, strict=True)]
    return shares, target, splits


class Product:
    """The launch of a tiled product: m rows, n columns, `batch` times.

    edges, edge_k  whether the last tile and the last slice are partial
    """

    def __init__(
        self, task: Task, phase: Correlation, share: Share, n: int, batch: int, groups_count: int | None = None
    ) -> None:
        tile, m, k = share.tile, phase.rows, phase.terms
        self.task = task
        self.phase = phase
        self.share = share
        self.head = Head()
        self.edges = m % tile.rows != 0 or n % tile.columns != 0
        self.edge_k = k % tile.depth != 0
        tiles_m, tiles_n = -(-m // tile.rows), -(-n // tile.columns)
        self.count = tiles_m * tiles_n * batch * share.splits
        self.head.numbers |= {
            "m": m, "n": n, "k": k, "k_span": share.span * tile.depth, "tiles_m": tiles_m, "tiles_n": tiles_n,
            "batch": batch, **({} if groups_count is None else {"groups_count": groups_count}),
            "images": phase.images, "size": task.what.size,
            "y_at": phase.y_at, "y_image": phase.y_image, "y_group": phase.y_group, "y_row": phase.y_row,
        }  # fmt: skip

    def launch(self, file: str, weights: int, workgroup_bytes: int, whole: bool = False, phased: bool = False) -> None:
        """Declares the bias and the stores of results (see conv_text.results_text), and launches."""
        prelude, tile, target = self.head.prelude, self.share.tile, self.share.target
        if target.bias:
            prelude.storage("bias", self.task.kind)
        results_text(prelude, target.kind, self.phase.chunked, whole, target.bias, phased)
        if not whole:
            columns_text(prelude, self.phase.axes, self.phase.run)
        prelude.const("TILE_M", tile.rows)
        prelude.const("TILE_N", tile.columns)
        prelude.const("DEPTH", tile.depth)
        prelude.const("LAST_APART", tile.last_apart)
        operands = target.operands(weights, 0)
        self.task.launch(self.head, file, operands, self.count, tile.threads, workgroup_bytes)
