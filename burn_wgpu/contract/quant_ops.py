"""QuantOps: 80 functions on quantized tensors, whose dtype is a `QFloat` with its scheme.

Two generic bodies: *quantized again* (the result has the operand's scheme) and *flow* (a float, unless the device's
quantization settings propagate: then quantized again with the first operand's scheme). Quantized tensors carry no
gradients.
"""
# mypy: disable-error-code="empty-body"

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from burn_wgpu.contract.declare import required
from burn_wgpu.contract.defaults import quant
from burn_wgpu.contract.options import QuantizationParameters
from burn_wgpu.contract.types import BoolPrim, DeviceHandle, FloatPrim, Group, IntPrim, TensorPrim
from burn_wgpu.std.data import TensorData
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.quant import QuantScheme
from burn_wgpu.std.scalar import Scalar
from burn_wgpu.std.slice import Slice

QuantPrim: TypeAlias = TensorPrim


class QuantOps(Group):
    """Everything on quantized tensors."""

    # --------------------------------------------------------------------------- creation, transfer, conversion

    @required
    def q_from_data(self, data: TensorData, device: DeviceHandle) -> QuantPrim:
        """The packed values and scales of host data (dtype `QFloat`) as a tensor."""

    @required
    def q_into_data(self, tensor: QuantPrim) -> TensorData:
        """The packed values and scales. Waits for the device."""

    @required
    def q_to_device(self, tensor: QuantPrim, device: DeviceHandle) -> QuantPrim:
        """The same tensor on another device."""

    @required
    def quantize(self, tensor: FloatPrim, scheme: QuantScheme, qparams: QuantizationParameters) -> QuantPrim:
        """q = clamp(round(x / scale), the value range), ties to even; one scale per block, or one."""

    def quantize_dynamic(self, tensor: FloatPrim, scheme: QuantScheme) -> QuantPrim:
        """quantize with scales from the range of the values: 2·max(|min|, |max|) / (b − a)."""
        return quant.quantize_dynamic(self, tensor, scheme)

    @required
    def dequantize(self, tensor: QuantPrim, dtype: DType) -> FloatPrim:
        """q · scale (· the global scale of a two-level scheme) as a float dtype."""

    @required
    def q_reshape(self, tensor: QuantPrim, shape: Sequence[int]) -> QuantPrim:
        """The same elements in row-major order; schemes with blocks of rank 2 raise."""

    @required
    def q_swap_dims(self, tensor: QuantPrim, dim1: int, dim2: int) -> QuantPrim:
        """Two axes exchanged, and with them the block's extents and the packed axis."""

    @required
    def q_permute(self, tensor: QuantPrim, axes: Sequence[int]) -> QuantPrim:
        """Axes in the given order, with the block's extents and the packed axis."""

    @required
    def q_flip(self, tensor: QuantPrim, axes: Sequence[int]) -> QuantPrim:
        """The order along axes reversed."""

    def q_detach(self, tensor: QuantPrim) -> QuantPrim:
        """The tensor itself: quantized tensors carry no gradients."""
        return tensor

    def q_set_require_grad(self, tensor: QuantPrim, require_grad: bool) -> QuantPrim:
        """The tensor itself: quantized tensors carry no gradients."""
        return tensor

    def q_is_require_grad(self, tensor: QuantPrim) -> bool:
        """False."""
        return False

    # -------------------------------------------------------------------------------------------- shape and movement

    def q_expand(self, tensor: QuantPrim, shape: Sequence[int]) -> QuantPrim:
        """As float_expand."""
        return quant.requantized(self, tensor, lambda t: self.float_expand(t, shape))

    def q_transpose(self, tensor: QuantPrim) -> QuantPrim:
        """The last two axes exchanged."""
        return self.q_swap_dims(tensor, len(tensor.shape) - 2, len(tensor.shape) - 1)

    def q_select(self, tensor: QuantPrim, dim: int, indices: IntPrim) -> QuantPrim:
        """As float_select."""
        return quant.requantized(self, tensor, lambda t: self.float_select(t, dim, indices))

    def q_slice(self, tensor: QuantPrim, slices: Sequence[Slice]) -> QuantPrim:
        """As float_slice."""
        return quant.requantized(self, tensor, lambda t: self.float_slice(t, slices))

    def q_gather(self, dim: int, tensor: QuantPrim, indices: IntPrim) -> QuantPrim:
        """As float_gather."""
        return quant.requantized(self, tensor, lambda t: self.float_gather(dim, t, indices))

    def q_repeat_dim(self, tensor: QuantPrim, dim: int, times: int) -> QuantPrim:
        """As float_repeat_dim."""
        return quant.requantized(self, tensor, lambda t: self.float_repeat_dim(t, dim, times))

    def q_cat(self, tensors: Sequence[QuantPrim], dim: int) -> QuantPrim:
        """As float_cat, quantized with the first tensor's scheme."""
        return quant.cat(self, tensors, dim)

    # ---------------------------------------------------------------------------------------------------- arithmetic

    def q_add(self, lhs: QuantPrim, rhs: QuantPrim) -> QuantPrim | FloatPrim:
        """lhs + rhs, with broadcasting."""
        return quant.flow(self, self.float_add, lhs, rhs)

    def q_add_scalar(self, lhs: QuantPrim, rhs: Scalar) -> QuantPrim | FloatPrim:
        """lhs + rhs."""
        return quant.flow(self, lambda t: self.float_add_scalar(t, rhs), lhs)

    def q_sub(self, lhs: QuantPrim, rhs: QuantPrim) -> QuantPrim | FloatPrim:
        """lhs − rhs, with broadcasting."""
        return quant.flow(self, self.float_sub, lhs, rhs)

    def q_sub_scalar(self, lhs: QuantPrim, rhs: Scalar) -> QuantPrim | FloatPrim:
        """lhs − rhs."""
        return quant.flow(self, lambda t: self.float_sub_scalar(t, rhs), lhs)

    def q_mul(self, lhs: QuantPrim, rhs: QuantPrim) -> QuantPrim | FloatPrim:
        """lhs · rhs, with broadcasting."""
        return quant.flow(self, self.float_mul, lhs, rhs)

    def q_mul_scalar(self, lhs: QuantPrim, rhs: Scalar) -> QuantPrim | FloatPrim:
        """lhs · rhs."""
        return quant.flow(self, lambda t: self.float_mul_scalar(t, rhs), lhs)

    def q_div(self, lhs: QuantPrim, rhs: QuantPrim) -> QuantPrim | FloatPrim:
        """lhs / rhs, with broadcasting."""
        return quant.flow(self, self.float_div, lhs, rhs)

    def q_div_scalar(self, lhs: QuantPrim, rhs: Scalar) -> QuantPrim | FloatPrim:
        """lhs / rhs."""
        return quant.flow(self, lambda t: self.float_div_scalar(t, rhs), lhs)

    def q_clamp_min(self, tensor: QuantPrim, min: Scalar) -> QuantPrim | FloatPrim:
        """At least min."""
        return quant.flow(self, lambda t: self.float_clamp_min(t, min), tensor)

    def q_clamp_max(self, tensor: QuantPrim, max: Scalar) -> QuantPrim | FloatPrim:
        """At most max."""
        return quant.flow(self, lambda t: self.float_clamp_max(t, max), tensor)

    def q_clamp(self, tensor: QuantPrim, min: Scalar, max: Scalar) -> QuantPrim | FloatPrim:
        """Between min and max."""
        return quant.flow(self, lambda t: self.float_clamp(t, min, max), tensor)

    def q_matmul(self, lhs: QuantPrim | FloatPrim, rhs: QuantPrim | FloatPrim) -> QuantPrim | FloatPrim:
        """The matrix product; either side may be a float, whose dtype the other is dequantized to.

        A quantized result has the scheme of the last quantized operand.
        """
        return quant.matmul(self, lhs, rhs)

    def q_powf(self, lhs: QuantPrim, rhs: QuantPrim) -> QuantPrim | FloatPrim:
        """lhs to the rhs."""
        return quant.flow(self, self.float_powf, lhs, rhs)

    def q_powi(self, lhs: QuantPrim, rhs: IntPrim) -> QuantPrim | FloatPrim:
        """lhs to the integers rhs."""
        return quant.flow(self, lambda t: self.float_powi(t, rhs), lhs)

    def q_powi_scalar(self, lhs: QuantPrim, rhs: int) -> QuantPrim | FloatPrim:
        """lhs to an integer."""
        return quant.flow(self, lambda t: self.float_powi_scalar(t, rhs), lhs)

    def q_powf_scalar(self, tensor: QuantPrim, value: Scalar) -> QuantPrim | FloatPrim:
        """tensor to a number."""
        return quant.flow(self, lambda t: self.float_powf_scalar(t, value), tensor)

    def q_abs(self, tensor: QuantPrim) -> QuantPrim:
        """|x|; always quantized again."""
        return quant.requantized(self, tensor, self.float_abs)

    def q_neg(self, tensor: QuantPrim) -> QuantPrim | FloatPrim:
        """−x."""
        return quant.flow(self, self.float_neg, tensor)

    def q_recip(self, tensor: QuantPrim) -> QuantPrim | FloatPrim:
        """1 / x."""
        return quant.flow(self, self.float_recip, tensor)

    def q_sum(self, tensor: QuantPrim) -> QuantPrim | FloatPrim:
        """The sum of all elements, [1]."""
        return quant.flow(self, self.float_sum, tensor)

    def q_prod(self, tensor: QuantPrim) -> QuantPrim | FloatPrim:
        """The product of all elements, [1]."""
        return quant.flow(self, self.float_prod, tensor)

    def q_mean(self, tensor: QuantPrim) -> QuantPrim | FloatPrim:
        """The mean of all elements, [1]."""
        return quant.flow(self, self.float_mean, tensor)

    def q_exp(self, tensor: QuantPrim) -> QuantPrim | FloatPrim:
        """e^x."""
        return quant.flow(self, self.float_exp, tensor)

    def q_log(self, tensor: QuantPrim) -> QuantPrim | FloatPrim:
        """log x."""
        return quant.flow(self, self.float_log, tensor)

    def q_log1p(self, tensor: QuantPrim) -> QuantPrim | FloatPrim:
        """log(1 + x)."""
        return quant.flow(self, self.float_log1p, tensor)

    def q_sqrt(self, tensor: QuantPrim) -> QuantPrim | FloatPrim:
        """√x."""
        return quant.flow(self, self.float_sqrt, tensor)

    def q_cos(self, tensor: QuantPrim) -> QuantPrim | FloatPrim:
        """cos x."""
        return quant.flow(self, self.float_cos, tensor)

    def q_sin(self, tensor: QuantPrim) -> QuantPrim | FloatPrim:
        """sin x."""
        return quant.flow(self, self.float_sin, tensor)

    def q_tan(self, tensor: QuantPrim) -> QuantPrim | FloatPrim:
        """tan x."""
        return quant.flow(self, self.float_tan, tensor)

    def q_cosh(self, tensor: QuantPrim) -> QuantPrim | FloatPrim:
        """cosh x."""
        return quant.flow(self, self.float_cosh, tensor)

    def q_sinh(self, tensor: QuantPrim) -> QuantPrim | FloatPrim:
        """sinh x."""
        return quant.flow(self, self.float_sinh, tensor)

    def q_tanh(self, tensor: QuantPrim) -> QuantPrim | FloatPrim:
        """tanh x."""
        return quant.flow(self, self.float_tanh, tensor)

    def q_erf(self, tensor: QuantPrim) -> QuantPrim | FloatPrim:
        """erf x."""
        return quant.flow(self, self.float_erf, tensor)

    def q_sum_dim(self, tensor: QuantPrim, dim: int) -> QuantPrim | FloatPrim:
        """The sum along dim."""
        return quant.flow(self, lambda t: self.float_sum_dim(t, dim), tensor)

    def q_prod_dim(self, tensor: QuantPrim, dim: int) -> QuantPrim | FloatPrim:
        """The product along dim."""
        return quant.flow(self, lambda t: self.float_prod_dim(t, dim), tensor)

    def q_mean_dim(self, tensor: QuantPrim, dim: int) -> QuantPrim | FloatPrim:
        """The mean along dim."""
        return quant.flow(self, lambda t: self.float_mean_dim(t, dim), tensor)

    def q_cumsum(self, tensor: QuantPrim, dim: int) -> QuantPrim | FloatPrim:
        """Running sums along dim."""
        return quant.flow(self, lambda t: self.float_cumsum(t, dim), tensor)

    def q_cumprod(self, tensor: QuantPrim, dim: int) -> QuantPrim | FloatPrim:
        """Running products along dim."""
        return quant.flow(self, lambda t: self.float_cumprod(t, dim), tensor)

    def q_cummin(self, tensor: QuantPrim, dim: int) -> QuantPrim | FloatPrim:
        """Running minima along dim."""
        return quant.flow(self, lambda t: self.float_cummin(t, dim), tensor)

    def q_cummax(self, tensor: QuantPrim, dim: int) -> QuantPrim | FloatPrim:
        """Running maxima along dim."""
        return quant.flow(self, lambda t: self.float_cummax(t, dim), tensor)

    # --------------------------------------------------------------------------------------------------------- order

    def q_argmax(self, tensor: QuantPrim, dim: int, out_dtype: DType) -> IntPrim:
        """As float_argmax."""
        return self.float_argmax(quant.dequantized(self, tensor), dim, out_dtype)

    def q_argmin(self, tensor: QuantPrim, dim: int, out_dtype: DType) -> IntPrim:
        """As float_argmin."""
        return self.float_argmin(quant.dequantized(self, tensor), dim, out_dtype)

    def q_argtopk(self, tensor: QuantPrim, dim: int, k: int, out_dtype: DType) -> IntPrim:
        """As float_argtopk."""
        return self.float_argtopk(quant.dequantized(self, tensor), dim, k, out_dtype)

    def q_topk(self, tensor: QuantPrim, dim: int, k: int) -> QuantPrim:
        """As float_topk."""
        return quant.requantized(self, tensor, lambda t: self.float_topk(t, dim, k))

    def q_topk_with_indices(self, tensor: QuantPrim, dim: int, k: int, out_dtype: DType) -> tuple[QuantPrim, IntPrim]:
        """As float_topk_with_indices."""
        return quant.requantized_with_indices(
            self, tensor, lambda t: self.float_topk_with_indices(t, dim, k, out_dtype)
        )

    def q_max(self, tensor: QuantPrim) -> QuantPrim:
        """The maximum of all elements, [1]."""
        return self.q_max_dim(quant.flat(self, tensor), 0)

    def q_max_dim(self, tensor: QuantPrim, dim: int) -> QuantPrim:
        """The maximum along dim."""
        return self.q_gather(dim, tensor, self.q_argmax(tensor, dim, quant.int_dtype(tensor)))

    def q_max_dim_with_indices(self, tensor: QuantPrim, dim: int, out_dtype: DType) -> tuple[QuantPrim, IntPrim]:
        """The maximum along dim and where it is."""
        return quant.picked(self, tensor, dim, self.q_argmax(tensor, dim, out_dtype))

    def q_min(self, tensor: QuantPrim) -> QuantPrim:
        """The minimum of all elements, [1]."""
        return self.q_min_dim(quant.flat(self, tensor), 0)

    def q_min_dim(self, tensor: QuantPrim, dim: int) -> QuantPrim:
        """The minimum along dim."""
        return self.q_gather(dim, tensor, self.q_argmin(tensor, dim, quant.int_dtype(tensor)))

    def q_min_dim_with_indices(self, tensor: QuantPrim, dim: int, out_dtype: DType) -> tuple[QuantPrim, IntPrim]:
        """The minimum along dim and where it is."""
        return quant.picked(self, tensor, dim, self.q_argmin(tensor, dim, out_dtype))

    def q_max_abs(self, tensor: QuantPrim) -> QuantPrim:
        """The element of greatest magnitude, with its sign, [1]."""
        return self.q_max_abs_dim(quant.flat(self, tensor), 0)

    def q_max_abs_dim(self, tensor: QuantPrim, dim: int) -> QuantPrim:
        """The element of greatest magnitude along dim; it keeps its sign, unlike float_max_abs_dim."""
        return quant.max_abs_dim(self, tensor, dim)

    def q_any(self, tensor: QuantPrim, out_dtype: DType) -> BoolPrim:
        """Whether any element is not 0, [1]."""
        return self.float_any(quant.dequantized(self, tensor), out_dtype)

    def q_any_dim(self, tensor: QuantPrim, dim: int, out_dtype: DType) -> BoolPrim:
        """Whether any element along dim is not 0."""
        return self.float_any_dim(quant.dequantized(self, tensor), dim, out_dtype)

    def q_all(self, tensor: QuantPrim, out_dtype: DType) -> BoolPrim:
        """Whether no element is 0, [1]."""
        return self.float_all(quant.dequantized(self, tensor), out_dtype)

    def q_all_dim(self, tensor: QuantPrim, dim: int, out_dtype: DType) -> BoolPrim:
        """Whether no element along dim is 0."""
        return self.float_all_dim(quant.dequantized(self, tensor), dim, out_dtype)

    def q_sort(self, tensor: QuantPrim, dim: int, descending: bool) -> QuantPrim:
        """As float_sort."""
        return quant.requantized(self, tensor, lambda t: self.float_sort(t, dim, descending))

    def q_sort_with_indices(
        self, tensor: QuantPrim, dim: int, descending: bool, out_dtype: DType
    ) -> tuple[QuantPrim, IntPrim]:
        """As float_sort_with_indices."""
        return quant.requantized_with_indices(
            self, tensor, lambda t: self.float_sort_with_indices(t, dim, descending, out_dtype)
        )

    def q_argsort(self, tensor: QuantPrim, dim: int, descending: bool, out_dtype: DType) -> IntPrim:
        """As float_argsort."""
        return self.float_argsort(quant.dequantized(self, tensor), dim, descending, out_dtype)
