"""Reductions, scans, softmax and statistics where numbers are hard: far from zero, infinite, wrapping, many or none.

Methods of tensors on both devices, against NumPy and PyTorch in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import burn_wgpu as bw
from burn_wgpu import Device, Tensor
from burn_wgpu.std.errors import ShapeError
from burn_wgpu.tensor import activation as A
from burn_wgpu.tensor import functional as F
from burn_wgpu.tensor import linalg

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.gpu
INF, NAN = float("inf"), float("nan")


@pytest.fixture(scope="module", params=["wgpu", "cpu"])
def device(request: pytest.FixtureRequest) -> Device:
    return Device(request.param)


def exact(name: str, x: np.ndarray) -> np.ndarray:
    wide = torch.from_numpy(x.astype(np.float64))
    with np.errstate(over="ignore"):
        return getattr(torch, name)(wide, 1).numpy().astype(np.float32)  # type: ignore[no-any-return]


# ------------------------------------------------------------------------------------------------- far from zero


@pytest.mark.parametrize("shape", [(7, 1000), (2, 300_000), pytest.param((2, 1_000_000), marks=pytest.mark.long)])
def test_numbers_far_from_zero(shape: tuple[int, int], device: Device) -> None:
    """10⁴ and a tenth: squares have 30 bits more than f32, differences of neighbours are exact."""
    a = (1e4 + 0.1 * np.random.default_rng(0).standard_normal(shape)).astype(np.float32)
    x, wide = Tensor(a, device=device), a.astype(np.float64)
    mean, var = wide.mean(1, keepdims=True), wide.var(1, keepdims=True)
    np.testing.assert_allclose(x.sum_dim(1).numpy(), wide.sum(1, keepdims=True), rtol=1e-6)
    np.testing.assert_allclose(x.mean_dim(1).numpy(), mean, rtol=2e-7)
    np.testing.assert_allclose(x.cumsum(1).numpy(), wide.cumsum(1), rtol=1e-6)
    np.testing.assert_allclose(x.var_bias(1).numpy(), var, rtol=1e-4)
    np.testing.assert_allclose(x.var(1).numpy(), wide.var(1, ddof=1, keepdims=True), rtol=1e-4)
    np.testing.assert_allclose(x.std().numpy(), [wide.std(ddof=1)], rtol=1e-4)
    np.testing.assert_array_equal(x.median(1).numpy(), torch.median(torch.from_numpy(a), 1, keepdim=True).values)
    ones = Tensor(np.ones(shape[1], np.float32), device=device)
    np.testing.assert_allclose(F.layer_norm(x, ones).numpy(), (wide - mean) / np.sqrt(var + 1e-5), atol=5e-5)
    np.testing.assert_allclose(A.softmax(x, 1).numpy(), exact("softmax", a), rtol=1e-5)
    np.testing.assert_allclose(A.log_softmax(x, 1).numpy(), exact("log_softmax", a), rtol=1e-5)


def test_softmax_of_large_and_of_far_apart_numbers(device: Device) -> None:
    a = np.array([[1e4, 1e4 + 1, -1e4], [-1e4, -1e4 - 2, -1e4 - 3], [3e38, 3e38, -3e38], [88.7, 0, -104]], np.float32)
    x = Tensor(a, device=device)
    np.testing.assert_allclose(A.softmax(x, 1).numpy(), exact("softmax", a), rtol=1e-6, atol=2.0**-126)
    np.testing.assert_allclose(A.log_softmax(x, 1).numpy(), exact("log_softmax", a), rtol=1e-6, atol=1e-44)


def test_covariance_far_from_zero(device: Device) -> None:
    a = (1e4 + np.random.default_rng(1).standard_normal((50, 3))).astype(np.float32)
    np.testing.assert_allclose(Tensor(a, device=device).cov(0).numpy(), np.cov(a.astype(np.float64).T), rtol=1e-4)


# --------------------------------------------------------------------------------------------- special numbers

ROWS = np.array(
    [[INF, 1, 2], [-INF, -INF, -INF], [NAN, 1, INF], [INF, -INF, 0], [INF, INF, 1], [-0.0, 0.0, -0.0], [-INF, 1, 2],
     [3e38, 3e38, -3e38], [1, NAN, 1], [1e-40, -1e-40, 0.0]], np.float32
)  # fmt: skip
SPECIAL: list[tuple[str, Callable[[Tensor], Tensor], Callable[[np.ndarray], np.ndarray]]] = [
    ("prod", lambda t: t.prod_dim(1), lambda a: a.prod(1, keepdims=True)),
    ("max", lambda t: t.max_dim(1), lambda a: a.max(1, keepdims=True)),
    ("min", lambda t: t.min_dim(1), lambda a: a.min(1, keepdims=True)),
    ("max_abs", lambda t: t.max_abs_dim(1), lambda a: np.abs(a).max(1, keepdims=True)),
    ("argmax", lambda t: t.argmax(1), lambda a: a.argmax(1)[:, None]),
    ("argmin", lambda t: t.argmin(1), lambda a: a.argmin(1)[:, None]),
    ("cummax", lambda t: t.cummax(1), lambda a: np.maximum.accumulate(a, 1)),
    ("cummin", lambda t: t.cummin(1), lambda a: np.minimum.accumulate(a, 1)),
    ("cumprod", lambda t: t.cumprod(1), lambda a: a.cumprod(1)),
    ("sort", lambda t: t.sort(1), lambda a: np.sort(a, 1)),
    ("softmax", lambda t: A.softmax(t, 1), lambda a: torch.softmax(torch.from_numpy(a), 1).numpy()),
    ("log_softmax", lambda t: A.log_softmax(t, 1), lambda a: torch.log_softmax(torch.from_numpy(a), 1).numpy()),
    ("norm 1", lambda t: t.norm(1, 1), lambda a: np.linalg.norm(a, 1, 1)),
    ("norm inf", lambda t: t.norm(INF, 1), lambda a: np.linalg.norm(a, INF, 1)),
    ("norm -inf", lambda t: t.norm(-INF, 1), lambda a: np.linalg.norm(a, -INF, 1)),
    ("norm 0", lambda t: t.norm(0, 1), lambda a: np.linalg.norm(a, 0, 1)),
    ("any", lambda t: t.any_dim(1), lambda a: a.any(1, keepdims=True)),
    ("all", lambda t: t.all_dim(1), lambda a: a.all(1, keepdims=True)),
]


@pytest.mark.parametrize(("name", "ours", "formula"), SPECIAL, ids=[s[0] for s in SPECIAL])
def test_rows_of_special_numbers(name: str, ours: Any, formula: Any, device: Device) -> None:
    with np.errstate(all="ignore"):
        want = np.asarray(formula(ROWS.astype(np.float64)))
        want = want.astype(np.float32) if want.dtype == np.float64 else want
    got = ours(Tensor(ROWS, device=device)).numpy()
    if name in ("prod", "cumprod", "norm 1", "softmax", "log_softmax"):  # subnormal numbers are the device's
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-37)
    else:
        np.testing.assert_array_equal(got, want)


def test_sums_of_special_numbers(device: Device) -> None:
    """Of the rows whose sum does not depend on the order."""
    rows = ROWS[[0, 1, 2, 3, 4, 5, 6, 8]]
    x, wide = Tensor(rows, device=device), rows.astype(np.float64)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(x.sum_dim(1).numpy(), wide.sum(1, keepdims=True))
        np.testing.assert_array_equal(x.mean_dim(1).numpy(), (wide.sum(1, keepdims=True) / 3).astype(np.float32))
        np.testing.assert_array_equal(x.cumsum(1).numpy(), wide.cumsum(1))
        np.testing.assert_array_equal(np.isnan(x.var(1).numpy()), np.isnan(wide.var(1, keepdims=True)))


def test_ties_and_nan_in_positions(device: Device) -> None:
    x = Tensor(np.array([[3, 1, 3, 1], [NAN, 5, NAN, 5], [-0.0, 0.0, -0.0, 0.0]], np.float32), device=device)
    assert x.argmax(1).tolist() == [[0], [0], [0]] and x.argmin(1).tolist() == [[1], [0], [0]]
    assert x.argsort(1).tolist() == [[1, 3, 0, 2], [1, 3, 0, 2], [0, 1, 2, 3]]


# ------------------------------------------------------------------------------------------------ ranges of dtypes


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_halves_whose_squares_are_infinite(dtype: str, device: Device) -> None:
    x = Tensor(np.full((3, 1000), 300.0, np.float32), device=device).cast(dtype)
    value = float(x[0, 0].item())
    step = {"f16": 2.0**-10, "bf16": 2.0**-7}[dtype]
    for p in (2, 3, 2.5):
        np.testing.assert_allclose(x.norm(p, 1).cast("f32").numpy(), [value * 1000 ** (1 / p)] * 3, rtol=step)
    assert linalg.l2_norm(x).dtype is bw.dtype(dtype)
    assert x.var(1).tolist() == [[0.0]] * 3 and x.mean().item() == value
    pair = Tensor(np.array([[300.0, -300.0]], np.float32).T, device=device).cast(dtype)
    assert pair.std(0).dtype is bw.dtype(dtype)
    np.testing.assert_allclose(pair.std(0).cast("f32").numpy(), [[value * 2**0.5]], rtol=step)
    assert A.quiet_softmax(x, 1).cast("f32").numpy() == pytest.approx(1e-3, rel=step)


def test_the_covariance_of_halves_is_rounded_once(device: Device) -> None:
    a = (100 + np.random.default_rng(2).standard_normal((64, 3))).astype(np.float16)
    got = Tensor(a, device=device, dtype="f16").cov(0)
    assert got.dtype is bw.f16
    np.testing.assert_allclose(got.numpy(), np.cov(a.astype(np.float64).T), rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_every_category_of_many_may_be_drawn_in_halves(dtype: str, device: Device) -> None:
    """The running sum of 4000 ones has more digits than halves have."""
    device.seed(5)
    drawn = Tensor(np.ones(4000, np.float32), device=device).cast(dtype).categorical(4000).numpy()
    counts = np.bincount(drawn.ravel(), minlength=4000)
    assert counts.size == 4000 and np.abs(counts.reshape(8, 500).sum(1) - 500).max() < 110


@pytest.mark.parametrize("dtype", ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"])
def test_sums_and_products_of_ints_wrap(dtype: str, device: Device) -> None:
    kind = bw.dtype(dtype)
    if kind.size_bytes == 8 and device.type == "wgpu":
        if bw.DTypeUsage.ARITHMETIC not in device.dtype_usage(kind):
            pytest.skip(f"{device.name} has no 64-bit integers")
    info = np.iinfo(kind.numpy)
    a = np.random.default_rng(3).integers(info.min, info.max, (3, 999), dtype=kind.numpy, endpoint=True)
    a[1] |= 1  # odd: the product does not end at 0
    x = Tensor(a, device=device, dtype=dtype)
    np.testing.assert_array_equal(x.sum_dim(1).numpy()[:, 0], a.sum(1, dtype=kind.numpy))
    np.testing.assert_array_equal(x.prod_dim(1).numpy()[:, 0], a.prod(1, dtype=kind.numpy))
    np.testing.assert_array_equal(x.cumsum(1).numpy(), a.cumsum(1, dtype=kind.numpy))
    np.testing.assert_array_equal(x.cumprod(1).numpy(), a.cumprod(1, dtype=kind.numpy))
    np.testing.assert_array_equal(x.max_dim(1).numpy()[:, 0], a.max(1))
    np.testing.assert_array_equal(x.argmin(1).numpy()[:, 0], a.argmin(1))


# ----------------------------------------------------------------------------------------------- few elements, none


def test_variance_of_fewer_elements_than_the_correction(device: Device) -> None:
    a = np.random.default_rng(4).standard_normal((2, 3)).astype(np.float32)
    for n in (1, 2, 3):
        for ddof in range(6):
            x = Tensor(a[:, :n], device=device)
            with pytest.warns(UserWarning) if ddof >= n else np.errstate():  # type: ignore[attr-defined]
                want = torch.from_numpy(a[:, :n].astype(np.float64)).var(1, correction=ddof).numpy()
            np.testing.assert_allclose(x.var(axis=1, ddof=ddof).numpy(), want, rtol=1e-5, err_msg=f"{n} {ddof}")


def test_statistics_of_nothing(device: Device) -> None:
    x = Tensor(np.zeros((0, 3), np.float32), device=device)
    assert x.sum_dim(0).tolist() == [[0.0] * 3] and x.prod_dim(0).tolist() == [[1.0] * 3]
    assert np.isnan(x.mean_dim(0).numpy()).all() and np.isnan(x.var(0).numpy()).all() and np.isnan(x.mean().item())
    assert A.softmax(x, 0).shape == x.cumsum(0).shape == x.sort(0).shape == (0, 3)
    assert x.any().tolist() == [False] and x.all().tolist() == [True]
    assert x.norm(2, 0).tolist() == [0.0] * 3
    for call in (lambda: x.max_dim(0), lambda: x.argmin(0), lambda: x.median(0), lambda: x.max()):
        with pytest.raises(ShapeError):
            call()
