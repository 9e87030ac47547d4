"""Collectives, closeness, shapes with placeholders, methods for activations."""

from __future__ import annotations

import numpy as np
import pytest

from burn_wgpu import Device, Tensor, TensorData
from burn_wgpu.std.dtype import BF16, F16, F32, F64
from burn_wgpu.std.errors import ArgumentError, ShapeError
from burn_wgpu.std.quant import QuantScheme, QuantStore, QuantValue
from burn_wgpu.tensor import activation, collective
from burn_wgpu.tensor.base import ZeroDimPlaceholders
from burn_wgpu.tensor.closeness import Tolerance, assert_approx_eq, assert_eq, assert_shape, check_closeness

GROUP = [Device("cpu"), Device("cpu:1"), Device("cpu:2")]


def members(*rows: list[float]) -> list[Tensor]:
    return [Tensor(row, device=d) for row, d in zip(rows, GROUP, strict=False)]


def test_collectives_give_every_member_its_part() -> None:
    tensors = members([1, 2, 3], [10, 20, 30], [100, 200, 300])
    for got, device in zip(collective.all_reduce(tensors), GROUP, strict=True):
        assert got.device is device and got.tolist() == [111, 222, 333]
    assert collective.all_reduce(tensors, "mean")[1].tolist() == [37, 74, 111]
    assert [t.tolist() for t in collective.reduce_scatter(tensors, 0)] == [[111], [222], [333]]
    assert collective.all_gather(tensors, 0)[2].tolist() == [1, 2, 3, 10, 20, 30, 100, 200, 300]
    assert [t.tolist() for t in collective.all_to_all(tensors, 0, 0)] == [[1, 10, 100], [2, 20, 200], [3, 30, 300]]
    copies = collective.broadcast(tensors[0], GROUP[1:])
    assert [(t.device, t.tolist()) for t in copies] == [(d, [1, 2, 3]) for d in GROUP[1:]]


def test_collectives_check_their_members() -> None:
    with pytest.raises(ArgumentError, match="all_reduce: the list of tensors is empty"):
        collective.all_reduce([])
    with pytest.raises(ShapeError) as caught:
        collective.all_reduce(members([1, 2], [1]))
    assert str(caught.value) == "all_reduce: tensor 0 has shape [2] and tensor 1 [1]; they must be equal"
    with pytest.raises(ShapeError) as few:
        collective.reduce_scatter(members([1], [2]), 0)
    assert str(few.value) == (
        "reduce_scatter: axis 0 of shape [1] has 1 elements for 2 members; each member needs at least one"
    )


def test_placeholders_copy_the_size_of_their_axis(device: Device) -> None:
    x = Tensor.zeros((2, 3, 4), device)
    assert x.reshape(ZeroDimPlaceholders((0, -1))).shape == (2, 12)
    assert x.reshape(ZeroDimPlaceholders((0, 0, 2, 2))).shape == (2, 3, 2, 2)
    with pytest.raises(ShapeError, match="has a 0 at an axis"):
        x.reshape(ZeroDimPlaceholders((2, 3, 4, 0)))


def test_equality_lists_the_first_differences(cpu: Device) -> None:
    a, b = Tensor(np.arange(8.0), device=cpu), Tensor(np.arange(8.0) * 2, device=cpu)
    assert_eq(a, a)
    assert_eq(a, a.int(), strict=False)
    with pytest.raises(AssertionError) as caught:
        assert_eq(a, b)
    assert str(caught.value) == (
        "assert_eq: 7 of 8 elements differ: [1]: 1.0 and 2.0, [2]: 2.0 and 4.0, [3]: 3.0 and 6.0, [4]: 4.0 and 8.0, "
        "[5]: 5.0 and 10.0; 2 more"
    )
    with pytest.raises(AssertionError, match="the dtypes are f32 and i32"):
        assert_eq(a, a.int())
    with pytest.raises(AssertionError, match=r"the shapes are \[8\] and \[2, 4\]"):
        assert_eq(a, a.reshape(2, 4))
    nan = TensorData.of([float("nan")])
    with pytest.raises(AssertionError):
        assert_eq(nan, nan)
    assert_approx_eq(nan, nan)


def test_tolerances(cpu: Device) -> None:
    inf = float("inf")
    assert Tolerance().approx_eq(1.0, 1.004) and not Tolerance().approx_eq(1.0, 1.006)
    assert Tolerance.strict().approx_eq(0.0, 1e-38) and not Tolerance.strict().approx_eq(1.0, 1.0000001)
    assert Tolerance.permissive().approx_eq(0.0, 0.009) and not Tolerance.balanced().approx_eq(0.0, 1e-5)
    assert (
        Tolerance().approx_eq(inf, inf) and not Tolerance().approx_eq(inf, -inf) and not Tolerance().approx_eq(inf, 1)
    )
    assert Tolerance.rel_abs(0.1, 0).with_absolute(3.0).approx_eq(1.0, 3.9)
    with pytest.raises(ArgumentError):
        Tolerance(1.5, 0)
    with pytest.raises(AssertionError, match=r"1 of 2 elements differ: \[1\]: 2.0 and 2.1"):
        assert_approx_eq(Tensor([1.0, 2.0], device=cpu), Tensor([1.001, 2.1], device=cpu))
    report = check_closeness(Tensor([1.0, 2.0], device=cpu), Tensor([1.0, 2.005], device=cpu)).splitlines()
    assert report[0] == "PASS  100.00% within 1e-1" and report[-1] == "FAIL   50.00% within 1e-8"


def test_shapes_are_asserted(cpu: Device) -> None:
    x = Tensor.zeros((2, 3, 4), cpu)
    for slots in ((2, 3, 4), (2, None, 4), (..., 4), (2, ...), (2, ..., None), (...,), (2, 3, ..., 4)):
        assert_shape(x, slots)
    with pytest.raises(ShapeError) as caught:
        assert_shape(x, (None, ..., 5))
    assert str(caught.value) == "assert_shape: the tensor has shape [2, 3, 4]; it must be [_, ..., 5]"
    with pytest.raises(ShapeError):
        assert_shape(x, (2, 3))


@pytest.mark.parametrize("name", ["relu", "leaky_relu", "gelu", "silu", "sigmoid", "log_sigmoid"])
def test_activations_are_methods_too(device: Device, name: str) -> None:
    x = Tensor([[-1.0, 0.5, 2.0]], device=device)
    np.testing.assert_array_equal(getattr(x, name)().numpy(), getattr(activation, name)(x).numpy())
    np.testing.assert_array_equal(x.softmax(1).numpy(), activation.softmax(x, 1).numpy())
    np.testing.assert_allclose(x.log_softmax(1).numpy(), np.log(x.softmax(1).numpy()), rtol=1e-5)


def test_a_tolerance_can_differ_by_width(cpu: Device) -> None:
    tolerance = Tolerance.rel_abs(1e-6, 0).set_half_precision_relative(1e-2).set_double_precision_absolute(0.5)
    assert tolerance.get_relative() == tolerance.get_relative(F32) == 1e-6
    assert tolerance.get_relative(F16) == tolerance.get_relative(BF16) == 1e-2
    assert tolerance.get_absolute(F64) == 0.5 and tolerance.get_absolute(F32) == 0
    assert tolerance.set_half_precision_relative(0.1).get_relative(F16) == 0.1
    assert tolerance.set_single_precision_absolute(2.0).get_absolute(F32) == 2.0
    assert tolerance.set_single_precision_relative(0.5).get_relative(F32) == 0.5
    assert tolerance.set_half_precision_absolute(3.0).get_absolute(BF16) == 3.0
    assert tolerance.set_double_precision_relative(0.25).get_relative(F64) == 0.25
    assert tolerance.set_relative(0.5).relative == 0.5 and tolerance.set_absolute(0.5).absolute == 0.5
    assert tolerance.approx_eq(1.0, 1.005, F16) and not tolerance.approx_eq(1.0, 1.005)
    a, b = Tensor([1.0], device=cpu), Tensor([1.0078125], device=cpu)
    assert_approx_eq(a.cast("bf16"), b.cast("bf16"), tolerance)
    assert_approx_eq(a.cast("f64"), b.cast("f64"), tolerance)
    with pytest.raises(AssertionError, match="1 of 1 elements differ"):
        assert_approx_eq(a, b, tolerance)
    with pytest.raises(ArgumentError, match="relative 1.5 for floats of 2 bytes"):
        tolerance.set_half_precision_relative(1.5)
    with pytest.raises(ArgumentError, match="absolute -1 for floats of 8 bytes"):
        tolerance.set_double_precision_absolute(-1)


def test_quantized_data_is_compared_by_its_numbers(cpu: Device) -> None:
    native = QuantScheme(QuantValue.Q8S, QuantStore.native())
    x = Tensor([[1.0, -2.0], [3.0, 4.0]], device=cpu)
    q, packed = x.quantize_dynamic(native), x.quantize_dynamic(native.with_store(QuantStore.packed_u32()))
    assert_eq(q, packed)
    assert_approx_eq(q, x, Tolerance.rel_abs(0.01, 0))
    with pytest.raises(AssertionError, match=r"4 of 4 elements differ"):
        assert_eq(q, (x * 2).quantize_dynamic(native))
    for other in (x, x.quantize_dynamic(native.with_value(QuantValue.Q4S))):
        with pytest.raises(AssertionError, match="the dtypes are qfloat"):
            assert_eq(q, other)
