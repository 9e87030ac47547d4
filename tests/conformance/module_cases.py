"""Random arguments of module and indexing functions, at and around the limits of their options.

`CASES[name]` draws arguments of the contract function `name` with a `Draw`: batches and index lists that may be empty,
axes of size 1, kernels larger than the input that fit by padding alone, padding larger than the kernel, overlaps.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from burn_wgpu.backends.reference import ReferenceBackend, ReferenceDevice
from burn_wgpu.contract.options import (
    AttentionModuleOptions,
    CausalAlignment,
    ConvOptions,
    ConvTransposeOptions,
    CoordinateTransformMode,
    CubicOptions,
    DeformConvOptions,
    GridSampleOptions,
    GridSamplePaddingMode,
    IndexingUpdateOp,
    InterpolateMode,
    InterpolateOptions,
    NearestRoundingMode,
    PadMode,
    UnfoldOptions,
)
from burn_wgpu.std.data import TensorData
from burn_wgpu.std.dtype import BOOL_U8, BOOL_U32, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64
from burn_wgpu.std.slice import Slice
from burn_wgpu.testing.records.call import Draw, Given, held

Case = Callable[[Draw], tuple[Any, ...]]
UPDATES = tuple(IndexingUpdateOp)


def pick(d: Draw, *choices: Any) -> Any:
    return choices[int(d.rng.integers(len(choices)))]


def between(d: Draw, low: int, high: int) -> int:
    """Both ends included."""
    return int(d.rng.integers(low, high + 1))


def some(d: Draw, count: int, low: int, high: int) -> tuple[int, ...]:
    return tuple(between(d, low, high) for _ in range(count))


def fixed(given: Given) -> Given:
    return Given(given.values, given.dtype, free=False)


def longest(rank: int) -> int:
    return {1: 80, 2: 14, 3: 6}[rank]


# ---------------------------------------------------------------------------------------------------- convolution


def _convolution(d: Draw, rank: int) -> tuple[Given, Given, Given, Given | None, ConvOptions]:
    """x, weight, a gradient of the output, bias, options."""
    while True:
        kernel, stride, dilation = some(d, rank, 1, 5), some(d, rank, 1, 4), some(d, rank, 1, 3)
        padding = tuple((between(d, 0, k + 2), between(d, 0, k + 2)) for k in kernel)
        if pick(d, True, False):
            padding = ((0, 0),) * rank
        space = some(d, rank, 1, longest(rank))
        spans = [n + sum(p) - e * (k - 1) - 1 for n, p, e, k in zip(space, padding, dilation, kernel, strict=True)]
        if min(spans) >= 0:
            break
    groups, batch = pick(d, 1, 1, 1, 2, 3), pick(d, 0, 1, 2, 3)
    ci, co = between(d, 1, 5), between(d, 1, 4)
    out = [span // s + 1 for span, s in zip(spans, stride, strict=True)]
    bias = d.normal(co * groups) if pick(d, True, False) else None
    return (
        d.normal(batch, ci * groups, *space), d.normal(co * groups, ci, *kernel), d.normal(batch, co * groups, *out),
        bias, ConvOptions(stride, padding, dilation, groups),
    )  # fmt: skip


def _transposed(d: Draw, rank: int) -> tuple[Given, Given, Given, Given | None, ConvTransposeOptions]:
    while True:
        kernel, stride, dilation = some(d, rank, 1, 4), some(d, rank, 1, 4), some(d, rank, 1, 3)
        padding, more = some(d, rank, 0, 3), some(d, rank, 0, 3)
        space = some(d, rank, 1, longest(rank) // 2)
        parts = zip(space, kernel, stride, padding, more, dilation, strict=True)
        out = [(n - 1) * s + e * (k - 1) + 1 + o - 2 * p for n, k, s, p, o, e in parts]
        if min(out) >= 1:
            break
    groups, batch = pick(d, 1, 1, 2, 3), pick(d, 0, 1, 2)
    ci, co = between(d, 1, 4), between(d, 1, 4)
    bias = d.normal(co * groups) if pick(d, True, False) else None
    return (
        d.normal(batch, ci * groups, *space), d.normal(ci * groups, co, *kernel), d.normal(batch, co * groups, *out),
        bias, ConvTransposeOptions(stride, padding, more, dilation, groups),
    )  # fmt: skip


def _restorable(d: Draw, rank: int) -> tuple[Given, Given, Given, Given | None, ConvTransposeOptions]:
    """With padding_out below the stride, so that the size of x follows from the size of the output."""
    while True:
        drawn = _transposed(d, rank)
        options = drawn[4]
        if all(o < s for o, s in zip(options.padding_out, options.stride, strict=True)):
            return drawn


def _conv_cases(rank: int) -> dict[str, Case]:
    def of(make: Any, *places: int) -> Case:
        return lambda d: (lambda a: tuple(a[p] for p in places))(make(d, rank))

    plain, back = f"conv{rank}d", f"conv_transpose{rank}d"
    return {
        plain: of(_convolution, 0, 1, 3, 4),
        f"{plain}_x_backward": of(_convolution, 0, 1, 2, 4),
        f"{plain}_weight_backward": of(_convolution, 0, 1, 2, 4),
        f"{plain}_bias_backward": lambda d: (lambda a: (a[0], d.normal(a[1].shape[0]), a[2]))(_convolution(d, rank)),
        back: of(_transposed, 0, 1, 3, 4),
        f"{back}_x_backward": of(_restorable, 1, 2, 4),
        f"{back}_weight_backward": of(_transposed, 0, 1, 2, 4),
        f"{back}_bias_backward": lambda d: (lambda a: (a[0], d.normal(a[2].shape[1]), a[2]))(_transposed(d, rank)),
    }


def _deformed(d: Draw) -> tuple[Any, ...]:
    while True:
        kernel, stride, dilation, padding = some(d, 2, 1, 3), some(d, 2, 1, 3), some(d, 2, 1, 2), some(d, 2, 0, 3)
        space = some(d, 2, 1, 9)
        parts = zip(space, kernel, stride, padding, dilation, strict=True)
        out = [(n + 2 * p - e * (k - 1) - 1) // s + 1 for n, k, s, p, e in parts]
        if min(out) >= 1:
            break
    batch, groups, shared = pick(d, 0, 1, 2), pick(d, 1, 2), pick(d, 1, 2)
    ci, co, taps = 2 * between(d, 1, 2), between(d, 1, 3), shared * prod(kernel)
    options = DeformConvOptions(stride, padding, dilation, groups, shared)
    return (
        d.normal(batch, ci, *space), d.normal(batch, 2 * taps, *out, scale=2.0),
        d.normal(co * groups, ci // groups, *kernel),
        d.uniform(0.0, 1.0, batch, taps, *out) if pick(d, True, False) else None,
        d.normal(co * groups) if pick(d, True, False) else None, options,
    )  # fmt: skip


def _deformed_backward(d: Draw) -> tuple[Any, ...]:
    *tensors, options = _deformed(d)
    x, offset, weight = tensors[:3]
    return *tensors, d.normal(x.shape[0], weight.shape[0], *offset.shape[2:]), options


def _unfolded(d: Draw) -> tuple[Any, ...]:
    """x, a gradient of the columns, kernel, options."""
    while True:
        kernel, stride, dilation, padding = some(d, 2, 1, 4), some(d, 2, 1, 4), some(d, 2, 1, 3), some(d, 2, 0, 5)
        space = some(d, 2, 1, 12)
        parts = zip(space, kernel, stride, padding, dilation, strict=True)
        out = [(n + 2 * p - e * (k - 1) - 1) // s + 1 for n, k, s, p, e in parts]
        if min(out) >= 1:
            break
    batch, channels = pick(d, 0, 1, 2), between(d, 1, 3)
    options = UnfoldOptions(stride, padding, dilation)
    return d.wild(batch, channels, *space), d.normal(batch, channels * prod(kernel), prod(out)), kernel, options


# -------------------------------------------------------------------------------------------------------- pooling


def pool_outputs(n: int, k: int, s: int, p: int, e: int, ceil: bool) -> int:
    """Windows of an axis, as PyTorch counts them."""
    missing = n + 2 * p - e * (k - 1) - 1
    out = (missing + (s - 1 if ceil else 0)) // s + 1
    return out - 1 if ceil and (out - 1) * s >= n + p else out


def _pool(d: Draw, rank: int) -> tuple[tuple[int, ...], list[int], list[tuple[int, ...]], bool]:
    """Sizes of x [N, C, ..], of the output's space, (kernel, stride, padding, dilation), ceil_mode."""
    while True:
        kernel, stride, dilation = some(d, rank, 1, 5), some(d, rank, 1, 4), some(d, rank, 1, 3)
        padding = tuple(between(d, 0, pick(d, k // 2, k // 2, k + 1)) for k in kernel)
        space, ceil = some(d, rank, 1, longest(rank)), pick(d, True, False)
        rows = zip(space, kernel, stride, padding, dilation, strict=True)
        out = [pool_outputs(*row, ceil) for row in rows]
        if min(out) >= 1:
            break
    return (pick(d, 0, 1, 2), between(d, 1, 3), *space), out, [kernel, stride, padding, dilation], ceil


def _window(rank: int, table: list[tuple[int, ...]]) -> tuple[Any, ...]:
    return tuple(row[0] if rank == 1 else row for row in table)


def _average(d: Draw, rank: int, grad: bool) -> tuple[Any, ...]:
    shape, out, table, ceil = _pool(d, rank)
    more = (d.normal(*shape[:2], *out),) if grad else ()
    return d.normal(*shape), *more, *_window(rank, table), pick(d, True, False), ceil


def _maximum(d: Draw, rank: int, *more: Any) -> tuple[Any, ...]:
    shape, _, table, ceil = _pool(d, rank)
    return pick(d, d.ties, d.normal)(*shape), *_window(rank, table), ceil, *more


def _maximum_backward(d: Draw, rank: int) -> tuple[Any, ...]:
    """Indices that the forward pass gives for some x."""
    shape, _, table, ceil = _pool(d, rank)
    x, kind = d.normal(*shape), pick(d, I32, I64)
    b: Any = ReferenceBackend()
    tensor = b.float_from_data(x.data(), ReferenceDevice(0))
    found = getattr(b, f"max_pool{rank}d_with_indices")(tensor, *_window(rank, table), ceil, kind)[1]
    indices = Given(b.int_into_data(found).array, kind, free=False)
    return x, *_window(rank, table), ceil, d.normal(*indices.shape), indices


def _adaptive(d: Draw, rank: int, grad: bool) -> tuple[Any, ...]:
    space, out = some(d, rank, 1, longest(rank)), some(d, rank, 1, longest(rank))
    x = d.normal(pick(d, 0, 1, 2), between(d, 1, 3), *space)
    return (x, d.normal(*x.shape[:2], *out)) if grad else (x, out[0] if rank == 1 else out)


def _pool_cases(rank: int) -> dict[str, Case]:
    return {
        f"avg_pool{rank}d": lambda d: _average(d, rank, False),
        f"avg_pool{rank}d_backward": lambda d: _average(d, rank, True),
        f"max_pool{rank}d": lambda d: _maximum(d, rank),
        f"max_pool{rank}d_with_indices": lambda d: _maximum(d, rank, pick(d, I32, I64)),
        f"max_pool{rank}d_with_indices_backward": lambda d: _maximum_backward(d, rank),
        f"adaptive_avg_pool{rank}d": lambda d: _adaptive(d, rank, False),
        f"adaptive_avg_pool{rank}d_backward": lambda d: _adaptive(d, rank, True),
    }


# ----------------------------------------------------------------------------------------------------- resampling

MODES = tuple(InterpolateMode)
TRANSFORMS = (
    "half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "half_pixel_symmetric", "tf_crop_and_resize",
)  # fmt: skip


def _interpolated(d: Draw, grad: bool) -> tuple[Any, ...]:
    space, out = some(d, 2, 1, 12), some(d, 2, 1, 20)
    kind, scale = pick(d, *TRANSFORMS), None
    if kind == "tf_crop_and_resize":
        roi = [sorted(d.rng.uniform(-0.5, 1.5, 2)) for _ in range(2)]
        transform = CoordinateTransformMode.tf_crop_and_resize(roi, float(d.rng.normal()))
    else:
        transform = CoordinateTransformMode(kind)
        if pick(d, True, False, False):
            scale = tuple(float(s) for s in d.rng.uniform(0.3, 2.6, 2))
            out = tuple(max(int(n * s), 1) for n, s in zip(space, scale, strict=True))
    options = InterpolateOptions(
        pick(d, *MODES), transform, pick(d, *NearestRoundingMode),
        CubicOptions(pick(d, -0.75, -0.5), pick(d, True, False)), None, scale,
    )  # fmt: skip
    x = d.normal(pick(d, 0, 1, 2), between(d, 1, 3), *space)
    return (x, d.normal(*x.shape[:2], *out), out, options) if grad else (x, out, options)


def _sampled(d: Draw) -> tuple[Any, ...]:
    """Points well inside a pixel for the nearest modes, so that a rounding of theirs does not change the pixel."""
    mode = pick(d, *MODES)
    options = GridSampleOptions(mode, pick(d, *GridSamplePaddingMode), pick(d, True, False))
    height, width = some(d, 2, 1, 9)
    shape = (pick(d, 0, 1, 2), *some(d, 2, 1, 5))
    points = d.rng.uniform(-1.6, 1.6, (*shape, 2))
    if mode.is_nearest:
        for axis, size in ((0, width), (1, height)):
            pixel = np.floor(points[..., axis] * size) + d.rng.uniform(-0.3, 0.3, shape)
            span, shift = (max(size - 1, 1), 0.0) if options.align_corners else (size, 0.5)
            points[..., axis] = 2 * (pixel + shift) / span - 1
    x = d.normal(shape[0], between(d, 1, 3), height, width)
    return x, Given(held(points, d.dtype), d.dtype, free=not mode.is_nearest), options


# ----------------------------------------------------------------------------------------- norms, linear, attention


def _batch_norm(d: Draw, *more: str) -> tuple[Any, ...]:
    shape = (between(d, 1, 4), between(d, 1, 6), *some(d, between(d, 0, 3), 1, 5))
    channels, eps = shape[1], pick(d, 1e-5, 1e-3, 0.1)
    x = fixed(d.normal(*shape))
    if "given" in more:
        return x, d.normal(channels), d.normal(channels), d.normal(channels), d.uniform(0.1, 3.0, channels), eps
    if "grad" not in more:
        return x, d.normal(channels), d.normal(channels), eps
    axes = tuple(a for a in range(len(shape)) if a != 1)
    wide = x.values.astype(np.float64)
    kind = F64 if d.dtype is F64 else F32
    statistics = [Given(s.astype(kind.numpy), kind, free=False) for s in (wide.mean(axes), wide.var(axes))]
    return x, d.normal(channels), *statistics, eps, d.normal(*shape)


def _layer_norm(d: Draw) -> tuple[Any, ...]:
    shape = (*some(d, between(d, 0, 3), 0, 5), pick(d, 1, 2, 3, 7, 64, 129, 300))
    width = shape[-1]
    return d.normal(*shape), d.normal(width), d.normal(width) if pick(d, True, False) else None, pick(d, 1e-5, 1e-2)


def _linear(d: Draw, which: str) -> tuple[Any, ...]:
    lead, ins, outs = some(d, between(d, 0, 3), 0, 5), between(d, 1, 40), between(d, 1, 40)
    x, weight, grad = d.normal(*lead, ins), d.normal(ins, outs), d.normal(*lead, outs)
    return {
        "linear": (x, weight, d.normal(outs) if pick(d, True, False) else None),
        "x": (weight, grad),
        "weight": (x, grad),
        "bias": (grad,),
    }[which]


def _embedding(d: Draw, grad: bool) -> tuple[Any, ...]:
    rows, width = between(d, 1, 40), between(d, 1, 9)
    indices = d.indices(rows, *some(d, 2, 0, 9), dtype=pick(d, I32, I64, U8, U32, I16))
    weights = d.normal(rows, width) if grad else d.wild(rows, width)
    return (weights, d.normal(*indices.shape, width), indices) if grad else (weights, indices)


def _attention(d: Draw, full: bool) -> tuple[Any, ...]:
    shared, batch = between(d, 1, 2), pick(d, 0, 1, 2)
    heads, queries, keys = shared * between(d, 1, 3), between(d, 1, 20), between(d, 1, 20)
    width, out = between(d, 1, 9), between(d, 1, 9)
    options = AttentionModuleOptions(
        pick(d, None, 0.3), pick(d, None, None, 1.5), pick(d, True, False), pick(d, *CausalAlignment)
    )
    tensors = (
        d.normal(batch, heads, queries, width),
        d.normal(batch, shared, keys, width),
        d.normal(batch, shared, keys, out),
    )
    if not full:
        return *tensors, options
    scores = (batch, heads, queries, keys)
    mask = d.mask(*scores, share=pick(d, 0.2, 0.9), dtype=pick(d, BOOL_U8, BOOL_U32)) if pick(d, True, False) else None
    return *tensors, mask, d.normal(*scores) if pick(d, True, False) else None, options


def _attention_backward(d: Draw) -> tuple[Any, ...]:
    """With what the forward pass gives, from the reference in float64."""
    *tensors, options = _attention(d, False)
    b: Any = ReferenceBackend()
    up = [b.float_from_data(TensorData.of(g.values.astype(np.float64), F64), ReferenceDevice(0)) for g in tensors]
    output, logsumexp = (b.float_into_data(t).numpy() for t in b.attention_with_logsumexp(*up, options))
    # In f64 all their digits count: the gradient in f64 is computed from them.
    kept: Any = (lambda values, kind: values) if d.dtype is F64 else held
    kind = F64 if d.dtype is F64 else F32
    return (
        *(fixed(g) for g in tensors), Given(kept(output, d.dtype), d.dtype, free=False),
        Given(kept(logsumexp, kind), kind, free=False), d.normal(*output.shape), options,
    )  # fmt: skip


def _ctc(d: Draw, grad: bool) -> tuple[Any, ...]:
    """Targets of few different labels, so that repetitions and targets that are too long are frequent."""
    steps, batch, labels, classes = between(d, 1, 9), between(d, 1, 4), between(d, 1, 6), between(d, 2, 5)
    blank = between(d, 0, classes - 1)
    logits = d.rng.standard_normal((steps, batch, classes)) * pick(d, 1.0, 4.0)
    logits -= np.log(np.exp(logits).sum(-1, keepdims=True))
    targets = d.rng.integers(0, classes - 1, (batch, labels))
    targets += targets >= blank
    lengths = [d.rng.integers(0, steps + 1, batch), d.rng.integers(0, labels + 1, batch)]
    kind = pick(d, I32, I64)
    tensors = (
        Given(held(logits, d.dtype), d.dtype, free=False), Given(targets.astype(kind.numpy), kind, free=False),
        *(Given(l.astype(kind.numpy), kind, free=False) for l in lengths),
    )  # fmt: skip
    return (*tensors, d.normal(batch), blank) if grad else (*tensors, blank)


# -------------------------------------------------------------------------------------------------------- indexing

INDEX_DTYPES = (I32, I64, U32, U8, I8, U16)


def _shape(d: Draw, low: int = 0, high: int = 9) -> tuple[int, ...]:
    """Of one to four axes, now and then with an empty one."""
    rank = between(d, 1, 4)
    return tuple(max(between(d, low, high), 0 if pick(d, *[False] * 5, True) else low or 1) for _ in range(rank))


def _places(d: Draw, size: int, *shape: int) -> Given:
    kind = pick(d, *INDEX_DTYPES)
    return Given(d.rng.integers(0, max(size, 1), shape).astype(kind.numpy), kind, free=False)


def _selected(d: Draw) -> tuple[Any, ...]:
    shape = _shape(d)
    dim = between(d, 0, len(shape) - 1)
    return d.wild(*shape), dim, _places(d, shape[dim], between(d, 0, 12) if shape[dim] else 0)


def _gathered(d: Draw) -> tuple[Any, ...]:
    """Other axes of the indices may be shorter than the tensor's."""
    shape = _shape(d)
    dim = between(d, 0, len(shape) - 1)
    wanted = [between(d, 0, 11) if a == dim else between(d, max(n - 2, 0), n) for a, n in enumerate(shape)]
    if not shape[dim]:
        wanted[dim] = 0
    return dim, d.wild(*shape), _places(d, shape[dim], *wanted)


def _distinct_along(d: Draw, size: int, dim: int, wanted: list[int]) -> np.ndarray:
    """Different indices in every lane, where the last to write would count."""
    wanted[dim] = min(wanted[dim], size)
    lanes = [n for a, n in enumerate(wanted) if a != dim]
    table = np.argsort(d.rng.uniform(size=(*lanes, size)), -1)[..., : wanted[dim]]
    return np.ascontiguousarray(np.moveaxis(table, -1, dim))


def _scattered(d: Draw) -> tuple[Any, ...]:
    update = pick(d, *UPDATES)
    dim, tensor, indices = _gathered(d)
    if update is IndexingUpdateOp.ASSIGN:
        table = _distinct_along(d, tensor.shape[dim], dim, list(indices.shape))
        indices = Given(table.astype(indices.dtype.numpy), indices.dtype, free=False)
    return dim, d.normal(*tensor.shape), indices, d.normal(*indices.shape), update


def _select_assigned(d: Draw) -> tuple[Any, ...]:
    tensor, dim, indices = _selected(d)
    update = pick(d, *UPDATES)
    if update is IndexingUpdateOp.ASSIGN:
        rows = d.rng.permutation(tensor.shape[dim])[: indices.shape[0]]
        indices = Given(rows.astype(indices.dtype.numpy), indices.dtype, free=False)
    shape = tensor.shape
    return d.normal(*shape), dim, indices, d.normal(*shape[:dim], indices.shape[0], *shape[dim + 1 :]), update


def _coordinates(d: Draw) -> tuple[tuple[int, ...], Given]:
    shape = _shape(d)
    k = between(d, 1, len(shape))
    lead = some(d, between(d, 0, 2), 0, 5)
    if 0 in shape[:k]:
        lead = (0,)
    kind = pick(d, *INDEX_DTYPES)
    columns = [d.rng.integers(0, max(n, 1), lead) for n in shape[:k]]
    return shape, Given(np.stack(columns, -1).astype(kind.numpy), kind, free=False)


def _gathered_nd(d: Draw) -> tuple[Any, ...]:
    shape, indices = _coordinates(d)
    return d.wild(*shape), indices


def _scattered_nd(d: Draw) -> tuple[Any, ...]:
    update = pick(d, *UPDATES)
    shape, indices = _coordinates(d)
    k = indices.shape[-1]
    if update is IndexingUpdateOp.ASSIGN:
        flat = d.rng.permutation(prod(shape[:k]))[: prod(indices.shape[:-1])]
        table = np.stack(np.unravel_index(flat, shape[:k]), -1) if flat.size else np.zeros((0, k))
        indices = Given(table.astype(indices.dtype.numpy), indices.dtype, free=False)
    return d.normal(*shape), indices, d.normal(*indices.shape[:-1], *shape[k:]), update


def _window_of(d: Draw, n: int) -> Slice:
    """Bounds beyond both ends and counted from the end; steps of either sign."""
    start, end = between(d, -n - 2, n + 2), pick(d, None, between(d, -n - 2, n + 2))
    return Slice(start, end, pick(d, 1, 1, 2, 3, -1, -2, 7, -7))


def _sliced(d: Draw) -> tuple[Any, ...]:
    shape = _shape(d)
    return d.wild(*shape), [_window_of(d, n) for n in shape]


def _assigned(d: Draw) -> tuple[Any, ...]:
    tensor, slices = _sliced(d)
    return tensor, slices, d.wild(*(s.output_size(n) for s, n in zip(slices, tensor.shape, strict=True)))


def _concatenated(d: Draw) -> tuple[Any, ...]:
    shape = _shape(d)
    dim = between(d, 0, len(shape) - 1)
    sizes = [pick(d, 0, 1, shape[dim], between(d, 0, 7)) for _ in range(between(d, 1, 12))]
    return [d.wild(*shape[:dim], n, *shape[dim + 1 :]) for n in sizes], dim


def _padded(d: Draw) -> tuple[Any, ...]:
    """Up to the largest pads that the mode takes."""
    mode = pick(d, PadMode.constant(2.0), PadMode.constant(-0.0), PadMode.reflect(), PadMode.edge())
    shape = _shape(d) if mode.kind == "constant" else tuple(max(n, 1) for n in _shape(d))
    most = [n - 1 if mode.kind == "reflect" else 6 for n in shape]
    pads = [(pick(d, 0, m, between(d, 0, m)), pick(d, 0, m, between(d, 0, m))) for m in most]
    return d.wild(*shape), pads, mode


def _windows(d: Draw) -> tuple[Any, ...]:
    shape = _shape(d, 1)
    dim = between(d, 0, len(shape) - 1)
    return d.wild(*shape), dim, between(d, 1, max(shape[dim], 1)), between(d, 1, 12)


def _indexing_cases(kind: str) -> dict[str, Case]:
    cases: dict[str, Case] = {
        "select": _selected, "gather": _gathered, "gather_nd": _gathered_nd, "select_assign": _select_assigned,
        "scatter": _scattered, "scatter_nd": _scattered_nd, "slice": _sliced, "slice_assign": _assigned,
        "cat": _concatenated, "unfold": _windows,
        "repeat_dim": lambda d: (lambda t: (t, between(d, 0, len(t.shape) - 1), between(d, 0, 4)))(d.wild(*_shape(d))),
        "mask_select": lambda d: (lambda t: (t, d.mask(*t.shape, share=pick(d, 0.0, 0.1, 0.9, 1.0),
                                                       dtype=pick(d, BOOL_U8, BOOL_U32))))(d.wild(*_shape(d))),
    }  # fmt: skip
    if kind != "bool":
        cases["pad"] = _padded
    return {f"{kind}_{name}": case for name, case in cases.items()}


# -------------------------------------------------------------------------------------------------------- products


def _product(d: Draw, high: int = 130) -> tuple[Any, ...]:
    """Every size from 0 to `high`, batches that broadcast, vectors as rows and columns."""
    m, k, n = (pick(d, 0, 1, 2, between(d, 1, high), between(d, 1, high)) for _ in range(3))
    batch = some(d, between(d, 0, 2), 0, 3)
    left, right = (tuple(1 if pick(d, True, False, False) else b for b in batch) for _ in range(2))
    return d.normal(*left, m, k), d.normal(*right, k, n)


def _wrapping(d: Draw) -> tuple[Any, ...]:
    lhs, rhs = _product(d, 40)
    return d.wild(*lhs.shape), d.wild(*rhs.shape)


def _lane(d: Draw) -> tuple[Any, ...]:
    shape = list(_shape(d, 1, 5))
    dim = between(d, 0, len(shape) - 1)
    shape[dim] *= pick(d, 1, 1, 70, 1000)
    return pick(d, d.normal, d.normal, d.ties)(*shape), dim


CASES: dict[str, Case] = {
    **{name: case for rank in (1, 2, 3) for name, case in _conv_cases(rank).items()},
    **{name: case for rank in (1, 2, 3) for name, case in _pool_cases(rank).items()},
    **{name: case for kind in ("float", "int", "bool") for name, case in _indexing_cases(kind).items()},
    "deform_conv2d": _deformed,
    "deform_conv2d_backward": _deformed_backward,
    "unfold4d": lambda d: (lambda a: (a[0], *a[2:]))(_unfolded(d)),
    "fold4d": lambda d: (lambda a: (a[1], a[0].shape[2:], *a[2:]))(_unfolded(d)),
    "interpolate": lambda d: _interpolated(d, False),
    "interpolate_backward": lambda d: _interpolated(d, True),
    "float_grid_sample_2d": _sampled,
    "batch_norm": lambda d: _batch_norm(d, "given"),
    "batch_norm_train": lambda d: _batch_norm(d),
    "batch_norm_train_backward": lambda d: _batch_norm(d, "grad"),
    "layer_norm": _layer_norm,
    "linear": lambda d: _linear(d, "linear"),
    "linear_x_backward": lambda d: _linear(d, "x"),
    "linear_weight_backward": lambda d: _linear(d, "weight"),
    "linear_bias_backward": lambda d: _linear(d, "bias"),
    "embedding": lambda d: _embedding(d, False),
    "embedding_backward": lambda d: _embedding(d, True),
    "attention": lambda d: _attention(d, True),
    "attention_with_logsumexp": lambda d: _attention(d, False),
    "attention_backward": _attention_backward,
    "ctc_loss": lambda d: _ctc(d, False),
    "ctc_loss_backward": lambda d: _ctc(d, True),
    "float_matmul": _product,
    "int_matmul": _wrapping,
    "softmax": _lane,
    "log_softmax": _lane,
    "softmin": _lane,
    "bool_argwhere": lambda d: (
        d.mask(*_shape(d), share=pick(d, 0.0, 0.2, 0.9), dtype=d.dtype), pick(d, I32, I64, U64)
    ),
}  # fmt: skip
