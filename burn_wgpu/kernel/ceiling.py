"""The kernel that measures an adapter's arithmetic ceiling."""

from __future__ import annotations

from collections.abc import Iterator

from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import KernelKey, Launch, Out, Plan, fold
from burn_wgpu.shader.prelude import Prelude, words
from burn_wgpu.std.dtype import F32

WORKGROUP = 256
OPERATIONS_PER_ROUND = 256


def fma_plan(groups: int, rounds: int, device: Capability) -> Plan:
    """groups · 256 invocations of `rounds` rounds; 256 operations a round and invocation."""
    prelude = Prelude()
    prelude.storage("out", F32)
    prelude.const("WORKGROUP", WORKGROUP)
    prelude.params(groups_x="u32", rounds="u32", factor="f32")
    grid = fold(groups, device)
    key = KernelKey("bench/fma", prelude.build(), tuple(prelude.uses), 1, 0, WORKGROUP)
    launch = Launch(key, (0,), words(grid[0], rounds, 0.5), grid)
    return Plan("fma", 0, (Out.of((grid[0] * grid[1] * WORKGROUP,), F32),), (launch,))


def variants(device: Capability) -> Iterator[Plan]:
    yield fma_plan(4, 8, device)
