"""Rounding to f16: the adapter's instruction where it was shown to be right, else bit arithmetic; the same results."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from burn_wgpu.backends.wgpu.backend import WgpuBackend
from burn_wgpu.backends.wgpu.probe import _critical_floats
from burn_wgpu.backends.wgpu.tensor import WgpuDevice
from burn_wgpu.std.data import TensorData
from burn_wgpu.std.dtype import F16

pytestmark = pytest.mark.gpu


@pytest.fixture(params=["native", "bits"])
def device(request: pytest.FixtureRequest) -> Iterator[WgpuDevice]:
    device = WgpuDevice()
    pipelines = device.client.pipelines
    before = pipelines.halves_round
    pipelines.pipelines.clear()
    pipelines.halves_round = None if request.param == "native" else False
    yield device
    pipelines.halves_round = before
    pipelines.pipelines.clear()


def test_floats_round_to_the_nearest_half_and_ties_to_even(device: WgpuDevice) -> None:
    b = WgpuBackend()
    values = _critical_floats().view(np.float32)
    got = b.float_into_data(b.float_cast(b.float_from_data(TensorData.of(values), device), F16)).array
    with np.errstate(over="ignore", invalid="ignore"):
        expected = values.astype(np.float16)
    nan = np.isnan(values)
    np.testing.assert_array_equal(got[~nan].view(np.uint16), expected[~nan].view(np.uint16))
    assert np.isnan(got[nan]).all()
