"""Data faults: what a kernel could only report is raised by every read that depends on it."""

from __future__ import annotations

import numpy as np
import pytest

from burn_wgpu.std import dtype as dt
from burn_wgpu.std.data import TensorData
from burn_wgpu.std.errors import BurnError, DivisionByZero, IndexOutOfRange


def ints(bench, *values: int):
    return bench.b.int_from_data(TensorData(np.array(values, np.int32), dt.I32), bench.d)


def reports(bench, tensor) -> str:
    with pytest.raises((IndexOutOfRange, DivisionByZero)) as raised:
        bench.read(tensor)
    return str(raised.value)


def test_the_guilty_tensor_raises_at_every_read_and_others_do_not(bench) -> None:
    x = bench.make([1, 2, 3])
    wrong = bench.b.float_select(x, 0, ints(bench, 7))
    derived = bench.b.float_exp(bench.b.float_add(wrong, wrong))  # recorded before anyone knows
    innocent = bench.b.float_add(x, x)
    assert reports(bench, x).startswith("select: index 7 ")  # at the next synchronisation, whatever it reads
    assert bench.read(x).tolist() == [1, 2, 3]
    assert bench.read(innocent).tolist() == [2, 4, 6]
    for _ in range(2):
        assert reports(bench, wrong).startswith("select: index 7 ")
        assert reports(bench, derived).startswith("select: index 7 ")
    with pytest.raises(IndexOutOfRange, match="^select: index 7 "):
        bench.b.float_add(wrong, x)  # as with a failed batch: nothing is made of it


def test_work_after_a_fault_was_told_is_sound(bench) -> None:
    x = bench.make([1, 2, 3])
    kept = bench.b.float_select(x, 0, ints(bench, 1))
    assert bench.read(kept).tolist() == [2]
    wrong = bench.b.float_select(x, 0, ints(bench, 3))
    assert reports(bench, wrong).startswith("select: index 3 ")
    right = bench.b.float_select(x, 0, ints(bench, 2))
    assert bench.read(right).tolist() == [3] and bench.read(kept).tolist() == [2]
    again = bench.b.float_select(x, 0, ints(bench, 5))
    assert reports(bench, again).startswith("select: index 5 ")
    assert reports(bench, wrong).startswith("select: index 3 ")


def test_of_several_faults_in_a_row_each_result_raises(bench) -> None:
    x = bench.make([1, 2, 3])
    first = bench.b.float_select(x, 0, ints(bench, -9))
    second = bench.b.int_div(ints(bench, 1), ints(bench, 0))
    bench.client.stream.flush()
    third = bench.b.float_gather(0, x, ints(bench, 4))
    assert reports(bench, x).startswith("select: index -9 ")
    for one in (first, second, third):
        assert reports(bench, one)
    assert bench.read(x).tolist() == [1, 2, 3]


def test_a_read_that_is_broken_off_loses_no_fault(bench, monkeypatch) -> None:
    x = bench.make([1, 2, 3])
    wrong = bench.b.float_select(x, 0, ints(bench, 7))
    ring = bench.client.stream.staging

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(ring, "wait", interrupted)
        bench.read(x)
    assert reports(bench, wrong).startswith("select: index 7 ")
    assert bench.read(x).tolist() == [1, 2, 3]


def test_a_loop_without_faults_leaves_nothing_to_look_at(bench) -> None:
    x = bench.make([1, 2, 3])
    for _ in range(3):
        found = bench.b.float_add(bench.b.float_select(x, 0, ints(bench, 2, 0)), bench.make([1, 1]))
        assert bench.client.stream.watch
        assert bench.read(found).tolist() == [4, 2]
        assert not bench.client.stream.watch


def test_making_room_leaves_the_report_to_the_next_read(bench) -> None:
    wrong = bench.b.float_select(bench.make([1, 2]), 0, ints(bench, 2))
    bench.client.pool.trim()
    assert reports(bench, wrong).startswith("select: index 2 ")


@pytest.mark.parametrize(
    "call",
    [
        lambda b, x, at: b.float_select(b.float_expand(x, [2**31]), 0, at),
        lambda b, x, at: b.float_gather(0, b.float_expand(x, [2**32 + 1]), at),
        lambda b, x, at: b.float_gather_nd(b.float_expand(x, [2**33]), b.int_reshape(at, (1, 1))),
        lambda b, x, at: b.float_matmul(
            b.float_expand(b.float_reshape(x, (1, 1)), [1, 2**32 + 2]),
            b.float_expand(b.float_reshape(x, (1, 1)), [2**32 + 2, 1]),
        ),
        lambda b, x, at: b.float_select_assign(
            x, 0, b.int_expand(at, [2**32 + 2]), b.float_expand(x, [2**32 + 2]), _add()
        ),
        lambda b, x, at: b.float_scatter(
            0, b.float_expand(b.float_reshape(x, (1, 1)), [1, 2**16]),
            b.int_expand(b.int_reshape(at, (1, 1)), [2**17, 2**16]),
            b.float_expand(b.float_reshape(x, (1, 1)), [2**17, 2**16]), _add(),
        ),
    ],
    ids=["select", "gather", "gather_nd", "matmul", "select_assign", "scatter"],
)  # fmt: skip
def test_counts_beyond_32_bits_are_refused(bench, call) -> None:
    with pytest.raises(
        BurnError, match=r"^\w+: \d,\d{3},\d{3},\d{3} .*; .* counts up to (4,294,967,295|2,147,483,647) of them; "
    ):
        call(bench.b, bench.make([1]), ints(bench, 0))


@pytest.mark.parametrize("name", ["softmax", "float_cumsum", "float_sort", "float_exp", "float_cat", "float_flip_copy"])
def test_results_beyond_the_device_are_refused(bench, name: str) -> None:
    b, x = bench.b, bench.b.float_expand(bench.make([1]), [2**32 + 2])
    calls = {
        "softmax": lambda: b.softmax(x, 0), "float_cumsum": lambda: b.float_cumsum(x, 0),
        "float_sort": lambda: b.float_sort(x, 0, False), "float_exp": lambda: b.float_exp(x),
        "float_cat": lambda: b.float_cat([x, x], 0), "float_flip_copy": lambda: bench.read(b.float_flip(x, [0])),
    }  # fmt: skip
    with pytest.raises(BurnError, match=r"a tensor of \d+ bytes exceeds|counts up to \d,"):
        calls[name]()


def test_a_tensor_of_an_absurd_size_is_refused_by_its_size(bench) -> None:
    with pytest.raises(BurnError, match=r"^full: a tensor of 4722366482869645213696 bytes exceeds"):
        bench.b.float_zeros((2**70,), bench.d, dt.F32)


def _add():
    from burn_wgpu.contract.options import IndexingUpdateOp

    return IndexingUpdateOp.ADD
