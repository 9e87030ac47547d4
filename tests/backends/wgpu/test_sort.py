"""Sorting and top-k on the wgpu backend against a stable NumPy sort."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from burn_wgpu.backends.wgpu.run import run
from burn_wgpu.backends.wgpu.tensor import WgpuDevice
from burn_wgpu.contract.defaults.order import index_dtype, stable_order
from burn_wgpu.kernel.sort import sort_plan
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.data import cast_array
from burn_wgpu.std.dtype import DType
from tests.backends.wgpu.oracle import B, bits, down, equal, layouts, prefix, up

pytestmark = pytest.mark.gpu

NUMBERS = [*dt.FLOATS, *dt.INTS]


@pytest.fixture(scope="module")
def device() -> WgpuDevice:
    return WgpuDevice(0)


def some(shape: tuple[int, ...], kind: DType, seed: int = 0) -> np.ndarray:
    """Values with many ties, both ends of an int dtype, and the special values of a float dtype."""
    rng = np.random.default_rng(seed)
    values = cast_array(rng.integers(-20, 20, shape).astype(np.float32), kind)
    flat = values.reshape(-1)
    if kind.is_int:
        ends = np.iinfo(kind.numpy)
        flat[::7], flat[3::11] = ends.max, ends.min
    else:
        flat[::7], flat[3::11], flat[5::13], flat[1::9] = np.nan, -np.inf, np.inf, -0.0
        flat[2::17] = np.copysign(np.float32(np.nan), np.float32(-1))
    return values


def with_indices(values: np.ndarray, kind: DType, dim: int, descending: bool, device: Any) -> None:
    """Checks sort_with_indices against the oracle, values by their bits."""
    tensor = up(values, kind, device)
    if kind.is_float:
        found, indices = B.float_sort_with_indices(tensor, dim, descending, dt.I64)
        assert indices.dtype is dt.I64
    else:
        found, indices = B.int_sort_with_indices(tensor, dim, descending)
        assert indices.dtype is index_dtype(kind, values.shape[dim])
    assert found.dtype is kind
    order = stable_order(values, dim, descending)
    assert np.array_equal(down(indices), order)
    answer = up(np.take_along_axis(values, order, dim), kind, device)
    assert bits(found) == bits(answer)


@pytest.mark.parametrize("kind", NUMBERS, ids=str)
@pytest.mark.parametrize("descending", [False, True])
def test_every_dtype(kind: DType, descending: bool, device: WgpuDevice) -> None:
    with_indices(some((5, 70), kind), kind, 1, descending, device)


@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 257, 2047, 2048, 2049, 4097, 10_001])
@pytest.mark.parametrize("descending", [False, True])
def test_rows_of_one_tile_and_of_many(n: int, descending: bool, device: WgpuDevice) -> None:
    with_indices(some((3, n), dt.F32), dt.F32, 1, descending, device)


@pytest.mark.parametrize("kind", [dt.F16, dt.I64, dt.F64, dt.U8], ids=str)
def test_many_tiles_of_other_key_sizes(kind: DType, device: WgpuDevice) -> None:
    with_indices(some((2, 5003), kind), kind, 1, True, device)


@pytest.mark.parametrize("dim", [0, 1, 2, 3])
def test_any_axis(dim: int, device: WgpuDevice) -> None:
    with_indices(some((3, 20, 2, 33), dt.F32), dt.F32, dim, False, device)


def test_any_layout(device: WgpuDevice) -> None:
    values = some((6, 21), dt.BF16)
    for dim in (0, 1):
        order = stable_order(values, dim, False)
        for way, tensor in layouts(values, dt.BF16, device):
            assert np.array_equal(down(B.float_argsort(tensor, dim, False, dt.I32)), order), way
            assert equal(down(B.float_sort(tensor, dim, False)), np.take_along_axis(values, order, dim)), way


def test_the_named_order_of_special_values(device: WgpuDevice) -> None:
    nan = np.float32(np.nan)
    values = np.array([nan, 1, -0.0, 0.0, np.inf, -nan, -np.inf, -0.0, 1e-45, -1e-45], np.float32)
    tensor = up(values, dt.F32, device)
    assert down(B.float_argsort(tensor, 0, False, dt.I32)).tolist() == [6, 9, 2, 3, 7, 8, 1, 4, 0, 5]
    assert down(B.float_argsort(tensor, 0, True, dt.I32)).tolist() == [0, 5, 4, 1, 8, 2, 3, 7, 9, 6]


def test_a_nan_keeps_its_payload(device: WgpuDevice) -> None:
    stored = np.array([0x7FC01234, 0x3F800000, 0xFFC00001, 0x80000000], np.uint32).view(np.float32)
    found = B.float_into_data(B.float_sort(up(stored, dt.F32, device), 0, False))
    assert found.array.view(np.uint32).tolist() == [0x80000000, 0x3F800000, 0x7FC01234, 0xFFC00001]


@pytest.mark.parametrize("n", [300, 7000])
def test_all_equal_keeps_the_order(n: int, device: WgpuDevice) -> None:
    tensor = up(np.full((2, n), 0xFFFFFFFF), dt.U32, device)  # the key that padding has, too
    for descending in (False, True):
        found = down(B.int_argsort(tensor, 1, descending))
        assert np.array_equal(found, np.broadcast_to(np.arange(n), (2, n)))


@pytest.mark.parametrize("kind", dt.INTS, ids=[d.name for d in dt.INTS])
def test_indices_of_every_dtype(kind: DType, device: WgpuDevice) -> None:
    values = some((3, 101), dt.F32)
    found = B.float_argsort(up(values, dt.F32, device), 1, False, kind)
    assert equal(down(found), stable_order(values, 1, False).astype(kind.numpy))


@pytest.mark.parametrize("kind", [dt.F32, dt.F16, dt.I32, dt.I64, dt.U8], ids=str)
@pytest.mark.parametrize(("n", "k"), [(50, 1), (50, 7), (50, 50), (5000, 3), (5000, 2100), (9000, 9000)])
def test_top_k_is_the_start_of_the_descending_sort(kind: DType, n: int, k: int, device: WgpuDevice) -> None:
    values = some((2, n, 3), kind)
    tensor = up(values, kind, device)
    order = stable_order(values, 1, True)[:, :k]
    answer = np.take_along_axis(values, order, 1)
    name = prefix(kind)
    extra = (dt.I32,) if kind.is_float else ()
    assert equal(down(getattr(B, f"{name}_topk")(tensor, 1, k)), answer)
    assert np.array_equal(down(getattr(B, f"{name}_argtopk")(tensor, 1, k, *extra)), order)
    found, indices = getattr(B, f"{name}_topk_with_indices")(tensor, 1, k, *extra)
    assert equal(down(found), answer)
    assert np.array_equal(down(indices), order)


def test_nothing_to_sort(device: WgpuDevice) -> None:
    for shape, dim in (((0,), 0), ((3, 0), 1), ((0, 3), 1)):
        found, indices = B.float_sort_with_indices(up(np.zeros(shape), dt.F32, device), dim, False, dt.I32)
        assert down(found).shape == shape and down(indices).shape == shape
    assert down(B.float_topk(up(np.zeros((3, 4)), dt.F32, device), 1, 0)).shape == (3, 0)


def test_the_same_bits_every_time(device: WgpuDevice) -> None:
    tensor = up(some((3, 6000), dt.F32), dt.F32, device)
    first = bits(B.float_argsort(tensor, 1, True, dt.I32))
    assert all(bits(B.float_argsort(tensor, 1, True, dt.I32)) == first for _ in range(3))


def test_rows_of_a_million(device: WgpuDevice) -> None:
    values = np.random.default_rng(2).standard_normal(1_000_003).astype(np.float32)
    values[::1000] = np.nan
    with_indices(values, dt.F32, 0, False, device)
    found = B.float_argtopk(up(values, dt.F32, device), 0, 2000, dt.I32)
    assert np.array_equal(down(found), stable_order(values, 0, True)[:2000])


def test_webgpus_default_limits_suffice() -> None:
    small = WgpuDevice(0, default_limits=True)
    with_indices(some((2, 2048), dt.F32), dt.F32, 1, False, small)
    with_indices(some((2, 3000), dt.I64), dt.I64, 1, True, small)


def test_the_grid_folds(device: WgpuDevice) -> None:
    values = some((30, 2500), dt.F32)
    tensor = up(values, dt.F32, device)
    small = replace(device.capability, max_groups=17)
    plan = sort_plan("argsort", tensor.layout, dt.F32, 1, 2500, False, small, False, dt.I32)
    assert all(launch.grid[1] > 1 for launch in plan.launches)
    (found,) = run(device, ("folded sort",), lambda _: plan, (tensor,))
    assert np.array_equal(down(found), stable_order(values, 1, False))


def test_many_short_rows(device: WgpuDevice) -> None:
    values = np.random.default_rng(3).integers(0, 9, (40_000, 5)).astype(np.int16)
    with_indices(values, dt.I16, 1, True, device)


@pytest.mark.long
def test_more_rows_than_an_axis_holds_workgroups(device: WgpuDevice) -> None:
    values = np.random.default_rng(3).integers(0, 250, (65_536 * 32 + 40, 3)).astype(np.uint8)
    found = B.int_sort(up(values, dt.U8, device), 1, False)
    assert equal(down(found), np.sort(values, axis=1))
