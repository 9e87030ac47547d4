"""Random numbers on the wgpu backend: those of the reference backend, by element number alone."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from burn_wgpu.backends.wgpu.run import run1
from burn_wgpu.backends.wgpu.tensor import WgpuDevice
from burn_wgpu.kernel.random import random_plan
from burn_wgpu.shader.prelude import words
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.data import TensorData
from burn_wgpu.std.distribution import Distribution
from burn_wgpu.std.dtype import DType
from tests.backends.wgpu.oracle import REF, REF_DEVICE, B, bits, down, equal, prefix

pytestmark = pytest.mark.gpu

INF = math.inf
SEED = 0x1234_5678_9ABC_DEF0


@pytest.fixture
def device() -> WgpuDevice:
    return WgpuDevice(0)


def drawn(shape: tuple[int, ...], distribution: Distribution, kind: DType, device: WgpuDevice, skip: int = 0) -> object:
    """(ours, the reference's) after `skip` other calls since the seed."""
    results = []
    for backend, where in ((B, device), (REF, REF_DEVICE)):
        backend.seed(where, SEED)
        draw = getattr(backend, f"{prefix(kind)}_random")
        for _ in range(skip):
            draw((1,), Distribution.default(), where, kind)
        results.append(down(draw(shape, distribution, where, kind)))
    return results


@pytest.mark.parametrize("kind", [dt.F32, dt.FLEX32, dt.F16, dt.BF16], ids=str)
@pytest.mark.parametrize(
    "distribution",
    [
        Distribution.default(), Distribution.uniform(-3.7, 1.3), Distribution.uniform(0.1, 0.7),
        Distribution.uniform(2.0, 2.0), Distribution.uniform(-2.0, 0.0), Distribution.uniform(1e6, 1e6 + 3),
        Distribution.bernoulli(0.3), Distribution.bernoulli(0.0), Distribution.bernoulli(1.0),
    ],
    ids=str,
)  # fmt: skip
def test_floats_have_the_references_bits(kind: DType, distribution: Distribution, device: WgpuDevice) -> None:
    ours, theirs = drawn((7, 501), distribution, kind, device, skip=2)
    assert equal(ours, theirs)


@pytest.mark.parametrize("mean, std", [(0.0, 1.0), (1.5, 2.0), (-3.0, 0.01), (5.0, 0.0)])
def test_normal_numbers_agree(mean: float, std: float, device: WgpuDevice) -> None:
    ours, theirs = drawn((100_003,), Distribution.normal(mean, std), dt.F32, device)
    # One rounding of the sum is the dtype's own: half a unit in the last place of the largest value.
    rounding = float(np.spacing(np.float32(np.abs(theirs).max()))) if mean else 0.0
    assert np.abs(ours.astype(float) - theirs).max() <= 1e-6 * std + rounding


@pytest.mark.parametrize("kind", [dt.F16, dt.BF16], ids=str)
def test_normal_halves_differ_by_a_rounding_at_most(kind: DType, device: WgpuDevice) -> None:
    ours, theirs = drawn((10_001,), Distribution.normal(0, 1), kind, device)
    step = 2.0 ** (-10 if kind is dt.F16 else -7)
    assert np.all(np.abs(ours.astype(float) - theirs.astype(float)) <= step * np.abs(theirs.astype(float)) + 1e-6)
    assert np.mean(ours != theirs) < 1e-3


@pytest.mark.filterwarnings("ignore::burn_wgpu.PrecisionWarning")
def test_f64_stores_what_f32_draws(device: WgpuDevice) -> None:
    for distribution in (Distribution.default(), Distribution.bernoulli(0.5)):
        ours, theirs = drawn((1001,), distribution, dt.F64, device)
        assert equal(ours, theirs)
    ours, theirs = drawn((1001,), Distribution.uniform(-3.0, 5.0), dt.F64, device)
    assert np.abs(ours - theirs).max() <= 2.0**-21


@pytest.mark.parametrize("kind", dt.INTS, ids=[d.name for d in dt.INTS])
@pytest.mark.parametrize(
    "distribution",
    [
        Distribution.default(), Distribution.uniform(3, 100), Distribution.uniform(-7, -2), Distribution.uniform(4, 4),
        Distribution.uniform(-5e8, 2e9), Distribution.uniform(-(2**31), 2**31), Distribution.uniform(-(2**40), 2**45),
        Distribution.uniform(-(2**63), 2**63), Distribution.bernoulli(0.3),
    ],
    ids=str,
)  # fmt: skip
def test_ints_have_the_references_bits(kind: DType, distribution: Distribution, device: WgpuDevice) -> None:
    ours, theirs = drawn((5, 203), distribution, kind, device, skip=1)
    assert equal(ours, theirs)


@pytest.mark.parametrize("kind", dt.INTS, ids=[d.name for d in dt.INTS])
@pytest.mark.parametrize(
    ("distribution", "low", "high"),
    [(Distribution.default(), 0, 255), (Distribution.uniform(-5, 5), -5, 5), (Distribution.uniform(9, 1000), 9, 1000),
     (Distribution.uniform(-INF, INF), -INF, INF), (Distribution.uniform(-1e30, -1e29), -1e30, -1e29),
     (Distribution.uniform(-300, -200.5), -300, -200)],
    ids=str,
)  # fmt: skip
def test_ints_are_drawn_from_what_the_dtype_holds(
    kind: DType, distribution: Distribution, low: float, high: float, device: WgpuDevice
) -> None:
    """Nothing wraps: i8 draws 0 … 127 by default; an interval out of reach gives the nearest end of the range."""
    info = np.iinfo(kind.numpy)
    first, last = max(low, info.min), min(high - 1, info.max)
    for values in drawn((20_000,), distribution, kind, device):
        if last < first:
            assert (values == info.min).all()
            continue
        assert first <= values.min() and values.max() <= last
        if last - first < 1000:
            assert (values.min(), values.max()) == (first, last)
    assert equal(*drawn((999,), distribution, kind, device))
    data = TensorData.random((20_000,), distribution, kind, 0).array
    assert max(first, info.min) <= data.min() and data.max() <= max(last, info.min)


@pytest.mark.parametrize("kind", dt.INTS, ids=[d.name for d in dt.INTS])
@pytest.mark.parametrize("mean, std", [(10, 40), (0, 3e9), (0, 5e18)])
def test_normal_ints_are_truncated_and_saturate(kind: DType, mean: float, std: float, device: WgpuDevice) -> None:
    ours, theirs = drawn((4003,), Distribution.normal(mean, std), kind, device)
    # A number next to an integer may fall to its other side.
    gap = np.abs(ours.astype(object) - theirs.astype(object)).max()
    assert gap <= max(1, 1e-6 * std)


def test_a_longer_tensor_starts_with_the_shorter_one(device: WgpuDevice) -> None:
    for distribution in (Distribution.default(), Distribution.normal(0, 1)):
        B.seed(device, 5)
        long = down(B.float_random((300_001,), distribution, device, dt.F32))
        for n in (1, 2, 3, 4, 5, 255, 1025):
            B.seed(device, 5)
            assert equal(down(B.float_random((n,), distribution, device, dt.F32)), long[:n])


def test_numbers_do_not_depend_on_the_launch(device: WgpuDevice) -> None:
    shape = (40_003,)
    B.seed(device, 9)
    answer = down(B.float_random(shape, Distribution.default(), device, dt.F32))
    small = replace(device.capability, max_groups=7)
    plan = random_plan("uniform", shape, dt.F32, small)
    assert plan.launches[0].grid[1] > 1
    scalars = words(9, 0, 0, 0, 0.0, 1.0, float(np.nextafter(np.float32(1), np.float32(0))), 0)
    assert equal(down(run1(device, ("folded random",), lambda _: plan, (), scalars)), answer)


def test_seeds_and_calls(device: WgpuDevice) -> None:
    def draw() -> bytes:
        return bits(B.float_random((64,), Distribution.default(), device, dt.F32))

    B.seed(device, 1)
    first, second = draw(), draw()
    assert first != second
    B.seed(device, 1)
    assert (draw(), draw()) == (first, second)
    B.seed(device, 1 + (1 << 32))
    assert draw() != first
    # A call that draws nothing counts, whatever is drawn.
    B.seed(device, 1)
    B.int_random((0, 3), Distribution.default(), device, dt.I32)
    assert draw() == second


def test_a_device_that_nobody_seeded_draws_other_numbers_than_the_next() -> None:
    first, second = (bits(B.float_random((4,), Distribution.default(), WgpuDevice(0), dt.F32)) for _ in range(2))
    assert first != second


def test_threads_draw_different_calls(device: WgpuDevice) -> None:
    B.seed(device, 8)
    with ThreadPoolExecutor(4) as pool:
        tasks = [pool.submit(B.float_random, (16,), Distribution.default(), device, dt.F32) for _ in range(64)]
        found = {bits(task.result()) for task in tasks}
    assert len(found) == 64
    B.seed(device, 8)
    assert {bits(B.float_random((16,), Distribution.default(), device, dt.F32)) for _ in range(64)} == found


def kolmogorov_smirnov(values: np.ndarray, cumulative: np.ndarray) -> float:
    """√n · the largest distance between the sorted values' cumulative probabilities and their ranks."""
    n = len(values)
    ranks = np.arange(n + 1) / n
    return math.sqrt(n) * max(np.abs(cumulative - ranks[1:]).max(), np.abs(cumulative - ranks[:-1]).max())


def test_distributions(device: WgpuDevice) -> None:
    n = 50_000
    B.seed(device, 3)
    uniform = np.sort(down(B.float_random((n,), Distribution.default(), device, dt.F32)).astype(float))
    assert kolmogorov_smirnov(uniform, uniform) < 1.95  # exceeded by chance once in a thousand seeds
    assert uniform[0] >= 0.0 and uniform[-1] < 1.0
    normal = np.sort(down(B.float_random((n,), Distribution.normal(2, 3), device, dt.F32)).astype(float))
    standard = (normal - 2) / 3
    assert kolmogorov_smirnov(standard, np.array([0.5 * math.erfc(-x / math.sqrt(2)) for x in standard])) < 1.95
    assert abs(standard.mean()) < 4 / math.sqrt(n)
    assert abs(standard.var() - 1) < 4 * math.sqrt(2 / n)
    share = down(B.float_random((n,), Distribution.bernoulli(0.2), device, dt.F32)).mean()
    assert abs(share - 0.2) < 4 * math.sqrt(0.16 / n)
    counts = np.bincount(down(B.int_random((n,), Distribution.uniform(0, 10), device, dt.I32)), minlength=10)
    assert ((counts - n / 10) ** 2 / (n / 10)).sum() < 27.9  # chi squared of 9 degrees, one in a thousand


@pytest.mark.long
def test_normal_numbers_are_finite_over_many_draws(device: WgpuDevice) -> None:
    B.seed(device, 4)
    values = down(B.float_random((1 << 25,), Distribution.normal(0, 1), device, dt.F32))
    assert np.isfinite(values).all()
    assert 5.0 < np.abs(values).max() < 5.8  # √(2 · 24 ln 2) is the end of what 24 bits give
