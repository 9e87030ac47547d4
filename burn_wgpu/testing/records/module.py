"""Records of what layers are made of: norms, linear layers, convolutions, pooling, resampling, attention, CTC.

Sums of products err by their number of terms, counted in units of what was added up; norms and attention by a number
of units of the largest result.
"""

from __future__ import annotations

from collections.abc import Iterator
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
    InterpolateMode,
    InterpolateOptions,
    NearestRoundingMode,
    UnfoldOptions,
    conv_output_size,
    conv_transpose_output_size,
    pool_output_size,
)
from burn_wgpu.std.data import TensorData
from burn_wgpu.std.dtype import BOOL_U8, F32, F64, I32, I64
from burn_wgpu.testing.records.call import Call, Case, Draw, Given, held
from burn_wgpu.testing.records.movement import FLOATS, STORED

# ------------------------------------------------------------------------------------------------ norms and linear

_NORM = 96.0
"""Units of the largest result that a norm may lose: the mean, the variance, its root and two products."""


def _statistics(d: Draw, channels: int) -> tuple[Given, Given]:
    return d.normal(channels), d.uniform(0.5, 2.0, channels)


def _batch(d: Draw, *shape: int) -> tuple[Any, ...]:
    mean, variance = _statistics(d, shape[1])
    return d.normal(*shape), d.normal(shape[1]), d.normal(shape[1]), mean, variance, 1e-5


def _batch_backward(d: Draw, *shape: int) -> tuple[Any, ...]:
    """Statistics that belong to x, as batch_norm_train gives them: in f32."""
    x = d.normal(*shape)
    axes = tuple(a for a in range(len(shape)) if a != 1)
    wide = x.values.astype(np.float64)
    if x.values.size == 0:
        mean = variance = np.zeros(shape[1])
    else:
        mean, variance = wide.mean(axes), wide.var(axes)
    given = [Given(s.astype(np.float32), F32, free=False) for s in (mean, variance)]
    fixed = Given(x.values, x.dtype, free=False)
    return fixed, d.normal(shape[1]), *given, 1e-5, d.normal(*shape)


def _terms_of_batch(x: Given, *_: Any) -> float:
    return _NORM + x.values.size / max(x.shape[1], 1) / 4


_NORMS = (
    Call(
        "batch_norm",
        FLOATS,
        (lambda d: _batch(d, 2, d.n), lambda d: _batch(d, 2, 3, d.n), lambda d: _batch(d, d.n, 5, 2, 3)),
        units=_NORM,
        scale="largest",
    ),
    Call(
        "batch_norm_train",
        FLOATS,
        (
            lambda d: (d.normal(2, 3, d.n), d.normal(3), d.normal(3), 1e-5),
            lambda d: (d.normal(3, d.n, 2), d.normal(d.n), d.normal(d.n), 1e-3),
            lambda d: (d.normal(d.n, 2, 3, 3), d.normal(2), d.normal(2), 1e-5),
        ),
        units=_terms_of_batch,
        scale="largest",
    ),
    Call(
        "batch_norm_train_backward",
        FLOATS,
        (
            lambda d: _batch_backward(d, 2, 3, d.n + 3),
            lambda d: _batch_backward(d, 5, d.n, 2),
            lambda d: _batch_backward(d, d.n + 3, 2, 3, 3),
        ),
        units=lambda x, *_: _NORM + 2.0 * x.values.size / max(x.shape[1], 1),
        scale="largest",
    ),
    Call(
        "layer_norm",
        FLOATS,
        (
            lambda d: (d.normal(3, d.n), d.normal(d.n), d.normal(d.n), 1e-5),
            lambda d: (d.normal(d.n, 17), d.normal(17), None, 1e-3),
            lambda d: (d.normal(2, d.n, 4), d.normal(4), d.normal(4), 1e-5),
        ),
        units=lambda x, *_: _NORM + x.shape[-1] / 4,
        scale="largest",
    ),
    Call(
        "linear",
        FLOATS,
        (
            lambda d: (d.normal(d.n, 7), d.normal(7, 5), d.normal(5)),
            lambda d: (d.normal(2, 3, d.n), d.normal(d.n, 4), None),
            lambda d: (d.normal(3), d.normal(3, d.n), d.normal(d.n)),
        ),
        units=lambda x, w, b: 3.0 + x.shape[-1],
        scale="absolute",
    ),
    Call(
        "linear_x_backward",
        FLOATS,
        (lambda d: (d.normal(7, 5), d.normal(d.n, 5)), lambda d: (d.normal(4, d.n), d.normal(2, 3, d.n))),
        units=lambda w, g: 2.0 + w.shape[1],
        scale="absolute",
    ),
    Call(
        "linear_weight_backward",
        FLOATS,
        (lambda d: (d.normal(d.n, 7), d.normal(d.n, 5)), lambda d: (d.normal(2, 3, d.n), d.normal(2, 3, 4))),
        units=lambda x, g: 2.0 + prod(x.shape[:-1]),
        scale="absolute",
    ),
    Call(
        "linear_bias_backward",
        FLOATS,
        (lambda d: (d.normal(d.n, 5),), lambda d: (d.normal(2, 3, d.n),), lambda d: (d.normal(d.n),)),
        units=lambda g: 2.0 + prod(g.shape[:-1]),
        scale="absolute",
    ),
)

# ---------------------------------------------------------------------------------------------------- convolution

# (batch, channels in a group, channels out a group, kernel, options); spatial axes are n, then a few more.
_CONV = (
    (2, 3, 4, 3, ((1,), ((1, 1),), (1,), 1)),
    (1, 2, 3, 2, ((2,), ((0, 0),), (1,), 1)),
    (2, 1, 1, 3, ((1,), ((2, 0),), (2,), 4)),
    (1, 2, 2, 1, ((1,), ((0, 0),), (1,), 2)),
    (1, 3, 2, 4, ((3,), ((0, 2),), (1,), 1)),
)
_SPATIAL = {1: (), 2: (4,), 3: (3, 4)}


def _conv(d: Draw, rank: int, row: tuple[Any, ...]) -> tuple[Given, Given, Given, ConvOptions, tuple[int, ...]]:
    """x, weight, bias, options and the output's spatial sizes; every further axis takes the same options."""
    batch, ci, co, kernel, (stride, padding, dilation, groups) = row
    space = (*_SPATIAL[rank], d.n)
    options = ConvOptions(stride * rank, padding * rank, dilation * rank, groups)
    x = d.normal(batch, ci * groups, *space)
    weight = d.normal(co * groups, ci, *(kernel,) * rank)
    fits = all(n + sum(padding[0]) >= dilation[0] * (kernel - 1) + 1 for n in space)
    out = tuple(conv_output_size(n, kernel, stride[0], padding[0], dilation[0]) for n in space) if fits else ()
    return x, weight, d.normal(co * groups), options, out


def _conv_grad(d: Draw, rank: int, row: tuple[Any, ...]) -> tuple[Given, Given, Given, ConvOptions]:
    """x, weight and a gradient of the output; n grows until the window fits."""
    while True:
        x, weight, _, options, out = _conv(d, rank, row)
        if out:
            return x, weight, d.normal(x.shape[0], weight.shape[0], *out), options
        d.n += 1


def _conv_terms(x: Given, weight: Given, *_: Any) -> float:
    return 3.0 + prod(weight.shape[1:])


def _weight_terms(x: Given, weight: Given, grad: Given, *_: Any) -> float:
    return 3.0 + grad.shape[0] * prod(grad.shape[2:])


def _cases(make: Any, rank: int, rows: tuple[Any, ...]) -> tuple[Case, ...]:
    return tuple(lambda d, r=row: make(d, rank, r) for row in rows)  # type: ignore[misc]


def _forward(d: Draw, rank: int, row: tuple[Any, ...]) -> tuple[Any, ...]:
    x, weight, bias, options, _ = _conv(d, rank, row)
    return x, weight, bias if row[0] == 2 else None, options


def _convolutions(rank: int) -> Iterator[Call]:
    largest = {1: 1000, 2: 100, 3: 33}[rank]

    def call(name: str, make: Any, units: Any, rows: tuple[Any, ...] = _CONV) -> Call:
        return Call(name, FLOATS, _cases(make, rank, rows), units=units, scale="absolute", largest=largest)

    yield call(f"conv{rank}d", _forward, _conv_terms)
    yield call(f"conv{rank}d_x_backward", lambda d, r, row: _conv_grad(d, r, row),
               lambda x, w, g, o: 3.0 + w.shape[0] * prod(w.shape[2:]))  # fmt: skip
    yield call(f"conv{rank}d_weight_backward", lambda d, r, row: _conv_grad(d, r, row), _weight_terms)
    yield call(
        f"conv{rank}d_bias_backward",
        lambda d, r, row: (lambda a: (a[0], d.normal(a[1].shape[0]), a[2]))(_conv_grad(d, r, row)),
        _weight_terms,
    )
    yield call(
        f"conv_transpose{rank}d", _transposed, lambda x, w, b, o: 3.0 + w.shape[0] * prod(w.shape[2:]), _TRANSPOSED
    )
    yield call(f"conv_transpose{rank}d_x_backward", lambda d, r, row: _transposed_grad(d, r, row)[1:],
               lambda w, g, o: 3.0 + prod(w.shape[1:]), _TRANSPOSED)  # fmt: skip
    yield call(f"conv_transpose{rank}d_weight_backward", lambda d, r, row: _transposed_grad(d, r, row),
               lambda x, w, g, o: 3.0 + x.shape[0] * prod(x.shape[2:]), _TRANSPOSED)  # fmt: skip
    yield call(
        f"conv_transpose{rank}d_bias_backward",
        lambda d, r, row: (lambda a: (a[0], d.normal(a[2].shape[1]), a[2]))(_transposed_grad(d, r, row)),
        _weight_terms,
        _TRANSPOSED,
    )


# (batch, channels in a group, channels out a group, kernel, stride, padding, padding_out, dilation, groups)
_TRANSPOSED = (
    (2, 3, 2, 3, 1, 0, 0, 1, 1),
    (1, 2, 3, 3, 2, 1, 1, 1, 1),
    (2, 1, 3, 2, 3, 0, 2, 2, 2),
    (1, 3, 1, 1, 1, 0, 0, 1, 3),
)


def _transposed(d: Draw, rank: int, row: tuple[int, ...]) -> tuple[Any, ...]:
    batch, ci, co, kernel, stride, padding, more, dilation, groups = row
    options = ConvTransposeOptions((stride,) * rank, (padding,) * rank, (more,) * rank, (dilation,) * rank, groups)
    x = d.normal(batch, ci * groups, *_SPATIAL[rank], max(d.n, 1))
    weight = d.normal(ci * groups, co, *(kernel,) * rank)
    return x, weight, d.normal(co * groups) if batch == 2 else None, options


def _transposed_grad(d: Draw, rank: int, row: tuple[int, ...]) -> tuple[Given, Given, Given, ConvTransposeOptions]:
    x, weight, _, options = _transposed(d, rank, row)
    _, _, _, kernel, stride, padding, more, dilation, groups = row
    out = [conv_transpose_output_size(n, kernel, stride, padding, more, dilation) for n in x.shape[2:]]
    return x, weight, d.normal(x.shape[0], weight.shape[1] * groups, *out), options


_DEFORM = (
    (1, 2, 3, 3, DeformConvOptions((1, 1), (1, 1))),
    (2, 4, 2, 2, DeformConvOptions((2, 1), (0, 1), (1, 2), 2, 2)),
)


def _deform(d: Draw, row: tuple[Any, ...], grad: bool) -> tuple[Any, ...]:
    batch, ci, co, kernel, options = row
    height, width = 5, d.n + 4
    out = [
        conv_output_size(n, kernel, s, (p, p), e)
        for n, s, p, e in zip((height, width), options.stride, options.padding, options.dilation, strict=True)
    ]
    taps = options.offset_groups * kernel * kernel
    x, offset = d.normal(batch, ci, height, width), d.normal(batch, 2 * taps, *out)
    weight = d.normal(co, ci // options.weight_groups, kernel, kernel)
    mask = d.uniform(0.0, 1.0, batch, taps, *out) if batch == 1 else None
    bias = d.normal(co) if batch == 1 else None
    more = (d.normal(batch, co, *out),) if grad else ()
    return x, offset, weight, mask, bias, *more, options


_FOLDS = (
    ((2, 3), UnfoldOptions()),
    ((3, 2), UnfoldOptions((2, 1), (1, 0), (1, 2))),
    ((1, 1), UnfoldOptions((1, 3))),
)


def _columns(d: Draw, kernel: tuple[int, int], options: UnfoldOptions) -> tuple[Any, ...]:
    size = (6, d.n + 4)
    out = [
        conv_output_size(n, k, s, (p, p), e)
        for n, k, s, p, e in zip(size, kernel, options.stride, options.padding, options.dilation, strict=True)
    ]
    return d.normal(2, 3 * prod(kernel), prod(out)), size, kernel, options


_CONVOLUTIONS = (
    *(record for rank in (1, 2, 3) for record in _convolutions(rank)),
    Call(
        "deform_conv2d",
        FLOATS,
        tuple(lambda d, r=row: _deform(d, r, False) for row in _DEFORM),  # type: ignore[misc]
        units=lambda x, o, w, *_: 64.0 + prod(w.shape[1:]),
        scale="largest",
        largest=65,
    ),
    Call(
        "deform_conv2d_backward",
        FLOATS,
        tuple(lambda d, r=row: _deform(d, r, True) for row in _DEFORM),  # type: ignore[misc]
        units=lambda x, o, w, m, b, g, _: 64.0 + 4 * g.values.size,
        scale="largest",
        largest=65,
    ),
    Call(
        "unfold4d",
        STORED["float"],
        tuple(lambda d, k=kernel, o=options: (d.wild(2, 3, 4, d.n + 4), k, o) for kernel, options in _FOLDS),  # type: ignore[misc]
        moves=True,
        largest=100,
    ),
    Call(
        "fold4d",
        FLOATS,
        tuple(lambda d, k=kernel, o=options: _columns(d, k, o) for kernel, options in _FOLDS),  # type: ignore[misc]
        units=8,
        scale="absolute",
        largest=100,
    ),
)

# ------------------------------------------------------------------------------------------------------- pooling

# kernel, stride, padding, dilation, ceil_mode, count_include_pad of every axis
_POOLS = (
    (2, 2, 0, 1, False, True),
    (3, 1, 1, 1, False, True),
    (3, 2, 1, 1, True, False),
    (2, 3, 1, 2, True, True),
    (3, 3, 0, 2, False, False),
)
_PLANE = {1: (), 2: (6,), 3: (5, 6)}


def _pool(d: Draw, rank: int, row: tuple[Any, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Spatial sizes of x, at least as large as the window, and of the output."""
    kernel, stride, padding, dilation, ceil, _ = row
    space = (*_PLANE[rank], max(d.n, dilation * (kernel - 1) + 1))
    return space, tuple(pool_output_size(n, kernel, stride, (padding, padding), dilation, ceil) for n in space)


def _window(rank: int, row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(v if rank == 1 else (v,) * rank for v in row[:4])


def _pools(rank: int) -> Iterator[Call]:
    largest = {1: 1000, 2: 130, 3: 33}[rank]
    taps = lambda x, *rest: 4.0 + 27.0

    def average(d: Draw, r: int, row: tuple[Any, ...], grad: bool) -> tuple[Any, ...]:
        space, out = _pool(d, r, row)
        more = (d.normal(2, 3, *out),) if grad else ()
        return d.normal(2, 3, *space), *more, *_window(r, row), row[5], row[4]

    def largest_of(d: Draw, r: int, row: tuple[Any, ...], *more: Any) -> tuple[Any, ...]:
        return d.ties(2, 3, *_pool(d, r, row)[0]), *_window(r, row), row[4], *more

    def back(d: Draw, r: int, row: tuple[Any, ...]) -> tuple[Any, ...]:
        """The indices that the forward pass gives for some x."""
        space, out = _pool(d, r, row)
        x = d.normal(2, 3, *space)
        b: Any = ReferenceBackend()
        tensor = b.float_from_data(x.data(), ReferenceDevice(0))
        found = getattr(b, f"max_pool{r}d_with_indices")(tensor, *_window(r, row), row[4], I32)[1]
        indices = Given(b.int_into_data(found).array, I32, free=False)
        return x, *_window(r, row), row[4], d.normal(2, 3, *out), indices

    def both(index: Any) -> tuple[Case, ...]:
        return tuple(lambda d, w=row: largest_of(d, rank, w, index) for row in _POOLS)  # type: ignore[misc]

    more: Any = {"units": taps, "scale": "absolute", "largest": largest}
    yield Call(f"avg_pool{rank}d", FLOATS, _cases(lambda d, r, w: average(d, r, w, False), rank, _POOLS), **more)
    yield Call(
        f"avg_pool{rank}d_backward", FLOATS, _cases(lambda d, r, w: average(d, r, w, True), rank, _POOLS), **more
    )
    yield Call(f"max_pool{rank}d", FLOATS, _cases(largest_of, rank, _POOLS), largest=largest)
    yield Call(f"max_pool{rank}d_with_indices", FLOATS, (*both(I32), both(I64)[1]), largest=largest)
    yield Call(
        f"max_pool{rank}d_with_indices_backward", FLOATS, _cases(back, rank, _POOLS),
        units=lambda x, *rest: 2.0 + prod(rest[-1].shape[2:]), scale="absolute", largest=largest,
    )  # fmt: skip

    def adaptive(d: Draw, r: int, row: tuple[int, ...], grad: bool) -> tuple[Any, ...]:
        space, out = (*_PLANE[r], max(d.n, 1)), row[:r]
        x = d.normal(2, 3, *space)
        return (x, d.normal(2, 3, *out)) if grad else (x, out[0] if r == 1 else out)

    sizes = ((3, 2, 4), (1, 1, 1), (7, 4, 5))
    more["units"] = lambda x, *_: 4.0 + prod(x.shape[2:])
    name = f"adaptive_avg_pool{rank}d"
    yield Call(name, FLOATS, _cases(lambda d, r, w: adaptive(d, r, w, False), rank, sizes), **more)
    yield Call(f"{name}_backward", FLOATS, _cases(lambda d, r, w: adaptive(d, r, w, True), rank, sizes), **more)


# ----------------------------------------------------------------------------------------------------- resampling

_TRANSFORM = CoordinateTransformMode
_INTERPOLATE = (
    InterpolateOptions(InterpolateMode.NEAREST),
    InterpolateOptions(InterpolateMode.NEAREST_EXACT),
    InterpolateOptions(InterpolateMode.NEAREST, _TRANSFORM.half_pixel(), NearestRoundingMode.ROUND_PREFER_FLOOR),
    InterpolateOptions(InterpolateMode.NEAREST, _TRANSFORM.asymmetric(), NearestRoundingMode.CEIL),
    InterpolateOptions(InterpolateMode.BILINEAR),
    InterpolateOptions(InterpolateMode.BILINEAR, _TRANSFORM.half_pixel()),
    InterpolateOptions(InterpolateMode.BILINEAR, _TRANSFORM.pytorch_half_pixel()),
    InterpolateOptions(InterpolateMode.BILINEAR, _TRANSFORM.half_pixel_symmetric(), scale_factor=(1.6, 0.7)),
    InterpolateOptions(
        InterpolateMode.BILINEAR, _TRANSFORM.tf_crop_and_resize([[0.1, 0.8], [-0.2, 1.1]], extrapolation_value=3.0)
    ),
    InterpolateOptions(InterpolateMode.BICUBIC),
    InterpolateOptions(
        InterpolateMode.BICUBIC, _TRANSFORM.half_pixel(), cubic_options=CubicOptions(-0.5, exclude_outside=True)
    ),
    InterpolateOptions(InterpolateMode.LANCZOS3, _TRANSFORM.half_pixel()),
)


def _resampled(d: Draw, options: InterpolateOptions, grad: bool) -> tuple[Any, ...]:
    space = (5, max(d.n, 1))
    out = (8, max(space[1] * 7 // 10, 1)) if options.scale_factor else (7, 1 + space[1] * 3 // 2)
    x = d.normal(2, 3, *space)
    return (x, d.normal(2, 3, *out), out, options) if grad else (x, out, options)


_GRIDS = tuple(
    GridSampleOptions(mode, padding, corners)
    for mode in (
        InterpolateMode.BILINEAR,
        InterpolateMode.NEAREST,
        InterpolateMode.BICUBIC,
        InterpolateMode.LANCZOS3,
    )
    for padding in GridSamplePaddingMode
    for corners in (False, True)
)


def _grid(d: Draw, options: GridSampleOptions) -> tuple[Any, ...]:
    """Points from beyond the borders too; for nearest, well between two pixels."""
    height, width = 5, d.n + 2
    points = d.rng.uniform(-1.4, 1.4, (2, 4, 6, 2))
    if options.mode.is_nearest:
        for axis, size in ((0, width), (1, height)):
            pixel = np.floor(points[..., axis] * size) + d.rng.uniform(-0.3, 0.3, (2, 4, 6))
            span = size - 1 if options.align_corners else size
            shift = 0.0 if options.align_corners else 0.5
            points[..., axis] = 2 * (pixel + shift) / span - 1
    kind = d.dtype
    return d.normal(2, 3, height, width), Given(held(points, kind), kind, free=not options.mode.is_nearest), options


# ------------------------------------------------------------------------------------------------ attention, CTC

_ATTENTION = (
    (1, 2, 2, 4, 4, AttentionModuleOptions()),
    (2, 4, 2, 3, 5, AttentionModuleOptions(is_causal=True)),
    (1, 2, 1, 8, 3, AttentionModuleOptions(scale=0.3, softcap=2.0)),
    (1, 1, 1, 4, 4, AttentionModuleOptions(is_causal=True, causal_alignment=CausalAlignment.TOP_LEFT)),
)


def _attention(d: Draw, row: tuple[Any, ...], case: int) -> tuple[Any, ...]:
    """n queries and n + 2 keys, and the other way round in the second case."""
    batch, heads, shared, width, out, options = row
    queries, keys = (d.n, d.n + 2) if case != 1 else (d.n + 2, max(d.n, 1))
    return (
        d.normal(batch, heads, queries, width),
        d.normal(batch, shared, keys, width),
        d.normal(batch, shared, keys, out),
        options,
    )


def _full_attention(d: Draw, row: tuple[Any, ...], case: int) -> tuple[Any, ...]:
    query, key, value, options = _attention(d, row, case)
    scores = (*query.shape[:3], key.shape[2])
    mask = d.mask(*scores, share=0.3, dtype=BOOL_U8) if case in (0, 2) else None
    if mask is not None and scores[2]:
        mask.values[:, :, 0] = True  # a query that sees nothing
    return query, key, value, mask, d.normal(*scores) if case in (1, 2) else None, options


def _attention_backward(d: Draw, row: tuple[Any, ...], case: int) -> tuple[Any, ...]:
    """What the forward pass would have given, from the reference backend in float64."""
    from burn_wgpu.std.dtype import F32

    query, key, value, options = (
        a if not isinstance(a, Given) else Given(a.values, a.dtype, free=False) for a in _attention(d, row, case)
    )
    b: Any = ReferenceBackend()
    device = ReferenceDevice(0)
    up = [b.float_from_data(TensorData.of(g.values.astype(np.float64), F64), device) for g in (query, key, value)]
    output, logsumexp = (b.float_into_data(t).numpy() for t in b.attention_with_logsumexp(*up, options))
    return (
        query, key, value, Given(held(output, d.dtype), d.dtype, free=False),
        Given(logsumexp.astype(np.float32), F32, free=False), d.normal(*output.shape), options,
    )  # fmt: skip


def _ctc(d: Draw, sizes: tuple[int, int, int, int], grad: bool) -> tuple[Any, ...]:
    steps, batch, labels, classes = sizes
    logits = d.rng.standard_normal((steps, batch, classes))
    logits -= np.log(np.exp(logits).sum(-1, keepdims=True))
    targets = d.rng.integers(1, classes, (batch, labels)).astype(np.int32)
    lengths = [d.rng.integers(max(steps // 2, 1), steps + 1, batch), d.rng.integers(0, labels + 1, batch)]
    tensors = (
        Given(held(logits, d.dtype), d.dtype), Given(targets, I32),
        *(Given(l.astype(np.int32), I32, free=False) for l in lengths),
    )  # fmt: skip
    return (*tensors, d.normal(batch), 0) if grad else (*tensors, 0)


_CTC = ((4, 2, 2, 3), (9, 3, 4, 5), (12, 1, 1, 2))

MODULE = (
    *_NORMS,
    *_CONVOLUTIONS,
    *(record for rank in (1, 2, 3) for record in _pools(rank)),
    Call(
        "interpolate",
        FLOATS,
        tuple(lambda d, o=options: _resampled(d, o, False) for options in _INTERPOLATE),  # type: ignore[misc]
        units=64,
        scale="largest",
        largest=100,
    ),
    Call(
        "interpolate_backward",
        FLOATS,
        tuple(lambda d, o=options: _resampled(d, o, True) for options in _INTERPOLATE),  # type: ignore[misc]
        units=96,
        scale="largest",
        largest=100,
    ),
    # A coordinate is as exact as f32 is at the image's size, and the picture changes by a pixel's difference a pixel.
    Call(
        "float_grid_sample_2d",
        FLOATS,
        tuple(lambda d, o=options: _grid(d, o) for options in _GRIDS),  # type: ignore[misc]
        units=lambda x, g, o: 64.0 + 16.0 * max(x.shape[2:]),
        scale="largest",
        largest=100,
    ),
    Call(
        "attention",
        FLOATS,
        tuple(lambda d, r=row, c=i: _full_attention(d, r, c) for i, row in enumerate(_ATTENTION)),  # type: ignore[misc]
        units=lambda q, k, *_: 64.0 + k.shape[2] / 4,
        scale="largest",
        largest=100,
    ),
    Call(
        "attention_with_logsumexp",
        FLOATS,
        tuple(lambda d, r=row, c=i: _attention(d, r, c) for i, row in enumerate(_ATTENTION)),  # type: ignore[misc]
        units=lambda q, k, *_: 64.0 + k.shape[2] / 4,
        scale="largest",
        largest=100,
    ),
    Call(
        "attention_backward",
        FLOATS,
        tuple(lambda d, r=row, c=i: _attention_backward(d, r, c) for i, row in enumerate(_ATTENTION)),  # type: ignore[misc]
        units=lambda q, k, *_: 128.0 + k.shape[2],
        scale="largest",
        least=1.0,  # with one key, p·(g·V) and δ are of that size and cancel
        roundings=4,  # output is given rounded, and adds up with the gradient
        largest=100,
    ),
    Call(
        "ctc_loss",
        FLOATS,
        tuple(lambda d, s=sizes: _ctc(d, s, False) for sizes in _CTC),  # type: ignore[misc]
        units=lambda l, *_: 16.0 * l.shape[0],
        scale="largest",
        largest=1,
    ),
    Call(
        "ctc_loss_backward",
        FLOATS,
        tuple(lambda d, s=sizes: _ctc(d, s, True) for sizes in _CTC),  # type: ignore[misc]
        units=lambda l, *_: 64.0 * l.shape[0],
        scale="largest",
        largest=1,
    ),
)
