"""Quantization schemes and the layout of quantized payloads.

A payload is: values in the storage elements of the scheme's store, then one scale per block (or one for the tensor),
then, for a two-level scheme, one global F32 scale. Nothing stands in between. Everything is little-endian.

    dequantized value = global (or 1) · scale of its block · value of its code

`QFloat(scheme)` is the DType of such a tensor; equal schemes give the same object. `std/quantized.py` takes payloads
apart and makes them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Literal
from weakref import WeakValueDictionary

import numpy as np

from burn_wgpu.std.dtype import DType
from burn_wgpu.std.errors import ArgumentError, ShapeError

MAX_BLOCK_RANK = 5
"""Extents that a block size can hold; the file format reserves five bytes for them."""

MAX_BYTES = 2**64 - 1
"""Payload lengths are unsigned 64-bit numbers."""


class QuantValue(Enum):
    """What one code means. `value` is Burn's spelling; Q kinds are two's complement integers, E kinds small floats."""

    Q8F = "Q8F"
    E5M2 = "E5M2"
    E4M3 = "E4M3"
    Q4F = "Q4F"
    E2M1 = "E2M1"
    Q2F = "Q2F"
    Q8S = "Q8S"
    Q4S = "Q4S"
    Q2S = "Q2S"

    @property
    def bits(self) -> int:
        """Of one code: 8, 4 or 2."""
        return _VALUE_ROWS[self.value][0]

    @property
    def range(self) -> tuple[float, float]:
        """The smallest and the largest value that quantizing produces."""
        return _VALUE_ROWS[self.value][1:]

    @property
    def native_packing(self) -> int:
        """Codes in a byte of a PackedNative store: two of E2M1, one of any other kind."""
        return 2 if self is QuantValue.E2M1 else 1

    @property
    def is_float(self) -> bool:
        return self.value.startswith("E")

    @property
    def is_symmetric(self) -> bool:
        low, high = self.range
        return low == -high


_VALUE_ROWS: dict[str, tuple[int, float, float]] = {
    "Q8F": (8, -128, 127), "Q4F": (4, -8, 7), "Q2F": (2, -2, 1),
    "Q8S": (8, -127, 127), "Q4S": (4, -7, 7), "Q2S": (2, -1, 1),
    "E4M3": (8, -448, 448), "E5M2": (8, -57344, 57344), "E2M1": (4, -6, 6),
}  # fmt: skip


class QuantMode(Enum):
    """Symmetric: value · scale. Lookup: an index into a table that no file holds; carried, never computed."""

    SYMMETRIC = "Symmetric"
    LOOKUP = "Lookup"


class ScaleDtype(Enum):
    """How a scale is stored. UE8M0 is a bare exponent (2^(byte - 127)), UE4M3 an 8-bit float without a sign."""

    F32 = "F32"
    F16 = "F16"
    BF16 = "BF16"
    UE8M0 = "UE8M0"
    UE4M3 = "UE4M3"

    @property
    def size_bytes(self) -> int:
        return {"F32": 4, "F16": 2, "BF16": 2, "UE8M0": 1, "UE4M3": 1}[self.value]

    @property
    def max(self) -> float:
        """The largest finite value."""
        return {
            "F32": float(np.finfo(np.float32).max),
            "F16": 65504.0,
            "BF16": float(np.float32(2.0**127) * np.float32(2 - 2**-7)),
            "UE8M0": 2.0**127,
            "UE4M3": 448.0,
        }[self.value]

    def round_up(self, scale: float) -> float:
        """The smallest number of this dtype that is not below the scale, as a scale is stored; too large becomes `max`.

        NaN stays NaN. A bare exponent and a float without a sign have nothing below 0: their smallest number.
        """
        from burn_wgpu.std.quantized import decode_scales, encode_scales

        with np.errstate(over="ignore"):  # beyond float32 is infinity, which the dtype's largest number stands for
            single = np.array([scale], np.float64).astype(np.float32)
        return float(decode_scales(encode_scales(single, self), self)[0])


class QuantPropagation(Enum):
    """Whether operations on quantized tensors give quantized results (PROPAGATE) or floats (INHIBIT)."""

    PROPAGATE = "propagate"
    INHIBIT = "inhibit"


StoreKind = Literal["Native", "PackedNative", "PackedU32"]


@dataclass(frozen=True, slots=True)
class QuantStore:
    """Where codes live: a byte each (Native), or packed into bytes or 32-bit words along one dimension.

    dim counts the packed dimension from the innermost (0 is the last); it is 0 for Native.
    """

    kind: StoreKind = "PackedU32"
    dim: int = 0

    def __post_init__(self) -> None:
        if self.kind not in ("Native", "PackedNative", "PackedU32"):
            raise ArgumentError(f"QuantStore: {self.kind!r} is not a store; use Native, PackedNative or PackedU32")
        if self.dim < 0 or (self.kind == "Native" and self.dim):
            raise ArgumentError(
                f"QuantStore: packed dimension {self.dim} of {self.kind}; it must be 0 or more (Native: 0)"
            )

    @classmethod
    def native(cls) -> QuantStore:
        return cls("Native")

    @classmethod
    def packed_native(cls, dim: int = 0) -> QuantStore:
        return cls("PackedNative", dim)

    @classmethod
    def packed_u32(cls, dim: int = 0) -> QuantStore:
        return cls("PackedU32", dim)

    @property
    def is_packed(self) -> bool:
        return self.kind != "Native"

    @property
    def size_bytes(self) -> int:
        """Of one storage element."""
        return 4 if self.kind == "PackedU32" else 1


@dataclass(frozen=True, slots=True)
class BlockScale:
    """One scale per block. Extents belong to the last dimensions; missing leading ones are 1."""

    extents: tuple[int, ...]
    dtype: ScaleDtype = ScaleDtype.F32

    @classmethod
    def of(cls, extents: Sequence[int], dtype: ScaleDtype = ScaleDtype.F32) -> BlockScale:
        """The normal form, as Burn writes it: leading extents of 1 dropped, 1 to 255 each, at most five.

        Raises ArgumentError.
        """
        kept = tuple(int(e) for e in extents)
        while len(kept) > 1 and kept[0] == 1:
            kept = kept[1:]
        if len(kept) > MAX_BLOCK_RANK or any(not 1 <= e <= 255 for e in kept):
            raise ArgumentError(f"BlockScale: block {list(extents)}; at most {MAX_BLOCK_RANK} extents of 1 to 255 each")
        return cls(kept, dtype)


@dataclass(frozen=True, slots=True)
class QuantScheme:
    """How a tensor is quantized. The default is Burn's: Q8F in 32-bit words, one F32 scale for the tensor.

    tensor  the dtype of a per-tensor scale; None with block None also means one F32 scale, but compares different
    block   one scale per block; with `tensor` set too, the scheme has two levels
    """

    value: QuantValue = QuantValue.Q8F
    store: QuantStore = QuantStore()
    mode: QuantMode = QuantMode.SYMMETRIC
    tensor: ScaleDtype | None = None
    block: BlockScale | None = None

    @classmethod
    def nvfp4(cls) -> QuantScheme:
        """E2M1, blocks of 16 with UE4M3 scales, an F32 scale for the tensor, two codes a byte."""
        block = BlockScale((16,), ScaleDtype.UE4M3)
        return cls(QuantValue.E2M1, QuantStore.packed_native(), QuantMode.SYMMETRIC, ScaleDtype.F32, block)

    def with_value(self, value: QuantValue) -> QuantScheme:
        return replace(self, value=value)

    def with_store(self, store: QuantStore) -> QuantScheme:
        return replace(self, store=store)

    def with_mode(self, mode: QuantMode) -> QuantScheme:
        return replace(self, mode=mode)

    def per_tensor(self, dtype: ScaleDtype) -> QuantScheme:
        return replace(self, tensor=dtype)

    def per_block(self, extents: Sequence[int], dtype: ScaleDtype) -> QuantScheme:
        return replace(self, block=BlockScale.of(extents, dtype))

    @property
    def tensor_scale(self) -> ScaleDtype | None:
        """The dtype of an explicit per-tensor scale; above block scales it is the global one."""
        return self.tensor

    @property
    def block_scale(self) -> BlockScale | None:
        """The level of one scale a block, or None."""
        return self.block

    @property
    def block_size(self) -> tuple[int, ...] | None:
        """The block's extents, for the last dimensions; None without block scales."""
        return None if self.block is None else self.block.extents

    @property
    def scale_dtype(self) -> ScaleDtype:
        """Of the innermost level."""
        if self.block is not None:
            return self.block.dtype
        return self.tensor or ScaleDtype.F32

    @property
    def global_scale_dtype(self) -> ScaleDtype | None:
        """Of the per-tensor scale above block scales; None unless the scheme has two levels."""
        return self.tensor if self.block is not None else None

    @property
    def num_levels(self) -> int:
        return 2 if self.global_scale_dtype is not None else 1

    @property
    def size_bits_stored(self) -> int:
        """Bits of one storage element: 32 for words, 8 for bytes."""
        return 8 * self.store.size_bytes

    @property
    def size_bits_value(self) -> int:
        """Bits of one code, whatever it is stored in."""
        return self.value.bits

    @property
    def num_quants(self) -> int:
        """Codes per storage element."""
        match self.store.kind:
            case "PackedU32":
                return 32 // self.value.bits
            case "PackedNative":
                return self.native_packing
        return 1

    @property
    def native_packing(self) -> int:
        """Codes in a byte of a PackedNative store."""
        return self.value.native_packing

    @property
    def packing_dim(self) -> int | None:
        """The packed dimension counted from the innermost; None where nothing is packed."""
        return self.store.dim if self.store.is_packed else None

    @property
    def quantizable(self) -> bool:
        """Whether tensors are made under this scheme, whatever their shape (`std.quantized.quantizable` asks for one).

        Not in Lookup mode, and of two levels only those whose block dtype leaves the global scale something to do (F16,
        UE4M3) and whose global scale is F32.
        """
        if self.mode is not QuantMode.SYMMETRIC:
            return False
        two_levels = self.global_scale_dtype is not None
        return not two_levels or (self.scale_dtype.max <= 65504 and self.global_scale_dtype is ScaleDtype.F32)

    def params_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of the scales of a tensor: [1], or one for each block. See `grid`."""
        return self.grid(shape)

    def fault(self, shape: Sequence[int]) -> str | None:
        """Why a tensor of this shape cannot have this scheme, or None.

        The packed dimension and the number of block extents must fit the rank, extents are 1 or more, and the global
        scale of two levels is F32: nothing else is ever written.
        """
        rank = len(shape)
        if self.store.dim >= max(rank, 1):
            return f"packed dimension {self.store.dim} of a tensor of rank {rank}; it must be below the rank"
        if self.block is not None:
            extents = self.block.extents
            if len(extents) > MAX_BLOCK_RANK:
                return f"a block of {len(extents)} extents; the format holds {MAX_BLOCK_RANK}"
            if len(extents) > rank:
                return (
                    f"a block of {len(extents)} extents on a tensor of rank {rank}; it has more extents than dimensions"
                )
            if any(extent < 1 for extent in extents):
                return f"block extents {list(extents)}; each must be 1 or more"
            if self.tensor not in (None, ScaleDtype.F32):
                assert self.tensor is not None
                return f"a global scale of {self.tensor.value} above block scales; it must be F32"
        return None

    def grid(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Blocks per dimension, ceil(dim / extent); a tensor without block scales has the grid (1,)."""
        if self.block is None:
            return (1,)
        return BlockLayout.of(shape, self.block.extents).grid

    def payload_bytes(self, shape: Sequence[int]) -> int:
        """Length of the payload: values, block scales and global scale, without wrap-around.

        Raises ShapeError for a scheme that does not fit the shape (see `fault`) and for lengths above 2^64 - 1.
        """
        if (reason := self.fault(shape)) is not None:
            raise ShapeError(f"quantized payload: {reason}")
        lengths = list(shape)
        if self.store.is_packed and lengths:
            axis = len(lengths) - 1 - self.store.dim
            lengths[axis] = -(-lengths[axis] // self.num_quants)
        size = math.prod(lengths) * self.store.size_bytes
        size += math.prod(self.grid(shape)) * self.scale_dtype.size_bytes
        if self.global_scale_dtype is not None:
            size += self.global_scale_dtype.size_bytes
        if size > MAX_BYTES:
            raise ShapeError(f"quantized payload: shape {list(shape)} overflows 64 bits ({size} bytes)")
        return size

    def swap_dims(self, first: int, second: int, rank: int) -> QuantScheme:
        """The scheme of the same codes with two axes exchanged: packed dimension and block extents move along."""
        order = list(range(rank))
        order[first], order[second] = order[second], order[first]
        return self.permute_dims(order)

    def permute_dims(self, axes: Sequence[int]) -> QuantScheme:
        """The scheme of the same codes with axis i taken from axis axes[i]; `axes` lists every axis once."""
        rank, store = len(axes), self.store
        if store.is_packed and rank:
            store = QuantStore(store.kind, rank - 1 - list(axes).index(rank - 1 - store.dim))
        return replace(self, store=store).permute_block_dims(axes)

    def swap_block_dims(self, first: int, second: int, rank: int) -> QuantScheme:
        """Only the block's extents exchanged."""
        order = list(range(rank))
        order[first], order[second] = order[second], order[first]
        return self.permute_block_dims(order)

    def permute_block_dims(self, axes: Sequence[int]) -> QuantScheme:
        """Only the block's extents in another order. Raises ShapeError for a block with more extents than axes."""
        block = self.block
        if block is None:
            return self
        if len(block.extents) > len(axes):
            raise ShapeError(
                f"permute_block_dims: {len(axes)} axes for the block {list(block.extents)}; it has more extents"
            )
        full = (1,) * (len(axes) - len(block.extents)) + block.extents
        return replace(self, block=BlockScale.of([full[axis] for axis in axes], block.dtype))

    def reshape_packing_dim(self, rank: int) -> QuantScheme:
        """The scheme after a reshape to this rank: a packed dimension that the new rank lacks becomes the innermost."""
        if self.store.dim < max(rank, 1):
            return self
        return replace(self, store=QuantStore(self.store.kind, 0))

    def __str__(self) -> str:
        parts = [self.value.value, self.store.kind + (f"({self.store.dim})" if self.store.is_packed else "")]
        if self.mode is not QuantMode.SYMMETRIC:
            parts.append(self.mode.value)
        if self.block is not None:
            parts.append(f"block {list(self.block.extents)} {self.block.dtype.value}")
        if self.tensor is not None:
            parts.append(f"tensor {self.tensor.value}")
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class BlockLayout:
    """Blocks are rectangles: extents aligned to the last dimensions, the last block of a dimension may be ragged."""

    shape: tuple[int, ...]
    extents: tuple[int, ...]
    """as many as the shape has dimensions"""

    @classmethod
    def of(cls, shape: Sequence[int], extents: Sequence[int]) -> BlockLayout:
        """Raises ShapeError if the block has more extents than the shape dimensions, or an extent below 1."""
        if len(extents) > len(shape) or any(extent < 1 for extent in extents):
            raise ShapeError(f"block layout: block {list(extents)} does not fit the shape {list(shape)}")
        return cls(tuple(shape), (1,) * (len(shape) - len(extents)) + tuple(extents))

    @property
    def grid(self) -> tuple[int, ...]:
        return tuple(-(-dim // extent) for dim, extent in zip(self.shape, self.extents, strict=True))

    @property
    def num_blocks(self) -> int:
        return math.prod(self.grid)

    @property
    def divides(self) -> bool:
        """Every dimension is a whole number of blocks."""
        return all(dim % extent == 0 for dim, extent in zip(self.shape, self.extents, strict=True))

    def block_of(self, index: int) -> int:
        """The row-major number of the block that holds the element with this row-major index."""
        block, stride = 0, 1
        for dim, extent, count in zip(reversed(self.shape), reversed(self.extents), reversed(self.grid), strict=True):
            index, position = divmod(index, dim)
            block += position // extent * stride
            stride *= count
        return block

    def spread(self, per_block: np.ndarray) -> np.ndarray:
        """An array over the grid → one over the shape: each element gets the entry of its block."""
        spread = per_block
        for axis, (dim, extent) in enumerate(zip(self.shape, self.extents, strict=True)):
            spread = np.repeat(spread, extent, axis=axis).take(range(dim), axis=axis) if extent > 1 else spread
        return spread

    def maximum(self, values: np.ndarray) -> np.ndarray:
        """The largest entry of each block, over the grid. The blocks must divide the shape."""
        assert self.divides
        split = [n for pair in zip(self.grid, self.extents, strict=True) for n in pair]
        return values.reshape(split).max(axis=tuple(range(1, len(split), 2)), initial=0)


@dataclass(frozen=True, slots=True)
class QuantConfig:
    """A device's quantization: its default scheme, and whether results of quantized operands stay quantized."""

    scheme: QuantScheme = QuantScheme()
    propagation: QuantPropagation = QuantPropagation.INHIBIT


class QFloat(DType):
    """The dtype of a tensor quantized under a scheme. Equal schemes give the same object, as for every other dtype.

    `size_bytes` and `numpy` are those of one storage element; `scheme.payload_bytes(shape)` gives lengths.
    """

    __slots__ = ("__weakref__", "scheme")
    scheme: QuantScheme

    def __new__(cls, scheme: QuantScheme) -> QFloat:
        known = _QFLOATS.get(scheme)
        if known is None:
            known = object.__new__(cls)
            _QFLOATS[scheme] = known
        return known

    def __init__(self, scheme: QuantScheme) -> None:
        super().__init__(
            f"qfloat({scheme})", "qfloat", scheme.store.size_bytes, "<u4" if scheme.store.size_bytes == 4 else "u1"
        )
        self.scheme = scheme

    def __reduce__(self) -> tuple[object, ...]:
        return QFloat, (self.scheme,)


# Weak, because schemes can come out of files: what nobody holds any more is forgotten.
_QFLOATS: WeakValueDictionary[QuantScheme, QFloat] = WeakValueDictionary()
