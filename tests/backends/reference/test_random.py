"""Philox, and the numbers drawn from it."""

import numpy as np
import pytest

from burn_wgpu.backends.reference import ReferenceBackend, ReferenceDevice
from burn_wgpu.backends.reference.random import Stream, philox4x32, philox_words
from burn_wgpu.std.distribution import Distribution
from burn_wgpu.std.dtype import BF16, F16, F32, F64, I8, I32, I64, U8, U32, U64
from tests.backends.reference.tools import read

B = ReferenceBackend()
DEVICE = ReferenceDevice(7)  # its own stream
FLOATS = [F64, F32, F16, BF16]


def draw(shape, distribution, kind, seed=0):
    B.seed(DEVICE, seed)
    function = B.float_random if kind.is_float else B.int_random
    tensor = function(shape, distribution, DEVICE, kind)
    assert (tensor.shape, tensor.dtype, tensor.device) == (tuple(shape), kind, DEVICE)
    return read(tensor)


# The published known answers of philox4x32-10 (Random123, kat_vectors).
@pytest.mark.parametrize(
    ("counter", "key", "answer"),
    [
        ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
    ],
)
def test_philox_known_answers(counter, key, answer):
    words = [np.array([int(w, 16)], np.uint64) for w in counter.split()]
    low, high = (int(w, 16) for w in key.split())
    assert " ".join(f"{int(w[0]):08x}" for w in philox4x32(words, (low, high))) == answer


def test_words_are_numbered_by_element_and_call():
    whole = philox_words(5, 0, 10)
    np.testing.assert_array_equal(philox_words(5, 0, 3), whole[:3])  # a prefix, whatever the size
    assert not np.array_equal(philox_words(5, 1, 10), whole)
    assert not np.array_equal(philox_words(6, 0, 10), whole)
    # The second block has counter 1 in its first word.
    block = philox4x32([np.array([v], np.uint64) for v in (1, 0, 3, 0)], (5, 0))
    np.testing.assert_array_equal(philox_words(5, 3, 8)[4:], [int(w[0]) for w in block])


# P37, P38
def test_seeds_and_prefixes():
    a = draw((1000,), Distribution.default(), F32, seed=42)
    second = read(B.float_random((1000,), Distribution.default(), DEVICE, F32))
    np.testing.assert_array_equal(draw((1000,), Distribution.default(), F32, seed=42), a)
    assert not np.array_equal(a, second)
    assert not np.array_equal(a, draw((1000,), Distribution.default(), F32, seed=43))
    np.testing.assert_array_equal(draw((37,), Distribution.default(), F32, seed=42), a[:37])
    np.testing.assert_array_equal(draw((10, 100), Distribution.default(), F32, seed=42), a.reshape(10, 100))
    B.seed(DEVICE, 42)
    B.float_random((3, 3), Distribution.normal(0, 1), DEVICE, F16)  # one call, whatever it draws
    np.testing.assert_array_equal(read(B.float_random((1000,), Distribution.default(), DEVICE, F32)), second)


def test_seeds_are_taken_modulo_2_to_the_64():
    np.testing.assert_array_equal(
        draw((8,), Distribution.default(), F32, seed=-1), draw((8,), Distribution.default(), F32, seed=2**64 - 1)
    )
    assert not np.array_equal(
        draw((8,), Distribution.default(), F32, seed=1), draw((8,), Distribution.default(), F32, seed=1 + 2**32)
    )


def test_uniform_is_the_top_24_bits():
    words = philox_words(9, 0, 100)
    np.testing.assert_array_equal(draw((100,), Distribution.default(), F32, seed=9), (words >> 8) / 2.0**24)


@pytest.mark.parametrize("kind", FLOATS, ids=str)
@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-3.0, 5.0), (0.1, 0.1001), (1e4, 1e4 + 1), (-1.0, 0.0)])
def test_uniform_stays_below_high(kind, low, high):
    values = draw((20_000,), Distribution.uniform(low, high), kind).astype(np.float64)
    bottom, top = np.float32(low), np.float32(high)
    step = {F64: 0.0, F32: 0.0, F16: 2.0**-11, BF16: 2.0**-8}[kind]
    assert values.min() >= bottom - abs(bottom) * step
    if values.min() != values.max():  # halves cannot tell the ends of a narrow range apart
        assert values.max() < top


def test_uniform_of_nothing_and_of_one_number():
    assert draw((0, 3), Distribution.default(), F32).shape == (0, 3)
    np.testing.assert_array_equal(draw((5,), Distribution.uniform(2.5, 2.5), F32), [2.5] * 5)


@pytest.mark.parametrize("kind", [F64, F32], ids=str)
def test_moments(kind):
    n = 200_000
    u = draw((n,), Distribution.uniform(-1, 3), kind)
    assert abs(u.mean() - 1) < 5 * (4 / 12**0.5) / n**0.5
    z = draw((n,), Distribution.normal(2, 3), kind)
    assert abs(z.mean() - 2) < 5 * 3 / n**0.5
    assert abs(z.std() - 3) < 5 * 3 / (2 * n) ** 0.5
    share = draw((n,), Distribution.bernoulli(0.3), kind)
    assert set(np.unique(share)) == {0.0, 1.0}
    assert abs(share.mean() - 0.3) < 5 * (0.21 / n) ** 0.5


def test_the_distributions_have_the_right_shape():
    """Kolmogorov's statistic √n·sup|F_n − F| exceeds 1.95 in one of a thousand cases; the seed is fixed."""
    from math import erf

    n = 50_000
    u = np.sort(draw((n,), Distribution.default(), F32).astype(float))
    z = np.sort(draw((n,), Distribution.normal(0, 1), F32).astype(float))
    expected_z = np.array([0.5 * (1 + erf(v / 2**0.5)) for v in z])
    for expected in (u, expected_z):
        steps = np.arange(n + 1) / n
        distance = max(np.abs(steps[1:] - expected).max(), np.abs(expected - steps[:-1]).max())
        assert distance * n**0.5 < 1.95


def test_normal_numbers_are_finite_and_pairwise():
    z = draw((1_000_001,), Distribution.normal(0, 1), F32)
    assert np.isfinite(z).all()
    words = philox_words(0, 0, 2)
    radius = np.sqrt(-2 * np.log((float(words[0] >> 8) + 1) / 2**24))
    angle = 2 * np.pi * float(words[1] >> 8) / 2**24
    np.testing.assert_allclose(z[:2], [radius * np.cos(angle), radius * np.sin(angle)], rtol=1e-6)


def test_the_smallest_and_largest_words_give_finite_normal_numbers(monkeypatch):
    for word in (0, 2**32 - 1):
        monkeypatch.setattr(Stream, "words", lambda self, count, word=word: np.full(count, word, np.uint32))
        assert np.isfinite(draw((4,), Distribution.normal(0, 1), F32)).all()


def test_bernoulli_of_0_and_1():
    assert draw((1000,), Distribution.bernoulli(0), F32).max() == 0
    assert draw((1000,), Distribution.bernoulli(1), F32).min() == 1
    assert set(np.unique(draw((1000,), Distribution.bernoulli(0.5), I32))) == {0, 1}


@pytest.mark.parametrize("kind", [I8, I32, I64, U8, U32, U64], ids=str)
def test_ints_are_uniform_and_half_open(kind):
    assert set(np.unique(draw((5000,), Distribution.uniform(3, 8), kind))) == {3, 4, 5, 6, 7}
    counts = np.bincount(draw((50_000,), Distribution.uniform(0, 5), kind).astype(int), minlength=5)
    assert np.abs(counts - 10_000).max() < 5 * (50_000 * 0.2 * 0.8) ** 0.5
    if kind.kind == "int":
        assert set(np.unique(draw((5000,), Distribution.uniform(-2, 1), kind))) == {-2, -1, 0}
    default = draw((20_000,), Distribution.default(), kind)
    assert (default.min(), default.max()) == (0, 127 if kind is I8 else 254)


def test_ints_of_a_wide_span():
    words = philox_words(3, 0, 1000)
    span = 3_000_000_000
    found = draw((1000,), Distribution.uniform(-1_500_000_000, 1_500_000_000), I32, seed=3)
    np.testing.assert_array_equal(found, words.astype(np.int64) % span - 1_500_000_000)
    whole = draw((1000,), Distribution.uniform(-(2**63), 2**63), I64)
    assert whole.min() < -(2**62) and whole.max() > 2**62
    top = draw((1000,), Distribution.uniform(2**63, 2**64), U64)
    assert top.min() >= 2**63 and len(np.unique(top)) == 1000


def test_ints_of_an_empty_range_and_normal_ints():
    np.testing.assert_array_equal(draw((4,), Distribution.uniform(5, 5), I32), [5] * 4)
    z = draw((20_000,), Distribution.normal(0, 2), I32)
    assert abs(z.mean()) < 0.1
    assert (z == 0).mean() > 0.35  # truncation, not rounding: (−1, 1) gives 0, which is 38 %


def test_unseeded_devices_differ():
    one = read(B.float_random((8,), Distribution.default(), ReferenceDevice(101), F32))
    other = read(B.float_random((8,), Distribution.default(), ReferenceDevice(102), F32))
    assert not np.array_equal(one, other)
