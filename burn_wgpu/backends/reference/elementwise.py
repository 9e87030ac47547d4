"""Elementwise functions by their formulas, and the divisors that raise."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from burn_wgpu.backends.reference.tensor import RefTensor, lift, lower
from burn_wgpu.contract.declare import Elementwise, install_elementwise
from burn_wgpu.std.data import compute_dtype
from burn_wgpu.std.dtype import F16, DType
from burn_wgpu.std.errors import DivisionByZero
from burn_wgpu.std.scalar import Scalar, as_scalar


def install_formulas(backend: type) -> None:
    """Gives a backend class a method for every elementwise function of the contract that it does not write itself."""

    def make(declared: Elementwise) -> Callable[..., Any]:
        names = list(inspect.signature(getattr(backend, declared.name)).parameters)[1:]
        return _method(declared, names)

    install_elementwise(backend, make)


def _method(declared: Elementwise, names: list[str]) -> Callable[..., Any]:
    count = declared.tensors
    fault = _FAULTS.get(declared.name)

    def run(self: Any, *args: Any, **kwargs: Any) -> RefTensor:
        if kwargs:
            args = args + tuple(kwargs.pop(name) for name in names[len(args) :])
            assert not kwargs, kwargs
        first: RefTensor = args[0]
        kind: DType = args[-1] if declared.result == "bool" else first.dtype
        values = [lift(tensor) for tensor in args[:count]]
        numbers = declared.scalar_dtype(first.dtype)
        values += [_scalar(value, numbers) for value in args[count : count + declared.scalars]]
        with np.errstate(all="ignore"):
            result = lower(declared.formula(*values), kind)
        if fault is not None and result.size:
            fault(declared.name, values)
        return RefTensor(result, kind, first.device)

    return run


def _scalar(value: Scalar, kind: DType) -> np.ndarray:
    """A number rounded to a dtype, as rank 0 of the type that formulas compute in."""
    return np.asarray(as_scalar(value, kind), np.float32 if kind is F16 else compute_dtype(kind))


def _zero_divisor(operation: str, values: list[np.ndarray]) -> None:
    if (values[1] == 0).any():
        raise DivisionByZero(f"{operation}: a divisor is 0; integers have no infinity to give")


def _zero_to_negative(operation: str, values: list[np.ndarray]) -> None:
    if ((values[0] == 0) & (values[1] < 0)).any():
        raise DivisionByZero(f"{operation}: 0 to a negative power; it divides by 0")


_FAULTS: dict[str, Callable[[str, list[np.ndarray]], None]] = {
    "int_div": _zero_divisor,
    "int_div_scalar": _zero_divisor,
    "int_remainder": _zero_divisor,
    "int_remainder_scalar": _zero_divisor,
    "int_floor_divide": _zero_divisor,
    "int_floor_divide_scalar": _zero_divisor,
    "int_powi": _zero_to_negative,
}
