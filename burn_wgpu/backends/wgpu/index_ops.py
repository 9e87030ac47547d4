"""Reading and writing by index."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from burn_wgpu.backends.wgpu.movement_ops import into_data, reshape
from burn_wgpu.backends.wgpu.run import contiguous, run, run1
from burn_wgpu.backends.wgpu.tensor import WgpuDevice, WgpuTensor
from burn_wgpu.contract.options import IndexingUpdateOp
from burn_wgpu.kernel.index import (
    embedding_places,
    gather_nd_places,
    gather_places,
    gather_plan,
    select_places,
)
from burn_wgpu.kernel.scatter import (
    Scattered,
    scatter_nd_places,
    scatter_places,
    scatter_plan,
    select_assign_places,
)
from burn_wgpu.kernel.where import arange_plan, count_plan, where_plan
from burn_wgpu.shader.prelude import words
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.errors import ArgumentError, IndexOutOfRange


def select(tensor: WgpuTensor, dim: int, indices: WgpuTensor) -> WgpuTensor:
    layout, at, dtype, kind = tensor.layout, indices.layout, tensor.dtype, indices.dtype
    return run1(
        tensor.device,
        ("select", layout, dim, at, dtype, kind),
        lambda c: gather_plan("select", select_places(layout, dim, at), dtype, kind, c),
        (tensor, indices),
    )


def gather(dim: int, tensor: WgpuTensor, indices: WgpuTensor) -> WgpuTensor:
    layout, at, dtype, kind = tensor.layout, indices.layout, tensor.dtype, indices.dtype
    return run1(
        tensor.device,
        ("gather", dim, layout, at, dtype, kind),
        lambda c: gather_plan("gather", gather_places(dim, layout, at), dtype, kind, c),
        (tensor, indices),
    )


def gather_nd(data: WgpuTensor, indices: WgpuTensor) -> WgpuTensor:
    layout, at, dtype, kind = data.layout, indices.layout, data.dtype, indices.dtype
    return run1(
        data.device,
        ("gather_nd", layout, at, dtype, kind),
        lambda c: gather_plan("gather_nd", gather_nd_places(layout, at), dtype, kind, c),
        (data, indices),
    )


def select_assign(
    tensor: WgpuTensor, dim: int, indices: WgpuTensor, values: WgpuTensor, update: IndexingUpdateOp
) -> WgpuTensor:
    _check_axes("select_assign", tensor, (tensor.shape[dim],), indices.layout.size)
    shape, at, given = tensor.shape, indices.layout, values.layout
    return _scattered(
        "select_assign", (dim,), (contiguous(tensor), indices, values), update,
        lambda: select_assign_places(shape, dim, at, given),
    )  # fmt: skip


def scatter(
    dim: int, tensor: WgpuTensor, indices: WgpuTensor, values: WgpuTensor, update: IndexingUpdateOp
) -> WgpuTensor:
    _check_axes("scatter", tensor, (tensor.shape[dim],), indices.layout.size)
    shape, at, given = tensor.shape, indices.layout, values.layout
    return _scattered(
        "scatter", (dim,), (contiguous(tensor), indices, values), update,
        lambda: scatter_places(shape, dim, at, given),
    )  # fmt: skip


def scatter_nd(data: WgpuTensor, indices: WgpuTensor, values: WgpuTensor, update: IndexingUpdateOp) -> WgpuTensor:
    k, count = indices.shape[-1], prod(indices.shape[:-1])
    shape = data.shape
    _check_axes("scatter_nd", data, shape[:k], count)
    table = contiguous(reshape(indices, (count, k)))
    rows = contiguous(reshape(values, (count, *shape[k:])))
    return _scattered(
        "scatter_nd", (), (contiguous(data), table, rows), update, lambda: scatter_nd_places(shape, table.layout)
    )


def _check_axes(operation: str, tensor: WgpuTensor, axes: tuple[int, ...], count: int) -> None:
    """What needs no look at the indices: an axis of size 0 has no valid index."""
    if count and 0 in axes:
        raise IndexOutOfRange(
            f"{operation}: {count} indices point into an axis of size 0 of shape {list(tensor.shape)}; "
            f"such an axis takes no index"
        )


def _scattered(
    operation: str,
    options: tuple[int, ...],
    inputs: tuple[WgpuTensor, ...],
    update: IndexingUpdateOp,
    places: Callable[[], Scattered],
) -> WgpuTensor:
    tensor, indices, values = inputs
    dtype, kind = tensor.dtype, indices.dtype
    return run1(
        tensor.device,
        (operation, options, tensor.layout, indices.layout, values.layout, dtype, kind, update),
        lambda c: scatter_plan(operation, places(), operation == "scatter", dtype, kind, update, c),
        inputs,
    )


class IndexOps:
    """float_, int_ and bool_ forms of the functions above, and embedding; the contract documents them."""

    def embedding(self, weights: WgpuTensor, indices: WgpuTensor) -> WgpuTensor:
        layout, at, dtype, kind = weights.layout, indices.layout, weights.dtype, indices.dtype
        return run1(
            weights.device,
            ("embedding", layout, at, dtype, kind),
            lambda c: gather_plan("embedding", embedding_places(layout, at), dtype, kind, c),
            (weights, indices),
        )

    def bool_argwhere(self, tensor: WgpuTensor, out_dtype: DType) -> WgpuTensor:
        """Reads the count and nothing else."""
        device, shape, dtype = tensor.device, tensor.shape, tensor.dtype
        size = tensor.layout.size
        count = 0
        starts = mask = contiguous(tensor)
        if size:
            starts, total = run(device, ("argwhere_count", size, dtype), lambda c: count_plan(size, dtype, c), (mask,))
            count = int(into_data(total).array[0])
        return run1(
            device,
            ("argwhere", shape, count, dtype, out_dtype),
            lambda c: where_plan(shape, count, dtype, out_dtype, c),
            (mask, starts),
        )

    def int_arange_step(self, start: int, end: int, step: int, device: WgpuDevice, dtype: DType) -> WgpuTensor:
        if step == 0:
            raise ArgumentError(f"arange_step: the step from {start} to {end} is 0; it must not be 0")
        count = len(range(start, end, step))
        numbers = words(start, start >> 32, step, step >> 32)
        return run1(device, ("arange_step", count, dtype), lambda c: arange_plan(count, dtype, c), (), numbers)

    def embedding_backward(self, weights: WgpuTensor, output_grad: WgpuTensor, indices: WgpuTensor) -> WgpuTensor:
        count = prod(indices.shape)
        shape, dtype, kind = weights.shape, weights.dtype, indices.dtype
        _check_axes("embedding_backward", weights, shape[:1], count)
        flat = reshape(indices, (count,))
        rows = reshape(output_grad, (count, shape[1]))
        at, given = flat.layout, rows.layout
        return run1(
            weights.device,
            ("embedding_backward", shape, at, given, dtype, kind),
            lambda c: scatter_plan(
                "embedding_backward", select_assign_places(shape, 0, at, given), False, dtype, kind,
                IndexingUpdateOp.ADD, c, from_zeros=True,
            ),
            (flat, rows),
        )  # fmt: skip


def _install() -> None:
    """Methods that ignore the backend and are the same for the three kinds."""
    functions: dict[str, Callable[..., WgpuTensor]] = {
        "select": select, "gather": gather, "gather_nd": gather_nd,
        "select_assign": select_assign, "scatter": scatter, "scatter_nd": scatter_nd,
    }  # fmt: skip
    for name, function in functions.items():

        def method(self: Any, *args: Any, _function: Any = function) -> Any:
            return _function(*args)

        for kind in ("float", "int", "bool"):
            setattr(IndexOps, f"{kind}_{name}", method)


_install()
