"""Operations held back give the same bits as operations run at once, and no tensor has a buffer before."""

from __future__ import annotations

import numpy as np
import pytest

from burn_wgpu.backends.wgpu.backend import WgpuBackend
from burn_wgpu.backends.wgpu.tensor import WgpuDevice, WgpuTensor
from burn_wgpu.std.data import TensorData
from burn_wgpu.std.dtype import F32
from burn_wgpu.std.slice import Slice
from burn_wgpu.testing.recording import RecordingDevice

pytestmark = pytest.mark.gpu


def chain(device: WgpuDevice) -> WgpuTensor:
    """Views, broadcasting, copies and scalars, on values that are the same for every device."""
    b = WgpuBackend()
    x = b.float_from_data(TensorData.of(np.arange(60, dtype=np.float32).reshape(3, 4, 5) / 7), device)
    row = b.float_slice(x, [Slice(0, 1), Slice(1, 2), Slice.full()])
    y = b.float_mul(b.float_swap_dims(x, 0, 1), b.float_add_scalar(b.float_swap_dims(row, 0, 1), 0.25))
    z = b.float_cat([b.float_flip(y, [2]), y], 0)
    z = b.float_slice_assign(z, [Slice(2, 4)], b.float_full((2, 3, 5), -1.5, device, F32))
    return b.float_reshape(b.float_permute(z, (2, 0, 1)), (5, 24))


def test_held_operations_give_the_same_bits_in_one_go() -> None:
    b = WgpuBackend()
    expected = b.float_into_data(chain(WgpuDevice())).array
    device = RecordingDevice()
    result = chain(device)
    assert result.lease.block is None
    assert all(held.outputs[0].block is None for held in device.held)
    assert device.execute() == 5  # the last reshape is a view
    np.testing.assert_array_equal(b.float_into_data(result).array, expected)


def test_a_recording_can_be_made_again_after_it_ran() -> None:
    b = WgpuBackend()
    device = RecordingDevice()
    for _ in range(3):
        result = chain(device)
        device.execute()
        assert b.float_into_data(result).array.shape == (5, 24)
        assert device.held == []
