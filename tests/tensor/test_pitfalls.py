"""Mistakes that tensor libraries made before: views, aliases, empty tensors, masks of every width."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from burn_wgpu import Device, Tensor
from burn_wgpu.std.errors import ShapeError
from burn_wgpu.tensor import activation
from burn_wgpu.tensor import functional as F

VIEWS: list[tuple[str, Callable[[np.ndarray, Device], Tensor]]] = [
    ("transposed", lambda a, d: Tensor(a.T, device=d).transpose()),
    ("stepped", lambda a, d: Tensor(np.repeat(a, 2, 0), device=d)[::2]),
    ("flipped", lambda a, d: Tensor(a[::-1], device=d).flip(0)),
    ("offset", lambda a, d: Tensor(np.concatenate([a[:1], a]), device=d)[1:, :]),
    ("inner", lambda a, d: Tensor(np.pad(a, 1), device=d)[1:-1, 1:-1]),
    ("reshaped", lambda a, d: Tensor(a, device=d).unsqueeze_dim(1).expand(-1, 1, -1).reshape(a.shape)),
]
OPERATIONS: list[tuple[str, Callable[[Tensor], Tensor]]] = [
    ("add", lambda t: t + t),
    ("scalar", lambda t: t * 2.5),
    ("exp", lambda t: t.exp()),
    ("sum", lambda t: t.sum()),
    ("sum_dim", lambda t: t.sum_dim(0)),
    ("mean", lambda t: t.mean_dim(1)),
    ("max", lambda t: t.max_dim(1)),
    ("argmax", lambda t: t.argmax(0)),
    ("cumsum", lambda t: t.cumsum(1)),
    ("matmul", lambda t: t @ t.T),
    ("compare", lambda t: t > 0.5),
    ("mask", lambda t: t.mask_fill(t > 0.5, 0)),
    ("cast", lambda t: t.int()),
    ("half", lambda t: t.cast("f16")),
    ("cat", lambda t: Tensor.cat([t, t], 1)),
    ("softmax", lambda t: activation.softmax(t, 1)),
    ("gather", lambda t: t.select(1, [2, 0])),
    ("scatter", lambda t: t.select_assign(0, [1], t[:1], "add")),
    ("assign", lambda t: t.slice_assign([(0, 1)], t[1:2])),
    ("sort", lambda t: t.sort(1)),
    ("flip", lambda t: t.flip(1)),
    ("repeat", lambda t: t.repeat(2, 2)),
    ("unfold", lambda t: t.unfold(1, 2, 1)),
    ("reshape", lambda t: t.reshape(-1)),
    ("pad", lambda t: t.pad([(1, 1), (2, 0)], 9.0)),
    ("relu", lambda t: activation.relu(t - 0.5)),
]


@pytest.mark.parametrize(("name", "operation"), OPERATIONS, ids=[o[0] for o in OPERATIONS])
def test_a_view_gives_what_a_copy_gives(
    device: Device, rng: np.random.Generator, name: str, operation: Callable[[Tensor], Tensor]
) -> None:
    a = rng.random((3, 4)).astype(np.float32)
    want = operation(Tensor(a, device=device)).numpy()
    for label, view in VIEWS:
        got = operation(view(a, device))
        assert got.shape == want.shape, label
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-6, err_msg=label)
    row = rng.random((1, 4)).astype(np.float32)
    want = operation(Tensor(np.repeat(row, 3, 0), device=device)).numpy()
    np.testing.assert_allclose(operation(Tensor(row, device=device).expand(3, 4)).numpy(), want, rtol=1e-6)


def test_axes_of_size_one_may_have_any_stride(device: Device) -> None:
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    x = Tensor(a, device=device)
    column = x[:, 1:2]
    np.testing.assert_array_equal(column.reshape(3).numpy(), a[:, 1])
    np.testing.assert_array_equal((column + column.transpose()).numpy(), a[:, 1:2] + a[:, 1:2].T)
    row = x[1:2].transpose()
    np.testing.assert_array_equal((row * 2).flatten().numpy(), a[1] * 2)
    np.testing.assert_array_equal((x[2:3] @ row).numpy(), a[2:3] @ a[1:2].T)
    np.testing.assert_array_equal(x[:, None, 2:3].permute(1, 2, 0).reshape(3, 1).numpy(), a[:, 2:3])


def test_one_tensor_may_be_every_operand(device: Device) -> None:
    a = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
    x = Tensor(a, device=device)
    np.testing.assert_array_equal((x * x).numpy(), a * a)
    np.testing.assert_array_equal(Tensor.cat([x, x]).numpy(), np.concatenate([a, a]))
    np.testing.assert_array_equal(x.mask_where(x > 2, x).numpy(), a)
    np.testing.assert_array_equal(x.slice_assign([(0, 1)], x[1:]).numpy(), a[[1, 1]])
    np.testing.assert_array_equal(x.slice_assign([(0, 2), (1, 2)], x[:, :1]).numpy(), a[:, [0, 0]])
    np.testing.assert_array_equal((x @ x).numpy(), a @ a)


def test_a_view_keeps_its_values_when_the_source_is_rebound(device: Device) -> None:
    x = Tensor([1.0, 2.0, 3.0], device=device)
    view = x[1:]
    x += 10
    x *= 2
    assert view.tolist() == [2.0, 3.0] and x.tolist() == [22.0, 24.0, 26.0]


def test_values_outside_a_view_do_not_matter(device: Device) -> None:
    a = np.array([[1.0, np.nan, 3.0, np.inf]], np.float32)
    x = Tensor(a, device=device)[:, ::2]
    assert x.sum().item() == 4 and x.max().item() == 3 and x.mean().item() == 2
    assert Tensor([1, 2, 3, 4], device=device)[1:3].prod().item() == 6


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 3)])
def test_operations_on_nothing(device: Device, shape: tuple[int, ...]) -> None:
    a = np.zeros(shape, np.float32)
    x = Tensor(a, device=device)
    cases: list[tuple[Tensor, Any]] = [
        (x + x, a),
        (x * 2, a),
        (x.exp(), a),
        (x > 0, a > 0),
        (x.int(), a),
        (x.flip(0), a),
        (x.reshape(-1), a.ravel()),
        (x.T, a.T),
        (Tensor.cat([x, x]), np.concatenate([a, a])),
        (x.unsqueeze(), a[None]),
        (x.repeat_dim(0, 2), a.repeat(2, 0)),
        (x.sort(0), a),
        (x.mask_fill(x > 0, 1), a),
        (x.mask_select(x == 0), a.ravel()),
        (x.cast("f16"), a),
        (activation.relu(x), a),
        (x.pad([(1, 1)] * len(shape), 5.0), np.pad(a, 1, constant_values=5)),
        (-x, a),
    ]
    for got, want in cases:
        assert got.shape == np.shape(want)
        np.testing.assert_array_equal(got.numpy(), want)
    assert x.to_data().size_bytes == 0 and x.tolist() == a.tolist()
    assert (x == x).all().item() is True


def test_products_with_nothing_inside_are_zero(device: Device) -> None:
    product = Tensor.zeros((2, 0), device) @ Tensor.zeros((0, 3), device)
    np.testing.assert_array_equal(product.numpy(), np.zeros((2, 3)))
    assert (Tensor.zeros((0, 2), device) @ Tensor.zeros((2, 3), device)).shape == (0, 3)
    assert F.linear(Tensor.zeros((0, 2), device), Tensor.zeros((2, 3), device)).shape == (0, 3)
    with pytest.raises(ShapeError):
        Tensor.zeros(0, device).max()


@pytest.mark.parametrize("n", range(1, 10))
def test_masks_of_every_length(device: Device, n: int) -> None:
    a, b = np.arange(n), np.arange(n)[::-1].copy()
    x, y = Tensor(a, device=device), Tensor(b, device=device)
    np.testing.assert_array_equal((x <= y).numpy(), a <= b)
    np.testing.assert_array_equal(((x < y) & ~(x == y)).numpy(), a < b)
    assert (x <= x).all().item() is True and (x < x).any().item() is False
    assert (x >= 0).int().sum().item() == n
    np.testing.assert_array_equal(x.bool().numpy(), a != 0)
    np.testing.assert_array_equal((x > y).cast("f32").bool().numpy(), a > b)


def test_awkward_sizes_broadcast(device: Device) -> None:
    for n in (1, 2, 3, 5, 7, 31, 33, 257):
        a = np.arange(n, dtype=np.float32)
        x, one = Tensor(a, device=device), Tensor([2.0], device=device)
        np.testing.assert_array_equal((x + one).numpy(), a + 2)
        np.testing.assert_array_equal((one - x).numpy(), 2 - a)
        np.testing.assert_array_equal(x.cast("f16").numpy(), a)


def test_more_workgroups_than_one_axis_has(device: Device) -> None:
    x = Tensor.ones(17_000_000, device, "u8")
    assert (x + 1).cast("i32").sum().item() == 34_000_000


def test_softmax_rows(device: Device) -> None:
    nan, inf = float("nan"), float("inf")
    x = Tensor([[-inf, -inf], [nan, 0.0], [1e4, 0.0], [0.0, 0.0]], device=device)
    np.testing.assert_array_equal(activation.softmax(x, 1).numpy(), [[nan, nan], [nan, nan], [1, 0], [0.5, 0.5]])
    quiet = activation.quiet_softmax(Tensor([[-inf, -inf], [0.0, 0.0]], device=device), 1)
    np.testing.assert_allclose(quiet.numpy(), [[0, 0], [1 / 3, 1 / 3]], rtol=1e-6)
