"""FloatOps: 130 functions on float tensors.

Scalars arrive as Python numbers and are converted to the tensor's dtype first. Binary operands have equal ranks and
dtypes and broadcast over axes of size 1. Results keep the dtype unless the signature names another. Halves (f16, bf16)
are computed in f32 and rounded once.
"""
# mypy: disable-error-code="empty-body"

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from burn_wgpu.contract.declare import elementwise, required
from burn_wgpu.contract.defaults import grid_sample, index, math, order, reduce
from burn_wgpu.contract.defaults import shape as shapes
from burn_wgpu.contract.options import GridSampleOptions, IndexingUpdateOp, PadMode
from burn_wgpu.contract.types import BoolPrim, DeviceHandle, FloatPrim, Group, IntPrim
from burn_wgpu.std.data import TensorData
from burn_wgpu.std.distribution import Distribution
from burn_wgpu.std.dtype import I32, DType
from burn_wgpu.std.scalar import Scalar
from burn_wgpu.std.slice import Slice


class FloatOps(Group):
    """Everything on float tensors but modules and activations."""

    # ------------------------------------------------------------------------ creation, transfer, conversion

    @required
    def float_from_data(self, data: TensorData, device: DeviceHandle) -> FloatPrim:
        """The host data as a tensor; data's dtype is a float dtype and is kept."""

    @required
    def float_random(
        self, shape: Sequence[int], distribution: Distribution, device: DeviceHandle, dtype: DType
    ) -> FloatPrim:
        """Numbers from the device's Philox stream. Default is U[0, 1), uniform half-open, bernoulli 0 or 1."""

    def float_zeros(self, shape: Sequence[int], device: DeviceHandle, dtype: DType) -> FloatPrim:
        """All 0."""
        return self.float_full(shape, 0.0, device, dtype)

    def float_ones(self, shape: Sequence[int], device: DeviceHandle, dtype: DType) -> FloatPrim:
        """All 1."""
        return self.float_full(shape, 1.0, device, dtype)

    def float_full(self, shape: Sequence[int], scalar: Scalar, device: DeviceHandle, dtype: DType) -> FloatPrim:
        """One number everywhere."""
        return self.float_from_data(shapes.full_data(shape, scalar, dtype), device)

    @required
    def float_into_data(self, tensor: FloatPrim) -> TensorData:
        """The elements in row-major order of the logical view. Waits for the device."""

    @required
    def float_to_device(self, tensor: FloatPrim, device: DeviceHandle) -> FloatPrim:
        """The tensor on another device of this backend; itself when it is there."""

    @required
    def float_into_int(self, tensor: FloatPrim, out_dtype: DType) -> IntPrim:
        """Truncated toward zero; outside the range of out_dtype its nearest end, NaN gives 0."""

    def float_empty(self, shape: Sequence[int], device: DeviceHandle, dtype: DType) -> FloatPrim:
        """Any content; the default's is 0."""
        return self.float_zeros(shape, device, dtype)

    @required
    def float_cast(self, tensor: FloatPrim, dtype: DType) -> FloatPrim:
        """As another float dtype, rounded to nearest even; too large becomes infinity."""

    def float_detach(self, tensor: FloatPrim) -> FloatPrim:
        """The tensor without its history; only autodiff knows one."""
        return tensor

    def float_set_require_grad(self, tensor: FloatPrim, require_grad: bool) -> FloatPrim:
        """The tensor, marked to keep its gradient or not; only autodiff marks."""
        return tensor

    def float_is_require_grad(self, tensor: FloatPrim) -> bool:
        """Whether the tensor is a leaf that keeps its gradient."""
        return False

    # ------------------------------------------------------------------------------------------- arithmetic

    @elementwise(lambda x, y: x + y, tensors=2)
    def float_add(self, lhs: FloatPrim, rhs: FloatPrim) -> FloatPrim:
        """lhs + rhs."""

    @elementwise(lambda x, s: x + s, scalars=1, wgsl="float_add")
    def float_add_scalar(self, lhs: FloatPrim, rhs: Scalar) -> FloatPrim:
        """lhs + rhs."""

    @elementwise(lambda x, y: x - y, tensors=2)
    def float_sub(self, lhs: FloatPrim, rhs: FloatPrim) -> FloatPrim:
        """lhs − rhs."""

    @elementwise(lambda x, s: x - s, scalars=1, wgsl="float_sub")
    def float_sub_scalar(self, lhs: FloatPrim, rhs: Scalar) -> FloatPrim:
        """lhs − rhs."""

    @elementwise(lambda x, y: x * y, tensors=2)
    def float_mul(self, lhs: FloatPrim, rhs: FloatPrim) -> FloatPrim:
        """lhs · rhs."""

    @elementwise(lambda x, s: x * s, scalars=1, wgsl="float_mul")
    def float_mul_scalar(self, lhs: FloatPrim, rhs: Scalar) -> FloatPrim:
        """lhs · rhs."""

    @elementwise(lambda x, y: x / y, tensors=2)
    def float_div(self, lhs: FloatPrim, rhs: FloatPrim) -> FloatPrim:
        """lhs / rhs by IEEE: ±inf over zero, NaN for 0 / 0."""

    @elementwise(lambda x, s: x / s, scalars=1, wgsl="float_div")
    def float_div_scalar(self, lhs: FloatPrim, rhs: Scalar) -> FloatPrim:
        """lhs / rhs."""

    @elementwise(np.remainder, tensors=2)
    def float_remainder(self, lhs: FloatPrim, rhs: FloatPrim) -> FloatPrim:
        """lhs − ⌊lhs / rhs⌋·rhs, with the sign of rhs; NumPy's remainder for zeros and infinities."""

    @elementwise(np.remainder, scalars=1, wgsl="float_remainder")
    def float_remainder_scalar(self, lhs: FloatPrim, rhs: Scalar) -> FloatPrim:
        """lhs − ⌊lhs / rhs⌋·rhs."""

    @elementwise(np.floor_divide, tensors=2)
    def float_floor_divide(self, lhs: FloatPrim, rhs: FloatPrim) -> FloatPrim:
        """⌊lhs / rhs⌋ of the exact quotient; NumPy's floor_divide: lhs / rhs for rhs = 0, NaN for lhs = ±inf."""

    @elementwise(np.floor_divide, scalars=1, wgsl="float_floor_divide")
    def float_floor_divide_scalar(self, lhs: FloatPrim, rhs: Scalar) -> FloatPrim:
        """⌊lhs / rhs⌋."""

    @elementwise(np.fmod, tensors=2)
    def float_fmod(self, lhs: FloatPrim, rhs: FloatPrim) -> FloatPrim:
        """lhs − trunc(lhs / rhs)·rhs, with the sign of lhs; lhs where rhs is ±inf; NaN for lhs = ±inf or rhs = 0."""

    @elementwise(np.fmod, scalars=1, wgsl="float_fmod")
    def float_fmod_scalar(self, lhs: FloatPrim, rhs: Scalar) -> FloatPrim:
        """lhs − trunc(lhs / rhs)·rhs."""

    @elementwise(lambda x: -x)
    def float_neg(self, tensor: FloatPrim) -> FloatPrim:
        """−x, also of zeros and NaN."""

    @elementwise(lambda x: 1 / x)
    def float_recip(self, tensor: FloatPrim) -> FloatPrim:
        """1 / x; ±inf at ±0."""

    # Numbers on the left, and what takes several of Burn's functions; the contract has them so that each is one kernel.

    @elementwise(lambda x, s: s - x, scalars=1)
    def float_rsub_scalar(self, tensor: FloatPrim, lhs: Scalar) -> FloatPrim:
        """lhs − tensor."""

    @elementwise(lambda x, s: s / x, scalars=1)
    def float_rdiv_scalar(self, tensor: FloatPrim, lhs: Scalar) -> FloatPrim:
        """lhs / tensor."""

    @elementwise(lambda x, s: math.power(s, x), scalars=1)
    def float_rpowf_scalar(self, tensor: FloatPrim, lhs: Scalar) -> FloatPrim:
        """lhs to the tensor, as float_powf."""

    @elementwise(lambda x, s: x * s, scalars=1, wgsl="float_mul", wide=True)
    def float_scale(self, tensor: FloatPrim, factor: float) -> FloatPrim:
        """tensor · factor, a constant with f32's digits beside halves too."""

    @elementwise(np.maximum, tensors=2)
    def float_max_pair(self, lhs: FloatPrim, rhs: FloatPrim) -> FloatPrim:
        """The larger of both; NaN on either side gives NaN."""

    @elementwise(np.minimum, tensors=2)
    def float_min_pair(self, lhs: FloatPrim, rhs: FloatPrim) -> FloatPrim:
        """The smaller of both; NaN on either side gives NaN."""

    @elementwise(math.round_to, scalars=2, wide=True)
    def float_round_to(self, tensor: FloatPrim, up: float, down: float) -> FloatPrim:
        """round(x · up / down) · down / up; x itself where x · up / down is not finite."""

    @elementwise(math.one_hot, tensors=2, scalars=3)
    def float_one_hot(self, tensor: FloatPrim, classes: FloatPrim, count: float, on: float, off: float) -> FloatPrim:
        """`on` where x, truncated, or x + count is the class, else `off`: negative x count from the end."""

    @elementwise(np.isfinite, result="bool")
    def float_is_finite(self, tensor: FloatPrim, out_dtype: DType) -> BoolPrim:
        """Whether x is neither NaN nor ±inf, by its bits."""

    @elementwise(math.is_close, tensors=2, scalars=2, result="bool", wide=True)
    def float_is_close(self, lhs: FloatPrim, rhs: FloatPrim, rtol: float, atol: float, out_dtype: DType) -> BoolPrim:
        """|lhs − rhs| ≤ atol + rtol·|rhs| for finite pairs, else lhs == rhs."""

    @required
    def float_matmul(self, lhs: FloatPrim, rhs: FloatPrim) -> FloatPrim:
        """lhs [.., m, k] · rhs [.., k, n] → [.., m, n]; leading axes broadcast; k = 0 gives zeros."""

    def float_cross(self, lhs: FloatPrim, rhs: FloatPrim, dim: int) -> FloatPrim:
        """The cross product along `dim`, which has size 3 in both; other axes broadcast."""
        return math.cross(self, lhs, rhs, dim)

    @elementwise(np.maximum, scalars=1)
    def float_clamp_min(self, tensor: FloatPrim, min: Scalar) -> FloatPrim:
        """max(x, min); NaN on either side gives NaN."""

    @elementwise(np.minimum, scalars=1)
    def float_clamp_max(self, tensor: FloatPrim, max: Scalar) -> FloatPrim:
        """min(x, max); NaN on either side gives NaN."""

    @elementwise(lambda x, low, high: np.maximum(np.minimum(x, high), low), scalars=2)
    def float_clamp(self, tensor: FloatPrim, min: Scalar, max: Scalar) -> FloatPrim:
        """max(min(x, max), min); a NaN anywhere gives NaN."""

    @elementwise(math.power, tensors=2)
    def float_powf(self, lhs: FloatPrim, rhs: FloatPrim) -> FloatPrim:
        """lhs to the rhs by IEEE: x^0 = 1 even for NaN, a negative base has powers at integers only (else NaN)."""

    def float_powi(self, lhs: FloatPrim, rhs: IntPrim) -> FloatPrim:
        """lhs to the integer rhs, rounded once."""
        return math.float_powi(self, lhs, rhs)

    def float_powi_scalar(self, lhs: FloatPrim, rhs: int) -> FloatPrim:
        """lhs to the integer rhs; 1 for rhs = 0, whatever lhs is."""
        return math.float_powi_scalar(self, lhs, rhs)

    def float_powi_scalar_impl(self, lhs: FloatPrim, rhs: int) -> FloatPrim:
        """The integer powers that float_powi_scalar does not shortcut."""
        return self.float_powf_scalar_impl(lhs, float(rhs))

    def float_powf_scalar(self, tensor: FloatPrim, value: Scalar) -> FloatPrim:
        """tensor to the value; integer values take the integer path."""
        if float(value).is_integer():
            return self.float_powi_scalar(tensor, int(value))
        return self.float_powf_scalar_impl(tensor, value)

    @elementwise(math.power, scalars=1, wgsl="float_powf")
    def float_powf_scalar_impl(self, tensor: FloatPrim, value: Scalar) -> FloatPrim:
        """tensor to the value, as float_powf."""

    @elementwise(np.sqrt)
    def float_sqrt(self, tensor: FloatPrim) -> FloatPrim:
        """√x; NaN below 0."""

    @elementwise(math.hypot, tensors=2)
    def float_hypot(self, lhs: FloatPrim, rhs: FloatPrim) -> FloatPrim:
        """√(lhs² + rhs²) without overflow or underflow; NaN on either side gives NaN, else inf wins."""

    @elementwise(np.abs)
    def float_abs(self, tensor: FloatPrim) -> FloatPrim:
        """|x|."""

    @elementwise(math.sign)
    def float_sign(self, tensor: FloatPrim) -> FloatPrim:
        """−1, 0 or 1; +0 for ±0 and for NaN."""

    # ------------------------------------------------------------------------------------------- unary math

    @elementwise(np.exp)
    def float_exp(self, tensor: FloatPrim) -> FloatPrim:
        """e to the x."""

    @elementwise(np.log)
    def float_log(self, tensor: FloatPrim) -> FloatPrim:
        """Natural logarithm; −inf at 0, NaN below."""

    @elementwise(np.log1p)
    def float_log1p(self, tensor: FloatPrim) -> FloatPrim:
        """log(1 + x), with every digit near 0."""

    @elementwise(np.expm1)
    def float_expm1(self, tensor: FloatPrim) -> FloatPrim:
        """eˣ − 1, with every digit near 0."""

    @elementwise(np.cos)
    def float_cos(self, tensor: FloatPrim) -> FloatPrim:
        """Cosine; in f32 within 2e-6 up to |x| = 1e5, finite beyond."""

    @elementwise(np.sin)
    def float_sin(self, tensor: FloatPrim) -> FloatPrim:
        """Sine; accuracy as cosine."""

    @elementwise(np.tan)
    def float_tan(self, tensor: FloatPrim) -> FloatPrim:
        """Tangent; accuracy as cosine, away from the poles."""

    @elementwise(np.cosh)
    def float_cosh(self, tensor: FloatPrim) -> FloatPrim:
        """(eˣ + e⁻ˣ) / 2."""

    @elementwise(np.sinh)
    def float_sinh(self, tensor: FloatPrim) -> FloatPrim:
        """(eˣ − e⁻ˣ) / 2."""

    @elementwise(np.tanh)
    def float_tanh(self, tensor: FloatPrim) -> FloatPrim:
        """sinh / cosh; ±1 for large |x|, never NaN but for NaN."""

    @elementwise(np.arccos)
    def float_acos(self, tensor: FloatPrim) -> FloatPrim:
        """Inverse cosine in [0, π]; NaN outside [−1, 1]."""

    @elementwise(np.arccosh)
    def float_acosh(self, tensor: FloatPrim) -> FloatPrim:
        """Inverse hyperbolic cosine; NaN below 1."""

    @elementwise(np.arcsin)
    def float_asin(self, tensor: FloatPrim) -> FloatPrim:
        """Inverse sine in [−π/2, π/2]; NaN outside [−1, 1]."""

    @elementwise(np.arcsinh)
    def float_asinh(self, tensor: FloatPrim) -> FloatPrim:
        """Inverse hyperbolic sine."""

    @elementwise(np.arctan)
    def float_atan(self, tensor: FloatPrim) -> FloatPrim:
        """Inverse tangent in [−π/2, π/2]."""

    @elementwise(np.arctanh)
    def float_atanh(self, tensor: FloatPrim) -> FloatPrim:
        """Inverse hyperbolic tangent; ±inf at ±1, NaN beyond."""

    @elementwise(np.arctan2, tensors=2)
    def float_atan2(self, lhs: FloatPrim, rhs: FloatPrim) -> FloatPrim:
        """The angle of the point (x = rhs, y = lhs) in [−π, π]."""

    @elementwise(np.rint)
    def float_round(self, tensor: FloatPrim) -> FloatPrim:
        """To the nearest integer, ties to even."""

    @elementwise(np.floor)
    def float_floor(self, tensor: FloatPrim) -> FloatPrim:
        """The largest integer not above x."""

    @elementwise(np.ceil)
    def float_ceil(self, tensor: FloatPrim) -> FloatPrim:
        """The smallest integer not below x."""

    @elementwise(np.trunc)
    def float_trunc(self, tensor: FloatPrim) -> FloatPrim:
        """The integer part, toward zero."""

    @elementwise(math.erf)
    def float_erf(self, tensor: FloatPrim) -> FloatPrim:
        """2/√π · ∫₀ˣ exp(−t²) dt."""

    @elementwise(np.isnan, result="bool")
    def float_is_nan(self, tensor: FloatPrim, out_dtype: DType) -> BoolPrim:
        """Whether x is NaN, by its bits."""

    @elementwise(np.isinf, result="bool")
    def float_is_inf(self, tensor: FloatPrim, out_dtype: DType) -> BoolPrim:
        """Whether x is ±inf, by its bits."""

    # ---------------------------------------------------------------------------------- comparison and masks

    @elementwise(lambda x, y: x == y, tensors=2, result="bool")
    def float_equal(self, lhs: FloatPrim, rhs: FloatPrim, out_dtype: DType) -> BoolPrim:
        """lhs == rhs by IEEE: NaN equals nothing, −0 equals +0."""

    @elementwise(lambda x, y: x != y, tensors=2, result="bool")
    def float_not_equal(self, lhs: FloatPrim, rhs: FloatPrim, out_dtype: DType) -> BoolPrim:
        """lhs != rhs; true where a NaN is."""

    @elementwise(lambda x, s: x == s, scalars=1, result="bool", wgsl="float_equal")
    def float_equal_elem(self, lhs: FloatPrim, rhs: Scalar, out_dtype: DType) -> BoolPrim:
        """lhs == rhs."""

    @elementwise(lambda x, s: x != s, scalars=1, result="bool", wgsl="float_not_equal")
    def float_not_equal_elem(self, lhs: FloatPrim, rhs: Scalar, out_dtype: DType) -> BoolPrim:
        """lhs != rhs."""

    @elementwise(lambda x, y: x > y, tensors=2, result="bool")
    def float_greater(self, lhs: FloatPrim, rhs: FloatPrim, out_dtype: DType) -> BoolPrim:
        """lhs > rhs; false where a NaN is."""

    @elementwise(lambda x, s: x > s, scalars=1, result="bool", wgsl="float_greater")
    def float_greater_elem(self, lhs: FloatPrim, rhs: Scalar, out_dtype: DType) -> BoolPrim:
        """lhs > rhs."""

    @elementwise(lambda x, y: x >= y, tensors=2, result="bool")
    def float_greater_equal(self, lhs: FloatPrim, rhs: FloatPrim, out_dtype: DType) -> BoolPrim:
        """lhs ≥ rhs."""

    @elementwise(lambda x, s: x >= s, scalars=1, result="bool", wgsl="float_greater_equal")
    def float_greater_equal_elem(self, lhs: FloatPrim, rhs: Scalar, out_dtype: DType) -> BoolPrim:
        """lhs ≥ rhs."""

    @elementwise(lambda x, y: x < y, tensors=2, result="bool")
    def float_lower(self, lhs: FloatPrim, rhs: FloatPrim, out_dtype: DType) -> BoolPrim:
        """lhs < rhs."""

    @elementwise(lambda x, s: x < s, scalars=1, result="bool", wgsl="float_lower")
    def float_lower_elem(self, lhs: FloatPrim, rhs: Scalar, out_dtype: DType) -> BoolPrim:
        """lhs < rhs."""

    @elementwise(lambda x, y: x <= y, tensors=2, result="bool")
    def float_lower_equal(self, lhs: FloatPrim, rhs: FloatPrim, out_dtype: DType) -> BoolPrim:
        """lhs ≤ rhs."""

    @elementwise(lambda x, s: x <= s, scalars=1, result="bool", wgsl="float_lower_equal")
    def float_lower_equal_elem(self, lhs: FloatPrim, rhs: Scalar, out_dtype: DType) -> BoolPrim:
        """lhs ≤ rhs."""

    @elementwise(lambda t, m, v: np.where(m, v, t), tensors=3, mask=1)
    def float_mask_where(self, tensor: FloatPrim, mask: BoolPrim, value: FloatPrim) -> FloatPrim:
        """value where the mask is true, else tensor; all three broadcast together."""

    @elementwise(lambda t, m, s: np.where(m, s, t), tensors=2, scalars=1, mask=1, wgsl="float_mask_where")
    def float_mask_fill(self, tensor: FloatPrim, mask: BoolPrim, value: Scalar) -> FloatPrim:
        """value where the mask is true, else tensor; they broadcast together."""

    def float_mask_select(self, tensor: FloatPrim, mask: BoolPrim) -> FloatPrim:
        """[count]: the elements where the mask (of the same shape) is true, row-major. Waits for the device."""
        return index.mask_select(self, tensor, mask)

    # ------------------------------------------------------------------------------------ shape and movement

    @required
    def float_reshape(self, tensor: FloatPrim, shape: Sequence[int]) -> FloatPrim:
        """The same elements in row-major order under another shape of the same size."""

    def float_swap_dims(self, tensor: FloatPrim, dim1: int, dim2: int) -> FloatPrim:
        """Two axes exchanged."""
        return shapes.swap_dims(self, tensor, dim1, dim2)

    def float_transpose(self, tensor: FloatPrim) -> FloatPrim:
        """The last two axes exchanged."""
        return shapes.transpose(self, tensor)

    @required
    def float_permute(self, tensor: FloatPrim, axes: Sequence[int]) -> FloatPrim:
        """Axis i of the result is axis axes[i] of the tensor."""

    def float_flip(self, tensor: FloatPrim, axes: Sequence[int]) -> FloatPrim:
        """The listed axes backwards."""
        return shapes.flip(self, tensor, axes)

    @required
    def float_expand(self, tensor: FloatPrim, shape: Sequence[int]) -> FloatPrim:
        """Axes of size 1 grow to the sizes in shape; new leading axes are allowed."""

    def float_repeat_dim(self, tensor: FloatPrim, dim: int, times: int) -> FloatPrim:
        """Tiled along dim (a b a b …): size d becomes d · times; times = 0 gives an empty axis."""
        return shapes.repeat_dim(self, tensor, dim, times)

    def float_cat(self, tensors: Sequence[FloatPrim], dim: int) -> FloatPrim:
        """The tensors one after another along dim; other axes are equal, there is at least one tensor."""
        return shapes.cat(self, tensors, dim)

    @required
    def float_slice(self, tensor: FloatPrim, slices: Sequence[Slice]) -> FloatPrim:
        """Burn's slices of the leading axes, each walked with its step; negative steps walk backwards."""

    @required
    def float_slice_assign(self, tensor: FloatPrim, slices: Sequence[Slice], value: FloatPrim) -> FloatPrim:
        """tensor with the region replaced by value, whose shape is the region's; out of place."""

    def float_select(self, tensor: FloatPrim, dim: int, indices: IntPrim) -> FloatPrim:
        """The rows `indices` [k] along dim, whose size becomes k. Raises IndexOutOfRange, now or at the next sync."""
        return index.select(self, tensor, dim, indices)

    def float_select_assign(
        self, tensor: FloatPrim, dim: int, indices: IntPrim, values: FloatPrim, update: IndexingUpdateOp
    ) -> FloatPrim:
        """tensor with the rows `indices` [k] along dim updated by values, whose axis dim has size k."""
        return index.select_assign(self, tensor, dim, indices, values, update)

    @required
    def float_gather(self, dim: int, tensor: FloatPrim, indices: IntPrim) -> FloatPrim:
        """out[.., i, ..] = tensor[.., indices[.., i, ..], ..] along dim; the shape is that of indices.

        Other axes of indices are at most those of tensor. Raises IndexOutOfRange, now or at the next sync.
        """

    @required
    def float_scatter(
        self, dim: int, tensor: FloatPrim, indices: IntPrim, values: FloatPrim, update: IndexingUpdateOp
    ) -> FloatPrim:
        """tensor with element indices[.., i, ..] along dim updated by values[.., i, ..].

        indices and values have one shape, other axes at most those of tensor. Duplicates: see IndexingUpdateOp.
        """

    def float_gather_nd(self, data: FloatPrim, indices: IntPrim) -> FloatPrim:
        """indices [.., K] hold K leading coordinates of data → [.., *data.shape[K:]]."""
        return index.gather_nd(self, data, indices)

    def float_scatter_nd(
        self, data: FloatPrim, indices: IntPrim, values: FloatPrim, update: IndexingUpdateOp
    ) -> FloatPrim:
        """data with the slices at indices [.., K] updated by values [.., *data.shape[K:]]."""
        return index.scatter_nd(self, data, indices, values, update)

    @required
    def float_unfold(self, tensor: FloatPrim, dim: int, size: int, step: int) -> FloatPrim:
        """Windows of `size` elements every `step`: dim becomes (d − size) // step + 1, size is a new last axis.

        Raises ShapeError when size exceeds the axis.
        """

    def float_pad(self, tensor: FloatPrim, padding: Sequence[tuple[int, int]], mode: PadMode) -> FloatPrim:
        """(before, after) per axis. Reflect needs pads below the axis' size, edge an axis that is not empty."""
        return shapes.pad(self, tensor, padding, mode)

    # ---------------------------------------------------------------------- reductions, cumulative, order

    def float_sum(self, tensor: FloatPrim) -> FloatPrim:
        """[1]: the sum of all elements; 0 of none."""
        return reduce.whole(self, tensor, "sum_dim")

    @required
    def float_sum_dim(self, tensor: FloatPrim, dim: int) -> FloatPrim:
        """The sum along dim, whose size becomes 1; 0 of none."""

    def float_sum_dims(self, tensor: FloatPrim, dims: Sequence[int]) -> FloatPrim:
        """The sum along several axes, each kept with size 1."""
        return reduce.sum_dims(self, tensor, dims)

    def float_mean_dims(self, tensor: FloatPrim, dims: Sequence[int]) -> FloatPrim:
        """The mean over several axes, each kept with size 1; NaN of none, rounded once."""
        return reduce.mean_dims(self, tensor, dims)

    def float_max_dims(self, tensor: FloatPrim, dims: Sequence[int]) -> FloatPrim:
        """The maximum over several axes, each kept with size 1; NaN wins, ShapeError of none."""
        return reduce.over(self, tensor, "max_dim", dims)  # type: ignore[no-any-return]

    def float_min_dims(self, tensor: FloatPrim, dims: Sequence[int]) -> FloatPrim:
        """The minimum over several axes, each kept with size 1; NaN wins, ShapeError of none."""
        return reduce.over(self, tensor, "min_dim", dims)  # type: ignore[no-any-return]

    def float_var(self, tensor: FloatPrim, dims: Sequence[int], correction: float) -> FloatPrim:
        """Σ (x − mean)² / max(n − correction, 0) over axes, each kept with size 1; in f32 for halves."""
        return reduce.var(self, tensor, dims, correction)

    def float_std(self, tensor: FloatPrim, dims: Sequence[int], correction: float) -> FloatPrim:
        """√float_var, rounded once."""
        return reduce.std(self, tensor, dims, correction)

    def float_norm(self, tensor: FloatPrim, dims: Sequence[int], p: float) -> FloatPrim:
        """(Σ |x|^p)^(1/p) over axes, each kept with size 1; for p = 0 how many elements are not 0. p is finite."""
        return reduce.norm(self, tensor, dims, p)

    def float_inner(self, lhs: FloatPrim, rhs: FloatPrim, dims: Sequence[int]) -> FloatPrim:
        """Σ lhs·rhs of equal shapes over axes, each kept with size 1; in f32 for halves."""
        return reduce.inner(self, lhs, rhs, dims)

    def float_cosine(self, lhs: FloatPrim, rhs: FloatPrim, dim: int, eps: float) -> FloatPrim:
        """Σ lhs·rhs / (max(|lhs|, eps) · max(|rhs|, eps)) along dim, kept with size 1; 0 for vectors of length 0.

        Lengths neither overflow nor underflow. Operands broadcast over the other axes; in f32 for halves.
        """
        return reduce.cosine(self, lhs, rhs, dim, eps)

    def float_prod(self, tensor: FloatPrim) -> FloatPrim:
        """[1]: the product of all elements; 1 of none."""
        return reduce.whole(self, tensor, "prod_dim")

    def float_prod_dim(self, tensor: FloatPrim, dim: int) -> FloatPrim:
        """The product along dim; 1 of none."""
        return reduce.prod_dim(self, tensor, dim)

    def float_mean(self, tensor: FloatPrim) -> FloatPrim:
        """[1]: the mean of all elements; NaN of none. Never overflows a half's sum."""
        return reduce.whole(self, tensor, "mean_dim")

    def float_mean_dim(self, tensor: FloatPrim, dim: int) -> FloatPrim:
        """The mean along dim; NaN of none. Never overflows a half's sum."""
        return reduce.float_mean_dim(self, tensor, dim)

    @required
    def float_cumsum(self, tensor: FloatPrim, dim: int) -> FloatPrim:
        """Running sums along dim; same shape."""

    @required
    def float_cumprod(self, tensor: FloatPrim, dim: int) -> FloatPrim:
        """Running products along dim; same shape."""

    @required
    def float_cummin(self, tensor: FloatPrim, dim: int) -> FloatPrim:
        """Running minima along dim; from the first NaN on, NaN."""

    @required
    def float_cummax(self, tensor: FloatPrim, dim: int) -> FloatPrim:
        """Running maxima along dim; from the first NaN on, NaN."""

    @required
    def float_argmax(self, tensor: FloatPrim, dim: int, out_dtype: DType) -> IntPrim:
        """The index of the maximum along dim: the first NaN if there is one, else the lowest on ties.

        Raises ShapeError for an empty axis, even if the result would be empty.
        """

    @required
    def float_argmin(self, tensor: FloatPrim, dim: int, out_dtype: DType) -> IntPrim:
        """The index of the minimum along dim, with the rules of float_argmax."""

    def float_argtopk(self, tensor: FloatPrim, dim: int, k: int, out_dtype: DType) -> IntPrim:
        """The indices of the k largest along dim, largest first, ties by lowest index, NaN above all."""
        return order.first(self, self.float_argsort(tensor, dim, True, out_dtype), dim, k)

    def float_topk(self, tensor: FloatPrim, dim: int, k: int) -> FloatPrim:
        """The k largest along dim, largest first; NaN above all."""
        return order.first(self, self.float_sort(tensor, dim, True), dim, k)

    def float_topk_with_indices(
        self, tensor: FloatPrim, dim: int, k: int, out_dtype: DType
    ) -> tuple[FloatPrim, IntPrim]:
        """(float_topk, float_argtopk)."""
        values, indices = self.float_sort_with_indices(tensor, dim, True, out_dtype)
        return order.first(self, values, dim, k), order.first(self, indices, dim, k)

    def float_max(self, tensor: FloatPrim) -> FloatPrim:
        """[1]: the maximum, NaN if there is one; ShapeError of none."""
        return reduce.whole(self, tensor, "max_dim")

    def float_max_dim(self, tensor: FloatPrim, dim: int) -> FloatPrim:
        """The maximum along dim, NaN if there is one; ShapeError for an empty axis."""
        return reduce.extremum(self, tensor, dim, "max", I32)[0]

    def float_max_dim_with_indices(self, tensor: FloatPrim, dim: int, out_dtype: DType) -> tuple[FloatPrim, IntPrim]:
        """(float_max_dim, float_argmax)."""
        return reduce.extremum(self, tensor, dim, "max", out_dtype)

    def float_min(self, tensor: FloatPrim) -> FloatPrim:
        """[1]: the minimum, NaN if there is one; ShapeError of none."""
        return reduce.whole(self, tensor, "min_dim")

    def float_min_dim(self, tensor: FloatPrim, dim: int) -> FloatPrim:
        """The minimum along dim, NaN if there is one; ShapeError for an empty axis."""
        return reduce.extremum(self, tensor, dim, "min", I32)[0]

    def float_min_dim_with_indices(self, tensor: FloatPrim, dim: int, out_dtype: DType) -> tuple[FloatPrim, IntPrim]:
        """(float_min_dim, float_argmin)."""
        return reduce.extremum(self, tensor, dim, "min", out_dtype)

    def float_max_abs(self, tensor: FloatPrim) -> FloatPrim:
        """[1]: the largest |x|, NaN if there is one; ShapeError of none."""
        return reduce.whole(self, tensor, "max_abs_dim")

    def float_max_abs_dim(self, tensor: FloatPrim, dim: int) -> FloatPrim:
        """The largest |x| along dim."""
        return self.float_max_dim(self.float_abs(tensor), dim)

    def float_any(self, tensor: FloatPrim, out_dtype: DType) -> BoolPrim:
        """[1]: whether an element is not 0 (NaN counts); false of none."""
        return self.bool_any(self.float_not_equal_elem(tensor, 0.0, out_dtype))

    def float_any_dim(self, tensor: FloatPrim, dim: int, out_dtype: DType) -> BoolPrim:
        """Whether an element along dim is not 0."""
        return self.bool_any_dim(self.float_not_equal_elem(tensor, 0.0, out_dtype), dim)

    def float_all(self, tensor: FloatPrim, out_dtype: DType) -> BoolPrim:
        """[1]: whether no element is 0; true of none."""
        return self.bool_all(self.float_not_equal_elem(tensor, 0.0, out_dtype))

    def float_all_dim(self, tensor: FloatPrim, dim: int, out_dtype: DType) -> BoolPrim:
        """Whether no element along dim is 0."""
        return self.bool_all_dim(self.float_not_equal_elem(tensor, 0.0, out_dtype), dim)

    def float_sort(self, tensor: FloatPrim, dim: int, descending: bool) -> FloatPrim:
        """Sorted along dim, stable; NaN is the largest. The default waits for the device."""
        return order.sort_with_indices(self, tensor, dim, descending, I32)[0]

    def float_sort_with_indices(
        self, tensor: FloatPrim, dim: int, descending: bool, out_dtype: DType
    ) -> tuple[FloatPrim, IntPrim]:
        """(float_sort, float_argsort)."""
        return order.sort_with_indices(self, tensor, dim, descending, out_dtype)

    def float_argsort(self, tensor: FloatPrim, dim: int, descending: bool, out_dtype: DType) -> IntPrim:
        """The permutation along dim that sorts: equal elements keep their order, −0 equals +0, NaN is the largest."""
        return order.argsort(self, tensor, dim, descending, out_dtype)

    def float_grid_sample_2d(self, tensor: FloatPrim, grid: FloatPrim, options: GridSampleOptions) -> FloatPrim:
        """tensor [N, C, H, W] read at grid [N, Ho, Wo, 2] (x, y in [−1, 1]) → [N, C, Ho, Wo]."""
        return grid_sample.grid_sample_2d(self, tensor, grid, options)
