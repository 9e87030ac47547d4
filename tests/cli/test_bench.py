"""`burn-wgpu bench`: what it measures, prints and refuses."""

from __future__ import annotations

import json
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
        (["bench", "copy", "--dtype", "i32"], "bench: --dtype is i32; the cases are for float dtypes"),
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


def test_every_group_names_cases_that_exist() -> None:
    assert {name for names in bench.GROUPS.values() for name in names} <= set(bench.CASES)
    assert bench.choose([]) == list(bench.CASES.values())
    assert [c.name for c in bench.choose(["reduce", "copy"])] == ["sum-rows", "sum-columns", "sum", "copy"]
