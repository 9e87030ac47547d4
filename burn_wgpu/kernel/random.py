"""Random numbers: Philox4x32-10 by element number, so that a result never depends on the launch.

Element i of a call takes word i of the call's stream (two words, 2i and 2i + 1, for integers with a span beyond 2^32).
All numbers of a distribution are open scalars: the plan depends on the kind, the dtype and the size only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from burn_wgpu.kernel.map import WORKGROUP
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import KernelKey, Launch, Out, Plan, fold
from burn_wgpu.shader.prelude import Prelude, raw_kind, words
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.layout import Shape

Way = Literal["uniform", "bernoulli", "normal", "short", "word", "wide"]
"""How words become numbers; the last three are integers of a span up to 2^24, up to 2^32, beyond."""

SCALARS: dict[str, dict[str, str]] = {
    "uniform": {"low": "f32", "span": "f32", "top": "f32", "zero": "u32"},
    "bernoulli": {"probability": "f32"},
    "normal": {"mean": "f32", "deviation": "f32"},
    "short": {"low_low": "u32", "low_high": "u32", "span": "f32"},
    "word": {"low_low": "u32", "low_high": "u32", "span_low": "u32"},
    "wide": {"low_low": "u32", "low_high": "u32", "span_low": "u32", "span_high": "u32"},
}
"""What the caller appends after seed_low, seed_high, call_low, call_high."""

FLOAT_WAYS: tuple[Way, ...] = ("uniform", "bernoulli", "normal")
INT_WAYS: tuple[Way, ...] = ("bernoulli", "normal", "short", "word", "wide")
_LANES = "xyzw"


def random_plan(way: Way, shape: Shape, dtype: DType, device: Capability) -> Plan:
    """One launch without inputs; the scalars are the seed, the call and `SCALARS[way]`."""
    out = Out.of(shape, dtype)
    if out.layout.size == 0:
        return Plan("random", 0, (out,), ())
    chunks = -(-out.layout.size // 4)
    per_thread = 4 if chunks >= 1 << 16 else 1
    grid = fold(-(-chunks // (WORKGROUP * per_thread)), device)
    prelude = Prelude()
    kind = prelude.storage("out", dtype if dtype.is_float else raw_kind(dtype.size_bytes), "chunk")
    prelude.use("random/number" if dtype.is_float else "random/integer")
    fields = {"groups_x": "u32", "chunks": "u32"}
    fields |= dict.fromkeys(("seed_low", "seed_high", "call_low", "call_high"), "u32")
    fields |= SCALARS[way]
    prelude.params(**fields)
    prelude.const("WORKGROUP", WORKGROUP)
    prelude.const("CHUNKS", per_thread)
    lines, values = _numbers(prelude, way, dtype)
    lines.append(f"    return array<{kind.value}, 4>({', '.join(values)});")
    prelude.text(f"fn drawn(c: u32) -> array<{kind.value}, 4> {{\n" + "\n".join(lines) + "\n}")
    key = KernelKey(
        "random/draw", prelude.build(), tuple(prelude.uses), 1, 0, WORKGROUP, frozenset(prelude.features), trusted=True
    )
    launch = Launch(key, (0,), words(grid[0], chunks), grid, 4 + len(SCALARS[way]))
    return Plan("random", 0, (out,), (launch,))


def _numbers(prelude: Prelude, way: Way, dtype: DType) -> tuple[list[str], list[str]]:
    """The lines that draw a chunk's words, and the four values."""
    wide = dtype.is_int and dtype.size_bytes == 8
    block = ["    let w = philox(c);"]
    if way == "normal":
        lines = [*block, "    let p = normal_of(w.xy);", "    let q = normal_of(w.zw);"]
        four = ["p.x", "p.y", "q.x", "q.y"]
        if dtype.is_float:
            return lines, four
        _range(prelude, dtype)
        return lines, [f"truncated{'_wide' if wide else ''}({v})" for v in four]
    if way == "uniform":
        return block, [f"uniform_of(w.{v})" for v in _LANES]
    if way == "bernoulli":
        zero, one = ("0.0", "1.0") if dtype.is_float else ("0u", "1u")
        drawn = [f"select({zero}, {one}, bernoulli_of(w.{v}))" for v in _LANES]
        return block, [f"vec2<u32>({v}, 0u)" for v in drawn] if wide else drawn
    if way == "wide":
        lines = ["    let w = philox(2u * c);", "    let v = philox(2u * c + 1u);"]
        steps = [f"steps_wide({pair})" for pair in ("w.xy", "w.zw", "v.xy", "v.zw")]
    else:
        lines, steps = block, [f"vec2<u32>(steps_{way}(w.{v}), 0u)" for v in _LANES]
    return lines, [f"above_low({s})" + ("" if wide else ".x") for s in steps]


def _range(prelude: Prelude, dtype: DType) -> None:
    """The ends of an int dtype, as floats and as bits (of the high word for 64 bits)."""
    bits = 8 * dtype.size_bytes
    signed = dtype.kind == "int"
    least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    shift = 32 if bits == 64 else 0
    prelude.const("SIGNED", signed)
    prelude.const("LEAST", float(least))
    prelude.const("MOST", float(most))
    prelude.const("LEAST_BITS", least >> shift & 0xFFFFFFFF)
    prelude.const("MOST_BITS", most >> shift & 0xFFFFFFFF)


def variants(device: Capability) -> Iterator[Plan]:
    """Every way to draw every dtype that it can give, for a few elements and for many."""
    for count in (5, 1 << 20):
        for dtype in (*dt.FLOATS, *dt.INTS):
            for way in FLOAT_WAYS if dtype.is_float else INT_WAYS:
                yield random_plan(way, (count,), dtype, device)
