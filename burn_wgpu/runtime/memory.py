"""Pooled GPU buffers.

A `Block` is a GPU buffer of a size class that lives until the pool is trimmed. A `Lease` is one tensor's claim on a
block; when its last reference dies the block's number goes to its class's heap of free ones, and the lowest is handed
out first: what a loop gets then depends only on what it holds, so it meets the same few buffers and their bind groups
again. (Last in, first out is a little faster, but the order of the free list is a state of its own: a training step
came back to it after twelve rounds, a larger one would later.) One queue runs in order, so
a block may be handed out before the GPU has run the dispatch that used it; only host writes must avoid that
(`take_fresh`). Blocks are taken with the stream's lock held; a finalizer gives them back at any moment, by one push.
"""

from __future__ import annotations

import gc
import os
import re
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any

from burn_wgpu.runtime import provider
from burn_wgpu.std.errors import ArgumentError, OutOfMemoryError, UnsupportedError

if TYPE_CHECKING:
    from burn_wgpu.runtime.stream import Stream

STORAGE, COPY_SRC, COPY_DST, MAP_READ, MAP_WRITE, UNIFORM, QUERY_RESOLVE = 0x80, 4, 8, 1, 2, 0x40, 0x200
GRANULE = 256
_BIG = 64 << 20
_WRITTEN_RING = 8  # free blocks of a class that wait for a submission before the next host write makes one
_KEEP_FREE = 1 << 30  # bytes that free blocks may hold beyond what tensors ever held at once


def size_class(size_bytes: int) -> int:
    """Bytes that a block for this many gets: a multiple of 256, in steps of an eighth of a power of two; at most 12.5 %
    more than asked above 2 KiB."""
    size = max(size_bytes, 1)
    if size <= 2048:
        return -(-size // GRANULE) * GRANULE
    step = 1 << (size.bit_length() - 4)
    if size >= _BIG:
        step = 1 << 20
    return -(-size // step) * step


class Block:
    """A GPU buffer. `uid` is never used twice, so caches may key by it."""

    __slots__ = ("freed", "gpu", "size", "uid")

    def __init__(self, gpu: Any, size: int, uid: int) -> None:
        self.gpu = gpu
        self.size = size
        self.uid = uid
        self.freed = -1  # batch during which it was last given back


class Lease:
    """A tensor's claim on a block. `block` may be None while a recorder has not decided it yet.

    batch  number of the stream's batch that writes it, so that a failed batch poisons what it should have made;
           -1 for one that no command writes
    """

    __slots__ = ("__weakref__", "batch", "block", "pool")

    def __init__(self, block: Block | None, pool: Pool, batch: int) -> None:
        self.block = block
        self.pool = pool
        self.batch = batch

    def __del__(self) -> None:
        block = self.block
        if block is not None:
            pool = self.pool
            block.freed = pool.batch
            heappush(pool.free[block.size], block.uid)


class Pool:
    """Free lists by size class, with counts. `batch` is the stream's current batch number.

    budget  bytes the pool may hold, None for as many as the device gives
    """

    def __init__(self, device: Any, adapter: str, max_bytes: int, max_binding: int, software: bool) -> None:
        self.device = device
        self.adapter = adapter
        self.max_bytes = max_bytes
        self.max_binding = max_binding
        self.free: dict[int, list[int]] = {}  # size class → heap of numbers
        # Every block is held here too. A lease in a reference cycle (a traceback's frames) is finalized together with
        # what only it reaches: the block would come back to its free list with the buffer already released.
        self.alive: dict[int, Block] = {}
        self.batch = 0
        self.created = 0
        self.reserved = 0
        self.reserved_peak = 0
        self.in_use_peak = 0
        self.budget = _budget(software)
        self.stream: Stream | None = None
        self.on_drop: Any = None  # called with the uids of dropped blocks

    def size(self, size_bytes: int) -> int:
        """The size class for this many bytes, never more than can be bound."""
        return min(size_class(size_bytes), max(self.max_binding, GRANULE))

    def take(self, size: int) -> Block:
        """A block of this size class (see `size`), reused or new."""
        free = self.free.get(size)
        if free:
            return self.alive[heappop(free)]
        return self._create(size)

    def take_fresh(self, size: int) -> Block:
        """A block that no unsubmitted command refers to: safe for a host write.

        A loop that uploads and drops finds its blocks used by commands that wait: after a few of them, or when they
        are large, those are submitted, instead of making a new block each time.
        """
        free = self.free.get(size)
        if free:
            stream = self.stream
            if stream is not None and stream.encoder is not None:
                unused = [uid for uid in free if self.alive[uid].freed < self.batch]
                if unused:
                    uid = min(unused)
                    free.remove(uid)
                    heapify(free)
                    return self.alive[uid]
                if len(free) < _WRITTEN_RING and len(free) * size < _BIG:
                    return self._create(size)
                stream.flush()
            return self.alive[heappop(free)]
        return self._create(size)

    def reserve_class(self, size: int) -> list[int]:
        """The heap of free blocks of a size class, for plans that keep it at hand."""
        return self.free.setdefault(size, [])

    def check(self, operation: str, size_bytes: int) -> None:
        """Raises UnsupportedError when a tensor of this many bytes cannot be bound or made."""
        if size_bytes > self.max_binding:
            limit, what = self.max_binding, "the largest storage binding"
            if self.max_bytes < limit:
                limit, what = self.max_bytes, "the largest buffer"
            raise UnsupportedError(
                f"{operation}: a tensor of {size_bytes} bytes exceeds {what} of {self.adapter}, {limit} bytes; "
                f"split it, or use a smaller dtype"
            )

    def _create(self, size: int) -> Block:
        self.free.setdefault(size, [])
        in_use = self.in_use()
        self.in_use_peak = max(self.in_use_peak, in_use + size)
        if self.reserved + size > 2 * self.in_use_peak + _KEEP_FREE:
            self.trim()  # sizes that vary without end leave blocks that nobody asks for again
        if self.budget is not None and self.reserved + size > self.budget:
            self.trim()
            if self.reserved + size > self.budget:
                raise self._out_of_memory(size, "the budget")
        usage = STORAGE | COPY_SRC | COPY_DST
        try:
            gpu = self.device.create_buffer(size=size, usage=usage)
        except Exception as error:
            told = provider.explain(error, "allocate", self.adapter)
            if not isinstance(told, OutOfMemoryError):
                raise told from error
            self.trim()
            try:
                gpu = self.device.create_buffer(size=size, usage=usage)
            except Exception as second:
                raise self._out_of_memory(size, "the device") from second
        self.created += 1
        self.reserved += size
        self.reserved_peak = max(self.reserved_peak, self.reserved)
        block = self.alive[self.created] = Block(gpu, size, self.created)
        return block

    def _out_of_memory(self, size: int, whose: str) -> OutOfMemoryError:
        budget = f" ({self.budget} bytes)" if whose == "the budget" else ""
        return OutOfMemoryError(
            f"allocate: {size} bytes do not fit into {whose}{budget} of {self.adapter}, which holds {self.in_use()} "
            f"bytes in tensors ({self.reserved} reserved); free tensors, or make batches smaller"
        )

    def trim(self) -> None:
        """Drops every free block, after what refers to it was submitted, and waits until the device has them back."""
        stream = self.stream
        assert stream is not None
        with stream.lock:
            gc.collect()
            stream.flush()
            dropped: set[int] = set()
            for size, free in list(self.free.items()):
                while free:  # a finalizer may append meanwhile
                    uid = free.pop()
                    del self.alive[uid]
                    dropped.add(uid)
                    self.reserved -= size
            if dropped and self.on_drop is not None:
                self.on_drop(dropped)
            stream.idle()

    @property
    def blocks(self) -> int:
        """How many buffers there are."""
        return len(self.alive)

    def in_use(self) -> int:
        """Bytes of blocks that tensors hold."""
        return self.reserved - sum(size * len(free) for size, free in list(self.free.items()))


def _budget(software: bool) -> int | None:
    """BURN_WGPU_MEMORY_BUDGET (bytes; K, M and G are powers of 1024), else nine tenths of the machine's memory for a
    software adapter: its buffers are mapped lazily, so asking for too much would end the process when they are
    touched."""
    text = os.environ.get("BURN_WGPU_MEMORY_BUDGET")
    if text:
        found = re.fullmatch(r"([0-9]+)([KMG]?)", text.strip().upper())
        size = int(found[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[found[2]] if found else 0
        if size < 1:
            raise ArgumentError(
                f"BURN_WGPU_MEMORY_BUDGET: '{text}' is not a number of bytes from 1 on; write 2000000000, 512M or 2G"
            )
        return size
    if software and hasattr(os, "sysconf"):
        return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 0.9)
    return None
