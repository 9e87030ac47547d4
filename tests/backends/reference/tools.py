"""Short ways to make and read tensors of the reference backend."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from burn_wgpu.backends.reference import ReferenceBackend, ReferenceDevice, RefTensor
from burn_wgpu.contract.defaults import prefix
from burn_wgpu.std.data import TensorData
from burn_wgpu.std.dtype import BOOL_U8, F32, I32, DType

B = ReferenceBackend()
CPU = ReferenceDevice(0)
INF, NAN = float("inf"), float("nan")


class DefaultsBackend(ReferenceBackend):
    """The reference without what it does better than the contract's defaults: every default runs."""


def _restore_defaults() -> None:
    for group in reversed(ReferenceBackend.__mro__):
        if group.__module__.startswith("burn_wgpu.contract"):
            for name, value in vars(group).items():
                written = callable(value) and not name.startswith("__")
                if written and not hasattr(value, "required") and not hasattr(value, "elementwise"):
                    setattr(DefaultsBackend, name, value)


_restore_defaults()
DEFAULTS = DefaultsBackend()

BOTH = [("native", B), ("defaults", DEFAULTS)]


def make(values: object, kind: DType, device: ReferenceDevice = CPU) -> RefTensor:
    data = TensorData.of(np.asarray(values), kind)
    create: Callable[..., Any] = getattr(B, f"{prefix(kind)}_from_data")
    return create(data, device)  # type: ignore[no-any-return]


def floats(values: object, kind: DType = F32) -> RefTensor:
    return make(values, kind)


def ints(values: object, kind: DType = I32) -> RefTensor:
    return make(np.asarray(values, kind.numpy), kind)


def bools(values: object, kind: DType = BOOL_U8) -> RefTensor:
    return make(np.asarray(values, bool), kind)


def read(tensor: RefTensor) -> np.ndarray:
    """The values: bf16 as float32, bools as NumPy bools."""
    data: TensorData = getattr(B, f"{prefix(tensor.dtype)}_into_data")(tensor)
    assert data.dtype is tensor.dtype
    return data.numpy()


def same(actual: RefTensor, expected: object) -> None:
    """Exactly equal, NaN where NaN is, of the same shape."""
    wanted = np.asarray(expected)
    found = read(actual)
    assert found.shape == wanted.shape, (found.shape, wanted.shape)
    np.testing.assert_array_equal(found, wanted.astype(found.dtype))


def near(actual: RefTensor, expected: object, rtol: float = 1e-6, atol: float = 0.0) -> None:
    wanted = np.asarray(expected)
    found = read(actual)
    assert found.shape == wanted.shape, (found.shape, wanted.shape)
    np.testing.assert_allclose(found.astype(np.float64), wanted, rtol=rtol, atol=atol)
