"""What plans of convolutions are: kernels chosen, launches, limits; no device."""

from __future__ import annotations

import pytest

from burn_wgpu.contract.options import ConvOptions, ConvTransposeOptions
from burn_wgpu.kernel.conv import (
    TILE_STEPS,
    TILES,
    choose,
    conv_correlation,
    conv_transpose_correlation,
    conv_weight_correlation,
    conv_x_correlation,
    correlation_plan,
    variants,
)
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import check
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.errors import ArgumentError
from burn_wgpu.std.layout import Layout

DEFAULT = Capability()
LARGE = Capability(max_workgroup_bytes=48 << 10)


def conv(x: tuple[int, ...], w: tuple[int, ...], stride: int = 1, padding: int = 0, groups: int = 1):
    rank = len(x) - 2
    options = ConvOptions((stride,) * rank, (padding,) * rank, groups=groups)
    return conv_correlation(Layout.dense(x), Layout.dense(w), options, "conv")


def test_the_kernel_follows_the_shape() -> None:
    assert choose(conv((32, 64, 56, 56), (64, 64, 3, 3), padding=1)[1], LARGE) == ("window_64x128", 1)
    assert choose(conv((32, 64, 56, 56), (64, 64, 3, 3), padding=1)[1], DEFAULT) == ("window_64x128", 1)
    assert choose(conv((1, 64, 14, 14), (64, 64, 3, 3), padding=1)[1], LARGE) == ("tile_32x32", 4)
    assert choose(conv((8, 32, 56, 56), (32, 1, 3, 3), padding=1, groups=32)[1], LARGE) == ("strip", 1)
    x, w = Layout.dense((8, 32, 56, 56)), (32, 1, 3, 3)
    options = ConvOptions((1, 1), (1, 1), groups=32)
    assert choose(conv_weight_correlation(x, w, x, options)[1], LARGE) == ("dots", 3)


def test_a_pointwise_convolution_is_one_product_over_merged_axes() -> None:
    out, what = conv((2, 64, 16, 16), (128, 64, 1, 1))
    assert [axis.out for axis in what.axes] == [1, 1, 256]
    plan = correlation_plan("conv", out, what, dt.F32, DEFAULT)
    assert [launch.key.file for launch in plan.launches] == ["matmul/tile"]
    assert "tap_at" not in plan.launches[0].key.prelude and "load4_b" in plan.launches[0].key.prelude


def test_padding_is_tested_only_where_a_window_can_look_outside() -> None:
    for padding, tested in ((0, False), (1, True)):
        out, what = conv((2, 16, 12, 12), (32, 16, 3, 3), padding=padding)
        prelude = correlation_plan("conv", out, what, dt.F32, DEFAULT, kernel="tile_32x32").launches[0].key.prelude
        assert ("params.size1" in prelude) is tested


def test_a_transposed_convolution_is_one_product_a_phase() -> None:
    x, w = Layout.dense((2, 16, 8, 8)), Layout.dense((16, 16, 4, 4))
    out, what = conv_transpose_correlation(x, w, ConvTransposeOptions((2, 2), (1, 1)), "conv_transpose2d")
    assert out == (2, 16, 16, 16)
    plan = correlation_plan("conv_transpose2d", out, what, dt.F32, DEFAULT, kernel="tile_32x32")
    assert [launch.key.file for launch in plan.launches].count("matmul/tile") == 4
    halves = correlation_plan("conv_transpose2d", out, what, dt.F16, DEFAULT, kernel="tile_32x32")
    assert halves.launches[-1].key.file == "matmul/finish"  # phases would share words of the result


def test_outputs_that_no_tap_reaches_are_filled() -> None:
    options = ConvOptions((2, 2), (0, 0))
    x, w = (2, 32, 8, 8), Layout.dense((32, 32, 1, 1))
    out, what = conv_x_correlation(x, w, Layout.dense((2, 32, 4, 4)), options)
    plan = correlation_plan("conv2d_x_backward", out, what, dt.F32, DEFAULT, kernel="tile_32x32")
    assert [launch.key.file for launch in plan.launches] == ["reduce/fill", "matmul/tile"]


def test_one_shape_is_one_plan_and_shapes_share_kernels() -> None:
    keys = set()
    for size in (12, 16, 24):
        out, what = conv((2, 16, size, size), (32, 16, 3, 3), padding=1)
        plan = correlation_plan("conv", out, what, dt.F32, DEFAULT, kernel="tile_32x32", splits=1)
        assert plan == correlation_plan("conv", out, what, dt.F32, DEFAULT, kernel="tile_32x32", splits=1)
        keys.add(plan.launches[0].key.file)
    assert keys == {"matmul/tile"}


def test_sums_stay_below_what_an_invocation_may_loop() -> None:
    out, what = conv((1, 60_000, 30), (8, 60_000, 3))
    assert choose(what, Capability(software=True))[0].startswith("tile")
    out, what = conv((1, 60_000, 3), (4, 60_000, 3))
    assert choose(what, DEFAULT)[0] == "dots"


def test_an_empty_result_needs_no_launch() -> None:
    out, what = conv((0, 3, 8, 8), (4, 3, 3, 3))
    assert correlation_plan("conv", out, what, dt.F32, DEFAULT).launches == ()


def test_an_unknown_kernel_is_refused() -> None:
    out, what = conv((1, 3, 8, 8), (4, 3, 3, 3))
    with pytest.raises(ArgumentError, match="conv: there is no kernel 'winograd'; there are tile_64x128,"):
        correlation_plan("conv", out, what, dt.F32, DEFAULT, kernel="winograd")


@pytest.mark.parametrize("device", [DEFAULT, LARGE], ids=["default", "large"])
def test_every_variant_fits_its_limits(device: Capability) -> None:
    for plan in variants(device):
        check(plan, device)
        assert all(len(launch.params) <= 256 for launch in plan.launches)
    assert any(TILES[name].workgroup_bytes > DEFAULT.max_workgroup_bytes for name in TILES)


def test_only_what_has_places_outside_x_sums_again() -> None:
    x, w, device = Layout.dense((2, 16, 9, 9)), Layout.dense((32, 16, 3, 3)), Capability()
    for stride, padding, again in ((1, 1, True), (2, 0, True), (2, 1, False), (3, 0, False)):
        options = ConvOptions((stride,) * 2, (padding,) * 2)
        out, what = conv_correlation(x, w, options, "conv2d")
        made = {"conv2d": (out, what), "conv2d_x_backward": conv_x_correlation(x.shape, w, Layout.dense(out), options)}
        for name, correlation in made.items():
            plan = correlation_plan(name, *correlation, dt.F32, device, kernel="tile_64x64")
            found = any("fn exact(" in launch.key.prelude for launch in plan.launches)
            assert found == (again and name == "conv2d_x_backward"), (name, stride)


def test_a_software_adapter_splits_what_one_thread_might_sum_again() -> None:
    """A thread of tile_32x32 has sixteen results, and Mesa 22 stops loops after 65,535 steps in all."""
    w, grad = Layout.dense((1024, 16, 3, 3)), Layout.dense((1, 1024, 8, 8))
    correlation = conv_x_correlation((1, 16, 8, 8), w, grad, ConvOptions((1, 1), (1, 1)))
    for software in (False, True):
        device = Capability(software=software)
        plan = correlation_plan("conv2d_x_backward", *correlation, dt.F32, device, kernel="tile_32x32", splits=1)
        partial = 4 * -(-16 * 9216 // TILE_STEPS) * 16 * 64
        assert plan.scratch == ((partial, 4 * 16 * 9216) if software else (4 * 16 * 9216,))
