"""Device time of recorded work."""

from __future__ import annotations

import numpy as np
import pytest

from burn_wgpu.runtime import profile as profile_module
from burn_wgpu.runtime.profile import Profiler
from burn_wgpu.std.errors import ArgumentError

pytestmark = pytest.mark.gpu


def test_more_work_takes_longer(bench) -> None:
    profiler = Profiler(bench.client)
    x = bench.make(np.zeros(1 << 18))
    bench.b.float_exp(x)

    def times(count: int) -> float:
        return min(profiler.measure(lambda: [bench.b.float_exp(x) for _ in range(count)]).seconds for _ in range(5))

    one, many = times(1), times(30)
    assert 0 < one < many
    assert profiler.measure(lambda: None).by_timestamps == bench.client.capability.has("timestamp-query")


def test_results_inside_a_measurement_stay_right(bench) -> None:
    profiler = Profiler(bench.client)
    x = bench.make(np.arange(8))
    kept = []
    profiler.measure(lambda: kept.append(bench.b.float_add(x, x)))
    np.testing.assert_array_equal(bench.read(kept[0]), 2 * np.arange(8, dtype=np.float32))


def test_too_many_passes_are_refused(bench, monkeypatch) -> None:
    if not bench.client.capability.has("timestamp-query"):
        pytest.skip("the adapter has no timestamps")
    monkeypatch.setattr(profile_module, "_PAIRS", 4)
    profiler = Profiler(bench.client)
    x = bench.make(np.arange(8))

    def work() -> None:
        for _ in range(6):
            bench.b.float_exp(x)
            bench.client.stream.flush()

    with pytest.raises(ArgumentError) as error:
        profiler.measure(work)
    assert str(error.value) == "profile: 6 passes were recorded, 4 can be measured; do less at once"
    assert bench.read(x)[3] == 3
