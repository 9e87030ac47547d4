"""The queue: one long compute pass a batch, submitted by count, by bytes or at a read; uploads and downloads.

Recording goes through raw calls where the wgpu-native version is known, because they cost a fifth; `finish` always goes
through the checked path, where every error of the recorded commands surfaces. Nothing invalid reaches `submit`: a batch
whose recording or finishing was cut off by any exception, Ctrl-C included, is dropped, and its tensors say so when they
are used. What remains is a device that is lost in the microseconds between `finish` and `submit`: wgpu-native 29 ends
the process there, and only a newer one can change that.

Any thread may record, read and write; one lock orders them. It is not held while the host waits for the device.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from burn_wgpu.runtime import provider
from burn_wgpu.runtime.memory import COPY_DST, COPY_SRC, STORAGE, Block, Lease, Pool
from burn_wgpu.runtime.params import ParamStore, Slot
from burn_wgpu.runtime.pipeline import Pipeline
from burn_wgpu.runtime.staging import LARGEST, Staging, StagingRing
from burn_wgpu.shader import fault
from burn_wgpu.std.errors import BurnError, DeviceError, DeviceLostError, KernelError

BATCH_LIMIT = 256
BATCH_BYTES = 256 << 20  # written by a batch before it is submitted: milliseconds of work, and the device waits for it
PIECE = 16 << 20
FAULT_BYTES = 16
_IN_FLIGHT = 64  # submissions between two fences; the host runs at most twice as many ahead of the device
FORKED = (
    "device: this process was forked after the GPU was opened, where every wait would hang; "
    "start workers with multiprocessing's 'spawn'"
)


class Window:
    """The work between two reads in which kernels could report a data fault, until a read tells whether one did.

    The device has one report for all of it, so what any of these kernels made, and what was made of that, is suspect;
    `report` is (code, index, size, high half of the index) once it is known to be wrong.
    """

    __slots__ = ("report", "resolved")

    def __init__(self) -> None:
        self.report: tuple[int, int, int, int] | None = None
        self.resolved = False


class Tainted(int):
    """The batch number of a lease whose content depends on what `windows` report."""

    windows: tuple[Window, ...]


def taint(leases: list[Lease], windows: tuple[Window, ...]) -> None:
    """Marks what was just recorded as depending on these windows."""
    for lease in leases:
        batch = lease.batch = Tainted(lease.batch)
        batch.windows = windows


class _Transfer:
    """A download under way: which pieces of which results lie where in a mapped staging buffer.

    windows  those that the fault words at its head tell about
    """

    __slots__ = ("pieces", "size", "staging", "windows")

    def __init__(
        self, staging: Staging, size: int, pieces: list[tuple[np.ndarray, int, int]], windows: list[Window]
    ) -> None:
        self.staging = staging
        self.size = size
        self.pieces = pieces  # (target bytes, offset in the staging buffer, length)
        self.windows = windows


class Stream:
    """Records dispatches and copies in order; see `record`, `flush`, `upload`, `download`, `wait`."""

    def __init__(self, device: Any, pool: Pool, params: ParamStore, adapter: str) -> None:
        self.device = device
        self.queue = device.queue
        self.pool = pool
        self.params = params
        self.adapter = adapter
        self.lock = threading.RLock()
        self.encoder: Any = None
        self.pass_: Any = None
        self.pass_handle: Any = None
        self.pipeline: Pipeline | None = None
        self.fill = 0.0  # share of the batch that is recorded; 1 submits it
        self.operations: list[str] = []
        self.failed: dict[int, str] = {}
        self.lost: str | None = None
        self.forked = False
        self.submissions = 0
        self.dispatches = 0
        self.timestamps: Callable[[], dict[str, Any]] | None = None  # gives a pass's timestamp_writes
        self.staging = StagingRing(device, self.lock, adapter)
        self.staging.put(self.staging.get(FAULT_BYTES))  # so that waiting under memory pressure needs no new buffer
        self.faults = device.create_buffer(size=256, usage=STORAGE | COPY_SRC | COPY_DST)
        self.software = False  # a submission waits in the driver for the one before it
        self.watch = False  # a batch failed, a fault was reported or may have been: `Task.run` must look at its inputs
        self._faulty = False
        self._window: Window | None = None  # of the flagged tasks recorded since the last read began
        self._open: list[Window] = []  # not yet told
        self._submitting = False
        self._staged = 0  # bytes of uploads since the last submission
        self._fence: Staging | None = None
        self._fence_at = 0
        native = provider.raw()
        self.native = native
        if native is not None:
            self.set_pipeline = native.lib.wgpuComputePassEncoderSetPipeline
            self.set_group = native.lib.wgpuComputePassEncoderSetBindGroup
            self.dispatch = native.lib.wgpuComputePassEncoderDispatchWorkgroups
        pool.stream = self
        params.reclaim = self.flush

    # Recording

    def record(
        self, pipeline: Pipeline, group: Any, slot: Slot, x: int, y: int, z: int, operation: str, weight: float
    ) -> None:
        """One dispatch; the caller holds the lock. `group` is a bind group object; weight is its share of a batch."""
        handle = self.pass_handle
        if handle is None:
            handle = self.open_pass(operation)
        if self.native is not None:
            if self.pipeline is not pipeline:
                self.pipeline = None  # an exception between the two lines must not leave a wrong memory
                self.set_pipeline(handle, pipeline.handle)
                self.pipeline = pipeline
            self.set_group(handle, 0, group._internal, 1, slot.pointer)
            self.dispatch(handle, x, y, z)
        else:
            if self.pipeline is not pipeline:
                self.pipeline = None
                handle.set_pipeline(pipeline.gpu)
                self.pipeline = pipeline
            handle.set_bind_group(0, group, [slot.offset])
            handle.dispatch_workgroups(x, y, z)
        self.operations.append(operation)
        self.fill += weight
        if self.fill >= 1.0:
            self.flush()

    def open_pass(self, operation: str) -> Any:
        """Opens the batch's pass and gives what `record` needs of it."""
        try:
            self._open_encoder(operation)
            if self.timestamps is not None:
                self.pass_ = self.encoder.begin_compute_pass(timestamp_writes=self.timestamps())
            else:
                self.pass_ = self.encoder.begin_compute_pass()
        except Exception as error:
            raise self._explain(error, operation) from error
        self.pipeline = None
        self.pass_handle = self.pass_._internal if self.native is not None else self.pass_
        return self.pass_handle

    def _open_encoder(self, operation: str) -> None:
        if self.encoder is None:
            self.check_alive(operation)
            self.encoder = self.device.create_command_encoder()

    def copy(self, source: Any, target: Any, size: int, source_offset: int = 0, target_offset: int = 0) -> None:
        """Records a copy between two different GPU buffers; sizes and offsets are multiples of 4."""
        with self.lock:
            try:
                self._end_pass()
                self._open_encoder("copy")
                self.encoder.copy_buffer_to_buffer(source, source_offset, target, target_offset, size)
            except Exception as error:
                raise self._explain(error, "copy") from error

    def _end_pass(self) -> None:
        pass_ = self.pass_
        if pass_ is not None:
            self.pass_ = self.pass_handle = self.pipeline = None
            pass_.end()

    def flush(self) -> None:
        """Submits what has been recorded. Raises KernelError or DeviceLostError; then the batch's tensors are lost."""
        with self.lock:
            if self.encoder is not None:
                if not self._submitting:  # else a finalizer records during a submission: the next flush takes it along
                    self._submit()
            elif self.params.dying:
                self.params.submitted()
            if provider.unraised:
                raise self._unraised("flush")

    def _submit(self) -> None:
        encoder, pass_, operations, batch = self.encoder, self.pass_, self.operations, self.pool.batch
        sent = False
        try:
            self._submitting = True
            self._reset(batch + 1)
            if self.forked:
                raise DeviceError(FORKED)
            if pass_ is not None:
                pass_.end()
            command = encoder.finish()
            if provider.unraised:  # an error of a raw call: the batch is not what was asked for
                raise self._unraised(_names(operations))
            self.queue.submit([command])
            sent = True
            self._staged = 0
        except BaseException as error:
            self._reset(batch + 1)
            if not sent:
                self.failed[batch] = str(error).strip() or type(error).__name__
                self.watch = True
            if isinstance(error, Exception):
                raise self._explain(error, _names(operations)) from error
            raise
        finally:
            self._submitting = False
        self.submissions += 1
        self.dispatches += len(operations)
        self.params.submitted()
        if provider.unraised:
            late = self._unraised(_names(operations))
            self.failed[batch] = str(late)
            self.watch = True
            raise late
        if self.submissions - self._fence_at >= _IN_FLIGHT:
            self._throttle()

    def _reset(self, batch: int) -> None:
        """Nothing is recorded; the next command opens a new batch."""
        self.encoder = self.pass_ = self.pass_handle = self.pipeline = None
        self.operations = []
        self.fill = 0.0
        if self.pool.batch < batch:
            self.pool.batch = batch

    def _throttle(self) -> None:
        """Waits for the fence set some submissions ago and sets a new one: a host that runs ahead without end would
        pile up submissions and their memory."""
        self._fence_at = self.submissions
        fence, self._fence = self._fence, None
        try:
            if fence is not None:
                self.staging.wait(fence, self.lost_error)
                fence.take(FAULT_BYTES, lambda _: None)
            else:
                fence = self.staging.get(FAULT_BYTES)
            encoder = self.device.create_command_encoder()
            encoder.copy_buffer_to_buffer(self.faults, 0, fence.gpu, 0, FAULT_BYTES)
            self.queue.submit([encoder.finish()])
            fence.map(FAULT_BYTES)
            self._fence = fence
        except BaseException as error:
            if fence is not None and not fence.done:
                self.staging.abandon(fence)
            if isinstance(error, Exception):
                raise self._explain(error, "submit") from error
            raise

    # Errors

    def check(self, *leases: Lease) -> None:
        """Raises when a tensor was to be made by a batch that failed, or depends on a data fault that was reported."""
        for lease in leases:
            batch = lease.batch
            if type(batch) is Tainted:
                for window in batch.windows:
                    if window.report is not None:
                        raise fault.error(*window.report)
            message = self.failed.get(batch)
            if message is not None:
                kind = DeviceLostError if self.lost is not None else KernelError
                raise kind(f"read: the tensor was never computed, because its batch failed: {message}")

    def flagged(self) -> Window:
        """The window of a task that is being recorded and whose kernels may report a fault. Needs the lock."""
        window = self._window
        if window is None:
            window = self._window = Window()
            self._open.append(window)
            self.watch = True
        return window

    def suspects(self, leases: tuple[Lease, ...]) -> tuple[Window, ...]:
        """The untold windows that these tensors depend on; raises as `check`."""
        self.check(*leases)
        found: dict[Window, None] = {}
        for lease in leases:
            if type(lease.batch) is Tainted:
                found.update((w, None) for w in lease.batch.windows if not w.resolved)
        return tuple(found)

    def _settle(self, windows: list[Window], report: tuple[int, int, int, int]) -> BurnError | None:
        """What a read saw in the fault words, after all work of these windows; gives the error if it is news.

        The device keeps the first report, so every window up to now may hold a later fault that was not told, and all
        of them are wrong; the words are cleared before whatever is recorded next.
        """
        news = [w for w in windows if not w.resolved]
        if not news:
            return None
        if report[0] == 0:
            for window in news:
                window.resolved = True
            self._open = [w for w in self._open if not w.resolved]
            self.watch = bool(self.failed or self._faulty or self._open)
            return None
        for window in self._open:
            window.report, window.resolved = report, True
        self._open, self._window, self._faulty = [], None, True
        self._end_pass()
        self._open_encoder("read")
        self.encoder.clear_buffer(self.faults, 0, FAULT_BYTES)
        return fault.error(*report)

    def check_alive(self, operation: str) -> None:
        """Raises what makes the device unusable, or what wgpu could not raise earlier."""
        if self.forked:
            raise DeviceError(FORKED)
        if provider.unraised:
            raise self._unraised(operation)
        if self.lost is not None:
            raise provider.told(f"device lost: {self.lost}", operation, self.adapter)

    def lost_error(self) -> BurnError | None:
        """The error of a device that is gone, if it is."""
        if provider.unraised:
            return self._unraised("wait")
        return None if self.lost is None else provider.told(f"device lost: {self.lost}", "wait", self.adapter)

    def _unraised(self, what: str) -> BurnError:
        messages = []
        while provider.unraised:
            messages.append(provider.unraised.popleft())
        return self._explain(provider.told("\n".join(dict.fromkeys(messages)), what, self.adapter), what)

    def _explain(self, error: Exception, what: str) -> BurnError:
        told = provider.explain(error, what, self.adapter)
        if isinstance(told, DeviceLostError) and self.lost is None:
            provider.unraised.clear()  # the same news by other ways
            self.lost = " ".join(str(error).split())
        return told

    # Uploads

    def upload(self, block: Block, data: Any, progress: Callable[[int], None] | None = None) -> None:
        """Bytes of a C-contiguous buffer to the start of a block that no unsubmitted command uses (`take_fresh`).

        Pieces of 16 MiB, and a submission after as many bytes, of one tensor or of many: WebGPU holds a copy of every
        host write until the device has taken it, so the host waits for the piece before the last one and never holds
        a second whole copy.
        """
        view = memoryview(data).cast("B")
        size = view.nbytes
        with self.lock:
            if size > PIECE and self.encoder is not None:
                self.flush()
            self.check_alive("from_data")
            try:
                for start in range(0, size, PIECE):
                    piece = view[start : start + PIECE]
                    whole = piece.nbytes & ~3
                    if whole:
                        self.queue.write_buffer(block.gpu, start, piece[:whole])
                    if whole < piece.nbytes:
                        self.queue.write_buffer(block.gpu, start + whole, bytes(piece[whole:]).ljust(4, b"\0"))
                    self._staged += piece.nbytes
                    if self._staged >= PIECE:
                        self._staged = 0
                        self._throttle()
                    if progress is not None:
                        progress(piece.nbytes)
            except Exception as error:
                raise self._explain(error, "from_data") from error

    # Downloads

    def download(self, requests: list[tuple[Lease, int, int]]) -> list[np.ndarray]:
        """The bytes [start, start + size) of each lease; start is a multiple of 4. One submission and one wait up to
        64 MiB; more go in pieces of that, the next one copied while the host takes the last.

        Raises what a kernel reported meanwhile (an index out of range): the first read after it whatever it reads, and
        every read of a tensor that may depend on it. Raises KernelError for a failed batch.
        """
        if self.watch:
            self.check(*(lease for lease, _, _ in requests))
        results = [np.empty(size, np.uint8) for _, _, size in requests]
        found: BurnError | None = None
        waiting: deque[_Transfer] = deque()
        try:
            for pieces in _pieces(requests, results):
                if self.software:
                    self.staging.calm(self.lost_error, lambda: self.submissions)
                waiting.append(self._begin(pieces))
                if len(waiting) > 1:
                    found = self._finish(waiting[0]) or found
                    waiting.popleft()
            while waiting:
                found = self._finish(waiting[0]) or found
                waiting.popleft()
        finally:
            for transfer in waiting:
                self.staging.abandon(transfer.staging)
        if self.watch:
            self.check(*(lease for lease, _, _ in requests))  # another thread may have seen the report first
        if found is not None:
            raise found
        return results

    def _begin(self, pieces: list[tuple[Lease, int, np.ndarray]], ask: bool = True) -> _Transfer:
        """Copies pieces (lease, first byte, target) to a staging buffer, submits, asks for the mapping.

        ask  whether to look at the fault words: they are cleared only once a read saw something there, so a read that
             is broken off loses nothing
        """
        with self.lock:
            self.check_alive("read")
            total = FAULT_BYTES
            placed: list[tuple[np.ndarray, int, int]] = []
            for _, _, target in pieces:
                placed.append((target, total, target.nbytes))
                total += -(-target.nbytes // 16) * 16
            try:
                staging = self.staging.get(total)
            except Exception as error:
                raise self._explain(error, "read") from error
            try:
                for (lease, start, _), (_, offset, size) in zip(pieces, placed, strict=True):
                    assert lease.block is not None
                    self.copy(lease.block.gpu, staging.gpu, -(-size // 4) * 4, start, offset)
                windows = list(self._open) if ask else []
                if windows or not pieces:  # the mapping waits only for submissions that write the staging buffer
                    self.copy(self.faults, staging.gpu, FAULT_BYTES)
                if windows:
                    self._window = None  # what is recorded from here on is not told by this copy
                self.flush()
                if self.encoder is not None:
                    raise DeviceError("read: a finalizer read a tensor during a submission; read outside of finalizers")
                staging.map(total)
            except BaseException as error:
                if staging.done:
                    self.staging.put(staging)
                else:
                    self.staging.abandon(staging)
                if isinstance(error, Exception):
                    raise self._explain(error, "read") from error
                raise
            return _Transfer(staging, total, placed, windows)

    def _finish(self, transfer: _Transfer) -> BurnError | None:
        """Waits for the mapping and takes the bytes; gives a data fault that a kernel reported."""
        staging = transfer.staging
        try:
            self.staging.wait(staging, self.lost_error)
            report = np.zeros(4, np.uint32)

            def use(mapped: np.ndarray) -> None:
                if transfer.windows:
                    report[:] = mapped[:FAULT_BYTES].view(np.uint32)
                for target, offset, size in transfer.pieces:
                    target[:] = mapped[offset : offset + size]

            staging.take(transfer.size, use)
        except BurnError:
            raise
        except Exception as error:
            raise self._explain(error, "read") from error
        with self.lock:
            self.staging.put(staging)
            if not transfer.windows:
                return None
            code, index, size, high = report.tolist()
            return self._settle(transfer.windows, (code, index, size, high))

    def read(self, gpu: Any, size: int) -> np.ndarray:
        """The first bytes of any buffer with COPY_SRC, at most 64 MiB; waits."""
        with self.lock:
            staging = self.staging.get(size)
            self.copy(gpu, staging.gpu, size)
            self.flush()
            staging.map(size)
        result = np.empty(size, np.uint8)
        self._finish(_Transfer(staging, size, [(result, 0, size)], []))
        return result

    def wait(self) -> None:
        """Waits until everything submitted has run; raises what a kernel reported."""
        self.download([])

    def idle(self) -> None:
        """As `wait`, but leaves a kernel's report for the next read."""
        with self.lock:
            transfer = self._begin([], ask=False)
            try:
                self._finish(transfer)
            except BaseException:
                self.staging.abandon(transfer.staging)
                raise


def _names(operations: list[str]) -> str:
    """The last operations of a batch, for a message."""
    return ", ".join(dict.fromkeys(operations[-8:])) or "read"


def _pieces(
    requests: list[tuple[Lease, int, int]], results: list[np.ndarray]
) -> list[list[tuple[Lease, int, np.ndarray]]]:
    """The requests cut and packed so that a group of pieces fits one staging buffer; one empty group for no bytes."""
    room = LARGEST - FAULT_BYTES
    groups: list[list[tuple[Lease, int, np.ndarray]]] = [[]]
    left = room
    for (lease, start, size), result in zip(requests, results, strict=True):
        at = 0
        while at < size:
            if left < 16:
                groups.append([])
                left = room
            length = min(size - at, left // 16 * 16)
            groups[-1].append((lease, start + at, result[at : at + length]))
            left -= -(-length // 16) * 16
            at += length
    return groups
