"""Integer powers and cross products: one kernel each, against NumPy in f64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from burn_wgpu.backends.wgpu.tensor import WgpuDevice
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.slice import Slice
from tests.backends.wgpu.oracle import REF, REF_DEVICE, B, down, up

pytestmark = [pytest.mark.gpu, pytest.mark.filterwarnings("ignore::burn_wgpu.PrecisionWarning")]
STEP = {dt.F32: 1e-6, dt.F16: 2**-10, dt.BF16: 2**-7, dt.F64: 1e-6}
INF, NAN = float("inf"), float("nan")


@pytest.fixture(scope="module")
def device() -> WgpuDevice:
    return WgpuDevice(0)


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


# ------------------------------------------------------------------------------------------------- cross products


@pytest.mark.parametrize("kind", STEP, ids=str)
@pytest.mark.parametrize(("lhs", "rhs", "dim"), [
    ((3,), (3,), 0), ((5, 3), (5, 3), 1), ((5, 3), (1, 3), 1), ((1, 3, 7), (4, 3, 1), 1), ((3, 2, 9), (3, 2, 9), 0),
    ((2, 1, 3, 1, 2), (1, 3, 3, 2, 1), 2),
])  # fmt: skip
def test_cross_product(lhs: Any, rhs: Any, dim: int, kind: Any, device: WgpuDevice) -> None:
    x, y = up(numbers(*lhs), kind, device), up(numbers(*rhs, seed=1), kind, device)
    out = B.float_cross(x, y, dim)
    assert out.dtype is kind
    want = np.cross(down(x).astype(np.float64), down(y).astype(np.float64), axis=dim)
    np.testing.assert_allclose(down(out), want, STEP[kind], 1e-6)
    again = B.float_cross(x, y, dim)
    assert down(again).tobytes() == down(out).tobytes()


def test_cross_product_of_views(device: WgpuDevice) -> None:
    x, y = numbers(7, 4, 5), numbers(5, 3, 2, seed=1)
    lhs = B.float_swap_dims(B.float_slice(up(x, dt.F32, device), [Slice(0, 2), Slice(1, 4), Slice(0, 5)]), 0, 2)
    rhs = B.float_flip(up(y, dt.F32, device), [1])
    want = np.cross(x[:2, 1:4].swapaxes(0, 2), y[:, ::-1], axis=1)
    np.testing.assert_allclose(down(B.float_cross(lhs, rhs, 1)), want, 1e-6, 1e-6)


def test_cross_product_of_infinities_and_nothing(device: WgpuDevice) -> None:
    x, y = [[INF, 1.0, 2.0]], [[1.0, 0.0, 3.0]]
    found = down(B.float_cross(up(x, dt.F32, device), up(y, dt.F32, device), 1))
    np.testing.assert_array_equal(found, np.array([[3.0, -INF, NAN]], np.float32))
    empty = up(np.zeros((0, 3)), dt.F32, device)
    assert B.float_cross(empty, empty, 1).shape == (0, 3)


# -------------------------------------------------------------------------------------------------- integer powers


@pytest.mark.parametrize("exponent", dt.INTS, ids=str)
def test_exponents_of_any_int_dtype(exponent: Any, device: WgpuDevice) -> None:
    rng = np.random.default_rng(2)
    low = 0 if exponent.kind == "uint" else -9
    for kind in STEP:
        x = up(rng.uniform(0.5, 2.0, (4, 33)) * rng.choice([-1, 1], (4, 33)), kind, device)
        n = up(rng.integers(low, 10, (1, 33)), exponent, device)
        out = B.float_powi(x, n)
        assert out.dtype is kind
        want = np.power(down(x).astype(np.float64), down(n).astype(np.float64))
        np.testing.assert_allclose(down(out), want, STEP[kind])


@pytest.mark.parametrize("kind", [dt.F32, dt.F16], ids=str)
def test_powers_of_zeros_infinities_and_large_exponents(kind: Any, device: WgpuDevice) -> None:
    bases = [-1.0, -0.0, 0.0, -INF, -2.0, 1.0, NAN, 1.5, -0.5]
    exponents = [
        0,
        1,
        2,
        -1,
        -2,
        3,
        (1 << 24) + 1,
        -(1 << 24) - 1,
        (1 << 31) - 1,
        (1 << 53) + 1,
        -(1 << 62) - 1,
        1 << 62,
    ]
    found = [
        down(b.float_powi(up(np.array(bases)[:, None], kind, dev), up([exponents], dt.I64, dev)))
        for b, dev in ((B, device), (REF, REF_DEVICE))
    ]
    np.testing.assert_allclose(*found, STEP[kind])
    told = ~np.isnan(found[1])
    np.testing.assert_array_equal(np.signbit(found[0])[told], np.signbit(found[1])[told])
    odd = np.array([n % 2 == 1 for n in exponents])
    for row, base in enumerate(bases):
        if np.signbit(base) and not np.isnan(base):
            np.testing.assert_array_equal(np.signbit(found[0][row]), odd)


def test_powers_of_views_of_many_axes(device: WgpuDevice) -> None:
    rng = np.random.default_rng(3)
    shape = (2,) * 12
    x, n = rng.uniform(0.5, 2.0, shape), rng.integers(-3, 4, shape)
    axes = [11, 0, 9, 2, 7, 4, 5, 6, 3, 8, 1, 10]
    lhs = B.float_permute(up(x, dt.F32, device), axes)
    rhs = B.int_permute(up(n, dt.I32, device), axes[::-1])
    want = np.power(x.transpose(axes), n.transpose(axes[::-1]).astype(np.float64))
    np.testing.assert_allclose(down(B.float_powi(lhs, rhs)), want, 1e-6)
