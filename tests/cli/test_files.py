"""`burn-wgpu inspect` and `convert`: what they print, and one line for what goes wrong."""

from __future__ import annotations

import errno
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

from burn_wgpu.cli import main
from burn_wgpu.pack import PackEntry, write_pack
from burn_wgpu.std.dtype import BOOL_U8, F32

ROOT = Path(__file__).resolve().parents[2]


def call(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """(exit status, stdout, stderr) of a command in this process."""
    status = main([str(a) for a in arguments])
    out, err = capsys.readouterr()
    return status, out, err


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    entries = [
        PackEntry("layer.weight", F32, (2, 3), 77, np.arange(6, dtype=np.float32)),
        PackEntry("\x1b[31mred\n", F32, (), None, np.float32(1).tobytes()),
    ]
    return write_pack(tmp_path / "x.bpk", entries, metadata={"format": "burnpack"}, scalars={"rate": 0.5})


@pytest.fixture
def broken_bool(tmp_path: Path) -> Path:
    """A sound container but for a payload byte, which only reading finds."""
    path = write_pack(tmp_path / "bool.bpk", [PackEntry("mask", BOOL_U8, (2,), None, b"\1\0")])
    raw = bytearray(path.read_bytes())
    raw[-1] = 2
    path.write_bytes(raw)
    return path


def test_inspect_lists_the_container_in_text(capsys, pack: Path) -> None:
    status, out, err = call(capsys, "inspect", pack)
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == f"{pack}: burnpack version 1, {pack.stat().st_size} bytes"
    assert "2 tensors" in lines
    assert "  'layer.weight' F32 [2, 3] [0, 24) id 77" in lines
    assert "  '\\x1b[31mred\\n' F32 [] [256, 260)" in lines
    assert any(line.startswith("  'rate' ") and line.endswith(" 0.5") for line in lines)
    assert "  'format': 'burnpack'" in lines
    assert "\x1b" not in out and "sound" not in out


def test_inspect_gives_json(capsys, pack: Path) -> None:
    status, out, _ = call(capsys, "inspect", pack, "--json")
    report = json.loads(out)
    assert status == 0
    assert {t["name"]: t["shape"] for t in report["tensors"]} == {"layer.weight": [2, 3], "\x1b[31mred\n": []}
    assert report["size_bytes"] == pack.stat().st_size
    assert "problems" not in report


def test_inspect_verifies_payloads(capsys, pack: Path, broken_bool: Path) -> None:
    status, out, _ = call(capsys, "inspect", "--verify", pack)
    assert status == 0 and "every payload is sound" in out
    assert call(capsys, "inspect", broken_bool)[0] == 0
    status, out, err = call(capsys, "inspect", "--verify", broken_bool)
    assert (status, err) == (1, "")
    assert "1 problems" in out and "element 1 of a bool tensor is neither 0 nor 1" in out
    status, out, _ = call(capsys, "inspect", "--verify", "--json", broken_bool)
    assert status == 1 and len(json.loads(out)["problems"]) == 1


BAD = [
    ("empty", b"", "the file is too short for the header"),
    ("text", b"hello, world", "the magic number is not burnpack's"),
    ("cut", None, "the metadata reaches beyond the end of the file"),
]


@pytest.mark.parametrize(("name", "content", "text"), BAD, ids=[row[0] for row in BAD])
def test_a_bad_file_is_one_line_on_stderr(capsys, pack: Path, name: str, content: bytes | None, text: str) -> None:
    path = pack.with_name(f"{name}\n\x1b[31m.bpk")
    path.write_bytes(pack.read_bytes()[:20] if content is None else content)
    for command in (["inspect", path], ["inspect", "--json", path], ["convert", path, pack.with_name("y.safetensors")]):
        status, out, err = call(capsys, *command)
        assert (status, out) == (1, "")
        assert err.startswith(f"burn-wgpu {command[0]}: ") and text in err
        assert err.count("\n") == 1 and err.endswith("\n") and "\x1b" not in err
    assert not pack.with_name("y.safetensors").exists()


@pytest.mark.parametrize("command", [["inspect", "none.bpk"], ["convert", "none.bpk", "x.safetensors"],
                                     ["convert", "none.safetensors", "x.bpk"]])  # fmt: skip
def test_a_missing_file_is_named(capsys, tmp_path: Path, command: list[str]) -> None:
    status, out, err = call(capsys, command[0], *[tmp_path / name for name in command[1:]])
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert str(tmp_path / command[1]) in err
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.safetensors"
    safetensors.numpy.save_file({"a": np.ones((500, 500), np.float32), "\x1b]0;x\x07": np.arange(3)}, path)
    return path


def test_convert_says_what_it_moved_and_is_bit_equal(capsys, tmp_path: Path, source: Path) -> None:
    out_path, back = tmp_path / "out.bpk", tmp_path / "back.safetensors"
    status, out, err = call(capsys, "convert", source, out_path)
    assert (status, err) == (0, "")  # no bar: stderr is not a terminal
    assert out.startswith(f"{out_path}: 1.0 MB of tensors in ") and out.endswith(" GB/s)\n")
    assert call(capsys, "convert", out_path, back)[0] == 0
    old, new = safetensors.numpy.load_file(source), safetensors.numpy.load_file(back)
    assert old.keys() == new.keys()
    assert all(old[n].tobytes() == new[n].tobytes() and old[n].shape == new[n].shape for n in old)


def test_convert_refuses_what_it_cannot_do_and_keeps_the_target(capsys, tmp_path: Path, source: Path) -> None:
    target = tmp_path / "out.bpk"
    target.write_bytes(b"old")
    broken = tmp_path / "broken.safetensors"
    broken.write_bytes(source.read_bytes()[:-1])
    link = tmp_path / "same.bpk"
    link.symlink_to(source)
    for arguments, text in [
        ((broken, target), f"burn-wgpu convert: safetensors {broken}: tensor"),
        ((source, link), f"burn-wgpu convert: '{source}' and '{link}' are the same file; name another\n"),
        ((source, source), f"burn-wgpu convert: '{source}' and '{source}' are the same file; name another\n"),
        ((source, tmp_path / "out.onnx"), f"burn-wgpu convert: '{tmp_path / 'out.onnx'}' ends in '.onnx'"),
        ((source, tmp_path / "none" / "out.bpk"), "burn-wgpu convert: "),
    ]:
        status, out, err = call(capsys, "convert", *arguments)
        assert (status, out, err.count("\n")) == (1, "", 1)
        assert err.startswith(text)
    assert target.read_bytes() == b"old"
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "broken.safetensors", "in.safetensors", "out.bpk", "same.bpk",
    ]  # fmt: skip


@pytest.mark.skipif(os.name == "nt", reason="Windows has no pseudo-terminals of this kind")
def test_convert_shows_a_bar_on_a_terminal(tmp_path: Path, source: Path) -> None:
    import pty

    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "burn_wgpu", "convert", source, tmp_path / "out.bpk"]
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=theirs, env=env, timeout=120, check=False)
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 65536):
            shown += piece
    except OSError:  # Linux says EIO when the other side is closed
        pass
    os.close(ours)
    assert done.returncode == 0
    assert "━".encode() in shown and b"MB" in shown
    assert done.stdout.decode().count("\n") == 1


def test_interrupting_a_conversion_leaves_nothing(tmp_path: Path, source: Path, monkeypatch, capsys) -> None:
    module = importlib.import_module("burn_wgpu.store.convert")  # the package gives that name to the function

    def interrupted(view, progress=None):
        yield view[:1]
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "pieces", interrupted)
    status, out, err = call(capsys, "convert", source, tmp_path / "out.bpk")
    assert (status, out, err) == (130, "", "burn-wgpu: interrupted\n")
    assert [p.name for p in tmp_path.iterdir()] == ["in.safetensors"]


def test_a_reader_that_goes_away_is_no_error(pack: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", "import sys; from burn_wgpu.cli import main; sys.exit(main(sys.argv[1:]))",
         "inspect", str(pack)],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    error = process.stderr.read()
    process.stderr.close()
    assert (process.wait(60), error) == (0, b"")


def test_wrong_usage_exits_with_2(capsys) -> None:
    for arguments in ([], ["inspect"], ["convert", "a.bpk"], ["nothing"]):
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        assert caught.value.code == 2
        assert capsys.readouterr().err.startswith("usage: burn-wgpu")


def test_inspect_tells_a_safetensors_file_in_any_case(capsys, tmp_path: Path) -> None:
    path = tmp_path / "X.SAFETENSORS"
    safetensors.numpy.save_file({"a": np.ones((3, 2), np.float32)}, path, metadata={"k": "v"})
    status, out, err = call(capsys, "inspect", path)
    assert (status, err) == (0, "")
    size = path.stat().st_size
    assert out.splitlines() == [
        f"{path}: SafeTensors, {size} bytes", "1 tensors", f"  'a' f32 [3, 2] [{size - 24}, {size})", "metadata",
        "  'k': 'v'",
    ]  # fmt: skip
    assert json.loads(call(capsys, "inspect", "--json", path)[1])["tensors"][0]["shape"] == [3, 2]
    assert call(capsys, "convert", path, tmp_path / "x.BPK")[0] == 0
    assert (tmp_path / "x.BPK").read_bytes().startswith(b"NRUB")


@pytest.mark.parametrize("kind", ["out", "out.bpk"])
def test_convert_into_a_folder_says_so(capsys, tmp_path: Path, source: Path, kind: str) -> None:
    folder = tmp_path / kind
    folder.mkdir()
    status, _, err = call(capsys, "convert", source, folder)
    assert (status, err) == (
        1, f"burn-wgpu convert: '{folder}' is a folder; name a file that ends in .safetensors or .bpk\n",
    )  # fmt: skip
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("target", ["out.bpk", "out.safetensors"])
def test_a_full_disk_names_the_output(
    capsys, tmp_path: Path, source: Path, pack: Path, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    origin = (
        source if target == "out.bpk" else write_pack(tmp_path / "y.bpk", [PackEntry("m", BOOL_U8, (1,), None, b"\1")])
    )
    monkeypatch.setattr(os, "fsync", full)
    path = tmp_path / target
    status, _, err = call(capsys, "convert", origin, path)
    assert status == 1 and err.count("\n") == 1
    assert "No space left on device" in err and str(path) in err
    assert not path.exists()
