"""The WGSL of elementwise functions: every declaration has one, over every value type that it takes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from burn_wgpu.backends.wgpu.elementwise import elementwise_plan
from burn_wgpu.contract.backend import Backend
from burn_wgpu.contract.declare import elementwise_functions
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.compose import compose, shader_root
from burn_wgpu.std.dtype import BOOL_U8, DType
from burn_wgpu.std.layout import Layout
from burn_wgpu.testing.records import RECORDS

DECLARED = elementwise_functions(Backend)
EVERY = [(name, dtype) for name, record in RECORDS.items() for dtype in record.dtypes]
FILES = sorted([*(shader_root() / "elementwise").glob("*.wgsl"), *(shader_root() / "lib").glob("*.wgsl")])
SIGNATURE = re.compile(r"^fn (\w+)\(([^)]*)\) -> (\w+)", re.M)


def kernel(name: str, dtype: DType) -> str:
    declared = DECLARED[name]
    layout = Layout.dense((64,))
    operands = [(layout, BOOL_U8 if i == declared.mask else dtype) for i in range(declared.tensors)]
    out = BOOL_U8 if declared.result == "bool" else dtype
    plan = elementwise_plan(declared, operands, (64,), dtype, out, Capability())
    assert plan is not None
    return compose(plan.launches[0].key)


@pytest.mark.parametrize(("name", "dtype"), EVERY, ids=[f"{n}-{d}" for n, d in EVERY])
def test_a_declaration_has_its_function_with_as_many_arguments(name: str, dtype: DType) -> None:
    declared = DECLARED[name]
    signatures = {n: (a, r) for n, a, r in SIGNATURE.findall(kernel(name, dtype))}
    assert declared.wgsl in signatures
    arguments, result = signatures[declared.wgsl]
    kinds = [a.split(":")[1].strip() for a in arguments.split(",")]
    assert len(kinds) == declared.tensors + declared.scalars
    if declared.mask is not None:
        assert kinds[declared.mask] == "bool"
    assert (result == "bool") == (declared.result == "bool" or dtype.is_bool)


def test_the_functions_of_the_files_are_all_declared() -> None:
    helpers = {
        "rounded", "below_zero", "not_above_zero", "not_above_zero_f64", "int_power", "gated", "gated_infinity",
        "threshold_size",
    }  # fmt: skip
    used = {declared.wgsl for declared in DECLARED.values()}
    for stem in ("float", "float_math", "activation", "f64", "int", "int_signed", "int_unsigned", "bool"):
        text = (shader_root() / "elementwise" / f"{stem}.wgsl").read_text()
        names = {name for name, _, _ in SIGNATURE.findall(text)} - helpers
        assert {n for n in names if not n.endswith("_fault")} <= used, stem


@pytest.mark.parametrize("path", FILES, ids=[p.stem for p in FILES])
def test_a_file_keeps_to_what_every_compiler_takes(path: Path) -> None:
    code = re.sub(r"//[^\n]*", "", path.read_text())
    assert not re.search(r"^\s*enable\b", code, re.M), "directives are the composer's"
    assert "bitcast<f32>(0x7f" not in code and "bitcast<f32>(0xff" not in code, "a constant infinity or NaN is refused"
    assert "%" not in code, "drivers get % of negative numbers wrong; write a - b * (a / b)"
    assert not re.search(r"\b(isNan|isInf)\b", code)
