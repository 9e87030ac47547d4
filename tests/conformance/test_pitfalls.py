"""Mistakes that tensor libraries made before, by their number in the project's list: where each is tested.

`TESTED` names the tests of other files (checked that they exist) and `HERE` those of this one.
"""

from __future__ import annotations

import ast
import gc
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from burn_wgpu import Device, Tensor
from burn_wgpu.contract.options import (
    AttentionModuleOptions,
    ConvOptions,
    ConvTransposeOptions,
    InterpolateMode,
    InterpolateOptions,
)
from burn_wgpu.std.errors import BurnError, IndexOutOfRange, ShapeError, UnsupportedError
from burn_wgpu.tensor import activation as A
from burn_wgpu.tensor import functional as F

ROOT = Path(__file__).resolve().parents[2]

W, K, R, T = "tests/backends/wgpu/", "tests/kernel/", "tests/runtime/", "tests/tensor/"
REF, CONFORMANCE = "tests/backends/reference/", "tests/conformance/test_conformance.py::"
TESTED: dict[str, tuple[str, ...]] = {
    "P01": (
        f"{T}test_pitfalls.py::test_more_workgroups_than_one_axis_has",
        f"{W}test_matmul.py::test_seventy_thousand_tiny_matrices",
        f"{W}test_softmax.py::test_more_workgroups_than_one_axis_of_the_grid_holds",
        f"{W}test_reduce.py::test_seventy_thousand_short_rows",
    ),
    "P02": (f"{W}test_matmul.py::test_awkward_sizes_by_every_kernel", f"{W}test_matmul.py::test_awkward_sizes_in_full"),
    "P03": (f"{K}test_map.py::test_a_large_tensor_near_two_to_the_31_bytes_keeps_its_indices_in_32_bits",),
    "P04": (f"{R}test_memory.py::test_a_tensor_above_the_largest_binding_names_limit_size_and_adapter",),
    "P05": (f"{W}test_movement.py::test_more_tensors_than_one_plan_takes_are_joined_in_stages",),
    "P06": (
        f"{T}test_pitfalls.py::test_operations_on_nothing",
        f"{T}test_pitfalls.py::test_products_with_nothing_inside_are_zero",
        f"{W}test_reduce.py::test_reductions_of_nothing",
        f"{R}test_steady.py::test_zero_sized_work_records_nothing",
    ),
    "P07": (
        f"{T}test_pitfalls.py::test_awkward_sizes_broadcast",
        f"{W}test_elementwise.py::test_sizes_around_the_chunks",
        f"{CONFORMANCE}test_a_function_gives_what_the_reference_gives",
    ),
    "P08": (
        f"{T}test_pitfalls.py::test_softmax_rows",
        f"{W}test_softmax.py::test_a_nan_poisons_its_lane_and_no_other",
        f"{REF}test_module_attention.py::test_a_hidden_query_gives_zero_and_no_gradient",
    ),
    "P09": (
        f"{W}test_reduce.py::test_halves_accumulate_in_f32",
        f"{W}test_scan.py::test_halves_accumulate_in_f32",
        f"{W}test_matmul.py::test_4096_ones_in_half_precision_sum_to_4096",
    ),
    "P10": (
        f"{W}test_norm.py::test_layer_norm_in_halves_does_not_overflow",
        f"{W}test_norm.py::test_large_mean_and_small_variance",
    ),
    "P11": (
        f"{W}test_elementwise.py::test_a_function_agrees_with_its_formula",
        f"{W}test_elementwise.py::test_tanh_and_gelu_saturate_instead_of_overflowing",
    ),
    "P12": (
        f"{W}test_elementwise.py::test_powers_of_negative_numbers_and_of_zero",
        f"{T}test_arithmetic.py::test_the_power_table",
    ),
    "P13": (f"{W}test_elementwise.py::test_infinities_and_nan_survive_arithmetic",),
    "P14": (
        f"{W}test_reduce.py::test_a_nan_wins_wherever_it_stands",
        f"{W}test_scan.py::test_a_nan_poisons_what_follows_and_only_its_lane",
        f"{T}test_arithmetic.py::test_nan_wins_in_pairs_and_clamps",
    ),
    "P15": (f"{W}test_reduce.py::test_ties_go_to_the_lowest_index",),
    "P16": (
        f"{W}test_sort.py::test_the_named_order_of_special_values",
        f"{W}test_sort.py::test_all_equal_keeps_the_order",
        f"{W}test_sort.py::test_top_k_is_the_start_of_the_descending_sort",
    ),
    "P17": (
        f"{T}test_pitfalls.py::test_a_view_gives_what_a_copy_gives",
        f"{W}test_elementwise.py::test_views_give_what_their_values_give",
        f"{CONFORMANCE}test_a_function_gives_what_the_reference_gives",
    ),
    "P18": (f"{T}test_pitfalls.py::test_axes_of_size_one_may_have_any_stride",),
    "P19": (
        f"{T}test_pitfalls.py::test_one_tensor_may_be_every_operand",
        f"{T}test_pitfalls.py::test_a_view_keeps_its_values_when_the_source_is_rebound",
        f"{R}test_steady.py::test_an_operand_may_be_bound_twice",
    ),
    "P23": (
        f"{R}test_errors.py::test_a_refused_shader_names_operation_adapter_and_file",
        f"{R}test_errors.py::test_an_error_that_wgpu_only_logs_is_raised_at_the_next_flush",
        f"{R}test_errors.py::test_invalid_commands_poison_their_batch_and_nothing_else",
    ),
    "P24": (
        f"{R}test_steady.py::test_a_thousand_steps_create_nothing_after_the_tenth",
        f"{R}test_steady.py::test_five_thousand_shapes_stay_bounded",
        f"{R}test_memory.py::test_leases_that_die_in_a_cycle_give_usable_blocks_back",
    ),
    "P25": (
        f"{R}test_errors.py::test_out_of_memory_is_an_exception_and_other_tensors_live",
        f"{R}test_errors.py::test_a_lost_device_raises_everywhere_and_a_new_handle_works",
    ),
    "P26": (
        f"{REF}test_module_conv.py::test_conv2d_equals_seven_loops",
        f"{CONFORMANCE}test_a_function_gives_what_the_reference_gives",
    ),
    "P27": (f"{REF}test_module_conv.py::test_an_input_gradient_keeps_the_input_size_and_a_zero_tail",),
    "P28": (f"{REF}test_module_conv.py::test_asymmetric_padding_is_an_explicit_pad",),
    "P29": (f"{REF}test_module_conv.py::test_transposed_convolutions_and_their_gradients_agree_with_torch",),
    "P30": (
        f"{REF}test_module_pool.py::test_pooling_equals_loops_over_windows",
        f"{REF}test_module_pool.py::test_a_tied_window_gives_its_gradient_to_the_first",
        f"{CONFORMANCE}test_a_function_gives_what_the_reference_gives",
    ),
    "P31": (f"{REF}test_module_interpolate.py::test_four_elements_become_seven",),
    "P32": (
        f"{W}test_index.py::test_an_index_outside_is_raised_at_the_next_read_and_at_each_of_its_results",
        f"{W}test_index.py::test_wide_and_narrow_indices_outside",
        f"{T}test_indexing.py::test_empty_index_lists_and_empty_axes",
    ),
    "P33": (
        f"{W}test_index.py::test_sums_at_repeated_indices_have_the_same_bits_every_time",
        f"{W}test_index.py::test_an_assignment_keeps_the_last_value",
    ),
    "P34": (
        f"{T}test_arithmetic.py::test_python_division_table",
        f"{W}test_elementwise.py::test_remainder_follows_the_divisor_and_fmod_the_dividend",
        f"{W}test_elementwise.py::test_a_zero_divisor_is_raised_at_the_next_read",
        f"{W}test_elementwise.py::test_shift_counts_are_taken_modulo_the_width",
    ),
    "P35": (f"{T}test_creation.py::test_wide_ints_keep_their_value_or_raise",),
    "P36": (f"{T}test_pitfalls.py::test_masks_of_every_length", f"{W}test_reduce.py::test_any_and_all"),
    "P37": (
        f"{W}test_random.py::test_seeds_and_calls",
        f"{W}test_random.py::test_normal_numbers_are_finite_over_many_draws",
    ),
    "P38": (
        f"{W}test_random.py::test_a_longer_tensor_starts_with_the_shorter_one",
        f"{W}test_random.py::test_numbers_do_not_depend_on_the_launch",
    ),
    "P40": (
        "tests/store/test_safetensors.py::test_bf16_and_bools_of_the_device_go_both_ways",
        "tests/store/test_safetensors.py::test_every_broken_header_is_refused_with_its_reason",
    ),
    "P41": ("tests/store/test_load.py::test_loading_reports_every_problem_and_changes_nothing",),
    "P42": (
        "tests/pack/test_writer.py::test_a_full_disk_leaves_the_old_file",
        "tests/store/test_safetensors.py::test_what_cannot_be_written_leaves_the_old_file",
    ),
    "P44": (
        "tests/test_device.py::test_a_software_adapter_is_used_with_one_line_of_warning",
        "tests/test_device.py::test_a_missing_adapter_says_what_there_is",
        "tests/test_device.py::test_an_adapter_is_found_by_its_name",
    ),
    "P45": (
        f"{W}test_elementwise.py::test_ranks_up_to_eight_broadcast",
        f"{W}test_index.py::test_rank_sixteen",
    ),
    "P47": (
        f"{K}test_map.py::test_every_variant_fits_the_default_limits",
        f"{K}test_reduce.py::test_no_plan_exceeds_the_default_limits",
        f"{W}test_matmul.py::test_products_run_within_the_default_limits",
        f"{CONFORMANCE}test_a_function_gives_what_the_reference_gives",
    ),
    "P48": (
        "tests/packaging/test_imports.py::test_importing_the_package_is_quick",
        "tests/test_device.py::test_naming_a_device_loads_no_backend",
    ),
    "P49": (f"{T}test_display.py::test_printing_reads_only_the_edges",),
    "P52": (
        f"{W}test_elementwise.py::test_the_cosine_of_a_large_number_is_right",
        f"{W}test_cast.py::test_every_midpoint_between_halves_rounds_to_the_even_one",
    ),
    "P53": (
        f"{R}test_transfer.py::test_early_tensors_stay_right_while_thousands_are_made",
        f"{R}test_transfer.py::test_an_upload_never_overwrites_what_waiting_commands_read",
    ),
    "P54": (
        f"{T}test_creation.py::test_any_memory_order_is_taken",
        f"{T}test_creation.py::test_short_and_odd_arrays_round_trip",
        "tests/std/test_data.py::test_data_is_made_of_any_array",
    ),
    "P55": (
        f"{R}test_threads.py::test_eight_threads_of_small_operations_and_reads",
        f"{R}test_errors.py::test_ctrl_c_from_outside_ends_a_real_wait",
        f"{R}test_errors.py::test_a_forked_child_is_told_instead_of_hanging",
    ),
}
HERE: dict[str, tuple[str, ...]] = {
    "P03": (
        "test_sizes_beyond_32_bits_are_exact",
        "test_more_elements_than_32_bits_count_are_refused",
        "test_as_many_elements_as_32_bits_count_are_summed",
    ),
    "P04": ("test_a_tensor_above_the_default_binding_works_or_names_the_limit",),
    "P05": ("test_a_hundred_tensors_join_under_default_limits",),
    "P08": ("test_a_query_that_sees_nothing_gives_zero",),
    "P11": ("test_activations_at_extreme_numbers",),
    "P13": ("test_nan_and_infinity_survive_a_chain",),
    "P21": ("test_a_plan_is_not_taken_for_another_one",),
    "P24": ("test_an_operation_that_fails_leaves_no_memory_behind",),
    "P27": ("test_the_gradient_of_an_uneven_convolution_has_a_zero_tail",),
    "P28": ("test_padding_that_keeps_the_size_is_an_explicit_pad", "test_reflection_needs_a_larger_axis"),
    "P29": ("test_a_transposed_convolution_is_the_adjoint",),
    "P31": ("test_four_numbers_become_seven",),
    "P32": ("test_a_bad_index_is_an_index_error_everywhere",),
    "P45": ("test_ranks_above_the_highest_are_refused",),
}
ELSEWHERE = {
    "P20": "nothing is fused yet",
    "P22": "nothing is tuned at run time",
    "P39": "readers of other frameworks' files have tests of their own",
    "P43": "training state has tests of its own",
    "P46": "no kernel uses subgroups but the probe that measures them",
    "P50": "the benchmark command has tests of its own",
    "P51": "running statistics belong to the layer; the two modes are contract functions with records",
}


@cache
def functions(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def test_every_entry_has_a_test_or_a_reason() -> None:
    entries = {f"P{i:02d}" for i in range(1, 56)}
    assert sorted(entries - TESTED.keys() - HERE.keys() - ELSEWHERE.keys()) == []
    assert sorted((TESTED.keys() | HERE.keys()) & ELSEWHERE.keys()) == []
    assert (TESTED.keys() | HERE.keys() | ELSEWHERE.keys()) <= entries


@pytest.mark.parametrize("entry", sorted(TESTED.keys() | HERE.keys()))
def test_the_named_tests_exist(entry: str) -> None:
    for identifier in TESTED.get(entry, ()):
        path, name = identifier.split("::")
        assert name in functions(ROOT / path), identifier
    for name in HERE.get(entry, ()):
        assert name in functions(Path(__file__)), name


# ------------------------------------------------------------------------------------------------------------------


@pytest.fixture(params=["cpu", pytest.param("wgpu", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> Device:
    return Device(request.param)


@pytest.fixture
def weakest() -> Device:
    """An adapter opened with WebGPU's default limits."""
    return Device("wgpu", default_limits=True)


def tensor(values: Any, device: Device, dtype: str = "f32") -> Tensor:
    return Tensor(np.asarray(values, np.float32), device=device, dtype=dtype)


def test_sizes_beyond_32_bits_are_exact(device: Device) -> None:
    ones = Tensor.ones(1, device)
    wide = ones.expand(3, 2**30)
    assert wide.num_elements() == 3 * 2**30
    assert wide[2, 2**30 - 3 :].tolist() == [1.0, 1.0, 1.0]
    far = tensor([5.0], device).expand(2**31 + 9)
    assert far[2**31 + 5 :].tolist() == [5.0] * 4
    pairs = tensor([[1.0], [2.0]], device).expand(2, 2**31 + 7)
    assert pairs[:, 2**31 + 5 :].tolist() == [[1.0, 1.0], [2.0, 2.0]]
    assert pairs.transpose()[2**31 + 6].tolist() == [1.0, 2.0]


@pytest.mark.gpu
@pytest.mark.parametrize("shape", [(2**33,), (2**16, 2**16)])
def test_more_elements_than_32_bits_count_are_refused(weakest: Device, shape: tuple[int, ...]) -> None:
    """2^32 elements would wrap an index; 3·2^30 do not."""
    huge = Tensor.ones(1, weakest).expand(*shape)
    for operation in (Tensor.sum, Tensor.mean, Tensor.max, lambda t: (t > 0).all()):
        with pytest.raises(UnsupportedError):
            operation(huge)
    with pytest.raises(UnsupportedError, match="exceeds the largest storage binding of .* 134217728 bytes"):
        huge + 1
    assert (Tensor.ones(1, weakest) + 1).item() == 2.0


@pytest.mark.gpu
@pytest.mark.long
def test_as_many_elements_as_32_bits_count_are_summed(weakest: Device) -> None:
    ones = Tensor.ones(1, weakest).expand(3, 2**30)
    assert ones.sum().item() == 3 * 2**30 and ones.max().item() == 1
    rows = tensor(np.arange(2**17).reshape(-1, 1) % 100, weakest).expand(2**17, 2**15)
    np.testing.assert_array_equal(rows.sum_dim(1).numpy()[:, 0], (np.arange(2**17) % 100) * 2**15)


@pytest.mark.gpu
def test_a_tensor_above_the_default_binding_works_or_names_the_limit(weakest: Device) -> None:
    with pytest.raises(BurnError, match=r"160,000,000|160000000") as error:
        Tensor.zeros(40_000_000, weakest)
    assert "134,217,728" in str(error.value) or "134217728" in str(error.value)
    assert (Tensor.ones(30_000_000, weakest, "u8") + 1).cast("i32")[:5].tolist() == [2] * 5


@pytest.mark.gpu
def test_a_hundred_tensors_join_under_default_limits(weakest: Device) -> None:
    parts = [Tensor.full((2, 3), float(i), weakest) for i in range(100)]
    np.testing.assert_array_equal(
        Tensor.cat(parts).numpy(), np.repeat(np.arange(100, dtype=np.float32), 6).reshape(200, 3)
    )
    np.testing.assert_array_equal(Tensor.cat(parts, 1).numpy()[1, ::3], np.arange(100))
    total = parts[0]
    for part in parts[1:40]:
        total = total + part
    assert total.numpy()[0, 0] == sum(range(40))
    x = tensor(np.arange(24).reshape(4, 2, 3), weakest)
    out, mean, variance = F.batch_norm_train(x, tensor([1, 2], weakest), tensor([0, 1], weakest))
    want = np.arange(24.0).reshape(4, 2, 3)
    np.testing.assert_allclose(mean.numpy(), want.mean((0, 2)), rtol=1e-6)
    np.testing.assert_allclose(variance.numpy(), want.var((0, 2)), rtol=1e-6)
    assert out.shape == (4, 2, 3)


@pytest.mark.parametrize("causal", [False, True])
def test_a_query_that_sees_nothing_gives_zero(device: Device, causal: bool) -> None:
    rng = np.random.default_rng(3)
    q, k, v = (tensor(rng.standard_normal((1, 2, 5, 4)), device) for _ in range(3))
    mask = np.zeros((1, 2, 5, 5), bool)
    mask[:, :, 2] = True
    options = AttentionModuleOptions(is_causal=causal)
    found = F.attention(q, k, v, Tensor(mask, device=device), options=options).numpy()
    assert np.isfinite(found).all() and (found[:, :, 2] == 0).all() and (found[:, :, 3] != 0).all()
    open_ = F.attention(q, k, v, options=options).numpy()
    np.testing.assert_allclose(found[:, :, [0, 1, 3, 4]], open_[:, :, [0, 1, 3, 4]], rtol=1e-5, atol=1e-6)


POINTS = np.array(
    [0.0, -0.0, 1e-8, -1e-8, 10.0, -10.0, 20.0, -20.0, 44.0, -44.0, 89.0, -89.0, 1e4, -1e4, np.inf, -np.inf, np.nan]
)


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _softplus(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


# Where the limit is finite and the formula is ∞·0, either may come.
ACTIVATIONS: list[tuple[str, Callable[[Tensor], Tensor], Callable[[np.ndarray], np.ndarray]]] = [
    ("tanh", A.tanh, np.tanh),
    ("tanhshrink", A.tanhshrink, lambda x: x - np.tanh(x)),
    ("sigmoid", A.sigmoid, _sigmoid),
    ("log_sigmoid", A.log_sigmoid, lambda x: -_softplus(-x)),
    ("softplus", A.softplus, _softplus),
    ("silu", A.silu, lambda x: x * _sigmoid(x)),
    ("mish", A.mish, lambda x: x * np.tanh(_softplus(x))),
    ("elu", A.elu, lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0)))),
    ("celu", A.celu, lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0)))),
    (
        "selu",
        A.selu,
        lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(np.minimum(x, 0))),
    ),
    ("gelu_approximate", A.gelu_approximate,
     lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))),
    ("relu", A.relu, lambda x: np.maximum(x, 0)),
    ("relu6", A.relu6, lambda x: np.clip(x, 0, 6)),
    ("hardtanh", A.hardtanh, lambda x: np.clip(x, -1, 1)),
    ("hard_sigmoid", A.hard_sigmoid, lambda x: np.clip(0.2 * x + 0.5, 0, 1)),
    ("hard_swish", A.hard_swish, lambda x: x * np.clip(x / 6 + 0.5, 0, 1)),
    ("leaky_relu", A.leaky_relu, lambda x: np.where(x < 0, 0.01 * x, x)),
    ("softsign", A.softsign, lambda x: x / (1 + np.abs(x))),
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
@pytest.mark.parametrize(("name", "ours", "formula"), ACTIVATIONS, ids=[a[0] for a in ACTIVATIONS])
def test_activations_at_extreme_numbers(
    device: Device, name: str, ours: Callable[[Tensor], Tensor], formula: Callable[[np.ndarray], np.ndarray], dtype: str
) -> None:
    x = Tensor(POINTS.astype(np.float32), device=device).cast(dtype)
    found = ours(x).cast("f32").numpy().astype(np.float64)
    with np.errstate(all="ignore"):
        want = formula(x.cast("f32").numpy().astype(np.float64))
    relative, absolute = {"f32": (1e-5, 1e-6), "f16": (4e-3, 1e-3), "bf16": (3e-2, 8e-3)}[dtype]
    finite = np.isfinite(want)
    np.testing.assert_allclose(found[finite], want[finite], rtol=relative, atol=absolute)
    np.testing.assert_array_equal(found[np.isinf(want)], want[np.isinf(want)])
    assert np.isnan(found[-1])


def test_nan_and_infinity_survive_a_chain(device: Device) -> None:
    x = tensor([np.nan, np.inf, -np.inf, 1.0, 0.0], device)
    assert x.is_nan().tolist() == [True, False, False, False, False]
    assert (x != x).tolist() == [True, False, False, False, False]
    cleaned = (x * 2 + 1).mask_fill(x.is_nan(), 0.0)
    np.testing.assert_array_equal(cleaned.numpy(), [0, np.inf, -np.inf, 3, 1])
    np.testing.assert_array_equal(np.isnan(((x - x) * 0 + 1).numpy()), [True, True, True, False, False])
    np.testing.assert_array_equal(np.isnan((x * 0).numpy()), [True, True, True, False, False])


def test_a_plan_is_not_taken_for_another_one(device: Device) -> None:
    """The same operation again and again with one thing changed: shape, strides, offset, dtype, number, aliasing."""
    a = np.arange(24, dtype=np.float32).reshape(4, 6)
    x = Tensor(a, device=device)
    for _ in range(2):
        np.testing.assert_array_equal((x + 1).numpy(), a + 1)
        np.testing.assert_array_equal((x + 2).numpy(), a + 2)
        np.testing.assert_array_equal((x[1:] + 1).numpy(), a[1:] + 1)
        np.testing.assert_array_equal((x[:-1] + 1).numpy(), a[:-1] + 1)
        np.testing.assert_array_equal((x.transpose() + 1).numpy(), a.T + 1)
        np.testing.assert_array_equal((x.reshape(6, 4) + 1).numpy(), a.reshape(6, 4) + 1)
        np.testing.assert_array_equal((x + x).numpy(), 2 * a)
        np.testing.assert_array_equal((x + x.flip(0)).numpy(), a + a[::-1])
        np.testing.assert_array_equal((x.cast("f16") + 1).numpy(), (a + 1).astype(np.float16))
        np.testing.assert_array_equal((x.int() + 1).numpy(), a + 1)
        np.testing.assert_array_equal(x.sum_dim(0).numpy(), a.sum(0, keepdims=True))
        np.testing.assert_array_equal(x.sum_dim(1).numpy(), a.sum(1, keepdims=True))
        np.testing.assert_array_equal(x[:, :3].sum_dim(1).numpy(), a[:, :3].sum(1, keepdims=True))
        np.testing.assert_array_equal((x @ x.transpose()).numpy(), a @ a.T)
        np.testing.assert_array_equal((x.transpose() @ x).numpy(), a.T @ a)


@pytest.mark.gpu
def test_an_operation_that_fails_leaves_no_memory_behind() -> None:
    device = Device("wgpu")
    x = Tensor.ones((64, 64), device)
    outside = Tensor([70], device=device)

    def fail() -> None:
        with pytest.raises(IndexOutOfRange):
            x.select(0, outside).numpy()
        with pytest.raises(ShapeError):
            x + Tensor.ones((3, 5), device)

    def used() -> tuple[int, int]:
        gc.collect()  # a caught exception keeps the frames that it went through
        usage = device.memory_pool_usage()
        assert usage is not None
        return usage.number_allocs, usage.in_use_bytes

    for _ in range(3):
        fail()
    device.sync()
    before = used()
    for _ in range(20):
        fail()
    device.sync()
    assert used() == before


def test_the_gradient_of_an_uneven_convolution_has_a_zero_tail(device: Device) -> None:
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((1, 1, 1603)), rng.standard_normal((1, 1, 4))
    options = ConvOptions((4,), (0,))
    out = F.conv1d(tensor(x, device), tensor(w, device), None, options)
    assert out.shape == (1, 1, 400)
    b = device.backend
    grad = b.conv1d_x_backward(
        tensor(x, device).primitive, tensor(w, device).primitive, Tensor.ones((1, 1, 400), device).primitive, options
    )
    found = b.float_into_data(grad).numpy()
    np.testing.assert_allclose(found[0, 0, :1600], np.tile(w[0, 0], 400), rtol=1e-6)
    assert found.shape == (1, 1, 1603) and (found[0, 0, 1600:] == 0).all()


def test_padding_that_keeps_the_size_is_an_explicit_pad(device: Device) -> None:
    """ceil(L / s) outputs; of an odd amount of padding the larger part is at the end."""
    for length in range(1, 10):
        x = np.arange(1.0, length + 1)
        for kernel in range(1, 5):
            for stride in range(1, 4):
                out = -(-length // stride)
                total = max((out - 1) * stride + kernel - length, 0)
                begin, end = total // 2, total - total // 2
                w = np.arange(1.0, kernel + 1)
                padded = np.pad(x, (begin, end))
                want = [padded[i * stride : i * stride + kernel] @ w for i in range(out)]
                options = ConvOptions((stride,), ((begin, end),))
                found = F.conv1d(tensor(x[None, None], device), tensor(w[None, None], device), None, options)
                np.testing.assert_allclose(found.numpy()[0, 0], want, rtol=1e-6)
    found = F.conv1d(
        tensor([[[1, 2, 3, 4]]], device), tensor([[[1, 1, 1]]], device), None, ConvOptions((2,), ((0, 1),))
    )
    assert found.tolist() == [[[6.0, 7.0]]]


def test_reflection_needs_a_larger_axis(device: Device) -> None:
    x = tensor([1, 2, 3], device)
    assert x.pad([(2, 1)], "reflect").tolist() == [3, 2, 1, 2, 3, 2]
    with pytest.raises(ShapeError):
        x.pad([(3, 0)], "reflect")


@pytest.mark.parametrize("channels", [1, 3, 5])
def test_a_transposed_convolution_is_the_adjoint(device: Device, channels: int) -> None:
    """⟨conv(x), y⟩ = ⟨x, convᵀ(y)⟩, with an output padding that restores the size."""
    rng = np.random.default_rng(channels)
    x, w = rng.standard_normal((2, channels, 8)), rng.standard_normal((3, channels, 3))
    y = F.conv1d(tensor(x, device), tensor(w, device), None, ConvOptions((2,), (1,)))
    g = rng.standard_normal(y.shape)
    back = F.conv_transpose1d(tensor(g, device), tensor(w, device), None, ConvTransposeOptions((2,), (1,), (1,)))
    assert back.shape == x.shape
    assert np.vdot(y.numpy(), g) == pytest.approx(np.vdot(x, back.numpy()), rel=1e-4)


def test_four_numbers_become_seven(device: Device) -> None:
    x = tensor([[[[0, 1, 2, 3]]]], device)
    corners = InterpolateOptions(InterpolateMode.BILINEAR, output_size=(1, 7))
    assert F.interpolate(x, corners).numpy()[0, 0, 0] == pytest.approx([0, 0.5, 1, 1.5, 2, 2.5, 3], abs=1e-6)
    centres = corners.with_align_corners(False)
    want = [0, 0.357143, 0.928571, 1.5, 2.071429, 2.642857, 3]
    assert F.interpolate(x, centres).numpy()[0, 0, 0] == pytest.approx(want, abs=1e-5)
    nearest = InterpolateOptions(InterpolateMode.NEAREST, output_size=(1, 7))
    assert F.interpolate(x, nearest).numpy()[0, 0, 0].tolist() == [0, 0, 1, 1, 2, 2, 3]


def test_a_bad_index_is_an_index_error_everywhere(device: Device) -> None:
    x = tensor(np.arange(6).reshape(2, 3), device)
    bad: list[Callable[[], Any]] = [
        lambda: x.gather(1, Tensor([[-1], [0]], device=device)).numpy(),
        lambda: x.take(0, Tensor([2], device=device)).numpy(),
        lambda: x.select(1, Tensor([0, 3], device=device)).numpy(),
        lambda: F.embedding(x, Tensor([[2]], device=device)).numpy(),
        lambda: x[5],
    ]
    for call in bad:
        with pytest.raises(IndexError):
            call()
    assert x.select(1, Tensor(np.array([2, 0], np.uint8), device=device)).tolist() == [[2, 0], [5, 3]]
    assert x[-1].tolist() == [3, 4, 5]


def test_ranks_above_the_highest_are_refused(device: Device) -> None:
    x = Tensor(np.arange(4, dtype=np.float32).reshape((1,) * 14 + (2, 2)), device=device)
    assert x.rank == 16 and (x + x.swap_dims(14, 15)).flatten().tolist() == [0, 3, 3, 6]
    with pytest.raises(ShapeError, match="rank 17; ranks go up to 16"):
        Tensor(np.zeros((1,) * 17, np.float32), device=device)
    with pytest.raises(ShapeError, match="ranks go up to 16"):
        x.unsqueeze_dim(0)
