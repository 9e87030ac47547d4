"""Kernel parameters without a buffer per dispatch: content-addressed slots of shared uniform buffers.

Equal parameters share a slot. A slot is bound by dynamic offset, so bind groups do not depend on it. Slots die with
their last user and are reused only after the commands recorded meanwhile have been submitted, because a host write
takes effect before the next submission, not at its place between dispatches.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any
from weakref import WeakValueDictionary

from burn_wgpu.runtime import provider
from burn_wgpu.runtime.memory import COPY_DST, UNIFORM
from burn_wgpu.std.errors import ArgumentError

SLOT = 256
_SLOTS_PER_ARENA = 4096
_KEPT_SCALARS = 2048


class Slot:
    """A place in an arena that holds one block of parameters."""

    __slots__ = ("__weakref__", "arena", "offset", "pointer", "store")

    def __init__(self, store: ParamStore, arena: Arena, offset: int) -> None:
        self.store = store
        self.arena = arena
        self.offset = offset
        ffi = provider.raw()
        self.pointer = ffi.ffi.new("uint32_t[1]", [offset]) if ffi is not None else None

    def __del__(self) -> None:
        self.store.dying.append((self.arena, self.offset))


class Arena:
    """One uniform buffer of slots."""

    __slots__ = ("gpu", "uid")

    def __init__(self, gpu: Any, uid: int) -> None:
        self.gpu = gpu
        self.uid = uid


class ParamStore:
    """Hands out slots by content."""

    def __init__(self, device: Any) -> None:
        self.device = device
        self.arenas: list[Arena] = []
        self.free: list[tuple[Arena, int]] = []
        self.dying: list[tuple[Arena, int]] = []
        self.by_content: WeakValueDictionary[bytes, Slot] = WeakValueDictionary()
        self.recent: OrderedDict[bytes, Slot] = OrderedDict()
        self.reclaim: Callable[[], None] = lambda: None  # submits what uses dying slots, then calls `submitted`

    def slot(self, content: bytes) -> Slot:
        """The slot that holds these bytes; written at most once while anyone uses it. Needs the stream's lock."""
        found = self.by_content.get(content)
        if found is not None:
            return found
        if len(content) > SLOT:
            raise ArgumentError(f"params: {len(content)} bytes exceed a slot of {SLOT}; pass less or use a buffer")
        if not self.free:
            if len(self.dying) >= _SLOTS_PER_ARENA // 4:
                self.reclaim()
            if not self.free:
                self._grow()
        arena, offset = self.free.pop()
        self.device.queue.write_buffer(arena.gpu, offset, content.ljust(16, b"\0"))
        slot = Slot(self, arena, offset)
        self.by_content[content] = slot
        return slot

    def kept(self, content: bytes) -> Slot:
        """As `slot`, and remembers the most recent ones: for values that change from call to call and come back."""
        slot = self.recent.get(content)
        if slot is None:
            slot = self.recent[content] = self.slot(content)
            if len(self.recent) > _KEPT_SCALARS:
                self.recent.popitem(last=False)
        return slot

    def submitted(self) -> None:
        """After a submission: slots that died before it may be written again."""
        dying = self.dying
        while dying:  # a finalizer may append meanwhile: what it appends was not used since, or its commands are gone
            self.free.append(dying.pop())

    def _grow(self) -> None:
        gpu = self.device.create_buffer(size=_SLOTS_PER_ARENA * SLOT, usage=UNIFORM | COPY_DST)
        arena = Arena(gpu, len(self.arenas))
        self.arenas.append(arena)
        self.free += [(arena, i * SLOT) for i in range(_SLOTS_PER_ARENA - 1, -1, -1)]
