"""Host data, reading into it, and which of Burn's method names a tensor has."""

from __future__ import annotations

import asyncio
import importlib

import numpy as np
import pytest

import burn_wgpu as bw
from burn_wgpu import Device, Distribution, Tensor, TensorData
from burn_wgpu.std import dtype as dt
from burn_wgpu.std import shape as shapes
from burn_wgpu.std.errors import ArgumentError, DTypeError, IndexOutOfRange, ShapeError
from burn_wgpu.std.quant import QFloat, QuantScheme
from burn_wgpu.std.slice import Slice
from burn_wgpu.tensor.closeness import (
    assert_approx_eq,
    assert_eq,
    assert_within_range,
    assert_within_range_inclusive,
)

BASE = """
extract inplace rank dtype can_mut capture_id empty empty_like zeros zeros_like ones ones_like full full_like dims shape
device to_device from_data
reshape transpose t swap_dims permute movedim flip flatten squeeze squeeze_dim squeeze_dims unsqueeze unsqueeze_dim
unsqueeze_dims expand repeat_dim repeat roll_dim roll unfold narrow chunk split split_with_sizes iter_dim cat stack
slice slice_assign slice_fill slice_dim select_dim select select_assign mask_where mask_fill mask_select
mask_select_async gather scatter gather_nd scatter_nd take
equal not_equal equal_scalar not_equal_scalar equal_elem not_equal_elem any all any_dim all_dim
into_data to_data try_into_data try_to_data into_data_async to_data_async to_data_as into_data_as try_to_data_as
try_into_data_as to_data_dtype into_data_dtype try_to_data_dtype try_into_data_dtype try_to_vec_as try_into_vec_as
into_scalar try_into_scalar into_scalar_async try_into_scalar_async
einsum all_reduce reduce_scatter all_gather all_to_all broadcast with_sharding try_with_sharding sharding
"""
NUMERIC = """
add sub mul div add_scalar sub_scalar mul_scalar div_scalar remainder remainder_scalar neg sign abs mean sum prod
mean_dim sum_dim prod_dim mean_dims sum_dims prod_dims sum_dims_squeeze cumsum cumprod triu tril powi powi_scalar bool
random matmul dot eye pad
"""
ORDERED = """
sort sort_descending sort_with_indices sort_descending_with_indices argsort argsort_descending topk topk_with_indices
argtopk one_hot one_hot_fill greater greater_equal lower lower_equal greater_scalar greater_equal_scalar lower_scalar
lower_equal_scalar greater_elem greater_equal_elem lower_elem lower_equal_elem argmax argmin max min max_abs max_dim
min_dim max_abs_dim max_dims min_dims max_abs_dims max_dim_with_indices min_dim_with_indices max_pair min_pair clamp
clamp_min clamp_max cummin cummax
"""
FLOAT = """
erf recip round floor ceil trunc round_to hypot deg2rad rad2deg from_floats int random_like var var_bias var_mean
var_mean_bias median median_with_indices cast detach require_grad set_require_grad is_require_grad cov quantize
quantize_dynamic dequantize is_close all_close is_nan is_inf is_finite contains_nan grid_sample_2d cross powf
powf_scalar categorical is_distributed set_distributed square exp log1p log sqrt cos sin tan cosh sinh tanh acos acosh
asin asinh atan atanh atan2 fmod fmod_scalar
"""
INT = """
arange arange_step from_ints float cartesian_grid square bitwise_and bitwise_or bitwise_xor bitwise_not
bitwise_and_scalar bitwise_or_scalar bitwise_xor_scalar bitwise_left_shift bitwise_right_shift
bitwise_left_shift_scalar bitwise_right_shift_scalar cast
"""
BOOL = """
from_bool int float cast bool_not bool_and bool_or bool_xor nonzero nonzero_async argwhere argwhere_async triu_mask
tril_mask diag_mask
"""

LEFT_OUT = {
    "names a tensor of a capture device, and there is no such device": ("capture_id",),
    "device groups and sharding are experimental in Burn and need several devices of one program": (
        "with_sharding", "try_with_sharding", "sharding",
    ),
    "functions of burn_wgpu.tensor.collective, since they take a list of tensors": (
        "all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast",
    ),
    "part of autodiff": ("require_grad", "set_require_grad", "is_require_grad"),
    "part of distributed training": ("is_distributed", "set_distributed"),
}  # fmt: skip


def names(table: str) -> set[str]:
    return set(table.split())


@pytest.mark.parametrize("table", [BASE, NUMERIC, ORDERED, FLOAT, INT, BOOL])
def test_a_tensor_has_every_method_of_burn(table: str) -> None:
    reasons = {name for group in LEFT_OUT.values() for name in group}
    assert sorted(name for name in names(table) - reasons if not hasattr(Tensor, name)) == []


def test_what_is_left_out_is_named_by_burn_and_the_collectives_exist() -> None:
    from burn_wgpu.tensor import collective

    known = set().union(*map(names, (BASE, NUMERIC, ORDERED, FLOAT, INT, BOOL)))
    assert {name for group in LEFT_OUT.values() for name in group} <= known
    assert all(
        callable(getattr(collective, name))
        for name in names("all_reduce reduce_scatter all_gather all_to_all broadcast")
    )


FUNCTIONS = {
    "activation": """
        relu relu6 hardtanh tanh tanhshrink leaky_relu prelu gelu gelu_approximate softmax softmin log_softmax
        quiet_softmax softplus softplus_with_threshold sigmoid log_sigmoid hard_sigmoid silu hard_swish mish elu celu
        selu thresholded_relu threshold glu softsign hard_shrink soft_shrink shrink
    """,
    "functional": """
        batch_norm batch_norm_train ctc_loss embedding conv1d conv2d conv3d deform_conv2d conv_transpose1d
        conv_transpose2d conv_transpose3d unfold4d fold4d max_pool1d max_pool2d max_pool3d max_pool1d_with_indices
        max_pool2d_with_indices max_pool3d_with_indices avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d
        adaptive_avg_pool2d adaptive_avg_pool3d interpolate linear attention attention_fallback layer_norm
        conv_output_size conv_transpose_output_size max_pool_output_size avg_pool_output_size interpolate_output_size
        conv2d_weight_backward avg_pool2d_backward avg_pool3d_backward max_pool2d_with_indices_backward
        max_pool3d_with_indices_backward cross_entropy_with_logits
    """,
    "signal": "rfft irfft cfft ifft hann_window hamming_window blackman_window stft istft StftOptions",
    "linalg": """
        diag trace matvec outer outer_dim cosine_similarity Norm vector_norm lp_norm l0_norm l1_norm l2_norm
        max_abs_norm min_abs_norm vector_norm_dims lp_norm_dims l0_norm_dims l1_norm_dims l2_norm_dims
        max_abs_norm_dims min_abs_norm_dims vector_normalize lu qr svd solve cholesky det
    """,
    "grid": "meshgrid meshgrid_stack affine_grid_2d GridOptions IndexPos",
    "quantization": "compute_range compute_q_params CalibrationRange QParams",
    "closeness": "assert_eq assert_approx_eq assert_within_range assert_within_range_inclusive assert_shape Tolerance "
    "check_closeness",
    "graph": "capture Graph",
    "transaction": "Transaction",
}


@pytest.mark.parametrize("module", FUNCTIONS)
def test_a_module_has_every_function_of_burn(module: str) -> None:
    found = importlib.import_module(f"burn_wgpu.tensor.{module}")
    assert sorted(name for name in names(FUNCTIONS[module]) if not callable(getattr(found, name, None))) == []


HOST_DATA = """
quantized from_bytes from_bytes_vec try_from_bytes try_from_bytes_vec with_bytes_mut zeros ones full random zeros_dtype
ones_dtype full_dtype random_dtype as_slice as_mut_slice try_to_vec try_into_vec to_vec into_vec try_to_vec_as
try_into_vec_as iter convert convert_dtype try_cast_as try_cast view try_view mut_view try_mut_view rank num_elements
as_bytes into_bytes into_parts shape dtype
"""
NOT_HOST_DATA = {
    "host data is a NumPy array: `data.array` is what may be written to": (
        "with_bytes_mut", "as_mut_slice", "mut_view", "try_mut_view",
    ),
}  # fmt: skip


def test_host_data_has_every_function_of_burn() -> None:
    reasons = {name for group in NOT_HOST_DATA.values() for name in group}
    assert sorted(name for name in names(HOST_DATA) if not hasattr(TensorData, name)) == sorted(reasons)


# ---------------------------------------------------------------------------------------------- reading tensors


def test_reading_has_burns_names(device: Device) -> None:
    t = Tensor([[1.0, 2.5], [3.0, -4.0]], device=device)
    for read in (t.into_data, t.to_data, t.try_into_data, t.try_to_data):
        assert read().dtype is t.dtype and read().numpy().tolist() == [[1.0, 2.5], [3.0, -4.0]]
    for convert in (t.to_data_as, t.try_to_data_as, t.try_into_data_as, t.try_to_data_dtype, t.try_into_data_dtype):
        data = convert("i8")
        assert data.dtype is dt.I8 and data.to_vec() == [1, 2, 3, -4]
    assert t.try_to_vec_as("i16") == t.try_into_vec_as("i16") == [1, 2, 3, -4]
    with pytest.raises(ArgumentError):
        t.try_to_vec_as("u8")
    assert asyncio.run(t.into_data_async()).to_vec() == t.to_vec()
    assert t.can_mut() is False


def test_scalars_are_read_and_awaited(device: Device) -> None:
    one, two = Tensor([[2.5]], device=device), Tensor([1.0, 2.0], device=device)
    assert one.try_into_scalar() == asyncio.run(one.into_scalar_async()) == 2.5
    assert asyncio.run(one.try_into_scalar_async()) == 2.5
    with pytest.raises(ShapeError, match="exactly one"):
        two.try_into_scalar()
    with pytest.raises(ShapeError, match="exactly one"):
        asyncio.run(two.try_into_scalar_async())


def test_searches_are_awaited(device: Device) -> None:
    t = Tensor([[0.0, 2.0], [3.0, 0.0]], device=device)

    async def search() -> tuple[Tensor, Tensor, list[Tensor]]:
        return await t.mask_select_async(t > 0), await t.argwhere_async(), await t.nonzero_async()

    chosen, where, axes = asyncio.run(search())
    assert chosen.tolist() == [2.0, 3.0]
    assert where.tolist() == [[0, 1], [1, 0]] and [a.tolist() for a in axes] == [[0, 1], [1, 0]]


# ---------------------------------------------------------------------------------------------------- creators


@pytest.mark.parametrize("kind", dt.ALL, ids=str)
def test_host_data_is_made_of_one_number(kind: dt.DType) -> None:
    for data, value in ((TensorData.zeros((2, 3), kind), 0), (TensorData.ones([2, 3], kind.name), 1)):
        assert data.dtype is kind and data.shape == (2, 3) and data.rank == 2 and data.num_elements == 6
        assert data.to_vec() == [value] * 6 and len(data.as_bytes()) == 6 * kind.size_bytes
        assert TensorData.from_bytes(data.as_bytes(), (2, 3), kind).to_vec() == data.to_vec()


def test_full_takes_only_what_the_dtype_holds() -> None:
    assert TensorData.full((2,), 2.75, "i32").to_vec() == [2, 2]
    assert TensorData.full((), 1.00390625, "bf16").to_vec() == [1.0]
    assert TensorData.full((1,), 7, "f32").dtype is dt.F32
    for value, kind in ((256, "u8"), (-1, "u32"), (float("nan"), "i32"), (2.0**63, "i64"), (float("inf"), "i16")):
        with pytest.raises(ArgumentError, match=f"cannot be {kind}"):
            TensorData.full((1,), value, kind)
    with pytest.raises(ShapeError, match="negative"):
        TensorData.zeros((2, -1))
    with pytest.raises(DTypeError, match="quantize"):
        TensorData.zeros((2,), QFloat(QuantScheme()))


@pytest.mark.parametrize("kind", [k for k in dt.ALL if not k.is_bool], ids=str)
def test_random_data_keeps_to_its_interval(kind: dt.DType) -> None:
    data = TensorData.random((40, 50), Distribution.uniform(3, 9), kind, 5)
    values = np.array(data.to_vec(), np.float64)
    assert data.dtype is kind and data.shape == (40, 50)
    assert values.min() >= 3 and values.max() < 9 and abs(values.mean() - (5.5 if kind.is_int else 6)) < 0.25
    assert (
        data.to_vec()
        == TensorData.random((40, 50), Distribution.uniform(3, 9), kind, np.random.default_rng(5)).to_vec()
    )
    assert data.to_vec() != TensorData.random((40, 50), Distribution.uniform(3, 9), kind, 6).to_vec()
    ones = np.array(TensorData.random((2000,), Distribution.bernoulli(0.25), kind, 1).to_vec())
    assert set(ones.tolist()) == {0, 1} and 0.2 < ones.mean() < 0.3
    TensorData.random((500,), None, kind, 1)  # the default of a narrow int reaches beyond it


def test_random_data_of_other_distributions() -> None:
    normal = np.array(TensorData.random((4000,), Distribution.normal(2, 0.5), "f32", 1).to_vec())
    assert abs(normal.mean() - 2) < 0.05 and abs(normal.std() - 0.5) < 0.03
    unit = np.array(TensorData.random((4000,), rng=1).to_vec())
    assert unit.min() >= 0 and unit.max() < 1 and abs(unit.mean() - 0.5) < 0.03
    coin = TensorData.random((1000,), kind="bool", rng=1)
    assert coin.dtype is dt.BOOL and 400 < sum(coin.to_vec()) < 600
    assert max(TensorData.random((3000,), kind="i8", rng=1).to_vec()) == 127
    assert set(TensorData.random((9,), Distribution.uniform(2, 2), "i32").to_vec()) == {2}
    with pytest.raises(DTypeError, match="normal"):
        TensorData.random((2,), Distribution.normal(0, 1), bool)


# ----------------------------------------------------------------------------------------------------- reading


def test_slices_and_lists_are_of_the_exact_dtype() -> None:
    data = TensorData.of(np.array([[1, 2], [3, 4]], np.int16))
    flat = data.as_slice("i16")
    assert flat.tolist() == [1, 2, 3, 4] and np.shares_memory(flat, data.array)
    with pytest.raises(ValueError, match="read-only"):
        flat[0] = 9
    assert data.array.flags.writeable
    assert data.to_vec("i16") == data.try_to_vec("i16") == data.into_vec() == data.try_into_vec() == [1, 2, 3, 4]
    for read in (data.as_slice, data.to_vec):
        with pytest.raises(DTypeError, match=r"is i16, not i32; call \.convert"):
            read("i32")
    assert data.try_to_vec_as("f32") == data.to_vec_as("f32") == data.try_into_vec_as(dt.F32) == [1.0, 2.0, 3.0, 4.0]
    assert list(data.iter()) == [1, 2, 3, 4] and list(data.iter("bool")) == [True] * 4
    mask = TensorData.of([True, False]).convert(dt.BOOL_U32)
    assert mask.as_slice("u32").tolist() == [1, 0]
    with pytest.raises(DTypeError):
        mask.as_slice("u8")


def test_casting_may_fail_where_converting_saturates() -> None:
    data = TensorData.of(np.array([1.9, -3.9, 300.0], np.float32))
    assert data.convert_dtype("u8").to_vec() == [1, 0, 255]
    assert data.try_cast("i16").to_vec() == data.try_cast_as(dt.I16).to_vec() == [1, -3, 300]
    assert data.try_cast("f32") is data
    with pytest.raises(ArgumentError, match=r"300.0 cannot be i8; it must lie in \[-128, 127\]"):
        data.try_cast("i8")
    with pytest.raises(ArgumentError, match="nan"):
        TensorData.of([1.0, float("nan")]).try_cast("i32")
    assert TensorData.of([1e300]).try_cast("f32").to_vec() == [float("inf")]
    assert TensorData.of([float("nan"), 0.0]).try_cast("bool").to_vec() == [True, False]
    assert TensorData.zeros((0,), "f32").try_cast("u8").shape == (0,)
    with pytest.raises(DTypeError, match="neither quantized"):
        data.try_cast(QFloat(QuantScheme()))


def test_a_view_reads_by_coordinates() -> None:
    data = TensorData.of(np.arange(24, dtype=np.float16).reshape(2, 3, 4)).convert("bf16")
    view = data.view()
    assert view.shape == (2, 3, 4) and view.dtype is dt.BF16
    assert view[1, 2, 3] == 23 and view[[0, 1, 2]] == 6 and view[-1, 0, 0] == 12
    assert view.ravel_index((1, 1, 1)) == 17
    assert TensorData.of([5, 6]).try_view()[1] == 6 and TensorData.of(7).view()[()] == 7
    with pytest.raises(ShapeError, match="2 coordinates"):
        view[0, 1]
    with pytest.raises(IndexOutOfRange, match="index 3 is outside axis 1"):
        view[0, 3, 0]
    with pytest.raises(DTypeError, match="str"):
        view[0, "1", 0]  # type: ignore[list-item]


def test_data_prints_as_a_flat_list() -> None:
    assert str(TensorData.of([[1, 2], [3, 4]])) == "[1, 2, 3, 4]"
    assert str(TensorData.of([True, False])) == "[true, false]"
    assert str(TensorData.of([0.1, float("nan"), 2.0]).convert("bf16")) == "[0.1, NaN, 2.0]"
    codes = TensorData(np.zeros(4, np.uint32), QFloat(QuantScheme()))
    assert str(codes).startswith("[<quantized values>] qfloat(")
    with pytest.raises(DTypeError, match="dequantize"):
        codes.to_vec()


# --------------------------------------------------------------------------------------------------- assertions


def test_assertions_name_the_first_differences() -> None:
    a, b = TensorData.of([1, 2, 3]), TensorData.of([1, 5, 3])
    assert_eq(a, a)
    assert_eq(a, a.convert("i32"), strict=False)
    assert_approx_eq(a.convert("f32"), TensorData.of([1.0, 2.001, 3.0]))
    with pytest.raises(AssertionError, match=r"1 of 3 elements differ: \[1\]: 2 and 5"):
        assert_eq(a, b)
    with pytest.raises(AssertionError, match="dtypes"):
        assert_eq(a, a.convert("i32"))
    with pytest.raises(AssertionError, match="shapes"):
        assert_eq(a, TensorData.of([[1, 2, 3]]))


def test_ranges_are_half_open_or_closed_in_the_total_order() -> None:
    floats = TensorData.of(np.array([-1.5, 0.0, 2.0], np.float32))
    assert_within_range(floats, -1.5, 2.5)
    assert_within_range_inclusive(floats, -1.5, 2)
    for low, high in ((-1, 3), (-2, 1), (1, 3)):
        with pytest.raises(AssertionError):
            assert_within_range(floats, low, high)
    with pytest.raises(AssertionError, match=r"1 of 3 elements are outside \[-1.5, 2.0\): \[2\]: 2.0"):
        assert_within_range(floats, -1.5, 2.0)
    with pytest.raises(AssertionError, match=r"\[0\]: -1.5"):
        assert_within_range_inclusive(floats, -1.0, 2.0)
    for outside in (float("nan"), -0.0):
        with pytest.raises(AssertionError):
            assert_within_range_inclusive(TensorData.of([outside]), 0.0, float("inf"))
    big = TensorData.of(np.array([2**63 - 1], np.int64))
    assert_within_range(big, 0, 2**63)
    with pytest.raises(AssertionError):
        assert_within_range(big, 0, 2**63 - 1)


# ------------------------------------------------------------------------------------------------------- shapes


def test_shapes_are_computed_as_the_tensors_do(cpu: Device) -> None:
    t = Tensor.zeros((2, 3, 4), device=cpu)
    assert shapes.num_elements(t.shape) == t.size == 24 and shapes.num_elements(()) == 1
    assert shapes.flatten_dims(t.shape, 1, -1) == t.flatten(1, -1).shape == (2, 12)
    assert shapes.repeat(t.shape, -1, 3) == t.repeat_dim(-1, 3).shape
    assert shapes.reduce(t.shape, 1) == t.sum_dim(1).shape
    assert shapes.cat([t.shape, (2, 5, 4)], -2) == Tensor.cat([t, Tensor.zeros((2, 5, 4), device=cpu)], -2).shape
    cut = [Slice(0, 1), Slice(-2, None)]
    assert shapes.slice_shape(t.shape, cut) == t.slice(cut).shape == (1, 2, 4)
    assert shapes.matmul_output((1, 3, 4), (5, 4, 2)) == (5, 3, 2)
    assert [shapes.wrap_index(i, 3) for i in (-4, -1, 0, 5)] == [2, 2, 0, 2]
    assert shapes.ravel_index((2, 3), (1, -1)) == 5


@pytest.mark.parametrize(
    "call",
    [
        lambda: shapes.flatten_dims((2, 3), 1, 0),
        lambda: shapes.repeat((2, 3), 2, 1),
        lambda: shapes.repeat((2, 3), 0, -1),
        lambda: shapes.cat([], 0),
        lambda: shapes.cat([(2, 3), (2, 4)], 0),
        lambda: shapes.cat([(2, 3), (2,)], 0),
        lambda: shapes.slice_shape((2,), [Slice.full(), Slice.full()]),
        lambda: shapes.matmul_output((2, 3), (2, 3)),
        lambda: shapes.matmul_output((2, 3), (1, 3, 2)),
        lambda: shapes.matmul_output((2, 2, 3), (3, 3, 2)),
        lambda: shapes.wrap_index(1, 0),
    ],
)
def test_impossible_shapes_are_refused(call: object) -> None:
    with pytest.raises(ShapeError):
        call()  # type: ignore[operator]


def test_dtypes_of_the_package_name_data() -> None:
    assert TensorData.zeros((1,), bw.f16).dtype is bw.f16
