"""Movement on the device against NumPy: chains of views over every element size, regions, constants, transfers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from burn_wgpu.backends.wgpu.backend import WgpuBackend
from burn_wgpu.backends.wgpu.movement_ops import from_data, into_data
from burn_wgpu.backends.wgpu.run import contiguous
from burn_wgpu.backends.wgpu.tensor import WgpuDevice
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.data import TensorData, store_array
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.errors import DTypeError
from burn_wgpu.std.slice import Slice

pytestmark = pytest.mark.gpu
SIZES = (dt.U8, dt.F16, dt.F32, dt.F64)
B = WgpuBackend()
D = WgpuDevice()


def filled(shape: tuple[int, ...], kind: DType) -> TensorData:
    """Distinct bits (modulo the size) at every element; no NaN."""
    bits = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[kind.size_bytes]
    size = int(np.prod(shape))
    return TensorData((np.arange(size) % 30_000 + 1).astype(bits).view(kind.numpy).reshape(shape), kind)


def prefix(kind: DType) -> str:
    return "float" if kind.is_float else "int"


def op(kind: DType, name: str):
    return getattr(B, f"{prefix(kind)}_{name}")


def check(tensor, expected: np.ndarray) -> None:
    data = into_data(tensor)
    assert data.array.shape == expected.shape
    np.testing.assert_array_equal(data.array.view(np.uint8), np.ascontiguousarray(expected).view(np.uint8))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_any_chain_of_views_is_copied_right(data) -> None:
    kind = data.draw(st.sampled_from(SIZES))
    shape = tuple(data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=4)))
    host = filled(shape, kind)
    array, tensor = host.array, from_data(host, D)
    for _ in range(data.draw(st.integers(1, 5))):
        rank = array.ndim
        what = data.draw(st.sampled_from(["permute", "flip", "slice", "expand", "reshape", "unfold"]))
        if what == "permute":
            axes = data.draw(st.permutations(range(rank)))
            array, tensor = array.transpose(axes), op(kind, what)(tensor, axes)
        elif what == "flip":
            axes = data.draw(st.lists(st.integers(0, rank - 1), unique=True, min_size=1)) if rank else []
            array, tensor = np.flip(array, axes), op(kind, what)(tensor, axes)
        elif what == "slice":
            cut, index = [], []
            for n in array.shape:
                start = data.draw(st.integers(0, max(n - 1, 0)))
                stop, step = data.draw(st.integers(start, n)), data.draw(st.sampled_from([1, 1, 2, -1, -2]))
                cut.append(Slice(start, stop, step))
                forward = list(range(start, stop))
                index.append(forward[::step] if step > 0 else forward[::-1][::-step])
            array, tensor = array[np.ix_(*index)], op(kind, what)(tensor, cut)
        elif what == "expand" and rank < 5:
            grown = (
                data.draw(st.integers(1, 3)),
                *(n if n != 1 else data.draw(st.integers(1, 4)) for n in array.shape),
            )
            array, tensor = np.broadcast_to(array, grown), op(kind, what)(tensor, grown)
        elif what == "reshape" and array.size:
            first = data.draw(st.sampled_from([n for n in range(1, array.size + 1) if array.size % n == 0]))
            target = (first, array.size // first)
            array, tensor = array.reshape(target), op(kind, what)(tensor, target)
        elif what == "unfold" and 0 < rank < 5:
            dim = data.draw(st.integers(0, rank - 1))
            if array.shape[dim]:
                size, step = data.draw(st.integers(1, array.shape[dim])), data.draw(st.integers(1, 3))
                array = np.lib.stride_tricks.sliding_window_view(array, size, dim)
                array = array[(slice(None),) * dim + (slice(None, None, step),)]
                tensor = op(kind, what)(tensor, dim, size, step)
    check(tensor, array)
    check(contiguous(tensor), array)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_cat_and_slice_assign_place_any_views(data) -> None:
    kind = data.draw(st.sampled_from(SIZES))
    rank = data.draw(st.integers(1, 3))
    dim = data.draw(st.integers(0, rank - 1))
    common = [data.draw(st.integers(1, 9)) for _ in range(rank)]
    arrays, tensors = [], []
    for _ in range(data.draw(st.integers(1, 4))):
        shape = tuple(data.draw(st.integers(0, 9)) if a == dim else n for a, n in enumerate(common))
        host = filled(shape[::-1], kind)
        array, tensor = host.array.T, op(kind, "permute")(from_data(host, D), range(rank)[::-1])
        if data.draw(st.booleans()):
            array, tensor = np.flip(array, rank - 1), op(kind, "flip")(tensor, [rank - 1])
        arrays.append(array)
        tensors.append(tensor)
    joined = np.concatenate(arrays, dim)
    result = op(kind, "cat")(tensors, dim)
    check(result, joined)
    cut, index = [], []
    for n in joined.shape:
        start = data.draw(st.integers(0, n))
        stop, step = data.draw(st.integers(start, n)), data.draw(st.sampled_from([1, 2, -1]))
        cut.append(Slice(start, stop, step))
        index.append(list(range(start, stop))[:: abs(step)] if step > 0 else list(range(start, stop))[::-1])
    region = tuple(len(i) for i in index)
    value = TensorData(np.broadcast_to(filled((1,), kind).array, region).copy(), kind)
    expected = joined.copy()
    expected[np.ix_(*index)] = value.array
    check(op(kind, "slice_assign")(result, cut, from_data(value, D)), expected)
    check(result, joined)  # the operand is as it was


@pytest.mark.parametrize("kind", SIZES, ids=str)
@pytest.mark.parametrize("shape", [(40, 50), (3, 64, 96), (2, 3, 34, 66), (17, 33), (2, 2, 2, 40, 32), (5, 16, 16)])
def test_tiled_transposes_move_every_element(kind: DType, shape: tuple[int, ...]) -> None:
    host = filled(shape, kind)
    tensor = from_data(host, D)
    check(contiguous(op(kind, "swap_dims")(tensor, len(shape) - 2, len(shape) - 1)), np.swapaxes(host.array, -1, -2))
    if len(shape) > 2:
        axes = (1, 0, *range(2, len(shape) - 2), len(shape) - 1, len(shape) - 2) if len(shape) > 3 else (0, 2, 1)
        check(contiguous(op(kind, "permute")(tensor, axes)), host.array.transpose(axes))
    cut = [Slice(0, n - n % 2 - 2, 1) for n in shape]
    part = host.array[tuple(slice(0, n - n % 2 - 2) for n in shape)]
    check(
        contiguous(op(kind, "swap_dims")(op(kind, "slice")(tensor, cut), len(shape) - 2, len(shape) - 1)),
        np.swapaxes(part, -1, -2),
    )


@pytest.mark.parametrize("kind", [dt.U8, dt.I16, dt.BF16, dt.F16, dt.F32, dt.I32, dt.F64, dt.I64, dt.U64], ids=str)
def test_constants_have_the_bits_of_their_dtype(kind: DType) -> None:
    for value in (0, 1, 3, 100):
        result = op(kind, "full")((3, 7), value, D, kind)
        expected = store_array(np.full((3, 7), value, np.float64 if kind.is_float else kind.numpy).astype(
            np.float32 if kind is dt.BF16 else kind.numpy), kind)  # fmt: skip
        check(result, expected)
    assert into_data(op(kind, "ones")((2,), D, kind)).numpy().tolist() == [1, 1]
    assert into_data(op(kind, "zeros")((2,), D, kind)).numpy().tolist() == [0, 0]


def test_more_tensors_than_one_plan_takes_are_joined_in_stages() -> None:
    tensors = [from_data(filled((1, 2), dt.U8), D) for _ in range(300)]
    check(B.int_cat(tensors, 0), np.tile(np.uint8([1, 2]), (300, 1)))


def test_grids_of_two_axes_with_rows_that_are_not_full() -> None:
    """A device that allows few groups an axis folds its grid; the groups too many must write nothing."""
    import dataclasses

    from burn_wgpu.kernel.movement import cat_plan, contiguous_plan
    from burn_wgpu.std.layout import Layout

    small = dataclasses.replace(D.capability, max_groups=13)
    for kind in SIZES:
        for n in (14 * 1024 + 4, 13 * 1024 * 9 + 1):
            host = filled((n,), kind)
            tensor = from_data(host, D)
            layout = Layout.dense((n,))
            copy = D.client.task(contiguous_plan(layout.flip([0]), kind, small))
            assert copy.steps[0].grid[1] > 1
            out = copy.run((tensor.lease,))[0]
            size = n * kind.size_bytes
            np.testing.assert_array_equal(
                D.client.stream.download([(out, 0, size)])[0].view(kind.numpy).view(np.uint8),
                np.ascontiguousarray(host.array[::-1]).view(np.uint8),
            )
            both = D.client.task(cat_plan([layout, layout], 0, kind, small))
            out = both.run((tensor.lease, tensor.lease))[0]
            np.testing.assert_array_equal(
                D.client.stream.download([(out, 0, 2 * size)])[0].view(np.uint8),
                np.concatenate([host.array, host.array]).view(np.uint8),
            )


def test_a_tensor_goes_to_another_device_through_the_host() -> None:
    other = WgpuDevice(default_limits=True)
    host = filled((3, 4), dt.F32)
    tensor = op(dt.F32, "swap_dims")(from_data(host, D), 0, 1)
    moved = B.float_to_device(tensor, other)
    assert moved.device is other and B.float_to_device(moved, other) is moved
    check(moved, host.array.T)
    with pytest.raises(DTypeError, match="is not a device of the wgpu backend"):
        B.float_to_device(tensor, "cpu")


def test_default_limits_are_webgpus_own() -> None:
    can = WgpuDevice(default_limits=True).capability
    assert (can.max_binding_bytes, can.max_buffer_bytes) == (128 << 20, 256 << 20)
    assert (can.max_storage_buffers, can.max_workgroup_bytes, can.max_invocations) == (8, 16_384, 256)
    assert not can.has("shader-int64") and not can.has("shader-f16")


def test_views_share_their_buffer_and_copies_do_not() -> None:
    tensor = from_data(filled((4, 6), dt.F32), D)
    for view in (B.float_transpose(tensor), B.float_flip(tensor, [0]), B.float_reshape(tensor, (24,))):
        assert view.lease is tensor.lease
    assert B.float_reshape(B.float_transpose(tensor), (24,)).lease is not tensor.lease
    assert contiguous(tensor) is tensor
