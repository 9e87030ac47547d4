"""What an adapter is asked by running a kernel on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from burn_wgpu.kernel.probe import halves_plan, subgroup_plan, subnormals_plan
from burn_wgpu.runtime.client import Client

if TYPE_CHECKING:
    from burn_wgpu.backends.wgpu.tensor import WgpuDevice


def subgroup_size(device: WgpuDevice) -> int:
    """Lanes of a subgroup, or 0 where the adapter has none. wgpu-py reports defaults instead of the adapter's own."""
    client = device.client
    if not client.capability.has("subgroup"):
        return 0
    (lease,) = client.task(subgroup_plan()).run(())
    return int(client.stream.download([(lease, 0, 4)])[0].view(np.uint32)[0])


def halves_round_to_even(client: Client) -> bool:
    """Whether pack2x16float gives the nearest half, ties to even, for every half, every midpoint between neighbours and
    their own neighbours, with overflow to infinity and NaN kept. WGSL leaves the rounding open."""
    bits = _critical_floats()
    lease = client.upload(bits, bits.nbytes)
    (out,) = client.task(halves_plan(len(bits), client.capability)).run((lease,))
    found = client.stream.download([(out, 0, 8 * len(bits))])[0].view(np.uint32).reshape(-1, 2)
    values = bits.view(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        expected = values.astype(np.float16).view(np.uint16).astype(np.uint32)
    nan = np.isnan(values)
    right = (found == expected[:, None]).all(axis=1)
    still_nan = ((found & 0x7FFF) > 0x7C00).all(axis=1)
    return bool(np.where(nan, still_nan, right).all())


def keeps_subnormals(client: Client) -> bool:
    """Whether sums and products read and write subnormal f32 numbers as they are; WGSL lets a device take zeros."""
    pairs = np.array(
        [(1e-40, 1e3), (-1e-40, 1e30), (1e-20, 1e-20), (-1e-20, 3e-21), (1e-40, 2e-41), (1.5e-38, -1.2e-38),
         (1.4e-45, 1.0), (-3e-42, 2.0**120)], np.float32
    )  # fmt: skip
    x, y = np.ascontiguousarray(pairs.T)
    leases = tuple(client.upload(v, v.nbytes) for v in (x, y))
    (out,) = client.task(subnormals_plan(len(pairs), client.capability)).run(leases)
    found = client.stream.download([(out, 0, 8 * len(pairs))])[0].view(np.uint32).reshape(-1, 2)
    with np.errstate(under="ignore"):
        expected = np.stack([x * y, x + y], axis=1)
    return bool(np.array_equal(found, expected.view(np.uint32)))


def _critical_floats() -> np.ndarray:
    """Bits of floats at which a rounding mode shows."""
    halves = np.arange(0, 0x7C00, dtype=np.uint16).view(np.float16).astype(np.float32)
    middles = ((halves[:-1].astype(np.float64) + halves[1:].astype(np.float64)) / 2).astype(np.float32)
    near = middles.view(np.uint32)
    special = np.array(
        [0x7F800000, 0x7FC00000, 0x477FEFFF, 0x477FF000, 0x47800000, 0x7F7FFFFF, 1, 0x33000000], np.uint32
    )
    positive = np.concatenate([halves.view(np.uint32), near, near - 1, near + 1, special]).astype(np.uint32)
    return np.concatenate([positive, positive | np.uint32(0x80000000)])
