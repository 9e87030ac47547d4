"""Grid sampling composed of elementwise functions and one gather per tap."""

from __future__ import annotations

from typing import Any

from burn_wgpu.contract.defaults.shape import slice_dim
from burn_wgpu.contract.options import GridSampleOptions, GridSamplePaddingMode, InterpolateMode
from burn_wgpu.contract.types import FloatPrim, IntPrim
from burn_wgpu.std.dtype import F32, I32
from burn_wgpu.std.errors import ArgumentError
from burn_wgpu.std.slice import Slice

_CUBIC_A = -0.75  # the usual Keys parameter of image libraries


def grid_sample_2d(b: Any, tensor: FloatPrim, grid: FloatPrim, options: GridSampleOptions) -> FloatPrim:
    """Nearest (ties to even), bilinear or bicubic; zeros, border or reflection outside.

    Coordinates are computed in f32 at least: halves cannot address the pixels of a large image.
    """
    if options.mode not in _TAPS:
        raise ArgumentError(
            f"grid_sample_2d: mode {options.mode.value!r} is not offered; use nearest, bilinear or bicubic"
        )
    kind = tensor.dtype
    if kind.size_bytes < 4:
        return b.float_cast(  # type: ignore[no-any-return]
            grid_sample_2d(b, b.float_cast(tensor, F32), b.float_cast(grid, F32), options), kind
        )
    if grid.dtype is not kind:
        grid = b.float_cast(grid, kind)
    n, c, height, width = tensor.shape
    _, out_height, out_width, _ = grid.shape
    x, y = (
        _pixel(
            b, b.float_reshape(slice_dim(b, grid, 3, Slice(i, i + 1)), (n, 1, out_height * out_width)), size, options
        )
        for i, size in ((0, width), (1, height))
    )
    flat = b.float_reshape(tensor, (n, c, height * width))
    total: FloatPrim | None = None
    across = _TAPS[options.mode](b, x)
    down = _TAPS[options.mode](b, y)
    for row, row_weight in down:
        for column, column_weight in across:
            tap = _read(b, flat, column, row, width, height, options)
            weight = row_weight if column_weight is None else b.float_mul(row_weight, column_weight)
            part = tap if weight is None else b.float_mul(tap, weight)
            total = part if total is None else b.float_add(total, part)
    return b.float_reshape(total, (n, c, out_height, out_width))  # type: ignore[no-any-return]


def _pixel(b: Any, at: FloatPrim, size: int, options: GridSampleOptions) -> FloatPrim:
    """Grid coordinates in [−1, 1] as pixel coordinates, with border and reflection applied."""
    shifted = b.float_add_scalar(at, 1.0)
    if options.align_corners:
        pixel = b.float_mul_scalar(shifted, (size - 1) / 2)
    else:
        pixel = b.float_add_scalar(b.float_mul_scalar(shifted, size / 2), -0.5)
    # Bicubic bounds each tap, not the coordinate: its outer taps reach beyond.
    return pixel if options.mode is InterpolateMode.BICUBIC else _bounded(b, pixel, size, options)


def _bounded(b: Any, pixel: FloatPrim, size: int, options: GridSampleOptions) -> FloatPrim:
    if options.padding_mode is GridSamplePaddingMode.ZEROS:
        return pixel
    if options.padding_mode is GridSamplePaddingMode.REFLECTION:
        low, high = (0.0, size - 1.0) if options.align_corners else (-0.5, size - 0.5)
        span = high - low
        if span <= 0:
            return b.float_mul_scalar(pixel, 0.0)  # type: ignore[no-any-return]
        # A triangle wave of period 2·span: |((p − low) mod 2·span) − span| counts down from span to 0 and up again.
        inside = b.float_remainder_scalar(b.float_sub_scalar(pixel, low), 2 * span)
        pixel = b.float_add_scalar(b.float_neg(b.float_abs(b.float_sub_scalar(inside, span))), span + low)
    return b.float_clamp(pixel, 0.0, size - 1.0)  # type: ignore[no-any-return]


def _nearest(b: Any, at: FloatPrim) -> list[tuple[FloatPrim, None]]:
    return [(b.float_round(at), None)]


def _bilinear(b: Any, at: FloatPrim) -> list[tuple[FloatPrim, FloatPrim]]:
    low = b.float_detach(b.float_floor(at))
    part = b.float_sub(at, low)
    return [(low, b.float_add_scalar(b.float_neg(part), 1.0)), (b.float_add_scalar(low, 1.0), part)]


def _bicubic(b: Any, at: FloatPrim) -> list[tuple[FloatPrim, FloatPrim]]:
    """Keys' kernel: |t| ≤ 1: (a+2)t³ − (a+3)t² + 1; 1 < |t| < 2: a(t³ − 5t² + 8t − 4)."""
    low = b.float_detach(b.float_floor(at))
    part = b.float_sub(at, low)
    a = _CUBIC_A

    def polynomial(t: FloatPrim, c3: float, c2: float, c1: float, c0: float) -> FloatPrim:
        value = b.float_add_scalar(b.float_mul_scalar(t, c3), c2)
        value = b.float_add_scalar(b.float_mul(value, t), c1)
        return b.float_add_scalar(b.float_mul(value, t), c0)  # type: ignore[no-any-return]

    rest = b.float_add_scalar(b.float_neg(part), 1.0)
    return [
        (b.float_add_scalar(low, -1.0), polynomial(b.float_add_scalar(part, 1.0), a, -5 * a, 8 * a, -4 * a)),
        (low, polynomial(part, a + 2, -(a + 3), 0.0, 1.0)),
        (b.float_add_scalar(low, 1.0), polynomial(rest, a + 2, -(a + 3), 0.0, 1.0)),
        (b.float_add_scalar(low, 2.0), polynomial(b.float_add_scalar(rest, 1.0), a, -5 * a, 8 * a, -4 * a)),
    ]


_TAPS: dict[InterpolateMode, Any] = {
    InterpolateMode.NEAREST: _nearest,
    InterpolateMode.BILINEAR: _bilinear,
    InterpolateMode.BICUBIC: _bicubic,
}


def _read(
    b: Any, flat: FloatPrim, x: FloatPrim, y: FloatPrim, width: int, height: int, options: GridSampleOptions
) -> FloatPrim:
    """flat [N, C, H·W] at whole pixel coordinates [N, 1, P] → [N, C, P]; outside the image 0 or the bounded pixel."""
    n, c, _ = flat.shape
    zeros = options.padding_mode is GridSamplePaddingMode.ZEROS
    if not zeros and options.mode is InterpolateMode.BICUBIC:
        x, y = _bounded(b, x, width, options), _bounded(b, y, height, options)
    column = b.float_into_int(b.float_detach(x), I32)
    row = b.float_into_int(b.float_detach(y), I32)
    clamped_column = b.int_clamp(column, 0, width - 1)
    clamped_row = b.int_clamp(row, 0, height - 1)
    at: IntPrim = b.int_add(b.int_mul_scalar(clamped_row, width), clamped_column)
    wide = b.int_expand(at, (n, c, at.shape[2]))
    tap = b.float_gather(2, flat, wide)
    if not zeros:
        return tap  # type: ignore[no-any-return]
    stored = flat.device.settings.bool_dtype
    outside = b.bool_or(b.int_not_equal(column, clamped_column, stored), b.int_not_equal(row, clamped_row, stored))
    return b.float_mask_fill(tap, outside, 0.0)  # type: ignore[no-any-return]
