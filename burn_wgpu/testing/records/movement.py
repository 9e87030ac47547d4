"""Records of what creates, transfers, converts and moves elements: exact, for every dtype."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from burn_wgpu.contract.options import PadMode
from burn_wgpu.contract.transaction_ops import TransactionPrimitive
from burn_wgpu.std.distribution import Distribution
from burn_wgpu.std.dtype import BF16, BOOL_U8, BOOL_U32, F16, F32, F64, I32, I64, INTS, U8, DType
from burn_wgpu.std.slice import Slice
from burn_wgpu.testing.records.call import DEVICE, Call, Case, Draw

FLOATS = (F32, F16, BF16, F64)
BOOLS = (BOOL_U8, BOOL_U32)
STORED: dict[str, tuple[DType, ...]] = {"float": FLOATS, "int": INTS, "bool": BOOLS}
COMPUTED: dict[str, tuple[DType, ...]] = {"float": FLOATS, "int": INTS, "bool": BOOLS}
KINDS = ("float", "int", "bool")

UNARY: tuple[Case, ...] = (
    lambda d: (d.wild(d.n),),
    lambda d: (d.wild(3, d.n),),
    lambda d: (d.wild(d.n, 2, 5),),
    lambda d: (d.wild(),),
)
PAIRS: tuple[Case, ...] = (
    lambda d: ([d.wild(3, d.n), d.wild(2, d.n)], 0),
    lambda d: ([d.wild(2, d.n), d.wild(2, 3), d.wild(2, 0), d.wild(2, d.n)], 1),
    lambda d: ([d.wild(d.n)], 0),
    lambda d: ([d.wild(1, d.n, 2) for _ in range(11)], 0),
)
# Axis and slice arguments: (shape with an axis of n, what goes with it).
SLICED: tuple[tuple[Callable[[int], tuple[int, ...]], list[Slice]], ...] = (
    (lambda n: (n,), [Slice(1, None)]),
    (lambda n: (3, n), [Slice.full(), Slice(0, None, 2)]),
    (lambda n: (n, 4), [Slice(1, -1, -3), Slice(1, 3)]),
    (lambda n: (4, 2, n), [Slice(1, 2), Slice(0, 0)]),
    (lambda n: (2, n, 3), [Slice(-1, None), Slice(0, None, -1), Slice(2, 0)]),
)
PADS: tuple[Case, ...] = (
    lambda d: (d.wild(d.n), [(2, 1)], PadMode.constant(7.0)),
    lambda d: (d.wild(3, d.n), [(1, 0), (0, 3)], PadMode.constant(0.0)),
    lambda d: (d.wild(3, d.n), [(1, 2), (2, 1)], PadMode.reflect()),
    lambda d: (d.wild(2, d.n, 2), [(0, 1), (3, 2), (0, 0)], PadMode.edge()),
    lambda d: (d.wild(d.n, 4), [(0, 0), (3, 3)], PadMode.reflect()),
)


def _region(shape: tuple[int, ...], slices: list[Slice]) -> tuple[int, ...]:
    sizes = [s.output_size(n) for s, n in zip(shape_slices(slices, len(shape)), shape, strict=True)]
    return tuple(sizes)


def shape_slices(slices: list[Slice], rank: int) -> list[Slice]:
    return [*slices, *[Slice.full()] * (rank - len(slices))]


def _slices() -> tuple[Case, ...]:
    return tuple(lambda d, s=shape, w=window: (d.wild(*s(d.n)), w) for shape, window in SLICED)  # type: ignore[misc]


def _assignments() -> tuple[Case, ...]:
    def case(d: Draw, shape: Any, window: list[Slice]) -> tuple[Any, ...]:
        return d.wild(*shape(d.n)), window, d.wild(*_region(shape(d.n), window))

    return tuple(lambda d, s=shape, w=window: case(d, s, w) for shape, window in SLICED)  # type: ignore[misc]


def _moving(kind: str) -> Iterator[Call]:
    """Functions that have one form a kind."""
    dtypes = STORED[kind]

    def call(name: str, *cases: Case, **more: Any) -> Call:
        return Call(f"{kind}_{name}", dtypes, cases, moves=True, **more)

    yield call("into_data", *UNARY)
    yield call("from_data", lambda d: (d.wild(d.n).data(), DEVICE), lambda d: (d.wild(2, d.n, 3).data(), DEVICE))
    yield call("to_device", lambda d: (d.wild(d.n), DEVICE), lambda d: (d.wild(3, d.n), DEVICE))
    yield call("reshape", lambda d: (d.wild(d.n, 6), (3, 2 * d.n)), lambda d: (d.wild(d.n), (1, d.n, 1)),
               lambda d: (d.wild(2, d.n, 3), (6 * d.n,)), lambda d: (d.wild(4, d.n), (2, 2, d.n)),
               lambda d: (d.wild(1), ()))  # fmt: skip
    yield call("swap_dims", lambda d: (d.wild(d.n, 3), 0, 1), lambda d: (d.wild(2, 3, d.n), 2, 0))
    yield call("transpose", lambda d: (d.wild(d.n, 3),), lambda d: (d.wild(2, d.n, 4),))
    yield call("permute", lambda d: (d.wild(2, d.n, 3), (1, 2, 0)), lambda d: (d.wild(d.n), (0,)),
               lambda d: (d.wild(2, 3, d.n, 2), (3, 1, 0, 2)))  # fmt: skip
    yield call(
        "flip", lambda d: (d.wild(d.n), (0,)), lambda d: (d.wild(3, d.n), (0, 1)), lambda d: (d.wild(d.n, 2), ())
    )
    yield call("expand", lambda d: (d.wild(1, d.n), (3, d.n)), lambda d: (d.wild(d.n, 1), (2, d.n, 5)),
               lambda d: (d.wild(1), (d.n,)))  # fmt: skip
    yield call("repeat_dim", lambda d: (d.wild(d.n), 0, 3), lambda d: (d.wild(d.n, 3), 0, 2),
               lambda d: (d.wild(2, d.n), 1, 5), lambda d: (d.wild(2, d.n), 0, 0))  # fmt: skip
    yield call("cat", *PAIRS)
    yield call("slice", *_slices())
    yield call("slice_assign", *_assignments())
    yield call("unfold", lambda d: (d.wild(d.n), 0, 3, 1), lambda d: (d.wild(2, d.n), 1, 1, 2),
               lambda d: (d.wild(d.n, 3), 0, 5, 7))  # fmt: skip
    for name in ("zeros", "ones", "empty"):
        shapes = (lambda d: ((d.n,), DEVICE, d.dtype), lambda d: ((3, d.n, 2), DEVICE, d.dtype))
        yield call(name, *shapes, **({"invoke": _only_its_shape(kind)} if name == "empty" else {}))
    if kind != "bool":
        yield call("full", lambda d: ((d.n,), 3, DEVICE, d.dtype), lambda d: ((2, d.n), 100, DEVICE, d.dtype))
        yield Call(f"{kind}_pad", STORED[kind], PADS, moves=True)


def _only_its_shape(kind: str) -> Callable[..., Any]:
    """An empty tensor may hold anything: only shape and dtype are compared."""

    def invoke(b: Any, *args: Any) -> Any:
        made = getattr(b, f"{kind}_empty")(*args)
        return tuple(made.shape), made.dtype

    return invoke


def _transaction(b: Any, floats: list[Any], ints: list[Any], bools: list[Any]) -> Any:
    transaction = TransactionPrimitive()
    for tensor in floats:
        transaction.register_float(tensor)
    for tensor in ints:
        transaction.register_int(tensor)
    for tensor in bools:
        transaction.register_bool(tensor)
    return b.tr_execute(transaction)


def _to(*targets: DType) -> tuple[Case, ...]:
    return tuple(lambda d, t=target: (d.wild(d.n), t) for target in targets) + tuple(  # type: ignore[misc]
        lambda d, t=target: (d.wild(3, d.n), t)  # type: ignore[misc]
        for target in targets
    )


_SHAPES_OF_NUMBERS: tuple[Case, ...] = (
    lambda d: ((d.n,), Distribution.default(), DEVICE, d.dtype),
    lambda d: ((3, d.n), Distribution.uniform(2, 9), DEVICE, d.dtype),
    lambda d: ((d.n, 2), Distribution.bernoulli(0.3), DEVICE, d.dtype),
)
_NORMAL: Case = lambda d: ((d.n,), Distribution.normal(2.0, 3.0), DEVICE, d.dtype)

MOVEMENT = (
    *(record for kind in KINDS for record in _moving(kind)),
    Call("float_into_int", STORED["float"], _to(*INTS), bits=True),
    Call("float_cast", STORED["float"], _to(F16, BF16, F32, F64), bits=True),
    Call("int_into_float", INTS, _to(*STORED["float"])),
    Call("int_cast", INTS, _to(*INTS)),
    Call("bool_into_int", BOOLS, _to(*INTS)),
    Call("bool_into_float", BOOLS, _to(*STORED["float"])),
    Call("float_detach", STORED["float"], UNARY, moves=True),
    Call(
        "float_set_require_grad",
        STORED["float"],
        (lambda d: (d.wild(d.n), True), lambda d: (d.wild(d.n), False)),
        moves=True,
    ),
    Call("float_is_require_grad", STORED["float"], UNARY, bits=True),
    # The radius of a normal number is a root of a logarithm, computed in f32.
    Call("float_random", STORED["float"], (*_SHAPES_OF_NUMBERS, _NORMAL), units=16, scale="largest", roundings=1),
    Call("int_random", (I32, U8, I64), _SHAPES_OF_NUMBERS),
    Call(
        "int_arange_step",
        INTS,
        (
            lambda d: (0, d.n, 1, DEVICE, d.dtype),
            lambda d: (5, 5 + 3 * d.n, 3, DEVICE, d.dtype),
            lambda d: (d.n, -d.n, -2, DEVICE, d.dtype),
            lambda d: (0, d.n, 0, DEVICE, d.dtype),
        ),
    ),
    Call("int_arange", INTS, (lambda d: (0, d.n, DEVICE, d.dtype), lambda d: (-3, d.n - 3, DEVICE, d.dtype))),
    Call(
        "tr_execute",
        STORED["float"],
        (
            lambda d: ([d.wild(d.n), d.normal(2, d.n)], [d.normal(3, dtype=I32)], [d.mask(d.n, dtype=BOOL_U8)]),
            lambda d: ([], [d.normal(d.n, dtype=U8)], []),
            lambda d: ([], [], []),
        ),
        moves=True,
        invoke=_transaction,
    ),
)
