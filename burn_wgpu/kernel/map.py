"""Elementwise kernels: one skeleton (shaders/elementwise/map.wgsl), any function, any layout of the operands.

Each operand is read in the cheapest of four ways: `dense` (four neighbours in one load), `row` (the same, its chunk
found by dividing the index), `splat` (one value per chunk), `gather` (an index per element).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from burn_wgpu.shader import fault
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.fault import FAULT_OPERAND
from burn_wgpu.shader.launch import KernelKey, Launch, Out, Plan, fold
from burn_wgpu.shader.prelude import Prelude, WordKind, raw_kind, word_kind, words
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.layout import Layout, Shape, collapse_together

WORKGROUP = 256
MAX_PARAM_WORDS = 60
_TWO_WORDS = ("i64", "u64", "vec2<u32>")


@dataclass(frozen=True, slots=True)
class Function:
    """A WGSL function of the operands' values and the scalars.

    name    called as name(x0, x1, …, s0, s1, …)
    files   library files that define it
    value   what the alias V stands for inside them
    result  its value type
    consts  u32 and bool constants that the files need
    fault   a WGSL predicate of the same arguments: where it is true a division by zero is reported
    """

    name: str
    files: tuple[str, ...]
    value: str
    result: str
    consts: tuple[tuple[str, int | bool], ...] = ()
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor operand: how it lies and what it holds."""

    layout: Layout
    kind: DType | WordKind


def map_plan(
    operation: str,
    function: Function,
    operands: Sequence[Operand],
    shape: Shape,
    out: DType,
    device: Capability,
    scalars: Sequence[str] = (),
    out_kind: WordKind | None = None,
) -> Plan | None:
    """One kernel for `function` over operands that broadcast to `shape`; the output is row-major of dtype `out`.

    scalars: WGSL types of the trailing numbers (each 4 bytes, 64-bit ones 8), which the caller appends at each call.
    None when the operands' layouts need more parameters than a slot holds: make one of them contiguous first.
    """
    result = Out.of(shape, out)
    if result.layout.size == 0:
        return Plan(operation, len(operands), (result,), ())
    expanded = [op.layout.expand(shape) for op in operands]
    axes, strides = collapse_together([result.layout, *expanded])
    strides = strides[1:]
    ways = [_way(layout, axes, row) for layout, row in zip(expanded, strides, strict=True)]

    prelude = Prelude()
    prelude.alias("V", function.value)
    for const, number in function.consts:
        prelude.const(const, number)
    fields: dict[str, str] = {"groups_x": "u32", "chunks": "u32"}
    values: list[int | float] = []
    rank = len(axes)
    if any(way != "dense" for way in ways):
        for axis in range(1, rank):
            fields[f"d{axis}"] = "u32"
            values.append(axes[axis])
    if any(way == "gather" for way in ways):
        fields["last"] = "u32"  # the last chunk may stand for fewer elements: clamp instead of reading past a buffer
        values.append(result.layout.size - 1)
    body, arguments = [], []
    for i, (op, layout, row, way) in enumerate(zip(operands, expanded, strides, ways, strict=True)):
        name = f"x{i}"
        kind = word_kind(op.kind)
        prelude.storage(name, kind, "chunk" if way in ("dense", "row") else "element")
        unit = 4 if way in ("dense", "row") else 1
        fields[f"{name}_at"] = "u32"
        values.append(layout.offset // unit)
        if way != "dense":
            for axis in range(rank):
                fields[f"{name}_s{axis}"] = "u32"
                last = way == "row" and axis == rank - 1
                values.append(1 if last else row[axis] // unit)
        prelude.text(_reader(name, kind.value, way, rank))
        body.append(f"    let {name}v = get_{name}(c);")
        arguments.append(f"{name}v")

    if len(fields) + 2 * len(scalars) > MAX_PARAM_WORDS:
        return None

    prelude.storage("out", out_kind or out, "chunk")
    if function.fault:
        prelude.raw_storage("faults", "array<atomic<u32>>")
        prelude.use("lib/fault")
        fields["size"], fields["fault_code"] = "u32", "u32"
        values += [result.layout.size, fault.code("division", operation)]
    scalar_words = 0
    for i, kind_name in enumerate(scalars):
        if kind_name in _TWO_WORDS:
            fields[f"s{i}_lo"], fields[f"s{i}_hi"] = "u32", "u32"
            scalar_words += 2
        else:
            fields[f"s{i}"] = "u32" if kind_name == "bool" else kind_name
            scalar_words += 1
    prelude.params(**fields)
    for i, kind_name in enumerate(scalars):
        body.append(f"    let s{i} = {_scalar(i, kind_name)};")
    calls = []
    for lane in range(4):
        args = [f"{a}[{lane}]" for a in arguments] + [f"s{i}" for i in range(len(scalars))]
        calls.append(f"{function.name}({', '.join(args)})")
        if function.fault:  # not of the padding behind the last element
            body.append(
                f"    if ({function.fault}({', '.join(args)}) && 4u * c + {lane}u < params.size) "
                "{ report(params.fault_code, vec2<u32>(0u, 0u), 0u); }"
            )
    body.append(f"    return array<{function.result}, 4>({', '.join(calls)});")
    prelude.text(f"fn apply4(c: u32) -> array<{function.result}, 4> {{\n" + "\n".join(body) + "\n}")

    chunks = -(-result.layout.size // 4)
    per_thread = 4 if chunks >= 1 << 16 else 1
    prelude.const("WORKGROUP", WORKGROUP)
    prelude.const("CHUNKS", per_thread)
    prelude.use(*function.files)
    grid = fold(-(-chunks // (WORKGROUP * per_thread)), device)
    key = KernelKey(
        "elementwise/map", prelude.build(), tuple(prelude.uses), prelude.bindings, 0, WORKGROUP,
        frozenset(prelude.features), trusted=True,
    )  # fmt: skip
    params = words(grid[0], chunks, *values)
    places = tuple(range(len(operands) + 1))
    if function.fault:
        places = (*places, FAULT_OPERAND)
    launch = Launch(key, places, params, grid, scalar_words)
    return Plan(operation, len(operands), (result,), (launch,), flags=bool(function.fault))


def copy_plan(layout: Layout, dtype: DType, device: Capability, operation: str = "contiguous") -> Plan:
    """The elements of a view, row-major in a buffer of their own; bits are moved, not converted."""
    kind = raw_kind(dtype.size_bytes)
    function = Function("keep", ("lib/keep",), kind.value, kind.value)
    plan = map_plan(operation, function, [Operand(layout, kind)], layout.shape, dtype, device, out_kind=kind)
    assert plan is not None  # one operand of rank 16 needs 34 words
    return plan


def _way(layout: Layout, axes: Shape, strides: Shape) -> str:
    """The cheapest way to read an operand, see the module."""
    if layout.contiguous and layout.offset % 4 == 0:
        return "dense"
    rank = len(axes)
    if rank == 0 or (rank == 1 and strides[0] == 0):
        return "splat"
    whole = axes[-1] % 4 == 0
    if whole and strides[-1] == 1 and layout.offset % 4 == 0 and all(s % 4 == 0 for s in strides[:-1]):
        return "row"
    if whole and strides[-1] == 0:
        return "splat"
    return "gather"


def _reader(name: str, value: str, way: str, rank: int) -> str:
    """`get_NAME(c) -> array<value, 4>`: the operand's four values for output chunk c."""
    four = f"array<{value}, 4>"
    if way == "dense":
        return f"fn get_{name}(c: u32) -> {four} {{ return load4_{name}(params.{name}_at + c); }}"
    if way == "gather":
        return (
            f"fn at_{name}(i: u32) -> u32 {{\n{_index(name, 'i', rank, chunked=False)}}}\n"
            f"fn get_{name}(c: u32) -> {four} {{\n    let i = 4u * c;\n"
            f"    return {four}(load_{name}(at_{name}(i)), load_{name}(at_{name}(min(i + 1u, params.last))), "
            f"load_{name}(at_{name}(min(i + 2u, params.last))), load_{name}(at_{name}(min(i + 3u, params.last))));\n}}"
        )
    head = f"fn at_{name}(c: u32) -> u32 {{\n{_index(name, 'c', rank, chunked=True)}}}\n"
    if way == "row":
        return head + f"fn get_{name}(c: u32) -> {four} {{ return load4_{name}(at_{name}(c)); }}"
    return head + f"fn get_{name}(c: u32) -> {four} {{ let v = load_{name}(at_{name}(c)); return {four}(v, v, v, v); }}"


def _index(name: str, variable: str, rank: int, chunked: bool) -> str:
    """WGSL lines that turn a flat index (of an element, or of a chunk of four) into the operand's place."""
    lines = [f"    var left = {variable};", f"    var place = params.{name}_at;"]
    for axis in range(rank - 1, 0, -1):
        size = f"(params.d{axis} / 4u)" if chunked and axis == rank - 1 else f"params.d{axis}"
        lines.append(f"    place += (left % {size}) * params.{name}_s{axis};")
        lines.append(f"    left = left / {size};")
    if rank:
        lines.append(f"    place += left * params.{name}_s0;")
    lines.append("    return place;")
    return "\n".join(lines) + "\n"


def _scalar(index: int, kind: str) -> str:
    if kind == "bool":
        return f"params.s{index} != 0u"
    if kind == "vec2<u32>":
        return f"vec2<u32>(params.s{index}_lo, params.s{index}_hi)"
    if kind in ("i64", "u64"):
        joined = f"(u64(params.s{index}_lo) | (u64(params.s{index}_hi) << 32u))"
        return joined if kind == "u64" else f"i64{joined}"
    return f"params.s{index}"


def variants(device: Capability) -> Iterator[Plan]:
    """The skeleton with each way of reading an operand, over each width of element."""
    keep = ("lib/keep",)
    dense = Layout.dense((8, 16))
    ways = (
        dense,
        Layout.of((8, 16), (32, 1), 4),  # row
        Layout.of((8, 16), (1, 0), 0),  # splat
        Layout.of((8, 16), (0, 0), 3),  # one value
        Layout.of((8, 16), (1, 8), 1),  # gather
        Layout.of((2, 4, 2, 4, 3), (200, 40, 12, 3, 1), 0).expand((2, 4, 2, 4, 3)),
    )
    for size in (1, 2, 4, 8):
        kind = raw_kind(size)
        function = Function("keep", keep, kind.value, kind.value)
        for layout in ways:
            out = {1: dt.U8, 2: dt.U16, 4: dt.U32, 8: dt.F64}[size]
            plan = map_plan("map", function, [Operand(layout, kind)], layout.shape, out, device, out_kind=kind)
            if plan is not None:
                yield plan
    large = Layout.dense((1 << 19,))
    plan = map_plan("map", Function("keep", keep, "u32", "u32"), [Operand(large, dt.U32)], large.shape, dt.U32, device)
    if plan is not None:
        yield plan
