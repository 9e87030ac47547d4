"""Softmax, its logarithm and softmin along any axis.

Rows that fit in registers are read once by a team of invocations (shaders/softmax/rows.wgsl). Anything else takes two
passes: a reduction to (maximum, sum) per lane, in any layout and cut into parts when lanes are long, and an elementwise
pass over the result.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from burn_wgpu.kernel.lanes import Apply, Lanes, register_row
from burn_wgpu.kernel.reduce import SHAPES, Domain, Fold, fold_launches
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import Launch, Out, Plan
from burn_wgpu.shader.prelude import words
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.layout import Layout

Mode = Literal["softmax", "log_softmax", "softmin"]
Algorithm = Literal["rows", "lanes"]
_NAN = 0x7FC00000


def softmax_plan(
    mode: Mode, layout: Layout, dtype: DType, dim: int, device: Capability, algorithm: Algorithm | None = None
) -> Plan:
    """e^(x − max) / Σ e^(x − max) along dim (softmin: of −x), or its logarithm, row-major; computed in f32.

    A lane with a NaN or +∞, or of −∞ only (softmin: the other way round), is NaN. `algorithm` forces the kernel.
    """
    out = Out.of(layout.shape, dtype)
    if layout.size == 0:
        return Plan(mode, 1, (out,), ())
    taken = "fn taken(x: f32) -> f32 { return -x; }" if mode == "softmin" else "fn taken(x: f32) -> f32 { return x; }"
    row = register_row(layout, dim, dtype, device) if algorithm != "lanes" else None
    assert row is not None or algorithm != "rows", "the rows do not fit in registers"
    if row is not None:
        row.fields.add("nan", _NAN)
        row.body.append(
            f"fn piece(base: u32, u: u32) -> R {{ return {'-' if mode == 'softmin' else ''}raw(base, u); }}"
        )
        row.prelude.const("LOGARITHM", mode == "log_softmax")
        key = row.key("softmax/rows", dtype, 8)
        grid = row.grid(device)
        return Plan(mode, 1, (out,), (Launch(key, (0, 1), words(grid[0], *row.fields.values), grid),))

    what = Fold("softmax", ("lib/reduce_softmax",), taken, 8)
    domain = Domain.of(layout, (dim,))
    launches, scratch = fold_launches(what, [dtype], domain, None, device, (0,), (), 2)
    apply = Apply(layout, dtype)
    apply.owner(Lanes.of(layout, dim))
    apply.fields.add("nan", _NAN)
    apply.prelude.raw_storage("totals", "array<A>")
    apply.prelude.use(*what.files)
    apply.prelude.text(taken)
    apply.prelude.const("LOGARITHM", mode == "log_softmax")
    key = apply.key("softmax/apply", dtype)
    grid = apply.grid(device)
    launches.append(Launch(key, (0, 1 + len(scratch), 1), words(grid[0], *apply.fields.values), grid))
    return Plan(mode, 1, (out,), tuple(launches), tuple(scratch))


def variants(device: Capability) -> Iterator[Plan]:
    """Rows held in registers and lanes in two passes, over each float."""
    modes: tuple[Mode, ...] = ("softmax", "log_softmax", "softmin")
    for dtype in (dt.F32, dt.F16, dt.BF16, dt.F64):
        for shape in (*SHAPES, (64, 64), (9, 2048)):
            for dim in (0, 1):
                for mode in modes:
                    yield softmax_plan(mode, Layout.dense(shape), dtype, dim, device)
