"""Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011) and what is drawn from it.

Element i depends on (seed, number of the call since the seed, i) alone. Key = the seed's two words, counter = (block,
block's high word, call, call's high word); block b gives the four words of the elements 4b … 4b + 3. The same rules on
every backend give the same bits for uniform, bernoulli and int numbers, and nearly so for normal ones.
"""

from __future__ import annotations

import itertools
import math
import secrets

import numpy as np

from burn_wgpu.std.data import cast_array
from burn_wgpu.std.distribution import Distribution
from burn_wgpu.std.dtype import BF16, F16, F64, RANGES, DType, bf16_to_float32

_LOW = np.uint64(0xFFFFFFFF)
_WORD = np.uint64(32)


class Stream:
    """A device's random numbers: a seed, and how many calls were made since."""

    __slots__ = ("_calls", "seed")

    def __init__(self) -> None:
        self.restart(secrets.randbits(64))

    def restart(self, seed: int) -> None:
        self.seed = seed & (1 << 64) - 1
        self._calls = itertools.count()

    def words(self, count: int) -> np.ndarray:
        """uint32 [count], of one new call."""
        return philox_words(self.seed, next(self._calls), count)


def philox_words(seed: int, call: int, count: int) -> np.ndarray:
    """The first `count` words (uint32) of a call."""
    block = np.arange(-(-count // 4), dtype=np.uint64)
    high = np.uint64(call >> 32 & 0xFFFFFFFF)
    counter = [block & _LOW, block >> _WORD, np.full_like(block, call & 0xFFFFFFFF), np.full_like(block, high)]
    words = philox4x32(counter, (seed & 0xFFFFFFFF, seed >> 32))
    return np.stack(words, axis=1).astype(np.uint32).reshape(-1)[:count]


def philox4x32(counter: list[np.ndarray], key: tuple[int, int]) -> list[np.ndarray]:
    """Ten rounds over four arrays of 32-bit words, held as uint64."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        p0 = c0 * np.uint64(0xD2511F53)
        p1 = c2 * np.uint64(0xCD9E8D57)
        c0, c1, c2, c3 = (p1 >> _WORD) ^ c1 ^ np.uint64(k0), p1 & _LOW, (p0 >> _WORD) ^ c3 ^ np.uint64(k1), p0 & _LOW
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return [c0, c1, c2, c3]


def unit(words: np.ndarray) -> np.ndarray:
    """The top 24 bits as float32 in [0, 1): every multiple of 2^−24 is as likely."""
    return (words >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24)


def random_floats(stream: Stream, count: int, distribution: Distribution, kind: DType) -> np.ndarray:
    """[count] values of a float dtype.

    Uniform: low + u·(high − low) in f32 (f64 for f64), rounded to the dtype, and never high itself (unless low = high).
    Normal: Box–Muller on the word pairs (0, 1) and (2, 3) of a block, computed in float64.
    """
    if distribution.kind == "normal":
        return cast_array(_normal(stream, count, distribution.a, distribution.b), kind)
    u = unit(stream.words(count))
    if distribution.kind == "bernoulli":
        return cast_array(u < np.float32(distribution.a), kind)
    real = np.dtype(np.float64 if kind is F64 else np.float32)
    low, high = np.asarray(distribution.a, real), np.asarray(distribution.b, real)
    values = cast_array(low + u.astype(real) * (high - low), kind)
    top = np.maximum(_below(high, kind), cast_array(low, kind))
    return np.minimum(values, top)


def random_ints(stream: Stream, count: int, distribution: Distribution, kind: DType) -> np.ndarray:
    """[count] values of an int dtype.

    Uniform over the integers of [low, high): low + ⌊u·span⌋ in f32 up to a span of 2^24, the word modulo span up to
    2^32, beyond it two words (low, high) modulo span. Default: [0, 255). The dtype takes what it holds of the interval.
    """
    if distribution.kind == "normal":
        return cast_array(_normal(stream, count, distribution.a, distribution.b).astype(np.float32), kind)
    if distribution.kind == "bernoulli":
        return (unit(stream.words(count)) < np.float32(distribution.a)).astype(kind.numpy)
    low, span = distribution.interval(*RANGES[kind])
    if span <= 1 << 24:
        steps = np.floor(unit(stream.words(count)) * np.float32(span)).astype(np.uint64)
    elif span <= 1 << 32:
        steps = stream.words(count).astype(np.uint64) % np.uint64(span)
    else:
        pairs = stream.words(2 * count).astype(np.uint64).reshape(count, 2)
        steps = pairs[:, 0] | pairs[:, 1] << _WORD
        if span < 1 << 64:
            steps = steps % np.uint64(span)
    wrapped = steps + np.uint64(low & (1 << 64) - 1)  # two's complement: the low bits are right for every dtype
    return wrapped.astype(kind.numpy)


def _normal(stream: Stream, count: int, mean: float, std: float) -> np.ndarray:
    pairs = stream.words(count + (count & 1)).reshape(-1, 2)
    # (0, 1] for the logarithm: no zero, however many are drawn.
    first = ((pairs[:, 0] >> np.uint32(8)).astype(np.float64) + 1.0) * 2.0**-24
    angle = 2.0 * math.pi * unit(pairs[:, 1]).astype(np.float64)
    radius = np.sqrt(-2.0 * np.log(first))
    both = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).reshape(-1)
    return mean + std * both[:count]


def _below(high: np.ndarray, kind: DType) -> np.ndarray:
    """The largest value of a float dtype below `high`."""
    found = cast_array(high, kind)
    if found < high:
        return found
    if kind is BF16:
        bits = int(found.view(np.uint32)) >> 16
        bits = bits - 1 if found > 0 else bits + 1 if found < 0 else 0x8001
        return bf16_to_float32(np.asarray(bits, np.uint16))
    narrow = np.float16 if kind is F16 else found.dtype.type
    return np.nextafter(found.astype(narrow), narrow(-np.inf))
