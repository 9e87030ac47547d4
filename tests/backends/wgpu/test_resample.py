"""interpolate and its gradient on the wgpu backend against the reference backend, PyTorch and known values."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from burn_wgpu.backends.wgpu.tensor import WgpuDevice
from burn_wgpu.contract.options import (
    CoordinateTransformMode,
    CubicOptions,
    InterpolateMode,
    InterpolateOptions,
    NearestRoundingMode,
)
from burn_wgpu.std import dtype as dt
from tests.backends.wgpu.oracle import REF, REF_DEVICE, B, up

pytestmark = pytest.mark.gpu
STEP = {dt.F32: 2e-6, dt.F16: 2**-10, dt.BF16: 2**-7}
SIZES = ((1, 1), (5, 7), (9, 4), (3, 13))
TRANSFORMS = [
    *map(
        CoordinateTransformMode,
        ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "half_pixel_symmetric"),
    ),
    CoordinateTransformMode.tf_crop_and_resize(((-0.2, 0.8), (0.1, 1.3)), 7.5),
]


@pytest.fixture(scope="module")
def device() -> WgpuDevice:
    return WgpuDevice(0)


def down(t: Any, backend: Any = B) -> np.ndarray:
    return backend.float_into_data(t).convert(dt.F32).array


def both(kind: Any, size: Any, options: Any, device: WgpuDevice) -> tuple[list[np.ndarray], list[np.ndarray]]:
    rng = np.random.default_rng(0)
    x, grad = rng.normal(size=(2, 3, 5, 7)), rng.normal(size=(2, 3, *size))
    found = []
    for b, dev in ((B, device), (REF, REF_DEVICE)):
        t = up(x, kind, dev)
        results = (b.interpolate(t, size, options), b.interpolate_backward(t, up(grad, kind, dev), size, options))
        assert all(r.dtype is kind for r in results)
        found.append([down(r, b) for r in results])
    return found[0], found[1]


@pytest.mark.parametrize("mode", InterpolateMode, ids=lambda m: m.value)
def test_every_mode_transform_and_rounding_agrees_with_the_reference(mode: Any, device: WgpuDevice) -> None:
    roundings = NearestRoundingMode if mode.is_nearest else [NearestRoundingMode.FLOOR]
    cubics = [CubicOptions(), CubicOptions(-0.5, True)] if mode is InterpolateMode.BICUBIC else [CubicOptions()]
    for transform, rounding, cubic, size in itertools.product(TRANSFORMS, roundings, cubics, SIZES):
        options = InterpolateOptions(mode, transform, rounding, cubic)
        for got, want in zip(*both(dt.F32, size, options, device), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=2e-6 if mode.is_nearest else 1e-5)


@pytest.mark.parametrize("kind", [dt.F16, dt.BF16])
def test_halves_are_rounded_once(kind: Any, device: WgpuDevice) -> None:
    for mode in InterpolateMode:
        for got, want in zip(*both(kind, (9, 4), InterpolateOptions(mode), device), strict=True):
            np.testing.assert_allclose(got, want, rtol=STEP[kind], atol=2e-6 + STEP[kind] / 8)


def test_known_vectors(device: WgpuDevice) -> None:
    x = up(np.arange(4.0).reshape(1, 1, 1, 4), dt.F32, device)
    for corners, want in (
        (True, [0, 0.5, 1, 1.5, 2, 2.5, 3]),
        (False, [0, 0.3571, 0.9286, 1.5, 2.0714, 2.6429, 3]),
    ):
        options = InterpolateOptions(InterpolateMode.BILINEAR).with_align_corners(corners)
        np.testing.assert_allclose(down(B.interpolate(x, (1, 7), options)).reshape(-1), want, atol=5e-5)


def test_pytorch_agrees(device: WgpuDevice) -> None:
    torch = pytest.importorskip("torch")
    x = np.random.default_rng(1).normal(size=(2, 3, 6, 5)).astype(np.float32)
    for name, corners, size in itertools.product(("bilinear", "bicubic"), (False, True), ((3, 9), (12, 10))):
        leaf = torch.tensor(x, requires_grad=True)
        want = torch.nn.functional.interpolate(leaf, size, mode=name, align_corners=corners)
        grad = np.random.default_rng(2).normal(size=want.shape).astype(np.float32)
        want.backward(torch.tensor(grad))
        options = InterpolateOptions(InterpolateMode(name)).with_align_corners(corners)
        t = up(x, dt.F32, device)
        np.testing.assert_allclose(down(B.interpolate(t, size, options)), want.detach(), atol=1e-5)
        got = down(B.interpolate_backward(t, up(grad, dt.F32, device), size, options))
        np.testing.assert_allclose(got, leaf.grad, atol=1e-5)


def test_a_nearest_copy_keeps_every_bit(device: WgpuDevice) -> None:
    x = np.array([[[[-0.0, np.nan, np.inf, -np.inf]]]], np.float32)
    got = down(B.interpolate(up(x, dt.F32, device), (2, 4), InterpolateOptions(InterpolateMode.NEAREST)))
    assert got.view(np.uint32).tolist() == np.repeat(x, 2, 2).view(np.uint32).tolist()


def test_views_and_empty_batches(device: WgpuDevice) -> None:
    x = np.random.default_rng(3).normal(size=(7, 3, 2, 5))
    base = up(x, dt.F32, device)
    view = base.view(base.layout.permute([2, 1, 3, 0]).flip([2]))
    plain = up(x.transpose(2, 1, 3, 0)[:, :, ::-1], dt.F32, device)
    options = InterpolateOptions(InterpolateMode.BICUBIC)
    got, want = (down(B.interpolate(t, (8, 6), options)) for t in (view, plain))
    np.testing.assert_array_equal(got, want)
    grad = np.random.default_rng(4).normal(size=(6, 8, 3, 2))
    turned = up(grad, dt.F32, device)
    turned = turned.view(turned.layout.permute([3, 2, 1, 0]))
    lying = up(grad.transpose(3, 2, 1, 0), dt.F32, device)
    got, want = (down(B.interpolate_backward(view, g, (8, 6), options)) for g in (turned, lying))
    np.testing.assert_array_equal(got, want)
    assert B.interpolate(up(np.zeros((0, 3, 2, 2)), dt.F32, device), (4, 4), options).shape == (0, 3, 4, 4)


def test_an_element_that_serves_very_many_outputs(device: WgpuDevice) -> None:
    x = up(np.ones((1, 1, 1, 1)), dt.F32, device)
    grad = up(np.ones((1, 1, 1, 13_000)), dt.F32, device)
    got = B.interpolate_backward(x, grad, (1, 13_000), InterpolateOptions(InterpolateMode.NEAREST))
    assert down(got).item() == 13_000


@pytest.mark.long
def test_more_than_65_535_workgroups(device: WgpuDevice) -> None:
    width = 4 * 128 * 65_536 // 4096 + 1
    x = up(np.arange(8.0).reshape(1, 1, 8, 1), dt.F16, device)  # a software adapter binds no more in f32
    out = B.interpolate(x, (4096, width), InterpolateOptions(InterpolateMode.NEAREST))
    assert down(out)[0, 0, ::512, -1].tolist() == list(range(8))


def test_the_same_bits_and_nothing_new_on_the_second_call(device: WgpuDevice) -> None:
    x = up(np.random.default_rng(5).normal(size=(2, 3, 6, 5)), dt.F32, device)
    options = InterpolateOptions(InterpolateMode.LANCZOS3)

    def once() -> list[Any]:
        out = B.interpolate(x, (9, 8), options)
        return [out, B.interpolate_backward(x, out, (9, 8), options)]

    first, again = [down(t).tobytes() for t in once()], [down(t).tobytes() for t in once()]
    assert first == again
    for _ in range(3):
        once()
        B.sync(device)
    before = device.client.counts()
    once()
    B.sync(device)
    after = device.client.counts()
    assert [after[k] - before[k] for k in ("buffers", "bind_groups", "pipelines")] == [0, 0, 0]
