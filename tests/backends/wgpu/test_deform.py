"""The gradients of deformable convolution against the reference backend, and against finite differences of loops."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from burn_wgpu.backends.wgpu.run import run, run1
from burn_wgpu.backends.wgpu.tensor import WgpuDevice
from burn_wgpu.contract.options import DeformConvOptions
from burn_wgpu.kernel.deform import Deformed, gather_plan, gradients_plan
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.slice import Slice
from tests.backends.wgpu.oracle import REF, REF_DEVICE, B, up

pytestmark = pytest.mark.gpu
STEP = {dt.F32: 2e-6, dt.F16: 2**-10, dt.BF16: 2**-7, dt.F64: 2e-6}
NAMES = ("x_grad", "offset_grad", "weight_grad", "mask_grad", "bias_grad")


@pytest.fixture(scope="module")
def device() -> WgpuDevice:
    return WgpuDevice(0)


def down(t: Any, backend: Any = B) -> np.ndarray:
    return backend.float_into_data(t).convert(dt.F32).array


def drawn(
    x: Sequence[int], out: int, taps: Sequence[int], options: DeformConvOptions, far: float = 1.5, masked: bool = True
) -> list[Any]:
    """x, offset, weight, mask, bias and the output's gradient; offsets of about `far` elements."""
    rng = np.random.default_rng([*x, out, *taps])
    space = Deformed.of(tuple(x), taps, options, dt.F32, masked).out
    count = options.offset_groups * taps[0] * taps[1]
    return [
        rng.normal(size=x), far * rng.normal(size=(x[0], 2 * count, *space)),
        rng.normal(size=(out, x[1] // options.weight_groups, *taps)),
        rng.normal(size=(x[0], count, *space)) if masked else None, rng.normal(size=out),
        rng.normal(size=(x[0], out, *space)),
    ]  # fmt: skip


def gradients(backend: Any, values: Sequence[Any], options: DeformConvOptions, kind: Any, dev: Any) -> list[Any]:
    *tensors, grad = (None if a is None else up(a, kind, dev) for a in values)
    result = backend.deform_conv2d_backward(*tensors, grad, options)
    return [None if t is None else down(t, backend) for t in result]


def agree(values: Sequence[Any], options: DeformConvOptions, kind: Any, device: WgpuDevice) -> None:
    found = gradients(B, values, options, kind, device)
    for name, got, want in zip(NAMES, found, gradients(REF, values, options, kind, REF_DEVICE), strict=True):
        assert (got is None) == (want is None), name
        if got is not None:
            atol = 4e-6 * np.abs(want[np.isfinite(want)]).max(initial=1.0)
            np.testing.assert_allclose(got, want, STEP[kind], atol, err_msg=name)


# x, output channels, kernel, stride, padding, dilation, weight groups, offset groups, mask
CASES: dict[str, tuple[Any, ...]] = {
    "plain": ((2, 4, 7, 6), 6, (3, 3), (1, 1), (0, 0), (1, 1), 1, 1, True),
    "one channel": ((2, 1, 11, 19), 3, (3, 3), (1, 1), (1, 1), (1, 1), 1, 1, True),
    "two channels a group, no mask": ((1, 6, 9, 9), 4, (2, 2), (1, 1), (1, 1), (2, 2), 2, 3, False),
    "three channels, unequal axes": ((1, 3, 10, 21), 2, (3, 2), (2, 1), (1, 2), (1, 2), 1, 1, True),
    "five channels a group": ((2, 10, 8, 8), 6, (1, 3), (1, 1), (0, 1), (1, 1), 2, 2, True),
    "each channel its own offsets": ((1, 8, 9, 12), 8, (3, 3), (1, 1), (1, 1), (1, 1), 8, 8, True),
    "even rows": ((2, 16, 8, 12), 4, (3, 3), (2, 2), (1, 1), (1, 1), 4, 1, True),
    "channels shared out": ((1, 70, 9, 10), 5, (3, 3), (1, 1), (1, 1), (1, 1), 1, 1, True),
    "many taps": ((1, 4, 17, 23), 4, (5, 5), (1, 1), (2, 2), (1, 1), 1, 2, True),
    "one tap": ((3, 4, 5, 5), 4, (1, 1), (1, 1), (0, 0), (1, 1), 1, 1, False),
    "padding beyond the image": ((1, 4, 3, 4), 3, (3, 3), (1, 1), (4, 5), (1, 1), 1, 1, True),
}


def options_of(case: Sequence[Any]) -> DeformConvOptions:
    return DeformConvOptions(*case[3:8])


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_those_of_the_reference(name: str, device: WgpuDevice) -> None:
    case = CASES[name]
    agree(drawn(*case[:3], options_of(case), masked=case[8]), options_of(case), dt.F32, device)


@pytest.mark.filterwarnings("ignore::burn_wgpu.PrecisionWarning")
@pytest.mark.parametrize("kind", [dt.F16, dt.BF16, dt.F64], ids=str)
@pytest.mark.parametrize("name", ["plain", "even rows", "one channel", "three channels, unequal axes"])
def test_other_dtypes_are_summed_in_f32(name: str, kind: Any, device: WgpuDevice) -> None:
    case = CASES[name]
    agree(drawn(*case[:3], options_of(case), masked=case[8]), options_of(case), kind, device)


@pytest.mark.parametrize("far", [0.0, 40.0, 1e9])
def test_offsets_of_any_length(far: float, device: WgpuDevice) -> None:
    """Whole numbers, all over the image without order, and almost all outside."""
    case = CASES["many taps"]
    agree(drawn(*case[:3], options_of(case), far), options_of(case), dt.F32, device)


def test_an_infinite_offset_looks_outside_and_nan_is_kept(device: WgpuDevice) -> None:
    """As zeros lie everywhere outside; a NaN makes its sample, and what depends on it, NaN."""
    case = CASES["plain"]
    options = options_of(case)
    values = drawn(*case[:3], options)
    values[1][0, 3, 1, 2], values[1][1, 4, 0, 0], values[1][0, 8, 2, 3] = np.inf, -np.inf, np.inf
    agree(values, options, dt.F32, device)
    assert all(np.isfinite(g).all() for g in gradients(B, values, options, dt.F32, device))
    values[1][0, 2, 2, 2], values[1][1, 7, 1, 1] = np.nan, np.nan
    agree(values, options, dt.F32, device)
    x_grad, offset_grad, _, mask_grad, _ = gradients(B, values, options, dt.F32, device)
    assert np.isfinite(x_grad).all()
    assert np.isnan(mask_grad).sum() == 2 and np.isnan(offset_grad).sum() == 2
    outputs = []
    for b, dev in ((B, device), (REF, REF_DEVICE)):
        outputs.append(down(b.deform_conv2d(*(up(a, dt.F32, dev) for a in values[:5]), options), b))
    np.testing.assert_allclose(*outputs, 2e-6, 1e-5)
    assert np.isnan(outputs[0]).sum() == 2 * outputs[0].shape[1]


def test_all_taps_may_look_at_one_element(device: WgpuDevice) -> None:
    options = DeformConvOptions((1, 1), (1, 1))
    values = drawn((1, 3, 12, 20), 2, (3, 3), options)
    y, x = np.mgrid[0:12, 0:20]
    for t, (i, j) in enumerate(itertools.product(range(3), range(3))):
        values[1][0, 2 * t] = 6.25 - (y + i - 1)
        values[1][0, 2 * t + 1] = 7.5 - (x + j - 1)
    agree(values, options, dt.F32, device)
    x_grad = gradients(B, values, options, dt.F32, device)[0]
    touched = np.argwhere(np.abs(x_grad).sum((0, 1)) > 0)
    assert touched.tolist() == [[6, 7], [6, 8], [7, 7], [7, 8]]


def looped(x: Any, offset: Any, weight: Any, mask: Any, bias: Any, options: DeformConvOptions) -> np.ndarray:
    """One sample at a time, in f64."""
    (batch, channels, height, width), (co, per, kh, kw) = x.shape, weight.shape
    _, _, ho, wo = offset.shape
    per_offset, rows = channels // options.offset_groups, co // options.weight_groups
    out = np.zeros((batch, co, ho, wo)) + bias[:, None, None]
    for n, oy, ox, i, j, c in itertools.product(*map(range, (batch, ho, wo, kh, kw, channels))):
        tap = (c // per_offset * kh + i) * kw + j
        y = oy * options.stride[0] - options.padding[0] + i * options.dilation[0] + offset[n, 2 * tap, oy, ox]
        z = ox * options.stride[1] - options.padding[1] + j * options.dilation[1] + offset[n, 2 * tap + 1, oy, ox]
        sample = 0.0
        for row, column in itertools.product(*((int(np.floor(p)), int(np.floor(p)) + 1) for p in (y, z))):
            if 0 <= row < height and 0 <= column < width:
                sample += (1 - abs(y - row)) * (1 - abs(z - column)) * x[n, c, row, column]
        group = c // per
        filled = weight[group * rows : (group + 1) * rows, c - group * per, i, j]
        out[n, group * rows : (group + 1) * rows, oy, ox] += mask[n, tap, oy, ox] * sample * filled
    return out


@pytest.mark.parametrize(
    "name", ["plain", "two channels a group, no mask", "three channels, unequal axes", "even rows"]
)
def test_gradients_are_the_slopes_of_the_loops(name: str, device: WgpuDevice) -> None:
    """Along random directions of each argument, in f64. Places stay away from whole numbers, where slopes jump."""
    case = CASES[name]
    (_, channels, height, width), options = case[0], options_of(case)
    values = drawn((1, channels, min(height, 6), min(width, 7)), *case[1:3], options)
    values[1] = np.floor(values[1]) + np.random.default_rng(1).uniform(0.2, 0.8, values[1].shape)
    *arguments, grad = values
    if not case[8]:
        arguments[3] = np.ones_like(arguments[3])
    given = [*arguments, grad]
    found = gradients(B, given, options, dt.F32, device)
    rng, step = np.random.default_rng(2), 1e-4
    for k, (argument, got) in enumerate(zip(arguments, found, strict=True)):
        way = rng.normal(size=argument.shape)
        sides = []
        for sign in (1, -1):
            moved = [a + sign * step * way if i == k else a for i, a in enumerate(arguments)]
            sides.append((looped(*moved, options) * grad).sum())
        want = (sides[0] - sides[1]) / (2 * step)
        scale = np.abs(got * way).sum()
        assert abs((got.astype(np.float64) * way).sum() - want) <= 3e-6 * scale, NAMES[k]


def test_views_are_read_as_they_lie(device: WgpuDevice) -> None:
    case = CASES["even rows"]
    options = options_of(case)
    values = drawn(*case[:3], options)
    want = gradients(B, values, options, dt.F32, device)
    views = []
    for a in values:
        turned = up(
            np.ascontiguousarray(np.moveaxis(np.pad(a, [(0, 0)] * (a.ndim - 1) + [(2, 1)]), 0, -1)), dt.F32, device
        )
        back = B.float_permute(turned, (a.ndim - 1, *range(a.ndim - 1)))
        views.append(B.float_slice(back, [Slice(0, n) for n in a.shape[:-1]] + [Slice(2, a.shape[-1] + 2)]))
    *tensors, grad = views
    for name, got, expected in zip(NAMES, B.deform_conv2d_backward(*tensors, grad, options), want, strict=True):
        # Products and sums choose their order by the layout.
        atol = 4e-6 * max(np.abs(expected).max(), 1.0)
        np.testing.assert_allclose(down(got), expected, 2e-6, atol, err_msg=name)


@pytest.mark.parametrize("kind", [dt.F32, dt.F16], ids=str)
def test_the_same_input_gives_the_same_bits(kind: Any, device: WgpuDevice) -> None:
    case = CASES["channels shared out"]
    values = drawn(*case[:3], options_of(case), 20.0)
    first, again = (gradients(B, values, options_of(case), kind, device) for _ in range(2))
    assert [a.tobytes() for a in first] == [a.tobytes() for a in again]


def test_planes_of_many_taps_take_several_launches(device: WgpuDevice) -> None:
    """Each adds to what the ones before it made: the sum of all, in any dtype in f32."""
    for kind in (dt.F32, dt.F16):
        options = DeformConvOptions((1, 1), (1, 1), offset_groups=2)
        values = drawn((2, 6, 13, 16), 4, (3, 3), options)
        what = Deformed.of((2, 6, 13, 16), (3, 3), options, kind, True)
        x, offset, mask = (up(values[i], kind, device) for i in (0, 1, 3))
        columns = up(np.random.default_rng(5).normal(size=(2, 6 * 9, 13 * 16)), dt.F32, device)
        _, boxes, *_ = run(device, ("deform", what), lambda c, w=what: gradients_plan(w, c), (x, offset, columns, mask))
        found = []
        for most in (1, 4, what.blocks):
            plan = gather_plan(what, device.capability, most)
            assert len(plan.launches) == -(-what.blocks // most)
            assert plan.outputs[0].dtype is (kind if most == what.blocks else dt.F32)
            made = run1(device, ("gather", what, most), lambda c, p=plan: p, (offset, columns, boxes, mask))
            found.append(down(made))
        scale = np.abs(found[2]).max()
        np.testing.assert_allclose(found[0], found[2], STEP[kind], 1e-6 * scale)
        np.testing.assert_allclose(found[1], found[0], 2e-6, 1e-6 * scale)


@pytest.mark.parametrize("shape", [(0, 2, 5, 5), (1, 0, 5, 5)])
def test_nothing_has_gradients_of_zero(shape: Any, device: WgpuDevice) -> None:
    options = DeformConvOptions((1, 1), (1, 1))
    found = gradients(B, drawn(shape, 3, (3, 3), options), options, dt.F32, device)
    assert [a.shape for a in found] == [shape, (shape[0], 18, 5, 5), (3, shape[1], 3, 3), (shape[0], 9, 5, 5), (3,)]
    for got in found[:4]:
        assert not got.any()
