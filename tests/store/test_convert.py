"""Conversion between the formats: bit-equal both ways, atomic, and readable by Burn."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

from burn_wgpu.pack import PackEntry, Scalar, write_pack
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.errors import ArgumentError, FormatError
from burn_wgpu.std.quant import QFloat, QuantScheme, QuantValue
from burn_wgpu.std.quantized import quantize
from burn_wgpu.store import WeightFile, convert

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A SafeTensors file with hostile names, several dtypes, a scalar and an empty tensor."""
    path = tmp_path / "in.safetensors"
    rng = np.random.default_rng(2)
    tensors = {
        "a.weight": rng.standard_normal((30, 7), dtype=np.float32),
        "../../etc/x": rng.standard_normal(5).astype(np.float16),
        "\x1b[31mred\n\u202e": rng.integers(0, 9, (2, 2)),
        "é": np.array(3.5),
        "": np.zeros((0, 3), np.uint8),
        "mask": np.array([True, False]),
        "u16": np.array([1, 65535], np.uint16),
    }
    safetensors.numpy.save_file(tensors, path, {"format": "pt", "note": "ü"})
    return path


def test_there_and_back_gives_the_same_file(tmp_path: Path, source: Path) -> None:
    pack, back = tmp_path / "x.bpk", tmp_path / "back.safetensors"
    counted: list[int] = []
    moved = convert(source, pack, counted.append)
    with WeightFile(source) as old, WeightFile(pack) as new:
        assert moved == old.size_bytes == sum(counted)
        assert new.metadata == old.metadata
        assert set(new.tensors) == set(old.tensors)
        for name, stored in old.tensors.items():
            assert new.view(name) == old.view(name)
            assert new.tensors[name].shape == stored.shape
            assert new.tensors[name].dtype is (dt.BOOL_U8 if stored.dtype is dt.BOOL else stored.dtype)
    assert convert(pack, back) == moved
    assert sorted(p.name for p in tmp_path.iterdir()) == ["back.safetensors", "in.safetensors", "x.bpk"]
    theirs, ours = safetensors.numpy.load_file(source), safetensors.numpy.load_file(back)
    assert theirs.keys() == ours.keys()
    for name, array in theirs.items():
        assert array.dtype == ours[name].dtype
        np.testing.assert_array_equal(ours[name], array)
    with safetensors.safe_open(back, "np") as file:
        assert file.metadata() == {"format": "pt", "note": "ü"}


def test_burn_reads_what_was_converted(tmp_path: Path, source: Path) -> None:
    named = os.environ.get("BURN_PEER")
    peer = Path(named) if named else ROOT.parent / "shared" / "tools" / "burn-peer"
    if not peer.is_file():
        pytest.skip("no burn-peer: set BURN_PEER to a program that reads a container with real Burn")
    path = tmp_path / "x.bpk"
    convert(source, path)
    done = subprocess.run([peer, "read-pack", path], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = {}
    for line in done.stdout.splitlines():
        quoted, length, digest = line.rsplit(" ", 2)
        quoted = re.sub(r"\\u\{([0-9a-f]+)\}", lambda m: json.dumps(chr(int(m[1], 16)))[1:-1], quoted)  # Rust's escapes
        rows[json.loads(quoted)] = (int(length), digest)
    with WeightFile(source) as file:
        wanted = {
            name: (stored.size_bytes, hashlib.sha256(file.view(name)).hexdigest())
            for name, stored in file.tensors.items()
        }
    assert rows == wanted


def test_a_failing_conversion_leaves_the_old_target(tmp_path: Path, source: Path) -> None:
    target = tmp_path / "x.bpk"
    target.write_bytes(b"old")

    class Stop(Exception):
        pass

    def stop(_size: int) -> None:
        raise Stop

    with pytest.raises(Stop):
        convert(source, target, stop)
    assert target.read_bytes() == b"old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.safetensors", "x.bpk"]
    pack, back = tmp_path / "y.bpk", tmp_path / "back.safetensors"
    convert(source, pack)
    back.write_bytes(b"old")
    with pytest.raises(Stop):
        convert(pack, back, stop)
    assert back.read_bytes() == b"old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["back.safetensors", "in.safetensors", "x.bpk", "y.bpk"]


def test_one_file_under_two_names_is_refused(tmp_path: Path, source: Path) -> None:
    link = tmp_path / "link.bpk"
    try:
        link.symlink_to(source)
    except OSError:
        pytest.skip("this system makes no symbolic links here")
    before = source.read_bytes()
    with pytest.raises(ArgumentError) as caught:
        convert(source, link)
    assert str(caught.value) == f"convert: '{source}' and '{link}' are the same file; name another"
    assert source.read_bytes() == before and link.is_symlink()


NAMES = [
    ("a.bpk", "b.bpk", "convert: both files are .bpk; one must be .safetensors and the other .bpk"),
    ("a.pt", "b.bpk", "convert: 'a.pt' ends in '.pt'; known are .safetensors and .bpk"),
    ("a.bpk", "b", "convert: 'b' ends in ''; known are .safetensors and .bpk"),
]


@pytest.mark.parametrize(("one", "two", "text"), NAMES)
def test_other_kinds_of_files_are_refused(one: str, two: str, text: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        convert(one, two)
    assert str(caught.value) == text


def test_what_a_safetensors_file_cannot_hold_is_named(tmp_path: Path) -> None:
    path, target = tmp_path / "x.bpk", tmp_path / "y.safetensors"
    write_pack(path, [], scalars={"step": Scalar.of_int(3), "rate": 0.1})
    with pytest.raises(ArgumentError) as caught:
        convert(path, target)
    assert str(caught.value) == (
        f"convert: '{path}' holds 2 scalars (rate, …), which a .safetensors file cannot; "
        f"it is a record of training state, keep it as .bpk"
    )
    scheme = QuantScheme(QuantValue.Q8S)
    payload = quantize(np.ones((2, 2), np.float32), scheme).pack()
    write_pack(path, [PackEntry("q", QFloat(scheme), (2, 2), None, payload)])
    with pytest.raises(FormatError) as refused:
        convert(path, target)
    assert str(refused.value) == (
        f"safetensors {target}: tensor 'q' has dtype {QFloat(scheme)}, which the format lacks"
    )
    assert not target.exists()


def test_a_bool_that_is_neither_0_nor_1_does_not_pass(tmp_path: Path, craft) -> None:
    path = craft({"m": {"dtype": "BOOL", "shape": [2], "data_offsets": [0, 2]}}, b"\1\2", name="m.safetensors")
    with pytest.raises(FormatError, match="element 1 of a bool tensor is neither 0 nor 1"):
        convert(path, tmp_path / "m.bpk")
    assert not (tmp_path / "m.bpk").exists()
