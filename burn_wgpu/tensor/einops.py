"""einops works on tensors: its backend class is defined when einops is imported, before or after this package.

einops finds backends among the subclasses of its AbstractBackend; the name of one must be an imported module.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

_MODULE = "einops._backends"
_REDUCTIONS = {"sum", "mean", "prod", "max", "min", "any", "all"}
_registered: Any = None


def install() -> None:
    """Registers now if einops is imported, else when it will be."""
    if _MODULE in sys.modules:
        _register(sys.modules[_MODULE])
    elif not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class _Finder(MetaPathFinder):
    """Waits for einops' module of backends, and steps aside once it has come."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != _MODULE:
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


class _Loader(Loader):
    def __init__(self, inner: Loader) -> None:
        self.inner = inner

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.inner.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self.inner.exec_module(module)
        _register(module)


def _register(backends: ModuleType) -> None:
    global _registered
    if _registered is not None:
        return
    from burn_wgpu.tensor.api import Tensor
    from burn_wgpu.tensor.base import cat, stack

    base: Any = backends.AbstractBackend

    class BurnBackend(base):  # type: ignore[misc]  # einops is optional, so its class is not known here
        framework_name = "burn_wgpu"

        def is_appropriate_type(self, tensor: object) -> bool:
            return isinstance(tensor, Tensor)

        def from_numpy(self, x: Any) -> Tensor:
            return Tensor(x)

        def to_numpy(self, x: Tensor) -> Any:
            return x.numpy()

        def arange(self, start: int, stop: int) -> Tensor:
            return Tensor.arange(start, stop)

        def transpose(self, x: Tensor, axes: Sequence[int]) -> Tensor:
            return x.permute(axes)

        def reduce(self, x: Tensor, operation: str, axes: Sequence[int]) -> Tensor:
            assert operation in _REDUCTIONS, operation
            return getattr(x, operation)(dim=tuple(axes))  # type: ignore[no-any-return]

        def stack_on_zeroth_dimension(self, tensors: list[Tensor]) -> Tensor:
            return stack(tensors)

        def add_axis(self, x: Tensor, new_position: int) -> Tensor:
            return x.unsqueeze_dim(new_position)

        def add_axes(self, x: Tensor, n_axes: int, pos2len: dict[int, int]) -> Tensor:
            sizes = [-1] * n_axes
            for position, length in pos2len.items():
                x = x.unsqueeze_dim(position)
                sizes[position] = length
            return x.expand(sizes)

        def tile(self, x: Tensor, repeats: Sequence[int]) -> Tensor:
            return x.repeat(tuple(repeats))

        def concat(self, tensors: list[Tensor], axis: int) -> Tensor:
            return cat(tensors, axis)

        def is_float_type(self, x: Tensor) -> bool:
            return x.kind == "float"

        def einsum(self, pattern: str, *x: Tensor) -> Tensor:
            return Tensor.einsum(pattern, *x)

    _registered = BurnBackend
