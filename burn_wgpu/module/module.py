"""`Module`: the base of every layer and model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import Any, ClassVar, Self

from burn_wgpu.device import Device
from burn_wgpu.module.param import Param
from burn_wgpu.std.errors import DTypeError, ShapeError
from burn_wgpu.tensor import Tensor


class LoadError(ShapeError):
    """Weights that do not fit a module; lists every problem."""


class Module:
    """A tree of parameters and settings with a `forward`.

    Parameter paths are dotted attribute names; elements of lists and tuples are numbered: `layers.0.query.weight`.

    pytorch  what PyTorch's module of the same meaning calls a parameter, and whether it stores it transposed:
             ours → (theirs, transposed). Parameters that are not listed are the same in both.
    """

    pytorch: ClassVar[Mapping[str, tuple[str, bool]]] = {}

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes; subclasses write it."""
        raise NotImplementedError(f"{type(self).__name__} has no forward")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.forward(*args, **kwargs)

    def __setattr__(self, name: str, value: Any) -> None:
        """Sets an attribute. Raises DTypeError where a parameter would be lost to a value: give it to the parameter."""
        if isinstance(self.__dict__.get(name), Param) and not (value is None or isinstance(value, Param)):
            raise DTypeError(
                f"{type(self).__name__}: the parameter '{name}' cannot be replaced by a value of type "
                f"{type(value).__name__}. Give it a value with module.{name}.set(Tensor(...))"
            )
        object.__setattr__(self, name, value)

    # The tree

    def children(self) -> Iterator[tuple[str, Module]]:
        """(relative path, module) of the modules directly below."""
        for name, value in vars(self).items():
            yield from _modules(name, value)

    def modules(self, prefix: str = "") -> Iterator[tuple[str, Module]]:
        """(path, module) of this module ("") and all below, depth first in the order of the attributes."""
        yield prefix, self
        for name, child in self.children():
            yield from child.modules(f"{prefix}.{name}" if prefix else name)

    def named_params(self) -> Iterator[tuple[str, Param]]:
        """(path, parameter) of every parameter, depth first in the order of the attributes."""
        for name, value in vars(self).items():
            yield from _params(name, value)

    def params(self) -> Iterator[Param]:
        """Every parameter, as in `named_params`."""
        return (param for _, param in self.named_params())

    def num_params(self) -> int:
        """The number of elements of all parameters; makes none of them."""
        return sum(prod(param.shape) for param in self.params())

    # Values

    def to_device(self, device: Device) -> Self:
        """Moves every parameter to the device; gives the module itself."""
        for param in self.params():
            param.set(param.value.to_device(device))
        return self

    def cast(self, dtype: Any) -> Self:
        """Casts every parameter; gives the module itself."""
        for param in self.params():
            param.set(param.value.cast(dtype))
        return self

    def load_tensors(
        self, tensors: Mapping[str, Tensor], allow_partial: bool = False, allow_unused: bool = False
    ) -> Self:
        """Puts tensors into the parameters of the same path; gives the module itself.

        Raises LoadError that lists every missing, unused and mis-shaped tensor, and then has changed nothing.
        """
        shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
        problems = self.load_problems(shapes, allow_partial, allow_unused)
        if problems:
            raise LoadError("load: " + ". ".join(problems))
        params = dict(self.named_params())
        for name, param in params.items():
            if name in tensors:
                param.set(tensors[name])
        return self

    def load_problems(
        self, shapes: Mapping[str, tuple[int, ...]], allow_partial: bool = False, allow_unused: bool = False
    ) -> list[str]:
        """Everything that keeps tensors of these names and shapes from being loaded, as sentences."""
        params = dict(self.named_params())
        missing = [] if allow_partial else [n for n in params if n not in shapes]
        unused = [] if allow_unused else [n for n in shapes if n not in params]
        differing = [
            f"{n} is {list(shapes[n])} in the file and {list(p.shape)} in the module"
            for n, p in params.items()
            if n in shapes and shapes[n] != p.shape
        ]
        problems = []
        if missing:
            problems.append(f"{len(missing)} parameters have no tensor: {', '.join(missing)}")
        if unused:
            problems.append(f"{len(unused)} tensors have no place in the module: {', '.join(unused)}")
        if differing:
            problems.append(f"{len(differing)} shapes differ: {'; '.join(differing)}")
        return problems

    # Display

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} {{"]
        for name, value in vars(self).items():
            if isinstance(value, Param):
                lines.append(f"  {name}: {value!r}")
            elif any(True for _ in _modules(name, value)):
                for path, child in _modules(name, value):
                    lines.append(f"  {path}: " + repr(child).replace("\n", "\n  "))
            elif not isinstance(value, Tensor):
                lines.append(f"  {name}: {value}")
        count = self.num_params()
        if count:
            lines.append(f"  params: {count}")
        return "\n".join([*lines, "}"]) if len(lines) > 1 else type(self).__name__


def _modules(name: str, value: Any) -> Iterator[tuple[str, Module]]:
    if isinstance(value, Module):
        yield name, value
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            yield from _modules(f"{name}.{i}", item)


def _params(name: str, value: Any) -> Iterator[tuple[str, Param]]:
    if isinstance(value, Param):
        yield name, value
    elif isinstance(value, Module):
        for path, param in value.named_params():
            yield f"{name}.{path}", param
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            yield from _params(f"{name}.{i}", item)
