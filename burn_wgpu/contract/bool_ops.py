"""BoolOps: 41 functions on bool tensors. Results keep the storage dtype (bool, bool(u8), bool(u32)); always 0 or 1."""
# mypy: disable-error-code="empty-body"

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from burn_wgpu.contract.declare import elementwise, required
from burn_wgpu.contract.defaults import index, reduce
from burn_wgpu.contract.defaults import shape as shapes
from burn_wgpu.contract.options import IndexingUpdateOp
from burn_wgpu.contract.types import BoolPrim, DeviceHandle, FloatPrim, Group, IntPrim
from burn_wgpu.std.data import TensorData
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.scalar import Scalar
from burn_wgpu.std.slice import Slice


class BoolOps(Group):
    """Everything on bool tensors."""

    # ------------------------------------------------------------------------ creation, transfer, conversion

    def bool_empty(self, shape: Sequence[int], device: DeviceHandle, dtype: DType) -> BoolPrim:
        """Any content; the default's is false."""
        return self.bool_zeros(shape, device, dtype)

    def bool_zeros(self, shape: Sequence[int], device: DeviceHandle, dtype: DType) -> BoolPrim:
        """All false."""
        return self.bool_from_data(shapes.full_data(shape, False, dtype), device)

    def bool_ones(self, shape: Sequence[int], device: DeviceHandle, dtype: DType) -> BoolPrim:
        """All true."""
        return self.bool_from_data(shapes.full_data(shape, True, dtype), device)

    @required
    def bool_into_data(self, tensor: BoolPrim) -> TensorData:
        """The elements in row-major order of the logical view, in the tensor's storage. Waits for the device."""

    @required
    def bool_from_data(self, data: TensorData, device: DeviceHandle) -> BoolPrim:
        """The host data as a tensor; data's dtype is a bool storage and is kept; any value but 0 is true."""

    @required
    def bool_into_int(self, tensor: BoolPrim, out_dtype: DType) -> IntPrim:
        """0 or 1."""

    @required
    def bool_into_float(self, tensor: BoolPrim, out_dtype: DType) -> FloatPrim:
        """0.0 or 1.0."""

    @required
    def bool_to_device(self, tensor: BoolPrim, device: DeviceHandle) -> BoolPrim:
        """The tensor on another device of this backend; itself when it is there."""

    # ------------------------------------------------------------------------------------------------ logic

    @elementwise(lambda x, y: x == y, tensors=2)
    def bool_equal(self, lhs: BoolPrim, rhs: BoolPrim) -> BoolPrim:
        """lhs == rhs."""

    @elementwise(lambda x, y: x != y, tensors=2)
    def bool_not_equal(self, lhs: BoolPrim, rhs: BoolPrim) -> BoolPrim:
        """lhs != rhs."""

    @elementwise(lambda x, s: x == s, scalars=1, wgsl="bool_equal")
    def bool_equal_elem(self, lhs: BoolPrim, rhs: Scalar) -> BoolPrim:
        """lhs == rhs."""

    @elementwise(lambda x, s: x != s, scalars=1, wgsl="bool_not_equal")
    def bool_not_equal_elem(self, lhs: BoolPrim, rhs: Scalar) -> BoolPrim:
        """lhs != rhs."""

    @elementwise(np.logical_not)
    def bool_not(self, tensor: BoolPrim) -> BoolPrim:
        """Whether x is false."""

    @elementwise(np.logical_and, tensors=2)
    def bool_and(self, lhs: BoolPrim, rhs: BoolPrim) -> BoolPrim:
        """Whether both are true."""

    @elementwise(np.logical_or, tensors=2)
    def bool_or(self, lhs: BoolPrim, rhs: BoolPrim) -> BoolPrim:
        """Whether one is true."""

    @elementwise(np.logical_xor, tensors=2, wgsl="bool_not_equal")
    def bool_xor(self, lhs: BoolPrim, rhs: BoolPrim) -> BoolPrim:
        """Whether exactly one is true."""

    @elementwise(lambda t, m, v: np.where(m, v, t), tensors=3, mask=1)
    def bool_mask_where(self, tensor: BoolPrim, mask: BoolPrim, value: BoolPrim) -> BoolPrim:
        """value where the mask is true, else tensor; all three broadcast together."""

    @elementwise(lambda t, m, s: np.where(m, s, t), tensors=2, scalars=1, mask=1, wgsl="bool_mask_where")
    def bool_mask_fill(self, tensor: BoolPrim, mask: BoolPrim, value: Scalar) -> BoolPrim:
        """value where the mask is true, else tensor; they broadcast together."""

    def bool_mask_select(self, tensor: BoolPrim, mask: BoolPrim) -> BoolPrim:
        """[count]: the elements where the mask (of the same shape) is true, row-major. Waits for the device."""
        return index.mask_select(self, tensor, mask)

    # ------------------------------------------------------------------------------------ shape and movement

    @required
    def bool_reshape(self, tensor: BoolPrim, shape: Sequence[int]) -> BoolPrim:
        """The same elements in row-major order under another shape of the same size."""

    def bool_swap_dims(self, tensor: BoolPrim, dim1: int, dim2: int) -> BoolPrim:
        """Two axes exchanged."""
        return shapes.swap_dims(self, tensor, dim1, dim2)

    def bool_transpose(self, tensor: BoolPrim) -> BoolPrim:
        """The last two axes exchanged."""
        return shapes.transpose(self, tensor)

    @required
    def bool_permute(self, tensor: BoolPrim, axes: Sequence[int]) -> BoolPrim:
        """Axis i of the result is axis axes[i] of the tensor."""

    def bool_flip(self, tensor: BoolPrim, axes: Sequence[int]) -> BoolPrim:
        """The listed axes backwards."""
        return shapes.flip(self, tensor, axes)

    @required
    def bool_expand(self, tensor: BoolPrim, shape: Sequence[int]) -> BoolPrim:
        """Axes of size 1 grow to the sizes in shape; new leading axes are allowed."""

    def bool_repeat_dim(self, tensor: BoolPrim, dim: int, times: int) -> BoolPrim:
        """Tiled along dim (a b a b …): size d becomes d · times; times = 0 gives an empty axis."""
        return shapes.repeat_dim(self, tensor, dim, times)

    def bool_cat(self, tensors: Sequence[BoolPrim], dim: int) -> BoolPrim:
        """The tensors one after another along dim; other axes are equal, there is at least one tensor."""
        return shapes.cat(self, tensors, dim)

    @required
    def bool_slice(self, tensor: BoolPrim, slices: Sequence[Slice]) -> BoolPrim:
        """Burn's slices of the leading axes, each walked with its step; negative steps walk backwards."""

    @required
    def bool_slice_assign(self, tensor: BoolPrim, slices: Sequence[Slice], value: BoolPrim) -> BoolPrim:
        """tensor with the region replaced by value, whose shape is the region's; out of place."""

    def bool_gather(self, dim: int, tensor: BoolPrim, indices: IntPrim) -> BoolPrim:
        """See float_gather."""
        return index.bool_by_int(self, "int_gather", dim, tensor, indices)

    def bool_scatter(
        self, dim: int, tensor: BoolPrim, indices: IntPrim, values: BoolPrim, update: IndexingUpdateOp
    ) -> BoolPrim:
        """See float_scatter; Add and Max are or, Mul and Min are and."""
        return index.bool_by_int(self, "int_scatter", dim, tensor, indices, values, update)

    def bool_gather_nd(self, data: BoolPrim, indices: IntPrim) -> BoolPrim:
        """See float_gather_nd."""
        return index.gather_nd(self, data, indices)

    def bool_scatter_nd(self, data: BoolPrim, indices: IntPrim, values: BoolPrim, update: IndexingUpdateOp) -> BoolPrim:
        """See float_scatter_nd; updates as bool_scatter."""
        return index.scatter_nd(self, data, indices, values, update)

    def bool_select(self, tensor: BoolPrim, dim: int, indices: IntPrim) -> BoolPrim:
        """See float_select."""
        return index.select(self, tensor, dim, indices)

    def bool_select_assign(
        self, tensor: BoolPrim, dim: int, indices: IntPrim, values: BoolPrim, update: IndexingUpdateOp
    ) -> BoolPrim:
        """See float_select_assign; updates as bool_scatter."""
        return index.select_assign(self, tensor, dim, indices, values, update)

    @required
    def bool_unfold(self, tensor: BoolPrim, dim: int, size: int, step: int) -> BoolPrim:
        """Windows of `size` elements every `step`; see float_unfold."""

    # ------------------------------------------------------------------------------------------- reductions

    def bool_any(self, tensor: BoolPrim) -> BoolPrim:
        """[1]: whether an element is true; false of none."""
        return reduce.whole(self, tensor, "any_dim")

    def bool_any_dim(self, tensor: BoolPrim, dim: int) -> BoolPrim:
        """Whether an element along dim is true; false of none."""
        return reduce.bool_any_dim(self, tensor, dim)

    def bool_all(self, tensor: BoolPrim) -> BoolPrim:
        """[1]: whether every element is true; true of none."""
        return reduce.whole(self, tensor, "all_dim")

    def bool_all_dim(self, tensor: BoolPrim, dim: int) -> BoolPrim:
        """Whether every element along dim is true; true of none."""
        return reduce.bool_all_dim(self, tensor, dim)

    def bool_argwhere(self, tensor: BoolPrim, out_dtype: DType) -> IntPrim:
        """[count, rank]: the coordinates of the true elements in row-major order. Waits for the device."""
        return index.argwhere(self, tensor, out_dtype)
