"""Many reads in one wait."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from burn_wgpu.contract.transaction_ops import TransactionPrimitive
from burn_wgpu.std.data import TensorData

if TYPE_CHECKING:
    from burn_wgpu.tensor.api import Tensor


class Transaction:
    """`Transaction().register(a).register(b).execute()` gives the host data of all, in the order of registration.

    Tensors of one device are read with one wait.
    """

    def __init__(self) -> None:
        self._tensors: list[Tensor] = []

    def register(self, tensor: Tensor) -> Transaction:
        """Adds a tensor; gives the transaction itself."""
        self._tensors.append(tensor)
        return self

    def execute(self) -> list[TensorData]:
        """Reads everything. The transaction is empty afterwards. What fails raises, so `try_execute` is the same."""
        tensors, self._tensors = self._tensors, []
        results: list[TensorData | None] = [None] * len(tensors)
        by_device: dict[int, list[int]] = {}
        for i, tensor in enumerate(tensors):
            by_device.setdefault(id(tensor.device), []).append(i)
        for places in by_device.values():
            request = TransactionPrimitive()
            for i in places:
                getattr(request, f"register_{tensors[i].kind}")(tensors[i].primitive)
            read = request.execute(tensors[places[0]].device.backend)
            for i, data in zip(places, read, strict=True):
                results[i] = data
        return [data for data in results if data is not None]

    try_execute = execute

    async def execute_async(self) -> list[TensorData]:
        """`execute`, with the wait in a thread."""
        return await asyncio.to_thread(self.execute)
