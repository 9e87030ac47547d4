"""Collectives: one call with the tensors of all members of a group of devices.

Entry i is member i's tensor on member i's device; all have one shape, kind and dtype. Results are in member order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from burn_wgpu.contract.options import ReduceOperation
from burn_wgpu.device import Device
from burn_wgpu.std.errors import ArgumentError, DeviceMismatch, DTypeError, ShapeError
from burn_wgpu.tensor import check
from burn_wgpu.tensor.core import wrap

if TYPE_CHECKING:
    from burn_wgpu.tensor.api import Tensor


def all_reduce(tensors: Sequence[Tensor], op: ReduceOperation | str = ReduceOperation.SUM) -> list[Tensor]:
    """Every member gets the sum, or the mean, of all tensors; the mean of ints truncates."""
    _members("all_reduce", tensors, numeric=True)
    return _call("all_reduce", tensors, _operation("all_reduce", op))


def reduce_scatter(
    tensors: Sequence[Tensor], dim: int, op: ReduceOperation | str = ReduceOperation.SUM
) -> list[Tensor]:
    """Member i gets chunk i, along an axis, of the sum or the mean; the axis has at least one element per member."""
    _members("reduce_scatter", tensors, numeric=True)
    return _call("reduce_scatter", tensors, _split("reduce_scatter", tensors, dim), _operation("reduce_scatter", op))


def all_gather(tensors: Sequence[Tensor], dim: int) -> list[Tensor]:
    """Every member gets all tensors joined along an axis in member order."""
    _members("all_gather", tensors)
    return _call("all_gather", tensors, check.dim("all_gather", dim, tensors[0].rank))


def all_to_all(tensors: Sequence[Tensor], split_dim: int, concat_dim: int) -> list[Tensor]:
    """Member i gets chunk i along split_dim of every tensor, joined along concat_dim in member order."""
    _members("all_to_all", tensors)
    split = _split("all_to_all", tensors, split_dim)
    return _call("all_to_all", tensors, split, check.dim("all_to_all", concat_dim, tensors[0].rank))


def broadcast(tensor: Tensor, devices: Sequence[Device]) -> list[Tensor]:
    """One copy for each device, in their order."""
    check.tensor("broadcast", tensor, "the tensor")
    devices = [Device(d) for d in devices]
    if not devices:
        raise ArgumentError("broadcast: the list of devices is empty; it needs at least one")
    _one_backend("broadcast", [tensor.device, *devices])
    found = tensor._ops.broadcast(tensor.primitive, [d.handle for d in devices])
    return [wrap(p, d.ops(tensor.kind)) for p, d in zip(found, devices, strict=True)]


def _operation(name: str, op: ReduceOperation | str) -> ReduceOperation:
    try:
        return ReduceOperation(op)
    except ValueError:
        raise ArgumentError(f"{name}: the operation is {op!r}; it must be 'sum' or 'mean'") from None


def _members(name: str, tensors: Sequence[Tensor], numeric: bool = False) -> None:
    if not isinstance(tensors, Sequence):
        raise DTypeError(f"{name}: the tensors are of type {type(tensors).__name__}; they must be a list of tensors")
    check.not_empty(name, tensors)
    for i, other in enumerate(tensors):
        check.tensor(name, other, f"tensor {i}")
    first = tensors[0]
    if numeric:
        check.kind(name, first, "tensor 0", "float", "int")
    if first.dtype.kind == "qfloat":
        raise DTypeError(f"{name}: the tensors are quantized ({first.dtype}); call .dequantize() first")
    for i, other in enumerate(tensors):
        if other.shape != first.shape:
            raise ShapeError(
                f"{name}: tensor 0 has shape {list(first.shape)} and tensor {i} {list(other.shape)}; they must be equal"
            )
    check.same_dtype(name, *tensors)
    _one_backend(name, [t.device for t in tensors])


def _one_backend(name: str, devices: Sequence[Device]) -> None:
    for device in devices[1:]:
        if device.backend is not devices[0].backend:
            raise DeviceMismatch(f"{name}: members are on {devices[0]} and {device}; they must belong to one backend")


def _split(name: str, tensors: Sequence[Tensor], dim: int) -> int:
    shape = tensors[0].shape
    axis = check.dim(name, dim, len(shape))
    if shape[axis] < len(tensors):
        raise ShapeError(
            f"{name}: axis {axis} of shape {list(shape)} has {shape[axis]} elements for {len(tensors)} members; "
            f"each member needs at least one"
        )
    return axis


def _call(name: str, tensors: Sequence[Tensor], *args: Any) -> list[Tensor]:
    found = getattr(tensors[0]._ops, name)([t.primitive for t in tensors], *args)
    return [wrap(p, t._ops) for p, t in zip(found, tensors, strict=True)]
