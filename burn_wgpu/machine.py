"""The devices of this machine: which there are, of which type, on which card, and what they were measured to reach.

`Device.enumerate`, `Device.identity`, `Device.enumerate_physical` and `Device.performance_stats` are these functions.

May import: device, runtime (to list adapters), backends, contract, std; what opens a device lazily.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Literal, NamedTuple

from burn_wgpu.std.dtype import F32, DType
from burn_wgpu.std.errors import DTypeError, UnsupportedError

if TYPE_CHECKING:
    from burn_wgpu.device import Device
    from burn_wgpu.std.settings import DeviceConfig


class DeviceType(Enum):
    """What computes: the NumPy reference, any adapter, or an adapter through one graphics API.

    `A | B` is a filter that accepts both.
    """

    CPU = "cpu"
    WGPU = "wgpu"
    VULKAN = "vulkan"
    METAL = "metal"
    DX12 = "d3d12"

    def __or__(self, other: DeviceType | DeviceFilter) -> DeviceFilter:
        return DeviceFilter(self) | other

    def accepts(self, device: Device) -> bool:
        if self in (DeviceType.CPU, DeviceType.WGPU):
            return device.type == self.value
        return device.type == "wgpu" and identity(device).api.lower() == self.value


class DeviceFilter:
    """The types of devices that `Device.enumerate` lists: `DeviceFilter(A, B)`, `DeviceFilter([A, B])` or `A | B`.

    An empty filter accepts none.
    """

    __slots__ = ("types",)

    def __init__(self, *types: DeviceType | Iterable[DeviceType]) -> None:
        flat = [t for item in types for t in ([item] if isinstance(item, DeviceType) else item)]
        for item in flat:
            if not isinstance(item, DeviceType):
                raise DTypeError(f"DeviceFilter: {item!r} is of type {type(item).__name__}; it must be a DeviceType")
        self.types = frozenset(flat)

    def with_type(self, added: DeviceType) -> DeviceFilter:
        """A filter that accepts one more."""
        return DeviceFilter(self.types, added)

    def __or__(self, other: DeviceType | DeviceFilter) -> DeviceFilter:
        return DeviceFilter(self.types, other.types if isinstance(other, DeviceFilter) else (other,))

    def accepts(self, device: Device) -> bool:
        return any(one.accepts(device) for one in self.types)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceFilter) and self.types == other.types

    def __hash__(self) -> int:
        return hash(self.types)

    def __repr__(self) -> str:
        return f"DeviceFilter({', '.join(str(t) for t in DeviceType if t in self.types)})"


class Devices(list["Device"]):
    """A list of devices that are configured together."""

    def configure(self, config: DeviceConfig) -> Devices:
        """`Device.configure` of each. Raises what it raises; those before the one that fails are configured then."""
        for device in self:
            device.configure(config)
        return self

    def into_vec(self) -> list[Device]:
        """A plain list."""
        return list(self)


class DeviceIdentity(NamedTuple):
    """name  what the adapter calls itself
    api   what its kernels are compiled for: "Vulkan", "Metal", "D3D12", or "NumPy"
    card  the physical card: equal for devices that reach the same one
    """

    name: str
    api: str
    card: str


class PhysicalDevice(NamedTuple):
    """A card once, with the devices that reach it (one for each graphics API)."""

    card: str
    name: str
    devices: tuple[Device, ...]


def enumerate_devices(wanted: DeviceFilter | DeviceType | Sequence[DeviceType] | None = None) -> Devices:
    """Every device that the filter accepts (all of them without one): the adapters, best first, and the reference."""
    from burn_wgpu.device import devices

    if wanted is None:
        return Devices(devices())
    chosen = wanted if isinstance(wanted, DeviceFilter) else DeviceFilter(wanted)
    return Devices(d for d in devices() if chosen.accepts(d))


def identity(device: Device) -> DeviceIdentity:
    """Name, API and card. WebGPU tells no serial numbers: the n-th adapter of a name and API is the n-th such card."""
    if device.type == "cpu":
        return DeviceIdentity(device.name, "NumPy", "host")
    from burn_wgpu.runtime.provider import adapters, find_adapter

    mine = find_adapter(device.index)
    twins = [a.index for a in adapters() if (a.name, a.vendor, a.backend) == (mine.name, mine.vendor, mine.backend)]
    return DeviceIdentity(mine.name, mine.backend, f"{mine.vendor}/{mine.name}#{twins.index(mine.index)}")


def enumerate_physical() -> list[PhysicalDevice]:
    """Every card once, the best first, then the host, which the reference computes on."""
    found: dict[str, list[Device]] = {}
    for device in enumerate_devices():
        found.setdefault(identity(device).card, []).append(device)
    return [PhysicalDevice(card, reach[0].name, tuple(reach)) for card, reach in found.items()]


# --------------------------------------------------------------------------------------------------------- throughput

Operation = Literal["copy", "multiply_add", "matmul"]


class ThroughputKey(NamedTuple):
    """What is measured, with elements of a dtype: "copy" of memory (bytes read and written), "multiply_add" in
    registers and "matmul" (operations, two for each multiply-add)."""

    operation: Operation
    dtype: DType = F32


@dataclass(frozen=True, slots=True)
class Throughput:
    """The best of several runs.

    per_second  bytes or operations
    clock       "timestamps" of the GPU, or "wall", which includes the way there
    """

    key: ThroughputKey
    per_second: float
    clock: str


class ThroughputError(UnsupportedError):
    """Why nothing was measured for a key; it stands in the result and is not raised."""


def performance_stats(device: Device, keys: Iterable[ThroughputKey]) -> list[Throughput | ThroughputError]:
    """One measured peak, or the reason why there is none, for each key; empty on the reference. Takes up to a second a
    key, and waits for the device. Raises DTypeError for what is no key."""
    wanted = list(keys)
    for key in wanted:
        if not isinstance(key, ThroughputKey):
            raise DTypeError(f"performance_stats: {key!r} is of type {type(key).__name__}; it must be a ThroughputKey")
    if device.type == "cpu":
        return []
    from burn_wgpu.backends.wgpu.throughput import measure

    found: list[Throughput | ThroughputError] = []
    for key in wanted:
        try:
            found.append(Throughput(key, *measure(device.backend, device.handle, key.operation, key.dtype)))
        except UnsupportedError as error:
            found.append(ThroughputError(str(error)))
    return found
