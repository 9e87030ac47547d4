"""Reading by index: select, gather, gather_nd and embedding are one kernel that moves raw units.

Every output element knows two places by strides alone: where its index lies, and where the source element would lie if
the indexed axes were at 0. `located` then adds index · stride for each indexed axis. An index outside its axis reads 0
and is reported (`shader/fault.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from burn_wgpu.kernel.walk import Numbers, walk_axes
from burn_wgpu.shader import fault
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.fault import FAULT_OPERAND
from burn_wgpu.shader.launch import KernelKey, Launch, Out, Plan, countable, fold
from burn_wgpu.shader.prelude import RAW64, Prelude, word_kind
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.layout import Layout, Shape, collapse_together

WORKGROUP = 256
MISSING = 0xFFFFFFFF
"""What a kernel holds for the place of an index outside its axis."""
_UNIT_TYPE = {1: "u32", 2: "u32", 4: "u32", 8: "vec2<u32>", 16: "vec4<u32>"}
_MANY = 1 << 16


class Axis(NamedTuple):
    """An indexed axis: how many elements it has, and how far apart they are where the index points."""

    size: int
    stride: int


class Picked(NamedTuple):
    """A gather: layouts over the output's shape.

    source   the place in the source with all indexed axes at 0
    at       the place of the (first) index
    axes     the indexed axes; index k lies index_step · k after the first
    """

    source: Layout
    at: Layout
    axes: tuple[Axis, ...]
    index_step: int = 1


def select_places(tensor: Layout, dim: int, indices: Layout) -> Picked:
    """indices [k] pick along dim: out has size k there."""
    k = indices.shape[0]
    shape = _with(tensor.shape, dim, k)
    source = Layout.of(shape, _with(tensor.strides, dim, 0), tensor.offset)
    index = Layout.of(shape, [indices.strides[0] if a == dim else 0 for a in range(len(shape))], indices.offset)
    return Picked(source, index, (Axis(tensor.shape[dim], tensor.strides[dim]),))


def gather_places(dim: int, tensor: Layout, indices: Layout) -> Picked:
    """out and indices have one shape; other axes keep their positions."""
    source = Layout.of(indices.shape, _with(tensor.strides, dim, 0), tensor.offset)
    return Picked(source, indices, (Axis(tensor.shape[dim], tensor.strides[dim]),))


def gather_nd_places(data: Layout, indices: Layout) -> Picked:
    """indices [.., K] → out [.., *data.shape[K:]]."""
    k = indices.shape[-1]
    lead = indices.shape[:-1]
    shape = (*lead, *data.shape[k:])
    source = Layout.of(shape, (*[0] * len(lead), *data.strides[k:]), data.offset)
    index = Layout.of(shape, (*indices.strides[:-1], *[0] * (data.rank - k)), indices.offset)
    axes = tuple(Axis(n, s) for n, s in zip(data.shape[:k], data.strides[:k], strict=True))
    return Picked(source, index, axes, indices.strides[-1])


def embedding_places(weights: Layout, indices: Layout) -> Picked:
    """weights [V, D], indices of any shape → out [.., D]."""
    shape = (*indices.shape, weights.shape[1])
    source = Layout.of(shape, (*[0] * indices.rank, weights.strides[1]), weights.offset)
    index = Layout.of(shape, (*indices.strides, 0), indices.offset)
    return Picked(source, index, (Axis(weights.shape[0], weights.strides[0]),))


def gather_plan(operation: str, picked: Picked, dtype: DType, index_dtype: DType, device: Capability) -> Plan:
    """One launch over inputs (source, indices); the output is row-major."""
    out = Out.of(picked.source.shape, dtype)
    launch = gather_launch(operation, picked, dtype.size_bytes, index_dtype, (0, 1, 2), device)
    return Plan(operation, 2, (out,), () if launch is None else (launch,), (), launch is not None)


def gather_launch(
    operation: str,
    picked: Picked,
    size_bytes: int,
    index_dtype: DType,
    operands: tuple[int, int, int],
    device: Capability,
    faults: bool = True,
) -> Launch | None:
    """Operands are (source, indices, output). faults=False: the indices were computed by a kernel and are right."""
    if picked.source.size == 0:
        return None
    indexable(operation, picked.axes, device)
    shape, (source, index) = collapse_together([picked.source, picked.at])
    axes, s, t = list(shape), list(source), list(index)
    source_at, steps, unit = picked.source.offset, [axis.stride for axis in picked.axes], size_bytes
    # Rows that lie together on both sides move in units of up to 16 bytes.
    while unit < 16 and axes and axes[-1] % 2 == 0 and s[-1] == 1 and t[-1] == 0:
        if any(v % 2 for v in (*s[:-1], *steps, source_at)):
            break
        axes[-1] //= 2
        s[:-1] = [v // 2 for v in s[:-1]]
        steps = [v // 2 for v in steps]
        source_at, unit = source_at // 2, unit * 2
    count = 1
    for n in axes:
        count *= n
    packed = unit < 4
    owned = -(-count // (4 // unit)) if packed else count
    per_thread = 4 if owned >= _MANY else 1
    grid = fold(-(-owned // (WORKGROUP * per_thread)), device)

    prelude = Prelude()
    prelude.raw_storage("src", f"array<{_UNIT_TYPE[unit]}>")
    index_storage(prelude, index_dtype)
    prelude.raw_storage("out", f"array<{_UNIT_TYPE[unit]}>")
    prelude.const("WORKGROUP", WORKGROUP)
    if packed:
        prelude.const("WORDS", per_thread)
        prelude.const("PER_WORD", 4 // unit)
    else:
        prelude.const("UNITS", per_thread)
        prelude.alias("Unit", _UNIT_TYPE[unit])
    numbers = Numbers(prelude, grid[0])
    numbers.add("count", count)
    scaled = [Axis(axis.size, step) for axis, step in zip(picked.axes, steps, strict=True)]
    located(numbers, operation if faults else None, scaled, picked.index_step, index_dtype)
    walk_axes(numbers, "places", axes, [s, t], [source_at, picked.at.offset])
    params = numbers.declare()
    file = "index/gather_packed" if packed else "index/gather"
    key = KernelKey(
        file, prelude.build(), tuple(prelude.uses), prelude.bindings, 0, WORKGROUP, frozenset(), trusted=True
    )
    return Launch(key, (*operands, FAULT_OPERAND) if faults else operands, params, grid)


def indexable(operation: str, axes: Sequence[Axis], device: Capability) -> None:
    """Raises UnsupportedError for an axis that an index as the bits of an i32 (`index_storage`) does not reach."""
    for axis in axes:
        countable(
            operation, axis.size, "elements along the indexed axis", "index slices of it", device, most=(1 << 31) - 1
        )


def index_storage(prelude: Prelude, dtype: DType) -> None:
    """The binding `indices` and `index_at(i) -> u32`: the index as the bits of an i32.

    Negative ones become 2^31 and more, too large ones 2^31 − 1, so that one comparison with the axis' size decides; a
    64-bit index needs no 64-bit arithmetic.
    """
    if dtype.size_bytes == 8:
        prelude.storage("indices", RAW64)
        prelude.use("index/read")
        read = f"index_{dtype.name}(load_indices(i))"
    else:
        kind = word_kind(dtype)
        prelude.storage("indices", kind)
        read = "load_indices(i)" if kind.value == "u32" else "bitcast<u32>(load_indices(i))"
        if dtype.kind == "uint" and dtype.size_bytes == 4:
            read = f"min({read}, 0x7fffffffu)"
    prelude.text(f"fn index_at(i: u32) -> u32 {{ return {read}; }}")
    if dtype.size_bytes == 8:
        whole = "load_indices(i)"
    elif dtype.kind == "uint":
        whole = "vec2<u32>(load_indices(i), 0u)"
    else:
        whole = "vec2<u32>(index_at(i), select(0u, 0xffffffffu, index_at(i) >= 0x80000000u))"
    prelude.text(f"fn whole_index(i: u32) -> vec2<u32> {{ return {whole}; }}")


def located(numbers: Numbers, operation: str | None, axes: Sequence[Axis], index_step: int, index_dtype: DType) -> None:
    """Declares `located(base, at) -> (place, 1)`, or (MISSING, 0) when an index read from `at` on is outside its axis.

    With an operation the kernel also reports the fault, and takes the fault words as its next binding.
    """
    if operation is not None:
        numbers.prelude.raw_storage("faults", "array<atomic<u32>>")
        numbers.prelude.use("lib/fault")
        code = numbers.add(
            "fault_code", fault.code("unsigned index" if index_dtype.kind == "uint" else "index", operation)
        )
    step = numbers.add("index_step", index_step) if len(axes) > 1 else "0u"
    lines = ["    var place = base;", "    var inside = true;"]
    for k, axis in enumerate(axes):
        size = numbers.add(f"axis{k}_size", axis.size)
        stride = numbers.add(f"axis{k}_stride", axis.stride)
        at = "at" if k == 0 else f"at + {k}u * {step}"
        lines += [
            f"    let x{k} = index_at({at});",
            f"    if (x{k} < {size}) {{",
            f"        place += x{k} * {stride};",
            "    } else {",
            "        inside = false;",
            *([f"        report({code}, whole_index({at}), {size});"] if operation is not None else []),
            "    }",
        ]
    lines += [f"    return select(vec2<u32>({MISSING}u, 0u), vec2<u32>(place, 1u), inside);"]
    numbers.prelude.text("fn located(base: u32, at: u32) -> vec2<u32> {\n" + "\n".join(lines) + "\n}")


def _with(values: Shape, dim: int, value: int) -> list[int]:
    changed = list(values)
    changed[dim] = value
    return changed


def variants(device: Capability) -> Iterator[Plan]:
    """Every unit and index dtype; one and several axes, contiguous and not."""
    for dtype in (dt.U8, dt.F16, dt.F32, dt.F64):
        for width in (1, 3, 4, 8, 16):
            yield gather_plan(
                "embedding", embedding_places(Layout.dense((5, width)), Layout.dense((2, 3))), dtype, dt.I32, device
            )
        for count in (1, 1 << 20):
            places = gather_places(0, Layout.dense((5, 6)).swap_dims(0, 1), Layout.dense((count, 3)))
            yield gather_plan("gather", places, dtype, dt.I64, device)
    for index_dtype in dt.INTS:
        yield gather_plan(
            "select", select_places(Layout.dense((4, 5, 6)), 1, Layout.dense((7,))), dt.F32, index_dtype, device
        )
    for k in range(4):
        places = gather_nd_places(Layout.dense((4, 5, 6)), Layout.dense((7, 2, k)))
        yield gather_plan("gather_nd", places, dt.F32, dt.I32, device)
