"""What plans of convolutions are: kernels chosen, launches, limits; no device."""

from __future__ import annotations

import pytest

from burn_wgpu.contract.options import ConvOptions, ConvTransposeOptions
from burn_wgpu.kernel.conv import (
    conv_correlation,
    conv_transpose_correlation,
    conv_weight_correlation,
    conv_x_correlation,
    correlation_plan,
    variants,
)
from burn_wgpu.kernel.conv_choice import choose
from burn_wgpu.kernel.conv_parts import MOST_STEPS
from burn_wgpu.kernel.conv_strip import strip_parts
from burn_wgpu.kernel.conv_text import Axis
from burn_wgpu.kernel.conv_window import WINDOWS, window_bytes, window_tile
from burn_wgpu.kernel.conv_window_text import meeting
from burn_wgpu.kernel.matmul import TILES
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
    out, what = conv((1, 60_000, 1 << 15), (4, 60_000, 1))  # a strip loops over the channels
    assert strip_parts(what) == [] and choose(what, DEFAULT)[0] != "strip"


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
        partial = 4 * -(-16 * 9216 // MOST_STEPS) * 16 * 64
        assert plan.scratch == ((partial, 4 * 16 * 9216) if software else (4 * 16 * 9216,))


def test_big_products_are_windows_small_ones_tiles() -> None:
    def chosen(x: tuple[int, ...], w: tuple[int, ...], stride: int = 1, padding: int = 0, groups: int = 1):
        return choose(conv(x, w, stride, padding, groups)[1], LARGE)

    assert chosen((32, 3, 224, 224), (64, 3, 7, 7), 2, 3) == ("window_64x128", 1)
    assert chosen((32, 512, 7, 7), (512, 512, 3, 3), 1, 1) == ("window_64x128", 2)
    assert chosen((1, 64, 56, 56), (64, 64, 3, 3), 1, 1)[0] == "tile_64x64"
    assert chosen((32, 128, 56, 56), (128, 4, 3, 3), 1, 1, 32) == ("strip", 1)
    assert chosen((32, 64, 56, 56), (256, 64, 1, 1)) == ("tile_128x64", 1)
    assert chosen((32, 1024, 14, 14), (256, 1024, 1, 1)) == ("tile_64x128_deep", 1)
    assert chosen((2, 64, 64), (96, 64, 40))[0].startswith("tile")  # more taps than a slice writes out


def test_weight_gradients_read_along_memory() -> None:
    for shape, weight, groups, wanted in (
        ((32, 64, 56, 56), (64, 64, 3, 3), 1, ("lines_64x64", 56)),
        ((32, 128, 56, 56), (128, 4, 3, 3), 32, ("lines_8x64", 64)),
    ):
        x = Layout.dense(shape)
        options = ConvOptions((1, 1), (1, 1), groups=groups)
        out, what = conv_weight_correlation(x, weight, x, options)
        assert choose(what, LARGE) == wanted and choose(what, Capability(software=True))[0] != wanted[0]
        plan = correlation_plan("conv2d_weight_backward", out, what, dt.F32, DEFAULT)
        assert [launch.key.file for launch in plan.launches] == [
            "conv/window",
            "matmul/finish",
        ]  # no copy of the gradient


def test_windows_turn_the_weights_once_and_join_phases_that_are_alike() -> None:
    x = Layout.dense((2, 16, 8, 8))
    for taps, products in ((4, 1), (3, 4)):  # stride 2: phases of 3 taps see one or two of them
        w = Layout.dense((16, 64, taps, taps))
        out, what = conv_transpose_correlation(x, w, ConvTransposeOptions((2, 2), (1, 1)), "conv_transpose2d")
        plan = correlation_plan("conv_transpose2d", out, what, dt.F32, DEFAULT, kernel="window_64x128")
        files = [launch.key.file for launch in plan.launches]
        assert files == ["elementwise/map", *["matmul/tile"] * products]
    turned = Layout.dense((16, 3, 3, 64)).permute((3, 0, 1, 2))  # its rows are neighbours already
    out, what = conv_correlation(x, turned, ConvOptions((1, 1), (1, 1)), "conv2d")
    plan = correlation_plan("conv2d", out, what, dt.F32, DEFAULT, kernel="window_64x128")
    assert [launch.key.file for launch in plan.launches] == ["matmul/tile"]


def test_the_depth_of_windows_suits_the_taps_and_the_limits() -> None:
    for taps, depth in (((3, 3), 9), ((1, 1), 10), ((2, 2), 8), ((7, 7), 7), ((5, 5), 10)):
        what = conv((2, 40, 16, 16), (64, 40, *taps), stride=2)[1]
        assert window_tile(what, WINDOWS["window_64x128"], DEFAULT).depth == depth
    for name, window in WINDOWS.items():
        device = LARGE if name == "window_64x64" else DEFAULT  # two threads a column: at least two channels a slice
        for channels in (1, 2, 3, 64):
            tile = window_tile(conv((2, channels, 16, 16), (64, channels, 3, 3))[1], window, device)
            assert window_bytes(tile, window) <= device.max_workgroup_bytes, name
            assert tile.columns * tile.depth % tile.threads == 0
    out, what = conv((2, 64, 16, 16), (64, 64, 3, 3))
    for device in (LARGE, DEFAULT):
        plan = correlation_plan("conv2d", out, what, dt.F32, device, kernel="window_64x64")
        check(plan, device)
        assert ("tap_at" in plan.launches[-1].key.prelude) is (device is DEFAULT)  # then a tile computes it


def test_strips_are_one_launch_where_the_stride_divides_their_blocks() -> None:
    for stride, launches in ((1, 1), (2, 1), (4, 1), (3, 9)):
        options = ConvOptions((stride,) * 2, (2, 2), groups=4)
        x, w = Layout.dense((2, 4, 24, 24)), Layout.dense((4, 1, 5, 5))
        grad = Layout.dense(conv_correlation(x, w, options, "conv2d")[0])
        made = conv_x_correlation(x.shape, w, grad, options)
        plan = correlation_plan("conv2d_x_backward", *made, dt.F32, DEFAULT, kernel="strip")
        assert [launch.key.file for launch in plan.launches] == ["conv/strip"] * launches
        halves = correlation_plan("conv2d_x_backward", *made, dt.F16, DEFAULT, kernel="strip")
        files = [launch.key.file for launch in halves.launches]  # phases would share words of the result
        assert files == ["conv/strip"] * launches + ["matmul/finish"] * (launches > 1)


def test_a_block_of_a_strip_meets_each_tap_of_its_outputs_once() -> None:
    """`meeting` is what Axis says: output o and tap t meet at (o·step + t·tap_step + first) / divide."""
    axis = Axis(9, 18, 4, 1, -1, 1, 2, 1, 1, 1)
    met = {(o, t): meeting(axis, o, t) for o in range(4) for t in range(4)}
    assert {pair: place for pair, place in met.items() if place is not None} == {
        (0, 1): 0, (0, 3): -1, (1, 0): 1, (1, 2): 0, (2, 1): 1, (2, 3): 0, (3, 0): 2, (3, 2): 1,
    }  # fmt: skip
