"""Collectives, gradient synchronisation and transactions on several devices of the reference backend."""

import threading
import warnings

import numpy as np
import pytest

from burn_wgpu.contract.defaults.collective import DimSplit
from burn_wgpu.contract.distributed_ops import TensorRef
from burn_wgpu.contract.options import DistributedConfig, ReduceOperation
from burn_wgpu.contract.transaction_ops import TransactionPrimitive
from burn_wgpu.std.dtype import BOOL_U8, F16, F32, I32
from burn_wgpu.std.errors import ArgumentError, ShapeError
from tests.backends.reference.tools import B, bools, floats, ints, make, read, same

from burn_wgpu.backends.reference import ReferenceBackend, ReferenceDevice  # isort: skip

DEVICES = [ReferenceDevice(i) for i in range(3)]
SUM, MEAN = ReduceOperation.SUM, ReduceOperation.MEAN


def members(arrays, kind=F32):
    return [make(a, kind, d) for a, d in zip(arrays, DEVICES, strict=True)]


def check(results, expected):
    assert [r.device for r in results] == DEVICES
    for result, wanted in zip(results, expected, strict=True):
        same(result, wanted)


ARRAYS = [np.arange(8).reshape(2, 4) + 10 * i for i in range(3)]


@pytest.mark.parametrize(("prefix", "kind"), [("float", F32), ("int", I32)])
def test_every_member_gets_the_reduction(prefix, kind):
    reduce = getattr(B, f"{prefix}_all_reduce")
    check(reduce(members(ARRAYS, kind), SUM), [sum(ARRAYS)] * 3)
    check(reduce(members(ARRAYS, kind), MEAN), [sum(ARRAYS) // 3] * 3)


def test_an_int_mean_truncates_the_sum_once():
    check(B.int_all_reduce(members([[1, -1], [1, -1], [2, -2]], I32), MEAN), [[1, -1]] * 3)


def test_a_float_mean_does_not_overflow():
    check(B.float_all_reduce(members([[60000.0]] * 3, F16), MEAN), [[np.float16(60000.0)]] * 3)


@pytest.mark.parametrize(("prefix", "kind"), [("float", F32), ("int", I32), ("bool", BOOL_U8)])
def test_gather_exchange_and_broadcast_keep_the_member_order(prefix, kind):
    arrays = [a % 3 == 0 for a in ARRAYS] if prefix == "bool" else ARRAYS
    check(getattr(B, f"{prefix}_all_gather")(members(arrays, kind), 1), [np.concatenate(arrays, 1)] * 3)
    # Axis 1 of size 4 over three members: chunks of 2, 1 and 1.
    chunks = [slice(0, 2), slice(2, 3), slice(3, 4)]
    exchanged = getattr(B, f"{prefix}_all_to_all")(members(arrays, kind), 1, 0)
    check(exchanged, [np.concatenate([a[:, c] for a in arrays], 0) for c in chunks])
    check(getattr(B, f"{prefix}_broadcast")(make(arrays[0], kind, DEVICES[2]), DEVICES), [arrays[0]] * 3)


@pytest.mark.parametrize(("prefix", "kind"), [("float", F32), ("int", I32)])
def test_each_member_gets_its_chunk_of_the_reduction(prefix, kind):
    total = sum(ARRAYS)
    found = getattr(B, f"{prefix}_reduce_scatter")(members(ARRAYS, kind), 1, SUM)
    check(found, [total[:, :2], total[:, 2:3], total[:, 3:]])
    found = getattr(B, f"{prefix}_reduce_scatter")(members(ARRAYS, kind), 1, MEAN)
    check(found, [part // 3 for part in (total[:, :2], total[:, 2:3], total[:, 3:])])


def test_chunks_cover_the_axis_and_differ_by_one():
    for length in range(1, 20):
        for group in range(1, length + 1):
            split = DimSplit(0, length, group)
            chunks = [split.chunk(i) for i in range(group)]
            assert chunks[0][0] == 0 and chunks[-1][1] == length
            assert all(a[1] == b[0] for a, b in zip(chunks, chunks[1:], strict=False))
            sizes = [end - start for start, end in chunks]
            assert sizes == sorted(sizes, reverse=True) and max(sizes) - min(sizes) <= 1


def test_an_axis_shorter_than_the_group_is_an_error():
    with pytest.raises(ShapeError) as caught:
        B.float_reduce_scatter(members(ARRAYS), 0, SUM)
    assert str(caught.value) == (
        "float_reduce_scatter: axis 0 of shape [2, 4] has 2 elements for 3 members; each member needs at least one"
    )


# ---------------------------------------------------------------------------------------------------- distributed


class Named(ReferenceBackend):
    """A backend with a name of its own, so that a test's server meets no other."""

    def __init__(self, name):
        self._name = name

    def name(self, device=None):
        return self._name


@pytest.mark.parametrize(("op", "expected"), [(SUM, 6.0), (MEAN, 2.0)])
def test_gradients_of_all_devices_are_reduced_in_place(op, expected):
    b = Named(f"sync-{op.value}")
    b.start_communication_server(DEVICES, DistributedConfig(op))
    refs = [{name: TensorRef(make([float(i + 1)], F32, d)) for name in "ab"} for i, d in enumerate(DEVICES)]

    def train(device, own):
        b.register_sync_parameters(device, list(own))
        for name, ref in own.items():
            b.submit_gradient_sync(ref, name)
        b.submit_sync_collective(device)

    try:
        for _ in range(2):  # the second pass reduces the reduced values again
            threads = [threading.Thread(target=train, args=pair) for pair in zip(DEVICES, refs, strict=True)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(20)
                assert not thread.is_alive()
    finally:
        b.close_communication_server(DEVICES[0])
    expected = 3 * expected if op is SUM else expected
    for device, own in zip(DEVICES, refs, strict=True):
        for ref in own.values():
            assert b.comm_device(ref) == device
            same(b.float_from_ref(ref), [expected])


def test_a_parameter_that_one_device_skipped_is_reduced_over_the_others():
    b = Named("sync-partial")
    b.start_communication_server(DEVICES[:2], DistributedConfig(SUM))
    ref = TensorRef(make([3.0], F32, DEVICES[0]))
    waiter = threading.Thread(target=b.submit_sync_collective, args=(DEVICES[1],))
    try:
        waiter.start()
        b.submit_gradient_sync(ref, "a")
        b.submit_sync_collective(DEVICES[0])
        waiter.join(20)
        assert not waiter.is_alive()
    finally:
        b.close_communication_server(DEVICES[0])
    same(ref.tensor, [3.0])


def test_a_foreign_device_is_ignored_with_one_warning():
    b = Named("sync-foreign")
    b.start_communication_server(DEVICES[:1], DistributedConfig())
    try:
        with pytest.warns(UserWarning) as caught:
            b.register_sync_parameters(DEVICES[2], ["a"])
        assert [str(w.message) for w in caught] == [
            "register_sync_parameters: device cpu:2 is not one of the group's ['cpu:0']; its gradients stay local"
        ]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            b.register_sync_parameters(DEVICES[2], ["a"])
        b.submit_sync_collective(DEVICES[2])  # does not wait
        with pytest.raises(ArgumentError) as second:
            b.start_communication_server(DEVICES, DistributedConfig())
        assert str(second.value) == (
            "start_communication_server: one already runs for the backend 'sync-foreign' with 1 devices; close it first"
        )
    finally:
        b.close_communication_server(DEVICES[0])
    with pytest.raises(ArgumentError) as caught_error:
        b.submit_sync_collective(DEVICES[0])
    assert str(caught_error.value) == (
        "submit_sync_collective: no communication server runs for the backend 'sync-foreign'; "
        "call start_communication_server first"
    )


def test_a_failed_reduction_is_raised_on_every_device():
    b = Named("sync-failure")
    b.start_communication_server(DEVICES[:2], DistributedConfig(SUM))
    seen = []

    def wait():
        try:
            b.submit_sync_collective(DEVICES[1])
        except Exception as error:
            seen.append(type(error))

    try:
        b.submit_gradient_sync(TensorRef(make([1.0, 2.0], F32, DEVICES[1])), "a")
        waiter = threading.Thread(target=wait)
        waiter.start()
        with pytest.raises(ValueError):
            b.submit_gradient_sync(TensorRef(make([1.0, 2.0, 3.0], F32, DEVICES[0])), "a")
        waiter.join(20)
        assert not waiter.is_alive() and len(seen) == 1 and issubclass(seen[0], ValueError)
    finally:
        b.close_communication_server(DEVICES[0])


# ---------------------------------------------------------------------------------------------------- transaction


def test_a_transaction_reads_in_the_order_of_registration():
    transaction = TransactionPrimitive()
    transaction.register_int(ints([1, 2]))
    transaction.register_float(floats([0.5]))
    transaction.register_bool(bools([True, False]))
    transaction.register_float(floats([[2.5]], F16))
    found = transaction.execute(B)
    assert [d.dtype for d in found] == [I32, F32, BOOL_U8, F16]
    assert [d.numpy().tolist() for d in found] == [[1, 2], [0.5], [True, False], [[2.5]]]
    assert read(floats([0.5])).tolist() == [0.5]
