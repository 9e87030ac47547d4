"""Methods of bool tensors."""
# A mixin of Tensor names its self: mypy wants a supertype there.
# mypy: disable-error-code="misc"

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from burn_wgpu.tensor import check
from burn_wgpu.tensor.core import Operand, method, wrap
from burn_wgpu.tensor.int import logic

if TYPE_CHECKING:
    from burn_wgpu.tensor.api import Tensor


class Bool:
    """Logic. A float or int tensor raises DTypeError: convert it with .bool()."""

    __slots__ = ()

    def bool_not(self: Tensor) -> Tensor:
        """Whether x is false."""
        check.kind("bool_not", self, "the tensor", "bool")
        return wrap(self._ops.backend.bool_not(self.primitive), self._ops)

    def bool_and(self: Tensor, other: Operand) -> Tensor:
        """Whether both are true."""
        check.kind("bool_and", self, "lhs", "bool")
        return method(logic(self, other, "and"), "bool_and", other)

    def bool_or(self: Tensor, other: Operand) -> Tensor:
        """Whether one is true."""
        check.kind("bool_or", self, "lhs", "bool")
        return method(logic(self, other, "or"), "bool_or", other)

    def bool_xor(self: Tensor, other: Operand) -> Tensor:
        """Whether exactly one is true."""
        check.kind("bool_xor", self, "lhs", "bool")
        return method(logic(self, other, "xor"), "bool_xor", other)

    def argwhere(self: Tensor) -> Tensor:
        """[count, rank] ints: the coordinates of the elements that are not 0, row-major. Waits for the device."""
        mask = self.cast("bool")
        return wrap(mask._ops.argwhere(mask.primitive, self.device.settings.int_dtype), self._ops.of("int"))

    def nonzero(self: Tensor) -> list[Tensor]:
        """One int tensor [count] per axis: the coordinates of the elements that are not 0; [] when there is none.

        Waits for the device.
        """
        found = self.argwhere()
        if not found.shape[0]:
            return []
        return [column.squeeze_dim(1) for column in found.iter_dim(1)]

    async def argwhere_async(self: Tensor) -> Tensor:
        """`argwhere`, with the wait in a thread."""
        return await asyncio.to_thread(self.argwhere)

    async def nonzero_async(self: Tensor) -> list[Tensor]:
        """`nonzero`, with the wait in a thread."""
        return await asyncio.to_thread(self.nonzero)
