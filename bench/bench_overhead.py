"""The CPU's cost of an operation under its budget: `pytest bench/bench_overhead.py` (see `overhead.py`)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bench import overhead
from burn_wgpu import Device, Tensor

pytestmark = pytest.mark.gpu


def test_every_operation_keeps_the_budget() -> None:
    rows = overhead.measure()["rows"]
    over = [row for row in rows if not row["within"]]
    assert len(rows) >= 12
    assert not over, over


@pytest.mark.parametrize("name", ["add", "exp", "mul_scalar", "matmul"])
def test_cost_of_one_call(benchmark: Callable[..., object], name: str) -> None:
    device = Device("wgpu")
    x = Tensor([[1.0, 2.0], [3.0, 4.0]], device=device)
    y = Tensor([[5.0, 6.0], [7.0, 8.0]], device=device)
    work = {"add": lambda: x + y, "exp": x.exp, "mul_scalar": lambda: x * 2.0, "matmul": lambda: x @ y}[name]
    work()
    benchmark.pedantic(work, setup=device.sync, rounds=500, warmup_rounds=100)
