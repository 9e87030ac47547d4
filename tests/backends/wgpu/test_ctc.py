"""CTC and its gradient on the wgpu backend against the reference backend and PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from burn_wgpu.backends.wgpu.tensor import WgpuDevice
from burn_wgpu.contract.defaults import ctc as defaults
from burn_wgpu.kernel.ctc import Samples, variants
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import check
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.errors import IndexOutOfRange
from burn_wgpu.std.layout import Layout
from tests.backends.wgpu.oracle import REF, REF_DEVICE, B, bits, down, layouts, up

pytestmark = pytest.mark.gpu

STEP = {dt.F32: 2e-6, dt.F16: 2**-10, dt.BF16: 2**-7}
SHAPES = ((7, 3, 2, 5), (12, 4, 5, 6), (1, 2, 1, 3), (40, 3, 20, 9), (260, 2, 140, 9))


@pytest.fixture(scope="module", params=[False, True], ids=["adapter", "default limits"])
def device(request: Any) -> WgpuDevice:
    return WgpuDevice(0, default_limits=request.param)


def log_softmax(x: np.ndarray) -> np.ndarray:
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def drawn(shape: tuple[int, int, int, int], blank: int = 0) -> tuple[np.ndarray, ...]:
    """log_probs, targets, input lengths, target lengths, the losses' gradient."""
    steps, batch, labels, classes = shape
    rng = np.random.default_rng(sum(shape))
    targets = rng.integers(1, classes, (batch, labels))
    targets = np.where(targets <= blank, targets - 1, targets)
    lengths = rng.integers(0, labels + 1, batch)
    lengths[0] = labels
    return (
        log_softmax(rng.normal(size=(steps, batch, classes))),
        targets,
        rng.integers((steps + 1) // 2, steps + 1, batch),
        lengths,
        rng.normal(size=batch),
    )


def exact(given: tuple[np.ndarray, ...], kind: dt.DType, blank: int = 0) -> tuple[Any, Any]:
    """The reference's results in f64 of what a tensor of this dtype holds."""
    held = [down(up(a, kind, REF_DEVICE)) if i in (0, 4) else a for i, a in enumerate(given)]
    return loss_and_gradient(REF, on(REF_DEVICE, tuple(held), dt.F64), blank)


def on(device: Any, given: tuple[np.ndarray, ...], kind: dt.DType, index: dt.DType = dt.I32) -> list[Any]:
    return [up(a, kind if i in (0, 4) else index, device) for i, a in enumerate(given)]


def loss_and_gradient(b: Any, tensors: list[Any], blank: int) -> tuple[Any, Any]:
    return b.ctc_loss(*tensors[:4], blank), b.ctc_loss_backward(*tensors, blank)


def agrees(found: Any, want: Any, kind: dt.DType, steps: int) -> None:
    """want is in f64. Every step rounds a logarithm of the size of the loss, and a share is the exponential of one."""
    losses = down(want[0])
    rounding = 2.0**-24 * steps * np.abs(losses[np.isfinite(losses)]).max(initial=1.0)
    for got, expected, bound in zip(found, want, (STEP[kind], STEP[kind] + rounding), strict=True):
        assert got.dtype is kind and got.shape == expected.shape
        g, e = down(got).astype(float), down(expected).astype(float)
        assert not np.isnan(g).any()
        largest = np.abs(e[np.isfinite(e)]).max(initial=1.0)
        np.testing.assert_allclose(g, e, rtol=0, atol=bound * largest)


@pytest.mark.parametrize("kind", STEP, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_agrees_with_the_reference(shape: Any, kind: dt.DType, device: WgpuDevice) -> None:
    for blank in (0, shape[3] - 1):
        given = drawn(shape, blank)
        want = exact(given, kind, blank)
        assert np.isfinite(down(want[0])).any()
        agrees(loss_and_gradient(B, on(device, given, kind), blank), want, kind, shape[0])


def test_agrees_with_torch(device: WgpuDevice) -> None:
    torch = pytest.importorskip("torch")
    given = drawn((12, 4, 4, 6))
    leaf = torch.tensor(given[0]).requires_grad_()
    loss = torch.nn.functional.ctc_loss(leaf, *(torch.tensor(a) for a in given[1:4]), blank=0, reduction="none")
    (loss * torch.tensor(given[4])).sum().backward()
    assert torch.isfinite(loss).all()
    found = loss_and_gradient(B, on(device, given, dt.F32), 0)
    np.testing.assert_allclose(down(found[0]), loss.detach().numpy(), rtol=1e-5)
    np.testing.assert_allclose(down(found[1]), leaf.grad.numpy(), atol=1e-5)


@pytest.mark.parametrize("index", dt.INTS, ids=str)
def test_every_int_dtype(index: dt.DType, device: WgpuDevice) -> None:
    given = drawn((7, 3, 2, 5))
    want = exact(given, dt.F32)
    agrees(loss_and_gradient(B, on(device, given, dt.F32, index), 0), want, dt.F32, given[0].shape[0])


def test_views_give_what_copies_give(device: WgpuDevice) -> None:
    given = drawn((7, 3, 2, 5))
    tensors = on(device, given, dt.F32)
    want = [bits(t) for t in loss_and_gradient(B, tensors, 0)]
    for (name, lp), (_, tg) in zip(layouts(given[0], dt.F32, device), layouts(given[1], dt.I32, device), strict=True):
        assert [bits(t) for t in loss_and_gradient(B, [lp, tg, *tensors[2:]], 0)] == want, name
    turned = [t if i < 2 else t.view(up(a[::-1], t.dtype, device).layout.flip([0])) for i, (t, a) in enumerate(
        zip([*tensors[:2], *on(device, tuple(a[::-1] for a in given), dt.F32)[2:]], given, strict=True)
    )]  # fmt: skip
    assert [bits(t) for t in loss_and_gradient(B, turned, 0)] == want


def test_what_lies_beyond_the_lengths_is_not_looked_at(device: WgpuDevice) -> None:
    given = drawn((7, 3, 4, 5))
    steps, lengths = np.array([5, 6, 4]), np.array([2, 0, 3])
    clean = (given[0], given[1], steps, lengths, given[4])
    dirty = (given[0].copy(), given[1].copy(), steps, lengths, given[4])
    for n in range(3):
        dirty[0][steps[n] :, n] = np.nan
        dirty[1][n, lengths[n] :] = (99, -7)[n % 2]
    want = [bits(t) for t in loss_and_gradient(B, on(device, clean, dt.F32), 0)]
    assert [bits(t) for t in loss_and_gradient(B, on(device, dirty, dt.F32), 0)] == want


def test_an_unreachable_target_is_infinite_and_has_no_gradient(device: WgpuDevice) -> None:
    log_probs = log_softmax(np.random.default_rng(3).normal(size=(3, 2, 4)))
    given = (log_probs, np.array([[1, 1, 1], [1, 2, 3]]), np.array([3, 3]), np.array([3, 3]), np.ones(2))
    loss, grad = (down(t) for t in loss_and_gradient(B, on(device, given, dt.F32), 0))
    assert np.isinf(loss).tolist() == [True, False]
    assert (grad[:, 0] == 0).all() and np.isfinite(grad).all() and (grad[:, 1] != 0).any()


def test_a_blank_among_the_labels(device: WgpuDevice) -> None:
    """No step leads over it; the kernels and the composition count the same alignments."""
    given = drawn((16, 3, 5, 4), 1)
    targets = given[1].copy()
    targets[:, ::3] = 1
    tensors = (given[0], targets, np.array([16, 16, 15]), np.array([5, 4, 3]), given[4])
    want = exact(tensors, dt.F32, 1)
    assert np.isfinite(down(want[0])).all()
    there = on(device, tensors, dt.F32)
    agrees(loss_and_gradient(B, there, 1), want, dt.F32, 16)
    composed = defaults.ctc_loss(B, *there[:4], 1), defaults.ctc_loss_backward(B, *there, 1)
    agrees(composed, want, dt.F32, 16)


def test_probabilities_of_zero(device: WgpuDevice) -> None:
    given = drawn((6, 2, 2, 4))
    log_probs = given[0].copy()
    log_probs[2, :, 1:] = -np.inf
    log_probs[2, :, 0] = 0.0
    tensors = (log_probs, np.array([[1, 2], [3, 3]]), np.array([6, 6]), np.array([2, 1]), given[4])
    want = exact(tensors, dt.F32)
    assert np.isfinite(down(want[0])).all()
    agrees(loss_and_gradient(B, on(device, tensors, dt.F32), 0), want, dt.F32, tensors[0].shape[0])


@pytest.mark.parametrize("which", ["loss", "gradient"])
def test_a_label_or_a_length_out_of_range_is_reported(which: str, device: WgpuDevice) -> None:
    given = drawn((6, 2, 2, 4))
    name = {"loss": "ctc_loss", "gradient": "ctc_loss_backward"}[which]

    def read(targets: Any, lengths: Any, steps: Any = (6, 5)) -> None:
        tensors = on(device, (given[0], np.array(targets), np.array(steps), np.array(lengths), given[4]), dt.F32)
        down(loss_and_gradient(B, tensors, 0)[0] if which == "loss" else B.ctc_loss_backward(*tensors, 0))

    with pytest.raises(IndexOutOfRange, match=f"^{name}: index -1 is out of range for an axis of size 4"):
        read([[1, 2], [3, -1]], [2, 2])
    with pytest.raises(IndexOutOfRange, match=f"^{name}: index 5 is out of range for an axis of size 3"):
        read([[1, 2], [3, 1]], [2, 5])
    for length in (7, -1):
        with pytest.raises(IndexOutOfRange, match=f"^{name}: index {length} is out of range for an axis of size 7"):
            read([[1, 2], [3, 1]], [2, 2], (6, length))
    read([[1, 2], [3, 1]], [2, 2])


def test_without_steps_only_an_empty_target_is_reached(device: WgpuDevice) -> None:
    log_probs = log_softmax(np.random.default_rng(4).normal(size=(5, 4, 3)))
    targets, steps, lengths = np.array([[1, 2]] * 4), np.array([0, 0, 0, 3]), np.array([0, 1, 2, 1])
    for kept in (5, 0):  # without any step at all as well
        given = (log_probs[:kept], targets, np.minimum(steps, kept), lengths, np.ones(4))
        loss, grad = (down(t) for t in loss_and_gradient(B, on(device, given, dt.F32), 0))
        assert loss[:3].tolist() == [0.0, np.inf, np.inf]
        assert (grad[:, :3] == 0).all()
        assert np.isfinite(loss[3]) == (kept == 5)


def test_a_report_shows_the_whole_index(device: WgpuDevice) -> None:
    given = drawn((6, 2, 2, 4))
    for index, label in ((dt.I64, -(1 << 40) - 3), (dt.I64, 1 << 40), (dt.U32, (1 << 32) - 1), (dt.I8, -100)):
        tensors = on(device, given, dt.F32, index)[:4]
        tensors[1] = up(np.array([[label, 1], [2, 3]], index.numpy), index, device)
        with pytest.raises(IndexOutOfRange, match=f"^ctc_loss: index {label} is out of range for an axis of size 4"):
            down(B.ctc_loss(*tensors, 0))


def test_the_same_bits_on_the_second_call(device: WgpuDevice) -> None:
    tensors = on(device, drawn((40, 3, 20, 9)), dt.F32)
    first, again = ([bits(t) for t in loss_and_gradient(B, tensors, 0)] for _ in range(2))
    assert first == again


def test_what_does_not_fit_a_workgroup_is_composed(device: WgpuDevice) -> None:
    given = drawn((2, 1, 600, 3))
    tensors = (given[0], given[1], given[2], np.array([1]), given[4])
    want = exact(tensors, dt.F32)
    assert np.isfinite(down(want[0])).all()
    agrees(loss_and_gradient(B, on(device, tensors, dt.F32), 0), want, dt.F32, tensors[0].shape[0])
    nothing = drawn((3, 2, 0, 3))
    want = exact(nothing, dt.F32)
    agrees(loss_and_gradient(B, on(device, nothing, dt.F32), 0), want, dt.F32, nothing[0].shape[0])


def test_plans_fit_default_limits_and_know_what_does_not_fit() -> None:
    for plan in variants(Capability()):
        check(plan, Capability())
        assert len(plan.launches) == (1 if plan.operation == "ctc_loss" else 2)
    lengths = Layout.dense((2,))

    def fits(steps: int, labels: int, dtype: dt.DType, gradient: bool) -> bool:
        dtypes = (dtype, dt.I32, dt.I32, dt.I32)
        samples = Samples(Layout.dense((steps, 2, 4)), Layout.dense((2, labels)), lengths, lengths, dtypes, 0)
        return samples.fits(gradient, Capability())

    assert fits(24_000, 10, dt.F32, False) and not fits(26_000, 10, dt.F32, False)
    assert not fits(24_000, 10, dt.F16, False)
    assert fits(9_000, 500, dt.F32, False) and not fits(12_000, 500, dt.F32, False)
    assert fits(10, 511, dt.F32, False) and not fits(10, 512, dt.F32, False)
    assert fits(9_000, 10, dt.F32, True) and not fits(13_000, 10, dt.F32, True)
