"""The kernels of `burn-wgpu bench` under pytest-benchmark: `pytest bench/bench_kernels.py`.

The timed call is one kernel and a synchronisation; `extra_info` holds the GPU time by the device's own clock, the rates
and the share of the measured ceilings, with adapter and versions.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from burn_wgpu.backends.wgpu.backend import WgpuBackend
from burn_wgpu.backends.wgpu.tensor import WgpuDevice
from burn_wgpu.std.dtype import BF16, F16, F32, DType
from burn_wgpu.testing import bench


@pytest.fixture(scope="module")
def context() -> bench.Context:
    return bench.Context(WgpuBackend(), WgpuDevice())


@pytest.fixture(scope="module")
def ceilings(context: bench.Context) -> bench.Ceilings:
    return bench.ceilings(context)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [F32, F16, BF16], ids=str)
@pytest.mark.parametrize("name", bench.CASES)
def test_kernel(benchmark: Any, context: bench.Context, ceilings: bench.Ceilings, name: str, dtype: DType) -> None:
    case = bench.CASES[name]
    result = bench.measure(context, case, dtype, None, ceilings, budget_s=0.2)
    benchmark.extra_info |= asdict(result) | {"environment": bench.environment(context)}
    prepared = case.build(context, dtype, result.size)

    def call() -> None:
        prepared.work()
        context.backend.sync(context.handle)

    benchmark.pedantic(call, rounds=5, warmup_rounds=1)
    assert result.gb_s > 0
