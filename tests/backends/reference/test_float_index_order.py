"""gather, scatter and their relatives; sort, argsort and top-k."""

import itertools

import numpy as np
import pytest

from burn_wgpu.contract.options import IndexingUpdateOp
from burn_wgpu.std.data import TensorData
from burn_wgpu.std.dtype import BF16, BOOL_U32, F16, F32, F64, I8, I32, I64, U8, U64
from burn_wgpu.std.errors import IndexOutOfRange
from tests.backends.reference.tools import BOTH, CPU, INF, NAN, B, bools, floats, ints, make, near, read, same

both = pytest.mark.parametrize("b", [b for _, b in BOTH], ids=[name for name, _ in BOTH])
UPDATES = list(IndexingUpdateOp)
COMBINE = {
    IndexingUpdateOp.ASSIGN: lambda old, new: new,
    IndexingUpdateOp.ADD: lambda old, new: old + new,
    IndexingUpdateOp.MUL: lambda old, new: old * new,
    IndexingUpdateOp.MIN: min,
    IndexingUpdateOp.MAX: max,
}
X = np.random.default_rng(0).normal(size=(4, 5, 3))


# ------------------------------------------------------------------------------------------------ reading


@both
@pytest.mark.parametrize("kind", [I32, I64, U8, U64], ids=str)
def test_select(b, kind):
    for dim in range(3):
        rows = [2, 0, 2, 1]
        same(b.float_select(floats(X, F64), dim, ints(rows, kind)), np.take(X, rows, dim))
    same(b.float_select(floats(X, F64), 1, ints([], kind)), np.zeros((4, 0, 3)))
    same(b.bool_select(bools([1, 0, 1]), 0, ints([1, 1, 2], kind)), [False, False, True])


@both
def test_gather(b):
    for dim in range(3):
        index = np.random.default_rng(1).integers(0, X.shape[dim], X.shape)
        same(b.float_gather(dim, floats(X, F64), ints(index)), np.take_along_axis(X, index, dim))
    # Other axes of the indices may be shorter, and the axis itself longer.
    index = np.random.default_rng(2).integers(0, 5, (2, 9, 1))
    same(b.float_gather(1, floats(X, F64), ints(index)), np.take_along_axis(X[:2, :, :1], index, 1))
    truth = X > 0
    found = b.bool_gather(1, bools(truth, BOOL_U32), ints(index))
    assert found.dtype is BOOL_U32
    same(found, np.take_along_axis(truth[:2, :, :1], index, 1))


@both
def test_gather_nd(b):
    index = np.array([[[3, 4], [0, 0], [1, 2]], [[2, 2], [3, 0], [3, 4]]])
    same(b.float_gather_nd(floats(X, F64), ints(index)), X[index[..., 0], index[..., 1]])
    same(b.float_gather_nd(floats(X, F64), ints([[1]])), X[[1]])
    same(b.int_gather_nd(ints([[1, 2], [3, 4]]), ints([[1, 1], [0, 1]], U8)), [4, 2])
    same(b.bool_gather_nd(bools([[1, 0], [0, 1]]), ints([[1], [0]])), np.array([[0, 1], [1, 0]], bool))
    same(b.float_gather_nd(floats([1.0, 2.0]), ints(np.zeros((3, 0)))), [[1, 2]] * 3)  # no coordinates: the whole


# ------------------------------------------------------------------------------------------------ writing


@both
@pytest.mark.parametrize("update", UPDATES, ids=lambda u: u.value)
def test_scatter_with_duplicates(b, update):
    rng = np.random.default_rng(3)
    for dim in range(3):
        shape = [3, 4, 2]
        shape[dim] = 7  # more than the axis: there are duplicates
        index = rng.integers(0, X.shape[dim], shape)
        if update is IndexingUpdateOp.ASSIGN:  # undefined with duplicates
            shape[dim] = X.shape[dim]
            index = np.argsort(rng.normal(size=shape), dim)
        values = rng.normal(size=shape)
        expected = X.copy()
        for at in itertools.product(*map(range, shape)):
            place = list(at)
            place[dim] = index[at]
            expected[tuple(place)] = COMBINE[update](expected[tuple(place)], values[at])
        near(b.float_scatter(dim, floats(X, F64), ints(index), floats(values, F64), update), expected, 1e-12)


@both
@pytest.mark.parametrize("update", UPDATES, ids=lambda u: u.value)
def test_select_assign_and_scatter_nd(b, update):
    rng = np.random.default_rng(4)
    rows = [2, 0, 1] if update is IndexingUpdateOp.ASSIGN else [2, 0, 2]
    values = rng.normal(size=(4, 3, 3))
    expected = X.copy()
    for i, row in enumerate(rows):
        for a, c in itertools.product(range(4), range(3)):
            expected[a, row, c] = COMBINE[update](expected[a, row, c], values[a, i, c])
    near(b.float_select_assign(floats(X, F64), 1, ints(rows), floats(values, F64), update), expected, 1e-12)

    places = [[3, 4], [0, 0], [1, 1]] if update is IndexingUpdateOp.ASSIGN else [[3, 4], [0, 0], [3, 4]]
    values = rng.normal(size=(3, 3))
    expected = X.copy()
    for i, (p, q) in enumerate(places):
        for c in range(3):
            expected[p, q, c] = COMBINE[update](expected[p, q, c], values[i, c])
    near(b.float_scatter_nd(floats(X, F64), ints(places), floats(values, F64), update), expected, 1e-12)


@both
def test_bool_updates_are_or_and_and(b):
    base, index, new = bools([0, 0, 1, 1]), ints([0, 1, 2, 3]), bools([1, 0, 1, 0])
    for update, expected in [
        (IndexingUpdateOp.ASSIGN, [1, 0, 1, 0]),
        (IndexingUpdateOp.ADD, [1, 0, 1, 1]),
        (IndexingUpdateOp.MAX, [1, 0, 1, 1]),
        (IndexingUpdateOp.MUL, [0, 0, 1, 0]),
        (IndexingUpdateOp.MIN, [0, 0, 1, 0]),
    ]:
        wanted = np.array(expected, bool)
        same(b.bool_scatter(0, base, index, new, update), wanted)
        same(b.bool_select_assign(base, 0, index, new, update), wanted)
        same(b.bool_scatter_nd(base, ints([[0], [1], [2], [3]]), new, update), wanted)
    twice = b.bool_scatter(0, bools([0, 1]), ints([0, 0, 1, 1]), bools([0, 1, 1, 0]), IndexingUpdateOp.ADD)
    same(twice, [True, True])


@both
def test_half_updates_accumulate_before_they_round(b):
    ones = floats(np.ones(4096), F16)
    found = b.float_scatter(0, floats([0.0], F16), ints(np.zeros(4096)), ones, IndexingUpdateOp.ADD)
    same(found, [4096])
    same(b.int_scatter(0, ints([100], I8), ints([0, 0]), ints([100, 1], I8), IndexingUpdateOp.ADD), [201 - 256])


def test_nan_wins_in_min_and_max_updates():
    for update in (IndexingUpdateOp.MIN, IndexingUpdateOp.MAX):
        same(B.float_scatter(0, floats([1.0, 2.0]), ints([0, 0]), floats([NAN, 5.0]), update), [NAN, 2.0])


# ------------------------------------------------------------------------------------------------- faults


@pytest.mark.parametrize("bad", [-1, 5, 100])
def test_an_index_out_of_range_names_operation_index_and_size(bad):
    t = floats(X)
    with pytest.raises(IndexOutOfRange) as caught:
        B.float_select(t, 1, ints([0, bad]))
    assert str(caught.value) == (
        f"select: index {bad} is outside axis 1 of size 5; indices count from 0 and are not wrapped"
    )
    full = ints(np.full((1, 1, 1), bad))
    with pytest.raises(IndexOutOfRange, match=f"^gather: index {bad} "):
        B.float_gather(1, t, full)
    with pytest.raises(IndexOutOfRange, match=f"^scatter: index {bad} "):
        B.float_scatter(1, t, full, floats(np.zeros((1, 1, 1))), IndexingUpdateOp.ADD)
    with pytest.raises(IndexOutOfRange, match=f"^gather_nd: index {bad} is outside axis 1 of size 5"):
        B.float_gather_nd(t, ints([[0, bad]]))
    with pytest.raises(IndexOutOfRange, match=f"^scatter_nd: index {bad} "):
        B.float_scatter_nd(t, ints([[0, bad]]), floats(np.zeros((1, 3))), IndexingUpdateOp.ADD)
    with pytest.raises(IndexOutOfRange, match=f"^select_assign: index {bad} "):
        B.float_select_assign(t, 1, ints([bad]), floats(np.zeros((4, 1, 3))), IndexingUpdateOp.ADD)


@pytest.mark.parametrize("place", [[0, 5], [0, -1], [4, 0], [-1, 0], [2**31 - 1, 0]])
def test_composed_gather_nd_never_reads_a_neighbouring_row(place):
    """[0, 5] of a [4, 5] tensor would be element 5 in row-major order, which is [1, 0]."""
    default = dict(BOTH)["defaults"]
    with pytest.raises(IndexOutOfRange):
        default.float_gather_nd(floats(X[:, :, 0]), ints([place]))


# ----------------------------------------------------------------------------------------------- ordering


# P16
@both
@pytest.mark.parametrize("kind", [F64, F32, F16, BF16], ids=str)
def test_sort_puts_nan_last_and_keeps_ties_in_order(b, kind):
    data = np.array([2.0, NAN, -0.0, 1.0, 0.0, -INF, NAN, 1.0, INF])
    data[6] = np.copysign(NAN, -1)
    t = floats(data, kind)
    same(b.float_sort(t, 0, False), [-INF, -0.0, 0.0, 1, 1, 2, INF, NAN, NAN])
    same(b.float_argsort(t, 0, False, I32), [5, 2, 4, 3, 7, 0, 8, 1, 6])
    same(b.float_argsort(t, 0, True, I64), [1, 6, 8, 0, 3, 7, 2, 4, 5])
    values, order = b.float_sort_with_indices(t, 0, True, I32)
    same(values, [NAN, NAN, INF, 2, 1, 1, -0.0, 0.0, -INF])
    same(order, [1, 6, 8, 0, 3, 7, 2, 4, 5])
    same(b.float_argtopk(t, 0, 4, I32), [1, 6, 8, 0])
    same(b.float_topk(t, 0, 4), [NAN, NAN, INF, 2])
    values, order = b.float_topk_with_indices(t, 0, 9, I32)  # all of them
    same(order, [1, 6, 8, 0, 3, 7, 2, 4, 5])


@both
def test_sort_along_every_axis(b):
    for dim in range(3):
        same(b.float_sort(floats(X, F64), dim, False), np.sort(X, dim))
        same(b.float_sort(floats(X, F64), dim, True), np.flip(np.sort(X, dim), dim))
        order = read(b.float_argsort(floats(X, F64), dim, True, I32))
        np.testing.assert_array_equal(np.take_along_axis(X, order, dim), np.flip(np.sort(X, dim), dim))
    same(b.float_sort(floats(np.zeros((0, 2))), 0, False), np.zeros((0, 2)))


def test_sorting_reads_views_as_they_are():
    t = B.float_flip(floats([3.0, 1.0, 2.0]), [0])
    same(B.float_argsort(t, 0, False, I32), [1, 0, 2])


# -------------------------------------------------------------------------------------------------- masks


@both
def test_mask_select_and_argwhere(b):
    mask = X > 0
    same(b.float_mask_select(floats(X, F64), bools(mask)), X[mask])
    same(b.float_mask_select(floats(X), bools(np.zeros_like(mask))), np.zeros(0))
    same(b.int_mask_select(ints([[1, 2], [3, 4]]), bools([[0, 1], [1, 1]])), [2, 3, 4])
    same(b.bool_mask_select(bools([1, 0, 1]), bools([0, 1, 1])), [False, True])
    found = b.bool_argwhere(bools(mask), I64)
    assert found.dtype is I64
    same(found, np.argwhere(mask))
    assert b.bool_argwhere(bools([0, 0]), I32).shape == (0, 1)


def test_data_may_have_any_order():
    same(B.float_from_data(TensorData.of(np.asfortranarray(X[::-1])), CPU), X[::-1])
    same(make(np.arange(7, dtype=np.float16)[::-1], F32), np.arange(7)[::-1])
