"""Sums, products, extrema, running values, matrix products of floats."""

import numpy as np
import pytest

from burn_wgpu.std.dtype import BF16, BOOL_U8, F16, F32, F64, I32, I64, U8
from burn_wgpu.std.errors import ShapeError
from tests.backends.reference.tools import BOTH, INF, NAN, B, floats, near, same

both = pytest.mark.parametrize("b", [b for _, b in BOTH], ids=[name for name, _ in BOTH])
X = np.random.default_rng(0).normal(size=(3, 4, 5))


@both
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_axis_reductions_agree_with_numpy(b, dim):
    t = floats(X, F64)
    near(b.float_sum_dim(t, dim), X.sum(dim, keepdims=True), 1e-12)
    near(b.float_prod_dim(t, dim), X.prod(dim, keepdims=True), 1e-12)
    near(b.float_mean_dim(t, dim), X.mean(dim, keepdims=True), 1e-12, 1e-15)
    same(b.float_max_dim(t, dim), X.max(dim, keepdims=True))
    same(b.float_min_dim(t, dim), X.min(dim, keepdims=True))
    same(b.float_max_abs_dim(t, dim), np.abs(X).max(dim, keepdims=True))
    near(b.float_cumsum(t, dim), X.cumsum(dim), 1e-12, 1e-15)
    near(b.float_cumprod(t, dim), X.cumprod(dim), 1e-12)
    same(b.float_cummax(t, dim), np.maximum.accumulate(X, dim))
    same(b.float_cummin(t, dim), np.minimum.accumulate(X, dim))


@both
def test_whole_reductions_have_shape_1(b):
    t = floats(X, F64)
    for name, value in [
        ("sum", X.sum()),
        ("prod", X.prod()),
        ("mean", X.mean()),
        ("max", X.max()),
        ("min", X.min()),
        ("max_abs", np.abs(X).max()),
    ]:
        near(getattr(b, f"float_{name}")(t), [value], 1e-12)
    near(b.float_sum_dims(t, [0, 2]), X.sum((0, 2), keepdims=True), 1e-12)
    near(b.float_sum(floats(2.5)), [2.5])


@both
def test_empty_reductions(b):
    none = floats(np.zeros((2, 0)))
    same(b.float_sum_dim(none, 1), [[0.0], [0.0]])
    same(b.float_prod_dim(none, 1), [[1.0], [1.0]])
    same(b.float_mean_dim(none, 1), [[NAN], [NAN]])
    same(b.float_sum(none), [0.0])
    same(b.float_prod(none), [1.0])
    same(b.float_mean(none), [NAN])
    same(b.float_any(none, BOOL_U8), [False])
    same(b.float_all(none, BOOL_U8), [True])
    same(b.float_sum_dim(none, 0), np.zeros((1, 0)))
    for name in ("max", "min", "max_abs"):
        with pytest.raises(ShapeError, match="has size 0; it must have an element"):
            getattr(b, f"float_{name}")(none)
    for name in ("argmax", "argmin"):
        with pytest.raises(ShapeError) as caught:
            getattr(b, f"float_{name}")(none, 1, I32)
        assert str(caught.value) == f"{name}: axis 1 of shape [2, 0] has size 0; it must have an element"
    with pytest.raises(ShapeError):  # even where the result would be empty
        b.float_argmax(floats(np.zeros((0, 0))), 1, I32)


@both
def test_products_know_signs_and_zeros(b):
    same(b.float_prod(floats([-2, 3, -1, -4])), [-24])
    same(b.float_prod(floats([-2, 0, 3])), [0])


# P09
@both
@pytest.mark.parametrize("kind", [F16, BF16], ids=str)
def test_half_sums_and_means_do_not_saturate(b, kind):
    same(b.float_sum(floats(np.ones(4096), kind)), [4096])
    same(b.float_mean(floats(np.ones(70_000), kind)), [1])
    same(b.float_mean(floats(np.full(100, 1000.0), kind)), [1000])
    near(b.float_mean(floats(np.arange(1024.0), kind)), [511.5], 4e-3 if kind is BF16 else 5e-4)
    same(b.float_matmul(floats(np.ones((1, 4096)), kind), floats(np.ones((4096, 1)), kind)), [[4096]])


# P14: 1, 255, 256, 257 elements, NaN at the first, a middle and the last place
@both
@pytest.mark.parametrize("size", [1, 2, 255, 256, 257, 5000])
def test_nan_wins_in_extrema(b, size):
    for place in {0, size // 2, size - 1}:
        values = np.arange(size, dtype=np.float64)
        values[place] = NAN
        t = floats(values)
        for name in ("max", "min", "max_abs"):
            same(getattr(b, f"float_{name}")(t), [NAN])
        same(b.float_argmax(t, 0, I32), [place])
        same(b.float_argmin(t, 0, I32), [place])
        running = np.where(np.arange(size) >= place, NAN, values)
        same(b.float_cummax(t, 0), running)
        same(b.float_cummin(t, 0), np.where(np.arange(size) >= place, NAN, 0.0))
        biggest, index = b.float_max_dim_with_indices(t, 0, I64)
        same(biggest, [NAN])
        same(index, [place])


def test_the_first_of_several_nans_is_the_argument():
    t = floats([[1, NAN, 5, NAN], [NAN, 0, NAN, 9]])
    same(B.float_argmax(t, 1, I32), [[1], [0]])
    same(B.float_argmin(t, 1, I32), [[1], [0]])
    same(B.float_cummax(floats([1, 3, NAN, 2, 9]), 0), [1, 3, NAN, NAN, NAN])


# P15
@both
def test_ties_give_the_lowest_index(b):
    for size in (1, 2, 255, 256, 257, 1025, 70_000):
        same(b.float_argmax(floats(np.zeros(size)), 0, I32), [0])
        same(b.float_argmin(floats(np.zeros(size)), 0, I32), [0])
    values, index = b.float_min_dim_with_indices(floats([[3, 1, 1], [0, 0, -0.0]]), 1, I32)
    same(values, [[1], [0]])
    same(index, [[1], [0]])


def test_argument_results_have_the_wanted_dtype():
    assert B.float_argmax(floats([1, 2]), 0, U8).dtype is U8
    assert B.float_argmax(floats([1, 2]), 0, I64).dtype is I64


@both
def test_any_and_all(b):
    t = floats([[0, 0, 0], [0, NAN, 0], [1, -1, 2]])
    same(b.float_any_dim(t, 1, BOOL_U8), [[False], [True], [True]])
    same(b.float_all_dim(t, 1, BOOL_U8), [[False], [False], [True]])
    same(b.float_any(t, BOOL_U8), [True])
    same(b.float_all(t, BOOL_U8), [False])
    # A count in f16 would end at 2048 or 65504.
    same(b.float_all(floats(np.ones(70_001), F16), BOOL_U8), [True])


@pytest.mark.parametrize("kind", [F64, F32, F16, BF16], ids=str)
def test_matmul(kind):
    rng = np.random.default_rng(1)
    x, y = floats(rng.normal(size=(2, 1, 3, 7)), kind), floats(rng.normal(size=(1, 4, 7, 5)), kind)
    exact = np.einsum("abmk,cdkn->admn", x.values.astype(float), y.values.astype(float))
    near(
        B.float_matmul(x, y),
        exact,
        {F64: 1e-13, F32: 1e-6, F16: 1e-3, BF16: 8e-3}[kind],
        1e-3 if kind.size_bytes == 2 else 1e-7,
    )


@both
def test_sums_over_several_axes_round_once(b):
    # 2048 + 1 is not an f16; the sum of both rows is.
    t = floats([[2048, 0], [1, 1]], F16)
    same(b.float_sum_dims(t, [0, 1]), [[2050]])
    same(b.float_sum_dims(floats([[1, 2048], [1, 0]], F16), [1, 0]), [[2050]])
    same(b.float_sum_dims(t, []), [[2048, 0], [1, 1]])


def test_matmul_of_nothing_is_zero():
    same(B.float_matmul(floats(np.zeros((2, 0))), floats(np.zeros((0, 3)))), np.zeros((2, 3)))
    assert B.float_matmul(floats(np.zeros((0, 2))), floats(np.zeros((2, 3)))).shape == (0, 3)
    same(B.float_matmul(floats([[0.0, INF]]), floats([[1.0], [0.0]])), [[NAN]])


def test_hidden_elements_of_a_view_do_not_count():
    t = floats([[NAN, 1, 2, NAN]])
    from burn_wgpu.std.slice import Slice

    inside = B.float_slice(t, [Slice.full(), Slice(1, 3)])
    same(B.float_sum(inside), [3])
    same(B.float_max(inside), [2])
