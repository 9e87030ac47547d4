"""Normalisation, linear layers, embeddings: against PyTorch and float64, at awkward ranges."""

import numpy as np
import pytest

from burn_wgpu.std.dtype import BF16, F16, F32, F64
from burn_wgpu.std.errors import IndexOutOfRange
from tests.backends.reference.tools import BOTH, floats, ints, near, read, same

both = pytest.mark.parametrize("b", [b for _, b in BOTH], ids=[name for name, _ in BOTH])
RNG = np.random.default_rng(4)
EPS = 1e-5


def normal(*shape):
    return RNG.normal(size=shape)


def wide(*arrays):
    return [floats(a, F64) for a in arrays]


@both
@pytest.mark.parametrize("shape", [(4, 3), (4, 3, 5), (2, 3, 4, 5), (2, 3, 2, 3, 4)])
def test_train_mode_batch_norm_and_its_gradients_agree_with_torch(b, shape):
    torch = pytest.importorskip("torch")
    x, gamma, beta = normal(*shape) * 3 + 1, normal(3), normal(3)
    leaves = [torch.tensor(a, requires_grad=True) for a in (x, gamma, beta)]
    expected = torch.nn.functional.batch_norm(leaves[0], None, None, leaves[1], leaves[2], training=True, eps=EPS)
    grad = normal(*shape)
    expected.backward(torch.tensor(grad))
    tx, tg, tb = wide(x, gamma, beta)
    found = b.batch_norm_train(tx, tg, tb, EPS)
    near(found.output, expected.detach().numpy(), 1e-10, 1e-11)
    axes = tuple(a for a in range(x.ndim) if a != 1)
    near(found.mean, x.mean(axes), 1e-12)
    near(found.variance, x.var(axes), 1e-12)  # biased, without eps
    grads = b.batch_norm_train_backward(tx, tg, found.mean, found.variance, EPS, floats(grad, F64))
    near(grads.x_grad, leaves[0].grad.numpy(), 1e-9, 1e-11)
    near(grads.gamma_grad, leaves[1].grad.numpy(), 1e-9, 1e-11)
    near(grads.beta_grad, leaves[2].grad.numpy(), 1e-9, 1e-11)


@both
def test_batch_norm_uses_the_given_statistics(b):
    x, gamma, beta, mean, variance = normal(2, 3, 4), normal(3), normal(3), normal(3), RNG.uniform(0.5, 2, 3)
    column = (slice(None), None)
    expected = (x - mean[column]) / np.sqrt(variance[column] + EPS) * gamma[column] + beta[column]
    near(b.batch_norm(*wide(x, gamma, beta, mean, variance), EPS), expected, 1e-12, 1e-13)


@both
@pytest.mark.parametrize("kind", [F16, BF16])
def test_statistics_of_halves_are_f32_and_do_not_overflow(b, kind):
    x = np.round(normal(64, 2, 4)) * 256 + 800  # its variance is above what f16 can hold
    tensor = floats(x, kind)
    stored = read(tensor).astype(np.float64)
    ones, zeros = floats(np.ones(2), kind), floats(np.zeros(2), kind)
    found = b.batch_norm_train(tensor, ones, zeros, EPS)
    assert (found.output.dtype, found.mean.dtype, found.variance.dtype) == (kind, F32, F32)
    near(found.mean, stored.mean((0, 2)), 1e-5)
    near(found.variance, stored.var((0, 2)), 1e-5)
    normalised = (stored - stored.mean((0, 2), keepdims=True)) / stored.std((0, 2), keepdims=True)
    near(found.output, normalised, 1e-2 if kind is BF16 else 2e-3, 1e-3)
    evaluated = b.batch_norm(tensor, ones, zeros, found.mean, found.variance, EPS)
    same(evaluated, read(found.output))
    grads = b.batch_norm_train_backward(tensor, ones, found.mean, found.variance, EPS, tensor)
    assert grads.x_grad.dtype is kind and np.isfinite(read(grads.x_grad)).all()


@both
@pytest.mark.parametrize("kind", [F32, F16, BF16])
def test_layer_norm_survives_large_values_and_large_means(b, kind):
    x = normal(4, 64) * 300 + 800 if kind is not F32 else 1e4 + normal(4, 64)
    tensor = floats(x, kind)
    stored = read(tensor).astype(np.float64)
    gamma, beta = floats(normal(64), kind), floats(normal(64), kind)
    expected = (stored - stored.mean(1, keepdims=True)) / np.sqrt(stored.var(1, keepdims=True) + EPS)
    expected = expected * read(gamma) + read(beta)
    tolerance = {F32: 1e-3, F16: 2e-3, BF16: 1e-2}[kind]
    near(b.layer_norm(tensor, gamma, beta, EPS), expected, tolerance, tolerance)


@both
def test_layer_norm_without_beta_agrees_with_torch(b):
    torch = pytest.importorskip("torch")
    x, gamma = normal(2, 3, 5), normal(5)
    expected = torch.nn.functional.layer_norm(torch.tensor(x), (5,), torch.tensor(gamma), None, EPS)
    near(b.layer_norm(floats(x, F64), floats(gamma, F64), None, EPS), expected.numpy(), 1e-10, 1e-12)


@both
@pytest.mark.parametrize("lead", [(3,), (2, 3), (2, 1, 3, 2)])
def test_linear_and_its_gradients_are_matrix_products(b, lead):
    x, weight, bias, grad = normal(*lead, 4), normal(4, 5), normal(5), normal(*lead, 5)
    tx, tw, tb, tg = wide(x, weight, bias, grad)
    near(b.linear(tx, tw, tb), x @ weight + bias, 1e-12, 1e-13)
    near(b.linear(tx, tw, None), x @ weight, 1e-12, 1e-13)
    near(b.linear_x_backward(tw, tg), grad @ weight.T, 1e-12, 1e-13)
    near(b.linear_weight_backward(tx, tg), x.reshape(-1, 4).T @ grad.reshape(-1, 5), 1e-12, 1e-13)
    near(b.linear_bias_backward(tg), grad.reshape(-1, 5).sum(0), 1e-12, 1e-13)


@both
def test_embedding_picks_rows_and_its_gradient_adds_them(b):
    weights, indices = normal(5, 3), np.array([[0, 4, 4], [1, 4, 0]])
    same(b.embedding(floats(weights, F64), ints(indices)), weights[indices])
    grad = normal(2, 3, 3)
    expected = np.zeros((5, 3))
    np.add.at(expected, indices, grad)
    near(b.embedding_backward(floats(weights, F64), floats(grad, F64), ints(indices)), expected, 1e-12)


@both
def test_an_embedding_gradient_of_halves_counts_exactly(b):
    indices, grad = np.zeros((1, 4096), int), np.ones((1, 4096, 1))
    found = b.embedding_backward(floats(np.zeros((2, 1)), F16), floats(grad, F16), ints(indices))
    same(found, [[4096.0], [0.0]])


@both
def test_an_embedding_outside_the_table_is_an_error(b):
    with pytest.raises(IndexOutOfRange):
        b.embedding(floats(normal(5, 3)), ints([[5]]))
