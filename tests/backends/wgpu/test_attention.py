"""Fused attention and its gradient on the wgpu backend against the reference backend and PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from burn_wgpu.backends.wgpu.tensor import WgpuDevice
from burn_wgpu.contract.options import AttentionModuleOptions, CausalAlignment
from burn_wgpu.std import dtype as dt
from tests.backends.wgpu.oracle import REF, REF_DEVICE, B, up

pytestmark = pytest.mark.gpu
PLAIN = AttentionModuleOptions()
CAPPED = AttentionModuleOptions(0.3, 2.0, True)
TOP_LEFT = AttentionModuleOptions(None, None, True, CausalAlignment.TOP_LEFT)
STEP = {dt.F32: 2e-5, dt.F16: 1e-2, dt.BF16: 6e-2}


@pytest.fixture(scope="module")
def device() -> WgpuDevice:
    return WgpuDevice(0)


def down(t: Any, backend: Any = B) -> np.ndarray:
    return backend.float_into_data(t).convert(dt.F32).array


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


def operands(heads: int, groups: int, queries: int, keys: int, width: int, results: int) -> list[np.ndarray]:
    shapes = (heads, queries, width), (groups, keys, width), (groups, keys, results)
    return [numbers(2, *shape, seed=i) for i, shape in enumerate(shapes)]


SIZES = [
    (2, 1, 5, 7, 8, 8), (4, 2, 40, 37, 20, 33), (2, 2, 70, 33, 64, 64), (2, 1, 3, 130, 40, 128), (1, 1, 9, 20, 16, 200),
]  # fmt: skip


# (options, mask, bias, dtype); kernels compile slowly on a software adapter, so that most pairs are long ones.
CASES = [
    (PLAIN, False, False, dt.F32), (CAPPED, True, True, dt.F32), (TOP_LEFT, False, False, dt.F16),
    (PLAIN, True, True, dt.BF16), (CAPPED, False, False, dt.F32),
]  # fmt: skip
SHORT = {(0, 1), (1, 2), (2, 0), (3, 1), (4, 0), (1, 3)}  # (size, case)


@pytest.mark.parametrize(
    ("sizes", "options", "hides", "adds", "kind"),
    [
        pytest.param(size, *case, marks=() if (i, j) in SHORT else pytest.mark.long, id=f"{size}-{j}")
        for i, size in enumerate(SIZES)
        for j, case in enumerate(CASES)
    ],
)
def test_attention_agrees_with_the_reference(
    sizes: Any, options: Any, hides: bool, adds: bool, kind: Any, device: WgpuDevice
) -> None:
    values = operands(*sizes)
    shape = (2, sizes[0], sizes[2], sizes[3])
    mask = np.random.default_rng(3).random(shape) < 0.3
    mask[0, 0, 1] = True  # a query that sees nothing
    bias = numbers(*shape, seed=4)
    bias[1, 0, 2, :3] = -np.inf
    found = []
    for b, dev in ((B, device), (REF, REF_DEVICE)):
        tensors = [up(v, kind, dev) for v in values]
        out = b.attention(
            *tensors, up(mask, dt.BOOL_U8, dev) if hides else None, up(bias, kind, dev) if adds else None, options
        )
        assert out.dtype is kind
        found.append(down(out, b))
    if hides:
        assert (found[0][0, 0, 1] == 0).all()
    np.testing.assert_allclose(*found, rtol=STEP[kind], atol=STEP[kind])


@pytest.mark.parametrize("options", [PLAIN, CAPPED], ids=["plain", "capped, causal"])
@pytest.mark.parametrize("kind", [dt.F32, dt.F16])
def test_the_gradient_agrees_with_the_reference(options: Any, kind: Any, device: WgpuDevice) -> None:
    values = operands(4, 2, 12, 9, 16, 16)  # causal: the first three queries see nothing
    grad = numbers(2, 4, 12, 16, seed=5)
    found = []
    for b, dev in ((B, device), (REF, REF_DEVICE)):
        tensors = [up(v, kind, dev) for v in values]
        out, logsumexp = b.attention_with_logsumexp(*tensors, options)
        assert logsumexp.dtype is dt.F32 and np.isfinite(down(logsumexp, b)).all()
        grads = b.attention_backward(*tensors, out, logsumexp, up(grad, kind, dev), options)
        assert [g.dtype for g in grads] == [kind] * 3
        found.append([down(t, b) for t in (out, logsumexp, *grads)])
    for got, want in zip(*found, strict=True):
        np.testing.assert_allclose(got, want, rtol=STEP[kind], atol=2 * STEP[kind])
    assert B.has_attention_backward()


def test_pytorch_agrees(device: WgpuDevice) -> None:
    torch = pytest.importorskip("torch")
    values = operands(2, 2, 33, 65, 32, 48)
    want = torch.nn.functional.scaled_dot_product_attention(*(torch.tensor(v) for v in values)).numpy()
    got = down(B.attention(*(up(v, dt.F32, device) for v in values), None, None, PLAIN))
    np.testing.assert_allclose(got, want, atol=5e-6)


def test_views_and_broadcast_masks(device: WgpuDevice) -> None:
    """Tensors as a projection leaves them, [batch, length, heads, width] with heads moved; a mask of one row."""
    q, k, v = (numbers(2, n, 3, 24, seed=i) for i, n in enumerate((10, 14, 14)))
    tensors = [up(a, dt.F32, device) for a in (q, k, v)]
    moved = [t.view(t.layout.permute([0, 2, 1, 3])) for t in tensors]
    mask = up(np.arange(14) % 3 == 0, dt.BOOL_U8, device)
    wide = mask.view(mask.layout.expand((2, 3, 10, 14)))
    got = down(B.attention(*moved, wide, None, PLAIN))
    plain = [up(a.transpose(0, 2, 1, 3), dt.F32, device) for a in (q, k, v)]
    whole = up(np.broadcast_to(np.arange(14) % 3 == 0, (2, 3, 10, 14)), dt.BOOL_U8, device)
    np.testing.assert_array_equal(got, down(B.attention(*plain, whole, None, PLAIN)))


def test_a_nan_stays_in_its_row(device: WgpuDevice) -> None:
    q, k, v = operands(1, 1, 40, 50, 16, 16)
    q[0, 0, 7, 3] = np.nan
    got = down(B.attention(*(up(a, dt.F32, device) for a in (q, k, v)), None, None, PLAIN))
    assert np.isnan(got[0, 0, 7]).all() and np.isfinite(np.delete(got[0, 0], 7, 0)).all()


def test_large_scores_do_not_overflow(device: WgpuDevice) -> None:
    q, k, v = (
        up(a, dt.F32, device) for a in (np.full((1, 1, 2, 8), 1e3), np.full((1, 1, 3, 8), 1e3), np.ones((1, 1, 3, 4)))
    )
    np.testing.assert_allclose(down(B.attention(q, k, v, None, None, PLAIN)), 1.0)


def test_wide_values_and_no_keys_are_composed(device: WgpuDevice) -> None:
    values = operands(1, 1, 3, 4, 8, 300)
    found = [
        down(b.attention(*(up(v, dt.F32, d) for v in values), None, None, PLAIN), b)
        for b, d in ((B, device), (REF, REF_DEVICE))
    ]
    np.testing.assert_allclose(*found, atol=1e-5)
    empty = [up(np.zeros(s), dt.F32, device) for s in ((1, 1, 2, 4), (1, 1, 0, 4), (1, 1, 0, 4))]
    assert down(B.attention(*empty, None, None, PLAIN)).tolist() == [[[[0.0] * 4] * 2]]
    none = [up(np.zeros(s), dt.F32, device) for s in ((0, 1, 2, 4), (0, 1, 3, 4), (0, 1, 3, 4))]
    assert B.attention(*none, None, None, PLAIN).shape == (0, 1, 2, 4)


@pytest.mark.long
def test_more_than_65_535_workgroups(device: WgpuDevice) -> None:
    batch = 66_000
    q, k, v = (numbers(batch, 1, 1, 4, seed=i) for i in range(3))
    got = down(B.attention(*(up(a, dt.F32, device) for a in (q, k, v)), None, None, PLAIN))
    np.testing.assert_allclose(got, v, rtol=1e-6)  # one key: its value


def test_the_same_bits_and_nothing_new_on_the_second_call(device: WgpuDevice) -> None:
    tensors = [up(v, dt.F32, device) for v in operands(2, 1, 20, 30, 16, 16)]
    grad = up(numbers(2, 2, 20, 16, seed=9), dt.F32, device)

    def once() -> list[Any]:
        out, logsumexp = B.attention_with_logsumexp(*tensors, CAPPED)
        return [out, logsumexp, *B.attention_backward(*tensors, out, logsumexp, grad, CAPPED)]

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
