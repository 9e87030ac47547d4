"""float_random and int_random: the numbers of the device's stream, the same as every backend's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from burn_wgpu.backends.wgpu.run import run1
from burn_wgpu.backends.wgpu.tensor import WgpuDevice, WgpuTensor
from burn_wgpu.kernel.random import Way, random_plan
from burn_wgpu.shader.prelude import words
from burn_wgpu.std.data import cast_array, store_array
from burn_wgpu.std.distribution import Distribution
from burn_wgpu.std.dtype import F32, F64, RANGES, DType


class RandomOps:
    """See the contract. f64 is drawn with the 24 bits of f32 and stored as f64."""

    def float_random(
        self, shape: Sequence[int], distribution: Distribution, device: WgpuDevice, dtype: DType
    ) -> WgpuTensor:
        if distribution.kind == "normal":
            return _draw("normal", shape, device, dtype, (distribution.a, distribution.b))
        if distribution.kind == "bernoulli":
            return _draw("bernoulli", shape, device, dtype, (distribution.a,))
        low, high = np.float32(distribution.a), np.float32(distribution.b)
        with np.errstate(over="ignore"):
            span = high - low
        top = max(_below(high, F32 if dtype is F64 else dtype), float(cast_array(np.asarray(low), dtype)))
        return _draw("uniform", shape, device, dtype, (float(low), float(span), top, 0))

    def int_random(
        self, shape: Sequence[int], distribution: Distribution, device: WgpuDevice, dtype: DType
    ) -> WgpuTensor:
        if distribution.kind == "normal":
            return _draw("normal", shape, device, dtype, (distribution.a, distribution.b))
        if distribution.kind == "bernoulli":
            return _draw("bernoulli", shape, device, dtype, (distribution.a,))
        low, span = distribution.interval(*RANGES[dtype])
        start = (low, low >> 32)
        if span <= 1 << 24:
            return _draw("short", shape, device, dtype, (*start, float(span)))
        if span <= 1 << 32:
            return _draw("word", shape, device, dtype, (*start, span))
        return _draw("wide", shape, device, dtype, (*start, span, span >> 32))


def _draw(
    way: Way, shape: Sequence[int], device: WgpuDevice, dtype: DType, numbers: tuple[int | float, ...]
) -> WgpuTensor:
    """Draws with the device's seed and call number, and counts the call."""
    shape = tuple(shape)
    with device.client.stream.lock:  # two threads must not draw the same call
        seed, call = device.seeds
        device.seeds[1] = call + 1
    scalars = words(seed, seed >> 32, call, call >> 32, *numbers)
    return run1(device, ("random", way, shape, dtype), lambda c: random_plan(way, shape, dtype, c), (), scalars)


def _below(high: np.float32, kind: DType) -> float:
    """The largest value of a float dtype below `high`: by its bits, which count as the values do."""
    with np.errstate(over="ignore"):
        found = cast_array(np.asarray(high), kind)
    if found < high:
        return float(found)
    stored = store_array(found, kind)
    bits = stored.view(np.uint16 if kind.size_bytes == 2 else np.uint32)
    sign = 1 << 8 * kind.size_bytes - 1
    number = int(bits)
    lower = number - 1 if 0 < number < sign else sign + 1 if number in (0, sign) else number + 1
    below = np.asarray(lower, bits.dtype)
    if kind.size_bytes == 2 and kind.numpy.kind == "u":
        return float((below.astype(np.uint32) << 16).view(np.float32))
    return float(below.view(kind.numpy))
