"""Convolutions without tiles: a thread (direct) or a workgroup (dots) computes four neighbours of the flat result."""

from __future__ import annotations

from burn_wgpu.kernel.conv_parts import MOST_STEPS, Head, Task
from burn_wgpu.kernel.conv_text import lanes_text
from burn_wgpu.std import dtype as dt

DIRECT_THREADS = 128
DOTS_THREADS = 256


def direct(task: Task) -> None:
    """Every result in one launch, without a split of its sum; what sums over nothing, too."""
    what = task.what
    head = Head()
    _lanes(task, head)
    task.flat(head)
    head.numbers["channels"] = what.channels if what.taps else 0
    groups = -(-what.size // (4 * DIRECT_THREADS))
    task.launch(head, "conv/direct", task.out.operands(0, 1), groups, DIRECT_THREADS)


def dots(task: Task, splits: int) -> None:
    """Sums over `splits` workgroups, or more where a thread would loop too long."""
    what = task.what
    splits = max(splits, -(-what.terms // (MOST_STEPS * DOTS_THREADS)))
    span = -(-what.terms // splits)
    splits = -(-what.terms // span)
    chunks = -(-what.size // 4)
    target = task.out if splits == 1 else task.sums(splits)
    head = Head()
    _lanes(task, head)
    head.numbers |= {"k": what.terms, "k_span": span, "chunks": chunks}
    if splits == 1:
        task.flat(head)
        indices = ", ".join(f"min(first + {e}u, params.size - 1u)" for e in range(4))
        head.prelude.text(
            "fn put_sums(split: u32, first: u32, v: vec4<f32>) { "
            f"put4_flat(first, vec4<u32>({indices}), v.x, v.y, v.z, v.w); }}"
        )
    else:
        head.prelude.storage("out", dt.F32)
        stores = [
            f"    if (first + {e}u < params.size) {{ store_out(split * params.size + first + {e}u, v[{e}]); }}"
            for e in range(4)
        ]
        head.prelude.text("fn put_sums(split: u32, first: u32, v: vec4<f32>) {\n" + "\n".join(stores) + "\n}")
    task.launch(head, "conv/dots", target.operands(0, 1), chunks * splits, DOTS_THREADS, 16 * DOTS_THREADS)
    task.finish(target, splits)


def _lanes(task: Task, head: Head) -> None:
    """Both operands, and the places of four neighbours of the flat result."""
    what, prelude = task.what, head.prelude
    prelude.storage("x", task.kind)
    prelude.storage("w", task.kind)
    lanes_text(prelude, what.axes, what.rows_first, what.together, what.skips)
    head.space(what)
    head.numbers |= {
        "size": what.size, "rows_count": what.rows, "images_count": what.images, "groups_count": what.groups,
        "x_at": what.x_at, "x_group": what.x_group, "w_at": what.w_at, "w_group": what.w_group,
        "w_row": what.w_row, "w_c": what.w_channel,
    }  # fmt: skip
