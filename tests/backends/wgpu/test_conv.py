"""Convolutions on the wgpu backend against loops written out, PyTorch and the reference backend, kernel by kernel."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from burn_wgpu.backends.wgpu.run import run1
from burn_wgpu.backends.wgpu.tensor import WgpuDevice
from burn_wgpu.contract.options import ConvOptions, ConvTransposeOptions, DeformConvOptions
from burn_wgpu.kernel import conv as kernels
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.errors import ShapeError
from burn_wgpu.std.slice import Slice
from tests.backends.wgpu.oracle import REF, REF_DEVICE, B, up

pytestmark = pytest.mark.gpu
STEP = {dt.F32: 2e-6, dt.F16: 2**-10, dt.BF16: 2**-7}
SHORT = {("direct", 3), ("dots", 1), ("tile_32x32", 2), ("strip", 2), ("lines_8x64", 1)}
FORCED = (
    "direct", "dots", "tile_32x32", "tile_64x64", "window_64x64", "window_64x128", "lines_8x64", "lines_64x64", "strip",
)  # fmt: skip


@pytest.fixture(scope="module")
def device() -> WgpuDevice:
    return WgpuDevice(0)


def down(t: Any, backend: Any = B) -> np.ndarray:
    return backend.float_into_data(t).convert(dt.F32).array


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


def close(got: np.ndarray, want: Any, kind: Any = dt.F32, terms: int = 1) -> None:
    """Within the dtype's rounding, and f32's rounding of a sum of so many terms."""
    want = np.asarray(want)
    assert got.shape == want.shape
    scale = np.abs(want).max(initial=1.0)
    np.testing.assert_allclose(got, want, rtol=STEP[kind], atol=scale * (1e-7 * terms**0.5 + 1e-6))


def looped(x: Any, w: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> np.ndarray:
    """Seven loops: batch, output channel, two output axes, input channel, two kernel axes."""
    (top, bottom), (left, right) = padding
    co, per, kh, kw = w.shape
    ho = (x.shape[2] + top + bottom - dilation[0] * (kh - 1) - 1) // stride[0] + 1
    wo = (x.shape[3] + left + right - dilation[1] * (kw - 1) - 1) // stride[1] + 1
    out = np.zeros((x.shape[0], co, ho, wo))
    for n, o, y, z in itertools.product(range(x.shape[0]), range(co), range(ho), range(wo)):
        total = bias[o]
        for c, p, q in itertools.product(range(per), range(kh), range(kw)):
            row, column = y * stride[0] - top + p * dilation[0], z * stride[1] - left + q * dilation[1]
            if 0 <= row < x.shape[2] and 0 <= column < x.shape[3]:
                total += x[n, o // (co // groups) * per + c, row, column] * w[o, c, p, q]
        out[n, o, y, z] = total
    return out


@pytest.mark.parametrize("groups", [1, pytest.param(2, marks=pytest.mark.long), 4])
@pytest.mark.parametrize("stride", [(1, 1), (2, 3)])
@pytest.mark.parametrize("padding", [((0, 0), (0, 0)), ((1, 1), (2, 2)), ((0, 1), (2, 0))])
def test_conv2d_equals_seven_loops(groups: int, stride: Any, padding: Any, device: WgpuDevice) -> None:
    for dilation in ((1, 1), (2, 1)):
        x, w, bias = numbers(2, 4, 6, 5), numbers(4, 4 // groups, 2, 3, seed=1), numbers(4, seed=2)
        options = ConvOptions(stride, padding, dilation, groups)
        got = down(B.conv2d(*(up(a, dt.F32, device) for a in (x, w, bias)), options))
        close(got, looped(x, w, bias, stride, padding, dilation, groups), terms=24)


CASES = [  # groups, stride, padding, dilation, kernel, size
    (1, 1, 0, 1, 3, 7), (2, 2, 1, 1, 3, 8), (4, 1, 2, 2, 2, 6), (1, 3, 0, 1, 2, 9), (2, 2, 2, 2, 3, 7),
    (1, 4, 0, 1, 4, 11),    (2, 1, 3, 1, 2, 5), (1, 2, 0, 1, 1, 8), (1, 1, 0, 1, 1, 8), (8, 1, 1, 1, 3, 8),
]  # fmt: skip


def splits_of(kernel: str) -> int:
    """Two, but for kernels that never split."""
    return 1 if kernel in ("direct", "strip") else 2


# A software adapter compiles slowly: of the kernels by name, one rank each is a short test.
BY_NAME = [
    pytest.param(kernel, rank, marks=() if kernel is None or (kernel, rank) in SHORT else pytest.mark.long)
    for kernel in (None, *FORCED)
    for rank in (1, 2, 3)
]


@pytest.mark.parametrize(("kernel", "rank"), BY_NAME)
def test_convolutions_and_their_gradients_agree_with_pytorch(
    kernel: str | None, rank: int, device: WgpuDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every kernel by name, and the chosen one."""
    torch = pytest.importorskip("torch")
    if kernel is not None:
        monkeypatch.setattr(kernels, "choose", lambda what, device: (kernel, splits_of(kernel)))
    device.plans.clear()
    for groups, stride, padding, dilation, taps, size in CASES:
        space = [size, size - 1, size + 1][:rank]
        x, w, bias = numbers(2, 8, *space), numbers(16, 8 // groups, *[taps] * rank, seed=1), numbers(16, seed=2)
        leaves = [torch.tensor(a, requires_grad=True) for a in (x, w, bias)]
        want = getattr(torch.nn.functional, f"conv{rank}d")(*leaves, stride, padding, dilation, groups)
        grad = numbers(*want.shape, seed=3)
        want.backward(torch.tensor(grad))
        options = ConvOptions((stride,) * rank, (padding,) * rank, (dilation,) * rank, groups)
        tx, tw, tb, tg = (up(a, dt.F32, device) for a in (x, w, bias, grad))
        close(down(getattr(B, f"conv{rank}d")(tx, tw, tb, options)), want.detach(), terms=w[0].size)
        got = down(getattr(B, f"conv{rank}d_x_backward")(tx, tw, tg, options))
        close(got, leaves[0].grad, terms=16 * taps**rank)
        got = down(getattr(B, f"conv{rank}d_weight_backward")(tx, tw, tg, options))
        close(got, leaves[1].grad, terms=grad[:, 0].size)
        close(down(getattr(B, f"conv{rank}d_bias_backward")(tx, tb, tg)), leaves[2].grad, terms=grad[:, 0].size)
    device.plans.clear()


@pytest.mark.parametrize(("kernel", "rank"), BY_NAME)
def test_transposed_convolutions_and_their_gradients_agree_with_pytorch(
    kernel: str | None, rank: int, device: WgpuDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")
    if kernel is not None:
        monkeypatch.setattr(kernels, "choose", lambda what, device: (kernel, 2 if kernel == "dots" else 1))
    device.plans.clear()
    for groups, stride, padding, extra, dilation, taps in [
        (1, 1, 0, 0, 1, 3), (2, 2, 1, 1, 1, 3), (1, 3, 0, 2, 2, 2), (4, 2, 1, 0, 1, 2), (2, 1, 1, 1, 2, 2),
        (1, 3, 0, 1, 1, 2),        (1, 2, 0, 1, 2, 3), (2, 5, 0, 0, 1, 5),
    ]:  # fmt: skip
        x, w, bias = (
            numbers(2, 4, *[4, 5, 3][:rank]),
            numbers(4, 3, *[taps] * rank, seed=1),
            numbers(3 * groups, seed=2),
        )
        leaves = [torch.tensor(a, requires_grad=True) for a in (x, w, bias)]
        function = getattr(torch.nn.functional, f"conv_transpose{rank}d")
        want = function(*leaves, stride, padding, extra, groups, dilation)
        grad = numbers(*want.shape, seed=3)
        want.backward(torch.tensor(grad))
        options = ConvTransposeOptions(*((v,) * rank for v in (stride, padding, extra, dilation)), groups=groups)
        tx, tw, tb, tg = (up(a, dt.F32, device) for a in (x, w, bias, grad))
        name = f"conv_transpose{rank}d"
        close(down(getattr(B, name)(tx, tw, tb, options)), want.detach(), terms=4 * taps**rank)
        close(down(getattr(B, f"{name}_x_backward")(tw, tg, options)), leaves[0].grad, terms=3 * taps**rank)
        close(down(getattr(B, f"{name}_weight_backward")(tx, tw, tg, options)), leaves[1].grad, terms=x[:, 0].size)
    device.plans.clear()


def test_an_input_gradient_keeps_the_input_size_and_a_zero_tail(device: WgpuDevice) -> None:
    x, w = up(numbers(1, 2, 1603), dt.F32, device), up(numbers(3, 2, 4, seed=1), dt.F32, device)
    options = ConvOptions((4,), (0,))
    out = B.conv1d(x, w, None, options)
    grad = down(B.conv1d_x_backward(x, w, up(np.ones(out.shape), dt.F32, device), options))
    assert grad.shape == (1, 2, 1603) and (grad[..., -3:] == 0).all() and (grad[..., :-3] != 0).all()


def test_asymmetric_padding_is_an_explicit_pad(device: WgpuDevice) -> None:
    """The table of same-upper padding: the odd element goes to the end, in all three directions."""
    for size, taps, stride in itertools.product((1, 4, 5, 9), (1, 2, 3, 4), (1, 2, 3)):
        out = -(-size // stride)
        total = max(0, (out - 1) * stride + taps - size)
        pads = (total // 2, total - total // 2)
        x, w = numbers(2, 2, size), numbers(8, 2, taps, seed=1)
        padded = np.pad(x, [(0, 0), (0, 0), pads])
        same, plain = ConvOptions((stride,), (pads,)), ConvOptions((stride,), (0,))
        tx, tp, tw = (up(a, dt.F32, device) for a in (x, padded, w))
        got = B.conv1d(tx, tw, None, same)
        assert got.shape == (2, 8, out)
        close(down(got), down(B.conv1d(tp, tw, None, plain)), terms=8)
        grad = up(numbers(2, 8, out, seed=2), dt.F32, device)
        want = down(B.conv1d_x_backward(tp, tw, grad, plain))[..., pads[0] : pads[0] + size]
        close(down(B.conv1d_x_backward(tx, tw, grad, same)), want, terms=32)
        close(down(B.conv1d_weight_backward(tx, tw, grad, same)), down(B.conv1d_weight_backward(tp, tw, grad, plain)))


@pytest.mark.parametrize("kind", [dt.F16, dt.BF16])
def test_halves_are_summed_in_f32_and_rounded_once(kind: Any, device: WgpuDevice) -> None:
    for shape, weight, stride in (
        ((2, 8, 7, 5), (16, 8, 3, 3), 1),
        ((2, 8, 8, 8), (16, 8, 3, 3), 2),
        ((1, 8, 8, 8), (16, 8, 1, 1), 1),
        ((2, 6, 7, 7), (6, 1, 3, 3), 1),
    ):
        options = ConvOptions((stride, stride), (1, 1), groups=shape[1] // weight[1])
        found = []
        for b, dev in ((B, device), (REF, REF_DEVICE)):
            x, w, bias = (
                up(a, kind, dev) for a in (numbers(*shape), numbers(*weight, seed=1), numbers(weight[0], seed=2))
            )
            out = b.conv2d(x, w, bias, options)
            grad = up(numbers(*out.shape, seed=3), kind, dev)
            tensors = (out, b.conv2d_x_backward(x, w, grad, options), b.conv2d_weight_backward(x, w, grad, options))
            assert all(t.dtype is kind for t in tensors)
            found.append([down(t, b) for t in tensors])
        for got, want in zip(*found, strict=True):
            close(got, want, kind, 100)
    ones = [up(np.ones(s), dt.F16, device) for s in ((1, 4096, 1, 4), (8, 4096, 1, 1))]
    assert (down(B.conv2d(*ones, None, ConvOptions((1, 1), (0, 0)))) == 4096).all()


@pytest.mark.parametrize("kernel", ["strip", pytest.param("window_64x64", marks=pytest.mark.long), "lines_8x64"])
@pytest.mark.parametrize("kind", [dt.F16, pytest.param(dt.BF16, marks=pytest.mark.long)])
def test_halves_by_kernel(kernel: str, kind: Any, device: WgpuDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even and odd widths, whole chunks and not, phases."""
    monkeypatch.setattr(kernels, "choose", lambda what, device: (kernel, splits_of(kernel)))
    device.plans.clear()
    for shape, weight, stride in (
        ((2, 8, 6, 8), (8, 1, 3, 3), 1), ((2, 8, 6, 7), (8, 4, 3, 3), 1), ((2, 8, 7, 6), (8, 2, 5, 5), 3),
        ((1, 8, 8, 8), (8, 2, 4, 4), 2),
    ):  # fmt: skip
        options = ConvOptions((stride,) * 2, (1, 1), groups=shape[1] // weight[1])
        found = []
        for b, dev in ((B, device), (REF, REF_DEVICE)):
            x, w = up(numbers(*shape), kind, dev), up(numbers(*weight, seed=1), kind, dev)
            bias = up(numbers(weight[0], seed=2), kind, dev)
            out = b.conv2d(x, w, bias, options)
            grad = up(numbers(*out.shape, seed=3), kind, dev)
            tensors = (out, b.conv2d_x_backward(x, w, grad, options), b.conv2d_weight_backward(x, w, grad, options))
            found.append([down(t, b) for t in tensors])
        for got, want in zip(*found, strict=True):
            close(got, want, kind, 100)
    device.plans.clear()


@pytest.mark.parametrize("kernel", ["strip", "window_64x64"])
def test_an_infinite_weight_meets_no_place_outside_x(
    kernel: str, device: WgpuDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Gradients of x and transposed convolutions have no padding; a convolution multiplies its zeros."""
    monkeypatch.setattr(kernels, "choose", lambda what, device: (kernel, 1))
    device.plans.clear()
    for groups, stride, taps, width in ((4, 1, 3, 8), (4, 1, 3, 7), (1, 1, 3, 8), (4, 2, 4, 8), (2, 2, 3, 6)):
        options = ConvOptions((stride, stride), (1, 1), groups=groups)
        w = numbers(4, 4 // groups, taps, taps, seed=1)
        w[1, 0, 0, 1], w[2, 0, taps - 1, taps - 1] = np.inf, -np.inf
        x = numbers(2, 4, 6, width)
        found = []
        for b, dev in ((B, device), (REF, REF_DEVICE)):
            tx, tw = up(x, dt.F32, dev), up(w, dt.F32, dev)
            out = b.conv2d(tx, tw, None, options)
            grad = up(np.ones(out.shape), dt.F32, dev)
            found.append([down(out, b), down(b.conv2d_x_backward(tx, tw, grad, options), b)])
        for got, want in zip(*found, strict=True):
            np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
            np.testing.assert_array_equal(np.isinf(got), np.isinf(want))
            finite = np.isfinite(want)
            assert finite.any() and not finite.all()
            np.testing.assert_allclose(got[finite], want[finite], rtol=1e-5, atol=1e-5)
        if groups == 1:
            assert np.isinf(found[1][1]).any() and not np.isinf(found[1][1]).all()
    device.plans.clear()


def test_views_are_read_as_they_lie(device: WgpuDevice) -> None:
    """Channels last, a flipped and sliced weight, a transposed gradient."""
    x, w = numbers(2, 9, 8, 16), numbers(3, 3, 16, 24, seed=1)
    tx, tw = up(x, dt.F32, device), up(w, dt.F32, device)
    tx = tx.view(tx.layout.permute([0, 3, 1, 2]))
    tw = tw.view(tw.layout.permute([3, 2, 0, 1]).slice([Slice(4, 20)]).flip([0, 3]))
    px, pw = x.transpose(0, 3, 1, 2), w.transpose(3, 2, 0, 1)[4:20][::-1][..., ::-1]
    options = ConvOptions((1, 2), (1, (0, 1)))
    plain = [up(a, dt.F32, device) for a in (px, pw)]
    out = B.conv2d(tx, tw, None, options)
    close(down(out), down(B.conv2d(*plain, None, options)), terms=144)
    grad = numbers(*out.shape, seed=2)
    turned = up(grad.transpose(3, 1, 2, 0), dt.F32, device)
    turned = turned.view(turned.layout.permute([3, 1, 2, 0]))
    tg = up(grad, dt.F32, device)
    for name in ("conv2d_x_backward", "conv2d_weight_backward"):
        got = down(getattr(B, name)(tx, tw, turned, options))
        close(got, down(getattr(B, name)(*plain, tg, options)), terms=200)


def test_sizes_of_zero(device: WgpuDevice) -> None:
    options = ConvOptions((1,), (0,))
    w, bias = up(numbers(4, 3, 2), dt.F32, device), up(np.arange(4.0), dt.F32, device)
    empty = up(np.zeros((0, 3, 5)), dt.F32, device)
    out = B.conv1d(empty, w, bias, options)
    assert out.shape == (0, 4, 4) and B.conv1d_x_backward(empty, w, out, options).shape == (0, 3, 5)
    assert (down(B.conv1d_weight_backward(empty, w, out, options)) == 0).all()
    none = up(np.zeros((2, 0, 5)), dt.F32, device)
    out = down(B.conv1d(none, up(np.zeros((4, 0, 2)), dt.F32, device), bias, options))
    assert (out == np.arange(4.0).reshape(1, 4, 1)).all() and out.shape == (2, 4, 4)


def test_larger_products_split_sums_and_every_tile(device: WgpuDevice) -> None:
    torch = pytest.importorskip("torch")
    x, w = numbers(2, 64, 20, 20), numbers(72, 64, 3, 3, seed=1)
    want = torch.nn.functional.conv2d(torch.tensor(x), torch.tensor(w), None, 1, 1).numpy()
    tx, tw = up(x, dt.F32, device), up(w, dt.F32, device)
    options = ConvOptions((1, 1), (1, 1))
    out, what = kernels.conv_correlation(tx.layout, tw.layout, options, "conv2d")
    for kernel in (*kernels.TILES, "window_64x128"):
        if kernel in kernels.TILES and kernels.TILES[kernel].workgroup_bytes > device.capability.max_workgroup_bytes:
            continue
        for splits in (1, 3):
            got = run1(
                device, ("large", kernel, splits),
                lambda c, k=kernel, s=splits: kernels.correlation_plan("conv2d", out, what, dt.F32, c, False, k, s),
                (tx, tw),
            )  # fmt: skip
            close(down(got), want, terms=576)


@pytest.mark.parametrize("kind", [dt.F32, dt.F16])
def test_deformable_convolution_and_its_gradients(kind: Any, device: WgpuDevice) -> None:
    for wg, og, stride, padding, dilation, taps, masked in [
        (1, 1, 1, 0, 1, (3, 3), True), (2, 1, 2, 1, 1, (3, 2), True), (1, 2, 1, 1, 2, (2, 2), False),
        (2, 4, 1, 2, 1, (1, 3), True),
    ]:  # fmt: skip
        options = DeformConvOptions((stride,) * 2, (padding,) * 2, (dilation,) * 2, wg, og)
        space = [(n + 2 * padding - dilation * (k - 1) - 1) // stride + 1 for n, k in zip((7, 6), taps, strict=True)]
        values = [
            numbers(2, 4, 7, 6), 1.5 * numbers(2, 2 * og * taps[0] * taps[1], *space, seed=1),
            numbers(6, 4 // wg, *taps, seed=2), numbers(2, og * taps[0] * taps[1], *space, seed=3) if masked else None,
            numbers(6, seed=4), numbers(2, 6, *space, seed=5),
        ]  # fmt: skip
        found = []
        for b, dev in ((B, device), (REF, REF_DEVICE)):
            *tensors, grad = (None if a is None else up(a, kind, dev) for a in values)
            results = (b.deform_conv2d(*tensors, options), *b.deform_conv2d_backward(*tensors, grad, options))
            found.append([None if t is None else down(t, b) for t in results])
        for got, want in zip(*found, strict=True):
            assert (got is None) == (want is None)
            if got is not None:
                close(got, want, kind, 1000)


def test_the_same_bits_and_nothing_new_on_the_second_call(device: WgpuDevice) -> None:
    x, w = up(numbers(2, 8, 9, 9), dt.F16, device), up(numbers(16, 8, 3, 3, seed=1), dt.F16, device)
    bias, options = up(numbers(16, seed=2), dt.F16, device), ConvOptions((2, 2), (1, 1))
    offset = up(numbers(2, 18, 5, 5, seed=3), dt.F16, device)
    deform = DeformConvOptions((2, 2), (1, 1))

    def once() -> list[Any]:
        out = B.conv2d(x, w, bias, options)
        grads = B.deform_conv2d_backward(x, offset, w, None, bias, out, deform)
        return [out, B.conv2d_x_backward(x, w, out, options), B.conv2d_weight_backward(x, w, out, options), *grads[:3]]

    first, again = [down(t).tobytes() for t in once()], [down(t).tobytes() for t in once()]
    assert first == again
    for _ in range(65):  # the 64th submission of a device sets a fence, which keeps a buffer
        once()
        B.sync(device)
    before = device.client.counts()
    once()
    B.sync(device)
    after = device.client.counts()
    assert [after[k] - before[k] for k in ("buffers", "bind_groups", "pipelines")] == [0, 0, 0]


@pytest.mark.long
def test_more_than_65_535_workgroups(device: WgpuDevice) -> None:
    n = 4 * 128 * 65_536 + 5  # in halves, which a software adapter's largest binding holds
    x = (np.arange(n) % 512).astype(np.float16)
    w = up([[[-1.0, 1.0]]], dt.F16, device)
    got = down(B.conv1d(up(x.reshape(1, 1, n), dt.F16, device), w, None, ConvOptions((1,), (0,))))
    np.testing.assert_array_equal(got.reshape(-1), x[1:] - x[:-1])


def test_faults_are_told_with_a_remedy(device: WgpuDevice) -> None:
    x, w = up(np.zeros((1, 1, 2)), dt.F32, device), up(np.zeros((1, 1, 5)), dt.F32, device)
    with pytest.raises(ShapeError, match="conv1d: a kernel of size 5 with dilation 1 spans 5 elements"):
        B.conv1d(x, w, None, ConvOptions((1,), (0,)))
