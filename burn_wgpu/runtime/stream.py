"""The queue: one long compute pass a batch, submitted by count, by bytes or at a read; uploads and downloads.

Recording goes through raw calls where the wgpu-native version is known, because they cost a fifth; `finish` always goes
through the checked path, where every error of the recorded commands surfaces. Nothing invalid reaches `submit`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from burn_wgpu.runtime import provider
from burn_wgpu.runtime.memory import COPY_DST, COPY_SRC, MAP_READ, STORAGE, Block, Lease, Pool, size_class
from burn_wgpu.runtime.params import ParamStore, Slot
from burn_wgpu.runtime.pipeline import Pipeline
from burn_wgpu.shader import fault
from burn_wgpu.std.errors import DeviceLostError, KernelError

BATCH_LIMIT = 256
BATCH_BYTES = 1 << 30
PIECE = 16 << 20
FAULT_BYTES = 16
_SPIN_S = 300e-6


class Stream:
    """Records dispatches and copies in order; see `record`, `flush`, `upload`, `download`, `wait`."""

    def __init__(self, device: Any, pool: Pool, params: ParamStore, adapter: str, metal: bool = False) -> None:
        self.device = device
        self.queue = device.queue
        self.pool = pool
        self.params = params
        self.adapter = adapter
        self.metal = metal
        self.lock = threading.RLock()
        self.encoder: Any = None
        self.pass_: Any = None
        self.pass_handle: Any = None
        self.pipeline: Pipeline | None = None
        self.count = 0
        self.bytes = 0
        self.operations: list[str] = []
        self.failed: dict[int, str] = {}
        self.lost: str | None = None
        self.submissions = 0
        self.dispatches = 0
        self.staging: dict[int, list[Any]] = {}
        self.timestamps: Callable[[], dict[str, Any]] | None = None  # gives a pass's timestamp_writes
        self.faults = device.create_buffer(size=256, usage=STORAGE | COPY_SRC | COPY_DST)
        self.faults_dirty = False
        native = provider.raw()
        self.native = native
        if native is not None:
            self._set_pipeline = native.lib.wgpuComputePassEncoderSetPipeline
            self._set_group = native.lib.wgpuComputePassEncoderSetBindGroup
            self._dispatch = native.lib.wgpuComputePassEncoderDispatchWorkgroups
        pool.stream = self

    # Recording

    def record(self, pipeline: Pipeline, group: Any, slot: Slot, x: int, y: int, z: int, operation: str) -> None:
        """One dispatch. `group` is a bind group object (its raw handle is used on the raw path)."""
        with self.lock:
            handle = self.pass_handle
            if handle is None:
                handle = self.open_pass()
            if self.native is not None:
                if self.pipeline is not pipeline:
                    self._set_pipeline(handle, pipeline.handle)
                    self.pipeline = pipeline
                self._set_group(handle, 0, group._internal, 1, slot.pointer)
                self._dispatch(handle, x, y, z)
            else:
                if self.pipeline is not pipeline:
                    handle.set_pipeline(pipeline.gpu)
                    self.pipeline = pipeline
                handle.set_bind_group(0, group, [slot.offset])
                handle.dispatch_workgroups(x, y, z)
            self.operations.append(operation)
            self.count += 1
            if self.count >= BATCH_LIMIT:
                self.flush()

    def open_pass(self) -> Any:
        """Opens the batch's pass and gives what `record` needs of it."""
        if self.lost is not None:
            raise DeviceLostError(f"device: {self.adapter} was lost ({self.lost}); open a new Device")
        if self.encoder is None:
            self.encoder = self.device.create_command_encoder()
        if self.timestamps is not None:
            self.pass_ = self.encoder.begin_compute_pass(timestamp_writes=self.timestamps())
        else:
            self.pass_ = self.encoder.begin_compute_pass()
        self.pass_handle = self.pass_._internal if self.native is not None else self.pass_
        self.pipeline = None
        return self.pass_handle

    def copy(self, source: Any, target: Any, size: int, source_offset: int = 0, target_offset: int = 0) -> None:
        """Records a copy between two different GPU buffers; sizes and offsets are multiples of 4."""
        with self.lock:
            self._end_pass()
            if self.encoder is None:
                self.encoder = self.device.create_command_encoder()
            self.encoder.copy_buffer_to_buffer(source, source_offset, target, target_offset, size)
            self.count += 1

    def _end_pass(self) -> None:
        if self.pass_ is not None:
            self.pass_.end()
            self.pass_ = self.pass_handle = self.pipeline = None

    def flush(self) -> None:
        """Submits what has been recorded. Raises KernelError or DeviceLostError; then the batch's tensors are lost."""
        with self.lock:
            if self.encoder is None:
                return
            encoder, operations = self.encoder, self.operations
            batch = self.pool.batch
            self.pool.batch = batch + 1
            self.encoder, self.operations, self.count, self.bytes = None, [], 0, 0
            try:
                if self.pass_ is not None:
                    self.pass_.end()
                command = encoder.finish()
            except Exception as error:
                message = str(error).strip()
                names = ", ".join(dict.fromkeys(operations[-8:]))
                self.failed[batch] = message
                if "lost" in message.lower():
                    self.lost = message
                    raise DeviceLostError(f"{names}: the device {self.adapter} was lost ({message})") from error
                raise KernelError(f"{names}: the recorded commands were refused by {self.adapter}: {message}") from error
            finally:
                self.pass_ = self.pass_handle = self.pipeline = None
            self.queue.submit([command])
            self.submissions += 1
            self.dispatches += len(operations)
            self.params.submitted()

    def check(self, *leases: Lease) -> None:
        """Raises KernelError when a tensor was to be made by a batch that failed."""
        for lease in leases:
            message = self.failed.get(lease.batch)
            if message is not None:
                raise KernelError(f"read: the tensor was never computed, its batch was refused: {message}")

    # Uploads

    def upload(self, block: Block, data: Any, progress: Callable[[int], None] | None = None) -> None:
        """Bytes of a C-contiguous buffer to the start of a block that no unsubmitted command uses (`take_fresh`).

        Pieces of 16 MiB with a submission after each: the host never holds a second whole copy.
        """
        view = memoryview(data).cast("B")
        size = view.nbytes
        with self.lock:
            if size > PIECE and self.encoder is not None:
                self.flush()
            for start in range(0, size, PIECE):
                piece = view[start : start + PIECE]
                tail = piece.nbytes & 3
                if piece.nbytes - tail:
                    self.queue.write_buffer(block.gpu, start, piece[: piece.nbytes - tail])
                if tail:
                    self.queue.write_buffer(
                        block.gpu, start + piece.nbytes - tail, bytes(piece[piece.nbytes - tail :]).ljust(4, b"\0")
                    )
                if size > PIECE:
                    self.queue.submit([])
                if progress is not None:
                    progress(piece.nbytes)

    # Downloads

    def download(self, requests: list[tuple[Lease, int, int]]) -> list[np.ndarray]:
        """The bytes [start, start + size) of each lease, in one submission and one wait; start is a multiple of 4.

        Raises what a kernel reported meanwhile (an index out of range), and KernelError for a failed batch.
        """
        with self.lock:
            self.check(*(lease for lease, _, _ in requests))
            offsets, total = [], FAULT_BYTES
            for _, _, size in requests:
                offsets.append(total)
                total += -(-size // 16) * 16
            staging_size = max(size_class(total), 4096)
            ring = self.staging.setdefault(staging_size, [])
            staging = ring.pop() if ring else self.device.create_buffer(size=staging_size, usage=MAP_READ | COPY_DST)
            for (lease, start, size), offset in zip(requests, offsets, strict=True):
                assert lease.block is not None
                if size:
                    self.copy(lease.block.gpu, staging, -(-size // 4) * 4, start, offset)
            dirty = self.faults_dirty
            if dirty or not requests:  # the mapping waits only for submissions that write the staging buffer
                self.copy(self.faults, staging, FAULT_BYTES)
            self.flush()
            results: list[np.ndarray] = []
            report = np.zeros(4, np.uint32)

            def take(mapped: np.ndarray) -> None:
                if dirty:
                    report[:] = mapped[:FAULT_BYTES].view(np.uint32)
                for (_, _, size), offset in zip(requests, offsets, strict=True):
                    results.append(mapped[offset : offset + size].copy())

            self._map(staging, total, take)
            if len(ring) < 4:
                ring.append(staging)
            if dirty:
                self._raise_fault(report)
            return results

    def _raise_fault(self, report: np.ndarray) -> None:
        self.faults_dirty = False
        if report[0]:
            self.queue.write_buffer(self.faults, 0, bytes(FAULT_BYTES))
            raise fault.error(int(report[0]), int(report[1]), int(report[2]))

    def _map(self, staging: Any, size: int, take: Callable[[np.ndarray], None]) -> None:
        """Maps [0, size) for reading, hands the bytes over as an array valid only during the call, unmaps."""
        size = -(-size // 8) * 8
        native = self.native
        if native is None:
            staging.map_sync("READ", 0, size)
            try:
                take(np.frombuffer(staging.read_mapped(0, size, copy=False), np.uint8))
            finally:
                staging.unmap()
            return
        ffi, lib, libf = native.ffi, native.lib, native.libf
        waiter = _MapWaiter(ffi, lib)
        libf.wgpuBufferMapAsync(staging._internal, 1, 0, size, waiter.info[0])
        self._poll(lambda: waiter.done)
        if waiter.status != 1:
            raise KernelError(f"read: mapping a staging buffer failed with status {waiter.status} ({waiter.message})")
        pointer = lib.wgpuBufferGetConstMappedRange(staging._internal, 0, size)
        try:
            take(np.frombuffer(ffi.buffer(pointer, size), np.uint8))
        finally:
            lib.wgpuBufferUnmap(staging._internal)

    def _poll(self, done: Callable[[], bool]) -> None:
        """Polls until done: spins shortly, then waits in the driver (on Metal, whose waiting poll can hang, sleeps)."""
        lib, ffi = self.native.lib, self.native.ffi
        device = self.device._internal
        start = time.perf_counter()
        pause = 50e-6
        while not done():
            if time.perf_counter() - start < _SPIN_S:
                lib.wgpuDevicePoll(device, 0, ffi.NULL)
            elif self.metal:
                lib.wgpuDevicePoll(device, 0, ffi.NULL)
                time.sleep(pause)
                pause = min(pause * 1.5, 2e-3)
            else:
                lib.wgpuDevicePoll(device, 1, ffi.NULL)

    def wait(self) -> None:
        """Waits until everything submitted has run; raises what a kernel reported."""
        with self.lock:
            self.download([])


class _MapWaiter:
    """The callback of one mapping and what it said."""

    __slots__ = ("callback", "done", "info", "message", "status")

    def __init__(self, ffi: Any, lib: Any) -> None:
        self.done = False
        self.status = 0
        self.message = ""

        def arrived(status: int, message: Any, _one: Any, _two: Any) -> None:
            self.status = int(status)
            if message.data != ffi.NULL and message.length:
                self.message = ffi.unpack(message.data, min(message.length, 500)).decode(errors="replace")
            self.done = True

        self.callback = ffi.callback("void(WGPUMapAsyncStatus, WGPUStringView, void *, void *)", arrived)
        self.info = ffi.new("WGPUBufferMapCallbackInfo *")
        self.info.mode = lib.WGPUCallbackMode_AllowSpontaneous
        self.info.callback = self.callback

