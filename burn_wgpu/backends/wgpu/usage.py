"""What a device can do with a dtype, proved: small kernels are compiled, run and compared on that very adapter.

Storage: values are uploaded, converted to another dtype on the device and back, and compared.
Arithmetic: a sum, a product and a comparison of two tensors, and a sum over all, are computed and compared, with
numbers that need every digit of the dtype: what is computed through a narrower one has storage only.
Accelerated: matmul uses a matrix unit for the dtype. wgpu-native 29 cannot enable cooperative matrices, so no dtype has
it there; the bit is set by the matmul family when a provider offers matrix units and a product was compared.
Subnormals: WGSL lets a device read and write subnormal f32 numbers as zeros; sums and products of them tell.

Results are kept per adapter and driver, in memory and in a file of the user's cache folder.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from burn_wgpu.backends.wgpu import probe
from burn_wgpu.backends.wgpu.tensor import WgpuDevice
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.data import TensorData, cast_array, compute_dtype, store_array
from burn_wgpu.std.dtype import DType, DTypeUsage
from burn_wgpu.std.errors import DTypeError, KernelError, UnsupportedError
from burn_wgpu.std.quant import QFloat, QuantMode

PROOF = 3  # raise when the kernels behind a proof change
_known: dict[tuple[str, str], int] = {}
_loaded: set[str] = set()


def dtype_usage(backend: Any, device: WgpuDevice, dtype: DType) -> DTypeUsage:
    """The proved bits; NONE for a dtype that the device cannot even store.

    A quantized dtype is words to the device, and computed in f32: nothing is to be proved. A table's scheme is carried
    only.
    """
    if isinstance(dtype, QFloat):
        return DTypeUsage.general() if dtype.scheme.mode is QuantMode.SYMMETRIC else DTypeUsage.STORAGE
    return DTypeUsage(_proved(device, dtype.name, lambda: _prove(backend, device, dtype).value))


def keeps_subnormals(device: WgpuDevice) -> bool:
    """Whether f32 arithmetic keeps numbers below 2^-126, or takes and gives zeros of their sign for them."""
    return bool(_proved(device, "subnormals", lambda: int(probe.keeps_subnormals(device.client))))


def _proved(device: WgpuDevice, name: str, prove: Callable[[], int]) -> int:
    """What was proved before, here or in another process; else the proof's answer, kept."""
    identity = _identity(device)
    if identity not in _loaded:
        _loaded.add(identity)
        for known, bits in _read().get(identity, {}).items():
            _known.setdefault((identity, known), bits)
    found = _known.get((identity, name))
    if found is None:
        found = _known[identity, name] = prove()
        _write(identity, name, found)
    return found


def _identity(device: WgpuDevice) -> str:
    info = device.client.info
    features = "default-limits" if device.default_limits else "all"
    return f"{PROOF}|{info.name}|{info.backend}|{info.driver}|{features}"


def _prove(backend: Any, device: WgpuDevice, dtype: DType) -> DTypeUsage:
    if dtype is dt.BOOL:
        return DTypeUsage.NONE
    usage = DTypeUsage.NONE
    device = WgpuDevice(device.index, device.default_limits)  # its plans are not those of the user
    client = device.client
    told, client.told_f64 = client.told_f64, True  # a question is nothing to be warned of
    try:
        if _stores(backend, device, dtype):
            usage |= DTypeUsage.STORAGE
        if usage and _computes(backend, device, dtype):
            usage |= DTypeUsage.ARITHMETIC
    except (KernelError, UnsupportedError, DTypeError):
        pass  # a kernel that this adapter refuses proves the contrary, which is an answer
    finally:
        client.told_f64 = told
    return usage


def _values(dtype: DType) -> np.ndarray:
    values = np.array([0, 1, 2, 3, 5, 7, 11, 100, 64, 63, 31, 17, 9], np.float32)
    return cast_array(values, dtype)


def _upload(backend: Any, device: WgpuDevice, values: np.ndarray, dtype: DType) -> Any:
    kind = "float" if dtype.is_float else "bool" if dtype.is_bool else "int"
    return getattr(backend, f"{kind}_from_data")(TensorData(store_array(values, dtype), dtype), device)


def _equal(backend: Any, tensor: Any, expected: np.ndarray, dtype: DType) -> bool:
    kind = "float" if dtype.is_float else "bool" if dtype.is_bool else "int"
    data = getattr(backend, f"{kind}_into_data")(tensor)
    return data.dtype is dtype and bool(np.array_equal(data.array, store_array(expected, dtype)))


def _stores(backend: Any, device: WgpuDevice, dtype: DType) -> bool:
    values = _values(dtype)
    tensor = _upload(backend, device, values, dtype)
    if not _equal(backend, tensor, values, dtype):
        return False
    if dtype.is_float:
        other = backend.float_cast(tensor, dt.F32)
        return _equal(backend, other, values.astype(np.float32), dt.F32) and _equal(
            backend, backend.float_cast(other, dtype), values, dtype
        )
    if dtype.is_bool:
        other = backend.bool_into_int(tensor, dt.I32)
        return _equal(backend, other, values.astype(np.int32), dt.I32)
    other = backend.int_cast(tensor, dt.U32)
    return _equal(backend, other, values.astype(np.uint32), dt.U32) and _equal(
        backend, backend.int_cast(other, dtype), values, dtype
    )


def _computes(backend: Any, device: WgpuDevice, dtype: DType) -> bool:
    values = _values(dtype)
    if dtype is dt.F64:
        values = values + 2.0**-30  # squares of these need more digits than f32 has
    tensor = _upload(backend, device, values, dtype)
    if dtype.is_bool:
        return _equal(backend, backend.bool_and(tensor, backend.bool_not(tensor)), np.zeros_like(values), dtype)
    kind = "float" if dtype.is_float else "int"
    wide = np.array(values, compute_dtype(dtype))
    with np.errstate(over="ignore"):
        checks = (("add", wide + wide), ("mul", wide * wide))
        whole = wide.astype(np.float64 if dtype.is_float else np.int64).sum(keepdims=True)
        total = cast_array(whole, dtype)  # an int sum keeps the low bits
    for name, expected in checks:
        result = getattr(backend, f"{kind}_{name}")(tensor, tensor)
        if not _equal(backend, result, cast_array(np.asarray(expected), dtype), dtype):
            return False
    if not _equal(backend, getattr(backend, f"{kind}_sum")(tensor), total, dtype):
        return False
    greater = getattr(backend, f"{kind}_greater_elem")(tensor, 4, dt.BOOL_U8)
    return _equal(backend, greater, wide > 4, dt.BOOL_U8)


def _path() -> Path:
    base = os.environ.get("BURN_WGPU_CACHE") or os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "burn_wgpu" / "dtype_usage.json"


def _read() -> dict[str, dict[str, int]]:
    """A missing, old or damaged file is an empty one: the proofs are run again."""
    try:
        table = json.loads(_path().read_text())
        return {str(k): {str(n): int(b) for n, b in v.items()} for k, v in table.items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}


def _write(identity: str, name: str, bits: int) -> None:
    """Best effort: a folder that cannot be written costs a repetition, nothing else."""
    try:
        path = _path()
        path.parent.mkdir(parents=True, exist_ok=True)
        table = _read()
        table.setdefault(identity, {})[name] = bits
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
            json.dump(table, file)
        os.replace(file.name, path)
    except OSError:
        pass
