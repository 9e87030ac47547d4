"""The class `Tensor`: one for all kinds, put together from one file a subject."""

from __future__ import annotations

from burn_wgpu.device import DTypeLike
from burn_wgpu.tensor import core
from burn_wgpu.tensor.base import Base
from burn_wgpu.tensor.bool import Bool
from burn_wgpu.tensor.core import Core
from burn_wgpu.tensor.creation import Creation, DeviceLike, make
from burn_wgpu.tensor.display import Display
from burn_wgpu.tensor.einsum import einsum
from burn_wgpu.tensor.float import Float
from burn_wgpu.tensor.indexing import Indexing
from burn_wgpu.tensor.int import Int
from burn_wgpu.tensor.interop import Interop
from burn_wgpu.tensor.kinds import Kinds
from burn_wgpu.tensor.numeric import Numeric
from burn_wgpu.tensor.quantization import Quantization
from burn_wgpu.tensor.shortcuts import Shortcuts
from burn_wgpu.tensor.stats import Stats


class Tensor(
    Kinds, Indexing, Base, Numeric, Float, Stats, Shortcuts, Quantization, Int, Bool, Creation, Interop, Display, Core
):
    """A tensor on a device: `Tensor(data, device=…, dtype=…)`, or one of the creators (`Tensor.zeros` …).

    kind       "float", "int" or "bool"; which methods make sense depends on it, others raise DTypeError
    shape      a tuple of sizes; dtype, device, rank and size likewise
    primitive  the backend's own tensor

    Immutable: every operation gives a new tensor. Nothing waits for the device but what reads: `numpy`, `item`,
    `to_data`, `repr`, `bool(t)`, masks as indices. Binary operations broadcast as NumPy's and want one device and one
    dtype.
    """

    __slots__ = ()

    def __init__(self, data: object, device: DeviceLike = None, dtype: DTypeLike | None = None) -> None:
        core.rebind(self, make("tensor", data, device, dtype))

    @staticmethod
    def einsum(equation: str, *operands: Tensor) -> Tensor:
        """The Einstein sum of the operands; see `burn_wgpu.tensor.einsum`."""
        return einsum(equation, *operands)


core.register(Tensor)
