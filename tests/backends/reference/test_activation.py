"""Activations and their gradients at ordinary and extreme arguments, against float64 and PyTorch."""

import math

import numpy as np
import pytest

from burn_wgpu.contract.activation_ops import ActivationOps
from burn_wgpu.contract.declare import elementwise_functions
from burn_wgpu.std.dtype import BF16, F16, F32, F64
from tests.backends.reference.tools import BOTH, INF, NAN, B, floats, near, read, same

both = pytest.mark.parametrize("b", [b for _, b in BOTH], ids=[name for name, _ in BOTH])
HARD = [
    0.0,
    -0.0,
    1e-8,
    -1e-8,
    10.0,
    -10.0,
    20.0,
    -20.0,
    44.0,
    -44.0,
    89.0,
    -89.0,
    1e4,
    -1e4,
    INF,
    -INF,
    NAN,
    0.7,
    -1.3,
]


def sigmoid(x):
    return 1 / (1 + math.exp(-x)) if x > -700 else math.exp(x)


def log_sigmoid(x):
    return -math.log1p(math.exp(-x)) if x > -30 else x


def gelu(x):
    return x * math.erfc(-x / math.sqrt(2)) / 2


def gelu_slope(x):
    return math.erfc(-x / math.sqrt(2)) / 2 + x * math.exp(-x * x / 2) / math.sqrt(2 * math.pi)


SINGLE = {
    "relu": lambda x: x if x > 0 else x * 0 if x != x else 0.0,
    "gelu": gelu,
    "sigmoid": sigmoid,
    "log_sigmoid": log_sigmoid,
}


def values(function, points):
    return np.array([function(float(p)) if p == p else NAN for p in points])


@pytest.mark.parametrize("name", SINGLE)
@pytest.mark.parametrize(("kind", "rtol"), [(F64, 1e-14), (F32, 1e-6), (F16, 5e-4), (BF16, 4e-3)])
def test_activations_hold_at_extreme_arguments(name, kind, rtol):
    stored = read(floats(HARD, kind)).astype(np.float64)
    finite = np.isfinite(stored)
    expected = values(SINGLE[name], np.where(finite, stored, 0))
    found = read(getattr(B, name)(floats(HARD, kind))).astype(np.float64)
    np.testing.assert_allclose(
        found[finite], expected[finite], rtol=rtol, atol=float(np.finfo(np.float32).tiny) if kind is not F16 else 6e-8
    )
    assert np.isnan(found[np.isnan(stored)]).all()
    limits = {"relu": (INF, 0), "gelu": (INF, NAN), "sigmoid": (1, 0), "log_sigmoid": (0, -INF)}[name]
    np.testing.assert_array_equal(found[np.isinf(stored) & (stored > 0)], limits[0])
    np.testing.assert_array_equal(found[stored == -INF], limits[1])


@pytest.mark.parametrize("kind", [F64, F32])
def test_gradients_are_the_slopes(kind):
    points = np.array([p for p in HARD if np.isfinite(p)])
    grad = np.linspace(-2, 2, points.size)
    x, g = floats(points, kind), floats(grad, kind)
    tolerance = dict(rtol=1e-6, atol=1e-38) if kind is F32 else dict(rtol=1e-13, atol=1e-300)
    slopes = values(sigmoid, points)
    near(B.log_sigmoid_backward(x, g), grad * values(sigmoid, -points), **tolerance)
    near(B.gelu_backward(x, g), grad * values(gelu_slope, points), **tolerance)
    output = B.sigmoid(x)
    near(B.sigmoid_backward(output, g), grad * read(output) * (1 - read(output)), **tolerance)
    np.testing.assert_allclose(read(output), slopes, rtol=1e-6)
    near(B.relu_backward(B.relu(x), g), np.where(points > 0, grad, 0.0), **tolerance)


def test_the_gradient_of_relu_at_zero_is_zero():
    same(B.relu_backward(floats([0.0, 1.0, NAN]), floats([5.0, 6.0, 7.0])), [0.0, 6.0, 7.0])
    assert not np.signbit(read(B.relu(floats([-0.0])))).any()


def test_slopes_below_zero():
    x = floats([-2.0, 0.0, 3.0, NAN])
    same(B.leaky_relu(x, 0.5), [-1.0, 0.0, 3.0, NAN])
    same(B.prelu(floats([[-2.0, -2.0], [3.0, -4.0]]), floats([[0.5, 0.25]])), [[-1.0, -0.5], [3.0, -1.0]])


def test_hard_sigmoid_is_clamped_and_keeps_nan():
    same(B.hard_sigmoid(floats([-9.0, 0.0, 1.0, 9.0, INF, NAN]), 0.25, 0.5), [0.0, 0.5, 0.75, 1.0, 1.0, NAN])


@both
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_softmax_and_relatives_agree_with_torch(b, dim):
    torch = pytest.importorskip("torch")
    x = np.random.default_rng(7).normal(size=(3, 4, 5)) * 5
    leaf = torch.tensor(x)
    near(b.softmax(floats(x, F64), dim), leaf.softmax(dim).numpy(), 1e-12, 1e-14)
    near(b.log_softmax(floats(x, F64), dim), leaf.log_softmax(dim).numpy(), 1e-12, 1e-14)
    near(b.softmin(floats(x, F64), dim), (-leaf).softmax(dim).numpy(), 1e-12, 1e-14)


@both
def test_softmax_at_the_edges(b):
    x = [[-INF, -INF], [NAN, 0.0], [1e4, 0.0], [-INF, 3.0], [INF, 0.0]]
    same(b.softmax(floats(x), 1), [[NAN, NAN], [NAN, NAN], [1.0, 0.0], [0.0, 1.0], [NAN, NAN]])


@both
def test_log_softmax_at_the_edges(b):
    same(b.log_softmax(floats([[1e4, 0.0], [-INF, 3.0]]), 1), [[0.0, -1e4], [-INF, 0.0]])
    assert np.isnan(read(b.log_softmax(floats([[-INF, -INF], [NAN, 0.0]]), 1))).all()


@both
@pytest.mark.parametrize("kind", [F16, BF16])
def test_a_softmax_over_many_halves_sums_in_f32(b, kind):
    near(b.softmax(floats(np.zeros((1, 70000)), kind), 1), np.full((1, 70000), 1 / 70000), 5e-3, 1e-7)


@both
def test_an_empty_softmax_is_empty(b):
    assert b.softmax(floats(np.zeros((2, 0))), 1).shape == (2, 0)
    assert b.log_softmax(floats(np.zeros((0, 3))), 1).shape == (0, 3)


def test_all_activations_but_those_along_an_axis_are_elementwise():
    assert sorted(elementwise_functions(ActivationOps)) == [
        "elu", "gelu", "gelu_approximate", "gelu_backward", "glu", "hard_shrink", "hard_sigmoid", "hard_swish",
        "leaky_relu", "log_sigmoid", "log_sigmoid_backward", "mish", "prelu", "relu", "relu_backward", "shrink",
        "sigmoid", "sigmoid_backward", "silu", "softplus", "softsign", "tanhshrink", "threshold",
    ]  # fmt: skip
