"""Bool functions; storage never changes what a bool means."""

import numpy as np
import pytest

from burn_wgpu.std.data import TensorData
from burn_wgpu.std.dtype import BF16, BOOL, BOOL_U8, BOOL_U32, BOOLS, F16, F32, F64, I8, I64, U32
from burn_wgpu.std.errors import ShapeError
from tests.backends.reference.tools import BOTH, CPU, B, bools, same

both = pytest.mark.parametrize("b", [b for _, b in BOTH], ids=[name for name, _ in BOTH])
X, Y = np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool)


@pytest.mark.parametrize("kind", BOOLS, ids=str)
def test_logic(kind):
    x, y = bools(X, kind), bools(Y, kind)
    for name, expected in [
        ("bool_and", X & Y),
        ("bool_or", X | Y),
        ("bool_xor", X ^ Y),
        ("bool_equal", X == Y),
        ("bool_not_equal", X != Y),
    ]:
        found = getattr(B, name)(x, y)
        assert found.dtype is kind
        same(found, expected)
    same(B.bool_not(x), ~X)
    same(B.bool_equal_elem(x, True), X)
    same(B.bool_equal_elem(x, False), ~X)
    same(B.bool_not_equal_elem(x, True), ~X)
    same(B.bool_and(bools(X[:, None], kind), bools(Y[None], kind)), X[:, None] & Y[None])


def test_any_number_but_zero_is_true_and_reads_as_one():
    odd = B.bool_from_data(TensorData(np.array([0, 2, 255], np.uint8), BOOL_U8), CPU)
    np.testing.assert_array_equal(B.bool_into_data(odd).array, [0, 1, 1])
    wide = B.bool_from_data(TensorData(np.array([0, 1 << 31], np.uint32), BOOL_U32), CPU)
    np.testing.assert_array_equal(B.bool_into_data(wide).array, [0, 1])


@pytest.mark.parametrize("kind", BOOLS, ids=str)
def test_conversions(kind):
    for number in (I8, I64, U32):
        found = B.bool_into_int(bools(X, kind), number)
        assert found.dtype is number
        same(found, X.astype(int))
    for number in (F64, F32, F16, BF16):
        found = B.bool_into_float(bools(X, kind), number)
        assert found.dtype is number
        same(found, X.astype(float))


@both
def test_any_and_all(b):
    t = bools([[0, 0], [0, 1], [1, 1]])
    same(b.bool_any_dim(t, 1), [[False], [True], [True]])
    same(b.bool_all_dim(t, 1), [[False], [False], [True]])
    same(b.bool_any(t), [True])
    same(b.bool_all(t), [False])
    none = bools(np.zeros((2, 0)), BOOL)
    same(b.bool_any(none), [False])
    same(b.bool_all(none), [True])
    same(b.bool_any_dim(none, 1), [[False], [False]])
    same(b.bool_all_dim(none, 1), [[True], [True]])
    assert b.bool_any(none).dtype is BOOL


def test_masks():
    same(B.bool_mask_where(bools(X), bools(Y), bools(~X)), np.where(Y, ~X, X))
    same(B.bool_mask_fill(bools(X), bools(Y), True), X | Y)
    # The mask may be stored in another way than the tensor.
    found = B.bool_mask_fill(bools(X, BOOL_U32), bools(Y, BOOL), False)
    assert found.dtype is BOOL_U32
    same(found, X & ~Y)


@both
def test_movement(b):
    t = np.arange(6).reshape(2, 3) % 2 == 0
    same(b.bool_transpose(bools(t)), t.T)
    same(b.bool_swap_dims(bools(t), 0, 1), t.T)
    same(b.bool_flip(bools(t), [1]), t[:, ::-1])
    same(b.bool_expand(bools(t[:, :1]), (4, 2, 3)), np.broadcast_to(t[:, :1], (4, 2, 3)))
    same(b.bool_repeat_dim(bools(t), 0, 2), np.tile(t, (2, 1)))
    same(b.bool_unfold(bools(t), 1, 2, 1), np.stack([t[:, :2], t[:, 1:]], 1))
    with pytest.raises(ShapeError):
        b.bool_unfold(bools(t), 1, 4, 1)
