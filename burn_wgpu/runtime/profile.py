"""How long the GPU works: timestamp queries around passes, or the wall clock where there are none."""

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


class Profiler:
    """Measures a client's work. Made once per client: it holds a query set and its buffers."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.available = client.capability.has("timestamp-query")
        self.used = 0
        if self.available:
            device = client.device
            self.queries = device.create_query_set(type="timestamp", count=2 * _PAIRS)
            self.resolved = device.create_buffer(size=16 * _PAIRS, usage=QUERY_RESOLVE | COPY_SRC)
            native = provider.raw()
            self.period_ns = (
                1.0 if native is None else float(native.lib.wgpuQueueGetTimestampPeriod(device.queue._internal))
            )

    def measure(self, function: Callable[[], Any]) -> Duration:
        """The time of everything that `function` records, including what it submits; waits for it."""
        stream = self.client.stream
        with stream.lock:
            stream.wait()
            if not self.available:
                start = time.perf_counter()
                function()
                stream.wait()
                return Duration(time.perf_counter() - start, False)
            self.used = 0
            stream.timestamps = self._next
            try:
                function()
                stream.flush()
            finally:
                stream.timestamps = None
            return Duration(self._read(), True)

    def _next(self) -> dict[str, Any]:
        pair = min(self.used, _PAIRS - 1)
        self.used += 1
        return {
            "query_set": self.queries,
            "beginning_of_pass_write_index": 2 * pair,
            "end_of_pass_write_index": 2 * pair + 1,
        }

    def _read(self) -> float:
        """The summed length of the measured passes, in seconds."""
        if self.used > _PAIRS:
            raise ArgumentError(f"profile: {self.used} passes were recorded, {_PAIRS} can be measured; do less at once")
        if not self.used:
            return 0.0
        client = self.client
        encoder = client.device.create_command_encoder()
        encoder.resolve_query_set(self.queries, 0, 2 * self.used, self.resolved, 0)
        client.device.queue.submit([encoder.finish()])
        ticks = client.stream.read(self.resolved, 16 * self.used).view(np.uint64)
        pairs = ticks.reshape(-1, 2).astype(np.int64)
        return float((pairs[:, 1] - pairs[:, 0]).clip(0).sum()) * self.period_ns * 1e-9
