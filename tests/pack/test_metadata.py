"""Descriptors and schemes that no fixture shows; encoded here by another CBOR library."""

from __future__ import annotations

from typing import Any

import cbor2
import pytest

from burn_wgpu.pack import PackError, PackFault, PackReader
from burn_wgpu.std.dtype import F32
from burn_wgpu.std.quant import BlockScale, QFloat, QuantScheme, QuantStore, QuantValue, ScaleDtype


def container(root: object, data: bytes = b"") -> bytes:
    metadata = cbor2.dumps(root)
    head = b"NRUB\1\0" + len(metadata).to_bytes(4, "little") + metadata
    return head.ljust(-(-len(head) // 256) * 256, b"\0") + data


def tensor(dtype: object, shape: list[int], data: bytes) -> bytes:
    return container({"tensors": {"w": {"dtype": dtype, "shape": shape, "data_offsets": [0, len(data)]}}}, data)


def scheme(**changes: object) -> dict[str, Any]:
    fields: dict[str, Any] = {"value": "Q8S", "store": "Native", "mode": "Symmetric", "tensor": None, "block": None}
    return {"QFloat": {k: v for k, v in (fields | changes).items() if v != "absent"}}


def block(*extents: int, dtype: str = "F32", length: int | None = None) -> dict[str, Any]:
    storage = list(extents) + [1] * (5 - len(extents))
    return {"size": {"storage": storage, "len": len(extents) if length is None else length}, "dtype": dtype}


def refused(raw: bytes) -> PackError:
    with pytest.raises(PackError) as caught:
        PackReader.from_bytes(raw)
    assert caught.value.name == "w"
    return caught.value


@pytest.mark.parametrize(
    ("spelling", "wanted", "length"),
    [
        (scheme(), QuantScheme(QuantValue.Q8S, QuantStore.native()), 8),
        (scheme(tensor="absent", block="absent"), QuantScheme(QuantValue.Q8S, QuantStore.native()), 8),
        (scheme(tensor="F16"), QuantScheme(QuantValue.Q8S, QuantStore.native(), tensor=ScaleDtype.F16), 6),
        (scheme(store={"PackedU32": 0}, value="Q4F"), QuantScheme(QuantValue.Q4F), 8),
        (
            scheme(block=block(2, dtype="UE8M0")),
            QuantScheme(QuantValue.Q8S, QuantStore.native(), block=BlockScale((2,), ScaleDtype.UE8M0)),
            6,
        ),
        (scheme(future={"a": [1, 2]}), QuantScheme(QuantValue.Q8S, QuantStore.native()), 8),
    ],
)
def test_schemes_are_read(spelling: dict[str, Any], wanted: QuantScheme, length: int) -> None:
    reader = PackReader.from_bytes(tensor(spelling, [4], bytes(length)))
    assert reader.info("w").dtype is QFloat(wanted)


@pytest.mark.parametrize(
    ("spelling", "kind", "text"),
    [
        (scheme(value="absent"), PackFault.SCHEMA, "'value' is missing"),
        (scheme(store="absent"), PackFault.SCHEMA, "'store' is missing"),
        (scheme(mode="absent"), PackFault.SCHEMA, "'mode' is missing"),
        (scheme(mode="Asymmetric"), PackFault.DTYPE, "Asymmetric"),
        (scheme(tensor="F64"), PackFault.DTYPE, "F64"),
        (scheme(store="Packed"), PackFault.DTYPE, "Packed"),
        (scheme(store={}), PackFault.DTYPE, "empty map"),
        (scheme(store={"PackedU32": 0, "PackedNative": 0}), PackFault.DTYPE, "two variants"),
        (scheme(store={"Native": 0}), PackFault.DTYPE, "Native"),
        (scheme(store={"PackedU32": 1}), PackFault.SCHEME, "packed dimension 1 of a tensor of rank 1"),
        (scheme(block=block(2, 2)), PackFault.SCHEME, "2 extents on a tensor of rank 1"),
        (scheme(block=block(0)), PackFault.SCHEME, "each must be 1 or more"),
        (scheme(block=block(2, length=6)), PackFault.SCHEME, "found 6, wanted at most 5"),
        (scheme(block=block(2), tensor="F16"), PackFault.SCHEME, "must be F32"),
        (scheme(block={"dtype": "F32"}), PackFault.SCHEMA, "lacks 'size' or 'dtype'"),
        (scheme(block={"size": {"len": 1}, "dtype": "F32"}), PackFault.SCHEMA, "lacks 'storage' or 'len'"),
        (scheme(block=[2]), PackFault.DTYPE, "wanted a map"),
        (scheme(block=block(2)), PackFault.LENGTH, "12 bytes for QFloat(Q8S, Native, block [2] F32)"),
        ({}, PackFault.DTYPE, "empty map"),
        ({"Bool": "I8"}, PackFault.DTYPE, "I8"),
        ({"Bool": None}, PackFault.SCHEMA, "wanted text"),
        ({"Float": "F32"}, PackFault.DTYPE, "Float"),
    ],
)
def test_schemes_and_dtypes_that_make_no_sense_are_refused(spelling: object, kind: PackFault, text: str) -> None:
    error = refused(tensor(spelling, [4], bytes(8)))
    assert error.kind is kind
    assert text in str(error)


def older(param: object = "F32", level: object = "Tensor", **changes: object) -> dict[str, Any]:
    return scheme(param=param, level=level, tensor="absent", block="absent", **changes)


@pytest.mark.parametrize(
    ("spelling", "wanted", "length"),
    [
        (older(), QuantScheme(QuantValue.Q8S, QuantStore.native()), 8),
        (older("F16"), QuantScheme(QuantValue.Q8S, QuantStore.native(), tensor=ScaleDtype.F16), 6),
        (
            older("F16", {"Block": block(2)["size"]}),
            QuantScheme(QuantValue.Q8S, QuantStore.native(), block=BlockScale((2,), ScaleDtype.F16)),
            8,
        ),
        (older(store={"PackedU32": 0}), QuantScheme(QuantValue.Q8S), 8),
    ],
)
def test_older_schemes_are_read_as_what_they_mean(spelling: dict[str, Any], wanted: QuantScheme, length: int) -> None:
    reader = PackReader.from_bytes(tensor(spelling, [4], bytes(length)))
    assert reader.info("w").dtype is QFloat(wanted)
    assert len(reader.legacy) == 1


@pytest.mark.parametrize(
    ("spelling", "text"),
    [
        (older(store="U32"), "Burn 0.19"),
        (older(store={"PackedU32": 1}), "packed along the last dimension"),
        (older(level={"BlockTensor": {"block": block(2)["size"], "global": "F32"}}), "BlockTensor"),
        (scheme(param="F32", tensor="absent", block="absent"), "mixes the fields"),
        (scheme(level="Tensor", tensor="absent", block="absent"), "mixes the fields"),
        (scheme(param="F32", level="Tensor"), "mixes the fields"),
    ],
)
def test_older_schemes_that_would_need_a_guess_are_named(spelling: dict[str, Any], text: str) -> None:
    error = refused(tensor(spelling, [4, 4], bytes(20)))
    assert error.kind is PackFault.LEGACY
    assert text in str(error)


def test_the_count_of_tensors_is_limited() -> None:
    descriptor = {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]}
    tensors = {f"{n}": descriptor for n in range(100_001)}
    with pytest.raises(PackError, match="found 100001, wanted at most 100000") as caught:
        PackReader.from_bytes(container({"tensors": tensors}))
    assert caught.value.kind is PackFault.LIMIT
    del tensors["0"]
    assert len(PackReader.from_bytes(container({"tensors": tensors}))) == 100_000


def test_overlap_is_found_wherever_it_is() -> None:
    def info(start: int, end: int) -> dict[str, Any]:
        return {"dtype": "U8", "shape": [end - start], "data_offsets": [start, end]}

    apart = {"a": info(0, 4), "b": info(4, 8), "empty": info(2, 2)}
    assert len(PackReader.from_bytes(container({"tensors": apart}, bytes(12)))) == 3
    with pytest.raises(PackError, match="tensor 'a': its bytes overlap with those of tensor 'c'") as caught:
        PackReader.from_bytes(container({"tensors": {"b": info(8, 12), "c": info(3, 6), "a": info(0, 4)}}, bytes(12)))
    assert caught.value.kind is PackFault.OVERLAP


@pytest.mark.parametrize("shape", [[0, 2**63, 2], [2**32, 0, 2**32], [0] * 300])
def test_shapes_without_elements_need_no_bytes(shape: list[int]) -> None:
    assert PackReader.from_bytes(tensor("F32", shape, b"")).info("w").dtype is F32


def test_a_product_that_overflows_before_a_zero_is_refused_as_in_burn() -> None:
    assert refused(tensor("F32", [2**63, 2, 0], b"")).kind is PackFault.LENGTH
