"""Coordinate grids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from burn_wgpu.std.errors import ShapeError
from burn_wgpu.tensor import check
from burn_wgpu.tensor.base import cat, stack

if TYPE_CHECKING:
    from burn_wgpu.tensor.api import Tensor


class GridIndexing(Enum):
    """MATRIX: the first tensor runs along axis 0 ("ij"). CARTESIAN: along axis 1 ("xy")."""

    MATRIX = "ij"
    CARTESIAN = "xy"


class GridSparsity(Enum):
    """DENSE: every result has the full shape. SPARSE: size 1 along all axes but its own."""

    DENSE = "dense"
    SPARSE = "sparse"


class IndexPos(Enum):
    """Where the axis of the coordinates goes."""

    FIRST = "first"
    LAST = "last"


@dataclass(frozen=True, slots=True)
class GridOptions:
    """How meshgrid lays its results out."""

    indexing: GridIndexing = GridIndexing.MATRIX
    sparsity: GridSparsity = GridSparsity.DENSE


def meshgrid(tensors: Sequence[Tensor], options: GridOptions | None = None) -> list[Tensor]:
    """N tensors of rank 1 → N coordinate tensors of rank N."""
    chosen = check.chosen("meshgrid", options, GridOptions())
    check.not_empty("meshgrid", tensors)
    for i, t in enumerate(tensors):
        check.exact_rank("meshgrid", t, 1, f"tensor {i}")
        check.operands("meshgrid", tensors[0], t)
    n = len(tensors)
    axes = list(range(n))
    if chosen.indexing is GridIndexing.CARTESIAN and n >= 2:
        axes[0], axes[1] = 1, 0
    full = [0] * n
    for axis, t in zip(axes, tensors, strict=True):
        full[axis] = t.shape[0]
    results = []
    for axis, t in zip(axes, tensors, strict=True):
        column = t.reshape(tuple(t.shape[0] if i == axis else 1 for i in range(n)))
        results.append(column if chosen.sparsity is GridSparsity.SPARSE else column.expand(tuple(full)))
    return results


def meshgrid_stack(tensors: Sequence[Tensor], index_pos: IndexPos = IndexPos.FIRST) -> Tensor:
    """The dense matrix grid in one tensor, its coordinates along a new first or last axis."""
    return stack(meshgrid(tensors), 0 if index_pos is IndexPos.FIRST else -1)


def affine_grid_2d(transform: Tensor, size: Sequence[int]) -> Tensor:
    """Sampling coordinates of an affine map: transform [B, 2, 3], size [B, C, H, W] → [B, H, W, 2].

    Rows of the transform act on (x, y, 1), where x and y run from −1 to 1 over the corner pixels' centres; an axis of
    size 1 has the coordinate 0. For `grid_sample_2d` with align_corners.
    """
    check.exact_rank("affine_grid_2d", transform, 3, "the transform")
    batch, channels, height, width = check.integers("affine_grid_2d", (size,), "size")
    if transform.shape != (batch, 2, 3):
        raise ShapeError(
            f"affine_grid_2d: the transform has shape {list(transform.shape)} for size "
            f"{[batch, channels, height, width]}; it must be [{batch}, 2, 3]"
        )
    ys, xs = _corners(height), _corners(width)
    base = np.stack([np.broadcast_to(xs, (height, width)), np.broadcast_to(ys[:, None], (height, width))], -1)
    points = type(transform).from_data(base.reshape(height * width, 2), transform.device, transform.dtype)
    points = cat([points, points.narrow(1, 0, 1).ones_like()], 1)
    return points.unsqueeze_dim(0).matmul(transform.transpose()).reshape((batch, height, width, 2))


def _corners(size: int) -> np.ndarray:
    return np.linspace(-1.0, 1.0, size) if size > 1 else np.zeros(size)
