"""RefTensor and ReferenceDevice: what the reference backend's functions take and give."""

from __future__ import annotations

import threading
import weakref

import numpy as np

from burn_wgpu.backends.reference.random import Stream
from burn_wgpu.std.data import cast_array, compute_dtype
from burn_wgpu.std.dtype import BF16, F16, DType
from burn_wgpu.std.settings import DeviceSettings


class ReferenceDevice:
    """The host's processor. `ReferenceDevice(i)` is one object per index; all of them are the same hardware.

    Several indices exist so that code for several devices can be tried; each has its own settings and random stream.
    """

    __slots__ = ("_live", "index", "settings", "stream")

    kind = "cpu"
    index: int
    settings: DeviceSettings
    stream: Stream

    _known: dict[int, ReferenceDevice] = {}
    _lock = threading.Lock()

    def __new__(cls, index: int = 0) -> ReferenceDevice:
        with cls._lock:
            if index not in cls._known:
                device = object.__new__(cls)
                device.index = index
                device.settings = DeviceSettings()
                device.stream = Stream()
                device._live = weakref.WeakSet()
                cls._known[index] = device
            return cls._known[index]

    _live: weakref.WeakSet[RefTensor]

    @property
    def name(self) -> str:
        return "NumPy reference"

    def live_arrays(self) -> list[np.ndarray]:
        """The arrays that own the memory of the device's tensors, each once."""
        owners = {}
        for tensor in list(self._live):
            array = tensor.values
            while isinstance(array.base, np.ndarray):
                array = array.base
            owners[id(array)] = array
        return list(owners.values())

    def __repr__(self) -> str:
        return f"cpu:{self.index}"

    def __reduce__(self) -> tuple[type[ReferenceDevice], tuple[int]]:
        return type(self), (self.index,)


class RefTensor:
    """Values as a NumPy array of `compute_dtype(dtype)`; never written to, so that views may share it."""

    __slots__ = ("__weakref__", "device", "dtype", "values")

    def __init__(self, values: np.ndarray, dtype: DType, device: ReferenceDevice) -> None:
        assert values.dtype == compute_dtype(dtype), (values.dtype, dtype)
        self.values = values
        self.dtype = dtype
        self.device = device
        device._live.add(self)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape

    def like(self, values: np.ndarray) -> RefTensor:
        """Other values of the same dtype on the same device."""
        return RefTensor(values, self.dtype, self.device)

    def __repr__(self) -> str:
        return f"RefTensor({self.values!r}, {self.dtype}, {self.device})"


def lift(tensor: RefTensor) -> np.ndarray:
    """The values in the type that formulas compute in: f16 as float32, all others as they are."""
    return tensor.values.astype(np.float32) if tensor.dtype is F16 else tensor.values


def lift64(tensor: RefTensor) -> np.ndarray:
    """Float values in float64, ints as they are.

    Sums, products and matrix products of f32 and halves are accumulated in float64 and rounded once, so that the
    oracle's own error does not count.
    """
    return tensor.values.astype(np.float64) if tensor.dtype.is_float else tensor.values


def lower(values: object, kind: DType) -> np.ndarray:
    """Computed values rounded to a dtype's values; an array even for rank 0."""
    array = np.asarray(values)
    wanted = compute_dtype(kind)
    if kind is BF16 or (kind.is_float and array.dtype != wanted):
        with np.errstate(all="ignore"):
            return cast_array(array, kind)
    return array.astype(wanted, copy=False)
