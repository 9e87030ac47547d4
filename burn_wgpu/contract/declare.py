"""How a contract function is declared: `@required`, `@elementwise`, or a plain method whose body is its default.

An elementwise function is declared by its NumPy formula alone. The formula is the meaning: the reference backend
evaluates it, a GPU backend runs the WGSL function of the same name, and the test records compare the two.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from burn_wgpu.std.dtype import BF16, F16, F32, DType
from burn_wgpu.std.errors import NotImplementedByBackend

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Elementwise:
    """What a backend must know of an elementwise function.

    name      of the contract function
    formula   NumPy, over the operands' values (float32 for f16 and bf16) and then the scalars, broadcasting
    tensors   how many tensor operands come first
    scalars   how many numbers follow them; they are converted to the first operand's dtype
    result    "same": the first operand's dtype; "bool": the caller gives `out_dtype`, a bool storage, as last argument
    wgsl      the function in shaders/elementwise/; several contract functions may share one
    mask      position of the operand that is bool whatever the others are (mask_where, mask_fill)
    wide      the scalars are constants of the formula, not operands: of halves they keep f32's digits
    """

    name: str
    formula: Callable[..., Any]
    tensors: int
    scalars: int
    result: Literal["same", "bool"]
    wgsl: str
    mask: int | None = None
    wide: bool = False

    def scalar_dtype(self, dtype: DType) -> DType:
        """What the scalars are converted to beside operands of this dtype."""
        return F32 if self.wide and (dtype is F16 or dtype is BF16) else dtype


def elementwise(
    formula: Callable[..., Any],
    tensors: int = 1,
    scalars: int = 0,
    result: Literal["same", "bool"] = "same",
    wgsl: str | None = None,
    mask: int | None = None,
    wide: bool = False,
) -> Callable[[F], F]:
    """Declares an elementwise contract function; backends find it through `elementwise_functions`."""

    def declare(function: F) -> F:
        name = function.__name__
        method = _missing(function)
        method.elementwise = Elementwise(name, formula, tensors, scalars, result, wgsl or name, mask, wide)
        return method  # type: ignore[no-any-return]

    return declare


def required(function: F) -> F:
    """Declares a function that every backend must write itself; until then it raises NotImplementedByBackend."""
    method = _missing(function)
    method.required = True
    return method  # type: ignore[no-any-return]


def _missing(function: Callable[..., Any]) -> Any:
    name = function.__name__

    @functools.wraps(function)
    def missing(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedByBackend(name, self.name())

    return missing


def elementwise_functions(group: type) -> dict[str, Elementwise]:
    """Every elementwise function that a class or its bases declare, by name."""
    found: dict[str, Elementwise] = {}
    for base in reversed(group.__mro__):
        for name, value in vars(base).items():
            if hasattr(value, "elementwise"):
                found[name] = value.elementwise
    return found


def install_elementwise(backend: type, make: Callable[[Elementwise], Callable[..., Any]]) -> None:
    """Gives a backend class a method for each elementwise function that it does not write itself."""
    for name, declared in elementwise_functions(backend).items():
        if not hasattr(getattr(backend, name), "elementwise"):
            continue  # the backend has its own
        method = make(declared)
        method.__name__ = name
        method.__doc__ = getattr(backend, name).__doc__
        setattr(backend, name, method)
