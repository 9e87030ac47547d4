"""Scaled dot-product attention and its gradient without the scores in memory.

The forward pass (attention/flash.wgsl) is one kernel; a few queries of many keys are split over the keys, and a second
kernel (attention/merge.wgsl) puts the parts together. The gradient is two: one goes over the keys of each query
(query_grad.wgsl), one over the queries of each key (key_grad.wgsl). Query heads of a group read the same key head.
Softmax and sums are in f32, every sum in a fixed order. A query that sees nothing gives 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod

from burn_wgpu.kernel.attention_text import (
    Shape,
    flash_text,
    function,
    key_grad_text,
    operand,
    put4,
    query_grad_text,
)
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import Grid, KernelKey, Launch, Out, Plan, fold
from burn_wgpu.shader.prelude import Prelude, words
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.layout import Layout

THREADS = 128
MOST_RESULTS = 256
"""The widest values that a workgroup can hold results of."""
MOST_STEPS = 50_000  # loop iterations of an invocation; Mesa 22 stops at 65,535
_FEW = 8
"""So many queries are computed by a workgroup of their own kind, which wastes less."""
_GROUPS = 1024
"""Workgroups that keep a large device busy: fewer are split over the keys."""
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

    def floats(self) -> dict[str, float]:
        return {"scale": float(self.scale), "softcap": float(self.softcap or 1.0)}


def shape_for(results: int, queries: int, device: Capability) -> Shape:
    """The workgroup for values of this width. A software adapter compiles long text slowly and gains nothing by it."""
    deep = 2 if device.software else 8
    if queries <= _FEW:
        return Shape(1, 32, 4 if results <= 128 else 8, 16, 8, deep)
    down = 4 if queries <= 32 or device.software else 8
    if results <= 64:
        return Shape(down, 8, 4 if results <= 32 else 8, 16, 16, deep, beside=4 if device.software else 8)
    if results <= 128:
        return Shape(down, 16, 8, 16, 16, deep)
    return Shape(4, 32, 8, 16, 8, deep)


def grad_shapes(width: int, device: Capability) -> tuple[Shape, Shape]:
    """The workgroups of the queries' and of the keys' gradients, for the larger of both widths."""
    deep = 2 if device.software else 8
    if width <= 64:
        shape = Shape(4 if device.software else 8, 16, 4, 16, 16, deep)
        return shape, shape
    if width <= 128:
        return Shape(4 if device.software else 8, 32, 4, 16, 16, deep), Shape(4, 32, 4, 16, 16, deep)
    shape = Shape(4, 32, 8, 8, 8, deep)
    return shape, shape


def fits(width: int, keys: int, results: int, device: Capability) -> bool:
    """Whether `attention_plan` takes these sizes."""
    if not 0 < results <= MOST_RESULTS or keys == 0 or width == 0:
        return False
    for queries in (1, 32, 64):
        shape = shape_for(results, queries, device)
        if -(-keys // shape.keys) * (shape.steps(width) + shape.apply_steps + 2) > MOST_STEPS:
            return False
    return True


def grad_fits(q: tuple[int, ...], k: tuple[int, ...], v: tuple[int, ...], device: Capability) -> bool:
    """Whether `attention_grads_plan` takes operands of these sizes."""
    if 0 in (*q, *k, *v) or max(q[3], v[3]) > MOST_RESULTS:
        return False
    counts = []
    for shape, lines in zip(grad_shapes(max(q[3], v[3]), device), (k[2], q[2]), strict=True):
        step = shape.steps(q[3]) + shape.steps(v[3]) + 2 * shape.apply_steps + 4
        counts.append(-(-lines // shape.keys) * step + MOST_RESULTS)
    return max(counts[0], q[1] // k[1] * counts[1]) <= MOST_STEPS


def wide_rows(*layouts: Layout) -> bool:
    """Whether four neighbours of the last axis are always a whole chunk of memory."""
    for layout in layouts:
        *outer, last = layout.strides
        far = [s for s, n in zip(outer, layout.shape, strict=False) if n > 1]
        if last != 1 or any(x % 4 for x in (layout.shape[-1], layout.offset, *far)):
            return False
    return True


def _operands(prelude: Prelude, dtype: DType, wide: bool, layouts: Mapping[str, Layout]) -> dict[str, int]:
    """Declares q, k, v … and gives their strides as parameters, in chunks when they are read by chunks."""
    numbers = {}
    for name, layout in layouts.items():
        operand(prelude, name, prelude.storage(name, dtype, "chunk" if wide else "element"), wide)
        unit = 4 if wide else 1
        for x, stride, extent in zip("nhsd", layout.strides, layout.shape, strict=True):
            numbers[f"{name}_{x}"] = stride // unit if extent > 1 else 0
        numbers[f"{name}_at"] = layout.offset // unit
    return numbers


def _launch(
    file: str, prelude: Prelude, shape: Shape, operands: tuple[int, ...], numbers: dict[str, int],
    floats: dict[str, float], groups: int, causal: bool, device: Capability,
) -> Launch:  # fmt: skip
    for const, number in (
        ("THREADS", shape.threads), ("ROWS", shape.rows), ("KEYS", shape.keys), ("SLICE", shape.slice),
        ("VALUES", shape.values), ("CAUSAL", causal),
    ):  # fmt: skip
        prelude.const(const, number)
    return _finish(file, prelude, shape.workgroup_bytes, shape.threads, operands, numbers, floats, fold(groups, device))


def _finish(
    file: str, prelude: Prelude, workgroup_bytes: int, threads: int, operands: tuple[int, ...],
    numbers: dict[str, int], floats: dict[str, float], grid: Grid,
) -> Launch:  # fmt: skip
    prelude.params(groups_x="u32", **dict.fromkeys(numbers, "u32"), **dict.fromkeys(floats, "f32"))
    key = KernelKey(
        file, prelude.build(), tuple(prelude.uses), prelude.bindings, workgroup_bytes, threads,
        frozenset(prelude.features), trusted=True,
    )  # fmt: skip
    return Launch(key, operands, words(grid[0], *numbers.values(), *floats.values()), grid)


def _splits(groups: int, keys: int, shape: Shape) -> int:
    """So many that the device is busy, each with a few steps of its own."""
    least = 2 if shape.rows <= _FEW else 4
    return max(1, min(_GROUPS // groups, keys // (least * shape.keys)))


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
    shape: Shape | None = None,
    splits: int | None = None,
) -> Plan:
    """q [N, H, Sq, D], k [N, Hkv, Sk, D], v [N, Hkv, Sk, Dv], mask and bias [N, H, Sq, Sk] → [N, H, Sq, Dv].

    Inputs are q, k, v, then mask and bias if there are. The output is f32 for halves whose rows do not fill words
    (Dv no multiple of 4). With `logsumexp` a second output [N, H, Sq] in f32 (f64 for f64). `shape` and `splits` are
    chosen unless given.
    """
    batch, heads, queries, _ = q.shape
    results = v.shape[3]
    chunked = results % 4 == 0
    statistic = dt.F64 if dtype is dt.F64 else dt.F32
    outs = [Out.of((batch, heads, queries, results), dtype if chunked else statistic)]
    if logsumexp:
        outs.append(Out.of((batch, heads, queries), statistic))
    inputs = 3 + (mask is not None) + (bias is not None)
    if outs[0].layout.size == 0:
        return Plan("attention", inputs, tuple(outs), ())
    if queries == 1 and heads > k.shape[1] and (not scores.causal or scores.offset >= k.shape[2] - 1):
        # One query a head: the heads of a group are as good as queries of one head, and read keys and values once.
        q, mask, bias = _grouped(q, k.shape[1]), *(_grouped_operand(x, q, k) for x in (mask, bias))
        scores = replace(scores, causal=False, offset=0)
    shape = shape or shape_for(results, q.shape[2], device)
    planes = batch * q.shape[1]
    groups = planes * -(-q.shape[2] // shape.rows)
    splits = _splits(groups, k.shape[2], shape) if splits is None else splits
    if splits == 1:
        launch = _flash(q, k, v, dtype, mask, bias, scores, outs, chunked, shape, 1, inputs, device)
        return Plan("attention", inputs, tuple(outs), (launch,))
    lines = batch * heads * queries
    parts = [Out.of((splits, lines, results), dt.F32), Out.of((splits, lines), dt.F32)]
    launch = _flash(
        q, k, v, dtype, mask, bias, scores, parts, chunked, shape, splits, inputs, device, scratch=inputs + len(outs)
    )
    merge = _merge(lines, results, splits, outs, inputs, chunked, device)
    return Plan("attention", inputs, tuple(outs), (launch, merge), tuple(part.size_bytes for part in parts))


def _grouped(q: Layout, shared: int) -> Layout:
    """[N, H, 1, x] as [N, Hkv, H / Hkv, x]."""
    batch, heads, _, last = q.shape
    n, h, _, x = q.strides
    group = heads // shared
    return Layout.of((batch, shared, group, last), (n, h * group, h, x), q.offset)


def _grouped_operand(x: Operand | None, q: Layout, k: Layout) -> Operand | None:
    if x is None:
        return None
    return Operand(_grouped(x.layout.expand((*q.shape[:3], k.shape[2])), k.shape[1]), x.dtype)


def _flash(
    q: Layout, k: Layout, v: Layout, dtype: DType, mask: Operand | None, bias: Operand | None, scores: Scores,
    outs: list[Out], chunked: bool, shape: Shape, splits: int, inputs: int, device: Capability, scratch: int = 0,
) -> Launch:  # fmt: skip
    """The main kernel; its outputs are the plan's, or with splits the parts from operand number `scratch` on."""
    batch, heads, queries, width = q.shape
    keys, results = v.shape[2:]
    tiles = -(-queries // shape.rows)
    tiled = batch * heads * tiles
    steps = -(-keys // shape.keys)
    numbers: dict[str, int] = {
        "groups": tiled * splits, "tiled": tiled, "tiles": tiles, "planes": batch * heads, "heads": heads,
        "group": heads // k.shape[1], "queries": queries, "keys": keys, "width": width, "results": results,
        "offset": scores.offset, "span": -(-steps // splits) * shape.keys,
    }  # fmt: skip
    prelude = Prelude()
    prelude.alias("V", "f32")
    wide = wide_rows(q, k, v)
    numbers |= _operands(prelude, dtype, wide, {"q": q, "k": k, "v": v})
    for name, extra in (("m", mask), ("b", bias)):
        if extra is not None:
            prelude.storage(name, extra.dtype)
            strides = extra.layout.expand((batch, heads, queries, keys)).strides
            numbers |= {f"{name}_{x}": s for x, s in zip("nhqk", strides, strict=True)}
            numbers[f"{name}_at"] = extra.layout.offset
    prelude.storage("out", outs[0].dtype, "chunk" if chunked else "element")
    if len(outs) == 2:
        prelude.storage("lse", outs[1].dtype)
        prelude.text("fn put_logsumexp(line: u32, place: u32, v: f32) { if (place == 0u) { store_lse(line, v); } }")
    else:
        prelude.text("fn put_logsumexp(line: u32, place: u32, v: f32) {}")
    prelude.text(f"const LOWEST: f32 = {_LOWEST};")
    prelude.text(f"const SMALLEST: f32 = {_SMALLEST};")
    flash_text(
        prelude, shape, scores.softcap is not None, scores.causal, mask is not None, bias is not None, chunked, wide
    )
    first = scratch or inputs
    operands = (*range(inputs), *range(first, first + len(outs)))
    return _launch(
        "attention/flash", prelude, shape, operands, numbers, scores.floats(), tiled * splits, scores.causal, device
    )


def _merge(
    lines: int, results: int, splits: int, outs: list[Out], inputs: int, chunked: bool, device: Capability
) -> Launch:
    prelude = Prelude()
    prelude.alias("V", "f32")
    prelude.storage("part", dt.F32, "chunk" if chunked else "element")
    prelude.storage("partial", dt.F32)
    prelude.storage("out", outs[0].dtype, "chunk" if chunked else "element")
    if len(outs) == 2:
        prelude.storage("lse", outs[1].dtype)
        body = ["    if (column == 0u) { store_lse(line, v); }"]
    else:
        body = []
    function(prelude, "put_logsumexp(line: u32, column: u32, v: f32)", body)
    if chunked:
        body = ["    let p = load4_part((line * params.results + column) / 4u);"]
        body.append("    return vec4<f32>(p[0], p[1], p[2], p[3]);")
    else:
        body = ["    let last = params.results - 1u;"]
        four = ", ".join(f"load_part(line * params.results + min(column + {e}u, last))" for e in range(4))
        body.append(f"    return vec4<f32>({four});")
    function(prelude, "read4_part(line: u32, column: u32) -> vec4<f32>", body)
    put4(prelude, "out", "results", chunked)
    prelude.const("THREADS", THREADS)
    numbers = {"lines": lines, "results": results, "fours": -(-results // 4), "splits": splits}
    scratch = inputs + len(outs)
    operands = (scratch, scratch + 1, *range(inputs, scratch))
    grid = fold(-(-lines * numbers["fours"] // THREADS), device)
    return _finish("attention/merge", prelude, 0, THREADS, operands, numbers, {}, grid)


def attention_grads_plan(
    q: Layout,
    k: Layout,
    v: Layout,
    grad: Layout,
    output: Layout,
    dtype: DType,
    statistic: DType,
    scores: Scores,
    device: Capability,
    query_shape: Shape | None = None,
    key_shape: Shape | None = None,
) -> Plan:
    """q, k, v, the output's gradient, the output, and packed logsumexp [N, H, Sq] → dq, dk, dv, packed.

    All of `dtype`, logsumexp of `statistic`. Results are f32 for halves whose rows do not fill words. Every size is
    above 0 (`grad_fits`).
    """
    batch, heads, queries, width = q.shape
    shared, keys, results = v.shape[1:]
    sides = tuple(x % 4 == 0 for x in (width, results))
    kinds = [dtype if side else dt.F64 if dtype is dt.F64 else dt.F32 for side in sides]
    outs = (
        Out.of((batch, heads, queries, width), kinds[0]), Out.of((batch, shared, keys, width), kinds[0]),
        Out.of((batch, shared, keys, results), kinds[1]),
    )  # fmt: skip
    wide = wide_rows(q, k, v, grad, output)
    capped = scores.softcap is not None
    sizes = {
        "heads": heads, "group": heads // shared, "queries": queries, "keys": keys, "width": width, "results": results,
        "offset": scores.offset,
    }  # fmt: skip

    shapes = grad_shapes(max(width, results), device)
    shape = query_shape or shapes[0]
    tiles = -(-queries // shape.rows)
    prelude = Prelude()
    prelude.alias("V", "f32")
    strides = _operands(prelude, dtype, wide, {"q": q, "k": k, "v": v, "g": grad, "y": output})
    prelude.storage("lse", statistic)
    prelude.storage("out", kinds[0], "chunk" if sides[0] else "element")
    prelude.storage("delta", dt.F32)
    query_grad_text(prelude, shape, capped, scores.causal, sides[0], wide)
    groups = batch * heads * tiles
    first = _launch(
        "attention/query_grad", prelude, shape, (0, 1, 2, 3, 4, 5, 6, 9),
        {"groups": groups, "tiles": tiles, **sizes, **strides}, scores.floats(), groups, scores.causal, device,
    )  # fmt: skip

    shape = key_shape or shapes[1]
    tiles = -(-keys // shape.rows)
    prelude = Prelude()
    prelude.alias("V", "f32")
    strides = _operands(prelude, dtype, wide, {"q": q, "k": k, "v": v, "g": grad})
    prelude.storage("lse", statistic)
    prelude.storage("delta", dt.F32)
    prelude.storage("dk", kinds[0], "chunk" if sides[0] else "element")
    prelude.storage("dv", kinds[1], "chunk" if sides[1] else "element")
    key_grad_text(prelude, shape, capped, scores.causal, sides, wide)
    groups = batch * shared * tiles
    second = _launch(
        "attention/key_grad", prelude, shape, (0, 1, 2, 3, 5, 9, 7, 8),
        {"groups": groups, "tiles": tiles, **sizes, **strides}, scores.floats(), groups, scores.causal, device,
    )  # fmt: skip
    return Plan("attention_backward", 6, outs, (first, second), (4 * prod(q.shape[:3]),))


def variants(device: Capability) -> Iterator[Plan]:
    """Every workgroup shape with every option in f32, every dtype with every option in one shape."""
    for results in (64, 32, 66, 128, 200):
        for dtype in (dt.F32, dt.F16, dt.BF16, dt.F64) if results == 64 else (dt.F32,):
            yield from _forward_variants(results, dtype, device)
    for width in (64, 66, 128, 200):
        for dtype in (dt.F32, dt.F16, dt.BF16, dt.F64) if width == 64 else (dt.F32,):
            yield from _backward_variants(width, dtype, device)
    yield from _backward_variants(66, dt.F16, device)  # rows that share words


_PLAIN, _CAPPED = Scores(0.125, None, False, 0), Scores(0.125, 20.0, True, 3)


def _forward_variants(results: int, dtype: DType, device: Capability) -> Iterator[Plan]:
    k, v, square = Layout.dense((2, 2, 90, 64)), Layout.dense((2, 2, 90, results)), Layout.dense((2, 4, 70, 90))
    apart = Layout.dense((2, 2, 64, 90)).swap_dims(2, 3)
    q, some, one = (Layout.dense((2, 4, queries, 64)) for queries in (70, 20, 1))
    yield attention_plan(q, k, v, dtype, None, None, _PLAIN, False, device)
    yield attention_plan(q, apart, v, dtype, None, None, _PLAIN, False, device)
    yield attention_plan(q, k, v, dtype, None, None, _CAPPED, True, device)
    yield attention_plan(some, k, v, dtype, None, None, _PLAIN, False, device)
    for kind in (dt.BOOL_U8, dt.BOOL_U32):
        yield attention_plan(q, k, v, dtype, Operand(square, kind), Operand(square, dtype), _CAPPED, False, device)
    for logsumexp in (False, True):
        yield attention_plan(one, k, v, dtype, None, None, _PLAIN, logsumexp, device, splits=2)


def _backward_variants(width: int, dtype: DType, device: Capability) -> Iterator[Plan]:
    q, k, v = (Layout.dense((2, heads, 70, width)) for heads in (4, 2, 2))
    turned = Layout.dense((2, 4, width, 70)).swap_dims(2, 3)
    statistic = dt.F64 if dtype is dt.F64 else dt.F32
    for grad, scores in ((q, _PLAIN), (q, _CAPPED), (turned, _PLAIN)):
        yield attention_grads_plan(q, k, v, grad, q, dtype, statistic, scores, device)
