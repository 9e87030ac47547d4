"""Resampling on float64 arrays with the taps that the contract defines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from burn_wgpu.contract.defaults.interpolate import AxisTaps, both_axes, outside_mask
from burn_wgpu.contract.options import InterpolateOptions


def interpolate(x: np.ndarray, output_size: Sequence[int], options: InterpolateOptions) -> np.ndarray:
    """x [N, C, H, W] → [N, C, *output_size]."""
    taps = both_axes(x.shape[2:], output_size, options)
    out = x
    for dim, axis in zip((2, 3), taps, strict=True):
        parts = [np.take(out, axis.index[:, t], axis=dim) for t in range(axis.index.shape[1])]
        out = sum(_weighted(part, axis, t, dim) for t, part in enumerate(parts))  # type: ignore[assignment]
    mask = outside_mask(taps)
    return out if mask is None else np.where(mask, options.coordinate_transform.extrapolation_value, out)


def interpolate_backward(grad: np.ndarray, sizes: Sequence[int], options: InterpolateOptions) -> np.ndarray:
    """grad [N, C, Ho, Wo] → [N, C, *sizes], the adjoint."""
    taps = both_axes(sizes, grad.shape[2:], options)
    mask = outside_mask(taps)
    if mask is not None:
        grad = np.where(mask, 0.0, grad)
    for dim, axis in zip((2, 3), taps, strict=True):
        total = np.zeros([sizes[dim - 2] if d == dim else n for d, n in enumerate(grad.shape)])
        for t in range(axis.index.shape[1]):
            place: Any = (slice(None),) * dim + (axis.index[:, t],)
            np.add.at(total, place, _weighted(grad, axis, t, dim))
        grad = total
    return grad


def _weighted(part: np.ndarray, axis: AxisTaps, tap: int, dim: int) -> np.ndarray:
    if axis.weight is None:
        return part
    return part * axis.weight[:, tap].reshape([-1 if d == dim else 1 for d in range(part.ndim)])
