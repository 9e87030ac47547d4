"""Resampling, sampling grids, boxes."""

from __future__ import annotations

from math import floor
from typing import Any

from burn_wgpu import Tensor, cat
from burn_wgpu.contract import extension
from burn_wgpu.contract.defaults.vision import NmsOptions
from burn_wgpu.contract.options import (
    CoordinateTransformMode,
    CubicOptions,
    GridSampleOptions,
    GridSamplePaddingMode,
    InterpolateMode,
    InterpolateOptions,
    NearestRoundingMode,
)
from burn_wgpu.tensor import functional
from burn_wgpu.tensor.core import wrap
from burn_wgpu.tensor.grid import affine_grid_2d
from tests.onnx_suite.interpreter import Node, NotInterpreted, iota, number, numbers, operator

_MODES = {"nearest": InterpolateMode.NEAREST, "linear": InterpolateMode.BILINEAR, "cubic": InterpolateMode.BICUBIC}


@operator("Resize", "Upsample")
def resize(
    node: Node, x: Tensor, roi: Tensor | None = None, scales: Tensor | None = None, sizes: Tensor | None = None
) -> Tensor:
    if node.proto.op_type == "Upsample":
        roi, scales = None, roi
    if node.get("antialias", 0):
        raise NotInterpreted("Resize with antialias")
    axes = [a % x.rank for a in node.get("axes", range(x.rank))]
    ratios, wanted = [1.0] * x.rank, list(x.shape)
    if sizes is not None:
        target = numbers(sizes) or []
        found = [n / x.shape[a] for n, a in zip(target, axes, strict=True)]
        policy = node.get("keep_aspect_ratio_policy", "stretch")
        if policy != "stretch":
            found = [min(found) if policy == "not_larger" else max(found)] * len(axes)
            target = [floor(r * x.shape[a] + 0.5) for r, a in zip(found, axes, strict=True)]
        for n, ratio, a in zip(target, found, axes, strict=True):
            wanted[a], ratios[a] = n, ratio
    else:
        for ratio, a in zip(numbers(scales) or [], axes, strict=True):
            wanted[a], ratios[a] = floor(x.shape[a] * ratio), ratio
    if x.rank != 4 or wanted[:2] != list(x.shape[:2]):
        raise NotInterpreted("Resize of other than the last two of four axes")
    coordinates = node.get("coordinate_transformation_mode", "half_pixel")
    if node.proto.op_type == "Upsample":
        coordinates = "asymmetric"
    if coordinates == "tf_crop_and_resize":
        given = numbers(roi) or []
        starts, ends = [0.0] * 4, [1.0] * 4
        for i, a in enumerate(axes):
            starts[a], ends[a] = given[i], given[i + len(axes)]
        region = [(starts[a], ends[a]) for a in (2, 3)]
        transform = CoordinateTransformMode.tf_crop_and_resize(region, node.get("extrapolation_value", 0.0))
    else:
        transform = CoordinateTransformMode(coordinates)
    rounding = NearestRoundingMode(node.get("nearest_mode", "round_prefer_floor"))
    if node.proto.op_type == "Upsample":
        rounding = NearestRoundingMode.FLOOR
    cubic = CubicOptions(node.get("cubic_coeff_a", -0.75), bool(node.get("exclude_outside", 0)))
    mode = _MODES[node.get("mode", "nearest")]
    # A scale that is no ratio of whole sizes must be handed on.
    exact = sizes is not None or all(wanted[a] == x.shape[a] * ratios[a] for a in (2, 3))
    goal: dict[str, Any] = {"output_size": wanted[2:]} if exact else {"scale_factor": ratios[2:]}
    return functional.interpolate(x, InterpolateOptions(mode, transform, rounding, cubic, **goal))


@operator("GridSample")
def grid_sample(node: Node, x: Tensor, grid: Tensor) -> Tensor:
    if x.rank != 4:
        raise NotInterpreted("GridSample of volumes")
    mode = node.get("mode", "linear")
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode)
    options = GridSampleOptions(
        _MODES[mode], GridSamplePaddingMode(node.get("padding_mode", "zeros")), bool(node.get("align_corners", 0))
    )
    return x.grid_sample_2d(grid, options)


@operator("AffineGrid")
def affine_grid(node: Node, theta: Tensor, size: Tensor) -> Tensor:
    sizes = numbers(size) or []
    corners = node.get("align_corners", 0)
    if len(sizes) == 4 and corners:
        return affine_grid_2d(theta, sizes)
    space = sizes[2:]
    n = len(space)
    columns = []
    for i in reversed(range(n)):
        steps = iota(space[i], theta).cast(theta.dtype)
        line = steps * (2 / max(space[i] - 1, 1)) - 1.0 if corners else (steps * 2 + 1.0) / space[i] - 1.0
        columns.append(line.reshape([-1 if j == i else 1 for j in range(n)] + [1]).expand((*space, 1)))
    points = cat([*columns, columns[0].ones_like()], -1).reshape(1, -1, n + 1)
    return points.matmul(theta.transpose()).reshape(sizes[0], *space, n)


@operator("NonMaxSuppression")
def non_max_suppression(
    node: Node,
    boxes: Tensor,
    scores: Tensor,
    most: Tensor | None = None,
    iou: Tensor | None = None,
    threshold: Tensor | None = None,
) -> Tensor:
    found = []
    count = number(most, 0)
    # Burn's 0 means no limit, ONNX's means none.
    options = NmsOptions(number(iou, 0.0), number(threshold, float("-inf")), count)
    for batch in range(scores.shape[0]):
        a, b = boxes.select_dim(0, batch).split(2, 1)
        low, high = (a - b / 2, a + b / 2) if node.get("center_point_box", 0) else (a.min_pair(b), a.max_pair(b))
        corners = cat([low, high], 1)
        for label in range(scores.shape[1] if count else 0):
            row = scores.select_dim(0, batch).select_dim(0, label)
            kept = wrap(
                extension.nms(row.device.backend, corners.primitive, row.primitive, options), row._ops.of("int")
            )
            place = Tensor.from_ints([[batch, label]], row.device).expand((kept.shape[0], 2))
            found.append(cat([place, kept.unsqueeze_dim(1)], 1))
    whole = cat(found, 0) if found else Tensor.zeros((0, 3), boxes.device, "i32")
    return whole.cast("i64")
