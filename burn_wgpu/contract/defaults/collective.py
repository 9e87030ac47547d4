"""Collectives emulated by moving tensors between the members' devices.

One call sees all members: entry i of the list is member i's tensor, on its own device, all of one shape and dtype.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from burn_wgpu.contract.options import ReduceOperation
from burn_wgpu.contract.types import TensorPrim
from burn_wgpu.std.errors import ShapeError
from burn_wgpu.std.slice import Slice


@dataclass(frozen=True, slots=True)
class DimSplit:
    """An axis of `length` elements split over `members`: the first length mod members chunks hold one more."""

    dim: int
    length: int
    members: int

    @classmethod
    def of(cls, operation: str, shape: Sequence[int], dim: int, members: int) -> DimSplit:
        """Raises ShapeError when there are fewer elements than members."""
        if shape[dim] < members:
            raise ShapeError(
                f"{operation}: axis {dim} of shape {list(shape)} has {shape[dim]} elements for {members} members; "
                f"each member needs at least one"
            )
        return cls(dim, shape[dim], members)

    def chunk(self, member: int) -> tuple[int, int]:
        """The half-open range of one member."""
        base, more = divmod(self.length, self.members)
        start = member * base + min(member, more)
        return start, start + base + (member < more)


@dataclass(frozen=True, slots=True)
class Emulated:
    """The collectives of one kind of tensor: `kind` is "float", "int" or "bool"."""

    b: Any
    kind: str

    def _call(self, name: str, *args: Any) -> Any:
        return getattr(self.b, f"{self.kind}_{name}")(*args)

    def _moved(self, tensor: TensorPrim, device: Any) -> TensorPrim:
        return tensor if tensor.device == device else self._call("to_device", tensor, device)

    def _sliced(self, tensor: TensorPrim, split: DimSplit, member: int) -> TensorPrim:
        start, end = split.chunk(member)
        return self._call("slice", tensor, [Slice.full()] * split.dim + [Slice(start, end)])  # type: ignore[no-any-return]

    def _reduced(self, parts: Sequence[TensorPrim], device: Any, members: int, op: ReduceOperation) -> TensorPrim:
        """Float means divide every part first, which cannot overflow; int means divide the sum, truncated once."""
        mean = op is ReduceOperation.MEAN
        total: Any = None
        for part in parts:
            part = self._moved(part, device)
            if mean and self.kind == "float":
                part = self._call("div_scalar", part, members)
            total = part if total is None else self._call("add", total, part)
        return self._call("div_scalar", total, members) if mean and self.kind == "int" else total  # type: ignore[no-any-return]

    def all_reduce(self, tensors: Sequence[TensorPrim], op: ReduceOperation) -> list[TensorPrim]:
        total = self._reduced(tensors, tensors[0].device, len(tensors), op)
        return [self._moved(total, t.device) for t in tensors]

    def all_gather(self, tensors: Sequence[TensorPrim], dim: int) -> list[TensorPrim]:
        return [self._call("cat", [self._moved(part, t.device) for part in tensors], dim) for t in tensors]

    def reduce_scatter(self, tensors: Sequence[TensorPrim], dim: int, op: ReduceOperation) -> list[TensorPrim]:
        split = DimSplit.of(f"{self.kind}_reduce_scatter", tensors[0].shape, dim, len(tensors))
        return [
            self._reduced([self._sliced(part, split, i) for part in tensors], t.device, len(tensors), op)
            for i, t in enumerate(tensors)
        ]

    def all_to_all(self, tensors: Sequence[TensorPrim], split_dim: int, concat_dim: int) -> list[TensorPrim]:
        split = DimSplit.of(f"{self.kind}_all_to_all", tensors[0].shape, split_dim, len(tensors))
        return [
            self._call("cat", [self._moved(self._sliced(part, split, i), t.device) for part in tensors], concat_dim)
            for i, t in enumerate(tensors)
        ]

    def broadcast(self, tensor: TensorPrim, devices: Sequence[Any]) -> list[TensorPrim]:
        return [self._moved(tensor, device) for device in devices]
