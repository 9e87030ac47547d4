"""Quantized tensors: float tensors whose dtype is a `QFloat` with its scheme.

What moves elements keeps them quantized. Other operations give floats, unless the device's settings propagate; an
operation that the backend has for floats only is computed on the dequantized tensor. A quantized and a float operand
meet in the float's dtype.
"""
# A mixin of Tensor names its self: mypy wants a supertype there.
# mypy: disable-error-code="misc"

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from burn_wgpu.contract.defaults import quant
from burn_wgpu.contract.options import Calibration, QuantizationParameters
from burn_wgpu.device import DTypeLike
from burn_wgpu.std.dtype import F32
from burn_wgpu.std.dtype import dtype as as_dtype
from burn_wgpu.std.errors import ArgumentError, DTypeError, ShapeError
from burn_wgpu.std.quant import QuantScheme
from burn_wgpu.tensor import check
from burn_wgpu.tensor.core import wrap

if TYPE_CHECKING:
    from burn_wgpu.tensor.api import Tensor


@dataclass(frozen=True, slots=True)
class CalibrationRange:
    """The smallest and largest value of every block, or of the whole tensor ([1])."""

    min: Tensor
    max: Tensor


@dataclass(frozen=True, slots=True)
class QParams:
    """scales: one per block, or [1]; global_scale [1]: the scale of the scales of two-level schemes, else None."""

    scales: Tensor
    global_scale: Tensor | None = None


class Quantization:
    """Into and out of quantized form."""

    __slots__ = ()

    @property
    def is_quantized(self: Tensor) -> bool:
        return self.primitive.dtype.kind == "qfloat"

    def quantize(self: Tensor, scheme: QuantScheme, qparams: QParams) -> Tensor:
        """clamp(round(x / scale)) with ties to even; a global scale exactly for two-level schemes."""
        _float("quantize", self)
        _scheme("quantize", scheme)
        if not isinstance(qparams, QParams):
            raise DTypeError(f"quantize: the parameters are of type {type(qparams).__name__}; they must be QParams")
        overall = qparams.global_scale
        if (overall is None) != (scheme.global_scale_dtype is None):
            have = "is missing" if overall is None else "is given"
            raise ArgumentError(f"quantize: a global scale {have} for the scheme {scheme}; two-level schemes have one")
        if overall is not None and (overall.size != 1 or overall.dtype is not F32):
            raise ShapeError(
                f"quantize: the global scale is {overall.dtype} of shape {list(overall.shape)}; "
                f"it must be one f32 number"
            )
        parameters = QuantizationParameters(qparams.scales.primitive, None if overall is None else overall.primitive)
        return wrap(self._ops.backend.quantize(self.primitive, scheme, parameters), self.device.quantized_ops)

    def quantize_dynamic(self: Tensor, scheme: QuantScheme) -> Tensor:
        """`quantize` with scales from the range of the values."""
        _float("quantize_dynamic", self)
        _scheme("quantize_dynamic", scheme)
        return wrap(self._ops.backend.quantize_dynamic(self.primitive, scheme), self.device.quantized_ops)

    def dequantize(self: Tensor, dtype: DTypeLike | None = None) -> Tensor:
        """As a float tensor, of the device's default float dtype unless given; itself when it is not quantized."""
        if self.primitive.dtype.kind != "qfloat":
            return self
        target = self.device.settings.float_dtype if dtype is None else as_dtype(dtype)
        return wrap(self._ops.backend.dequantize(self.primitive, target), self.device.ops("float"))


def compute_range(
    scheme: QuantScheme, tensor: Tensor, calibration: Calibration = Calibration.MIN_MAX
) -> CalibrationRange:
    """The range of every block: its extremes, or ± its mean magnitude (not for two-level schemes)."""
    _float("compute_range", tensor)
    low, high = quant.compute_range(tensor._ops.backend, scheme, tensor.primitive, calibration)
    return CalibrationRange(wrap(low, tensor._ops), wrap(high, tensor._ops))


def compute_q_params(scheme: QuantScheme, range: CalibrationRange) -> QParams:
    """scale = 2·max(|min|, |max|) / (b − a) for the value range (a, b) of the scheme; see `QParams`."""
    ops = range.min._ops
    found = quant.compute_q_params(ops.backend, scheme, range.min.primitive, range.max.primitive)
    overall = None if found.global_scale is None else wrap(found.global_scale, ops)
    return QParams(wrap(found.scales, ops), overall)


def _scheme(name: str, scheme: object) -> None:
    if not isinstance(scheme, QuantScheme):
        raise DTypeError(f"{name}: the scheme is of type {type(scheme).__name__}; it must be a QuantScheme")


def _float(name: str, tensor: Tensor) -> None:
    check.kind(name, tensor, "the tensor", "float")
    if tensor.dtype.kind == "qfloat":
        raise DTypeError(f"{name}: the tensor is quantized already ({tensor.dtype}); call .dequantize() first")
