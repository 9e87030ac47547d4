"""How parameters get their first values."""

from __future__ import annotations

import math
from dataclasses import dataclass

from burn_wgpu.device import Device
from burn_wgpu.std.distribution import Distribution
from burn_wgpu.std.errors import ArgumentError
from burn_wgpu.tensor import Tensor


@dataclass(frozen=True, slots=True)
class Initializer:
    """One of the static functions below; `init` makes the tensor.

    Kaiming: bound √3 · gain / √fan_in (uniform) or std gain / √fan_in (normal), He et al. 2015. Xavier: bound
    gain · √(6 / (fan_in + fan_out)) or std gain · √(2 / (fan_in + fan_out)), Glorot and Bengio 2010.
    """

    kind: str
    a: float = 0.0
    b: float = 1.0

    @staticmethod
    def constant(value: float) -> Initializer:
        return Initializer("constant", value)

    @staticmethod
    def zeros() -> Initializer:
        return Initializer("constant", 0.0)

    @staticmethod
    def ones() -> Initializer:
        return Initializer("constant", 1.0)

    @staticmethod
    def uniform(low: float, high: float) -> Initializer:
        return Initializer("uniform", low, high)

    @staticmethod
    def normal(mean: float, std: float) -> Initializer:
        return Initializer("normal", mean, std)

    @staticmethod
    def kaiming_uniform(gain: float = 1 / math.sqrt(3), fan_out_only: bool = False) -> Initializer:
        """The default of linear and convolutional layers: bound 1 / √fan_in."""
        return Initializer("kaiming_uniform", gain, float(fan_out_only))

    @staticmethod
    def kaiming_normal(gain: float = 1.0, fan_out_only: bool = False) -> Initializer:
        return Initializer("kaiming_normal", gain, float(fan_out_only))

    @staticmethod
    def xavier_uniform(gain: float = 1.0) -> Initializer:
        return Initializer("xavier_uniform", gain)

    @staticmethod
    def xavier_normal(gain: float = 1.0) -> Initializer:
        return Initializer("xavier_normal", gain)

    def init(
        self, shape: tuple[int, ...], device: Device, fan_in: int | None = None, fan_out: int | None = None
    ) -> Tensor:
        """A float tensor of the device's default dtype. Raises ArgumentError when fans are needed and missing."""
        if self.kind == "constant":
            return Tensor.full(shape, float(self.a), device=device)
        return Tensor.random(shape, self._distribution(fan_in, fan_out), device=device)

    def _distribution(self, fan_in: int | None, fan_out: int | None) -> Distribution:
        if self.kind == "uniform":
            return Distribution.uniform(self.a, self.b)
        if self.kind == "normal":
            return Distribution.normal(self.a, self.b)
        if fan_in is None or fan_out is None:
            raise ArgumentError(f"init: {self.kind} needs fan_in and fan_out; give the layer's sizes")
        if self.kind.startswith("kaiming"):
            std = self.a / math.sqrt(max(fan_out if self.b else fan_in, 1))
        else:
            std = self.a * math.sqrt(2 / max(fan_in + fan_out, 1))
        if self.kind.endswith("uniform"):
            return Distribution.uniform(-math.sqrt(3) * std, math.sqrt(3) * std)
        return Distribution.normal(0.0, std)
