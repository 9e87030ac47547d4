"""What the wheel and the source distribution hold, and what the project file promises."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a fresh wheel and source distribution of this checkout."""
    folder = tmp_path_factory.mktemp("dist")
    result = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return folder


def files_below(folder: str, pattern: str) -> set[str]:
    return {path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob(pattern)}


def test_the_wheel_holds_the_modules_and_the_shaders(built: Path) -> None:
    names = set(zipfile.ZipFile(next(built.glob("*.whl"))).namelist())
    shaders = files_below("shaders", "*.wgsl")
    assert shaders, "the checkout has no shaders"
    expected = {f"burn_wgpu/{name}" for name in shaders} | files_below("burn_wgpu", "*.py") | {"burn_wgpu/py.typed"}
    assert expected - names == set()
    unexpected = {name for name in names - expected if ".dist-info/" not in name and not name.startswith("burn_wgpu/")}
    assert unexpected == set()


def test_the_wheel_is_pure_and_carries_licences_and_the_command(built: Path) -> None:
    wheel = next(built.glob("*.whl"))
    assert wheel.name == f"burn_wgpu-{PROJECT['project']['version']}-py3-none-any.whl"
    archive = zipfile.ZipFile(wheel)
    information = f"burn_wgpu-{PROJECT['project']['version']}.dist-info"
    assert {f"{information}/licenses/LICENSE-MIT", f"{information}/licenses/LICENSE-APACHE"} <= set(archive.namelist())
    assert "burn-wgpu = burn_wgpu.cli:main" in archive.read(f"{information}/entry_points.txt").decode()
    metadata = archive.read(f"{information}/METADATA").decode()
    assert "License-Expression: MIT OR Apache-2.0" in metadata
    assert "Requires-Python: >=3.11" in metadata


def test_the_source_distribution_can_build_the_wheel_again(built: Path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    needed = {"pyproject.toml", "README.md", "LICENSE-MIT", "LICENSE-APACHE", "tests/conftest.py"}
    assert (needed | files_below("shaders", "*.wgsl") | files_below("burn_wgpu", "*.py")) - names == set()
    assert not {name for name in names if name.startswith((".ci/node_modules", ".venv", ".cache"))}


def test_the_required_dependencies_are_four() -> None:
    # Whoever adds one makes every user install it: say why in the commit, and here.
    names = [entry.split(">")[0] for entry in PROJECT["project"]["dependencies"]]
    assert names == ["wgpu", "numpy", "cbor2", "rich"]


def test_the_extras_are_the_documented_ones() -> None:
    extras = set(PROJECT["project"]["optional-dependencies"])
    assert extras == {"plot", "examples", "test", "dev"}
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert {extra for extra in extras if f"`{extra}`" not in readme} == set()
