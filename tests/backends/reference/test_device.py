"""The reference's devices: identity, dtypes, memory, measurement."""

import gc
import pickle

import numpy as np

from burn_wgpu.backends.reference import ReferenceBackend, ReferenceDevice
from burn_wgpu.contract.types import ProfileOptions
from burn_wgpu.std.data import TensorData
from burn_wgpu.std.dtype import ALL, F32, DTypeUsage
from burn_wgpu.std.slice import Slice

B = ReferenceBackend()


def test_devices_are_one_object_per_index():
    assert ReferenceDevice(3) is ReferenceDevice(3)
    assert ReferenceDevice() is ReferenceDevice(0)
    assert ReferenceDevice(3) != ReferenceDevice(4)
    assert pickle.loads(pickle.dumps(ReferenceDevice(3))) is ReferenceDevice(3)
    assert (ReferenceDevice(3).kind, repr(ReferenceDevice(3))) == ("cpu", "cpu:3")


def test_every_dtype_is_supported():
    assert B.name() == "reference"
    for kind in ALL:
        assert B.dtype_usage(ReferenceDevice(), kind) == DTypeUsage.STORAGE | DTypeUsage.ARITHMETIC
        assert B.supports_dtype(ReferenceDevice(), kind)


def test_memory_counts_arrays_once_and_forgets_them():
    device = ReferenceDevice(201)
    gc.collect()
    assert B.memory_pool_usage(device).in_use_bytes == 0
    tensor = B.float_from_data(TensorData.of(np.zeros(1000, np.float32)), device)
    view = B.float_slice(tensor, [Slice(0, 10)])
    usage = B.memory_pool_usage(device)
    assert (usage.number_allocs, usage.in_use_bytes) == (1, 4000)
    del tensor
    assert B.memory_pool_usage(device).in_use_bytes == 4000  # the view keeps it
    del view
    assert B.memory_pool_usage(device).in_use_bytes == 0
    assert B.memory_capacity(device) > 2**20


def test_tensors_move_between_devices():
    one, two = ReferenceDevice(0), ReferenceDevice(1)
    tensor = B.float_ones((3,), one, F32)
    moved = B.float_to_device(tensor, two)
    assert moved.device is two
    assert B.float_to_device(moved, two) is moved


def test_profile_returns_the_output_and_seconds():
    output, duration = B.profile(ReferenceDevice(), ProfileOptions(), lambda: np.ones(10).sum())
    assert output == 10
    assert duration.resolve() > 0
    B.sync(ReferenceDevice())
    B.flush(ReferenceDevice())
