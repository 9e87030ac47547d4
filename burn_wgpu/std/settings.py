"""A device's default dtypes: open until its first operation, then fixed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from burn_wgpu.std.dtype import BOOL_U8, F32, I32, DType
from burn_wgpu.std.quant import QuantConfig


@dataclass(frozen=True, slots=True)
class DeviceSettings:
    """The dtypes that creation functions use when none is given, and what becomes of quantized operands."""

    float_dtype: DType = F32
    int_dtype: DType = I32
    bool_dtype: DType = BOOL_U8
    quantization: QuantConfig = QuantConfig()


@dataclass(frozen=True, slots=True)
class DeviceConfig:
    """What `Device.configure` sets; None leaves the device's own. Dtypes in any form that names one."""

    float: Any = None
    int: Any = None
    bool: Any = None
    quantization: QuantConfig | None = None

    def with_float_dtype(self, dtype: Any) -> DeviceConfig:
        return replace(self, float=dtype)

    def with_int_dtype(self, dtype: Any) -> DeviceConfig:
        return replace(self, int=dtype)

    def with_bool_dtype(self, dtype: Any) -> DeviceConfig:
        return replace(self, bool=dtype)

    def with_quantization(self, quantization: QuantConfig) -> DeviceConfig:
        return replace(self, quantization=quantization)
