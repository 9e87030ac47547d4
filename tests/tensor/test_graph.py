"""Captured closures, and many reads at once."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

import burn_wgpu as bw
from burn_wgpu import Device, Graph, Tensor, Transaction, capture


def test_a_capture_warms_up_three_times_and_keeps_the_fourth_run(device: Device) -> None:
    calls: list[Tensor] = []
    x = Tensor([1.0, 2.0, 3.0], device=device)

    def work() -> Tensor:
        calls.append(x * (len(calls) + 1))
        return calls[-1]

    graph = capture(device, work)
    assert isinstance(graph, Graph) and graph.device is device
    assert len(calls) == 4 and graph.output is calls[3]
    np.testing.assert_array_equal(graph.output.numpy(), [4, 8, 12])
    assert graph.replay() is calls[4] and graph.output is calls[4]
    np.testing.assert_array_equal(graph.output.numpy(), [5, 10, 15])


def test_the_warm_up_runs_are_waited_for(cpu: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    monkeypatch.setattr(type(cpu), "sync", lambda self: events.append("sync"))
    capture(cpu, lambda: events.append("run"))
    assert events == ["run", "sync"] * 3 + ["run"]


def test_a_graph_says_why_it_is_none_of_the_hardware(device: Device) -> None:
    graph = capture(device, lambda: None)
    assert graph.is_hardware is False
    assert str(device) in graph.capture_error and "cannot record" in graph.capture_error


def test_a_failing_replay_keeps_the_last_output(cpu: Device) -> None:
    broken = False

    def work() -> Tensor:
        if broken:
            raise RuntimeError("broken")
        return Tensor([1.0], device=cpu)

    graph = capture("cpu", work)
    before = graph.output
    broken = True
    with pytest.raises(RuntimeError, match="broken"):
        graph.replay()
    assert graph.output is before


def test_a_transaction_reads_all_kinds_in_order(device: Device) -> None:
    tensors = [
        Tensor([1.5, 2.5], device=device),
        Tensor([[1], [2]], device=device),
        Tensor([True, False], device=device),
        Tensor([3.5], device=device),
    ]
    other = Tensor([7], device="cpu")

    def filled() -> Transaction:
        transaction = Transaction()
        for tensor in (*tensors, other):
            assert transaction.register(tensor) is transaction
        return transaction

    want = [t.tolist() for t in (*tensors, other)]
    transaction = filled()
    assert [d.numpy().tolist() for d in transaction.execute()] == want
    assert transaction.execute() == []
    assert [d.numpy().tolist() for d in filled().try_execute()] == want
    assert [d.numpy().tolist() for d in asyncio.run(filled().execute_async())] == want


def test_the_names_are_public() -> None:
    assert {"Graph", "capture", "Transaction", "Tolerance", "assert_eq", "assert_approx_eq"} <= set(bw.__all__)
