"""Sorting along an axis: tiles in workgroup memory, then merge passes; always by (key, position), so always stable.

A row that fits a tile (2048 elements with the default limits, 1024 of 8 bytes) is one launch. Longer rows are cut into
tiles and their runs merged two by two, ceil(log2(tiles)) passes over keys of one or two words and positions. top-k is
the same with runs cut to k elements, so that a pass moves k elements a run.

The kernels give positions; values are gathered by them from the source, which keeps every bit (a NaN's payload, the
sign of a zero) that the keys forget. Radix passes would save work above a million elements a row; merging needs no
scan, no second algorithm for 64 bits, and no order of workgroups.
"""

from __future__ import annotations

from collections.abc import Iterator

from burn_wgpu.kernel.index import Axis, Picked, gather_launch
from burn_wgpu.kernel.walk import Numbers, Steps, narrow_launch, walk
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import KernelKey, Launch, Out, Plan, fold
from burn_wgpu.shader.prelude import Prelude, raw_kind
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.dtype import BF16, F16, U32, DType
from burn_wgpu.std.layout import Layout

WORKGROUP = 256
LONGEST_TILE = 2048
SHORTEST_TILE = 16
SLOTS = 512
"""A workgroup sorts several short tiles until it has this many slots."""
PART = 8
"""Neighbours that an invocation merges."""
_FLIP = 0xFFFFFFFF


def sort_plan(
    operation: str,
    layout: Layout,
    dtype: DType,
    dim: int,
    k: int,
    descending: bool,
    device: Capability,
    values: bool,
    indices: DType | None,
) -> Plan:
    """The first k of each sorted row along dim. Outputs: values if asked for, then indices of a dtype if given.

    Outputs are [.., k] with the sorted axis last, whatever dim is: the caller moves it back as a view.
    """
    rest = [a for a in range(layout.rank) if a != dim]
    shape = (*[layout.shape[a] for a in rest], k)
    outputs = ([Out.of(shape, dtype)] if values else []) + ([Out.of(shape, indices)] if indices else [])
    steps = Steps(1, outputs)
    out = Layout.dense(shape)
    if out.size == 0:
        return steps.plan(operation)
    direct = indices is not None and indices.size_bytes == 4
    places = steps.output(len(outputs) - 1) if direct else steps.scratch(4 * out.size)
    sort_launches(steps, layout, dtype, dim, k, descending, 0, places, None, device)
    if values:
        strides = [layout.strides[a] for a in rest]
        source = Layout.of(shape, (*strides, 0), layout.offset)
        picked = Picked(source, out, (Axis(layout.shape[dim], layout.strides[dim]),))
        launch = gather_launch(
            operation, picked, dtype.size_bytes, U32, (0, places, steps.output(0)), device, faults=False
        )
        assert launch is not None
        steps.launch(launch)
    if indices is not None and not direct:
        steps.launch(narrow_launch(out.size, indices, places, steps.output(len(outputs) - 1), device))
    return steps.plan(operation)


def sort_launches(
    steps: Steps,
    layout: Layout,
    dtype: DType,
    dim: int,
    k: int,
    descending: bool,
    source: int,
    places: int,
    keys: int | None,
    device: Capability,
) -> None:
    """Adds the launches that write the positions [rows, k] as u32 into operand `places`, and, when `keys` is an
    operand, the sorted keys (order-preserving, one or two words each) into that."""
    n = layout.shape[dim]
    key_words = 2 if dtype.size_bytes == 8 else 1
    tile = tile_size(n, key_words, device)
    tiles = -(-n // tile)
    rest = [a for a in range(layout.rank) if a != dim]
    rows = Layout.of([layout.shape[a] for a in rest], [layout.strides[a] for a in rest], layout.offset)

    # The runs of one level are read while those of the next are written: two sets of buffers take turns.
    levels = [(tiles, min(k, tile))]
    span = tile
    while levels[-1][0] > 1:
        span *= 2
        levels.append((-(-levels[-1][0] // 2), min(k, span)))
    most = rows.size * max((count * run for count, run in levels[:-1]), default=0)
    turns = [(steps.scratch(4 * most), steps.scratch(4 * key_words * most)) for _ in range(min(2, len(levels) - 1))]
    at: list[tuple[int, int | None]] = [turns[i % 2] for i in range(len(levels) - 1)]
    at.append((places, keys))
    steps.launch(
        _tile_launch(rows, layout.strides[dim], n, dtype, tile, levels[0][1], descending, source, at[0], device)
    )
    span = tile
    for i in range(1, len(levels)):
        steps.launch(
            _merge_launch(
                rows.size, levels[i - 1][0], n, k, span, levels[i - 1][1], levels[i][1], key_words, at[i - 1], at[i],
                device,
            )
        )  # fmt: skip
        span *= 2


def tile_size(n: int, key_words: int, device: Capability) -> int:
    """Elements that a workgroup sorts at once: a power of two, at least n where workgroup memory allows."""
    longest = LONGEST_TILE
    while longest * 4 * (key_words + 1) > device.max_workgroup_bytes:
        longest //= 2
    tile = SHORTEST_TILE
    while tile < n and tile < longest:
        tile *= 2
    return tile


def _key_storage(prelude: Prelude, key_words: int) -> None:
    """K, its order, and the libraries."""
    prelude.alias("K", "u32" if key_words == 1 else "vec2<u32>")
    prelude.use("sort/less32" if key_words == 1 else "sort/less64")


def _outputs(prelude: Prelude, keys: int | None) -> None:
    prelude.raw_storage("out_places", "array<u32>")
    if keys is None:
        prelude.text("fn keep_key(at: u32, key: K) {}")
    else:
        prelude.raw_storage("out_keys", "array<K>")
        prelude.text("fn keep_key(at: u32, key: K) { out_keys[at] = key; }")


def _tile_launch(
    rows: Layout,
    stride: int,
    n: int,
    dtype: DType,
    tile: int,
    keep: int,
    descending: bool,
    source: int,
    to: tuple[int, int | None],
    device: Capability,
) -> Launch:
    key_words = 2 if dtype.size_bytes == 8 else 1
    together = max(1, SLOTS // tile)
    tiles = -(-n // tile)
    workgroup = min(WORKGROUP, tile * together // 2)
    runs = rows.size * tiles
    grid = fold(-(-runs // together), device)
    prelude = Prelude()
    _key_storage(prelude, key_words)
    prelude.storage("src", raw_kind(dtype.size_bytes))
    prelude.use("sort/key")
    prelude.text(f"fn key_at(i: u32) -> K {{ return {_key_function(dtype)}(load_src(i)); }}")
    _outputs(prelude, to[1])
    prelude.const("WORKGROUP", workgroup)
    prelude.const("TILE", tile)
    prelude.const("ROWS", together)
    numbers = Numbers(prelude, grid[0])
    for name, value in {
        "runs": runs, "tiles": tiles, "size": n, "stride": stride, "keep": keep, "run": keep,
        "flip": _FLIP if descending else 0,
    }.items():  # fmt: skip
        numbers.add(name, value)
    walk(numbers, "row_at", [rows])
    params = numbers.declare()
    key = KernelKey(
        "sort/tile", prelude.build(), tuple(prelude.uses), prelude.bindings, 4 * (key_words + 1) * tile * together,
        workgroup, frozenset(), trusted=True,
    )  # fmt: skip
    return Launch(key, (source, *[o for o in to if o is not None]), params, grid)


def _key_function(dtype: DType) -> str:
    if dtype in (F16, BF16) or dtype.kind == "int" or dtype.size_bytes == 8:
        return f"key_{dtype.name}"
    return "key_f32" if dtype.is_float else "key_u32"


def _merge_launch(
    rows: int,
    runs: int,
    n: int,
    keep: int,
    span: int,
    run_in: int,
    run_out: int,
    key_words: int,
    source: tuple[int, int | None],
    to: tuple[int, int | None],
    device: Capability,
) -> Launch:
    pairs = -(-runs // 2)
    parts = -(-run_out // PART)
    count = rows * pairs * parts
    grid = fold(-(-count // WORKGROUP), device)
    prelude = Prelude()
    _key_storage(prelude, key_words)
    prelude.raw_storage("in_places", "array<u32>")
    prelude.raw_storage("in_keys", "array<K>")
    _outputs(prelude, to[1])
    prelude.const("WORKGROUP", WORKGROUP)
    prelude.const("PART", PART)
    numbers = Numbers(prelude, grid[0])
    for name, value in {
        "count": count, "parts": parts, "pairs": pairs, "runs": runs, "size": n, "keep": keep, "span": span,
        "run_in": run_in, "run_out": run_out,
    }.items():  # fmt: skip
        numbers.add(name, value)
    params = numbers.declare()
    key = KernelKey(
        "sort/merge", prelude.build(), tuple(prelude.uses), prelude.bindings, 0, WORKGROUP, frozenset(), trusted=True
    )
    assert source[1] is not None
    return Launch(key, (source[0], source[1], *[o for o in to if o is not None]), params, grid)


def variants(device: Capability) -> Iterator[Plan]:
    """Every dtype in one tile and in several; every tile size; every index dtype."""
    for dtype in (*dt.FLOATS, *dt.INTS):
        for n in (100, 9000):
            layout = Layout.dense((3, n))
            yield sort_plan("sort_with_indices", layout, dtype, 1, n, True, device, True, dt.I32)
            yield sort_plan("topk", layout, dtype, 1, 5, True, device, True, None)
    n = SHORTEST_TILE
    while n <= LONGEST_TILE:
        yield sort_plan("argsort", Layout.dense((n, 2, 3)), dt.F32, 0, n, False, device, False, dt.I64)
        n *= 2
    for index_dtype in dt.INTS:
        yield sort_plan("argsort", Layout.dense((3, 50)), dt.F32, 1, 50, False, device, False, index_dtype)
