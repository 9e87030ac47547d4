"""Integer functions: wrapping, division, powers, shifts, reductions, order."""

import numpy as np
import pytest

from burn_wgpu.std.distribution import Distribution
from burn_wgpu.std.dtype import BF16, BOOL_U8, F16, F32, F64, I8, I16, I32, I64, INTS, U8, U16, U32, U64
from burn_wgpu.std.errors import ArgumentError, DivisionByZero, ShapeError
from tests.backends.reference.tools import BOTH, CPU, B, bools, floats, ints, near, read, same

both = pytest.mark.parametrize("b", [b for _, b in BOTH], ids=[name for name, _ in BOTH])
every = pytest.mark.parametrize("kind", INTS, ids=str)


def limits(kind):
    info = np.iinfo(kind.numpy)
    return info.min, info.max


def wrap(value, kind):
    """A Python integer's low bits as the dtype reads them."""
    bits = 8 * kind.size_bytes
    low = value & ((1 << bits) - 1)
    return low - (1 << bits) if kind.kind == "int" and low >> (bits - 1) else low


def samples(kind):
    low, high = limits(kind)
    return [v for v in (low, low + 1, -7, -3, -2, -1, 0, 1, 2, 3, 7, 100, high - 1, high) if low <= v <= high]


def pairs(kind):
    values = samples(kind)
    x, y = np.meshgrid(np.array(values, kind.numpy), np.array(values, kind.numpy))
    return x.ravel(), y.ravel()


@every
def test_arithmetic_wraps_as_python_integers_masked(kind):
    x, y = pairs(kind)
    for name, exact in [
        ("int_add", lambda a, b: a + b),
        ("int_sub", lambda a, b: a - b),
        ("int_mul", lambda a, b: a * b),
        ("bitwise_and", lambda a, b: a & b),
        ("bitwise_or", lambda a, b: a | b),
        ("bitwise_xor", lambda a, b: a ^ b),
        ("bitwise_left_shift", lambda a, b: a << (b % (8 * kind.size_bytes))),
        ("bitwise_right_shift", lambda a, b: a >> (b % (8 * kind.size_bytes))),
    ]:
        expected = [wrap(exact(int(a), int(b)), kind) for a, b in zip(x, y, strict=True)]
        same(getattr(B, name)(ints(x, kind), ints(y, kind)), np.array(expected, kind.numpy))
        scalar = getattr(B, name if name == "bitwise_not" else f"{name}_scalar")
        expected = [wrap(exact(int(a), 3), kind) for a in x]
        same(scalar(ints(x, kind), 3), np.array(expected, kind.numpy))
    for name, exact in [
        ("int_neg", lambda a: -a),
        ("int_abs", abs),
        ("int_square", lambda a: a * a),
        ("bitwise_not", lambda a: ~a),
        ("int_sign", lambda a: (a > 0) - (a < 0)),
    ]:
        expected = [wrap(exact(int(a)), kind) for a in x]
        same(getattr(B, name)(ints(x, kind)), np.array(expected, kind.numpy))


@every
def test_division_truncates_and_remainder_floors(kind):
    x, y = pairs(kind)
    x, y = x[y != 0], y[y != 0]
    quotients, rests = [], []
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        magnitude = abs(a) // abs(b)
        quotients.append(wrap(magnitude if (a < 0) == (b < 0) else -magnitude, kind))
        rests.append(a - a // b * b)
    same(B.int_div(ints(x, kind), ints(y, kind)), np.array(quotients, kind.numpy))
    same(B.int_remainder(ints(x, kind), ints(y, kind)), np.array(rests, kind.numpy))


# P34
def test_division_known_values():
    x, y = ints([-7, 7, -7, 7]), ints([3, -3, -3, 3])
    same(B.int_remainder(x, y), [2, -2, -1, 1])
    same(B.int_div(x, y), [-2, -2, 2, 2])
    same(B.int_remainder_scalar(ints([-3, 3]), 2), [1, 1])
    same(B.int_div_scalar(ints([-7, 7]), 2), [-3, 3])
    least = -(2**31)
    same(B.int_div(ints([least]), ints([-1])), [least])
    same(B.int_remainder(ints([least]), ints([-1])), [0])


@every
def test_division_by_zero_raises(kind):
    for name in ("int_div", "int_remainder"):
        with pytest.raises(DivisionByZero) as caught:
            getattr(B, name)(ints([1, 2], kind), ints([1, 0], kind))
        assert str(caught.value) == f"{name}: a divisor is 0; integers have no infinity to give"
        with pytest.raises(ZeroDivisionError):
            getattr(B, f"{name}_scalar")(ints([1, 2], kind), 0)
        assert getattr(B, name)(ints(np.zeros((0, 1)), kind), ints([[0]], kind)).shape == (0, 1)  # nothing divided


@both
@every
def test_powers_are_exact_and_wrap(b, kind):
    x = np.array(samples(kind), kind.numpy)
    for n in (0, 1, 2, 3, 5, 31, 64, 100, 200, 1001):
        expected = [wrap(int(a) ** n, kind) for a in x]
        same(b.int_powi_scalar(ints(x, kind), n), np.array(expected, kind.numpy))
        if n <= 100:
            same(b.int_powi(ints(x, kind), ints([n] * len(x), kind)), np.array(expected, kind.numpy))


def test_negative_powers_are_truncated():
    same(B.int_powi(ints([1, -1, -1, 2, -5]), ints([-1, -3, -2, -1, -2])), [1, -1, 1, 0, 0])
    with pytest.raises(DivisionByZero) as caught:
        B.int_powi(ints([0]), ints([-1]))
    assert str(caught.value) == "int_powi: 0 to a negative power; it divides by 0"
    with pytest.raises(ArgumentError) as negative:
        B.int_powi_scalar(ints([2]), -1)
    assert str(negative.value) == ("int_powi_scalar: the exponent is -1; an integer's exponent must not be negative")


def test_shift_counts_are_modulo_the_width():
    same(B.bitwise_left_shift(ints([1, 1, 1]), ints([32, 33, -1])), [1, 2, -(2**31)])
    same(B.bitwise_right_shift(ints([-8, 8], I8), ints([1, 9], I8)), [-4, 4])
    same(B.bitwise_right_shift_scalar(ints([255], U8), 4), [15])


def test_clamp_and_comparisons():
    x = ints([-5, 0, 5])
    same(B.int_clamp(x, -1, 1), [-1, 0, 1])
    same(B.int_clamp_min(x, 3), [3, 3, 5])
    same(B.int_clamp_max(x, -3), [-5, -3, -3])
    for name, expected in [
        ("equal", [0, 1, 0]),
        ("not_equal", [1, 0, 1]),
        ("greater", [0, 0, 1]),
        ("greater_equal", [0, 1, 1]),
        ("lower", [1, 0, 0]),
        ("lower_equal", [1, 1, 0]),
    ]:
        same(getattr(B, f"int_{name}")(x, ints([0, 0, 0]), BOOL_U8), np.array(expected, bool))
        same(getattr(B, f"int_{name}_elem")(x, 0, BOOL_U8), np.array(expected, bool))
    big = ints([2**64 - 1, 2**63], U64)
    same(B.int_greater(big, ints([2**63, 2**63], U64), BOOL_U8), [True, False])


def test_masks():
    same(B.int_mask_where(ints([1, 2, 3]), bools([0, 1, 0]), ints([7, 8, 9])), [1, 8, 3])
    same(B.int_mask_fill(ints([1, 2, 3]), bools([0, 1, 0]), -1), [1, -1, 3])


@pytest.mark.parametrize(("source", "target"), [(I64, I32), (I32, I8), (I8, U64), (U32, I32), (U64, I16)], ids=str)
def test_casts_keep_the_low_bits(source, target):
    values = samples(source)
    same(B.int_cast(ints(values, source), target), np.array([wrap(v, target) for v in values], target.numpy))


def test_int_into_float():
    for kind in (F64, F32, F16, BF16):
        found = B.int_into_float(ints([0, -3, 17]), kind)
        assert found.dtype is kind
        same(found, [0, -3, 17])
    same(B.int_into_float(ints([2**24 + 1, 70_000]), F32), [2.0**24, 70_000])
    same(B.int_into_float(ints([70_000]), F16), [np.inf])


@both
@every
def test_reductions(b, kind):
    x = np.random.default_rng(0).integers(0, 100, (3, 4, 5)).astype(kind.numpy)
    if kind.kind == "int":
        x = (x - np.array(50, kind.numpy)).astype(kind.numpy)
    t = ints(x, kind)
    for dim in range(3):
        exact = x.astype(object)
        same(b.int_sum_dim(t, dim), np.vectorize(lambda v: wrap(v, kind))(exact.sum(dim, keepdims=True)))
        same(b.int_prod_dim(t, dim), np.vectorize(lambda v: wrap(v, kind))(exact.prod(dim, keepdims=True)))
        total = exact.sum(dim, keepdims=True)
        same(b.int_mean_dim(t, dim), np.vectorize(lambda v, n=x.shape[dim]: int(v / n))(total))
        same(b.int_cumsum(t, dim), np.cumsum(x, dim, dtype=kind.numpy))
        same(b.int_cumprod(t, dim), np.cumprod(x, dim, dtype=kind.numpy))
        same(b.int_cummax(t, dim), np.maximum.accumulate(x, dim))
        same(b.int_cummin(t, dim), np.minimum.accumulate(x, dim))
        same(b.int_max_dim(t, dim), x.max(dim, keepdims=True))
        same(b.int_min_dim(t, dim), x.min(dim, keepdims=True))
        values, where = b.int_max_dim_with_indices(t, dim)
        same(where, x.argmax(dim, keepdims=True))
        assert where.dtype is kind
        same(b.int_min_dim_with_indices(t, dim)[1], x.argmin(dim, keepdims=True))
    same(b.int_sum(t), [wrap(int(x.astype(object).sum()), kind)])
    same(b.int_max(t), [x.max()])
    same(b.int_min(t), [x.min()])
    same(b.int_any(t, BOOL_U8), [True])
    same(b.int_all(ints([1, 0, 2], kind), BOOL_U8), [False])
    same(b.int_any_dim(ints([[0, 0], [0, 1]], kind), 1, BOOL_U8), [[False], [True]])
    same(b.int_all_dim(ints([[1, 1], [0, 1]], kind), 1, BOOL_U8), [[True], [False]])


@both
def test_empty_reductions(b):
    none = ints(np.zeros((2, 0)))
    same(b.int_sum(none), [0])
    same(b.int_prod(none), [1])
    same(b.int_any(none, BOOL_U8), [False])
    same(b.int_all(none, BOOL_U8), [True])
    for name in ("int_mean", "int_max", "int_min", "int_max_abs"):
        with pytest.raises(ShapeError, match="has size 0; it must have an element"):
            getattr(b, name)(none)
    for name in ("int_argmax", "int_argmin", "int_mean_dim", "int_max_dim"):
        with pytest.raises(ShapeError):
            getattr(b, name)(none, 1)


@both
def test_narrow_means_do_not_wrap(b):
    same(b.int_mean(ints(np.full(1000, 100), I8)), [100])
    same(b.int_mean(ints(np.full(1000, 250), U8)), [250])
    same(b.int_mean(ints([-7, 0])), [-3])  # toward zero


@both
def test_index_results_widen_where_the_dtype_would_wrap(b):
    x = np.zeros(300, np.int8)
    x[299] = 1
    found = b.int_argmax(ints(x, I8), 0)
    assert found.dtype is I32
    same(found, [299])
    same(b.int_max(ints(x, I8)), [1])
    assert b.int_argsort(ints(x, I8), 0, True).dtype is I32
    assert b.int_argmax(ints(x[:128], I8), 0).dtype is I8
    assert b.int_argmax(ints(x[:256], U8), 0).dtype is U8


@both
def test_sort_is_stable(b):
    x = ints([3, 1, 3, 2, 1], U16)
    same(b.int_sort(x, 0, False), [1, 1, 2, 3, 3])
    same(b.int_argsort(x, 0, False), [1, 4, 3, 0, 2])
    same(b.int_argsort(x, 0, True), [0, 2, 3, 1, 4])
    same(b.int_topk(x, 0, 3), [3, 3, 2])
    same(b.int_argtopk(x, 0, 5), [0, 2, 3, 1, 4])
    values, where = b.int_topk_with_indices(x, 0, 2)
    same(values, [3, 3])
    same(where, [0, 2])
    same(b.int_sort(ints([2**63, 2**64 - 1, 0], U64), 0, True), np.array([2**64 - 1, 2**63, 0], np.uint64))


@every
def test_matmul_wraps(kind):
    rng = np.random.default_rng(1)
    low, high = limits(kind)
    x = rng.integers(low, high, (2, 1, 3, 4), kind.numpy, endpoint=True)
    y = rng.integers(low, high, (1, 2, 4, 2), kind.numpy, endpoint=True)
    exact = np.einsum("abmk,cdkn->admn", x.astype(object), y.astype(object))
    same(B.int_matmul(ints(x, kind), ints(y, kind)), np.vectorize(lambda v: wrap(v, kind))(exact))


@both
def test_creation_and_arange(b):
    same(b.int_full((2, 2), -1, CPU, I64), [[-1, -1], [-1, -1]])
    same(b.int_zeros((0,), CPU, U8), np.zeros(0))
    same(b.int_ones((), CPU, U32), 1)
    same(b.int_full((1,), 300, CPU, U8), [44])
    same(b.int_arange(2, 6, CPU, I32), [2, 3, 4, 5])
    same(b.int_arange(5, 2, CPU, I32), np.zeros(0))
    same(b.int_arange_step(-1, 10, 4, CPU, I64), [-1, 3, 7])
    same(b.int_arange_step(2**63, 2**63 + 3, 2, CPU, U64), np.array([2**63, 2**63 + 2], np.uint64))
    with pytest.raises(ArgumentError) as caught:
        b.int_arange_step(0, 4, 0, CPU, I32)
    assert str(caught.value) == "arange_step: the step from 0 to 4 is 0; it must not be 0"


def test_no_warnings_for_wrapping_scalars():
    """Rank 0 makes NumPy warn where arrays stay silent; warnings are errors in these tests."""
    same(B.int_add(ints(2**31 - 1), ints(1)), -(2**31))
    same(B.int_mul_scalar(ints(2**31 - 1), 2), -2)
    same(B.int_neg(ints(-128, I8)), -128)
    same(B.int_sum_dim(ints([[100, 100]], I8), 1), [[-56]])


def test_max_abs_and_random_dtypes():
    same(B.int_max_abs(ints([[-7, 3], [2, 5]])), [7])
    same(B.int_max_abs_dim(ints([[-7, 3], [2, 5]]), 1), [[7], [5]])
    for kind in INTS:
        assert read(B.int_random((5,), Distribution.default(), CPU, kind)).dtype == kind.numpy


def test_float_round_trip_through_ints():
    near(B.int_into_float(B.float_into_int(floats([1.9, -1.9]), I16), F32), [1.0, -1.0])
