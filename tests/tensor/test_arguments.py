"""Arguments of types that users hand in: NumPy's numbers and arrays, generators; and errors for what is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import burn_wgpu as bw
from burn_wgpu import Device, Distribution, Tensor
from burn_wgpu.std.errors import ArgumentError, BurnError, DTypeError, NoAdapterError, ShapeError, UnsupportedError
from burn_wgpu.tensor import activation
from burn_wgpu.tensor import functional as F
from burn_wgpu.tensor.linalg import cosine_similarity, solve

D = Device("cpu")
X = Tensor([1.0, 2.0, 3.0], device=D)
M = Tensor(np.arange(6.0).reshape(2, 3), device=D)
I = Tensor([1, 2], device=D)
A = np.array([1.0, 2.0, 3.0])
MASK = np.array([True, False, True])
NONE: Any = None


def test_arrays_and_numbers_beside_a_tensor(device: Device) -> None:
    x = Tensor([1.0, 2.0, 3.0], device=device)
    assert x.maximum(2.0).tolist() == [2, 2, 3] and x.min_pair(2).tolist() == [1, 2, 2]
    assert x.minimum(np.array([2.0])).tolist() == [1, 2, 2] and x.max_pair(np.float32(2.5)).tolist() == [2.5, 2.5, 3]
    assert Tensor.cat([x, np.array([4.0])]).tolist() == [1, 2, 3, 4]
    assert Tensor.cat([np.array([4]), x]).tolist() == [4, 1, 2, 3]
    assert Tensor.stack([x, A]).tolist() == [[1, 2, 3], [1, 2, 3]]
    assert Tensor.cat(x + i for i in range(2)).tolist() == [1, 2, 3, 2, 3, 4]
    assert Tensor.stack(t for t in (x, x)).shape == (2, 3)
    assert bw.where(MASK, x, 2.0).tolist() == [1, 2, 3] and bw.where(MASK, 0, x).tolist() == [0, 2, 0]
    assert bw.where([True, False, True], x, A * 10).tolist() == [1, 20, 3]
    assert bw.where(MASK, A * 10, x).tolist() == [10, 2, 30]
    assert x.mask_fill(MASK, 0).tolist() == [0, 2, 0] and x.mask_select(MASK).tolist() == [1, 3]
    assert x.mask_where(MASK, A * 2).tolist() == [2, 2, 6] and x.mask_where([True] * 3, 7).tolist() == [7, 7, 7]


def test_every_type_of_index_is_an_int(device: Device) -> None:
    x = Tensor(np.arange(6.0).reshape(1, 6), device=device)
    one, two = np.int64(1), np.uint8(2)
    assert x.squeeze(np.int64(0)).shape == (6,)
    assert [t.shape for t in x.split(two, one)] == [(1, 2)] * 3
    assert x.narrow(one, one, two).tolist() == [[1, 2]] and x.chunk(two, 1)[0].shape == (1, 3)
    assert x.repeat_dim(0, two).shape == (2, 6) and x.roll_dim(one, 1).tolist() == [[5, 0, 1, 2, 3, 4]]
    assert x.topk(two).tolist() == [[5, 4]] and x.select_dim(1, two).tolist() == [2]
    assert x.unsqueeze(rank=np.int64(3)).shape == (1, 1, 6) and x.reshape(np.array([2, 3])).shape == (2, 3)
    assert x.pad([(one, 0)]).shape == (1, 7) and Tensor.zeros(np.array([2, 3]), device).shape == (2, 3)
    device.seed(np.int64(3))  # type: ignore[arg-type]
    first = Tensor.rand(4, device=device).tolist()
    device.seed(3)
    assert Tensor.rand(4, device=device).tolist() == first


LEAKS: list[tuple[Callable[[], Any], type[BurnError], str]] = [
    (lambda: Tensor([1.0], device=0), DTypeError, "device: 0 is of type int"),
    (lambda: Device("wgpu:²"), NoAdapterError, "no adapter's name contains '²'"),
    (lambda: Device("cpu:²"), ArgumentError, "is no device"),
    (lambda: X.narrow(0, 1.0, 1), DTypeError, "narrow: start is 1.0; it must be an int"),
    (lambda: X.repeat_dim(0, 1.5), DTypeError, "repeat_dim: times is 1.5; it must be an int"),
    (lambda: X.repeat_dim("a", 1), DTypeError, "repeat_dim: dim is 'a'; it must be an int"),
    (lambda: X.roll_dim(1.5, 0), DTypeError, "roll_dim: shift is 1.5; it must be an int"),
    (lambda: X.topk(1.5), DTypeError, "topk: k is 1.5; it must be an int"),
    (lambda: X.argtopk("a"), DTypeError, "argtopk: k is 'a'; it must be an int"),
    (lambda: X.select_dim(0, 1.5), DTypeError, "select_dim: index is 1.5; it must be an int"),
    (lambda: X.split(1.5), DTypeError, "split: split_size is 1.5; it must be an int"),
    (lambda: X.unsqueeze(rank=1.5), DTypeError, "unsqueeze: rank is 1.5; it must be an int"),
    (lambda: X.round_to(1.5), DTypeError, "round_to: decimals is 1.5; it must be an int"),
    (lambda: M.triu(1.5), DTypeError, "triu: diagonal is 1.5; it must be an int"),
    (lambda: Tensor.tril_mask((2, 2), 1.5, D), DTypeError, "tril_mask: offset is 1.5; it must be an int"),
    (lambda: X.one_hot_fill(1.5, 1, 0), DTypeError, "one_hot_fill: num_classes is 1.5; it must be an int"),
    (lambda: Tensor.eye((2, 3), D), DTypeError, "eye: size is (2, 3); it must be an int"),
    (lambda: M.cov(0, 1.5), DTypeError, "cov: correction is 1.5; it must be an int"),
    (lambda: X.slice(1.5), DTypeError, "slice: 1.5 is no slice"),
    (lambda: X.pad([(1.5, 1)]), DTypeError, "pad: padding [(1.5, 1)] is made of something else than ints"),
    (lambda: X.pad([1, 2]), DTypeError, "pad: padding [1, 2] is made of something else than ints"),
    (lambda: X.pad(3), DTypeError, "pad: padding 3 is made of something else than ints"),
    (lambda: X.pad([(1, 1)], None), DTypeError, "pad: the value is None; it must be a number"),
    (lambda: M[[[1], [1, 2]]], ShapeError, "getitem: the nested lists do not form a regular array"),
    (lambda: M.select(0, [[1], [1, 2]]), ShapeError, "select: the nested lists do not form a regular array"),
    (lambda: X.mask_fill([[True], [True, False]], 0), ShapeError, "mask_fill: the nested lists do not form"),
    (lambda: X.mask_fill(A, 0), DTypeError, "mask_fill: the mask is of NumPy dtype float64; it must be a bool tensor"),
    (lambda: X.mask_fill(NONE, 0), DTypeError, "mask_fill: the mask is of type NoneType"),
    (lambda: X.mask_fill(X > 1, A), DTypeError, "mask_fill: the value is ndarray; it must be a number"),
    (lambda: X.mask_where(X > 1, "a"), DTypeError, "mask_where: the value is of type str"),
    (lambda: bw.where(X > 1, X, "a"), DTypeError, "where: the second choice is of type str"),
    (lambda: bw.where(X > 1, 1, 2.0), DTypeError, "where: the choices are of type int and float"),
    (lambda: Tensor.random((2,), "uniform", D), DTypeError, "random: the distribution is 'uniform'"),
    (lambda: X.random_like(0.5), DTypeError, "random_like: the distribution is 0.5"),
    (lambda: D.seed("a"), DTypeError, "seed: the seed is of type str; it must be an int"),
    (lambda: int(Tensor([np.nan], device=D)), ArgumentError, "int: the value is nan, which no int can be"),
    (lambda: int(Tensor([np.inf], device=D)), ArgumentError, "int: the value is inf, which no int can be"),
    (lambda: X.maximum("a"), DTypeError, "maximum: the right operand is of type str"),
    (lambda: X.cross(A), DTypeError, "cross: rhs is of type ndarray; it must be a tensor. Make one with Tensor(data)"),
    (lambda: X.dot(A), DTypeError, "dot: rhs is of type ndarray; it must be a tensor"),
    (lambda: X.is_close(A), DTypeError, "is_close: rhs is of type ndarray; it must be a tensor"),
    (lambda: X.slice_assign([0], A), DTypeError, "slice_assign: rhs is of type ndarray; it must be a tensor"),
    (lambda: X.scatter(0, [0, 1, 2], A), DTypeError, "scatter: rhs is of type ndarray; it must be a tensor"),
    (lambda: cosine_similarity(X, A), DTypeError, "cosine_similarity: rhs is of type ndarray; it must be a tensor"),
    (lambda: cosine_similarity(A, X), DTypeError, "cosine_similarity: x1 is of type ndarray; it must be a tensor"),
    (lambda: solve(M[:, :2], np.zeros(2)), DTypeError, "solve: rhs is of type ndarray; it must be a tensor"),
    (lambda: F.linear(A, M), DTypeError, "linear: x is of type ndarray; it must be a tensor"),
    (lambda: F.linear(M, np.zeros((3, 2))), DTypeError, "linear: weight is of type ndarray; it must be a tensor"),
    (lambda: F.layer_norm(M, A), DTypeError, "layer_norm: gamma is of type ndarray; it must be a tensor"),
    (lambda: F.embedding(M, np.array([0])), DTypeError, "embedding: the indices is of type ndarray"),
    (lambda: F.max_pool2d(X, 3), ShapeError, "max_pool2d: x has shape [3]"),
    (lambda: F.max_pool2d(X.reshape(1, 1, 1, 3), 3), DTypeError, "max_pool2d: the options are 3; they must be one of"),
    (lambda: F.avg_pool2d(X.reshape(1, 1, 1, 3), A), DTypeError, "avg_pool2d: the options are array([1., 2., 3.])"),
    (lambda: activation.relu(A), DTypeError, "relu: the tensor is of type ndarray; it must be a tensor"),
    (lambda: activation.softsign(A), DTypeError, "softsign: the tensor is of type ndarray; it must be a tensor"),
    (lambda: Tensor.from_torch(A), DTypeError, "from_torch: the value is of type ndarray"),
    (lambda: Tensor.einsum(X, X), DTypeError, "einsum: the equation is of type Tensor; it must be a str"),
    (lambda: Tensor.zeros(2, D, A), DTypeError, "is not a dtype"),
    (lambda: X.squeeze_dims(None), DTypeError, "squeeze_dims: dims is None; it must be made of ints"),
    (lambda: X.norm("a"), DTypeError, "norm: the exponent is 'a'; it must be a number"),
    (lambda: Tensor.cat([A, A]), DTypeError, "cat: element 0 is of type ndarray; the list must hold tensors"),
    (lambda: Tensor.cat([X, 1.0]), DTypeError, "cat: element 1 is of type float"),
    (lambda: Tensor.cat(3), DTypeError, "cat: the tensors are of type int; they must be a list of tensors"),
    (lambda: Tensor.stack([X, NONE]), DTypeError, "stack: element 1 is of type NoneType"),
    (lambda: I // X[:2], DTypeError, "floor_divide: lhs is of kind int (i32) and rhs of kind float (f32)"),
    (lambda: (X > 1) + 1, DTypeError, "add: a tensor of kind bool has no such operation"),
    (lambda: 1 - (X > 1), DTypeError, "sub: a tensor of kind bool has no such operation"),
    (lambda: (X > 1) // 2, DTypeError, "floor_divide: a tensor of kind bool has no such operation"),
    (lambda: (X > 1) < 1, DTypeError, "lower: a tensor of kind bool has no such operation"),
    (lambda: X.sum((0, "a")), DTypeError, "sum: dim is 'a'; it must be an int"),
    (lambda: X.sum(0, axis=0), ArgumentError, "sum: dim 0 and axis 0 name the same argument; give one of them"),
    (lambda: X.sum(out=np.zeros(1)), DTypeError, "sum: out is of type ndarray; tensors are immutable"),
    (lambda: Tensor.full(2, X, D), DTypeError, "full: the value is of type Tensor; it must be a number"),
    (lambda: Tensor.arange(0.0, 1.0, 0.0, D), ArgumentError, "arange: 0.0 to 1.0 by 0.0; they must be finite"),
    (lambda: Tensor.arange("a", device=D), DTypeError, "arange: start, end, step is"),
    (lambda: X.to("f16", "f16"), ArgumentError, "to: 'f16' is no device; give a device and a dtype, or one of them"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "kind", "text"), LEAKS, ids=[c[2][:45] for c in LEAKS])
def test_a_wrong_type_is_named(call: Callable[[], Any], kind: type[BurnError], text: str) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "call",
    [
        lambda d: Tensor.eye(2**17, d),
        lambda d: Tensor([0, 1], device=d).one_hot(2**33),
        lambda d: Tensor([0, 1], device=d).one_hot_fill(2**33, 1, 0),
        lambda d: Tensor.triu_mask((2**18, 2**18), 0, d),
        lambda d: Tensor.cartesian_grid((2**17, 2**17), d),
        lambda d: Tensor.arange(0.0, 2.0**36, 1.0, d),
    ],
)
def test_what_is_too_large_is_refused_before_it_is_built(device: Device, call: Callable[[Device], Any]) -> None:
    with pytest.raises((UnsupportedError, ArgumentError, MemoryError)) as caught:
        call(device)
    assert isinstance(caught.value, BurnError)


@pytest.mark.gpu
def test_the_device_s_limit_names_the_function() -> None:
    with pytest.raises(UnsupportedError, match="^eye: a tensor of 18014398509481984 bytes exceeds"):
        Tensor.eye(2**26, "wgpu")


@pytest.mark.parametrize("dtype", ["f32", "f16", "u8", int, bool])
def test_large_identities_come_from_the_device(device: Device, dtype: Any) -> None:
    for n in (1, 511, 512, 700):
        x = Tensor.eye(n, device, dtype)
        np.testing.assert_array_equal(x.numpy(), np.eye(n))
        assert x.dtype is Tensor.zeros(1, device, dtype).dtype


def test_reductions_by_numpy_s_names(device: Device) -> None:
    a = np.array([[1.0, 5.0, 2.0], [4.0, 3.0, 6.0]], np.float32)
    x = Tensor(a, device=device)
    for name in ("sum", "mean", "max", "min", "prod"):
        function = getattr(np, name)
        assert function(x).tolist() == [function(a)]
        assert function(x, axis=0).tolist() == function(a, axis=0).tolist()
        assert function(x, axis=1, keepdims=True).tolist() == function(a, axis=1, keepdims=True).tolist()
        assert function(x, axis=(0, 1)).tolist() == function(a, axis=(0, 1)).item()
    for name in ("argmax", "argmin"):
        function = getattr(np, name)
        assert getattr(x, name)().tolist() == [function(a)] and function(x).tolist() == [function(a)]
        assert function(x, axis=1).tolist() == function(a, axis=1).tolist()
        assert function(x, axis=1, keepdims=True).tolist() == function(a, axis=1, keepdims=True).tolist()
        assert getattr(x, name)(1).shape == (2, 1)
    assert np.any(x > 5, axis=0).tolist() == [False, False, True] and np.all(x > 0).tolist() == [True]
    assert (x > 2).sum().tolist() == [4] and (x > 2).sum(1).tolist() == [1, 3] and (x > 2).sum().kind == "int"
    assert x.sum(dtype="f16").dtype is bw.f16 and np.sum(x, dtype=np.float16).dtype is bw.f16
    assert x.var(1).shape == (2, 1) and x.std(1).shape == (2, 1)


def test_conveniences_of_other_libraries(device: Device) -> None:
    x = Tensor([[3.0, -4.0], [0.0, 1e-6]], device=device)
    assert x.clip(-1, 1).tolist()[0] == [1.0, -1.0] and isinstance(np.clip(x, -1.0, 1.0), Tensor)
    np.testing.assert_allclose(x.expm1().numpy(), np.expm1(x.numpy()), rtol=2e-6)
    assert Tensor([100.0, -200.0], device=device).expm1().tolist() == [float("inf"), -1.0]
    np.testing.assert_allclose(x.norm().numpy(), [5.0], rtol=1e-6)
    np.testing.assert_allclose(x.norm(1, 0).numpy(), [3, 4 + 1e-6], rtol=1e-6)
    assert x.norm(float("inf"), (0, 1), True).tolist() == [[4.0]]
    assert x.to("f16").dtype is bw.f16 and x.to(Device("cpu")).device == Device("cpu") == x.cpu().device
    assert x.to("cpu", "f64").dtype is bw.f64 and x.to(int).kind == "int"
    assert Tensor.rand(2, 3, device=device).shape == (2, 3) == Tensor.randn((2, 3), device=device).shape
    device.seed(1)
    drawn = Tensor.randn(64, device=device, dtype="f16")
    device.seed(1)
    again = Tensor.random(64, Distribution.normal(0, 1), device, "f16")
    assert drawn.dtype is bw.f16 and drawn.tolist() == again.tolist()


def test_ranges_of_floats(device: Device) -> None:
    for arguments in ((0.0, 1.0, 0.25), (0, 1, 0.1), (1.0, -1.0, -0.5), (0.5, 3), (2.5,), (1.0, 1.0)):
        got = Tensor.arange(*arguments, device=device)
        np.testing.assert_allclose(got.numpy(), np.arange(*arguments), rtol=1e-7, atol=1e-7)
        assert got.dtype is bw.f32 and got.shape == np.arange(*arguments).shape
    assert Tensor.arange(0.0, 3.0, device=device, dtype=int).tolist() == [0, 1, 2]
