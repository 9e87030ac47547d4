"""Pooling by window tables: for every output, which elements of the (flattened) input its window holds.

The tables are computed on the host from sizes alone; dilation, padding, ceil_mode and adaptive windows differ only in
the table. Backends write their own kernels for speed; these bodies define what they must give.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, prod
from typing import Any

import numpy as np

from burn_wgpu.contract.defaults.common import bool_constant, cast, float_constant, index_constant, widen, zeros_like
from burn_wgpu.contract.options import IndexingUpdateOp, adaptive_window, pool_output_size
from burn_wgpu.contract.types import FloatPrim, IntPrim
from burn_wgpu.std.dtype import DType


@dataclass(frozen=True)
class Windows:
    """out: output sizes. index [outputs, taps]: flat input index of each tap, in scan order; taps outside the input
    point at the window's first element inside. inside [outputs, taps]. divisor [outputs]: what an average divides by.
    """

    out: tuple[int, ...]
    index: np.ndarray
    inside: np.ndarray
    divisor: np.ndarray


def windows(
    sizes: Sequence[int],
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
    count_include_pad: bool = True,
    operation: str = "pool",
) -> Windows:
    """The table of a pooling with a fixed kernel."""
    axes = []
    for n, k, s, p, d in zip(sizes, kernel_size, stride, padding, dilation, strict=True):
        out = pool_output_size(n, k, s, (p, p), d, ceil_mode, operation)
        places = np.arange(out)[:, None] * s - p + np.arange(k)[None, :] * d  # [out, k]
        inside = (places >= 0) & (places < n)
        # The overhang of ceil_mode lies beyond the padding and never counts.
        counted = places < n + p if count_include_pad else inside
        axes.append((out, places, inside, counted.sum(1)))
    return _combine(sizes, axes)


def adaptive_windows(sizes: Sequence[int], output_size: Sequence[int]) -> Windows:
    """The table of adaptive pooling: windows of unequal size that cover the input."""
    axes = []
    for n, out in zip(sizes, output_size, strict=True):
        ends = np.array([adaptive_window(i, n, out) for i in range(out)]).reshape(out, 2)
        length = ends[:, 1] - ends[:, 0]
        places = ends[:, :1] + np.arange(length.max(initial=0))[None, :]
        axes.append((out, places, places < ends[:, 1:], length))
    return _combine(sizes, axes)


def _combine(sizes: Sequence[int], axes: Sequence[tuple[int, np.ndarray, np.ndarray, np.ndarray]]) -> Windows:
    rank = len(axes)

    def spread(axis: int, table: np.ndarray) -> np.ndarray:
        """[out, k] → [1, out, 1, .., 1, k, 1]: outputs of all axes first, then taps."""
        shape = [1] * (2 * rank)
        shape[axis], shape[rank + axis] = table.shape
        return table.reshape(shape)

    flat: Any = 0
    inside: Any = True
    divisor: Any = 1
    for axis, (_, places, valid, count) in enumerate(axes):
        flat = flat * sizes[axis] + spread(axis, np.clip(places, 0, max(sizes[axis] - 1, 0)))
        inside = inside & spread(axis, valid)
        divisor = np.multiply.outer(divisor, count)
    out = tuple(axis[0] for axis in axes)
    taps = prod(axis[1].shape[1] for axis in axes)
    index = np.broadcast_to(flat, inside.shape).reshape(prod(out), taps)
    inside = inside.reshape(prod(out), taps)
    if taps:
        first = np.take_along_axis(index, inside.argmax(1)[:, None], 1)
        index = np.where(inside, index, first)
    return Windows(out, index, inside, np.reshape(divisor, -1))


def _planes(x: FloatPrim, rank: int) -> tuple[int, int]:
    return prod(x.shape[:-rank]), prod(x.shape[-rank:])


def _taken(b: Any, x: FloatPrim, table: Windows, fill: float) -> FloatPrim:
    """[.., space] → [planes, outputs, taps]: every window's elements, `fill` for taps outside the input."""
    planes, size = _planes(x, len(table.out))
    flat = b.float_reshape(x, (planes, size))
    taken = b.float_select(flat, 1, index_constant(b, table.index.reshape(-1), x.device))
    taken = b.float_reshape(taken, (planes, *table.index.shape))
    if table.inside.all():
        return taken
    return b.float_mask_fill(taken, bool_constant(b, ~table.inside[None], x.device), fill)


def _shaped(b: Any, values: FloatPrim, x: FloatPrim, table: Windows) -> FloatPrim:
    return b.float_reshape(values, (*x.shape[: -len(table.out)], *table.out))


# ------------------------------------------------------------------------------------------------------- averages


def average(b: Any, x: FloatPrim, table: Windows) -> FloatPrim:
    """The sum of each window's elements over the table's divisor; 0 for a window with nothing to count."""
    total = b.float_sum_dim(_taken(b, widen(b, x), table, 0.0), 2)
    divisor = np.maximum(table.divisor, 1).reshape(1, -1, 1)
    out = b.float_div(total, float_constant(b, divisor, total))
    return _shaped(b, cast(b, out, x.dtype), x, table)


def average_backward(b: Any, x: FloatPrim, output_grad: FloatPrim, table: Windows) -> FloatPrim:
    """Every window's gradient over its divisor, added to each of its elements."""
    planes, size = _planes(x, len(table.out))
    grad = widen(b, b.float_reshape(output_grad, (planes, prod(table.out), 1)))
    divisor = np.maximum(table.divisor, 1).reshape(1, -1, 1)
    spread = b.float_expand(b.float_div(grad, float_constant(b, divisor, grad)), (planes, *table.index.shape))
    if not table.inside.all():
        spread = b.float_mask_fill(spread, bool_constant(b, ~table.inside[None], x.device), 0.0)
    total = b.float_select_assign(
        zeros_like(b, grad, (planes, size)),
        1,
        index_constant(b, table.index.reshape(-1), x.device),
        b.float_reshape(spread, (planes, table.index.size)),
        IndexingUpdateOp.ADD,
    )
    return b.float_reshape(cast(b, total, x.dtype), x.shape)


# -------------------------------------------------------------------------------------------------------- maxima


def maximum(b: Any, x: FloatPrim, table: Windows) -> FloatPrim:
    """The greatest element of each window; NaN wins."""
    return _shaped(b, b.float_max_dim(_taken(b, x, table, -inf), 2), x, table)


def maximum_with_indices(b: Any, x: FloatPrim, table: Windows, out_dtype: DType) -> tuple[FloatPrim, IntPrim]:
    """The maxima and the flat index of each in its unpadded plane: the first maximum, or the first NaN."""
    taken = _taken(b, x, table, -inf)
    winner = b.float_argmax(taken, 2, out_dtype)  # [planes, outputs, 1]
    index = b.int_cast(index_constant(b, table.index[None], x.device), out_dtype)
    index = b.int_gather(2, b.int_expand(index, taken.shape), winner)
    shape = (*x.shape[: -len(table.out)], *table.out)
    return b.float_reshape(b.float_gather(2, taken, winner), shape), b.int_reshape(index, shape)


def maximum_backward(b: Any, x: FloatPrim, output_grad: FloatPrim, indices: IntPrim, held: np.ndarray) -> FloatPrim:
    """Each gradient is added at its window's index, if the window holds an element."""
    planes, size = _planes(x, held.ndim)
    outputs = held.size
    grad = widen(b, b.float_reshape(output_grad, (planes, outputs)))
    if not held.all():
        grad = b.float_mask_fill(grad, bool_constant(b, ~held.reshape(1, -1), x.device), 0.0)
    total = b.float_scatter(
        1,
        zeros_like(b, grad, (planes, size)),
        b.int_reshape(indices, (planes, outputs)),
        grad,
        IndexingUpdateOp.ADD,
    )
    return b.float_reshape(cast(b, total, x.dtype), x.shape)


def held(
    sizes: Sequence[int],
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
    operation: str,
) -> np.ndarray:
    """[outputs ..]: whether a window holds an element; in wide padding or between dilated taps it may hold none."""
    found: Any = True
    for n, k, s, p, d in zip(sizes, kernel_size, stride, padding, dilation, strict=True):
        out = pool_output_size(n, k, s, (p, p), d, ceil_mode, operation)
        places = np.arange(out)[:, None] * s - p + np.arange(k)[None, :] * d
        found = np.logical_and.outer(found, ((places >= 0) & (places < n)).any(1))
    return np.asarray(found)


# -------------------------------------------------------------------------------------------------- one dimension


def with_height(b: Any, x: FloatPrim) -> FloatPrim:
    """[N, C, L] → [N, C, 1, L]."""
    return b.float_reshape(x, (*x.shape[:-1], 1, x.shape[-1]))


def without_height(b: Any, x: FloatPrim) -> FloatPrim:
    """[N, C, 1, L] → [N, C, L]."""
    return b.float_reshape(x, (*x.shape[:-2], x.shape[-1]))
