"""CTC against the sum over all alignments and against PyTorch."""

import itertools

import numpy as np
import pytest

from burn_wgpu.std.dtype import F16, F64, I8, I64
from burn_wgpu.std.errors import IndexOutOfRange
from tests.backends.reference.tools import BOTH, floats, ints, near, read

both = pytest.mark.parametrize("b", [b for _, b in BOTH], ids=[name for name, _ in BOTH])
RNG = np.random.default_rng(6)


def log_softmax(x):
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def all_alignments(log_probs, target, blank):
    """−log of the probabilities of all label sequences of full length that collapse to the target."""
    steps, classes = log_probs.shape
    total = 0.0
    for path in itertools.product(range(classes), repeat=steps):
        collapsed = [label for i, label in enumerate(path) if i == 0 or label != path[i - 1]]
        if [label for label in collapsed if label != blank] == list(target):
            total += np.exp(sum(log_probs[t, label] for t, label in enumerate(path)))
    return -np.log(total) if total else np.inf


@both
@pytest.mark.parametrize("blank", [0, 2])
def test_the_loss_sums_all_alignments(b, blank):
    log_probs = log_softmax(RNG.normal(size=(5, 6, 3)))
    labels = [c for c in range(3) if c != blank]
    a, c = labels
    targets = np.array([[a, c, a], [a, a, -7], [c, 99, 99], [a, a, a], [-1, -1, -1], [c, a, 5]])
    lengths, steps = np.array([3, 2, 1, 3, 0, 2]), np.array([5, 4, 2, 4, 3, 1])
    found = b.ctc_loss(floats(log_probs, F64), ints(targets), ints(steps), ints(lengths), blank)
    expected = [all_alignments(log_probs[: steps[i], i], targets[i, : lengths[i]], blank) for i in range(6)]
    assert np.isinf(expected[3]) and np.isinf(expected[5]) and np.isfinite(np.delete(expected, [3, 5])).all()
    near(found, expected, 1e-10)


@both
def test_loss_and_gradient_agree_with_torch(b):
    torch = pytest.importorskip("torch")
    logits, targets = RNG.normal(size=(12, 4, 6)), RNG.integers(1, 6, size=(4, 5))
    steps, lengths, weight = np.array([12, 9, 6, 3]), np.array([5, 3, 0, 2]), RNG.normal(size=4)
    leaf = torch.log_softmax(torch.tensor(logits), 2).requires_grad_()
    loss = torch.nn.functional.ctc_loss(
        leaf, *(torch.tensor(a) for a in (targets, steps, lengths)), blank=0, reduction="none"
    )
    (loss * torch.tensor(weight)).sum().backward()
    # PyTorch's gradient is that of the logits, which is what the contract's is.
    arguments = floats(leaf.detach().numpy(), F64), ints(targets, I64), ints(steps, I64), ints(lengths, I64)
    near(b.ctc_loss(*arguments, 0), loss.detach().numpy(), 1e-10, 1e-12)
    near(b.ctc_loss_backward(*arguments, floats(weight, F64), 0), leaf.grad.numpy(), 1e-8, 1e-10)


@both
def test_an_unreachable_target_has_no_gradient(b):
    log_probs = log_softmax(RNG.normal(size=(3, 2, 4)))
    arguments = floats(log_probs), ints([[1, 1, 1], [1, 2, 3]]), ints([3, 3]), ints([3, 3])
    assert np.isinf(read(b.ctc_loss(*arguments, 0))).tolist() == [True, False]
    grad = read(b.ctc_loss_backward(*arguments, floats([1.0, 1.0]), 0))
    assert (grad[:, 0] == 0).all() and np.isfinite(grad).all() and (grad[:, 1] != 0).any()


@both
def test_a_class_of_probability_zero_does_not_make_nan(b):
    probs = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.5, 0.0, 0.5]])
    with np.errstate(divide="ignore"):
        log_probs = np.log(probs)[:, None]
    arguments = floats(log_probs, F64), ints([[1, 2]]), ints([3]), ints([2])
    near(b.ctc_loss(*arguments, 0), [all_alignments(log_probs[:, 0], [1, 2], 0)], 1e-12)
    assert np.isfinite(read(b.ctc_loss_backward(*arguments, floats([1.0], F64), 0))).all()


@both
def test_halves_are_summed_in_more_digits(b):
    stored = read(floats(log_softmax(RNG.normal(size=(40, 1, 4))), F16)).astype(np.float64)
    arguments = ints([[1, 2, 3]]), ints([40]), ints([3])
    wide = read(b.ctc_loss(floats(stored, F64), *arguments, 0))
    near(b.ctc_loss(floats(stored, F16), *arguments, 0), wide, 1e-3)


@both
def test_without_steps_only_an_empty_target_is_reached(b):
    """As PyTorch: nothing is the one alignment of an empty target."""
    targets, steps, lengths = ints(np.array([[1, 2]] * 4)), np.array([0, 0, 0, 3]), ints(np.array([0, 1, 2, 1]))
    log_probs = log_softmax(RNG.normal(size=(5, 4, 3)))
    for kept in (5, 0):
        arguments = floats(log_probs[:kept], F64), targets, ints(np.minimum(steps, kept)), lengths
        loss = read(b.ctc_loss(*arguments, 0))
        assert loss[:3].tolist() == [0.0, np.inf, np.inf]
        assert np.isfinite(loss[3]) == (kept == 5)
        assert (read(b.ctc_loss_backward(*arguments, floats(np.ones(4), F64), 0))[:, :3] == 0).all()


@both
@pytest.mark.parametrize("kind", [I8, I64], ids=str)
def test_lengths_of_any_int_dtype(b, kind):
    """Twice a length, which the places are counted by, need not fit its dtype."""
    log_probs, targets = log_softmax(RNG.normal(size=(90, 1, 3))), np.array([[1, 2] * 40])
    lengths = [ints(np.array([n]), kind) for n in (90, 80)]
    found = b.ctc_loss(floats(log_probs, F64), ints(targets), *lengths, 0)
    want = b.ctc_loss(floats(log_probs, F64), ints(targets), ints(np.array([90])), ints(np.array([80])), 0)
    assert np.isfinite(read(want)).all()
    near(found, read(want), 1e-12)


@both
@pytest.mark.parametrize(("steps", "length"), [(6, 2), (-1, 2), (5, 4), (5, -1)])
def test_a_length_out_of_range_is_an_error(b, steps, length):
    arguments = floats(np.zeros((5, 1, 3)), F64), ints(np.array([[1, 2, 1]]))
    with pytest.raises(IndexOutOfRange):
        b.ctc_loss(*arguments, ints(np.array([steps])), ints(np.array([length])), 0)


@both
@pytest.mark.parametrize("blank", [0, 2])
def test_the_gradient_of_targets_with_blanks_is_the_slope_of_the_loss(b, blank):
    """The recursion allows a blank as a label: no step leads over it, and none from over it, in either direction."""
    logits, steps, lengths = RNG.normal(size=(9, 5, 4)), ints([9, 9, 9, 8, 9]), ints([4, 4, 4, 3, 2])
    one, two = (c for c in range(4) if c not in (blank, 3))
    rows = [[one, blank, two, 3], [blank, one, one, two], [one, two, blank, blank], [one, two, blank, 3], [blank] * 4]
    targets, weight = ints(rows), RNG.normal(size=5)

    def loss(x):
        return (read(b.ctc_loss(floats(log_softmax(x), F64), targets, steps, lengths, blank)) * weight).sum()

    assert np.isfinite(loss(logits))
    given = floats(log_softmax(logits), F64), targets, steps, lengths
    grad = read(b.ctc_loss_backward(*given, floats(weight, F64), blank))
    for _ in range(4):
        way, step = RNG.normal(size=logits.shape), 1e-5
        slope = (loss(logits + step * way) - loss(logits - step * way)) / (2 * step)
        assert abs((grad * way).sum() - slope) < 1e-7 * np.abs(grad * way).sum()
