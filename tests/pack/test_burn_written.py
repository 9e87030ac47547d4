"""Every container that Burn wrote is read with the stated content, and written again to the same bytes."""

from __future__ import annotations

import hashlib
from functools import partial
from pathlib import Path
from typing import Any

from burn_wgpu.pack import PackReader, Scalar, ScalarKind, pack_bytes
from burn_wgpu.pack.metadata import encode_dtype
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.quant import (
    BlockScale,
    QFloat,
    QuantMode,
    QuantScheme,
    QuantStore,
    QuantValue,
    ScaleDtype,
)

PLAIN = {
    "F64": dt.F64, "F32": dt.F32, "Flex32": dt.FLEX32, "F16": dt.F16, "BF16": dt.BF16, "I64": dt.I64, "I32": dt.I32,
    "I16": dt.I16, "I8": dt.I8, "U64": dt.U64, "U32": dt.U32, "U16": dt.U16, "U8": dt.U8,
}  # fmt: skip
BOOLS = {"Native": dt.BOOL, "U8": dt.BOOL_U8, "U32": dt.BOOL_U32}


def _dtype(spelling: str | dict[str, Any]) -> DType:
    if isinstance(spelling, str):
        return PLAIN[spelling]
    if "Bool" in spelling:
        return BOOLS[spelling["Bool"]]
    scheme = spelling["QFloat"]
    store, block = scheme["store"], scheme["block"]
    return QFloat(
        QuantScheme(
            QuantValue(scheme["value"]),
            QuantStore(store) if isinstance(store, str) else QuantStore(*next(iter(store.items()))),
            QuantMode(scheme["mode"]),
            scheme["tensor"] and ScaleDtype(scheme["tensor"]),
            block and BlockScale(tuple(block["size"]["storage"][: block["size"]["len"]]), ScaleDtype(block["dtype"])),
        )
    )


def test_the_index_covers_every_file(burn_written_folder: Path, burn_written: list[dict[str, Any]]) -> None:
    found = {path.relative_to(burn_written_folder).as_posix() for path in burn_written_folder.rglob("*.bpk")}
    assert found == {row["file"] for row in burn_written}
    assert len(found) == 365


def test_every_file_is_read_with_the_stated_content(
    burn_written_folder: Path, burn_written: list[dict[str, Any]]
) -> None:
    for row in burn_written:
        with PackReader.open(burn_written_folder / row["file"]) as reader:
            where = row["file"]
            assert not reader.legacy, where
            assert set(reader.tensors) == set(row["tensors"]), where
            for name, wanted in row["tensors"].items():
                info = reader.info(name)
                assert info.dtype is _dtype(wanted["dtype"]), (where, name)
                assert info.shape == tuple(wanted["shape"]), (where, name)
                assert info.param_id == wanted["param_id"], (where, name)
                assert [info.start, info.end] == wanted["data_offsets"], (where, name)
                payload = reader.view(name)
                assert len(payload) == wanted["nbytes"] == info.size_bytes, (where, name)
                assert hashlib.sha256(payload).hexdigest() == wanted["sha256"], (where, name)
            assert [info.name for info in reader.in_file_order()] == row["payload_order"], where
            assert dict(reader.metadata) == row["metadata"], where
            assert {name: _stated(scalar) for name, scalar in reader.scalars.items()} == row["scalars"], where


def _stated(scalar: Scalar) -> dict[str, Any]:
    value: Any = scalar.value
    if scalar.kind is ScalarKind.FLOAT and (value != value or value in (float("inf"), float("-inf"))):
        value = {"nan": "NaN"}.get(str(value), str(value))
    return {scalar.kind.value: value}


def test_every_file_is_written_to_the_byte(burn_written_folder: Path, burn_written: list[dict[str, Any]]) -> None:
    for row in burn_written:
        raw = (burn_written_folder / row["file"]).read_bytes()
        reader = PackReader.from_bytes(raw)
        written = pack_bytes(
            [
                (
                    name,
                    _dtype(row["tensors"][name]["dtype"]),
                    row["tensors"][name]["shape"],
                    row["tensors"][name]["param_id"],
                    partial(reader.view, name),
                )
                for name in row["payload_order"]
            ],
            metadata=row["metadata"],
            scalars=reader.scalars,
        )
        assert written == raw, row["file"]


def test_the_spellings_of_schemes_are_burns() -> None:
    native = QuantScheme(QuantValue.Q8S, QuantStore.native())
    per_block = QuantScheme(QuantValue.Q4S).per_block([32], ScaleDtype.F16)
    spellings = {
        QuantScheme(): "a166 51466c6f6174 a5 65 76616c7565 63 513846 65 73746f7265 a1 69 5061636b6564553332 00"
        "64 6d6f6465 69 53796d6d6574726963 66 74656e736f72 f6 65 626c6f636b f6",
        native: "a166 51466c6f6174 a5 65 76616c7565 63 513853 65 73746f7265 66 4e6174697665"
        "64 6d6f6465 69 53796d6d6574726963 66 74656e736f72 f6 65 626c6f636b f6",
        per_block: "a166 51466c6f6174 a5 65 76616c7565 63 513453 65 73746f7265 a1 69 5061636b6564553332 00"
        "64 6d6f6465 69 53796d6d6574726963 66 74656e736f72 f6 65 626c6f636b"
        "a2 64 73697a65 a2 67 73746f72616765 85 1820 01 01 01 01 63 6c656e 01 65 6474797065 63 463136",
        QuantScheme.nvfp4(): "a166 51466c6f6174 a5 65 76616c7565 64 45324d31 65 73746f7265 a1"
        "6c 5061636b65644e6174697665 00 64 6d6f6465 69 53796d6d6574726963 66 74656e736f72 63 463332 65 626c6f636b"
        "a2 64 73697a65 a2 67 73746f72616765 85 10 01 01 01 01 63 6c656e 01 65 6474797065 65 5545344d33",
    }
    for scheme, spelling in spellings.items():
        assert encode_dtype(QFloat(scheme)) == bytes.fromhex(spelling)
