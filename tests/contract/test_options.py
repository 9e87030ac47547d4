"""Option records: defaults, checks by whole message, size formulas against a count by hand."""

import pickle

import pytest

from burn_wgpu.contract.options import (
    AttentionModuleOptions,
    AvgPoolOptions,
    CausalAlignment,
    ConvOptions,
    ConvTransposeOptions,
    CoordinateTransformMode,
    CubicOptions,
    DeformConvOptions,
    GridSampleOptions,
    GridSamplePaddingMode,
    InterpolateMode,
    InterpolateOptions,
    MaxPoolOptions,
    NearestRoundingMode,
    PadMode,
    UnfoldOptions,
    adaptive_window,
    conv_output_size,
    conv_transpose_input_size,
    conv_transpose_output_size,
    gradient_padding_out,
    interpolate_output_size,
    pool_output_size,
    same_padding,
    unfold_windows,
)
from burn_wgpu.std.errors import ArgumentError, BurnError, ShapeError

BILINEAR = InterpolateMode.BILINEAR


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ConvOptions((1, 0), (0, 0)), "conv options: stride is [1, 0]; it must be at least 1"),
        (lambda: ConvOptions((1,), (0,), (0,)), "conv options: dilation is [0]; it must be at least 1"),
        (lambda: ConvOptions((1,), (0,), groups=0), "conv options: groups is 0; it must be at least 1"),
        (lambda: ConvOptions((1,), (-1,)), "conv options: padding is [(-1, -1)]; it must not be negative"),
        (
            lambda: ConvOptions((1, 1), (0,)),
            "conv options: stride [1, 1] and padding [(0, 0)] differ in length; each needs one entry per spatial axis",
        ),
        (
            lambda: ConvOptions((1,), ((0, 1),)).symmetric_padding,
            "conv options: padding [(0, 1)] differs between begin and end; this use needs equal padding on both sides",
        ),
        (
            lambda: ConvTransposeOptions((1,), (0,), padding_out=(-1,)),
            "conv_transpose options: padding_out is [-1]; it must not be negative",
        ),
        (
            lambda: ConvTransposeOptions((1, 2), (0, 0), (0,)),
            "conv_transpose options: stride [1, 2] and padding_out [0] differ in length; each needs one entry per "
            "spatial axis",
        ),
        (
            lambda: DeformConvOptions(offset_groups=0),
            "deform_conv2d options: offset_groups is 0; it must be at least 1",
        ),
        (lambda: UnfoldOptions(dilation=(1, 0)), "unfold options: dilation is [1, 0]; it must be at least 1"),
        (lambda: MaxPoolOptions((0, 2)), "max_pool options: kernel_size is [0, 2]; it must be at least 1"),
        (lambda: AvgPoolOptions((2,), stride=(0,)), "avg_pool options: stride is [0]; it must be at least 1"),
        (
            lambda: InterpolateOptions(BILINEAR, output_size=(2, 2), scale_factor=(2.0, 2.0)),
            "interpolate options: output_size [2, 2] and scale_factor [2.0, 2.0] are both given; give one of them",
        ),
        (
            lambda: InterpolateOptions(BILINEAR, scale_factor=(0.0, 1.0)),
            "interpolate options: scale_factor is [0.0, 1.0]; it must be above 0",
        ),
        (
            lambda: InterpolateOptions(BILINEAR, output_size=(0, 1)),
            "interpolate options: output_size is [0, 1]; it must be above 0",
        ),
        (
            lambda: CoordinateTransformMode.tf_crop_and_resize([[0, float("nan")], [0, 1]]),
            "interpolate: the roi [[0.0, nan], [0.0, 1.0]] contains NaN; its four ends must be numbers",
        ),
        (
            lambda: AttentionModuleOptions(softcap=0.0),
            "attention options: softcap is 0.0; it must be above 0, or None to omit it",
        ),
        (
            lambda: PadMode.of("mirror"),
            "pad: mode 'mirror' is unknown; use 'constant', 'reflect', 'edge' or a number",
        ),
        (
            lambda: interpolate_output_size((4, 4), InterpolateOptions(BILINEAR)),
            "interpolate: the options give neither output_size nor scale_factor; one of them is needed",
        ),
    ],
)
def test_wrong_options_are_refused_with_a_sentence(make, message):
    with pytest.raises(ArgumentError) as caught:
        make()
    assert str(caught.value) == message
    assert isinstance(caught.value, BurnError) and isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: conv_output_size(3, 3, 1, (0, 1), 2),
            "conv: a kernel of size 3 with dilation 2 spans 5 elements, but the axis has 3 with padding 0 and 1; "
            "the kernel must fit into the padded axis",
        ),
        (
            lambda: pool_output_size(2, 5, 3, (0, 0), 1, True, "max_pool2d"),
            "max_pool2d: a window of size 5 with dilation 1 spans 5 elements, but the axis has 2 with padding 0 and 0; "
            "the window must fit into the padded axis",
        ),
        (
            lambda: conv_transpose_output_size(1, 2, 1, 2, 0, 1),
            "conv_transpose: an axis of size 1 with kernel 2, stride 1 and padding 2 would have size -2; padding must "
            "not cut off more than there is",
        ),
        (
            lambda: interpolate_output_size((4, 1), InterpolateOptions(BILINEAR, scale_factor=(1.0, 0.5))),
            "interpolate: size [4, 1] times scale_factor [1.0, 0.5] is [4, 0]; every axis needs at least one element",
        ),
    ],
)
def test_sizes_that_do_not_work_out_are_refused_with_a_sentence(make, message):
    with pytest.raises(ShapeError) as caught:
        make()
    assert str(caught.value) == message


def test_bare_padding_means_both_sides():
    options = ConvOptions((2, 1), (1, (0, 2)))
    assert options.padding == ((1, 1), (0, 2))
    assert (options.padding_begin, options.padding_end) == ((1, 0), (1, 2))
    assert options.is_asymmetric and not ConvOptions((1,), (3,)).is_asymmetric
    assert ConvOptions((1,), (3,)).symmetric_padding == (3,)
    assert options.without_padding() == ConvOptions((2, 1), (0, 0))


def test_pool_options_default_to_the_kernel_as_stride():
    options = AvgPoolOptions((3, 2))
    assert (options.stride, options.padding, options.dilation) == ((3, 2), ((0, 0), (0, 0)), (1, 1))
    assert options.count_include_pad and not options.ceil_mode
    assert MaxPoolOptions((2,), padding=((0, 1),)).is_asymmetric


def test_interpolate_defaults_follow_the_mode():
    nearest = InterpolateOptions(InterpolateMode.NEAREST)
    assert (nearest.coordinate_transform.kind, nearest.nearest_mode) == ("asymmetric", NearestRoundingMode.FLOOR)
    exact = InterpolateOptions(InterpolateMode.NEAREST_EXACT)
    assert exact.coordinate_transform.kind == "half_pixel"
    assert exact.nearest_mode is NearestRoundingMode.ROUND_PREFER_CEIL
    linear = InterpolateOptions(BILINEAR)
    assert linear.align_corners and not linear.with_align_corners(False).align_corners
    assert linear.with_align_corners(False).coordinate_transform == CoordinateTransformMode.half_pixel()
    assert nearest.with_align_corners(True) == nearest
    assert linear.cubic_options == CubicOptions(-0.75, False)


def test_output_size_and_scale_factor_clear_each_other():
    options = InterpolateOptions(BILINEAR).with_scale_factor((2, 2)).with_output_size((3, 4))
    assert (options.output_size, options.scale_factor) == ((3, 4), None)
    options = options.with_scale_factor((0.5, 1.5))
    assert (options.output_size, options.scale_factor) == (None, (0.5, 1.5))
    assert interpolate_output_size((5, 5), options) == (2, 7)


def test_small_records_take_bare_values():
    assert PadMode.of(2) == PadMode.constant(2) and PadMode.of("edge") == PadMode.edge()
    assert GridSampleOptions.of(InterpolateMode.NEAREST) == GridSampleOptions(InterpolateMode.NEAREST)
    assert GridSampleOptions() == GridSampleOptions(BILINEAR, GridSamplePaddingMode.ZEROS, False)
    assert CausalAlignment.BOTTOM_RIGHT.offset(3, 5) == 2 and CausalAlignment.TOP_LEFT.offset(3, 5) == 0


@pytest.mark.parametrize(
    "options",
    [
        ConvOptions((1, 2), ((0, 1), 2)),
        ConvTransposeOptions((1,), (0,)),
        DeformConvOptions(),
        MaxPoolOptions((2, 2)),
        AvgPoolOptions((2,)),
        InterpolateOptions(InterpolateMode.BICUBIC),
        AttentionModuleOptions(is_causal=True),
    ],
)
def test_records_hash_pickle_and_are_frozen(options):
    again = pickle.loads(pickle.dumps(options))
    assert again == options and hash(again) == hash(options)
    with pytest.raises(AttributeError):
        setattr(options, type(options).__slots__[0], 1)


def _starts(size, span, stride, begin, end):
    """Every start of a window that lies wholly inside the padded axis, counted from the first padding element."""
    return [o for o in range(0, size + begin + end, stride) if o + span <= size + begin + end]


@pytest.mark.parametrize("size", range(1, 9))
@pytest.mark.parametrize("kernel", [1, 2, 3, 4])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_output_sizes_count_the_windows(size, kernel, stride):
    for dilation in (1, 2):
        span = dilation * (kernel - 1) + 1
        for begin, end in ((0, 0), (1, 1), (0, 1)):
            starts = _starts(size, span, stride, begin, end)
            if not starts:
                with pytest.raises(ShapeError):
                    conv_output_size(size, kernel, stride, (begin, end), dilation)
                continue
            out = conv_output_size(size, kernel, stride, (begin, end), dilation)
            assert out == len(starts)
            assert pool_output_size(size, kernel, stride, (begin, end), dilation, False) == len(starts)
            # Rounded up: one more window where elements are left over; the last must start before the end padding.
            if starts[-1] + span < size + begin + end:
                starts.append(starts[-1] + stride)
            if starts[-1] >= size + begin:
                starts.pop()
            assert pool_output_size(size, kernel, stride, (begin, end), dilation, True) == len(starts)
            if begin == end:
                extra = gradient_padding_out(size, out, kernel, stride, begin, dilation)
                back = conv_transpose_output_size(out, kernel, stride, begin, extra, dilation)
                assert back == size
                assert conv_transpose_input_size(back, kernel, stride, begin, extra, dilation) == out


def test_ceil_mode_admits_a_window_that_lacks_less_than_a_stride():
    assert pool_output_size(2, 3, 2, (0, 0), 1, True) == 1
    with pytest.raises(ShapeError):
        pool_output_size(2, 4, 2, (0, 0), 1, True)


def test_same_padding_keeps_the_size():
    for size in range(1, 10):
        for kernel in (1, 3, 5):
            padding = same_padding(size, size, kernel, 1)
            assert conv_output_size(size, kernel, 1, (padding, padding), 1) == size


def test_adaptive_windows_cover_the_axis():
    for size in range(1, 12):
        for out in range(1, 9):
            windows = [adaptive_window(i, size, out) for i in range(out)]
            assert windows[0][0] == 0 and windows[-1][1] == size
            assert all(a < b for a, b in windows)
            assert all(right[0] <= left[1] for left, right in zip(windows, windows[1:], strict=False))


def test_unfold_windows_counts_starts():
    assert [unfold_windows(n, 3, 2) for n in range(8)] == [0, 0, 0, 1, 1, 2, 2, 3]
