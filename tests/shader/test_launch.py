"""Grids, checks against limits, and packed parameters: plain values, no device."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burn_wgpu.shader import fault
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import KernelKey, Launch, Out, Plan, check, fold
from burn_wgpu.shader.prelude import Prelude, raw_kind, words
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.errors import DivisionByZero, IndexOutOfRange, KernelError, UnsupportedError


@given(st.integers(0, 65_535 * 65_535), st.sampled_from([65_535, 1000, 7]))
def test_a_folded_grid_covers_every_group_within_the_limit(groups: int, limit: int) -> None:
    can = Capability(max_groups=limit)
    x, y, z = fold(groups, can)
    if groups > limit * limit:
        assert max(x, y) > limit
        return
    assert z == 1 and max(x, y) <= limit and x * y >= groups
    assert x * y - groups < y or groups == 0  # less than one group a row too many


def test_too_many_groups_are_refused_with_a_reason() -> None:
    can = Capability(max_groups=10, adapter="card")
    with pytest.raises(UnsupportedError) as error:
        check(Plan("add", 0, (), (Launch(KernelKey("f", ""), (0,), b"", fold(101, can)),)), can)
    assert str(error.value) == "add: the kernel 'f' needs 11 workgroups along an axis, but card allows 10"


def test_a_plan_within_the_limits_passes_and_the_outputs_know_their_bytes() -> None:
    out = Out.of((3, 5), dt.F16)
    assert out.size_bytes == 30
    check(Plan("x", 0, (out,), (Launch(KernelKey("f", ""), (0,), b"", (1, 65_535, 1)),)), Capability())


def test_words_are_little_endian_and_wrap() -> None:
    assert words(1, -1, 0x1_0000_0002, 1.5) == struct.pack("<IIIf", 1, 0xFFFFFFFF, 2, 1.5)


@pytest.mark.parametrize("value", [float("inf"), float("nan"), 1e39, -1e39])
def test_constants_that_wgsl_cannot_write_are_refused(value: float) -> None:
    with pytest.raises(KernelError) as error:
        Prelude().const("SCALE", value)
    assert str(error.value) == (
        f"prelude: constant SCALE is {value}, which WGSL cannot write as a finite f32; pass it as a parameter"
    )


def test_constants_are_typed() -> None:
    prelude = Prelude()
    prelude.const("A", 3)
    prelude.const("B", 0.5)
    prelude.const("C", True)
    prelude.const("D", -3, "i32")
    assert prelude.build().split("\n") == [
        "const A: u32 = u32(3);", "const B: f32 = 0.5;", "const C: bool = true;", "const D: i32 = i32(-3);",
    ]  # fmt: skip


def test_bindings_are_numbered_and_libraries_and_features_collected() -> None:
    prelude = Prelude()
    prelude.storage("x", dt.I64)
    prelude.storage("y", dt.F16, "chunk")
    prelude.raw_storage("z", "array<atomic<u32>>")
    assert prelude.bindings == 3 and prelude.features == {"shader-int64"}
    assert tuple(prelude.uses) == ("lib/dtype/i64", "lib/dtype/f16")
    assert "@binding(2) var<storage, read_write> y: array<vec2<u32>>;" in prelude.build()


def test_raw_kinds_need_no_feature() -> None:
    for size in (1, 2, 4, 8):
        assert raw_kind(size).feature is None


def test_fault_codes_name_kind_and_operation() -> None:
    one = fault.code("index", "gather")
    assert one == fault.code("index", "gather") != fault.code("division", "gather")
    error = fault.error(one, 0xFFFFFFFF, 7, 0xFFFFFFFF)
    assert isinstance(error, IndexOutOfRange)
    assert str(error) == "gather: index -1 is out of range for an axis of size 7; indices lie in [0, 7)"
    error = fault.error(fault.code("division", "int_div"), 0, 0, 0)
    assert isinstance(error, DivisionByZero)
    assert str(error) == "int_div: an integer divisor is 0; the result of that element is undefined"
    assert "unknown operation" in str(fault.error(1 << 20, 1, 1, 0))
