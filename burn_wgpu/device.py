"""`Device`: where tensors live, which backend computes them, and the dtypes that they get by default.

`Device("wgpu:0")` is an adapter, best first; `Device("cpu")` is the NumPy reference. Equal specifications give the same
object; two devices are equal when they are the same hardware. Nothing is opened before the first use.

May import: backends, runtime (to list adapters), contract, std; all of them lazily, so that importing is quick.
"""

from __future__ import annotations

import builtins
import logging
import operator
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import numpy as np

from burn_wgpu.std.dtype import BOOL_U8, DType, DTypeUsage
from burn_wgpu.std.dtype import dtype as as_dtype
from burn_wgpu.std.errors import AlreadyInitialized, ArgumentError, DTypeError, NoAdapterError, UnsupportedDType
from burn_wgpu.std.quant import QuantConfig
from burn_wgpu.std.settings import DeviceConfig, DeviceSettings

if TYPE_CHECKING:
    from burn_wgpu.contract.backend import Backend
    from burn_wgpu.contract.types import MemoryPoolUsage, ProfileDuration, ProfileOptions, SlicedPoolReport
    from burn_wgpu.machine import (
        DeviceFilter,
        DeviceIdentity,
        Devices,
        DeviceType,
        PhysicalDevice,
        Throughput,
        ThroughputError,
        ThroughputKey,
    )
    from burn_wgpu.std.data import TensorData

Kind = Literal["float", "int", "bool"]
DTypeLike: TypeAlias = "DType | str | type[Any] | np.dtype[Any]"
T = TypeVar("T")

_log = logging.getLogger("burn_wgpu.device")
_lock = threading.RLock()
_known: dict[tuple[object, ...], Device] = {}
_backends: dict[str, Any] = {}
_default: Device | None = None


class KindOps:
    """The backend's functions for one kind of tensors of one device, found by their name without the kind's prefix.

    `ops.add` is `backend.float_add`. Each is looked up once and then an attribute. Two tensors with the same `KindOps`
    object have the same device, backend and kind.
    """

    def __init__(self, device: Device, backend: Backend, handle: Any, kind: Kind, prefix: str) -> None:
        self.device = device
        self.backend: Any = backend
        self.handle = handle
        self.kind = kind
        self.prefix = prefix
        self.quantized = prefix == "q_"
        self.bool_dtype = device.settings.bool_dtype

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        method = getattr(self.backend, self.prefix + name, None)
        if method is None and self.quantized:
            method = self._dequantizing(name)
        if method is None:
            what = "quantized" if self.quantized else self.kind
            remedy = "call .dequantize() first" if self.quantized else self._kinds_of(name)
            name = name.removesuffix("_scalar").removesuffix("_elem")
            raise DTypeError(f"{name}: a tensor of kind {what} has no such operation; {remedy}")
        setattr(self, name, method)
        return method

    def _kinds_of(self, name: str) -> str:
        """Which kinds have the operation that this one lacks."""
        able = [kind for kind in ("int", "float", "bool") if hasattr(self.backend, f"{kind}_{name}")]
        what = "numbers" if able == ["int", "float"] else " and ".join(able) + " tensors" if able else "other kinds"
        return f"it is for {what}" + (f": convert with {' or '.join(f'.{kind}()' for kind in able)}" if able else "")

    def _dequantizing(self, name: str) -> Any:
        """The float function on dequantized operands, where there is none for quantized ones."""
        function = getattr(self.backend, "float_" + name, None)
        if function is None:
            return None

        def method(*args: Any) -> Any:
            target = self.device.settings.float_dtype
            kinds = [getattr(getattr(a, "dtype", None), "kind", "") for a in args]
            floats = (
                self.backend.dequantize(a, target) if k == "qfloat" else a for a, k in zip(args, kinds, strict=True)
            )
            return function(*floats)

        return method

    def of(self, kind: Kind) -> KindOps:
        """The table of another kind of the same device."""
        return self.device.ops(kind)


class Device:
    """A device: `Device("wgpu")` (the best adapter), `Device("wgpu:1")`, `Device("wgpu:NVIDIA")` (part of a name),
    `Device("cpu")`; without an argument the default device.

    float, int, bool  the default dtypes of new tensors; as `configure`, but part of the specification
    default_limits    opens the adapter with WebGPU's default limits (a wgpu device of its own, for tests)

    Raises ArgumentError for a specification that is none, NoAdapterError for a name that no adapter has.
    """

    __slots__ = ("_backend", "_fixed", "_handle", "_ops", "_settings", "_usage", "default_limits", "index", "type")

    type: Literal["wgpu", "cpu"]
    index: int
    default_limits: bool

    def __new__(
        cls,
        spec: str | Device | None = None,
        *,
        float: DTypeLike | None = None,
        int: DTypeLike | None = None,
        bool: DTypeLike | None = None,
        default_limits: bool = False,
    ) -> Device:
        wanted = (
            None if float is None else _checked("float", float),
            None if int is None else _checked("int", int),
            None if bool is None else _checked("bool", bool),
        )
        if isinstance(spec, Device):
            if wanted == (None, None, None):
                return spec
            kind, index, default_limits = spec.type, spec.index, spec.default_limits
        elif spec is None:
            if wanted == (None, None, None):
                return default_device()
            return cls(default_device(), float=float, int=int, bool=bool)
        elif not isinstance(spec, str):
            shape = ". A shape is one argument, as zeros((2, 3))" if isinstance(spec, builtins.int) else ""
            raise DTypeError(
                f"device: {spec!r} is of type {type(spec).__name__}; a device is named, as 'wgpu:0' or 'cpu'{shape}"
            )
        else:
            kind, index = _parse(spec)
        key = (kind, index, default_limits, *wanted)
        with _lock:
            found = _known.get(key)
            if found is None:
                found = object.__new__(cls)
                found.type, found.index, found.default_limits = kind, index, default_limits
                found._settings = wanted
                found._backend = found._handle = found._ops = None
                found._fixed = False
                found._usage = {}
                _known[key] = found
            return found

    @classmethod
    def of_handle(cls, handle: Any) -> Device:
        """A device object of its own for a backend's handle, such as a recorder: not the one that `Device(spec)` gives,
        though equal to it, being the same hardware."""
        made = object.__new__(cls)
        made.type = "cpu" if handle.kind == "cpu" else "wgpu"
        made.index, made.default_limits = handle.index, getattr(handle, "default_limits", False)
        made._settings = (None, None, None)
        made._backend = made._ops = None
        made._handle = handle
        made._fixed = False
        made._usage = {}
        return made

    _settings: Any
    _backend: Any
    _handle: Any
    _ops: dict[str, KindOps] | None
    _fixed: bool
    _usage: dict[DType, DTypeUsage]

    # ------------------------------------------------------------------------------------------- identity

    def __eq__(self, other: object) -> bool:
        """Whether both are the same hardware, whatever their settings."""
        return self is other or (
            isinstance(other, Device)
            and (self.type, self.index, self.default_limits) == (other.type, other.index, other.default_limits)
        )

    def __hash__(self) -> int:
        return hash((self.type, self.index, self.default_limits))

    def __str__(self) -> str:
        return "cpu" if self.type == "cpu" and self.index == 0 else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        given = zip(("float", "int", "bool"), self._settings, strict=True)
        options = "".join(f", {name}='{d}'" for name, d in given if d is not None)
        return f"Device('{self}'{options}{', default_limits=True' if self.default_limits else ''})"

    def __reduce__(self) -> tuple[object, ...]:
        return _restore, (str(self), self._settings, self.default_limits)

    def __copy__(self) -> Device:
        return self

    def __deepcopy__(self, memo: object) -> Device:
        return self

    # ---------------------------------------------------------------------------------- backend and handle

    @property
    def backend(self) -> Backend:
        """The backend that computes the device's tensors."""
        if self._backend is None:
            self._backend = _backend(self.type)
        return self._backend  # type: ignore[no-any-return]

    @property
    def handle(self) -> Any:
        """The backend's own device object; an adapter opens at its first operation, not here."""
        if self._handle is None:
            with _lock:
                if self._handle is None:
                    self._handle = self._make_handle()
        return self._handle

    def ops(self, kind: Kind) -> KindOps:
        """The backend's functions for one kind of tensors. Fixes the settings: this is the first operation."""
        if self._ops is None:
            self._fix()
        assert self._ops is not None
        return self._ops[kind]

    @property
    def quantized_ops(self) -> KindOps:
        """The backend's functions for quantized tensors, whose kind is float."""
        if self._ops is None:
            self._fix()
        assert self._ops is not None
        return self._ops["q"]

    def _make_handle(self) -> Any:
        if self.type == "cpu":
            from burn_wgpu.backends.reference import ReferenceDevice

            handle: Any = ReferenceDevice(self.index)
            if self._settings != (None, None, None):
                handle = _twin(handle)
        else:
            from burn_wgpu.backends.wgpu.tensor import WgpuDevice

            handle = WgpuDevice(self.index, self.default_limits)
        if self._settings != (None, None, None):
            base = handle.settings
            handle.settings = replace(
                base,
                float_dtype=self._settings[0] or base.float_dtype,
                int_dtype=self._settings[1] or base.int_dtype,
                bool_dtype=self._settings[2] or base.bool_dtype,
            )
        return handle

    def _fix(self) -> None:
        with _lock:
            if self._ops is None:
                for wanted in self._settings:
                    if wanted is not None:
                        self.require(wanted, "device")
                handle, backend = self.handle, self.backend
                self._fixed = True
                self._ops = {
                    "float": KindOps(self, backend, handle, "float", "float_"),
                    "int": KindOps(self, backend, handle, "int", "int_"),
                    "bool": KindOps(self, backend, handle, "bool", "bool_"),
                    "q": KindOps(self, backend, handle, "float", "q_"),
                }

    # -------------------------------------------------------------------------------------------- settings

    @property
    def settings(self) -> DeviceSettings:
        """The default dtypes. Asking fixes nothing."""
        return self.handle.settings  # type: ignore[no-any-return]

    def configure(
        self,
        float_dtype: DTypeLike | DeviceConfig | None = None,
        int_dtype: DTypeLike | None = None,
        bool_dtype: DTypeLike | None = None,
        quantization: QuantConfig | None = None,
    ) -> None:
        """Sets the default dtypes, and what becomes of quantized operands; what is left out stays. Once, and before the
        device's first operation. A DeviceConfig stands for all of them.

        Raises AlreadyInitialized after that, UnsupportedDType for what the device cannot compute with, DTypeError for
        a dtype of another kind.
        """
        given = (int_dtype, bool_dtype, quantization)
        config = float_dtype if isinstance(float_dtype, DeviceConfig) else DeviceConfig(float_dtype, *given)
        if config is float_dtype and given != (None, None, None):
            raise ArgumentError("configure: a DeviceConfig and single settings were given; give one or the other")
        base = self.settings
        wanted = DeviceSettings(
            base.float_dtype if config.float is None else _checked("float", config.float),
            base.int_dtype if config.int is None else _checked("int", config.int),
            base.bool_dtype if config.bool is None else _checked("bool", config.bool),
            base.quantization if config.quantization is None else config.quantization,
        )
        if not isinstance(wanted.quantization, QuantConfig):
            raise DTypeError(f"configure: quantization is {config.quantization!r}; it must be a QuantConfig")
        with _lock:
            if self._fixed:
                raise AlreadyInitialized(
                    f"configure: the settings of {self} are fixed to {_show(base)}, wanted {_show(wanted)}; "
                    f"configure a device once, before its first operation"
                )
            for old, new in zip(_fields(base), _fields(wanted), strict=True):
                if new is not old:
                    self.require(new, "configure")
            self.handle.settings = wanted
            self._fixed = True

    # ---------------------------------------------------------------------------------------- what it can

    @property
    def name(self) -> str:
        """What the adapter calls itself."""
        return str(self.handle.name) if self.type == "cpu" else self._adapter().name

    @property
    def kind(self) -> str:
        """ "discrete", "integrated", "virtual", "cpu" (a software adapter or the reference) or "other"."""
        return "cpu" if self.type == "cpu" else self._adapter().kind

    @property
    def identity(self) -> DeviceIdentity:
        """Name, graphics API and physical card; see `machine.identity`."""
        from burn_wgpu.machine import identity

        return identity(self)

    @staticmethod
    def enumerate(wanted: DeviceFilter | DeviceType | Sequence[DeviceType] | None = None) -> Devices:
        """Every device of the wanted types, all of them without any: adapters, best first, and the NumPy reference."""
        from burn_wgpu.machine import enumerate_devices

        return enumerate_devices(wanted)

    @staticmethod
    def enumerate_physical() -> list[PhysicalDevice]:
        """Every card once, with the devices that reach it."""
        from burn_wgpu.machine import enumerate_physical

        return enumerate_physical()

    def performance_stats(self, keys: Iterable[ThroughputKey]) -> list[Throughput | ThroughputError]:
        """One measured peak, or the reason why there is none, for each key; empty on the reference. Waits."""
        from burn_wgpu.machine import performance_stats

        return performance_stats(self, keys)

    def _adapter(self) -> Any:
        from burn_wgpu.runtime.provider import find_adapter

        return find_adapter(self.index)

    def dtype_usage(self, dtype: DTypeLike) -> DTypeUsage:
        """What the device was shown to be able to do with the dtype: storage, arithmetic, accelerated.

        float, int and bool mean the device's default dtypes, as they do where tensors are made.
        """
        wanted = as_dtype(dtype) if isinstance(dtype, DType) else self._default_of(dtype) or as_dtype(dtype)
        found = self._usage.get(wanted)
        if found is None:
            found = self._usage[wanted] = self.backend.dtype_usage(self.handle, wanted)
        return found

    def _default_of(self, name: object) -> DType | None:
        settings = self.settings
        for kind, found in zip((float, int, bool), _fields(settings), strict=True):
            if name is kind or name == kind.__name__:
                return found
        return None

    def supports_dtype(self, dtype: DTypeLike) -> bool:
        """Whether every operation works with the dtype, with all its digits: not with f64 on a GPU."""
        return DTypeUsage.general() in self.dtype_usage(dtype)

    def require(self, dtype: DType, operation: str) -> None:
        """Raises UnsupportedDType when the device cannot even store the dtype."""
        if DTypeUsage.STORAGE not in self.dtype_usage(dtype):
            raise UnsupportedDType(
                f"{operation}: {self} ({self.name}) does not support {dtype}; device.dtype_usage tells what it can do"
            )

    # ------------------------------------------------------------------------------------------------ work

    def sync(self) -> None:
        """Returns when all work is finished; errors that were waiting are raised here."""
        self.backend.sync(self.handle)

    def flush(self) -> None:
        """Submits what is recorded, without waiting."""
        self.backend.flush(self.handle)

    def seed(self, seed: int) -> None:
        """Restarts the random stream; the same calls then give the same numbers. seed is taken modulo 2^64."""
        try:
            wanted = operator.index(seed)
        except TypeError:
            raise DTypeError(f"seed: the seed is of type {type(seed).__name__}; it must be an int") from None
        self.backend.seed(self.handle, wanted)

    def staging(self, *data: TensorData) -> None:
        """A hint that the data will be uploaded soon."""
        self.backend.staging(data, self.handle)

    def profile(self, func: Callable[[], T], options: ProfileOptions | None = None) -> tuple[T, ProfileDuration]:
        """(func(), the device time of the work that it started); the duration is resolved when asked."""
        from burn_wgpu.contract.types import ProfileOptions

        return self.backend.profile(self.handle, options or ProfileOptions(), func)

    # ---------------------------------------------------------------------------------------------- memory

    def memory_cleanup(self) -> None:
        """Gives unused memory back."""
        self.backend.memory_cleanup(self.handle)

    def memory_pool_report(self) -> list[SlicedPoolReport] | None:
        """One entry per pool that carves pages, or None where there are none."""
        return self.backend.memory_pool_report(self.handle)

    def memory_pool_usage(self) -> MemoryPoolUsage | None:
        """What tensors use now, or None where the backend does not count."""
        return self.backend.memory_pool_usage(self.handle)

    def memory_capacity(self) -> int | None:
        """Bytes that the device can hold at once, or None where that is unknown."""
        return self.backend.memory_capacity(self.handle)

    def memory_persistent_allocations(self, func: Callable[[], T]) -> T:
        """func(), with its allocations made to last, as parameters do."""
        return self.backend.memory_persistent_allocations(self.handle, None, lambda _: func())


def default_device() -> Device:
    """The device of tensors that name none: the environment's BURN_DEVICE, else the best adapter; chosen once.

    A software adapter is used with one warning line. Raises NoAdapterError when there is no adapter: the NumPy
    reference is only used on request.
    """
    global _default
    if _default is None:
        with _lock:
            if _default is None:
                wanted = os.environ.get("BURN_DEVICE", "").strip()
                _default = Device(wanted) if wanted else _best()
    return _default


def set_default_device(device: Device | str) -> None:
    """Makes another device the default."""
    global _default
    _default = Device(device)


def devices() -> list[Device]:
    """Every device: the adapters, best first, and the NumPy reference."""
    from burn_wgpu.runtime.provider import adapters

    return [*(Device(f"wgpu:{a.index}") for a in adapters()), Device("cpu")]


def _best() -> Device:
    from burn_wgpu.runtime.provider import adapters

    found = adapters()
    if not found:
        raise NoAdapterError(
            "device: no WebGPU adapter was found, and none was asked for. `burn-wgpu doctor` says what to install; "
            "Device('cpu') or BURN_DEVICE=cpu is the NumPy reference"
        )
    if found[0].kind == "cpu":
        _log.warning(
            "burn_wgpu: no GPU was found; computing in software on %s. BURN_DEVICE=wgpu:0 chooses it in silence.",
            found[0],
        )
    return Device("wgpu:0")


def _parse(spec: str) -> tuple[Literal["wgpu", "cpu"], int]:
    kind, _, rest = spec.partition(":")
    rest = rest.strip()
    if kind == "wgpu" and rest and not _number(rest.lstrip("-")):
        return "wgpu", _by_name(rest)
    if kind not in ("wgpu", "cpu") or (rest and not _number(rest)):
        raise ArgumentError(
            f"device: {spec!r} is no device; use 'wgpu', 'wgpu:1', 'wgpu:part of a name' or 'cpu' (devices() lists all)"
        )
    return ("cpu" if kind == "cpu" else "wgpu"), int(rest or 0)


def _number(text: str) -> bool:
    """Whether the text is made of the digits 0 to 9; str.isdigit takes "²" too."""
    return text.isascii() and text.isdigit()


def _by_name(name: str) -> int:
    from burn_wgpu.runtime.provider import adapters

    found = adapters()
    for adapter in found:
        if name.lower() in str(adapter).lower():
            return adapter.index
    names = ", ".join(f"wgpu:{a.index} is {a}" for a in found) or "there is none"
    raise NoAdapterError(f"device: no adapter's name contains {name!r}; found: {names}")


def _backend(kind: str) -> Any:
    with _lock:
        if kind not in _backends:
            if kind == "cpu":
                from burn_wgpu.backends.reference import ReferenceBackend

                _backends[kind] = ReferenceBackend()
            else:
                from burn_wgpu.backends.wgpu.backend import WgpuBackend

                _backends[kind] = WgpuBackend()
        return _backends[kind]


def _twin(handle: Any) -> Any:
    """A second handle of the same hardware, with settings of its own; the random stream is shared."""
    twin = object.__new__(type(handle))
    for name in type(handle).__slots__:
        setattr(twin, name, getattr(handle, name))
    return twin


def _checked(kind: Kind, value: DTypeLike) -> DType:
    if kind == "bool" and value is bool:
        return BOOL_U8
    found = as_dtype(value)
    if kind != ("int" if found.is_int else found.kind):
        raise DTypeError(f"device: {found} was given as the {kind} dtype; it is of kind {found.kind}")
    return found


def _fields(settings: DeviceSettings) -> tuple[DType, DType, DType]:
    return settings.float_dtype, settings.int_dtype, settings.bool_dtype


def _show(settings: DeviceSettings) -> str:
    return ", ".join(str(d) for d in _fields(settings))


def _restore(spec: str, settings: tuple[DType | None, ...], default_limits: bool) -> Device:
    return Device(spec, float=settings[0], int=settings[1], bool=settings[2], default_limits=default_limits)
