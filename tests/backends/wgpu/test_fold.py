"""fold4d on the wgpu backend against the reference backend and PyTorch."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest

from burn_wgpu.backends.wgpu.tensor import WgpuDevice
from burn_wgpu.contract.options import UnfoldOptions, conv_output_size
from burn_wgpu.kernel.fold import short, variants
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import check
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.errors import ShapeError
from tests.backends.wgpu.oracle import REF, REF_DEVICE, B, bits, down, layouts, up

pytestmark = pytest.mark.gpu

STEP = {dt.F32: 1e-6, dt.F16: 2**-11, dt.BF16: 2**-8}
# output size, kernel, stride, padding, dilation
CASES = (
    ((5, 6), (2, 3), (1, 1), (0, 0), (1, 1)),
    ((7, 6), (3, 2), (2, 1), (1, 1), (1, 2)),
    ((8, 9), (2, 3), (3, 4), (0, 2), (2, 1)),
    ((9, 7), (3, 3), (1, 2), (2, 3), (3, 2)),
    ((1, 21), (1, 8), (1, 3), (0, 1), (1, 1)),
)


@pytest.fixture(scope="module", params=[False, True], ids=["adapter", "default limits"])
def device(request: Any) -> WgpuDevice:
    return WgpuDevice(0, default_limits=request.param)


def columns(case: Any, seed: int = 0) -> np.ndarray:
    size, kernel, stride, padding, dilation = case
    rows = [
        conv_output_size(n, k, s, (p, p), d, "test")
        for n, k, s, p, d in zip(size, kernel, stride, padding, dilation, strict=True)
    ]
    return np.random.default_rng(seed).normal(size=(2, 3 * prod(kernel), prod(rows)))


@pytest.mark.parametrize("kind", STEP, ids=str)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_agrees_with_the_reference_and_torch(case: Any, kind: dt.DType, device: WgpuDevice) -> None:
    torch = pytest.importorskip("torch")
    size, kernel, stride, padding, dilation = case
    options = UnfoldOptions(stride, padding, dilation)
    x = columns(case)
    want = down(REF.fold4d(up(x, kind, REF_DEVICE), size, kernel, options)).astype(float)
    held = torch.tensor(down(up(x, kind, REF_DEVICE)).astype(float))
    exact = torch.nn.functional.fold(held, size, kernel, dilation, padding, stride).numpy()
    for name, t in layouts(x, kind, device):
        got = B.fold4d(t, size, kernel, options)
        assert got.dtype is kind and got.layout.packed
        for expected in (want, exact):
            np.testing.assert_allclose(
                down(got).astype(float), expected, rtol=0, atol=2 * STEP[kind] * np.abs(exact).max(), err_msg=name
            )


def test_the_same_bits_on_the_second_call_and_an_empty_batch(device: WgpuDevice) -> None:
    size, kernel, *rest = CASES[1]
    t = up(columns(CASES[1]), dt.F32, device)
    options = UnfoldOptions(*rest)
    assert bits(B.fold4d(t, size, kernel, options)) == bits(B.fold4d(t, size, kernel, options))
    nothing = up(columns(CASES[1])[:0], dt.F32, device)
    assert B.fold4d(nothing, size, kernel, options).shape == (0, 3, *size)


def test_sizes_that_do_not_belong_together_are_refused(device: WgpuDevice) -> None:
    with pytest.raises(ShapeError, match="fold4d: 7 channels do not divide by the kernel's 4 elements"):
        B.fold4d(up(np.zeros((1, 7, 4)), dt.F32, device), (3, 3), (2, 2), UnfoldOptions())
    with pytest.raises(ShapeError, match="fold4d: x has 5 blocks"):
        B.fold4d(up(np.zeros((1, 4, 5)), dt.F32, device), (3, 3), (2, 2), UnfoldOptions())


def test_very_many_windows_over_one_element_are_composed(device: WgpuDevice) -> None:
    kernel = (1, 13_000)
    assert not short(kernel, UnfoldOptions()) and short((1, 12_000), UnfoldOptions(stride=(1, 2)))
    got = down(B.fold4d(up(np.ones((1, 13_000, 2)), dt.F32, device), (1, 13_001), kernel, UnfoldOptions()))
    assert got.ravel()[[0, 1, 6_000, -2, -1]].tolist() == [1, 2, 2, 2, 1]


def test_every_plan_is_one_launch_within_default_limits() -> None:
    for plan in variants(Capability()):
        check(plan, Capability())
        assert len(plan.launches) == 1
