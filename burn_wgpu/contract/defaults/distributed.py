"""Gradient synchronisation inside one process: the device that completes a parameter reduces it for all.

No thread of its own: whoever submits the last gradient of a parameter calls the backend's float_all_reduce.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

from burn_wgpu.contract.options import DistributedConfig
from burn_wgpu.contract.types import FloatPrim
from burn_wgpu.std.errors import ArgumentError


@dataclass(slots=True, eq=False)
class TensorRef:
    """A place that holds a tensor; synchronising overwrites it."""

    tensor: FloatPrim


@dataclass(slots=True)
class _Server:
    """pending[param]: what each device submitted so far; arrived: the devices that finished this pass."""

    devices: list[Any]
    config: DistributedConfig
    changed: threading.Condition = field(default_factory=threading.Condition)
    pending: dict[Hashable, dict[Any, TensorRef]] = field(default_factory=dict)
    arrived: set[Any] = field(default_factory=set)
    round: int = 0
    closed: bool = False
    failure: BaseException | None = None
    warned: set[Any] = field(default_factory=set)


_servers: dict[str, _Server] = {}
_lock = threading.Lock()


def start(b: Any, devices: Sequence[Any], config: DistributedConfig) -> None:
    name = b.name()
    with _lock:
        if name in _servers:
            raise ArgumentError(
                f"start_communication_server: one already runs for the backend '{name}' with "
                f"{len(_servers[name].devices)} devices; close it first"
            )
        _servers[name] = _Server(list(devices), config)


def close(b: Any) -> None:
    with _lock:
        server = _servers.pop(b.name(), None)
    if server is not None:
        with server.changed:
            server.closed = True
            server.changed.notify_all()


def register(b: Any, device: Any, param_ids: Sequence[Hashable]) -> None:
    server = _server(b, "register_sync_parameters")
    with server.changed:
        if device not in server.devices:
            if device not in server.warned:
                server.warned.add(device)
                warnings.warn(
                    f"register_sync_parameters: device {device} is not one of the group's "
                    f"{[str(d) for d in server.devices]}; its gradients stay local",
                    stacklevel=3,
                )


def submit(b: Any, tensor: TensorRef, param_id: Hashable) -> None:
    server = _server(b, "submit_gradient_sync")
    device = b.comm_device(tensor)
    with server.changed:
        if device not in server.devices:
            return
        server.pending.setdefault(param_id, {})[device] = tensor
        _reduce(b, server, param_id)


def wait(b: Any, device: Any) -> None:
    server = _server(b, "submit_sync_collective")
    if device not in server.devices:
        return
    with server.changed:
        this_round = server.round
        server.arrived.add(device)
        if server.arrived == set(server.devices):
            # Every pass is registered now, so what lacks a member will never get it: reduce over those who have it.
            for param_id in list(server.pending):
                _reduce(b, server, param_id, final=True)
            server.arrived.clear()
            server.round += 1
            server.changed.notify_all()
        else:
            server.changed.wait_for(lambda: server.closed or server.failure or server.round != this_round)
        if server.failure is not None:
            raise server.failure


def _reduce(b: Any, server: _Server, param_id: Hashable, final: bool = False) -> None:
    """Reduces a parameter once all members of the group submitted it, or at the end of the pass."""
    refs = server.pending[param_id]
    if not final and set(refs) != set(server.devices):
        return
    del server.pending[param_id]
    ordered = [refs[d] for d in server.devices if d in refs]
    try:
        results = b.float_all_reduce([b.float_from_ref(ref) for ref in ordered], server.config.all_reduce_op)
    except BaseException as error:
        server.failure = error
        server.changed.notify_all()
        raise
    for ref, result in zip(ordered, results, strict=True):
        ref.tensor = result


def _server(b: Any, operation: str) -> _Server:
    with _lock:
        server = _servers.get(b.name())
    if server is None:
        raise ArgumentError(
            f"{operation}: no communication server runs for the backend '{b.name()}'; "
            f"call start_communication_server first"
        )
    return server
