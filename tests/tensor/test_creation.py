"""Creation from host data of every sort, defaults, random numbers, ranges."""

from __future__ import annotations

import array

import numpy as np
import pytest

import burn_wgpu
from burn_wgpu import Device, Distribution, Tensor, TensorData
from burn_wgpu.std.dtype import BF16, F16, I64


def test_the_kind_of_the_data_and_the_defaults_decide(device: Device) -> None:
    for data, kind, dtype in (
        ([1.0, 2.0], "float", "f32"), ([1, 2], "int", "i32"), ([True], "bool", "bool(u8)"), (3, "int", "i32"),
        (2.5, "float", "f32"), (False, "bool", "bool(u8)"), (np.arange(3, dtype=np.int64), "int", "i32"),
        (np.zeros(2, np.float64), "float", "f32"), (np.zeros(2, np.float16), "float", "f32"), ([], "float", "f32"),
        (np.zeros(2, np.uint8), "int", "i32"), (range(4), "int", "i32"), (array.array("d", [1.5]), "float", "f32"),
        (bytearray(b"\1\2"), "int", "i32"), (memoryview(b"ab"), "int", "i32"), (((1, 2), (3, 4)), "int", "i32"),
    ):  # fmt: skip
        x = Tensor(data, device=device)
        assert (x.kind, x.dtype.name) == (kind, dtype)
        np.testing.assert_array_equal(x.numpy(), np.asarray(data))
    assert burn_wgpu.tensor([1.0], device=device).tolist() == [1.0]


def test_a_dtype_decides_the_kind(device: Device) -> None:
    assert Tensor([1.7, -2.2], device=device, dtype="i32").tolist() == [1, -2]
    assert Tensor([1, 2], device=device, dtype=float).dtype.name == "f32"
    assert Tensor([0, 2], device=device, dtype=bool).tolist() == [False, True]
    assert Tensor([1, 2], device=device, dtype="f16").dtype is F16
    assert Tensor([1, 2], device=device, dtype=burn_wgpu.bf16).dtype is BF16
    assert Tensor([1, 200], device=device, dtype=np.uint8).tolist() == [1, 200]
    assert Tensor.from_floats([1, 2], device).kind == "float"
    assert Tensor.from_ints([1.9, -1.9], device).tolist() == [1, -1]
    assert Tensor.from_bool([3, 0], device).tolist() == [True, False]


def test_wide_ints_keep_their_value_or_raise(device: Device) -> None:
    with pytest.raises(ValueError):
        Tensor([2**40], device=device)
    wide = Tensor([2**40, -(2**40)], device=device, dtype="i64")
    assert wide.dtype is I64 and wide.tolist() == [2**40, -(2**40)]
    assert Tensor(np.arange(10), device=device).sum().item() == 45
    with pytest.raises(ValueError):
        Tensor([-1], device=device, dtype="u32")


@pytest.mark.parametrize("n", range(1, 10))
@pytest.mark.parametrize("dtype", ["float16", "uint8", "int16", "bool", "float32"])
def test_short_and_odd_arrays_round_trip(device: Device, n: int, dtype: str) -> None:
    a = (np.arange(n) % 2).astype(dtype) if dtype == "bool" else np.arange(n).astype(dtype)
    for given in (a, a[::-1], np.stack([a, a], 1)[:, 0]):
        for wanted in (None, dtype):
            got = Tensor(given, device=device, dtype=wanted).numpy()
            np.testing.assert_array_equal(got, given)


def test_any_memory_order_is_taken(device: Device) -> None:
    a = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    frozen = a.copy()
    frozen.flags.writeable = False
    for given in (np.asfortranarray(a), a.astype(">f4"), a[:, ::-2], a.transpose(2, 0, 1), frozen, a[0, 0, 0]):
        np.testing.assert_array_equal(Tensor(given, device=device).numpy(), given)
    big = np.array([1, 2, 3], ">i8")
    assert Tensor(big, device=device).tolist() == [1, 2, 3]


def test_later_writes_to_the_source_do_not_show(device: Device) -> None:
    a = np.zeros(4, np.float32)
    x = Tensor(a, device=device)
    a[:] = 9
    assert x.tolist() == [0.0] * 4
    out = x.numpy()
    out[:] = 5
    assert x.tolist() == [0.0] * 4


def test_host_data_of_bf16(device: Device) -> None:
    data = TensorData.of([1.0, -2.5], BF16)
    assert Tensor.from_data(data, device).dtype.name == "f32"
    x = Tensor.from_data(data, device, "bf16")
    assert x.dtype is BF16 and x.tolist() == [1.0, -2.5]
    assert x.to_data().array.dtype == np.uint16


def test_filled_tensors(device: Device) -> None:
    assert Tensor.zeros((2, 2), device).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert Tensor.ones(3, device, int).tolist() == [1, 1, 1]
    assert Tensor.zeros(2, device, bool).tolist() == [False, False]
    assert Tensor.full((2,), 7, device).kind == "int"
    assert Tensor.full((2,), 0.5, device, "f16").tolist() == [0.5, 0.5]
    assert Tensor.full((), True, device).item() is True
    assert Tensor.empty((2, 3), device).shape == (2, 3)
    x = Tensor.full((2,), 3.0, device, "f16")
    for like, want in ((x.zeros_like(), 0.0), (x.ones_like(), 1.0), (x.full_like(2), 2.0)):
        assert like.dtype is F16 and like.tolist() == [want, want]
    assert x.empty_like().shape == (2,)
    np.testing.assert_array_equal(Tensor.eye(3, device).numpy(), np.eye(3))
    assert Tensor.eye(2, device, int).kind == "int"


def test_ranges_and_grids(device: Device) -> None:
    assert Tensor.arange(5, device=device).tolist() == [0, 1, 2, 3, 4]
    assert Tensor.arange(2, 9, 3, device).tolist() == [2, 5, 8]
    assert Tensor.arange(5, 0, -2, device).tolist() == [5, 3, 1]
    assert Tensor.arange(range(1, 4), device=device).tolist() == [1, 2, 3]
    assert Tensor.arange_step(0, 6, 2, device).tolist() == [0, 2, 4]
    assert Tensor.arange(3, device=device, dtype="f16").tolist() == [0.0, 1.0, 2.0]
    assert Tensor.arange(4, 4, device=device).shape == (0,)
    np.testing.assert_array_equal(Tensor.cartesian_grid((2, 3), device).numpy(), np.moveaxis(np.indices((2, 3)), 0, -1))


def test_triangle_masks_are_false_where_values_are_kept(device: Device) -> None:
    ones = np.ones((3, 4), bool)
    for offset in (-1, 0, 2):
        np.testing.assert_array_equal(Tensor.triu_mask((3, 4), offset, device).numpy(), ~np.triu(ones, offset))
        np.testing.assert_array_equal(Tensor.tril_mask((3, 4), offset, device).numpy(), ~np.tril(ones, offset))
        np.testing.assert_array_equal(Tensor.diag_mask((3, 4), offset, device).numpy(), ~np.eye(3, 4, offset, bool))
    assert Tensor.triu_mask((2, 3, 3), 0, device).shape == (2, 3, 3)


def test_seeds_repeat_and_calls_differ(device: Device) -> None:
    device.seed(7)
    first, second = Tensor.random(1001, device=device), Tensor.random(1001, device=device)
    device.seed(7)
    np.testing.assert_array_equal(Tensor.random(1001, device=device).numpy(), first.numpy())
    assert (first.numpy() != second.numpy()).mean() > 0.99
    values = first.numpy()
    assert values.min() >= 0 and values.max() < 1 and abs(values.mean() - 0.5) < 0.05


def test_distributions(device: Device) -> None:
    device.seed(3)
    n = 4001
    uniform = Tensor.random(n, Distribution.uniform(-2.0, 3.0), device).numpy()
    assert uniform.min() >= -2 and uniform.max() < 3 and abs(uniform.mean() - 0.5) < 0.1
    normal = Tensor.random(n, Distribution.normal(5.0, 2.0), device).numpy()
    assert abs(normal.mean() - 5) < 0.2 and abs(normal.std() - 2) < 0.1 and np.isfinite(normal).all()
    coin = Tensor.random(n, Distribution.bernoulli(0.25), device).numpy()
    assert set(coin) == {0.0, 1.0} and abs(coin.mean() - 0.25) < 0.03
    dice = Tensor.random(n, Distribution.uniform(1, 7), device, int).numpy()
    assert set(dice) == {1, 2, 3, 4, 5, 6}
    assert Tensor.zeros((3, 5), device).random_like(Distribution.normal(0, 1)).shape == (3, 5)


def test_rank_zero_is_allowed(device: Device) -> None:
    x = Tensor(2.5, device=device)
    assert x.shape == () and x.rank == 0 and x.item() == 2.5 and float(x) == 2.5
    assert (x * x).shape == () and (x > 1).item() is True
    assert x.sum().shape == (1,) and x.max().tolist() == [2.5]
    assert x.unsqueeze_dim(0).shape == (1,) and x.flatten().shape == (1,) and x.reshape(1, 1).shape == (1, 1)
    assert x[None].shape == (1,) and x[...].shape == () and x[()].item() == 2.5
    assert (x + Tensor([1.0, 2.0], device=device)).tolist() == [3.5, 4.5]
    assert Tensor(True, device=device).any().tolist() == [True]
    assert int(Tensor(7, device=device)) == 7


def test_moving_between_devices(device: Device) -> None:
    for data in ([1.0, 2.0], [1, 2], [True, False]):
        x = Tensor(data, device=device)
        there = x.to_device("cpu")
        assert there.device == Device("cpu") and there.kind == x.kind
        back = there.to_device(device)
        assert back.device is device and back.tolist() == data
    assert x.to_device(device) is x
    y = Tensor([1.0], device="cpu", dtype="f16").to_device(device)
    assert y.dtype is F16
