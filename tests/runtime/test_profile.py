"""Device time of recorded work."""

from __future__ import annotations

import numpy as np
import pytest

from burn_wgpu.contract.types import ProfileOptions
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


@pytest.fixture
def timed(bench):
    if not bench.client.capability.has("timestamp-query"):
        pytest.skip("the adapter has no timestamps")
    return bench


def test_a_window_holds_more_passes_than_a_query_set(timed, monkeypatch) -> None:
    monkeypatch.setattr(profile_module, "_PAIRS", 4)
    profiler = Profiler(timed.client)
    x = timed.make(np.arange(1 << 16))

    def work(passes: int) -> None:
        for _ in range(passes):
            timed.b.float_exp(x)
            timed.client.stream.flush()

    one = min(profiler.measure(lambda: work(1)).seconds for _ in range(4))
    assert profiler.measure(lambda: work(22)).seconds > 5 * one > 0
    assert len(profiler.sets) == 6
    assert timed.read(x)[3] == 3


def test_windows_nest_and_resolve_later(timed) -> None:
    b, handle = timed.b, timed.d
    x = timed.make(np.zeros(1 << 18))
    b.float_exp(x)
    outer = b.profile_start(handle)
    b.float_exp(x)
    inner = b.profile_start(handle)
    for _ in range(8):
        b.float_exp(x)
    of_inner = b.profile_end(handle, inner, ProfileOptions())
    b.float_exp(x)
    of_outer = b.profile_end(handle, outer, ProfileOptions(flush=True))
    b.float_exp(x)  # reuses the queries before anyone has asked
    assert timed.client.stream.timestamps is None
    assert 0 < of_inner.resolve() < of_outer.resolve()
    assert of_inner.resolve() == of_inner.resolve()


def test_a_window_in_which_nothing_ran_reads_as_no_time(timed) -> None:
    token = timed.b.profile_start(timed.d)
    assert timed.b.profile_end(timed.d, token, ProfileOptions()).resolve() == 0.0
    with pytest.raises(ArgumentError) as error:
        timed.b.profile_end(timed.d, token, ProfileOptions())
    assert str(error.value) == f"profile_end: the window {token.id} is not open; each is closed once"


def test_an_abandoned_window_leaves_nothing_behind(timed) -> None:
    token = timed.b.profile_start(timed.d)
    timed.b.profile_abandon(timed.d, token)
    timed.b.profile_abandon(timed.d, token)
    assert timed.client.stream.timestamps is None
    with pytest.raises(ZeroDivisionError):
        timed.b.profile(timed.d, ProfileOptions(), lambda: 1 / 0)
    assert timed.client.stream.timestamps is None


def test_profile_gives_the_output_and_the_time(bench) -> None:
    x = bench.make(np.zeros(1 << 16))
    output, duration = bench.b.profile(bench.d, ProfileOptions(), lambda: bench.b.float_exp(x))
    assert bench.read(output)[0] == 1.0
    assert duration.resolve() > 0
