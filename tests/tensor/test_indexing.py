"""Slices, t[...], gather and scatter against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from burn_wgpu import Device, IndexingUpdateOp, Slice, Tensor

A = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
MASK = A[:, :, 0] % 10 == 0

BASIC: list[Any] = [
    0, -1, (1, 2), (0, 1, -1), slice(None), slice(1, None), slice(None, None, -1), slice(-1, 0, -2),
    (slice(None), slice(None, None, 2), slice(4, 0, -3)), ..., (..., 0), (0, ...), (..., slice(1, 3)), None,
    (slice(None), None, 1), (None, ..., None), (slice(5, 2),), (slice(10),), (1, slice(None), slice(3, 3)),
    np.int64(1), np.array(2),
]  # fmt: skip
ADVANCED: list[Any] = [
    [0, 2, -1], ([2, 0],), (slice(None), [3, 0, 0, -2]), (..., [0, 4]), ([0, 1], [1, 2]), ([0, 1], slice(None), [1, 2]),
    (slice(None), [0, 1], [1, 2]), ([[0], [2]], [1, 3]), (1, [0, 1]), (1, slice(None), [0, 1]), (None, [0, 1]),
    (slice(None, None, -1), [1, 1], 2), (np.array([[0, 1], [2, 0]]),), (range(2),), ([],), ([0, 1], None, [1, 2]),
    (slice(None), [0, 1], ..., [1, 2]), ([0], slice(None), 1), (slice(None), 0, [1, 2]), (slice(None), [1, 2], 0),
]  # fmt: skip


@pytest.mark.parametrize("index", [*BASIC, *ADVANCED], ids=repr)
@pytest.mark.parametrize("kind", ["float", "int", "bool"])
def test_getitem_is_numpy_s(device: Device, index: Any, kind: str) -> None:
    a = {"float": A, "int": A.astype(np.int64), "bool": A % 3 == 0}[kind]
    items = index if isinstance(index, tuple) else (index,)
    oracle = tuple(np.array(i, dtype=np.int64) if isinstance(i, (list, range)) else i for i in items)
    want = a[oracle]
    got = Tensor(a, device=device)[index]
    assert got.shape == want.shape
    np.testing.assert_array_equal(got.numpy(), want)


def test_getitem_takes_int_tensors(device: Device) -> None:
    x = Tensor(A, device=device)
    rows, columns = Tensor([[0, -1], [1, 1]], device=device), Tensor([2, -4], device=device)
    r, c = rows.numpy(), columns.numpy()
    np.testing.assert_array_equal(x[rows].numpy(), A[r])
    np.testing.assert_array_equal(x[rows, columns].numpy(), A[r, c])
    np.testing.assert_array_equal(x[:, columns].numpy(), A[:, c])
    np.testing.assert_array_equal(x[Tensor(2, device=device)].numpy(), A[2])
    np.testing.assert_array_equal(x[Tensor([1, 3], device=device, dtype="u8")[:1]].numpy(), A[[1]])


def test_getitem_takes_masks(device: Device) -> None:
    x = Tensor(A, device=device)
    np.testing.assert_array_equal(x[x > 30].numpy(), A[A > 30])
    np.testing.assert_array_equal(x[A > 30].numpy(), A[A > 30])
    np.testing.assert_array_equal(x[Tensor(MASK, device=device)].numpy(), A[MASK])
    np.testing.assert_array_equal(x[[True, False, True]].numpy(), A[[True, False, True]])
    np.testing.assert_array_equal(x[:, [True, False, True, True], 1].numpy(), A[:, [True, False, True, True], 1])
    np.testing.assert_array_equal(x[MASK, 1:].numpy(), A[MASK, 1:])
    assert x[A < 0].shape == (0,)


def test_burn_slices(device: Device) -> None:
    x = Tensor(np.arange(10), device=device)
    assert x.slice((2, 8, -2)).tolist() == [7, 5, 3]
    assert x.slice([Slice(0, 10, -1)]).tolist() == list(range(9, -1, -1))
    assert x.slice(range(1, 7, 3)).tolist() == [1, 4]
    assert x.slice([(5, 100)]).tolist() == [5, 6, 7, 8, 9]
    assert x.slice([-1]).tolist() == [9]
    assert x.slice([(4, 2)]).shape == (0,)
    assert x[Slice(2, 8, -2)].tolist() == [7, 5, 3]
    y = Tensor(A, device=device)
    np.testing.assert_array_equal(y.slice([1, (1, 3)]).numpy(), A[1:2, 1:3])
    np.testing.assert_array_equal(y.slice_dim(-1, (1, 4, 2)).numpy(), A[..., 1:4:2])
    np.testing.assert_array_equal(y.select_dim(1, -2).numpy(), A[:, -2])


def test_slice_assign(device: Device) -> None:
    x = Tensor(A, device=device)
    values = Tensor(np.full((3, 2, 5), -1.0), device=device)
    want = A.copy()
    want[:, 1:3] = -1
    np.testing.assert_array_equal(x.slice_assign([(0, 3), (1, 3)], values).numpy(), want)
    want = A.copy()
    want[:, ::-2] = np.arange(5)
    np.testing.assert_array_equal(
        x.slice_assign([Slice(), Slice(0, 4, -2)], Tensor(np.arange(5.0), device=device)).numpy(), want
    )
    want = A.copy()
    want[0] = 7
    np.testing.assert_array_equal(x.slice_fill([0], 7).numpy(), want)
    assert x.slice_assign([(2, 2)], Tensor(np.zeros((0, 4, 5)), device=device)) is x
    np.testing.assert_array_equal(x.numpy(), A)
    mask = Tensor([True, True, True], device=device).slice_fill([1], False)
    assert mask.tolist() == [True, False, True]


def test_select_and_take(device: Device) -> None:
    x = Tensor(A, device=device)
    at = Tensor([2, 0, 2], device=device)
    np.testing.assert_array_equal(x.select(0, at).numpy(), A[[2, 0, 2]])
    np.testing.assert_array_equal(x.select(-1, [4, 1]).numpy(), A[..., [4, 1]])
    np.testing.assert_array_equal(x.take(1, [[0, 3], [1, 1]]).numpy(), np.take(A, [[0, 3], [1, 1]], 1))
    np.testing.assert_array_equal(x.take(1, Tensor(2, device=device)).numpy(), A[:, 2])
    assert x.select(0, []).shape == (0, 4, 5)


UPDATES: list[tuple[str, Any]] = [
    ("assign", lambda a, b: b), ("add", np.add), ("mul", np.multiply), ("min", np.minimum), ("max", np.maximum),
]  # fmt: skip


@pytest.mark.parametrize(("update", "rule"), UPDATES, ids=[u[0] for u in UPDATES])
def test_scatter_family_with_unique_indices(device: Device, rng: np.random.Generator, update: str, rule: Any) -> None:
    a = rng.integers(-9, 9, (4, 5)).astype(np.float32)
    x = Tensor(a, device=device)
    values = rng.integers(-9, 9, (2, 5)).astype(np.float32)
    want = a.copy()
    want[[3, 1]] = rule(a[[3, 1]], values)
    got = x.select_assign(0, [3, 1], Tensor(values, device=device), update)
    np.testing.assert_array_equal(got.numpy(), want)
    index = np.array([[1, 0, 3, 2, 1], [0, 2, 1, 3, 2]])
    want = a.copy()
    np.put_along_axis(want, index, rule(np.take_along_axis(a, index, 0), values), 0)
    got = x.scatter(0, index, Tensor(values, device=device), update)
    np.testing.assert_array_equal(got.numpy(), want)
    np.testing.assert_array_equal(x.gather(0, index).numpy(), np.take_along_axis(a, index, 0))
    where = np.array([[0, 4], [2, 2]])
    want = a.copy()
    want[where[:, 0], where[:, 1]] = rule(a[where[:, 0], where[:, 1]], values[0, :2])
    got = x.scatter_nd(where, Tensor(values[0, :2], device=device), IndexingUpdateOp(update))
    np.testing.assert_array_equal(got.numpy(), want)
    np.testing.assert_array_equal(x.gather_nd(where).numpy(), a[where[:, 0], where[:, 1]])
    np.testing.assert_array_equal(x.gather_nd(where[:, :1]).numpy(), a[where[:, 0]])


def test_repeated_indices_accumulate(device: Device) -> None:
    x = Tensor.zeros(3, device, int)
    got = x.scatter(0, [0, 0, 2, 0], Tensor([1, 2, 3, 4], device=device))
    assert got.tolist() == [7, 0, 3]
    assert x.add(2).select_assign(0, [1, 1], Tensor([3, 5], device=device), "mul").tolist() == [2, 30, 2]


def test_bool_scatter(device: Device) -> None:
    x = Tensor([True, False, True], device=device)
    values = Tensor([False, True, False], device=device)
    assert x.scatter(0, [0, 1, 2], values, "add").tolist() == [True, True, True]
    assert x.scatter(0, [0, 1, 2], values, "mul").tolist() == [False, False, False]
    assert x.scatter(0, [0, 1, 2], values, "assign").tolist() == [False, True, False]


def test_mask_select_broadcasts_and_argwhere_lists_coordinates(device: Device) -> None:
    x = Tensor(A, device=device)
    mask = A[0] % 2 == 0
    np.testing.assert_array_equal(x.mask_select(Tensor(mask, device=device)).numpy(), A[np.broadcast_to(mask, A.shape)])
    np.testing.assert_array_equal((x > 40).argwhere().numpy(), np.argwhere(A > 40))
    for got, want in zip((x > 40).nonzero(), np.nonzero(A > 40), strict=True):
        np.testing.assert_array_equal(got.numpy(), want)
    assert (x < 0).nonzero() == []
    assert (x < 0).argwhere().shape == (0, 3)


def test_iteration_len_and_contains(device: Device) -> None:
    x = Tensor(np.arange(6).reshape(3, 2), device=device)
    assert len(x) == 3
    assert [row.tolist() for row in x] == [[0, 1], [2, 3], [4, 5]]
    assert [row.tolist() for row in reversed(x)] == [[4, 5], [2, 3], [0, 1]]
    assert 4 in x and 7 not in x
    assert range(10)[Tensor(3, device=device)] == 3


def test_empty_index_lists_and_empty_axes(device: Device) -> None:
    x = Tensor.zeros((0, 3), device)
    assert x[:, 1].shape == (0,)
    assert x[[]].shape == (0, 3)
    assert x.select(0, []).shape == (0, 3)
    assert list(x) == []
    assert Tensor.zeros((3, 0), device)[1].shape == (0,)
