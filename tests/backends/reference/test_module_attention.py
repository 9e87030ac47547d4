"""Attention: the steps in their order, hidden rows, alignment, grouped heads, logsumexp and gradients."""

import numpy as np
import pytest

from burn_wgpu.contract.options import AttentionModuleOptions, CausalAlignment
from burn_wgpu.std.dtype import BF16, F16, F32, F64
from tests.backends.reference.tools import BOTH, NAN, bools, floats, near, read

both = pytest.mark.parametrize("b", [b for _, b in BOTH], ids=[name for name, _ in BOTH])
RNG = np.random.default_rng(5)

OPTIONS = [
    AttentionModuleOptions(),
    AttentionModuleOptions(scale=0.3),
    AttentionModuleOptions(softcap=1.5),
    AttentionModuleOptions(is_causal=True),
    AttentionModuleOptions(is_causal=True, causal_alignment=CausalAlignment.TOP_LEFT),
    AttentionModuleOptions(scale=2.0, softcap=0.7, is_causal=True),
]


def inputs(heads=4, key_heads=2, queries=5, keys=7, width=8, value_width=6):
    return (
        RNG.normal(size=(2, heads, queries, width)),
        RNG.normal(size=(2, key_heads, keys, width)),
        RNG.normal(size=(2, key_heads, keys, value_width)),
    )


def row_by_row(q, k, v, mask, bias, o):
    """One query at a time: scale, softcap, mask, causal mask, bias, softmax over what is visible, value."""
    n, h, sq, d = q.shape
    sk = k.shape[2]
    out, lse = np.zeros((n, h, sq, v.shape[3])), np.full((n, h, sq), -np.inf)
    offset = sk - sq if o.causal_alignment is CausalAlignment.BOTTOM_RIGHT else 0
    for i in range(n):
        for head in range(h):
            shared = head // (h // k.shape[1])
            for row in range(sq):
                s = k[i, shared] @ q[i, head, row] * (d**-0.5 if o.scale is None else o.scale)
                if o.softcap is not None:
                    s = o.softcap * np.tanh(s / o.softcap)
                visible = np.ones(sk, bool) if mask is None else ~mask[i, head, row]
                if o.is_causal:
                    visible &= np.arange(sk) <= row + offset
                if bias is not None:
                    s = s + bias[i, head, row]
                if visible.any():
                    powers = np.exp(s[visible] - s[visible].max())
                    out[i, head, row] = powers @ v[i, shared][visible] / powers.sum()
                    lse[i, head, row] = s[visible].max() + np.log(powers.sum())
    return out, lse


@both
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("extras", [False, True])
def test_attention_equals_one_query_at_a_time(b, options, extras):
    q, k, v = inputs()
    mask = RNG.random((2, 4, 5, 7)) < 0.4 if extras else None
    bias = RNG.normal(size=(2, 4, 5, 7)) if extras else None
    found = b.attention(
        floats(q, F64),
        floats(k, F64),
        floats(v, F64),
        None if mask is None else bools(mask),
        None if bias is None else floats(bias, F64),
        options,
    )
    near(found, row_by_row(q, k, v, mask, bias, options)[0], 1e-10, 1e-12)


@both
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize(("queries", "keys"), [(5, 7), (7, 5)])
def test_logsumexp_and_gradients_agree_with_finite_differences(b, options, queries, keys):
    arrays = inputs(queries=queries, keys=keys)
    tensors = [floats(a, F64) for a in arrays]
    out, lse = b.attention_with_logsumexp(*tensors, options)
    expected, logs = row_by_row(*arrays, None, None, options)
    near(out, expected, 1e-10, 1e-12)
    visible = np.isfinite(logs)
    np.testing.assert_allclose(read(lse)[visible], logs[visible], rtol=1e-10)
    assert (np.exp(-np.inf - read(lse)[~visible]) == 0).all() and np.isfinite(read(lse)).all()
    grad = RNG.normal(size=out.shape)
    found = b.attention_backward(*tensors, out, lse, floats(grad, F64), options)
    step = 1e-6
    for position in range(3):
        direction = RNG.normal(size=arrays[position].shape)
        ends = [
            (
                row_by_row(
                    *[a + s * step * direction if i == position else a for i, a in enumerate(arrays)],
                    None,
                    None,
                    options,
                )[0]
                * grad
            ).sum()
            for s in (1, -1)
        ]
        slope = (ends[0] - ends[1]) / (2 * step)
        assert slope == pytest.approx((read(found[position]) * direction).sum(), rel=1e-6, abs=1e-7)


@both
def test_attention_agrees_with_torch(b):
    torch = pytest.importorskip("torch")
    q, k, v = inputs(key_heads=4, queries=6, keys=6)
    attend = torch.nn.functional.scaled_dot_product_attention
    expected = attend(*(torch.tensor(a) for a in (q, k, v)), is_causal=True)
    found = b.attention(*(floats(a, F64) for a in (q, k, v)), None, None, AttentionModuleOptions(is_causal=True))
    near(found, expected.numpy(), 1e-10, 1e-12)


@both
def test_a_hidden_query_gives_zero_and_no_gradient(b):
    q, k, v = (floats(a) for a in inputs())
    mask = np.zeros((2, 4, 5, 7), bool)
    mask[0, 1, 2] = True
    out = read(b.attention(q, k, v, bools(mask), None, AttentionModuleOptions()))
    assert (out[0, 1, 2] == 0).all() and np.isfinite(out).all()

    q, k, v = (floats(a) for a in inputs(queries=7, keys=5))  # the first two queries see no key
    options = AttentionModuleOptions(is_causal=True)
    out, lse = b.attention_with_logsumexp(q, k, v, options)
    assert (read(out)[:, :, :2] == 0).all()
    grads = b.attention_backward(q, k, v, out, lse, floats(np.ones(out.shape)), options)
    assert all(np.isfinite(read(g)).all() for g in grads)
    assert (read(grads.query_grad)[:, :, :2] == 0).all()


@both
def test_a_nan_query_spoils_only_its_own_row(b):
    q, k, v = inputs()
    q[0, 1, 2, 3] = NAN
    out = np.isnan(read(b.attention(floats(q), floats(k), floats(v), None, None, AttentionModuleOptions())))
    assert out[0, 1, 2].all() and out.sum() == out.shape[3]


@both
@pytest.mark.parametrize("kind", [F16, BF16])
def test_scores_of_halves_do_not_overflow(b, kind):
    q, k, v = inputs()
    tensors = [floats(a, kind) for a in (100 * q, 100 * k, v)]
    exact = [read(t).astype(np.float64) for t in tensors]
    out, lse = b.attention_with_logsumexp(*tensors, AttentionModuleOptions(scale=1.0))
    expected, logs = row_by_row(*exact, None, None, AttentionModuleOptions(scale=1.0))
    assert (out.dtype, lse.dtype) == (kind, F32)
    near(out, expected, 1e-2, 2e-3)
    near(lse, logs, 1e-5)


@both
def test_attention_backward_is_composed_unless_a_backend_says_so(b):
    assert b.has_attention_backward() is False
    assert b.has_ctc_loss_backward() is False


@both
def test_attention_over_no_keys_gives_zero(b):
    q, k, v = (floats(a) for a in inputs(keys=0))
    out, lse = b.attention_with_logsumexp(q, k, v, AttentionModuleOptions())
    assert out.shape == (2, 4, 5, 6) and (read(out) == 0).all() and np.isfinite(read(lse)).all()
