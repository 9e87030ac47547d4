"""Sorting and top-k on the wgpu backend against a stable NumPy sort."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from burn_wgpu.backends.wgpu.run import run
from burn_wgpu.backends.wgpu.tensor import WgpuDevice
from burn_wgpu.contract.defaults.order import index_dtype, stable_order
from burn_wgpu.kernel.sort import PER, SELECTED, sort_plan, widest
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.data import cast_array
from burn_wgpu.std.dtype import DType
from tests.backends.wgpu.oracle import REF, REF_DEVICE, B, bits, down, equal, layouts, prefix, up

pytestmark = pytest.mark.gpu


def mostly_long(kinds: Iterable[DType], short: Container[DType]) -> list[Any]:
    """Kernels compile slowly on a software adapter: all but these dtypes are left to long runs."""
    return [pytest.param(kind, marks=() if kind in short else pytest.mark.long, id=str(kind)) for kind in kinds]


NUMBERS = mostly_long((*dt.FLOATS, *dt.INTS), {dt.F32, dt.BF16, dt.I64, dt.U8})
SOME = mostly_long((dt.F32, dt.F16, dt.I32, dt.F64, dt.I8), {dt.F32, dt.I8})


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


def forced(way: str, tensor: Any, values: np.ndarray, k: int, descending: bool, dim: int = -1) -> None:
    """Checks the first k along the axis, values and positions, by a named way: twice, and without positions too.

    `values` are those of the tensor. Values are compared by their bits.
    """
    kind, device = tensor.dtype, tensor.device
    dim %= values.ndim
    order = np.moveaxis(stable_order(values, dim, descending), dim, -1)[..., :k]
    answer = up(np.take_along_axis(np.moveaxis(values, dim, -1), order, -1), kind, device)

    def found(with_values: bool, indices: DType | None) -> list[Any]:
        key = ("forced", way, tensor.layout, kind, dim, k, descending, with_values, indices)
        return run(
            device,
            key,
            lambda c: sort_plan("sort", tensor.layout, kind, dim, k, descending, c, with_values, indices, way),
            (tensor,),
        )

    for _ in range(2):
        sorted_values, places = found(True, dt.I32)
        assert np.array_equal(down(places), order)
        assert bits(sorted_values) == bits(answer)
    (sorted_values,) = found(True, None)
    assert bits(sorted_values) == bits(answer)
    (places,) = found(False, dt.I64)
    assert np.array_equal(down(places), order)


SIZES = [1, 2, 3, 31, 32, 33, 255, 256, 257, 1000, 2047, 2048]


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize(("way", "n", "k"), [("tile", 70, 70), ("passes", 2100, 2100), ("select", 4200, 30)])
def test_every_way_sorts_every_dtype(way: str, n: int, k: int, kind: DType, device: WgpuDevice) -> None:
    values = some((3, n), kind)
    for descending in (False, True):
        forced(way, up(values, kind, device), values, k, descending)


@pytest.mark.parametrize("n", [*SIZES, 4095, 4096])
def test_a_tile_of_any_size(n: int, device: WgpuDevice) -> None:
    if n > (most := PER * widest(device.capability)):
        pytest.skip(f"a workgroup of {device.capability.adapter} holds rows of {most} elements")
    for kind in (dt.F32, dt.U16):
        values = some((3, n), kind)
        forced("tile", up(values, kind, device), values, n, n % 2 == 0)


@pytest.mark.parametrize("n", [*SIZES, 2049, 4095, 4096, 4097, 65_536, 65_537, 140_000])
def test_passes_of_any_size(n: int, device: WgpuDevice) -> None:
    for kind in (dt.F32, dt.BF16):
        values = some((2, n), kind)
        forced("passes", up(values, kind, device), values, n, n % 2 == 0)


@pytest.mark.parametrize("n", [*SIZES, 4095, 4096, 4097, 65_537, 140_000])
def test_selection_from_any_size(n: int, device: WgpuDevice) -> None:
    for kind in (dt.F32, dt.U8):
        values = some((2, n), kind)
        for k in sorted({1, min(n, 2), min(n, 17), min(n, SELECTED)}):
            forced("select", up(values, kind, device), values, k, n % 2 == 0)


@pytest.mark.parametrize(("way", "n", "k"), [("tile", 1000, 1000), ("passes", 5000, 5000), ("select", 9000, 100)])
@pytest.mark.parametrize("kind", SOME)
def test_orders_that_are_there_already(way: str, n: int, k: int, kind: DType, device: WgpuDevice) -> None:
    rising = np.sort(cast_array(np.random.default_rng(5).integers(-120, 120, n).astype(np.float32), kind))
    rows = [rising, rising[::-1], np.full_like(rising, 7), np.where(np.arange(n) == n // 2, 1, 2).astype(rising.dtype)]
    if not kind.is_int:
        named = np.array([np.nan, -np.nan, 0.0, -0.0, np.inf, -np.inf, 1e-7, -1e-7], rising.dtype)
        rows += [np.resize(named, n), np.full_like(rising, np.nan), np.resize(named[2:4], n)]
    values = np.stack(rows)
    for descending in (False, True):
        forced(way, up(values, kind, device), values, k, descending)


@pytest.mark.parametrize(("way", "k"), [("tile", 40), ("passes", 40), ("select", 9)])
def test_every_way_from_any_layout(way: str, k: int, device: WgpuDevice) -> None:
    for kind in (dt.F32, dt.U8):
        values = some((40, 3, 40), kind)
        for _, tensor in layouts(values, kind, device):
            for dim in (0, 2):
                forced(way, tensor, values, k, True, dim)
        row = some((1, 40), kind)
        expanded = getattr(B, f"{prefix(kind)}_expand")(up(row, kind, device), (5, 40))
        forced(way, expanded, np.broadcast_to(row, (5, 40)), k, False)


@pytest.mark.parametrize("way", ["tile", "passes", "select"])
def test_subnormals_are_numbers(way: str, device: WgpuDevice) -> None:
    stored = np.random.default_rng(4).integers(0, 1 << 10, (2, 600)).astype(np.uint32)
    stored[:, ::2] |= 1 << 31
    values = stored.view(np.float32)
    for descending in (False, True):
        forced(way, up(values, dt.F32, device), values, 200, descending)


@pytest.mark.parametrize("kind", [dt.F32, dt.F16, dt.I32, dt.I64], ids=str)
def test_as_the_reference_backend(kind: DType, device: WgpuDevice) -> None:
    values = some((4, 3000), kind)
    ours, theirs = up(values, kind, device), up(values, kind, REF_DEVICE)
    name = prefix(kind)
    extra = (dt.I32,) if kind.is_float else ()

    def same(function: str, *arguments: Any) -> None:
        found = [getattr(b, f"{name}_{function}")(t, 1, *arguments) for b, t in ((B, ours), (REF, theirs))]
        pairs = zip(*[f if isinstance(f, tuple) else (f,) for f in found], strict=True)
        assert all(equal(down(a), down(b)) and a.dtype is b.dtype for a, b in pairs), function

    for descending in (False, True):
        same("sort", descending)
        same("argsort", descending, *extra)
        same("sort_with_indices", descending, *extra)
    for k in (1, 20, 700):
        same("topk", k)
        same("argtopk", k, *extra)
        same("topk_with_indices", k, *extra)


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("descending", [False, True])
def test_every_dtype(kind: DType, descending: bool, device: WgpuDevice) -> None:
    with_indices(some((5, 70), kind), kind, 1, descending, device)


@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 257, 2049, 4097, 10_001])
@pytest.mark.parametrize("descending", [False, True])
def test_rows_of_any_size(n: int, descending: bool, device: WgpuDevice) -> None:
    with_indices(some((3, n), dt.F32), dt.F32, 1, descending, device)


@pytest.mark.parametrize("kind", [dt.F16, dt.I64, dt.F64, dt.U8], ids=str)
def test_long_rows_of_other_key_sizes(kind: DType, device: WgpuDevice) -> None:
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


@pytest.mark.parametrize("kind", mostly_long((dt.F32, dt.F16, dt.I32, dt.I64, dt.U8), {dt.F16, dt.I32}))
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
    for way, n, k in (("tile", 2048, 2048), ("passes", 4500, 4500), ("select", 9000, SELECTED)):
        for kind in (dt.F32, dt.I64):
            values = some((2, n), kind)
            forced(way, up(values, kind, small), values, k, kind is dt.I64)


def test_the_grid_folds(device: WgpuDevice) -> None:
    values = some((30, 1500), dt.F32)
    tensor = up(values, dt.F32, device)
    small = replace(device.capability, max_groups=7)
    order = stable_order(values, 1, False)
    for way, k in (("tile", 1500), ("passes", 1500), ("select", 50)):
        plan = sort_plan("argsort", tensor.layout, dt.F32, 1, k, False, small, False, dt.I32, way)
        assert all(launch.grid[1] > 1 for launch in plan.launches)
        (found,) = run(device, ("folded sort", way), lambda _, plan=plan: plan, (tensor,))  # type: ignore[misc]
        assert np.array_equal(down(found), order[:, :k])


def test_many_short_rows(device: WgpuDevice) -> None:
    values = np.random.default_rng(3).integers(0, 9, (40_000, 5)).astype(np.int16)
    with_indices(values, dt.I16, 1, True, device)


@pytest.mark.long
def test_more_rows_than_an_axis_holds_workgroups(device: WgpuDevice) -> None:
    values = np.random.default_rng(3).integers(0, 250, (65_536 * 256 + 40, 4)).astype(np.uint8)
    found = B.int_sort(up(values, dt.U8, device), 1, False)
    assert equal(down(found), np.sort(values, axis=1))
