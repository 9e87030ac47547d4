"""Cosine similarity: ranks, lengths beyond the squares of the dtype, halves."""

from __future__ import annotations

import numpy as np
import pytest

from burn_wgpu import Device, Tensor
from burn_wgpu.std.errors import ShapeError
from burn_wgpu.tensor.linalg import cosine_similarity


def oracle(a: np.ndarray, b: np.ndarray, axis: int = -1) -> np.ndarray:
    a, b = np.broadcast_arrays(a.astype(np.float64), b.astype(np.float64))
    return (a * b).sum(axis, keepdims=True) / np.sqrt(
        (a * a).sum(axis, keepdims=True) * (b * b).sum(axis, keepdims=True)
    )


@pytest.mark.parametrize(
    ("left", "right", "dim"),
    [((3,), (3, 3), -1), ((4, 3), (3,), -1), ((5, 1, 4), (3, 4), -1), ((5, 1, 4), (3, 4), 1), ((3,), (2, 3), 1),
     ((2, 3), (2, 3), 0), ((2, 1), (2, 3), -1)],
)  # fmt: skip
def test_ranks_and_sizes_broadcast(
    device: Device, rng: np.random.Generator, left: tuple[int, ...], right: tuple[int, ...], dim: int
) -> None:
    a, b = (rng.standard_normal(shape).astype(np.float32) for shape in (left, right))
    got = cosine_similarity(Tensor(a, device=device), Tensor(b, device=device), dim)
    want = oracle(a, b, dim)
    assert got.shape == want.shape
    np.testing.assert_allclose(got.numpy(), want, rtol=2e-6, atol=2e-6)
    with pytest.raises(ShapeError):
        cosine_similarity(Tensor(a, device=device), Tensor(np.zeros((7, 7)), device=device))


def test_a_known_row(device: Device) -> None:
    x, y = Tensor([3.0, 4, 0], device=device), Tensor([[3.0, 4, 0], [1, 0, 0], [0, 0, 2.0]], device=device)
    np.testing.assert_allclose(cosine_similarity(x, y).numpy(), [[1], [0.6], [0]], rtol=1e-6)


def test_lengths_whose_squares_overflow_or_vanish(device: Device) -> None:
    for value in (1e30, 1e-30, 3e38):
        x = Tensor([value, 0.0], device=device)
        y = Tensor([value, value], device=device)
        np.testing.assert_allclose(cosine_similarity(x, x).numpy(), [1], rtol=1e-6)
        np.testing.assert_allclose(cosine_similarity(x, y).numpy(), [0.5**0.5], rtol=1e-6)
    half = cosine_similarity(
        Tensor([300.0, 0], device=device, dtype="f16"), Tensor([300.0, 1], device=device, dtype="f16")
    )
    assert half.dtype.name == "f16"
    np.testing.assert_allclose(half.numpy(), [1], rtol=1e-3)
    zero = Tensor([0.0, 0.0], device=device)
    assert cosine_similarity(zero, Tensor([1.0, 2.0], device=device)).tolist() == [0.0]
    assert cosine_similarity(zero, zero).tolist() == [0.0]


def test_eps_is_the_least_length(device: Device) -> None:
    x, y = Tensor([0.5, 0.0], device=device), Tensor([2.0, 0.0], device=device)
    np.testing.assert_allclose(cosine_similarity(x, y, eps=1.0).numpy(), [0.5], rtol=1e-6)
    np.testing.assert_allclose(cosine_similarity(x, y, eps=4.0).numpy(), [0.5 / 4 * 2 / 4], rtol=1e-6)
