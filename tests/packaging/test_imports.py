"""What `import burn_wgpu` costs and touches, and that every module of the package can be imported."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "burn_wgpu"
IMPORT_LIMIT_S = 0.3
# The WebGPU implementations, and what only an extra brings.
PROVIDERS = {"wgpu", "wgpudawn"}
EXTRAS = {"wgpudawn", "matplotlib", "mpi4py", "safetensors", "tokenizers", "torch"}


def run_python(program: str, **environment: str) -> str:
    """What a fresh interpreter prints; its complaint in the failure when it does not end well."""
    result = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=120,
        env={**os.environ, **environment},
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def module_names() -> list[str]:
    """Every module of the package, from its files, without `__main__`, which runs when it is imported."""
    names = []
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if parts[-1] == "__main__":
            continue
        names.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return names


def test_importing_the_package_is_quick() -> None:
    # Processor time, not the clock's, and the best of five: another process on the machine must not decide this.
    program = "import time; t = time.process_time(); import burn_wgpu; print(time.process_time() - t)"
    # OpenBLAS starts one thread a core while NumPy is imported, and their spinning counts as processor time.
    times_s = [float(run_python(program, OPENBLAS_NUM_THREADS="1")) for _ in range(5)]
    assert min(times_s) < IMPORT_LIMIT_S, f"import burn_wgpu took {min(times_s):.3f} s, the limit is {IMPORT_LIMIT_S} s"


def test_importing_the_package_opens_no_device_and_no_optional_library() -> None:
    program = (
        "import sys, threading, json, burn_wgpu; "
        "print(json.dumps([sorted(m for m in sys.modules if '.' not in m), threading.active_count()]))"
    )
    modules, threads = json.loads(run_python(program))
    assert not (PROVIDERS | EXTRAS) & set(modules)
    assert threads == 1


def test_every_public_name_can_be_imported() -> None:
    program = (
        "import burn_wgpu; missing = [n for n in burn_wgpu.__all__ if not hasattr(burn_wgpu, n)]; "
        "print(len(burn_wgpu.__all__), missing)"
    )
    count, missing = run_python(program).split(maxsplit=1)
    assert int(count) > 0
    assert missing.strip() == "[]"


def test_every_module_can_be_imported_on_its_own_without_the_extras() -> None:
    # One interpreter, in which the extras cannot be found; a module that fails is named with its reason.
    program = f"""
import importlib, sys
class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {sorted(EXTRAS)!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Hide())
for name in {module_names()!r}:
    try:
        importlib.import_module(name)
    except Exception as error:
        print(f"{{name}}: {{type(error).__name__}}: {{error}}")
"""
    assert run_python(program) == ""


@pytest.mark.parametrize("provider", sorted(PROVIDERS))
def test_only_the_runtime_imports_a_provider(provider: str) -> None:
    offenders = []
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.is_relative_to(PACKAGE / "runtime"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module or ""]
            else:
                continue
            if any(name.split(".")[0] == provider for name in names):
                offenders.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert offenders == []
