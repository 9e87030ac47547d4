"""Files straight onto devices and into modules: values, dtypes, views, and every problem at once."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from burn_wgpu import Device
from burn_wgpu.module import Module, Param
from burn_wgpu.module.module import LoadError
from burn_wgpu.nn import LayerNorm, Linear
from burn_wgpu.pack import PackEntry, write_pack
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.data import TensorData
from burn_wgpu.std.errors import ArgumentError, DTypeError, FormatError
from burn_wgpu.std.quant import QFloat, QuantScheme, QuantValue, ScaleDtype
from burn_wgpu.std.quantized import quantize
from burn_wgpu.store import WeightFile, load_module, load_tensors, rename, write_safetensors
from burn_wgpu.tensor import Tensor

DEVICES = [pytest.param("cpu", id="reference"), pytest.param("wgpu", id="wgpu", marks=pytest.mark.gpu)]
SUFFIXES = [".bpk", ".safetensors"]
DTYPES = (
    dt.F32, dt.F16, dt.BF16, dt.F64, dt.I64, dt.I32, dt.I16, dt.I8, dt.U64, dt.U32, dt.U16, dt.U8, dt.BOOL_U8,
)  # fmt: skip


def write(path: Path, tensors: dict[str, TensorData]) -> Path:
    """A file of the kind that its suffix says."""
    if path.suffix == ".bpk":
        return write_pack(path, [PackEntry(n, t.dtype, t.shape, None, t.array) for n, t in tensors.items()])
    rows = [(n, t.dtype, t.shape, lambda t=t: [memoryview(t.as_bytes())]) for n, t in tensors.items()]
    write_safetensors(path, rows)
    return path


def f32(*shape: int) -> TensorData:
    values = np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape) / 8
    return TensorData.of(values)


def every_dtype() -> dict[str, TensorData]:
    rng = np.random.default_rng(5)
    found = {}
    for dtype in DTYPES:
        for shape in [(3, 5), (), (0, 2)]:
            values = rng.integers(0, 2 if dtype.is_bool else 100, shape)
            found[f"{dtype}.{len(shape)}.{0 in shape}"] = TensorData.of(values, dtype)
    return found


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("spec", DEVICES)
def test_every_dtype_and_shape_arrives_as_it_was_stored(tmp_path: Path, spec: str, suffix: str) -> None:
    device, wanted = Device(spec), every_dtype()
    found = load_tensors(write(tmp_path / f"x{suffix}", wanted), device)
    assert set(found) == set(wanted)
    for name, data in wanted.items():
        assert found[name].device is device
        assert found[name].dtype is data.dtype
        assert found[name].shape == data.shape
        np.testing.assert_array_equal(found[name].to_data().array, data.array, err_msg=name)


@pytest.mark.parametrize("spec", DEVICES)
def test_only_what_is_asked_for_is_loaded_cast_and_counted(tmp_path: Path, spec: str) -> None:
    tensors = {"a": f32(2, 3), "b": f32(4), "n": TensorData.of(np.array([1, 2], np.int16)), "c": f32(5)}
    path = write(tmp_path / "x.bpk", tensors)
    moved: list[int] = []
    found = load_tensors(path, Device(spec), only=["n", "a"], dtype="f16", progress=moved.append)
    assert list(found) == ["a", "n"]  # the order of the file
    assert moved == [24, 4]
    assert [str(t.dtype) for t in found.values()] == ["f16", "i16"]
    np.testing.assert_array_equal(found["a"].numpy(), tensors["a"].array.astype(np.float16))


@pytest.mark.parametrize("spec", DEVICES)
def test_quantized_tensors_stay_quantized_whatever_floats_are_cast_to(tmp_path: Path, spec: str) -> None:
    scheme = QuantScheme(QuantValue.Q4S).per_block((2,), ScaleDtype.F16)
    packed = quantize(np.linspace(-1, 1, 24, dtype=np.float32).reshape(4, 6), scheme)
    entries = [
        PackEntry("q", QFloat(scheme), (4, 6), None, packed.pack()),
        PackEntry("a", dt.F32, (1,), None, bytes(4)),
    ]
    path = write_pack(tmp_path / "x.bpk", entries)
    moved: list[int] = []
    found = load_tensors(path, Device(spec), dtype="f16", progress=moved.append)
    q = found["q"]
    assert q.is_quantized and q.dtype is QFloat(scheme) and q.shape == (4, 6) and found["a"].dtype is dt.F16
    assert sum(moved) == 4 + scheme.payload_bytes((4, 6))
    np.testing.assert_array_equal(q.numpy(), packed.dequantize())
    again = write_pack(tmp_path / "y.bpk", [PackEntry("q", q.dtype, q.shape, None, q.to_data().as_bytes())])
    assert load_tensors(again, Device(spec))["q"].to_data().as_bytes() == packed.pack()


@pytest.mark.parametrize("spec", DEVICES)
def test_a_quantized_weight_makes_its_parameter_quantized(tmp_path: Path, spec: str) -> None:
    weight = np.linspace(-1, 1, 48, dtype=np.float32).reshape(6, 8)
    packed = quantize(weight, QuantScheme(QuantValue.Q8S))
    bias = np.arange(8, dtype=np.float32)
    entries = [
        PackEntry("weight", QFloat(packed.scheme), (6, 8), None, packed.pack()),
        PackEntry("bias", dt.F32, (8,), None, bias.tobytes()),
    ]
    device = Device(spec)
    module = load_module(Linear(6, 8, device=device), write_pack(tmp_path / "x.bpk", entries))
    assert module.weight.value.is_quantized
    x = np.random.default_rng(0).normal(size=(3, 6)).astype(np.float32)
    got = module(Tensor(x, device=device)).numpy()
    np.testing.assert_allclose(got, x @ packed.dequantize() + bias, rtol=1e-5, atol=1e-5)


def test_loading_lists_every_problem_of_the_file(tmp_path: Path) -> None:
    scheme = QuantScheme(QuantValue.Q8S)
    packed = quantize(np.ones((4, 4), np.float32), scheme)
    entries = [PackEntry("a", dt.F32, (1,), None, bytes(4))]
    entries += [PackEntry(name, QFloat(scheme), (4, 4), None, packed.pack()) for name in ("q", "r")]
    path = write_pack(tmp_path / "x.bpk", entries)
    with pytest.raises(LoadError) as caught:
        load_tensors(path, Device("cpu"), only=["a", "b", "q", "r", "c"])
    assert str(caught.value) == f"load {path}: 2 tensors are not in the file: b, c"
    with pytest.raises(DTypeError) as wrong:
        load_tensors(path, Device("cpu"), dtype="i32")
    assert str(wrong.value) == "load: dtype is i32; only float tensors are cast, so it must be a float dtype"


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_arrays_of_a_file_are_views_that_outlive_it(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"x{suffix}", {"a": f32(2, 3), "b": f32(3)})
    with WeightFile(path) as file:
        assert file.size_bytes == 36
        array = file.array("a")
        assert not array.flags.owndata and not array.flags.writeable
        with pytest.raises(KeyError):
            file.array("c")
    np.testing.assert_array_equal(array, f32(2, 3).array)


def test_a_file_of_another_suffix_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError) as caught:
        WeightFile(tmp_path / "x.pt")
    assert str(caught.value) == f"open: '{tmp_path / 'x.pt'}' ends in '.pt'; known are .safetensors and .bpk"


# Modules


class Block(Module):
    def __init__(self, device: Device) -> None:
        self.up = Linear(2, 3, device=device)
        self.norms = [LayerNorm(3, device=device)]
        self.scale = Param(Tensor.from_data([1, 2, 3], device, "i32"))

    def forward(self, x: Tensor) -> Tensor:
        return self.norms[0](self.up(x)) * self.scale.value.float()


def checkpoint() -> dict[str, TensorData]:
    """As PyTorch would store it, under a prefix and with a buffer that we have no place for."""
    return {
        "model.up.weight": f32(3, 2),
        "model.up.bias": f32(3),
        "model.norms.0.weight": f32(3),
        "model.norms.0.bias": f32(3),
        "model.scale": TensorData.of(np.array([4, 5, 6], np.int64)),
        "model.position_ids": TensorData.of(np.arange(4)),
    }


RULES = [(r"^model\.", "")]
IGNORE = ["model.position_ids"]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("spec", DEVICES)
def test_a_pytorch_checkpoint_fills_a_module(tmp_path: Path, spec: str, suffix: str) -> None:
    path, module = write(tmp_path / f"x{suffix}", checkpoint()), Block(Device(spec))
    kept = {n: p.id for n, p in module.named_params()}
    moved: list[int] = []
    assert load_module(module, path, RULES, IGNORE, pytorch=True, progress=moved.append) is module
    assert sum(moved) == 24 + 3 * 12 + 24
    np.testing.assert_array_equal(module.up.weight.value.numpy(), f32(3, 2).array.T)
    np.testing.assert_array_equal(module.norms[0].gamma.value.numpy(), f32(3).array)
    np.testing.assert_array_equal(module.norms[0].beta.value.numpy(), f32(3).array)
    assert module.scale.value.tolist() == [4, 5, 6]
    assert str(module.scale.value.dtype) == "i64"
    assert {n: p.id for n, p in module.named_params()} == kept


@pytest.mark.gpu
def test_a_transposed_weight_is_a_view_of_what_was_uploaded(tmp_path: Path) -> None:
    module = Block(Device("wgpu"))
    load_module(module, write(tmp_path / "x.bpk", checkpoint()), RULES, IGNORE, pytorch=True)
    layout = module.up.weight.value.primitive.layout
    assert (layout.shape, layout.strides) == ((2, 3), (1, 2))


def test_halves_are_cast_on_the_device_and_ints_left_alone(tmp_path: Path) -> None:
    module = Block(Device("cpu"))
    load_module(module, write(tmp_path / "x.bpk", checkpoint()), RULES, IGNORE, pytorch=True, dtype="bf16")
    assert [str(p.value.dtype) for p in module.params()] == ["bf16", "bf16", "bf16", "bf16", "i64"]


def test_our_own_names_and_layouts_need_no_adapter(tmp_path: Path) -> None:
    device = Device("cpu")
    source = Block(device)
    tensors = {n: p.value.to_data() for n, p in source.named_params()}
    module = load_module(Block(device), write(tmp_path / "x.bpk", tensors))
    for name, param in module.named_params():
        np.testing.assert_array_equal(param.value.numpy(), tensors[name].array)


def test_loading_reports_every_problem_and_changes_nothing(tmp_path: Path) -> None:
    tensors = checkpoint()
    del tensors["model.up.bias"]
    tensors["model.up.weight"] = f32(2, 3)  # not transposed
    tensors["model.scale"] = f32(3)
    tensors["model.norms.0.gamma"] = f32(3)
    path, module = write(tmp_path / "x.safetensors", tensors), Block(Device("cpu"))
    with pytest.raises(LoadError) as caught:
        load_module(module, path, RULES, pytorch=True)
    assert str(caught.value) == (
        f"load {path}: 1 parameters have no tensor: up.bias. "
        "1 tensors have no place in the module: position_ids. "
        "1 shapes differ: up.weight is [3, 2] in the file and [2, 3] in the module. "
        "1 parameters have two tensors: model.norms.0.gamma and model.norms.0.weight are both norms.0.gamma. "
        "1 parameters are of another kind: scale is f32 in the file"
    )
    assert not module.up.weight.is_initialized
    assert module.scale.value.tolist() == [1, 2, 3]


def test_what_is_allowed_to_be_missing_or_unused_is_passed_over(tmp_path: Path) -> None:
    tensors = checkpoint()
    del tensors["model.up.bias"]
    module = Block(Device("cpu"))
    path = write(tmp_path / "x.bpk", tensors)
    load_module(module, path, RULES, pytorch=True, allow_partial=True, allow_unused=True)
    assert module.up.weight.is_initialized and not module.up.bias.is_initialized


# Names


def test_rules_are_applied_one_after_the_other() -> None:
    names = ["a.0.w", "a.1.w", "b"]
    assert rename(names, [(r"^a\.", "layers."), (r"layers\.(\d)\.w", r"layers.\1.weight")]) == {
        "a.0.w": "layers.0.weight",
        "a.1.w": "layers.1.weight",
        "b": "b",
    }


WRONG: list[tuple[list[tuple[str, str]], str]] = [
    ([(r"\d", "n")], "rename: a.0 and a.1 become a.n; names must stay different"),
    (
        [("(", "")],
        "rename: the pattern '(' is no regular expression (missing ), unterminated subpattern at position 0)",
    ),
    ([("a", r"\2")], r"rename: the replacement '\\2' is unsound (invalid group reference 2 at position 1)"),
]


@pytest.mark.parametrize(("rules", "text"), WRONG)
def test_unsound_rules_are_refused(rules: list[tuple[str, str]], text: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        rename(["a.0", "a.1"], rules)
    assert str(caught.value) == text


def test_the_callable_of_progress_sees_every_tensor(tmp_path: Path) -> None:
    seen: list[int] = []
    report: Callable[[int], None] = seen.append
    load_tensors(write(tmp_path / "x.bpk", {"a": f32(3), "b": f32(0, 4)}), Device("cpu"), progress=report)
    assert sorted(seen) == [0, 12]


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        ([2**62, 0, 2**62], f"has shape [{2**62}, 0, {2**62}] of f32; the axes that are not empty must stay below "),
        ([1] * 99 + [0], "has rank 100; tensors have a rank of at most "),
    ],
    ids=["wide", "deep"],
)  # fmt: skip
def test_shapes_that_no_array_can_have_are_refused_before_anything_is_loaded(
    tmp_path: Path, shape: list[int], text: str
) -> None:
    path = tmp_path / "x.safetensors"
    rows = {"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]},
            "z": {"dtype": "F32", "shape": shape, "data_offsets": [4, 4]}}  # fmt: skip
    header = json.dumps(rows).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(4))
    moved: list[int] = []
    with pytest.raises(FormatError) as error:
        load_tensors(path, "cpu", progress=moved.append)
    assert str(error.value).startswith(f"{path}: tensor 'z' {text}") and moved == []
    assert list(load_tensors(path, "cpu", only=["a"])) == ["a"]


@pytest.mark.parametrize("device", DEVICES)
def test_a_device_may_be_given_as_text(tmp_path: Path, device: str) -> None:
    path = write(tmp_path / "X.SafeTensors", {"a": f32(2, 3)})
    found = load_tensors(path, device)["a"]
    assert found.device == Device(device) and found.tolist() == (np.arange(6).reshape(2, 3) / 8).tolist()
