"""Scaled dot-product attention as one kernel, and the elementwise part of its gradient.

The forward pass (attention/flash.wgsl) keeps scores in registers, whatever the number of keys: memory is that of the
operands. Query heads of a group read the same key head. Softmax and sums are in f32. A query that sees nothing gives 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from burn_wgpu.kernel.attention_text import Shape, flash_text
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import KernelKey, Launch, Out, Plan, fold
from burn_wgpu.shader.prelude import Prelude, words
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.layout import Layout

THREADS = 128
MOST_RESULTS = 256
"""The widest values that a workgroup can hold results of."""
MOST_STEPS = 50_000  # loop iterations of an invocation; Mesa 22 stops at 65,535
_LOWEST = "-0x1.fffffep+127f"
_SMALLEST = "0x1p-126f"


@dataclass(frozen=True, slots=True)
class Operand:
    layout: Layout
    dtype: DType


@dataclass(frozen=True, slots=True)
class Scores:
    """What becomes of q · kᵀ before the softmax; offset: query i sees keys up to i + offset when causal."""

    scale: float
    softcap: float | None
    causal: bool
    offset: int


def shape_for(results: int, queries: int, device: Capability) -> Shape:
    """The workgroup for values of this width. A software adapter compiles long text slowly and gains nothing by it."""
    deep = 2 if device.software else 8
    if results <= 64:
        return Shape(8 if queries > 32 and not device.software else 4, 8, 4 if results <= 32 else 8, 16, 16, deep)
    if results <= 128:
        return Shape(4, 16, 8, 16, 8, deep)
    return Shape(2, 32, 8, 8, 4, deep)


def fits(width: int, keys: int, results: int, device: Capability) -> bool:
    """Whether `attention_plan` takes these sizes."""
    if not 0 < results <= MOST_RESULTS or keys == 0 or width == 0:
        return False
    shape = shape_for(results, 64, device)
    per_step = (
        -(-width // shape.slice) * (2 + shape.slice // shape.deep)
        + shape.keys // shape.values * (2 + -(-shape.values // shape.deep))
        + 2
    )
    return -(-keys // shape.keys) * per_step <= MOST_STEPS


def attention_plan(
    q: Layout,
    k: Layout,
    v: Layout,
    dtype: DType,
    mask: Operand | None,
    bias: Operand | None,
    scores: Scores,
    logsumexp: bool,
    device: Capability,
) -> Plan:
    """q [N, H, Sq, D], k [N, Hkv, Sk, D], v [N, Hkv, Sk, Dv], mask and bias [N, H, Sq, Sk] → [N, H, Sq, Dv].

    Inputs are q, k, v, then mask and bias if there are. The output is f32 for halves whose rows do not fill words
    (Dv no multiple of 4). With `logsumexp` a second output [N, H, Sq] in f32 (f64 for f64).
    """
    batch, heads, queries, width = q.shape
    keys, results = v.shape[2:]
    chunked = results % 4 == 0
    statistic = dt.F64 if dtype is dt.F64 else dt.F32
    outs = [Out.of((batch, heads, queries, results), dtype if chunked else statistic)]
    if logsumexp:
        outs.append(Out.of((batch, heads, queries), statistic))
    inputs = 3 + (mask is not None) + (bias is not None)
    if outs[0].layout.size == 0:
        return Plan("attention", inputs, tuple(outs), ())
    shape = shape_for(results, queries, device)
    tiles = -(-queries // shape.rows)
    groups = batch * heads * tiles
    numbers: dict[str, int] = {
        "groups": groups, "tiles": tiles, "heads": heads, "group": heads // k.shape[1], "queries": queries,
        "keys": keys, "width": width, "results": results, "offset": scores.offset,
    }  # fmt: skip
    prelude = Prelude()
    prelude.alias("V", "f32")
    for name, layout in (("q", q), ("k", k), ("v", v)):
        prelude.storage(name, dtype)
        numbers |= {f"{name}_{x}": s for x, s in zip("nhsd", layout.strides, strict=True)} | {
            f"{name}_at": layout.offset
        }
    for name, operand in (("m", mask), ("b", bias)):
        if operand is not None:
            prelude.storage(name, operand.dtype)
            strides = operand.layout.expand((batch, heads, queries, keys)).strides
            numbers |= {f"{name}_{x}": s for x, s in zip("nhqk", strides, strict=True)}
            numbers[f"{name}_at"] = operand.layout.offset
    prelude.storage("out", outs[0].dtype, "chunk" if chunked else "element")
    if logsumexp:
        prelude.storage("lse", statistic)
        prelude.text("fn put_logsumexp(line: u32, place: u32, v: f32) { if (place == 0u) { store_lse(line, v); } }")
    else:
        prelude.text("fn put_logsumexp(line: u32, place: u32, v: f32) {}")
    prelude.text(f"const LOWEST: f32 = {_LOWEST};")
    prelude.text(f"const SMALLEST: f32 = {_SMALLEST};")
    for const, number in (
        ("THREADS", shape.threads), ("ROWS", shape.rows), ("KEYS", shape.keys), ("ACROSS", shape.across),
        ("SLICE", shape.slice), ("VALUES", shape.values), ("CAUSAL", scores.causal),
    ):  # fmt: skip
        prelude.const(const, number)
    flash_text(prelude, shape, scores.softcap is not None, scores.causal, mask is not None, bias is not None, chunked)
    floats = {"scale": float(scores.scale), "softcap": float(scores.softcap or 1.0)}
    prelude.params(groups_x="u32", **dict.fromkeys(numbers, "u32"), **dict.fromkeys(floats, "f32"))
    grid = fold(groups, device)
    key = KernelKey(
        "attention/flash", prelude.build(), tuple(prelude.uses), prelude.bindings, shape.workgroup_bytes,
        shape.threads, frozenset(prelude.features), trusted=True,
    )  # fmt: skip
    params = words(grid[0], *numbers.values(), *floats.values())
    launch = Launch(key, tuple(range(inputs + len(outs))), params, grid)
    return Plan("attention", inputs, tuple(outs), (launch,))


def attention_grads_plan(shape: tuple[int, int, int, int], scores: Scores, device: Capability) -> Plan:
    """Packed f32 q·kᵀ and grad·vᵀ [N, H, Sq, Sk], logsumexp and δ [N, H, Sq] → the weights and the scores' gradient."""
    out = Out.of(shape, dt.F32)
    size = prod(shape)
    if size == 0:
        return Plan("attention_backward", 4, (out, out), ())
    prelude = Prelude()
    prelude.alias("V", "f32")
    for name in ("scores", "dp", "lse", "delta"):
        prelude.storage(name, dt.F32)
    for name in ("p", "ds"):
        prelude.storage(name, dt.F32, "chunk")
    prelude.const("THREADS", THREADS)
    prelude.const("CAUSAL", scores.causal)
    prelude.const("SOFTCAP", scores.softcap is not None)
    prelude.use("elementwise/float_math")
    prelude.params(groups_x="u32", size="u32", queries="u32", keys="u32", offset="u32", scale="f32", softcap="f32")
    grid = fold(-(-size // (4 * THREADS)), device)
    key = KernelKey(
        "attention/grads", prelude.build(), tuple(prelude.uses), prelude.bindings, 0, THREADS, frozenset(), trusted=True
    )
    params = words(grid[0], size, shape[2], shape[3], scores.offset, float(scores.scale), float(scores.softcap or 1.0))
    return Plan("attention_backward", 4, (out, out), (Launch(key, tuple(range(6)), params, grid),))


def variants(device: Capability) -> Iterator[Plan]:
    """Every workgroup shape, every dtype, with and without cap, causal mask, mask, bias and logsumexp."""
    plain, capped = Scores(0.125, None, False, 0), Scores(0.125, 20.0, True, 3)
    for results in (32, 64, 66, 128, 200):
        q, k, v = (Layout.dense((2, 4, 70, 64)), Layout.dense((2, 2, 90, 64)), Layout.dense((2, 2, 90, results)))
        square = Layout.dense((2, 4, 70, 90))
        for dtype in (dt.F32, dt.F16, dt.BF16, dt.F64):
            yield attention_plan(q, k, v, dtype, None, None, plain, False, device)
            yield attention_plan(q, k, v, dtype, None, None, capped, True, device)
            for kind in (dt.BOOL_U8, dt.BOOL_U32):
                yield attention_plan(
                    q, k, v, dtype, Operand(square, kind), Operand(square, dtype), capped, False, device
                )
    for scores in (plain, capped):
        yield attention_grads_plan((2, 4, 70, 90), scores, device)
