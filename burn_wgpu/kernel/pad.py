"""Padding in one kernel: every output element finds where it comes from, whatever the layout of the input.

The output's number is split over the axes. Along a padded axis the coordinate is moved back by `before` and then, by
the mode, mirrored (reflect), clamped (edge), or tested (constant: the caller's bits outside). Bits are moved, so one
text serves every dtype of a size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from burn_wgpu.kernel.walk import Numbers
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import KernelKey, Launch, Out, Plan, fold
from burn_wgpu.shader.prelude import Prelude, raw_kind
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.layout import Layout
from burn_wgpu.std.slice import Slice

THREADS = 256


def pad_plan(layout: Layout, padding: Sequence[tuple[int, int]], mode: str, dtype: DType, device: Capability) -> Plan:
    """x → x grown by (before, after) per axis; mode "constant", "reflect" or "edge", already valid for the shape.

    A constant's bits are the open scalar (see `movement.full_bits`). x must have elements.
    """
    grown = [before + n + after for n, (before, after) in zip(layout.shape, padding, strict=True)]
    out = Out.of(grown, dtype)
    kind = raw_kind(dtype.size_bytes)
    prelude = Prelude()
    prelude.storage("x", kind)
    prelude.storage("out", kind, "chunk")
    prelude.const("THREADS", THREADS)
    grid = fold(-(-out.layout.size // (4 * THREADS)), device)
    numbers = Numbers(prelude, grid[0])
    numbers.add("size", out.layout.size)
    numbers.add("x_at", layout.offset)
    prelude.text(_source(numbers, _axes(layout, padding), mode, kind.value))
    open_words = 0
    if mode == "constant":
        names = ("fill_lo", "fill_hi") if dtype.size_bytes == 8 else ("fill",)
        numbers.fields.update(dict.fromkeys(names, "u32"))
        open_words = len(names)
    params = numbers.declare()
    key = KernelKey(
        "pad/pad", prelude.build(), tuple(prelude.uses), prelude.bindings, 0, THREADS, frozenset(prelude.features),
        trusted=True,
    )  # fmt: skip
    return Plan("pad", 1, (out,), (Launch(key, (0, 1), params, grid, open_words),))


def _axes(layout: Layout, padding: Sequence[tuple[int, int]]) -> list[tuple[int, int, int, int]]:
    """(before, size, after, stride) of each axis; neighbours without padding that are one run become one axis."""
    axes: list[tuple[int, int, int, int]] = []
    for n, stride, (before, after) in zip(layout.shape, layout.strides, padding, strict=True):
        if not before and not after:
            if n == 1:
                continue
            if axes and axes[-1][0] == axes[-1][2] == 0 and axes[-1][3] == n * stride:
                axes[-1] = (0, axes[-1][1] * n, 0, stride)
                continue
        axes.append((before, n, after, stride))
    return axes


def _source(numbers: Numbers, axes: Sequence[tuple[int, int, int, int]], mode: str, value: str) -> str:
    """WGSL of `padded4(first, last)`: the elements of four outputs."""
    lines = ["    var left = i;", "    var place = params.x_at;"]
    if mode == "constant":
        lines.append("    var outside = false;")
    for axis in range(len(axes) - 1, -1, -1):
        before, size, after, stride = axes[axis]
        along = "left"
        if axis:
            whole = numbers.add(f"d{axis}", before + size + after)
            along = f"o{axis}"
            lines.append(f"    let n{axis} = left / {whole};")
            lines.append(f"    let o{axis} = left - n{axis} * {whole};")
            lines.append(f"    left = n{axis};")
        if before or after:
            lead, count = numbers.add(f"b{axis}", before), numbers.add(f"n{axis}", size)
            if mode == "constant":  # below the axis the subtraction wraps to a number above it
                lines.append(f"    let c{axis} = {along} - {lead};")
                lines.append(f"    outside = outside || c{axis} >= {count};")
            elif mode == "edge":
                lines.append(f"    let c{axis} = min(max({along}, {lead}) - {lead}, {count} - 1u);")
            else:
                lines.append(f"    let a{axis} = select({lead} - {along}, {along} - {lead}, {along} >= {lead});")
                lines.append(f"    let c{axis} = select(a{axis}, 2u * ({count} - 1u) - a{axis}, a{axis} >= {count});")
            along = f"c{axis}"
        lines.append(f"    place += {along} * {numbers.add(f's{axis}', stride)};")
    if mode == "constant":
        fill = "vec2<u32>(params.fill_lo, params.fill_hi)" if value == "vec2<u32>" else "params.fill"
        lines.append(f"    if (outside) {{ return {fill}; }}")
    lines.append("    return load_x(place);")
    one = f"fn padded(i: u32) -> {value} {{\n" + "\n".join(lines) + "\n}\n"
    calls = ", ".join(f"padded(min(first + {lane}u, last))" for lane in range(4))
    four = f"array<{value}, 4>"
    return f"{one}fn padded4(first: u32, last: u32) -> {four} {{ return {four}({calls}); }}"


def variants(device: Capability) -> Iterator[Plan]:
    """Each mode over each size of an element, from a dense tensor and from a view, on few and on many axes."""
    dense = Layout.dense((3, 4, 5, 6))
    view = Layout.dense((3, 4, 5, 12)).slice([Slice.full()] * 3 + [Slice(0, None, 2)]).flip([1])
    for dtype in (dt.U8, dt.F16, dt.F32, dt.F64):
        for mode in ("constant", "reflect", "edge"):
            yield pad_plan(dense, ((0, 0), (0, 0), (1, 2), (2, 1)), mode, dtype, device)
            yield pad_plan(view, ((1, 0), (0, 2), (0, 0), (2, 2)), mode, dtype, device)
    yield pad_plan(Layout.dense((1,) * 16), ((0, 1),) * 16, "constant", dt.F32, device)
