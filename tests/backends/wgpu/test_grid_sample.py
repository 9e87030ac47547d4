"""grid_sample_2d on the wgpu backend against the reference backend and PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from burn_wgpu.backends.wgpu.tensor import WgpuDevice
from burn_wgpu.contract.options import GridSampleOptions, GridSamplePaddingMode, InterpolateMode
from burn_wgpu.kernel.grid_sample import variants
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import check
from burn_wgpu.std import dtype as dt
from tests.backends.wgpu.oracle import REF, REF_DEVICE, B, bits, down, layouts, up

pytestmark = pytest.mark.gpu

MODES = (InterpolateMode.NEAREST, InterpolateMode.BILINEAR, InterpolateMode.BICUBIC, InterpolateMode.LANCZOS3)
STEP = {dt.F32: 2e-5, dt.F16: 2**-10, dt.BF16: 2**-7}
HEIGHT, WIDTH = 5, 7


@pytest.fixture(scope="module", params=[False, True], ids=["adapter", "default limits"])
def device(request: Any) -> WgpuDevice:
    return WgpuDevice(0, default_limits=request.param)


def points(kind: dt.DType, options: GridSampleOptions) -> np.ndarray:
    """Points up to far beyond the borders; for nearest away from halves, where a rounding error moves a pixel."""
    pixels = np.random.default_rng(1).uniform(-2, 1.4, (2, 3, 5, 2)) * (WIDTH, HEIGHT)
    size = np.array([WIDTH, HEIGHT]) - (1 if options.align_corners else 0)
    if options.mode.is_nearest:
        pixels = np.floor(pixels) + np.random.default_rng(2).uniform(-0.3, 0.3, pixels.shape)
    found = 2 * (pixels + (0 if options.align_corners else 0.5)) / size - 1
    return found if kind is dt.F32 else found.astype(np.float16).astype(np.float64)


@pytest.mark.parametrize("kind", STEP, ids=str)
@pytest.mark.parametrize("padding", GridSamplePaddingMode, ids=lambda p: p.value)
@pytest.mark.parametrize("mode", MODES, ids=lambda m: m.value)
def test_agrees_with_the_reference(mode: Any, padding: Any, kind: dt.DType, device: WgpuDevice) -> None:
    x = np.random.default_rng(3).normal(size=(2, 3, HEIGHT, WIDTH))
    for corners in (False, True):
        options = GridSampleOptions(mode, padding, corners)
        grid = points(kind, options)
        want = down(REF.float_grid_sample_2d(up(x, kind, REF_DEVICE), up(grid, kind, REF_DEVICE), options))
        got = B.float_grid_sample_2d(up(x, kind, device), up(grid, kind, device), options)
        assert got.dtype is kind and got.shape == (2, 3, 3, 5)
        bound = STEP[kind] * np.abs(want).max()
        np.testing.assert_allclose(
            down(got).astype(float), want.astype(float), rtol=0, atol=bound, err_msg=str(options)
        )


@pytest.mark.parametrize("padding", GridSamplePaddingMode, ids=lambda p: p.value)
@pytest.mark.parametrize("mode", MODES[:3], ids=lambda m: m.value)
def test_agrees_with_torch(mode: Any, padding: Any, device: WgpuDevice) -> None:
    torch = pytest.importorskip("torch")
    x = np.random.default_rng(4).normal(size=(2, 3, HEIGHT, WIDTH)).astype(np.float32)
    for corners in (False, True):
        options = GridSampleOptions(mode, padding, corners)
        grid = points(dt.F32, options).astype(np.float32)
        want = torch.nn.functional.grid_sample(
            torch.tensor(x), torch.tensor(grid), mode.value, padding.value, align_corners=corners
        )
        got = down(B.float_grid_sample_2d(up(x, dt.F32, device), up(grid, dt.F32, device), options))
        np.testing.assert_allclose(got, want.numpy(), rtol=0, atol=1e-4)


def test_views_give_what_copies_give(device: WgpuDevice) -> None:
    x = np.random.default_rng(5).normal(size=(3, 2, 4, 5))
    grid = np.random.default_rng(6).uniform(-1.2, 1.2, (3, 2, 3, 2))
    options = GridSampleOptions(InterpolateMode.BICUBIC, GridSamplePaddingMode.REFLECTION)
    want = bits(B.float_grid_sample_2d(up(x, dt.F32, device), up(grid, dt.F32, device), options))
    for name, t in layouts(x, dt.F32, device):
        for other, g in layouts(grid, dt.F32, device):
            assert bits(B.float_grid_sample_2d(t, g, options)) == want, (name, other)


def test_nearest_takes_ties_to_the_even_pixel(device: WgpuDevice) -> None:
    x = up(np.arange(5.0).reshape(1, 1, 1, 5), dt.F32, device)
    at = np.array([-0.75, -0.25, 0.25, 0.75])  # pixels 0.5, 1.5, 2.5, 3.5 with aligned corners
    grid = np.stack([at, np.zeros(4)], -1).reshape(1, 1, 4, 2)
    options = GridSampleOptions(InterpolateMode.NEAREST, GridSamplePaddingMode.ZEROS, True)
    assert down(B.float_grid_sample_2d(x, up(grid, dt.F32, device), options)).ravel().tolist() == [0, 2, 2, 4]


@pytest.mark.parametrize("padding", GridSamplePaddingMode, ids=lambda p: p.value)
@pytest.mark.parametrize("mode", MODES, ids=lambda m: m.value)
def test_points_that_are_not_finite_or_very_far(mode: Any, padding: Any, device: WgpuDevice) -> None:
    x = np.random.default_rng(7).normal(size=(1, 2, 3, 4))
    far = [np.nan, np.inf, -np.inf, 1e30, -1e30, 1e6]
    grid = np.stack([far, np.zeros(6)], -1).reshape(1, 1, 6, 2)
    options = GridSampleOptions(mode, padding)
    want = down(REF.float_grid_sample_2d(up(x, dt.F32, REF_DEVICE), up(grid, dt.F32, REF_DEVICE), options))
    got = down(B.float_grid_sample_2d(up(x, dt.F32, device), up(grid, dt.F32, device), options))
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-5)


def test_an_image_of_one_pixel_and_nothing_to_sample(device: WgpuDevice) -> None:
    x, grid = np.full((1, 1, 1, 1), 3.0), np.linspace(-3, 3, 14).reshape(1, 1, 7, 2)
    for mode in MODES:
        for padding in GridSamplePaddingMode:
            for corners in (False, True):
                options = GridSampleOptions(mode, padding, corners)
                want = down(REF.float_grid_sample_2d(up(x, dt.F32, REF_DEVICE), up(grid, dt.F32, REF_DEVICE), options))
                got = down(B.float_grid_sample_2d(up(x, dt.F32, device), up(grid, dt.F32, device), options))
                np.testing.assert_allclose(got, want, atol=1e-4, err_msg=str(options))
    none = B.float_grid_sample_2d(
        up(x, dt.F32, device), up(np.zeros((1, 0, 2, 2)), dt.F32, device), GridSampleOptions()
    )
    assert none.shape == (1, 1, 0, 2)


def test_the_same_bits_on_the_second_call(device: WgpuDevice) -> None:
    x = up(np.random.default_rng(8).normal(size=(2, 3, 5, 4)), dt.F32, device)
    grid = up(np.random.default_rng(9).uniform(-1, 1, (2, 6, 7, 2)), dt.F32, device)
    options = GridSampleOptions(InterpolateMode.LANCZOS3)
    assert bits(B.float_grid_sample_2d(x, grid, options)) == bits(B.float_grid_sample_2d(x, grid, options))


def test_every_plan_is_one_launch_within_default_limits() -> None:
    for plan in variants(Capability()):
        check(plan, Capability())
        assert len(plan.launches) == 1 and len(plan.launches[0].params) <= 256
