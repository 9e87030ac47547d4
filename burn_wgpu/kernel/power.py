"""Floats to integer powers: one elementwise kernel over operands of two kinds.

64-bit exponents are read as two words, so that no feature is needed.
"""

from __future__ import annotations

from collections.abc import Iterator

from burn_wgpu.kernel.map import Function, Operand, map_plan
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import Plan
from burn_wgpu.shader.prelude import KINDS, RAW64
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.layout import Layout, broadcast_shapes


def powi_plan(base: Layout, exponent: Layout, dtype: DType, kind: DType, device: Capability) -> Plan:
    """base (a float dtype) to the exponent (an int `kind`), broadcast together, in f32 and rounded once to dtype."""
    wide = kind.size_bytes == 8
    read = RAW64 if wide else KINDS[kind]
    function = Function(
        "wide_powi" if wide else "narrow_powi", ("elementwise/power",), read.value, "f32",
        (("FROM_SIGNED", kind.kind == "int"), ("NARROW", False)),
    )  # fmt: skip
    shape = broadcast_shapes("float_powi", base.shape, exponent.shape)
    operands = [Operand(base, dtype), Operand(exponent, read)]
    plan = map_plan("float_powi", function, operands, shape, dtype, device)
    assert plan is not None  # two operands of rank 16 need 52 words
    return plan


def variants(device: Capability) -> Iterator[Plan]:
    """Every float dtype, and every int dtype as the exponents'."""
    layout = Layout.dense((64,))
    pairs = [(dtype, dt.I32) for dtype in (dt.F32, dt.F16, dt.BF16, dt.F64)]
    for dtype, kind in (*pairs, *((dt.F32, kind) for kind in dt.INTS if kind is not dt.I32)):
        yield powi_plan(layout, layout, dtype, kind, device)
