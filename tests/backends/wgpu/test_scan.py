"""Running sums, products and extrema on the wgpu backend against NumPy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from burn_wgpu.backends.wgpu.backend import WgpuBackend
from burn_wgpu.backends.wgpu.run import run1
from burn_wgpu.backends.wgpu.tensor import WgpuDevice, WgpuTensor
from burn_wgpu.kernel.scan import scan_plan
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.data import TensorData
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.slice import Slice
from tests.backends.wgpu.oracle import need_arithmetic

pytestmark = pytest.mark.gpu

B: Any = WgpuBackend()
NAN = float("nan")


@pytest.fixture(scope="module")
def device() -> WgpuDevice:
    return WgpuDevice(0)


def up(values: Any, kind: DType, device: WgpuDevice) -> WgpuTensor:
    make = B.float_from_data if kind.is_float else B.int_from_data
    return make(TensorData.of(np.asarray(values), kind), device)


def down(tensor: WgpuTensor) -> np.ndarray:
    return (B.float_into_data if tensor.dtype.is_float else B.int_into_data)(tensor).numpy()


def numbers(shape: tuple[int, ...], kind: DType, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if kind.is_float:
        return TensorData.of(rng.uniform(-2, 2, shape).astype(np.float32), kind).numpy()
    info = np.iinfo(kind.numpy)
    return rng.integers(info.min, info.max, shape, dtype=kind.numpy, endpoint=True)


def check(how: str, tensor: WgpuTensor, values: np.ndarray, dim: int, got: WgpuTensor | None = None) -> None:
    kind = tensor.dtype
    prefix = "float" if kind.is_float else "int"
    result = down(getattr(B, f"{prefix}_cum{how}")(tensor, dim) if got is None else got)
    message = f"cum{how} of {kind} {tensor.layout} along {dim}"
    assert result.shape == values.shape
    if how in ("max", "min"):
        want = getattr(np, f"{how}imum").accumulate(values, axis=dim)
        np.testing.assert_array_equal(result, want, message)
    elif not kind.is_float:
        function = {"sum": np.cumsum, "prod": np.cumprod}[how]
        np.testing.assert_array_equal(result, function(values, axis=dim, dtype=values.dtype), message)
    else:
        wide = values.astype(np.float64)
        want = {"sum": np.cumsum, "prod": np.cumprod}[how](wide, axis=dim)
        size = np.cumsum(np.abs(wide), axis=dim) if how == "sum" else np.abs(want)
        step = {dt.F32: 0.0, dt.F16: 2**-11, dt.BF16: 2**-8}[kind]
        allowed = 2**-21 * size + step * np.abs(want) + (2**-24 if kind is dt.F16 else 0)
        assert (np.abs(result.astype(np.float64) - want) <= allowed).all(), message


@pytest.mark.parametrize("n", [1, 3, 5, 31, 32, 33, 63, 64, 65, 255, 256, 257, 1000, 1028, 4099])
def test_every_size_along_every_axis(n: int, device: WgpuDevice) -> None:
    for shape, dim in (((3, n), 1), ((n, 3), 0), ((n, 8), 0), ((2, n, 4), 1)):
        values = numbers(shape, dt.F32, n)
        tensor = up(values, dt.F32, device)
        check("sum", tensor, values, dim)
        check("max", tensor, values, dim)


@pytest.mark.parametrize("kind", [dt.F32, dt.F16, dt.BF16, dt.I32, dt.U8, dt.I16, dt.I64], ids=repr)
def test_every_dtype_in_every_layout(kind: DType, device: WgpuDevice) -> None:
    need_arithmetic(kind, device)
    array = numbers((6, 8, 12), kind)
    base = up(array, kind, device)
    layout = base.layout
    cut = [Slice(1, None), Slice(2, None, 2), Slice(0, -1)]
    for tensor, values in (
        (base, array),
        (base.view(layout.permute([2, 0, 1])), array.transpose(2, 0, 1)),
        (base.view(layout.slice(cut)), array[1:, 2::2, :-1]),
        (base.view(layout.flip([0, 2])), array[::-1, :, ::-1]),
        (base.view(layout.slice([Slice(0, 1)]).expand((4, 8, 12))), np.broadcast_to(array[:1], (4, 8, 12))),
    ):
        for dim in range(3):
            check("sum", tensor, values, dim)
            check("min", tensor, values, dim)


def test_products(device: WgpuDevice) -> None:
    for kind in (dt.F32, dt.F16):
        values = np.random.default_rng(1).choice([-1.0, 1.0, 0.5, -2.0], (4, 40)).astype(np.float32)
        values[2, 17] = 0.0
        for dim in (0, 1):
            tensor = up(np.sign(values) if kind is dt.F16 else values, kind, device)
            check("prod", tensor, np.sign(values) if kind is dt.F16 else values, dim)


@pytest.mark.parametrize("kind", [dt.I32, dt.I8, dt.U64], ids=repr)
def test_products_of_integers_wrap(kind: DType, device: WgpuDevice) -> None:
    need_arithmetic(kind, device)
    values = numbers((5, 50), kind)
    check("prod", up(values, kind, device), values, 1)
    check("prod", up(values, kind, device), values, 0)


@pytest.mark.parametrize("where", [0, 1, 1500, 2999])
def test_a_nan_poisons_what_follows_and_only_its_lane(where: int, device: WgpuDevice) -> None:
    values = numbers((3, 3000), dt.F32)
    values[1, where] = NAN
    tensor = up(values, dt.F32, device)
    turned = tensor.view(tensor.layout.permute([1, 0]))
    for how in ("sum", "prod", "max", "min"):
        got = down(getattr(B, f"float_cum{how}")(tensor, 1))
        column = down(getattr(B, f"float_cum{how}")(turned, 0)).T
        for result in (got, column):
            assert not np.isnan(result[[0, 2]]).any(), how
            assert not np.isnan(result[1, :where]).any(), how
            assert np.isnan(result[1, where:]).all(), how


def test_long_lanes_are_cut_into_parts(device: WgpuDevice) -> None:
    for shape, dim in (((300_001,), 0), ((2, 50_000), 1), ((40_000, 3), 0), ((20_000, 4), 0), ((70_000, 2), 1)):
        for kind in (dt.F32, dt.F16, dt.I32, dt.U8):
            values = numbers(shape, kind)
            values = values / 100 if kind.is_float else values
            values = TensorData.of(values, kind).numpy()
            tensor = up(values, kind, device)
            check("sum", tensor, values, dim)
        check("max", tensor, values, dim)


@pytest.mark.parametrize("kind", [dt.F32, dt.U8, dt.F16], ids=repr)
def test_every_cut_gives_the_same(kind: DType, device: WgpuDevice) -> None:
    for shape in ((2, 5000), (3, 4099), (300, 8), (301, 5)):
        values = numbers(shape, kind)
        tensor = up(values, kind, device)
        dim = 1 if shape[1] > 8 else 0
        for parts in (1, 2, 5):
            for how in ("sum", "max"):
                got = run1(
                    device, ("scan", kind, shape, parts, how),
                    lambda c, t=tensor, d=dim, p=parts, h=how: scan_plan("test", h, t.layout, kind, d, c, p),
                    (tensor,),
                )  # fmt: skip
                check(how, tensor, values, dim, got)


def test_more_workgroups_than_one_axis_of_the_grid_holds(device: WgpuDevice) -> None:
    for shape, dim in (((60, 2048), 1), ((40, 9000), 0)):
        values = numbers(shape, dt.F32)
        tensor = up(values, dt.F32, device)
        small = replace(device.capability, max_groups=13)
        got = run1(
            device, ("small grid", shape),
            lambda c, t=tensor, d=dim, s=small: scan_plan("test", "sum", t.layout, dt.F32, d, s, 2),
            (tensor,),
        )  # fmt: skip
        check("sum", tensor, values, dim, got)


def test_the_same_bits_every_time(device: WgpuDevice) -> None:
    tensor = up(numbers((2, 60_000), dt.F32), dt.F32, device)
    first = down(B.float_cumsum(tensor, 1)).tobytes()
    assert all(down(B.float_cumsum(tensor, 1)).tobytes() == first for _ in range(3))


def test_halves_accumulate_in_f32(device: WgpuDevice) -> None:
    got = down(B.float_cumsum(up(np.ones(4096), dt.F16, device), 0))
    np.testing.assert_array_equal(got, np.arange(1, 4097).astype(np.float16))
    got = down(B.float_cumsum(up(np.ones((4096, 3)), dt.F16, device), 0))
    np.testing.assert_array_equal(got[:, 2], np.arange(1, 4097).astype(np.float16))


def test_nothing_stays_nothing(device: WgpuDevice) -> None:
    assert down(B.float_cumsum(up(np.zeros((3, 0)), dt.F16, device), 1)).shape == (3, 0)
    assert down(B.int_cummax(up(np.zeros((0, 4)), dt.I64, device), 0)).shape == (0, 4)


@pytest.mark.long
def test_one_lane_of_three_million(device: WgpuDevice) -> None:
    values = numbers((3_000_003,), dt.F32)
    check("sum", up(values, dt.F32, device), values, 0)
    check("min", up(values, dt.F32, device), values, 0)
