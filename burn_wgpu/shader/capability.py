"""What an adapter offers, as a frozen value that plans choose by."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Capability:
    """Limits and features of an opened device. The defaults are WebGPU's own, so that tests need no adapter.

    features  of: "shader-int64", "shader-f16", "subgroup", "timestamp-query" …
    trusted   kernels whose plans prove their indices are compiled without bounds checks
    """

    max_binding_bytes: int = 128 << 20
    max_buffer_bytes: int = 256 << 20
    max_storage_buffers: int = 8
    max_workgroup_bytes: int = 16 << 10
    max_invocations: int = 256
    max_groups: int = 65_535
    features: frozenset[str] = field(default_factory=frozenset)
    subgroup_size: int = 0
    adapter: str = "default limits"
    vendor: str = ""
    trusted: bool = False
    software: bool = False

    def has(self, feature: str) -> bool:
        return feature in self.features
