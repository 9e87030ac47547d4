"""Operators and elementwise methods against NumPy: values, dtypes, broadcasting, scalars, arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from burn_wgpu import Device, Tensor

BINARY = [operator.add, operator.sub, operator.mul, operator.truediv, operator.mod, operator.floordiv]
COMPARE = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
SHAPES = [
    ((2, 3), (2, 3)),
    ((2, 3), (3,)),
    ((3,), (2, 3)),
    ((2, 1), (1, 3)),
    ((), (2, 3)),
    ((2, 3), ()),
    ((1,), (4, 1)),
]


def floats(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return np.asarray(rng.standard_normal(shape), np.float32)


@pytest.mark.parametrize("op", BINARY, ids=lambda op: op.__name__)
@pytest.mark.parametrize(("left", "right"), SHAPES)
def test_float_operators_broadcast_as_numpy(
    device: Device, rng: np.random.Generator, op: Callable[..., Any], left: Any, right: Any
) -> None:
    a, b = floats(rng, left), floats(rng, right) + 2
    got = op(Tensor(a, device=device), Tensor(b, device=device))
    want = op(a, b)
    assert got.shape == want.shape and got.dtype.name == "f32"
    np.testing.assert_allclose(got.numpy(), want, rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("op", [operator.add, operator.sub, operator.mul, operator.mod, operator.floordiv])
@pytest.mark.parametrize(("left", "right"), SHAPES)
def test_int_operators_broadcast_as_numpy(
    device: Device, rng: np.random.Generator, op: Callable[..., Any], left: Any, right: Any
) -> None:
    a, b = rng.integers(-50, 50, left), rng.integers(1, 9, right) * np.where(rng.random(right) < 0.5, -1, 1)
    got = op(Tensor(a, device=device), Tensor(b, device=device))
    assert got.kind == "int" and got.dtype.name == "i32"
    np.testing.assert_array_equal(got.numpy(), op(a, b))


@pytest.mark.parametrize("op", COMPARE, ids=lambda op: op.__name__)
def test_comparisons_give_bool_tensors(device: Device, op: Callable[..., Any]) -> None:
    a = np.array([[1.0, 2.0, np.nan], [3.0, -0.0, 2.0]], np.float32)
    b = np.array([2.0, 2.0, 2.0], np.float32)
    x, y = Tensor(a, device=device), Tensor(b, device=device)
    for got, want in ((op(x, y), op(a, b)), (op(x, 2.0), op(a, 2)), (op(2, x), op(np.float32(2), a))):
        assert got.kind == "bool"
        np.testing.assert_array_equal(got.numpy(), want)
    ints = Tensor([1, 2, 3], device=device)
    np.testing.assert_array_equal(op(ints, 2).numpy(), op(np.arange(1, 4), 2))


@pytest.mark.parametrize("op", [*BINARY, operator.pow], ids=lambda op: op.__name__)
def test_numbers_on_either_side(device: Device, op: Callable[..., Any]) -> None:
    a = np.array([[0.5, 2.0], [3.0, 7.5]], np.float32)
    x = Tensor(a, device=device)
    for number in (3, 2.5, np.float32(1.5), np.int64(2)):
        np.testing.assert_allclose(op(x, number).numpy(), op(a, np.float32(number)), rtol=3e-6)
        np.testing.assert_allclose(op(number, x).numpy(), op(np.float32(number), a), rtol=3e-6)


def test_int_numbers_on_the_left(device: Device) -> None:
    x = Tensor([3, -4, 7], device=device)
    assert (10 - x).tolist() == [7, 14, 3]
    assert (10 // x).tolist() == [3, -3, 1]
    assert (10 % x).tolist() == [1, -2, 3]
    assert (2 ** x.abs()).tolist() == [8, 16, 128]
    assert (84 / x).tolist() == [28, -21, 12]
    assert (1 << Tensor([0, 3], device=device)).tolist() == [1, 8]


def test_arrays_on_either_side(device: Device) -> None:
    a = np.array([[1.0, 2.0], [3.0, 4.0]])
    x = Tensor(a, device=device)
    for got in (x + a, a + x):
        assert isinstance(got, Tensor) and got.dtype.name == "f32"
        np.testing.assert_array_equal(got.numpy(), a + a)
    np.testing.assert_array_equal((a - x * 2).numpy(), -a)
    np.testing.assert_array_equal((np.arange(2) * x).numpy(), np.arange(2) * a)
    np.testing.assert_array_equal((a > x).numpy(), a > a)
    np.testing.assert_array_equal((a == x).numpy(), a == a)


def test_arrays_multiply_matrices(device: Device) -> None:
    a = np.array([[1.0, 2.0], [3.0, 4.0]])
    x = Tensor(a, device=device)
    np.testing.assert_array_equal((a @ x).numpy(), a @ a)
    np.testing.assert_array_equal((x @ a).numpy(), a @ a)


def test_python_division_table(device: Device) -> None:
    lhs, rhs = [-7, 7, -7, 7], [3, -3, -3, 3]
    for make in (lambda v: Tensor(v, device=device), lambda v: Tensor.from_floats(v, device)):
        x, y = make(lhs), make(rhs)
        assert (x % y).tolist() == [2, -2, -1, 1]
        assert (x // y).tolist() == [-3, -3, 2, 2]
    assert Tensor.from_floats(lhs, device).fmod(Tensor.from_floats(rhs, device)).tolist() == [-1, 1, -1, 1]
    low = -(2**31)
    extremes = np.array([low, low, low + 1, 2**31 - 1], np.int32)
    assert (Tensor(extremes, device=device) // 3).tolist() == [int(v) // 3 for v in extremes]
    assert (Tensor([low, 7], device=device) // -1).tolist() == [low, -7]
    assert (Tensor([2**32 - 1, 9], device=device, dtype="u32") // 4).tolist() == [2**30 - 1, 2]
    quotient, rest = divmod(Tensor(lhs, device=device), 3)
    assert (quotient.tolist(), rest.tolist()) == ([-3, 2, -3, 2], [2, 1, 2, 1])


def test_the_power_table(device: Device) -> None:
    base = Tensor([-2.0, -2.0, -8.0, 0.0, 0.0, 2.0], device=device)
    exponent = np.array([2.0, 3.0, 1 / 3, 0.0, -1.0, -2.0], np.float32)
    want = [4.0, -8.0, float("nan"), 1.0, float("inf"), 0.25]
    np.testing.assert_allclose((base ** Tensor(exponent, device=device)).numpy(), want, rtol=2e-6)
    for b, e, w in zip(base.tolist(), exponent.tolist(), want, strict=True):
        np.testing.assert_allclose((Tensor([b], device=device) ** e).item(), w, rtol=2e-6)
    assert (Tensor([3, -3, 0, 2], device=device) ** 3).tolist() == [27, -27, 0, 8]
    assert (Tensor([3, -3, 5], device=device) ** Tensor([2, 3, 0], device=device)).tolist() == [9, -27, 1]
    assert (Tensor([2.0, 3.0], device=device) ** Tensor([3, 2], device=device)).tolist() == [8.0, 9.0]
    assert (Tensor([-1.5, 4.0], device=device) ** 2).tolist() == [2.25, 16.0]


def test_bits_and_logic(device: Device) -> None:
    a, b = np.array([12, 10, -1]), np.array([10, 3, 7])
    x, y = Tensor(a, device=device), Tensor(b, device=device)
    for op in (operator.and_, operator.or_, operator.xor):
        np.testing.assert_array_equal(op(x, y).numpy(), op(a, b))
        np.testing.assert_array_equal(op(x, 6).numpy(), op(a, 6))
        np.testing.assert_array_equal(op(6, x).numpy(), op(6, a))
    np.testing.assert_array_equal((~x).numpy(), ~a)
    np.testing.assert_array_equal((x << 2).numpy(), a << 2)
    np.testing.assert_array_equal((x >> y.bitwise_and(1)).numpy(), a >> (b & 1))
    p, q = np.array([True, True, False, False]), np.array([True, False, True, False])
    s, t = Tensor(p, device=device), Tensor(q, device=device)
    for op in (operator.and_, operator.or_, operator.xor, operator.eq, operator.ne):
        np.testing.assert_array_equal(op(s, t).numpy(), op(p, q))
        np.testing.assert_array_equal(op(s, True).numpy(), op(p, True))
    np.testing.assert_array_equal((~s).numpy(), ~p)


UNARY = [
    ("exp", np.exp, 4), ("log", np.log, 4), ("log1p", np.log1p, 4), ("sqrt", np.sqrt, 4), ("recip", np.reciprocal, 4),
    ("sin", np.sin, 8), ("cos", np.cos, 8), ("tan", np.tan, 16), ("sinh", np.sinh, 16), ("cosh", np.cosh, 16),
    ("tanh", np.tanh, 16), ("atan", np.arctan, 8), ("asinh", np.arcsinh, 16), ("floor", np.floor, 0),
    ("ceil", np.ceil, 0), ("trunc", np.trunc, 0), ("round", np.rint, 0), ("abs", np.abs, 0), ("neg", np.negative, 0),
    ("sign", np.sign, 0), ("square", np.square, 1), ("deg2rad", np.deg2rad, 2), ("rad2deg", np.rad2deg, 2),
]  # fmt: skip


@pytest.mark.parametrize(("name", "oracle", "ulps"), UNARY, ids=[row[0] for row in UNARY])
def test_unary_methods(device: Device, name: str, oracle: Callable[..., Any], ulps: int) -> None:
    a = np.array([0.1, 0.5, 0.75, 1.25, 2.5, 3.5], np.float32)
    got = getattr(Tensor(a, device=device), name)().numpy()
    want = oracle(a.astype(np.float64))
    np.testing.assert_allclose(got, want, rtol=max(ulps, 0.5) * 1.2e-7, atol=ulps * 1.2e-7)


@pytest.mark.parametrize("name", ["asin", "acos", "atanh", "erf"])
def test_unary_methods_of_small_domains(device: Device, name: str) -> None:
    import math

    a = np.array([-0.9, -0.25, 0.0, 0.5, 0.99], np.float32)
    want = [getattr(math, name)(v) for v in a.tolist()]
    np.testing.assert_allclose(getattr(Tensor(a, device=device), name)().numpy(), want, rtol=2e-6, atol=1e-7)
    high = np.array([1.0, 1.5, 20.0], np.float32)
    np.testing.assert_allclose(Tensor(high, device=device).acosh().numpy(), np.arccosh(high), rtol=2e-6)


def test_two_operand_float_methods(device: Device) -> None:
    a = np.array([[3.0, -1.0], [0.5, 2.0]], np.float32)
    b = np.array([4.0, 2.0], np.float32)
    x, y = Tensor(a, device=device), Tensor(b, device=device)
    np.testing.assert_allclose(x.hypot(y).numpy(), np.hypot(a, b), rtol=1e-6)
    np.testing.assert_allclose(x.atan2(y).numpy(), np.arctan2(a, b), rtol=1e-6)
    np.testing.assert_allclose(x.fmod(0.75).numpy(), np.fmod(a, np.float32(0.75)), rtol=1e-6)
    np.testing.assert_array_equal(x.max_pair(y).numpy(), np.maximum(a, b))
    np.testing.assert_array_equal(x.minimum(y).numpy(), np.minimum(a, b))


def test_nan_wins_in_pairs_and_clamps(device: Device) -> None:
    nan = float("nan")
    x, y = Tensor([nan, 1.0, 2.0], device=device), Tensor([1.0, nan, 1.0], device=device)
    np.testing.assert_array_equal(x.max_pair(y).numpy(), [nan, nan, 2.0])
    np.testing.assert_array_equal(x.min_pair(y).numpy(), [nan, nan, 1.0])
    np.testing.assert_array_equal(x.clamp(0.0, 1.5).numpy(), [nan, 1.0, 1.5])
    np.testing.assert_array_equal(x.clamp(max=1.5).numpy(), [nan, 1.0, 1.5])
    assert Tensor([-3, 0, 9], device=device).clamp(-1, 4).tolist() == [-1, 0, 4]


def test_tests_of_floats(device: Device) -> None:
    a = np.array([1.0, np.nan, np.inf, -np.inf, 0.0], np.float32)
    x = Tensor(a, device=device)
    np.testing.assert_array_equal(x.is_nan().numpy(), np.isnan(a))
    np.testing.assert_array_equal(x.is_inf().numpy(), np.isinf(a))
    np.testing.assert_array_equal(x.is_finite().numpy(), np.isfinite(a))


def test_closeness(device: Device) -> None:
    a = np.array([1.0, np.nan, np.inf, -np.inf, 1.0, np.inf], np.float32)
    b = np.array([1.0 + 5e-6, np.nan, np.inf, np.inf, 1.1, 1.0], np.float32)
    x, y = Tensor(a, device=device), Tensor(b, device=device)
    np.testing.assert_array_equal(x.is_close(y).numpy(), np.isclose(a, b))
    assert x.all_close(x) is False
    assert Tensor([1.0, 2.0], device=device).all_close(Tensor([1.0, 2.0], device=device)) is True
    assert x.contains_nan().tolist() == [True]


def test_round_to(device: Device) -> None:
    x = Tensor([1.25, -1.375, 1234.5], device=device)
    np.testing.assert_allclose(x.round_to(1).numpy(), [1.2, -1.4, 1234.5], rtol=1e-6)
    np.testing.assert_allclose(x.round_to(-2).numpy(), [0.0, 0.0, 1200.0])


def test_in_place_operators_rebind(device: Device) -> None:
    x = Tensor([1.0, 2.0], device=device)
    y = x
    x += 1
    x *= 2
    assert x.tolist() == [4.0, 6.0]
    assert y.tolist() == [1.0, 2.0]
    y.inplace(lambda t: t * 10.0)
    assert y.tolist() == [10.0, 20.0]
    assert y.extract().tolist() == [10.0, 20.0]
    assert y.shape == (0,)


def test_scalars_take_the_tensor_s_dtype(device: Device) -> None:
    assert (Tensor([1, 2], device=device) * 2.0).tolist() == [2, 4]
    assert (Tensor([1, 2], device=device) + 2**32).tolist() == [1, 2]
    assert (Tensor([1.0], device=device) + True).tolist() == [2.0]


def test_casts(device: Device) -> None:
    x = Tensor([-1.7, 0.0, 2.5, 3e9, float("nan")], device=device)
    assert x.int().tolist() == [-1, 0, 2, 2**31 - 1, 0]
    assert x.bool().tolist() == [True, False, True, True, True]
    assert x.bool().float().tolist() == [1.0, 0.0, 1.0, 1.0, 1.0]
    assert Tensor([300, -1], device=device).cast("u8").tolist() == [44, 255]
    assert Tensor([1, 0], device=device).astype(np.float32).dtype.name == "f32"
    assert x.cast("f32") is x
    assert Tensor([1.0, 2.0], device=device).bool().int().tolist() == [1, 1]
