"""How values get into the parameters of modules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from burn_wgpu import Device, Tensor
from burn_wgpu.module import Module, Param
from burn_wgpu.nn import Linear
from burn_wgpu.std.errors import DTypeError, ShapeError

D = Device("cpu")


def test_a_parameter_is_not_lost_to_a_value() -> None:
    linear: Any = Linear(3, 2, device=D)
    weight = np.arange(6, dtype=np.float32).reshape(3, 2)
    for wrong in (weight, Tensor(weight, device=D), 1.0):
        with pytest.raises(DTypeError) as caught:
            linear.weight = wrong
        assert str(caught.value) == (
            f"Linear: the parameter 'weight' cannot be replaced by a value of type {type(wrong).__name__}. "
            f"Give it a value with module.weight.set(Tensor(...))"
        )
    assert dict(linear.named_params()).keys() == {"weight", "bias"}


def test_values_get_in_through_the_parameter() -> None:
    linear = Linear(3, 2, device=D)
    weight = np.arange(6, dtype=np.float32).reshape(3, 2)
    linear.weight.set(Tensor(weight, device=D))
    assert linear.bias is not None
    linear.bias.value = Tensor([1.0, 2.0], device=D)
    np.testing.assert_array_equal(linear(Tensor(np.eye(3), device=D)).numpy(), weight + [1, 2])
    identity = linear.weight.id
    linear.weight.value = Tensor(weight * 2, device=D)
    assert linear.weight.id == identity
    with pytest.raises(ShapeError):
        linear.weight.value = Tensor(weight.T, device=D)
    with pytest.raises(DTypeError, match=r"Param: a value of type ndarray cannot replace the tensor of \[3, 2\]"):
        linear.weight.set(weight)  # type: ignore[arg-type]


def test_another_parameter_none_and_other_attributes_are_free() -> None:
    linear: Any = Linear(3, 2, device=D)
    linear.weight = Param(Tensor.zeros((3, 4), D))
    linear.bias = None
    linear.note = "free"
    assert linear(Tensor.zeros((1, 3), D)).shape == (1, 4)

    class Model(Module):
        def __init__(self) -> None:
            self.inner: Any = Linear(3, 2, device=D)

    model = Model()
    model.inner = Linear(3, 5, device=D)
    assert model.num_params() == 20
