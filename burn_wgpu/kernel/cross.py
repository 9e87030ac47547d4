"""The cross product along an axis of size 3: one kernel, any layouts."""

from __future__ import annotations

from collections.abc import Iterator

from burn_wgpu.kernel.walk import Numbers, walk
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import KernelKey, Launch, Out, Plan, fold
from burn_wgpu.shader.prelude import Prelude
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.layout import Layout, broadcast_shapes

WORKGROUP = 256


def cross_plan(lhs: Layout, rhs: Layout, dim: int, dtype: DType, device: Capability) -> Plan:
    """lhs × rhs along `dim`; the other axes broadcast. In f32, rounded once to dtype."""
    shape = broadcast_shapes("float_cross", lhs.shape, rhs.shape)
    out = Out.of(shape, dtype)
    if out.layout.size == 0:
        return Plan("float_cross", 2, (out,), ())
    sides = [side.expand(shape) for side in (lhs, rhs)]
    lines = [Layout.of(shape, [0 if a == dim else s for a, s in enumerate(v.strides)], v.offset) for v in sides]
    component = Layout.of(shape, [1 if a == dim else 0 for a in range(len(shape))])
    count = out.layout.size
    grid = fold(-(-count // (4 * WORKGROUP)), device)
    prelude = Prelude()
    prelude.storage("lhs", dtype)
    prelude.storage("rhs", dtype)
    prelude.storage("out", dtype, "chunk")
    prelude.const("WORKGROUP", WORKGROUP)
    numbers = Numbers(prelude, grid[0])
    numbers.add("count", count)
    for name, view in zip(("lhs_step", "rhs_step"), sides, strict=True):
        numbers.add(name, view.strides[dim])
    walk(numbers, "places", [*lines, component])
    params = numbers.declare()
    key = KernelKey(
        "elementwise/cross", prelude.build(), tuple(prelude.uses), prelude.bindings, 0, WORKGROUP,
        frozenset(prelude.features), trusted=True,
    )  # fmt: skip
    return Plan("float_cross", 2, (out,), (Launch(key, (0, 1, 2), params, grid),))


def variants(device: Capability) -> Iterator[Plan]:
    """Every dtype, along each axis, with a view and a broadcast operand."""
    dense = Layout.dense((4, 3, 6))
    for dtype in (dt.F32, dt.F16, dt.BF16, dt.F64):
        yield cross_plan(dense, dense, 1, dtype, device)
    yield cross_plan(Layout.dense((4, 3)), Layout.dense((1, 3)), 1, dt.F32, device)
    yield cross_plan(dense, Layout.dense((6, 3, 4)).swap_dims(0, 2), 1, dt.F32, device)
