"""Conversions between dtypes."""

from __future__ import annotations

from burn_wgpu.backends.wgpu.run import run1
from burn_wgpu.backends.wgpu.tensor import WgpuTensor
from burn_wgpu.kernel.cast import cast_plan
from burn_wgpu.shader.prelude import KINDS
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.errors import DTypeError


def cast(tensor: WgpuTensor, target: DType, operation: str = "cast") -> WgpuTensor:
    """The tensor as any dtype that devices store; itself when it is of that dtype. Same shape.

    float → int truncates and saturates, NaN gives 0; int → int keeps the low bits; to a float rounds to nearest even;
    to a bool is != 0, NaN true. Raises DTypeError for a dtype that devices do not store.
    """
    source = tensor.dtype
    if target is source:
        return tensor
    if target not in KINDS:
        known = ", ".join(kind.name for kind in KINDS)
        raise DTypeError(f"{operation}: {tensor.device} does not store {target}; it stores {known}")
    layout = tensor.layout
    key = ("cast", layout, source, target)
    return run1(tensor.device, key, lambda c: cast_plan(layout, source, target, c, operation), (tensor,))


class CastOps:
    """The contract's conversions; see `cast`."""

    def float_cast(self, tensor: WgpuTensor, dtype: DType) -> WgpuTensor:
        return cast(tensor, dtype, "float_cast")

    def int_cast(self, tensor: WgpuTensor, dtype: DType) -> WgpuTensor:
        return cast(tensor, dtype, "int_cast")

    def float_into_int(self, tensor: WgpuTensor, out_dtype: DType) -> WgpuTensor:
        return cast(tensor, out_dtype, "float_into_int")

    def int_into_float(self, tensor: WgpuTensor, out_dtype: DType) -> WgpuTensor:
        return cast(tensor, out_dtype, "int_into_float")

    def bool_into_int(self, tensor: WgpuTensor, out_dtype: DType) -> WgpuTensor:
        return cast(tensor, out_dtype, "bool_into_int")

    def bool_into_float(self, tensor: WgpuTensor, out_dtype: DType) -> WgpuTensor:
        return cast(tensor, out_dtype, "bool_into_float")
