"""CollectiveOps: 13 functions on the tensors of a group of devices.

One call takes the tensors of all members: entry i is member i's, on its own device, all of one shape and dtype; the
result list is in member order. An axis that is split over the members gives the first `size mod members` of them one
element more, and one shorter than the group is an error. The bodies emulate with to_device, slice, cat and add.
"""

from __future__ import annotations

from collections.abc import Sequence

from burn_wgpu.contract.defaults.collective import Emulated
from burn_wgpu.contract.options import ReduceOperation
from burn_wgpu.contract.types import BoolPrim, DeviceHandle, FloatPrim, Group, IntPrim


class CollectiveOps(Group):
    """13 functions."""

    def float_all_reduce(self, tensors: Sequence[FloatPrim], op: ReduceOperation) -> list[FloatPrim]:
        """Every member gets the sum or the mean of all tensors. MEAN divides every part first."""
        return Emulated(self, "float").all_reduce(tensors, op)

    def int_all_reduce(self, tensors: Sequence[IntPrim], op: ReduceOperation) -> list[IntPrim]:
        """Every member gets the sum or the mean of all tensors. MEAN divides the sum, truncated once."""
        return Emulated(self, "int").all_reduce(tensors, op)

    def float_all_gather(self, tensors: Sequence[FloatPrim], dim: int) -> list[FloatPrim]:
        """Every member gets all tensors joined along dim in member order."""
        return Emulated(self, "float").all_gather(tensors, dim)

    def int_all_gather(self, tensors: Sequence[IntPrim], dim: int) -> list[IntPrim]:
        """Every member gets all tensors joined along dim in member order."""
        return Emulated(self, "int").all_gather(tensors, dim)

    def bool_all_gather(self, tensors: Sequence[BoolPrim], dim: int) -> list[BoolPrim]:
        """Every member gets all tensors joined along dim in member order."""
        return Emulated(self, "bool").all_gather(tensors, dim)

    def float_reduce_scatter(self, tensors: Sequence[FloatPrim], dim: int, op: ReduceOperation) -> list[FloatPrim]:
        """Member i gets chunk i along dim of the reduction; only chunks move. MEAN divides every part first."""
        return Emulated(self, "float").reduce_scatter(tensors, dim, op)

    def int_reduce_scatter(self, tensors: Sequence[IntPrim], dim: int, op: ReduceOperation) -> list[IntPrim]:
        """Member i gets chunk i along dim of the reduction; only chunks move. MEAN divides the sum, truncated once."""
        return Emulated(self, "int").reduce_scatter(tensors, dim, op)

    def float_all_to_all(self, tensors: Sequence[FloatPrim], split_dim: int, concat_dim: int) -> list[FloatPrim]:
        """Member i gets chunk i along split_dim of every tensor, joined along concat_dim in member order."""
        return Emulated(self, "float").all_to_all(tensors, split_dim, concat_dim)

    def int_all_to_all(self, tensors: Sequence[IntPrim], split_dim: int, concat_dim: int) -> list[IntPrim]:
        """Member i gets chunk i along split_dim of every tensor, joined along concat_dim in member order."""
        return Emulated(self, "int").all_to_all(tensors, split_dim, concat_dim)

    def bool_all_to_all(self, tensors: Sequence[BoolPrim], split_dim: int, concat_dim: int) -> list[BoolPrim]:
        """Member i gets chunk i along split_dim of every tensor, joined along concat_dim in member order."""
        return Emulated(self, "bool").all_to_all(tensors, split_dim, concat_dim)

    def float_broadcast(self, tensor: FloatPrim, devices: Sequence[DeviceHandle]) -> list[FloatPrim]:
        """One copy per device, in their order."""
        return Emulated(self, "float").broadcast(tensor, devices)

    def int_broadcast(self, tensor: IntPrim, devices: Sequence[DeviceHandle]) -> list[IntPrim]:
        """One copy per device, in their order."""
        return Emulated(self, "int").broadcast(tensor, devices)

    def bool_broadcast(self, tensor: BoolPrim, devices: Sequence[DeviceHandle]) -> list[BoolPrim]:
        """One copy per device, in their order."""
        return Emulated(self, "bool").broadcast(tensor, devices)
