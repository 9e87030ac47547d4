"""Elementwise float functions against torch in float64, and the values where libraries disagree."""

import math

import numpy as np
import pytest

from burn_wgpu.std.dtype import BF16, BOOL, BOOL_U8, BOOL_U32, F16, F32, F64, I32, I64, INTS
from tests.backends.reference.tools import BOTH, INF, NAN, B, bools, floats, ints, near, read, same

WIDE = np.concatenate(
    [np.linspace(-8, 8, 161), [1e-8, -1e-8, 1e-30, 88.0, -88.0, 1e4, -1e4, 0.0, -0.0, INF, -INF, NAN]]
)
POSITIVE = np.concatenate([np.geomspace(1e-30, 1e30, 61), [0.0, -0.0, INF, NAN, -1.0]])
UNIT = np.concatenate([np.linspace(-1, 1, 81), [1.5, -1.5, 1e-9, NAN]])

# name, torch's name, samples
UNARY = [
    ("float_neg", "neg", WIDE),
    ("float_recip", "reciprocal", WIDE),
    ("float_sqrt", "sqrt", POSITIVE),
    ("float_abs", "abs", WIDE),
    ("float_exp", "exp", WIDE),
    ("float_log", "log", POSITIVE),
    ("float_log1p", "log1p", np.concatenate([POSITIVE, [-1e-8, 1e-8, -0.5]])),
    ("float_cos", "cos", WIDE),
    ("float_sin", "sin", WIDE),
    ("float_tan", "tan", np.linspace(-1.5, 1.5, 61)),
    ("float_cosh", "cosh", WIDE),
    ("float_sinh", "sinh", WIDE),
    ("float_tanh", "tanh", WIDE),
    ("float_acos", "acos", UNIT),
    ("float_acosh", "acosh", np.concatenate([np.geomspace(1, 1e6, 40), [0.5, -1.0, INF, NAN]])),
    ("float_asin", "asin", UNIT),
    ("float_asinh", "asinh", WIDE),
    ("float_atan", "atan", WIDE),
    ("float_atanh", "atanh", UNIT),
    ("float_round", "round", np.concatenate([WIDE, [0.5, 1.5, 2.5, -0.5, -1.5]])),
    ("float_floor", "floor", WIDE),
    ("float_ceil", "ceil", WIDE),
    ("float_trunc", "trunc", WIDE),
    ("float_erf", "erf", WIDE),
]


@pytest.mark.parametrize(("name", "torch_name", "samples"), UNARY, ids=[row[0] for row in UNARY])
@pytest.mark.parametrize("kind", [F64, F32, F16, BF16], ids=str)
def test_unary_functions_agree_with_torch_in_float64(name, torch_name, samples, kind):
    torch = pytest.importorskip("torch")
    tensor = floats(samples, kind)
    given = read(tensor).astype(np.float64)
    exact = getattr(torch, torch_name)(torch.from_numpy(given)).numpy()
    with np.errstate(all="ignore"):
        # Round once to the dtype; then one unit of the last place (f32: four) is allowed.
        wanted = read(floats(exact, kind)).astype(np.float64)
    ulp = {F64: 2.0**-50, F32: 2.0**-21, F16: 2.0**-10, BF16: 2.0**-7}[kind]
    tiny = {F64: 1e-300, F32: 1e-38, F16: 1e-7, BF16: 1e-38}[kind]
    found = getattr(B, name)(tensor)
    assert found.dtype is kind
    near(found, wanted, rtol=ulp, atol=tiny)


@pytest.mark.parametrize("kind", [F32, F16, BF16], ids=str)
def test_halves_are_rounded_once(kind):
    """The result is the float32 result, rounded: not a chain of half operations."""
    x = np.random.default_rng(1).normal(size=2000)
    y = np.random.default_rng(2).normal(size=2000)
    a, b = floats(x, kind), floats(y, kind)
    u, v = read(a).astype(np.float32), read(b).astype(np.float32)
    same(B.float_mul(a, b), read(floats(u * v, kind)))
    same(B.sigmoid_backward(a, b), read(floats(v * u * (1 - u), kind)))


def test_erf_known_values():
    near(B.float_erf(floats([0.0, 0.5, 1.0, -2.0, 6.0], F64)), [math.erf(v) for v in (0.0, 0.5, 1.0, -2.0, 6.0)], 1e-15)
    near(B.float_erf(floats([1e-20, -1e-8])), [1.1283791670955126e-20, -1.1283791670955126e-08], 3e-7)


def test_round_takes_halves_to_even():
    same(B.float_round(floats([0.5, 1.5, 2.5, -0.5, -1.5, -2.5])), [0.0, 2.0, 2.0, -0.0, -2.0, -2.0])


def test_sign_of_zero_and_nan_is_plus_zero():
    found = read(B.float_sign(floats([-0.0, 0.0, NAN, -3.0, INF])))
    np.testing.assert_array_equal(found, [0, 0, 0, -1, 1])
    assert not np.signbit(found[:3]).any()


def test_hypot():
    big = float(np.finfo(np.float32).max)
    found = B.float_hypot(floats([0, 3, INF, -INF, NAN, INF, 3e38, 1e-40]), floats([0, -4, 1, 2, 1, NAN, 1, 1e-40]))
    near(found, [0, 5, INF, INF, NAN, NAN, 3e38, math.hypot(1e-40, 1e-40)], 2e-5)
    assert np.isinf(read(B.float_hypot(floats([big]), floats([big])))[0])


# P34: the sign of the divisor for remainder, of the dividend for fmod; NumPy's answers for zeros and infinities.
@pytest.mark.parametrize("kind", [F64, F32, F16, BF16], ids=str)
def test_remainder_and_fmod(kind):
    x, y = [-7, 7, -7, 7, 5, -5, 5, INF, 1, NAN], [3, -3, -3, 3, INF, INF, -INF, 3, 0, 1]
    same(B.float_remainder(floats(x, kind), floats(y, kind)), [2, -2, -1, 1, 5, INF, -INF, NAN, NAN, NAN])
    same(B.float_fmod(floats(x, kind), floats(y, kind)), [-1, 1, -1, 1, 5, -5, 5, NAN, NAN, NAN])
    same(B.float_remainder_scalar(floats([-7, 7], kind), 3), [2, 1])
    same(B.float_fmod_scalar(floats([-7, 7], kind), 3), [-1, 1])


def test_remainder_of_a_number_by_itself_is_zero():
    x = np.random.default_rng(3).normal(size=1000) * np.geomspace(1e-30, 1e30, 1000)
    same(B.float_remainder(floats(x), floats(x)), np.zeros(1000))


# P12
@pytest.mark.parametrize(("name", "b"), BOTH)
@pytest.mark.parametrize(
    ("base", "exponent", "result"),
    [(-2, 2, 4), (-2, 3, -8), (-8, 1 / 3, NAN), (0, 0, 1), (NAN, 0, 1), (0, -1, INF), (0.5, -2, 4), (2, 10, 1024),
     (-1, 5, -1), (INF, 0, 1), (9, 0.5, 3), (-2, -1, -0.5), (3, 1, 3)],
)  # fmt: skip
def test_powers(name, b, base, exponent, result):
    near(b.float_powf(floats([base], F64), floats([exponent], F64)), [result], 1e-15)
    near(b.float_powf_scalar(floats([base], F64), exponent), [result], 1e-15)
    if float(exponent).is_integer():
        near(b.float_powi(floats([base], F64), ints([int(exponent)])), [result], 1e-15)
        near(b.float_powi_scalar(floats([base], F64), int(exponent)), [result], 1e-15)


@pytest.mark.parametrize("kind", [F16, F32, F64], ids=str)
def test_a_large_exponent_keeps_whether_it_is_odd(kind):
    """Beyond 2^24, or 2^53 in f64, a float is even."""
    bases = [-1.0, -0.0, 0.0, -INF, -2.0, 1.0, NAN]
    for n in ((1 << 24) + 1, (1 << 53) + 1, 3):
        for _, b in BOTH:
            for sign, wanted in ((1, [-1, -0.0, 0, -INF, -INF, 1]), (-1, [-1, -INF, INF, -0.0, -0.0, 1])):
                if n == 3:
                    wanted = [*wanted[:4], -(2.0 ** (3 * sign)), 1]
                found = read(b.float_powi(floats(bases, kind), ints([sign * n], I64)))
                np.testing.assert_array_equal(found, [*wanted, NAN])
                np.testing.assert_array_equal(np.signbit(found[:-1]), np.signbit(wanted))
            even = read(b.float_powi(floats(bases, kind), ints([2 * (n // 2)], I64)))
            assert not np.signbit(even[:-1]).any()
            assert read(b.float_powi(floats(bases, kind), ints([0], I64))).tolist() == [1.0] * len(bases)


def test_clamp_keeps_nan():
    x = floats([-5, 0, 5, NAN])
    same(B.float_clamp(x, -1, 1), [-1, 0, 1, NAN])
    same(B.float_clamp_min(x, -1), [-1, 0, 5, NAN])
    same(B.float_clamp_max(x, 1), [-5, 0, 1, NAN])
    same(B.float_clamp_min(x, NAN), [NAN] * 4)
    same(B.float_clamp(x, 2, 1), [2, 2, 2, NAN])


def test_comparisons_follow_ieee():
    x, y = floats([1, NAN, INF, 0.0, 2]), floats([2, NAN, INF, -0.0, 1])
    for name, expected in [
        ("equal", [0, 0, 1, 1, 0]),
        ("not_equal", [1, 1, 0, 0, 1]),
        ("greater", [0, 0, 0, 0, 1]),
        ("greater_equal", [0, 0, 1, 1, 1]),
        ("lower", [1, 0, 0, 0, 0]),
        ("lower_equal", [1, 0, 1, 1, 0]),
    ]:
        for stored in (BOOL, BOOL_U8, BOOL_U32):
            found = getattr(B, f"float_{name}")(x, y, stored)
            assert found.dtype is stored
            same(found, np.array(expected, bool))
        whole = getattr(B, f"float_{name}_elem")(x, 2.0, BOOL_U8)
        same(whole, read(getattr(B, f"float_{name}")(x, floats([2.0] * 5), BOOL_U8)))


def test_is_nan_and_is_inf():
    x = floats([NAN, INF, -INF, 1.0])
    same(B.float_is_nan(x, BOOL_U8), [True, False, False, False])
    same(B.float_is_inf(x, out_dtype=BOOL_U8), [False, True, True, False])


def test_infinities_are_not_simplified_away():
    x = floats([INF])
    same(B.float_mul_scalar(x, 2), [INF])
    same(B.float_sub(x, x), [NAN])
    same(B.float_mul_scalar(x, 0), [NAN])
    same(B.float_div(floats([1, -1, 0]), floats([0, 0, 0])), [INF, -INF, NAN])


def test_scalars_take_the_dtype_of_the_tensor_first():
    # 0.1 rounded to bf16 is 0.10009765625.
    same(B.float_add_scalar(floats([0.0], BF16), 0.1), [0.10009765625])
    same(B.float_equal_elem(floats([0.1], F16), 0.1, BOOL_U8), [True])


def test_masks_broadcast_together():
    x, mask, value = (
        floats(np.zeros((2, 1, 3))),
        bools(np.eye(2)[:, :, None]),
        floats(np.arange(4).reshape(1, 1, 1, 4)[0]),
    )
    mask3 = bools(np.array([[[1], [0]], [[0], [1]]]))
    found = B.float_mask_where(floats(np.zeros((2, 1, 3))), mask3, floats(np.ones((1, 1, 1))))
    expected = np.where(np.eye(2)[:, :, None], 1.0, np.zeros((2, 1, 3)))
    same(found, expected)
    same(B.float_mask_fill(x, mask, -INF), np.where(np.eye(2)[:, :, None], -INF, np.zeros((2, 1, 3))))
    assert value.shape == (1, 1, 4)


def test_binary_functions_broadcast_and_take_empty_and_rank_0():
    same(B.float_add(floats(np.ones((2, 1, 3))), floats(np.ones((1, 4, 1)))), np.full((2, 4, 3), 2.0))
    same(B.float_add(floats(np.ones((0, 1))), floats(np.ones((1, 3)))), np.zeros((0, 3)))
    same(B.float_add(floats(1.5), floats(2.0)), 3.5)
    same(B.float_exp(floats(np.zeros(0))), np.zeros(0))


def test_float_into_int_saturates():
    same(B.float_into_int(floats([2.9, -2.9, 1e20, -1e20, NAN, INF]), I32), [2, -2, 2**31 - 1, -(2**31), 0, 2**31 - 1])


@pytest.mark.parametrize("kind", INTS, ids=str)
def test_float_into_int_saturates_in_every_dtype(kind):
    info = np.iinfo(kind.numpy)
    found = B.float_into_int(floats([1e30, -1e30, INF, -INF, NAN, 3.7], F64), kind)
    assert found.dtype is kind
    assert read(found).tolist() == [info.max, info.min, info.max, info.min, 0, 3]


def test_casts_round_to_even_and_overflow_to_infinity():
    same(B.float_cast(floats([1.00048828125, 65520.0, 1e-8]), F16), [1.0, INF, 0.0])
    same(B.float_cast(floats([1.00390625, 1.01171875]), BF16), [1.0, 1.015625])
    bits = np.arange(65536, dtype=np.uint16).view(np.float16)
    halves = floats(bits, F16)
    same(B.float_cast(B.float_cast(halves, F32), F16), bits)


def test_cross():
    x, y = np.random.default_rng(4).normal(size=(2, 4, 3, 5))
    for _, b in BOTH:
        near(b.float_cross(floats(x, F64), floats(y, F64), 1), np.cross(x, y, axis=1), 1e-12)
        near(b.float_cross(floats(x[:1], F64), floats(y, F64), 1), np.cross(x[:1], y, axis=1), 1e-12)
