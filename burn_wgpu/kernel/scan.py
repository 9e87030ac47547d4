"""Running sums, products, maxima and minima along any axis: reduce, then scan.

Lanes that are rows of the output are scanned by teams (shaders/scan/rows.wgsl), other lanes by one invocation for each
column or four of them (columns.wgsl). Lanes that are long where lanes are few are cut into parts: one launch folds
every part, the next scans the parts and begins each with the totals before it. No workgroup waits for another.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, get_args

from burn_wgpu.kernel.lanes import Lanes
from burn_wgpu.kernel.reduce import (
    SHAPES,
    WORKGROUP,
    Domain,
    Fields,
    Fold,
    fold_kind,
    fold_launches,
    fold_of,
    power,
    value_dtypes,
)
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import KernelKey, Launch, Out, Plan, fold
from burn_wgpu.shader.prelude import Prelude, WordKind, words
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.layout import Layout

How = Literal["sum", "prod", "max", "min"]
Algorithm = Literal["rows", "columns"]

BLOCK = 4 * WORKGROUP
MAX_PARTS = 256
# Invocations, or workgroups of rows, that fill a large device.
ENOUGH_COLUMNS = 1 << 16
ENOUGH_GROUPS = 1024
# An invocation's loop ends below this; software adapters of today stop at 65,535 iterations.
MAX_STEPS = 50_000
# Blocks of a row that one workgroup walks, with up to nine turns of loops each.
MAX_BLOCKS = 5_000


def scan_plan(
    operation: str, how: How, layout: Layout, dtype: DType, dim: int, device: Capability, parts: int | None = None
) -> Plan:
    """The running fold along dim, row-major, of the same shape and dtype. `parts` forces the cut.

    Floats are accumulated in f32 and rounded once an element; from the first NaN on, extrema are NaN. Integers wrap.
    """
    out = Out.of(layout.shape, dtype)
    if layout.size == 0:
        return Plan(operation, 1, (out,), ())
    what, kind = fold_of(how, dtype), fold_kind(how, dtype)
    lanes = Lanes.of(layout, dim)
    domain = Domain.of(layout, (dim,), ordered=True)
    algorithm: Algorithm = "rows" if lanes.inner == 1 else "columns"
    chunks = domain.chunked(algorithm)
    four = lanes.length % 4 == 0 if algorithm == "rows" else chunks is not None and lanes.inner % 4 == 0
    # Lanes of a packed dtype that share words: accumulators come first and are packed after.
    settle = kind.lanes > 1 and not four
    cut = _cut(lanes, algorithm, lanes.count // 4 if four and algorithm == "columns" else lanes.count, parts)
    if cut < lanes.length:
        launches, scratch = fold_launches(
            what, [kind], domain, None, device, (0,), (), 2, None, None, (), cut
        )  # accumulators [parts, lanes], operand 2
    else:
        launches, scratch = [], []
    if settle:
        scratch.append(layout.size * what.bytes)
    target = 1 + len(scratch) if settle else 1
    where = domain if algorithm == "columns" and not four else chunks or domain
    launches.append(_scan(what, kind, where, where is chunks, four, lanes, algorithm, cut, settle, target, device))
    if settle:
        launches.append(_settle(what, kind, layout.size, target, device))
    return Plan(operation, 1, (out,), tuple(launches), tuple(scratch))


def _cut(lanes: Lanes, algorithm: Algorithm, walkers: int, parts: int | None) -> int:
    """How many elements of a lane one part has; all of them when walkers (rows, or invocations) are many enough."""
    length = lanes.length
    if algorithm == "rows":
        blocks = -(-length // BLOCK)
        if parts is None:
            wanted = ENOUGH_GROUPS // walkers if blocks > 4 else 1
            parts = max(1, min(wanted, blocks // 2), -(-blocks // MAX_BLOCKS))
        return -(-blocks // min(parts, blocks)) * BLOCK
    if parts is None:
        wanted = 1 if walkers >= ENOUGH_COLUMNS // 4 else ENOUGH_COLUMNS // walkers
        parts = max(1, min(wanted, length // 64, MAX_PARTS))
        parts = max(parts, -(-length // MAX_STEPS))
    return -(-length // (4 * parts)) * 4


def _value(what: Fold, kind_value: str) -> str:
    expression = "a" if what.name in ("sum", "prod") else "unkey(a)"
    four = ", ".join(f"value(a[{k}])" for k in range(4))
    return (
        f"fn value(a: A) -> {kind_value} {{ return {expression}; }}\n"
        f"fn values(a: array<A, 4>) -> array<{kind_value}, 4> {{ return array<{kind_value}, 4>({four}); }}"
    )


def _scan(
    what: Fold, kind: WordKind, where: Domain, chunked: bool, four: bool, lanes: Lanes, algorithm: Algorithm, cut: int,
    settle: bool, target: int, device: Capability,
) -> Launch:  # fmt: skip
    """The launch that scans. where: in chunks of four elements if `chunked`; four: the output is stored in chunks."""
    columns = 4 if algorithm == "columns" and four else 1
    parts = -(-lanes.length // cut)

    team = min(WORKGROUP, power(-(-lanes.length // 4)))
    per_group = WORKGROUP // team if algorithm == "rows" else WORKGROUP * columns
    groups = -(-lanes.count // per_group)
    fields = Fields()
    for name, number in (
        ("groups", groups), ("parts", parts), ("span", cut), ("length", lanes.length), ("outputs", lanes.count),
    ):  # fmt: skip
        fields.add(name, number)
    prelude = Prelude()
    prelude.alias("V", kind.value)
    prelude.storage("x", kind, "chunk" if chunked else "element")
    operands = [0]
    body = [fields.index("keep_at", *where.keep, where.offset), fields.index("red_at", *where.reduced)]
    if parts > 1:
        prelude.raw_storage("totals", "array<A>")
        operands.append(2)
        body.append("fn total(part: u32, o: u32) -> A { return totals[part * params.outputs + o]; }")
    else:
        body.append("fn total(part: u32, o: u32) -> A { return identity(); }")
    prelude.const("PARTED", parts > 1)
    if settle:
        prelude.raw_storage("out", "array<A>")
        body.append("fn write(i: u32, a: A) { out[i] = a; }")
    else:
        prelude.storage("out", kind, "chunk" if four else "element")
        if not four:
            body.append("fn write(i: u32, a: A) { store_out(i, value(a)); }")
    operands.append(target)
    body.append(_value(what, kind.value))
    if algorithm == "columns":
        fields.add("inner", lanes.inner)
    body.append(_row_access(chunked, four) if algorithm == "rows" else _column_access(columns))
    prelude.text(what.text)
    prelude.params(**fields.kinds)
    for text in body:
        prelude.text(text)
    prelude.const("WORKGROUP", WORKGROUP)
    if algorithm == "rows":
        prelude.const("TEAM", team)
    else:
        prelude.const("COLS", columns)
    prelude.use(*what.files)
    grid = fold(groups * parts, device)
    key = KernelKey(
        f"scan/{algorithm}", prelude.build(), tuple(prelude.uses), prelude.bindings,
        what.bytes * WORKGROUP if algorithm == "rows" else 0, WORKGROUP, frozenset(prelude.features), trusted=True,
    )  # fmt: skip
    return Launch(key, tuple(operands), words(grid[0], *fields.values), grid)


def _row_access(chunked: bool, four: bool) -> str:
    """`items` and `place` of four elements of a row from j on; beyond its end there is nothing."""
    if chunked:
        reads = ", ".join(f"lift(p[{k}], j)" for k in range(4))
        items = (
            "fn items(base: u32, j: u32) -> array<A, 4> {\n"
            "    let p = load4_x(base + red_at(min(j, params.length - 4u) >> 2u));\n"
            f"    return array<A, 4>({reads});\n}}"
        )
    else:
        items = (
            "fn item(base: u32, j: u32) -> A {\n"
            "    let a = lift(load_x(base + red_at(min(j, params.length - 1u))), j);\n"
            "    if (j < params.length) { return a; }\n    return identity();\n}\n"
            "fn items(base: u32, j: u32) -> array<A, 4> { return array<A, 4>("
            "item(base, j), item(base, j + 1u), item(base, j + 2u), item(base, j + 3u)); }"
        )
    if four:
        place = "fn place(o: u32, j: u32, a: array<A, 4>) { store4_out((o * params.length + j) >> 2u, values(a)); }"
    else:
        writes = "\n".join(f"    if (j + {k}u < params.length) {{ write(i + {k}u, a[{k}]); }}" for k in range(4))
        place = "fn place(o: u32, j: u32, a: array<A, 4>) {\n    let i = o * params.length + j;\n" + writes + "\n}"
    return items + "\n" + place


def _column_access(columns: int) -> str:
    """`cells` and `place` of one element, or of four neighbouring lanes, at place j."""
    load = "load4_x" if columns == 4 else "load_x"
    made = ", ".join(f"lift(p{f'[{k}]' if columns == 4 else ''}, j)" for k in range(columns))
    cells = (
        f"fn cells(base: u32, j: u32, o: u32) -> array<A, {columns}> {{\n"
        f"    let p = {load}(base + red_at(j));\n    return array<A, {columns}>({made});\n}}"
    )
    if columns == 4:
        store = "store4_out(i, values(a));"
    else:
        store = "write(i, a[0]);"
    place = (
        f"fn place(c: u32, j: u32, a: array<A, {columns}>) {{\n"
        f"    let inner = params.inner / {columns}u;\n    let outer = c / inner;\n"
        f"    let i = (outer * params.length + j) * inner + (c - outer * inner);\n    {store}\n}}"
    )
    return cells + "\n" + place


def _settle(what: Fold, kind: WordKind, size: int, source: int, device: Capability) -> Launch:
    prelude = Prelude()
    prelude.alias("V", kind.value)
    prelude.raw_storage("scanned", "array<A>")
    prelude.storage("out", kind, "chunk")
    prelude.text(what.text)
    prelude.text(_value(what, kind.value))
    prelude.params(groups_x="u32", chunks="u32", last="u32")
    prelude.const("WORKGROUP", WORKGROUP)
    prelude.use(*what.files)
    chunks = -(-size // 4)
    grid = fold(-(-chunks // WORKGROUP), device)
    key = KernelKey(
        "scan/settle", prelude.build(), tuple(prelude.uses), prelude.bindings, 0, WORKGROUP,
        frozenset(prelude.features), trusted=True,
    )  # fmt: skip
    return Launch(key, (source, 1), words(grid[0], chunks, size - 1), grid)


def variants(device: Capability) -> Iterator[Plan]:
    """Each running fold over each kind of value, along rows and columns, whole and cut into parts."""
    for dtype in value_dtypes(device):
        for shape in (*SHAPES, (5, 7, 3)):
            for dim in range(len(shape)):
                for how in get_args(How):
                    yield scan_plan(how, how, Layout.dense(shape), dtype, dim, device)
