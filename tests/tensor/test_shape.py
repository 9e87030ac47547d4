"""Shape and movement methods against NumPy, on tensors that are views already."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from burn_wgpu import Device, Tensor

A = np.arange(24, dtype=np.float32).reshape(2, 3, 4)

CASES: list[tuple[str, Callable[[Tensor], Tensor], Callable[[np.ndarray], np.ndarray]]] = [
    ("reshape", lambda t: t.reshape(4, -1), lambda a: a.reshape(4, -1)),
    ("reshape of a list", lambda t: t.reshape([6, 4]), lambda a: a.reshape(6, 4)),
    ("transpose", lambda t: t.transpose(), lambda a: a.swapaxes(-1, -2)),
    ("T", lambda t: t.T, lambda a: a.T),
    ("mT", lambda t: t.mT, lambda a: a.swapaxes(-1, -2)),
    ("swap_dims", lambda t: t.swap_dims(0, -1), lambda a: a.swapaxes(0, -1)),
    ("permute", lambda t: t.permute(2, 0, 1), lambda a: a.transpose(2, 0, 1)),
    ("permute negatives", lambda t: t.permute([-1, -3, -2]), lambda a: a.transpose(2, 0, 1)),
    ("movedim", lambda t: t.movedim(0, -1), lambda a: np.moveaxis(a, 0, -1)),
    ("movedim lists", lambda t: t.movedim([0, 1], [1, 2]), lambda a: np.moveaxis(a, [0, 1], [1, 2])),
    ("flip", lambda t: t.flip(0, 2), lambda a: np.flip(a, (0, 2))),
    ("flatten", lambda t: t.flatten(), lambda a: a.reshape(-1)),
    ("flatten a range", lambda t: t.flatten(1, -1), lambda a: a.reshape(2, 12)),
    ("unsqueeze", lambda t: t.unsqueeze(), lambda a: a[None]),
    ("unsqueeze to a rank", lambda t: t.unsqueeze(rank=5), lambda a: a[None, None]),
    ("unsqueeze_dim", lambda t: t.unsqueeze_dim(-2), lambda a: np.expand_dims(a, -2)),
    ("unsqueeze_dims", lambda t: t.unsqueeze_dims([0, -1]), lambda a: a[None, ..., None]),
    ("unsqueeze_dims twice", lambda t: t.unsqueeze_dims([1, 1]), lambda a: a[:, None, None]),
    ("expand", lambda t: t.expand(5, -1, 3, 4), lambda a: np.broadcast_to(a, (5, 2, 3, 4))),
    ("repeat_dim", lambda t: t.repeat_dim(1, 2), lambda a: np.tile(a, (1, 2, 1))),
    ("repeat", lambda t: t.repeat(2, 1, 3), lambda a: np.tile(a, (2, 1, 3))),
    ("repeat to nothing", lambda t: t.repeat_dim(1, 0), lambda a: a[:, :0]),
    ("roll_dim", lambda t: t.roll_dim(1, 2), lambda a: np.roll(a, 1, 2)),
    ("roll", lambda t: t.roll([-1, 5], [0, 2]), lambda a: np.roll(a, (-1, 5), (0, 2))),
    ("roll twice", lambda t: t.roll([1, 1], [2, 2]), lambda a: np.roll(a, 2, 2)),
    ("narrow", lambda t: t.narrow(2, 1, 2), lambda a: a[:, :, 1:3]),
    ("triu", lambda t: t.triu(), np.triu),
    ("triu diagonal", lambda t: t.triu(-1), lambda a: np.triu(a, -1)),
    ("tril", lambda t: t.tril(1), lambda a: np.tril(a, 1)),
    ("pad", lambda t: t.pad([(1, 2), (0, 1)], 7.0), lambda a: np.pad(a, ((0, 0), (1, 2), (0, 1)), constant_values=7)),
    ("pad four", lambda t: t.pad((1, 2, 3, 0)), lambda a: np.pad(a, ((0, 0), (3, 0), (1, 2)))),
    ("pad reflect", lambda t: t.pad([(2, 3)], "reflect"), lambda a: np.pad(a, ((0, 0), (0, 0), (2, 3)), "reflect")),
    ("pad edge", lambda t: t.pad([(2, 0), (3, 1)], "edge"), lambda a: np.pad(a, ((0, 0), (2, 0), (3, 1)), "edge")),
]  # fmt: skip


@pytest.mark.parametrize(("method", "oracle"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_against_numpy_on_views(device: Device, method: Callable, oracle: Callable) -> None:
    x = Tensor(A, device=device)
    views = [
        (x, A),
        (x.permute(2, 0, 1).permute(1, 2, 0), A),
        (Tensor(A.repeat(2, 2), device=device)[:, :, ::2], A),
        (x.flip(1).flip(1), A),
        (Tensor(np.concatenate([A, A]), device=device)[2:], A),
        (Tensor(A[:1], device=device).expand(2, 3, 4), np.broadcast_to(A[:1], A.shape)),
    ]
    for view, array in views:
        got, want = method(view), oracle(array)
        assert got.shape == want.shape
        np.testing.assert_array_equal(got.numpy(), want)


def test_every_kind_moves(device: Device) -> None:
    for a in (A.astype(np.int64), A % 2 == 0):
        x = Tensor(a, device=device)
        np.testing.assert_array_equal(x.permute(2, 0, 1).reshape(8, 3).numpy(), a.transpose(2, 0, 1).reshape(8, 3))
        np.testing.assert_array_equal(Tensor.cat([x, x.flip(0)], 1).numpy(), np.concatenate([a, np.flip(a, 0)], 1))
        np.testing.assert_array_equal(x.repeat(1, 2, 1).numpy(), np.tile(a, (1, 2, 1)))


def test_squeezes(device: Device) -> None:
    x = Tensor(np.zeros((1, 3, 1, 2)), device=device)
    assert x.squeeze().shape == (3, 2)
    assert x.squeeze_dim(-2).shape == (1, 3, 2)
    assert x.squeeze_dims([0, 2, -4]).shape == (3, 2)
    assert x.squeeze_dims([]).shape == (3, 2)
    assert x.squeeze(0).shape == (3, 1, 2)


def test_pieces(device: Device) -> None:
    x = Tensor(np.arange(14).reshape(7, 2), device=device)
    assert [p.shape[0] for p in x.chunk(3)] == [3, 3, 1]
    assert [p.shape[0] for p in x.narrow(0, 0, 6).chunk(4)] == [2, 2, 2]
    assert [p.shape[0] for p in x.chunk(10)] == [1] * 7
    assert [p.tolist() for p in x.split(4)] == [[[0, 1], [2, 3], [4, 5], [6, 7]], [[8, 9], [10, 11], [12, 13]]]
    assert [p.shape[0] for p in x.split_with_sizes([2, 0, 5])] == [2, 5]
    assert [p.shape[0] for p in x.split([3, 4])] == [3, 4]
    assert [p.tolist() for p in x.iter_dim(0)][-1] == [[12, 13]]
    assert Tensor.zeros((0, 2), device).split(0, 0)[0].shape == (0, 2)


def test_cat_and_stack(device: Device) -> None:
    a, b = np.arange(6.0).reshape(2, 3), np.arange(3.0).reshape(1, 3)
    x, y = Tensor(a, device=device), Tensor(b, device=device)
    np.testing.assert_array_equal(Tensor.cat([x, y, x], 0).numpy(), np.concatenate([a, b, a]))
    np.testing.assert_array_equal(Tensor.stack([x, x * 2], -1).numpy(), np.stack([a, a * 2], -1))
    empty = Tensor.zeros((0, 3), device)
    np.testing.assert_array_equal(Tensor.cat([empty, x, empty]).numpy(), a)
    assert Tensor.cat([empty, empty]).shape == (0, 3)


def test_unfold(device: Device) -> None:
    a = np.arange(20.0).reshape(2, 10)
    want = np.lib.stride_tricks.sliding_window_view(a, 3, 1)[:, ::2]
    np.testing.assert_array_equal(Tensor(a, device=device).unfold(1, 3, 2).numpy(), want)


def test_ranks_up_to_sixteen(device: Device) -> None:
    a = np.arange(2**8, dtype=np.float32).reshape((2,) * 8)
    x = Tensor(a, device=device)
    np.testing.assert_array_equal((x + x.permute(7, 6, 5, 4, 3, 2, 1, 0)).numpy(), a + a.T)
    np.testing.assert_array_equal(x[0, ..., 1].numpy(), a[0, ..., 1])
    assert Tensor.zeros((1,) * 16, device).rank == 16


def test_logic_reductions_and_masks(device: Device) -> None:
    a = np.array([[0.0, 1.0, np.nan], [0.0, 0.0, 0.0]])
    x = Tensor(a, device=device)
    for t, b in ((x, a), (x.bool(), a != 0), (x.int(), np.array([[0, 1, 0], [0, 0, 0]]))):
        assert t.any().tolist() == [bool(b.any())] and t.all().tolist() == [bool(b.all())]
        np.testing.assert_array_equal(t.any_dim(1).numpy(), b.any(1, keepdims=True))
        np.testing.assert_array_equal(t.all(dim=0).numpy(), b.all(0))
        np.testing.assert_array_equal(t.any(dim=(0, 1)).numpy(), b.any())
    mask = Tensor([True, False, True], device=device)
    np.testing.assert_array_equal(x.mask_fill(mask, 9).numpy(), np.where([True, False, True], 9, a))
    other = Tensor([5.0, 6.0, 7.0], device=device)
    np.testing.assert_array_equal(x.mask_where(mask, other).numpy(), np.where([True, False, True], [5, 6, 7], a))
    np.testing.assert_array_equal(other.mask_where(x > 0, other * 2).numpy(), [[5, 12, 7], [5, 6, 7]])


def test_where_takes_tensors_and_numbers(device: Device) -> None:
    from burn_wgpu import where

    mask, x = Tensor([True, False], device=device), Tensor([1.0, 2.0], device=device)
    assert where(mask, x, x * 10).tolist() == [1.0, 20.0]
    assert where(mask, x, 0).tolist() == [1.0, 0.0]
    assert where(mask, 0.5, x).tolist() == [0.5, 2.0]
