"""TransactionOps: many reads in one wait."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from burn_wgpu.contract.types import BoolPrim, FloatPrim, Group, IntPrim, TensorPrim
from burn_wgpu.std.data import TensorData


@dataclass(slots=True)
class TransactionPrimitiveData:
    """What a transaction read, by kind, each in the order of registration."""

    read_floats: list[TensorData] = field(default_factory=list)
    read_qfloats: list[TensorData] = field(default_factory=list)
    read_ints: list[TensorData] = field(default_factory=list)
    read_bools: list[TensorData] = field(default_factory=list)


@dataclass(slots=True)
class TransactionPrimitive:
    """Tensors to be read together."""

    read_floats: list[FloatPrim] = field(default_factory=list)
    read_qfloats: list[TensorPrim] = field(default_factory=list)
    read_ints: list[IntPrim] = field(default_factory=list)
    read_bools: list[BoolPrim] = field(default_factory=list)
    _order: list[tuple[str, int]] = field(default_factory=list)

    def register_float(self, tensor: TensorPrim) -> None:
        """A float or quantized tensor."""
        self._add("read_qfloats" if tensor.dtype.kind == "qfloat" else "read_floats", tensor)

    def register_int(self, tensor: IntPrim) -> None:
        self._add("read_ints", tensor)

    def register_bool(self, tensor: BoolPrim) -> None:
        self._add("read_bools", tensor)

    def execute(self, b: Any) -> list[TensorData]:
        """Everything read through the backend, in the order of registration. Waits for the device once."""
        data = b.tr_execute(self)
        return [getattr(data, kind)[index] for kind, index in self._order]

    def _add(self, kind: str, tensor: TensorPrim) -> None:
        tensors = getattr(self, kind)
        self._order.append((kind, len(tensors)))
        tensors.append(tensor)


class TransactionOps(Group):
    """1 function."""

    def tr_execute(self, transaction: TransactionPrimitive) -> TransactionPrimitiveData:
        """Reads floats, quantized floats, ints and bools. Waits for the device; a backend may wait once for all."""
        return TransactionPrimitiveData(
            [self.float_into_data(t) for t in transaction.read_floats],
            [self.q_into_data(t) for t in transaction.read_qfloats],
            [self.int_into_data(t) for t in transaction.read_ints],
            [self.bool_into_data(t) for t in transaction.read_bools],
        )
