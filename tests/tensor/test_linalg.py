"""Linear algebra against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from burn_wgpu import Device, Tensor
from burn_wgpu.std.errors import ArgumentError
from burn_wgpu.tensor import linalg as L

SHAPES = [(1, 1), (2, 2), (3, 3), (5, 5), (6, 4), (4, 6), (2, 3, 4, 4), (2, 5, 3)]


def matrices(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


def near(got: Tensor, want: np.ndarray, tolerance: float = 1e-5) -> None:
    assert got.shape == want.shape
    np.testing.assert_allclose(got.numpy(), want, rtol=tolerance * 10, atol=tolerance)


def test_diagonals_and_products(device: Device, rng: np.random.Generator) -> None:
    for shape in SHAPES:
        a = matrices(rng, shape)
        x = Tensor(a, device=device)
        near(L.diag(x), np.diagonal(a, axis1=-2, axis2=-1))
        near(L.trace(x), np.trace(a, axis1=-2, axis2=-1)[..., None])
    m, v = matrices(rng, (2, 3, 4)), matrices(rng, (1, 4))
    near(L.matvec(Tensor(m, device=device), Tensor(v, device=device)), (m @ v[..., None])[..., 0])
    p, q = matrices(rng, (2, 3)), matrices(rng, (2, 4))
    near(L.outer(Tensor(p, device=device), Tensor(q, device=device)), p[:, :, None] * q[:, None, :])
    r = matrices(rng, (5, 3))
    near(L.outer_dim(Tensor(p, device=device), Tensor(r, device=device), 0), p[:, None, :] * r[None])


@pytest.mark.parametrize("p", [0, 1, 2, 3, 4, 2.5, float("inf"), -float("inf")])
def test_norms(device: Device, rng: np.random.Generator, p: float) -> None:
    a = matrices(rng, (3, 4))
    a[0, 0] = 0
    x = Tensor(a, device=device)
    near(L.vector_norm(x, p, 1), np.linalg.norm(a, p, 1, keepdims=True))
    near(L.vector_norm_dims(x, L.Norm.Lp(p), [0, 1]), np.linalg.norm(a.ravel(), p).reshape(1, 1))
    near(L.lp_norm(x, p, 0), np.linalg.norm(a, p, 0, keepdims=True))


def test_named_norms(device: Device, rng: np.random.Generator) -> None:
    a = matrices(rng, (3, 4))
    x = Tensor(a, device=device)
    for function, several, p in (
        (L.l0_norm, L.l0_norm_dims, 0), (L.l1_norm, L.l1_norm_dims, 1), (L.l2_norm, L.l2_norm_dims, 2),
        (L.max_abs_norm, L.max_abs_norm_dims, np.inf), (L.min_abs_norm, L.min_abs_norm_dims, -np.inf),
    ):  # fmt: skip
        near(function(x, 1), np.linalg.norm(a, p, 1, keepdims=True))
        near(several(x, [0, 1]), np.linalg.norm(a.ravel(), p).reshape(1, 1))
    assert L.Norm.L2 == L.Norm.of(2) and L.Norm.LInf.to_exponent() == float("inf")
    near(L.vector_normalize(x, 2, 1), a / np.linalg.norm(a, axis=1, keepdims=True))


def test_cosine_similarity(device: Device, rng: np.random.Generator) -> None:
    a, b = matrices(rng, (3, 4)), matrices(rng, (3, 4))
    a[1] = 0
    got = L.cosine_similarity(Tensor(a, device=device), Tensor(b, device=device), 1)
    with np.errstate(invalid="ignore"):
        want = (a * b).sum(1) / (np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1))
    near(got, np.nan_to_num(want)[:, None])


@pytest.mark.parametrize("shape", SHAPES)
def test_factorisations_multiply_back(device: Device, rng: np.random.Generator, shape: tuple[int, ...]) -> None:
    a = matrices(rng, shape)
    x = Tensor(a, device=device)
    k = min(shape[-2:])
    p, l, u = (t.numpy() for t in L.lu(x))
    np.testing.assert_allclose(p @ l @ u, a, atol=1e-5)
    assert (p.sum(-1) == 1).all() and (np.abs(l) <= 1).all()
    np.testing.assert_array_equal(l, np.tril(l))
    np.testing.assert_array_equal(u, np.triu(u))
    for reduced in (True, False):
        q, r = (t.numpy() for t in L.qr(x, reduced))
        columns = k if reduced else shape[-2]
        assert q.shape == (*shape[:-1], columns) and r.shape == (*shape[:-2], columns, shape[-1])
        np.testing.assert_allclose(q @ r, a, atol=1e-5)
        np.testing.assert_allclose(
            np.swapaxes(q, -1, -2) @ q, np.broadcast_to(np.eye(columns), (*shape[:-2], columns, columns)), atol=1e-5
        )
        np.testing.assert_allclose(r, np.triu(r), atol=1e-6)
    u, s, vt = (t.numpy() for t in L.svd(x))
    assert u.shape == (*shape[:-1], k) and s.shape == (*shape[:-2], k) and vt.shape == (*shape[:-2], k, shape[-1])
    np.testing.assert_allclose((u * s[..., None, :]) @ vt, a, atol=1e-5)
    np.testing.assert_allclose(s, np.linalg.svd(a, compute_uv=False), rtol=1e-4, atol=1e-5)


def test_empty_and_singular_matrices(device: Device) -> None:
    u, s, vt = L.svd(Tensor.zeros((0, 3), device))
    assert (u.shape, s.shape, vt.shape) == ((0, 0), (0,), (0, 3))
    p, l, upper = (t.numpy() for t in L.lu(Tensor(np.ones((3, 3)), device=device)))
    np.testing.assert_allclose(p @ l @ upper, np.ones((3, 3)))
    assert L.det(Tensor(np.ones((5, 5)), device=device)).tolist() == [0.0]
    with pytest.raises(ArgumentError):
        L.solve(Tensor(np.zeros((2, 2)), device=device), Tensor([1.0, 2.0], device=device))


def test_solve(device: Device, rng: np.random.Generator) -> None:
    a = matrices(rng, (2, 4, 4)) + 4 * np.eye(4, dtype=np.float32)
    for b in (matrices(rng, (2, 4, 3)), matrices(rng, (4, 3)), matrices(rng, (5, 1, 4, 2))):
        near(L.solve(Tensor(a, device=device), Tensor(b, device=device)), np.linalg.solve(a, b), 1e-4)
    v = matrices(rng, (2, 4))
    near(L.solve(Tensor(a, device=device), Tensor(v, device=device)), np.linalg.solve(a, v[..., None])[..., 0], 1e-4)
    near(L.solve(Tensor(a[0], device=device), Tensor(v[0], device=device)), np.linalg.solve(a[0], v[0]), 1e-4)
    half = L.solve(Tensor(a, device=device).cast("f16"), Tensor(v, device=device).cast("f16"))
    assert half.dtype.name == "f16"


def test_cholesky_reads_one_triangle(device: Device, rng: np.random.Generator) -> None:
    m = matrices(rng, (2, 4, 4))
    a = m @ m.swapaxes(-1, -2) + np.eye(4, dtype=np.float32)
    want = np.linalg.cholesky(a.astype(np.float64))
    junk = np.triu(np.full((4, 4), 99.0, np.float32), 1)
    near(L.cholesky(Tensor(np.tril(a) + junk, device=device)), want, 1e-4)
    near(L.cholesky(Tensor(np.triu(a) + junk.T, device=device), upper=True), want.swapaxes(-1, -2), 1e-4)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 6])
def test_determinants(device: Device, rng: np.random.Generator, n: int) -> None:
    a = matrices(rng, (3, n, n))
    near(L.det(Tensor(a, device=device)), np.linalg.det(a.astype(np.float64)), 1e-4)
    near(L.det(Tensor(a[0], device=device)), np.linalg.det(a[0].astype(np.float64)).reshape(1), 1e-4)


def test_derivatives_of_factors(rng: np.random.Generator) -> None:
    # The terms that carry a factorisation's gradient, against finite differences in float64.
    device = Device("cpu", float="f64")
    for shape in ((4, 4), (5, 3)):
        a, step = rng.standard_normal(shape) + np.eye(*shape), rng.standard_normal(shape) * 1e-6
        change = Tensor(step, device=device)
        before, after = Tensor(a, device=device), Tensor(a + step, device=device)
        q, r = L.qr(before)
        moved = L.qr(after)
        inverse = Tensor(np.linalg.inv(r.numpy()), device=device)
        for got, new, old in zip(L._qr_change(q, r, change, inverse), moved, (q, r), strict=True):
            np.testing.assert_allclose(got.numpy(), (new - old).numpy(), atol=1e-10)
        if shape[0] != shape[1]:
            continue
        p, l, u = L.lu(before)
        _, *moved_lu = L.lu(after)
        inverse = Tensor(np.linalg.inv(l.numpy()), device=device)
        for got, new, old in zip(L._lu_change(p, l, u, change, inverse), moved_lu, (l, u), strict=True):
            np.testing.assert_allclose(got.numpy(), (new - old).numpy(), atol=1e-9)


def test_one_vector_is_solved_for_every_matrix(device: Device, rng: np.random.Generator) -> None:
    a = rng.normal(size=(2, 4, 3, 3)).astype(np.float32) + 3 * np.eye(3, dtype=np.float32)
    b = rng.normal(size=3).astype(np.float32)
    found = L.solve(Tensor(a, device=device), Tensor(b, device=device))
    wanted = np.linalg.solve(a.astype(np.float64), b[:, None])[..., 0]
    assert found.shape == (2, 4, 3)
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-4, atol=1e-5)
