"""Creation, views, slices, padding, windows of floats (and of every kind, where they are the same)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from burn_wgpu.contract.options import PadMode
from burn_wgpu.std.data import TensorData
from burn_wgpu.std.dtype import BF16, BOOL, BOOL_U32, F16, F32, F64, I8, U64
from burn_wgpu.std.errors import ShapeError
from burn_wgpu.std.slice import Slice
from tests.backends.reference.tools import BOTH, CPU, NAN, B, bools, floats, ints, make, read, same

both = pytest.mark.parametrize("b", [b for _, b in BOTH], ids=[name for name, _ in BOTH])
X = np.arange(24.0).reshape(2, 3, 4)


@pytest.mark.parametrize("kind", [F64, F32, F16, BF16, I8, U64, BOOL, BOOL_U32], ids=str)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (2, 3)], ids=str)
def test_data_comes_back_as_it_went_in(kind, shape):
    array = np.random.default_rng(0).integers(0, 2, shape)
    data = TensorData.of(array, kind)
    tensor = make(array, kind)
    assert (tensor.shape, tensor.dtype, tensor.device) == (shape, kind, CPU)
    np.testing.assert_array_equal(read(tensor), data.numpy())


def test_tensors_do_not_share_memory_with_the_host():
    array = np.ones(3, np.float32)
    tensor = B.float_from_data(TensorData.of(array), CPU)
    array[:] = 5
    same(tensor, [1, 1, 1])
    B.float_into_data(tensor).array[:] = 7
    same(tensor, [1, 1, 1])
    truth = bools([True, False], BOOL)
    B.bool_into_data(truth).array[:] = True
    same(truth, [True, False])


@both
def test_creation(b):
    for kind in (F64, F32, F16, BF16):
        same(b.float_zeros((2, 3), CPU, kind), np.zeros((2, 3)))
        same(b.float_ones((2, 0), CPU, kind), np.ones((2, 0)))
        same(b.float_full((), 2.5, CPU, kind), 2.5)
        assert b.float_empty((4,), CPU, kind).shape == (4,)
    same(b.bool_ones((2,), CPU, BOOL_U32), [True, True])
    assert b.bool_zeros((2,), CPU, BOOL_U32).dtype is BOOL_U32


@both
def test_axes(b):
    t = floats(X)
    same(b.float_swap_dims(t, 0, 2), X.swapaxes(0, 2))
    same(b.float_transpose(t), X.swapaxes(1, 2))
    same(b.float_permute(t, [1, 2, 0]), X.transpose(1, 2, 0))
    same(b.float_flip(t, [0, 2]), X[::-1, :, ::-1])
    same(b.float_reshape(b.float_transpose(t), (6, 4)), X.swapaxes(1, 2).reshape(6, 4))
    same(b.float_expand(floats([[1.0], [2.0]]), (3, 2, 4)), np.broadcast_to([[1.0], [2.0]], (3, 2, 4)))
    same(b.float_flip(floats(np.zeros((0, 2))), [0]), np.zeros((0, 2)))


@both
def test_repeat_tiles(b):
    same(b.float_repeat_dim(floats(X), 1, 3), np.tile(X, (1, 3, 1)))
    same(b.float_repeat_dim(floats(X), 1, 0), np.zeros((2, 0, 4)))
    same(b.int_repeat_dim(ints([1, 2]), 0, 2), [1, 2, 1, 2])


@both
def test_cat(b):
    parts = [floats(X), floats(X[:, :1]), floats(X[:, :2])]
    same(b.float_cat(parts, 1), np.concatenate([X, X[:, :1], X[:, :2]], 1))
    same(b.float_cat([parts[0]], 1), X)
    same(b.bool_cat([bools([[1], [0]]), bools([[1, 1], [0, 1]])], 1), np.array([[1, 1, 1], [0, 0, 1]], bool))
    assert b.bool_cat([bools([1], BOOL_U32), bools([0], BOOL_U32)], 0).dtype is BOOL_U32


_SLICES = st.builds(
    Slice, st.integers(-7, 7), st.none() | st.integers(-7, 7), st.integers(-4, 4).filter(lambda step: step != 0)
)


@given(st.integers(0, 6), _SLICES)
def test_slices_walk_as_written(size, item):
    """A negative step walks [start, end) backwards from end − 1."""
    values = np.arange(size, dtype=np.float32)
    start, end = item.bounds(size)
    forward = values[start:end]
    expected = forward[:: item.step] if item.step > 0 else forward[::-1][:: -item.step]
    same(B.float_slice(floats(values), [item]), expected)
    replaced = values.copy()
    replaced[expected.astype(int)] = -np.arange(1.0, len(expected) + 1)
    same(B.float_slice_assign(floats(values), [item], floats(-np.arange(1.0, len(expected) + 1))), replaced)


def test_slices_cover_leading_axes():
    same(B.float_slice(floats(X), [Slice(1, 2), Slice(0, 3, -2)]), X[1:2, ::-2])
    t = floats(X)
    changed = B.float_slice_assign(t, [Slice(0, 1)], floats(np.zeros((1, 3, 4))))
    same(changed, np.concatenate([np.zeros((1, 3, 4)), X[1:]]))
    same(t, X)  # out of place
    same(B.int_slice_assign(ints([1, 2, 3]), [Slice(0, 3, -1)], ints([7, 8, 9])), [9, 8, 7])


@pytest.mark.parametrize(("size", "step", "windows"), [(2, 1, 4), (3, 2, 2), (5, 1, 1), (1, 4, 2), (2, 3, 2)])
def test_unfold(size, step, windows):
    values = np.arange(10.0).reshape(5, 2)
    found = B.float_unfold(floats(values), 0, size, step)
    expected = np.stack([values[i * step : i * step + size].T for i in range(windows)])
    same(found, expected)  # [windows, 2, size]


def test_unfold_refuses_a_window_larger_than_the_axis():
    with pytest.raises(ShapeError) as caught:
        B.float_unfold(floats(X), 1, 4, 1)
    assert str(caught.value) == (
        "unfold: windows of 4 on axis 1 of shape [2, 3, 4] with size 3; a window must not exceed the axis"
    )


@both
@pytest.mark.parametrize("padding", [[(1, 2), (0, 1)], [(0, 0), (2, 0)], [(2, 2), (2, 2)]], ids=str)
@pytest.mark.parametrize(
    ("mode", "numpy_mode"),
    [(PadMode.constant(1.5), "constant"), (PadMode.reflect(), "reflect"), (PadMode.edge(), "edge")],
    ids=["constant", "reflect", "edge"],
)
def test_pad_agrees_with_numpy(b, padding, mode, numpy_mode):
    values = np.arange(12.0).reshape(3, 4)
    extra = {"constant_values": 1.5} if numpy_mode == "constant" else {}
    same(b.float_pad(floats(values), padding, mode), np.pad(values, padding, numpy_mode, **extra))
    extra = {"constant_values": 1} if numpy_mode == "constant" else {}
    same(b.int_pad(ints(values), padding, mode), np.pad(values.astype(int), padding, numpy_mode, **extra))


@both
def test_pad_of_an_empty_tensor(b):
    same(b.float_pad(floats(np.zeros((0, 2))), [(1, 1), (0, 0)], PadMode.constant(3.0)), np.full((2, 2), 3.0))
    with pytest.raises(ShapeError) as caught:
        b.float_pad(floats(np.zeros((0, 2))), [(1, 0), (0, 0)], PadMode.edge())
    assert str(caught.value) == "pad: edge padding (1, 0) of axis 0 with size 0; it has no edge"


def test_pad_errors():
    with pytest.raises(ShapeError) as caught:
        B.float_pad(floats([1.0, 2.0]), [(2, 0)], PadMode.reflect())
    assert str(caught.value) == "pad: reflect padding (2, 0) of axis 0 with size 2; each must be below the size"
    with pytest.raises(ShapeError) as caught:
        B.float_pad(floats([1.0, 2.0]), [(1, 0), (1, 0)], PadMode.edge())
    assert str(caught.value) == ("pad: 2 pairs for a tensor of rank 1; there must be one (before, after) per axis")


# P17: every view of the same values gives the same answer.
@pytest.mark.parametrize(
    "view",
    [
        lambda t: B.float_permute(B.float_permute(t, [2, 0, 1]), [1, 2, 0]),
        lambda t: B.float_flip(B.float_flip(t, [0, 1]), [0, 1]),
        lambda t: B.float_slice(B.float_pad(t, [(1, 1)] * 3, PadMode.constant(NAN)), [Slice(1, -1)] * 3),
    ],
    ids=["permuted", "flipped", "inside of a padded one"],
)
def test_views_compute_as_copies(view):
    t = view(floats(X))
    same(B.float_exp(t), read(B.float_exp(floats(X))))
    same(B.float_sum_dim(t, 1), X.sum(1, keepdims=True))
    same(B.float_cumsum(t, 2), X.cumsum(2))
    same(B.float_matmul(t, B.float_transpose(t)), X @ X.swapaxes(1, 2))
