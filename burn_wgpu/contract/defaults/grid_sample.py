"""Sampling an image at the points of a grid, composed of gathers; the gradient follows from the parts."""

from __future__ import annotations

from math import pi, prod
from typing import Any

from burn_wgpu.contract.defaults.common import cast, widen
from burn_wgpu.contract.options import GridSampleOptions, GridSamplePaddingMode, InterpolateMode
from burn_wgpu.contract.types import BoolPrim, FloatPrim, IntPrim
from burn_wgpu.std.slice import Slice

# One tap along one axis: its (unclamped) place and its weight, both [N, Ho, Wo]; a weight of None is 1.
Tap = tuple[FloatPrim, FloatPrim | None]


def grid_sample_2d(b: Any, x: FloatPrim, grid: FloatPrim, options: GridSampleOptions) -> FloatPrim:
    """x [N, C, H, W], grid [N, Ho, Wo, 2] with (x, y) in [−1, 1] → [N, C, Ho, Wo]; computed in f32 for f16 and bf16.

    Nearest rounds halves to even. Bicubic (a = −0.75) and Lanczos3 resolve the padding for every tap; the others
    resolve it once, for the point. Lanczos3 divides by the sum of the weights that count.
    """
    batch, channels, height, width = x.shape
    image = b.float_reshape(widen(b, x), (batch, channels, height * width))
    points = widen(b, grid)
    axes: list[list[Tap]] = []
    per_tap = options.mode in (InterpolateMode.BICUBIC, InterpolateMode.LANCZOS3)
    for component, size in ((1, height), (0, width)):
        place = _pixel(b, _component(b, points, component), size, options.align_corners)
        if not per_tap:
            place = _resolve(b, place, size, options)
        axes.append(_taps(b, place, options.mode))
    total: Any = None
    weights: Any = None
    for row_place, row_weight in axes[0]:
        for column_place, column_weight in axes[1]:
            if per_tap:
                row_at = _resolve(b, row_place, height, options)
                column_at = _resolve(b, column_place, width, options)
            else:
                row_at, column_at = row_place, column_place
            weight: Any = None
            if row_weight is not None and column_weight is not None:
                weight = b.float_mul(row_weight, column_weight)
            part, hidden = _taken(b, image, row_at, column_at, height, width)
            if options.padding_mode is GridSamplePaddingMode.ZEROS:
                part = b.float_mask_fill(part, hidden, 0.0)
                if options.mode is InterpolateMode.LANCZOS3:
                    weight = b.float_mask_fill(weight, b.bool_reshape(hidden, weight.shape), 0.0)
            if weight is not None:
                part = b.float_mul(part, _over_channels(b, weight))
            total = part if total is None else b.float_add(total, part)
            if options.mode is InterpolateMode.LANCZOS3:
                weights = weight if weights is None else b.float_add(weights, weight)
    if weights is not None:
        nothing = b.float_equal_elem(weights, 0.0, x.device.settings.bool_dtype)
        total = b.float_div(total, _over_channels(b, b.float_mask_fill(weights, nothing, 1.0)))
    return cast(b, b.float_reshape(total, (batch, channels, *grid.shape[1:3])), x.dtype)


def _component(b: Any, grid: FloatPrim, component: int) -> FloatPrim:
    part = b.float_slice(grid, [Slice.full()] * 3 + [Slice(component, component + 1)])
    return b.float_reshape(part, grid.shape[:3])


def _pixel(b: Any, g: FloatPrim, size: int, align_corners: bool) -> FloatPrim:
    """(g+1)·(size−1)/2, or (g+1)·size/2 − 0.5."""
    g = b.float_add_scalar(g, 1.0)
    if align_corners:
        return b.float_mul_scalar(g, (size - 1) / 2)
    return b.float_sub_scalar(b.float_mul_scalar(g, size / 2), 0.5)


def _resolve(b: Any, place: FloatPrim, size: int, options: GridSampleOptions) -> FloatPrim:
    """The place inside the image that the padding mode gives for any place."""
    if options.padding_mode is GridSamplePaddingMode.ZEROS:
        return place
    if options.padding_mode is GridSamplePaddingMode.REFLECTION:
        low, high = (0.0, size - 1.0) if options.align_corners else (-0.5, size - 0.5)
        place = _reflect(b, place, low, high)
    return b.float_clamp(place, 0.0, size - 1.0)


def _reflect(b: Any, place: FloatPrim, low: float, high: float) -> FloatPrim:
    """A triangle wave between low and high; low when they coincide."""
    span = high - low
    if span <= 0:
        return b.float_add_scalar(b.float_mul_scalar(place, 0.0), low)
    away = b.float_remainder_scalar(b.float_sub_scalar(place, low), 2 * span)
    # away in [0, 2·span): rising, then falling.
    back = b.float_sub_scalar(b.float_abs(b.float_sub_scalar(away, span)), span)
    return b.float_add_scalar(b.float_neg(back), low)


def _taps(b: Any, place: FloatPrim, mode: InterpolateMode) -> list[Tap]:
    if mode.is_nearest:
        return [(b.float_round(place), None)]
    low = b.float_floor(b.float_detach(place))
    part = b.float_sub(place, low)
    if mode is InterpolateMode.BILINEAR:
        rest = b.float_add_scalar(b.float_neg(part), 1.0)
        return [(low, rest), (b.float_add_scalar(low, 1.0), part)]
    if mode is InterpolateMode.BICUBIC:
        offsets, weigh = range(-1, 3), _cubic_weight
    else:
        offsets, weigh = range(-2, 4), _lanczos_weight
    return [(b.float_add_scalar(low, float(o)), weigh(b, b.float_sub_scalar(part, float(o)), o)) for o in offsets]


def _cubic_weight(b: Any, distance: FloatPrim, offset: int) -> FloatPrim:
    """Keys' kernel with a = −0.75; the offset tells which of its two pieces the distance is in."""
    a = -0.75
    t = b.float_abs(distance)

    def horner(*coefficients: float) -> FloatPrim:
        value = b.float_add_scalar(b.float_mul_scalar(t, coefficients[0]), coefficients[1])
        for c in coefficients[2:]:
            value = b.float_add_scalar(b.float_mul(value, t), c)
        return value

    if offset in (0, 1):
        return horner(a + 2, -(a + 3), 0.0, 1.0)
    return horner(a, -5 * a, 8 * a, -4 * a)


def _lanczos_weight(b: Any, distance: FloatPrim, offset: int) -> FloatPrim:
    """sinc(t)·sinc(t/3); 1 at 0."""
    kind = distance.device.settings.bool_dtype
    centre = b.float_equal_elem(distance, 0.0, kind)
    angle = b.float_mul_scalar(b.float_mask_fill(distance, centre, 1.0), pi)
    third = b.float_mul_scalar(angle, 1 / 3)
    product = b.float_div(b.float_mul(b.float_sin(angle), b.float_sin(third)), b.float_mul(angle, third))
    far = b.float_greater_equal_elem(b.float_abs(distance), 3.0, kind)
    return b.float_mask_fill(b.float_mask_fill(product, far, 0.0), centre, 1.0)


def _taken(
    b: Any, image: FloatPrim, row_at: FloatPrim, column_at: FloatPrim, height: int, width: int
) -> tuple[FloatPrim, BoolPrim]:
    """The elements at integer places [N, Ho, Wo] → [N, C, Ho·Wo], and where the place is outside [N, 1, Ho·Wo]."""
    kind = image.device.settings.bool_dtype
    batch, channels, _ = image.shape
    points = prod(row_at.shape[1:])
    inside: Any = None
    for place, size in ((row_at, height), (column_at, width)):
        for test in (b.float_greater_equal_elem(place, 0.0, kind), b.float_lower_elem(place, float(size), kind)):
            inside = test if inside is None else b.bool_and(inside, test)

    def index(place: FloatPrim, size: int) -> IntPrim:
        return b.float_into_int(b.float_clamp(b.float_detach(place), 0.0, size - 1.0), image.device.settings.int_dtype)

    flat = b.int_add(b.int_mul_scalar(index(row_at, height), width), index(column_at, width))
    flat = b.int_expand(b.int_reshape(flat, (batch, 1, points)), (batch, channels, points))
    hidden = b.bool_reshape(b.bool_not(inside), (batch, 1, points))
    return b.float_gather(2, image, flat), hidden


def _over_channels(b: Any, weight: FloatPrim) -> FloatPrim:
    return b.float_reshape(weight, (weight.shape[0], 1, prod(weight.shape[1:])))
