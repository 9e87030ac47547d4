"""Drawn shapes, indices and arguments: `t[...]`, movements, reductions and operators against NumPy."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from burn_wgpu import Device, Tensor
from burn_wgpu.std.errors import BurnError

SHAPES = st.lists(st.integers(0, 5), max_size=4).map(tuple)
quick = settings(
    max_examples=250, deadline=None, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip


@st.composite
def arrays(draw: st.DrawFn, shapes: st.SearchStrategy[tuple[int, ...]] = SHAPES, kinds: str = "fib") -> np.ndarray:
    shape, kind, seed = draw(shapes), draw(st.sampled_from(kinds)), draw(st.integers(0, 2**31))
    values = np.random.default_rng(seed).integers(-6, 7, shape)
    return values > 0 if kind == "b" else values.astype(np.float32 if kind == "f" else np.int32)


@st.composite
def views(draw: st.DrawFn, array: np.ndarray, device: Device) -> Tensor:
    """A tensor of the array's values, as it is, permuted, flipped, or cut out of a larger one."""
    way = draw(st.sampled_from(["plain", "permuted", "flipped", "cut"])) if array.ndim else "plain"
    if way == "permuted":
        order = draw(st.permutations(range(array.ndim)))
        return Tensor(array.transpose(order), device=device).permute(np.argsort(order).tolist())
    if way == "flipped":
        return Tensor(np.flip(array, 0), device=device).flip(0)
    if way == "cut":
        return Tensor(np.pad(array, [(0, 0)] * (array.ndim - 1) + [(2, 1)]), device=device)[..., 2:-1]
    return Tensor(array, device=device)


@st.composite
def indices(draw: st.DrawFn, shape: tuple[int, ...], device: Device) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """One index twice: for a tensor, where its arrays may be tensors too, and for an array."""
    common = draw(st.sampled_from([(1,), (3,), (2, 2), (), (0,)]))
    ours: list[Any] = []
    theirs: list[Any] = []

    def both(item: Any, on_device: bool = False) -> None:
        theirs.append(item)
        ours.append(Tensor(item, device=device) if on_device else item)

    axis, ellipsis = 0, False
    while axis < len(shape):
        size = shape[axis]
        kind = draw(st.sampled_from(["slice", "slice", "int", "array", "mask", "none", "ellipsis", "stop"]))
        on_device = draw(st.booleans())
        if kind == "stop" and not ellipsis:  # what follows an ellipsis must reach the last axis
            break
        if kind == "none":
            both(None)
        elif kind == "ellipsis":
            if ellipsis:
                continue
            ellipsis = True
            both(...)
            axis += draw(st.integers(0, len(shape) - axis))
        elif kind in ("slice", "stop") or not size:
            ends = st.none() | st.integers(-size - 2, size + 2)
            both(slice(draw(ends), draw(ends), draw(st.sampled_from([None, 1, 2, 3, -1, -2]))))
            axis += 1
        elif kind == "int":
            both(draw(st.integers(-size, size - 1)))
            axis += 1
        elif kind == "array":
            values = draw(st.lists(st.integers(-size, size - 1), min_size=4, max_size=4))
            both(np.resize(np.array(values, np.int64), common), on_device)
            axis += 1
        else:
            wide = draw(st.integers(1, min(2, len(shape) - axis)))
            both(draw(arrays(st.just(shape[axis : axis + wide]), "b")), on_device)
            axis += wide
    return tuple(ours), tuple(theirs)


@given(data=st.data())
@quick
def test_indexing_is_numpys(device: Device, data: st.DataObject) -> None:
    array = data.draw(arrays())
    tensor = data.draw(views(array, device))
    ours, theirs = data.draw(indices(array.shape, device))
    try:
        wanted = array[theirs]
    except IndexError:
        with pytest.raises(BurnError):
            tensor[ours].numpy()
        return
    found = tensor[ours].numpy()
    assert found.shape == np.shape(wanted)
    np.testing.assert_array_equal(found, wanted)


def axes(rank: int) -> st.SearchStrategy[int]:
    return st.integers(-rank, rank - 1)


def _roll(draw: Any, x: np.ndarray) -> tuple[Callable[..., Any], Callable[..., Any]]:
    count = draw(st.integers(1, 2))
    by, over = [draw(st.integers(-9, 9)) for _ in range(count)], [draw(axes(x.ndim)) for _ in range(count)]
    return lambda t: t.roll(by, over), lambda a: np.roll(a, by, over)


def _moved(draw: Any, x: np.ndarray) -> tuple[Callable[..., Any], Callable[..., Any]]:
    source, target = draw(axes(x.ndim)), draw(axes(x.ndim))
    return lambda t: t.movedim(source, target), lambda a: np.moveaxis(a, source, target)


def _repeated(draw: Any, x: np.ndarray) -> tuple[Callable[..., Any], Callable[..., Any]]:
    sizes = [draw(st.integers(0, 3)) for _ in x.shape]
    return lambda t: t.repeat(sizes), lambda a: np.tile(a, sizes)


def _joined(draw: Any, x: np.ndarray) -> tuple[Callable[..., Any], Callable[..., Any]]:
    axis, cut = draw(axes(x.ndim)), draw(st.integers(0, 5))
    return (
        lambda t: Tensor.cat([t, t.slice_dim(axis, (0, cut)), t], axis),
        lambda a: np.concatenate([a, a.take(range(min(cut, a.shape[axis])), axis), a], axis),
    )


def _reduced(draw: Any, x: np.ndarray) -> tuple[Callable[..., Any], Callable[..., Any]]:
    name = draw(
        st.sampled_from(["sum", "any", "all"] + ([] if x.dtype.kind == "b" or 0 in x.shape else ["max", "min"]))
    )
    over = tuple(draw(st.lists(st.integers(0, x.ndim - 1), unique=True, max_size=x.ndim)))
    keep = draw(st.booleans())
    options = {"dtype": np.int32 if x.dtype.kind in "ib" else np.float32} if name == "sum" else {}
    return (
        lambda t: getattr(t, name)(over, keep),
        lambda a: getattr(np, name)(a, axis=over, keepdims=keep, **options),
    )


def _ordered(draw: Any, x: np.ndarray) -> tuple[Callable[..., Any], Callable[..., Any]]:
    axis = draw(axes(x.ndim))
    numbers = x.astype(np.int32) if x.dtype.kind == "b" else x
    return (
        lambda t: (t.int() if t.kind == "bool" else t).argsort(axis),
        lambda a: np.argsort(numbers, axis, kind="stable").astype(np.int32),
    )


@pytest.mark.parametrize("make", [_roll, _moved, _repeated, _joined, _reduced, _ordered], ids=lambda f: f.__name__[1:])
@given(data=st.data())
@settings(quick, max_examples=60)
def test_movements_and_reductions_are_numpys(device: Device, make: Any, data: st.DataObject) -> None:
    array = data.draw(arrays(SHAPES.filter(bool)))
    tensor = data.draw(views(array, device))
    ours, theirs = make(data.draw, array)
    np.testing.assert_array_equal(ours(tensor).numpy(), theirs(array), strict=array.dtype.kind != "b")


OPERATORS = [operator.add, operator.sub, operator.mul, operator.lt, operator.le, operator.eq, operator.ne]
NUMBERS: list[Any] = [0, 1, -3, 2.0, 0.5, True, np.float32(1.5), np.int64(3), np.float64(0.25), np.uint8(200), 10**12]


@given(data=st.data())
@quick
def test_operators_are_numpys(device: Device, data: st.DataObject) -> None:
    shape = data.draw(SHAPES)
    kind = data.draw(st.sampled_from("fi"))
    thin = st.lists(st.booleans(), min_size=len(shape), max_size=len(shape)).map(
        lambda ones: tuple(1 if one else n for one, n in zip(ones, shape, strict=True))
    )
    left, right = data.draw(arrays(thin, kind)), data.draw(arrays(thin, kind) | st.sampled_from(NUMBERS))
    apply = data.draw(st.sampled_from(OPERATORS))
    tensor = data.draw(views(left, device))
    beside: Any = right
    if isinstance(right, np.ndarray) and data.draw(st.booleans()):
        beside = data.draw(views(right, device))
    number = right.item() if isinstance(right, np.generic) else right
    swapped = data.draw(st.booleans())
    if kind == "i" and isinstance(number, float) and not number.is_integer() and apply in OPERATORS[:3]:
        with pytest.raises(BurnError, match="integers only"):
            apply(beside, tensor) if swapped else apply(tensor, beside)
        return
    wide = left.astype(np.int64 if kind == "i" else np.float32)
    wanted = apply(number, wide) if swapped else apply(wide, number)
    found = (apply(beside, tensor) if swapped else apply(tensor, beside)).numpy()
    if found.dtype != bool:
        wanted = wanted.astype(np.int32 if kind == "i" else np.float32)  # ints wrap
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
