"""Infinities and NaN in convolutions: every kernel gives what the reference backend and PyTorch give.

Padding is zeros of x, and zero times an infinite weight is NaN. A transposed convolution and the gradient of x have no
padding: what no element of x meets is not NaN.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from burn_wgpu.backends.wgpu.tensor import WgpuDevice
from burn_wgpu.contract.options import ConvOptions, ConvTransposeOptions, DeformConvOptions
from burn_wgpu.kernel import conv as kernels
from burn_wgpu.std import dtype as dt
from tests.backends.reference.tools import DEFAULTS
from tests.backends.wgpu.oracle import REF, REF_DEVICE, B, down, up

pytestmark = pytest.mark.gpu
INF, NAN = float("inf"), float("nan")
STEP = {dt.F32: 3e-6, dt.F16: 2**-9}
CASES = [  # groups, stride, padding, dilation, taps
    (1, (1, 1), ((1, 1), (1, 1)), (1, 1), (3, 3)), (1, (2, 1), ((1, 1), (2, 2)), (1, 2), (3, 2)),
    (2, (2, 3), ((2, 2), (2, 2)), (2, 1), (3, 3)), (1, (1, 2), ((0, 2), (1, 0)), (1, 1), (2, 3)),
    (4, (1, 1), ((0, 0), (0, 0)), (1, 1), (1, 1)),
]  # fmt: skip


@pytest.fixture(scope="module")
def device() -> WgpuDevice:
    return WgpuDevice(0)


def numbers(*shape: int, seed: int = 0, marks: tuple[float, ...] = (INF, -INF, NAN)) -> np.ndarray:
    """Whole numbers, so that sums are exact, with a few that are not finite."""
    rng = np.random.default_rng(seed)
    values = rng.integers(1, 5, size=shape) * rng.choice([-1.0, 1.0], size=shape)
    values.flat[rng.integers(values.size, size=len(marks))] = marks
    return values


def agree(name: str, args: tuple[Any, ...], kind: Any, device: WgpuDevice) -> np.ndarray:
    """What the backend gives, the same as the reference and the composed functions."""
    found = []
    for b, dev in ((B, device), (REF, REF_DEVICE), (DEFAULTS, REF_DEVICE)):
        given = [up(a, kind, dev) if isinstance(a, np.ndarray) else a for a in args]
        found.append(down(getattr(b, name)(*given)))
    for other in found[1:]:
        np.testing.assert_allclose(found[0], other, STEP[kind], err_msg=f"{name} {args[-1]}")
    return found[0]


def gradients_and_outputs(rank: int, marked: str) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Calls of every function of one rank; `marked` of x, w, g has what is not finite."""
    marks = {name: (INF, -INF, NAN) if name == marked else () for name in "xwg"}
    for groups, stride, padding, dilation, taps in CASES:
        sizes = stride[:rank], padding[:rank], dilation[:rank]
        options = ConvOptions(*sizes, groups)
        x = numbers(2, 8, *(7, 8)[:rank], marks=marks["x"])
        w = numbers(16, 8 // groups, *taps[:rank], seed=1, marks=marks["w"])
        shape = getattr(REF, f"conv{rank}d")(up(x, dt.F32, REF_DEVICE), up(w, dt.F32, REF_DEVICE), None, options).shape
        g = numbers(*shape, seed=2, marks=marks["g"])
        yield f"conv{rank}d", (x, w, None, options)
        yield f"conv{rank}d_x_backward", (x, w, g, options)
        yield f"conv{rank}d_weight_backward", (x, w, g, options)
        symmetric = tuple(max(pair) for pair in padding[:rank])
        spread = ConvTransposeOptions(stride[:rank], symmetric, (0,) * rank, dilation[:rank], groups)
        wide = numbers(8, 12 // groups, *taps[:rank], seed=3, marks=marks["w"])
        made = getattr(REF, f"conv_transpose{rank}d")(
            up(x, dt.F32, REF_DEVICE), up(wide, dt.F32, REF_DEVICE), None, spread
        )
        h = numbers(*made.shape, seed=4, marks=marks["g"])
        yield f"conv_transpose{rank}d", (x, wide, None, spread)
        yield f"conv_transpose{rank}d_x_backward", (wide, h, spread)
        yield f"conv_transpose{rank}d_weight_backward", (x, wide, h, spread)


@pytest.mark.parametrize("kind", [dt.F32, pytest.param(dt.F16, marks=pytest.mark.long)], ids=str)
@pytest.mark.parametrize("marked", "xwg")
@pytest.mark.parametrize(
    "kernel", [None, "direct", "dots", "tile_32x32", pytest.param("tile_64x64", marks=pytest.mark.long)]
)
def test_every_kernel_gives_nan_where_the_reference_does(
    kernel: str | None, marked: str, kind: Any, device: WgpuDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kernel is not None:
        monkeypatch.setattr(kernels, "choose", lambda what, device: (kernel, 2 if kernel != "direct" else 1))
    device.plans.clear()
    finite = 0
    for rank in (1, 2) if kernel is None else (2,):
        for name, args in gradients_and_outputs(rank, marked):
            found = agree(name, args, kind, device)
            finite += int(np.isfinite(found).sum())
    device.plans.clear()
    assert finite > 1000


def test_pytorch_agrees(device: WgpuDevice) -> None:
    torch = pytest.importorskip("torch")
    x, w = numbers(1, 8, 9, 8, marks=()), numbers(8, 8, 3, 3, seed=1, marks=(INF, -INF))
    tx, tw = (torch.tensor(a, requires_grad=True) for a in (x, w))
    for stride, padding, dilation in ((1, 1, 1), (2, 1, 1), (1, 2, 2), (2, 2, 1)):
        options = ConvOptions((stride,) * 2, (padding,) * 2, (dilation,) * 2)
        out = torch.nn.functional.conv2d(tx, tw, None, stride, padding, dilation)
        grad = numbers(*out.shape, seed=2, marks=())
        (x_grad,) = torch.autograd.grad(out, tx, torch.tensor(grad))
        np.testing.assert_array_equal(agree("conv2d", (x, w, None, options), dt.F32, device), out.detach())
        np.testing.assert_array_equal(agree("conv2d_x_backward", (x, w, grad, options), dt.F32, device), x_grad)
        spread = ConvTransposeOptions((stride,) * 2, (padding,) * 2, (0, 0), (dilation,) * 2)
        out = torch.nn.functional.conv_transpose2d(tx, tw, None, stride, padding, 0, 1, dilation)
        np.testing.assert_array_equal(agree("conv_transpose2d", (x, w, None, spread), dt.F32, device), out.detach())


def test_deformable_convolution_pads_with_zeros(device: WgpuDevice) -> None:
    """Samples outside are zeros that are multiplied; gradients of x reach elements of x only."""
    options = DeformConvOptions((1, 1), (1, 1))
    rng = np.random.default_rng(5)
    x, w = numbers(1, 4, 6, 7, marks=()), numbers(5, 4, 3, 3, seed=1, marks=(INF, -INF))
    offset, mask = rng.integers(-2, 3, (1, 18, 6, 7)) + 0.5, rng.integers(1, 3, (1, 9, 6, 7)).astype(float)
    agree("deform_conv2d", (x, offset, w, mask, None, options), dt.F32, device)
    grad = numbers(1, 5, 6, 7, seed=2, marks=(INF,))
    found = []
    for b, dev in ((B, device), (REF, REF_DEVICE)):
        given = [up(a, dt.F32, dev) for a in (x, offset, w, mask)]
        made = b.deform_conv2d_backward(*given, None, up(grad, dt.F32, dev), options)
        found.append([down(t) for t in made[:4]])
    for got, want in zip(*found, strict=True):
        np.testing.assert_allclose(got, want, 3e-6, 1e-4)
    assert np.isfinite(found[0][0]).any() and np.isnan(found[0][0]).any()
