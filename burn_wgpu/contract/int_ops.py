"""IntOps: 107 functions on signed and unsigned integer tensors.

Arithmetic wraps. Scalars arrive as Python numbers and are converted to the tensor's dtype first (wrapped). Results
keep the dtype; index results too, but widen to i32 where it could not hold every index of the axis.
"""
# mypy: disable-error-code="empty-body"

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from burn_wgpu.contract.declare import elementwise, required
from burn_wgpu.contract.defaults import index, math, order, reduce
from burn_wgpu.contract.defaults import shape as shapes
from burn_wgpu.contract.options import IndexingUpdateOp, PadMode
from burn_wgpu.contract.types import BoolPrim, DeviceHandle, FloatPrim, Group, IntPrim
from burn_wgpu.std.data import TensorData
from burn_wgpu.std.distribution import Distribution
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.scalar import Scalar
from burn_wgpu.std.slice import Slice


class IntOps(Group):
    """Everything on integer tensors."""

    # ------------------------------------------------------------------------ creation, transfer, conversion

    def int_empty(self, shape: Sequence[int], device: DeviceHandle, dtype: DType) -> IntPrim:
        """Any content; the default's is 0."""
        return self.int_zeros(shape, device, dtype)

    @required
    def int_into_data(self, tensor: IntPrim) -> TensorData:
        """The elements in row-major order of the logical view. Waits for the device."""

    @required
    def int_from_data(self, data: TensorData, device: DeviceHandle) -> IntPrim:
        """The host data as a tensor; data's dtype is an int dtype and is kept."""

    @required
    def int_to_device(self, tensor: IntPrim, device: DeviceHandle) -> IntPrim:
        """The tensor on another device of this backend; itself when it is there."""

    def int_zeros(self, shape: Sequence[int], device: DeviceHandle, dtype: DType) -> IntPrim:
        """All 0."""
        return self.int_full(shape, 0, device, dtype)

    def int_ones(self, shape: Sequence[int], device: DeviceHandle, dtype: DType) -> IntPrim:
        """All 1."""
        return self.int_full(shape, 1, device, dtype)

    def int_full(self, shape: Sequence[int], scalar: Scalar, device: DeviceHandle, dtype: DType) -> IntPrim:
        """One number everywhere."""
        return self.int_from_data(shapes.full_data(shape, scalar, dtype), device)

    @required
    def int_random(
        self, shape: Sequence[int], distribution: Distribution, device: DeviceHandle, dtype: DType
    ) -> IntPrim:
        """Numbers from the device's Philox stream. Default is U[0, 255), uniform half-open, normal truncated."""

    def int_arange_step(self, start: int, end: int, step: int, device: DeviceHandle, dtype: DType) -> IntPrim:
        """start, start + step, … before end: [ceil((end − start) / step)], wrapped to dtype. Step 0: ArgumentError."""
        return self.int_from_data(shapes.arange_data(start, end, step, dtype), device)

    def int_arange(self, start: int, end: int, device: DeviceHandle, dtype: DType) -> IntPrim:
        """start … end − 1: [end − start]."""
        return self.int_arange_step(start, end, 1, device, dtype)

    @required
    def int_into_float(self, tensor: IntPrim, out_dtype: DType) -> FloatPrim:
        """The numbers as floats, rounded to nearest even."""

    @required
    def int_cast(self, tensor: IntPrim, dtype: DType) -> IntPrim:
        """As another int dtype: the low bits (two's complement)."""

    # ------------------------------------------------------------------------------------------- arithmetic

    @elementwise(lambda x, y: x + y, tensors=2)
    def int_add(self, lhs: IntPrim, rhs: IntPrim) -> IntPrim:
        """lhs + rhs, wrapping."""

    @elementwise(lambda x, s: x + s, scalars=1, wgsl="int_add")
    def int_add_scalar(self, lhs: IntPrim, rhs: Scalar) -> IntPrim:
        """lhs + rhs, wrapping."""

    @elementwise(lambda x, y: x - y, tensors=2)
    def int_sub(self, lhs: IntPrim, rhs: IntPrim) -> IntPrim:
        """lhs − rhs, wrapping."""

    @elementwise(lambda x, s: x - s, scalars=1, wgsl="int_sub")
    def int_sub_scalar(self, lhs: IntPrim, rhs: Scalar) -> IntPrim:
        """lhs − rhs, wrapping."""

    @elementwise(lambda x, y: x * y, tensors=2)
    def int_mul(self, lhs: IntPrim, rhs: IntPrim) -> IntPrim:
        """lhs · rhs, wrapping."""

    @elementwise(lambda x, s: x * s, scalars=1, wgsl="int_mul")
    def int_mul_scalar(self, lhs: IntPrim, rhs: Scalar) -> IntPrim:
        """lhs · rhs, wrapping."""

    @elementwise(math.int_div, tensors=2)
    def int_div(self, lhs: IntPrim, rhs: IntPrim) -> IntPrim:
        """lhs / rhs truncated toward zero; MIN / −1 is MIN. A zero divisor raises DivisionByZero.

        Where the backend does not know the divisor at once, the element is 0 and the error comes at the next sync.
        """

    @elementwise(math.int_div, scalars=1, wgsl="int_div")
    def int_div_scalar(self, lhs: IntPrim, rhs: Scalar) -> IntPrim:
        """lhs / rhs truncated toward zero; rhs = 0 raises DivisionByZero at once."""

    @elementwise(math.int_remainder, tensors=2)
    def int_remainder(self, lhs: IntPrim, rhs: IntPrim) -> IntPrim:
        """lhs − ⌊lhs / rhs⌋·rhs, with the sign of rhs (−3 mod 2 is 1); MIN mod −1 is 0; zero divisors as int_div."""

    @elementwise(math.int_remainder, scalars=1, wgsl="int_remainder")
    def int_remainder_scalar(self, lhs: IntPrim, rhs: Scalar) -> IntPrim:
        """lhs − ⌊lhs / rhs⌋·rhs; rhs = 0 raises DivisionByZero at once."""

    @elementwise(math.int_floor_divide, tensors=2)
    def int_floor_divide(self, lhs: IntPrim, rhs: IntPrim) -> IntPrim:
        """⌊lhs / rhs⌋; MIN // −1 is MIN; zero divisors as int_div."""

    @elementwise(math.int_floor_divide, scalars=1, wgsl="int_floor_divide")
    def int_floor_divide_scalar(self, lhs: IntPrim, rhs: Scalar) -> IntPrim:
        """⌊lhs / rhs⌋; rhs = 0 raises DivisionByZero at once."""

    @elementwise(lambda x, s: s - x, scalars=1)
    def int_rsub_scalar(self, tensor: IntPrim, lhs: Scalar) -> IntPrim:
        """lhs − tensor, wrapping."""

    @elementwise(np.maximum, tensors=2)
    def int_max_pair(self, lhs: IntPrim, rhs: IntPrim) -> IntPrim:
        """The larger of both."""

    @elementwise(np.minimum, tensors=2)
    def int_min_pair(self, lhs: IntPrim, rhs: IntPrim) -> IntPrim:
        """The smaller of both."""

    @elementwise(math.one_hot, tensors=2, scalars=3)
    def int_one_hot(self, tensor: IntPrim, classes: IntPrim, count: Scalar, on: Scalar, off: Scalar) -> IntPrim:
        """`on` where x is the class, or x + count for x < 0, else `off`."""

    @elementwise(math.wrapped_index, scalars=1)
    def int_wrapped_index(self, tensor: IntPrim, size: Scalar) -> IntPrim:
        """x + size where −size ≤ x < 0, else x: indices that count from the end; size is positive."""

    @required
    def int_matmul(self, lhs: IntPrim, rhs: IntPrim) -> IntPrim:
        """lhs [.., m, k] · rhs [.., k, n] → [.., m, n], wrapping; leading axes broadcast."""

    @elementwise(lambda x: -x)
    def int_neg(self, tensor: IntPrim) -> IntPrim:
        """−x, wrapping (MIN stays MIN; unsigned: 2^w − x)."""

    @elementwise(np.abs)
    def int_abs(self, tensor: IntPrim) -> IntPrim:
        """|x|, wrapping (MIN stays MIN)."""

    @elementwise(math.sign)
    def int_sign(self, tensor: IntPrim) -> IntPrim:
        """−1, 0 or 1."""

    @elementwise(lambda x: x * x)
    def int_square(self, tensor: IntPrim) -> IntPrim:
        """x², wrapping."""

    @elementwise(math.int_powi, tensors=2)
    def int_powi(self, lhs: IntPrim, rhs: IntPrim) -> IntPrim:
        """lhs to the rhs, exact and wrapping. Negative exponents: the real result truncated (0, or ±1 for ±1).

        0 to a negative power raises DivisionByZero as int_div does.
        """

    def int_powi_scalar(self, lhs: IntPrim, rhs: int) -> IntPrim:
        """lhs to the rhs, exact and wrapping; a negative rhs raises ArgumentError."""
        return math.int_powi_scalar(self, lhs, rhs)

    @elementwise(math.int_powi, scalars=1, wgsl="int_powi")
    def int_powi_scalar_impl(self, lhs: IntPrim, rhs: int) -> IntPrim:
        """The powers that int_powi_scalar does not shortcut; the exponent fits the dtype and is not negative."""

    @elementwise(np.maximum, scalars=1)
    def int_clamp_min(self, tensor: IntPrim, min: Scalar) -> IntPrim:
        """max(x, min)."""

    @elementwise(np.minimum, scalars=1)
    def int_clamp_max(self, tensor: IntPrim, max: Scalar) -> IntPrim:
        """min(x, max)."""

    @elementwise(lambda x, low, high: np.maximum(np.minimum(x, high), low), scalars=2)
    def int_clamp(self, tensor: IntPrim, min: Scalar, max: Scalar) -> IntPrim:
        """max(min(x, max), min)."""

    # ------------------------------------------------------------------------------------------------- bits

    @elementwise(lambda x, y: x & y, tensors=2)
    def bitwise_and(self, lhs: IntPrim, rhs: IntPrim) -> IntPrim:
        """Bitwise and."""

    @elementwise(lambda x, s: x & s, scalars=1, wgsl="bitwise_and")
    def bitwise_and_scalar(self, lhs: IntPrim, rhs: Scalar) -> IntPrim:
        """Bitwise and."""

    @elementwise(lambda x, y: x | y, tensors=2)
    def bitwise_or(self, lhs: IntPrim, rhs: IntPrim) -> IntPrim:
        """Bitwise or."""

    @elementwise(lambda x, s: x | s, scalars=1, wgsl="bitwise_or")
    def bitwise_or_scalar(self, lhs: IntPrim, rhs: Scalar) -> IntPrim:
        """Bitwise or."""

    @elementwise(lambda x, y: x ^ y, tensors=2)
    def bitwise_xor(self, lhs: IntPrim, rhs: IntPrim) -> IntPrim:
        """Bitwise exclusive or."""

    @elementwise(lambda x, s: x ^ s, scalars=1, wgsl="bitwise_xor")
    def bitwise_xor_scalar(self, lhs: IntPrim, rhs: Scalar) -> IntPrim:
        """Bitwise exclusive or."""

    @elementwise(lambda x: ~x)
    def bitwise_not(self, tensor: IntPrim) -> IntPrim:
        """Every bit inverted."""

    @elementwise(math.left_shift, tensors=2)
    def bitwise_left_shift(self, lhs: IntPrim, rhs: IntPrim) -> IntPrim:
        """lhs · 2^rhs, wrapping; rhs is taken modulo the width."""

    @elementwise(math.left_shift, scalars=1, wgsl="bitwise_left_shift")
    def bitwise_left_shift_scalar(self, lhs: IntPrim, rhs: Scalar) -> IntPrim:
        """lhs · 2^rhs, wrapping; rhs is taken modulo the width."""

    @elementwise(math.right_shift, tensors=2)
    def bitwise_right_shift(self, lhs: IntPrim, rhs: IntPrim) -> IntPrim:
        """lhs shifted right by rhs modulo the width; the sign fills signed types."""

    @elementwise(math.right_shift, scalars=1, wgsl="bitwise_right_shift")
    def bitwise_right_shift_scalar(self, lhs: IntPrim, rhs: Scalar) -> IntPrim:
        """lhs shifted right by rhs modulo the width; the sign fills signed types."""

    # ---------------------------------------------------------------------------------- comparison and masks

    @elementwise(lambda x, y: x == y, tensors=2, result="bool")
    def int_equal(self, lhs: IntPrim, rhs: IntPrim, out_dtype: DType) -> BoolPrim:
        """lhs == rhs."""

    @elementwise(lambda x, s: x == s, scalars=1, result="bool", wgsl="int_equal")
    def int_equal_elem(self, lhs: IntPrim, rhs: Scalar, out_dtype: DType) -> BoolPrim:
        """lhs == rhs."""

    @elementwise(lambda x, y: x != y, tensors=2, result="bool")
    def int_not_equal(self, lhs: IntPrim, rhs: IntPrim, out_dtype: DType) -> BoolPrim:
        """lhs != rhs."""

    @elementwise(lambda x, s: x != s, scalars=1, result="bool", wgsl="int_not_equal")
    def int_not_equal_elem(self, lhs: IntPrim, rhs: Scalar, out_dtype: DType) -> BoolPrim:
        """lhs != rhs."""

    @elementwise(lambda x, y: x > y, tensors=2, result="bool")
    def int_greater(self, lhs: IntPrim, rhs: IntPrim, out_dtype: DType) -> BoolPrim:
        """lhs > rhs."""

    @elementwise(lambda x, s: x > s, scalars=1, result="bool", wgsl="int_greater")
    def int_greater_elem(self, lhs: IntPrim, rhs: Scalar, out_dtype: DType) -> BoolPrim:
        """lhs > rhs."""

    @elementwise(lambda x, y: x >= y, tensors=2, result="bool")
    def int_greater_equal(self, lhs: IntPrim, rhs: IntPrim, out_dtype: DType) -> BoolPrim:
        """lhs ≥ rhs."""

    @elementwise(lambda x, s: x >= s, scalars=1, result="bool", wgsl="int_greater_equal")
    def int_greater_equal_elem(self, lhs: IntPrim, rhs: Scalar, out_dtype: DType) -> BoolPrim:
        """lhs ≥ rhs."""

    @elementwise(lambda x, y: x < y, tensors=2, result="bool")
    def int_lower(self, lhs: IntPrim, rhs: IntPrim, out_dtype: DType) -> BoolPrim:
        """lhs < rhs."""

    @elementwise(lambda x, s: x < s, scalars=1, result="bool", wgsl="int_lower")
    def int_lower_elem(self, lhs: IntPrim, rhs: Scalar, out_dtype: DType) -> BoolPrim:
        """lhs < rhs."""

    @elementwise(lambda x, y: x <= y, tensors=2, result="bool")
    def int_lower_equal(self, lhs: IntPrim, rhs: IntPrim, out_dtype: DType) -> BoolPrim:
        """lhs ≤ rhs."""

    @elementwise(lambda x, s: x <= s, scalars=1, result="bool", wgsl="int_lower_equal")
    def int_lower_equal_elem(self, lhs: IntPrim, rhs: Scalar, out_dtype: DType) -> BoolPrim:
        """lhs ≤ rhs."""

    @elementwise(lambda t, m, v: np.where(m, v, t), tensors=3, mask=1)
    def int_mask_where(self, tensor: IntPrim, mask: BoolPrim, value: IntPrim) -> IntPrim:
        """value where the mask is true, else tensor; all three broadcast together."""

    @elementwise(lambda t, m, s: np.where(m, s, t), tensors=2, scalars=1, mask=1, wgsl="int_mask_where")
    def int_mask_fill(self, tensor: IntPrim, mask: BoolPrim, value: Scalar) -> IntPrim:
        """value where the mask is true, else tensor; they broadcast together."""

    def int_mask_select(self, tensor: IntPrim, mask: BoolPrim) -> IntPrim:
        """[count]: the elements where the mask (of the same shape) is true, row-major. Waits for the device."""
        return index.mask_select(self, tensor, mask)

    # ------------------------------------------------------------------------------------ shape and movement

    @required
    def int_reshape(self, tensor: IntPrim, shape: Sequence[int]) -> IntPrim:
        """The same elements in row-major order under another shape of the same size."""

    def int_swap_dims(self, tensor: IntPrim, dim1: int, dim2: int) -> IntPrim:
        """Two axes exchanged."""
        return shapes.swap_dims(self, tensor, dim1, dim2)

    def int_transpose(self, tensor: IntPrim) -> IntPrim:
        """The last two axes exchanged."""
        return shapes.transpose(self, tensor)

    @required
    def int_permute(self, tensor: IntPrim, axes: Sequence[int]) -> IntPrim:
        """Axis i of the result is axis axes[i] of the tensor."""

    def int_flip(self, tensor: IntPrim, axes: Sequence[int]) -> IntPrim:
        """The listed axes backwards."""
        return shapes.flip(self, tensor, axes)

    @required
    def int_expand(self, tensor: IntPrim, shape: Sequence[int]) -> IntPrim:
        """Axes of size 1 grow to the sizes in shape; new leading axes are allowed."""

    def int_repeat_dim(self, tensor: IntPrim, dim: int, times: int) -> IntPrim:
        """Tiled along dim (a b a b …): size d becomes d · times; times = 0 gives an empty axis."""
        return shapes.repeat_dim(self, tensor, dim, times)

    def int_cat(self, tensors: Sequence[IntPrim], dim: int) -> IntPrim:
        """The tensors one after another along dim; other axes are equal, there is at least one tensor."""
        return shapes.cat(self, tensors, dim)

    @required
    def int_slice(self, tensor: IntPrim, slices: Sequence[Slice]) -> IntPrim:
        """Burn's slices of the leading axes, each walked with its step; negative steps walk backwards."""

    @required
    def int_slice_assign(self, tensor: IntPrim, slices: Sequence[Slice], value: IntPrim) -> IntPrim:
        """tensor with the region replaced by value, whose shape is the region's; out of place."""

    def int_select(self, tensor: IntPrim, dim: int, indices: IntPrim) -> IntPrim:
        """The rows `indices` [k] along dim, whose size becomes k; see float_select."""
        return index.select(self, tensor, dim, indices)

    def int_select_assign(
        self, tensor: IntPrim, dim: int, indices: IntPrim, values: IntPrim, update: IndexingUpdateOp
    ) -> IntPrim:
        """tensor with the rows `indices` [k] along dim updated by values, whose axis dim has size k."""
        return index.select_assign(self, tensor, dim, indices, values, update)

    @required
    def int_gather(self, dim: int, tensor: IntPrim, indices: IntPrim) -> IntPrim:
        """out[.., i, ..] = tensor[.., indices[.., i, ..], ..] along dim; see float_gather. indices: any int dtype."""

    @required
    def int_scatter(
        self, dim: int, tensor: IntPrim, indices: IntPrim, values: IntPrim, update: IndexingUpdateOp
    ) -> IntPrim:
        """tensor with element indices[.., i, ..] along dim updated by values[.., i, ..]; see float_scatter. Wraps."""

    def int_gather_nd(self, data: IntPrim, indices: IntPrim) -> IntPrim:
        """indices [.., K] hold K leading coordinates of data → [.., *data.shape[K:]]."""
        return index.gather_nd(self, data, indices)

    def int_scatter_nd(self, data: IntPrim, indices: IntPrim, values: IntPrim, update: IndexingUpdateOp) -> IntPrim:
        """data with the slices at indices [.., K] updated by values [.., *data.shape[K:]]."""
        return index.scatter_nd(self, data, indices, values, update)

    @required
    def int_unfold(self, tensor: IntPrim, dim: int, size: int, step: int) -> IntPrim:
        """Windows of `size` elements every `step`; see float_unfold."""

    def int_pad(self, tensor: IntPrim, padding: Sequence[tuple[int, int]], mode: PadMode) -> IntPrim:
        """(before, after) per axis; a constant is converted to the dtype. See float_pad."""
        return shapes.pad(self, tensor, padding, mode)

    # ---------------------------------------------------------------------- reductions, cumulative, order

    def int_sum(self, tensor: IntPrim) -> IntPrim:
        """[1]: the sum of all elements, wrapping; 0 of none."""
        return reduce.whole(self, tensor, "sum_dim")

    @required
    def int_sum_dim(self, tensor: IntPrim, dim: int) -> IntPrim:
        """The sum along dim, whose size becomes 1, wrapping; 0 of none."""

    def int_prod(self, tensor: IntPrim) -> IntPrim:
        """[1]: the product of all elements, wrapping; 1 of none."""
        return reduce.whole(self, tensor, "prod_dim")

    def int_prod_dim(self, tensor: IntPrim, dim: int) -> IntPrim:
        """The product along dim, wrapping; 1 of none."""
        return reduce.prod_dim(self, tensor, dim)

    def int_mean(self, tensor: IntPrim) -> IntPrim:
        """[1]: the mean of all elements truncated toward zero; ShapeError of none."""
        return reduce.whole(self, tensor, "mean_dim")

    def int_mean_dim(self, tensor: IntPrim, dim: int) -> IntPrim:
        """The mean along dim truncated toward zero; ShapeError for an empty axis. 8 and 16 bits sum in 32."""
        return reduce.int_mean_dim(self, tensor, dim)

    @required
    def int_cumsum(self, tensor: IntPrim, dim: int) -> IntPrim:
        """Running sums along dim, wrapping; same shape."""

    @required
    def int_cumprod(self, tensor: IntPrim, dim: int) -> IntPrim:
        """Running products along dim, wrapping; same shape."""

    @required
    def int_cummin(self, tensor: IntPrim, dim: int) -> IntPrim:
        """Running minima along dim; same shape."""

    @required
    def int_cummax(self, tensor: IntPrim, dim: int) -> IntPrim:
        """Running maxima along dim; same shape."""

    @required
    def int_argmax(self, tensor: IntPrim, dim: int) -> IntPrim:
        """The lowest index of the maximum along dim; dtype `order.index_dtype`. ShapeError for an empty axis."""

    @required
    def int_argmin(self, tensor: IntPrim, dim: int) -> IntPrim:
        """The lowest index of the minimum along dim; dtype `order.index_dtype`. ShapeError for an empty axis."""

    def int_argtopk(self, tensor: IntPrim, dim: int, k: int) -> IntPrim:
        """The indices of the k largest along dim, largest first, ties by lowest index."""
        return order.first(self, self.int_argsort(tensor, dim, True), dim, k)

    def int_topk(self, tensor: IntPrim, dim: int, k: int) -> IntPrim:
        """The k largest along dim, largest first."""
        return order.first(self, self.int_sort(tensor, dim, True), dim, k)

    def int_topk_with_indices(self, tensor: IntPrim, dim: int, k: int) -> tuple[IntPrim, IntPrim]:
        """(int_topk, int_argtopk)."""
        values, indices = self.int_sort_with_indices(tensor, dim, True)
        return order.first(self, values, dim, k), order.first(self, indices, dim, k)

    def int_max(self, tensor: IntPrim) -> IntPrim:
        """[1]: the maximum; ShapeError of none."""
        return reduce.whole(self, tensor, "max_dim")

    def int_max_dim(self, tensor: IntPrim, dim: int) -> IntPrim:
        """The maximum along dim; ShapeError for an empty axis."""
        return reduce.extremum(self, tensor, dim, "max", None)[0]

    def int_max_dim_with_indices(self, tensor: IntPrim, dim: int) -> tuple[IntPrim, IntPrim]:
        """(int_max_dim, int_argmax)."""
        return reduce.extremum(self, tensor, dim, "max", None)

    def int_min(self, tensor: IntPrim) -> IntPrim:
        """[1]: the minimum; ShapeError of none."""
        return reduce.whole(self, tensor, "min_dim")

    def int_min_dim(self, tensor: IntPrim, dim: int) -> IntPrim:
        """The minimum along dim; ShapeError for an empty axis."""
        return reduce.extremum(self, tensor, dim, "min", None)[0]

    def int_min_dim_with_indices(self, tensor: IntPrim, dim: int) -> tuple[IntPrim, IntPrim]:
        """(int_min_dim, int_argmin)."""
        return reduce.extremum(self, tensor, dim, "min", None)

    def int_max_abs(self, tensor: IntPrim) -> IntPrim:
        """[1]: the largest |x|; ShapeError of none."""
        return reduce.whole(self, tensor, "max_abs_dim")

    def int_max_abs_dim(self, tensor: IntPrim, dim: int) -> IntPrim:
        """The largest |x| along dim."""
        return self.int_max_dim(self.int_abs(tensor), dim)

    def int_any(self, tensor: IntPrim, out_dtype: DType) -> BoolPrim:
        """[1]: whether an element is not 0; false of none."""
        return self.bool_any(self.int_not_equal_elem(tensor, 0, out_dtype))

    def int_any_dim(self, tensor: IntPrim, dim: int, out_dtype: DType) -> BoolPrim:
        """Whether an element along dim is not 0."""
        return self.bool_any_dim(self.int_not_equal_elem(tensor, 0, out_dtype), dim)

    def int_all(self, tensor: IntPrim, out_dtype: DType) -> BoolPrim:
        """[1]: whether no element is 0; true of none."""
        return self.bool_all(self.int_not_equal_elem(tensor, 0, out_dtype))

    def int_all_dim(self, tensor: IntPrim, dim: int, out_dtype: DType) -> BoolPrim:
        """Whether no element along dim is 0."""
        return self.bool_all_dim(self.int_not_equal_elem(tensor, 0, out_dtype), dim)

    def int_sort(self, tensor: IntPrim, dim: int, descending: bool) -> IntPrim:
        """Sorted along dim, stable. The default waits for the device."""
        return self.int_sort_with_indices(tensor, dim, descending)[0]

    def int_sort_with_indices(self, tensor: IntPrim, dim: int, descending: bool) -> tuple[IntPrim, IntPrim]:
        """(int_sort, int_argsort)."""
        out_dtype = order.index_dtype(tensor.dtype, tensor.shape[dim])
        return order.sort_with_indices(self, tensor, dim, descending, out_dtype)

    def int_argsort(self, tensor: IntPrim, dim: int, descending: bool) -> IntPrim:
        """The permutation along dim that sorts; equal elements keep their order."""
        return order.argsort(self, tensor, dim, descending, order.index_dtype(tensor.dtype, tensor.shape[dim]))
