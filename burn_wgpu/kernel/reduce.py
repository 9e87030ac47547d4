"""Reductions: any fold over any axes of any layout.

The elements of a tensor are seen as (output o, place j along the reduced axes). Two kernels map them to invocations:
`rows` (shaders/reduce/rows.wgsl) where neighbours along j lie side by side in memory, `columns` where neighbours along
o do. When the outputs are too few to fill the device, or j too long for one loop, j is cut into parts whose
accumulators a second launch of `columns` folds. Nothing depends on timing, so a plan gives the same bits on every run.

A fold is a library file (lib/reduce_*.wgsl): an accumulator type A with identity, lift and combine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal

from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import KernelKey, Launch, Out, Plan, countable, fold
from burn_wgpu.shader.prelude import KINDS, RAW64, Prelude, WordKind, word_kind, words
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.data import store_array
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.errors import ShapeError
from burn_wgpu.std.layout import Layout, Shape
from burn_wgpu.std.slice import Slice

WORKGROUP = 256
# Loops of one invocation end below this, in units; software adapters of today stop at 65,535 iterations.
MAX_UNITS = 40_000
# Workgroups that fill a large device several times over.
ENOUGH_GROUPS = 1024
# A part is at least this long, or its launch costs more than it saves.
SHORTEST_PART = 2048

Algorithm = Literal["rows", "columns"]


@dataclass(frozen=True, slots=True)
class Fold:
    """What is folded.

    name      of the reduction
    files     library files with A, identity, lift and combine
    text      WGSL that those files need (keys, truth)
    bytes     of one accumulator in memory
    ordered   places along the reduced axis matter (positions), so their axes are not rearranged
    """

    name: str
    files: tuple[str, ...]
    text: str
    bytes: int
    ordered: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """An output of a fold: how it is stored, and the WGSL expression that makes its value of the accumulator `a`."""

    kind: DType | WordKind
    value: str


@dataclass(frozen=True, slots=True)
class Domain:
    """A view as kept axes (row-major outputs) and reduced axes, each with as few axes as possible."""

    keep: tuple[Shape, Shape]
    reduced: tuple[Shape, Shape]
    offset: int

    @staticmethod
    def of(layout: Layout, axes: Sequence[int], ordered: bool = False) -> Domain:
        chosen = {a % layout.rank for a in axes} if layout.rank else set()
        keep = [(layout.shape[a], layout.strides[a]) for a in range(layout.rank) if a not in chosen]
        inner = [(layout.shape[a], layout.strides[a]) for a in range(layout.rank) if a in chosen]
        offset = layout.offset
        if not ordered:
            # The order of the terms is free: walk memory forwards, expanded axes outermost.
            offset += sum((n - 1) * s for n, s in inner if s < 0)
            inner = sorted(((n, abs(s)) for n, s in inner), key=lambda item: (item[1] != 0, -item[1]))
        return Domain(_merge(keep), _merge(inner), offset)

    @property
    def outputs(self) -> int:
        return prod(self.keep[0])

    @property
    def length(self) -> int:
        return prod(self.reduced[0])

    def algorithm(self) -> Algorithm:
        """The kernel whose neighbouring invocations read neighbouring elements."""
        keep, inner = self.keep[1], self.reduced[1]
        if not keep or keep[-1] == 0:
            return "rows"
        if not inner:
            return "columns"
        return "rows" if inner[-1] != 0 and abs(inner[-1]) <= abs(keep[-1]) else "columns"

    def chunked(self, algorithm: Algorithm) -> Domain | None:
        """The same in units of four elements along the kernel's axis, or None where they do not lie four by four."""
        line, other = (self.reduced, self.keep) if algorithm == "rows" else (self.keep, self.reduced)
        shape, strides = line
        if not shape or strides[-1] != 1 or shape[-1] % 4 or self.offset % 4:
            return None
        if any(s % 4 for s in strides[:-1]) or any(s % 4 for s in other[1]):
            return None
        fine = ((*shape[:-1], shape[-1] // 4), (*[s // 4 for s in strides[:-1]], 1))
        coarse = (other[0], tuple(s // 4 for s in other[1]))
        pair = (coarse, fine) if algorithm == "rows" else (fine, coarse)
        return Domain(*pair, self.offset // 4)


def _merge(axes: Sequence[tuple[int, int]]) -> tuple[Shape, Shape]:
    merged = Layout.of([n for n, _ in axes], [s for _, s in axes]).collapse()
    return merged.shape, merged.strides


class Fields:
    """The Params of a kernel while they are collected."""

    def __init__(self) -> None:
        self.kinds: dict[str, str] = {"groups_x": "u32"}
        self.values: list[int | float] = []

    def add(self, name: str, value: int | float, kind: str = "u32") -> None:
        self.kinds[name] = kind
        self.values.append(value)

    def index(self, name: str, shape: Shape, strides: Shape, offset: int | None = None) -> str:
        """`fn NAME(i: u32) -> u32`: the place of flat index i of a row-major walk over these axes."""
        lines = ["    var left = i;"]
        if offset is None:
            lines.append("    var place = 0u;")
        else:
            self.add(f"{name}_offset", offset)
            lines.append(f"    var place = params.{name}_offset;")
        for axis in range(len(shape) - 1, -1, -1):
            self.add(f"{name}_s{axis}", strides[axis])
            if axis:
                self.add(f"{name}_d{axis}", shape[axis])
                size = f"params.{name}_d{axis}"
                lines.append(f"    place += (left - left / {size} * {size}) * params.{name}_s{axis};")
                lines.append(f"    left = left / {size};")
            else:
                lines.append(f"    place += left * params.{name}_s0;")
        return f"fn {name}(i: u32) -> u32 {{\n" + "\n".join(lines) + "\n    return place;\n}"


def fold_launches(
    what: Fold,
    kinds: Sequence[DType | WordKind],
    domain: Domain,
    results: Sequence[Result] | None,
    device: Capability,
    inputs: Sequence[int],
    outputs: Sequence[int],
    scratch: int,
    algorithm: Algorithm | None = None,
    parts: int | None = None,
    extra: Sequence[tuple[str, DType | WordKind, int]] = (),
    cut: int | None = None,
) -> tuple[list[Launch], list[int]]:
    """(launches, sizes of scratch buffers) of a fold over tensors that lie alike.

    inputs, outputs: operand numbers; scratch: the number of the first scratch buffer. results None: the accumulators
    themselves, one an output, in the last scratch buffer. extra: (name, kind, operand) of vectors that lift reads.
    cut: fold each part of so many elements (a multiple of 4) by itself, accumulators [parts, outputs].
    """
    algorithm = algorithm or domain.algorithm()
    chunks = domain.chunked(algorithm)
    where = chunks or domain
    units = where.length
    outs = domain.outputs
    columns = where.outputs
    lanes = _lanes(results) if results is not None else 1

    # Shape of a workgroup, in outputs (or columns of four) by units.
    if algorithm == "rows":
        # A team. Positions cost more instructions, and so fewer invocations that meet; halves are half as many bytes.
        each = 8 if what.ordered or word_kind(kinds[0]).lanes > 1 else 4
        across = min(WORKGROUP, power(-(-units // each)))
        per_group = WORKGROUP // across
        walkers = across
    else:
        lanes = 4 if chunks else lanes
        widest = WORKGROUP if units <= 16 else 64
        across = max(min(widest, power(columns)), lanes)
        per_group = across
        walkers = WORKGROUP // across
    if cut is not None:
        parts = -(-domain.length // cut)
    elif parts is None:
        parts = _parts(
            units, walkers, -(-columns // per_group), lanes if algorithm == "rows" else 1, chunks is not None
        )
    parts = max(1, min(parts, units))
    span = -(-units // parts)
    if cut is not None:
        span = cut // 4 if chunks and algorithm == "rows" else cut
    parts = -(-units // span)

    sink = results if parts == 1 else None
    if sink is None and not (chunks and algorithm == "columns"):
        lanes = 1  # accumulators are whole words
    groups = -(-columns // (per_group * (lanes if algorithm == "rows" else 1)))
    count = domain.length

    fields = _fields(groups, parts, span, units, outs, count)
    body = [fields.index("keep_at", *where.keep, where.offset), fields.index("red_at", *where.reduced)]
    prelude = Prelude()
    values = [word_kind(kind).value for kind in kinds]
    prelude.alias("V", values[0])
    for i, kind in enumerate(kinds):
        prelude.storage(f"x{i}", kind, "chunk" if chunks else "element")
    for name, kind, _ in extra:
        prelude.storage(name, kind)
    body.append(_reader(len(kinds), algorithm, chunks is not None, values))
    prelude.text(what.text)
    key = _finish(prelude, fields, body, what, algorithm, across, 4 if chunks else 1, sink, lanes)
    grid = fold(groups * parts, device)
    targets = list(outputs) if sink is not None else [scratch]
    operands = (*inputs, *[operand for _, _, operand in extra], *targets)
    launches = [Launch(key, operands, words(grid[0], *fields.values), grid)]
    sizes = [] if sink is not None else [parts * outs * what.bytes]
    if parts > 1 and cut is None:
        launch, more = _second(what, word_kind(kinds[0]), outs, parts, count, results, device, scratch, outputs)
        launches.append(launch)
        sizes += more
    return launches, sizes


def _fields(groups: int, parts: int, span: int, units: int, outputs: int, count: int) -> Fields:
    """What both kernels take: count is the number of elements of one output, before any cut."""
    fields = Fields()
    fields.add("groups", groups)
    fields.add("parts", parts)
    fields.add("span", span)
    fields.add("units", units)
    fields.add("outputs", outputs)
    fields.add("count", count)
    return fields


def _second(
    what: Fold, kind: WordKind, outs: int, parts: int, count: int, results: Sequence[Result] | None,
    device: Capability, scratch: int, outputs: Sequence[int],
) -> tuple[Launch, list[int]]:  # fmt: skip
    """The launch that folds partial accumulators [parts, outs]."""
    lanes = _lanes(results) if results is not None else 1
    across = max(min(16, power(outs)), lanes)
    groups = -(-outs // across)
    fields = _fields(groups, 1, parts, parts, outs, count)
    prelude = Prelude()
    prelude.alias("V", kind.value)
    if kind.feature:
        prelude.features.add(kind.feature)
    prelude.raw_storage("partial", "array<A>")
    prelude.text(what.text)
    body = [
        "fn keep_at(i: u32) -> u32 { return i; }",
        "fn cells(base: u32, j: u32, o: u32) -> array<A, 1> {\n"
        "    return array<A, 1>(partial[j * params.outputs + base]);\n}",
    ]
    key = _finish(prelude, fields, body, what, "columns", across, 1, results, lanes)
    grid = fold(groups, device)
    targets = list(outputs) if results is not None else [scratch + 1]
    launch = Launch(key, (scratch, *targets), words(grid[0], *fields.values), grid)
    return launch, [] if results is not None else [outs * what.bytes]


def _finish(
    prelude: Prelude, fields: Fields, body: list[str], what: Fold, algorithm: Algorithm, across: int, columns: int,
    results: Sequence[Result] | None, lanes: int,
) -> KernelKey:  # fmt: skip
    """The sink, the constants and the key."""
    if results is None:
        prelude.raw_storage("totals", "array<A>")
        stores = [f"    totals[part * params.outputs + w * {lanes}u + {k}u] = a[{k}];" for k in range(lanes)]
    else:
        stores = []
        for i, result in enumerate(results):
            kind = prelude.storage(f"out{i}", result.kind, "chunk" if lanes == 4 else "element")
            prelude.text(f"fn value{i}(a: A) -> {kind.value} {{ return {result.value}; }}")
            made = [f"value{i}(a[{k}])" for k in range(lanes)]
            if lanes == 4:
                stores.append(f"    store4_out{i}(w, array<{kind.value}, 4>({', '.join(made)}));")
                continue
            step = kind.lanes
            for word in range(lanes // step):
                place = f"w * {lanes // step}u + {word}u"
                stores.append(f"    store_out{i}({place}, {', '.join(made[word * step : (word + 1) * step])});")
    prelude.params(**fields.kinds)
    for text in body:
        prelude.text(text)
    prelude.text(f"fn sink(part: u32, w: u32, a: array<A, {lanes}>) {{\n" + "\n".join(stores) + "\n}")
    prelude.const("WORKGROUP", WORKGROUP)
    prelude.const("LANES", lanes)
    if algorithm == "rows":
        prelude.const("TEAM", across)
    else:
        prelude.const("TX", across)
        prelude.const("COLS", columns)
    prelude.use(*what.files)
    return KernelKey(
        f"reduce/{algorithm}", prelude.build(), tuple(prelude.uses), prelude.bindings,
        WORKGROUP * what.bytes * (columns if algorithm == "columns" else lanes), WORKGROUP, frozenset(prelude.features),
        trusted=True,
    )  # fmt: skip


def _reader(inputs: int, algorithm: Algorithm, chunked: bool, values: Sequence[str]) -> str:
    """`unit` (rows) or `cells` (columns): the accumulators of one load."""

    def lift(k: int, j: str, o: str) -> str:
        if not chunked:
            return f"lift({', '.join(f'p{i}' for i in range(inputs))}, {j if inputs == 1 else o})"
        return f"lift({', '.join(f'p{i}[{k}]' for i in range(inputs))}, {j if inputs == 1 else o})"

    load = "load4" if chunked else "load"
    if algorithm == "rows":
        lines = [f"    let p{i} = {load}_x{i}(base + red_at(u));" for i in range(inputs)]
        if chunked:
            four = [lift(k, f"4u * u + {k}u", "o") for k in range(4)]
            value = f"append(append({four[0]}, {four[1]}), append({four[2]}, {four[3]}))"
        else:
            value = lift(0, "u", "o")
        return "fn unit(base: u32, u: u32, o: u32) -> A {\n" + "\n".join(lines) + f"\n    return {value};\n}}"
    lines = [f"    let p{i} = {load}_x{i}(base + red_at(j));" for i in range(inputs)]
    n = 4 if chunked else 1
    made = ", ".join(lift(k, "j", f"{n}u * o + {k}u") for k in range(n))
    head = f"fn cells(base: u32, j: u32, o: u32) -> array<A, {n}> {{\n"
    return head + "\n".join(lines) + f"\n    return array<A, {n}>({made});\n}}"


def _parts(units: int, walkers: int, groups: int, lanes: int, chunked: bool) -> int:
    """Into how many parts the reduced axis is cut: enough to fill the device, none shorter than is worth a launch."""
    shortest = max(SHORTEST_PART // (4 if chunked else 1), 16 * walkers) if walkers > 16 else 64
    wanted = ENOUGH_GROUPS // max(groups, 1)
    parts = max(1, min(wanted, units // shortest))
    return max(parts, -(-units // (walkers * (MAX_UNITS // lanes))))


def _lanes(results: Sequence[Result]) -> int:
    """Outputs that one invocation must own so that it owns whole words of every result."""
    return max(word_kind(result.kind).lanes for result in results)


def power(n: int) -> int:
    """The smallest power of two that is not below n."""
    return 1 << max(n - 1, 0).bit_length()


# ------------------------------------------------------------------------------------------------ the table of folds


def fold_kind(how: str, dtype: DType) -> WordKind:
    """How a fold reads a dtype: f64 as its two words unless it calculates, so that no two numbers become one."""
    return KINDS[dtype] if dtype is not dt.F64 or how in ("sum", "mean", "prod") else RAW64


def fold_of(how: str, dtype: DType) -> Fold:
    """The fold of a reduction's name over a dtype: sum, mean, prod, max, min, max_abs, argmax, argmin, any, all."""
    kind = fold_kind(how, dtype)
    size = 8 if kind.per_word == 0 and kind.value != "f32" else 4
    if how in ("sum", "mean"):
        return Fold(how, ("lib/reduce_sum",), "", size)
    if how == "prod":
        return Fold(how, ("lib/reduce_prod",), "", size)
    if how in ("any", "all"):
        files = (f"lib/reduce_{how}", "lib/f64") if kind is RAW64 else (f"lib/reduce_{how}",)
        return Fold(how, files, _truth(kind.value), 4)
    keys = _keys(how, dtype, kind.value)
    library = "lib/f64" if kind is RAW64 else "lib/reduce_key"
    if how.startswith("arg"):
        # No float has the key of the identity, the lowest integer has.
        unset = "false" if dtype.is_float else "a.index == 0xffffffffu"
        text = f"{keys}\nfn unset(a: A) -> bool {{ return {unset}; }}"
        return Fold(how, ("lib/reduce_arg", library), text, 2 * size, ordered=True)
    return Fold(how, ("lib/reduce_max", library), keys, size)


def _truth(value: str) -> str:
    if value == "bool":
        return "fn truth(x: V) -> bool { return x; }"
    if value == "f32":
        return "fn truth(x: V) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) != 0u; }"
    if value == RAW64.value:
        return "fn truth(x: V) -> bool { return !is_zero_f64(x); }"
    return "fn truth(x: V) -> bool { return x != V(0); }"


_LOWEST = {"i32": "i32(-2147483648)", "u32": "0u", "i64": "-9223372036854775807li - 1li", "u64": "0lu"}


def _keys(how: str, dtype: DType, value: str) -> str:
    """`key`, `unkey`, `lowest`, `above` and K: an order in which the extremum is the largest."""
    which = how.removeprefix("arg")
    wide = value in ("i64", "u64")
    larger = (
        f"fn larger(a: K, b: K) -> K {{ return {'select(a, b, b > a)' if wide else 'max(a, b)'}; }}\n"
        "fn above(a: K, b: K) -> bool { return a > b; }"
    )
    if dtype.is_float:
        name = {"max": "high", "min": "low", "max_abs": "magnitude"}[which]
        word, end, zero = "u32", "", "0u"
        if value == RAW64.value:
            word, end, zero = value, "_f64", "vec2<u32>(0u, 0u)"
            larger = (
                "fn larger(a: K, b: K) -> K { return larger_f64(a, b); }\n"
                "fn above(a: K, b: K) -> bool { return above_f64(a, b); }"
            )
        key = f"{name}_place_key" if how.startswith("arg") else f"{name}_key"
        return (
            f"alias K = {word};\n{larger}\nfn lowest() -> K {{ return {zero}; }}\n"
            f"fn key(x: V) -> K {{ return {key}{end}(x); }}\n"
            f"fn unkey(k: K) -> {value} {{ return from_{name}_key{end}(k); }}"
        )
    # Inverting every bit turns the order of signed and unsigned integers round.
    key, back = ("~x", "~k") if which == "min" else ("x", "k")
    if which == "max_abs" and value.startswith("i"):
        key = "select(x, -x, x < V(0))"
        if dtype.size_bytes < 4:  # the lowest number stays itself, as it does in the dtype
            shift = 32 - 8 * dtype.size_bytes
            key = f"(({key}) << {shift}u) >> {shift}u"
    return (
        f"alias K = {value};\n{larger}\nfn lowest() -> K {{ return {_LOWEST[value]}; }}\n"
        f"fn key(x: {value}) -> K {{ return {key}; }}\nfn unkey(k: K) -> {value} {{ return {back}; }}"
    )


# ---------------------------------------------------------------------------------------------------------- the plan


def reduce_plan(
    operation: str,
    how: str,
    layout: Layout,
    dtype: DType,
    axes: Sequence[int] | None,
    device: Capability,
    out: DType | None = None,
    indices: DType | None = None,
    algorithm: Algorithm | None = None,
    parts: int | None = None,
) -> Plan:
    """The reduction `how` along `axes`, which keep size 1; axes None is the whole tensor: shape [1].

    how       sum, mean, prod, max, min, max_abs, any, all; argmax, argmin (one axis)
    out       dtype of the values: the tensor's own, a bool storage for any and all; None leaves them out (positions)
    indices   dtype of the positions, for argmax and argmin; with `out` too, values and positions come in one pass
    algorithm, parts  force what the plan would choose

    Raises ShapeError for an extremum (or an int mean) of no elements, UnsupportedError where 2^32 elements and more (of
    an expanded tensor) would meet in one result.
    """
    whole = axes is None
    chosen = range(layout.rank) if axes is None else axes
    what = fold_of(how, dtype)
    shape = (1,) if whole else tuple(1 if a in chosen else n for a, n in enumerate(layout.shape))
    outs = [Out.of(shape, d) for d in (out, indices) if d is not None]
    count = prod(layout.shape[a] for a in chosen)
    countable(operation, count, "elements for one result", "reduce slices of the tensor, then their results", device)
    if count == 0:
        neutral = _neutral(operation, how, layout, chosen, dtype)
        return Plan(operation, 1, tuple(outs), fill_launches(outs[0], neutral, 1, device))
    if prod(shape) == 0:
        return Plan(operation, 1, tuple(outs), ())
    results = _results(how, dtype, out, indices)
    launches, scratch = fold_launches(
        what, [fold_kind(how, dtype)], Domain.of(layout, chosen, what.ordered), results, device,
        (0,), range(1, 1 + len(outs)), 1 + len(outs), algorithm, parts,
    )  # fmt: skip
    return Plan(operation, 1, tuple(outs), tuple(launches), tuple(scratch))


def spread_plan(
    operation: str, layout: Layout, dtype: DType, axes: Sequence[int], correction: float, root: bool, device: Capability
) -> Plan:
    """Σ (x − mean)² / max(n − correction, 0) along axes, which keep size 1; its root if `root`."""
    text = (
        "fn variance(a: A) -> f32 {\n"
        f"    let left = max(a.count - {correction!r}, 0.0);\n"
        "    if (magnitude(a.head) >= INF_BITS || magnitude(a.tail) >= INF_BITS) { return nan(); }\n"
        "    if (left > 0.0) { return a.squares / left; }\n"
        "    return select(inf(), nan(), magnitude(a.squares) == 0u);\n}"
    )
    what = Fold("spread", ("lib/reduce_moments", "lib/math"), text, 16)
    value = "sqrt_f32(variance(a))" if root else "variance(a)"
    return _float_plan(operation, what, (layout,), dtype, axes, value, float("nan"), device)


def norm_plan(
    operation: str, layout: Layout, dtype: DType, axes: Sequence[int], p: Literal[0, 1, 2], device: Capability
) -> Plan:
    """How many x are not 0, Σ |x| or √Σ x² along axes, which keep size 1."""
    term = ("select(1.0, 0.0, magnitude(x) == 0u)", "absolute(x)", "x * x")[p]
    what = Fold(f"l{p}", ("lib/reduce_norm", "lib/math"), f"fn term(x: V) -> f32 {{ return {term}; }}", 4)
    return _float_plan(operation, what, (layout,), dtype, axes, "sqrt_f32(a)" if p == 2 else "a", 0.0, device)


def inner_plan(operation: str, layout: Layout, dtype: DType, axes: Sequence[int], device: Capability) -> Plan:
    """Σ x·y along axes, which keep size 1, of two tensors that lie alike."""
    what = Fold("inner", ("lib/reduce_inner",), "", 4)
    return _float_plan(operation, what, (layout, layout), dtype, axes, "a", 0.0, device)


def cosine_plan(operation: str, layout: Layout, dtype: DType, axis: int, eps: float, device: Capability) -> Plan:
    """Σ x·y / (|x|·|y|) along an axis, which keeps size 1, of two tensors that lie alike; lengths are at least eps."""
    what = Fold("cosine", ("lib/reduce_cosine", "lib/math"), "", 16)
    return _float_plan(operation, what, (layout, layout), dtype, (axis,), f"cosine_of(a, {eps!r})", 0.0, device)


def _float_plan(
    operation: str, what: Fold, layouts: Sequence[Layout], dtype: DType, axes: Sequence[int], value: str, none: float,
    device: Capability,
) -> Plan:  # fmt: skip
    """A fold of float tensors that lie alike to one number of their dtype; `none` where there is nothing to fold."""
    layout, inputs = layouts[0], len(layouts)
    out = Out.of(tuple(1 if a in axes else n for a, n in enumerate(layout.shape)), dtype)
    count = prod(layout.shape[a] for a in axes)
    countable(operation, count, "elements for one result", "reduce slices of the tensor, then their results", device)
    if count == 0:
        return Plan(operation, inputs, (out,), fill_launches(out, none, inputs, device))
    if out.layout.size == 0:
        return Plan(operation, inputs, (out,), ())
    launches, scratch = fold_launches(
        what, [dtype] * inputs, Domain.of(layout, axes), [Result(dtype, value)], device,
        range(inputs), (inputs,), inputs + 1,
    )  # fmt: skip
    return Plan(operation, inputs, (out,), tuple(launches), tuple(scratch))


def _results(how: str, dtype: DType, out: DType | None, indices: DType | None) -> list[Result]:
    results = []
    kind = fold_kind(how, dtype)
    if how.startswith("arg"):
        if out is not None:
            results.append(Result(kind, "unkey(a.key)"))
        assert indices is not None
        if indices.size_bytes == 8:  # two words need no 64-bit feature
            results.append(Result(RAW64, "vec2<u32>(a.index, 0u)"))
        else:
            results.append(Result(indices, f"{word_kind(indices).value}(a.index)"))
        return results
    assert out is not None
    if how in ("any", "all"):
        return [Result(out, "a != 0u")]
    if how in ("sum", "prod"):
        return [Result(out, "a")]
    if how == "mean":
        return [Result(out, f"a / {kind.value}(params.count)")]
    return [Result(kind, "unkey(a)")]


def _neutral(operation: str, how: str, layout: Layout, axes: Sequence[int], dtype: DType) -> float:
    """What a reduction of nothing gives; ShapeError where that is nothing."""
    if how in ("sum", "any"):
        return 0
    if how in ("prod", "all"):
        return 1
    if how == "mean" and dtype.is_float:
        return float("nan")
    axis = next(a for a in axes if layout.shape[a] == 0)
    raise ShapeError(f"{operation}: axis {axis} of shape {list(layout.shape)} has size 0; it must have an element")


def fill_launches(out: Out, value: float, operand: int, device: Capability) -> tuple[Launch, ...]:
    """One number everywhere in an output."""
    import numpy as np

    if out.layout.size == 0:
        return ()
    prelude = Prelude()
    prelude.raw_storage("out", "array<u32>")
    prelude.params(groups_x="u32", words="u32", even="u32", odd="u32")
    prelude.const("WORKGROUP", WORKGROUP)
    size = out.dtype.size_bytes
    number = np.array([value] * max(1, 8 // size), dtype=np.float32 if out.dtype.is_float else np.int64)
    bits = store_array(number, out.dtype).view(np.uint32)
    count = -(-out.size_bytes // 4)
    grid = fold(-(-count // WORKGROUP), device)
    key = KernelKey("reduce/fill", prelude.build(), (), 1, 0, WORKGROUP, frozenset(), trusted=True)
    return (Launch(key, (operand,), words(grid[0], count, int(bits[0]), int(bits[1])), grid),)


# Shapes whose reductions meet every algorithm: long rows, odd rows, many short rows, one long row, many columns.
SHAPES = ((300, 4096), (7, 33), (70_000, 3), (1, 1 << 20), (1 << 18, 8))


def variants(device: Capability) -> Iterator[Plan]:
    """Every reduction over each kind of value, by rows, by columns and whole, short and cut into parts."""
    for dtype in value_dtypes(device):
        for shape in SHAPES:
            layout = Layout.dense(shape)
            for axes in ((0,), (1,), None):
                for how in ("sum", "mean", "prod", "max", "min", "max_abs"):
                    yield reduce_plan(how, how, layout, dtype, axes, device, dtype)
                for how in ("any", "all"):
                    yield reduce_plan(how, how, layout, dtype, axes, device, dt.BOOL_U8)
                if axes is not None:
                    yield reduce_plan("argmax", "argmax", layout, dtype, axes, device, None, dt.I32)
                    yield reduce_plan("argmin", "argmin", layout, dtype, axes, device, dtype, dt.I64)
        if dtype.is_float:
            yield from _float_variants(dtype, device)
        view = Layout.dense((40, 60)).swap_dims(0, 1).slice([Slice(1), Slice(0, None, 3)])
        for axes in ((0,), (1,), None):
            yield reduce_plan("sum", "sum", view, dtype, axes, device, dtype)
    for dtype in (dt.BOOL_U8, dt.BOOL_U32):
        for shape in SHAPES:
            for axes in ((0,), (1,), None):
                for how in ("any", "all"):
                    yield reduce_plan(how, how, Layout.dense(shape), dtype, axes, device, dtype)


def _float_variants(dtype: DType, device: Capability) -> Iterator[Plan]:
    for shape in SHAPES:
        layout = Layout.dense(shape)
        for axis in (0, 1):
            for root in (False, True):
                yield spread_plan("std" if root else "var", layout, dtype, (axis,), 1.0, root, device)
            for p in (0, 1, 2):
                yield norm_plan("norm", layout, dtype, (axis,), p, device)  # type: ignore[arg-type]
            yield inner_plan("inner", layout, dtype, (axis,), device)
            yield cosine_plan("cosine_similarity", layout, dtype, axis, 1e-8, device)


def value_dtypes(device: Capability) -> tuple[DType, ...]:
    """One dtype for each way that values lie in words, as the device can compute them."""
    wide = (dt.I64, dt.U64) if device.has("shader-int64") else ()
    return (dt.F32, dt.F16, dt.BF16, dt.F64, dt.I32, dt.U32, dt.I16, dt.U8, *wide)
