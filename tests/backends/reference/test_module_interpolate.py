"""Interpolation and grid sampling: known vectors, formulas written out, PyTorch, adjoints."""

import itertools
from math import floor, pi, sin

import numpy as np
import pytest

from burn_wgpu.contract.options import (
    CoordinateTransformMode,
    CubicOptions,
    GridSampleOptions,
    GridSamplePaddingMode,
    InterpolateMode,
    InterpolateOptions,
    NearestRoundingMode,
)
from burn_wgpu.std.dtype import BF16, F16, F64
from tests.backends.reference.tools import BOTH, INF, NAN, B, floats, near, read, same

both = pytest.mark.parametrize("b", [b for _, b in BOTH], ids=[name for name, _ in BOTH])
RNG = np.random.default_rng(3)
NEAREST, EXACT = InterpolateMode.NEAREST, InterpolateMode.NEAREST_EXACT
BILINEAR, BICUBIC, LANCZOS3 = InterpolateMode.BILINEAR, InterpolateMode.BICUBIC, InterpolateMode.LANCZOS3
MODES = list(InterpolateMode)


def line(b, values, out, options):
    return read(b.interpolate(floats(np.reshape(values, (1, 1, 1, -1)), F64), (1, out), options))[0, 0, 0]


@both
def test_four_elements_become_seven(b):
    options = InterpolateOptions(BILINEAR)
    aligned = line(b, [0.0, 1, 2, 3], 7, options)
    np.testing.assert_allclose(aligned, [0, 0.5, 1, 1.5, 2, 2.5, 3], atol=1e-12)
    half = line(b, [0.0, 1, 2, 3], 7, options.with_align_corners(False))
    np.testing.assert_allclose(half, [0, 0.3571, 0.9286, 1.5, 2.0714, 2.6429, 3], atol=5e-5)


TORCH = [(NEAREST, None), (EXACT, None), (BILINEAR, True), (BILINEAR, False), (BICUBIC, True), (BICUBIC, False)]


@both
@pytest.mark.parametrize(("mode", "align"), TORCH)
@pytest.mark.parametrize("out", [(1, 1), (4, 9), (7, 3), (10, 12), (5, 6)])
def test_interpolation_and_its_gradient_agree_with_torch(b, mode, align, out):
    torch = pytest.importorskip("torch")
    x = RNG.normal(size=(2, 3, 5, 6))
    leaf = torch.tensor(x, requires_grad=True)
    extra = {} if align is None else {"align_corners": align}
    expected = torch.nn.functional.interpolate(leaf, out, mode=mode.value.replace("_", "-"), **extra)
    grad = RNG.normal(size=expected.shape)
    expected.backward(torch.tensor(grad))
    options = InterpolateOptions(mode) if align is None else InterpolateOptions(mode).with_align_corners(align)
    near(b.interpolate(floats(x, F64), out, options), expected.detach().numpy(), 1e-9, 1e-10)
    near(b.interpolate_backward(floats(x, F64), floats(grad, F64), out, options), leaf.grad.numpy(), 1e-9, 1e-10)


TRANSFORMS = [
    CoordinateTransformMode.half_pixel(),
    CoordinateTransformMode.align_corners(),
    CoordinateTransformMode.asymmetric(),
    CoordinateTransformMode.pytorch_half_pixel(),
    CoordinateTransformMode.half_pixel_symmetric(),
    CoordinateTransformMode.tf_crop_and_resize([[0.0, 1.0], [-0.2, 1.3]], 9.0),
    CoordinateTransformMode.tf_crop_and_resize([[0.5, 0.5], [0.8, 0.1]], 9.0),
]


def place(i, size, out, scale, transform, axis):
    """The formulas as they are written in the operator's definition, one index at a time."""
    ratio = out / size if scale is None else scale
    if transform.kind == "half_pixel" or (transform.kind == "pytorch_half_pixel" and out > 1):
        return (i + 0.5) / ratio - 0.5
    if transform.kind == "pytorch_half_pixel":
        return 0.0
    if transform.kind == "align_corners":
        return 0.0 if out == 1 else i * (size - 1) / (out - 1)
    if transform.kind == "asymmetric":
        return i / ratio
    if transform.kind == "half_pixel_symmetric":
        centre = 0.0 if scale is None else (size * scale - out) / 2
        return (i + 0.5 + centre) / ratio - 0.5
    start, end = transform.roi[axis]
    if out == 1:
        return (start + end) / 2 * (size - 1)
    return start * (size - 1) + i * (end - start) * (size - 1) / (out - 1)


def weights(x, size, options):
    """{index: weight} of one output along one axis."""
    low = floor(x)
    found = {}

    def add(index, weight):
        index = min(max(index, 0), size - 1)
        found[index] = found.get(index, 0.0) + weight

    if options.mode is BILINEAR:
        low = min(max(low, 0), size - 1)
        part = max(x - low, 0.0)
        add(low, 1 - part)
        add(min(low + 1, size - 1), part)
    elif options.mode is BICUBIC:
        a, taps = options.cubic_options.a, []
        for index in range(low - 1, low + 3):
            t = abs(x - index)
            near_part = (a + 2) * t**3 - (a + 3) * t**2 + 1
            weight = near_part if t <= 1 else a * t**3 - 5 * a * t**2 + 8 * a * t - 4 * a if t < 2 else 0.0
            taps.append((index, weight))
        if options.cubic_options.exclude_outside:
            taps = [(index, w) for index, w in taps if 0 <= index < size]
            total = sum(w for _, w in taps)
            taps = [(index, w / total) for index, w in taps] if total else [(round(x), 1.0)]
        for index, weight in taps:
            add(index, weight)
    else:

        def sinc(v):
            return 1.0 if v == 0 else sin(pi * v) / (pi * v)

        taps = [(i, sinc(x - i) * sinc((x - i) / 3)) for i in range(low - 2, low + 4) if abs(x - i) < 3]
        taps = [(i, w) for i, w in taps if 0 <= i < size]
        total = sum(w for _, w in taps)
        for index, weight in taps:  # no tap inside the image: nothing is added, the output is 0
            add(index, weight / total)
    return found


@both
@pytest.mark.parametrize("transform", TRANSFORMS, ids=lambda t: t.kind)
@pytest.mark.parametrize("mode", [BILINEAR, BICUBIC, LANCZOS3])
@pytest.mark.parametrize("scale", [None, (1.7, 0.6)])
def test_every_transform_equals_its_formula(b, transform, mode, scale):
    cubic = CubicOptions(-0.5, exclude_outside=True)
    out = (6, 4) if scale is None else (6, 3)
    options = InterpolateOptions(mode, transform, cubic_options=cubic, scale_factor=scale)
    x = RNG.normal(size=(4, 5))
    expected = np.empty(out)
    for i, j in itertools.product(range(out[0]), range(out[1])):
        at = [place(k, x.shape[a], out[a], scale and scale[a], transform, a) for a, k in ((0, i), (1, j))]
        if transform.roi is not None and any(not 0 <= p <= n - 1 for p, n in zip(at, x.shape, strict=True)):
            expected[i, j] = transform.extrapolation_value
            continue
        rows, columns = (weights(p, n, options) for p, n in zip(at, x.shape, strict=True))
        expected[i, j] = sum(wr * wc * x[r, c] for r, wr in rows.items() for c, wc in columns.items())
    near(b.interpolate(floats(x[None, None], F64), out, options), expected[None, None], 1e-9, 1e-9)


@both
@pytest.mark.parametrize(
    ("rounding", "expected"),
    [
        (NearestRoundingMode.FLOOR, [0, 0, 1, 1, 2, 2]),
        (NearestRoundingMode.CEIL, [0, 1, 1, 2, 2, 2]),
        (NearestRoundingMode.ROUND_PREFER_FLOOR, [0, 0, 1, 1, 2, 2]),
        (NearestRoundingMode.ROUND_PREFER_CEIL, [0, 1, 1, 2, 2, 2]),
    ],
)
def test_roundings_differ_at_halves(b, rounding, expected):
    options = InterpolateOptions(NEAREST, CoordinateTransformMode.asymmetric(), rounding)
    assert line(b, [0.0, 1, 2], 6, options).tolist() == expected


@both
def test_ties_do_not_move_by_a_rounded_ratio(b):
    # (i + 0.5)·5/15 − 0.5 is an integer and a half at i = 5k + 4 … only when it is not divided first.
    options = InterpolateOptions(EXACT)
    for size, out in itertools.product(range(1, 12), range(1, 30)):
        expected = [min((2 * i + 1) * size // (2 * out), size - 1) for i in range(out)]
        assert line(b, np.arange(size, dtype=float), out, options).tolist() == expected, (size, out)


@both
@pytest.mark.parametrize("mode", MODES)
def test_the_gradient_is_the_adjoint(b, mode):
    for transform in TRANSFORMS:
        options = InterpolateOptions(mode, transform)
        x, out = RNG.normal(size=(1, 2, 4, 5)), (7, 3)
        zero = read(b.interpolate(floats(0 * x, F64), out, options))
        grad = RNG.normal(size=zero.shape)
        forward = ((read(b.interpolate(floats(x, F64), out, options)) - zero) * grad).sum()
        found = read(b.interpolate_backward(floats(x, F64), floats(grad, F64), out, options))
        assert forward == pytest.approx((found * x).sum(), rel=1e-9, abs=1e-9)


@both
def test_a_linear_gradient_sums_to_what_came_in(b):
    x, grad = floats(np.zeros((1, 1, 4, 3)), F64), RNG.normal(size=(1, 1, 9, 8))
    found = read(b.interpolate_backward(x, floats(grad, F64), (9, 8), InterpolateOptions(BILINEAR)))
    assert found.sum() == pytest.approx(grad.sum(), rel=1e-12)


@both
@pytest.mark.parametrize("kind", [F16, BF16])
def test_halves_are_rounded_once(b, kind):
    x = floats(RNG.normal(size=(1, 2, 4, 5)), kind)
    options = InterpolateOptions(BICUBIC)
    wide = read(B.interpolate(floats(read(x), F64), (7, 8), options))
    near(b.interpolate(x, (7, 8), options), wide, 5e-4 if kind is F16 else 4e-3, 1e-4)


# ---------------------------------------------------------------------------------------------------- grid sample

PADDINGS = list(GridSamplePaddingMode)


@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("align", [True, False])
@pytest.mark.parametrize("mode", [NEAREST, BILINEAR, BICUBIC])
def test_grid_sample_agrees_with_torch(mode, padding, align):
    torch = pytest.importorskip("torch")
    x, grid = RNG.normal(size=(2, 3, 5, 6)), RNG.uniform(-2.3, 2.3, size=(2, 4, 7, 2))
    expected = torch.nn.functional.grid_sample(
        torch.tensor(x), torch.tensor(grid), mode.value, padding.value, align_corners=align
    )
    found = B.float_grid_sample_2d(floats(x, F64), floats(grid, F64), GridSampleOptions(mode, padding, align))
    near(found, expected.numpy(), 1e-9, 1e-10)


def test_grid_sample_at_pixel_centres_gives_the_pixels():
    x = RNG.normal(size=(1, 1, 3, 4))
    ys, xs = np.linspace(-1, 1, 3), np.linspace(-1, 1, 4)
    grid = np.stack(np.meshgrid(xs, ys), -1)[None]
    for mode in MODES:
        found = B.float_grid_sample_2d(floats(x, F64), floats(grid, F64), GridSampleOptions(mode, align_corners=True))
        near(found, x, 1e-9, 1e-9)


def test_nearest_grid_places_round_halves_to_even():
    x = np.arange(5.0).reshape(1, 1, 1, 5)
    pixels = np.array([0.5, 1.5, 2.5, 3.5])
    grid = np.stack([pixels / 2 - 1, np.zeros(4)], -1)[None, None]
    found = B.float_grid_sample_2d(floats(x), floats(grid), GridSampleOptions(NEAREST, align_corners=True))
    same(found, [[[[0.0, 2.0, 2.0, 4.0]]]])


def test_reflection_in_one_pixel_stays_there():
    x, grid = np.array([[[[7.0]]]]), np.array([[[[3.0, -2.0]]]])
    for align in (True, False):
        options = GridSampleOptions(BILINEAR, GridSamplePaddingMode.REFLECTION, align)
        same(B.float_grid_sample_2d(floats(x), floats(grid), options), [[[[7.0]]]])


def test_an_outside_pixel_that_is_infinite_does_not_leak_into_zeros():
    x = np.array([[[[INF, 1.0], [1.0, NAN]]]])
    grid = np.array([[[[5.0, 5.0]]]])
    same(B.float_grid_sample_2d(floats(x), floats(grid), GridSampleOptions()), [[[[0.0]]]])
