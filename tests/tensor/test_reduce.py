"""Reductions, cumulative functions and order against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from burn_wgpu import Device, Tensor

REDUCE: list[tuple[str, Callable[..., Any]]] = [
    ("sum", np.sum), ("mean", np.mean), ("prod", np.prod), ("max", np.max), ("min", np.min),
    ("max_abs", lambda a, axis=None, keepdims=False: np.max(np.abs(a), axis, keepdims=keepdims)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "oracle"), REDUCE, ids=[r[0] for r in REDUCE])
def test_float_reductions(device: Device, rng: np.random.Generator, name: str, oracle: Callable[..., Any]) -> None:
    a = rng.standard_normal((3, 4, 5)).astype(np.float32)
    x = Tensor(a, device=device)
    close = lambda got, want: np.testing.assert_allclose(got.numpy(), want, rtol=2e-5, atol=1e-5)  # noqa: E731
    whole = getattr(x, name)()
    assert whole.shape == (1,)
    close(whole, oracle(a).reshape(1))
    for dim in (0, 1, -1):
        kept = getattr(x, name + "_dim")(dim)
        assert kept.shape == oracle(a, axis=dim, keepdims=True).shape
        close(kept, oracle(a, axis=dim, keepdims=True))
        close(getattr(x, name)(dim=dim), oracle(a, axis=dim))
    close(getattr(x, name + "_dims")([0, 2]), oracle(a, axis=(0, 2), keepdims=True))
    close(getattr(x, name)(dim=(0, -1), keepdim=True), oracle(a, axis=(0, 2), keepdims=True))


def test_int_reductions(device: Device) -> None:
    a = np.array([[7, -8, 3], [2, 5, -9]])
    x = Tensor(a, device=device)
    assert x.sum().tolist() == [0] and x.sum().dtype.name == "i32"
    assert x.prod().tolist() == [int(a.prod())]
    assert x.max().tolist() == [7] and x.min_dim(1).tolist() == [[-8], [-9]]
    assert x.mean().tolist() == [0]
    assert Tensor([[7, 8], [-3, -4]], device=device).mean_dim(1).tolist() == [[7], [-3]]
    # (1 + 2) / 2 truncates to 1 first when the axes are folded: the sum of all is divided once.
    assert Tensor([[1, 2], [2, 2]], device=device).mean_dims([0, 1]).tolist() == [[1]]
    assert Tensor([[3, 3], [2, 4]], device=device).mean(dim=(0, 1)).item() == 3


def test_bool_masks_are_counted_as_ints(device: Device) -> None:
    mask = Tensor([True, False, True], device=device)
    assert mask.int().sum().item() == 2


def test_sum_dims_squeeze_and_no_axes(device: Device) -> None:
    x = Tensor(np.arange(24.0).reshape(2, 3, 4), device=device)
    assert x.sum_dims_squeeze([0, 2]).tolist() == [60.0, 92.0, 124.0]
    assert x.sum_dims([]).shape == (2, 3, 4)
    assert Tensor([-1.0], device=device).max_abs_dims([]).tolist() == [1.0]


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_arg_reductions_take_the_lowest_index_and_the_first_nan(device: Device, name: str) -> None:
    a = np.array([[1.0, 3.0, 3.0, 1.0], [2.0, np.nan, 5.0, np.nan], [4.0, 4.0, 4.0, 4.0]], np.float32)
    x = Tensor(a, device=device)
    got = getattr(x, name)(1)
    assert got.shape == (3, 1) and got.kind == "int"
    np.testing.assert_array_equal(got.numpy(), getattr(np, name)(a, 1, keepdims=True))
    assert getattr(x, name)(1, keepdim=False).shape == (3,)
    values, indices = getattr(x, name[3:] + "_dim_with_indices")(1)
    np.testing.assert_array_equal(indices.numpy(), got.numpy())
    np.testing.assert_array_equal(values.numpy(), getattr(np, name[3:])(a, 1, keepdims=True))


def test_nan_wins_in_extrema(device: Device) -> None:
    for at in (0, 2, 4):
        a = np.array([1.0, 2.0, 3.0, 2.0, 1.0], np.float32)
        a[at] = np.nan
        x = Tensor(a, device=device)
        for name in ("max", "min", "max_abs"):
            assert np.isnan(getattr(x, name)().item())
        np.testing.assert_array_equal(x.cummax(0).numpy(), np.maximum.accumulate(a))
        np.testing.assert_array_equal(x.cummin(0).numpy(), np.minimum.accumulate(a))


def test_cumulative(device: Device) -> None:
    a = np.array([[1.0, -2.0, 3.0], [0.5, 4.0, -1.0]], np.float32)
    x = Tensor(a, device=device)
    np.testing.assert_allclose(x.cumsum(1).numpy(), a.cumsum(1))
    np.testing.assert_allclose(x.cumprod(0).numpy(), a.cumprod(0))
    assert Tensor([1, 2, 3], device=device).cumsum(-1).tolist() == [1, 3, 6]


def test_sorting_is_stable_and_puts_nan_last(device: Device) -> None:
    a = np.array([3.0, np.nan, -0.0, 0.0, 1.0, -np.inf, 3.0], np.float32)
    x = Tensor(a, device=device)
    order = np.argsort(a, kind="stable")
    values, indices = x.sort_with_indices(0)
    np.testing.assert_array_equal(values.numpy(), a[order])
    np.testing.assert_array_equal(indices.numpy(), order)
    np.testing.assert_array_equal(x.argsort(0).numpy(), order)
    np.testing.assert_array_equal(x.sort().numpy(), np.sort(a))
    down = [1, 0, 6, 4, 2, 3, 5]
    np.testing.assert_array_equal(x.argsort_descending().numpy(), down)
    np.testing.assert_array_equal(x.sort_descending().numpy(), a[down])
    for k in (0, 1, 7):
        top, where = x.topk_with_indices(k)
        np.testing.assert_array_equal(where.numpy(), down[:k])
        np.testing.assert_array_equal(top.numpy(), a[down[:k]])
        np.testing.assert_array_equal(x.argtopk(k).numpy(), down[:k])
    ints = Tensor([[3, 1], [2, 2]], device=device)
    assert ints.sort(1).tolist() == [[1, 3], [2, 2]]
    assert ints.topk(1, 0).tolist() == [[3, 2]]


def test_halves_accumulate_in_float32(device: Device) -> None:
    assert Tensor.ones(4096, device, "f16").sum().item() == 4096
    assert Tensor.ones(70_000, device, "f16").mean().item() == 1
    assert Tensor.full(100, 1000.0, device, "f16").mean().item() == 1000


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0), (2, 0, 3)])
def test_reductions_of_nothing(device: Device, shape: tuple[int, ...]) -> None:
    from burn_wgpu.std.errors import ShapeError

    x = Tensor.zeros(shape, device)
    assert x.sum().tolist() == [0.0] and x.prod().tolist() == [1.0] and np.isnan(x.mean().item())
    assert x.any().tolist() == [False] and x.all().tolist() == [True]
    for axis in range(len(shape)):
        np.testing.assert_array_equal(x.sum_dim(axis).numpy(), np.zeros(shape).sum(axis, keepdims=True))
        np.testing.assert_array_equal(x.prod_dim(axis).numpy(), np.zeros(shape).prod(axis, keepdims=True))
        np.testing.assert_array_equal(x.cumsum(axis).numpy(), np.zeros(shape))
    for call in (x.max, x.min, x.max_abs):
        with pytest.raises(ShapeError):
            call()
    empty_axis = shape.index(0)
    for call in (x.max_dim, x.argmax, x.argmin, x.median):
        with pytest.raises(ShapeError):
            call(empty_axis)


def test_one_hot(device: Device) -> None:
    x = Tensor([[0, 2], [-1, 1]], device=device)
    np.testing.assert_array_equal(x.one_hot(3).numpy(), np.eye(3, dtype=int)[[[0, 2], [2, 1]]])
    assert x.one_hot(3).dtype.name == "i32"
    filled = Tensor([0.9, 5.0, float("nan"), -2.0], device=device).one_hot_fill(3, 7.0, -1.0, 0)
    assert filled.tolist() == [[7.0, -1.0, -1.0, -1.0], [-1.0, -1.0, -1.0, 7.0], [-1.0, -1.0, -1.0, -1.0]]
    assert x.one_hot_fill(0, 1, 0).shape == (2, 2, 0)


def test_statistics(device: Device, rng: np.random.Generator) -> None:
    a = (rng.standard_normal((4, 6)) + 100).astype(np.float32)
    x = Tensor(a, device=device)
    wide = a.astype(np.float64)
    np.testing.assert_allclose(x.var(1).numpy(), wide.var(1, ddof=1, keepdims=True), rtol=1e-4)
    variance, mean = x.var_mean_bias(0)
    np.testing.assert_allclose(variance.numpy(), wide.var(0, keepdims=True), rtol=1e-4)
    np.testing.assert_allclose(mean.numpy(), wide.mean(0, keepdims=True), rtol=1e-6)
    np.testing.assert_allclose(x.std(1).numpy(), wide.std(1, ddof=1, keepdims=True), rtol=1e-4)
    np.testing.assert_allclose(x.cov(0).numpy(), np.cov(wide, rowvar=False), rtol=1e-3, atol=1e-4)
    values, indices = x.median_with_indices(1)
    order = np.argsort(a, 1, kind="stable")[:, 2:3]
    np.testing.assert_array_equal(indices.numpy(), order)
    np.testing.assert_array_equal(values.numpy(), np.take_along_axis(a, order, 1))
    np.testing.assert_array_equal(x.median(1).numpy(), values.numpy())


def test_matrix_products(device: Device, rng: np.random.Generator) -> None:
    shapes = [
        ((2, 3), (3, 4)), ((3,), (3,)), ((3,), (3, 4)), ((2, 3), (3,)), ((5, 2, 3), (3, 4)), ((3,), (5, 3, 4)),
        ((2, 1, 4, 3), (5, 3, 2)), ((2, 0), (0, 3)), ((0, 2), (2, 3)), ((5, 1, 3), (5, 3, 1)),
    ]  # fmt: skip
    for left, right in shapes:
        a, b = rng.standard_normal(left).astype(np.float32), rng.standard_normal(right).astype(np.float32)
        got = Tensor(a, device=device) @ Tensor(b, device=device)
        want = a @ b
        assert got.shape == want.shape
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-5, atol=1e-5)
    x = Tensor([1.0, 2.0, 3.0], device=device)
    assert x.dot(x).tolist() == [14.0]
    assert (Tensor([[1, 2]], device=device) @ Tensor([[3], [4]], device=device)).tolist() == [[11]]


def test_cross_products(device: Device, rng: np.random.Generator) -> None:
    a, b = rng.standard_normal((2, 3)).astype(np.float32), rng.standard_normal((2, 3)).astype(np.float32)
    got = Tensor(a, device=device).cross(Tensor(b, device=device), 1)
    np.testing.assert_allclose(got.numpy(), np.cross(a, b), rtol=1e-4, atol=1e-5)


def test_categorical_follows_the_weights(device: Device) -> None:
    device.seed(5)
    weights = Tensor([[0.0, 1.0, 0.0, 0.0], [2.0, 0.0, 0.0, 6.0]], device=device)
    drawn = weights.categorical(4000).numpy()
    assert drawn.shape == (2, 4000) and set(drawn[0]) == {1} and set(drawn[1]) == {0, 3}
    assert abs((drawn[1] == 3).mean() - 0.75) < 0.03
