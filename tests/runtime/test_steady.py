"""A repeated operation makes nothing new, and what varies without end stays bounded."""

from __future__ import annotations

import resource
import sys

import numpy as np
import pytest

from burn_wgpu.backends.wgpu import tensor as tensor_module
from burn_wgpu.backends.wgpu.backend import WgpuBackend
from burn_wgpu.contract.declare import elementwise_functions
from burn_wgpu.runtime import client as client_module
from burn_wgpu.runtime import params as params_module
from burn_wgpu.runtime import stream as stream_module

pytestmark = pytest.mark.gpu


def step(bench, x, weights, rate: float):
    """Forward, a made-up gradient and an update of a perceptron with two layers; gives the new weights."""
    b = bench.b
    one, two = weights
    h = b.relu(b.float_matmul(x, one))
    y = b.float_sub(b.float_matmul(h, two), x)
    grad_two = b.float_matmul(b.float_transpose(h), y)
    back = b.float_mul(b.float_matmul(y, b.float_transpose(two)), b.float_sign(h))
    grad_one = b.float_matmul(b.float_transpose(x), back)
    return (
        b.float_sub(one, b.float_mul_scalar(grad_one, rate)),
        b.float_sub(two, b.float_mul_scalar(grad_two, rate)),
    )


def test_a_thousand_steps_create_nothing_after_the_tenth(bench) -> None:
    rng = np.random.default_rng(0)
    x = bench.make(rng.standard_normal((8, 16)))
    weights = (bench.make(rng.standard_normal((16, 32)) / 4), bench.make(rng.standard_normal((32, 16)) / 4))
    counts = bench.client.counts
    for i in range(1000):
        weights = step(bench, x, weights, 1e-3)
        if i % 50 == 9:
            bench.b.float_into_data(weights[0])
        if i == 9:
            warm = counts()
    end = counts()
    assert {k: end[k] - warm[k] for k in ("buffers", "bind_groups", "pipelines")} == {
        "buffers": 0, "bind_groups": 0, "pipelines": 0,
    }  # fmt: skip
    assert end["dispatches"] - warm["dispatches"] >= 990 * 11
    assert np.isfinite(bench.read(weights[0])).all()


def test_five_thousand_shapes_stay_bounded(bench, monkeypatch) -> None:
    b, client = bench.b, bench.client
    monkeypatch.setattr(tensor_module, "_KEPT_PLANS", 512)
    monkeypatch.setattr(client_module, "_KEPT_GROUPS", 512)
    monkeypatch.setattr(params_module, "_SLOTS_PER_ARENA", 256)

    def some(start: int, count: int) -> None:
        for n in range(start, start + count):
            x = b.float_full((n,), n, bench.d, _f32())
            y = b.float_add(b.float_reshape(x, (1, n)), b.float_slice(b.float_reshape(x, (1, n)), []))
            if n % 500 == 0:
                assert bench.read(y)[0, -1] == 2 * n

    some(1, 1000)
    before = _resident()
    some(1001, 4000)
    assert len(bench.d.plans) <= 512 and len(client.groups) <= 512
    slots = (512 + params_module._KEPT_SCALARS + 2 * stream_module.BATCH_LIMIT) // 256 + 2
    assert len(client.params.arenas) <= slots
    assert len(client.params.by_content) <= 512 + params_module._KEPT_SCALARS + stream_module.BATCH_LIMIT
    assert len(client.pool.free) < 100 and client.pool.reserved < 8 << 20
    assert client.pipelines.created < 20
    if sys.platform == "linux":
        assert _resident() - before < 64 << 20


def _resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def _f32():
    from burn_wgpu.std.dtype import F32

    return F32


def test_ten_thousand_scalars_are_right_and_take_few_slots(bench) -> None:
    b, store = bench.b, bench.client.params
    x = bench.make(np.arange(4))
    kept = []
    for i in range(10_000):
        y = b.float_add_scalar(x, i * 0.5)
        if i % 97 == 0:
            kept.append((i, y))
    for i, y in kept:
        np.testing.assert_array_equal(bench.read(y), np.arange(4, dtype=np.float32) + np.float32(i * 0.5))
    assert len(store.arenas) == 1
    assert len(store.recent) <= params_module._KEPT_SCALARS


def test_a_slot_is_not_written_while_a_waiting_dispatch_reads_it(bench, monkeypatch) -> None:
    monkeypatch.setattr(params_module, "_KEPT_SCALARS", 100)  # so that slots die soon
    monkeypatch.setattr(params_module, "_SLOTS_PER_ARENA", 32)
    b = bench.b
    x = bench.make(np.zeros(4))
    results = [b.float_add_scalar(x, float(i)) for i in range(500)]
    for i, y in enumerate(results):
        assert bench.read(y)[0] == i
    arenas = len(bench.client.params.arenas)
    assert arenas > 1  # several arenas were in use, each with its own bind groups
    for i in range(500, 1000):
        b.float_add_scalar(x, float(i))
    assert len(bench.client.params.arenas) <= arenas + 1


def test_slots_that_no_command_ever_used_come_back(bench, monkeypatch) -> None:
    monkeypatch.setattr(params_module, "_SLOTS_PER_ARENA", 64)
    store = bench.client.params
    for i in range(1000):
        store.slot(i.to_bytes(4, "little"))
    assert len(store.arenas) <= 2


def test_equal_parameters_share_a_slot(bench) -> None:
    one, two = bench.client.params.slot(b"12345678"), bench.client.params.slot(b"12345678")
    assert one is two
    assert bench.client.params.slot(b"12345679") is not one


def test_batches_are_submitted_by_count_and_by_bytes(bench, monkeypatch) -> None:
    b, stream = bench.b, bench.client.stream
    x = bench.make(np.zeros(64))
    b.float_exp(x)
    stream.flush()
    before = stream.submissions
    for _ in range(stream_module.BATCH_LIMIT - 1):
        b.float_exp(x)
    assert stream.submissions == before
    b.float_exp(x)
    assert stream.submissions == before + 1 and stream.encoder is None
    monkeypatch.setattr(client_module, "BATCH_BYTES", 1 << 16)
    big = bench.make(np.zeros(1 << 12))  # 16 KiB
    for _ in range(8):
        b.float_sinh(big)
    assert stream.submissions >= before + 2


def test_the_host_does_not_run_ahead_without_end(bench, monkeypatch) -> None:
    monkeypatch.setattr(stream_module, "_IN_FLIGHT", 4)
    stream = bench.client.stream
    created = stream.staging.created
    y = x = bench.make(np.zeros(16))
    for _ in range(40):
        y = bench.b.float_add(y, x)
        stream.flush()
    assert stream._fence is not None and stream.staging.created <= created + 2
    np.testing.assert_array_equal(bench.read(y), np.zeros(16, np.float32))


def test_an_operand_may_be_bound_twice(bench) -> None:
    x = bench.make(np.arange(10))
    np.testing.assert_array_equal(bench.read(bench.b.float_mul(x, x)), np.arange(10, dtype=np.float32) ** 2)
    y = bench.b.float_add(bench.b.float_flip(x, [0]), x)
    np.testing.assert_array_equal(bench.read(y), np.full(10, 9, np.float32))


def test_dropped_caches_do_not_disturb_waiting_commands(bench) -> None:
    """Bind groups, plans and pipelines may be dropped while a pass that uses them is open."""
    b = bench.b
    x = bench.make(np.arange(6))
    y = b.float_add_scalar(b.float_sqrt(x), 2.0)
    bench.d.plans.clear()
    bench.client.groups.clear()
    bench.client.pipelines.pipelines.clear()
    bench.client.params.recent.clear()
    np.testing.assert_allclose(bench.read(y), np.sqrt(np.arange(6, dtype=np.float32)) + 2, rtol=1e-6)


def test_zero_sized_work_records_nothing(bench) -> None:
    b = bench.b
    x = bench.make(np.zeros((0, 3)))
    before = bench.client.counts()["dispatches"]
    assert bench.read(b.float_add(x, x)).shape == (0, 3)
    assert bench.read(b.float_cat([x, x], 0)).shape == (0, 3)
    assert bench.client.counts()["dispatches"] == before


def test_every_elementwise_function_of_the_contract_is_there() -> None:
    for name in elementwise_functions(WgpuBackend):
        assert not hasattr(getattr(WgpuBackend, name), "elementwise"), name
