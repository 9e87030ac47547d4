"""Numbers beside tensors: exact comparisons, limits, values that a dtype cannot hold, one rounding."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import burn_wgpu as bw
from burn_wgpu import Device, Slice, Tensor
from burn_wgpu.std.errors import ArgumentError, DivisionByZero, DTypeError

INF, NAN = math.inf, math.nan
COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
NUMBERS = [2.5, 0.5, -0.5, 2, 2.0, 2**40, -(2**40), 2**32, 1e300, 255, 255.5, 256, -1, -1.0, 2**31, 2**31 - 0.5, INF,
           -INF, NAN, np.float32(0.5), np.int64(2**33), True]  # fmt: skip


@pytest.mark.parametrize("op", COMPARISONS, ids=lambda op: op.__name__)
def test_ints_are_compared_exactly_with_every_number(device: Device, op: Callable[..., Any]) -> None:
    for dtype, values in (("i32", [-(2**31), -1, 0, 1, 2, 3, 2**31 - 1]), ("u8", [0, 1, 2, 3, 255])):
        x = Tensor(values, device=device, dtype=dtype)
        for number in NUMBERS:
            plain = number.item() if isinstance(number, np.generic) else number
            want = [op(v, plain) for v in values]
            assert op(x, number).tolist() == want, (dtype, number)
            assert op(x, number).kind == "bool"
            reflected = {operator.lt: operator.gt, operator.gt: operator.lt, operator.le: operator.ge,
                         operator.ge: operator.le}.get(op, op)  # fmt: skip
            assert reflected(plain, x).tolist() == want, (dtype, number)


def test_ints_of_64_bits_are_compared_beyond_the_digits_of_floats(cpu: Device) -> None:
    x = Tensor([2**53, 2**53 + 1, 2**63 - 1], device=cpu, dtype="i64")
    assert (x > 2.0**53).tolist() == [False, True, True]
    assert (x == 2.0**63).tolist() == [False] * 3 and (x < 2.0**63).tolist() == [True] * 3


def test_bools_equal_only_the_numbers_0_and_1(device: Device) -> None:
    x = Tensor([True, False], device=device)
    assert (x == 1).tolist() == [True, False] and (x == 2).tolist() == [False, False]
    assert (x != 2).tolist() == [True, True] and (x == NAN).tolist() == [False, False]


def test_membership_of_a_number_that_does_not_fit(device: Device) -> None:
    x = Tensor([0, 1], device=device)
    assert 1 in x and 2**32 not in x and 0.5 not in x


def test_limits_of_ints_are_rounded_inward_and_saturate(device: Device) -> None:
    x = Tensor([-5, 0, 1, 7], device=device)
    assert x.clamp(-(2**40), 2**40).tolist() == [-5, 0, 1, 7]
    assert x.clamp(-INF, INF).tolist() == [-5, 0, 1, 7]
    assert x.clamp_min(0.5).tolist() == [1, 1, 1, 7]
    assert x.clamp_max(0.5).tolist() == [-5, 0, 0, 0]
    assert x.clip(-1.5, 3.5).tolist() == [-1, 0, 1, 3]
    bytes_ = Tensor([0, 9, 255], device=device, dtype="u8")
    assert bytes_.clamp_min(-5).tolist() == [0, 9, 255]
    assert bytes_.clamp(max=300).tolist() == [0, 9, 255]
    assert bytes_.clamp_min(300).tolist() == [255] * 3
    with pytest.raises(ArgumentError, match="no value of i32 lies between them"):
        x.clamp(0.2, 0.8)
    with pytest.raises(ArgumentError, match="clamp_min: min is NaN, and the dtype i32 cannot hold it"):
        x.clamp_min(NAN)
    with pytest.raises(DTypeError) as caught:
        x.clamp(x, x)
    assert str(caught.value) == "clamp: min is of type Tensor; it must be a number"


FILLS: list[tuple[str, Callable[[Tensor], Any]]] = [
    ("full", lambda x: Tensor.full(2, 300, x.device, "u8")),
    ("full", lambda x: Tensor.full(2, -1, x.device, "u16")),
    ("full", lambda x: Tensor.full(2, 2**33 + 5, x.device)),
    ("full", lambda x: Tensor.full(2, NAN, x.device, "i32")),
    ("full", lambda x: Tensor.full(2, INF, x.device, "i32")),
    ("full_like", lambda x: x.full_like(300)),
    ("mask_fill", lambda x: x.mask_fill(x > 1, 300)),
    ("slice_fill", lambda x: x.slice_fill([0], -1)),
    ("pad", lambda x: x.pad([(1, 1)], 300)),
    ("pad", lambda x: x.pad([(1, 1)], bw.PadMode.constant(256))),
    ("where", lambda x: bw.where(x > 1, x, 256)),
    ("where", lambda x: bw.where(x > 1, 256, x)),
    ("maximum", lambda x: x.maximum(256)),
    ("one_hot_fill", lambda x: x.one_hot_fill(2, 1, -1)),
    ("one_hot_fill", lambda x: x.one_hot_fill(2, 256, 0)),
]


@pytest.mark.parametrize(("name", "call"), FILLS, ids=[f"{n}-{i}" for i, (n, _) in enumerate(FILLS)])
def test_fillings_that_an_int_dtype_cannot_hold_raise(device: Device, name: str, call: Callable[[Tensor], Any]) -> None:
    with pytest.raises(ArgumentError, match=rf"^{name}: the value .*(does not fit into|cannot hold it)"):
        call(Tensor([0, 1, 2], device=device, dtype="u8"))


def test_ints_compute_with_integers_only(device: Device) -> None:
    x = Tensor([4, 6], device=device)
    for call in (lambda: x * 2.5, lambda: 2.5 * x, lambda: x + 0.5, lambda: x - 0.5, lambda: 0.5 - x, lambda: x / 2.5,
                 lambda: 2.5 / x, lambda: x // 2.5, lambda: 2.5 // x, lambda: x % 0.5, lambda: x + NAN,
                 lambda: x * np.float32(0.5), lambda: 0.5**x):  # fmt: skip
        with pytest.raises(DTypeError, match=r"i32.*Convert the tensor with \.float\(\)"):
            call()
    assert (x**2.0).tolist() == [16, 36] and x.maximum(5.0).tolist() == [5, 6]
    with pytest.raises(DTypeError, match=r"maximum: a tensor of i32 and the number 5\.5"):
        x.maximum(5.5)
    assert (x * 2.0).tolist() == [8, 12] and (x / np.float64(2)).tolist() == [2, 3] and (2.0 - x).tolist() == [-2, -4]
    assert (x + 2**32).tolist() == [4, 6] and (x * (2**32 + 1)).tolist() == [4, 6]
    for call in (lambda: x // 2**40, lambda: x / 2**40, lambda: x % 2**40, lambda: 2**40 // x, lambda: 2**40 / x):
        with pytest.raises(ArgumentError, match="does not fit into i32"):
            call()
    for call, name in ((lambda: x // 0, "floor_divide"), (lambda: x / 0, "div"), (lambda: x % 0, "remainder")):
        with pytest.raises(DivisionByZero, match=f"^{name}: the divisor of a tensor of i32 is 0"):
            call()


def test_a_number_over_a_tensor_is_one_division(device: Device, rng: np.random.Generator) -> None:
    assert (1e-5 / Tensor([1e-5], device=device, dtype="f16")).tolist() == [1.0]
    assert (41.0 / Tensor([41.0], device=device)).tolist() == [1.0]
    a = rng.uniform(0.5, 100, 300).astype(np.float32)
    got = (41.0 / Tensor(a, device=device)).numpy()
    np.testing.assert_allclose(
        got, np.float32(41) / a, rtol=1.3e-7
    )  # at most an ulp off where the adapter rounds badly
    half = Tensor(a, device=device, dtype="bf16")
    want = Tensor(np.float32(3) / half.numpy(), device=Device("cpu"), dtype="bf16").numpy()
    np.testing.assert_array_equal((3.0 / half).numpy(), want)
    assert (1.0 / Tensor([[4.0]], device=device)).tolist() == [[0.25]]


def test_a_number_over_subnormal_numbers(cpu: Device) -> None:
    np.testing.assert_allclose((1e-3 / Tensor([1e-39], device=cpu)).numpy(), [1e36], rtol=1e-5)


def test_floor_division_of_floats_at_zero_and_infinity(device: Device) -> None:
    a = np.array([-5.0, 5.0, 0.0, -0.0, INF, NAN, 7.5, -7.5], np.float32)
    x = Tensor(a, device=device)
    with np.errstate(all="ignore"):
        for b in (INF, -INF, 0.0, 2.0, -2.0, 2.5):
            want = np.floor_divide(a, np.float32(b))
            np.testing.assert_array_equal((x // b).numpy(), want, err_msg=str(b))
            divisors = np.full(a.shape, b, np.float32)
            np.testing.assert_array_equal((x // Tensor(divisors, device=device)).numpy(), want, err_msg=str(b))
        np.testing.assert_array_equal((5.0 // x).numpy(), np.floor_divide(np.float32(5), a))


def test_negative_exponents_in_a_tensor_truncate(device: Device) -> None:
    exponents = Tensor([-1, -2, 3], device=device)
    assert (2**exponents).tolist() == [0, 0, 8]
    assert (Tensor([2, 1, -1], device=device) ** Tensor([-1, -5, -3], device=device)).tolist() == [0, 1, -1]
    with pytest.raises(ArgumentError, match="pow: an int tensor .i32. to the power of -1; the exponent must not be"):
        exponents**-1


def test_a_number_is_rounded_once_to_bf16(device: Device) -> None:
    tie = 1 + 2**-8
    zero = Tensor([0.0], device=device, dtype="bf16")
    assert (zero + (tie + 2**-40)).tolist() == [1 + 2**-7] and (zero + tie).tolist() == [1.0]
    assert Tensor.full(1, tie + 2**-40, device, "bf16").tolist() == [1 + 2**-7]
    assert (zero + (-tie - 2**-40)).tolist() == [-1 - 2**-7] and (zero + 1e39).tolist() == [INF]


def test_dtypes_by_name_type_and_nothing_else() -> None:
    for given, want in (("f32", bw.f32), ("float16", bw.f16), (np.float16, bw.f16), (np.dtype(">i8"), bw.i64),
                        (float, bw.f64), (int, bw.i64), (np.uint8, bw.u8)):  # fmt: skip
        assert bw.dtype(given) is want
    for wrong in (None, "f8", "i4", "<f4", "", 3, [("a", "f4")], str, object, np.floating):
        with pytest.raises(DTypeError, match="is not a dtype"):
            bw.dtype(wrong)
    with pytest.raises(DTypeError):
        Tensor([1.0], device="cpu").cast(None)  # type: ignore[arg-type]


def test_classes_of_narrow_dtypes_do_not_collide(device: Device) -> None:
    hot = Tensor([0, 255], device=device, dtype="u8").one_hot(300)
    assert hot.dtype is bw.u8 and hot.int().sum_dim(1).tolist() == [[1], [1]]
    half = Tensor([2049.0 - 1, NAN], device=device, dtype="f16").one_hot_fill(2050, 1, 0)
    assert half.int().sum_dim(1).tolist() == [[1], [0]] and half[0, 2048].item() == 1
    wide = Tensor([2**32 - 1], device=device, dtype="u32").one_hot_fill(3, 1, 0)
    assert wide.tolist() == [[0, 0, 0]]
    assert Tensor([-1, 1], device=device).one_hot_fill(3, 5, 2, 0).tolist() == [[2, 2], [2, 5], [5, 2]]


def test_slices_take_every_index_type(device: Device) -> None:
    x = Tensor([1.0, 2.0, 3.0], device=device)
    assert x.slice(Slice(np.int64(1), np.int64(3))).tolist() == [2.0, 3.0]  # type: ignore[arg-type]
    assert x.slice([(np.int64(0), np.int64(2))]).tolist() == [1.0, 2.0]  # type: ignore[list-item]
    with pytest.raises(DTypeError, match=r"slice: start is 1\.5; it must be an int"):
        Slice(1.5)  # type: ignore[arg-type]
