"""The metadata item of a container: descriptors, dtype and scheme spellings, text map, scalars; read and written.

Reading takes what Burn writes and everything that is sound beyond it (key order, unknown fields, longer forms), and two
spellings of older versions: the bare dtype "Bool" (one byte each) and quantization schemes with `param` and `level`.
Writing gives Burn's bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, NoReturn

from burn_wgpu.pack import cbor
from burn_wgpu.pack.cbor import UINT64_MAX, Decoder, unknown_key
from burn_wgpu.pack.errors import PackFault, shown
from burn_wgpu.pack.scalar import INT64_MAX, INT64_MIN, Scalar, ScalarKind
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.errors import ArgumentError, ShapeError
from burn_wgpu.std.quant import (
    MAX_BLOCK_RANK,
    BlockScale,
    QFloat,
    QuantMode,
    QuantScheme,
    QuantStore,
    QuantValue,
    ScaleDtype,
)

MIB, GIB = 1 << 20, 1 << 30

_FIXED = {"max_metadata_bytes": 100 * MIB, "max_tensors": 100_000, "max_nesting": 128}


@dataclass(frozen=True, slots=True)
class PackLimits:
    """What reader and writer accept; the defaults are Burn's.

    The first three may only be lowered. The last two may be raised as well; a reader applies them when a payload is
    touched, so names and scalars of a larger file can be read, and the file limit does not concern bytes in memory.
    """

    max_metadata_bytes: int = 100 * MIB
    max_tensors: int = 100_000
    max_nesting: int = 128
    max_tensor_bytes: int = 10 * GIB
    max_file_bytes: int = 500 * GIB

    def __post_init__(self) -> None:
        for name, most in _FIXED.items():
            value = getattr(self, name)
            if not 0 <= value <= most:
                raise ArgumentError(f"PackLimits: {name} = {value}; it may only be lowered, so it must be 0 to {most}")
        if self.max_tensor_bytes < 0 or self.max_file_bytes < 0:
            raise ArgumentError("PackLimits: max_tensor_bytes and max_file_bytes must be 0 or more")


class TensorInfo(NamedTuple):
    """One tensor of a container. The payload lies at [start, end) of the data section."""

    name: str
    dtype: DType
    shape: tuple[int, ...]
    param_id: int | None
    start: int
    end: int

    @property
    def size_bytes(self) -> int:
        """Length of the payload."""
        return self.end - self.start


@dataclass(slots=True)
class Metadata:
    """A decoded metadata item; `legacy` names what an older Burn must have written."""

    tensors: dict[str, TensorInfo] = field(default_factory=dict)
    metadata: dict[str, str] = field(default_factory=dict)
    scalars: dict[str, Scalar] = field(default_factory=dict)
    legacy: list[str] = field(default_factory=list)


MAX_RANK = 4096
"""A guard, far above what any Burn can write, so that a shape cannot fill the memory."""


# Spellings

_PLAIN: dict[str, DType] = {
    "F64": dt.F64, "F32": dt.F32, "Flex32": dt.FLEX32, "F16": dt.F16, "BF16": dt.BF16,
    "I64": dt.I64, "I32": dt.I32, "I16": dt.I16, "I8": dt.I8,
    "U64": dt.U64, "U32": dt.U32, "U16": dt.U16, "U8": dt.U8,
}  # fmt: skip

_BOOLS: dict[str, DType] = {"Native": dt.BOOL, "U8": dt.BOOL_U8, "U32": dt.BOOL_U32}

_DTYPE_BYTES: dict[DType, bytes] = {d: cbor.encode_text(name) for name, d in _PLAIN.items()} | {
    d: cbor.encode_map_head(1) + cbor.encode_text("Bool") + cbor.encode_text(name) for name, d in _BOOLS.items()
}

# The first byte of a text gives its length, so a spelling is found by slicing that many bytes.
_DTYPE_OF_BYTES: dict[bytes, DType] = {cbor.encode_text(name): d for name, d in _PLAIN.items()}


def dtype_spelling(dtype: DType) -> str:
    """The dtype in Burn's words: "F32", "Bool(Native)", "QFloat(Q8S, Native)" …"""
    for name, known in _PLAIN.items():
        if known is dtype:
            return name
    for name, known in _BOOLS.items():
        if known is dtype:
            return f"Bool({name})"
    assert isinstance(dtype, QFloat)
    return f"QFloat({dtype.scheme})"


def payload_bytes(dtype: DType, shape: Sequence[int]) -> int:
    """product(shape) · size, or the length of a quantized payload, without wrap-around.

    As in Burn the product is formed from left to right and may not leave 64 bits on the way, even if a 0 follows.
    Raises ShapeError.
    """
    if isinstance(dtype, QFloat):
        return dtype.scheme.payload_bytes(shape)
    size = 1
    for dim in shape:
        size *= dim
        if size > UINT64_MAX:
            break
    size *= dtype.size_bytes
    if size > UINT64_MAX:
        raise ShapeError("the number of bytes overflows 64 bits")
    return size


# Reading


def decode_metadata(data: bytes, *, file: str, base: int, limits: PackLimits) -> Metadata:
    """The tables of one metadata region. Raises PackError; ranges and lengths are the reader's to check."""
    decoder = Decoder(data, file=file, base=base, nesting=limits.max_nesting)
    result = Metadata()
    seen: set[str] = set()
    known = {"tensors": _read_tensors, "metadata": _read_text_map, "scalars": _read_scalars}
    for _ in decoder.entries("the root item"):
        key = decoder.text("a key of the root map")
        if key in known and key not in seen:
            seen.add(key)
            known[key](decoder, result, limits)
        else:
            unknown_key(decoder, key, seen, "the root map")
    decoder.finish()
    if "tensors" not in seen:
        decoder.fail(PackFault.SCHEMA, "the field 'tensors' is missing in the metadata", "none", "a map")
    return result


def _read_tensors(decoder: Decoder, result: Metadata, limits: PackLimits) -> None:
    tensors = result.tensors
    for _ in decoder.entries("tensors", most=limits.max_tensors):
        decoder.place, decoder.name = "tensors", None
        name = decoder.text("the name of a tensor")
        decoder.place, decoder.name = "tensor", name
        if name in tensors:
            decoder.fail(PackFault.DUPLICATE, "duplicate tensor name", "two descriptors", "one")
        tensors[name] = _read_descriptor(decoder, name, result.legacy)
    decoder.place = decoder.name = None


def _read_descriptor(decoder: Decoder, name: str, legacy: list[str]) -> TensorInfo:
    dtype: DType | None = None
    shape: tuple[int, ...] | None = None
    offsets: tuple[int, ...] | None = None
    param_id: int | None = None
    seen: set[str] = set()
    for _ in decoder.entries("the descriptor"):
        key = decoder.text("a key of the descriptor")
        if key in seen:
            decoder.fail(PackFault.DUPLICATE, f"duplicate field {shown(key)} in the descriptor", "it twice", "it once")
        seen.add(key)
        if key == "dtype":
            dtype = _read_dtype(decoder, legacy)
        elif key == "shape":
            shape = tuple([decoder.unsigned("shape") for _ in decoder.elements("shape", most=MAX_RANK)])
        elif key == "data_offsets":
            offsets = tuple([decoder.unsigned("data_offsets") for _ in decoder.elements("data_offsets", most=2)])
            if len(offsets) != 2:
                decoder.fail(
                    PackFault.SCHEMA, "data_offsets has the wrong length", str(len(offsets)), "exactly 2 elements"
                )
        elif key == "param_id":
            param_id = None if decoder.optional_null() else decoder.unsigned("param_id")
        else:
            decoder.skip()
    if dtype is None or shape is None or offsets is None:
        missing = next(k for k in ("dtype", "shape", "data_offsets") if k not in seen)
        decoder.fail(PackFault.SCHEMA, f"the field {missing!r} is missing in the descriptor", "none", "a value")
    return TensorInfo(name, dtype, shape, param_id, offsets[0], offsets[1])


def _read_dtype(decoder: Decoder, legacy: list[str]) -> DType:
    data, position = decoder.data, decoder.position
    if position < decoder.end and 0x60 < data[position] < 0x68:  # text of 1 to 7 bytes: all the plain names
        length = data[position] - 0x5F
        if (plain := _DTYPE_OF_BYTES.get(data[position : position + length])) is not None:
            decoder.position = position + length
            return plain
    if decoder.peek() != 5:
        spelling = decoder.text("dtype")
        if spelling == "Bool":
            _note(legacy, "the dtype 'Bool' without a storage kind (Burn 0.19 and 0.20)")
            return dt.BOOL
        if spelling in _PLAIN:  # written in a longer form
            return _PLAIN[spelling]
        _unknown(decoder, "dtype", spelling, [*_PLAIN, "{Bool: …}", "{QFloat: …}"])
    variant, dtype = None, None
    for _ in decoder.entries("dtype", PackFault.DTYPE):
        if variant is not None:
            decoder.fail(PackFault.DTYPE, "the dtype has two variants in one map", wanted="exactly one")
        variant = decoder.text("the variant of the dtype")
        if variant == "Bool":
            store = decoder.text("the storage of the dtype Bool")
            if store not in _BOOLS:
                _unknown(decoder, "dtype Bool storage", store, list(_BOOLS))
            dtype = _BOOLS[store]
        elif variant == "QFloat":
            dtype = QFloat(_read_scheme(decoder, legacy))
        elif variant in _PLAIN:
            decoder.fail(PackFault.DTYPE, f"the dtype {variant} has a payload", f"{{{variant}: …}}", "the bare text")
        else:
            _unknown(decoder, "dtype", variant, [*_PLAIN, "{Bool: …}", "{QFloat: …}"])
    if dtype is None:
        decoder.fail(PackFault.DTYPE, "the dtype is an empty map", wanted="one variant")
    return dtype


def _note(legacy: list[str], text: str) -> None:
    if text not in legacy:
        legacy.append(text)


def _unknown(decoder: Decoder, what: str, found: str, known: list[str]) -> NoReturn:
    decoder.fail(PackFault.DTYPE, f"unknown {what} in the metadata", shown(found), "one of " + " ".join(known))


def _read_enum(decoder: Decoder, what: str, known: Mapping[str, object]) -> str:
    spelling = decoder.text(what)
    if spelling not in known:
        _unknown(decoder, what, spelling, list(known))
    return spelling


_VALUES = {v.value: v for v in QuantValue}
_MODES = {m.value: m for m in QuantMode}
_SCALES = {s.value: s for s in ScaleDtype}
_STORES = {"Native": 0, "PackedNative": 0, "PackedU32": 0}


def _read_scheme(decoder: Decoder, legacy: list[str]) -> QuantScheme:
    """The five fields of a scheme, or the older set with `param` and `level`."""
    value: QuantValue | None = None
    store: QuantStore | None = None
    mode: QuantMode | None = None
    tensor: ScaleDtype | None = None
    block: BlockScale | None = None
    param: ScaleDtype | None = None
    level: tuple[int, ...] | None = None
    seen: set[str] = set()
    for _ in decoder.entries("the quantization scheme", PackFault.DTYPE):
        key = decoder.text("a key of the quantization scheme")
        if key in seen:
            decoder.fail(PackFault.DUPLICATE, f"duplicate field {shown(key)} in the quantization scheme")
        seen.add(key)
        match key:
            case "value":
                value = _VALUES[_read_enum(decoder, "quantization value", _VALUES)]
            case "store":
                store = _read_store(decoder)
            case "mode":
                mode = _MODES[_read_enum(decoder, "quantization mode", _MODES)]
            case "tensor":
                tensor = None if decoder.optional_null() else _read_scale_dtype(decoder)
            case "block":
                block = None if decoder.optional_null() else _read_block(decoder)
            case "param":
                param = _read_scale_dtype(decoder)
            case "level":
                level = _read_level(decoder)
            case _:
                decoder.skip()
    if value is None or store is None or mode is None:
        missing = next(k for k in ("value", "store", "mode") if k not in seen)
        decoder.fail(PackFault.SCHEMA, f"the field {missing!r} is missing in the quantization scheme")
    older = seen & {"param", "level"}
    if not older:
        return QuantScheme(value, store, mode, tensor, block)
    newer = seen & {"tensor", "block"}
    if newer or len(older) < 2:
        decoder.fail(
            PackFault.LEGACY,
            "the quantization scheme mixes the fields of an older Burn with others",
            " ".join(sorted(older | newer)),
            "param and level, or tensor and block",
        )
    assert param is not None
    return _legacy_scheme(decoder, QuantScheme(value, store, mode), param, level, legacy)


def _read_scale_dtype(decoder: Decoder) -> ScaleDtype:
    return _SCALES[_read_enum(decoder, "dtype of a quantization scale", _SCALES)]


def _read_store(decoder: Decoder) -> QuantStore:
    if decoder.peek() != 5:
        spelling = decoder.text("quantization store")
        if spelling == "U32":
            decoder.fail(
                PackFault.LEGACY,
                "the quantization store 'U32' is that of Burn 0.19, whose packed layout is not known for sure",
                wanted="Native, PackedNative or PackedU32; save the file anew with a later Burn",
            )
        if spelling != "Native":
            _unknown(decoder, "quantization store", spelling, ["Native", "{PackedNative: d}", "{PackedU32: d}"])
        return QuantStore.native()
    store: QuantStore | None = None
    for _ in decoder.entries("quantization store", PackFault.DTYPE):
        if store is not None:
            decoder.fail(PackFault.DTYPE, "the quantization store has two variants in one map", wanted="exactly one")
        variant = decoder.text("the variant of the quantization store")
        dim = decoder.unsigned(f"the packed dimension of the quantization store {shown(variant)}", PackFault.DTYPE)
        if variant == "PackedNative":
            store = QuantStore.packed_native(dim)
        elif variant == "PackedU32":
            store = QuantStore.packed_u32(dim)
        else:
            _unknown(decoder, "quantization store", variant, ["Native", "{PackedNative: d}", "{PackedU32: d}"])
    if store is None:
        decoder.fail(PackFault.DTYPE, "the quantization store is an empty map", wanted="one variant")
    return store


def _read_block(decoder: Decoder) -> BlockScale:
    extents: tuple[int, ...] | None = None
    scale: ScaleDtype | None = None
    seen: set[str] = set()
    for _ in decoder.entries("the quantization block", PackFault.DTYPE):
        key = decoder.text("a key of the quantization block")
        if key in seen:
            decoder.fail(PackFault.DUPLICATE, f"duplicate field {shown(key)} in the quantization block")
        seen.add(key)
        if key == "size":
            extents = _read_block_size(decoder)
        elif key == "dtype":
            scale = _read_scale_dtype(decoder)
        else:
            decoder.skip()
    if extents is None or scale is None:
        decoder.fail(PackFault.SCHEMA, "the quantization block lacks 'size' or 'dtype'", wanted="both")
    return BlockScale(extents, scale)


def _read_block_size(decoder: Decoder) -> tuple[int, ...]:
    storage: list[int] | None = None
    length: int | None = None
    seen: set[str] = set()
    for _ in decoder.entries("the quantization block size", PackFault.DTYPE):
        key = decoder.text("a key of the quantization block size")
        if key in seen:
            decoder.fail(PackFault.DUPLICATE, f"duplicate field {shown(key)} in the quantization block size")
        seen.add(key)
        if key == "storage":
            what = "the storage of the quantization block"
            storage = [decoder.unsigned(what) for _ in decoder.elements(what, most=MAX_BLOCK_RANK)]
            if len(storage) != MAX_BLOCK_RANK or any(extent > 255 for extent in storage):
                decoder.fail(
                    PackFault.SCHEMA, f"{what} is wrong", str(storage), f"{MAX_BLOCK_RANK} numbers of one byte"
                )
        elif key == "len":
            length = decoder.unsigned("the len of the quantization block")
        else:
            decoder.skip()
    if storage is None or length is None:
        decoder.fail(PackFault.SCHEMA, "the quantization block size lacks 'storage' or 'len'", wanted="both")
    if length > MAX_BLOCK_RANK:
        decoder.fail(
            PackFault.SCHEME, "the len of the quantization block is too large", str(length), f"at most {MAX_BLOCK_RANK}"
        )
    return tuple(storage[:length])


def _read_level(decoder: Decoder) -> tuple[int, ...] | None:
    """The block of the older `level`: None for "Tensor", the extents for {"Block": {storage, len}}.

    {"BlockTensor": …}, which one preview wrote, is refused: its inner fields have no reference to be checked against.
    """
    if decoder.peek() != 5:
        _read_enum(decoder, "quantization level", {"Tensor": None})
        return None
    extents: tuple[int, ...] | None = None
    for _ in decoder.entries("quantization level", PackFault.DTYPE):
        variant = decoder.text("the variant of the quantization level")
        if extents is not None or variant != "Block":
            decoder.fail(
                PackFault.LEGACY,
                "the quantization level of an older Burn cannot be read",
                shown(variant),
                "Tensor or {Block: …}; save the file anew with a later Burn",
            )
        extents = _read_block_size(decoder)
    if extents is None:
        decoder.fail(PackFault.DTYPE, "the quantization level is an empty map", wanted="one variant")
    return extents


def _legacy_scheme(
    decoder: Decoder, scheme: QuantScheme, param: ScaleDtype, level: tuple[int, ...] | None, legacy: list[str]
) -> QuantScheme:
    """The older field set in today's terms: `param` is the dtype of the scales, `level` says where they are."""
    if scheme.store.dim:
        decoder.fail(
            PackFault.LEGACY,
            "older Burns packed along the last dimension whatever the quantization scheme said",
            f"{scheme.store.kind} {scheme.store.dim} beside param and level",
            "packed dimension 0; save the file anew with a later Burn",
        )
    _note(legacy, "a quantization scheme with `param` and `level` (Burn 0.19 to 0.22)")
    if level is not None:
        return replace(scheme, block=BlockScale(level, param))
    return replace(scheme, tensor=None if param is ScaleDtype.F32 else param)


def _read_text_map(decoder: Decoder, result: Metadata, limits: PackLimits) -> None:
    for _ in decoder.entries("metadata"):
        decoder.place, decoder.name = "metadata", None
        key = decoder.text("a key of the text map")
        decoder.place, decoder.name = "metadata key", key
        if key in result.metadata:
            decoder.fail(PackFault.DUPLICATE, "duplicate key in the text map", "two values", "one")
        result.metadata[key] = decoder.text("a value of the text map")
    decoder.place = decoder.name = None


def _read_scalars(decoder: Decoder, result: Metadata, limits: PackLimits) -> None:
    for _ in decoder.entries("scalars"):
        decoder.place, decoder.name = "scalars", None
        key = decoder.text("the name of a scalar")
        decoder.place, decoder.name = "scalar", key
        if key in result.scalars:
            decoder.fail(PackFault.DUPLICATE, "duplicate scalar name", "two values", "one")
        result.scalars[key] = _read_scalar(decoder)
    decoder.place = decoder.name = None


_KINDS = {kind.value: kind for kind in ScalarKind}


def _read_scalar(decoder: Decoder) -> Scalar:
    scalar: Scalar | None = None
    for _ in decoder.entries("the scalar", PackFault.SCALAR):
        if scalar is not None:
            decoder.fail(PackFault.SCALAR, "the scalar has two variants in one map", wanted="exactly one")
        variant = decoder.text("the variant of the scalar")
        match _KINDS.get(variant):
            case ScalarKind.FLOAT:
                scalar = Scalar.from_bits(decoder.float_bits("the value of the Float scalar", PackFault.SCALAR))
            case ScalarKind.BOOL:
                scalar = Scalar(ScalarKind.BOOL, decoder.boolean("the value of the Bool scalar", PackFault.SCALAR))
            case ScalarKind.INT:
                scalar = _integer_scalar(decoder, ScalarKind.INT, INT64_MIN, INT64_MAX)
            case ScalarKind.UINT:
                scalar = _integer_scalar(decoder, ScalarKind.UINT, 0, UINT64_MAX)
            case _:
                decoder.fail(
                    PackFault.SCALAR, "unknown variant of a scalar", shown(variant), "one of " + " ".join(_KINDS)
                )
    if scalar is None:
        decoder.fail(PackFault.SCALAR, "the scalar is an empty map", wanted="one variant")
    return scalar


def _integer_scalar(decoder: Decoder, kind: ScalarKind, low: int, high: int) -> Scalar:
    value = decoder.integer(f"the value of the {kind} scalar", PackFault.SCALAR)
    if not low <= value <= high:
        decoder.fail(
            PackFault.SCALAR, f"the value of the {kind} scalar is out of range", str(value), f"{low} to {high}"
        )
    return Scalar(kind, value)


# Writing


def encode_metadata(tensors: Sequence[TensorInfo], metadata: Mapping[str, str], scalars: Mapping[str, Scalar]) -> bytes:
    """The metadata item as Burn writes it: tables sorted by UTF-8 bytes, empty ones left out but for `tensors`."""
    text = cbor.encode_text
    parts = [
        cbor.encode_map_head(1 + bool(metadata) + bool(scalars)),
        text("tensors"),
        cbor.encode_map_head(len(tensors)),
    ]
    # Code points sort as their UTF-8 bytes do.
    for info in sorted(tensors, key=lambda info: info.name):
        parts += (text(info.name), _encode_descriptor(info))
    if metadata:
        parts += (text("metadata"), cbor.encode_map_head(len(metadata)))
        for key in sorted(metadata):
            parts += (text(key), text(metadata[key]))
    if scalars:
        parts += (text("scalars"), cbor.encode_map_head(len(scalars)))
        for key in sorted(scalars):
            parts += (text(key), _encode_scalar(scalars[key]))
    return b"".join(parts)


_DTYPE_KEY, _SHAPE_KEY = cbor.encode_text("dtype"), cbor.encode_text("shape")
_OFFSETS_KEY = cbor.encode_text("data_offsets") + cbor.encode_array_head(2)
_PARAM_ID_KEY = cbor.encode_text("param_id")


def _encode_descriptor(info: TensorInfo) -> bytes:
    integer = cbor.encode_integer
    parts = [cbor.encode_map_head(3 + (info.param_id is not None)), _DTYPE_KEY, encode_dtype(info.dtype)]
    parts += (_SHAPE_KEY, cbor.encode_array_head(len(info.shape)), *map(integer, info.shape))
    parts += (_OFFSETS_KEY, integer(info.start), integer(info.end))
    if info.param_id is not None:
        parts += (_PARAM_ID_KEY, integer(info.param_id))
    return b"".join(parts)


def encode_dtype(dtype: DType) -> bytes:
    """The CBOR of a dtype."""
    if not isinstance(dtype, QFloat):
        return _DTYPE_BYTES[dtype]
    scheme, text = dtype.scheme, cbor.encode_text
    store = text(scheme.store.kind)
    if scheme.store.is_packed:
        store = cbor.encode_map_head(1) + store + cbor.encode_integer(scheme.store.dim)
    fields = {
        "value": text(scheme.value.value),
        "store": store,
        "mode": text(scheme.mode.value),
        "tensor": cbor.NULL if scheme.tensor is None else text(scheme.tensor.value),
        "block": cbor.NULL if scheme.block is None else _encode_block(scheme.block),
    }
    parts = [cbor.encode_map_head(1), text("QFloat"), cbor.encode_map_head(len(fields))]
    for key, value in fields.items():
        parts += (text(key), value)
    return b"".join(parts)


def _encode_block(block: BlockScale) -> bytes:
    text, integer = cbor.encode_text, cbor.encode_integer
    storage = block.extents + (1,) * (MAX_BLOCK_RANK - len(block.extents))
    parts = [cbor.encode_map_head(2), text("size"), cbor.encode_map_head(2)]
    parts += (text("storage"), cbor.encode_array_head(MAX_BLOCK_RANK), *map(integer, storage))
    parts += (text("len"), integer(len(block.extents)), text("dtype"), text(block.dtype.value))
    return b"".join(parts)


def _encode_scalar(scalar: Scalar) -> bytes:
    start = cbor.encode_map_head(1) + cbor.encode_text(scalar.kind.value)
    match scalar.kind:
        case ScalarKind.FLOAT:
            return start + cbor.encode_float_bits(scalar.bits)
        case ScalarKind.BOOL:
            return start + cbor.encode_boolean(bool(scalar.value))
    return start + cbor.encode_integer(int(scalar.value))
