"""Methods of float and int tensors: arithmetic, comparison, reductions, order, and what stands here."""
# A mixin of Tensor names its self: mypy wants a supertype there.
# mypy: disable-error-code="misc"

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from burn_wgpu.contract.options import PadMode
from burn_wgpu.std.errors import ArgumentError, DTypeError, ShapeError
from burn_wgpu.tensor import check
from burn_wgpu.tensor.arithmetic import Arithmetic, _matmul
from burn_wgpu.tensor.comparison import Comparison
from burn_wgpu.tensor.core import (
    constant,
    method,
    unary,
    wrap,
)
from burn_wgpu.tensor.creation import room
from burn_wgpu.tensor.reduction import Reduction
from burn_wgpu.tensor.sorting import Sorting

if TYPE_CHECKING:
    from burn_wgpu.tensor.api import Tensor


class Numeric(Arithmetic, Comparison, Reduction, Sorting):
    """What float and int tensors have in common. A bool tensor raises DTypeError: convert it first."""

    __slots__ = ()

    def one_hot(self: Tensor, num_classes: int) -> Tensor:
        """[*shape, num_classes]: 1 at the class that the element names, else 0; self's dtype.

        Classes from −num_classes to num_classes − 1, negatives count from the end; others raise IndexOutOfRange.
        Waits for the device.
        """
        _no_quantized("one_hot", self)
        num_classes = check.positive("one_hot", num_classes, "num_classes")
        if num_classes < 2:
            raise ArgumentError(f"one_hot: num_classes is {num_classes}; it must be at least 2")
        classes = self.to_data().numpy().astype(np.float64)
        wrong = classes[~((classes >= -num_classes) & (classes < num_classes))]
        if wrong.size:
            from burn_wgpu.std.errors import IndexOutOfRange

            raise IndexOutOfRange(
                f"one_hot: class {wrong.reshape(-1)[0]:g} with num_classes {num_classes}; "
                f"classes run from {-num_classes} to {num_classes - 1}"
            )
        return self.one_hot_fill(num_classes, 1, 0, -1)

    def one_hot_fill(self: Tensor, num_classes: int, on_value: float, off_value: float, axis: int = -1) -> Tensor:
        """A new axis of num_classes at `axis`: on_value at the class that the element names, else off_value.

        Negative classes count from the end, floats are truncated, classes out of range and NaN give off_value only.
        """
        _no_quantized("one_hot_fill", self)
        num_classes = check.integer("one_hot_fill", num_classes, "num_classes")
        if num_classes < 0:
            raise ArgumentError(f"one_hot_fill: num_classes is {num_classes}; it must not be negative")
        at = check.dim("one_hot_fill", axis, self.rank + 1, "axis")
        shape = (*self.shape[:at], num_classes, *self.shape[at:])
        room("one_hot", shape, self.device, self.dtype)
        on, off = (check.fill("one_hot_fill", v, self.dtype) for v in (on_value, off_value))
        column = (1,) * at + (num_classes,) + (1,) * (self.rank - at)
        if self.kind != "bool" and self.dtype.size_bytes >= 4 and num_classes <= 1 << 24:
            labels = type(self).arange(num_classes, device=self.device, dtype=self.dtype).reshape(column)
            function, rows = self._ops.one_hot, self.unsqueeze_dim(at)
            return wrap(function(rows.primitive, labels.primitive, num_classes, on, off), self._ops)
        # Compared as what holds every class: in a narrow dtype some would be equal.
        wanted = unary(self, "trunc") if self.kind == "float" else self
        if self.dtype.size_bytes < 4:
            wanted = wanted.cast("f32" if self.kind == "float" else "i32")
        wanted = wanted.unsqueeze_dim(at)
        classes = type(self).arange(num_classes, device=self.device).cast(wanted.dtype).reshape(column)
        hit = wanted.equal(classes)
        if wanted.dtype.kind != "uint":  # (an unsigned sum could wrap onto a class)
            hit = hit.bool_or(wanted.add(num_classes).equal(classes))
        return constant(self, off, "one_hot_fill").unsqueeze(rank=self.rank + 1).expand(hit.shape).mask_fill(hit, on)

    def matmul(self: Tensor, other: Tensor | np.ndarray) -> Tensor:
        """The matrix product over the last two axes; leading axes broadcast.

        self [.., m, k], other [.., k, n] → [.., m, n]; an operand of rank 1 is a row on the left, a column on the
        right, and its axis goes. Accumulates in float32 whatever the float dtype.
        """
        return method(_matmul(self, other), "matmul", other)

    def dot(self: Tensor, other: Tensor) -> Tensor:
        """Σ self · other of two tensors of rank 1 and equal size → [1]."""
        check.exact_rank("dot", self, 1, "lhs")
        check.operands("dot", self, other)
        check.exact_rank("dot", other, 1, "rhs")
        if self.shape != other.shape:
            raise ShapeError(f"dot: lhs has {self.shape[0]} elements and rhs {other.shape[0]}; the sizes must be equal")
        if self.kind != "float" or self.is_quantized or other.is_quantized:
            return self.mul(other).sum()
        return wrap(self._ops.inner(self.primitive, other.primitive, (0,)), self._ops)

    def triu(self: Tensor, diagonal: int = 0) -> Tensor:
        """The upper triangle of the last two axes from the diagonal on; 0 elsewhere."""
        check.rank("triu", self.shape, 2)
        diagonal = check.integer("triu", diagonal, "diagonal")
        return self.mask_fill(type(self).triu_mask(self.shape[-2:], diagonal, self.device), 0)

    def tril(self: Tensor, diagonal: int = 0) -> Tensor:
        """The lower triangle of the last two axes up to the diagonal; 0 elsewhere."""
        check.rank("tril", self.shape, 2)
        diagonal = check.integer("tril", diagonal, "diagonal")
        return self.mask_fill(type(self).tril_mask(self.shape[-2:], diagonal, self.device), 0)

    def pad(
        self: Tensor, padding: Sequence[tuple[int, int]] | tuple[int, int, int, int], mode: PadMode | float | str = 0.0
    ) -> Tensor:
        """(before, after) for each of the last axes, or (left, right, top, bottom) for the last two.

        mode: a number, `PadMode`, "constant", "reflect" (pads below the axis' size) or "edge" (axis not empty).
        """
        pairs: list[tuple[int, int]]
        values: Any = list(padding) if check.listed(padding) else [padding]
        if len(values) == 4 and all(hasattr(v, "__index__") for v in values):
            left, right, top, bottom = values
            values = [(top, bottom), (left, right)]
        try:
            pairs = [(operator.index(before), operator.index(after)) for before, after in values]
        except (TypeError, ValueError):
            raise DTypeError(
                f"pad: padding {padding!r} is made of something else than ints; it is (before, after) for each axis"
            ) from None
        if len(pairs) > self.rank:
            raise ShapeError(
                f"pad: {len(pairs)} pairs for shape {list(self.shape)}; there must not be more pairs than axes"
            )
        if any(n < 0 for pair in pairs for n in pair):
            raise ArgumentError(f"pad: padding {pairs} has a negative number; narrow the tensor instead")
        full = [(0, 0)] * (self.rank - len(pairs)) + pairs
        made = PadMode.of(mode)
        if made.kind == "constant":
            made = PadMode.constant(check.fill("pad", made.value, self.dtype))
        return wrap(self._ops.pad(self.primitive, full, made), self._ops)


def _no_quantized(name: str, tensor: Tensor) -> None:
    if tensor.dtype.kind == "qfloat":
        raise DTypeError(f"{name}: the tensor is quantized ({tensor.dtype}); call .dequantize() first")
