"""Kernels that ask an adapter what its description does not tell."""

from __future__ import annotations

from collections.abc import Iterator

from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import KernelKey, Launch, Out, Plan, fold
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


def halves_plan(count: int, device: Capability) -> Plan:
    """What pack2x16float makes of `count` floats, given as bits: two words a float."""
    prelude = Prelude()
    prelude.raw_storage("x", "array<u32>")
    prelude.raw_storage("out", "array<u32>")
    prelude.const("WORKGROUP", 256)
    prelude.params(groups_x="u32", count="u32")
    grid = fold(-(-count // 256), device)
    key = KernelKey("probe/halves", prelude.build(), (), 2, 0, 256)
    launch = Launch(key, (0, 1), words(grid[0], count), grid)
    return Plan("halves", 1, (Out.of((2 * count,), U32),), (launch,))


def subnormals_plan(count: int, device: Capability) -> Plan:
    """Product and sum of `count` pairs of floats, given and returned as bits."""
    prelude = Prelude()
    for name in ("x", "y", "out"):
        prelude.raw_storage(name, "array<u32>")
    prelude.const("WORKGROUP", 64)
    prelude.params(groups_x="u32", count="u32")
    grid = fold(-(-count // 64), device)
    key = KernelKey("probe/subnormals", prelude.build(), (), 3, 0, 64)
    launch = Launch(key, (0, 1, 2), words(grid[0], count), grid)
    return Plan("subnormals", 2, (Out.of((2 * count,), U32),), (launch,))


def variants(device: Capability) -> Iterator[Plan]:
    if device.has("subgroup"):
        yield subgroup_plan()
    yield halves_plan(1000, device)
    yield subnormals_plan(8, device)
