"""Buffers that the host maps to read: a ring by size, and the wait for a mapping.

A mapping that was asked for is always finished or kept: its callback must live until wgpu has called it, whatever
exception (Ctrl-C included) ends the wait.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from burn_wgpu.runtime import provider
from burn_wgpu.runtime.memory import COPY_DST, MAP_READ
from burn_wgpu.std.errors import KernelError

LARGEST = 64 << 20
_SMALLEST = 4096
_KEPT_PER_SIZE = 4
_KEPT_BYTES = 4 * LARGEST
_SPIN_S = 300e-6
_PAUSE_S = 1e-3  # longest sleep between two looks; the first ones are a sixteenth of the time waited


class Staging:
    """A mappable buffer and the state of its mapping."""

    __slots__ = ("_callback", "_info", "done", "error", "gpu", "message", "promise", "size", "status")

    def __init__(self, device: Any, size: int) -> None:
        self.gpu = device.create_buffer(size=size, usage=MAP_READ | COPY_DST)
        self.size = size
        self.done = True
        self.status = 0
        self.message = ""
        self.error: BaseException | None = None
        self.promise: Any = None
        native = provider.raw()
        if native is not None:
            ffi = native.ffi
            self._callback = ffi.callback(
                "void(WGPUMapAsyncStatus, WGPUStringView, void *, void *)", self._arrived, onerror=self._interrupted
            )
            self._info = ffi.new("WGPUBufferMapCallbackInfo *")
            self._info.mode = native.lib.WGPUCallbackMode_AllowSpontaneous
            self._info.callback = self._callback

    def _arrived(self, status: int, message: Any, _one: Any, _two: Any) -> None:
        self.status = int(status)
        self.done = True
        if self.status != 1 and message.length:
            ffi = provider.raw().ffi  # type: ignore[union-attr]  # only the raw path has this callback
            if message.data != ffi.NULL:
                self.message = ffi.unpack(message.data, min(message.length, 500)).decode(errors="replace")

    def _interrupted(self, _kind: Any, error: BaseException, _traceback: Any) -> None:
        """Ctrl-C during a wait arrives inside the callback, where cffi would only print it."""
        self.error = error
        self.done = True

    def map(self, size: int) -> None:
        """Asks for [0, size), a multiple of 8; the bytes arrive with the submissions made before."""
        self.done, self.status, self.message, self.error = False, 0, "", None
        native = provider.raw()
        if native is None:
            self.promise = self.gpu.map_async("READ", 0, size)
        else:
            native.libf.wgpuBufferMapAsync(self.gpu._internal, 1, 0, size, self._info[0])

    def take(self, size: int, use: Callable[[np.ndarray], None]) -> None:
        """Hands over the mapped bytes, as an array that is valid only during the call, and unmaps."""
        native = provider.raw()
        if native is None:
            mapped: Any = self.gpu.read_mapped(0, size, copy=False)
        else:
            mapped = native.ffi.buffer(native.lib.wgpuBufferGetConstMappedRange(self.gpu._internal, 0, size), size)
        try:
            use(np.frombuffer(mapped, np.uint8))
        finally:
            del mapped
            if native is None:
                self.gpu.unmap()
            else:
                native.libf.wgpuBufferUnmap(self.gpu._internal)


class StagingRing:
    """Staging buffers kept by size (powers of two), bounded in bytes. Used with the stream's lock held."""

    def __init__(self, device: Any, lock: Any, adapter: str) -> None:
        self.device = device
        self.lock = lock
        self.adapter = adapter
        self.free: dict[int, list[Staging]] = {}
        self.kept_bytes = 0
        self.created = 0
        self.pending: list[Staging] = []  # given up while mapping

    def get(self, size_bytes: int) -> Staging:
        self._sweep()
        size = max(1 << (size_bytes - 1).bit_length(), _SMALLEST)
        free = self.free.setdefault(size, [])
        if free:
            self.kept_bytes -= size
            return free.pop()
        self.created += 1
        return Staging(self.device, size)

    def put(self, staging: Staging) -> None:
        """Gives back an unmapped buffer."""
        free = self.free.setdefault(staging.size, [])
        if len(free) < _KEPT_PER_SIZE and self.kept_bytes + staging.size <= _KEPT_BYTES:
            self.kept_bytes += staging.size
            free.append(staging)

    def abandon(self, staging: Staging) -> None:
        """Keeps a buffer whose mapping nobody waits for any more until wgpu has let go of it."""
        self.pending.append(staging)

    def _sweep(self) -> None:
        if self.pending:
            self.pending = [s for s in self.pending if not (s.promise is None and s.done)]

    def calm(self, lost: Callable[[], BaseException | None], submissions: Callable[[], int]) -> None:
        """Until the device has run what was submitted, or another thread submits more. For an adapter whose submissions
        wait in the driver for the ones before them, where no Ctrl-C arrives; here it does."""
        native = provider.raw()
        if native is None:
            return
        poll, device, null = native.lib.wgpuDevicePoll, self.device._internal, native.ffi.NULL
        start, before = time.perf_counter(), submissions()
        while submissions() == before:
            with self.lock:
                if poll(device, 0, null) & 0xFF:  # the queue is empty; only the lowest byte of the answer is defined
                    return
            waited = time.perf_counter() - start
            if waited > _SPIN_S:
                error = lost()
                if error is not None:
                    raise error
                time.sleep(min(waited / 16, _PAUSE_S))

    def wait(self, staging: Staging, lost: Callable[[], BaseException | None]) -> None:
        """Until the mapping arrived. Looks without blocking in the driver, so that Ctrl-C works and other threads can
        submit (a blocking poll of wgpu 29 holds up submissions, and on Metal it can hang)."""
        native = provider.raw()
        if native is None:
            staging.promise.sync_wait()
            staging.promise = None
            staging.done, staging.status = True, 1
            return
        poll, device, null = native.lib.wgpuDevicePoll, self.device._internal, native.ffi.NULL
        start = time.perf_counter()
        while not staging.done:
            with self.lock:
                poll(device, 0, null)
            if staging.done:
                break
            waited = time.perf_counter() - start
            if waited > _SPIN_S:
                error = lost()
                if error is not None:
                    raise error
                time.sleep(min(waited / 16, _PAUSE_S))
        if staging.error is not None:
            raise staging.error
        error = lost()
        if error is not None:
            raise error
        if staging.status != 1:
            raise KernelError(
                f"read: {self.adapter} could not map a staging buffer (status {staging.status}): {staging.message}"
            )
