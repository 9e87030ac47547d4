"""The devices that tensor tests run on; what the wgpu backend lacks shows as a skip with the name of the function."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np
import pytest

from burn_wgpu import Device
from burn_wgpu.std.errors import NotImplementedByBackend


@pytest.fixture(params=["cpu", pytest.param("wgpu", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> Device:
    """The NumPy reference and the best adapter."""
    return Device(request.param)


@pytest.fixture
def cpu() -> Device:
    return Device("cpu")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(1234)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """`skip_missing`: a test that needs a function which the wgpu backend lacks is skipped, and the summary says so."""
    try:
        return (yield)
    except NotImplementedByBackend as missing:
        if missing.backend != "wgpu":
            raise
        pytest.skip(f"missing in the wgpu backend: {missing.function}")
