"""The seam to a WebGPU implementation: adapters, devices, and the calls that are made raw.

`wgpu` (wgpu-native) is the default. Raw handles are used only with the wgpu-native version that they were checked
against; any other version, and BURN_WGPU_PORTABLE=1, takes the public API.
"""

from __future__ import annotations

import logging
import os
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from burn_wgpu.shader.capability import Capability
from burn_wgpu.std.errors import (
    BurnError,
    DeviceError,
    DeviceLostError,
    KernelError,
    NoAdapterError,
    OutOfMemoryError,
)

CHECKED_VERSION = (29, 0, 1, 1)
# What kernels and the profiler use. Nothing else is asked for: some features cost speed by being on (mappable primary
# buffers on a discrete GPU), and experimental ones make the request fail.
FEATURES = frozenset({"shader-f16", "shader-int64", "subgroup", "subgroup-barrier", "timestamp-query"})
_TYPE_ORDER = {"DiscreteGPU": 0, "IntegratedGPU": 1, "VirtualGPU": 2, "Unknown": 3, "Other": 3, "CPU": 4}


@lru_cache(maxsize=1)
def wgpu() -> Any:
    """The wgpu module, imported at the first use of a GPU and never before."""
    try:
        import wgpu as module
        import wgpu.backends.wgpu_native as native
    except Exception as error:  # a missing or broken shared library shows up as many kinds
        raise NoAdapterError(f"wgpu: the library cannot be loaded ({error}). `burn-wgpu doctor` says why") from error
    if os.environ.get("BURN_WGPU_KEEP_INSTANCE_FLAGS") != "1":
        # Validation layers and the injected check of indirect dispatches cost time and are not wanted by default.
        from wgpu.backends.wgpu_native import extras

        try:
            extras.set_instance_extras(flags=["Empty"])
        except Exception:  # noqa: BLE001 - the instance exists already: someone else opened wgpu first, which is fine
            pass
    del native
    _listen()
    return module


unraised: deque[str] = deque(maxlen=64)
"""Errors that wgpu could only log, because no call was there to raise them; the next flush or read raises them."""


class _Listener(logging.Handler):
    """Puts what wgpu logs as an error into `unraised`."""

    def emit(self, record: logging.LogRecord) -> None:
        unraised.append(record.getMessage())


def _listen() -> None:
    """Errors of raw calls and lost devices reach wgpu's error handler and end in its log. Taken from the handler where
    it has the known form, because a log may be switched off and leaves out repetitions; else from the log."""
    try:
        from wgpu.backends.wgpu_native import _api

        handler = _api.error_handler
        log = handler.log_error
    except (ImportError, AttributeError):
        logging.getLogger("wgpu").addHandler(_Listener(logging.ERROR))
        return

    def log_and_keep(message: str) -> None:
        unraised.append(str(message))
        log(message)

    handler.log_error = log_and_keep


def explain(error: BaseException, what: str, adapter: str) -> BurnError:
    """wgpu's exception as ours; `what` names the operations."""
    if isinstance(error, BurnError):
        return error
    return told(str(error), what, adapter)


def told(message: str, what: str, adapter: str) -> BurnError:
    """The exception for a message of wgpu. It has no classes for a lost device or for memory: the text says."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    text = "; ".join(line for line in lines if line not in ("Validation Error", "Caused by:")) or message.strip()
    lower = text.lower()
    if "lost" in lower:
        return DeviceLostError(
            f"{what}: {adapter} was lost ({text}); its tensors are gone, and work can go on with a new device handle"
        )
    if "memory" in lower:
        return OutOfMemoryError(f"{what}: {adapter} has no memory left ({text}); free tensors, or make batches smaller")
    return KernelError(f"{what}: {adapter} refused the recorded commands: {text}")


class Native(NamedTuple):
    """wgpu-native's C interface: cffi, the raw functions, and the same functions raising their errors."""

    ffi: Any
    lib: Any
    libf: Any


@lru_cache(maxsize=1)
def raw() -> Native | None:
    """wgpu-native for unchecked recording, or None when the public API must be used."""
    if os.environ.get("BURN_WGPU_PORTABLE") == "1":
        return None
    wgpu()
    from wgpu.backends.wgpu_native import _api, _ffi

    if tuple(_ffi.lib_version_info) != CHECKED_VERSION:
        return None
    return Native(_ffi.ffi, _ffi.lib, _api.libf)


def forget() -> None:
    """Lets wgpu's objects die without a call to the library: for a forked child, whose copies own nothing.

    A driver may also have exit handlers that join its threads (Mesa's do), which a child does not have: where the C
    library can (glibc), the child's exit ends before them, after everything that Python does at its own.
    """
    import ctypes

    from wgpu.backends.wgpu_native import _api

    def keep(_self: Any) -> None:
        pass

    for kind in vars(_api).values():
        if isinstance(kind, type) and "_release" in vars(kind):
            kind._release = keep  # type: ignore[attr-defined]
    if sys.platform == "linux":
        library = ctypes.CDLL(None)
        if hasattr(library, "on_exit"):
            library.on_exit(library._exit, None)  # the last one registered runs first, with the exit status


@dataclass(frozen=True, slots=True)
class AdapterInfo:
    """An adapter as it presents itself. `kind` is "discrete", "integrated", "virtual", "cpu" or "other"."""

    index: int
    name: str
    kind: str
    backend: str
    driver: str
    vendor: str
    features: tuple[str, ...]
    limits: dict[str, int]
    adapter: Any

    def __str__(self) -> str:
        return f"{self.name} ({self.backend}, {self.kind})"


@lru_cache(maxsize=1)
def adapters() -> tuple[AdapterInfo, ...]:
    """Every adapter, best first: discrete, integrated, virtual, software. OpenGL ones only if there is nothing else."""
    with _quiet_environment():
        found = wgpu().gpu.enumerate_adapters_sync()
    kinds = {"DiscreteGPU": "discrete", "IntegratedGPU": "integrated", "VirtualGPU": "virtual", "CPU": "cpu"}
    order = sorted(
        (a for a in found),
        key=lambda a: (a.info.get("backend_type") == "OpenGL", _TYPE_ORDER.get(a.info.get("adapter_type", ""), 3)),
    )
    real = [a for a in order if a.info.get("backend_type") != "OpenGL"]
    result = []
    for index, adapter in enumerate(real or order):
        info = adapter.info
        result.append(
            AdapterInfo(
                index=index,
                name=str(info.get("device", "")) or "unnamed",
                kind=kinds.get(info.get("adapter_type", ""), "other"),
                backend=str(info.get("backend_type", "")),
                driver=str(info.get("description", "")),
                vendor=str(info.get("vendor", "")),
                features=tuple(sorted(adapter.features)),
                limits={k: int(v) for k, v in adapter.limits.items()},
                adapter=adapter,
            )
        )
    return tuple(result)


@contextmanager
def _quiet_environment() -> Iterator[None]:
    """Mesa prints an error to stderr when XDG_RUNTIME_DIR is unset while it looks for displays; the environment is the
    user's, so it is as before afterwards."""
    if os.name != "posix" or "XDG_RUNTIME_DIR" in os.environ:
        yield
        return
    os.environ["XDG_RUNTIME_DIR"] = "/tmp"
    try:
        yield
    finally:
        os.environ.pop("XDG_RUNTIME_DIR", None)


def find_adapter(index: int) -> AdapterInfo:
    """The adapter of this number. Raises NoAdapterError that lists what there is."""
    every = adapters()
    if not every:
        raise NoAdapterError("device: no WebGPU adapter was found. `burn-wgpu doctor` says what to install")
    if not 0 <= index < len(every):
        names = ", ".join(f"{a.index}: {a}" for a in every)
        raise NoAdapterError(f"device: there is no adapter {index}; found {names}")
    return every[index]


def open_device(info: AdapterInfo, default_limits: bool = False) -> tuple[Any, Capability]:
    """A device with all the adapter's limits and features, or with WebGPU's default limits; and what it can do."""
    wanted = [] if default_limits else [f for f in info.features if f in FEATURES]
    limits: dict[str, int] = {}
    if default_limits:
        limits = {k: v for k, v in DEFAULT_LIMITS.items() if k in info.limits}
    try:
        device = info.adapter.request_device_sync(required_features=wanted, required_limits=limits)
    except Exception as error:
        raise DeviceError(f"device: {info} cannot be opened ({error})") from error
    have = {k: int(v) for k, v in device.limits.items()}
    capability = Capability(
        max_binding_bytes=have["max-storage-buffer-binding-size"] & ~255,  # buffers are whole granules
        max_buffer_bytes=have["max-buffer-size"] & ~255,
        max_storage_buffers=have["max-storage-buffers-per-shader-stage"] - (info.backend == "Metal"),
        max_workgroup_bytes=have["max-compute-workgroup-storage-size"],
        max_invocations=min(have["max-compute-invocations-per-workgroup"], have["max-compute-workgroup-size-x"]),
        max_groups=min(have["max-compute-workgroups-per-dimension"], 65_535),
        features=frozenset(str(f) for f in device.features),
        adapter=f"{info} with default limits" if default_limits else str(info),
        vendor=info.vendor,
        trusted=os.environ.get("BURN_WGPU_CHECKED") != "1" and raw() is not None,
        software=info.kind == "cpu",
    )
    return device, capability


DEFAULT_LIMITS = {
    "max-storage-buffer-binding-size": 128 << 20,
    "max-buffer-size": 256 << 20,
    "max-storage-buffers-per-shader-stage": 8,
    "max-compute-workgroup-storage-size": 16_384,
    "max-compute-invocations-per-workgroup": 256,
    "max-compute-workgroup-size-x": 256,
    "max-compute-workgroup-size-y": 256,
    "max-compute-workgroup-size-z": 64,
    "max-compute-workgroups-per-dimension": 65_535,
    "max-uniform-buffer-binding-size": 65_536,
    "min-storage-buffer-offset-alignment": 256,
    "min-uniform-buffer-offset-alignment": 256,
    "max-dynamic-uniform-buffers-per-pipeline-layout": 8,
}
