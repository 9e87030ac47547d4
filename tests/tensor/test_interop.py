"""NumPy, DLPack, PyTorch, pickle, copy, einops."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

import burn_wgpu
from burn_wgpu import Device, Tensor

DATA = {
    "float": np.array([[1.5, -2.0, 3.0]], np.float32),
    "int": np.array([[1, -2, 3]], np.int32),
    "bool": np.array([[True, False, True]]),
}


@pytest.fixture(params=sorted(DATA))
def array(request: pytest.FixtureRequest) -> np.ndarray:
    return DATA[request.param]


def test_numpy_reads_tensors(device: Device, array: np.ndarray) -> None:
    x = Tensor(array, device=device)
    for got in (np.asarray(x), np.array(x), np.array(x, copy=True), x.numpy(), np.from_dlpack(x)):
        assert got.dtype == array.dtype
        np.testing.assert_array_equal(got, array)
    assert np.asarray(x, dtype=np.float64).dtype == np.float64
    assert np.array(Tensor([1.5], device=device, dtype="bf16")).tolist() == [1.5]
    with pytest.raises(ValueError, match="copy=False"):
        np.array(x, copy=False)


def test_dlpack_exports_host_copies(device: Device) -> None:
    x = Tensor([1.0, 2.0], device=device)
    assert x.__dlpack_device__() == (1, 0)
    with pytest.raises(BufferError, match="copy=False"):
        x.__dlpack__(copy=False)
    with pytest.raises(BufferError, match="to the CPU"):
        x.__dlpack__(dl_device=(2, 0))
    with pytest.raises(BufferError, match="bf16"):
        x.cast("bf16").__dlpack__()
    got = burn_wgpu.from_dlpack(np.arange(3.0)[::-1], device)
    assert got.tolist() == [2.0, 1.0, 0.0] and got.dtype.name == "f32"
    taken = np.from_dlpack(x)
    assert x.tolist() == taken.tolist()


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the buffer protocol of Python classes came with 3.12")
def test_the_buffer_protocol(device: Device) -> None:
    assert memoryview(Tensor([1, 2], device=device)).tolist() == [1, 2]  # type: ignore[arg-type]


def test_torch_there_and_back(device: Device) -> None:
    torch = pytest.importorskip("torch")
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.uint8, torch.bool):
        t = torch.tensor([[0, 1], [3, 2]]).to(dtype).T
        x = Tensor.from_torch(t, device)
        assert x.to_torch().dtype == dtype and torch.equal(x.to_torch(), t)
    assert torch.equal(torch.from_dlpack(Tensor([1.5], device=device)), torch.tensor([1.5]))
    assert burn_wgpu.from_torch(torch.ones(2, requires_grad=True), device).tolist() == [1.0, 1.0]
    assert Tensor(torch.ones(2), device=device).dtype.name == "f32"


def test_pickle_and_copy(device: Device, array: np.ndarray) -> None:
    x = Tensor(array, device=device)[:, ::-1]
    for got in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy(x), copy.deepcopy([x])[0]):
        assert got is not x and got.device is x.device and got.dtype is x.dtype and got.kind == x.kind
        np.testing.assert_array_equal(got.numpy(), array[:, ::-1])
    half = Tensor([0.1], device=device, dtype="bf16")
    assert pickle.loads(pickle.dumps(half)).to_data().as_bytes() == half.to_data().as_bytes()
    empty = Tensor.zeros((0, 2), device)
    assert pickle.loads(pickle.dumps(empty)).shape == (0, 2)


def test_a_pickle_is_read_by_another_process() -> None:
    data = pickle.dumps(Tensor([1.0, 2.5], device="cpu"))
    program = f"import pickle; print(pickle.loads({data!r}).tolist())"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert result.stdout.strip() == "[1.0, 2.5]"


def test_einops(device: Device, rng: np.random.Generator) -> None:
    einops = pytest.importorskip("einops")
    a = rng.standard_normal((2, 3, 4)).astype(np.float32)
    x = Tensor(a, device=device)
    np.testing.assert_array_equal(einops.rearrange(x, "a b c -> (c a) b").numpy(), a.transpose(2, 0, 1).reshape(8, 3))
    np.testing.assert_array_equal(
        einops.rearrange(x, "a b (c d) -> d a b c", d=2).numpy(), einops.rearrange(a, "a b (c d) -> d a b c", d=2)
    )
    np.testing.assert_allclose(einops.reduce(x, "a b c -> b", "mean").numpy(), a.mean((0, 2)), rtol=1e-5)
    np.testing.assert_allclose(einops.reduce(x, "a b c -> a () c", "max").numpy(), a.max(1, keepdims=True))
    np.testing.assert_array_equal(einops.repeat(x, "a b c -> a (b r) c", r=2).numpy(), a.repeat(2, 1))
    np.testing.assert_allclose(
        einops.einsum(x, x, "a b c, a b d -> c d").numpy(), np.einsum("abc,abd->cd", a, a), rtol=1e-4, atol=1e-5
    )
    packed, shapes = einops.pack([x, x[:, 0]], "a * c")
    assert packed.shape == (2, 4, 4)
    parts = einops.unpack(packed, shapes, "a * c")
    np.testing.assert_array_equal(parts[1].numpy(), a[:, 0])


def test_reading_forms(device: Device) -> None:
    x = Tensor([[1.5, 2.0], [3.0, 4.0]], device=device)
    assert x.tolist() == [[1.5, 2.0], [3.0, 4.0]] and x.to_vec() == [1.5, 2.0, 3.0, 4.0]
    assert x.to_data().shape == (2, 2) and x.into_data().dtype.name == "f32"
    assert x.to_data_dtype("i32").numpy().tolist() == [[1, 2], [3, 4]]
    assert x[0, 0].into_scalar() == 1.5 and x[1, 1].item() == 4.0
    with pytest.raises(ValueError):
        Tensor([3e9], device=device).to_data_as("i32")


def test_transactions_read_in_order(device: Device) -> None:
    from burn_wgpu.tensor.transaction import Transaction

    tensors = [Tensor([1.0], device=device), Tensor([2, 3], device=device), Tensor([True], device="cpu")]
    transaction = Transaction()
    for t in tensors:
        transaction.register(t)
    assert [d.numpy().tolist() for d in transaction.execute()] == [[1.0], [2, 3], [True]]
    assert transaction.execute() == []


def test_limits_of_dtypes() -> None:
    from burn_wgpu import finfo, iinfo

    for name in ("f16", "f32", "f64"):
        info, want = finfo(name), np.finfo(burn_wgpu.dtype(name).numpy)
        assert (info.epsilon, info.max, info.min_positive) == (want.eps, want.max, want.tiny)
    bf16 = finfo("bf16")
    np.testing.assert_allclose([bf16.epsilon, bf16.max, bf16.tiny], [7.8125e-3, 3.3895314e38, 1.1754944e-38], rtol=1e-7)
    assert (iinfo("u8").max, iinfo("i64").min) == (255, -(2**63))
    with pytest.raises(TypeError):
        finfo("i32")
    with pytest.raises(TypeError):
        iinfo("f32")
