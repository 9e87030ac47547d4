"""Records of reading and writing by index, of masks and of order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from burn_wgpu.contract.options import IndexingUpdateOp
from burn_wgpu.std.dtype import BOOL_U8, BOOL_U32, I32, I64, U8, U32, DType
from burn_wgpu.testing.records.call import Call, Case, Draw, Given
from burn_wgpu.testing.records.movement import BOOLS, COMPUTED, FLOATS, KINDS, STORED

ADD, ASSIGN = IndexingUpdateOp.ADD, IndexingUpdateOp.ASSIGN
UPDATES = tuple(IndexingUpdateOp)


def _rows(d: Draw, shape: tuple[int, ...], dim: int, update: IndexingUpdateOp, kind: DType = I32) -> tuple[Any, ...]:
    """Arguments of select_assign; distinct rows where the last one to write would count."""
    size = shape[dim]
    count = size if update is ASSIGN else 2 * size
    rows = d.distinct(size, count, kind) if update is ASSIGN else d.indices(size, count, dtype=kind)
    values = d.normal(*shape[:dim], rows.shape[0], *shape[dim + 1 :])
    return d.normal(*shape), dim, rows, values, update


def _scattered(d: Draw, shape: tuple[int, ...], dim: int, update: IndexingUpdateOp) -> tuple[Any, ...]:
    size, lanes = shape[dim], tuple(n for axis, n in enumerate(shape) if axis != dim)
    count = size if update is ASSIGN else 2 * size
    table = np.zeros((*lanes, count), np.int32)
    for lane in np.ndindex(*lanes):
        table[lane] = d.rng.permutation(size) if update is ASSIGN else d.rng.integers(0, max(size, 1), count)
    indices = Given(np.ascontiguousarray(np.moveaxis(table, -1, dim)), I32, free=update is not ASSIGN)
    return dim, d.normal(*shape), indices, d.normal(*indices.shape), update


def _scattered_nd(d: Draw, n: int, update: IndexingUpdateOp) -> tuple[Any, ...]:
    """data [n, 3, 2], coordinates [k, 2] of its first two axes."""
    places = 3 * n
    flat = d.rng.permutation(places) if update is ASSIGN else d.rng.integers(0, max(places, 1), 2 * places)
    table = np.stack(np.unravel_index(flat, (max(n, 1), 3)), -1).astype(np.int32)
    return d.normal(n, 3, 2), Given(table, I32, free=False), d.normal(len(flat), 2), update


def _gathered(d: Draw, shape: tuple[int, ...], dim: int, kind: DType = I32) -> tuple[Any, ...]:
    size = shape[dim]
    wanted = tuple(2 * size if axis == dim else n for axis, n in enumerate(shape))
    return dim, d.wild(*shape), d.indices(size, *wanted, dtype=kind)


def _terms(*args: Any) -> float:
    """Values that can meet at one element, when drawn evenly."""
    return 24.0


def _indexed(kind: str) -> Iterator[Call]:
    moved, computed = STORED[kind], COMPUTED[kind]
    # Sums and products of halves are kept in f32 and rounded once.
    inexact: dict[str, Any] = {"units": _terms, "scale": "absolute"} if kind == "float" else {}

    def updates(make: Callable[[Draw, IndexingUpdateOp], tuple[Any, ...]]) -> tuple[Case, ...]:
        return tuple(lambda d, u=update: make(d, u) for update in UPDATES)  # type: ignore[misc]

    yield Call(
        f"{kind}_select", moved,
        (lambda d: (d.wild(d.n), 0, d.indices(d.n, 2 * d.n)), lambda d: (d.wild(3, d.n), 1, d.indices(d.n, 5)),
         lambda d: (d.wild(d.n, 4), 0, d.indices(d.n, d.n, dtype=I64)),
         lambda d: (d.wild(2, 3, d.n), 1, d.indices(3, 7, dtype=U8)),
         lambda d: (d.wild(d.n, 2), 0, Given(np.array([0, d.n], np.int32), I32, free=False))),
        moves=True,
    )  # fmt: skip
    yield Call(
        f"{kind}_gather", moved,
        (lambda d: _gathered(d, (d.n,), 0), lambda d: _gathered(d, (3, d.n), 1), lambda d: _gathered(d, (d.n, 4), 0),
         lambda d: _gathered(d, (2, 3, d.n), 1, U32),
         lambda d: (0, d.wild(d.n + 2, 5), d.indices(d.n + 2, 3, 2))),
        moves=True,
    )  # fmt: skip
    yield Call(
        f"{kind}_gather_nd", moved,
        (lambda d: (d.wild(d.n, 3), _coordinates(d, (d.n, 3), 2, 7)),
         lambda d: (d.wild(d.n, 3, 2), _coordinates(d, (d.n,), 1, d.n)),
         lambda d: (d.wild(2, d.n, 3), _coordinates(d, (2, d.n), 2, 5))),
        moves=True,
    )  # fmt: skip
    yield Call(
        f"{kind}_select_assign", computed,
        (*updates(lambda d, u: _rows(d, (d.n, 3), 0, u)), *updates(lambda d, u: _rows(d, (2, d.n), 1, u)),
         lambda d: _rows(d, (d.n,), 0, ADD)),
        **inexact,
    )  # fmt: skip
    yield Call(
        f"{kind}_scatter", computed,
        (*updates(lambda d, u: _scattered(d, (d.n, 3), 0, u)), *updates(lambda d, u: _scattered(d, (2, d.n), 1, u))),
        **inexact,
    )  # fmt: skip
    yield Call(f"{kind}_scatter_nd", computed, updates(lambda d, u: _scattered_nd(d, d.n, u)), **inexact)
    yield Call(
        f"{kind}_mask_select", moved,
        (lambda d: (d.wild(d.n), d.mask(d.n, dtype=BOOL_U8)),
         lambda d: (d.wild(3, d.n), d.mask(3, d.n, share=0.1, dtype=BOOL_U32)),
         lambda d: (d.wild(d.n, 2), d.mask(d.n, 2, share=0.0, dtype=BOOL_U8))),
        moves=True,
    )  # fmt: skip


def _coordinates(d: Draw, sizes: tuple[int, ...], k: int, count: int) -> Given:
    if 0 in sizes:
        count = 0
    columns = [d.rng.integers(0, max(n, 1), count) for n in sizes[:k]]
    return Given(np.stack(columns, -1).astype(np.int32), I32)


def _ordered(kind: str) -> Iterator[Call]:
    """Sorting: equal elements keep their order, so the positions are determined too."""
    out = (I32,) if kind == "float" else ()

    def along(*more: Any, draw: str = "ties") -> tuple[Case, ...]:
        return (
            lambda d: (getattr(d, draw)(d.n), 0, *more),
            lambda d: (getattr(d, draw)(3, d.n), 1, *more),
            lambda d: (getattr(d, draw)(d.n, 4), 0, *more),
            lambda d: (d.wild(2, d.n, 3), 1, *more),
        )

    def topk(*more: Any) -> tuple[Case, ...]:
        return (
            lambda d: (d.ties(d.n), 0, min(d.n, 3), *more),
            lambda d: (d.wild(3, d.n), 1, d.n, *more),
            lambda d: (d.ties(d.n, 2), 0, min(d.n, 1), *more),
        )

    dtypes = STORED[kind]
    both = (*along(False), *along(True))
    yield Call(f"{kind}_sort", dtypes, both, bits=True)
    yield Call(f"{kind}_sort_with_indices", dtypes, (*along(False, *out), *along(True, *out)), bits=True)
    yield Call(f"{kind}_argsort", dtypes, (*along(False, *out), *along(True, *out)), bits=True)
    yield Call(f"{kind}_topk", dtypes, topk(), bits=True)
    yield Call(f"{kind}_argtopk", dtypes, topk(*out), bits=True)
    yield Call(f"{kind}_topk_with_indices", dtypes, topk(*out), bits=True)


INDEXING = (
    *(record for kind in KINDS for record in _indexed(kind)),
    *(record for kind in ("float", "int") for record in _ordered(kind)),
    Call(
        "bool_argwhere",
        BOOLS,
        (
            lambda d: (d.mask(d.n, dtype=d.dtype), I32),
            lambda d: (d.mask(3, d.n, share=0.1, dtype=d.dtype), I32),
            lambda d: (d.mask(d.n, 2, 2, dtype=d.dtype), I64),
        ),
    ),
    Call(
        "embedding",
        STORED["float"],
        (
            lambda d: (d.wild(d.n, 5), d.indices(d.n, 2, 7)),
            lambda d: (d.wild(7, d.n), d.indices(7, 3, 2, dtype=I64)),
            lambda d: (d.wild(4, 8), d.indices(4, 1, d.n)),
        ),
        moves=True,
    ),
    Call(
        "embedding_backward",
        FLOATS,
        (
            lambda d: (d.normal(d.n, 5), *_backward(d, d.n, 5, 2, 7)),
            lambda d: (d.normal(7, d.n), *_backward(d, 7, d.n, 3, 2)),
            lambda d: (d.normal(4, 8), *_backward(d, 4, 8, 1, d.n)),
        ),
        units=lambda w, g, i: 2.0 + i.values.size,
        scale="absolute",
    ),
)


def _backward(d: Draw, rows: int, width: int, n: int, s: int) -> tuple[Given, Given]:
    indices = d.indices(rows, n, s)
    return d.normal(*indices.shape, width), indices
