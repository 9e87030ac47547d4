"""`burn-wgpu ops`: the support matrix in text and as data, and that its words are true."""

from __future__ import annotations

import json
from typing import Any

import pytest

from burn_wgpu.backends.wgpu.backend import WgpuBackend
from burn_wgpu.backends.wgpu.tensor import WgpuDevice
from burn_wgpu.cli import main
from burn_wgpu.cli.ops import gather
from burn_wgpu.contract.backend import Backend
from burn_wgpu.contract.declare import elementwise_functions
from burn_wgpu.std import dtype as dt
from burn_wgpu.testing.records import CALLS, RECORDS, Call, Draw, Given
from burn_wgpu.testing.support import MEANING, contract_functions, matrix
from tests.conformance.harness import Try, arguments, performed

ALL_FEATURES = matrix("wgpu", WgpuBackend)


def test_the_data_has_every_function_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["device"] is None and found["words"] == MEANING
    recorded = sorted((*CALLS, *RECORDS))
    assert list(found["backends"]) == ["wgpu", "reference"]
    for table in found["backends"].values():
        assert list(table) == recorded
        assert {word for row in table.values() for word in row.values()} <= MEANING.keys()
    assert sorted((*recorded, *found["others"])) == contract_functions()
    assert set(found["others"]["sync"]) == {"wgpu", "reference"}


def test_words_of_a_few_functions() -> None:
    assert ALL_FEATURES["float_add"] == {
        "f64": "through f32", "f32": "native", "f16": "through f32", "bf16": "through f32",
    }  # fmt: skip
    assert ALL_FEATURES["float_greater"]["f64"] == ALL_FEATURES["float_argmax"]["f64"] == "native"
    assert ALL_FEATURES["conv2d"]["f64"] == "through f32" and ALL_FEATURES["float_sort"]["f64"] == "native"
    assert ALL_FEATURES["float_reshape"] == dict.fromkeys(("f64", "f32", "f16", "bf16"), "native")
    assert ALL_FEATURES["int_add"]["i8"] == "emulated" and ALL_FEATURES["int_add"]["i64"] == "native"
    assert ALL_FEATURES["float_powi_scalar"]["f32"] == "default"
    assert ALL_FEATURES["bool_and"] == {"bool(u8)": "native", "bool(u32)": "native"}
    reference = gather()["backends"]["reference"]
    assert reference["float_add"]["f64"] == "native" and reference["int_add"]["i8"] == "native"


def test_an_adapter_without_64_bit_integers_only_moves_them() -> None:
    table = matrix("wgpu", WgpuBackend, frozenset())
    assert table["int_add"]["i64"] == table["int_sum"]["u64"] == "no"
    assert table["int_slice"]["i64"] == "native"
    assert table["int_add"]["i32"] == ALL_FEATURES["int_add"]["i32"]


def test_the_text_has_a_line_for_each_function(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops", "--device", "cpu"]) == 0
    out = capsys.readouterr().out
    lines = [line for line in out.splitlines() if line.startswith("float_matmul ")]
    assert lines == [f"{'float_matmul':34s}" + "".join(f"{letter:>10s}" for letter in "NNFF") + " " * 100]
    assert "wgpu" not in out.split("\nfunctions of devices")[0] and "F  through f32: " in out
    names = {line.split(" ")[0] for line in out.splitlines() if line}
    assert set(contract_functions()) <= names


@pytest.mark.gpu
def test_a_device_narrows_it_to_what_its_adapter_can_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops", "--device", "wgpu:0", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found["backends"]) == ["wgpu"]
    has = WgpuDevice(0).capability.has("shader-int64")
    assert found["backends"]["wgpu"]["int_add"]["i64"] == ("native" if has else "no")


def test_an_unknown_device_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops", "--device", "nothing of that name"]) == 1
    err = capsys.readouterr().err
    assert err.startswith("burn-wgpu ops: ") and err.count("\n") == 1


def called(name: str) -> Call:
    """The record of a function; an elementwise one as a call with operands and numbers of its record."""
    if name in CALLS:
        return CALLS[name]
    record, declared = RECORDS[name], elementwise_functions(Backend)[name]

    def case(d: Draw) -> tuple[Any, ...]:
        drawn = record.draw(d.rng, d.dtype, d.n, declared.mask)
        tensors = [Given(a, dt.BOOL_U8 if i == declared.mask else d.dtype) for i, a in enumerate(drawn)]
        return (*tensors, *record.scalars[0], *([dt.BOOL_U8] if declared.result == "bool" else []))

    return Call(name, record.dtypes, (case,))


@pytest.mark.gpu
def test_what_goes_through_f32_says_so_and_what_is_native_does_not() -> None:
    """Every function that takes f64, on a device that was not told yet, in its cases up to the first that tells."""
    device = WgpuDevice(0)
    told, wrong = device.client.told_f64, []
    try:
        for name, row in ALL_FEATURES.items():
            if "f64" not in row:
                continue
            call = called(name)
            device.plans.clear()
            device.client.told_f64 = False
            for case in range(len(call.cases) if row["f64"] == "through f32" else 1):
                found = performed(call, arguments(call, Try(dt.F64, 5, "plain", case)), "plain", device)
                assert not isinstance(found, type), (name, found)
                if device.client.told_f64:
                    break
            if device.client.told_f64 != (row["f64"] == "through f32") and row["f64"] != "default":
                wrong.append((name, row["f64"]))
    finally:
        device.client.told_f64 = told
    assert wrong == []
    assert {row.get("f64") for row in ALL_FEATURES.values()} == {None, "native", "through f32", "default"}
