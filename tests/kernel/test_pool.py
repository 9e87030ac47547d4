"""What plans of pooling are: one launch whatever the rank, windows, limits; no device."""

from __future__ import annotations

from burn_wgpu.contract.defaults.pool import adaptive_windows
from burn_wgpu.kernel.pool import Windows, pool_backward_plan, pool_plan, variants
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import check
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.layout import Layout

DEFAULT = Capability()


def test_every_rank_and_size_is_the_same_kernel() -> None:
    keys = set()
    for rank in (1, 2, 3):
        for kernel in (2, 3):
            windows = Windows.fixed((9,) * rank, *((n,) * rank for n in (kernel, 2, 1, 1)), False, True, "pool")
            plan = pool_plan("pool", Layout.dense((2, 3, *(9,) * rank)), windows, True, dt.I32, dt.F32, DEFAULT)
            assert [out.dtype for out in plan.outputs] == [dt.F32, dt.I32]
            keys.add(plan.launches[0].key)
    assert len(keys) == 1


def test_adaptive_kernels_hold_the_longest_window() -> None:
    for n in range(1, 30):
        for out in range(1, 40):
            taps = adaptive_windows((n,), (out,)).index.shape[1]
            assert taps <= Windows.covering((n,), (out,)).kernel[0] <= taps + 1


def test_long_windows_are_left_to_the_default() -> None:
    def fixed(n: int, kernel: int, stride: int) -> Windows:
        return Windows.fixed((n,), (kernel,), (stride,), (0,), (1,), False, True, "pool")

    assert fixed(9000, 4000, 4000).short and not fixed(9000, 5000, 1).short
    assert fixed(9000, 5000, 5000).short_backward and not fixed(90_000, 5000, 1).short_backward
    assert not Windows.covering((70_000,), (65_000,)).short  # positions times outputs exceed 32 bits


def test_an_empty_result_needs_no_launch() -> None:
    windows = Windows.covering((4, 4), (2, 2))
    assert pool_plan("pool", Layout.dense((0, 3, 4, 4)), windows, False, None, dt.F32, DEFAULT).launches == ()
    grad = Layout.dense((0, 3, 2, 2))
    assert pool_backward_plan("pool", (0, 3, 4, 4), grad, windows, None, dt.F32, DEFAULT).launches == ()


def test_every_variant_fits_the_default_limits() -> None:
    for plan in variants(DEFAULT):
        check(plan, DEFAULT)
        assert all(len(launch.params) <= 256 for launch in plan.launches)
