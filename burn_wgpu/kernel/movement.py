"""Kernels that move elements without looking at them: copies of views, regions, concatenation, constants.

Every kernel here works on units of 1, 2, 4, 8 or 16 bytes, so one text serves all dtypes of a size.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from burn_wgpu.kernel.map import Function, Operand, copy_plan, map_plan
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import KernelKey, Launch, Out, Plan, fold
from burn_wgpu.shader.prelude import Prelude, raw_kind, words
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.layout import Layout, Shape, collapse_together
from burn_wgpu.std.slice import Slice

WORKGROUP = 256
TILE = 32
_UNIT_TYPE = {1: "u32", 2: "u32", 4: "u32", 8: "vec2<u32>", 16: "vec4<u32>"}


def contiguous_plan(layout: Layout, dtype: DType, device: Capability, operation: str = "contiguous") -> Plan:
    """A view's elements, row-major in a buffer of their own: through tiles when the fast axis must move."""
    return transpose_plan(layout, dtype, device, operation) or copy_plan(layout, dtype, device, operation)


def transpose_plan(layout: Layout, dtype: DType, device: Capability, operation: str) -> Plan | None:
    """The tiled copy of a view whose unit-stride axis is not the last; None where it does not pay or fit.

    At most three axes besides the two. Elements of 2 bytes need even sizes and strides, so that words stay whole.
    """
    size_bytes = dtype.size_bytes
    if size_bytes == 1 or layout.size == 0:
        return None
    (shape, (strides,)) = collapse_together([layout])
    rank = len(shape)
    if rank < 2 or strides[-1] == 1 or 1 not in strides or rank > 5:
        return None
    fast = strides.index(1)
    if shape[fast] < 16 or shape[-1] < 16:
        return None
    if fast != rank - 2:
        # dst [.., j, .., i]: only when j and i are neighbours in dst are the tile's rows its own.
        return None
    size_j, size_i = shape[-2], shape[-1]
    if size_bytes == 2 and any(n % 2 for n in (size_j, size_i, layout.offset, *strides[:-2], strides[-1])):
        return None
    tile = 64 if size_bytes == 2 else TILE
    batch_shape, batch_strides = shape[:-2], strides[:-2]
    batches = 1
    for n in batch_shape:
        batches *= n
    prelude = Prelude()
    unit = "vec2<u32>" if size_bytes == 8 else "u32"
    prelude.alias("U", unit)
    prelude.raw_storage("src", f"array<{unit}>")
    prelude.raw_storage("dst", f"array<{unit}>")
    prelude.const("TILE", tile)
    fields = {n: "u32" for n in ("groups_x", "batches", "tiles_i", "tiles_j", "size_i", "size_j", "src_row", "at")}
    tiles_i, tiles_j = -(-size_i // tile), -(-size_j // tile)
    grid = fold(batches * tiles_i * tiles_j, device)
    values = [grid[0], batches, tiles_i, tiles_j, size_i, size_j, strides[-1], layout.offset]
    lines = ["    var left = b;", "    var place = params.at;"]
    for axis in range(len(batch_shape) - 1, -1, -1):
        fields[f"b{axis}"], fields[f"t{axis}"] = "u32", "u32"
        values += [batch_shape[axis], batch_strides[axis]]
        lines.append(f"    place += (left % params.b{axis}) * params.t{axis};")
        lines.append(f"    left = left / params.b{axis};")
    lines.append("    return place;")
    prelude.params(**fields)
    prelude.text("fn batch_at(b: u32) -> u32 {\n" + "\n".join(lines) + "\n}")
    memory = {2: 4 * tile * (tile // 2 + 1), 4: 4 * tile * (tile + 1), 8: 8 * tile * (tile + 1)}[size_bytes]
    file = "movement/transpose16" if size_bytes == 2 else "movement/transpose"
    key = KernelKey(file, prelude.build(), (), 2, memory, 256, frozenset(), trusted=True)
    launch = Launch(key, (0, 1), words(*values), grid)
    return Plan(operation, 1, (Out.of(layout.shape, dtype),), (launch,))


def place_launch(
    source: Layout, region: Layout, size_bytes: int, operands: tuple[int, int], device: Capability
) -> Launch | None:
    """Copies a view into a region (a view of another tensor) of the same shape; None when there is nothing to copy.

    The unit grows to up to 16 bytes while both sides allow it.
    """
    if source.size == 0:
        return None
    shape, (src, dst) = collapse_together([source, region])
    axes, src_at, dst_at = list(shape), source.offset, region.offset
    s, d, unit = list(src), list(dst), size_bytes
    while unit < 16 and axes and axes[-1] % 2 == 0 and s[-1] == 1 and d[-1] == 1:
        if any(v % 2 for v in (*s[:-1], *d[:-1], src_at, dst_at)):
            break
        axes[-1] //= 2
        s[:-1] = [v // 2 for v in s[:-1]]
        d[:-1] = [v // 2 for v in d[:-1]]
        src_at, dst_at, unit = src_at // 2, dst_at // 2, unit * 2
    packed = unit < 4
    count = 1
    for n in axes:
        count *= n
    per_thread = 4 if count >= 1 << 16 else 1
    prelude = Prelude()
    prelude.raw_storage("src", f"array<{_UNIT_TYPE[unit]}>")
    prelude.raw_storage("dst", "array<atomic<u32>>" if packed else f"array<{_UNIT_TYPE[unit]}>")
    prelude.const("WORKGROUP", WORKGROUP)
    prelude.const("UNITS", per_thread)
    if packed:
        prelude.const("PER_WORD", 4 // unit)
    grid = fold(-(-count // (WORKGROUP * per_thread)), device)
    fields = {n: "u32" for n in ("groups_x", "count", "src_at", "dst_at")}
    values = [grid[0], count, src_at, dst_at]
    lines = ["    var left = i;", "    var a = params.src_at;", "    var b = params.dst_at;"]
    for axis in range(len(axes) - 1, -1, -1):
        fields[f"s{axis}"], fields[f"t{axis}"] = "u32", "u32"
        values += [s[axis], d[axis]]
        if axis:
            fields[f"d{axis}"] = "u32"
            values.append(axes[axis])
            lines.append(f"    let c{axis} = left % params.d{axis};")
            lines.append(f"    left = left / params.d{axis};")
        index = f"c{axis}" if axis else "left"
        lines.append(f"    a += {index} * params.s{axis};")
        lines.append(f"    b += {index} * params.t{axis};")
    lines.append("    return vec2<u32>(a, b);")
    prelude.params(**fields)
    prelude.text("fn places(i: u32) -> vec2<u32> {\n" + "\n".join(lines) + "\n}")
    file = "movement/place_packed" if packed else "movement/place"
    key = KernelKey(file, prelude.build(), (), 2, 0, WORKGROUP, frozenset(), trusted=True)
    return Launch(key, operands, words(*values), grid)


def cat_plan(layouts: Sequence[Layout], dim: int, dtype: DType, device: Capability) -> Plan:
    """The tensors one after another along `dim`: one copy each into the result."""
    shape = list(layouts[0].shape)
    shape[dim] = sum(layout.shape[dim] for layout in layouts)
    out = Out.of(shape, dtype)
    launches, start = [], 0
    for i, layout in enumerate(layouts):
        end = start + layout.shape[dim]
        region = out.layout.slice([Slice.full()] * dim + [Slice(start, end)])
        launch = place_launch(layout, region, dtype.size_bytes, (i, len(layouts)), device)
        if launch is not None:
            launches.append(launch)
        start = end
    return Plan("cat", len(layouts), (out,), tuple(launches))


def slice_assign_plan(
    layout: Layout, slices: Sequence[Slice], values: Layout, dtype: DType, device: Capability
) -> Plan:
    """A copy of the tensor, then the values over the region."""
    copy = contiguous_plan(layout, dtype, device)
    out = copy.outputs[0]
    region = out.layout.slice(slices)
    launches = [Launch(c.key, (0, 2), c.params, c.grid, c.scalars) for c in copy.launches]
    launch = place_launch(values.expand(region.shape), region, dtype.size_bytes, (1, 2), device)
    if launch is not None:
        launches.append(launch)
    return Plan("slice_assign", 2, (out,), tuple(launches))


def full_plan(shape: Shape, dtype: DType, device: Capability) -> Plan:
    """One number everywhere; the caller gives its bits (`full_bits`) as the open scalar."""
    kind = raw_kind(dtype.size_bytes)
    value = kind.value
    function = Function("keep", ("lib/keep",), value, value)
    plan = map_plan("full", function, list[Operand](), shape, dtype, device, (value,), out_kind=kind)
    assert plan is not None
    return plan


def full_bits(stored: bytes) -> bytes:
    """One element's stored bytes as the words of the open scalar."""
    if len(stored) == 8:
        return stored
    return struct.pack("<I", int.from_bytes(stored, "little"))


def variants(device: Capability) -> Iterator[Plan]:
    """Copies through tiles, regions in every unit, constants."""
    for dtype in (dt.U8, dt.F16, dt.F32, dt.F64):
        yield full_plan((33,), dtype, device)
        yield contiguous_plan(Layout.dense((3, 40, 50)).swap_dims(1, 2), dtype, device)
        yield contiguous_plan(Layout.dense((3, 5, 40, 50)).permute((0, 1, 3, 2)).slice([Slice(0, 2)]), dtype, device)
        for width in (1, 3, 4, 8, 16):
            layout = Layout.dense((5, width))
            yield cat_plan([layout, layout], 1, dtype, device)
            yield cat_plan([layout.flip([1]), layout], 1, dtype, device)
        yield slice_assign_plan(
            Layout.dense((6, 7, 8)), [Slice(1, 3), Slice(0, 7, 2)], Layout.dense((2, 4, 8)), dtype, device
        )
    yield cat_plan([Layout.dense((1 << 20,))] * 2, 0, dt.F32, device)
