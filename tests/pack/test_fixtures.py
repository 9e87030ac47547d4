"""Every file of tests/data/burnpack: sound ones are read with the stated content, broken ones refused as stated."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from burn_wgpu.pack import PackError, PackFault, PackReader, Scalar, ScalarKind, pack_bytes
from burn_wgpu.pack.metadata import dtype_spelling
from burn_wgpu.std.dtype import BF16, bf16_to_float32
from burn_wgpu.std.quant import QFloat
from burn_wgpu.std.quantized import QuantizedBytes

FOLDER = Path(__file__).resolve().parent.parent / "data" / "burnpack"
ROWS: list[dict[str, Any]] = json.loads((FOLDER / "index.json").read_text())["fixtures"]
SECONDS, MEMORY = 2.0, 8 << 20

# What each broken file must be called. Files whose index says "either" and which we read are not in here.
KINDS = {
    PackFault.HEADER: "n001 n002 n003",
    PackFault.MAGIC: "n005 n006 n007",
    PackFault.VERSION: "n008 n009 n010",
    PackFault.LIMIT: "n012 n013",
    PackFault.TRUNCATED: "n011 n014 n075 n078 n079 n087 n088 n089 n090 n091 e29",
    PackFault.CBOR: "n004 n015 n016 n017 n018 n022 n030 n031 n032 n033 n034 n037 n068",
    PackFault.NESTING: "n023 n024 n025 n026",
    PackFault.TRAILING: "n036",
    PackFault.DUPLICATE: "n066 n067",
    PackFault.SCHEMA: "n019 n020 n021 n027 n029 n035 n038 n039 n040 n041 n042 n043 n044 n047 n048 n052 n053 n054 n055 "
    "n056 n057 n058 n059 n060 n061 n062 n063 n064 n065 n069 n070 n071 n072 n073 n097 n098",
    PackFault.DTYPE: "n045 n046 n049 n050 n051 n093 n094",
    PackFault.SCALAR: "n100 n101 n102 n103 n104 n105 n106 n107 n108 n109 n110",
    PackFault.OFFSETS: "n074 n076 n077",
    PackFault.LENGTH: "n081 n082 n083 n084 n085 n086 n092",
    PackFault.OVERLAP: "n080",
    PackFault.SCHEME: "n095 n096",
    PackFault.BOOL: "n099",
}
KIND_OF = {number: kind for kind, numbers in KINDS.items() for number in numbers.split()}

LEGACY = {
    "l01": ("a data section without padding (Burn 0.19)",),
    "l02": ("the dtype 'Bool' without a storage kind (Burn 0.19 and 0.20)",),
    "l03": ("a quantization scheme with `param` and `level` (Burn 0.19 to 0.22)",),
    "l04": ("a quantization scheme with `param` and `level` (Burn 0.19 to 0.22)",),
}


def _number(row: dict[str, Any]) -> str:
    return str(row["file"]).split("-")[0]


# What a file with a fault of the record level says about its container: it is sound.
REFUSED = [row for row in ROWS if _number(row) in KIND_OF]
READ = [row for row in ROWS if _number(row) not in KIND_OF]


def ids(row: dict[str, Any]) -> str:
    return str(row["file"]).removesuffix(".bpk")


def test_the_fixtures_are_the_ones_of_the_index() -> None:
    assert len(ROWS) == 165
    for row in ROWS:
        raw = (FOLDER / row["file"]).read_bytes()
        assert (len(raw), hashlib.sha256(raw).hexdigest()) == (row["size"], row["sha256"])


def test_nothing_is_refused_or_read_against_the_index() -> None:
    container = [row for row in ROWS if row["class"] != "record"]
    assert not [row["file"] for row in container if row["require"]["verdict"] == "error" and row in READ]
    assert not [row["file"] for row in container if row["require"]["verdict"] == "ok" and row in REFUSED]


@pytest.mark.parametrize("way", ["file", "bytes"])
@pytest.mark.parametrize("row", REFUSED, ids=ids)
def test_a_broken_file_is_refused_by_its_name(row: dict[str, Any], way: str) -> None:
    path = FOLDER / row["file"]
    with pytest.raises(PackError) as caught:  # noqa: PT012 (a fault may show at open or at the payload)
        reader = PackReader.open(path) if way == "file" else PackReader.from_bytes(path.read_bytes(), name="in memory")
        reader.verify()
    error, message = caught.value, str(caught.value)
    assert error.kind is KIND_OF[_number(row)]
    assert message.startswith(f"{path}: " if way == "file" else "in memory: ")
    require = row["require"]
    lower = message.lower()
    assert any(word.lower() in lower for word in require["message_contains_any"]), message
    assert all(word.lower() in lower for word in require.get("message_contains_all", [])), message
    assert "found" in message or "wanted" in message or "needs" in message or error.kind is PackFault.CBOR


@pytest.mark.parametrize("way", ["file", "bytes"])
@pytest.mark.parametrize("row", READ, ids=ids)
def test_a_sound_file_is_read_with_the_stated_content(row: dict[str, Any], way: str) -> None:
    path = FOLDER / row["file"]
    reader = PackReader.open(path) if way == "file" else PackReader.from_bytes(path.read_bytes())
    with reader:
        reader.verify()
        assert reader.legacy == LEGACY.get(_number(row), ())
        require = row["require"]
        if "tensors" not in require:  # a record: its content is the record's matter
            assert row["class"] == "record"
            return
        assert list(reader.tensors) == sorted(require["tensors"], key=str.encode)
        for name, wanted in require["tensors"].items():
            _check_tensor(reader, name, wanted)
        assert dict(reader.metadata) == require["metadata"]
        assert set(reader.scalars) == set(require["scalars"])
        for name, wanted in require["scalars"].items():
            _check_scalar(reader.scalars[name], wanted)


def _check_tensor(reader: PackReader, name: str, wanted: dict[str, Any]) -> None:
    info = reader.info(name)
    assert dtype_spelling(info.dtype).startswith(wanted["dtype"])
    assert list(info.shape) == wanted["shape"]
    assert info.param_id == (None if wanted["param_id"] is None else int(wanted["param_id"]))
    assert reader.view(name).hex() == wanted["data_hex"]
    assert reader.read(name).hex() == wanted["data_hex"]
    if "values" not in wanted:
        return
    if isinstance(info.dtype, QFloat):
        held = QuantizedBytes.unpack(reader.view(name), info.shape, info.dtype.scheme).dequantize()
        wanted_values = np.array(wanted["values"])
        np.testing.assert_allclose(held.reshape(-1), wanted_values, rtol=1e-7)  # the index multiplied in doubles
        return
    held = reader.array(name)
    assert held.shape == info.shape
    held = bf16_to_float32(held) if info.dtype is BF16 else held
    number = float if info.dtype.is_float else int
    values = np.array([number(value) for value in wanted["values"]], held.dtype)
    np.testing.assert_array_equal(held.reshape(-1), values)


def _check_scalar(scalar: Scalar, wanted: dict[str, Any]) -> None:
    assert scalar.kind.value == wanted["kind"]
    if scalar.kind is ScalarKind.FLOAT:
        assert f"{scalar.bits:016x}" == wanted["f64_bits"]
    elif scalar.kind is ScalarKind.BOOL:
        assert scalar.value is wanted["value"]
    else:
        assert scalar.value == int(wanted["value"])


@pytest.mark.parametrize("row", ROWS, ids=ids)
def test_a_file_costs_little_time_and_memory_and_is_left_alone(row: dict[str, Any]) -> None:
    path = FOLDER / row["file"]
    before = path.stat()
    tracemalloc.start()
    start = time.perf_counter()
    try:
        try:
            with PackReader.open(path) as reader:
                reader.verify()
        except PackError:
            pass
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert time.perf_counter() - start < SECONDS
    assert peak < row["size"] + MEMORY
    assert peak < 1 << 20, "far below the limit, since no file here is large"
    after = path.stat()
    assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)


def test_all_files_together_do_not_grow_the_process(tmp_path: Path) -> None:
    """What the operating system counts, which also sees what a memory tracer does not."""
    resource = pytest.importorskip("resource", reason="no resource module on this system")
    del resource
    program = f"""
import resource, sys
from pathlib import Path
from burn_wgpu.pack import PackError, PackReader
def sweep(paths):
    for path in paths:
        try:
            with PackReader.open(path) as reader:
                reader.verify()
        except PackError:
            pass
paths = sorted(Path({str(FOLDER)!r}).glob("*.bpk"))
sweep([p for p in paths if p.name.startswith("x")])  # what a first use loads does not count
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
sweep(paths)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(root)},
        timeout=60,
        check=True,
    )
    unit = 1 if sys.platform == "darwin" else 1024
    assert int(done.stdout) * unit < MEMORY
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("row", [row for row in ROWS if row["class"] == "worked-example"], ids=ids)
def test_a_worked_example_is_written_to_the_byte(row: dict[str, Any]) -> None:
    """Its content, given to the writer in the order of the payloads, makes the same file."""
    raw = (FOLDER / row["file"]).read_bytes()
    reader = PackReader.from_bytes(raw)
    written = pack_bytes(
        [(i.name, i.dtype, i.shape, i.param_id, reader.view(i.name)) for i in reader.in_file_order()],
        metadata=dict(reversed(reader.metadata.items())),  # the order given must not matter
        scalars=dict(reversed(reader.scalars.items())),
    )
    assert written == raw
