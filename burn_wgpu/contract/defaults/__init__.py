"""Contract functions composed of other contract functions; the backend comes first, as `b`.

A default reads nothing back from the device unless its docstring says so, and uses functions that are required or
elementwise wherever it can, so that a backend which writes those alone is complete.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from burn_wgpu.contract.types import TensorPrim
from burn_wgpu.std.dtype import DType


def prefix(kind: DType) -> str:
    """Of the contract functions that work on a dtype: "float", "int", "bool" or "q"."""
    if kind.is_float:
        return "float"
    if kind.is_int:
        return "int"
    return "bool" if kind.is_bool else "q"


def op(b: Any, tensor: TensorPrim, name: str) -> Callable[..., Any]:
    """The function `name` of the tensor's kind: op(b, ints, "slice") is b.int_slice."""
    return getattr(b, f"{prefix(tensor.dtype)}_{name}")  # type: ignore[no-any-return]
