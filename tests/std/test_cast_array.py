"""Casts on the host round once, also where f32 would stand between a wide dtype and bf16."""

from __future__ import annotations

import numpy as np
import pytest

from burn_wgpu.std.data import cast_array
from burn_wgpu.std.dtype import BF16, F16, I8, U8, DType

# Just above halfway between 1 and the next bf16 (f16): f32 would lose the difference, and the tie goes to 1.
ABOVE_TIE = [(BF16, 1 + 2.0**-8 + 2.0**-40, 1 + 2.0**-7), (F16, 1 + 2.0**-11 + 2.0**-40, 1 + 2.0**-10)]


@pytest.mark.parametrize(("target", "value", "rounded"), ABOVE_TIE)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_double_just_above_a_tie_rounds_up(target: DType, value: float, rounded: float, sign: float) -> None:
    assert cast_array(np.array([sign * value]), target).tolist() == [sign * rounded]


@pytest.mark.parametrize("kind", [np.int64, np.uint64, np.int32])
def test_an_integer_just_above_a_tie_rounds_up(kind: type) -> None:
    top = 61 if kind is not np.int32 else 29
    tie = (1 << top) + (1 << (top - 8))
    values = np.array([tie - 1, tie, tie + 1], kind)
    assert cast_array(values, BF16).tolist() == [2.0**top, 2.0**top, 2.0**top + 2.0 ** (top - 7)]
    if kind is not np.uint64:
        assert cast_array(-values, BF16).tolist() == [-(2.0**top), -(2.0**top), -(2.0**top) - 2.0 ** (top - 7)]


def test_a_double_too_large_for_bf16_is_infinite_and_nan_stays() -> None:
    got = cast_array(np.array([1e300, -1e300, np.nan, np.inf]), BF16)
    assert np.array_equal(got, [np.inf, -np.inf, np.nan, np.inf], equal_nan=True)


def test_a_number_keeps_its_rank_of_zero() -> None:
    assert cast_array(np.array(3.0), BF16).shape == ()


def test_floats_saturate_to_integers_and_nan_gives_zero() -> None:
    assert cast_array(np.array([300.7, -300.7, np.nan, -1.9]), I8).tolist() == [127, -128, 0, -1]
    assert cast_array(np.array([300.7, -0.9]), U8).tolist() == [255, 0]
