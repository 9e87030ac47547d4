"""One opened device: plans become tasks, tasks become recorded dispatches.

The hot path is `Task.run`: take a block for each output, find the bind group for these buffers, record. In a steady
loop it creates no buffer, bind group, pipeline or parameter slot, formats no string and looks no setting up.
"""

from __future__ import annotations

import os
import threading
from heapq import heappop
from typing import Any

from burn_wgpu.runtime import provider
from burn_wgpu.runtime.memory import Block, Lease, Pool
from burn_wgpu.runtime.params import SLOT, ParamStore, Slot
from burn_wgpu.runtime.pipeline import Pipeline, PipelineCache
from burn_wgpu.runtime.provider import AdapterInfo
from burn_wgpu.runtime.stream import BATCH_BYTES, BATCH_LIMIT, FORKED, Stream, taint
from burn_wgpu.shader.fault import FAULT_OPERAND
from burn_wgpu.shader.launch import Plan, check, check_outputs
from burn_wgpu.std.errors import DeviceError

_KEPT_GROUPS = 16_384


class Client:
    """A device with everything that belongs to it. Made by `client_for`."""

    def __init__(self, info: AdapterInfo, default_limits: bool = False) -> None:
        self.info = info
        self.device, self.capability = provider.open_device(info, default_limits)
        capability = self.capability
        self.pool = Pool(
            self.device, capability.adapter, capability.max_buffer_bytes,
            min(capability.max_binding_bytes, capability.max_buffer_bytes), capability.software,
        )  # fmt: skip
        self.params = ParamStore(self.device)
        self.pipelines = PipelineCache(self.device, capability)
        self.stream = Stream(self.device, self.pool, self.params, capability.adapter)
        self.stream.software = capability.software
        self.pool.on_drop = self._forget
        self.groups: dict[tuple[int, ...], Any] = {}
        self.groups_created = 0
        self.profiler: Any = None  # see profile.profiler_of
        self.told_f64 = False  # that f64 is computed through f32

    def task(self, plan: Plan) -> Task:
        """Compiles a plan: pipelines and parameter slots. Raises UnsupportedError or KernelError."""
        self.check_outputs(plan)  # before the grid: the size is what the user knows
        check(plan, self.capability)
        for size in plan.scratch:
            self.pool.check(plan.operation, size)
        return Task(self, plan)

    def check_outputs(self, plan: Plan) -> None:
        """Raises UnsupportedError for results that cannot be held or counted."""
        for out in plan.outputs:
            self.pool.check(plan.operation, out.size_bytes)
        check_outputs(plan, self.capability)

    def lease(self, size_bytes: int, operation: str = "allocate") -> Lease:
        """A buffer of at least this many bytes with undefined content."""
        pool = self.pool
        pool.check(operation, size_bytes)
        with self.stream.lock:
            return Lease(pool.take(pool.size(size_bytes)), pool, -1)

    def upload(self, data: Any, size_bytes: int) -> Lease:
        """A buffer that holds these bytes."""
        self.pool.check("from_data", size_bytes)
        with self.stream.lock:
            block = self.pool.take_fresh(self.pool.size(size_bytes))
            lease = Lease(block, self.pool, -1)
            if size_bytes:
                self.stream.upload(block, data)
        return lease

    def group(self, pipeline: Pipeline, slot: Slot, blocks: tuple[Block, ...], uids: tuple[int, ...]) -> Any:
        """Creates and remembers the bind group of these buffers; `uids` is the arena's and the blocks' numbers."""
        entries = [{"binding": 0, "resource": {"buffer": slot.arena.gpu, "offset": 0, "size": SLOT}}]
        for i, block in enumerate(blocks):
            gpu = self.stream.faults if block is None else block.gpu
            entries.append({"binding": i + 1, "resource": {"buffer": gpu, "offset": 0, "size": gpu.size}})
        try:
            group = self.device.create_bind_group(layout=self.pipelines.layout(pipeline.bindings)[0], entries=entries)
        except Exception as error:
            raise provider.explain(error, "bind", self.capability.adapter) from error
        self.groups_created += 1
        if len(self.groups) >= _KEPT_GROUPS:
            self.stream.flush()
            for key in list(self.groups)[: _KEPT_GROUPS // 2]:
                del self.groups[key]
        self.groups[uids] = group
        return group

    def _forget(self, dropped: set[int]) -> None:
        """Bind groups hold their buffers; those of dropped blocks must go."""
        self.groups = {key: g for key, g in self.groups.items() if dropped.isdisjoint(key[1:])}

    def counts(self) -> dict[str, int]:
        """How many of each kind of object were ever created."""
        return {
            "buffers": self.pool.created + len(self.params.arenas) + self.stream.staging.created,
            "bind_groups": self.groups_created,
            "pipelines": self.pipelines.created,
            "dispatches": self.stream.dispatches + len(self.stream.operations),
            "submissions": self.stream.submissions,
        }


class _Step:
    """One launch, compiled."""

    __slots__ = ("grid", "operands", "params", "pipeline", "scalars", "slot")

    def __init__(self, client: Client, plan: Plan, index: int) -> None:
        launch = plan.launches[index]
        self.pipeline = client.pipelines.get(launch.key, plan.operation)
        self.operands = launch.operands
        self.params = launch.params
        self.scalars = launch.scalars
        self.slot = client.params.slot(launch.params) if not launch.scalars else None
        self.grid = launch.grid


class Task:
    """A plan compiled for a device; `run` records it."""

    __slots__ = (
        "client", "flags", "free", "operation", "outputs", "plan", "scratch", "simple", "sizes", "steps", "weight",
    )  # fmt: skip

    def __init__(self, client: Client, plan: Plan) -> None:
        self.client = client
        self.plan = plan
        self.operation = plan.operation
        self.outputs = plan.outputs
        pool = client.pool
        self.sizes = [pool.size(out.size_bytes) for out in plan.outputs] + [pool.size(s) for s in plan.scratch]
        self.scratch = len(plan.scratch)
        self.flags = plan.flags
        with client.stream.lock:
            self.free = [pool.reserve_class(size) for size in self.sizes]
            self.steps = [_Step(client, plan, i) for i in range(len(plan.launches)) if 0 not in plan.launches[i].grid]
        self.weight = 1 / BATCH_LIMIT + sum(self.sizes) / (max(len(self.steps), 1) * BATCH_BYTES)
        self.simple = (
            len(self.steps) == 1
            and len(plan.outputs) == 1
            and not plan.scratch
            and not plan.flags
            and self.steps[0].operands == tuple(range(plan.inputs + 1))
        )

    def prepare(self) -> list[Lease]:
        """Leases for the outputs, without buffers: a recorder decides those later (`execute`)."""
        pool = self.client.pool
        return [Lease(None, pool, pool.batch) for _ in self.outputs]

    def run(self, inputs: tuple[Lease, ...], scalars: bytes = b"") -> list[Lease]:
        """Records the launches; gives the outputs' leases. `scalars` are the words that the launches leave open."""
        if not self.simple:
            outputs = self.prepare()
            self.execute(inputs, outputs, scalars)
            return outputs
        client = self.client
        pool, stream = client.pool, client.stream
        with stream.lock:
            windows = stream.suspects(inputs) if stream.watch else None
            step = self.steps[0]
            free = self.free[0]
            lease = Lease(pool.alive[heappop(free)] if free else pool.take(self.sizes[0]), pool, pool.batch)
            uid = lease.block.uid  # type: ignore[union-attr]  # it has one
            slot = step.slot or client.params.kept(step.params + scalars)
            n = len(inputs)
            uids: tuple[int, ...]
            if n == 1:
                uids = (slot.arena.uid, inputs[0].block.uid, uid)  # type: ignore[union-attr]  # decided before it is run
            elif n == 2:
                uids = (slot.arena.uid, inputs[0].block.uid, inputs[1].block.uid, uid)  # type: ignore[union-attr]
            else:
                uids = (slot.arena.uid, *[i.block.uid for i in inputs], uid)  # type: ignore[union-attr]
            group = client.groups.get(uids)
            if group is None:
                blocks = (*[i.block for i in inputs], lease.block)
                group = client.group(step.pipeline, slot, blocks, uids)  # type: ignore[arg-type]
            handle = stream.pass_handle
            if handle is None:
                handle = stream.open_pass(self.operation)
                lease.batch = pool.batch
            x, y, z = step.grid
            if stream.native is not None:  # `Stream.record`, written out: the call costs a tenth of the whole
                pipeline = step.pipeline
                if stream.pipeline is not pipeline:
                    stream.pipeline = None
                    stream.set_pipeline(handle, pipeline.handle)
                    stream.pipeline = pipeline
                stream.set_group(handle, 0, group._internal, 1, slot.pointer)
                stream.dispatch(handle, x, y, z)
                stream.operations.append(self.operation)
                stream.fill += self.weight
                if stream.fill >= 1.0:
                    stream.flush()
            else:
                stream.record(step.pipeline, group, slot, x, y, z, self.operation, self.weight)
            if windows:
                taint([lease], windows)
            return [lease]

    def execute(self, inputs: tuple[Lease, ...], outputs: list[Lease], scalars: bytes = b"") -> None:
        """Gives the outputs their buffers and records the launches, all in one batch."""
        client = self.client
        pool, stream = client.pool, client.stream
        with stream.lock:
            windows = stream.suspects(inputs) if stream.watch else ()
            if stream.fill + len(self.steps) * self.weight >= 1.0 and stream.encoder is not None:
                stream.flush()  # so that a failed batch never leaves half of an operation
            for i, lease in enumerate(outputs):
                if lease.block is None:
                    free = self.free[i]
                    lease.block = pool.alive[heappop(free)] if free else pool.take(self.sizes[i])
            first = len(outputs)
            scratch = [Lease(pool.take(size), pool, pool.batch) for size in self.sizes[first:]]
            blocks: list[Any] = [lease.block for lease in (*inputs, *outputs, *scratch)]
            if self.flags:
                windows = (*windows, stream.flagged())
            for step in self.steps:
                slot = step.slot or client.params.kept(step.params + scalars)
                used = tuple([None if o == FAULT_OPERAND else blocks[o] for o in step.operands])
                uids = (slot.arena.uid, *[0 if b is None else b.uid for b in used])
                group = client.groups.get(uids)
                if group is None:
                    group = client.group(step.pipeline, slot, used, uids)  # type: ignore[arg-type]
                if stream.pass_handle is None:
                    stream.open_pass(self.operation)
                for lease in outputs:
                    lease.batch = pool.batch
                x, y, z = step.grid
                stream.record(step.pipeline, group, slot, x, y, z, self.operation, self.weight)
            if windows:
                taint(outputs, windows)


_clients: dict[tuple[int, bool], Client] = {}
_clients_lock = threading.Lock()


def client_for(index: int, default_limits: bool = False) -> Client:
    """The process's one device per adapter (and per choice of limits); a new one when the last was lost.

    Refuses to work in a forked child.
    """
    key = (index, default_limits)
    with _clients_lock:
        found = _clients.get(key)
        if found is not None and found.stream.forked:
            raise DeviceError(FORKED)
        if found is None or found.stream.lost is not None:
            found = _clients[key] = Client(provider.find_adapter(index), default_limits)
        return found


def _after_fork() -> None:
    """In a forked child the driver's threads are missing: every later use must say so instead of hanging, and nothing
    may be released, which would wait for them or fault when the child exits."""
    global _clients_lock
    _clients_lock = threading.Lock()
    if _clients:
        provider.forget()
    for client in _clients.values():
        stream = client.stream
        stream.lock = threading.RLock()  # another thread of the parent may have held it
        stream.staging.lock = stream.lock
        stream.forked = True
        stream.encoder = stream.pass_ = stream.pass_handle = stream.pipeline = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
