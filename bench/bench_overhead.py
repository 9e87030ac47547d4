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
def test_cost_of_calls_of_one_batch(benchmark: Callable[..., object], name: str) -> None:
    """`overhead.CALLS` calls a round; what they recorded is submitted between the rounds."""
    device = Device("wgpu")
    x = Tensor([[1.0, 2.0], [3.0, 4.0]], device=device)
    y = Tensor([[5.0, 6.0], [7.0, 8.0]], device=device)
    work = {"add": lambda: x + y, "exp": x.exp, "mul_scalar": lambda: x * 2.0, "matmul": lambda: x @ y}[name]

    def many() -> None:
        for _ in range(overhead.CALLS):
            work()

    benchmark.pedantic(many, setup=device.sync, rounds=40, warmup_rounds=2)
