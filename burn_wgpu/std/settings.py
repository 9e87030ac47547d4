"""A device's default dtypes: open until its first operation, then fixed."""

from __future__ import annotations

from dataclasses import dataclass

from burn_wgpu.std.dtype import BOOL_U8, F32, I32, DType
from burn_wgpu.std.quant import QuantConfig


@dataclass(frozen=True, slots=True)
class DeviceSettings:
    """The dtypes that creation functions use when none is given, and what becomes of quantized operands."""

    float_dtype: DType = F32
    int_dtype: DType = I32
    bool_dtype: DType = BOOL_U8
    quantization: QuantConfig = QuantConfig()
