"""What type checkers make of a user's program."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

GOOD = """
from __future__ import annotations

import numpy as np
from typing_extensions import assert_type

import burn_wgpu
from burn_wgpu import Device, Distribution, DType, Slice, Tensor, where
from burn_wgpu.tensor import activation, functional, linalg, signal


def model(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    y = functional.linear(x, weight, bias)
    return activation.gelu(y * 2.0 + np.float32(1.0)) @ y.transpose()


device = Device("wgpu", float="f16")
x = Tensor([[1.0, 2.0]], device=device)
assert_type(x + 1, Tensor)
assert_type(1 - x, Tensor)
assert_type(x == x, Tensor)
assert_type(x[0, ..., None, ::2, [1, 2]], Tensor)
assert_type(x.float().int().bool(), Tensor)
assert_type(x.sum(dim=(0, 1), keepdim=True), Tensor)
assert_type(x.shape, tuple[int, ...])
assert_type(x.dtype, DType)
assert_type(x.all_close(x), bool)
assert_type(x.max_dim_with_indices(0), tuple[Tensor, Tensor])
assert_type(where(x > 0, x, 0.0), Tensor)
assert_type(x.slice([Slice(0, 2), (1, 3), 4]), Tensor)
assert_type(Tensor.random((2, 3), Distribution.normal(0, 1), device, "f32"), Tensor)
assert_type(burn_wgpu.cat([x, x], 0), Tensor)
assert_type(len(x), int)
assert_type([row for row in x], list[Tensor])
assert_type(signal.rfft(x), tuple[Tensor, Tensor])
assert_type(linalg.l2_norm(x, 0), Tensor)
assert_type(model(x, x), Tensor)
assert_type(x.gather(1, [[0], [1]]), Tensor)
assert_type(x.scatter(1, np.zeros((1, 2), np.int64), x, "add"), Tensor)
assert_type(x.transpose([1, 0]).squeeze(axis=None), Tensor)
assert_type(x.var(0) + x.std((0, 1), keepdim=False) + x.var(axis=0, ddof=1), Tensor)
assert_type(divmod(7, x), tuple[Tensor, Tensor])
assert_type(round(x, 2), Tensor)
assert_type(bytes(x), bytes)
assert_type([float(v) for v in x.flatten()], list[float])
burn_wgpu.assert_approx_eq(x, np.ones((1, 2)))
assert_type(burn_wgpu.TensorData.from_bytes(b"ab", [2], "u8").into_parts()[0], bytes)
assert_type(list(Slice.parse("0..4;-1")), list[int])
x += 1
"""

BAD = """
from burn_wgpu import Device, Tensor

x = Tensor([1.0], device=Device("cpu"))
x + "a"
x.sum_dim("a")
Tensor.zeros("a")
x.reshape(1.5)
x[1.5]
"""


def check(source: str, folder: Path) -> tuple[int, str]:
    pytest.importorskip("mypy")
    file = folder / "program.py"
    file.write_text(source)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--hide-error-context"]
    result = subprocess.run(
        [*command, "--cache-dir", str(ROOT / ".mypy_cache" / "user"), "--config-file", "", str(file)],
        capture_output=True, text=True, cwd=ROOT, timeout=280,
    )  # fmt: skip
    return result.returncode, "\n".join(line for line in result.stdout.splitlines() if "program.py" in line)


def test_a_correct_program_passes_mypy_strict(tmp_path: Path) -> None:
    _, complaints = check(GOOD, tmp_path)
    assert complaints == ""


def test_wrong_arguments_are_found(tmp_path: Path) -> None:
    _, complaints = check(BAD, tmp_path)
    lines = [int(line.split(":")[1]) for line in complaints.splitlines() if ": error:" in line]
    assert sorted(set(lines)) == [5, 6, 7, 8, 9]
