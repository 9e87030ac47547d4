"""`.float()`, `.int()`, `.bool()`: in a class of their own, where the names hide no builtin from an annotation."""
# mypy: disable-error-code="misc"

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from burn_wgpu.tensor.api import Tensor


class Kinds:
    """Conversion to the device's default dtype of another kind."""

    __slots__ = ()

    def float(self: Tensor) -> Tensor:
        """As the device's default float dtype."""
        return self.cast("float")

    def int(self: Tensor) -> Tensor:
        """As the device's default int dtype; floats are truncated."""
        return self.cast("int")

    def bool(self: Tensor) -> Tensor:
        """x != 0, as a bool tensor."""
        return self.cast("bool")
