"""burn_wgpu: the Burn deep-learning framework for Python on WebGPU.

The public names are imported when they are first used; importing the package opens nothing and touches no GPU.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from burn_wgpu.contract.options import IndexingUpdateOp as IndexingUpdateOp
    from burn_wgpu.contract.options import PadMode as PadMode
    from burn_wgpu.device import Device as Device
    from burn_wgpu.device import default_device as default_device
    from burn_wgpu.device import devices as devices
    from burn_wgpu.device import set_default_device as set_default_device
    from burn_wgpu.std.data import TensorData as TensorData
    from burn_wgpu.std.distribution import Distribution as Distribution
    from burn_wgpu.std.dtype import DType as DType
    from burn_wgpu.std.dtype import DTypeUsage as DTypeUsage
    from burn_wgpu.std.dtype import dtype as dtype
    from burn_wgpu.std.errors import BurnError as BurnError
    from burn_wgpu.std.errors import PrecisionWarning as PrecisionWarning
    from burn_wgpu.std.settings import DeviceSettings as DeviceSettings
    from burn_wgpu.std.slice import Slice as Slice
    from burn_wgpu.tensor import PrintOptions as PrintOptions
    from burn_wgpu.tensor import Tensor as Tensor
    from burn_wgpu.tensor import cat as cat
    from burn_wgpu.tensor import finfo as finfo
    from burn_wgpu.tensor import from_dlpack as from_dlpack
    from burn_wgpu.tensor import from_numpy as from_numpy
    from burn_wgpu.tensor import from_torch as from_torch
    from burn_wgpu.tensor import get_print_options as get_print_options
    from burn_wgpu.tensor import iinfo as iinfo
    from burn_wgpu.tensor import set_print_options as set_print_options
    from burn_wgpu.tensor import stack as stack
    from burn_wgpu.tensor import tensor as tensor
    from burn_wgpu.tensor import to_torch as to_torch
    from burn_wgpu.tensor import where as where
    from burn_wgpu.tensor.closeness import Tolerance as Tolerance
    from burn_wgpu.tensor.closeness import assert_approx_eq as assert_approx_eq
    from burn_wgpu.tensor.closeness import assert_eq as assert_eq
    from burn_wgpu.tensor.graph import Graph as Graph
    from burn_wgpu.tensor.graph import capture as capture
    from burn_wgpu.tensor.transaction import Transaction as Transaction

__version__ = "0.1.0"

_FROM: dict[str, tuple[str, ...]] = {
    "burn_wgpu.contract.options": ("IndexingUpdateOp", "PadMode"),
    "burn_wgpu.device": ("Device", "default_device", "devices", "set_default_device"),
    "burn_wgpu.std.data": ("TensorData",),
    "burn_wgpu.std.distribution": ("Distribution",),
    "burn_wgpu.std.dtype": ("DType", "DTypeUsage", "dtype"),
    "burn_wgpu.std.errors": ("BurnError", "PrecisionWarning"),
    "burn_wgpu.std.settings": ("DeviceSettings",),
    "burn_wgpu.std.slice": ("Slice",),
    "burn_wgpu.tensor": (
        "PrintOptions", "Tensor", "cat", "finfo", "from_dlpack", "from_numpy", "from_torch", "get_print_options",
        "iinfo", "set_print_options", "stack", "tensor", "to_torch", "where",
    ),
    "burn_wgpu.tensor.closeness": ("Tolerance", "assert_approx_eq", "assert_eq"),
    "burn_wgpu.tensor.graph": ("Graph", "capture"),
    "burn_wgpu.tensor.transaction": ("Transaction",),
}  # fmt: skip
_HOME = {name: module for module, names in _FROM.items() for name in names}
_DTYPES = ("f64", "f32", "flex32", "f16", "bf16", "i64", "i32", "i16", "i8", "u64", "u32", "u16", "u8")

__all__ = sorted([*_HOME, *_DTYPES, "__version__"])


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(importlib.import_module(_HOME[name]), name)
    elif name in _DTYPES:
        value = importlib.import_module("burn_wgpu.std.dtype").dtype(name)
    else:
        raise AttributeError(f"module 'burn_wgpu' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
