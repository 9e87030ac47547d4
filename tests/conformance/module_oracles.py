"""What module and indexing functions must give, by PyTorch in float64 or by NumPy: a second opinion on the reference.

`ORACLES[name]` takes the arguments of the contract function `name` with NumPy arrays for tensors and gives its results
as arrays. Where PyTorch's own options are narrower than the contract's (asymmetric padding, padding beyond half a
window, dilated means), the function is written with PyTorch's plain parts and its gradient taken by autograd.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from math import inf, prod
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from burn_wgpu.contract.options import (
    AttentionModuleOptions,
    ConvOptions,
    ConvTransposeOptions,
    DeformConvOptions,
    GridSampleOptions,
    IndexingUpdateOp,
    InterpolateMode,
    InterpolateOptions,
    NearestRoundingMode,
    PadMode,
    UnfoldOptions,
)
from burn_wgpu.std.slice import Slice
from tests.conformance.module_cases import pool_outputs

Array = np.ndarray
Oracle = Callable[..., Any]


class Inapplicable(Exception):
    """These options have no counterpart in the oracle."""


def t(array: Array | None) -> Any:
    return None if array is None else torch.from_numpy(np.ascontiguousarray(array))


def gradients(function: Callable[..., torch.Tensor], grad: Array, *inputs: Array) -> list[Array]:
    """Of each input, for a gradient of the function's result."""
    leaves = [t(x).requires_grad_() for x in inputs]
    out = function(*leaves)
    found = torch.autograd.grad(out, leaves, t(grad), allow_unused=True)
    return [np.zeros_like(x) if g is None else g.numpy() for x, g in zip(inputs, found, strict=True)]


# ---------------------------------------------------------------------------------------------------- convolution


def _flat_pairs(pairs: Any) -> list[int]:
    """Pads as F.pad takes them: the last axis first."""
    return [n for begin, end in reversed(list(pairs)) for n in (begin, end)]


def _conv(x: Any, weight: Any, bias: Any, o: ConvOptions) -> Any:
    function = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}[len(o.stride)]
    return function(F.pad(x, _flat_pairs(o.padding)), weight, bias, o.stride, 0, o.dilation, o.groups)


def _conv_transpose(x: Any, weight: Any, bias: Any, o: ConvTransposeOptions) -> Any:
    """All of it, then cut and extended: padding_out may exceed the stride here."""
    function = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}[len(o.stride)]
    whole = function(x, weight, None, o.stride, 0, 0, o.groups, o.dilation)
    out = F.pad(whole, _flat_pairs((-p, more - p) for p, more in zip(o.padding, o.padding_out, strict=True)))
    return out if bias is None else out + bias.reshape(-1, *[1] * len(o.stride))


def _convolutions(rank: int) -> dict[str, Oracle]:
    def bias_grad(x: Array, bias: Array, grad: Array) -> Array:
        return grad.sum((0, *range(2, rank + 2)))

    plain, back = f"conv{rank}d", f"conv_transpose{rank}d"

    def transposed_x(weight: Array, grad: Array, o: ConvTransposeOptions) -> Array:
        sizes = zip(grad.shape[2:], weight.shape[2:], o.stride, o.padding, o.padding_out, o.dilation, strict=True)
        space = [(n + 2 * p - e * (k - 1) - more - 1) // s + 1 for n, k, s, p, more, e in sizes]
        zeros = np.zeros((grad.shape[0], weight.shape[0], *space))
        return gradients(lambda x: _conv_transpose(x, t(weight), None, o), grad, zeros)[0]

    return {
        plain: lambda x, w, b, o: _conv(t(x), t(w), t(b), o).numpy(),
        f"{plain}_x_backward": lambda x, w, g, o: gradients(lambda x: _conv(x, t(w), None, o), g, x)[0],
        f"{plain}_weight_backward": lambda x, w, g, o: gradients(lambda w: _conv(t(x), w, None, o), g, w)[0],
        f"{plain}_bias_backward": bias_grad,
        back: lambda x, w, b, o: _conv_transpose(t(x), t(w), t(b), o).numpy(),
        f"{back}_x_backward": transposed_x,
        f"{back}_weight_backward": lambda x, w, g, o: gradients(lambda w: _conv_transpose(t(x), w, None, o), g, w)[0],
        f"{back}_bias_backward": bias_grad,
    }


def _deform(x: Any, offset: Any, weight: Any, mask: Any, bias: Any, o: DeformConvOptions) -> Any:
    """Every tap read by its four neighbours of a framed image, then one product a group; autograd does the rest."""
    batch, channels, height, width = x.shape
    (kh, kw), (oh, ow), shared = weight.shape[2:], offset.shape[2:], o.offset_groups
    moved = offset.reshape(batch, shared, kh, kw, 2, oh, ow)
    rows = torch.arange(oh)[:, None] * o.stride[0] - o.padding[0]
    columns = torch.arange(ow)[None, :] * o.stride[1] - o.padding[1]
    y = rows + torch.arange(kh).reshape(-1, 1, 1, 1) * o.dilation[0] + moved[:, :, :, :, 0]
    z = columns + torch.arange(kw).reshape(-1, 1, 1) * o.dilation[1] + moved[:, :, :, :, 1]
    groups = x.reshape(batch, shared, channels // shared, height, width)
    n, g = torch.arange(batch).reshape(batch, 1, 1, 1, 1, 1), torch.arange(shared).reshape(shared, 1, 1, 1, 1)
    taps: Any = 0.0
    for dy, dx in ((0, 0), (0, 1), (1, 0), (1, 1)):
        at_y, at_x = y.floor().detach() + dy, z.floor().detach() + dx
        inside = (at_y >= 0) & (at_y < height) & (at_x >= 0) & (at_x < width)
        share = (1 - (y - at_y).abs()) * (1 - (z - at_x).abs())
        row, column = (p.clamp(0, size - 1).long() for p, size in ((at_y, height), (at_x, width)))
        read = groups[n, g, :, row, column]  # [N, shared, kh, kw, oh, ow, C / shared]
        taps = taps + torch.where(inside, share, torch.zeros_like(share))[..., None] * read
    if mask is not None:
        taps = taps * mask.reshape(batch, shared, kh, kw, oh, ow)[..., None]
    whole = taps.permute(0, 1, 6, 2, 3, 4, 5).reshape(
        batch, o.weight_groups, channels // o.weight_groups, kh * kw, oh, ow
    )
    split = weight.reshape(o.weight_groups, -1, weight.shape[1], kh * kw)
    out = torch.einsum("ngcthw,gfct->ngfhw", whole, split).reshape(batch, weight.shape[0], oh, ow)
    return out if bias is None else out + bias.reshape(-1, 1, 1)


def _deform_backward(*args: Any) -> list[Array | None]:
    *tensors, grad, options = args
    given = [i for i, a in enumerate(tensors) if a is not None]

    def apply(*leaves: Any) -> Any:
        full: list[Any] = [None] * 5
        for i, leaf in zip(given, leaves, strict=True):
            full[i] = leaf
        return _deform(*full, options)

    found = dict(zip(given, gradients(apply, grad, *(tensors[i] for i in given)), strict=True))
    return [found.get(i) for i in range(5)]


def _unfold(x: Any, kernel: Any, o: UnfoldOptions) -> Any:
    return F.unfold(x, tuple(kernel), o.dilation, o.padding, o.stride)


# -------------------------------------------------------------------------------------------------------- pooling


def _tuple(value: Any) -> tuple[int, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _windows(x: Any, table: Any, ceil: bool, fill: float) -> Any:
    """[N, C, outputs .., taps]: every window of x in a frame of `fill` that is wide enough for all."""
    kernel, stride, padding, dilation = (_tuple(row) for row in table)
    rank = x.ndim - 2
    for axis in range(rank):
        n, k, s, p, e = x.shape[2 + axis], kernel[axis], stride[axis], padding[axis], dilation[axis]
        out = pool_outputs(n, k, s, p, e, ceil)
        places = torch.arange(out)[:, None] * s - p + torch.arange(k)[None, :] * e
        frame = 1 + int(max(p, places.max() - n + 1))
        wide = F.pad(x, [0, 0] * (x.ndim - 3 - axis) + [frame, frame], value=fill)
        taken = wide.index_select(2 + axis, (places + frame).reshape(-1))
        x = taken.unflatten(2 + axis, (out, k)).movedim(3 + axis, -1)
    return x.flatten(2 + rank)


def _average(x: Any, *table: Any) -> Any:
    *window, include_pad, ceil = table
    if include_pad:
        counts = _counted(x.shape[2:], window, ceil)
    else:
        counts = _windows(torch.ones_like(x), window, ceil, 0.0).sum(-1)
    return _windows(x, window, ceil, 0.0).sum(-1) / counts.clamp(min=1)


def _counted(sizes: Any, window: Any, ceil: bool) -> Any:
    """[outputs ..]: how many elements of the padded input each window holds."""
    total: Any = torch.ones(())
    for n, k, s, p, e in zip(sizes, *(_tuple(row) for row in window), strict=True):
        places = torch.arange(pool_outputs(n, k, s, p, e, ceil))[:, None] * s + torch.arange(k)[None, :] * e
        total = total[..., None] * (places < n + 2 * p).sum(1).double()
    return total


def _maximum(x: Array, *table: Any) -> Array:
    *window, ceil = table
    return _windows(t(x), window, ceil, -inf).amax(-1).numpy()


def _maximum_with_indices(x: Array, *table: Any) -> tuple[Array, Array | None]:
    """The first maximum or NaN; windows without an element, whose index is our own choice, are not judged."""
    *window, ceil, _ = table
    values = _windows(t(x), window, ceil, -inf).numpy()
    numbers = np.broadcast_to(np.arange(prod(x.shape[2:]), dtype=np.float64).reshape(x.shape[2:]), x.shape).copy()
    places = _windows(t(numbers), window, ceil, -1.0).numpy()
    if (places < 0).all(-1).any():
        raise Inapplicable
    # In this order: padding, −∞, numbers, +∞, NaN; argmax takes the first of equal ones.
    ranked = np.where(np.isnan(values), np.inf, np.clip(values, -1e300, 1e300))
    first = np.where(places < 0, -np.inf, ranked).argmax(-1)[..., None]
    best = np.take_along_axis(values, first, -1)[..., 0]
    return best, np.take_along_axis(places, first, -1)[..., 0].astype(np.int64)


def _maximum_backward(x: Array, *rest: Any) -> Array:
    *window, ceil, grad, indices = rest
    places = _windows(t(np.zeros_like(x)), window, ceil, -1.0).numpy()
    if (places < 0).all(-1).any():
        raise Inapplicable
    total = np.zeros((*x.shape[:2], prod(x.shape[2:])))
    for n, c in np.ndindex(*x.shape[:2]):
        np.add.at(total[n, c], indices[n, c].reshape(-1), grad[n, c].reshape(-1))
    return total.reshape(x.shape)


def _adaptive(rank: int) -> Callable[[Any, Any], Any]:
    function = {1: F.adaptive_avg_pool1d, 2: F.adaptive_avg_pool2d, 3: F.adaptive_avg_pool3d}[rank]

    def apply(x: Any, out: Any) -> Any:
        if not x.shape[0]:
            return torch.zeros((*x.shape[:2], *_tuple(out)), dtype=x.dtype)
        return function(x, out)

    return apply


def _pools(rank: int) -> dict[str, Oracle]:
    adaptive = _adaptive(rank)

    def adaptive_grad(x: Array, grad: Array) -> Array:
        return np.zeros_like(x) if x.size == 0 else gradients(lambda x: adaptive(x, grad.shape[2:]), grad, x)[0]

    return {
        f"avg_pool{rank}d": lambda x, *table: _average(t(x), *table).numpy(),
        f"avg_pool{rank}d_backward": lambda x, g, *table: gradients(lambda x: _average(x, *table), g, x)[0],
        f"max_pool{rank}d": _maximum,
        f"max_pool{rank}d_with_indices": _maximum_with_indices,
        f"max_pool{rank}d_with_indices_backward": _maximum_backward,
        f"adaptive_avg_pool{rank}d": lambda x, out: adaptive(t(x), out).numpy(),
        f"adaptive_avg_pool{rank}d_backward": adaptive_grad,
    }


# ----------------------------------------------------------------------------------------------------- resampling


def _source(i: int, size: int, out: int, scale: float | None, kind: str, part: tuple[float, float]) -> float:
    """Where output i of an axis lies in the input, one coordinate at a time; products before quotients."""
    if kind == "pytorch_half_pixel":
        if out == 1:
            return 0.0
        kind = "half_pixel"
    if kind == "align_corners":
        return 0.0 if out == 1 else i * (size - 1) / (out - 1)
    if kind == "tf_crop_and_resize":
        low, high = part
        if out == 1:
            return (low + high) / 2 * (size - 1)
        return low * (size - 1) + i * (high - low) * (size - 1) / (out - 1)
    place = {"half_pixel": i + 0.5, "asymmetric": float(i), "half_pixel_symmetric": i + 0.5}[kind]
    if kind == "half_pixel_symmetric" and scale is not None:
        place += (size * scale - out) / 2
    place = place * size / out if scale is None else place / scale
    return place if kind == "asymmetric" else place - 0.5


def _keys(x: float, a: float) -> float:
    x = abs(x)
    if x <= 1:
        return (a + 2) * x**3 - (a + 3) * x**2 + 1
    return a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a if x < 2 else 0.0


def _lanczos(x: float) -> float:
    if x == 0:
        return 1.0
    return 3 * math.sin(math.pi * x) * math.sin(math.pi * x / 3) / (math.pi * x) ** 2 if abs(x) < 3 else 0.0


def _row(x: float, size: int, o: InterpolateOptions) -> Array:
    """The weight of every input element of an axis for the source coordinate x."""
    row, last = np.zeros(size), size - 1
    if o.mode.is_nearest:
        rounding = {
            NearestRoundingMode.FLOOR: math.floor(x),
            NearestRoundingMode.CEIL: math.ceil(x),
            NearestRoundingMode.ROUND_PREFER_FLOOR: math.ceil(x - 0.5),
            NearestRoundingMode.ROUND_PREFER_CEIL: math.floor(x + 0.5),
        }
        row[min(max(rounding[o.nearest_mode], 0), last)] = 1.0
    elif o.mode is InterpolateMode.BILINEAR:
        low = min(max(math.floor(x), 0), last)
        weight = max(x - low, 0.0)
        row[low] += 1 - weight
        row[min(low + 1, last)] += weight
    elif o.mode is InterpolateMode.BICUBIC:
        for tap in range(math.floor(x) - 1, math.floor(x) + 3):
            if 0 <= tap <= last or not o.cubic_options.exclude_outside:
                row[min(max(tap, 0), last)] += _keys(x - tap, o.cubic_options.a)
        if o.cubic_options.exclude_outside:
            if row.sum() == 0:
                row[0 if x < 0 else last] = 1.0
            row /= row.sum()
    else:
        for tap in range(math.floor(x) - 2, math.floor(x) + 4):
            if 0 <= tap <= last:
                row[tap] = _lanczos(x - tap)
        row = row / row.sum() if row.sum() else row
    return row


def _resampling(sizes: Any, out: Any, o: InterpolateOptions) -> tuple[list[Array], Array]:
    """The matrix [out, size] of each axis, and where a crop lies outside the image."""
    transform, scales = o.coordinate_transform, o.scale_factor or (None, None)
    parts = transform.roi or ((0.0, 0.0), (0.0, 0.0))
    places = [
        [_source(i, n, m, scale, transform.kind, part) for i in range(m)]
        for n, m, scale, part in zip(sizes, out, scales, parts, strict=True)
    ]
    outside = [
        np.array([transform.kind == "tf_crop_and_resize" and not 0 <= x <= n - 1 for x in axis])
        for n, axis in zip(sizes, places, strict=True)
    ]
    matrices = [np.stack([_row(x, n, o) for x in axis]) for n, axis in zip(sizes, places, strict=True)]
    return matrices, outside[0][:, None] | outside[1][None, :]


def _resampled(x: Array, out: Any, o: InterpolateOptions) -> Array:
    (rows, columns), outside = _resampling(x.shape[2:], out, o)
    return np.where(outside, o.coordinate_transform.extrapolation_value, rows @ x @ columns.T)


def _resampled_backward(x: Array, grad: Array, out: Any, o: InterpolateOptions) -> Array:
    (rows, columns), outside = _resampling(x.shape[2:], out, o)
    return rows.T @ np.where(outside, 0.0, grad) @ columns


def _interpolate(x: Any, out: Any, o: InterpolateOptions) -> Any:
    kind, mode = o.coordinate_transform.kind, o.mode
    if o.scale_factor is not None or not x.shape[0]:
        raise Inapplicable
    if mode in (InterpolateMode.NEAREST, InterpolateMode.NEAREST_EXACT):
        names = {
            ("asymmetric", NearestRoundingMode.FLOOR): "nearest",
            ("half_pixel", NearestRoundingMode.ROUND_PREFER_CEIL): "nearest-exact",
        }
        name = names.get((kind, o.nearest_mode))
        if name is None:
            raise Inapplicable
        return F.interpolate(x, tuple(out), mode=name)
    if mode is InterpolateMode.LANCZOS3 or kind not in ("half_pixel", "align_corners"):
        raise Inapplicable
    if mode is InterpolateMode.BICUBIC and (o.cubic_options.exclude_outside or o.cubic_options.a != -0.75):
        raise Inapplicable
    return F.interpolate(x, tuple(out), mode=mode.value, align_corners=kind == "align_corners")


def _interpolated(x: Array, out: Any, o: InterpolateOptions) -> Array:
    """By PyTorch where it has the options, by the definition else."""
    try:
        return _interpolate(t(x), out, o).numpy()
    except Inapplicable:
        return _resampled(x, out, o)


def _interpolated_backward(x: Array, grad: Array, out: Any, o: InterpolateOptions) -> Array:
    try:
        return gradients(lambda x: _interpolate(x, out, o), grad, x)[0]
    except Inapplicable:
        return _resampled_backward(x, grad, out, o)


def _grid_sample(x: Array, grid: Array, o: GridSampleOptions) -> Array:
    names = {"bilinear": "bilinear", "bicubic": "bicubic", "nearest": "nearest", "nearest_exact": "nearest"}
    if o.mode.value not in names or not x.shape[0]:
        raise Inapplicable
    return F.grid_sample(t(x), t(grid), names[o.mode.value], o.padding_mode.value, o.align_corners).numpy()


# ----------------------------------------------------------------------------------------- norms, linear, attention


def _batch_norm_train(x: Array, gamma: Array, beta: Array, eps: float) -> tuple[Array, ...]:
    axes = tuple(a for a in range(x.ndim) if a != 1)
    if x.size // x.shape[1] == 1:  # PyTorch refuses one element a channel
        raise Inapplicable
    out = F.batch_norm(t(x), None, None, t(gamma), t(beta), True, 0.1, eps).numpy()
    return out, x.mean(axes), x.var(axes)


def _batch_norm_backward(x: Array, gamma: Array, mean: Array, variance: Array, eps: float, g: Array) -> list[Array]:
    if x.size // x.shape[1] == 1:
        raise Inapplicable
    apply = lambda x, gamma, beta: F.batch_norm(x, None, None, gamma, beta, True, 0.1, eps)
    return gradients(apply, g, x, gamma, np.zeros_like(gamma))


def _layer_norm(x: Array, gamma: Array, beta: Array | None, eps: float) -> Array:
    return F.layer_norm(t(x), (x.shape[-1],), t(gamma), t(beta), eps).numpy()


def _scores(query: Any, key: Any, o: AttentionModuleOptions) -> Any:
    keys = key.repeat_interleave(query.shape[1] // key.shape[1], 1)
    scale = query.shape[-1] ** -0.5 if o.scale is None else o.scale
    scores = query @ keys.transpose(-1, -2) * scale
    if o.softcap is not None:
        scores = o.softcap * torch.tanh(scores / o.softcap)
    if o.is_causal:
        queries, count = scores.shape[-2:]
        seen = torch.ones(queries, count, dtype=torch.bool).tril(o.causal_alignment.offset(queries, count))
        scores = scores.masked_fill(~seen, -inf)
    return scores


def _attention(q: Array, k: Array, v: Array, mask: Array | None, bias: Array | None, o: Any) -> Array:
    scores = _scores(t(q), t(k), o)
    if mask is not None:
        scores = scores.masked_fill(t(mask.astype(bool)), -inf)
    if bias is not None:
        scores = scores + t(bias)
    shares = torch.nan_to_num(torch.softmax(scores, -1), nan=0.0)
    return (shares @ t(v).repeat_interleave(q.shape[1] // k.shape[1], 1)).numpy()


def _logsumexp(q: Array, k: Array, v: Array, o: Any) -> tuple[Array, Array | None]:
    """The logsumexp of a query that sees nothing is only promised to be finite."""
    total = torch.logsumexp(_scores(t(q), t(k), o), -1).numpy()
    return _attention(q, k, v, None, None, o), None if np.isinf(total).any() else total


def _attention_backward(q: Array, k: Array, v: Array, out: Array, lse: Array, g: Array, o: Any) -> list[Array]:
    def apply(q: Any, k: Any, v: Any) -> Any:
        scores = _scores(q, k, o)
        hidden = torch.isinf(scores).all(-1, keepdim=True)  # a query that sees nothing gives 0, and no NaN goes back
        shares = torch.where(hidden, 0.0, torch.softmax(torch.where(hidden, 0.0, scores), -1))
        return shares @ v.repeat_interleave(q.shape[1] // k.shape[1], 1)

    return gradients(apply, g, q, k, v)


def _ctc_args(lp: Any, targets: Array, *lengths: Array) -> Any:
    return lp, t(targets.astype(np.int64)), *(t(l.astype(np.int64)) for l in lengths)


def _ctc_loss(lp: Array, targets: Array, ins: Array, outs: Array, blank: int) -> Array:
    return F.ctc_loss(*_ctc_args(t(lp), targets, ins, outs), blank, "none", False).numpy()


def _ctc_loss_backward(lp: Array, targets: Array, ins: Array, outs: Array, grad: Array, blank: int) -> Array:
    loss = lambda lp: F.ctc_loss(*_ctc_args(lp, targets, ins, outs), blank, "none", True)
    return gradients(loss, grad, lp)[0]


# -------------------------------------------------------------------------------------------------------- indexing


def _update(array: Array, update: IndexingUpdateOp, at: Any, values: Array) -> Array:
    if array.dtype == bool:
        either = update in (IndexingUpdateOp.ADD, IndexingUpdateOp.MAX)
        ufunc: Any = np.logical_or if either else np.logical_and
    else:
        ufunc = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}.get(update.value)
    out = array.copy()
    with np.errstate(all="ignore"):
        if update is IndexingUpdateOp.ASSIGN:
            out[at] = values
        else:
            ufunc.at(out, at, values)
    return out


def _open(shape: tuple[int, ...], dim: int, indices: Array) -> tuple[Any, ...]:
    grid = list(np.ogrid[tuple(slice(n) for n in indices.shape)])
    grid[dim] = indices.astype(np.int64)
    return tuple(grid)


def _slices(slices: list[Slice], shape: tuple[int, ...]) -> tuple[Any, ...]:
    """As Burn counts: a negative step walks the range [start, end) from its last element down."""
    lists = []
    for s, n in zip(slices, shape, strict=True):
        start = s.start + n if s.start < 0 else s.start
        end = n if s.end is None else s.end + n if s.end < 0 else s.end
        start, end = min(max(start, 0), n), min(max(end, 0), n)
        step = s.step
        found = list(range(start, end, step)) if step > 0 else list(range(end - 1, start - 1, step))
        lists.append(np.array(found, np.int64))
    return np.ix_(*lists)


def _pad(x: Array, pads: Any, mode: PadMode) -> Array:
    if mode.kind == "constant":
        return np.pad(x, pads, constant_values=x.dtype.type(mode.value))
    return np.pad(x, pads, mode="edge" if mode.kind == "edge" else "reflect")


def _assign(x: Array, slices: list[Slice], values: Array) -> Array:
    out = x.copy()
    out[_slices(slices, x.shape)] = values
    return out


def _unfolded(x: Array, dim: int, size: int, step: int) -> Array:
    views = np.lib.stride_tricks.sliding_window_view(x, size, dim)
    return views[(slice(None),) * dim + (slice(None, None, step),)]


def _indexing(kind: str) -> dict[str, Oracle]:
    table: dict[str, Oracle] = {
        "select": lambda x, dim, i: x.take(i.astype(np.int64), dim),
        "gather": lambda dim, x, i: x[_open(x.shape, dim, i)],
        "gather_nd": lambda x, i: x[tuple(np.moveaxis(i.astype(np.int64), -1, 0))],
        "select_assign": lambda x, dim, i, v, u: np.moveaxis(
            _update(np.moveaxis(x, dim, 0).copy(), u, i.astype(np.int64), np.moveaxis(v, dim, 0)), 0, dim
        ),
        "scatter": lambda dim, x, i, v, u: _update(x, u, _open(x.shape, dim, i), v),
        "scatter_nd": lambda x, i, v, u: _update(x, u, tuple(np.moveaxis(i.astype(np.int64), -1, 0)), v),
        "slice": lambda x, s: x[_slices(s, x.shape)],
        "slice_assign": _assign,
        "cat": lambda parts, dim: np.concatenate(parts, dim),
        "unfold": _unfolded,
        "repeat_dim": lambda x, dim, n: np.concatenate([x] * n, dim) if n else x.take([], dim),
        "mask_select": lambda x, m: x[m.astype(bool)],
        "pad": _pad,
    }
    return {f"{kind}_{name}": oracle for name, oracle in table.items()}


def _softmax(sign: int, log: bool) -> Oracle:
    function: Any = torch.log_softmax if log else torch.softmax
    return lambda x, dim: function(sign * t(x), dim).numpy()


ORACLES: dict[str, Oracle] = {
    **{name: oracle for rank in (1, 2, 3) for name, oracle in _convolutions(rank).items()},
    **{name: oracle for rank in (1, 2, 3) for name, oracle in _pools(rank).items()},
    **{name: oracle for kind in ("float", "int", "bool") for name, oracle in _indexing(kind).items()},
    "unfold4d": lambda x, k, o: _unfold(t(x), k, o).numpy(),
    "fold4d": lambda g, size, k, o: F.fold(t(g), tuple(size), tuple(k), o.dilation, o.padding, o.stride).numpy(),
    "interpolate": _interpolated,
    "interpolate_backward": _interpolated_backward,
    "deform_conv2d": lambda *args: _deform(*(t(a) for a in args[:-1]), args[-1]).numpy(),
    "deform_conv2d_backward": _deform_backward,
    "float_grid_sample_2d": _grid_sample,
    "batch_norm": lambda x, ga, be, m, v, eps: F.batch_norm(t(x), t(m), t(v), t(ga), t(be), False, 0.1, eps).numpy(),
    "batch_norm_train": _batch_norm_train,
    "batch_norm_train_backward": _batch_norm_backward,
    "layer_norm": _layer_norm,
    "linear": lambda x, w, b: F.linear(t(x), t(w).T, t(b)).numpy(),
    "linear_x_backward": lambda w, g: g @ w.T,
    "linear_weight_backward": lambda x, g: x.reshape(-1, x.shape[-1]).T @ g.reshape(-1, g.shape[-1]),
    "linear_bias_backward": lambda g: g.reshape(-1, g.shape[-1]).sum(0),
    "embedding": lambda w, i: w[i.astype(np.int64)],
    "embedding_backward": lambda w, g, i: _update(
        np.zeros_like(w), IndexingUpdateOp.ADD, i.astype(np.int64).reshape(-1), g.reshape(-1, w.shape[1])
    ),
    "attention": _attention,
    "attention_with_logsumexp": _logsumexp,
    "attention_backward": _attention_backward,
    "ctc_loss": _ctc_loss,
    "ctc_loss_backward": _ctc_loss_backward,
    "float_matmul": np.matmul,
    "int_matmul": np.matmul,
    "softmax": _softmax(1, False),
    "log_softmax": _softmax(1, True),
    "softmin": _softmax(-1, False),
    "bool_argwhere": lambda m, _: np.argwhere(m.astype(bool)),
}
