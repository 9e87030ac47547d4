"""Records of reductions, running results, products of matrices, softmax and powers.

A sum of n numbers may err by n units of what was added up (by magnitude), a product by n units of itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

from burn_wgpu.std.dtype import BOOL_U8, BOOL_U32, I32, I64, INTS, DType
from burn_wgpu.testing.records.call import Call, Case, Draw
from burn_wgpu.testing.records.movement import COMPUTED, FLOATS


def _whole(draw: str, *more: Any) -> tuple[Case, ...]:
    return (
        lambda d: (_draw(d, draw, d.n), *more),
        lambda d: (_draw(d, draw, 3, d.n), *more),
        lambda d: (_draw(d, draw, d.n, 4, 2), *more),
    )


def _along(draw: str, *more: Any) -> tuple[Case, ...]:
    return (
        lambda d: (_draw(d, draw, d.n), 0, *more),
        lambda d: (_draw(d, draw, 3, d.n), 1, *more),
        lambda d: (_draw(d, draw, d.n, 5), 0, *more),
        lambda d: (_draw(d, draw, 2, d.n, 3), 1, *more),
        lambda d: (_draw(d, draw, d.n, 3, 2), 1, *more),
    )


def _draw(d: Draw, draw: str, *shape: int) -> Any:
    # Products of many numbers stay in range when these are near 1.
    return d.uniform(0.6, 1.5, *shape) if draw == "near one" and d.dtype.is_float else (
        d.normal(*shape) if draw == "near one" else getattr(d, draw)(*shape)
    )  # fmt: skip


def _total(tensor: Any, *_: Any) -> float:
    return 2.0 + float(tensor.values.size)


def _lane(tensor: Any, dim: int, *_: Any) -> float:
    return 2.0 + tensor.shape[dim]


def _lanes(tensor: Any, dims: tuple[int, ...]) -> float:
    return 2.0 + prod(tensor.shape[d] for d in dims)


def _summed(kind: str) -> Iterator[Call]:
    dtypes = COMPUTED[kind]
    floats = kind == "float"

    def both(name: str, draw: str, scale: str) -> Iterator[Call]:
        more: Any = {"scale": scale} if floats else {}
        # Infinities and NaN must go where they go in any order.
        whole, along = (*_whole(draw), *_whole("ties")), (*_along(draw), *_along("ties"))
        yield Call(f"{kind}_{name}", dtypes, whole, units=_total if floats else 0.0, **more)
        yield Call(f"{kind}_{name}_dim", dtypes, along, units=_lane if floats else 0.0, **more)

    yield from both("sum", "normal", "absolute")
    yield from both("mean", "normal", "absolute")
    yield from both("prod", "near one", "result")
    for name, draw, scale in (("cumsum", "normal", "absolute"), ("cumprod", "near one", "result")):
        more: Any = {"units": _lane, "scale": scale} if floats else {}
        yield Call(f"{kind}_{name}", dtypes, (*_along(draw), *_along("ties")), **more)


def _extreme(kind: str) -> Iterator[Call]:
    """Extrema are elements of the tensor, and their positions are determined: the lowest, or the first NaN."""
    dtypes = COMPUTED[kind]
    outs: tuple[DType, ...] = (I32, I64) if kind == "float" else ()
    lanes = (*_along("ties"), *_along("wild"))

    positions: tuple[Case, ...] = lanes
    if kind == "float":
        positions = (*_along("ties", outs[0]), *_along("wild", outs[0]), _along("ties", outs[1])[1])

    for which in ("max", "min", "max_abs"):
        yield Call(f"{kind}_{which}", dtypes, (*_whole("ties"), *_whole("wild")), bits=True)
        yield Call(f"{kind}_{which}_dim", dtypes, lanes, bits=True)
    for which in ("max", "min"):
        yield Call(f"{kind}_arg{which}", dtypes, positions, bits=True)
        yield Call(f"{kind}_{which}_dim_with_indices", dtypes, positions, bits=True)
        yield Call(f"{kind}_cum{which}", dtypes, lanes, bits=True)


def _tested(kind: str) -> Iterator[Call]:
    dtypes = COMPUTED[kind]
    for which in ("any", "all"):
        one, other = ((), ()) if kind == "bool" else ((BOOL_U8,), (BOOL_U32,))
        yield Call(f"{kind}_{which}", dtypes, (*_whole("ties", *one), *_whole("normal", *other)), bits=True)
        yield Call(f"{kind}_{which}_dim", dtypes, (*_along("ties", *one), *_along("normal", *other)), bits=True)


_PRODUCTS: tuple[Case, ...] = (
    lambda d: (d.normal(d.n, 7), d.normal(7, 5)),
    lambda d: (d.normal(3, d.n), d.normal(d.n, 4)),
    lambda d: (d.normal(5, 6), d.normal(6, d.n)),
    lambda d: (d.normal(1, d.n), d.normal(d.n, 1)),
    lambda d: (d.normal(2, 3, d.n, 4), d.normal(1, 3, 4, 2)),
    lambda d: (d.normal(1, d.n, 33), d.normal(3, 33, 17)),
    lambda d: (d.ties(d.n, 19), d.ties(19, 6)),
)


def _inner(lhs: Any, rhs: Any) -> float:
    return 2.0 + lhs.shape[-1]


REDUCTION = (
    *_summed("float"),
    *_summed("int"),
    *_extreme("float"),
    *_extreme("int"),
    *_tested("float"),
    *_tested("int"),
    *_tested("bool"),
    Call(
        "float_sum_dims",
        FLOATS,
        (
            lambda d: (d.normal(2, d.n, 3), (0, 2)),
            lambda d: (d.normal(d.n, 3), (0, 1)),
            lambda d: (d.normal(d.n, 2, 3, 2), (0, 3)),
            lambda d: (d.normal(4, d.n), (1,)),
            lambda d: (d.normal(4, d.n), ()),
        ),
        units=_lanes,
        scale="absolute",
    ),
    Call(
        "float_mean_dims",
        FLOATS,
        (lambda d: (d.normal(2, d.n, 3), (0, 2)), lambda d: (d.normal(d.n, 3), (0, 1)), lambda d: (d.ties(d.n, 3), ())),
        units=_lanes,
        scale="absolute",
    ),
    *(
        Call(
            f"float_{which}_dims",
            FLOATS,
            (lambda d: (d.ties(2, d.n, 3), (0, 2)), lambda d: (d.wild(d.n, 3), (0, 1)), lambda d: (d.ties(d.n), ())),
            bits=True,
        )
        for which in ("max", "min")
    ),
    *(
        Call(
            name,
            FLOATS,
            (
                lambda d: (d.normal(4, d.n), (1,), 1.0),
                lambda d: (d.normal(d.n, 3), (0,), 0.0),
                lambda d: (d.normal(d.n, 2, 3), (0, 2), 0.5),
                lambda d: (d.ties(3, d.n, 2), (1,), 1.0),
            ),
            # The error of a difference is one of the number that it was.
            units=lambda t, dims, correction: 16.0 + _lanes(t, dims),
            least=1.0,
        )
        for name in ("float_var", "float_std")
    ),
    Call(
        "float_norm",
        FLOATS,
        tuple(
            lambda d, p=p, dims=dims: (d.normal(3, d.n, 2), dims, p)  # type: ignore[misc]
            for p in (2.0, 0.0, 1.0, 3.0)
            for dims in ((1,), (0, 2))
        ),
        units=lambda t, dims, p: 32.0 + _lanes(t, dims),
    ),
    Call(
        "float_inner",
        FLOATS,
        (
            lambda d: (d.normal(4, d.n), d.normal(4, d.n), (1,)),
            lambda d: (d.normal(d.n, 3), d.normal(d.n, 3), (0,)),
            lambda d: (d.normal(d.n, 2, 3), d.normal(d.n, 2, 3), (0, 1, 2)),
            lambda d: (d.ties(d.n, 3), d.ties(d.n, 3), (0,)),
        ),
        units=lambda x, y, dims: _lanes(x, dims),
        scale="absolute",
    ),
    Call(
        "float_cosine",
        FLOATS,
        (
            lambda d: (d.normal(4, d.n), d.normal(4, d.n), 1, 0.0),
            lambda d: (d.normal(d.n, 3), d.normal(d.n, 3), 0, 1e-8),
            lambda d: (d.normal(d.n, 3, 2, scale=1e-3), d.normal(1, 3, 2), 1, 0.5),
            lambda d: (d.normal(2, d.n, scale=1e3), d.ties(2, d.n), 1, 0.0),
        ),
        units=lambda x, y, dim, eps: 16.0 + x.shape[dim],
        least=1.0,
    ),
    Call("float_matmul", FLOATS, _PRODUCTS, units=_inner, scale="absolute", largest=1000),
    Call("int_matmul", INTS, _PRODUCTS, largest=300),
    Call(
        "float_cross",
        FLOATS,
        (
            lambda d: (d.normal(3, d.n), d.normal(3, d.n), 0),
            lambda d: (d.normal(d.n, 3), d.normal(1, 3), 1),
        ),
        units=3,
        scale="largest",
    ),
    # e^(x − max): an error of the difference is a relative one of the power.
    *(
        Call(name, FLOATS, (*_along("normal"), *_along("ties")), units=lambda x, dim: 32.0 + x.shape[dim])
        for name in ("softmax", "softmin")
    ),
    Call(
        "log_softmax",
        FLOATS,
        (*_along("normal"), *_along("ties")),
        units=lambda x, dim: 8.0 + x.shape[dim] / 8,
        scale="largest",
    ),
    Call(
        "float_powi",
        FLOATS,
        (
            lambda d: (d.uniform(0.5, 2.0, d.n), d.normal(d.n, dtype=I32)),
            lambda d: (d.normal(3, d.n), d.normal(1, d.n, dtype=I32)),
            lambda d: (d.uniform(-1.01, -0.99, d.n), d.indices(3000, d.n)),
        ),
        units=16,
    ),
    *(
        Call(
            name,
            FLOATS,
            tuple(lambda d, p=power: (d.normal(3, d.n), p) for power in powers),  # type: ignore[misc]
            units=16,
        )
        for name, powers in (
            ("float_powi_scalar", (3, 0, 1, 2, -1, -2, 5)),
            ("float_powi_scalar_impl", (3, 4, -3)),
            ("float_powf_scalar", (2.5, 0.0, 1.0, 2.0, 0.5, -1.0)),
        )
    ),
    Call("int_powi_scalar", INTS, tuple(lambda d, p=power: (d.wild(3, d.n), p) for power in (3, 0, 1, 2, 7))),  # type: ignore[misc]
)
