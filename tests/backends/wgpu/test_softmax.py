"""Softmax, log-softmax and softmin on the wgpu backend against NumPy in float64."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from burn_wgpu.backends.wgpu.backend import WgpuBackend
from burn_wgpu.backends.wgpu.run import run1
from burn_wgpu.backends.wgpu.tensor import WgpuDevice, WgpuTensor
from burn_wgpu.kernel.softmax import softmax_plan
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.data import TensorData
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.slice import Slice

pytestmark = pytest.mark.gpu

B: Any = WgpuBackend()
MODES = ("softmax", "log_softmax", "softmin")
INF, NAN = float("inf"), float("nan")


@pytest.fixture(scope="module")
def device() -> WgpuDevice:
    return WgpuDevice(0)


def up(values: Any, kind: DType, device: WgpuDevice) -> WgpuTensor:
    return B.float_from_data(TensorData.of(np.asarray(values), kind), device)


def down(tensor: WgpuTensor) -> np.ndarray:
    return B.float_into_data(tensor).numpy()


def numbers(shape: tuple[int, ...], kind: DType, seed: int = 0) -> np.ndarray:
    values = np.random.default_rng(seed).normal(0, 4, shape).astype(np.float32)
    return TensorData.of(values, kind).numpy()


def expected(mode: str, values: np.ndarray, dim: int) -> np.ndarray:
    x = values.astype(np.float64) * (-1 if mode == "softmin" else 1)
    d = x - x.max(dim, keepdims=True)
    total = np.exp(d).sum(dim, keepdims=True)
    return d - np.log(total) if mode == "log_softmax" else np.exp(d) / total


def check(mode: str, tensor: WgpuTensor, values: np.ndarray, dim: int, got: WgpuTensor | None = None) -> None:
    result = down(getattr(B, mode)(tensor, dim) if got is None else got).astype(np.float64)
    step = {dt.F32: 4e-6, dt.F16: 2**-11 + 4e-6, dt.BF16: 2**-8}[tensor.dtype]
    smallest = 2**-24 if tensor.dtype is dt.F16 else 1e-37
    want = expected(mode, values, dim)
    floor = 2e-6 if mode == "log_softmax" else 0.0
    message = f"{mode} of {tensor.dtype} {tensor.layout} along {dim}"
    np.testing.assert_allclose(result, want, rtol=step, atol=smallest + floor, err_msg=message)


@pytest.mark.parametrize("mode", MODES)
def test_every_size_along_every_axis(mode: str, device: WgpuDevice) -> None:
    for n in (1, 3, 5, 31, 32, 33, 63, 64, 65, 255, 256, 257, 1000, 1027, 4096, 8192, 8196):
        for shape, dim in (((3, n), 1), ((n, 3), 0), ((2, n, 4), 1)):
            values = numbers(shape, dt.F32, n)
            check(mode, up(values, dt.F32, device), values, dim)


@pytest.mark.parametrize("kind", [dt.F32, dt.F16, dt.BF16], ids=repr)
def test_every_dtype_in_every_layout(kind: DType, device: WgpuDevice) -> None:
    array = numbers((6, 8, 12), kind)
    base = up(array, kind, device)
    layout = base.layout
    cut = [Slice(1, None), Slice(2, None, 2), Slice(0, -1)]
    for tensor, values in (
        (base, array),
        (base.view(layout.permute([2, 0, 1])), array.transpose(2, 0, 1)),
        (base.view(layout.slice(cut)), array[1:, 2::2, :-1]),
        (base.view(layout.flip([0, 2])), array[::-1, :, ::-1]),
        (base.view(layout.slice([Slice(2, None)])), array[2:]),
        (base.view(layout.slice([Slice(0, 1)]).expand((4, 8, 12))), np.broadcast_to(array[:1], (4, 8, 12))),
    ):
        for dim in range(3):
            check("softmax", tensor, values, dim)
            check("log_softmax", tensor, values, dim)


@pytest.mark.parametrize("shape", [(3, 48), (5, 33), (2, 4096)])
@pytest.mark.parametrize("mode", MODES)
def test_both_kernels_agree(mode: Any, shape: tuple[int, int], device: WgpuDevice) -> None:
    values = numbers(shape, dt.F32)
    tensor = up(values, dt.F32, device)
    for algorithm in ("rows", "lanes"):
        got = run1(
            device, (mode, shape, algorithm),
            lambda c, a=algorithm: softmax_plan(mode, tensor.layout, dt.F32, 1, c, a),
            (tensor,),
        )  # fmt: skip
        check(mode, tensor, values, 1, got)


@pytest.mark.parametrize("shape", [(4, 40), (4, 41), (4, 9001)])
@pytest.mark.parametrize("where", [0, 20, -1])
def test_a_nan_poisons_its_lane_and_no_other(shape: tuple[int, int], where: int, device: WgpuDevice) -> None:
    values = numbers(shape, dt.F32)
    values[2, where] = NAN
    tensor = up(values, dt.F32, device)
    for mode in MODES:
        got = down(getattr(B, mode)(tensor, 1))
        assert np.isnan(got[2]).all() and not np.isnan(got[[0, 1, 3]]).any(), mode
        turned = down(getattr(B, mode)(tensor.view(tensor.layout.permute([1, 0])), 0))
        assert np.isnan(turned[:, 2]).all() and not np.isnan(turned[:, [0, 1, 3]]).any(), mode


@pytest.mark.parametrize("n", [8, 9, 9000])
def test_lanes_with_infinities(n: int, device: WgpuDevice) -> None:
    values = numbers((4, n), dt.F32)
    values[0] = -INF
    values[1, 3] = INF
    values[2, 1:] = -INF
    values[3, ::2] = -INF
    tensor = up(values, dt.F32, device)
    got = down(B.softmax(tensor, 1))
    assert np.isnan(got[:2]).all()
    assert got[2].tolist() == [1.0] + [0.0] * (n - 1)
    np.testing.assert_allclose(got[3], expected("softmax", values[3:], 1)[0], rtol=4e-6)
    logs = down(B.log_softmax(tensor, 1))
    assert np.isnan(logs[:2]).all()
    assert logs[2].tolist() == [0.0] + [-INF] * (n - 1)
    assert (logs[3, ::2] == -INF).all() and np.isfinite(logs[3, 1::2]).all()
    mirrored = down(B.softmin(up(-values, dt.F32, device), 1))
    np.testing.assert_array_equal(mirrored, got)


def test_large_numbers_do_not_overflow(device: WgpuDevice) -> None:
    values = np.array([[60000.0, 59999.0, -60000.0, 0.0]])
    for kind in (dt.F32, dt.F16):
        check("softmax", up(values, kind, device), TensorData.of(values, kind).numpy(), 1)
    huge = np.array([[3e38, 3e38, -3e38, 0.0]], np.float32)
    assert down(B.softmax(up(huge, dt.F32, device), 1)).tolist() == [[0.5, 0.5, 0.0, 0.0]]


def test_many_rows_and_a_long_row(device: WgpuDevice) -> None:
    for shape, dim in (((70_000, 3), 1), ((1, 300_001), 1), ((3, 70_000), 0)):
        for kind in (dt.F32, dt.F16):
            values = numbers(shape, kind)
            check("softmax", up(values, kind, device), values, dim)


def test_more_workgroups_than_one_axis_of_the_grid_holds(device: WgpuDevice) -> None:
    values = numbers((60, 2048), dt.F32)
    tensor = up(values, dt.F32, device)
    small = replace(device.capability, max_groups=13)
    for algorithm in ("rows", "lanes"):
        got = run1(
            device, ("small grid", algorithm),
            lambda c, a=algorithm: softmax_plan("softmax", tensor.layout, dt.F32, 1, small, a),
            (tensor,),
        )  # fmt: skip
        check("softmax", tensor, values, 1, got)


def test_the_same_bits_every_time(device: WgpuDevice) -> None:
    for shape in ((7, 1000), (2, 30_000)):
        tensor = up(numbers(shape, dt.F32), dt.F32, device)
        first = down(B.softmax(tensor, 1)).tobytes()
        assert all(down(B.softmax(tensor, 1)).tobytes() == first for _ in range(3))


def test_nothing_stays_nothing(device: WgpuDevice) -> None:
    for mode in MODES:
        assert down(getattr(B, mode)(up(np.zeros((3, 0)), dt.F16, device), 1)).shape == (3, 0)
