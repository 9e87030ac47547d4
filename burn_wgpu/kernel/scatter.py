"""Writing by index: select_assign, scatter and scatter_nd with the five updates, and the backward pass of embedding.

No element is written twice and no atomic is used, so the same input gives the same bits, floats included, whatever the
indices repeat. Two ways, one choice (`few`):

few     each output element looks at all indices that could point at it and combines the values in order. Work is
        output elements times candidates: right for up to 32 candidates, and for small tensors.
sorted  row numbers are computed from the indices, sorted (stable, `kernel/sort.py`), and each output row combines its
        segment. Segments longer than BLOCK entries use the totals of whole blocks, so that no invocation walks a long
        run alone; the grouping depends on the indices only.

Assign keeps the last of several values. Sums of halves run in f32 and are rounded once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from burn_wgpu.contract.options import IndexingUpdateOp
from burn_wgpu.kernel.index import Axis, index_storage, indexable, located
from burn_wgpu.kernel.sort import sort_launches
from burn_wgpu.kernel.walk import Numbers, Steps, walk, walk_axes
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.fault import FAULT_OPERAND
from burn_wgpu.shader.launch import KernelKey, Launch, Out, Plan, countable, fold
from burn_wgpu.shader.prelude import RAW64, Prelude, WordKind, raw_kind, word_kind
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.dtype import U32, DType
from burn_wgpu.std.layout import Layout, Shape, contiguous_strides

WORKGROUP = 256
FEW_CANDIDATES = 32
FEW_WORK = 1 << 22
MOST_CANDIDATES = 8192
"""Beyond this an invocation of the first way would loop too long."""
SHORTEST_BLOCK = 256


@dataclass(frozen=True, slots=True)
class Scattered:
    """Where everything lies. The first four layouts are over the output's shape.

    rows        number of the row that an element lies in
    values      place of the element's value, with the entry's share left out (offset included)
    numbers     number of the element in its row
    index       place of the first index that could point at the element
    axes        the indexed axes: their sizes, and their strides in row numbers
    reach       sizes below which an element's position must lie so that an index can point at it
    candidates  how many indices could point at one element; index_next and value_next lie between two of them
    entry_base, entry_index, entry_value   layouts over the entries: the row number that the entry's position gives, its
                index, its share of the place of a value
    width       layout over one row: the elements' shares of the place of a value
    """

    rows: Layout
    values: Layout
    numbers: Layout
    index: Layout
    axes: tuple[Axis, ...]
    reach: Shape
    candidates: int
    index_next: int
    value_next: int
    entry_base: Layout
    entry_index: Layout
    entry_value: Layout
    width: Layout

    @property
    def shape(self) -> Shape:
        return self.rows.shape

    @property
    def few(self) -> bool:
        size = self.rows.size
        return self.candidates <= FEW_CANDIDATES or (
            self.candidates <= MOST_CANDIDATES and size * self.candidates <= FEW_WORK
        )


def select_assign_places(shape: Shape, dim: int, indices: Layout, values: Layout) -> Scattered:
    """indices [k]; values have shape with size k at dim. A row is what one position along dim holds."""
    rank = len(shape)
    k = indices.shape[0]
    rest = [a for a in range(rank) if a != dim]
    width = [shape[a] for a in rest]
    number = dict(zip(rest, contiguous_strides(width), strict=True))
    return Scattered(
        rows=Layout.of(shape, [1 if a == dim else 0 for a in range(rank)]),
        values=Layout.of(shape, [0 if a == dim else values.strides[a] for a in range(rank)], values.offset),
        numbers=Layout.of(shape, [number.get(a, 0) for a in range(rank)]),
        index=Layout.of(shape, [0] * rank, indices.offset),
        axes=(Axis(shape[dim], 1),),
        reach=shape,
        candidates=k,
        index_next=indices.strides[0],
        value_next=values.strides[dim],
        entry_base=Layout.of((k,), (0,)),
        entry_index=indices,
        entry_value=Layout.of((k,), (values.strides[dim],)),
        width=Layout.of(width, [values.strides[a] for a in rest], values.offset),
    )


def scatter_places(shape: Shape, dim: int, indices: Layout, values: Layout) -> Scattered:
    """indices and values have one shape; every element is a row of its own."""
    rank = len(shape)
    linear = contiguous_strides(shape)
    return Scattered(
        rows=Layout.of(shape, [1 if a == dim else 0 for a in range(rank)]),
        values=Layout.of(shape, [0 if a == dim else values.strides[a] for a in range(rank)], values.offset),
        numbers=Layout.of(shape, [0] * rank),
        index=Layout.of(shape, [0 if a == dim else indices.strides[a] for a in range(rank)], indices.offset),
        axes=(Axis(shape[dim], linear[dim]),),
        reach=tuple(shape[a] if a == dim else indices.shape[a] for a in range(rank)),
        candidates=indices.shape[dim],
        index_next=indices.strides[dim],
        value_next=values.strides[dim],
        entry_base=Layout.of(indices.shape, [0 if a == dim else linear[a] for a in range(rank)]),
        entry_index=indices,
        entry_value=values,
        width=Layout.of((), ()),
    )


def scatter_nd_places(shape: Shape, indices: Layout) -> Scattered:
    """indices [n, K] and values [n, *shape[K:]], both row-major from the start of their buffers."""
    count, k = indices.shape
    lead, width = shape[:k], shape[k:]
    steps, inner = contiguous_strides(lead), contiguous_strides(width)
    size = prod(width)
    return Scattered(
        rows=Layout.of(shape, (*steps, *[0] * len(width))),
        values=Layout.of(shape, (*[0] * k, *inner)),
        numbers=Layout.of(shape, (*[0] * k, *inner)),
        index=Layout.of(shape, [0] * len(shape)),
        axes=tuple(Axis(n, s) for n, s in zip(lead, steps, strict=True)),
        reach=shape,
        candidates=count,
        index_next=k,
        value_next=size,
        entry_base=Layout.of((count,), (0,)),
        entry_index=Layout.of((count,), (k,)),
        entry_value=Layout.of((count,), (size,)),
        width=Layout.of(width, inner),
    )


def scatter_plan(
    operation: str,
    places: Scattered,
    linear_rows: bool,
    dtype: DType,
    index_dtype: DType,
    update: IndexingUpdateOp,
    device: Capability,
    from_zeros: bool = False,
) -> Plan:
    """Inputs are (tensor, indices, values), or (indices, values) when the tensor is all zeros; the tensor is packed.

    linear_rows: every element is a row of its own (scatter), numbered as it lies.
    """
    inputs = 2 if from_zeros else 3
    steps = Steps(inputs, [Out.of(places.shape, dtype)])
    if places.rows.size == 0:
        return steps.plan(operation)
    countable(operation, places.entry_index.size, "updates of one tensor", "update with slices of them", device)
    indexable(operation, places.axes, device)
    way = _Update.of(dtype, update)
    operands = (None if from_zeros else 0, inputs - 2, inputs - 1)
    if places.few:
        steps.launch(_few_launch(operation, places, dtype, index_dtype, way, operands, device))
        return steps.plan(operation, flags=True)
    _sorted_launches(steps, operation, places, linear_rows, dtype, index_dtype, way, operands, device)
    return steps.plan(operation, flags=True)


@dataclass(frozen=True, slots=True)
class _Update:
    """The WGSL of an update for a dtype: how elements are held, and the function that combines two."""

    kind: WordKind
    function: str
    file: str
    last_only: bool

    @staticmethod
    def of(dtype: DType, update: IndexingUpdateOp) -> _Update:
        raw = raw_kind(dtype.size_bytes)
        if update is IndexingUpdateOp.ASSIGN:
            return _Update(raw, "assign", "index/combine", True)
        if dtype.is_bool:
            either = update in (IndexingUpdateOp.ADD, IndexingUpdateOp.MAX)
            return _Update(raw, "either" if either else "both", "index/combine", False)
        compares = update in (IndexingUpdateOp.MIN, IndexingUpdateOp.MAX)
        if dtype.size_bytes == 8 and (dtype.is_int or compares):
            return _Update(RAW64, update.value + (f"_{dtype.name}" if compares else "64"), "index/combine64", False)
        kind = word_kind(dtype)
        suffix = ("_f32" if dtype.is_float else "_int") if compares else ""
        return _Update(kind, update.value + suffix, "index/combine", False)

    def declare(self, prelude: Prelude) -> None:
        prelude.alias("V", self.kind.value)
        prelude.use(self.file)
        prelude.text(f"fn combine(a: V, b: V) -> V {{ return {self.function}(a, b); }}")


def _initial(prelude: Prelude, source: int | None, kind: WordKind) -> list[int]:
    """Declares initial4; gives the operands bound for it."""
    four = f"array<{kind.value}, 4>"  # spelt out: to naga an array of an alias is another type
    if source is None:
        prelude.text(f"fn initial4(c: u32) -> {four} {{ return {four}(); }}")
        return []
    prelude.storage("src", kind, "chunk")
    prelude.text(f"fn initial4(c: u32) -> {four} {{ return load4_src(c); }}")
    return [source]


def _few_launch(
    operation: str,
    places: Scattered,
    dtype: DType,
    index_dtype: DType,
    way: _Update,
    operands: tuple[int | None, int, int],
    device: Capability,
) -> Launch:
    size = places.rows.size
    chunks = -(-size // 4)
    grid = fold(-(-chunks // WORKGROUP), device)
    prelude = Prelude()
    way.declare(prelude)
    bound = _initial(prelude, operands[0], way.kind)
    index_storage(prelude, index_dtype)
    prelude.storage("values", way.kind)
    prelude.storage("out", way.kind, "chunk")
    prelude.const("WORKGROUP", WORKGROUP)
    numbers = Numbers(prelude, grid[0])
    for name, value in {
        "chunks": chunks, "count": size, "candidates": places.candidates, "index_next": places.index_next,
        "value_next": places.value_next,
    }.items():  # fmt: skip
        numbers.add(name, value)
    # Row numbers of this way count positions along the one indexed axis, or rows of several.
    axes = places.axes if len(places.axes) != 1 else (Axis(places.axes[0].size, 1),)
    located(numbers, operation, axes, 1, index_dtype)
    walk(numbers, "sources", [places.values, places.index, places.rows])
    _reachable(numbers, places)
    params = numbers.declare()
    key = KernelKey(
        "index/scatter_few", prelude.build(), tuple(prelude.uses), prelude.bindings, 0, WORKGROUP, frozenset(),
        trusted=True,
    )  # fmt: skip
    out = operands[2] + 1
    return Launch(key, (*bound, operands[1], operands[2], out, FAULT_OPERAND), params, grid)


def _reachable(numbers: Numbers, places: Scattered) -> None:
    """Declares whether an index can point at element i: its other positions lie inside the indices' shape."""
    shape, reach = places.shape, places.reach
    if shape == reach:
        numbers.prelude.text("fn reachable(i: u32) -> bool { return true; }")
        return
    lines = ["    var left = i;", "    var inside = true;"]
    for axis in range(len(shape) - 1, -1, -1):
        size = numbers.add(f"size{axis}", shape[axis])
        lines.append(f"    let n{axis} = left / {size};")
        if reach[axis] < shape[axis]:
            limit = numbers.add(f"reach{axis}", reach[axis])
            lines.append(f"    inside = inside && left - n{axis} * {size} < {limit};")
        lines.append(f"    left = n{axis};")
    lines.append("    return inside;")
    numbers.prelude.text("fn reachable(i: u32) -> bool {\n" + "\n".join(lines) + "\n}")


def _sorted_launches(
    steps: Steps,
    operation: str,
    places: Scattered,
    linear_rows: bool,
    dtype: DType,
    index_dtype: DType,
    way: _Update,
    operands: tuple[int | None, int, int],
    device: Capability,
) -> None:
    source, indices, values = operands
    entries = places.entry_index.size
    width = places.width.size
    rows, order, ordered = (steps.scratch(4 * entries) for _ in range(3))
    steps.launch(_rows_launch(operation, places, index_dtype, indices, rows, device))
    sort_launches(steps, Layout.dense((entries,)), U32, 0, entries, False, rows, order, ordered, device)
    block = block_size(entries)
    blocks = 0 if way.last_only else entries // block
    partials = None
    if blocks:
        partials = steps.scratch((8 if way.kind is RAW64 else 4) * blocks * width)
        steps.launch(_blocks_launch(places, way, block, blocks, (values, ordered, order, partials), device))

    size = places.rows.size
    chunks = -(-size // 4)
    grid = fold(-(-chunks // WORKGROUP), device)
    prelude = Prelude()
    way.declare(prelude)
    bound = _initial(prelude, source, way.kind)
    prelude.storage("values", way.kind)
    prelude.raw_storage("rows", "array<u32>")
    prelude.raw_storage("order", "array<u32>")
    bound += [values, ordered, order]
    if partials is None:
        prelude.text("fn block_total(block: u32, number: u32) -> V { return V(); }")
    else:
        prelude.raw_storage("partials", "array<V>")
        bound.append(partials)
    prelude.storage("out", way.kind, "chunk")
    prelude.const("WORKGROUP", WORKGROUP)
    prelude.const("BLOCK", block)
    prelude.const("ONLY_LAST", way.last_only)
    numbers = Numbers(prelude, grid[0])
    for name, value in {"chunks": chunks, "count": size, "entries": entries}.items():
        numbers.add(name, value)
    if partials is not None:
        at = numbers.add("width", width)
        prelude.text(f"fn block_total(block: u32, number: u32) -> V {{ return partials[block * {at} + number]; }}")
    if linear_rows:
        prelude.text("fn targets(i: u32) -> vec3<u32> { return vec3<u32>(i, 0u, 0u); }")
    else:
        walk(numbers, "targets", [places.rows, places.values, places.numbers])
    walk(numbers, "entry_at", [places.entry_value])
    params = numbers.declare()
    key = KernelKey(
        "index/segments", prelude.build(), tuple(prelude.uses), prelude.bindings, 0, WORKGROUP, frozenset(),
        trusted=True,
    )  # fmt: skip
    steps.launch(Launch(key, (*bound, steps.output(0)), params, grid))


def block_size(entries: int) -> int:
    """Entries of a block: about the root of their number, so that blocks in a row and entries in a block are few."""
    block = SHORTEST_BLOCK
    while 2 * block * block < entries:
        block *= 2
    return block


def _rows_launch(
    operation: str, places: Scattered, index_dtype: DType, indices: int, rows: int, device: Capability
) -> Launch:
    count = places.entry_index.size
    grid = fold(-(-count // WORKGROUP), device)
    prelude = Prelude()
    index_storage(prelude, index_dtype)
    prelude.raw_storage("out_rows", "array<u32>")
    prelude.const("WORKGROUP", WORKGROUP)
    numbers = Numbers(prelude, grid[0])
    numbers.add("count", count)
    located(numbers, operation, places.axes, 1, index_dtype)
    walk(numbers, "entries", [places.entry_base, places.entry_index])
    params = numbers.declare()
    key = KernelKey(
        "index/rows", prelude.build(), tuple(prelude.uses), prelude.bindings, 0, WORKGROUP, frozenset(), trusted=True
    )
    return Launch(key, (indices, rows, FAULT_OPERAND), params, grid)


def _blocks_launch(
    places: Scattered, way: _Update, block: int, blocks: int, operands: tuple[int, int, int, int], device: Capability
) -> Launch:
    width = places.width.size
    count = blocks * width
    grid = fold(-(-count // WORKGROUP), device)
    prelude = Prelude()
    way.declare(prelude)
    prelude.storage("values", way.kind)
    prelude.raw_storage("rows", "array<u32>")
    prelude.raw_storage("order", "array<u32>")
    prelude.raw_storage("partials", "array<V>")
    prelude.const("WORKGROUP", WORKGROUP)
    prelude.const("BLOCK", block)
    numbers = Numbers(prelude, grid[0])
    numbers.add("count", count)
    numbers.add("width", width)
    walk(numbers, "entry_at", [places.entry_value])
    if width == 1 and places.width.rank == 0:
        walk_axes(numbers, "element_at", (), [()], [0])  # the offset counts with the entry
    else:
        walk(numbers, "element_at", [places.width])
    params = numbers.declare()
    key = KernelKey(
        "index/blocks", prelude.build(), tuple(prelude.uses), prelude.bindings, 0, WORKGROUP, frozenset(), trusted=True
    )
    return Launch(key, operands, params, grid)


def variants(device: Capability) -> Iterator[Plan]:
    """Every update of every dtype, both ways, with and without a tensor to start from."""
    for entries in (FEW_CANDIDATES, 9000):
        shape, index, grid = (2000, 40), Layout.dense((entries,)), Layout.dense((entries, 40))
        rows = select_assign_places(shape, 0, index, grid)
        for dtype in (dt.F32, dt.F16, dt.BF16, dt.F64, *dt.INTS, dt.BOOL_U8, dt.BOOL_U32):
            for update in IndexingUpdateOp:
                yield scatter_plan("select_assign", rows, False, dtype, dt.I32, update, device)
        add = IndexingUpdateOp.ADD
        for index_dtype in dt.INTS:
            yield scatter_plan("embedding_backward", rows, False, dt.F32, index_dtype, add, device, from_zeros=True)
        yield scatter_plan("scatter", scatter_places(shape, 1, grid, grid), True, dt.F32, dt.I64, add, device)
        smaller = Layout.dense((entries, 39))
        yield scatter_plan("scatter", scatter_places(shape, 0, smaller, smaller), True, dt.F32, dt.I64, add, device)
        for k in (1, 2):
            places = scatter_nd_places(shape, Layout.dense((entries, k)))
            yield scatter_plan("scatter_nd", places, False, dt.F32, dt.I32, add, device)
