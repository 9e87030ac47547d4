"""Module functions and activations against PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from burn_wgpu import Device, Tensor
from burn_wgpu.contract.options import (
    AttentionModuleOptions,
    AvgPoolOptions,
    CausalAlignment,
    ConvOptions,
    ConvTransposeOptions,
    InterpolateMode,
    InterpolateOptions,
    MaxPoolOptions,
    UnfoldOptions,
)
from burn_wgpu.std.errors import ArgumentError, ShapeError
from burn_wgpu.tensor import activation as A
from burn_wgpu.tensor import functional as F

torch = pytest.importorskip("torch")
T = torch.nn.functional


def close(got: Tensor, want: Any, rtol: float = 2e-5, atol: float = 2e-6) -> None:
    assert got.shape == tuple(want.shape)
    np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=rtol, atol=atol)


def normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


ACTIVATIONS: list[tuple[str, Callable[[Tensor], Tensor], Callable[[Any], Any]]] = [
    ("relu", A.relu, torch.relu),
    ("relu6", A.relu6, T.relu6),
    ("hardtanh", lambda t: A.hardtanh(t, -0.5, 2), lambda t: T.hardtanh(t, -0.5, 2)),
    ("tanh", A.tanh, torch.tanh),
    ("tanhshrink", A.tanhshrink, T.tanhshrink),
    ("leaky_relu", lambda t: A.leaky_relu(t, 0.2), lambda t: T.leaky_relu(t, 0.2)),
    ("gelu", A.gelu, T.gelu),
    ("gelu_approximate", A.gelu_approximate, lambda t: T.gelu(t, approximate="tanh")),
    ("softmax", lambda t: A.softmax(t, -1), lambda t: T.softmax(t, -1)),
    ("softmin", lambda t: A.softmin(t, 0), lambda t: T.softmin(t, 0)),
    ("log_softmax", lambda t: A.log_softmax(t, 1), lambda t: T.log_softmax(t, 1)),
    ("softplus", lambda t: A.softplus(t, 2.0), lambda t: T.softplus(t, 2.0)),
    ("sigmoid", A.sigmoid, torch.sigmoid),
    ("log_sigmoid", A.log_sigmoid, T.logsigmoid),
    ("hard_sigmoid", lambda t: A.hard_sigmoid(t, 1 / 6, 0.5), T.hardsigmoid),
    ("silu", A.silu, T.silu),
    ("hard_swish", A.hard_swish, T.hardswish),
    ("mish", A.mish, T.mish),
    ("elu", lambda t: A.elu(t, 1.5), lambda t: T.elu(t, 1.5)),
    ("celu", lambda t: A.celu(t, 1.5), lambda t: T.celu(t, 1.5)),
    ("selu", A.selu, T.selu),
    ("threshold", lambda t: A.threshold(t, 0.3, -7), lambda t: T.threshold(t, 0.3, -7)),
    ("thresholded_relu", lambda t: A.thresholded_relu(t, 0.5), lambda t: T.threshold(t, 0.5, 0)),
    ("glu", lambda t: A.glu(t, 1), lambda t: T.glu(t, 1)),
    ("softsign", A.softsign, T.softsign),
    ("hard_shrink", lambda t: A.hard_shrink(t, 0.7), lambda t: T.hardshrink(t, 0.7)),
    ("soft_shrink", lambda t: A.soft_shrink(t, 0.7), lambda t: T.softshrink(t, 0.7)),
]


@pytest.mark.parametrize(("ours", "theirs"), [a[1:] for a in ACTIVATIONS], ids=[a[0] for a in ACTIVATIONS])
def test_activations(device: Device, rng: np.random.Generator, ours: Callable, theirs: Callable) -> None:
    a = np.concatenate([normal(rng, 4, 6) * 3, np.array([[0, 1e-8, -1e-8, 20, -20, 60]], np.float32)])
    close(ours(Tensor(a, device=device)), theirs(torch.from_numpy(a)), rtol=3e-5, atol=1e-6)


def test_activations_keep_small_numbers_and_nan(device: Device) -> None:
    small = Tensor([-1e-5, -1e-6], device=device)
    np.testing.assert_allclose(A.elu(small).numpy(), np.expm1(np.float32([-1e-5, -1e-6])), rtol=1e-5)
    nan = Tensor([float("nan")], device=device)
    for function in (A.relu, A.elu, A.softplus, A.mish, A.soft_shrink, A.selu, A.gelu):
        assert np.isnan(function(nan).item()), function.__name__


def test_prelu(device: Device, rng: np.random.Generator) -> None:
    a, slopes = normal(rng, 2, 3, 4), normal(rng, 3)
    x = Tensor(a, device=device)
    close(A.prelu(x, Tensor(slopes, device=device)), T.prelu(torch.from_numpy(a), torch.from_numpy(slopes)))
    close(A.prelu(x, Tensor(slopes[:1], device=device)), T.prelu(torch.from_numpy(a), torch.from_numpy(slopes[:1])))


def test_norms(device: Device, rng: np.random.Generator) -> None:
    a, g, b = normal(rng, 4, 3, 5), normal(rng, 3), normal(rng, 3)
    mean, variance = normal(rng, 3), np.abs(normal(rng, 3))
    x, t = Tensor(a, device=device), torch.from_numpy(a)
    args = [Tensor(v, device=device) for v in (g, b, mean, variance)]
    want = T.batch_norm(t, *[torch.from_numpy(v) for v in (mean, variance, g, b)], False, 0.0, 1e-5)
    close(F.batch_norm(x, *args), want)
    trained = F.batch_norm_train(x, *args[:2])
    close(
        trained.output,
        T.batch_norm(t, None, None, torch.from_numpy(g), torch.from_numpy(b), True),
        rtol=1e-4,
        atol=1e-5,
    )
    np.testing.assert_allclose(trained.mean.numpy(), a.mean((0, 2)), atol=1e-6)
    np.testing.assert_allclose(trained.variance.numpy(), a.var((0, 2)), rtol=1e-5)
    last = [normal(rng, 5), normal(rng, 5)]
    close(
        F.layer_norm(x, *[Tensor(v, device=device) for v in last]),
        T.layer_norm(t, (5,), *[torch.from_numpy(v) for v in last]), rtol=1e-4, atol=1e-5,
    )  # fmt: skip


def test_linear_and_embedding(device: Device, rng: np.random.Generator) -> None:
    w, b = normal(rng, 3, 5), normal(rng, 5)
    weight, bias = Tensor(w, device=device), Tensor(b, device=device)
    for shape in ((3,), (4, 3), (2, 4, 3)):
        a = normal(rng, *shape)
        np.testing.assert_allclose(
            F.linear(Tensor(a, device=device), weight, bias).numpy(), a @ w + b, rtol=1e-4, atol=1e-5
        )
    for ids in ([2, 0], [[1, 2], [0, 0]], [[[1]]]):
        np.testing.assert_array_equal(F.embedding(weight, Tensor(ids, device=device)).numpy(), w[np.array(ids)])


@pytest.mark.parametrize("spatial", [1, 2, 3])
def test_convolutions(device: Device, rng: np.random.Generator, spatial: int) -> None:
    size, kernel = (7, 6, 5)[:spatial], (3, 2, 2)[:spatial]
    a, w, b = normal(rng, 2, 4, *size), normal(rng, 6, 2, *kernel), normal(rng, 6)
    stride, padding, dilation = (2, 1, 1)[:spatial], (1, 2, 0)[:spatial], (1, 2, 1)[:spatial]
    ours, theirs = getattr(F, f"conv{spatial}d"), getattr(T, f"conv{spatial}d")
    args = [Tensor(v, device=device) for v in (a, w, b)]
    want = theirs(*map(torch.from_numpy, (a, w, b)), stride, padding, dilation, 2)
    close(ours(*args, ConvOptions(stride, padding, dilation, 2)), want, rtol=1e-4, atol=1e-4)
    plain = theirs(torch.from_numpy(a), torch.from_numpy(np.tile(w, (1, 2) + (1,) * spatial)))
    close(ours(args[0], args[1].repeat_dim(1, 2)), plain, rtol=1e-4, atol=1e-4)
    uneven = [(n, 2 - n % 2) for n in padding]
    flat = [n for pair in reversed(uneven) for n in pair]
    want = theirs(T.pad(torch.from_numpy(a), flat), *map(torch.from_numpy, (w, b)), stride, 0, dilation, 2)
    close(ours(*args, ConvOptions(stride, uneven, dilation, 2)), want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("spatial", [1, 2, 3])
def test_transposed_convolutions(device: Device, rng: np.random.Generator, spatial: int) -> None:
    size, kernel = (4, 3, 3)[:spatial], (3, 2, 2)[:spatial]
    a, w, b = normal(rng, 2, 4, *size), normal(rng, 4, 3, *kernel), normal(rng, 6)
    stride, padding, out = (2, 3, 1)[:spatial], (1, 0, 0)[:spatial], (1, 1, 0)[:spatial]
    ours, theirs = getattr(F, f"conv_transpose{spatial}d"), getattr(T, f"conv_transpose{spatial}d")
    want = theirs(*map(torch.from_numpy, (a, w, b)), stride, padding, out, 2)
    got = ours(*[Tensor(v, device=device) for v in (a, w, b)], ConvTransposeOptions(stride, padding, out, None, 2))
    close(got, want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("spatial", [1, 2, 3])
@pytest.mark.parametrize("ceil_mode", [False, True])
def test_pooling(device: Device, rng: np.random.Generator, spatial: int, ceil_mode: bool) -> None:
    size = (8, 7, 6)[:spatial]
    a = normal(rng, 2, 3, *size)
    kernel, stride, padding = (3, 2, 3)[:spatial], (2, 2, 1)[:spatial], (1, 1, 0)[:spatial]
    x, t = Tensor(a, device=device), torch.from_numpy(a)
    options = MaxPoolOptions(kernel, stride, padding, None, ceil_mode)
    want, places = getattr(T, f"max_pool{spatial}d")(t, kernel, stride, padding, 1, ceil_mode, True)
    close(getattr(F, f"max_pool{spatial}d")(x, options), want)
    values, indices = getattr(F, f"max_pool{spatial}d_with_indices")(x, options)
    close(values, want)
    np.testing.assert_array_equal(indices.numpy(), places.numpy())
    for counted in (True, False):
        got = getattr(F, f"avg_pool{spatial}d")(x, AvgPoolOptions(kernel, stride, padding, None, ceil_mode, counted))
        close(got, getattr(T, f"avg_pool{spatial}d")(t, kernel, stride, padding, ceil_mode, counted))


def test_asymmetric_pooling(device: Device, rng: np.random.Generator) -> None:
    a = normal(rng, 1, 2, 6, 5)
    x = Tensor(a, device=device)
    pads = [(0, 1), (2, 0)]
    padded = np.pad(a, ((0, 0), (0, 0), *pads), constant_values=-np.inf)
    want = T.max_pool2d(torch.from_numpy(padded), 3, 2)
    options = MaxPoolOptions((3, 3), (2, 2), pads)
    close(F.max_pool2d(x, options), want)
    values, indices = F.max_pool2d_with_indices(x, options)
    flat = a.reshape(1, 2, -1)
    picked = np.take_along_axis(flat, indices.numpy().reshape(1, 2, -1), 2)
    np.testing.assert_array_equal(picked.reshape(values.shape), values.numpy())
    zero = np.pad(a, ((0, 0), (0, 0), *pads))
    close(F.avg_pool2d(x, AvgPoolOptions((3, 3), (2, 2), pads)), T.avg_pool2d(torch.from_numpy(zero), 3, 2))
    real = np.pad(np.ones_like(a), ((0, 0), (0, 0), *pads))
    ratio = T.avg_pool2d(torch.from_numpy(zero), 3, 2) / T.avg_pool2d(torch.from_numpy(real), 3, 2)
    close(F.avg_pool2d(x, AvgPoolOptions((3, 3), (2, 2), pads, None, False, False)), ratio)


def test_adaptive_pooling(device: Device, rng: np.random.Generator) -> None:
    a = normal(rng, 2, 3, 7, 6)
    x, t = Tensor(a, device=device), torch.from_numpy(a)
    close(F.adaptive_avg_pool2d(x, (3, 4)), T.adaptive_avg_pool2d(t, (3, 4)))
    close(F.adaptive_avg_pool1d(x[:, :, 0], 4), T.adaptive_avg_pool1d(t[:, :, 0], 4))
    close(F.adaptive_avg_pool3d(x.unsqueeze_dim(2), (1, 2, 5)), T.adaptive_avg_pool3d(t.unsqueeze(2), (1, 2, 5)))


def test_an_empty_plane_is_an_error(device: Device) -> None:
    x, grid = Tensor(np.zeros((2, 3, 0, 4), np.float32), device=device), Tensor(np.zeros((2, 1, 1, 2)), device=device)
    calls: list[Callable[[], Any]] = [
        lambda: F.max_pool2d(x, MaxPoolOptions((1, 1), None, (1, 1))),
        lambda: F.max_pool2d_with_indices(x, MaxPoolOptions((1, 1), None, (1, 1))),
        lambda: F.avg_pool2d(x, AvgPoolOptions((1, 1), None, (1, 1))),
        lambda: F.adaptive_avg_pool2d(x, (2, 2)),
        lambda: F.adaptive_avg_pool1d(x[:, :, :, 0], 2),
        lambda: F.interpolate(x, InterpolateOptions(InterpolateMode.BILINEAR, output_size=(2, 2))),
        lambda: x.grid_sample_2d(grid.cast("f32")),
    ]
    for call in calls:
        with pytest.raises(ShapeError, match="every axis behind batch and channels needs at least one element"):
            call()
    no_channels = Tensor(np.zeros((2, 0, 3, 4), np.float32), device=device)
    assert F.max_pool2d(no_channels, MaxPoolOptions((2, 2))).shape == (2, 0, 1, 2)
    assert F.adaptive_avg_pool2d(no_channels, (2, 2)).shape == (2, 0, 2, 2)


def test_attention_over_no_features_is_an_error(device: Device, rng: np.random.Generator) -> None:
    nothing, value = Tensor(np.zeros((1, 1, 3, 0), np.float32), device=device), normal(rng, 1, 1, 3, 2)
    with pytest.raises(ShapeError, match="D at least 1"):
        F.attention(nothing, nothing, Tensor(value, device=device))


def test_interpolation(device: Device, rng: np.random.Generator) -> None:
    a = normal(rng, 1, 2, 4, 5)
    x, t = Tensor(a, device=device), torch.from_numpy(a)
    close(F.interpolate(x, InterpolateOptions(InterpolateMode.NEAREST, output_size=(7, 3))), T.interpolate(t, (7, 3)))
    for mode in ("bilinear", "bicubic"):
        options = InterpolateOptions(InterpolateMode(mode), output_size=(7, 9))
        for corners in (True, False):
            want = T.interpolate(t, (7, 9), mode=mode, align_corners=corners)
            close(F.interpolate(x, options.with_align_corners(corners)), want, rtol=1e-4, atol=1e-4)
    options = InterpolateOptions(InterpolateMode.NEAREST, scale_factor=(2.0, 1.5))
    assert F.interpolate(x, options).shape == (1, 2, 8, 7)


def test_attention(device: Device, rng: np.random.Generator) -> None:
    q, k, v = normal(rng, 2, 4, 5, 8), normal(rng, 2, 2, 6, 8), normal(rng, 2, 2, 6, 3)
    hidden = rng.random((2, 1, 5, 6)) < 0.3
    bias = normal(rng, 4, 5, 6)
    ours = [Tensor(a, device=device) for a in (q, k, v)]
    theirs = [torch.from_numpy(a) for a in (q, k.repeat(2, 1), v.repeat(2, 1))]
    for function in (F.attention, F.attention_fallback):
        close(function(*ours), T.scaled_dot_product_attention(*theirs), rtol=1e-4, atol=1e-5)
        got = function(*ours, Tensor(hidden, device=device), Tensor(bias, device=device))
        mask = torch.from_numpy(np.where(hidden, -np.inf, bias).astype(np.float32))
        want = torch.nan_to_num(T.scaled_dot_product_attention(*theirs, mask))
        close(got, want, rtol=1e-4, atol=1e-5)
        causal = AttentionModuleOptions(is_causal=True, causal_alignment=CausalAlignment.TOP_LEFT)
        want = T.scaled_dot_product_attention(*theirs, is_causal=True)
        close(function(*ours, options=causal), want, rtol=1e-4, atol=1e-5)


def test_unfold_and_fold(device: Device, rng: np.random.Generator) -> None:
    a = normal(rng, 2, 3, 5, 6)
    options = UnfoldOptions((1, 2), (1, 0), (1, 1))
    columns = F.unfold4d(Tensor(a, device=device), (2, 2), options)
    want = T.unfold(torch.from_numpy(a), (2, 2), (1, 1), (1, 0), (1, 2))
    close(columns, want)
    close(F.fold4d(columns, (5, 6), (2, 2), options), T.fold(want, (5, 6), (2, 2), (1, 1), (1, 0), (1, 2)))


def test_ctc_loss(device: Device, rng: np.random.Generator) -> None:
    logits = normal(rng, 12, 3, 5)
    probs = torch.log_softmax(torch.from_numpy(logits), -1)
    targets = np.array([[1, 2, 3], [4, 4, 1], [2, 0, 0]])
    lengths, sizes = [12, 10, 7], [3, 3, 1]
    want = T.ctc_loss(probs, torch.from_numpy(targets), torch.tensor(lengths), torch.tensor(sizes), 0, "none")
    args = [Tensor(v, device=device) for v in (targets, lengths, sizes)]
    close(F.ctc_loss(Tensor(probs.numpy(), device=device), *args), want, rtol=1e-4)


def test_cross_entropy(device: Device, rng: np.random.Generator) -> None:
    logits = normal(rng, 4, 5)
    target = np.abs(normal(rng, 4, 5))
    target /= target.sum(1, keepdims=True)
    got = F.cross_entropy_with_logits(Tensor(logits, device=device), Tensor(target, device=device))
    want = T.cross_entropy(torch.from_numpy(logits), torch.from_numpy(target))
    np.testing.assert_allclose(got.item(), want.item(), rtol=1e-5)


def test_grids(device: Device, rng: np.random.Generator) -> None:
    from burn_wgpu.tensor.grid import (
        GridIndexing,
        GridOptions,
        GridSparsity,
        IndexPos,
        affine_grid_2d,
        meshgrid,
        meshgrid_stack,
    )

    a, b = np.arange(3), np.arange(4)
    tensors = [Tensor(v, device=device) for v in (a, b)]
    for indexing in GridIndexing:
        for sparse in GridSparsity:
            want = np.meshgrid(a, b, indexing=indexing.value, sparse=sparse is GridSparsity.SPARSE)
            for got, w in zip(meshgrid(tensors, GridOptions(indexing, sparse)), want, strict=True):
                np.testing.assert_array_equal(got.numpy(), w)
    want = np.stack(np.meshgrid(a, b, indexing="ij"))
    np.testing.assert_array_equal(meshgrid_stack(tensors).numpy(), want)
    np.testing.assert_array_equal(meshgrid_stack(tensors, IndexPos.LAST).numpy(), np.moveaxis(want, 0, -1))
    theta = normal(rng, 2, 2, 3)
    got = affine_grid_2d(Tensor(theta, device=device), (2, 3, 4, 5))
    grid = T.affine_grid(torch.from_numpy(theta), (2, 3, 4, 5), align_corners=True)
    close(got, grid, atol=1e-5)
    image = normal(rng, 2, 3, 4, 5)
    from burn_wgpu.contract.options import GridSampleOptions

    sampled = Tensor(image, device=device).grid_sample_2d(got, GridSampleOptions(align_corners=True))
    close(sampled, T.grid_sample(torch.from_numpy(image), grid, align_corners=True), rtol=1e-3, atol=1e-4)


EINSUMS = [
    ("ij,jk->ik", [(2, 3), (3, 4)]),
    ("ij,jk,kl", [(2, 3), (3, 4), (4, 5)]),
    ("ii->i", [(3, 3)]),
    ("ii", [(3, 3)]),
    ("...ij,...jk->...ik", [(2, 1, 3, 4), (5, 4, 6)]),
    ("bij,bjk->b", [(2, 3, 4), (2, 4, 3)]),
    ("i,j->ij", [(3,), (4,)]),
    ("ijk->kji", [(2, 3, 4)]),
    ("i,i", [(3,), (3,)]),
    ("a...->...", [(2, 3, 4)]),
    ("iij,jk->ik", [(2, 2, 3), (3, 4)]),
    ("Ab,bA", [(2, 3), (3, 2)]),
    (" i j , j -> i ", [(2, 3), (3,)]),
    ("...,...->...", [(2, 3), (3,)]),
    ("ij,kl->", [(2, 3), (2, 2)]),
    ("bhqd,bhkd->bhqk", [(2, 2, 3, 4), (2, 2, 5, 4)]),
    ("ij,ij->j", [(2, 3), (2, 3)]),
    ("iijj->ij", [(2, 2, 3, 3)]),
]


@pytest.mark.parametrize(("equation", "shapes"), EINSUMS, ids=[e[0] for e in EINSUMS])
def test_einsum(device: Device, rng: np.random.Generator, equation: str, shapes: list[tuple[int, ...]]) -> None:
    arrays = [normal(rng, *s) for s in shapes]
    got = Tensor.einsum(equation, *[Tensor(a, device=device) for a in arrays])
    want = np.einsum(equation, *arrays)
    assert got.shape == (want.shape or (1,))
    np.testing.assert_allclose(got.numpy().reshape(want.shape), want, rtol=1e-4, atol=1e-5)


def test_einsum_broadcasts_sizes_of_one_and_takes_ints(device: Device) -> None:
    a, b = np.arange(3).reshape(3, 1), np.arange(8).reshape(4, 2)
    got = Tensor.einsum("ij,jk->ik", Tensor(a, device=device), Tensor(b, device=device))
    np.testing.assert_array_equal(got.numpy(), a * b.sum(0))
    assert Tensor.einsum(",i", Tensor([2], device=device), Tensor([1, 5], device=device)).tolist() == [2, 10]


@pytest.mark.parametrize("padding", [0, 1, (0, 2)], ids=str)
@pytest.mark.parametrize("ceil", [False, True])
def test_pool_sizes_are_those_of_pooling(cpu: Device, padding: int | tuple[int, int], ceil: bool) -> None:
    for size in range(1, 12):
        for kernel, stride in ((2, 2), (3, 1), (3, 2), (4, 3)):
            options = MaxPoolOptions([kernel], [stride], [padding], ceil_mode=ceil)
            x = Tensor.zeros((1, 1, size), device=cpu)
            found = F.max_pool_output_size((size,), options)
            mean = AvgPoolOptions([kernel], [stride], [padding], ceil_mode=ceil)
            assert F.avg_pool_output_size([size], mean) == found
            if found is None:
                with pytest.raises(ShapeError, match="must fit"):
                    F.max_pool1d(x, options)
            else:
                assert F.max_pool1d(x, options).shape == (1, 1, *found)
    assert F.max_pool_output_size((7, 9), MaxPoolOptions([3, 2], [2, 2])) == (3, 4)
    with pytest.raises(ArgumentError, match="input_size"):
        F.avg_pool_output_size((7,), AvgPoolOptions([3, 2], [2, 2]))
