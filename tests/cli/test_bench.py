"""`burn-wgpu bench`: what it measures, prints and refuses."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path

import pytest

from burn_wgpu.cli import main
from burn_wgpu.testing import bench


@pytest.mark.gpu
def test_a_case_names_adapter_versions_and_its_share(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "copy", "matmul", "--size", "64", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["environment"]["adapter"]
    assert set(report["environment"]["versions"]) == {"burn-wgpu", "wgpu", "numpy"}
    assert report["ceilings"]["gb_s"] > 0 and report["ceilings"]["tflop_s"] > 0
    copy, matmul = report["results"]
    assert copy["name"] == "copy" and copy["gb_s"] == pytest.approx(2 * 64 * 4096 * 4 / copy["ms"] / 1e6, rel=1e-6)
    assert matmul["tflop_s"] == pytest.approx(2 * 64**3 / matmul["ms"] / 1e9, rel=1e-6)
    assert copy["share"] == pytest.approx(copy["gb_s"] / report["ceilings"]["gb_s"])
    assert len(copy["samples"]) == 8


def test_the_reference_backend_is_measured_by_the_wall_clock(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "softmax", "--size", "4", "--device", "cpu"]) == 0
    out = capsys.readouterr().out
    assert "softmax" in out and "wall" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bench", "nonsense"], "bench: there is no case 'nonsense'; known are copy, add, "),
        (["bench", "copy", "--size", "0"], "bench: --size is 0; it must be at least 1"),
        (["bench", "copy", "--dtype", "i32"], "bench: --dtype is i32; the cases are for f32, f16 and bf16"),
        (["bench", "copy", "--dtype", "f64"], "bench: --dtype is f64; the cases are for f32, f16 and bf16"),
        (
            ["bench", "copy", "--size", "100000000", "--device", "cpu"],
            "bench: 1638400000000 bytes of values exceed half ",
        ),
        pytest.param(
            ["bench", "copy", "--size", "100000000", "--device", "wgpu:0"],
            "bench: a tensor of 1638400000000 bytes exceeds ",
            marks=pytest.mark.gpu,
        ),
    ],
)
def test_bad_arguments_are_one_line(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 1
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1 and message in captured.err
    assert captured.out == ""


def test_the_roofline_is_a_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is the extra 'plot'")
    from burn_wgpu.cli.bench import roofline

    result = bench.Result("matmul", "f32", 64, "64", 1.0, 1.0, 0.0, 10.0, 0.5, 0.5, "compute", "wall")
    roofline([result], bench.Ceilings(100.0, 1.0), str(tmp_path / "roof.png"))
    assert (tmp_path / "roof.png").read_bytes().startswith(b"\x89PNG")


def test_what_a_plot_lacks_is_told_before_measuring(tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "ceilings", lambda c: pytest.fail("measured"))
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["bench", "copy", "--device", "cpu", "--plot", str(tmp_path / "roof.png")]) == 1
    assert capsys.readouterr().err == ("burn-wgpu bench: --plot needs matplotlib; pip install 'burn-wgpu[plot]'\n")
    monkeypatch.setitem(sys.modules, "matplotlib", types.SimpleNamespace(use=lambda _: None, pyplot=None))
    assert main(["bench", "copy", "--device", "cpu", "--plot", str(tmp_path / "none" / "roof.png")]) == 1
    assert "but there is no folder" in capsys.readouterr().err


def test_memory_that_does_not_suffice_is_one_line(capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise MemoryError("Unable to allocate 1.5 TiB")

    monkeypatch.setattr(bench, "ceilings", full)
    assert main(["bench", "copy", "--device", "cpu"]) == 1
    assert capsys.readouterr().err == (
        "burn-wgpu bench: the host's memory does not suffice (Unable to allocate 1.5 TiB)\n"
    )


def test_a_share_above_the_ceiling_in_software_is_marked(capsys) -> None:
    from burn_wgpu.backends.reference.backend import ReferenceBackend
    from burn_wgpu.cli.bench import _print
    from burn_wgpu.device import Device
    from burn_wgpu.std.dtype import F32

    context = bench.Context(ReferenceBackend(), Device("cpu").handle)
    assert context.software
    low = bench.Ceilings(1e-6, 1e-9)
    results = [bench.measure(context, bench.CASES[name], F32, 4, low, 0.01) for name in ("copy", "matmul")]
    assert all(r.noisy and r.share > 1.05 for r in results)
    assert not bench.measure(context, bench.CASES["copy"], F32, 4, bench.Ceilings(1e9, 1e9), 0.01).noisy
    _print(results, low, bench.environment(context))
    assert capsys.readouterr().out.count("(noisy)") == 2


def test_every_group_names_cases_that_exist() -> None:
    assert {name for names in bench.GROUPS.values() for name in names} <= set(bench.CASES)
    assert bench.choose([]) == list(bench.CASES.values())
    assert [c.name for c in bench.choose(["reduce", "copy"])] == ["sum-rows", "sum-columns", "sum", "copy"]
