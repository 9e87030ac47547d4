"""Pooling of any number of spatial axes: a loop over the taps of the window, all windows at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import inf, prod
from typing import Any

import numpy as np

from burn_wgpu.backends.reference.conv import last_axes, tap_places
from burn_wgpu.contract.options import adaptive_window, pool_output_size


@dataclass(frozen=True)
class Pooling:
    """A fixed window over the axes behind [N, C]."""

    sizes: tuple[int, ...]
    kernel: Sequence[int]
    stride: Sequence[int]
    padding: Sequence[int]
    dilation: Sequence[int]
    ceil_mode: bool
    name: str

    @property
    def out(self) -> tuple[int, ...]:
        axes = zip(self.sizes, self.kernel, self.stride, self.padding, self.dilation, strict=True)
        return tuple(pool_output_size(n, k, s, (p, p), d, self.ceil_mode, self.name) for n, k, s, p, d in axes)

    @property
    def reach(self) -> tuple[int, ...]:
        """Elements from the first of the begin padding to the last that any window or the input touches."""
        axes = zip(self.sizes, self.out, self.kernel, self.stride, self.padding, self.dilation, strict=True)
        return tuple(max((o - 1) * s + d * (k - 1) + 1, n + p) for n, o, k, s, p, d in axes)

    @property
    def inner(self) -> tuple[slice, ...]:
        """The input inside its reach."""
        return tuple(slice(p, p + n) for n, p in zip(self.sizes, self.padding, strict=True))

    def spread(self, x: np.ndarray, fill: float) -> np.ndarray:
        """x [.., sizes] inside its reach, `fill` around it."""
        wide = np.full((*x.shape[: x.ndim - len(self.sizes)], *self.reach), fill, x.dtype)
        wide[last_axes(self.inner)] = x
        return wide

    def taps(self) -> Iterator[tuple[slice, ...]]:
        """The places of each tap, in scan order of the window."""
        for tap in product(*(range(k) for k in self.kernel)):
            yield tap_places(tap, self.out, self.stride, self.dilation)

    @property
    def nearest(self) -> np.ndarray:
        """[out..]: the flat index of the element next to each window's first tap."""
        flat: Any = 0
        for n, o, s, p in zip(self.sizes, self.out, self.stride, self.padding, strict=True):
            flat = np.asarray(flat)[..., None] * n + np.clip(np.arange(o) * s - p, 0, max(n - 1, 0))
        return np.asarray(flat)

    @property
    def held(self) -> np.ndarray:
        """[out..]: whether a window has an element."""
        inside = np.zeros(self.reach, bool)
        inside[self.inner] = True
        total: Any = False
        for places in self.taps():
            total = total | inside[places]
        return np.asarray(total)

    def divisor(self, count_include_pad: bool) -> np.ndarray:
        """[out..]: the taps that count, at least 1."""
        counted = np.zeros(self.reach)
        around = self.padding if count_include_pad else (0,) * len(self.sizes)
        axes = zip(self.sizes, self.padding, around, strict=True)
        counted[tuple(slice(p - a, p + n + a) for n, p, a in axes)] = 1.0
        total: Any = sum(counted[places] for places in self.taps())
        return np.maximum(total, 1.0)


def average(x: np.ndarray, pooling: Pooling, count_include_pad: bool) -> np.ndarray:
    wide = pooling.spread(x, 0.0)
    return sum(wide[last_axes(places)] for places in pooling.taps()) / pooling.divisor(count_include_pad)


def average_backward(grad: np.ndarray, pooling: Pooling, count_include_pad: bool) -> np.ndarray:
    wide = np.zeros((*grad.shape[:2], *pooling.reach))
    share = grad / pooling.divisor(count_include_pad)
    for places in pooling.taps():
        wide[last_axes(places)] += share
    return wide[last_axes(pooling.inner)]


def maximum(x: np.ndarray, pooling: Pooling) -> tuple[np.ndarray, np.ndarray]:
    """The maxima and their flat indices in the input; the first maximum or the first NaN wins, padding never does.

    A window without an element gives −∞ and the element next to its first tap.
    """
    wide = pooling.spread(x, -inf)
    index = np.full(pooling.reach, -1, np.int64)
    index[pooling.inner] = np.arange(prod(pooling.sizes)).reshape(pooling.sizes)
    best = np.full((*x.shape[:2], *pooling.out), -inf, x.dtype)
    winner = np.full(best.shape, -1, np.int64)
    for places in pooling.taps():
        value, place = wide[last_axes(places)], index[places]
        better = (value > best) | (np.isnan(value) & ~np.isnan(best)) | (winner < 0)
        better &= place >= 0
        best = np.where(better, value, best)
        winner = np.where(better, place, winner)
    return best, np.where(winner < 0, pooling.nearest, winner)


def maximum_backward(grad: np.ndarray, indices: np.ndarray, pooling: Pooling) -> np.ndarray:
    """Gradients added at the indices; a window without an element has none to give its own to."""
    batch, channels = grad.shape[:2]
    sizes = pooling.sizes
    grad = np.where(pooling.held, grad, 0.0)
    total = np.zeros((batch, channels, prod(sizes)))
    flat = (batch, channels, prod(grad.shape[2:]))
    n, c = np.ogrid[:batch, :channels]
    np.add.at(total, (n[..., None], c[..., None], indices.reshape(flat)), grad.reshape(flat))
    return total.reshape(batch, channels, *sizes)


# ------------------------------------------------------------------------------------------------------- adaptive


def adaptive_windows(sizes: Sequence[int], out: Sequence[int]) -> Iterator[tuple[tuple[int, ...], tuple[slice, ...]]]:
    """Every output position and the slices of its window."""
    for position in product(*(range(o) for o in out)):
        axes = zip(position, sizes, out, strict=True)
        yield position, tuple(slice(*adaptive_window(i, n, o)) for i, n, o in axes)


def adaptive_average(x: np.ndarray, out: Sequence[int]) -> np.ndarray:
    result = np.empty((*x.shape[:2], *out))
    axes = tuple(range(2, x.ndim))
    for position, window in adaptive_windows(x.shape[2:], out):
        result[last_axes(position)] = x[last_axes(window)].mean(axes)
    return result


def adaptive_average_backward(grad: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
    total = np.zeros((*grad.shape[:2], *sizes))
    ones = (None,) * len(sizes)
    for position, window in adaptive_windows(sizes, grad.shape[2:]):
        region = total[last_axes(window)]
        region += grad[last_axes(position)][last_axes(ones)] / np.prod(region.shape[2:])
    return total
