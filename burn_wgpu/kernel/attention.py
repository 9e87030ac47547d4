"""Scaled dot-product attention and its gradient without the scores in memory.

The forward pass (attention/flash.wgsl) is one kernel. The gradient is two: one goes over the keys of each query
(query_grad.wgsl), one over the queries of each key (key_grad.wgsl). Where that would be too few workgroups, or too long
loops, sums are split, and one more kernel puts the parts together (merge.wgsl, add_parts.wgsl). Query heads of a group
read the same key head. Softmax and sums are in f32, every sum in a fixed order. A query that sees nothing gives 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Literal

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
_GROUPS, _GRAD_GROUPS = 1024, 512
"""Workgroups that keep a large device busy, forward and backward."""
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


def _step(shape: Shape, width: int) -> int:
    """Loop iterations for one step of keys in the forward pass."""
    return shape.steps(width) + shape.apply_steps + 1


def _grad_step(shape: Shape, width: int, results: int) -> int:
    return shape.steps(width) + shape.steps(results) + 2 * shape.apply_steps + 1


def fits(width: int, keys: int, results: int, device: Capability) -> bool:
    """Whether `attention_plan` takes these sizes."""
    if not 0 < results <= MOST_RESULTS or keys == 0 or width == 0:
        return False
    return all(_step(shape_for(results, queries, device), width) <= MOST_STEPS for queries in (1, 32, 64))


def grad_fits(q: tuple[int, ...], k: tuple[int, ...], v: tuple[int, ...]) -> bool:
    """Whether `attention_grads_plan` takes operands of these sizes."""
    return 0 not in (*q, *k, *v) and max(q[3], v[3]) <= MOST_RESULTS


def _splits(groups: int, steps: int, each: int, least: int, wanted: int) -> tuple[int, int]:
    """How often to split `steps` steps of `each` loop iterations, and how many of them are then in a split.

    So often that about `wanted` workgroups keep the device busy with `least` steps or more, and no loop is too long.
    """
    splits = max(1, min(wanted // groups, steps // least))
    span = min(-(-steps // splits), MOST_STEPS // each)
    return -(-steps // span), span


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
    steps, least = -(-k.shape[2] // shape.keys), 2 if shape.rows <= _FEW else 4
    if splits is None:
        splits, span = _splits(groups, steps, _step(shape, q.shape[3]), least, _GROUPS)
    else:
        span = -(-steps // splits)
    span *= shape.keys
    if splits == 1:
        launch = _flash(q, k, v, dtype, mask, bias, scores, outs, chunked, shape, (1, span), inputs, device)
        return Plan("attention", inputs, tuple(outs), (launch,))
    lines = batch * heads * queries
    parts = [Out.of((splits, lines, results), dt.F32), Out.of((splits, lines), dt.F32)]
    launch = _flash(
        q, k, v, dtype, mask, bias, scores, parts, chunked, shape, (splits, span), inputs, device, inputs + len(outs)
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
    outs: list[Out], chunked: bool, shape: Shape, split: tuple[int, int], inputs: int, device: Capability,
    scratch: int = 0,
) -> Launch:  # fmt: skip
    """The main kernel; its outputs are the plan's, or with splits the parts from operand number `scratch` on.

    split: their number, and keys of each
    """
    batch, heads, queries, width = q.shape
    keys, results = v.shape[2:]
    tiles = -(-queries // shape.rows)
    tiled = batch * heads * tiles
    splits, span = split
    numbers: dict[str, int] = {
        "groups": tiled * splits, "tiled": tiled, "tiles": tiles, "planes": batch * heads, "heads": heads,
        "group": heads // k.shape[1], "queries": queries, "keys": keys, "width": width, "results": results,
        "offset": scores.offset, "span": span,
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
    splits: int | None = None,
) -> Plan:
    """q, k, v, the output's gradient, the output, and packed logsumexp [N, H, Sq] → dq, dk, dv, packed.

    All of `dtype`, logsumexp of `statistic`. Results are f32 for halves whose rows do not fill words. Every size is
    above 0 (`grad_fits`). Shapes and `splits` are chosen unless given.
    """
    batch, heads, queries, width = q.shape
    shared, keys, results = v.shape[1:]
    sides = width % 4 == 0, results % 4 == 0
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

    scratch, parts, finals = [4 * prod(q.shape[:3])], [], []

    def split(shape: Shape, lines: int, steps: int, planes: int) -> tuple[dict[str, int], int]:
        """The numbers of workgroups of one kernel, and its splits."""
        tiles = -(-lines // shape.rows)
        times, span = _splits(planes * tiles, steps, _grad_step(shape, width, results), 4, _GRAD_GROUPS)
        if splits is not None:
            times, span = splits, -(-steps // splits)
        found = {"groups": planes * tiles * times, "tiled": planes * tiles, "tiles": tiles, "planes": planes}
        return found | {"splits": times, "span": span * shape.keys}, times

    def place(number: int, times: int) -> tuple[int, DType]:
        """The operand that gradient `number` goes to, and its dtype: the output, or a part for each split."""
        if times == 1:
            return 6 + number, outs[number].dtype
        size = outs[number].layout.size
        scratch.append(4 * times * size)
        operand_number = 6 + len(outs) + len(scratch) - 1
        parts.append((operand_number, 6 + number, times, size, sides[number == 2], outs[number].dtype))
        return operand_number, dt.F32

    shapes = grad_shapes(max(width, results), device)
    shape = query_shape or shapes[0]
    counts, times = split(shape, queries, -(-keys // shape.keys), batch * heads)
    to, kind = place(0, times)
    prelude = Prelude()
    prelude.alias("V", "f32")
    strides = _operands(prelude, dtype, wide, {"q": q, "k": k, "v": v, "g": grad, "y": output})
    prelude.storage("lse", statistic)
    prelude.storage("out", kind, "chunk" if sides[0] else "element")
    prelude.storage("delta", dt.F32)
    query_grad_text(prelude, shape, capped, scores.causal, sides[0], wide)
    finals.append(
        _launch(
            "attention/query_grad",
            prelude,
            shape,
            (0, 1, 2, 3, 4, 5, to, 9),
            counts | sizes | strides,
            scores.floats(),
            counts["groups"],
            scores.causal,
            device,
        )  # fmt: skip
    )

    shape = key_shape or shapes[1]
    counts, times = split(shape, keys, heads // shared * -(-queries // shape.keys), batch * shared)
    (to_k, kind_k), (to_v, kind_v) = place(1, times), place(2, times)
    prelude = Prelude()
    prelude.alias("V", "f32")
    strides = _operands(prelude, dtype, wide, {"q": q, "k": k, "v": v, "g": grad})
    prelude.storage("lse", statistic)
    prelude.storage("delta", dt.F32)
    prelude.storage("dk", kind_k, "chunk" if sides[0] else "element")
    prelude.storage("dv", kind_v, "chunk" if sides[1] else "element")
    key_grad_text(prelude, shape, capped, scores.causal, sides, wide)
    finals.append(
        _launch(
            "attention/key_grad",
            prelude,
            shape,
            (0, 1, 2, 3, 5, 9, to_k, to_v),
            counts | sizes | strides,
            scores.floats(),
            counts["groups"],
            scores.causal,
            device,
        )  # fmt: skip
    )
    if parts:
        finals.append(_add_parts(parts, device))
    return Plan("attention_backward", 6, outs, tuple(finals), tuple(scratch))


def _add_parts(parts: list[tuple[int, int, int, int, bool, DType]], device: Capability) -> Launch:
    """parts: operands of the parts and of their sum, number of parts, elements of the sum, whether in chunks, dtype."""
    prelude = Prelude()
    prelude.alias("V", "f32")
    numbers: dict[str, int] = {}
    operands: list[int] = []
    choice = ["    var c = thread;"]
    threads = 0
    for i, (source, target, times, size, chunked, dtype) in enumerate(parts):
        access: Literal["element", "chunk"] = "chunk" if chunked else "element"
        prelude.storage(f"part{i}", dt.F32, access)
        prelude.storage(f"sum{i}", dtype, access)
        operands += [source, target]
        numbers |= {f"times{i}": times, f"size{i}": size}
        if chunked:
            body = [
                "    var total = vec4<f32>();",
                f"    for (var s = 0u; s < params.times{i}; s++) {{",
                f"        let p = load4_part{i}(s * (params.size{i} / 4u) + c);",
                "        total += vec4<f32>(p[0], p[1], p[2], p[3]);",
                "    }",
                f"    store4_sum{i}(c, array<f32, 4>(total.x, total.y, total.z, total.w));",
            ]
        else:
            body = [
                f"    for (var e = 4u * c; e < min(4u * c + 4u, params.size{i}); e++) {{",
                "        var total = 0.0;",
                f"        for (var s = 0u; s < params.times{i}; s++) {{",
                f"            total += load_part{i}(s * params.size{i} + e);",
                "        }",
                f"        store_sum{i}(e, total);",
                "    }",
            ]
        function(prelude, f"add{i}(c: u32)", body)
        count = f"(params.size{i} + 3u) / 4u"
        choice += [f"    if (c < {count}) {{", f"        add{i}(c);", "        return;", "    }", f"    c -= {count};"]
        threads += -(-size // 4)
    function(prelude, "add(thread: u32)", choice)
    prelude.const("THREADS", THREADS)
    grid = fold(-(-threads // THREADS), device)
    return _finish("attention/add_parts", prelude, 0, THREADS, tuple(operands), numbers, {}, grid)


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
    for grad, scores, splits in ((q, _PLAIN, 1), (q, _CAPPED, 1), (turned, _PLAIN, 1), (q, _PLAIN, 2)):
        yield attention_grads_plan(q, k, v, grad, q, dtype, statistic, scores, device, splits=splits)
