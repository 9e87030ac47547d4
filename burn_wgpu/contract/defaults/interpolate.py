"""Resampling of images: along each axis an output is a weighted sum of a few input elements.

`axis_taps` is the definition (coordinates, rounding, kernels) in float64 on the host; the contract's default gathers
with it and the gradient scatters with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from burn_wgpu.contract.defaults.common import (
    bool_constant,
    cast,
    float_constant,
    index_constant,
    row,
    widen,
    zeros_like,
)
from burn_wgpu.contract.options import (
    CoordinateTransformMode,
    IndexingUpdateOp,
    InterpolateMode,
    InterpolateOptions,
    NearestRoundingMode,
)
from burn_wgpu.contract.types import FloatPrim


@dataclass(frozen=True)
class AxisTaps:
    """index [out, taps] into the axis; weight [out, taps], None for a plain copy; outside [out]: the crop's outside."""

    index: np.ndarray
    weight: np.ndarray | None
    outside: np.ndarray


def source_coordinates(
    size: int, out: int, scale: float | None, transform: CoordinateTransformMode, axis: int
) -> np.ndarray:
    """Where each of `out` elements lies on an axis of `size` elements, in float64; axis 0 is the height."""
    i = np.arange(out, dtype=np.float64)
    kind = transform.kind
    if kind == "pytorch_half_pixel":
        if out == 1:
            return np.zeros(1)
        kind = "half_pixel"

    def unscaled(positions: np.ndarray) -> np.ndarray:
        # Multiplied before divided without a given scale: a rounded ratio would move ties.
        return positions * size / out if scale is None else positions / scale

    if kind == "half_pixel":
        return unscaled(i + 0.5) - 0.5
    if kind == "align_corners":
        return np.zeros(out) if out == 1 else i * (size - 1) / (out - 1)
    if kind == "asymmetric":
        return unscaled(i)
    if kind == "half_pixel_symmetric":
        shift = 0.0 if scale is None else (size * scale - out) / 2
        return unscaled(i + 0.5 + shift) - 0.5
    assert kind == "tf_crop_and_resize" and transform.roi is not None, kind
    start, end = transform.roi[axis]
    if out == 1:
        return np.full(1, (start + end) / 2 * (size - 1))
    return start * (size - 1) + i * (end - start) * (size - 1) / (out - 1)


def axis_taps(size: int, out: int, scale: float | None, options: InterpolateOptions, axis: int) -> AxisTaps:
    """The input elements and weights of every output along one axis (0: height, 1: width)."""
    x = source_coordinates(size, out, scale, options.coordinate_transform, axis)
    outside = np.zeros(out, bool)
    if options.coordinate_transform.kind == "tf_crop_and_resize":
        outside = (x < 0) | (x > size - 1)
    if options.mode.is_nearest:
        index = np.clip(round_nearest(x, options.nearest_mode), 0, size - 1).astype(np.int64)
        return AxisTaps(index[:, None], None, outside)
    if options.mode is InterpolateMode.BILINEAR:
        low = np.clip(np.floor(x), 0, size - 1).astype(np.int64)
        high = np.minimum(low + 1, size - 1)
        weight = np.maximum(x - low, 0.0)
        return AxisTaps(np.stack([low, high], 1), np.stack([1 - weight, weight], 1), outside)
    if options.mode is InterpolateMode.BICUBIC:
        return AxisTaps(*_cubic_taps(x, size, options.cubic_options.a, options.cubic_options.exclude_outside), outside)
    places = np.floor(x)[:, None] + np.arange(-2, 4)
    weight = np.where((places >= 0) & (places < size), lanczos3(x[:, None] - places), 0.0)
    total = weight.sum(1, keepdims=True)
    weight = np.divide(weight, total, out=np.zeros_like(weight), where=total != 0)
    return AxisTaps(np.clip(places, 0, size - 1).astype(np.int64), weight, outside)


def round_nearest(x: np.ndarray, mode: NearestRoundingMode) -> np.ndarray:
    if mode is NearestRoundingMode.FLOOR:
        return np.floor(x)
    if mode is NearestRoundingMode.CEIL:
        return np.ceil(x)
    if mode is NearestRoundingMode.ROUND_PREFER_FLOOR:
        return np.ceil(x - 0.5)
    return np.floor(x + 0.5)


def _cubic_taps(x: np.ndarray, size: int, a: float, exclude_outside: bool) -> tuple[np.ndarray, np.ndarray]:
    places = np.floor(x)[:, None] + np.arange(-1, 3)
    index = np.clip(places, 0, size - 1).astype(np.int64)
    weight = keys_kernel(x[:, None] - places, a)
    if exclude_outside:
        weight = np.where((places >= 0) & (places < size), weight, 0.0)
        total = weight.sum(1, keepdims=True)
        # With no tap inside, the nearest edge element: every index is clamped to it.
        weight = np.where(total == 0, [1.0, 0.0, 0.0, 0.0], weight / np.where(total == 0, 1.0, total))
    return index, weight


def keys_kernel(distance: np.ndarray, a: float) -> np.ndarray:
    """Keys' cubic convolution kernel (1981) with parameter a; 0 from distance 2 on."""
    t = np.abs(distance)
    near = ((a + 2) * t - (a + 3)) * t * t + 1
    far = ((a * t - 5 * a) * t + 8 * a) * t - 4 * a
    return np.where(t <= 1, near, np.where(t < 2, far, 0.0))


def lanczos3(distance: np.ndarray) -> np.ndarray:
    """sinc(x)·sinc(x/3), 0 from distance 3 on."""
    return np.where(np.abs(distance) < 3, np.sinc(distance) * np.sinc(distance / 3), 0.0)


def both_axes(sizes: Sequence[int], output_size: Sequence[int], options: InterpolateOptions) -> tuple[AxisTaps, ...]:
    scales = options.scale_factor or (None, None)
    return tuple(axis_taps(sizes[a], output_size[a], scales[a], options, a) for a in (0, 1))


def outside_mask(taps: Sequence[AxisTaps]) -> np.ndarray | None:
    """[1, 1, Ho, Wo], true where the crop lies outside the image; None when nowhere."""
    mask = taps[0].outside[:, None] | taps[1].outside[None, :]
    return mask[None, None] if mask.any() else None


def interpolate(b: Any, x: FloatPrim, output_size: Sequence[int], options: InterpolateOptions) -> FloatPrim:
    taps = both_axes(x.shape[2:], output_size, options)
    out = widen(b, x) if taps[0].weight is not None else x
    for dim, axis in zip((2, 3), taps, strict=True):
        out = _resample(b, out, dim, axis)
    mask = outside_mask(taps)
    if mask is not None:
        fill = options.coordinate_transform.extrapolation_value
        out = b.float_mask_fill(out, bool_constant(b, mask, x.device), fill)
    return cast(b, out, x.dtype)


def interpolate_backward(
    b: Any, x: FloatPrim, output_grad: FloatPrim, output_size: Sequence[int], options: InterpolateOptions
) -> FloatPrim:
    taps = both_axes(x.shape[2:], output_size, options)
    grad = widen(b, output_grad)
    mask = outside_mask(taps)
    if mask is not None:
        grad = b.float_mask_fill(grad, bool_constant(b, mask, x.device), 0.0)
    for dim, axis in zip((3, 2), reversed(taps), strict=True):
        grad = _resample_backward(b, grad, dim, x.shape[dim], axis)
    return cast(b, grad, x.dtype)


def _resample(b: Any, x: FloatPrim, dim: int, taps: AxisTaps) -> FloatPrim:
    total: Any = None
    for t in range(taps.index.shape[1]):
        part = b.float_select(x, dim, index_constant(b, taps.index[:, t], x.device))
        if taps.weight is not None:
            part = b.float_mul(part, float_constant(b, taps.weight[:, t].reshape(row(-1, dim, 4)), x))
        total = part if total is None else b.float_add(total, part)
    return total


def _resample_backward(b: Any, grad: FloatPrim, dim: int, size: int, taps: AxisTaps) -> FloatPrim:
    shape = [size if axis == dim else n for axis, n in enumerate(grad.shape)]
    total = zeros_like(b, grad, shape)
    for t in range(taps.index.shape[1]):
        part = grad
        if taps.weight is not None:
            part = b.float_mul(part, float_constant(b, taps.weight[:, t].reshape(row(-1, dim, 4)), grad))
        index = index_constant(b, taps.index[:, t], grad.device)
        total = b.float_select_assign(total, dim, index, part, IndexingUpdateOp.ADD)
    return total
