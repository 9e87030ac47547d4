"""Several threads on one device."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from burn_wgpu.runtime.client import client_for

pytestmark = pytest.mark.gpu


def test_eight_threads_of_small_operations_and_reads(bench) -> None:
    b = bench.b
    shared = bench.make(np.arange(32))
    old = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)

    def work(number: int) -> list[float]:
        seen = []
        for i in range(200):
            x = bench.make(np.full(32, number))
            y = b.float_add_scalar(b.float_add(x, shared), float(i))
            if i % 8 == 0:
                y = b.float_cat([y, b.float_flip(y, [0])], 0)
            values = bench.read(y)
            assert np.array_equal(values[:32], np.arange(32, dtype=np.float32) + number + i), (number, i, values)
            seen.append(float(values[0]))
        return seen

    try:
        with ThreadPoolExecutor(8) as threads:
            results = list(threads.map(work, range(8)))
    finally:
        sys.setswitchinterval(old)
    assert results == [[float(n + i) for i in range(200)] for n in range(8)]
    assert bench.client.stream.failed == {}


def test_a_waiting_reader_does_not_hold_up_other_threads(bench, monkeypatch) -> None:
    """The lock is free during the wait: here the wait ends only after another thread has recorded and read."""
    ring = bench.client.stream.staging
    x = bench.make([1, 2])
    y = bench.b.float_add(x, x)
    other_done = threading.Event()
    real = ring.wait
    first = threading.Lock()

    def wait(staging: object, lost: Callable[[], BaseException | None]) -> None:
        if first.acquire(blocking=False):
            assert other_done.wait(20)
        real(staging, lost)

    monkeypatch.setattr(ring, "wait", wait)
    results: list[np.ndarray] = []
    reader = threading.Thread(target=lambda: results.append(bench.read(y)))
    reader.start()
    while not first.locked():
        pass
    np.testing.assert_array_equal(bench.read(bench.b.float_mul(x, x)), np.float32([1, 4]))
    other_done.set()
    reader.join()
    np.testing.assert_array_equal(results[0], np.float32([2, 4]))


def test_threads_that_open_the_device_get_the_same_one() -> None:
    with ThreadPoolExecutor(8) as threads:
        clients = list(threads.map(lambda _: client_for(0), range(8)))
    assert all(client is clients[0] for client in clients)


def test_faults_of_threads_are_not_lost(bench) -> None:
    """Each thread's out-of-range index is raised where its own result is read, whoever saw a report first."""
    from burn_wgpu.std import dtype as dt
    from burn_wgpu.std.data import TensorData
    from burn_wgpu.std.errors import IndexOutOfRange

    b = bench.b
    x = bench.make(np.arange(5))

    def work(i: int) -> bool:
        index = b.int_from_data(TensorData(np.array([1, 5 + i], np.int32), dt.I32), bench.d)
        try:
            bench.read(b.float_select(x, 0, index))
        except IndexOutOfRange:
            return True
        return False

    assert work(0) is True
    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(work, range(40)))
    np.testing.assert_array_equal(bench.read(x), np.arange(5, dtype=np.float32))


def test_the_portable_path_gives_the_same_results(script) -> None:
    text = """
        x = make(np.linspace(0, 2, 40).reshape(5, 8))
        y = b.float_exp(b.float_add_scalar(b.float_swap_dims(x, 0, 1), 0.5))
        z = b.float_matmul(x, y)
        for i in range(300):
            z = b.float_mul_scalar(z, 1.0 + i * 1e-5)
        print(d.client.stream.native is None, read(z).tobytes().hex())
        """
    raw: subprocess.CompletedProcess[str] = script(text)
    portable = script(text, BURN_WGPU_PORTABLE="1")
    assert raw.returncode == portable.returncode == 0, raw.stderr + portable.stderr
    assert portable.stdout.split()[0] == "True"
    assert raw.stdout.split()[1] == portable.stdout.split()[1]


@pytest.mark.parametrize("files", [["tests/runtime/test_transfer.py", "tests/runtime/test_memory.py"]])
def test_this_suite_passes_on_the_portable_path(files: list[str]) -> None:
    import os
    from pathlib import Path

    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files],
        cwd=Path(__file__).resolve().parents[2], env=os.environ | {"BURN_WGPU_PORTABLE": "1"},
        capture_output=True, text=True, timeout=250,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout[-3000:]
