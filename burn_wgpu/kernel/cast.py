"""Conversions between dtypes: one elementwise kernel, its function chosen by the classes of the two dtypes.

64-bit integers and f64 are moved as two words, so that they convert on adapters without 64-bit arithmetic.

| from \\ to | f32 f16 bf16 | f64 | ints up to 32 bits | i64 u64 | bools |
|---|---|---|---|---|---|
| float, double | nearest even | exact | truncated, saturated, NaN 0 | the same | != 0, NaN true |
| narrow, wide | nearest even | nearest even | low bits | low bits, extended by the sign | != 0 |
| bool | 0 or 1 | 0 or 1 | 0 or 1 | 0 or 1 | same |
"""

from __future__ import annotations

from collections.abc import Iterator

from burn_wgpu.kernel.map import Function, Operand, map_plan
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import Plan
from burn_wgpu.shader.prelude import KINDS, RAW64, WordKind, raw_kind
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.dtype import BF16, F16, F64, DType
from burn_wgpu.std.layout import Layout


def cast_plan(layout: Layout, source: DType, target: DType, device: Capability, operation: str = "cast") -> Plan:
    """The elements of a view as another dtype, row-major in a buffer of their own. Each element is rounded once."""
    function, read, made = _function(source, target)
    plan = map_plan(operation, function, [Operand(layout, read)], layout.shape, target, device, out_kind=made)
    assert plan is not None  # one operand of rank 16 needs 34 words
    return plan


def _class(dtype: DType) -> str:
    if dtype.is_bool:
        return "bool"
    if dtype.is_float:
        return "double" if dtype is F64 else "float"
    return "wide" if dtype.size_bytes == 8 else "narrow"


def _function(source: DType, target: DType) -> tuple[Function, WordKind, WordKind]:
    """The WGSL function, how the operand is read, how the result is stored."""
    start, end = _class(source), _class(target)
    if start == end == "float" or {start, end} == {"float", "double"}:
        if start == "double" and target in (F16, BF16):
            return _named("double_to_odd", source, target, "vec2<u32>", "f32"), RAW64, KINDS[target]
        # Reading and storing convert already.
        return Function("keep", ("lib/keep",), "f32", "f32"), KINDS[source], KINDS[target]
    if start == end and start in ("wide", "double"):
        return Function("keep", ("lib/keep",), RAW64.value, RAW64.value), RAW64, RAW64
    read = RAW64 if start in ("wide", "double") else KINDS[source]
    if end in ("wide", "double"):
        made = RAW64
    elif end == "narrow":
        made = raw_kind(target.size_bytes)
    else:
        made = KINDS[target]
    name = f"{start}_to_{end}"
    if name == "narrow_to_float" and source.size_bytes < 4 and target is not BF16:
        name = "short_to_float"
    return _named(name, source, target, read.value, made.value), read, made


def _named(name: str, source: DType, target: DType, value: str, result: str) -> Function:
    consts: tuple[tuple[str, int | bool], ...] = (
        ("BITS", 8 * target.size_bytes),
        ("SIGNED", target.kind == "int"),
        ("FROM_SIGNED", source.kind == "int"),
        ("NARROW", target in (F16, BF16)),
    )
    return Function(name, ("elementwise/cast",), value, result, consts)


def variants(device: Capability) -> Iterator[Plan]:
    """Every pair of dtypes."""
    layout = Layout.dense((64,))
    for source in KINDS:
        for target in KINDS:
            if source is not target and dt.FLEX32 not in (source, target):
                yield cast_plan(layout, source, target, device)
