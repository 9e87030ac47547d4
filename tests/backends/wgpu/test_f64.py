"""f64 on the wgpu backend: told once that it goes through f32, exact where it is compared by its bits, its range."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import burn_wgpu as bw
from burn_wgpu.backends.wgpu.tensor import WgpuDevice
from burn_wgpu.contract.options import (
    AttentionModuleOptions,
    ConvOptions,
    GridSampleOptions,
    IndexingUpdateOp,
    InterpolateMode,
    InterpolateOptions,
)
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.distribution import Distribution
from burn_wgpu.std.dtype import DTypeUsage
from tests.backends.wgpu.oracle import B, down, equal, up

pytestmark = pytest.mark.gpu

EPS = 2.0**-40
"""Far below what f32 tells apart near 1, far above what f64 does."""
NAN, INF = float("nan"), float("inf")


@pytest.fixture
def device() -> Any:
    """A device without plans, that was not told of yet; what it was is put back."""
    fresh = WgpuDevice(0)
    told, fresh.client.told_f64 = fresh.client.told_f64, False
    yield fresh
    fresh.client.told_f64 = told


def quiet(call: Callable[[], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bw.PrecisionWarning)
        return call()


# ----------------------------------------------------------------------------------------------------- the warning


def test_the_first_computation_is_told_and_no_other(device: WgpuDevice) -> None:
    x = up([1.0, 2.0, 3.0], dt.F64, device)
    with pytest.warns(bw.PrecisionWarning) as caught:
        total = B.float_add(x, x)
        B.float_sum(B.float_mul(x, x))
        B.float_exp(up([1.0], dt.F64, WgpuDevice(0)))  # another handle of the same device
    assert len(caught) == 1
    assert str(caught[0].message) == (
        f"float_add: wgpu:0 ({device.capability.adapter}) computes f64 through f32, so results have the precision and "
        f"the range of f32 (about 7 digits, up to 3.4e38); cast to f32 to make that visible, or use the reference "
        f'device "cpu", which computes f64 in full'
    )
    assert down(total).tolist() == [2.0, 4.0, 6.0]


def test_it_points_at_the_line_of_the_user(device: WgpuDevice) -> None:
    x = bw.tensor([1.0, 2.0], device="wgpu:0", dtype="f64")
    handle = x.device.handle
    handle.plans.clear()
    with pytest.warns(bw.PrecisionWarning) as caught:
        (x * 3.0).sum()
    assert [w.filename for w in caught] == [__file__]


def test_it_is_told_again_where_it_was_an_error(device: WgpuDevice) -> None:
    x = up([1.0], dt.F64, device)
    for _ in range(2):
        with pytest.raises(bw.PrecisionWarning, match="^float_sqrt: "):
            B.float_sqrt(x)


def test_f32_and_what_is_exact_on_f64_say_nothing(device: WgpuDevice) -> None:
    x, y = up([1.0, 2.0], dt.F64, device), up([1.0, 3.0], dt.F64, device)
    B.float_add(up([1.0], dt.F32, device), up([1.0], dt.F32, device))
    B.float_cast(B.float_cast(x, dt.F32), dt.F64)
    B.float_cast(x, dt.F16)
    B.float_into_int(x, dt.I32)
    B.float_greater(x, y, dt.BOOL_U8)
    B.float_neg(B.float_abs(x))
    B.float_max(B.float_cat([x, y], 0))
    B.float_sort(x, 0, False)
    B.float_select(x, 0, up([1], dt.I32, device))
    assert not device.client.told_f64


def test_a_question_says_nothing_and_is_answered_truly(device: WgpuDevice) -> None:
    from burn_wgpu.backends.wgpu import usage

    assert usage._prove(B, device, dt.F64) == DTypeUsage.STORAGE
    assert DTypeUsage.ARITHMETIC in usage._prove(B, device, dt.F32)
    assert not device.client.told_f64
    assert not bw.Device("wgpu:0").supports_dtype("f64")


def _image(device: WgpuDevice, *shape: int) -> Any:
    return up(np.arange(np.prod(shape), dtype=float).reshape(shape) % 7 / 8, dt.F64, device)


FAMILIES: dict[str, Callable[[WgpuDevice], Any]] = {
    "float_sum": lambda d: B.float_sum(_image(d, 3)),
    "float_cumsum": lambda d: B.float_cumsum(_image(d, 3), 0),
    "softmax": lambda d: B.softmax(_image(d, 3), 0),
    "layer_norm": lambda d: B.layer_norm(_image(d, 1, 3), _image(d, 3), None, 1e-5),
    "batch_norm_train": lambda d: B.batch_norm_train(_image(d, 2, 3), _image(d, 3), _image(d, 3), 1e-5).output,
    "float_matmul": lambda d: B.float_matmul(_image(d, 2, 2), _image(d, 2, 2)),
    "conv1d": lambda d: B.conv1d(_image(d, 1, 1, 9), _image(d, 1, 1, 5), None, ConvOptions((1,), (0,))),
    "attention": lambda d: B.attention(*[_image(d, 1, 1, 2, 4)] * 3, None, None, AttentionModuleOptions()),
    "attention_backward": lambda d: B.attention_backward(
        *[_image(d, 1, 1, 2, 4)] * 4, _image(d, 1, 1, 2), _image(d, 1, 1, 2, 4), AttentionModuleOptions()
    )[0],
    "avg_pool1d": lambda d: B.avg_pool1d(_image(d, 1, 1, 4), 2, 2, 0, 1, True, False),
    "interpolate": lambda d: B.interpolate(_image(d, 1, 1, 2, 2), (3, 3), InterpolateOptions(InterpolateMode.BILINEAR)),
    "grid_sample_2d": lambda d: B.float_grid_sample_2d(
        _image(d, 1, 1, 2, 2), _image(d, 1, 1, 1, 2), GridSampleOptions()
    ),
    "select_assign": lambda d: B.float_select_assign(
        _image(d, 2, 3), 0, up([1], dt.I32, d), _image(d, 1, 3), IndexingUpdateOp.ADD
    ),
    "random": lambda d: B.float_random((4,), Distribution.normal(0.0, 1.0), d, dt.F64),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_says_so_itself_and_gives_f64(name: str, device: WgpuDevice) -> None:
    with pytest.warns(bw.PrecisionWarning, match=f"^{name}: ") as caught:
        made = FAMILIES[name](device)
    assert len(caught) == 1 and made.dtype is dt.F64


# --------------------------------------------------------------------------------------------------- the exact part

NEAR = np.array(
    [1.0, 1.0 + EPS, 1.0 - EPS, -1.0, -1.0 - EPS, 0.0, -0.0, 5e-324, -5e-324, 1e300, -1e300, INF, -INF, NAN]
)


def test_comparisons_see_every_bit(device: WgpuDevice) -> None:
    x, y = (a.ravel() for a in np.meshgrid(NEAR, NEAR))
    a, b = up(x, dt.F64, device), up(y, dt.F64, device)
    with np.errstate(invalid="ignore"):
        for name, expected in (
            ("equal", x == y), ("not_equal", x != y), ("greater", x > y), ("greater_equal", x >= y),
            ("lower", x < y), ("lower_equal", x <= y),
        ):  # fmt: skip
            assert np.array_equal(down(getattr(B, f"float_{name}")(a, b, dt.BOOL_U8)), expected), name
            number = getattr(B, f"float_{name}_elem")(a, 1.0 + EPS, dt.BOOL_U8)
            one = np.full(x.shape, 1.0 + EPS)
            wanted = {
                "equal": x == one, "not_equal": x != one, "greater": x > one, "greater_equal": x >= one,
                "lower": x < one, "lower_equal": x <= one,
            }[name]  # fmt: skip
            assert np.array_equal(down(number), wanted), name


def test_signs_limits_and_choices_keep_every_bit(device: WgpuDevice) -> None:
    x = up(NEAR, dt.F64, device)
    finite = NEAR[~np.isnan(NEAR)]
    assert equal(down(B.float_neg(x)), -NEAR) and equal(down(B.float_abs(x)), np.abs(NEAR))
    assert down(B.float_sign(x)).tolist() == [1, 1, 1, -1, -1, 0, 0, 1, -1, 1, -1, 1, -1, 0]
    assert equal(down(B.float_clamp(x, 1.0 - EPS, 1.0)), np.clip(NEAR, 1.0 - EPS, 1.0))
    assert down(B.relu(x))[:-1].tolist() == np.maximum(finite, 0).tolist()
    assert down(B.float_is_inf(x, dt.BOOL_U8)).tolist() == np.isinf(NEAR).tolist()
    mask = up(NEAR > 0, dt.BOOL_U8, device)
    assert equal(down(B.float_mask_fill(x, mask, 1.0 + EPS)), np.where(NEAR > 0, 1.0 + EPS, NEAR))


@pytest.mark.parametrize("n", [5, 3000, 200_000])
def test_extrema_and_their_positions_see_every_bit(n: int, device: WgpuDevice) -> None:
    """Numbers that are all one in f32, along rows and columns, short and cut into parts."""
    values = 1.0 + np.random.default_rng(n).permutation(2 * n).reshape(2, n) * 2.0**-44
    assert len(np.unique(values.astype(np.float32))) < 3
    for array, dim in ((values, 1), (np.ascontiguousarray(values.T), 0)):
        x = up(array, dt.F64, device)
        for which in ("max", "min"):
            expected = getattr(array, which)(dim, keepdims=True)
            at = getattr(array, f"arg{which}")(dim, keepdims=True)
            assert np.array_equal(down(getattr(B, f"float_{which}_dim")(x, dim)), expected)
            assert np.array_equal(down(getattr(B, f"float_arg{which}")(x, dim, dt.I32)), at)
            found, places = getattr(B, f"float_{which}_dim_with_indices")(x, dim, dt.I64)
            assert np.array_equal(down(found), expected) and np.array_equal(down(places), at)
            running = np.maximum if which == "max" else np.minimum
            assert np.array_equal(down(getattr(B, f"float_cum{which}")(x, dim)), running.accumulate(array, dim))
    assert down(B.float_max_abs(up(-values, dt.F64, device))).tolist() == [values.max()]


def test_what_f32_would_lose_is_not_zero(device: WgpuDevice) -> None:
    tiny = up([0.0, 1e-200], dt.F64, device)
    assert down(B.float_any(tiny, dt.BOOL_U8)).tolist() == [True]
    assert down(B.float_all(B.float_select(tiny, 0, up([1], dt.I32, device)), dt.BOOL_U8)).tolist() == [True]


@pytest.mark.parametrize("update", [IndexingUpdateOp.MIN, IndexingUpdateOp.MAX, IndexingUpdateOp.ASSIGN])
@pytest.mark.parametrize("count", [3, 40_000])
def test_updates_that_choose_keep_every_bit(update: IndexingUpdateOp, count: int, device: WgpuDevice) -> None:
    """Few candidates, and sorted ones whose segments have blocks."""
    rng = np.random.default_rng(count)
    old, new = 1.0 + rng.integers(-9, 9, (7, 20)) * EPS, 1.0 + rng.integers(-99, 99, (count, 20)) * EPS
    rows = rng.integers(0, 7, count)
    expected = old.copy()
    ufunc = {IndexingUpdateOp.MIN: np.minimum, IndexingUpdateOp.MAX: np.maximum}.get(update)
    if ufunc is None:
        expected[rows] = new  # the last one stays
    else:
        ufunc.at(expected, rows, new)
    at = up(rows, dt.I32, device)
    made = B.float_select_assign(up(old, dt.F64, device), 0, at, up(new, dt.F64, device), update)
    assert np.array_equal(down(made), expected)


# -------------------------------------------------------------------------------------------------------- the range


def test_results_and_operands_have_the_range_of_f32(device: WgpuDevice) -> None:
    x = up([1e39, -1e300, 1e-50, NAN, INF, 0.1, 3e38], dt.F64, device)
    got = down(quiet(lambda: B.float_add_scalar(x, 0.0)))
    assert equal(got, np.array([INF, -INF, 0.0, NAN, INF, float(np.float32(0.1)), float(np.float32(3e38))]))
    doubled = down(quiet(lambda: B.float_mul_scalar(x, 2.0)))
    assert doubled[-1] == INF and doubled[5] == 2 * float(np.float32(0.1))
