"""Creation, reading and movement: views cost nothing, everything else is a copy of bits that serves every dtype."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from burn_wgpu.backends.wgpu.run import contiguous, run1
from burn_wgpu.backends.wgpu.tensor import WgpuDevice, WgpuTensor
from burn_wgpu.kernel.movement import cat_plan, full_bits, full_plan, slice_assign_plan
from burn_wgpu.std.data import TensorData, compute_dtype, store_array
from burn_wgpu.std.dtype import BOOL, BOOL_U8, DType
from burn_wgpu.std.errors import DTypeError, ShapeError
from burn_wgpu.std.layout import Layout, Shape
from burn_wgpu.std.scalar import Scalar, as_scalar
from burn_wgpu.std.slice import Slice

_MAX_CAT = 256  # operands of one plan; more are joined in stages


def stored(dtype: DType) -> DType:
    """The dtype as this backend stores it: bools are bytes unless words are asked for."""
    return BOOL_U8 if dtype is BOOL else dtype


def from_data(data: TensorData, device: WgpuDevice) -> WgpuTensor:
    dtype = stored(data.dtype)
    data = data.convert(dtype)
    array = np.ascontiguousarray(data.array)
    lease = device.client.upload(array.reshape(-1).view(np.uint8), array.nbytes)
    return WgpuTensor(lease, Layout.dense(data.shape), dtype, device)


def into_data(tensor: WgpuTensor) -> TensorData:
    """Waits for the device. A contiguous view is read from its place; any other is copied on the device first."""
    return read_many([tensor])[0]


def read_many(tensors: Sequence[WgpuTensor]) -> list[TensorData]:
    """Several tensors of one device in one submission and one wait."""
    if not tensors:
        return []
    kept = []
    for tensor in tensors:
        aligned = tensor.layout.offset * tensor.dtype.size_bytes % 4 == 0
        kept.append(tensor if tensor.layout.contiguous and aligned else contiguous(tensor))
    device = tensors[0].device
    device.settle()
    requests = [(t.lease, t.layout.offset * t.dtype.size_bytes, t.layout.size * t.dtype.size_bytes) for t in kept]
    raw = device.client.stream.download(requests)
    return [
        TensorData(bytes_.view(t.dtype.numpy).reshape(t.layout.shape), t.dtype)
        for bytes_, t in zip(raw, kept, strict=True)
    ]


def full(shape: Sequence[int], scalar: Scalar, device: WgpuDevice, dtype: DType) -> WgpuTensor:
    dtype = stored(dtype)
    shape = tuple(shape)
    value = np.asarray(as_scalar(scalar, dtype), dtype=compute_dtype(dtype))
    bits = full_bits(store_array(value, dtype).tobytes())
    return run1(device, ("full", shape, dtype), lambda c: full_plan(shape, dtype, c), (), bits)


def empty(shape: Sequence[int], device: WgpuDevice, dtype: DType) -> WgpuTensor:
    layout = Layout.dense(tuple(shape))
    dtype = stored(dtype)
    return WgpuTensor(device.client.lease(layout.size * dtype.size_bytes, "empty"), layout, dtype, device)


def to_device(tensor: WgpuTensor, device: Any) -> Any:
    """Another wgpu device gets the values through the host; any other handle is a fault of the caller."""
    if device is tensor.device:
        return tensor
    if not isinstance(device, WgpuDevice):
        raise DTypeError(f"to_device: {device!r} is not a device of the wgpu backend; read the data and create anew")
    return from_data(into_data(tensor), device)


def reshape(tensor: WgpuTensor, shape: Sequence[int]) -> WgpuTensor:
    layout = tensor.layout.reshape(tuple(shape))
    if layout is None:
        tensor = contiguous(tensor)
        layout = Layout.dense(tuple(shape))
    return tensor.view(layout)


def permute(tensor: WgpuTensor, axes: Sequence[int]) -> WgpuTensor:
    return tensor.view(tensor.layout.permute(axes))


def swap_dims(tensor: WgpuTensor, dim1: int, dim2: int) -> WgpuTensor:
    return tensor.view(tensor.layout.swap_dims(dim1, dim2))


def transpose(tensor: WgpuTensor) -> WgpuTensor:
    return tensor.view(tensor.layout.swap_dims(tensor.layout.rank - 2, tensor.layout.rank - 1))


def flip(tensor: WgpuTensor, axes: Sequence[int]) -> WgpuTensor:
    return tensor.view(tensor.layout.flip(axes))


def expand(tensor: WgpuTensor, shape: Sequence[int]) -> WgpuTensor:
    return tensor.view(tensor.layout.expand(shape))


def slice_(tensor: WgpuTensor, slices: Sequence[Slice]) -> WgpuTensor:
    return tensor.view(tensor.layout.slice(slices))


def unfold(tensor: WgpuTensor, dim: int, size: int, step: int) -> WgpuTensor:
    if size > tensor.shape[dim]:
        raise ShapeError(
            f"unfold: windows of {size} on axis {dim} of shape {list(tensor.shape)} with size {tensor.shape[dim]}; "
            f"a window must not exceed the axis"
        )
    return tensor.view(tensor.layout.unfold(dim, size, step))


def slice_assign(tensor: WgpuTensor, slices: Sequence[Slice], value: WgpuTensor) -> WgpuTensor:
    slices = tuple(slices)
    layout, values, dtype = tensor.layout, value.layout, tensor.dtype
    return run1(
        tensor.device,
        ("slice_assign", layout, slices, values, dtype),
        lambda c: slice_assign_plan(layout, slices, values, dtype, c),
        (tensor, value),
    )


def cat(tensors: Sequence[WgpuTensor], dim: int) -> WgpuTensor:
    while len(tensors) > _MAX_CAT:
        tensors = [cat(tensors[i : i + _MAX_CAT], dim) for i in range(0, len(tensors), _MAX_CAT)]
    first = tensors[0]
    if len(tensors) == 1:
        return first
    layouts = tuple([t.layout for t in tensors])
    dtype = first.dtype
    return run1(first.device, ("cat", layouts, dim, dtype), lambda c: cat_plan(layouts, dim, dtype, c), tuple(tensors))


class MovementOps:
    """float_, int_ and bool_ forms of the functions above; the contract documents them."""

    def float_full(self, shape: Shape, scalar: Scalar, device: WgpuDevice, dtype: DType) -> WgpuTensor:
        return full(shape, scalar, device, dtype)

    int_full = float_full

    def float_zeros(self, shape: Shape, device: WgpuDevice, dtype: DType) -> WgpuTensor:
        return full(shape, 0, device, dtype)

    def float_ones(self, shape: Shape, device: WgpuDevice, dtype: DType) -> WgpuTensor:
        return full(shape, 1, device, dtype)

    int_zeros = bool_zeros = float_zeros
    int_ones = bool_ones = float_ones


def _install() -> None:
    """Methods that ignore the backend and are the same for the three kinds."""
    functions = {
        "from_data": from_data, "into_data": into_data, "empty": empty, "to_device": to_device, "reshape": reshape,
        "permute": permute, "swap_dims": swap_dims, "transpose": transpose, "flip": flip, "expand": expand,
        "slice": slice_, "unfold": unfold, "slice_assign": slice_assign, "cat": cat,
    }  # fmt: skip
    for name, function in functions.items():

        def method(self: Any, *args: Any, _function: Any = function) -> Any:
            return _function(*args)

        for kind in ("float", "int", "bool"):
            setattr(MovementOps, f"{kind}_{name}", method)


_install()
