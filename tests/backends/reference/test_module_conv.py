"""Convolutions against loops written out and against PyTorch; gradients; unfold, fold and deformable ones."""

import itertools

import numpy as np
import pytest

from burn_wgpu.contract.options import (
    ConvOptions,
    ConvTransposeOptions,
    DeformConvOptions,
    UnfoldOptions,
)
from burn_wgpu.std.dtype import BF16, F16, F64
from burn_wgpu.std.errors import ShapeError
from tests.backends.reference.tools import BOTH, NAN, B, floats, near, read, same

both = pytest.mark.parametrize("b", [b for _, b in BOTH], ids=[name for name, _ in BOTH])
RNG = np.random.default_rng(1)


def normal(*shape):
    return RNG.normal(size=shape)


def looped_conv2d(x, w, bias, stride, padding, dilation, groups):
    """Seven loops: batch, output channel, two output axes, input channel, two kernel axes."""
    n, ci, h, wd = x.shape
    co, per, kh, kw = w.shape
    (t, bo), (l, r) = padding
    ho = (h + t + bo - dilation[0] * (kh - 1) - 1) // stride[0] + 1
    wo = (wd + l + r - dilation[1] * (kw - 1) - 1) // stride[1] + 1
    out = np.zeros((n, co, ho, wo))
    for i, o, y, z in itertools.product(range(n), range(co), range(ho), range(wo)):
        total = 0.0 if bias is None else bias[o]
        for c, p, q in itertools.product(range(per), range(kh), range(kw)):
            row = y * stride[0] - t + p * dilation[0]
            column = z * stride[1] - l + q * dilation[1]
            if 0 <= row < h and 0 <= column < wd:
                total += x[i, o // (co // groups) * per + c, row, column] * w[o, c, p, q]
        out[i, o, y, z] = total
    return out


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("stride", [(1, 1), (2, 3)])
@pytest.mark.parametrize("padding", [((0, 0), (0, 0)), ((1, 1), (2, 2)), ((0, 1), (2, 0))])
@pytest.mark.parametrize("dilation", [(1, 1), (2, 1)])
def test_conv2d_equals_seven_loops(groups, stride, padding, dilation):
    x, w, bias = normal(2, 4, 6, 5), normal(4, 4 // groups, 2, 3), normal(4)
    out = B.conv2d(floats(x, F64), floats(w, F64), floats(bias, F64), ConvOptions(stride, padding, dilation, groups))
    near(out, looped_conv2d(x, w, bias, stride, padding, dilation, groups), 1e-12, 1e-12)


CASES = [  # groups, stride, padding, dilation, kernel, size
    (1, 1, 0, 1, 3, 7),
    (2, 2, 1, 1, 3, 8),
    (4, 1, 2, 2, 2, 6),
    (1, 3, 0, 1, 2, 9),
    (2, 2, 2, 2, 3, 7),
    (1, 4, 0, 1, 4, 11),
    (2, 1, 3, 1, 2, 5),
]


def torch_conv(rank, transposed=False):
    functional = pytest.importorskip("torch").nn.functional
    return getattr(functional, f"conv_transpose{rank}d" if transposed else f"conv{rank}d")


@both
@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize(("groups", "stride", "padding", "dilation", "kernel", "size"), CASES)
def test_convolutions_and_their_gradients_agree_with_torch(b, rank, groups, stride, padding, dilation, kernel, size):
    torch = pytest.importorskip("torch")
    space = [size, size - 1, size + 1][:rank]
    x, w, bias = normal(2, 4, *space), normal(8, 4 // groups, *[kernel] * rank), normal(8)
    leaves = [torch.tensor(a, requires_grad=True) for a in (x, w, bias)]
    expected = torch_conv(rank)(*leaves, stride, padding, dilation, groups)
    grad = normal(*expected.shape)
    expected.backward(torch.tensor(grad))
    options = ConvOptions((stride,) * rank, (padding,) * rank, (dilation,) * rank, groups)
    tx, tw, tb, tg = (floats(a, F64) for a in (x, w, bias, grad))
    near(getattr(b, f"conv{rank}d")(tx, tw, tb, options), expected.detach().numpy(), 1e-10, 1e-11)
    near(getattr(b, f"conv{rank}d_x_backward")(tx, tw, tg, options), leaves[0].grad.numpy(), 1e-10, 1e-11)
    near(getattr(b, f"conv{rank}d_weight_backward")(tx, tw, tg, options), leaves[1].grad.numpy(), 1e-10, 1e-11)
    near(getattr(b, f"conv{rank}d_bias_backward")(tx, tb, tg), leaves[2].grad.numpy(), 1e-10, 1e-11)


@both
@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize(
    ("groups", "stride", "padding", "padding_out", "dilation", "kernel"),
    [(1, 1, 0, 0, 1, 3), (2, 2, 1, 1, 1, 3), (1, 3, 0, 2, 2, 2), (4, 2, 1, 0, 1, 2), (2, 1, 1, 1, 2, 2)],
)
def test_transposed_convolutions_and_their_gradients_agree_with_torch(
    b, rank, groups, stride, padding, padding_out, dilation, kernel
):
    torch = pytest.importorskip("torch")
    space = [4, 5, 3][:rank]
    x, w, bias = normal(2, 4, *space), normal(4, 3, *[kernel] * rank), normal(3 * groups)
    leaves = [torch.tensor(a, requires_grad=True) for a in (x, w, bias)]
    expected = torch_conv(rank, True)(*leaves, stride, padding, padding_out, groups, dilation)
    grad = normal(*expected.shape)
    expected.backward(torch.tensor(grad))
    n = (rank,)
    options = ConvTransposeOptions(
        *((value,) * n[0] for value in (stride, padding, padding_out, dilation)), groups=groups
    )
    tx, tw, tb, tg = (floats(a, F64) for a in (x, w, bias, grad))
    name = f"conv_transpose{rank}d"
    near(getattr(b, name)(tx, tw, tb, options), expected.detach().numpy(), 1e-10, 1e-11)
    near(getattr(b, f"{name}_x_backward")(tw, tg, options), leaves[0].grad.numpy(), 1e-10, 1e-11)
    near(getattr(b, f"{name}_weight_backward")(tx, tw, tg, options), leaves[1].grad.numpy(), 1e-10, 1e-11)
    near(getattr(b, f"{name}_bias_backward")(tx, tb, tg), leaves[2].grad.numpy(), 1e-10, 1e-11)


@both
def test_an_input_gradient_keeps_the_input_size_and_a_zero_tail(b):
    x, w = normal(1, 2, 1603), normal(3, 2, 4)
    options = ConvOptions((4,), (0,))
    out = b.conv1d(floats(x), floats(w), None, options)
    grad = read(b.conv1d_x_backward(floats(x), floats(w), floats(np.ones(out.shape)), options))
    assert grad.shape == x.shape
    assert (grad[..., -3:] == 0).all() and (grad[..., :-3] != 0).all()


@both
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_asymmetric_padding_is_an_explicit_pad(b, rank):
    """A table of same-upper padding: the odd element goes to the end, and gradients are those of the padded input."""
    for size, kernel, stride in itertools.product((1, 4, 5), (1, 2, 3, 4), (1, 2, 3)):
        out = -(-size // stride)
        total = max(0, (out - 1) * stride + kernel - size)
        pads = ((total // 2, total - total // 2),) * rank
        x, w = normal(1, 2, *[size] * rank), normal(2, 2, *[kernel] * rank)
        padded = np.pad(x, [(0, 0), (0, 0), *pads])
        options, plain = ConvOptions((stride,) * rank, pads), ConvOptions((stride,) * rank, (0,) * rank)
        conv = getattr(b, f"conv{rank}d")
        found = conv(floats(x, F64), floats(w, F64), None, options)
        assert found.shape[2:] == (out,) * rank
        near(found, read(conv(floats(padded, F64), floats(w, F64), None, plain)), 1e-12, 1e-12)
        grad = floats(normal(*found.shape), F64)
        arguments = floats(w, F64), grad
        x_grad = getattr(b, f"conv{rank}d_x_backward")(floats(x, F64), *arguments, options)
        inner = (..., *(slice(begin, begin + size) for begin, _ in pads))
        near(
            x_grad,
            read(getattr(b, f"conv{rank}d_x_backward")(floats(padded, F64), *arguments, plain))[inner],
            1e-12,
            1e-12,
        )
        w_grad = getattr(b, f"conv{rank}d_weight_backward")
        near(
            w_grad(floats(x, F64), *arguments, options),
            read(w_grad(floats(padded, F64), *arguments, plain)),
            1e-12,
            1e-12,
        )


@pytest.mark.parametrize("kind", [F16, BF16])
def test_halves_accumulate_in_more_digits(kind):
    x, w = np.ones((1, 4096, 1, 1)), np.ones((1, 4096, 1, 1))
    same(B.conv2d(floats(x, kind), floats(w, kind), None, ConvOptions((1, 1), (0, 0))), np.full((1, 1, 1, 1), 4096.0))


def test_a_kernel_that_does_not_fit_is_an_error():
    with pytest.raises(ShapeError) as caught:
        B.conv2d(floats(normal(1, 1, 2, 5)), floats(normal(1, 1, 3, 3)), None, ConvOptions((1, 1), (0, 0)))
    assert str(caught.value) == (
        "conv2d: a kernel of size 3 with dilation 1 spans 3 elements, but the axis has 2 with padding 0 and 0; "
        "the kernel must fit into the padded axis"
    )


# --------------------------------------------------------------------------------------------------- unfold, fold


@both
@pytest.mark.parametrize(
    ("kernel", "options"),
    [
        ((2, 3), UnfoldOptions()),
        ((2, 2), UnfoldOptions(stride=(2, 1), padding=(1, 2))),
        ((2, 3), UnfoldOptions((1, 2), (2, 1), (2, 1))),
    ],
)
def test_unfold_and_fold_agree_with_torch(b, kernel, options):
    torch = pytest.importorskip("torch")
    functional = torch.nn.functional
    x = normal(2, 3, 6, 7)
    arguments = dict(kernel_size=kernel, dilation=options.dilation, padding=options.padding, stride=options.stride)
    columns = functional.unfold(torch.tensor(x), **arguments)
    same(b.unfold4d(floats(x, F64), kernel, options), columns.numpy())
    image = functional.fold(columns, (6, 7), **arguments)
    near(b.fold4d(floats(columns.numpy(), F64), (6, 7), kernel, options), image.numpy(), 1e-12)


@both
def test_a_nan_stays_in_its_own_column(b):
    x = np.zeros((1, 1, 3, 3))
    x[0, 0, 0, 0] = NAN
    columns = read(b.unfold4d(floats(x), (2, 2), UnfoldOptions()))
    assert np.isnan(columns).sum() == 1
    assert np.isnan(read(b.fold4d(floats(columns), (3, 3), (2, 2), UnfoldOptions()))).sum() == 1


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        (
            (1, 5, 4),
            "fold4d: 5 channels do not divide by the kernel's 4 elements ([2, 2]); x must be "
            "[batch, channels·2·2, blocks]",
        ),
        ((1, 4, 5), "fold4d: x has 5 blocks, but output size [3, 3] has 4 windows (2·2); the two must agree"),
    ],
)
def test_fold_refuses_sizes_that_do_not_belong_together(shape, message):
    with pytest.raises(ShapeError) as caught:
        B.fold4d(floats(normal(*shape)), (3, 3), (2, 2), UnfoldOptions())
    assert str(caught.value) == message


# ----------------------------------------------------------------------------------------------------- deformable


def looped_deform(x, offset, w, mask, bias, o):
    n, ci, h, wd = x.shape
    co, per, kh, kw = w.shape
    ho, wo = offset.shape[2:]
    out = np.zeros((n, co, ho, wo))

    def sample(image, y, z):
        if not (-1 < y < h and -1 < z < wd):
            return 0.0
        total = 0.0
        for row, column in itertools.product(
            (int(np.floor(y)), int(np.floor(y)) + 1), (int(np.floor(z)), int(np.floor(z)) + 1)
        ):
            if 0 <= row < h and 0 <= column < wd:
                total += image[row, column] * (1 - abs(y - row)) * (1 - abs(z - column))
        return total

    for i, f, y, z in itertools.product(range(n), range(co), range(ho), range(wo)):
        total = 0.0 if bias is None else bias[f]
        for c, p, q in itertools.product(range(per), range(kh), range(kw)):
            channel = f // (co // o.weight_groups) * per + c
            group = channel // (ci // o.offset_groups)
            tap = (group * kh + p) * kw + q
            at_y = y * o.stride[0] - o.padding[0] + p * o.dilation[0] + offset[i, 2 * tap, y, z]
            at_z = z * o.stride[1] - o.padding[1] + q * o.dilation[1] + offset[i, 2 * tap + 1, y, z]
            value = sample(x[i, channel], at_y, at_z)
            total += w[f, c, p, q] * value * (1.0 if mask is None else mask[i, tap, y, z])
        out[i, f, y, z] = total
    return out


DEFORM = [
    (DeformConvOptions(), True),
    (DeformConvOptions((2, 1), (1, 0), (1, 2), 2, 1), True),
    (DeformConvOptions((1, 1), (1, 1), (1, 1), 1, 2), False),
    (DeformConvOptions((1, 2), (1, 2), (1, 1), 2, 4), True),
]


def deform_arguments(o, with_mask):
    x, w, bias = normal(2, 4, 5, 6), normal(2, 4 // o.weight_groups, 2, 3), normal(2)
    ho = (5 + 2 * o.padding[0] - o.dilation[0] - 1) // o.stride[0] + 1
    wo = (6 + 2 * o.padding[1] - 2 * o.dilation[1] - 1) // o.stride[1] + 1
    offset = 1.5 * normal(2, 2 * o.offset_groups * 6, ho, wo)
    mask = normal(2, o.offset_groups * 6, ho, wo) if with_mask else None
    return x, offset, w, mask, bias


def tensors(arrays):
    return [None if a is None else floats(a, F64) for a in arrays]


@pytest.mark.parametrize(("options", "with_mask"), DEFORM)
def test_deform_conv2d_equals_loops(options, with_mask):
    arrays = deform_arguments(options, with_mask)
    near(B.deform_conv2d(*tensors(arrays), options), looped_deform(*arrays, options), 1e-11, 1e-11)


@pytest.mark.parametrize(("options", "with_mask"), DEFORM)
def test_deform_conv2d_gradients_agree_with_finite_differences(options, with_mask):
    arrays = deform_arguments(options, with_mask)
    grad = normal(*B.deform_conv2d(*tensors(arrays), options).shape)
    found = B.deform_conv2d_backward(*tensors(arrays), floats(grad, F64), options)
    gradients = (found.x_grad, found.offset_grad, found.weight_grad, found.mask_grad, found.bias_grad)
    assert (found.mask_grad is None) == (not with_mask)

    def loss(moved):
        return (read(B.deform_conv2d(*tensors(moved), options)) * grad).sum()

    step = 1e-6
    for position, (array, gradient) in enumerate(zip(arrays, gradients, strict=True)):
        if array is None:
            continue
        direction = normal(*array.shape)
        ends = [
            loss([a + side * step * direction if i == position else a for i, a in enumerate(arrays)])
            for side in (1, -1)
        ]
        slope = (ends[0] - ends[1]) / (2 * step)
        assert slope == pytest.approx((read(gradient) * direction).sum(), rel=1e-6, abs=1e-6)


def test_deform_conv2d_without_offsets_is_conv2d():
    x, w, bias = normal(2, 4, 5, 6), normal(6, 2, 3, 2), normal(6)
    offset = np.zeros((2, 12, 3, 3))
    out = B.deform_conv2d(*tensors((x, offset, w, None, bias)), DeformConvOptions((2, 2), (1, 0), (1, 1), 2, 1))
    near(out, read(B.conv2d(*tensors((x, w, bias)), ConvOptions((2, 2), (1, 0), (1, 1), 2))), 1e-12, 1e-12)


# ---------------------------------------------------------------------------------------------------------- empty


@both
def test_an_empty_batch_gives_empty_results_and_zero_weight_gradients(b):
    x, w, grad = floats(np.zeros((0, 2, 4, 4))), floats(normal(3, 2, 2, 2)), floats(np.zeros((0, 3, 5, 5)))
    options = ConvOptions((1, 1), (1, 1))
    assert b.conv2d(x, w, None, options).shape == (0, 3, 5, 5)
    assert b.conv2d_x_backward(x, w, grad, options).shape == (0, 2, 4, 4)
    same(b.conv2d_weight_backward(x, w, grad, options), np.zeros((3, 2, 2, 2)))
    weight = floats(normal(2, 3, 2, 2))
    assert b.conv_transpose2d(x, weight, None, ConvTransposeOptions((2, 2), (0, 0))).shape == (0, 3, 8, 8)
    assert b.unfold4d(x, (2, 2), UnfoldOptions()).shape == (0, 8, 9)
    assert b.fold4d(floats(np.zeros((0, 8, 9))), (4, 4), (2, 2), UnfoldOptions()).shape == (0, 2, 4, 4)
