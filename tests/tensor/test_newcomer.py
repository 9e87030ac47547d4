"""What someone who knows NumPy and PyTorch tries first: their spellings work, or the error says what to write."""

from __future__ import annotations

import inspect
import math
import random
from collections.abc import Callable

import numpy as np
import pytest

from burn_wgpu import Device, Tensor, TensorData, assert_approx_eq, assert_eq, from_dlpack, from_torch, to_torch
from burn_wgpu.std import shape as shapes
from burn_wgpu.std.errors import ArgumentError, BurnError, DTypeError, IndexOutOfRange, ShapeError
from burn_wgpu.tensor import activation, collective, linalg, signal
from burn_wgpu.tensor.closeness import assert_shape, assert_within_range
from burn_wgpu.tensor.functional import conv2d

A = np.array([[1.5, -2.5, 3.0], [0.25, 4.0, -1.0]], np.float32)
CUBE = np.arange(24, dtype=np.float32).reshape(2, 3, 4) ** 1.5

# ---------------------------------------------------------------------------------------------- NumPy's functions

REDUCTIONS = {
    "sum": np.sum, "mean": np.mean, "prod": np.prod, "max": np.max, "min": np.min,
    "std": np.std, "var": np.var, "any": np.any, "all": np.all,
}  # fmt: skip


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("options", [
    {"axis": 0}, {"axis": -1}, {"axis": 1, "keepdims": True}, {"axis": (0, 2)}, {"axis": (2, 1), "keepdims": True},
    {"keepdims": True},
], ids=str)  # fmt: skip
def test_numpys_reductions_take_a_tensor(device: Device, name: str, options: dict[str, object]) -> None:
    function = REDUCTIONS[name]
    found = function(Tensor(CUBE, device=device), **options)  # type: ignore[operator]
    wanted = function(CUBE, **options)  # type: ignore[operator]
    assert isinstance(found, Tensor) and found.shape == wanted.shape
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-5)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_numpys_reductions_of_all_are_of_one_element(device: Device, name: str) -> None:
    found = REDUCTIONS[name](Tensor(A, device=device))  # type: ignore[operator]
    assert found.shape == (1,)
    np.testing.assert_allclose(found.item(), REDUCTIONS[name](A), rtol=1e-6)  # type: ignore[operator]


def test_all_axes_may_be_kept(device: Device) -> None:
    t = Tensor(CUBE, device=device)
    for kept in (t.sum(keepdim=True), t.any(keepdim=True), t.max(keepdim=np.bool_(True)), t.norm(keepdim=True)):
        assert kept.shape == (1, 1, 1)
    assert t.sum().shape == t.var().shape == t.norm().shape == (1,)


def test_numpys_spread_divides_by_what_ddof_says(device: Device) -> None:
    t = Tensor(CUBE, device=device)
    for ddof in (0, 1, 2.5):
        np.testing.assert_allclose(np.var(t, axis=1, ddof=ddof).numpy(), np.var(CUBE, axis=1, ddof=ddof), rtol=1e-5)
        np.testing.assert_allclose(np.std(t, ddof=ddof).item(), np.std(CUBE, ddof=ddof), rtol=1e-5)
    assert np.isinf(np.var(t, axis=0, ddof=3).numpy()).all()  # no degree of freedom is left, as NumPy counts
    # By Burn's name it is Burn's: n − 1, and the axis stays.
    assert t.var(1).shape == (2, 1, 4) and t.var(1, keepdim=False).shape == (2, 4) and t.std((0, 1)).shape == (1, 1, 4)
    np.testing.assert_allclose(t.var(1).numpy(), np.var(CUBE, axis=1, ddof=1, keepdims=True), rtol=1e-5)
    np.testing.assert_allclose(t.std().numpy(), [np.std(CUBE, ddof=1)], rtol=1e-5)
    with pytest.raises(ArgumentError, match="dim 0 and axis 1"):
        t.var(0, axis=1)


def test_numpys_movements_take_a_tensor(device: Device) -> None:
    t = Tensor(CUBE, device=device)
    for found, wanted in (
        (np.transpose(t), CUBE.T),
        (np.transpose(t, (2, 0, 1)), CUBE.transpose(2, 0, 1)),
        (np.moveaxis(t, 0, -1), np.moveaxis(CUBE, 0, -1)),
        (np.squeeze(t[:, :1], axis=1), CUBE[:, 0]),
        (t.transpose([1, 2, 0]), CUBE.transpose(1, 2, 0)),
    ):
        assert isinstance(found, Tensor)
        np.testing.assert_array_equal(found.numpy(), wanted)


# ------------------------------------------------------------------------------------------------- Python's builtins


def test_pythons_rounding_functions(device: Device) -> None:
    t, i = Tensor(A, device=device), Tensor([7, -7, 3], device=device)
    np.testing.assert_array_equal(round(t).numpy(), np.rint(A))
    np.testing.assert_allclose(round(t * 1.2345, 2).numpy(), np.round(A * np.float32(1.2345), 2), rtol=1e-6)
    for function, wanted in ((math.floor, np.floor), (math.ceil, np.ceil), (math.trunc, np.trunc)):
        np.testing.assert_array_equal(function(t).numpy(), wanted(A))  # type: ignore[operator]
        assert function(i).tolist() == [7, -7, 3]  # type: ignore[operator]
    assert round(i).tolist() == round(i, 2).tolist() == [7, -7, 3]
    for found, wanted_pair in ((divmod(20, i), divmod(20, np.array([7, -7, 3]))), (divmod(i, 4), divmod(i.numpy(), 4))):
        assert [part.tolist() for part in found] == [part.tolist() for part in wanted_pair]


def test_bytes_are_the_values(device: Device) -> None:
    assert bytes(Tensor(A, device=device)[:, ::-1]) == A[:, ::-1].tobytes()
    assert bytes(Tensor([True, False], device=device)) == b"\x01\x00"


# ---------------------------------------------------------------------------------------------------- Burn's rules


@pytest.mark.parametrize(("axes", "shape"), [
    ([0, -1, -1], (1, 3, 4, 5, 1, 1)), ([-1, -1], (3, 4, 5, 1, 1)), ([-1, -2], (3, 4, 1, 5, 1)), ([-3], (3, 1, 4, 5)),
    ([1, 1], (3, 1, 1, 4, 5)), ([-1, 0], (1, 3, 4, 5, 1)), ([-5, -1], (1, 3, 4, 1, 5)),
], ids=str)  # fmt: skip
def test_negative_new_axes_are_placed_one_after_the_other(cpu: Device, axes: list[int], shape: tuple[int, ...]) -> None:
    assert Tensor.zeros((3, 4, 5), device=cpu).unsqueeze_dims(axes).shape == shape


def test_new_axes_must_fit(cpu: Device) -> None:
    t = Tensor.zeros((3,), device=cpu)
    for axes in ([2], [-3], [2, 2], [-1, -3]):
        with pytest.raises(ShapeError, match="unsqueeze_dims"):
            t.unsqueeze_dims(axes)


# ------------------------------------------------------------------------------------------------------- PyTorch


def test_a_torch_tensor_becomes_a_tensor_whatever_its_dtype_and_gradient(device: Device) -> None:
    torch = pytest.importorskip("torch")
    half = torch.tensor([1.5, -2.0], dtype=torch.bfloat16)
    for make in (Tensor, from_dlpack):
        made = make(half, device=device)
        assert made.dtype is device.settings.float_dtype and made.tolist() == [1.5, -2.0]
        assert make(torch.ones(2, requires_grad=True), device=device).tolist() == [1.0, 1.0]
        assert make(torch.arange(6).reshape(2, 3).T, device=device).tolist() == [[0, 3], [1, 4], [2, 5]]
        assert make(torch.tensor(True), device=device).tolist() is True
    for wrong in (torch.ones(2).to_sparse(), torch.ones(2, dtype=torch.complex64)):
        for read in (Tensor, from_dlpack, from_torch):
            with pytest.raises(DTypeError, match="it must be dense"):
                read(wrong, device=device)


# -------------------------------------------------------------------------------------------------------- errors


def test_an_index_on_the_device_is_reported_as_it_was_given(device: Device) -> None:
    t = Tensor(np.arange(5), device=device)
    for wrong in (-6, -100, 5, 2**31 - 1, -(2**31)):
        with pytest.raises(IndexOutOfRange, match=f"index {wrong} "):
            t[Tensor([0, wrong], device=device)].tolist()
    assert t[Tensor([-5, -1, 0, 4], device=device)].tolist() == [0, 4, 0, 4]
    with pytest.raises(IndexOutOfRange, match="index -1 "):
        t[:0][Tensor([-1], device=device)].tolist()
    assert t[:0][Tensor.zeros((0,), device=device, dtype=int)].shape == (0,)


T = Tensor(A, device="cpu")
I3 = Tensor([1, 2, 3], device="cpu")
EMPTY = Tensor.zeros((0, 3), device="cpu")
MASK = Tensor([True, False, True], device="cpu")

MESSAGES: list[tuple[Callable[[], object], type[Exception], str]] = [
    (lambda: T.transpose(0, 1), ArgumentError, "transpose: the axes are 0, 1; it takes none. Exchange two axes with "
     ".swap_dims(first, second), order all with .permute(axes)"),
    (lambda: f"{T:.2f}", ShapeError, "format: the tensor has shape [2, 3] and the format is '.2f'; only one element "
     "takes a number's format. Write '.2' for two decimals everywhere"),
    (lambda: T.squeeze(0), ShapeError, "squeeze: axis 0 of shape [2, 3] has size 2; it must be 1"),
    (lambda: T.roll(1, 5), ShapeError, "roll: dim 5 is out of range for rank 2; it must lie in -2 .. 1"),
    (lambda: T.split([1, 2]), ShapeError, "split: sizes [1, 2] add up to 3, and axis 0 of shape [2, 3] has 2; they "
     "must be equal and not negative"),
    (lambda: T.sum().flatten()[0].flatten(1, 1), ShapeError, "flatten: dim 1 is out of range for rank 1; it must "
     "lie in -1 .. 0"),
    (lambda: T.matmul(Tensor([1.0, 2.0], device="cpu")), ShapeError, "matmul: lhs [2, 3] and rhs [2] disagree on the "
     "inner size (3 and 2)"),
    (lambda: I3.float().matmul(T), ShapeError, "matmul: lhs [3] and rhs [2, 3] disagree on the inner size (3 and 2)"),
    (lambda: EMPTY.max(), ShapeError, "max: shape [0, 3] has no elements; there must be one"),
    (lambda: EMPTY.argmin(), ShapeError, "argmin: shape [0, 3] has no elements; there must be one"),
    (lambda: EMPTY.min(0), ShapeError, "min: axis 0 of shape [0, 3] has size 0; it must have an element"),
    (lambda: MASK & 2, DTypeError, "bool_and: a tensor of bool(u8) and the number 2; the number must be True or False. "
     "Convert the tensor with .int()"),
    (lambda: 0.5 | MASK, DTypeError, "bool_or: a tensor of bool(u8) and the number 0.5; the number must be True or "
     "False. Convert the tensor with .int()"),
    (lambda: I3 + 1e300, ArgumentError, "add: the number 1e+300 does not fit into the tensor's i32 (-2147483648 .. "
     "2147483647). Convert the tensor with .float()"),
    (lambda: T.to("cuda"), DTypeError, "to: 'cuda' is neither a device, such as 'wgpu:0' or 'cpu', nor a dtype, such "
     "as 'f16'"),
    (lambda: Tensor.zeros(2, 3), DTypeError, "device: 3 is of type int; a device is named, as 'wgpu:0' or 'cpu'. A "  # type: ignore[arg-type]
     "shape is one argument, as zeros((2, 3))"),
    (lambda: Tensor([1, None], device="cpu"), DTypeError, "tensor: the data is of type NoneType; it must be numbers or "
     "bools that a NumPy dtype can hold"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "kind", "text"), MESSAGES, ids=[m[2][:40] for m in MESSAGES])
def test_messages_name_what_was_called(call: Callable[[], object], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == text


@pytest.mark.parametrize("name", ["max", "min", "max_abs", "argmax", "argmin"])
def test_nothing_has_no_maximum_on_any_device(device: Device, name: str) -> None:
    t = Tensor.zeros((2, 0), device=device)
    for call in (lambda: getattr(t, name)(), lambda: getattr(t, name)(1), lambda: getattr(t, name)(dim=1, keepdim=True)
                 if name != "max_abs" else t.max_abs(1, True)):  # fmt: skip
        with pytest.raises(ShapeError, match=f"^{name}: "):
            call()
    if not name.startswith("arg"):
        with pytest.raises(ShapeError, match=f"^{name}_dim: "):
            getattr(t, f"{name}_dim")(1)
        with pytest.raises(ShapeError, match=f"^{name}_dims: "):
            getattr(t, f"{name}_dims")([0, 1])
    assert getattr(t, name)(0).shape[-1] == 0


# ------------------------------------------------------------------------------------------- arguments of any type

WRONG: list[tuple[Callable[[], object], type[Exception], str]] = [
    (lambda: T.sum(np.array("a")), DTypeError, "sum: dim is "),
    (lambda: Tensor.cat(np.array(1)), DTypeError, "cat: the tensors are of type ndarray"),
    (lambda: T.slice(np.array(1.5)), DTypeError, "slice: array(1.5) is no slice"),
    (lambda: activation.softplus_with_threshold(T, 1.0, None), DTypeError, "softplus: threshold is None"),  # type: ignore[arg-type]
    (lambda: activation.celu(T, np.zeros(2)), DTypeError, "celu: alpha is array([0., 0.])"),  # type: ignore[arg-type]
    (lambda: activation.soft_shrink(T, "a"), DTypeError, "shrink: lambda_ is 'a'"),  # type: ignore[arg-type]
    (lambda: signal.hann_window([2, 3]), DTypeError, "hann_window: size is [2, 3]"),  # type: ignore[arg-type]
    (lambda: signal.hann_window(2**70), ShapeError, "hann_window: shape [1180591620717411303424] has 2^62 elements"),
    (lambda: signal.rfft(T, 0, 2.5), DTypeError, "rfft: n is 2.5"),  # type: ignore[arg-type]
    (lambda: signal.stft(T, None, 16), DTypeError, "stft: the options are 16; they must be StftOptions"),  # type: ignore[arg-type]
    (lambda: signal.istft(T, None, 5, [0]), DTypeError, "istft: the options are [0]; they must be StftOptions"),  # type: ignore[arg-type]
    (lambda: conv2d(T, T, None, 3), DTypeError, "conv2d: the options are 3; they must be ConvOptions"),  # type: ignore[arg-type]
    (lambda: collective.all_reduce(["a"]), DTypeError, "all_reduce: tensor 0 is of type str"),  # type: ignore[list-item]
    (lambda: collective.all_reduce([T], "max"), ArgumentError, "all_reduce: the operation is 'max'"),
    (lambda: collective.broadcast(A, []), DTypeError, "broadcast: the tensor is of type ndarray"),  # type: ignore[arg-type]
    (lambda: T.quantize_dynamic("q8"), DTypeError, "quantize_dynamic: the scheme is of type str"),  # type: ignore[arg-type]
    (lambda: TensorData.zeros([1.5]), DTypeError, "full: the shape is [1.5]"),  # type: ignore[list-item]
    (lambda: TensorData.random(3, "normal"), DTypeError, "random: the distribution is 'normal'"),  # type: ignore[arg-type]
    (lambda: Tensor.rand(0, 2**70), ShapeError, "random: shape [0, 1180591620717411303424] has 2^62 elements"),
    (lambda: I3.repeat(2**70), ShapeError, "repeat_dim: shape [3541774862152233910272] has 2^62 elements"),
    (lambda: to_torch(A), DTypeError, "to_torch: the tensor is of type ndarray"),  # type: ignore[arg-type]
    (lambda: assert_approx_eq(T, A, 1e-3), DTypeError, "assert_approx_eq: the tolerance is 0.001; it must be"),  # type: ignore[arg-type]
    (lambda: assert_shape(T, None), DTypeError, "assert_shape: a Tensor and a NoneType"),  # type: ignore[arg-type]
    (lambda: shapes.reduce((2, 3), None), DTypeError, "reduce: the axis is of type NoneType"),  # type: ignore[arg-type]
    (lambda: T.sum(0, 1), DTypeError, "sum: keepdim is 1; it must be True or False. Several axes are one argument"),  # type: ignore[arg-type]
    (lambda: T.any(0, 1), DTypeError, "any: keepdim is 1"),  # type: ignore[arg-type]
    (lambda: T.argmax(0, 1), DTypeError, "argmax: keepdim is 1"),  # type: ignore[arg-type]
    (lambda: T.var(0, 1), DTypeError, "var: keepdim is 1"),  # type: ignore[arg-type]
    (lambda: T.norm(2, 0, 1), DTypeError, "norm: keepdim is 1"),  # type: ignore[arg-type]
    (lambda: T.max(None, T), DTypeError, "max: keepdim is of type Tensor"),  # type: ignore[arg-type]
    (lambda: T.sort(0, 1), DTypeError, "sort: descending is 1; it must be True or False"),  # type: ignore[arg-type]
    (lambda: linalg.qr(T, "complete"), DTypeError, "qr: reduced is 'complete'"),  # type: ignore[arg-type]
    (lambda: round(T, "a"), DTypeError, "round: ndigits is 'a'"),  # type: ignore[call-overload]
]  # fmt: skip


@pytest.mark.parametrize(("call", "kind", "text"), WRONG, ids=[m[2][:40] for m in WRONG])
def test_what_is_wrong_is_named(call: Callable[[], object], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert text in str(caught.value)


def test_assertions_take_arrays_and_lists() -> None:
    assert_approx_eq(T, A)
    assert_approx_eq([1.0, 2.0], Tensor([1.0, 2.001], device="cpu"))
    assert_eq(I3, np.array([1, 2, 3], np.int32))
    assert_within_range(A, -3, 5)
    with pytest.raises(AssertionError, match=r"\[0\]: 1.0 and 1.5"):
        assert_approx_eq([1.0], [1.5])


_ANYTHING: list[object] = [
    None, "a", "", 1.5, -1, 0, 1, 2, 3, 7, 10**6, -(10**6), 2**63, 2**70, [], [0], [1, 2], [0, 0], (1, 0), (-1,),
    [None], ["a"], [1.5], {}, set(), object(), float("nan"), float("inf"), True, False, 1j, b"x", np.float32(1),
    np.int64(1), np.array(1), slice(None), slice(0, 2), range(2), "f16", "i64", int, float, Device("cpu"),
    TensorData.of([1]), "add", "constant", T, I3, MASK, EMPTY,
    Tensor(2.5, device="cpu"), Tensor([[1.0, 2.0]], device="cpu", dtype="f16"),
    [T, T], [T, I3], [T, None],
]  # fmt: skip
_OPERATORS = ["getitem", "add", "rsub", "eq", "lt", "and", "pow", "rpow", "matmul", "lshift", "rlshift", "contains",
              "mod", "floordiv", "divmod", "round"]  # fmt: skip
_METHODS = sorted(
    name for name in dir(Tensor)
    if not name.startswith("_") and name not in ("extract", "inplace", "primitive")
    and not isinstance(inspect.getattr_static(Tensor, name), property) and "async" not in name
) + [f"__{name}__" for name in _OPERATORS]  # fmt: skip
_OF_PYTHON = ("positional argument", "unexpected keyword", "missing", "unsupported operand")


@pytest.mark.parametrize("name", _METHODS)
def test_a_method_says_what_it_cannot_take(name: str) -> None:
    """Every argument of any type: a result, one of our errors, or Python's own about the number of arguments."""
    draw = random.Random(name)
    for _ in range(60):
        bound = getattr(draw.choice([T, T, I3, MASK, EMPTY]), name)
        wanted = [p for p in inspect.signature(bound).parameters.values() if p.kind is not p.KEYWORD_ONLY]
        least = sum(p.default is p.empty and p.kind is not p.VAR_POSITIONAL for p in wanted)
        arguments = [draw.choice(_ANYTHING) for _ in range(draw.randint(least, len(wanted)))]
        try:
            bound(*arguments)
        except BurnError as error:
            assert len(str(error)) > 10
        except TypeError as error:
            assert any(text in str(error) for text in _OF_PYTHON), (arguments, error)
