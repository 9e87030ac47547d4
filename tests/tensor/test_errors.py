"""What wrong arguments say, by their whole text."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from burn_wgpu import Device, Slice, Tensor, from_dlpack
from burn_wgpu.std import errors
from burn_wgpu.std.errors import (
    ArgumentError,
    BurnError,
    DeviceMismatch,
    DTypeError,
    IndexOutOfRange,
    ShapeError,
    UnsupportedDType,
)
from burn_wgpu.tensor import functional as F
from burn_wgpu.tensor.activation import glu, prelu
from burn_wgpu.tensor.linalg import cholesky, solve

D = Device("cpu")
X = Tensor(np.zeros((2, 3)), device=D)
I = Tensor(np.zeros((2, 3), int), device=D)
B = X > 0
S = Tensor(0.0, device=D)
H = X.cast("f16")

CASES: list[tuple[Callable[[], Any], type[BurnError], str]] = [
    (lambda: X + Tensor.zeros((2, 4), D), ShapeError,
     "add: shapes [2, 3] and [2, 4] disagree on axis -1 (3 and 4); sizes must be equal or 1"),
    (lambda: X + H, DTypeError,
     "add: lhs is f32 and rhs is f16; the dtypes must be equal. Convert one with .cast('f32')"),
    (lambda: X * I, DTypeError,
     "mul: lhs is of kind float (f32) and rhs of kind int (i32); the kinds must be equal. "
     "Convert one with .float(), .int() or .bool()"),
    (lambda: X - Tensor.zeros((2, 3), Device("cpu:1")), DeviceMismatch,
     "sub: operands are on cpu and cpu:1; they must be on one device. Move one with .to_device('cpu')"),
    (lambda: X.add("a"), DTypeError,  # type: ignore[arg-type]
     "add: the right operand is str; it must be a tensor, a number or a NumPy array"),
    (lambda: B + B, DTypeError,
     "add: a tensor of kind bool has no such operation; it is for numbers: convert with .int() or .float()"),
    (lambda: I.exp(), DTypeError,
     "exp: a tensor of kind int has no such operation; it is for float tensors: convert with .float()"),
    (lambda: X & X, DTypeError,
     "bitwise_and: the tensor is of kind float (f32); it must be int. Convert it with .int()"),
    (lambda: I + np.zeros((2, 3)), DTypeError,
     "add: a NumPy array of float64 beside a tensor of i32; make a tensor of it first: Tensor(array)"),
    (lambda: I ** 0.5, DTypeError,
     "pow: an int tensor (i32) to the power of 0.5; the exponent must be an int. Convert the tensor with .float()"),
    (lambda: X.sum_dim(2), ShapeError, "sum_dim: dim 2 is out of range for rank 2; it must lie in -2 .. 1"),
    (lambda: S.sum_dim(0), ShapeError, "sum_dim: dim 0 of a tensor of rank 0, which has no axes"),
    (lambda: X.sum_dim("a"), DTypeError, "sum_dim: dim is 'a'; it must be an int"),  # type: ignore[arg-type]
    (lambda: X.sum_dims([0, -2]), ShapeError, "sum_dims: axes [0, 0] name one axis twice; each may occur once"),
    (lambda: X.reshape(4, 2), ShapeError,
     "reshape: [2, 3] has 6 elements and [4, 2] has 8; the counts must be equal"),
    (lambda: X.reshape(-1, -1), ShapeError,
     "reshape: shape [-1, -1] has 2 axes of -1; at most one can be inferred"),
    (lambda: X.reshape(4, -1), ShapeError,
     "reshape: [2, 3] has 6 elements, which do not divide into [4, -1] (4 each)"),
    (lambda: Tensor.zeros((0, 3), D).reshape(0, -1), ShapeError,
     "reshape: shape [0, -1] has -1 beside a size of 0, so -1 could be anything"),
    (lambda: X.reshape(-2, 3), ShapeError, "reshape: shape [-2, 3] has a size below -1; -1 infers one axis"),
    (lambda: X.reshape(2.5), DTypeError, "reshape: shape is 2.5; it must be made of ints"),  # type: ignore[arg-type]
    (lambda: X.expand(4, 3), ShapeError,
     "expand: [2, 3] to [4, 3]; axis 0 of size 2 cannot become 4, only axes of size 1 grow"),
    (lambda: X.expand(-1, 2, 3), ShapeError,
     "expand: [2, 3] to [-1, 2, 3]; -1 keeps an axis, but axis 0 is new and needs a size"),
    (lambda: X.expand(3), ShapeError, "expand: [2, 3] to [3]; the target must not have fewer axes"),
    (lambda: X.permute(0), ShapeError, "permute: axes [0] for shape [2, 3]; all 2 axes must be listed"),
    (lambda: X.squeeze_dim(1), ShapeError, "squeeze_dim: axis 1 of shape [2, 3] has size 3; it must be 1"),
    (lambda: X.flatten(1, 0), ShapeError, "flatten: start_dim is 1 and end_dim 0; the start must not be after the end"),
    (lambda: X.narrow(1, 2, 2), ArgumentError,
     "narrow: start 2 and length 2 on axis 1 of size 3; "
     "the range must lie inside the axis and hold at least one element"),
    (lambda: X.repeat(2), ShapeError,
     "repeat: sizes [2] for shape [2, 3]; there must be one number per axis"),
    (lambda: X.roll([1], [0, 1]), ShapeError, "roll: shifts [1] and dims [0, 1] must be of equal length"),
    (lambda: X.unfold(1, 4, 1), ShapeError,
     "unfold: windows of size 4 along axis 1 of shape [2, 3]; a window must not be larger than the axis"),
    (lambda: X.split(0), ArgumentError, "split: split_size is 0 for an axis of size 2; it must be at least 1"),
    (lambda: X.split_with_sizes([1, 2], 1), None, ""),
    (lambda: X.split_with_sizes([1, 1], 1), ShapeError,
     "split_with_sizes: sizes [1, 1] add up to 2, and axis 1 of shape [2, 3] has 3; "
     "they must be equal and not negative"),
    (lambda: Tensor.cat([]), ArgumentError, "cat: the list of tensors is empty; it needs at least one"),
    (lambda: Tensor.cat([X, Tensor.zeros((2, 4), D)]), ShapeError,
     "cat: tensor 0 has shape [2, 3] and tensor 1 [2, 4]; they must be equal but for axis 0"),
    (lambda: Tensor.stack([X, Tensor.zeros((2, 4), D)]), ShapeError,
     "stack: tensor 0 has shape [2, 3] and tensor 1 [2, 4]; they must be equal"),
    (lambda: Tensor.zeros((2, -1), D), ShapeError, "zeros: shape [2, -1] has a negative size"),
    (lambda: Tensor.zeros((1,) * 17, D), ShapeError,
     f"zeros: shape {[1] * 17} has rank 17; ranks go up to 16"),
    (lambda: X @ Tensor.zeros((2, 3), D), ShapeError,
     "matmul: lhs [2, 3] and rhs [2, 3] disagree on the inner size (3 and 2)"),
    (lambda: Tensor.zeros((2, 1, 3), D) @ Tensor.zeros((3, 3, 1), D), ShapeError,
     "matmul: shapes [2] and [3] disagree on axis -1 (2 and 3); sizes must be equal or 1"),
    (lambda: X @ S, ShapeError,
     "matmul: lhs [2, 3] and rhs []; an operand of rank 0 has no axis to sum over"),
    (lambda: X.clamp(2, 1), ArgumentError, "clamp: min is 2 and max is 1; min must not exceed max"),
    (lambda: X.clamp(), ArgumentError, "clamp: neither min nor max is given; give at least one"),
    (lambda: X.topk(4), ArgumentError,
     "topk: k is 4 and axis 1 of shape [2, 3] has size 3; k must lie between 0 and the size"),
    (lambda: I.one_hot(1), ArgumentError, "one_hot: num_classes is 1; it must be at least 2"),
    (lambda: Tensor([5], device=D).one_hot(3), IndexOutOfRange,
     "one_hot: class 5 with num_classes 3; classes run from -3 to 2"),
    (lambda: X.pad([(0, 1)] * 3), ShapeError,
     "pad: 3 pairs for shape [2, 3]; there must not be more pairs than axes"),
    (lambda: X.pad([(-1, 0)]), ArgumentError,
     "pad: padding [(-1, 0)] has a negative number; narrow the tensor instead"),
    (lambda: X.pad([(0, 3)], "reflect"), ShapeError,
     "pad: reflect padding (0, 3) of axis 1 with size 3; each must be below the size"),
    (lambda: X.item(), ShapeError, "item: shape [2, 3] has 6 elements; it must have exactly one"),
    (lambda: bool(X), ShapeError,
     "bool: shape [2, 3] has 6 elements, whose truth is ambiguous; use .any() or .all()"),
    (lambda: len(S), DTypeError, "len: a tensor of rank 0 has no length"),
    (lambda: list(S), DTypeError, "iter: a tensor of rank 0 cannot be iterated over"),
    (lambda: range(3)[S], DTypeError,
     "index: a tensor of kind float (f32); only an int tensor can be an index"),
    (lambda: X[2], IndexOutOfRange, "getitem: index 2 is out of range for axis 0 of size 2"),
    (lambda: X[0, -4], IndexOutOfRange, "getitem: index -4 is out of range for axis 1 of size 3"),
    (lambda: X[0, 0, 0], IndexOutOfRange,
     "getitem: 3 indices for shape [2, 3]; there must not be more indices than axes"),
    (lambda: X[..., ...], ShapeError, "getitem: an index may hold only one '...'"),
    (lambda: X[True], DTypeError,
     "getitem: a bare bool is no index; use a mask with the shape of the axes, or None for a new axis"),
    (lambda: X["a"], DTypeError,  # type: ignore[index]
     "getitem: 'a' is no index; use ints, slices, ..., None, masks, or arrays of ints"),
    (lambda: X[::0], ArgumentError,
     "getitem: the step of slice(None, None, 0) is 0; it must be positive or negative"),
    (lambda: X[[0.5]], DTypeError,
     "getitem: an index array is of NumPy dtype float64; it must be of ints or bools"),
    (lambda: X[:, [0, 3]], IndexOutOfRange, "getitem: index 3 is out of range for axis 1 of size 3"),
    (lambda: X[[[True, False]]], ShapeError,
     "getitem: a mask of shape [1, 2] on axes of shape [2, 3]; they must be equal"),
    (lambda: X[X], DTypeError,
     "getitem: indices are of kind float (f32); they must be int. Convert them with .int()"),
    (lambda: X.__setitem__(0, 1), DTypeError,
     "setitem: tensors are immutable, t[...] = v is not possible; use t = t.slice_assign(slices, values), "
     "t.mask_fill(mask, value) or t.scatter(dim, indices, values)"),
    (lambda: X.select_dim(0, 2), IndexOutOfRange, "select_dim: index 2 is out of range for axis 0 of size 2"),
    (lambda: X.slice([0, 0, 0]), ShapeError,
     "slice: 3 slices for shape [2, 3]; there must not be more slices than axes"),
    (lambda: X.slice(["a"]), DTypeError,  # type: ignore[list-item]
     "slice: 'a' is no slice; use ints, (start, end), range or Slice"),
    (lambda: X.slice_assign([(0, 1)], X), ShapeError,
     "slice_assign: the region has shape [1, 3] and the values [2, 3]; the values must fit into the region"),
    (lambda: X.select(0, [2]), IndexOutOfRange,
     "select: index 2 is out of range for an axis of size 2; indices run from 0 to 1"),
    (lambda: X.select(0, [-1]), IndexOutOfRange,
     "select: index -1 is out of range for an axis of size 2; indices run from 0 to 1"),
    (lambda: X.select(0, X), DTypeError,
     "select: indices are of kind float (f32); they must be int. Convert them with .int()"),
    (lambda: X.select(0, I), ShapeError, "select: indices has shape [2, 3] of rank 2; the rank must be 1"),
    (lambda: X.gather(0, [[0]]), ShapeError,
     "gather: the tensor has shape [2, 3] and the indices [1, 1]; they must be equal but for axis 0"),
    (lambda: X.scatter(0, I, Tensor.zeros((1, 3), D)), ShapeError,
     "scatter: values has shape [1, 3]; it must be [2, 3]"),
    (lambda: X.scatter(0, I, X, "sub"), ArgumentError,
     "scatter: update 'sub' is unknown; use one of 'assign', 'add', 'mul', 'min', 'max'"),
    (lambda: X.gather_nd([[0, 0, 0]]), ShapeError,
     "gather_nd: the indices have shape [1, 3], so 3 coordinates, for a tensor of shape [2, 3]; "
     "there must not be more coordinates than axes"),
    (lambda: X.mask_fill(X, 0), DTypeError,
     "mask_fill: the mask is of kind float (f32); it must be bool. Convert it with .bool()"),
    (lambda: Tensor([2**40], device=D), ArgumentError,
     "tensor: the value 1099511627776 does not fit into i32 (-2147483648 .. 2147483647). "
     "Give a wider dtype, for example dtype='i64'"),
    (lambda: Tensor([2**70], device=D), DTypeError,
     "tensor: the data is the int 1180591620717411303424, wider than 64 bits; "
     "it must be numbers or bools that a NumPy dtype can hold"),
    (lambda: Tensor.from_ints([float("nan")], D), ArgumentError,
     "from_ints: NaN is among the values, and the dtype i32 cannot hold it"),
    (lambda: Tensor.from_ints([float("inf")], D), ArgumentError,
     "from_ints: the value inf does not fit into i32 (-2147483648 .. 2147483647). "
     "Give a wider dtype, for example dtype='i64'"),
    (lambda: Tensor(["a"], device=D), DTypeError,
     "data: NumPy dtype <U1 has no counterpart; use numbers or bools"),
    (lambda: Tensor([object()], device=D), DTypeError,
     "tensor: the data is of type object; it must be numbers or bools that a NumPy dtype can hold"),
    (lambda: Tensor.full(2, "a", D), DTypeError, "full: the value is 'a'; it must be a number"),  # type: ignore[arg-type]
    (lambda: Tensor.arange(0, 5, 0, D), ArgumentError,
     "arange: the step from 0 to 5 is 0; it must not be 0"),
    (lambda: Tensor.arange(2**31, 2**31 + 2, 1, D), ArgumentError,
     "arange: the value 2147483648 does not fit into i32 (-2147483648 .. 2147483647)"),
    (lambda: np.asarray(X, copy=False), ArgumentError,
     "array: copy=False is not possible; reading a tensor always copies it to the host"),
    (lambda: F.linear(X, Tensor.zeros((2, 4), D)), ShapeError,
     "linear: x [2, 3] and weight [2, 4] disagree on the inner size (3 and 2); the weight is [in, out]"),
    (lambda: F.linear(X, Tensor.zeros((3, 4), D), Tensor.zeros(3, D)), ShapeError,
     "linear: bias has shape [3]; it must be [4], the weight's output size"),
    (lambda: F.linear(X, Tensor.zeros((3, 4), D, "f16")), DTypeError,
     "linear: x is f32 and weight is f16; the dtypes must be equal. Convert one with .cast('f32')"),
    (lambda: F.conv1d(Tensor.zeros((1, 3, 5), D), Tensor.zeros((2, 2, 3), D)), ShapeError,
     "conv1d: x [1, 3, 5] has 3 channels and the weight [2, 2, 3] with 1 groups wants 2; "
     "the channels of x must be weight.shape[1] · groups, and those of the weight must divide by the groups"),
    (lambda: F.embedding(X, X), DTypeError,
     "embedding: the indices is of kind float (f32); it must be int. Convert it with .int()"),
    (lambda: F.layer_norm(X, Tensor.ones(2, D)), ShapeError,
     "layer_norm: gamma has shape [2]; it must be [3], the size of x's last axis"),
    (lambda: glu(X, 1), ShapeError, "glu: axis 1 of shape [2, 3] has size 3; it must be even"),
    (lambda: prelu(X, Tensor.ones(2, D)), ShapeError,
     "prelu: alpha has 2 elements and the tensor shape [2, 3]; "
     "alpha must have 1 element or one per channel (axis 1)"),
    (lambda: Tensor.einsum("ij,jk", X), ArgumentError,
     "einsum: 'ij,jk' has 2 inputs, but 1 tensors are given"),
    (lambda: Tensor.einsum("i1", X), ArgumentError,
     "einsum: the character '1' at offset 1 of 'i1' is no label; labels are letters"),
    (lambda: Tensor.einsum("i.j", X), ArgumentError,
     "einsum: a lone '.' at offset 1 of 'i.j'; an ellipsis is '...'"),
    (lambda: Tensor.einsum("ij->ijk", X), ArgumentError,
     "einsum: the output label 'k' of 'ij->ijk' occurs in no input"),
    (lambda: Tensor.einsum("ij->ii", X), ArgumentError,
     "einsum: the output of 'ij->ii' has the label 'i' twice; each may occur once"),
    (lambda: Tensor.einsum("ij,jk->ik", X, X), ShapeError,
     "einsum: label 'j' of 'ij,jk->ik' has the sizes 3 and 2; they must be equal or 1"),
    (lambda: Tensor.einsum("ii", X), ShapeError,
     "einsum: the repeated label 'i' of operand 0 has the sizes 2 and 3; they must be equal"),
    (lambda: Tensor.einsum("ijk", X), ShapeError,
     "einsum: operand 0 of 'ijk' has shape [2, 3], and its subscript names 3 axes"),
    (lambda: cholesky(Tensor([[1.0, 2.0], [2.0, 1.0]], device=D)), ArgumentError,
     "cholesky: pivot 1 of matrix 0 is not positive and finite; the matrix must be positive definite"),
    (lambda: solve(X, X), ShapeError, "solve: A has shape [2, 3]; its last two axes must be equal"),
    (lambda: from_dlpack(3), DTypeError,
     "from_dlpack: int cannot be read ('int' object has no attribute '__dlpack__'); it must be a DLPack producer "
     "on the CPU, of a dtype that NumPy has"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "kind", "text"), CASES, ids=[c[2][:50] or "fine" for c in CASES])
def test_messages(call: Callable[[], Any], kind: type[BurnError] | None, text: str) -> None:
    if kind is None:
        call()
        return
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == text


def test_operators_with_foreign_types_are_type_errors() -> None:
    for call in (lambda: X + "a", lambda: "a" + X, lambda: X @ 2, lambda: X < [1]):  # type: ignore[operator]
        with pytest.raises(TypeError):
            call()
    assert (X == "a") is False
    assert (X != None) is True  # noqa: E711


def test_an_unsupported_dtype_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    device = Device("cpu:7")
    monkeypatch.setitem(device._usage, __import__("burn_wgpu").f64, errors_none())
    with pytest.raises(UnsupportedDType) as caught:
        Tensor([1.0], device=device, dtype="f64")
    assert str(caught.value) == (
        "tensor: cpu:7 (NumPy reference) does not support f64; device.dtype_usage tells what it can do"
    )


def errors_none() -> object:
    from burn_wgpu.std.dtype import DTypeUsage

    return DTypeUsage.NONE


def test_errors_are_builtins_too() -> None:
    assert issubclass(ShapeError, ValueError) and issubclass(DTypeError, TypeError)
    assert issubclass(IndexOutOfRange, IndexError) and issubclass(errors.DivisionByZero, ZeroDivisionError)


def test_the_device_s_faults_surface(device: Device) -> None:
    x = Tensor([1.0, 2.0], device=device)
    with pytest.raises(IndexOutOfRange):
        x.select(0, Tensor([0, 5], device=device)).numpy()
        device.sync()
    with pytest.raises(ZeroDivisionError):
        (Tensor([1, 2], device=device) / Tensor([1, 0], device=device)).numpy()
        device.sync()
    with pytest.raises(ZeroDivisionError):
        Tensor([1, 2], device=device) % 0
    assert x.tolist() == [1.0, 2.0]


def test_async_reads() -> None:
    assert asyncio.run(X.to_data_async()).shape == (2, 3)
    assert asyncio.run(S.into_scalar_async()) == 0.0
    assert asyncio.run(B.nonzero_async()) == []


def test_a_slice_object_prints_in_burn_s_form() -> None:
    assert str(Slice(2, 8, -2)) == "2..8;-2"
