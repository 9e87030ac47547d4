"""The README's commands exist, its Python runs, and nothing in the checkout belongs to one machine."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
FOLDERS = ("burn_wgpu", "shaders", "tests", "examples", "bench", ".ci")
SUFFIXES = {".py", ".pyi", ".md", ".toml", ".wgsl", ".sh", ".mjs", ".json", ".txt", ".cfg", ".npmrc", ".typed", ""}


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)


def text_files() -> list[Path]:
    found = [path for path in ROOT.iterdir() if path.is_file()]
    for folder in FOLDERS:
        for directory, subfolders, names in os.walk(ROOT / folder):
            subfolders[:] = [name for name in subfolders if name not in ("node_modules", "__pycache__")]
            found += [Path(directory, name) for name in names]
    return sorted(path for path in found if path.suffix in SUFFIXES and path.stat().st_size < 1_000_000)


def test_the_first_block_is_the_two_commands_that_a_clone_needs() -> None:
    commands = blocks("bash")[0].splitlines()
    assert commands == ["bash examples/run-minilm.sh", "bash tests/run"]
    assert README.index(commands[0]) < 1500
    for command in commands:
        assert (ROOT / command.split()[1]).is_file()


@pytest.mark.gpu
@pytest.mark.parametrize("number", range(len(blocks("python"))))
def test_the_python_of_the_readme_runs(number: int) -> None:
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", blocks("python")[number]],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout


def test_the_readme_names_folders_that_exist() -> None:
    tree = blocks("text")[0]
    folders = re.findall(r"\b([a-z_]+)/(?=\s|$)", "\n".join(line[:34] for line in tree.splitlines()))
    assert len(folders) > 15
    missing = [name for name in folders if not (ROOT / name).is_dir() and not (ROOT / "burn_wgpu" / name).is_dir()]
    assert missing == []


def test_no_file_names_a_package_registry_or_a_place_on_one_machine() -> None:
    # Put together here, so that this file does not find itself.
    hosts = [("py", "pi.org"), ("python", "hosted.org"), ("npm", "js.org"), ("npm", "js.com"), ("deb.", "debian.org")]
    places = [("/wo", "rk/"), ("/ro", "ot/"), ("/ho", "me/")]
    forbidden = re.compile(
        "|".join(re.escape(a + b) for a, b in hosts)
        + r"|(?<![\w.$}/])(?:"
        + "|".join(re.escape(a + b) for a, b in places)
        + ")"
    )
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}"
        for path in text_files()
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1)
        if forbidden.search(line)
    ]
    assert found == []


def test_the_scripts_are_runnable() -> None:
    if os.name == "nt":
        pytest.skip("Windows has no run bit")
    for name in (".ci/run", "tests/run", "examples/run-minilm.sh"):
        assert os.access(ROOT / name, os.X_OK), f"{name} has no run bit"
        subprocess.run(["bash", "-n", ROOT / name], check=True)
