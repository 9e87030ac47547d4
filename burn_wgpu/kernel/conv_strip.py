"""Strips: depthwise convolutions and groups of few rows. A thread computes four columns of up to four rows of outputs,
reads each element of their windows once, and has all taps written out."""

from __future__ import annotations

from burn_wgpu.kernel.conv_parts import MOST_STEPS, Head, Target, Task
from burn_wgpu.kernel.conv_window_text import strip_text
from burn_wgpu.kernel.correlation import MOST_PHASES, Correlation, phases
from burn_wgpu.kernel.matmul_text import Side, declare_side

STRIP_THREADS = 128
STRIP_TAPS = 50  # most products of one weight group that a strip writes out for one of its rows
STRIP_BUSY = 1 << 16  # threads that keep a big GPU busy


def strip_parts(what: Correlation) -> list[Correlation]:
    """What the strip kernel computes one by one: all of it, or its phases; nothing when it cannot."""
    if what.rows > 8 or what.rows_first or what.terms == 0 or what.remainders > MOST_PHASES:
        return []
    down, along = what.axes[1:]
    if 4 * along.step % along.divide == 0 and 4 * down.step % down.divide == 0 and _fits(what):
        return [what]
    parts = [phase for phase in phases(what) if _fits(phase)]
    return parts if len(parts) == what.phase_count else []


def _fits(what: Correlation) -> bool:
    return (
        what.axes[0].trivial and what.taps <= STRIP_TAPS and what.taps * what.rows <= 2 * STRIP_TAPS
        and what.channels <= MOST_STEPS and _sums_again(what, min(_heights(what)))
    )  # fmt: skip


def _heights(what: Correlation) -> list[int]:
    """Rows of outputs that a thread may compute, so that the next thread's see the same taps; the most first."""
    down = what.axes[1]
    return [high for high in (4, 2, 1) if high * down.step % down.divide == 0]


def _sums_again(what: Correlation, high: int) -> bool:
    """Whether a thread can sum all its results again, one by one, if that may be asked of it."""
    return not what.skips or 4 * high * what.rows * what.terms <= MOST_STEPS


def strip_rows(what: Correlation) -> int:
    """Rows of outputs of a thread: more reuse of what is read, while registers last and threads are many. Few taps are
    bound by memory, which more threads keep busier."""
    down = what.axes[1]
    heights = _heights(what)
    many = what.taps > 9 * down.divide**2
    for high in heights[:-1]:
        if (high == 4 and (not many or down.step > 1 or what.rows > 1)) or (down.step > 1 and not many):
            continue
        if _sums_again(what, high) and high <= down.out and what.size // (4 * high * what.rows) >= STRIP_BUSY:
            return high
    return heights[-1]


def strips(task: Task) -> None:
    """One launch for each of the parts, and one that rounds where halves share words."""
    parts = strip_parts(task.what)
    target = task.out if task.kind.lanes == 1 or (len(parts) == 1 and task.what.together) else task.sums()
    for part in parts:
        _strip(task, part, target)
    task.finish(target)


def _strip(task: Task, what: Correlation, target: Target) -> None:
    high = strip_rows(what)
    along = what.axes[2]
    head = Head()
    head.space(what)
    wide = (
        task.kind.per_word > 0 and along.x == 1 and along.size % 4 == 0 and along.divide == 1
        and all(s % 4 == 0 for s in (what.x_at, what.x_image, what.x_group, what.x_channel, what.axes[1].x))
    )  # fmt: skip
    declare_side(head.prelude, Side("x", task.kind, True, wide), 0)
    head.prelude.storage("w", task.kind)
    if target.bias:
        head.prelude.storage("bias", task.kind)
    chunked = along.out % 4 == 0 and (along.trivial or along.y == 1)
    head.prelude.storage("out", target.kind, "chunk" if chunked else "element")
    strip_text(head.prelude, what.axes, what.rows, high, wide, chunked, target.bias, what.skips and not what.inside)
    count = what.images * what.groups * -(-what.axes[1].out // high) * -(-along.out // 4)
    head.numbers |= {
        "count": count, "channels": what.channels, "groups_count": what.groups, "x_at": what.x_at,
        "x_group": what.x_group, "w_at": what.w_at, "w_group": what.w_group, "w_row": what.w_row,
        "w_c": what.w_channel, "y_at": what.y_at, "y_image": what.y_image, "y_group": what.y_group,
        "y_row": what.y_row,
    }  # fmt: skip
    task.launch(head, "conv/strip", target.operands(0, 1), -(-count // STRIP_THREADS), STRIP_THREADS)
