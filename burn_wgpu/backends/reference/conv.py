"""Convolutions of any number of spatial axes on float64 arrays."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

from burn_wgpu.contract.options import (
    ConvOptions,
    ConvTransposeOptions,
    DeformConvOptions,
    conv_output_size,
    conv_transpose_output_size,
)


def conv(x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None, options: ConvOptions, name: str) -> np.ndarray:
    """x [N, Ci, ..], weight [Co, Ci/groups, ..], bias [Co] → [N, Co, ..]: every window times the weight."""
    batch, channels, *space = x.shape
    kernel = weight.shape[2:]
    rank = len(space)
    axes = zip(space, kernel, options.stride, options.padding, options.dilation, strict=True)
    out = [conv_output_size(*axis, name) for axis in axes]
    windows = strided_windows(np.pad(x, [(0, 0), (0, 0), *options.padding]), kernel, options.stride, options.dilation)
    groups = options.groups
    split = windows.reshape(batch, groups, channels // groups, *out, *kernel)
    # [groups, N, out.., Ci/groups, k..] → one matrix product per group.
    split = split.transpose(1, 0, *range(3, 3 + rank), 2, *range(3 + rank, 3 + 2 * rank))
    rows = split.reshape(groups, batch * prod(out), prod(weight.shape[1:]))
    per_group = weight.reshape(groups, weight.shape[0] // groups, prod(weight.shape[1:]))
    result = np.matmul(rows, per_group.transpose(0, 2, 1))  # [groups, N·out, Co/groups]
    result = result.reshape(groups, batch, prod(out), weight.shape[0] // groups).transpose(1, 0, 3, 2)
    return _with_bias(result.reshape(batch, weight.shape[0], *out), bias)


def strided_windows(x: np.ndarray, kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int]) -> np.ndarray:
    """x [N, C, ..] → [N, C, out.., k..], a view."""
    rank = len(kernel)
    spans = [d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True)]
    windows = np.lib.stride_tricks.sliding_window_view(x, spans, axis=tuple(range(2, 2 + rank)))
    steps = [slice(None, None, s) for s in stride] + [slice(None, None, d) for d in dilation]
    return windows[(slice(None), slice(None), *steps)]


def conv_transpose(
    x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None, options: ConvTransposeOptions, name: str
) -> np.ndarray:
    """x [N, Ci, ..], weight [Ci, Co/groups, ..], bias [Co] → [N, Co, ..]: every element adds a scaled kernel."""
    batch, channels, *space = x.shape
    kernel = weight.shape[2:]
    groups = options.groups
    per_group = weight.shape[1]
    out = [
        conv_transpose_output_size(n, k, s, p, extra, d, name)
        for n, k, s, p, extra, d in zip(
            space, kernel, options.stride, options.padding, options.padding_out, options.dilation, strict=True
        )
    ]
    full = [o + 2 * p for o, p in zip(out, options.padding, strict=True)]
    total = np.zeros((batch, groups, per_group, *full))
    grouped = x.reshape(batch, groups, channels // groups, prod(space))
    weights = weight.reshape(groups, channels // groups, per_group, *kernel)
    for tap in product(*(range(k) for k in kernel)):
        part = np.matmul(weights[last_axes(tap)].transpose(0, 2, 1), grouped)  # [N, groups, Co/groups, space]
        total[last_axes(tap_places(tap, space, options.stride, options.dilation))] += part.reshape(
            batch, groups, per_group, *space
        )
    inner = tuple(slice(p, p + o) for o, p in zip(out, options.padding, strict=True))
    return _with_bias(total[last_axes(inner)].reshape(batch, groups * per_group, *out), bias)


def last_axes(index: Sequence[Any]) -> Any:
    """The NumPy index that applies to the trailing axes."""
    return (..., *index)


def tap_places(
    tap: Sequence[int], count: Sequence[int], stride: Sequence[int], dilation: Sequence[int]
) -> tuple[slice, ...]:
    """Where one tap of each of `count` windows lies in the padded axes."""
    return tuple(
        slice(j * d, j * d + s * (n - 1) + 1 if n else j * d, s)
        for j, n, s, d in zip(tap, count, stride, dilation, strict=True)
    )


def _with_bias(result: np.ndarray, bias: np.ndarray | None) -> np.ndarray:
    return result if bias is None else result + bias.reshape(1, -1, *(1,) * (result.ndim - 2))


# ---------------------------------------------------------------------------------------------------- deformable


class DeformedColumns:
    """The sampled columns of a deformable convolution and what their gradients need.

    Letters: N batch, g offset groups, c channels of a group, t taps of the kernel, p output positions.
    values [N, g, c, t, p]: the bilinear samples before the mask. mask [N, g, 1, t, p] or 1.
    """

    def __init__(
        self,
        x: np.ndarray,
        offset: np.ndarray,
        kernel: Sequence[int],
        mask: np.ndarray | None,
        options: DeformConvOptions,
    ) -> None:
        batch, channels, height, width = x.shape
        groups = options.offset_groups
        taps = prod(kernel)
        self.out = tuple(
            conv_output_size(n, k, s, (p, p), d, "deform_conv2d")
            for n, k, s, p, d in zip(
                (height, width), kernel, options.stride, options.padding, options.dilation, strict=True
            )
        )
        self.size = (height, width)
        self.x = x.reshape(batch, groups, channels // groups, height * width)
        moved = offset.reshape(batch, groups, taps, 2, *self.out)
        # The undeformed place of every tap of every window, [t, out..].
        places = [
            np.arange(k)[:, None] * d + np.arange(o)[None, :] * s - p
            for k, o, s, p, d in zip(kernel, self.out, options.stride, options.padding, options.dilation, strict=True)
        ]
        rows = np.repeat(places[0], kernel[1], 0)[:, :, None]
        columns = np.tile(places[1], (kernel[0], 1))[:, None, :]
        flat = (batch, groups, 1, taps, prod(self.out))
        self.y = (rows + moved[:, :, :, 0]).reshape(flat)
        self.column = (columns + moved[:, :, :, 1]).reshape(flat)
        self.mask = np.ones(1) if mask is None else mask.reshape(flat)
        self.valid = (self.y > -1) & (self.y < height) & (self.column > -1) & (self.column < width)
        self.values = sum(weight * self._corner(dy, dx)[0] for dy, dx, weight in self._weights())

    def _beyond(self) -> list[np.ndarray]:
        """How far a place lies beyond its upper left element; an infinite one is outside, whatever lies there."""
        return [np.where(np.isinf(place), 0.0, place - np.floor(place)) for place in (self.y, self.column)]

    def _weights(self) -> list[tuple[int, int, np.ndarray]]:
        fy, fx = self._beyond()
        return [(dy, dx, (fy if dy else 1 - fy) * (fx if dx else 1 - fx)) for dy in (0, 1) for dx in (0, 1)]

    def _corner(self, dy: int, dx: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The corner's elements (0 outside the image), their flat indices and whether they are inside."""
        height, width = self.size
        row, column = np.floor(self.y) + dy, np.floor(self.column) + dx
        inside = self.valid & (row >= 0) & (row < height) & (column >= 0) & (column < width)
        index = (np.where(inside, row, 0) * width + np.where(inside, column, 0)).astype(np.int64)
        batch, groups, _, taps, points = index.shape
        spread = np.broadcast_to(
            index.reshape(batch, groups, 1, taps * points), (batch, groups, self.x.shape[2], taps * points)
        )
        taken = np.take_along_axis(self.x, spread, 3).reshape(*self.x.shape[:3], taps, points)
        return np.where(inside, taken, 0.0), index, inside

    def masked(self) -> np.ndarray:
        return self.values * self.mask

    def slopes(self) -> tuple[np.ndarray, np.ndarray]:
        """The derivatives of the samples by y and by x, shaped as `values`."""
        fy, fx = self._beyond()
        corner = {(dy, dx): self._corner(dy, dx)[0] for dy in (0, 1) for dx in (0, 1)}
        by_y = (1 - fx) * (corner[1, 0] - corner[0, 0]) + fx * (corner[1, 1] - corner[0, 1])
        by_x = (1 - fy) * (corner[0, 1] - corner[0, 0]) + fy * (corner[1, 1] - corner[1, 0])
        return by_y, by_x

    def scattered(self, grad: np.ndarray) -> np.ndarray:
        """The gradient of x for a gradient of `values`, [N, g, c, H·W]."""
        total = np.zeros(self.x.shape)
        n, g, c = (axis[..., None, None] for axis in np.ogrid[tuple(slice(s) for s in self.x.shape[:3])])
        for dy, dx, weight in self._weights():
            _, index, inside = self._corner(dy, dx)
            np.add.at(total, (n, g, c, index), np.where(inside, weight * grad, 0.0))
        return total


def _grouped_rows(columns: np.ndarray, groups: int) -> np.ndarray:
    """[N, g, c, t, p] → [N, weight groups, channels of a group · t, p]."""
    batch, _, _, taps, points = columns.shape
    channels = columns.shape[1] * columns.shape[2]
    return columns.reshape(batch, groups, channels // groups * taps, points)


def deform_conv2d(
    x: np.ndarray,
    offset: np.ndarray,
    weight: np.ndarray,
    mask: np.ndarray | None,
    bias: np.ndarray | None,
    options: DeformConvOptions,
) -> np.ndarray:
    columns = DeformedColumns(x, offset, weight.shape[2:], mask, options)
    groups = options.weight_groups
    per_group = weight.reshape(groups, weight.shape[0] // groups, prod(weight.shape[1:]))
    result = np.matmul(per_group, _grouped_rows(columns.masked(), groups))
    return _with_bias(result.reshape(x.shape[0], weight.shape[0], *columns.out), bias)


def deform_conv2d_backward(
    x: np.ndarray,
    offset: np.ndarray,
    weight: np.ndarray,
    mask: np.ndarray | None,
    output_grad: np.ndarray,
    options: DeformConvOptions,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    """The gradients of x, offset, weight and mask."""
    columns = DeformedColumns(x, offset, weight.shape[2:], mask, options)
    groups = options.weight_groups
    per_group = weight.reshape(groups, weight.shape[0] // groups, prod(weight.shape[1:]))
    grad = output_grad.reshape(x.shape[0], groups, weight.shape[0] // groups, prod(columns.out))
    rows = _grouped_rows(columns.masked(), groups)
    weight_grad = np.matmul(grad, rows.transpose(0, 1, 3, 2)).sum(0).reshape(weight.shape)
    columns_grad = np.matmul(per_group.transpose(0, 2, 1), grad).reshape(columns.values.shape)
    by_y, by_x = columns.slopes()
    masked_grad = columns_grad * columns.mask
    offset_grad = np.stack([(masked_grad * by_y).sum(2), (masked_grad * by_x).sum(2)], 3)  # [N, g, t, 2, p]
    mask_grad = None if mask is None else (columns_grad * columns.values).sum(2).reshape(mask.shape)
    x_grad = columns.scattered(masked_grad).reshape(x.shape)
    return x_grad, offset_grad.reshape(offset.shape), weight_grad, mask_grad
