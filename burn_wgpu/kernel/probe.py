"""Kernels that ask an adapter what its description does not tell."""

from __future__ import annotations

from collections.abc import Iterator

from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import KernelKey, Launch, Out, Plan
from burn_wgpu.shader.prelude import Prelude, words
from burn_wgpu.std.dtype import U32


def subgroup_plan() -> Plan:
    """The subgroup's size as one u32. Needs the feature "subgroup"."""
    prelude = Prelude()
    prelude.storage("out", U32)
    prelude.const("WORKGROUP", 64)
    prelude.params(groups_x="u32")
    key = KernelKey(
        "probe/subgroup", prelude.build(), tuple(prelude.uses), 1, 0, 64, frozenset({"subgroup"})
    )  # fmt: skip
    return Plan("subgroup_size", 0, (Out.of((1,), U32),), (Launch(key, (0,), words(1), (1, 1, 1)),))


def variants(device: Capability) -> Iterator[Plan]:
    if device.has("subgroup"):
        yield subgroup_plan()
