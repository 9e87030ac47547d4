"""How long the GPU works: windows over passes, measured by timestamp queries.

While a window is open every pass writes its start and its end. Opening and closing a window submits what was recorded,
so that its borders are borders of passes; nothing is waited for until a measurement is asked for its seconds. Windows
nest.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from burn_wgpu.runtime import provider
from burn_wgpu.runtime.client import Client
from burn_wgpu.runtime.memory import COPY_SRC, QUERY_RESOLVE
from burn_wgpu.std.errors import ArgumentError

_PAIRS = 256


class Duration(NamedTuple):
    """Seconds, and whether the GPU's own clock measured them."""

    seconds: float
    by_timestamps: bool


class Measurement:
    """A closed window. Its ticks lie in buffers of its own, written when the GPU gets there."""

    def __init__(self, profiler: Profiler, parts: list[tuple[Any, int]]) -> None:
        self._profiler = profiler
        self._parts = parts
        self._seconds: float | None = None

    def resolve(self) -> float:
        """The summed length of the window's passes in seconds; waits for them at the first call. 0 when none ran."""
        if self._seconds is None:
            ticks = 0
            for gpu, pairs in self._parts:
                read = (
                    self._profiler.client.stream.read(gpu, 16 * pairs).view(np.uint64).reshape(-1, 2).astype(np.int64)
                )
                ticks += int((read[:, 1] - read[:, 0]).clip(0).sum())
            self._seconds = ticks * self._profiler.period_ns * 1e-9
            self._parts = []
        return self._seconds


class Profiler:
    """Measures a client's work; see `profiler_of`. It holds query sets, as many as the longest window needed."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.available = client.capability.has("timestamp-query")
        self.sets: list[Any] = []
        self.used = 0
        self.windows: dict[int, int] = {}
        self.opened = 0
        native = provider.raw()
        self.period_ns = 1.0
        if self.available and native is not None:
            self.period_ns = float(native.lib.wgpuQueueGetTimestampPeriod(client.device.queue._internal))

    def start(self) -> int:
        """Opens a window at the queue's position; gives its number. Needs `available`."""
        stream = self.client.stream
        with stream.lock:
            stream.flush()
            if not self.windows:
                self.used = 0
            stream.timestamps = self._next
            self.opened += 1
            self.windows[self.opened] = self.used
            return self.opened

    def end(self, window: int) -> Measurement:
        """Closes a window. Raises ArgumentError for one that is not open."""
        stream = self.client.stream
        with stream.lock:
            if window not in self.windows:
                raise ArgumentError(f"profile_end: the window {window} is not open; each is closed once")
            stream.flush()
            first = self.windows.pop(window)
            if not self.windows:
                stream.timestamps = None
            return Measurement(self, self._resolved(first, self.used))

    def abandon(self, window: int) -> None:
        """Drops a window; one that is not open is no fault."""
        stream = self.client.stream
        with stream.lock:
            self.windows.pop(window, None)
            if not self.windows:
                stream.timestamps = None

    def measure(self, function: Callable[[], Any]) -> Duration:
        """The time of everything that `function` records; waits for it. The wall clock where there are no queries."""
        stream = self.client.stream
        with stream.lock:
            stream.wait()
            if not self.available:
                start = time.perf_counter()
                function()
                stream.wait()
                return Duration(time.perf_counter() - start, False)
            window = self.start()
            try:
                function()
            except BaseException:
                self.abandon(window)
                raise
            return Duration(self.end(window).resolve(), True)

    def _next(self) -> dict[str, Any]:
        """The timestamp writes of the next pass."""
        chunk, pair = divmod(self.used, _PAIRS)
        if chunk == len(self.sets):
            self.sets.append(self.client.device.create_query_set(type="timestamp", count=2 * _PAIRS))
        self.used += 1
        return {
            "query_set": self.sets[chunk],
            "beginning_of_pass_write_index": 2 * pair,
            "end_of_pass_write_index": 2 * pair + 1,
        }

    def _resolved(self, first: int, last: int) -> list[tuple[Any, int]]:
        """Submits the copies of the ticks of passes [first, last) into fresh buffers."""
        parts = []
        device = self.client.device
        encoder = device.create_command_encoder()
        while first < last:
            chunk, pair = divmod(first, _PAIRS)
            pairs = min(last - first, _PAIRS - pair)
            gpu = device.create_buffer(size=16 * pairs, usage=QUERY_RESOLVE | COPY_SRC)
            encoder.resolve_query_set(self.sets[chunk], 2 * pair, 2 * pairs, gpu, 0)
            parts.append((gpu, pairs))
            first += pairs
        if parts:
            device.queue.submit([encoder.finish()])
        return parts


def profiler_of(client: Client) -> Profiler:
    """The client's profiler: one, because a pass can write one pair of timestamps."""
    if client.profiler is None:
        client.profiler = Profiler(client)
    return client.profiler  # type: ignore[no-any-return]
