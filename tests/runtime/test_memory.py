"""The pool: size classes, reuse, accounts, budgets, trimming, and leases that die in any way."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from burn_wgpu.runtime import memory
from burn_wgpu.runtime.memory import size_class
from burn_wgpu.std.errors import ArgumentError, OutOfMemoryError, UnsupportedError


@given(st.integers(0, 1 << 33))
def test_a_size_class_holds_what_is_asked_for_with_little_more(size: int) -> None:
    found = size_class(size)
    assert found >= size and found % memory.GRANULE == 0
    assert size_class(found) == found
    if size > 2048:
        assert found <= size * 1.125 + 256


@given(st.integers(0, 1 << 33), st.integers(0, 1 << 33))
def test_size_classes_are_monotonic(a: int, b: int) -> None:
    assert (size_class(a) <= size_class(b)) or a > b


def test_the_budget_of_the_environment_must_be_a_number(monkeypatch) -> None:
    for text in ("2 GB", "-1", "0", "0G", "1.5G", "٣"):
        monkeypatch.setenv("BURN_WGPU_MEMORY_BUDGET", text)
        with pytest.raises(ArgumentError) as error:
            memory._budget(False)
        assert str(error.value) == (
            f"BURN_WGPU_MEMORY_BUDGET: '{text}' is not a number of bytes from 1 on; write 2000000000, 512M or 2G"
        )
    for text, size in (("4096", 4096), ("3k", 3072), ("512M", 512 << 20), (" 2G ", 2 << 30)):
        monkeypatch.setenv("BURN_WGPU_MEMORY_BUDGET", text)
        assert memory._budget(False) == size


@pytest.mark.gpu
def test_a_class_is_never_larger_than_a_binding(bench) -> None:
    limit = bench.client.pool.max_binding
    assert limit % 256 == 0
    assert bench.client.pool.size(limit) == limit
    assert bench.client.pool.size(limit - 1) == limit


@pytest.mark.gpu
def test_the_free_block_with_the_lowest_number_is_handed_out_first(bench) -> None:
    leases = [bench.client.lease(1000) for _ in range(5)]
    numbers = [lease.block.uid for lease in leases]
    for i in (3, 0, 4, 1):
        leases[i] = None
    again = [bench.client.lease(900) for _ in range(4)]
    assert [lease.block.uid for lease in again] == [numbers[i] for i in (0, 1, 3, 4)]


@pytest.mark.gpu
def test_the_accounts_add_up(bench) -> None:
    pool = bench.client.pool
    before = pool.in_use()
    kept = [bench.client.lease(n) for n in (1, 300, 5000, 1 << 20)]
    sizes = sum(lease.block.size for lease in kept)
    assert pool.in_use() - before == sizes
    report = bench.b.memory_pool_usage(bench.d)
    assert report.in_use_bytes == pool.in_use() and report.reserved_bytes == pool.reserved
    assert report.number_allocs == len(kept)
    del kept
    assert pool.in_use() == before
    assert pool.reserved >= sizes and pool.reserved_peak >= pool.reserved
    bench.b.memory_cleanup(bench.d)
    assert pool.reserved == pool.in_use() == before and pool.blocks == 0


@pytest.mark.gpu
def test_trimming_forgets_bind_groups_and_leaves_tensors(bench) -> None:
    x = bench.make(np.arange(64) / 16)
    for _ in range(10):
        y = bench.b.float_exp(bench.b.float_add(x, x))
    groups = len(bench.client.groups)
    bench.client.pool.trim()
    assert len(bench.client.groups) < groups
    known = set(bench.client.pool.alive)
    assert all(set(key[1:]) <= known | {0} for key in bench.client.groups)
    np.testing.assert_allclose(bench.read(y), np.exp(np.arange(64, dtype=np.float32) / 8), rtol=1e-5)
    np.testing.assert_array_equal(bench.read(bench.b.float_add(x, x)), np.arange(64, dtype=np.float32) / 8)


@pytest.mark.gpu
def test_a_budget_is_kept_by_trimming_and_then_by_an_error(bench) -> None:
    pool = bench.client.pool
    kept = bench.make(np.ones(1 << 16))
    pool.budget = pool.reserved + (3 << 20)
    for size in range(100_000, 700_000, 20_000):  # together far above the budget
        bench.make(np.zeros(size))
        assert pool.reserved <= pool.budget
    with pytest.raises(OutOfMemoryError) as error:
        bench.client.lease(4 << 20)
    assert str(error.value) == (
        f"allocate: {4 << 20} bytes do not fit into the budget ({pool.budget} bytes) of {pool.adapter}, which holds "
        f"{pool.in_use()} bytes in tensors ({pool.reserved} reserved); free tensors, or make batches smaller"
    )
    assert isinstance(error.value, MemoryError)
    np.testing.assert_array_equal(bench.read(kept), np.ones(1 << 16, np.float32))


@pytest.mark.gpu
def test_sizes_without_end_do_not_pile_up(bench, monkeypatch) -> None:
    monkeypatch.setattr(memory, "_KEEP_FREE", 1 << 20)
    pool = bench.client.pool
    for size in range(10_000, 2_000_000, 10_000):
        bench.client.lease(size)
        assert pool.reserved <= 2 * pool.in_use_peak + (1 << 20)


@pytest.mark.gpu
def test_a_tensor_above_the_largest_binding_names_limit_size_and_adapter(bench) -> None:
    pool = bench.client.pool
    size = pool.max_binding + 4
    for make in (
        lambda: bench.b.float_empty((size // 4,), bench.d, _f32()),
        lambda: bench.b.float_zeros((size // 4,), bench.d, _f32()),
        lambda: bench.b.float_cat([bench.make(np.zeros(1 << 16))] * (size // (4 << 16) + 1), 0),
    ):
        with pytest.raises(UnsupportedError) as error:
            make()
        text = str(error.value)
        assert f"exceeds the largest storage binding of {pool.adapter}, {pool.max_binding} bytes" in text
        assert "split it, or use a smaller dtype" in text


def _f32():
    from burn_wgpu.std.dtype import F32

    return F32


@pytest.mark.gpu
def test_leases_that_die_in_a_cycle_give_usable_blocks_back(bench) -> None:
    for _ in range(50):
        tensor = bench.b.float_exp(bench.make(np.zeros(500)))
        cycle: list[object] = [tensor]
        cycle.append(cycle)
        del tensor, cycle
    gc.collect()
    assert bench.client.pool.in_use() == 0
    many = [bench.make(np.full(500, i)) for i in range(60)]
    for i, tensor in enumerate(many):
        np.testing.assert_array_equal(bench.read(tensor), np.full(500, i, np.float32))


@pytest.mark.gpu
def test_tensors_and_leases_can_be_referred_to_weakly(bench) -> None:
    tensor = bench.make([1, 2])
    view = bench.b.float_flip(tensor, [0])
    one, two = weakref.ref(tensor), weakref.ref(tensor.lease)
    del tensor
    assert one() is None and two() is view.lease
    np.testing.assert_array_equal(bench.read(view), np.float32([2, 1]))
    del view
    assert two() is None
