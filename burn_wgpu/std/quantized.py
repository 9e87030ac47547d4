"""Quantized payloads taken apart and made: codes and scales as NumPy arrays.

Exact, not fast: it inspects files, moves codes without quantizing anew, and is the oracle for kernels. Layout and
schemes are in `std/quant.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from burn_wgpu.std.errors import ArgumentError, FormatError, ShapeError, UnsupportedError
from burn_wgpu.std.quant import BlockLayout, QuantMode, QuantScheme, QuantValue, ScaleDtype

# Codes and scales as numbers


@cache
def value_table(value: QuantValue) -> np.ndarray:
    """The float32 value of every code byte, [256]; codes below 8 bits are looked up by their sign-extended byte."""
    codes = np.arange(256, dtype=np.uint8)
    match value:
        case QuantValue.E4M3:
            table = _small_float(codes, exponent_bits=4, mantissa_bits=3)
            table[(codes & 0x7F) == 0x7F] = np.nan
        case QuantValue.E5M2:
            table = _small_float(codes, exponent_bits=5, mantissa_bits=2)
            special = (codes & 0x7C) == 0x7C
            table[special] = np.where(codes[special] & 3, np.nan, np.copysign(np.inf, table[special]))
        case QuantValue.E2M1:
            table = _small_float(((codes & 8) << 4) | ((codes & 7) << 4), exponent_bits=2, mantissa_bits=1, low=4)
        case _:
            table = codes.view(np.int8).astype(np.float32)
    table.setflags(write=False)
    return table


def _small_float(codes: np.ndarray, exponent_bits: int, mantissa_bits: int, low: int = 0) -> np.ndarray:
    """Bytes of sign, exponent, mantissa (above `low` unused bits) → float32, without infinities and NaNs."""
    bias = 2 ** (exponent_bits - 1) - 1
    exponent = (codes >> (mantissa_bits + low)).astype(np.int32) & (2**exponent_bits - 1)
    mantissa = (codes >> low).astype(np.int32) & (2**mantissa_bits - 1)
    fraction = np.where(exponent == 0, mantissa, mantissa + 2**mantissa_bits) / 2**mantissa_bits
    magnitude = np.ldexp(fraction, np.maximum(exponent, 1) - bias)
    return np.where(codes & 0x80, -magnitude, magnitude).astype(np.float32)


@cache
def _scale_table(dtype: ScaleDtype) -> np.ndarray:
    """float32 of every byte of a one-byte scale dtype."""
    if dtype is ScaleDtype.UE8M0:
        table = np.append(np.ldexp(1.0, np.arange(255) - 127), np.nan).astype(np.float32)
    else:
        table = value_table(QuantValue.E4M3).copy()
    table.setflags(write=False)
    return table


def decode_scales(raw: bytes | memoryview, dtype: ScaleDtype) -> np.ndarray:
    """Stored scales → float32, exact, flat."""
    match dtype:
        case ScaleDtype.F32:
            return np.frombuffer(raw, "<f4").astype(np.float32)
        case ScaleDtype.F16:
            return np.frombuffer(raw, "<f2").astype(np.float32)
        case ScaleDtype.BF16:
            return (np.frombuffer(raw, "<u2").astype(np.uint32) << 16).view(np.float32)
    return _scale_table(dtype)[np.frombuffer(raw, np.uint8)]


def encode_scales(scales: np.ndarray, dtype: ScaleDtype) -> bytes:
    """float32 scales → their stored bytes, each rounded up to the dtype (a scale that fits is kept exactly).

    Too large a scale becomes the largest finite one of the dtype; UE8M0 and UE4M3 take no negative scale (it becomes
    their smallest value).
    """
    scales = np.ascontiguousarray(scales, np.float32).reshape(-1)
    match dtype:
        case ScaleDtype.F32:
            return scales.astype("<f4").tobytes()
        case ScaleDtype.F16:
            with np.errstate(over="ignore"):
                half = scales.astype(np.float16)
                low = half.astype(np.float32) < scales
                half[low] = np.nextafter(half[low], np.float16(np.inf))
            half[np.isposinf(half) & (scales >= 0)] = np.float16(65504)
            return half.astype("<f2").tobytes()
        case ScaleDtype.BF16:
            bits = scales.view(np.uint32)
            up = (bits & 0xFFFF).astype(bool) & (scales > 0) & np.isfinite(scales)
            bf16 = (bits >> 16) + up
            bf16[(bf16 == 0x7F80) & (scales >= 0)] = 0x7F7F
            return bf16.astype("<u2").tobytes()
    table = _scale_table(dtype)
    last = 254 if dtype is ScaleDtype.UE8M0 else 0x7E
    codes = np.minimum(np.searchsorted(table[: last + 1], scales, side="left"), last)
    codes[np.isnan(scales)] = last + 1
    return codes.astype(np.uint8).tobytes()


# Payloads


def _scale_bits(dtype: ScaleDtype) -> str:
    return {4: "<u4", 2: "<u2", 1: "u1"}[dtype.size_bytes]


@dataclass(frozen=True, slots=True, eq=False)
class StoredParts:
    """A payload taken apart without looking at the numbers, so that joining it gives every bit back.

    codes   int8, the tensor's shape
    scales  the stored bits, over the grid of blocks (row-major whatever the store), or (1,)
    global_scale  the stored bytes, empty unless the scheme has two levels
    """

    codes: np.ndarray
    scales: np.ndarray
    global_scale: bytes = b""

    @classmethod
    def split(cls, payload: bytes | memoryview, shape: Sequence[int], scheme: QuantScheme) -> StoredParts:
        """Raises ShapeError for a scheme that does not fit the shape, FormatError for another length."""
        wanted = scheme.payload_bytes(shape)
        if len(payload) != wanted:
            raise FormatError(
                f"quantized payload: {len(payload)} bytes, but {scheme} of shape {list(shape)} takes {wanted} bytes"
            )
        view = memoryview(payload)
        grid = scheme.grid(shape)
        global_bytes = 0 if scheme.global_scale_dtype is None else scheme.global_scale_dtype.size_bytes
        scales_end = wanted - global_bytes
        values_end = scales_end - math.prod(grid) * scheme.scale_dtype.size_bytes
        codes = _unpack_codes(view[:values_end], tuple(shape), scheme)
        scales = np.frombuffer(view[values_end:scales_end], _scale_bits(scheme.scale_dtype))
        axes = _packed_axes(scheme, len(shape)) if scheme.block is not None else None
        scales = scales.reshape(grid) if axes is None else scales.reshape(_swapped(grid, *axes)).swapaxes(*axes)
        return cls(np.ascontiguousarray(codes).reshape(shape), np.ascontiguousarray(scales), bytes(view[scales_end:]))

    def join(self, scheme: QuantScheme) -> bytes:
        """The payload under a scheme. Raises ShapeError for one that does not fit the codes' shape."""
        if (reason := scheme.fault(self.codes.shape)) is not None:
            raise ShapeError(f"quantized payload: {reason}")
        scales = self.scales.reshape(scheme.grid(self.codes.shape))
        axes = _packed_axes(scheme, self.codes.ndim) if scheme.block is not None else None
        if axes is not None:
            scales = scales.swapaxes(*axes)
        return _pack_codes(self.codes, scheme) + scales.tobytes() + self.global_scale


@dataclass(frozen=True, slots=True, eq=False)
class QuantizedBytes:
    """A quantized tensor taken apart.

    codes   int8, the tensor's shape: the integer of a Q kind, the raw bits of an E kind
    scales  float32, the grid of blocks, or (1,) without block scales
    global_scale  float32 of a two-level scheme, else None
    """

    scheme: QuantScheme
    codes: np.ndarray
    scales: np.ndarray
    global_scale: np.float32 | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        return self.codes.shape

    @classmethod
    def unpack(cls, payload: bytes | memoryview, shape: Sequence[int], scheme: QuantScheme) -> QuantizedBytes:
        """The parts of a payload. Raises ShapeError for a scheme that does not fit, FormatError for another length."""
        stored = StoredParts.split(payload, shape, scheme)
        scales = decode_scales(stored.scales.tobytes(), scheme.scale_dtype).reshape(stored.scales.shape)
        global_scale = None
        if scheme.global_scale_dtype is not None:
            global_scale = decode_scales(stored.global_scale, scheme.global_scale_dtype)[0]
        return cls(scheme, stored.codes, scales, global_scale)

    def pack(self) -> bytes:
        """The payload; `unpack` of it gives the same codes and scales."""
        dtype = self.scheme.scale_dtype
        overall = b""
        if self.scheme.global_scale_dtype is not None:
            if self.global_scale is None:
                raise ArgumentError(f"quantized payload: {self.scheme} has two levels, but no global scale was given")
            overall = encode_scales(np.array([self.global_scale]), self.scheme.global_scale_dtype)
        scales = np.frombuffer(encode_scales(self.scales, dtype), _scale_bits(dtype)).reshape(self.scales.shape)
        return StoredParts(self.codes, scales, overall).join(self.scheme)

    def dequantize(self) -> np.ndarray:
        """global · scale · value in single precision, float32 of the tensor's shape.

        Raises UnsupportedError for Lookup: the table that the codes index is in no file.
        """
        if self.scheme.mode is not QuantMode.SYMMETRIC:
            raise UnsupportedError(
                f"dequantize: mode {self.scheme.mode.value} needs a table that the payload does not hold"
            )
        values = value_table(self.scheme.value)[self.codes.view(np.uint8)]
        return values * self._element_scales()

    def _element_scales(self) -> np.ndarray:
        scales = self.scales if self.global_scale is None else self.scales * self.global_scale
        if self.scheme.block is None:
            return scales.reshape(())
        return BlockLayout.of(self.shape, self.scheme.block.extents).spread(scales)

    def swap_dims(self, first: int, second: int) -> QuantizedBytes:
        """The same numbers with two axes exchanged: codes and scales are moved, never made anew."""
        scales = self.scales if self.scheme.block is None else np.ascontiguousarray(self.scales.swapaxes(first, second))
        rank = len(self.shape)
        scheme = self.scheme.swap_dims(first % rank, second % rank, rank)
        return QuantizedBytes(
            scheme, np.ascontiguousarray(self.codes.swapaxes(first, second)), scales, self.global_scale
        )


def quantizable(scheme: QuantScheme, shape: Sequence[int]) -> str | None:
    """Why `quantize` refuses this scheme for this shape, or None.

    Beyond `QuantScheme.fault`: blocks must divide the shape, two levels need F16 or UE4M3 blocks (the others span
    float32 already), and nothing makes a Lookup tensor.
    """
    if (reason := scheme.fault(shape)) is not None:
        return reason
    if scheme.mode is not QuantMode.SYMMETRIC:
        return f"mode {scheme.mode.value}; only Symmetric tensors are made"
    if scheme.block is not None:
        if scheme.num_levels == 2 and scheme.block.dtype not in (ScaleDtype.F16, ScaleDtype.UE4M3):
            return f"two levels with block scales of {scheme.block.dtype.value}; they must be F16 or UE4M3"
        if not BlockLayout.of(shape, scheme.block.extents).divides:
            return f"blocks {list(scheme.block.extents)} do not divide the shape {list(shape)}"
    return None


def quantize(values: np.ndarray, scheme: QuantScheme) -> QuantizedBytes:
    """float32 values → codes and scales by the largest magnitude of each block (calibration MinMax).

    raw scale = 2 · max|x| / (high - low). Two levels: global = largest raw scale / largest value of the block dtype,
    and each raw scale is divided by it. A scale is rounded up to its dtype, so the largest value does not clip; zero or
    non-finite scales become 2^-126. code = x / (global · scale), clamped, rounded to nearest, ties to even. All in
    single precision. Raises ArgumentError where `quantizable` names a reason.
    """
    values = np.ascontiguousarray(values, np.float32)
    if (reason := quantizable(scheme, values.shape)) is not None:
        raise ArgumentError(f"quantize: {reason}")
    low, high = scheme.value.range
    magnitude = np.abs(values)
    if scheme.block is None:
        largest = magnitude.max(initial=0).reshape(1)
    else:
        largest = BlockLayout.of(values.shape, scheme.block.extents).maximum(magnitude)
    with np.errstate(all="ignore"):
        raw = (largest / np.float32((high - low) / 2)).astype(np.float32)  # doubling is exact
        global_scale = None
        if scheme.global_scale_dtype is not None:
            top = raw.max(initial=0) / np.float32(scheme.scale_dtype.max)
            global_scale = np.float32(usable_scales(np.array([top], np.float32), ScaleDtype.F32)[0])
            raw = raw / global_scale
    return quantize_with(values, scheme, raw, global_scale)


def quantize_with(
    values: np.ndarray, scheme: QuantScheme, scales: np.ndarray, global_scale: np.float32 | None = None
) -> QuantizedBytes:
    """float32 values → codes under given scales, which are brought to their dtype first (see `usable_scales`)."""
    low, high = scheme.value.range
    scales = usable_scales(scales, scheme.scale_dtype).reshape(np.shape(scales))
    empty = QuantizedBytes(scheme, np.zeros(values.shape, np.int8), scales, global_scale)
    with np.errstate(all="ignore"):
        scaled = np.clip(values / empty._element_scales(), np.float32(low), np.float32(high))
    return replace(empty, codes=_nearest_codes(scaled, scheme.value))


def usable_scales(scales: np.ndarray, dtype: ScaleDtype) -> np.ndarray:
    """Rounded up to the dtype; 2^-126 (rounded up) where that is zero or not finite. float32, flat."""
    smallest = np.float32(2.0**-126)
    stored = decode_scales(encode_scales(scales, dtype), dtype)
    unusable = (np.asarray(scales).reshape(-1) == 0) | (stored == 0) | ~np.isfinite(stored)
    if unusable.any():
        stored = np.where(unusable, decode_scales(encode_scales(np.array([smallest]), dtype), dtype)[0], stored)
    return stored.astype(np.float32)


def _nearest_codes(scaled: np.ndarray, value: QuantValue) -> np.ndarray:
    """The code of the nearest value, ties to even; NaN gives the NaN code (E4M3, E5M2), or 0 where there is none."""
    if not value.is_float:
        return np.nan_to_num(np.rint(scaled), nan=0.0).astype(np.int8)
    count = {QuantValue.E4M3: 0x7F, QuantValue.E5M2: 0x7C, QuantValue.E2M1: 8}[value]
    sign = {QuantValue.E2M1: 8}.get(value, 0x80)
    positive = value_table(value)[:count].astype(np.float64)
    magnitude = np.abs(scaled).astype(np.float64)
    above = np.minimum(np.searchsorted(positive, magnitude), count - 1)
    below = np.maximum(above - 1, 0)
    up, down = positive[above] - magnitude, magnitude - positive[below]
    # An even code has an even mantissa: neighbours of a tie differ in the lowest bit.
    nearest = np.where((up < down) | ((up == down) & (above % 2 == 0)), above, below)
    codes = nearest | np.where(np.signbit(scaled), sign, 0)
    codes = np.where(np.isnan(scaled), 0 if value is QuantValue.E2M1 else 0x7F, codes)
    return codes.astype(np.uint8).view(np.int8)


def _packed_axes(scheme: QuantScheme, rank: int) -> tuple[int, int] | None:
    """The two axes that a packed store exchanges, or None where the order is row-major as it stands."""
    if not scheme.store.is_packed or scheme.store.dim == 0:
        return None
    return rank - 1 - scheme.store.dim, rank - 1


def _swapped(shape: Sequence[int], first: int, second: int) -> tuple[int, ...]:
    lengths = list(shape)
    lengths[first], lengths[second] = lengths[second], lengths[first]
    return tuple(lengths)


def _pack_codes(codes: np.ndarray, scheme: QuantScheme) -> bytes:
    codes = np.ascontiguousarray(codes, np.int8)
    if not scheme.store.is_packed:
        return codes.tobytes()
    axes = _packed_axes(scheme, codes.ndim)
    lines = codes if axes is None else codes.swapaxes(*axes)
    if lines.ndim == 0:
        lines = lines.reshape(1)
    count, bits = scheme.num_quants, scheme.value.bits
    padding = -lines.shape[-1] % count
    padded = np.pad(lines, [(0, 0)] * (lines.ndim - 1) + [(0, padding)])
    fields = (padded.view(np.uint8) & (2**bits - 1)).astype(np.uint32).reshape(-1, count)
    shifts = np.arange(count, dtype=np.uint32) * np.uint32(bits)
    words = np.bitwise_or.reduce(fields << shifts, axis=1)
    return words.astype("<u4" if scheme.store.size_bytes == 4 else np.uint8).tobytes()


def _unpack_codes(raw: memoryview, shape: tuple[int, ...], scheme: QuantScheme) -> np.ndarray:
    if not scheme.store.is_packed:
        return np.frombuffer(raw, np.int8).reshape(shape)
    axes = _packed_axes(scheme, len(shape))
    lines = shape if axes is None else _swapped(shape, *axes)
    count, bits = scheme.num_quants, scheme.value.bits
    words = np.frombuffer(raw, "<u4" if scheme.store.size_bytes == 4 else np.uint8).astype(np.uint32)
    shifts = np.arange(count, dtype=np.uint32) * np.uint32(bits)
    fields = ((words[:, None] >> shifts) & np.uint32(2**bits - 1)).astype(np.uint8)
    if bits < 8 and not scheme.value.is_float:
        # Sign-extend: shift the field to the top of its byte and back.
        fields = ((fields << np.uint8(8 - bits)).view(np.int8) >> np.int8(8 - bits)).view(np.uint8)
    last = lines[-1] if lines else 1
    padded = -(-last // count) * count
    codes = fields.view(np.int8).reshape(*lines[:-1], padded)[..., :last].reshape(lines)
    return codes if axes is None else codes.swapaxes(*axes)
