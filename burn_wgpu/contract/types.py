"""What contract functions take and give: tensor primitives, device handles, reports and measurements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from burn_wgpu.std.dtype import DType
from burn_wgpu.std.settings import DeviceSettings


class DeviceHandle(Protocol):
    """A backend's own device object: hashable, equal for equal hardware."""

    @property
    def settings(self) -> DeviceSettings: ...

    @property
    def kind(self) -> str:
        """ "cpu", "discrete", "integrated", "virtual" or "unknown"."""
        ...


class TensorPrim(Protocol):
    """A backend's own tensor: immutable to everybody but its backend."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> DType: ...

    @property
    def device(self) -> Any:
        """A `DeviceHandle` of the tensor's backend."""
        ...


# One type serves all kinds; the names say which kind a function wants, and `TensorPrim.dtype` says which it got.
FloatPrim: TypeAlias = TensorPrim
IntPrim: TypeAlias = TensorPrim
BoolPrim: TypeAlias = TensorPrim


class Group:
    """Base of the contract's groups: their functions call one another across groups through the whole backend."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


@dataclass(frozen=True, slots=True)
class SlicedPoolReport:
    """One memory pool that carves tensors out of pages; sizes in bytes."""

    page_size_bytes: int
    pages: int
    pages_peak: int
    largest_alloc_bytes: int


@dataclass(frozen=True, slots=True)
class MemoryPoolUsage:
    """Memory of a device at one moment, in bytes; `reserved` includes pages that are kept for reuse."""

    number_allocs: int
    in_use_bytes: int
    padding_bytes: int
    reserved_bytes: int


@dataclass(frozen=True, slots=True)
class ProfileOptions:
    """flush: queued work is executed when the window closes, and counted."""

    flush: bool = False


@dataclass(frozen=True, slots=True)
class ProfileToken:
    """An open measuring window."""

    id: int
    opened_on: int = 0
    """the stream (0 where a device has one)"""


class ProfileDuration(Protocol):
    """A measurement that may still be running."""

    def resolve(self) -> float | None:
        """Seconds; waits for the window's work. 0.0 when nothing ran, None when it could not be measured."""
        ...


@dataclass(frozen=True, slots=True)
class KnownDuration:
    """A measurement that is already there, in seconds."""

    seconds: float | None

    def resolve(self) -> float | None:
        return self.seconds
