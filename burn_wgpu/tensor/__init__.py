"""The tensor API that users write: one class `Tensor`, and modules of functions on tensors.

Methods check the user's arguments (check.py holds every check), then call the contract. May import: device, contract,
std; never a backend. To add a method: the file of its subject (base, numeric, float, int, bool, indexing, creation);
to add a function: activation, functional, linalg, signal, stats, grid, einsum. All that waits for the device reads.
Rejected: a class for each kind (the kind is the dtype's, and Python users write one name); methods made at run time
(type checkers and readers would not find them).
"""

import sys
from types import ModuleType
from typing import Any

from burn_wgpu.tensor.api import Tensor
from burn_wgpu.tensor.base import cat, stack, where
from burn_wgpu.tensor.creation import tensor
from burn_wgpu.tensor.display import PrintOptions, get_print_options, set_print_options
from burn_wgpu.tensor.einops import install
from burn_wgpu.tensor.info import finfo, iinfo
from burn_wgpu.tensor.interop import from_dlpack, from_numpy, from_torch, to_torch

__all__ = [
    "PrintOptions",
    "Tensor",
    "cat",
    "finfo",
    "from_dlpack",
    "from_numpy",
    "from_torch",
    "get_print_options",
    "iinfo",
    "set_print_options",
    "stack",
    "tensor",
    "to_torch",
    "where",
]


class _Callable(ModuleType):
    """`burn_wgpu.tensor` is this package, and the function `tensor` for those who look it up on `burn_wgpu`."""

    def __call__(self, *args: Any, **kwargs: Any) -> Tensor:
        return tensor(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable
install()
