"""Reductions on the wgpu backend against NumPy in float64, and exactly for integers and positions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from burn_wgpu.backends.wgpu.backend import WgpuBackend
from burn_wgpu.backends.wgpu.run import run
from burn_wgpu.backends.wgpu.tensor import WgpuDevice, WgpuTensor
from burn_wgpu.kernel.reduce import reduce_plan
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.data import TensorData
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.errors import ShapeError
from burn_wgpu.std.slice import Slice
from tests.backends.wgpu.oracle import need_arithmetic

pytestmark = pytest.mark.gpu

B: Any = WgpuBackend()
SIZES = (1, 3, 5, 31, 32, 33, 63, 64, 65, 255, 256, 257, 1000, 1024, 4100)
INTS = (dt.I32, dt.U32, dt.I16, dt.U16, dt.I8, dt.U8, dt.I64, dt.U64)
HALVES = (dt.F16, dt.BF16)
NAN = float("nan")


@pytest.fixture(scope="module")
def device() -> WgpuDevice:
    return WgpuDevice(0)


def up(values: Any, kind: DType, device: WgpuDevice) -> WgpuTensor:
    make = {"float": B.float_from_data, "bool": B.bool_from_data}.get(kind.kind, B.int_from_data)
    return make(TensorData.of(np.asarray(values), kind), device)


def down(tensor: WgpuTensor) -> np.ndarray:
    read = {"float": B.float_into_data, "bool": B.bool_into_data}.get(tensor.dtype.kind, B.int_into_data)
    return read(tensor).numpy()


def numbers(shape: tuple[int, ...], kind: DType, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if kind.is_float:
        return TensorData.of(rng.uniform(-2, 2, shape).astype(np.float32), kind).numpy()
    if kind.is_bool:
        return rng.uniform(size=shape) < 0.3
    info = np.iinfo(kind.numpy)
    return rng.integers(info.min, info.max, shape, dtype=kind.numpy, endpoint=True)


def views(tensor: WgpuTensor, array: np.ndarray) -> list[tuple[str, WgpuTensor, np.ndarray]]:
    """A rank-3 tensor in the layouts that views make."""
    layout = tensor.layout
    cut = [Slice(1, None), Slice(2, None, 2), Slice(0, -1)]
    return [
        ("dense", tensor, array),
        ("permuted", tensor.view(layout.permute([2, 0, 1])), array.transpose(2, 0, 1)),
        ("sliced", tensor.view(layout.slice(cut)), array[1:, 2::2, :-1]),
        ("flipped", tensor.view(layout.flip([0, 2])), array[::-1, :, ::-1]),
        ("offset", tensor.view(layout.slice([Slice(2, None)])), array[2:]),
        (
            "expanded",
            tensor.view(layout.slice([Slice(0, None), Slice(3, 4)]).expand((array.shape[0], 5, array.shape[2]))),
            np.broadcast_to(array[:, 3:4], (array.shape[0], 5, array.shape[2])),
        ),
    ]


def expected(how: str, values: np.ndarray, axis: Any, kind: DType) -> np.ndarray:
    """What a reduction gives, axes kept; floats in float64."""
    if how in ("argmax", "argmin"):
        return getattr(np, how)(values, axis=axis, keepdims=True)
    if how == "max_abs":
        return np.max(np.abs(values), axis=axis, keepdims=True)
    if how in ("max", "min", "any", "all"):
        return getattr(np, how)(values, axis=axis, keepdims=True)
    wide = values.astype(np.float64) if kind.is_float else values
    with np.errstate(over="ignore"):
        if how == "mean":
            return np.mean(wide, axis=axis, keepdims=True)
        return getattr(np, how)(wide, axis=axis, keepdims=True, **({} if kind.is_float else {"dtype": values.dtype}))


def close(got: np.ndarray, want: np.ndarray, kind: DType, scale: float = 1.0, message: str = "") -> None:
    """scale: the size of what was added up, which bounds the rounding."""
    if not kind.is_float:
        np.testing.assert_array_equal(got, want, message)
        return
    step = {dt.F32: 2**-22, dt.F16: 2**-11, dt.BF16: 2**-8}[kind]
    np.testing.assert_allclose(got.astype(np.float64), want, rtol=step, atol=scale * 2**-22, err_msg=message)


# --------------------------------------------------------------------------------------------------- sizes and layouts


@pytest.mark.parametrize("how", ["sum", "mean", "prod", "max", "min", "max_abs"])
def test_every_size_along_every_axis(how: str, device: WgpuDevice) -> None:
    for n in SIZES:
        for shape, dim in (((3, n), 1), ((n, 3), 0), ((n, 8), 0), ((2, n, 4), 1)):
            values = numbers(shape, dt.F32, n)
            if how == "prod":
                values = (np.sign(values) * np.exp2(values / n)).astype(np.float32)
            got = down(getattr(B, f"float_{how}_dim")(up(values, dt.F32, device), dim))
            close(got, expected(how, values, dim, dt.F32), dt.F32, 2 * n, f"{how} {shape} {dim}")
        values = numbers((n,), dt.F32, n)
        got = down(getattr(B, f"float_{how}")(up(values, dt.F32, device)))
        close(got, expected(how, values, None, dt.F32).reshape(1), dt.F32, 2 * n, f"{how} [{n}]")


def test_positions_at_every_size(device: WgpuDevice) -> None:
    for n in SIZES:
        for shape, dim in (((3, n), 1), ((n, 3), 0), ((n, 8), 0)):
            values = numbers(shape, dt.F32, n).round(1)
            tensor = up(values, dt.F32, device)
            for how in ("argmax", "argmin"):
                got = down(getattr(B, f"float_{how}")(tensor, dim, dt.I32))
                np.testing.assert_array_equal(got, expected(how, values, dim, dt.F32), f"{how} {shape} {dim}")


@pytest.mark.parametrize(
    "kind",
    [
        *[dt.F32, *HALVES, dt.I32, dt.U8, dt.I64],
        *[pytest.param(kind, marks=pytest.mark.long) for kind in (dt.U32, dt.I16, dt.U16, dt.I8, dt.U64)],
    ],
    ids=repr,
)
def test_every_dtype_in_every_layout(kind: DType, device: WgpuDevice) -> None:
    need_arithmetic(kind, device)
    array = numbers((6, 8, 12), kind)
    prefix = "float" if kind.is_float else "int"
    for name, tensor, values in views(up(array, kind, device), array):
        for dim in range(3):
            for how in ("sum", "min"):
                got = down(getattr(B, f"{prefix}_{how}_dim")(tensor, dim))
                assert got.dtype == values.dtype
                close(got, expected(how, values, dim, kind), kind, 24, f"{how} of {name} along {dim}")
            arguments = (dt.I32,) if kind.is_float else ()
            got = down(getattr(B, f"{prefix}_argmax")(tensor, dim, *arguments))
            np.testing.assert_array_equal(got, expected("argmax", values, dim, kind), f"argmax of {name} along {dim}")
        for how in ("sum", "max"):
            got = down(getattr(B, f"{prefix}_{how}")(tensor))
            close(got, expected(how, values, None, kind).reshape(1), kind, 1200, f"{how} of {name}")


@pytest.mark.parametrize("kind", [dt.I32, dt.U8, dt.I8, dt.I64], ids=repr)
def test_integer_products_means_and_magnitudes_wrap(kind: DType, device: WgpuDevice) -> None:
    need_arithmetic(kind, device)
    values = numbers((5, 9), kind)
    values[0, 0] = np.iinfo(kind.numpy).min
    tensor = up(values, kind, device)
    np.testing.assert_array_equal(down(B.int_prod_dim(tensor, 1)), expected("prod", values, 1, kind))
    np.testing.assert_array_equal(down(B.int_prod(tensor)), expected("prod", values, None, kind).reshape(1))
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(down(B.int_max_abs_dim(tensor, 0)), expected("max_abs", values, 0, kind))
    if kind.size_bytes < 4:
        exact = np.trunc(values.astype(np.int64).sum(1, keepdims=True) / 9).astype(kind.numpy)
        np.testing.assert_array_equal(down(B.int_mean_dim(tensor, 1)), exact)
    small = np.arange(-20, 25).reshape(5, 9)
    small = np.abs(small) if kind.kind == "uint" else small
    exact = np.trunc(small.sum(1, keepdims=True) / 9)
    np.testing.assert_array_equal(down(B.int_mean_dim(up(small, kind, device), 1)), exact)


def test_sum_dims_folds_any_axes_at_once(device: WgpuDevice) -> None:
    array = numbers((4, 3, 8, 5), dt.F32)
    tensor = up(array, dt.F32, device)
    for dims in ((0,), (0, 1), (2, 3), (0, 2), (1, 3), (0, 1, 3), (0, 1, 2, 3), (3, 0)):
        got = down(B.float_sum_dims(tensor, dims))
        close(got, expected("sum", array, dims, dt.F32), dt.F32, 500, str(dims))
    flipped = tensor.view(tensor.layout.permute([3, 1, 0, 2]).flip([0, 3]))
    values = array.transpose(3, 1, 0, 2)[::-1, :, :, ::-1]
    close(down(B.float_sum_dims(flipped, (0, 2))), expected("sum", values, (0, 2), dt.F32), dt.F32, 500)
    assert B.float_sum_dims(tensor, ()) is tensor


def test_rank_zero_and_axes_of_size_one(device: WgpuDevice) -> None:
    scalar = up(np.float32(3.5), dt.F32, device)
    assert down(B.float_sum(scalar)).tolist() == [3.5]
    one = up(np.full((1, 4, 1), 2.0), dt.F16, device)
    assert down(B.float_mean_dim(one, 0)).tolist() == [[[2.0], [2.0], [2.0], [2.0]]]
    assert down(B.float_argmax(one, 2, dt.I64)).ravel().tolist() == [0, 0, 0, 0]


# ----------------------------------------------------------------------------------------------- many rows, long rows


@pytest.mark.parametrize("kind", [dt.F32, dt.F16, dt.U8], ids=repr)
def test_seventy_thousand_short_rows(kind: DType, device: WgpuDevice) -> None:
    values = numbers((70_000, 3), kind)
    prefix = "float" if kind.is_float else "int"
    tensor = up(values, kind, device)
    close(down(getattr(B, f"{prefix}_sum_dim")(tensor, 1)), expected("sum", values, 1, kind), kind, 6)
    across = down(getattr(B, f"{prefix}_max_dim")(tensor, 0))
    np.testing.assert_array_equal(across, expected("max", values, 0, kind))
    turned = tensor.view(tensor.layout.permute([1, 0]))
    np.testing.assert_array_equal(down(getattr(B, f"{prefix}_min_dim")(turned, 0)), values.min(1)[None])


def test_one_row_of_three_million(device: WgpuDevice) -> None:
    n = 3_000_001
    values = numbers((1, n), dt.F32)
    values[0, 2_345_678] = 7.0
    values[0, 2_345_679] = 7.0
    tensor = up(values, dt.F32, device)
    close(down(B.float_sum_dim(tensor, 1)), expected("sum", values, 1, dt.F32), dt.F32, 4000)
    close(down(B.float_mean(tensor)), expected("mean", values, None, dt.F32).reshape(1), dt.F32, 1)
    assert down(B.float_argmax(tensor, 1, dt.I64)).tolist() == [[2_345_678]]
    assert down(B.float_max(tensor)).tolist() == [7.0]
    column = tensor.view(tensor.layout.permute([1, 0]))
    assert down(B.float_argmax(column, 0, dt.I32)).tolist() == [[2_345_678]]


def test_tall_columns_in_parts(device: WgpuDevice) -> None:
    for shape in ((9000, 12), (9001, 5), (4, 3000, 16)):
        for kind in (dt.F32, dt.F16):
            values = numbers(shape, kind)
            dim = len(shape) - 2
            got = down(B.float_sum_dim(up(values, kind, device), dim))
            close(got, expected("sum", values, dim, kind), kind, 300, f"{shape} {kind}")


# ------------------------------------------------------------------------------------------------------------ meaning


@pytest.mark.parametrize("kind", [dt.F32, *HALVES], ids=repr)
@pytest.mark.parametrize("where", [0, 1, 150, 299])
def test_a_nan_wins_wherever_it_stands(kind: DType, where: int, device: WgpuDevice) -> None:
    values = numbers((3, 300), dt.F32)
    values[1, where] = NAN
    values[1, 299] = NAN
    tensor = up(values, kind, device)
    turned = tensor.view(tensor.layout.permute([1, 0]))
    for how in ("sum", "mean", "prod", "max", "min", "max_abs"):
        got = down(getattr(B, f"float_{how}_dim")(tensor, 1)).ravel()
        assert np.isnan(got).tolist() == [False, True, False], how
        assert np.isnan(down(getattr(B, f"float_{how}_dim")(turned, 0))).tolist() == [[False, True, False]], how
        assert np.isnan(down(getattr(B, f"float_{how}")(tensor))).all(), how
    for how in ("argmax", "argmin"):
        got = down(getattr(B, f"float_{how}")(tensor, 1, dt.I32)).ravel()
        assert got[1] == where, how
        assert down(getattr(B, f"float_{how}")(turned, 0, dt.I32))[0, 1] == where, how


def test_a_nan_with_its_sign_set_wins_too(device: WgpuDevice) -> None:
    bits = np.array([0x3F800000, 0xFFFFFFFF, 0x7F800000, 0xFFC00000], np.uint32)
    tensor = up(bits.view(np.float32), dt.F32, device)
    for how in ("max", "min", "max_abs"):
        assert np.isnan(down(getattr(B, f"float_{how}")(tensor))).all(), how
    assert down(B.float_argmin(tensor, 0, dt.I32)).tolist() == [1]
    assert down(B.float_argmax(tensor, 0, dt.I32)).tolist() == [1]


def test_infinities_and_zeros(device: WgpuDevice) -> None:
    inf = float("inf")
    tensor = up(np.array([[-inf, -inf, -inf], [inf, -inf, 0.0], [inf, inf, 1.0], [-0.0, 0.0, -0.0]]), dt.F32, device)
    assert down(B.float_max_dim(tensor, 1)).ravel().tolist() == [-inf, inf, inf, 0.0]
    assert down(B.float_min_dim(tensor, 1)).ravel().tolist() == [-inf, -inf, 1.0, 0.0]
    assert down(B.float_argmax(tensor, 1, dt.I32)).ravel().tolist() == [0, 0, 0, 0]
    assert down(B.float_argmin(tensor, 1, dt.I32)).ravel().tolist() == [0, 1, 2, 0]
    sums = down(B.float_sum_dim(tensor, 1)).ravel()
    assert sums[0] == -inf and np.isnan(sums[1]) and sums[2] == inf and sums[3] == 0


@pytest.mark.parametrize("n", [1, 2, 31, 64, 257, 1000, 4096, 70_000])
def test_ties_go_to_the_lowest_index(n: int, device: WgpuDevice) -> None:
    zeros = up(np.zeros((n, 2)), dt.F32, device)
    turned = up(np.zeros((2, n)), dt.F16, device)
    for how in ("argmax", "argmin"):
        assert down(getattr(B, f"float_{how}")(zeros, 0, dt.I32)).tolist() == [[0, 0]]
        assert down(getattr(B, f"float_{how}")(turned, 1, dt.I64)).tolist() == [[0], [0]]
    assert down(B.int_argmax(up(np.zeros(n), dt.I32, device), 0)).tolist() == [0]
    lowest = up(np.full(n, np.iinfo(np.int32).min), dt.I32, device)
    assert down(B.int_argmax(lowest, 0)).tolist() == [0]


@pytest.mark.parametrize("index", INTS, ids=repr)
def test_positions_come_in_any_int_dtype(index: DType, device: WgpuDevice) -> None:
    values = numbers((7, 100), dt.F16)
    tensor = up(values, dt.F16, device)
    got = B.float_argmin(tensor, 1, index)
    assert got.dtype is index
    np.testing.assert_array_equal(down(got), values.argmin(1)[:, None])
    found, places = B.float_max_dim_with_indices(tensor, 1, index)
    assert (found.dtype, places.dtype) == (dt.F16, index)
    np.testing.assert_array_equal(down(found), values.max(1)[:, None])
    np.testing.assert_array_equal(down(places), values.argmax(1)[:, None])


def test_values_and_positions_in_one_pass(device: WgpuDevice) -> None:
    values = numbers((5, 6, 9), dt.F32)
    values[2, 3, 4] = NAN
    tensor = up(values, dt.F32, device)
    for dim in range(3):
        low, places = B.float_min_dim_with_indices(tensor, dim, dt.I32)
        np.testing.assert_array_equal(down(low), values.min(dim, keepdims=True))
        np.testing.assert_array_equal(down(places), values.argmin(dim, keepdims=True))
    whole = numbers((5, 300), dt.U8)
    high, places = B.int_max_dim_with_indices(up(whole, dt.U8, device), 1)
    assert places.dtype is dt.I32  # 8 bits cannot hold every index
    np.testing.assert_array_equal(down(high), whole.max(1)[:, None])
    np.testing.assert_array_equal(down(places), whole.argmax(1)[:, None])
    low, places = B.int_min_dim_with_indices(up(whole, dt.U8, device), 0)
    assert places.dtype is dt.U8
    np.testing.assert_array_equal(down(places), whole.argmin(0)[None])


def test_halves_accumulate_in_f32(device: WgpuDevice) -> None:
    assert down(B.float_sum(up(np.ones(4096), dt.F16, device))).tolist() == [4096.0]
    assert down(B.float_sum_dim(up(np.ones((3, 4096)), dt.BF16, device), 1)).ravel().tolist() == [4096.0] * 3
    assert down(B.float_mean(up(np.ones(70_000), dt.F16, device))).tolist() == [1.0]
    assert down(B.float_mean_dim(up(np.ones((70_000, 2)), dt.BF16, device), 0)).tolist() == [[1.0, 1.0]]
    assert down(B.float_mean(up(np.arange(1024), dt.F16, device))).tolist() == [511.5]
    assert down(B.float_sum(up(np.full(4096, 100.0), dt.F16, device))).tolist() == [float("inf")]


@pytest.mark.parametrize("kind", [dt.F32, dt.F16, dt.I32, dt.U8, dt.I64, dt.BOOL_U8, dt.BOOL_U32], ids=repr)
def test_any_and_all(kind: DType, device: WgpuDevice) -> None:
    need_arithmetic(kind, device)
    values = np.ones((5, 70), bool)
    values[1] = False
    values[2, 69] = False
    values[3] = False
    values[3, 17] = True
    tensor = up(values.astype(np.float32) if kind.is_float else values, kind, device)
    prefix = {"float": "float", "bool": "bool"}.get(kind.kind, "int")
    out = () if kind.is_bool else (dt.BOOL_U8,)
    for how in ("any", "all"):
        for dim in (0, 1):
            got = down(getattr(B, f"{prefix}_{how}_dim")(tensor, dim, *out))
            np.testing.assert_array_equal(got, expected(how, values, dim, dt.BOOL_U8))
        assert down(getattr(B, f"{prefix}_{how}")(tensor, *out)).tolist() == [how == "any"]


def test_any_counts_nan_and_not_negative_zero(device: WgpuDevice) -> None:
    tensor = up(np.array([[0.0, -0.0], [0.0, NAN]]), dt.F32, device)
    assert down(B.float_any_dim(tensor, 1, dt.BOOL_U32)).ravel().tolist() == [False, True]
    assert down(B.float_all_dim(tensor, 1, dt.BOOL_U32)).ravel().tolist() == [False, False]
    assert B.float_any(tensor, dt.BOOL).dtype is dt.BOOL_U8


# -------------------------------------------------------------------------------------------------------------- empty


def test_reductions_of_nothing(device: WgpuDevice) -> None:
    none = up(np.zeros((2, 0, 3)), dt.F16, device)
    assert down(B.float_sum_dim(none, 1)).tolist() == [[[0.0] * 3]] * 2
    assert down(B.float_prod_dim(none, 1)).tolist() == [[[1.0] * 3]] * 2
    assert np.isnan(down(B.float_mean_dim(none, 1))).all()
    assert np.isnan(down(B.float_mean(none))).all()
    assert down(B.float_sum(none)).tolist() == [0.0]
    assert down(B.float_sum_dim(none, 0)).shape == (1, 0, 3)
    assert down(B.float_max_dim(none, 2)).shape == (2, 0, 1)
    assert down(B.float_any(none, dt.BOOL_U8)).tolist() == [False]
    assert down(B.float_all(none, dt.BOOL_U8)).tolist() == [True]
    ints = up(np.zeros((0, 5)), dt.I64, device)
    assert down(B.int_sum_dim(ints, 0)).tolist() == [[0] * 5]
    assert down(B.int_prod(ints)).tolist() == [1]
    assert down(B.bool_all_dim(up(np.zeros((3, 0)), dt.BOOL_U32, device), 1)).ravel().tolist() == [True] * 3


def test_extrema_of_nothing_are_errors(device: WgpuDevice) -> None:
    none = up(np.zeros((0, 3, 0)), dt.F32, device)
    message = r"axis 0 of shape \[0, 3, 0\] has size 0; it must have an element"
    for call in (
        lambda: B.float_max_dim(none, 0),
        lambda: B.float_argmin(none, 0, dt.I32),
        lambda: B.float_min_dim_with_indices(none, 0, dt.I32),
        lambda: B.float_max(none),
        lambda: B.float_max_abs(none),
        lambda: B.int_mean(up(np.zeros((0, 3, 0)), dt.I32, device)),
    ):
        with pytest.raises(ShapeError, match=message):
            call()


# ------------------------------------------------------------------------------------------- every variant, by its name


@pytest.mark.parametrize("algorithm", ["rows", "columns"])
@pytest.mark.parametrize("kind", [dt.F32, dt.F16, dt.U8], ids=repr)
def test_every_algorithm_and_cut_gives_the_same(algorithm: Any, kind: DType, device: WgpuDevice) -> None:
    for shape in ((6, 132), (5, 131), (132, 6), (131, 8)):
        values = numbers(shape, kind)
        tensor = up(values, kind, device)
        for dim in (0, 1):
            for parts in (None, 1, 2, 7):
                for how in ("sum", "argmax"):
                    out, indices = (None, dt.U16) if how == "argmax" else (kind, None)
                    key = (algorithm, kind, shape, dim, parts, how)
                    got = run(
                        device, key,
                        lambda c, t=tensor, d=dim, p=parts, h=how, o=out, i=indices: reduce_plan(
                            "test", h, t.layout, kind, (d,), c, o, i, algorithm, p
                        ),
                        (tensor,),
                    )[0]  # fmt: skip
                    if how == "sum":
                        close(down(got), expected(how, values, dim, kind), kind, 200, str(key))
                    else:
                        np.testing.assert_array_equal(down(got), expected(how, values, dim, kind), str(key))


@pytest.mark.parametrize("algorithm", ["rows", "columns"])
def test_more_workgroups_than_one_axis_of_the_grid_holds(algorithm: Any, device: WgpuDevice) -> None:
    values = numbers((50, 2048), dt.F32)
    tensor = up(values, dt.F32, device)
    small = replace(device.capability, max_groups=13)
    dim = 1 if algorithm == "rows" else 0
    for parts in (1, 3):
        got = run(
            device, ("small grid", algorithm, parts),
            lambda c, p=parts: reduce_plan(
                "test", "sum", tensor.layout, dt.F32, (dim,), small, dt.F32, None, algorithm, p
            ),
            (tensor,),
        )[0]  # fmt: skip
        close(down(got), expected("sum", values, dim, dt.F32), dt.F32, 200)


def test_the_same_bits_every_time(device: WgpuDevice) -> None:
    values = numbers((300, 3000), dt.F32)
    tensor = up(values, dt.F32, device)
    for call in (B.float_sum, lambda t: B.float_sum_dim(t, 0), lambda t: B.float_sum_dim(t, 1), B.float_prod):
        first = down(call(tensor)).tobytes()
        assert all(down(call(tensor)).tobytes() == first for _ in range(3))


@pytest.mark.long
def test_random_shapes_layouts_and_dtypes(device: WgpuDevice) -> None:
    rng = np.random.default_rng(5)
    for _ in range(300):
        rank = int(rng.integers(1, 5))
        shape = tuple(int(n) for n in rng.choice([1, 2, 3, 4, 5, 8, 12, 17, 64, 100], rank))
        kind = [dt.F32, dt.F16, dt.BF16, dt.I32, dt.I8, dt.U16, dt.I64][rng.integers(7)]
        values = numbers(shape, kind, int(rng.integers(1 << 30)))
        tensor = up(values, kind, device)
        order = rng.permutation(rank).tolist()
        turned = [a for a in range(rank) if rng.random() < 0.3]
        tensor = tensor.view(tensor.layout.permute(order).flip(turned))
        values = np.flip(values.transpose(order), turned)
        prefix = "float" if kind.is_float else "int"
        dim = int(rng.integers(rank))
        for how in ("sum", "max", "argmin"):
            call = getattr(B, f"{prefix}_{how}" + ("" if how == "argmin" else "_dim"))
            got = down(call(tensor, dim, dt.I32) if how == "argmin" and kind.is_float else call(tensor, dim))
            want = expected(how, values, dim, kind)
            what = f"{how} {kind} {tensor.layout} {dim}"
            if how == "argmin":
                np.testing.assert_array_equal(got, want, what)
            else:
                close(got, want, kind, 2 * values.size, what)
