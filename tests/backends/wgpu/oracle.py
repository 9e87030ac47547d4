"""The wgpu backend beside the reference backend: tensors in both, and the same values in awkward layouts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from burn_wgpu.backends.reference import ReferenceBackend, ReferenceDevice
from burn_wgpu.backends.wgpu.backend import WgpuBackend
from burn_wgpu.backends.wgpu.tensor import WgpuDevice, WgpuTensor
from burn_wgpu.std.data import TensorData, cast_array, store_array
from burn_wgpu.std.dtype import I64, U64, DType
from burn_wgpu.std.slice import Slice

B: Any = WgpuBackend()
REF: Any = ReferenceBackend()
REF_DEVICE = ReferenceDevice(11)


def prefix(kind: DType) -> str:
    return "float" if kind.is_float else "bool" if kind.is_bool else "int"


def need_arithmetic(kind: DType, device: WgpuDevice) -> None:
    """Skips a test that calculates in a dtype that this device has only storage for."""
    if kind in (I64, U64) and not device.capability.has("shader-int64"):
        pytest.skip(f"{device.capability.adapter} has no 64-bit integers in shaders")


def up(values: Any, kind: DType, device: Any) -> Any:
    """The values as a tensor of a device of either backend."""
    backend = REF if isinstance(device, ReferenceDevice) else B
    data = TensorData(store_array(cast_array(np.asarray(values), kind), kind), kind)
    return getattr(backend, f"{prefix(kind)}_from_data")(data, device)


def down(tensor: Any) -> np.ndarray:
    """Values; bf16 as float32, bools as NumPy bools."""
    backend = B if isinstance(tensor, WgpuTensor) else REF
    return getattr(backend, f"{prefix(tensor.dtype)}_into_data")(tensor).numpy()


def bits(tensor: WgpuTensor) -> bytes:
    return getattr(B, f"{prefix(tensor.dtype)}_into_data")(tensor).as_bytes()


def equal(found: np.ndarray, expected: np.ndarray) -> bool:
    """Same shape, dtype and values; NaN equals NaN."""
    kind = expected.dtype.kind == "f"
    return (
        found.shape == expected.shape
        and found.dtype == expected.dtype
        and bool(np.array_equal(found, expected, equal_nan=kind))
    )


def layouts(values: np.ndarray, kind: DType, device: WgpuDevice) -> Iterator[tuple[str, WgpuTensor]]:
    """Tensors of rank 2 and more with these values that lie differently: (name, tensor)."""
    name = prefix(kind)

    def method(function: str) -> Callable[..., Any]:
        return getattr(B, f"{name}_{function}")

    yield "plain", up(values, kind, device)
    yield "transposed", method("swap_dims")(up(np.swapaxes(values, 0, 1), kind, device), 0, 1)
    spread = np.zeros((*values.shape[:-1], 2 * values.shape[-1] + 1), values.dtype)
    spread[..., 1::2] = values
    full = [Slice.full()] * (values.ndim - 1)
    yield "every second", method("slice")(up(spread, kind, device), [*full, Slice(1, None, 2)])
    axes = list(range(values.ndim))
    yield "flipped", method("flip")(up(np.flip(values), kind, device), axes)
    longer = np.concatenate([values[:1], values])
    yield "offset", method("slice")(up(longer, kind, device), [Slice(1, None)])
