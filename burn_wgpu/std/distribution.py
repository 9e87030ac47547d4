"""What random numbers are drawn from."""

from __future__ import annotations

import math
from dataclasses import dataclass

from burn_wgpu.std.errors import ArgumentError


@dataclass(frozen=True, slots=True)
class Distribution:
    """One of `Distribution.default()`, `.bernoulli(p)`, `.uniform(low, high)`, `.normal(mean, std)`.

    Floats: default is U[0, 1). Ints: default is U[0, 255); uniform is half-open; normal is truncated to int. An int
    dtype takes the part of an interval that it holds: i8 by default U[0, 128).
    """

    kind: str = "default"
    a: float = 0.0
    b: float = 1.0

    @staticmethod
    def default() -> Distribution:
        return Distribution()

    def interval(self, least: int, most: int) -> tuple[int, int]:
        """(lowest integer, how many) of a default or uniform distribution in an int dtype that holds least … most.

        0 integers: the interval is empty, or the dtype does not reach it, and its lower end is drawn.
        """
        low, high = (0, 255) if self.kind == "default" else (self.a, self.b)
        first = math.ceil(min(max(low, least), most))
        return first, max(math.ceil(min(high, most + 1)) - first, 0) if low <= most else 0

    @staticmethod
    def bernoulli(probability: float) -> Distribution:
        """1 with the probability, else 0."""
        if not 0.0 <= probability <= 1.0:
            raise ArgumentError(f"bernoulli: the probability is {probability}; it must lie in [0, 1]")
        return Distribution("bernoulli", float(probability))

    @staticmethod
    def uniform(low: float, high: float) -> Distribution:
        """[low, high)."""
        if not low <= high:
            raise ArgumentError(f"uniform: low is {low} and high is {high}; low must not exceed high")
        return Distribution("uniform", low, high)

    @staticmethod
    def normal(mean: float, std: float) -> Distribution:
        if not std >= 0:
            raise ArgumentError(f"normal: the standard deviation is {std}; it must not be negative")
        return Distribution("normal", float(mean), float(std))
