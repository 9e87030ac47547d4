"""Fused attention and its gradient on the wgpu backend against the reference backend and PyTorch."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

import numpy as np
import pytest

from burn_wgpu.backends.wgpu.tensor import WgpuDevice
from burn_wgpu.contract.options import AttentionModuleOptions, CausalAlignment
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.slice import Slice
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


# ------------------------------------------------------------------------------------------------------- the gradient

LENGTHS = (1, 3, 5, 31, 32, 33, 63, 64, 65, 130)
FAR = AttentionModuleOptions(is_causal=True)


@pytest.fixture
def only_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing may fall back to what is composed."""

    def refuse(*_: Any) -> Any:
        raise AssertionError("composed, where a kernel was meant")

    for name in ("attention", "attention_with_logsumexp", "attention_backward"):
        monkeypatch.setattr(f"burn_wgpu.contract.defaults.attention.{name}", refuse)


def exact(
    values: list[np.ndarray], grad: np.ndarray, options: AttentionModuleOptions, hidden: np.ndarray | None = None
) -> list[np.ndarray]:
    """Output, logsumexp and gradients by PyTorch's autograd in float64; a query that sees nothing gives 0."""
    torch = pytest.importorskip("torch")
    q, k, v = (torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in values)
    group = q.shape[1] // k.shape[1]
    scale = q.shape[3] ** -0.5 if options.scale is None else options.scale
    scores = q @ k.repeat_interleave(group, 1).mT * scale
    if options.softcap is not None:
        scores = options.softcap * torch.tanh(scores / options.softcap)
    queries, keys = scores.shape[2:]
    seen = torch.ones(queries, keys, dtype=torch.bool)
    if options.is_causal:
        seen = seen.tril(options.causal_alignment.offset(queries, keys))
    if hidden is not None:
        seen = seen & ~torch.tensor(hidden)
    scores = scores.masked_fill(~seen, -1e300)
    p = torch.softmax(scores, -1) * seen
    out = p @ v.repeat_interleave(group, 1)
    found = torch.autograd.grad(out, [q, k, v], torch.tensor(grad, dtype=torch.float64))
    return [x.detach().numpy() for x in (out, torch.logsumexp(scores, -1), *found)]


def ours(values: list[Any], grad: Any, options: AttentionModuleOptions) -> list[np.ndarray]:
    out, logsumexp = B.attention_with_logsumexp(*values, options)
    return [down(t) for t in (out, logsumexp, *B.attention_backward(*values, out, logsumexp, grad, options))]


def near(found: list[np.ndarray], want: list[np.ndarray], step: float) -> None:
    """Each result within `step` of its largest value, or of 1; the logsumexp of a query that sees nothing is free."""
    for name, got, right in zip(("output", "logsumexp", "dq", "dk", "dv"), found, want, strict=True):
        assert got.shape == right.shape and np.isfinite(got).all(), name
        seen = right > -1e299
        assert np.abs(got - right)[seen].max(initial=0) <= step * max(1, np.abs(right[seen]).max(initial=0)), name


def check_gradient(
    device: WgpuDevice, sizes: Any, options: AttentionModuleOptions, kind: Any = dt.F32, batch: int = 2
) -> None:
    """Against float64, and twice the same bits."""
    heads, _, queries, _, _, results = sizes
    values = [v[:batch] for v in operands(*sizes)]
    grad = numbers(batch, heads, queries, results, seed=5)
    tensors, up_grad = [up(v, kind, device) for v in values], up(grad, kind, device)
    found, again = ours(tensors, up_grad, options), ours(tensors, up_grad, options)
    for first, second in zip(found, again, strict=True):
        np.testing.assert_array_equal(first, second)
    near(found, exact([down(t) for t in tensors], down(up_grad), options), STEP[kind] / 4)


def mostly_long(cases: Iterable[tuple[Any, ...]], short: set[int]) -> list[Any]:
    """Kernels compile slowly on a software adapter: all but the cases of these numbers are left to long runs."""
    return [pytest.param(*c, marks=() if i in short else pytest.mark.long) for i, c in enumerate(cases)]


@pytest.mark.parametrize(
    ("queries", "options"),
    mostly_long(product(LENGTHS, (PLAIN, CAPPED, TOP_LEFT)), {*range(0, 30, 3), 1, 5, 16, 26}),
)
def test_the_gradient_at_the_edges_of_tiles(
    queries: int, options: AttentionModuleOptions, device: WgpuDevice, only_kernels: None
) -> None:
    for keys in LENGTHS:
        check_gradient(device, (2, 1, queries, keys, 8, 12), options, batch=1)


WIDTHS = [(1, 1), (5, 7), (64, 64), (6, 66), (40, 128), (130, 36), (200, 256), (256, 3)]


@pytest.mark.parametrize(
    ("width", "results", "kind"),
    mostly_long(((*w, kind) for w in WIDTHS for kind in (dt.F32, dt.F16, dt.BF16)), {3, 6, 8, 10, 12, 15}),
)
def test_the_gradient_of_any_width(width: int, results: int, kind: Any, device: WgpuDevice, only_kernels: None) -> None:
    check_gradient(device, (6, 2, 37, 70, width, results), CAPPED, kind)


@pytest.mark.parametrize("heads", [(1, 1), (6, 1), (6, 2), (6, 6)])
def test_the_gradient_of_grouped_heads(heads: tuple[int, int], device: WgpuDevice, only_kernels: None) -> None:
    for options in (PLAIN, TOP_LEFT, FAR, AttentionModuleOptions(scale=-0.7)):
        check_gradient(device, (*heads, 20, 45, 16, 16), options)


@pytest.mark.parametrize(
    ("queries", "keys", "options", "results"),
    mostly_long(
        ((*n, o, r) for n in ((3, 1500), (1500, 3), (700, 600)) for o in (PLAIN, CAPPED, TOP_LEFT) for r in (8, 7)),
        {0, 3, 6, 9, 14, 16},
    ),
)
def test_split_gradients(
    queries: int, keys: int, options: AttentionModuleOptions, results: int, device: WgpuDevice, only_kernels: None
) -> None:
    """Few workgroups and many steps: each gradient comes in parts."""
    check_gradient(device, (2, 1, queries, keys, 8, results), options, batch=1)


def test_the_gradient_of_views(device: WgpuDevice, only_kernels: None) -> None:
    """What projections leave, heads that are expanded, rows that start anywhere, flips; whatever lies between."""
    every = Slice.full()

    def projected(x: np.ndarray) -> Any:
        t = up(x.transpose(0, 2, 1, 3), dt.F32, device)
        return t.view(t.layout.permute([0, 2, 1, 3]))

    def turned(x: np.ndarray) -> Any:
        return B.float_swap_dims(up(x.swapaxes(2, 3), dt.F32, device), 2, 3)

    def shifted(x: np.ndarray) -> Any:
        padded = np.concatenate([np.full_like(x[..., :3], np.nan), x, np.full_like(x[..., :2], np.nan)], 3)
        return B.float_slice(up(padded, dt.F32, device), [every, every, every, Slice(3, -2)])

    def later(x: np.ndarray) -> Any:
        return B.float_slice(up(np.concatenate([x, x], 2), dt.F32, device), [every, every, Slice(x.shape[2], None)])

    def flipped(x: np.ndarray) -> Any:
        return B.float_flip(up(np.flip(x), dt.F32, device), [0, 1, 2, 3])

    values, grad = operands(4, 2, 35, 41, 16, 24), numbers(2, 4, 35, 24, seed=5)
    want = exact(values, grad, CAPPED)
    for how in (projected, turned, shifted, later, flipped):
        near(ours([how(v) for v in values], how(grad), CAPPED), want, STEP[dt.F32] / 4)
        near(ours([up(v, dt.F32, device) for v in values], how(grad), CAPPED), want, STEP[dt.F32] / 4)

    shared = [np.broadcast_to(x[:, :1], x.shape) for x in (*values, grad)]
    expanded = [B.float_expand(up(x[:, :1], dt.F32, device), x.shape) for x in (*values, grad)]
    assert all(0 in t.layout.strides for t in expanded)
    near(ours(expanded[:3], expanded[3], CAPPED), exact(shared[:3], shared[3], CAPPED), STEP[dt.F32] / 4)


def test_what_is_hidden_has_no_gradient(device: WgpuDevice, only_kernels: None) -> None:
    queries_first = [up(v, dt.F32, device) for v in operands(2, 1, 40, 9, 8, 8)]
    _, _, dq, _, _ = ours(queries_first, up(numbers(2, 2, 40, 8, seed=5), dt.F32, device), FAR)
    assert (dq[:, :, :31] == 0).all() and (np.abs(dq[:, :, 32:]).max((0, 1, 3)) > 0).all()
    keys_first = [up(v, dt.F32, device) for v in operands(2, 1, 9, 140, 8, 8)]
    _, _, _, dk, dv = ours(keys_first, up(numbers(2, 2, 9, 8, seed=5), dt.F32, device), TOP_LEFT)
    assert (dk[:, :, 9:] == 0).all() and (dv[:, :, 9:] == 0).all() and (dv[:, :, :9] != 0).all()


def test_a_nan_stays_in_its_querys_gradient(device: WgpuDevice, only_kernels: None) -> None:
    q, k, v = operands(1, 1, 40, 50, 16, 16)
    q[0, 0, 7, 3] = np.nan
    grad = up(numbers(2, 1, 40, 16, seed=5), dt.F32, device)
    _, _, dq, dk, dv = ours([up(a, dt.F32, device) for a in (q, k, v)], grad, PLAIN)
    assert np.isnan(dq[0, 0, 7]).all() and np.isfinite(np.delete(dq[0, 0], 7, 0)).all()
    assert np.isnan(dk[0]).all() and np.isnan(dv[0]).all()  # each key has a part of it
    assert all(np.isfinite(x[1]).all() for x in (dq, dk, dv))


def test_gradients_that_no_kernel_takes_are_composed(device: WgpuDevice) -> None:
    for sizes in ((2, 1, 5, 6, 300, 8), (2, 1, 5, 6, 8, 300)):
        check_gradient(device, sizes, CAPPED)
    for queries, keys in ((0, 3), (3, 0)):
        shapes = (1, 2, queries, 4), (1, 1, keys, 4), (1, 1, keys, 4)
        values = [up(np.zeros(s), dt.F32, device) for s in shapes]
        found = ours(values, up(np.zeros((1, 2, queries, 4)), dt.F32, device), PLAIN)
        assert [x.shape for x in found[2:]] == list(shapes) and not any(x.any() for x in found[2:])


@pytest.mark.long
def test_more_than_65_535_workgroups_of_the_gradient(device: WgpuDevice, only_kernels: None) -> None:
    values = [numbers(66_000, 1, n, 4, seed=i) for i, n in enumerate((1, 2, 2))]
    grad = numbers(66_000, 1, 1, 4, seed=5)
    found = ours([up(v, dt.F32, device) for v in values], up(grad, dt.F32, device), PLAIN)
    near(found, exact(values, grad, PLAIN), STEP[dt.F32])


# ------------------------------------------------------------------------------------------- few queries, many keys


SPLIT = [(dt.F32, 8), (dt.F32, 7), (dt.F16, 8), (dt.BF16, 6), (dt.F32, 140)]


@pytest.mark.parametrize(
    ("queries", "kind", "results"), mostly_long(((n, *kind) for n in (1, 3, 8, 33) for kind in SPLIT), {0, 6, 12, 15})
)
def test_split_keys(queries: int, kind: Any, results: int, device: WgpuDevice, only_kernels: None) -> None:
    values, grad = operands(6, 2, queries, 1100, 8, results), numbers(2, 6, queries, results)
    tensors = [up(v, kind, device) for v in values]
    for options in (PLAIN, CAPPED, TOP_LEFT):
        want = exact([down(t) for t in tensors], grad, options)
        out, logsumexp = B.attention_with_logsumexp(*tensors, options)
        assert out.dtype is kind and logsumexp.dtype is dt.F32
        for got, right in ((down(out), want[0]), (down(logsumexp), want[1])):
            np.testing.assert_allclose(got, right, rtol=STEP[kind], atol=STEP[kind])
        again = B.attention_with_logsumexp(*tensors, options)
        assert [down(t).tobytes() for t in (out, logsumexp)] == [down(t).tobytes() for t in again]


@pytest.mark.parametrize("queries", [1, 4])
def test_split_keys_with_mask_and_bias(queries: int, device: WgpuDevice, only_kernels: None) -> None:
    """Whole parts are hidden, and one head sees nothing at all."""
    values, shape = operands(6, 2, queries, 1100, 8, 8), (2, 6, queries, 1100)
    mask = np.random.default_rng(3).random(shape) < 0.3
    mask[0, :, :, 300:] = True
    mask[1, 2] = True
    bias = numbers(*shape, seed=4)
    tensors = [up(v, dt.F32, device) for v in values]
    found = down(B.attention(*tensors, up(mask, dt.BOOL_U8, device), up(bias, dt.F32, device), PLAIN))
    q, k, v = values
    scores = q @ np.repeat(k, 3, 1).swapaxes(2, 3) / np.sqrt(8) + bias
    p = np.exp(scores - scores.max(-1, keepdims=True)) * ~mask
    want = p / np.maximum(p.sum(-1, keepdims=True), 1e-300) @ np.repeat(v, 3, 1)
    np.testing.assert_allclose(found, want, rtol=STEP[dt.F32], atol=STEP[dt.F32])
    assert (found[1, 2] == 0).all()


def test_a_nan_among_split_keys_is_kept(device: WgpuDevice, only_kernels: None) -> None:
    q, k, v = operands(2, 2, 1, 1100, 8, 8)
    k[0, 1, 1000, 3] = np.nan
    out, logsumexp = B.attention_with_logsumexp(*(up(a, dt.F32, device) for a in (q, k, v)), PLAIN)
    for got in (down(out), down(logsumexp)[..., None]):
        assert np.isnan(got[0, 1]).all() and np.isfinite(got[0, 0]).all() and np.isfinite(got[1]).all()
