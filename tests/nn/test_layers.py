"""Layers against PyTorch on the CPU, with the same parameters."""

from __future__ import annotations

import numpy as np
import pytest

from burn_wgpu import Device
from burn_wgpu.module import Initializer, Module
from burn_wgpu.nn import Embedding, Gelu, LayerNorm, Linear, MultiHeadAttention, Relu
from burn_wgpu.std.errors import ArgumentError, IndexOutOfRange, ShapeError
from burn_wgpu.tensor import Tensor

DEVICES = [pytest.param("cpu", id="reference"), pytest.param("wgpu", id="wgpu", marks=pytest.mark.gpu)]
RNG = np.random.default_rng(17)


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> Device:
    return Device(request.param)


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch")


def values(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape, dtype=np.float32)


def give(module: Module, device: Device, **arrays: np.ndarray) -> None:
    """Puts arrays into parameters; `__` in a name stands for the dot."""
    module.load_tensors({name.replace("__", "."): Tensor.from_data(a, device) for name, a in arrays.items()})


def same(found: Tensor, expected, atol: float = 1e-5) -> None:
    expected = expected.detach().numpy()
    assert found.shape == expected.shape
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5, atol=atol)


@pytest.mark.parametrize("shape", [(5,), (3, 5), (2, 4, 5), (0, 5)])
@pytest.mark.parametrize("bias", [True, False])
def test_linear(device: Device, torch, shape: tuple[int, ...], bias: bool) -> None:
    weight, x, b = values(5, 7), values(*shape), values(7)
    layer = Linear(5, 7, bias=bias, device=device)
    give(layer, device, weight=weight, **({"bias": b} if bias else {}))
    expected = torch.nn.functional.linear(
        torch.from_numpy(x), torch.from_numpy(weight.T.copy()), torch.from_numpy(b) if bias else None
    )
    same(layer(Tensor.from_data(x, device)), expected)


@pytest.mark.parametrize("eps", [1e-5, 1e-12])
def test_layer_norm(device: Device, torch, eps: float) -> None:
    x, gamma, beta = values(3, 4, 33) * 5 + 100, values(33), values(33)
    layer = LayerNorm(33, eps, device=device)
    give(layer, device, gamma=gamma, beta=beta)
    expected = torch.nn.functional.layer_norm(
        torch.from_numpy(x).double(), (33,), torch.from_numpy(gamma).double(), torch.from_numpy(beta).double(), eps
    )
    same(layer(Tensor.from_data(x, device)), expected, atol=5e-5)  # x is known to 4e-6 at 100, its spread is 5


def test_layer_norm_without_a_bias(device: Device, torch) -> None:
    x = values(2, 6)
    layer = LayerNorm(6, bias=False, device=device)
    assert [n for n, _ in layer.named_params()] == ["gamma"]
    same(layer(Tensor.from_data(x, device)), torch.nn.functional.layer_norm(torch.from_numpy(x), (6,)))


@pytest.mark.parametrize("shape", [(4,), (2, 3), (2, 3, 2)])
def test_embedding(device: Device, torch, shape: tuple[int, ...]) -> None:
    weight, indices = values(9, 5), RNG.integers(0, 9, shape)
    layer = Embedding(9, 5, device=device)
    give(layer, device, weight=weight)
    expected = torch.nn.functional.embedding(torch.from_numpy(indices), torch.from_numpy(weight))
    np.testing.assert_array_equal(layer(Tensor.from_data(indices, device)).numpy(), expected.numpy())


def test_an_index_outside_the_table_is_reported(device: Device) -> None:
    layer = Embedding(3, 2, device=device)
    with pytest.raises(IndexOutOfRange):
        layer(Tensor.from_data([[0, 3]], device)).numpy()
    assert layer(Tensor.from_data([[0, 2]], device)).numpy().shape == (1, 2, 2)


@pytest.mark.parametrize("masked", [False, True])
def test_multi_head_attention(device: Device, torch, masked: bool) -> None:
    width, heads, batch, queries, keys = 24, 4, 2, 5, 7
    theirs = torch.nn.MultiheadAttention(width, heads, batch_first=True)
    with torch.no_grad():
        theirs.in_proj_bias.copy_(torch.from_numpy(values(3 * width)))
        theirs.out_proj.bias.copy_(torch.from_numpy(values(width)))
    q, k, v = values(batch, queries, width), values(batch, keys, width), values(batch, keys, width)
    hidden = np.zeros((batch, keys), bool)
    hidden[0, 5:] = hidden[1, :2] = masked
    expected, expected_weights = theirs(
        *(torch.from_numpy(t) for t in (q, k, v)), key_padding_mask=torch.from_numpy(hidden), average_attn_weights=False
    )
    ours = MultiHeadAttention(width, heads, device=device)
    weights = theirs.in_proj_weight.detach().numpy().reshape(3, width, width).transpose(0, 2, 1)
    biases = theirs.in_proj_bias.detach().numpy().reshape(3, width)
    give(
        ours, device,
        query__weight=weights[0], key__weight=weights[1], value__weight=weights[2],
        query__bias=biases[0], key__bias=biases[1], value__bias=biases[2],
        output__weight=theirs.out_proj.weight.detach().numpy().T, output__bias=theirs.out_proj.bias.detach().numpy(),
    )  # fmt: skip
    bias = None
    if masked:
        bias = Tensor.from_data(np.where(hidden, -np.inf, 0).astype(np.float32)[:, None, None, :], device)
    tensors = [Tensor.from_data(t, device) for t in (q, k, v)]
    same(ours(*tensors, bias), expected)
    found = ours.weights(tensors[0], tensors[1], bias)
    same(found, expected_weights)
    np.testing.assert_allclose(found.numpy().sum(-1), 1, rtol=0, atol=1e-6)


def test_activations(device: Device, torch) -> None:
    x = np.concatenate([values(40) * 3, np.float32([0, -0.0, 20, -20])])
    same(Gelu()(Tensor.from_data(x, device)), torch.nn.functional.gelu(torch.from_numpy(x)), atol=1e-6)
    same(Relu()(Tensor.from_data(x, device)), torch.relu(torch.from_numpy(x)))


def test_layers_start_as_burn_s_do() -> None:
    device = Device("cpu")
    device.seed(3)
    linear = Linear(64, 200, device=device)
    for param in (linear.weight, linear.bias):
        assert 0.9 / 8 < np.abs(param.value.numpy()).max() <= 1 / 8  # uniform within 1 / √d_input
    table = Embedding(200, 50, device=device).weight.value.numpy()
    assert abs(table.std() - 1) < 0.03 and abs(table.mean()) < 0.03
    norm = LayerNorm(3, device=device)
    assert (norm.gamma.value.tolist(), norm.beta.value.tolist(), norm.epsilon) == ([1, 1, 1], [0, 0, 0], 1e-5)
    other = Linear(2, 2, initializer=Initializer.constant(3), device=device)
    assert other.weight.value.tolist() == [[3, 3], [3, 3]] and other.bias.value.tolist() == [3, 3]


ERRORS = [
    (lambda d: Linear(5, 7, device=d)(Tensor.ones((2, 4), d)),
     ShapeError, "Linear: the input's shape [2, 4] must end in d_input = 5"),
    (lambda d: LayerNorm(5, device=d)(Tensor.ones((5, 2), d)),
     ShapeError, "LayerNorm: the input's shape [5, 2] must end in d_model = 5"),
    (lambda d: MultiHeadAttention(10, 4, device=d),
     ArgumentError, "MultiHeadAttention: d_model 10 is not a multiple of n_heads 4"),
    (lambda d: MultiHeadAttention(10, 0, device=d),
     ArgumentError, "MultiHeadAttention: d_model 10 is not a multiple of n_heads 0"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "kind", "text"), ERRORS, ids=[row[2].split(":")[0] for row in ERRORS])
def test_sizes_that_do_not_fit_are_refused(make, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind) as caught:
        make(Device("cpu"))
    assert str(caught.value) == text
