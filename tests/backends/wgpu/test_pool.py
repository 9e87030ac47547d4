"""Pooling on the wgpu backend: against the reference backend, PyTorch's rules, views, halves, long grids."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from burn_wgpu.backends.wgpu.tensor import WgpuDevice
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.errors import BurnError
from tests.backends.reference.tools import DEFAULTS
from tests.backends.wgpu.oracle import REF, REF_DEVICE, B, up

pytestmark = pytest.mark.gpu
NAN, INF = float("nan"), float("inf")
STEP = {dt.F32: 2e-6, dt.F16: 2**-10, dt.BF16: 2**-7}


@pytest.fixture(scope="module")
def device() -> WgpuDevice:
    return WgpuDevice(0)


def down(t: Any, backend: Any = B) -> np.ndarray:
    if t.dtype.is_int:
        return backend.int_into_data(t).convert(dt.I32).array
    return backend.float_into_data(t).convert(dt.F32).array


def each(rank: int, value: int) -> Any:
    return value if rank == 1 else (value,) * rank


def everything(b: Any, x: Any, dev: Any, rank: int, k: int, s: int, p: int, d: int, ceil: bool, inside: bool) -> Any:
    """Every pooling of one choice of windows; the message where the backend refuses it."""
    sizes = [each(rank, v) for v in (k, s, p, d)]
    index = dt.I64 if k == 2 else dt.I32
    try:
        mean = getattr(b, f"avg_pool{rank}d")(x, *sizes, inside, ceil)
        values = np.arange(np.prod(mean.shape)).reshape(mean.shape) % 7 - 3
        grad = up(values, x.dtype, dev)
        mean_grad = getattr(b, f"avg_pool{rank}d_backward")(x, grad, *sizes, inside, ceil)
        top = getattr(b, f"max_pool{rank}d")(x, *sizes, ceil)
        again, places = getattr(b, f"max_pool{rank}d_with_indices")(x, *sizes, ceil, index)
        assert places.dtype is index
        top_grad = getattr(b, f"max_pool{rank}d_with_indices_backward")(x, *sizes, ceil, grad, places)
    except BurnError as error:
        return str(error)
    return [down(t, b) for t in (mean, mean_grad, top, again, places, top_grad)]


@pytest.mark.parametrize(
    ("space", "sizes", "ceil", "kind"),
    [
        ((80, 75), ((70, 65), (3, 2), (9, 20), (1, 1)), True, dt.F32),
        ((80, 75), ((70, 65), (3, 2), (9, 20), (1, 1)), False, dt.F16),
        ((40, 300), ((30, 280), (1, 5), (15, 0), (1, 1)), False, dt.BF16),
        ((90, 150), ((60, 71), (9, 7), (40, 3), (2, 2)), True, dt.F32),
        ((17, 18, 20), ((16, 17, 18), (1, 2, 1), (8, 2, 3), (1, 1, 1)), False, dt.F32),
        ((3, 4, 2400), ((1, 3, 2300), (1, 1, 30), (0, 1, 7), (1, 1, 1)), True, dt.F32),
    ],
    ids=str,
)
def test_windows_too_large_for_an_invocation(
    space: Any, sizes: Any, ceil: bool, kind: dt.DType, device: WgpuDevice
) -> None:
    """Pooled one axis after the other: sums as exact as at once, ties and NaN at the same places."""
    rank = len(space)
    x = np.random.default_rng(1).integers(-3, 4, size=(1, 2, *space)).astype(np.float32)
    x[0, 1].flat[[7, 5, -3]] = NAN
    x[0, 0].flat[: x[0, 0].size // 2] = -INF
    results = []
    for b, dev in ((B, device), (REF, REF_DEVICE)):
        t, finite = up(x, kind, dev), up(np.nan_to_num(x, neginf=-3.0), kind, dev)
        mean = getattr(b, f"avg_pool{rank}d")(finite, *sizes, ceil, ceil)
        grad = up(np.arange(np.prod(mean.shape)).reshape(mean.shape) % 7 - 3, kind, dev)
        top, places = getattr(b, f"max_pool{rank}d_with_indices")(t, *sizes, ceil, dt.I64)
        assert places.dtype is dt.I64
        exact = (top, places, getattr(b, f"max_pool{rank}d")(t, *sizes, ceil))
        close = (mean, getattr(b, f"avg_pool{rank}d_backward")(finite, grad, *sizes, ceil, ceil))
        results.append([[down(t, b) for t in part] for part in (exact, close)])
    for ours, theirs in zip(results[0][0], results[1][0], strict=True):
        np.testing.assert_array_equal(ours, theirs)
    for ours, theirs in zip(results[0][1], results[1][1], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=STEP[kind], atol=STEP[kind] * np.abs(theirs).max())


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_every_window_agrees_with_the_reference(rank: int, device: WgpuDevice) -> None:
    shape = (2, 3, *(7, 6, 5)[:rank])
    x = np.random.default_rng(0).integers(-3, 4, size=shape).astype(np.float32)  # many ties
    x[0, 0].flat[3] = NAN
    x[1, 1].flat[:3] = -INF
    ours, theirs = up(x, dt.F32, device), up(x, dt.F32, REF_DEVICE)
    answered = 0
    flags = (False, True)
    for k, s, p, d, ceil, inside in itertools.product((1, 2, 3), (1, 2, 3), (0, 1), (1, 2), flags, flags):
        if p > k // 2:
            continue
        got = everything(B, ours, device, rank, k, s, p, d, ceil, inside)
        want = everything(REF, theirs, REF_DEVICE, rank, k, s, p, d, ceil, inside)
        if isinstance(want, str):
            assert got == want
            continue
        answered += 1
        for name, a, b in zip(("avg", "avg grad", "max", "max", "indices", "max grad"), got, want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6, err_msg=f"{name} {k} {s} {p} {d} {ceil} {inside}")
    assert answered > 80


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_a_window_without_an_element_has_no_gradient_to_give(rank: int, device: WgpuDevice) -> None:
    """Padding as wide as a window, or an axis that falls between its taps: -inf, and the index of the next element.

    A window whose only elements are -inf does have one, and it gets the gradient.
    """
    x = np.random.default_rng(0).normal(size=(2, 3, *(3, 4, 2)[:rank])).astype(np.float32)
    x[0, 1] = -INF
    empty = 0
    for k, s, p, d, ceil in itertools.product((1, 2, 3), (1, 2, 4), (1, 2, 3, 5), (1, 4), (False, True)):
        found = []
        for b, dev in ((B, device), (REF, REF_DEVICE), (DEFAULTS, REF_DEVICE)):
            found.append(everything(b, up(x, dt.F32, dev), dev, rank, k, s, p, d, ceil, True))
        if isinstance(found[1], str):
            assert found[0].partition(":")[2] == found[1].partition(":")[2]  # one axis may be told as one of two
            continue
        for got in found[:1] + found[2:]:
            for a, b in zip(got, found[1], strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6, err_msg=f"{k} {s} {p} {d} {ceil}")
        top, places, grad = found[0][2], found[0][4], found[0][5]
        given = np.arange(top.size).reshape(top.shape) % 7 - 3
        alone = np.isneginf(top)
        alone[0, 1] = alone[0, 0]  # its elements are -inf
        assert ((places >= 0) & (places < x[0, 0].size)).all()
        np.testing.assert_allclose(grad.sum(), given[~alone].sum(), atol=1e-4)
        empty += int(alone.sum())
    assert empty > 100


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_adaptive_windows_agree_with_the_reference(rank: int, device: WgpuDevice) -> None:
    x = np.random.default_rng(0).normal(size=(2, 3, *(7, 6, 5)[:rank])).astype(np.float32)
    ours, theirs = up(x, dt.F32, device), up(x, dt.F32, REF_DEVICE)
    for out in (1, 2, 3, 5, 9):
        found = []
        for b, t, dev in ((B, ours, device), (REF, theirs, REF_DEVICE)):
            mean = getattr(b, f"adaptive_avg_pool{rank}d")(t, each(rank, out))
            grad = up(np.arange(np.prod(mean.shape)).reshape(mean.shape) % 5, dt.F32, dev)
            found.append([down(mean, b), down(getattr(b, f"adaptive_avg_pool{rank}d_backward")(t, grad), b)])
        for a, b in zip(*found, strict=True):
            assert a.shape == b.shape
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)


def test_pytorch_agrees_on_padding_ceil_mode_and_divisors(device: WgpuDevice) -> None:
    torch = pytest.importorskip("torch")
    x = np.random.default_rng(1).normal(size=(2, 3, 9, 8)).astype(np.float32)
    ours, theirs = up(x, dt.F32, device), torch.tensor(x)
    for k, s, p, ceil, inside in itertools.product((2, 3), (1, 2), (0, 1), (False, True), (False, True)):
        want = torch.nn.functional.avg_pool2d(theirs, k, s, p, ceil, inside).numpy()
        got = down(B.avg_pool2d(ours, (k, k), (s, s), (p, p), (1, 1), inside, ceil))
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
        want, places = torch.nn.functional.max_pool2d(theirs, k, s, p, 1, ceil, return_indices=True)
        top, index = B.max_pool2d_with_indices(ours, (k, k), (s, s), (p, p), (1, 1), ceil, dt.I64)
        np.testing.assert_array_equal(down(top), want.numpy())
        np.testing.assert_array_equal(down(index), places.numpy())


def test_the_first_maximum_and_the_first_nan_win(device: WgpuDevice) -> None:
    x = up([[[[1.0, 5.0, 5.0, 2.0], [5.0, 0.0, -0.0, NAN], [NAN, 1.0, 0.0, 0.0]]]], dt.F32, device)
    top, index = B.max_pool2d_with_indices(x, (3, 2), (1, 2), (0, 0), (1, 1), False, dt.I32)
    assert np.isnan(down(top)).all() and down(index).tolist() == [[[[8, 7]]]]
    top, index = B.max_pool2d_with_indices(x, (1, 2), (1, 1), (0, 0), (1, 1), False, dt.I32)
    assert down(index)[0, 0].tolist() == [[1, 1, 2], [4, 5, 7], [8, 9, 10]]
    lowest = up(np.full((1, 1, 4), -INF), dt.F32, device)
    top, index = B.max_pool1d_with_indices(lowest, 2, 2, 1, 1, False, dt.I64)
    assert down(index).tolist() == [[[0, 1, 3]]] and np.isneginf(down(top)).all()


@pytest.mark.parametrize("kind", [dt.F16, dt.BF16])
def test_halves_of_odd_sizes(kind: Any, device: WgpuDevice) -> None:
    x = np.random.default_rng(2).normal(size=(3, 5, 7, 9))
    found = []
    for b, dev in ((B, device), (REF, REF_DEVICE)):
        t = up(x, kind, dev)
        found.append(everything(b, t, dev, 2, 3, 2, 1, 1, False, False))
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=STEP[kind], atol=STEP[kind])
    big = up(np.full((1, 1, 64, 64), 60_000.0), dt.F16, device)
    assert (down(B.avg_pool2d(big, (32, 32), (32, 32), (0, 0), (1, 1), True, False)) == 60_000).all()
    assert (down(B.adaptive_avg_pool2d(big, (1, 1))) == 60_000).all()


def test_views_are_read_as_they_lie(device: WgpuDevice) -> None:
    array = np.random.default_rng(3).normal(size=(8, 4, 9, 3)).astype(np.float32)
    base = up(array, dt.F32, device)
    view = base.view(base.layout.permute([0, 3, 2, 1]).flip([2]))
    plain = up(array.transpose(0, 3, 2, 1)[:, :, ::-1], dt.F32, device)
    for got, want in zip(
        everything(B, view, device, 2, 2, 1, 1, 1, False, True),
        everything(B, plain, device, 2, 2, 1, 1, 1, False, True),
        strict=True,
    ):
        np.testing.assert_array_equal(got, want)
    grad = np.random.default_rng(4).normal(size=(8, 3, 4, 2)).astype(np.float32)
    turned = up(grad.transpose(3, 2, 1, 0), dt.F32, device)
    turned = turned.view(turned.layout.permute([3, 2, 1, 0]))
    sizes = ((2, 2), (2, 2), (0, 0), (1, 1), True, False)
    lying = up(grad, dt.F32, device)
    np.testing.assert_array_equal(
        down(B.avg_pool2d_backward(view, turned, *sizes)), down(B.avg_pool2d_backward(view, lying, *sizes))
    )


def test_empty_batches(device: WgpuDevice) -> None:
    x = up(np.zeros((0, 3, 6)), dt.F32, device)
    out, index = B.max_pool1d_with_indices(x, 2, 2, 0, 1, False, dt.I32)
    assert out.shape == index.shape == (0, 3, 3)
    assert B.avg_pool1d_backward(x, out, 2, 2, 0, 1, True, False).shape == (0, 3, 6)


def test_long_windows_and_many_workgroups(device: WgpuDevice) -> None:
    x = np.random.default_rng(5).normal(size=(1, 1, 200, 70)).astype(np.float32)
    t = up(x, dt.F32, device)  # 14,000 taps: more than an invocation may walk
    np.testing.assert_allclose(
        down(B.avg_pool2d(t, (200, 70), (1, 1), (0, 0), (1, 1), True, False)), x.mean((2, 3), keepdims=True), atol=1e-5
    )
    assert down(B.max_pool2d(t, (200, 70), (1, 1), (0, 0), (1, 1), False)).item() == x.max()
    out = down(B.adaptive_avg_pool2d(t, (2, 1)))
    np.testing.assert_allclose(out[0, 0, :, 0], [x[0, 0, :100].mean(), x[0, 0, 100:].mean()], atol=1e-5)


@pytest.mark.long
def test_more_than_65_535_workgroups(device: WgpuDevice) -> None:
    n = 4 * 128 * 65_536 + 5  # in halves, which a software adapter's largest binding holds
    x = (np.arange(n) % 512).astype(np.float16)
    got = down(B.max_pool1d(up(x.reshape(1, 1, n), dt.F16, device), 2, 1, 0, 1, False))
    np.testing.assert_array_equal(got.reshape(-1), np.maximum(x[1:], x[:-1]))


def test_the_same_bits_and_nothing_new_on_the_second_call(device: WgpuDevice) -> None:
    x = up(np.random.default_rng(6).normal(size=(2, 3, 12, 12)), dt.F32, device)

    def once() -> list[bytes]:
        return [a.tobytes() for a in everything(B, x, device, 2, 3, 2, 1, 1, False, True)]

    def outputs() -> Any:
        top = B.max_pool2d(x, (3, 3), (2, 2), (1, 1), (1, 1), False)
        return B.avg_pool2d_backward(x, top, (3, 3), (2, 2), (1, 1), (1, 1), True, False)

    first, again = once(), once()
    assert first == again
    for _ in range(3):
        outputs()
        B.sync(device)
    before = device.client.counts()
    outputs()
    B.sync(device)
    after = device.client.counts()
    assert [after[k] - before[k] for k in ("buffers", "bind_groups", "pipelines")] == [0, 0, 0]
