"""A client with a device of its own, and scripts in processes of their own for what may end one."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from burn_wgpu.backends.wgpu.backend import WgpuBackend
from burn_wgpu.backends.wgpu.tensor import WgpuDevice, WgpuTensor
from burn_wgpu.runtime import provider
from burn_wgpu.runtime.client import Client
from burn_wgpu.std.data import TensorData

ROOT = Path(__file__).resolve().parents[2]
PRELUDE = """
import numpy as np
from burn_wgpu.backends.wgpu.backend import WgpuBackend
from burn_wgpu.backends.wgpu.tensor import WgpuDevice
from burn_wgpu.runtime import provider
from burn_wgpu.std.data import TensorData
from burn_wgpu.std.errors import *
b, d = WgpuBackend(), WgpuDevice()

def make(values):
    return b.float_from_data(TensorData.of(np.asarray(values, np.float32)), d)

def read(tensor):
    return b.float_into_data(tensor).array
"""


class Bench:
    """A backend on a device of its own: counts and failures of one test do not meet another's."""

    def __init__(self) -> None:
        self.b = WgpuBackend()
        self.d = WgpuDevice()
        self.client = self.d._client = Client(provider.find_adapter(0), self.d.default_limits)

    def make(self, values: object) -> WgpuTensor:
        return self.b.float_from_data(TensorData.of(np.asarray(values, np.float32)), self.d)

    def read(self, tensor: WgpuTensor) -> np.ndarray:
        return self.b.float_into_data(tensor).array


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.fixture
def script() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs Python text after `PRELUDE` in a new process."""

    def run(text: str, timeout: float = 120, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", PRELUDE + textwrap.dedent(text)],
            cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
            capture_output=True, text=True, timeout=timeout,
        )  # fmt: skip

    return run
