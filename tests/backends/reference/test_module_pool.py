"""Pooling against loops over windows and against PyTorch, values, indices and gradients."""

import itertools

import numpy as np
import pytest

from burn_wgpu.contract.options import pool_output_size
from burn_wgpu.std.dtype import BF16, F16, F64, I32, I64
from burn_wgpu.std.errors import ShapeError
from tests.backends.reference.tools import BOTH, INF, NAN, floats, near, read, same

both = pytest.mark.parametrize("b", [b for _, b in BOTH], ids=[name for name, _ in BOTH])
RNG = np.random.default_rng(2)

# kernel, stride, padding, dilation of two axes
WINDOWS = [
    ((2, 2), (2, 2), (0, 0), (1, 1)),
    ((3, 2), (2, 3), (1, 1), (1, 1)),
    ((3, 3), (1, 2), (1, 0), (2, 1)),
    ((2, 3), (3, 2), (1, 1), (1, 2)),
    ((1, 4), (1, 1), (0, 2), (1, 1)),
]


def looped(x, kernel, stride, padding, dilation, ceil_mode):
    """For every output: the elements of its window as (flat index, value), and how many taps the padded input has."""
    sizes = x.shape
    axes = list(zip(sizes, kernel, stride, padding, dilation, strict=True))
    out = [pool_output_size(n, k, s, (p, p), d, ceil_mode) for n, k, s, p, d in axes]
    for position in itertools.product(*(range(o) for o in out)):
        real, counted = [], 0
        for tap in itertools.product(*(range(k) for k in kernel)):
            place = [o * s - p + j * d for o, j, (_, _, s, p, d) in zip(position, tap, axes, strict=True)]
            counted += all(at < n + p for at, (n, _, _, p, _) in zip(place, axes, strict=True))
            if all(0 <= at < n for at, n in zip(place, sizes, strict=True)):
                real.append((int(np.ravel_multi_index(place, sizes)), x[tuple(place)]))
        yield position, out, real, counted


@both
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("ceil_mode", [False, True])
def test_pooling_equals_loops_over_windows(b, window, ceil_mode):
    kernel, stride, padding, dilation = window
    plane = RNG.normal(size=(7, 8))
    x = floats(plane[None, None], F64)
    values, indices = b.max_pool2d_with_indices(x, kernel, stride, padding, dilation, ceil_mode, I64)
    with_pad = read(b.avg_pool2d(x, kernel, stride, padding, dilation, True, ceil_mode))
    without = read(b.avg_pool2d(x, kernel, stride, padding, dilation, False, ceil_mode))
    assert indices.dtype is I64
    seen = 0
    for position, out, real, counted in looped(plane, kernel, stride, padding, dilation, ceil_mode):
        at = (0, 0, *position)
        index, value = max(real, key=lambda item: item[1])
        assert (read(values)[at], read(indices)[at]) == (value, index)
        total = sum(item[1] for item in real)
        assert with_pad[at] == pytest.approx(total / counted, rel=1e-12, abs=1e-14)
        assert without[at] == pytest.approx(total / len(real), rel=1e-12, abs=1e-14)
        assert list(values.shape[2:]) == out
        seen += 1
    assert seen == np.prod(values.shape)
    same(b.max_pool2d(x, kernel, stride, padding, dilation, ceil_mode), read(values))


@both
@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize(("kernel", "stride", "padding"), [(2, 2, 0), (3, 2, 1), (3, 1, 1), (2, 3, 1)])
def test_pooling_and_its_gradients_agree_with_torch(b, rank, ceil_mode, kernel, stride, padding):
    torch = pytest.importorskip("torch")
    functional = torch.nn.functional
    x = RNG.normal(size=(2, 3, *(7, 6, 5)[:rank]))
    wide = (lambda v: v) if rank == 1 else (lambda v: (v,) * rank)
    window = wide(kernel), wide(stride), wide(padding), wide(1)

    leaf = torch.tensor(x, requires_grad=True)
    expected, at = getattr(functional, f"max_pool{rank}d")(
        leaf, kernel, stride, padding, ceil_mode=ceil_mode, return_indices=True
    )
    grad = RNG.normal(size=expected.shape)
    expected.backward(torch.tensor(grad))
    found, indices = getattr(b, f"max_pool{rank}d_with_indices")(floats(x, F64), *window, ceil_mode, I32)
    same(found, expected.detach().numpy())
    same(indices, at.numpy())
    same(getattr(b, f"max_pool{rank}d")(floats(x, F64), *window, ceil_mode), expected.detach().numpy())
    back = getattr(b, f"max_pool{rank}d_with_indices_backward")
    near(back(floats(x, F64), *window, ceil_mode, floats(grad, F64), indices), leaf.grad.numpy(), 1e-12, 1e-13)

    for include in (True, False):
        leaf = torch.tensor(x, requires_grad=True)
        expected = getattr(functional, f"avg_pool{rank}d")(leaf, kernel, stride, padding, ceil_mode, include)
        expected.backward(torch.tensor(grad))
        found = getattr(b, f"avg_pool{rank}d")(floats(x, F64), *window, include, ceil_mode)
        near(found, expected.detach().numpy(), 1e-12, 1e-13)
        back = getattr(b, f"avg_pool{rank}d_backward")
        found = back(floats(x, F64), floats(grad, F64), *window, include, ceil_mode)
        near(found, leaf.grad.numpy(), 1e-12, 1e-13)


@both
@pytest.mark.parametrize("include", [True, False])
def test_dilated_average_gradients_agree_with_finite_differences(b, include):
    x = RNG.normal(size=(1, 2, 7, 6))
    window = (3, 2), (2, 1), (2, 1), (2, 3), include, True
    grad = RNG.normal(size=b.avg_pool2d(floats(x, F64), *window).shape)
    direction = RNG.normal(size=x.shape)
    # The function is linear: one step of any size gives the slope exactly.
    slope = (
        (read(b.avg_pool2d(floats(x + direction, F64), *window)) - read(b.avg_pool2d(floats(x, F64), *window))) * grad
    ).sum()
    found = read(b.avg_pool2d_backward(floats(x, F64), floats(grad, F64), *window))
    assert slope == pytest.approx((found * direction).sum(), rel=1e-10)


@both
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_adaptive_pooling_and_its_gradient_agree_with_torch(b, rank):
    torch = pytest.importorskip("torch")
    x = RNG.normal(size=(2, 3, *(7, 5, 4)[:rank]))
    for out in ((1, 1, 1), (3, 2, 4), (7, 5, 3), (9, 6, 1)):
        out = out[0] if rank == 1 else out[:rank]
        leaf = torch.tensor(x, requires_grad=True)
        expected = getattr(torch.nn.functional, f"adaptive_avg_pool{rank}d")(leaf, out)
        grad = RNG.normal(size=expected.shape)
        expected.backward(torch.tensor(grad))
        near(getattr(b, f"adaptive_avg_pool{rank}d")(floats(x, F64), out), expected.detach().numpy(), 1e-12, 1e-13)
        found = getattr(b, f"adaptive_avg_pool{rank}d_backward")(floats(x, F64), floats(grad, F64))
        near(found, leaf.grad.numpy(), 1e-12, 1e-13)


@both
def test_the_first_maximum_and_the_first_nan_win(b):
    x = np.array([[[[1.0, 5.0, 5.0, NAN, 2.0, NAN, -INF, -INF]]]])
    values, indices = b.max_pool2d_with_indices(floats(x), (1, 4), (1, 2), (0, 1), (1, 1), False, I32)
    same(values, [[[[5.0, NAN, NAN, NAN]]]])
    same(indices, [[[[1, 3, 3, 5]]]])


@both
def test_padding_never_wins_over_an_element(b):
    x = np.full((1, 1, 2, 2), -INF)
    values, indices = b.max_pool2d_with_indices(floats(x), (2, 2), (1, 1), (1, 1), (1, 1), False, I32)
    same(values, np.full((1, 1, 3, 3), -INF))
    same(indices, [[[[0, 0, 1], [0, 0, 1], [2, 2, 3]]]])


@both
def test_a_tied_window_gives_its_gradient_to_the_first(b):
    x = floats(np.zeros((1, 1, 2, 2)))
    arguments = (2, 2), (2, 2), (0, 0), (1, 1), False
    _, indices = b.max_pool2d_with_indices(x, *arguments, I32)
    grad = b.max_pool2d_with_indices_backward(x, *arguments, floats([[[[3.0]]]]), indices)
    same(grad, [[[[3.0, 0.0], [0.0, 0.0]]]])


@both
def test_infinite_gradients_reach_only_their_window(b):
    x = floats(np.zeros((1, 1, 1, 4)))
    grad = floats([[[[INF, 1.0]]]])
    found = b.avg_pool2d_backward(x, grad, (1, 2), (1, 3), (0, 1), (1, 1), True, False)
    same(found, [[[[INF, 0.0, 0.5, 0.5]]]])


@pytest.mark.parametrize("kind", [F16, BF16])
@both
def test_halves_average_without_overflow(b, kind):
    x = floats(np.full((1, 1, 40, 50), 256.0), kind)
    same(b.adaptive_avg_pool2d(x, (1, 1)), [[[[256.0]]]])
    same(b.avg_pool2d(x, (40, 50), (1, 1), (0, 0), (1, 1), True, False), [[[[256.0]]]])


@both
def test_a_window_larger_than_the_input_is_an_error(b):
    with pytest.raises(ShapeError) as caught:
        b.max_pool2d(floats(np.zeros((1, 1, 2, 5))), (4, 1), (1, 1), (0, 0), (1, 1), False)
    assert str(caught.value) == (
        "max_pool2d: a window of size 4 with dilation 1 spans 4 elements, but the axis has 2 with padding 0 and 0; "
        "the window must fit into the padded axis"
    )


@both
def test_an_empty_batch_gives_empty_results(b):
    x, grad = floats(np.zeros((0, 2, 4, 4))), floats(np.zeros((0, 2, 3, 3)))
    window = (2, 2), (1, 1), (0, 0), (1, 1)
    values, indices = b.max_pool2d_with_indices(x, *window, False, I32)
    assert values.shape == indices.shape == (0, 2, 3, 3)
    assert b.max_pool2d_with_indices_backward(x, *window, False, grad, indices).shape == x.shape
    assert b.avg_pool2d(x, *window, True, False).shape == (0, 2, 3, 3)
    assert b.avg_pool2d_backward(x, grad, *window, True, False).shape == x.shape
    assert b.adaptive_avg_pool2d(x, (3, 3)).shape == (0, 2, 3, 3)
    assert b.adaptive_avg_pool2d_backward(x, grad).shape == x.shape
