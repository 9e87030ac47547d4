"""Quantized tensors on the host: a tensor is its payload, and every function takes it apart and joins it again.

`std/quantized.py` holds the format and the exact numbers; moving codes and scales never looks at them.
"""
# mypy: disable-error-code="override"

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from burn_wgpu.backends.reference.tensor import ReferenceDevice, RefTensor, lift, lower
from burn_wgpu.contract.defaults import quant
from burn_wgpu.contract.options import QuantizationParameters
from burn_wgpu.contract.quant_ops import QuantOps
from burn_wgpu.std.data import TensorData
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.quant import QFloat, QuantScheme
from burn_wgpu.std.quantized import QuantizedBytes, StoredParts, quantize_with, usable_scales


class RefQuantTensor:
    """A payload (see `std/quant.py`) with its shape; never written to."""

    __slots__ = ("__weakref__", "device", "dtype", "payload", "shape")

    def __init__(self, payload: bytes, shape: Sequence[int], dtype: QFloat, device: ReferenceDevice) -> None:
        self.payload = payload
        self.shape = tuple(shape)
        self.dtype = dtype
        self.device = device

    @property
    def scheme(self) -> QuantScheme:
        return self.dtype.scheme

    @property
    def parts(self) -> StoredParts:
        return StoredParts.split(self.payload, self.shape, self.scheme)

    def joined(self, parts: StoredParts, scheme: QuantScheme) -> RefQuantTensor:
        """Other codes and scales on the same device."""
        return RefQuantTensor(parts.join(scheme), parts.codes.shape, QFloat(scheme), self.device)

    def __repr__(self) -> str:
        return f"RefQuantTensor({list(self.shape)}, {self.dtype}, {self.device})"


class ReferenceQuantOps(QuantOps):
    """The oracle of quantized tensors; what is not here is composed by the contract."""

    def q_from_data(self, data: TensorData, device: ReferenceDevice) -> RefQuantTensor:
        assert isinstance(data.dtype, QFloat)
        return RefQuantTensor(data.as_bytes(), data.shape, data.dtype, device)

    def q_into_data(self, tensor: RefQuantTensor) -> TensorData:
        # A copy that may be written to, as other data may.
        return TensorData(np.frombuffer(tensor.payload, np.uint8).copy(), tensor.dtype, tensor.shape)

    def q_to_device(self, tensor: RefQuantTensor, device: ReferenceDevice) -> RefQuantTensor:
        if tensor.device is device:
            return tensor
        return RefQuantTensor(tensor.payload, tensor.shape, tensor.dtype, device)

    def quantize(self, tensor: RefTensor, scheme: QuantScheme, qparams: QuantizationParameters) -> RefQuantTensor:
        quant.check_quantize(tensor, scheme, qparams)
        scales = lift(qparams.scales).astype(np.float32).reshape(scheme.params_shape(tensor.shape))
        overall = None
        if qparams.global_scale is not None:
            assert scheme.global_scale_dtype is not None
            given = lift(qparams.global_scale).astype(np.float32).reshape(1)
            overall = np.float32(usable_scales(given, scheme.global_scale_dtype)[0])
        with np.errstate(all="ignore"):
            made = quantize_with(lift(tensor).astype(np.float32), scheme, scales, overall)
        return RefQuantTensor(made.pack(), tensor.shape, QFloat(scheme), tensor.device)

    def dequantize(self, tensor: RefQuantTensor, dtype: DType) -> RefTensor:
        quant.check_dequantize(tensor)
        with np.errstate(all="ignore"):
            values = QuantizedBytes.unpack(tensor.payload, tensor.shape, tensor.scheme).dequantize()
        return RefTensor(lower(values, dtype), dtype, tensor.device)

    def q_reshape(self, tensor: RefQuantTensor, shape: Sequence[int]) -> RefQuantTensor:
        shape = tuple(shape)
        if shape == tensor.shape:
            return tensor
        scheme, parts = quant.reshaped_scheme(tensor, shape), tensor.parts
        # The blocks keep their order, so their scales do.
        return tensor.joined(replace(parts, codes=parts.codes.reshape(shape)), scheme)

    def q_swap_dims(self, tensor: RefQuantTensor, dim1: int, dim2: int) -> RefQuantTensor:
        axes = list(range(len(tensor.shape)))
        axes[dim1], axes[dim2] = axes[dim2], axes[dim1]
        return self.q_permute(tensor, axes)

    def q_permute(self, tensor: RefQuantTensor, axes: Sequence[int]) -> RefQuantTensor:
        axes, parts = tuple(axes), tensor.parts
        scales = parts.scales if tensor.scheme.block is None else parts.scales.transpose(axes)
        moved = replace(parts, codes=parts.codes.transpose(axes), scales=scales)
        return tensor.joined(moved, quant.permuted_scheme(tensor, axes))

    def q_flip(self, tensor: RefQuantTensor, axes: Sequence[int]) -> RefQuantTensor:
        quant.check_flip(tensor, axes)
        axes, parts = tuple(axes), tensor.parts
        scales = parts.scales if tensor.scheme.block is None else np.flip(parts.scales, axes)
        return tensor.joined(replace(parts, codes=np.flip(parts.codes, axes), scales=scales), tensor.scheme)
