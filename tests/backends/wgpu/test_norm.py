"""Layer norm and batch norm on the wgpu backend against NumPy in float64."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from burn_wgpu.backends.wgpu.backend import WgpuBackend
from burn_wgpu.backends.wgpu.run import run1
from burn_wgpu.backends.wgpu.tensor import WgpuDevice, WgpuTensor
from burn_wgpu.kernel.norm import layer_norm_plan
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.data import TensorData
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.slice import Slice

pytestmark = pytest.mark.gpu

B: Any = WgpuBackend()
EPS = 1e-5
STEP = {dt.F32: 2e-6, dt.F16: 2**-11 + 2e-6, dt.BF16: 2**-8 + 2e-6}


@pytest.fixture(scope="module")
def device() -> WgpuDevice:
    return WgpuDevice(0)


def up(values: Any, kind: DType, device: WgpuDevice) -> WgpuTensor:
    return B.float_from_data(TensorData.of(np.asarray(values), kind), device)


def down(tensor: WgpuTensor) -> np.ndarray:
    return B.float_into_data(tensor).numpy().astype(np.float64)


def numbers(shape: tuple[int, ...], kind: DType, seed: int = 0, centre: float = 0.5) -> np.ndarray:
    values = np.random.default_rng(seed).normal(centre, 2, shape).astype(np.float32)
    return TensorData.of(values, kind).numpy()


def layer(x: np.ndarray, gamma: np.ndarray, beta: np.ndarray | float, eps: float = EPS) -> np.ndarray:
    x = x.astype(np.float64)
    centred = x - x.mean(-1, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + eps)
    return scaled * gamma.astype(np.float64) + beta


def close(got: np.ndarray, want: np.ndarray, kind: DType, scale: float = 1.0, message: str = "") -> None:
    np.testing.assert_allclose(got, want, rtol=STEP[kind], atol=scale * 2e-6, err_msg=message)


# --------------------------------------------------------------------------------------------------------- layer norm


@pytest.mark.parametrize("length", [1, 3, 7, 129, 300, 768, 5000, 40_000])
def test_layer_norm_of_equal_numbers_is_zero(length: int, device: WgpuDevice) -> None:
    """The mean of equal numbers is rounded; over √eps what that leaves would be as large as any result."""
    ones = up(np.ones(length), dt.F32, device)
    for value in (0.1, -3.3, 1234.567, 10_000.3, -69_999.3, 8e6 + 1):
        x = up(np.full((3, length), value, np.float32), dt.F32, device)
        assert np.abs(down(B.layer_norm(x, ones, None, EPS))).max() == 0, value


@pytest.mark.parametrize("length", [64, 300, 5000])
def test_layer_norm_far_from_zero(length: int, device: WgpuDevice) -> None:
    """Differences of a few units in the last place of 10⁴: exact in f32, and so their norm is nearly."""
    x = (np.float32(10_000) + np.random.default_rng(5).integers(0, 9, (4, length)) * 2.0**-10).astype(np.float32)
    ones = np.ones(length, np.float32)
    got = down(B.layer_norm(up(x, dt.F32, device), up(ones, dt.F32, device), None, EPS))
    np.testing.assert_allclose(got, layer(x, ones, 0.0), atol=2e-5)


@pytest.mark.parametrize("length", [9001, 1_000_000])
def test_long_rows_far_from_zero(length: int, device: WgpuDevice) -> None:
    """Half a unit in the last place of the mean would be half a percent of the deviation."""
    x = (1e4 + 0.1 * np.random.default_rng(6).standard_normal((2, length))).astype(np.float32)
    ones = np.ones(length, np.float32)
    got = down(B.layer_norm(up(x, dt.F32, device), up(ones, dt.F32, device), None, EPS))
    np.testing.assert_allclose(got, layer(x.astype(np.float64), ones, 0.0), atol=5e-5)


@pytest.mark.parametrize("kind", [dt.F32, dt.F16, dt.BF16], ids=repr)
def test_layer_norm_at_every_size(kind: DType, device: WgpuDevice) -> None:
    sizes = (1, 3, 5, 31, 32, 33, 63, 64, 65, 255, 256, 257, 1000, 4096, 8192, 9001)
    for n in sizes if kind is dt.F32 else sizes[3:8]:
        x, gamma, beta = numbers((3, n), kind, n), numbers((n,), kind, 1), numbers((n,), kind, 2)
        args = [up(v, kind, device) for v in (x, gamma, beta)]
        close(down(B.layer_norm(*args, EPS)), layer(x, gamma, beta.astype(np.float64)), kind, 8, f"{n}")
        close(down(B.layer_norm(args[0], args[1], None, EPS)), layer(x, gamma, 0.0), kind, 8, f"{n} without beta")


def test_layer_norm_of_views(device: WgpuDevice) -> None:
    for kind in (dt.F32, dt.F16):
        array = numbers((6, 8, 12), kind)
        base = up(array, kind, device)
        layout = base.layout
        cut = [Slice(1, None), Slice(2, None, 2), Slice(0, -1)]
        for tensor, values in (
            (base.view(layout.permute([2, 0, 1])), array.transpose(2, 0, 1)),
            (base.view(layout.slice(cut)), array[1:, 2::2, :-1]),
            (base.view(layout.flip([0, 2])), array[::-1, :, ::-1]),
            (base.view(layout.slice([Slice(2, None)])), array[2:]),
            (base.view(layout.slice([Slice(0, 1)]).expand((4, 8, 12))), np.broadcast_to(array[:1], (4, 8, 12))),
        ):
            n = values.shape[-1]
            double = numbers((2 * n,), kind, 3)
            gamma = up(double, kind, device)
            gamma = gamma.view(gamma.layout.slice([Slice(0, None, 2)]))
            got = down(B.layer_norm(tensor, gamma, None, EPS))
            close(got, layer(values, double[::2], 0.0), kind, 8, str(tensor.layout))


@pytest.mark.parametrize("algorithm", ["rows", "lanes"])
@pytest.mark.parametrize("shape", [(5, 48), (5, 33), (2, 4096)])
def test_both_kernels_of_layer_norm(algorithm: Any, shape: tuple[int, int], device: WgpuDevice) -> None:
    # A mean of 1000 with a variance of 1e-2 has no digit left in the mean of squares.
    x = (np.random.default_rng(0).normal(0, 0.1, shape) + 1000).astype(np.float32)
    gamma, beta = numbers((shape[1],), dt.F32, 1), numbers((shape[1],), dt.F32, 2)
    args = tuple(up(v, dt.F32, device) for v in (x, gamma, beta))
    for groups in (device.capability.max_groups, 3):
        small = replace(device.capability, max_groups=groups)
        got = run1(
            device, (algorithm, shape, groups),
            lambda c, s=small: layer_norm_plan(args[0].layout, dt.F32, dt.F32, dt.F32, EPS, s, algorithm),
            args,
        )  # fmt: skip
        # Sums of numbers near 1000 are rounded to 6e-5 an element, and what is left is divided by a deviation of 0.1.
        allowed = 4 * 6e-5 / 0.1 * np.abs(gamma).max()
        np.testing.assert_allclose(down(got), layer(x, gamma, beta.astype(np.float64)), rtol=0, atol=allowed)


def test_layer_norm_in_halves_does_not_overflow(device: WgpuDevice) -> None:
    x = numbers((4, 512), dt.F16, centre=30_000.0)
    ones = up(np.ones(512), dt.F16, device)
    got = down(B.layer_norm(up(x * 2, dt.F16, device), ones, None, EPS))
    close(got, layer(x * 2, np.ones(512), 0.0), dt.F16, 2000)
    assert np.isfinite(got).all()


def test_layer_norm_of_many_rows_a_long_row_and_none(device: WgpuDevice) -> None:
    for shape in ((70_000, 3), (1, 200_001)):
        x, gamma = numbers(shape, dt.F32), numbers((shape[1],), dt.F32, 1)
        got = down(B.layer_norm(up(x, dt.F32, device), up(gamma, dt.F32, device), None, EPS))
        # Three numbers that nearly agree divide by a small deviation, which magnifies the rounding of the mean.
        close(got, layer(x, gamma, 0.0), dt.F32, 400 if shape[1] == 3 else 8)
    empty = up(np.zeros((0, 4)), dt.F32, device)
    assert down(B.layer_norm(empty, up(np.ones(4), dt.F32, device), None, EPS)).shape == (0, 4)


def test_a_nan_poisons_its_row_and_no_other(device: WgpuDevice) -> None:
    for n in (40, 41, 9001):
        x = numbers((3, n), dt.F32)
        x[1, n // 2] = float("nan")
        got = down(B.layer_norm(up(x, dt.F32, device), up(np.ones(n), dt.F32, device), None, EPS))
        assert np.isnan(got[1]).all() and np.isfinite(got[[0, 2]]).all()


def test_a_row_of_equal_numbers_becomes_beta(device: WgpuDevice) -> None:
    beta = up(np.arange(8.0), dt.F32, device)
    got = down(B.layer_norm(up(np.full((2, 8), 7.0), dt.F32, device), up(np.ones(8), dt.F32, device), beta, EPS))
    assert got.tolist() == [list(range(8))] * 2


# --------------------------------------------------------------------------------------------------------- batch norm

SHAPES = [(8, 3), (2, 8), (4, 5, 6), (2, 3, 4, 4), (3, 16, 5, 5), (2, 4, 40, 40), (600, 20)]


def batch(x: np.ndarray, gamma: np.ndarray, beta: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    line = (1, -1) + (1,) * (x.ndim - 2)
    g, b, m, v = (a.astype(np.float64).reshape(line) for a in (gamma, beta, mean, variance))
    return (x.astype(np.float64) - m) / np.sqrt(v + EPS) * g + b


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_batch_norm_and_its_gradient(shape: tuple[int, ...], device: WgpuDevice) -> None:
    channels = shape[1]
    axes = tuple(a for a in range(len(shape)) if a != 1)
    for kind in (dt.F32, dt.F16):
        x, grad = numbers(shape, kind, 0), numbers(shape, kind, 1)
        gamma, beta = numbers((channels,), kind, 2), numbers((channels,), kind, 3)
        tx, tgamma, tbeta = (up(v, kind, device) for v in (x, gamma, beta))
        wide = x.astype(np.float64)
        mean, variance = wide.mean(axes), wide.var(axes)

        out = B.batch_norm_train(tx, tgamma, tbeta, EPS)
        assert (out.output.dtype, out.mean.dtype, out.variance.dtype) == (kind, dt.F32, dt.F32)
        want = batch(x, gamma, beta, mean, variance)
        close(down(out.mean), mean, dt.F32, 4)
        close(down(out.variance), variance, dt.F32, 4)
        close(down(out.output), want, kind, 10)
        close(down(B.batch_norm(tx, tgamma, tbeta, out.mean, out.variance, EPS)), want, kind, 10)

        n = x.size // channels
        line = (1, -1) + (1,) * (len(shape) - 2)
        inverse = 1 / np.sqrt(variance + EPS)
        normal = (wide - mean.reshape(line)) * inverse.reshape(line)
        g = grad.astype(np.float64)
        beta_grad, gamma_grad = g.sum(axes), (g * normal).sum(axes)
        inner = g - (beta_grad / n).reshape(line) - normal * (gamma_grad / n).reshape(line)
        x_grad = (gamma.astype(np.float64) * inverse).reshape(line) * inner
        got = B.batch_norm_train_backward(tx, tgamma, out.mean, out.variance, EPS, up(grad, kind, device))
        assert [t.dtype for t in got] == [kind] * 3
        close(down(got.x_grad), x_grad, kind, 10)
        close(down(got.gamma_grad), gamma_grad, kind, 10 + n)
        close(down(got.beta_grad), beta_grad, kind, 10 + n)


def test_batch_norm_of_views(device: WgpuDevice) -> None:
    array = numbers((5, 6, 4, 7), dt.F32)
    base = up(array, dt.F32, device)
    tensor = base.view(base.layout.permute([0, 3, 1, 2]))
    values = array.transpose(0, 3, 1, 2)
    gamma, beta = numbers((7,), dt.F32, 1), numbers((7,), dt.F32, 2)
    vectors = [up(v, dt.F32, device) for v in (gamma, beta)]
    out = B.batch_norm_train(tensor, *vectors, EPS)
    mean, variance = values.astype(np.float64).mean((0, 2, 3)), values.astype(np.float64).var((0, 2, 3))
    close(down(out.output), batch(values, gamma, beta, mean, variance), dt.F32, 10)
    grad = numbers((7, 5, 6, 4), dt.F32, 9)
    turned = up(grad, dt.F32, device)
    turned = turned.view(turned.layout.permute([1, 0, 2, 3]))
    plain = up(grad.transpose(1, 0, 2, 3), dt.F32, device)
    first = B.batch_norm_train_backward(tensor, vectors[0], out.mean, out.variance, EPS, turned)
    second = B.batch_norm_train_backward(tensor, vectors[0], out.mean, out.variance, EPS, plain)
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(down(a), down(b))


def test_large_mean_and_small_variance(device: WgpuDevice) -> None:
    x = (np.random.default_rng(0).normal(0, 0.1, (64, 4, 16)) + 1000).astype(np.float32)
    ones, zeros = up(np.ones(4), dt.F32, device), up(np.zeros(4), dt.F32, device)
    out = B.batch_norm_train(up(x, dt.F32, device), ones, zeros, EPS)
    np.testing.assert_allclose(down(out.variance), x.astype(np.float64).var((0, 2)), rtol=1e-4)


def test_batch_norm_of_an_empty_batch(device: WgpuDevice) -> None:
    x, ones = up(np.zeros((0, 3, 2)), dt.F32, device), up(np.ones(3), dt.F32, device)
    assert down(B.batch_norm(x, ones, ones, ones, ones, EPS)).shape == (0, 3, 2)
    out = B.batch_norm_train(x, ones, ones, EPS)
    assert down(out.output).shape == (0, 3, 2) and np.isnan(down(out.mean)).all()
    got = B.batch_norm_train_backward(x, ones, ones, ones, EPS, x)
    assert down(got.gamma_grad).tolist() == [0.0] * 3 and down(got.x_grad).shape == (0, 3, 2)


def test_the_same_bits_every_time(device: WgpuDevice) -> None:
    x, ones = up(numbers((70, 3, 500), dt.F32), dt.F32, device), up(np.ones(3), dt.F32, device)
    first = [down(t).tobytes() for t in B.batch_norm_train(x, ones, ones, EPS)]
    again = [down(t).tobytes() for t in B.batch_norm_train(x, ones, ones, EPS)]
    assert first == again
