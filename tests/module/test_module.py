"""Modules as trees: paths, lazy parameters, loading, and how they print."""

from __future__ import annotations

import numpy as np
import pytest

from burn_wgpu import Device
from burn_wgpu.module import Initializer, Module, Param, ParamId
from burn_wgpu.module.module import LoadError
from burn_wgpu.nn import Gelu, LayerNorm, Linear
from burn_wgpu.std.errors import ArgumentError, ShapeError
from burn_wgpu.tensor import Tensor

CPU = Device("cpu")


class Pair(Module):
    def __init__(self, device: Device = CPU) -> None:
        self.first = Linear(2, 3, device=device)
        self.rest = [LayerNorm(3, device=device), (Linear(3, 1, bias=False, device=device),)]
        self.gelu = Gelu()
        self.rate = 0.5
        self.shift = Param(Tensor.from_data([1.0], device))

    def forward(self, x: Tensor) -> Tensor:
        return self.rest[1][0](self.gelu(self.rest[0](self.first(x)))) + self.shift.value


PATHS = ["first.weight", "first.bias", "rest.0.gamma", "rest.0.beta", "rest.1.0.weight", "shift"]


def test_paths_follow_attributes_lists_and_tuples() -> None:
    module = Pair()
    assert [name for name, _ in module.named_params()] == PATHS
    assert [name for name, _ in module.children()] == ["first", "rest.0", "rest.1.0", "gelu"]
    assert [(name, type(m).__name__) for name, m in module.modules()] == [
        ("", "Pair"), ("first", "Linear"), ("rest.0", "LayerNorm"), ("rest.1.0", "Linear"), ("gelu", "Gelu"),
    ]  # fmt: skip
    assert module.num_params() == 6 + 3 + 3 + 3 + 3 + 1


def test_parameters_are_made_at_their_first_use_and_once() -> None:
    calls = []

    def make() -> Tensor:
        calls.append(1)
        return Tensor.ones((2,), CPU)

    param = Param(make, (2,), CPU)
    assert (param.is_initialized, calls, param.shape, repr(param)) == (False, [], (2,), "Param([2], not made yet)")
    first = param.value
    assert param.value is first and calls == [1]
    assert (param.is_initialized, repr(param)) == (True, "Param([2])")
    module = Pair()
    assert [p.is_initialized for p in module.params()] == [False] * 5 + [True]
    assert module(Tensor.ones((4, 2), CPU)).shape == (4, 1)
    assert all(p.is_initialized for p in module.params())


def test_setting_a_value_before_the_first_use_makes_nothing() -> None:
    param = Param(lambda: pytest.fail("made although it was replaced"), (2,), CPU)
    param.set(Tensor.from_data([3.0, 4.0], CPU))
    assert param.value.tolist() == [3.0, 4.0]
    with pytest.raises(ShapeError) as caught:
        param.set(Tensor.ones((3,), CPU))
    assert str(caught.value) == "Param: a tensor of shape [3] cannot replace one of [2]"


def test_a_function_without_shape_or_of_another_shape_is_an_error() -> None:
    with pytest.raises(ArgumentError) as missing:
        Param(lambda: Tensor.ones((2,), CPU))
    assert str(missing.value) == "Param: a function needs the shape and the device of the tensor that it will make"
    with pytest.raises(ShapeError) as other:
        Param(lambda: Tensor.ones((2,), CPU), (3,), CPU).value  # noqa: B018 - reading it is what makes it
    assert str(other.value) == "Param: a tensor of shape [2] cannot replace one of [3]"


def test_ids_differ_and_print_as_base32_of_their_bytes() -> None:
    ids = {p.id for p in Pair().params()} | {p.id for p in Pair().params()}
    assert len(ids) == 12
    assert str(ParamId(0)) == "0000000000000"
    assert str(ParamId(2**64 - 1)) == "vvvvvvvvvvvvu"  # 64 bits in 13 letters leave one bit over
    assert str(ParamId(1)) == "0400000000000"
    assert repr(ParamId(1)) == "ParamId(0400000000000)"
    param = Param(Tensor.ones((1,), CPU), id=ParamId(7))
    param.set(Tensor.zeros((1,), CPU))
    assert param.id == 7


def test_loading_by_name_and_its_problems_all_at_once() -> None:
    module = Pair()
    values = {n: Tensor.full(p.shape, float(i), CPU) for i, (n, p) in enumerate(module.named_params())}
    assert module.load_tensors(values) is module
    assert [p.value.numpy().flat[0] for p in module.params()] == [0, 1, 2, 3, 4, 5]
    wrong = {n: t for n, t in values.items() if n not in ("first.bias", "rest.0.beta")}
    wrong |= {"shift": Tensor.ones((2,), CPU), "first.weight": Tensor.ones((3, 2), CPU), "x": Tensor.ones((1,), CPU)}
    fresh = Pair()
    with pytest.raises(LoadError) as caught:
        fresh.load_tensors(wrong)
    assert str(caught.value) == (
        "load: 2 parameters have no tensor: first.bias, rest.0.beta. "
        "1 tensors have no place in the module: x. "
        "2 shapes differ: first.weight is [3, 2] in the file and [2, 3] in the module; "
        "shift is [2] in the file and [1] in the module"
    )
    assert [p.is_initialized for p in fresh.params()] == [False] * 5 + [True]
    del wrong["shift"], wrong["first.weight"]
    fresh.load_tensors(wrong, allow_partial=True, allow_unused=True)
    assert fresh.rest[0].gamma.value.tolist() == [2.0, 2.0, 2.0]


def test_a_module_can_be_cast() -> None:
    module = Pair().cast("f16")
    assert {str(p.value.dtype) for p in module.params()} == {"f16"}
    assert str(module(Tensor.ones((1, 2), CPU).cast("f16")).dtype) == "f16"


@pytest.mark.gpu
def test_a_module_moves_to_a_device_with_its_values() -> None:
    device, module = Device("wgpu"), Pair()
    before = [p.value.numpy() for p in module.params()]
    assert module.to_device(device) is module
    assert {p.device for p in module.params()} == {device}
    for old, param in zip(before, module.params(), strict=True):
        np.testing.assert_array_equal(param.value.numpy(), old)


def test_repr_is_the_tree_with_its_settings_and_counts() -> None:
    module = Pair()
    module.first.weight.value  # noqa: B018 - made, and printed as such
    assert (
        repr(module)
        == """Pair {
  first: Linear {
    weight: Param([2, 3])
    bias: Param([3], not made yet)
    params: 9
  }
  rest.0: LayerNorm {
    gamma: Param([3], not made yet)
    beta: Param([3], not made yet)
    epsilon: 1e-05
    params: 6
  }
  rest.1.0: Linear {
    weight: Param([3, 1], not made yet)
    bias: None
    params: 3
  }
  gelu: Gelu
  rate: 0.5
  shift: Param([1])
  params: 19
}"""
    )


def test_a_module_without_forward_says_so() -> None:
    with pytest.raises(NotImplementedError, match="^Empty has no forward$"):
        type("Empty", (Module,), {})()(1)


SEEDED = [
    (Initializer.uniform(-2, 3), (-2, 3), 5 / 12**0.5),
    (Initializer.normal(0.5, 2.0), None, 2.0),
    (Initializer.kaiming_uniform(), (-1 / 4, 1 / 4), 1 / 4 / 3**0.5),
    (Initializer.kaiming_uniform(2.0, fan_out_only=True), (-(12**0.5) / 5, 12**0.5 / 5), 2 / 5),
    (Initializer.kaiming_normal(), None, 1 / 4),
    (Initializer.xavier_uniform(), (-((6 / 41) ** 0.5), (6 / 41) ** 0.5), (2 / 41) ** 0.5),
    (Initializer.xavier_normal(3.0), None, 3 * (2 / 41) ** 0.5),
]


@pytest.mark.parametrize(("initializer", "bounds", "std"), SEEDED, ids=[row[0].kind for row in SEEDED])
def test_initializers_have_the_spread_of_their_formula(initializer: Initializer, bounds, std: float) -> None:
    """fan_in 16, fan_out 25; 20,000 values put the sample's standard deviation within 2 % of the formula's."""
    CPU.seed(11)
    values = initializer.init((20_000,), CPU, 16, 25).numpy()
    assert abs(values.std() / std - 1) < 0.02
    if bounds is not None:
        assert bounds[0] <= values.min() < bounds[0] * 0.98 and bounds[1] * 0.98 < values.max() <= bounds[1]


def test_constant_initializers_and_missing_fans() -> None:
    assert Initializer.constant(2.5).init((2,), CPU).tolist() == [2.5, 2.5]
    assert Initializer.ones().init((1,), CPU).tolist() == [1.0]
    assert Initializer.zeros().init((1,), CPU).tolist() == [0.0]
    with pytest.raises(ArgumentError) as caught:
        Initializer.xavier_normal().init((2,), CPU)
    assert str(caught.value) == "init: xavier_normal needs fan_in and fan_out; give the layer's sizes"


def test_constants_are_floats_of_the_device_s_default_dtype() -> None:
    for initializer in (Initializer.constant(1), Initializer.zeros(), Initializer.normal(0, 1)):
        assert str(initializer.init((1,), CPU).dtype) == "f32"
