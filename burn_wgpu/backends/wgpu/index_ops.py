"""Reading and writing by index."""

from __future__ import annotations

from typing import Any

from burn_wgpu.backends.wgpu.run import run1
from burn_wgpu.backends.wgpu.tensor import WgpuTensor
from burn_wgpu.kernel.index import (
    embedding_places,
    gather_nd_places,
    gather_places,
    gather_plan,
    select_places,
)


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


def _install() -> None:
    """Methods that ignore the backend and are the same for the three kinds."""
    for name, function in {"select": select, "gather": gather, "gather_nd": gather_nd}.items():

        def method(self: Any, *args: Any, _function: Any = function) -> Any:
            return _function(*args)

        for kind in ("float", "int", "bool"):
            setattr(IndexOps, f"{kind}_{name}", method)


_install()
