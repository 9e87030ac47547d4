"""Records of the float functions.

Units: 0.5 for what is one IEEE operation (with room for the rounding of the float64 oracle), 4 for exp, log, roots,
quotients, 16 for tanh, erf, log1p and powers.
"""

from __future__ import annotations

import numpy as np

from burn_wgpu.std.dtype import BF16, F16, F32, F64
from burn_wgpu.testing.records.record import Draw, Record, anything, between, mixed, normal, sizes

FLOATS = (F32, F16, BF16, F64)
ONE = (anything(),)
TWO = (anything(), anything())
NUMBERS = ((2.5,), (-3.0,), (0.0,), (float("inf"),), (float("nan"),))
ROUNDED = 0.5001

_POWER = (mixed(anything(), sizes(-4.0, 4.0), normal(10.0)), mixed(anything(), normal(10.0), between(-20, 20)))


def whole_numbers(low: int, high: int) -> Draw:
    """Whole numbers from low to below high."""
    return lambda rng, dtype, n: rng.integers(low, high, n).astype(np.float32)


_NEAR = normal(1.0, 0.0, -0.0, 1.0, 1.5, -1.0, float("inf"), float("-inf"), float("nan"))


def _comparison(name: str) -> tuple[Record, Record]:
    return (
        Record(f"float_{name}", TWO, FLOATS),
        Record(f"float_{name}_elem", ONE, FLOATS, scalars=((0.0,), (2.5,), (float("nan"),), (float("-inf"),))),
    )


FLOAT = (
    Record("float_add", TWO, FLOATS, ulp=ROUNDED),
    Record("float_add_scalar", ONE, FLOATS, NUMBERS, ulp=ROUNDED),
    Record("float_sub", TWO, FLOATS, ulp=ROUNDED),
    Record("float_sub_scalar", ONE, FLOATS, NUMBERS, ulp=ROUNDED),
    Record("float_mul", TWO, FLOATS, ulp=ROUNDED),
    Record("float_mul_scalar", ONE, FLOATS, NUMBERS, ulp=ROUNDED),
    Record("float_div", TWO, FLOATS, ulp=4),
    Record("float_div_scalar", ONE, FLOATS, NUMBERS, ulp=4),
    Record("float_recip", ONE, FLOATS, ulp=4),
    Record("float_remainder", TWO, FLOATS, ulp=ROUNDED),
    Record("float_remainder_scalar", ONE, FLOATS, NUMBERS, ulp=ROUNDED),
    Record("float_floor_divide", TWO, FLOATS, ulp=4),
    Record("float_floor_divide_scalar", ONE, FLOATS, NUMBERS, ulp=4),
    Record("float_fmod", TWO, FLOATS),
    Record("float_fmod_scalar", ONE, FLOATS, NUMBERS),
    Record("float_rsub_scalar", ONE, FLOATS, NUMBERS, ulp=ROUNDED),
    Record("float_rdiv_scalar", ONE, FLOATS, NUMBERS, ulp=4),
    Record("float_rpowf_scalar", (_POWER[1],), FLOATS, ((2.0,), (-3.0,), (0.5,), (0.0,), (float("inf"),)), ulp=16),
    Record("float_scale", ONE, FLOATS, ((0.017453292519943295,), (-3.0,), (float("inf"),)), ulp=ROUNDED),
    # Which zero is the larger one is left open.
    Record("float_max_pair", TWO, FLOATS, zero_sign=False),
    Record("float_min_pair", TWO, FLOATS, zero_sign=False),
    # Factors that are exact, so that the nearest integer is the same for the oracle.
    Record("float_round_to", ONE, FLOATS, ((8.0, 1.0), (1.0, 16.0)), ulp=4),
    Record(
        "float_one_hot", (normal(4.0, *range(-7, 7)), whole_numbers(-7, 8)), FLOATS, ((7.0, 1.0, 0.0), (5.0, 3.5, -1.0))
    ),
    Record("float_is_finite", ONE, FLOATS),
    Record("float_is_close", (_NEAR, _NEAR), FLOATS, ((1e-5, 1e-8), (0.125, 0.6), (0.0, 0.7))),
    Record("float_neg", ONE, FLOATS),
    Record("float_abs", ONE, FLOATS),
    Record("float_sign", ONE, FLOATS),
    # Which zero is the larger one is left open.
    Record("float_clamp_min", ONE, FLOATS, NUMBERS, zero_sign=False),
    Record("float_clamp_max", ONE, FLOATS, NUMBERS, zero_sign=False),
    Record("float_clamp", ONE, FLOATS, ((-1.0, 2.5), (0.0, 0.0), (float("nan"), 1.0)), zero_sign=False),
    Record("float_powf", _POWER, FLOATS, ulp=16),
    Record(
        "float_powf_scalar_impl",
        (_POWER[0],),
        FLOATS,
        ((3.0,), (-3.0,), (0.5,), (-2.5,), (17.0,), (0.0,), (float("inf"),), (float("nan"),)),
        ulp=16,
    ),
    Record("float_sqrt", ONE, FLOATS, ulp=4),
    Record("float_hypot", TWO, FLOATS, ulp=4),
    Record("float_exp", ONE, FLOATS, ulp=4),
    Record("float_log", ONE, FLOATS, ulp=4),
    Record("float_expm1", (mixed(anything(), between(-1, 1)),), FLOATS, ulp=16),
    Record("float_log1p", (mixed(anything(), between(-1, 1)),), FLOATS, ulp=16),
    Record("float_sin", ONE, FLOATS, ulp=4, absolute=2e-6),
    Record("float_cos", ONE, FLOATS, ulp=4, absolute=2e-6),
    Record("float_tan", ONE, FLOATS, ulp=16),
    Record("float_sinh", ONE, FLOATS, ulp=16),
    Record("float_cosh", ONE, FLOATS, ulp=16),
    Record("float_tanh", ONE, FLOATS, ulp=16),
    Record("float_asin", (mixed(anything(), between(-1, 1)),), FLOATS, ulp=16),
    Record("float_acos", (mixed(anything(), between(-1, 1)),), FLOATS, ulp=16),
    Record("float_atan", ONE, FLOATS, ulp=16),
    Record("float_asinh", ONE, FLOATS, ulp=16),
    Record("float_acosh", ONE, FLOATS, ulp=16),
    Record("float_atanh", (mixed(anything(), between(-1, 1)),), FLOATS, ulp=16),
    Record("float_atan2", TWO, FLOATS, ulp=16),
    Record("float_round", ONE, FLOATS),
    Record("float_floor", ONE, FLOATS),
    Record("float_ceil", ONE, FLOATS),
    Record("float_trunc", ONE, FLOATS),
    Record("float_erf", ONE, FLOATS, ulp=16),
    Record("float_is_nan", ONE, FLOATS),
    Record("float_is_inf", ONE, FLOATS),
    *_comparison("equal"),
    *_comparison("not_equal"),
    *_comparison("greater"),
    *_comparison("greater_equal"),
    *_comparison("lower"),
    *_comparison("lower_equal"),
    Record("float_mask_where", (anything(), anything(), anything()), FLOATS),
    Record("float_mask_fill", TWO, FLOATS, ((2.5,), (float("-inf"),), (float("nan"),))),
)
