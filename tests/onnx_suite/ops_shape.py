"""Constants, shapes, movement, selection by indices."""

from __future__ import annotations

from math import ceil, prod
from typing import Any

import numpy as np
import onnx

from burn_wgpu import PadMode, Tensor, cat
from tests.onnx_suite.interpreter import (
    Node,
    NotInterpreted,
    Value,
    iota,
    number,
    numbers,
    operator,
    to_tensor,
    wrapped,
)

# --------------------------------------------------------------------------------------------------- constants


@operator("Constant")
def constant(node: Node) -> Tensor:
    if node.has("value"):
        return node.constant(node.get("value"))
    for name, kind in (("float", onnx.TensorProto.FLOAT), ("int", onnx.TensorProto.INT64)):
        for key in (f"value_{name}", f"value_{name}s"):
            if node.has(key):
                return to_tensor(np.asarray(node.get(key)), kind, node.device)
    raise NotInterpreted("Constant of this kind")


@operator("ConstantOfShape")
def constant_of_shape(node: Node, shape: Tensor) -> Tensor:
    sizes = tuple(numbers(shape) or ())
    if not node.has("value"):
        return Tensor.zeros(sizes, node.device, "f32")
    value = node.constant(node.get("value"))
    return Tensor.full(sizes, value.item(), node.device, value.dtype)


@operator("EyeLike")
def eye_like(node: Node, x: Tensor) -> Tensor:
    dtype = node.target(node.get("dtype")) if node.has("dtype") else x.dtype
    ones = Tensor.ones(x.shape, node.device, dtype)
    return ones.mask_fill(Tensor.diag_mask(x.shape, node.get("k", 0), node.device), 0)


@operator("Range")
def arange(node: Node, start: Tensor, limit: Tensor, step: Tensor) -> Tensor:
    # `stash_type` says in which type a half's values are computed.
    dtype = start.dtype
    if dtype.is_float and dtype.size_bytes == 2 and node.get("stash_type", 1):
        start, limit, step = (t.cast(node.target(node.get("stash_type", 1))) for t in (start, limit, step))
    count = max(ceil((limit.item() - start.item()) / step.item()), 0)
    return (iota(count, start).cast(start.dtype) * step + start).cast(dtype)


@operator("Shape")
def shape_of(node: Node, x: Tensor) -> Tensor:
    sizes = x.shape[slice(node.get("start", 0), node.get("end"))]
    return to_tensor(np.asarray(sizes, np.int64), onnx.TensorProto.INT64, node.device)


@operator("Size")
def size_of(node: Node, x: Tensor) -> Tensor:
    return to_tensor(np.asarray(x.size), onnx.TensorProto.INT64, node.device)


# ------------------------------------------------------------------------------------------------------- shape


@operator("Identity")
def identity(node: Node, x: Value) -> Value:
    return x


@operator("Reshape")
def reshape(node: Node, x: Tensor, shape: Tensor) -> Tensor:
    sizes = numbers(shape) or []
    if not node.get("allowzero", 0):
        sizes = [x.shape[i] if n == 0 else n for i, n in enumerate(sizes)]
    return x.reshape(sizes)


@operator("Transpose")
def transpose(node: Node, x: Tensor) -> Tensor:
    return x.permute(node.get("perm", list(range(x.rank))[::-1]))


@operator("Flatten")
def flatten(node: Node, x: Tensor) -> Tensor:
    axis = node.get("axis", 1)
    rows = prod(x.shape[: axis if axis >= 0 else axis + x.rank])
    return x.reshape(rows, x.size // rows if rows else 0)


@operator("Squeeze")
def squeeze(node: Node, x: Tensor, axes: Tensor | None = None) -> Tensor:
    found = node.get("axes") if axes is None else numbers(axes)
    if found is None:
        return x.reshape(tuple(n for n in x.shape if n != 1))
    return x.squeeze_dims(found) if found else x


@operator("Unsqueeze")
def unsqueeze(node: Node, x: Tensor, axes: Tensor | None = None) -> Tensor:
    found = node.get("axes") if axes is None else numbers(axes)
    return x.unsqueeze_dims(found or [])


@operator("Expand")
def expand(node: Node, x: Tensor, shape: Tensor) -> Tensor:
    return x.expand(np.broadcast_shapes(x.shape, tuple(numbers(shape) or ())))


@operator("Tile")
def tile(node: Node, x: Tensor, repeats: Tensor) -> Tensor:
    return x.repeat(numbers(repeats) or [])


@operator("Concat")
def concat(node: Node, *tensors: Tensor) -> Tensor:
    return cat(tensors, node.get("axis"))


def part_sizes(size: int, parts: int) -> list[int]:
    """Sizes of equal parts, of which the last may be smaller."""
    each = -(-size // parts)
    return [min(each, max(size - i * each, 0)) for i in range(parts)]


def parts(x: Tensor, axis: int, sizes: list[int]) -> list[Tensor]:
    """Pieces along an axis; unlike Burn's split_with_sizes a size of 0 gives an empty piece."""
    ends = np.cumsum(sizes).tolist()
    return [x.slice_dim(axis, (end - n, end)) for n, end in zip(sizes, ends, strict=True)]


@operator("Split")
def split(node: Node, x: Tensor, sizes: Tensor | None = None) -> tuple[Tensor, ...]:
    axis = node.get("axis", 0)
    wanted = node.get("split") if sizes is None else numbers(sizes)
    return tuple(parts(x, axis, wanted or part_sizes(x.shape[axis], node.get("num_outputs", len(node.outputs)))))


@operator("Slice")
def slice_(
    node: Node, x: Tensor, starts: Tensor, ends: Tensor, axes: Tensor | None = None, steps: Tensor | None = None
) -> Tensor:
    first, last = numbers(starts) or [], numbers(ends) or []
    chosen = numbers(axes) or list(range(len(first)))
    item = [slice(None)] * x.rank
    for axis, start, end, step in zip(chosen, first, last, numbers(steps) or [1] * len(first), strict=True):
        item[axis] = slice(start, end, step)
    return x[tuple(item)]


@operator("Pad")
def pad(
    node: Node, x: Tensor, pads: Tensor | None = None, value: Tensor | None = None, axes: Tensor | None = None
) -> Tensor:
    counts = node.get("pads") if pads is None else numbers(pads)
    chosen = [a % x.rank for a in numbers(axes) or range(x.rank)]
    pairs = [(0, 0)] * x.rank
    for i, axis in enumerate(chosen):
        pairs[axis] = (counts[i], counts[i + len(chosen)])
    mode = node.get("mode", "constant")
    if mode == "wrap":
        for axis, (before, after) in enumerate(pairs):
            if before or after:
                x = x.take(axis, iota(before + x.shape[axis] + after, x).sub(before).remainder(x.shape[axis]))
        return x
    # A negative pad takes away.
    x = x.slice([(max(-before, 0), n - max(-after, 0)) for n, (before, after) in zip(x.shape, pairs, strict=True)])
    pairs = [(max(before, 0), max(after, 0)) for before, after in pairs]
    made_of = PadMode.of(mode) if mode != "constant" else PadMode.constant(number(value, node.get("value", 0)))
    return x.pad(pairs, made_of)


@operator("Trilu")
def trilu(node: Node, x: Tensor, k: Tensor | None = None) -> Tensor:
    return x.triu(number(k, 0)) if node.get("upper", 1) else x.tril(number(k, 0))


@operator("DepthToSpace")
def depth_to_space(node: Node, x: Tensor) -> Tensor:
    b = node.get("blocksize")
    n, c, h, w = x.shape
    if node.get("mode", "DCR") == "DCR":
        x = x.reshape(n, b, b, c // (b * b), h, w).permute(0, 3, 4, 1, 5, 2)
    else:
        x = x.reshape(n, c // (b * b), b, b, h, w).permute(0, 1, 4, 2, 5, 3)
    return x.reshape(n, c // (b * b), h * b, w * b)


@operator("SpaceToDepth")
def space_to_depth(node: Node, x: Tensor) -> Tensor:
    b = node.get("blocksize")
    n, c, h, w = x.shape
    x = x.reshape(n, c, h // b, b, w // b, b)
    # DCR: the block's place is the slower part of the channel; CRD: the channel is.
    x = x.permute(0, 3, 5, 1, 2, 4) if node.get("mode", "DCR") == "DCR" else x.permute(0, 1, 3, 5, 2, 4)
    return x.reshape(n, c * b * b, h // b, w // b)


@operator("CenterCropPad")
def center_crop_pad(node: Node, x: Tensor, shape: Tensor) -> Tensor:
    axes = node.get("axes", list(range(x.rank)))
    for axis, size in zip(axes, numbers(shape) or [], strict=True):
        have, axis = x.shape[axis], axis % x.rank
        if size < have:
            x = x.narrow(axis, (have - size) // 2, size)
        elif size > have:
            before = (size - have) // 2
            x = x.pad([(before, size - have - before) if i == axis else (0, 0) for i in range(x.rank)])
    return x


@operator("ReverseSequence")
def reverse_sequence(node: Node, x: Tensor, lengths: Tensor) -> Tensor:
    time, batch = node.get("time_axis", 0), node.get("batch_axis", 1)
    rows = x.movedim([batch, time], [0, 1])
    steps = iota(rows.shape[1], x).cast(lengths.dtype).unsqueeze_dim(0)
    lengths = lengths.unsqueeze_dim(1)
    places = steps.expand(rows.shape[:2]).mask_where(steps.lower(lengths), lengths - 1 - steps)
    places = places.reshape((*rows.shape[:2], *(1 for _ in rows.shape[2:]))).expand(rows.shape)
    return rows.gather(1, places).movedim([0, 1], [batch, time])


# ----------------------------------------------------------------------------------------------------- indices


@operator("Gather")
def gather(node: Node, x: Tensor, indices: Tensor) -> Tensor:
    axis = node.get("axis", 0)
    return x.take(axis, wrapped(indices, x.shape[axis]))


@operator("ai.onnx.ml.ArrayFeatureExtractor")
def array_feature_extractor(node: Node, x: Tensor, indices: Tensor) -> Tensor:
    return x.take(-1, indices.reshape(-1))


def _region(x: Tensor, shape: tuple[int, ...], axis: int) -> list[tuple[int, int]]:
    """The part of x that indices of a smaller shape speak of: all of the axis, the beginning of the others."""
    return [(0, x.shape[i] if i == axis else n) for i, n in enumerate(shape)]


@operator("GatherElements")
def gather_elements(node: Node, x: Tensor, indices: Tensor) -> Tensor:
    axis = node.get("axis", 0) % x.rank
    return x.slice(_region(x, indices.shape, axis)).gather(axis, wrapped(indices, x.shape[axis]))


def _update(node: Node) -> str:
    reduction: str = node.get("reduction", "none")
    return "assign" if reduction == "none" else reduction


@operator("ScatterElements", "Scatter")
def scatter_elements(node: Node, x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    axis = node.get("axis", 0) % x.rank
    region = _region(x, indices.shape, axis)
    part = x.slice(region).scatter(axis, wrapped(indices, x.shape[axis]), updates, _update(node))
    return part if part.shape == x.shape else x.slice_assign(region, part)


def _coordinates(x: Tensor, indices: Tensor, first: int) -> Tensor:
    """The last axis holds coordinates of the axes from `first` on; negative ones count from the end."""
    sizes = np.asarray(x.shape[first : first + indices.shape[-1]], np.int64)
    return indices.mask_where(indices.lower(0), indices + sizes)


@operator("GatherND")
def gather_nd(node: Node, x: Tensor, indices: Tensor) -> Tensor:
    batch = node.get("batch_dims", 0)
    indices = _coordinates(x, indices, batch)
    columns = [indices]
    lead = indices.shape[:-1]
    for axis in reversed(range(batch)):
        place = iota(lead[axis], x).cast(indices.dtype).reshape([-1 if i == axis else 1 for i in range(indices.rank)])
        columns.insert(0, place.expand((*lead, 1)))
    return x.gather_nd(cat(columns, -1))


@operator("ScatterND")
def scatter_nd(node: Node, x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    return x.scatter_nd(_coordinates(x, indices, 0), updates, _update(node))


@operator("OneHot")
def one_hot(node: Node, indices: Tensor, depth: Tensor, values: Tensor) -> Tensor:
    hit = indices.one_hot_fill(int(number(depth)), 1, 0, node.get("axis", -1)).bool()
    return values.select_dim(0, 0).expand(hit.shape).mask_where(hit, values.select_dim(0, 1))


@operator("NonZero")
def nonzero(node: Node, x: Tensor) -> Tensor:
    return x.argwhere().transpose().cast("i64")


@operator("Compress")
def compress(node: Node, x: Tensor, condition: Tensor) -> Tensor:
    places = condition.argwhere().squeeze_dim(1)
    return x.flatten().take(0, places) if not node.has("axis") else x.take(node.get("axis"), places)


@operator("TensorScatter")
def tensor_scatter(node: Node, cache: Tensor, update: Tensor, start: Tensor | None = None) -> Tensor:
    axis = node.get("axis", -2) % cache.rank
    count = update.shape[axis]
    places = iota(count, cache).unsqueeze_dim(0)
    places = places.cast(start.dtype) + start.unsqueeze_dim(1) if start is not None else places
    if node.get("mode", "linear") == "circular":
        places = places.remainder(cache.shape[axis])
    wide: list[Any] = [1] * cache.rank
    wide[0], wide[axis] = places.shape[0], count
    places = places.reshape(wide).expand(update.shape)
    region = _region(cache, update.shape, axis)
    return cache.slice_assign(region, cache.slice(region).scatter(axis, places, update, "assign"))


@operator("MaxUnpool")
def max_unpool(node: Node, x: Tensor, indices: Tensor, shape: Tensor | None = None) -> Tensor:
    kernel = node.get("kernel_shape")
    n = len(kernel)
    strides, pads = node.get("strides", [1] * n), node.get("pads", [0] * 2 * n)
    sizes = [
        (size - 1) * s + k - pads[i] - pads[i + n]
        for i, (size, s, k) in enumerate(zip(x.shape[2:], strides, kernel, strict=True))
    ]
    whole = (*x.shape[:2], *sizes)
    flat = Tensor.zeros((prod(whole),), x.device, x.dtype)
    found = flat.scatter(0, indices.flatten(), x.flatten(), "assign").reshape(whole)
    wanted = numbers(shape) or list(whole)
    return found.pad([(0, to - have) for have, to in zip(whole, wanted, strict=True)])


@operator("Col2Im")
def col2im(node: Node, x: Tensor, image_shape: Tensor, block_shape: Tensor) -> Tensor:
    """Every element is added at its flat place in the padded image."""
    image, block = numbers(image_shape) or [], numbers(block_shape) or []
    n = len(image)
    dilations, strides = node.get("dilations", [1] * n), node.get("strides", [1] * n)
    pads = node.get("pads", [0] * 2 * n)
    padded = [size + pads[i] + pads[i + n] for i, size in enumerate(image)]
    counts = [
        (size - d * (k - 1) - 1) // s + 1 for size, k, d, s in zip(padded, block, dilations, strides, strict=True)
    ]
    place = Tensor.zeros((1,) * 2 * n, x.device, "i32")
    for i in range(n):
        step = prod(padded[i + 1 :])
        taps = iota(block[i], x).mul(dilations[i] * step).reshape([-1 if j == i else 1 for j in range(2 * n)])
        starts = iota(counts[i], x).mul(strides[i] * step).reshape([-1 if j == i + n else 1 for j in range(2 * n)])
        place = place + taps + starts
    batch, taps_count = x.shape[0], prod(block)
    channels = x.shape[1] // taps_count
    flat = x.reshape(batch * channels, taps_count * prod(counts))
    places = place.reshape(1, -1).expand(flat.shape)
    zeros = Tensor.zeros((batch * channels, prod(padded)), x.device, x.dtype)
    found = zeros.scatter(1, places, flat, "add").reshape(batch, channels, *padded)
    return found.slice([(0, batch), (0, channels), *((pads[i], pads[i] + image[i]) for i in range(n))])
