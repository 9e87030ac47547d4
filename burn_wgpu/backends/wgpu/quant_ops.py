"""Quantized tensors, see kernel/quant.py: a tensor is its payload in one buffer, and every function is one kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from burn_wgpu.backends.wgpu.movement_ops import from_data, read_many
from burn_wgpu.backends.wgpu.run import contiguous, run1
from burn_wgpu.backends.wgpu.tensor import WgpuDevice, WgpuTensor
from burn_wgpu.contract.defaults import quant
from burn_wgpu.contract.options import QuantizationParameters
from burn_wgpu.kernel.quant import Form, dequantize_plan, move_plan, quantize_plan, same_payload
from burn_wgpu.shader.prelude import KINDS
from burn_wgpu.std.data import TensorData
from burn_wgpu.std.dtype import U32, DType
from burn_wgpu.std.errors import DTypeError
from burn_wgpu.std.layout import Layout, Shape
from burn_wgpu.std.quant import QFloat, QuantScheme, QuantStore


class WgpuQuantTensor:
    """The payload as a tensor of words; never written after it was made.

    words  u32, as many as the payload's bytes need; the bytes behind the last scale are zero
    """

    __slots__ = ("__weakref__", "dtype", "shape", "words")

    def __init__(self, words: WgpuTensor, shape: Sequence[int], dtype: QFloat) -> None:
        self.words = words
        self.shape: Shape = tuple(shape)
        self.dtype = dtype

    @property
    def device(self) -> WgpuDevice:
        return self.words.device

    @property
    def form(self) -> Form:
        return Form(self.shape, self.dtype.scheme)

    def __repr__(self) -> str:
        return f"WgpuQuantTensor({list(self.shape)}, {self.dtype}, {self.device})"


def _move(
    operation: str, tensor: WgpuQuantTensor, elements: Layout, grid: Layout, scheme: QuantScheme
) -> WgpuQuantTensor:
    form = tensor.form
    words = run1(
        tensor.device,
        (operation, form, elements, grid, scheme),
        lambda c: move_plan(operation, form, elements, grid, scheme, c),
        (tensor.words,),
    )
    return WgpuQuantTensor(words, elements.shape, QFloat(scheme))


def payload_of(tensor: WgpuQuantTensor, words: TensorData) -> TensorData:
    """A tensor's words, once they are read, as its host data."""
    payload = words.array.view(np.uint8)[: tensor.form.payload_bytes]
    return TensorData(np.ascontiguousarray(payload), tensor.dtype, tensor.shape)


class QuantOps:
    """The contract's nine functions that no composition gives."""

    def q_from_data(self, data: TensorData, device: WgpuDevice) -> WgpuQuantTensor:
        assert isinstance(data.dtype, QFloat)
        payload = np.frombuffer(data.as_bytes(), np.uint8)
        padded = np.zeros(-(-payload.size // 4) * 4, np.uint8)
        padded[: payload.size] = payload
        return WgpuQuantTensor(from_data(TensorData(padded.view("<u4"), U32), device), data.shape, data.dtype)

    def q_into_data(self, tensor: WgpuQuantTensor) -> TensorData:
        return payload_of(tensor, read_many([tensor.words])[0])

    def q_to_device(self, tensor: WgpuQuantTensor, device: Any) -> Any:
        """Another wgpu device gets the payload through the host; any other handle is a fault of the caller."""
        if device is tensor.device:
            return tensor
        if not isinstance(device, WgpuDevice):
            raise DTypeError(
                f"to_device: {device!r} is not a device of the wgpu backend; read the data and create anew"
            )
        return self.q_from_data(self.q_into_data(tensor), device)

    def quantize(self, tensor: WgpuTensor, scheme: QuantScheme, qparams: QuantizationParameters) -> WgpuQuantTensor:
        quant.check_quantize(tensor, scheme, qparams)
        device, layout, dtype = tensor.device, tensor.layout, tensor.dtype
        scales, overall = contiguous(qparams.scales), qparams.global_scale
        inputs = (tensor, scales) if overall is None else (tensor, scales, contiguous(overall))
        kinds = (scales.dtype, None if overall is None else overall.dtype)
        words = run1(
            device,
            ("quantize", layout, dtype, scheme, kinds),
            lambda c: quantize_plan(layout, dtype, scheme, *kinds, c),
            inputs,
        )
        return WgpuQuantTensor(words, tensor.shape, QFloat(scheme))

    def dequantize(self, tensor: WgpuQuantTensor, dtype: DType) -> WgpuTensor:
        quant.check_dequantize(tensor)
        if dtype not in KINDS or not dtype.is_float:
            raise DTypeError(f"dequantize: {tensor.device} has no floats of {dtype}; dequantize to f32 and cast")
        shape, scheme = tensor.shape, tensor.dtype.scheme
        return run1(
            tensor.device,
            ("dequantize", shape, scheme, dtype),
            lambda c: dequantize_plan(shape, scheme, dtype, c),
            (tensor.words,),
        )

    def q_reshape(self, tensor: WgpuQuantTensor, shape: Sequence[int]) -> WgpuQuantTensor:
        shape = tuple(shape)
        if shape == tensor.shape:
            return tensor
        target = quant.reshaped_scheme(tensor, shape)
        source, form = tensor.form, Form(shape, target)
        if _same_lines(source, form):
            return WgpuQuantTensor(tensor.words, shape, QFloat(target))
        grid = source.places_of_scales().reshape(form.grid)
        if grid is None:
            # Scales stored in the order of another packed axis: packed along the last one they are row-major.
            scheme = source.scheme.with_store(QuantStore(source.scheme.store.kind, 0))
            tensor = _move("q_reshape", tensor, Layout.dense(tensor.shape), source.places_of_scales(), scheme)
            grid = Layout.dense(form.grid)
        return _move("q_reshape", tensor, Layout.dense(shape), grid, target)

    def q_swap_dims(self, tensor: WgpuQuantTensor, dim1: int, dim2: int) -> WgpuQuantTensor:
        axes = list(range(len(tensor.shape)))
        axes[dim1], axes[dim2] = axes[dim2], axes[dim1]
        return self.q_permute(tensor, axes)

    def q_permute(self, tensor: WgpuQuantTensor, axes: Sequence[int]) -> WgpuQuantTensor:
        axes, source = tuple(axes), tensor.form
        scheme = quant.permuted_scheme(tensor, axes)
        elements = Layout.dense(tensor.shape).permute(axes)
        if same_payload(source, axes, scheme):
            return WgpuQuantTensor(tensor.words, elements.shape, QFloat(scheme))
        grid = source.places_of_scales()
        return _move("q_permute", tensor, elements, grid if scheme.block is None else grid.permute(axes), scheme)

    def q_flip(self, tensor: WgpuQuantTensor, axes: Sequence[int]) -> WgpuQuantTensor:
        quant.check_flip(tensor, axes)
        grid = tensor.form.places_of_scales()
        scheme = tensor.dtype.scheme
        moved = grid if scheme.block is None else grid.flip(axes)
        return _move("q_flip", tensor, Layout.dense(tensor.shape).flip(axes), moved, scheme)


def _same_lines(source: Form, form: Form) -> bool:
    """Whether a reshape leaves the payload as it is: packed along the last axis, in lines that pad nothing or nothing
    else than before."""
    if source.scheme.store.dim or form.scheme.store.dim:
        return False
    count = form.scheme.num_quants
    whole = source.line[1] % count == 0 and form.line[1] % count == 0
    return whole or source.line[1] == form.line[1]
