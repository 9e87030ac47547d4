"""Reductions, running sums, order."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from burn_wgpu import Tensor, cat, iinfo
from tests.onnx_suite.interpreter import Node, iota, number, numbers, operator


def _axes(node: Node, x: Tensor, axes: Tensor | None) -> list[int]:
    """The axes of a reduction: an attribute in old opsets, an input in new ones; none mean all of them."""
    found = node.get("axes") if axes is None else numbers(axes)
    if not found:
        return [] if node.get("noop_with_empty_axes", 0) else list(range(x.rank))
    return [axis % x.rank for axis in found]


def _reduction(function: Callable[[Tensor, list[int]], Tensor]) -> Callable[..., Tensor]:
    """`function` reduces axes, which it keeps with size 1."""

    def run(node: Node, x: Tensor, axes: Tensor | None = None) -> Tensor:
        wanted = _axes(node, x, axes)
        found = function(x, wanted)
        if node.get("keepdims", 1):
            return found
        return found.reshape(tuple(n for i, n in enumerate(x.shape) if i not in wanted))

    return run


def _extreme(name: str) -> Callable[[Tensor, list[int]], Tensor]:
    def reduce(x: Tensor, axes: list[int]) -> Tensor:
        if x.kind == "bool":
            return x.any(axes, keepdim=True) if name == "max" else x.all(axes, keepdim=True)
        if axes and not prod(x.shape[axis] for axis in axes):
            # Of nothing: the identity of max or min.
            if x.kind == "float":
                value: Any = float("-inf") if name == "max" else float("inf")
            else:
                value = iinfo(x.dtype).min if name == "max" else iinfo(x.dtype).max
            shape = tuple(1 if i in axes else n for i, n in enumerate(x.shape))
            return Tensor.full(shape, value, x.device, x.dtype)
        found: Tensor = getattr(x, name)(axes, keepdim=True)
        return found

    return reduce


def _sum(x: Tensor, axes: list[int]) -> Tensor:
    return x.sum(axes, keepdim=True)


def _log_sum_exp(x: Tensor, axes: list[int]) -> Tensor:
    top = _extreme("max")(x, axes)
    top = top.mask_fill(top.is_inf(), 0.0)
    return (x - top).exp().sum(axes, keepdim=True).log() + top


def _l2(x: Tensor, axes: list[int]) -> Tensor:
    squares = x.square().sum(axes, keepdim=True)
    return squares.sqrt() if x.kind == "float" else squares.float().sqrt().cast(x.dtype)


_REDUCTIONS: dict[str, Callable[[Tensor, list[int]], Tensor]] = {
    "ReduceSum": _sum,
    "ReduceMean": lambda x, axes: x.mean(axes, keepdim=True),
    "ReduceProd": lambda x, axes: x.prod(axes, keepdim=True),
    "ReduceMax": _extreme("max"),
    "ReduceMin": _extreme("min"),
    "ReduceL1": lambda x, axes: x.abs().sum(axes, keepdim=True),
    "ReduceL2": _l2,
    "ReduceSumSquare": lambda x, axes: x.square().sum(axes, keepdim=True),
    "ReduceLogSum": lambda x, axes: x.sum(axes, keepdim=True).log(),
    "ReduceLogSumExp": _log_sum_exp,
}

for _operator, _function in _REDUCTIONS.items():
    operator(_operator)(_reduction(_function))


@operator("ArgMax", "ArgMin")
def arg_extreme(node: Node, x: Tensor) -> Tensor:
    axis = node.get("axis", 0) % x.rank
    name = "argmax" if node.proto.op_type == "ArgMax" else "argmin"
    if node.get("select_last_index", 0):
        found = -getattr(x.flip(axis), name)(axis) + (x.shape[axis] - 1)
    else:
        found = getattr(x, name)(axis)
    return (found if node.get("keepdims", 1) else found.squeeze_dim(axis)).cast("i64")


def _running(name: str, first: int) -> Callable[[Node, Tensor, Tensor], Tensor]:
    def run(node: Node, x: Tensor, axis: Tensor) -> Tensor:
        dim, reverse = number(axis) % x.rank, node.get("reverse", 0)
        if reverse:
            x = x.flip(dim)
        found: Tensor = getattr(x, name)(dim)
        if node.get("exclusive", 0):
            start = x.narrow(dim, 0, 1).full_like(first)
            found = cat([start, found.slice_dim(dim, (0, x.shape[dim] - 1))], dim)
        return found.flip(dim) if reverse else found

    return run


operator("CumSum")(_running("cumsum", 0))
operator("CumProd")(_running("cumprod", 1))


@operator("TopK")
def topk(node: Node, x: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
    axis, count = node.get("axis", -1), number(k)
    if node.get("largest", 1):
        values, indices = x.topk_with_indices(count, axis)
    else:
        values, indices = x.sort_with_indices(axis)
        values, indices = values.slice_dim(axis, (0, count)), indices.slice_dim(axis, (0, count))
    return values, indices.cast("i64")


@operator("Unique")
def unique(node: Node, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Slices along an axis are rows: sorted stably by one column after another, equal neighbours are one group."""
    axis = node.get("axis")
    rows = x.reshape(x.size, 1) if axis is None else x.movedim(axis, 0)
    rest = rows.shape[1:]
    rows = rows.reshape(rows.shape[0], -1)
    count, width = rows.shape
    order = iota(count, x)
    for column in reversed(range(width)):
        order = order.take(0, rows.narrow(1, column, 1).squeeze_dim(1).take(0, order).argsort(0))
    ordered = rows.take(0, order)
    new = ordered.slice_dim(0, (1, count)).not_equal(ordered.slice_dim(0, (0, count - 1))).any(1)
    group = cat([Tensor.zeros((1,), x.device, "i32"), new.int().cumsum(0)], 0)
    groups = number(group.slice_dim(0, -1)) + 1
    # The sort is stable: the first of a group stands first.
    starts = cat([Tensor.full((1,), True, x.device), new], 0).argwhere().squeeze_dim(1)
    first = order.take(0, starts)
    inverse = group.zeros_like().scatter(0, order, group, "assign")
    sizes = Tensor.zeros((groups,), x.device, "i32").scatter(0, group, group.ones_like(), "add")
    if not node.get("sorted", 1):
        by_place = first.argsort(0)
        rank = by_place.zeros_like().scatter(0, by_place, iota(groups, x), "assign")
        first, sizes, inverse = first.take(0, by_place), sizes.take(0, by_place), rank.take(0, inverse)
    values = rows.take(0, first)
    values = values.squeeze_dim(1) if axis is None else values.reshape(groups, *rest).movedim(0, axis)
    return values, first.cast("i64"), inverse.cast("i64"), sizes.cast("i64")


# ---------------------------------------------------------------------------------------------- normalisations


@operator("LpNormalization")
def lp_normalization(node: Node, x: Tensor) -> Tensor:
    axis = node.get("axis", -1)
    norm = x.abs().sum_dim(axis) if node.get("p", 2) == 1 else x.square().sum_dim(axis).sqrt()
    return x / norm.mask_fill(norm.equal(0.0), 1.0)


@operator("MeanVarianceNormalization")
def mean_variance_normalization(node: Node, x: Tensor) -> Tensor:
    axes = node.get("axes", [0, 2, 3])
    centred = x - x.mean(axes, keepdim=True)
    return centred / (centred.square().mean(axes, keepdim=True).sqrt() + 1e-9)
