"""The coordinates of a mask's true elements, by counting tiles, summing the counts and writing; and counting ranges.

The host reads only the total, because the result's shape depends on it.
"""

from __future__ import annotations

from collections.abc import Iterator

from burn_wgpu.kernel.walk import Numbers, Steps, narrow_launch
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import KernelKey, Launch, Out, Plan, fold
from burn_wgpu.shader.prelude import Prelude, raw_kind, words
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.dtype import U32, DType
from burn_wgpu.std.layout import Shape

WORKGROUP = 256
EACH = 16
"""Elements that an invocation looks at."""
TILE = WORKGROUP * EACH


def count_plan(size: int, dtype: DType, device: Capability) -> Plan:
    """Of a packed mask: how many true elements lie before each tile [tiles], and how many there are [1], as u32."""
    tiles = -(-size // TILE)
    steps = Steps(1, [Out.of((tiles,), U32), Out.of((1,), U32)])
    counts = steps.scratch(4 * tiles)
    grid = fold(tiles, device)
    prelude = _mask(dtype)
    prelude.raw_storage("counts", "array<u32>")
    params = _tiles(prelude, grid[0], size, tiles)
    steps.launch(_launch("index/count", prelude, 4 * WORKGROUP, (0, counts), params, grid))

    prelude = Prelude()
    prelude.raw_storage("counts", "array<u32>")
    prelude.raw_storage("starts", "array<u32>")
    prelude.raw_storage("total", "array<u32>")
    prelude.const("WORKGROUP", WORKGROUP)
    params = _tiles(prelude, 1, size, tiles)
    operands = (counts, steps.output(0), steps.output(1))
    steps.launch(_launch("index/offsets", prelude, 4 * WORKGROUP, operands, params, (1, 1, 1)))
    return steps.plan("argwhere")


def where_plan(shape: Shape, count: int, dtype: DType, out_dtype: DType, device: Capability) -> Plan:
    """Inputs (packed mask of this shape, starts of `count_plan`); output [count, rank]."""
    size = 1
    for n in shape:
        size *= n
    out = Out.of((count, len(shape)), out_dtype)
    steps = Steps(2, [out])
    if out.layout.size == 0:
        return steps.plan("argwhere")
    tiles = -(-size // TILE)
    grid = fold(tiles, device)
    direct = out_dtype.size_bytes == 4
    to = steps.output(0) if direct else steps.scratch(4 * out.layout.size)
    prelude = _mask(dtype)
    prelude.raw_storage("starts", "array<u32>")
    prelude.raw_storage("out", "array<u32>")
    numbers = Numbers(prelude, grid[0])
    numbers.add("size", size)
    numbers.add("tiles", tiles)
    rank = len(shape)
    lines = [f"    let to = n * {rank}u;", "    var left = i;"]
    for axis in range(rank - 1, 0, -1):
        along = numbers.add(f"size{axis}", shape[axis])
        lines.append(f"    let n{axis} = left / {along};")
        lines.append(f"    out[to + {axis}u] = left - n{axis} * {along};")
        lines.append(f"    left = n{axis};")
    lines.append("    out[to] = left;")
    prelude.text("fn put(n: u32, i: u32) {\n" + "\n".join(lines) + "\n}")
    steps.launch(_launch("index/where", prelude, 4 * WORKGROUP, (0, 1, to), numbers.declare(), grid))
    if not direct:
        steps.launch(narrow_launch(out.layout.size, out_dtype, to, steps.output(0), device))
    return steps.plan("argwhere")


def arange_plan(count: int, dtype: DType, device: Capability) -> Plan:
    """start, start + step, …: [count], wrapping. Scalars: start and step, two words each."""
    out = Out.of((count,), dtype)
    if count == 0:
        return Plan("arange_step", 0, (out,), ())
    chunks = -(-count // 4)
    grid = fold(-(-chunks // WORKGROUP), device)
    prelude = Prelude()
    kind = prelude.storage("out", raw_kind(dtype.size_bytes), "chunk")
    prelude.use("index/counted")
    name = "counted_wide" if dtype.size_bytes == 8 else "counted"
    four = f"array<{kind.value}, 4>"
    values = ", ".join(f"{name}(i + {lane}u)" for lane in range(4))
    prelude.text(f"fn counted4(i: u32) -> {four} {{ return {four}({values}); }}")
    prelude.const("WORKGROUP", WORKGROUP)
    fields = ("groups_x", "chunks", "start_low", "start_high", "step_low", "step_high")
    prelude.params(**dict.fromkeys(fields, "u32"))
    key = KernelKey("index/arange", prelude.build(), tuple(prelude.uses), 1, 0, WORKGROUP, frozenset(), trusted=True)
    return Plan("arange_step", 0, (out,), (Launch(key, (0,), words(grid[0], chunks), grid, 4),))


def _mask(dtype: DType) -> Prelude:
    prelude = Prelude()
    prelude.storage("mask", dtype)
    prelude.const("WORKGROUP", WORKGROUP)
    prelude.const("EACH", EACH)
    return prelude


def _tiles(prelude: Prelude, groups_x: int, size: int, tiles: int) -> bytes:
    numbers = Numbers(prelude, groups_x)
    numbers.add("size", size)
    numbers.add("tiles", tiles)
    return numbers.declare()


def _launch(
    file: str, prelude: Prelude, workgroup_bytes: int, operands: tuple[int, ...], params: bytes,
    grid: tuple[int, int, int],
) -> Launch:  # fmt: skip
    key = KernelKey(
        file, prelude.build(), tuple(prelude.uses), prelude.bindings, workgroup_bytes, WORKGROUP, frozenset(),
        trusted=True,
    )  # fmt: skip
    return Launch(key, operands, params, grid)


def variants(device: Capability) -> Iterator[Plan]:
    """Masks of both storages, ranks up to 4, every dtype of coordinates and of ranges."""
    for dtype in (dt.BOOL_U8, dt.BOOL_U32):
        yield count_plan(9000, dtype, device)
        for rank in (1, 2, 3, 4):
            yield where_plan((5,) * rank, 7, dtype, dt.I32, device)
    for out_dtype in dt.INTS:
        yield where_plan((5, 6), 7, dt.BOOL_U8, out_dtype, device)
        yield arange_plan(9, out_dtype, device)
