"""`burn-wgpu ops`: the support matrix in text and as data, and that its words are true."""

from __future__ import annotations

import json

import pytest

from burn_wgpu.backends.wgpu.backend import WgpuBackend
from burn_wgpu.backends.wgpu.tensor import WgpuDevice
from burn_wgpu.cli import main
from burn_wgpu.cli.ops import gather
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.errors import DTypeError, UnsupportedDType
from burn_wgpu.testing.records import CALLS, RECORDS
from burn_wgpu.testing.support import MEANING, NO, contract_functions, matrix
from tests.conformance.harness import Try, arguments, faults, performed

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
        "f64": "no", "f32": "native", "f16": "through f32", "bf16": "through f32",
    }  # fmt: skip
    assert ALL_FEATURES["float_reshape"] == dict.fromkeys(("f64", "f32", "f16", "bf16"), "native")
    assert ALL_FEATURES["int_add"]["i8"] == "emulated" and ALL_FEATURES["int_add"]["i64"] == "native"
    assert ALL_FEATURES["float_powi"]["f32"] == "default"
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


@pytest.mark.gpu
def test_what_is_not_there_is_refused() -> None:
    """f64, which no GPU computes here: what says no to it raises in some case, and is right in the others."""
    device = WgpuDevice(0)
    for name, row in ALL_FEATURES.items():
        if name not in CALLS or row.get("f64") != NO:
            continue
        refused = 0
        for case in range(len(CALLS[name].cases)):
            attempt = Try(dt.F64, 5, "plain", case)
            found = performed(CALLS[name], arguments(CALLS[name], attempt), "plain", device)
            if isinstance(found, type):
                assert issubclass(found, (DTypeError, UnsupportedDType)), (name, case, found)
                refused += 1
            else:
                assert list(faults(CALLS[name], attempt, device)) == [], (name, case)
        assert refused, f"{name} does all with f64: its record may say so"
