"""Image operations on the host: the tensors are read, computed with NumPy and uploaded again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from burn_wgpu.contract.options import PadMode
from burn_wgpu.contract.types import BoolPrim, FloatPrim, IntPrim, TensorPrim
from burn_wgpu.std.data import TensorData
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.errors import ArgumentError


class ComponentStats(NamedTuple):
    """Per label, background (0) included, int tensors [labels]: area in pixels and the inclusive bounding box.

    max_label [1]: the number of components. A label without pixels (an image without background) has area 0 and the
    box left 0, top 0, right −1, bottom −1.
    """

    area: IntPrim
    left: IntPrim
    top: IntPrim
    right: IntPrim
    bottom: IntPrim
    max_label: IntPrim


@dataclass(frozen=True, slots=True)
class MorphOptions:
    """anchor (row, column) inside the kernel, by default its middle; how often; what lies outside the image.

    border None: outside never wins (as if it were absent).
    """

    anchor: tuple[int, int] | None = None
    iterations: int = 1
    border: PadMode | None = None

    def __post_init__(self) -> None:
        if self.iterations < 0:
            raise ArgumentError(f"morphology options: iterations is {self.iterations}; it must not be negative")


@dataclass(frozen=True, slots=True)
class NmsOptions:
    """A box goes when its overlap with a better one (intersection over union) is above iou_threshold.

    Boxes that score below score_threshold are not looked at; at most max_output_boxes are kept (0: all).
    """

    iou_threshold: float = 0.5
    score_threshold: float = 0.0
    max_output_boxes: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.iou_threshold <= 1:
            raise ArgumentError(f"nms options: iou_threshold is {self.iou_threshold}; it must lie in [0, 1]")
        if self.max_output_boxes < 0:
            raise ArgumentError(
                f"nms options: max_output_boxes is {self.max_output_boxes}; it must not be negative, and 0 keeps all"
            )


# ------------------------------------------------------------------------------------------------------ components


def connected_components(b: Any, image: BoolPrim, connectivity: int, out_dtype: DType) -> IntPrim:
    return _ints(b, _labels(b, image, connectivity), image, out_dtype)


def connected_components_with_stats(
    b: Any, image: BoolPrim, connectivity: int, out_dtype: DType
) -> tuple[IntPrim, ComponentStats]:
    labels = _labels(b, image, connectivity)
    count = int(labels.max(initial=0)) + 1
    grid: Any = np.indices(labels.shape)
    rows, columns = grid
    area = np.bincount(labels.reshape(-1), minlength=count)

    def extreme(update: np.ufunc, places: np.ndarray, start: int, absent: int) -> np.ndarray:
        found = np.full(count, start)
        update.at(found, labels.reshape(-1), places.reshape(-1))
        return np.where(area == 0, absent, found)

    height, width = labels.shape
    stats = (
        area,
        extreme(np.minimum, columns, width, 0),
        extreme(np.minimum, rows, height, 0),
        extreme(np.maximum, columns, -1, -1),
        extreme(np.maximum, rows, -1, -1),
        np.array([count - 1]),
    )
    return _ints(b, labels, image, out_dtype), ComponentStats(*(_ints(b, s, image, out_dtype) for s in stats))


def _labels(b: Any, image: BoolPrim, connectivity: int) -> np.ndarray:
    """Trees of pixels are hung below their smallest root until all neighbours share one."""
    if connectivity not in (4, 8):
        raise ArgumentError(f"connected_components: connectivity is {connectivity}; it must be 4 or 8")
    on = b.bool_into_data(image).numpy()
    height, width = on.shape
    index = np.arange(on.size).reshape(on.shape)
    pairs = [(index[:, 1:], index[:, :-1]), (index[1:], index[:-1])]
    if connectivity == 8:
        pairs += [(index[1:, 1:], index[:-1, :-1]), (index[1:, :-1], index[:-1, 1:])]
    flat = on.reshape(-1)
    edges = [(u.reshape(-1), v.reshape(-1)) for u, v in pairs]
    u, v = (np.concatenate([edge[side] for edge in edges]) for side in (0, 1))
    both = flat[u] & flat[v]
    u, v = u[both], v[both]
    root = np.arange(on.size)
    while True:
        at_u, at_v = root[u], root[v]
        if (at_u == at_v).all():
            break
        np.minimum.at(root, np.maximum(at_u, at_v), np.minimum(at_u, at_v))
        while (root[root] != root).any():
            root = root[root]
    labels = np.zeros(on.size, np.int64)
    labels[flat] = np.unique(root[flat], return_inverse=True)[1].reshape(-1) + 1
    return labels.reshape(height, width)


# ------------------------------------------------------------------------------------------------------ morphology


def erode(b: Any, image: TensorPrim, kernel: BoolPrim, options: MorphOptions) -> TensorPrim:
    return _morph(b, image, kernel, options, np.minimum)


def dilate(b: Any, image: TensorPrim, kernel: BoolPrim, options: MorphOptions) -> TensorPrim:
    return _morph(b, image, kernel, options, np.maximum)


def _morph(b: Any, image: TensorPrim, kernel: BoolPrim, options: MorphOptions, combine: np.ufunc) -> TensorPrim:
    kind = "int" if image.dtype.is_int else image.dtype.kind
    values: np.ndarray = getattr(b, f"{kind}_into_data")(image).numpy()
    taps = b.bool_into_data(kernel).numpy()
    if not taps.any():
        raise ArgumentError(f"morphology: the kernel {list(taps.shape)} has no true element; it needs at least one")
    row, column = options.anchor or (taps.shape[0] // 2, taps.shape[1] // 2)
    if not (0 <= row < taps.shape[0] and 0 <= column < taps.shape[1]):
        raise ArgumentError(
            f"morphology: the anchor {[row, column]} is outside the kernel {list(taps.shape)}; it must be inside"
        )
    height, width = values.shape[:2]
    pads = [(row, taps.shape[0] - 1 - row), (column, taps.shape[1] - 1 - column), (0, 0)]
    for _ in range(options.iterations):
        wide = _bordered(values, pads, options.border, combine)
        result: Any = None
        for i, j in np.argwhere(taps):
            part = wide[i : i + height, j : j + width]
            result = part if result is None else combine(result, part)
        values = result
    data = TensorData.of(np.ascontiguousarray(values), image.dtype)
    return getattr(b, f"{kind}_from_data")(data, image.device)  # type: ignore[no-any-return]


def _bordered(values: np.ndarray, pads: list[tuple[int, int]], border: PadMode | None, combine: np.ufunc) -> np.ndarray:
    if border is not None and border.kind != "constant":
        return np.pad(values, pads, mode="edge" if border.kind == "edge" else "reflect")
    fill: Any
    if border is not None:
        fill = border.value
    elif values.dtype == np.bool_:
        fill = combine is np.minimum
    elif values.dtype.kind == "f":
        fill = np.inf if combine is np.minimum else -np.inf
    else:
        info = np.iinfo(values.dtype)
        fill = info.max if combine is np.minimum else info.min
    return np.pad(values, pads, constant_values=fill)


# ------------------------------------------------------------------------------------------------------------- nms


def nms(b: Any, boxes: FloatPrim, scores: FloatPrim, options: NmsOptions) -> IntPrim:
    corners = b.float_into_data(boxes).numpy().astype(np.float64)
    with np.errstate(invalid="ignore"):
        return _ints(b, _best_boxes(b, corners, scores, options), boxes, boxes.device.settings.int_dtype)


def _best_boxes(b: Any, corners: np.ndarray, scores: FloatPrim, options: NmsOptions) -> np.ndarray:
    score = b.float_into_data(scores).numpy().astype(np.float64)
    left = np.flatnonzero(score >= options.score_threshold)
    left = left[np.argsort(-score[left], kind="stable")]
    areas = np.prod(np.maximum(corners[:, 2:] - corners[:, :2], 0), 1)
    kept: list[int] = []
    while left.size and (options.max_output_boxes == 0 or len(kept) < options.max_output_boxes):
        best, left = left[0], left[1:]
        kept.append(int(best))
        low = np.maximum(corners[left, :2], corners[best, :2])
        high = np.minimum(corners[left, 2:], corners[best, 2:])
        overlap = np.prod(np.maximum(high - low, 0), 1)
        union = areas[left] + areas[best] - overlap
        # An overlap that is no number (a box with NaN or infinities) is not above the threshold.
        left = left[~(overlap > options.iou_threshold * union)]
    return np.array(kept, np.int64)


def _ints(b: Any, values: np.ndarray, like: TensorPrim, out_dtype: DType) -> IntPrim:
    return b.int_from_data(TensorData.of(np.ascontiguousarray(values), out_dtype), like.device)  # type: ignore[no-any-return]
