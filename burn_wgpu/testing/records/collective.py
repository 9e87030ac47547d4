"""Records of the collectives, over a group whose members are all the same device."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from burn_wgpu.contract.options import ReduceOperation
from burn_wgpu.testing.records.call import DEVICE, Call, Case, Draw
from burn_wgpu.testing.records.movement import COMPUTED, KINDS, STORED


def _members(make: Callable[[Draw], Any], *more: Any) -> tuple[Case, ...]:
    return tuple(lambda d, c=count: ([make(d) for _ in range(c)], *more) for count in (2, 3))  # type: ignore[misc]


def _calls(kind: str) -> Iterator[Call]:
    dtypes, moved = COMPUTED[kind], STORED[kind]
    if kind != "bool":
        # Every member's half is rounded once, and so is every partial sum.
        error: Any = {"units": 4, "scale": "absolute", "roundings": 7, "halves": "absolute"} if kind == "float" else {}
        reduced: tuple[Case, ...] = ()
        scattered: tuple[Case, ...] = ()
        for op in ReduceOperation:
            reduced += _members(lambda d: d.normal(2, d.n), op)
            scattered += _members(lambda d: d.normal(2, d.n), 1, op)
        yield Call(f"{kind}_all_reduce", dtypes, reduced, **error)
        yield Call(f"{kind}_reduce_scatter", dtypes, scattered, **error)
    yield Call(f"{kind}_all_gather", moved, _members(lambda d: d.wild(2, d.n), 1), moves=True)
    yield Call(f"{kind}_all_to_all", moved, _members(lambda d: d.wild(2, d.n), 1, 0), moves=True)
    yield Call(f"{kind}_broadcast", moved, (lambda d: (d.wild(d.n, 2), [DEVICE, DEVICE]),), moves=True)


COLLECTIVE = tuple(record for kind in KINDS for record in _calls(kind))
