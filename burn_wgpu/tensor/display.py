"""How tensors print: Burn's block, reading only the elements that are shown."""
# A mixin of Tensor names its self: mypy wants a supertype there.
# mypy: disable-error-code="misc"

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from burn_wgpu.std.dtype import DType
from burn_wgpu.std.errors import ShapeError
from burn_wgpu.std.slice import Slice
from burn_wgpu.std.text import element as element

if TYPE_CHECKING:
    from burn_wgpu.tensor.api import Tensor


@dataclass(frozen=True, slots=True)
class PrintOptions:
    """threshold: more elements are summarised; edge_items: shown at each end of an axis then; precision: decimals."""

    threshold: int = 1000
    edge_items: int = 3
    precision: int | None = None


_options = PrintOptions()


def set_print_options(options: PrintOptions | None = None, **changes: Any) -> None:
    """Sets the global print options: a record, or some of its fields (`precision=3`); nothing restores the defaults."""
    global _options
    base = options or (_options if changes else PrintOptions())
    _options = replace(base, **changes)


def get_print_options() -> PrintOptions:
    """The global print options."""
    return _options


class Display:
    """repr, str and format of tensors."""

    __slots__ = ()

    def __repr__(self: Tensor) -> str:
        return show(self, _options)

    def __format__(self: Tensor, spec: str) -> str:
        """`f"{t}"`, or with decimals `f"{t:.3}"`; a tensor of one element takes any number's format too."""
        if not spec:
            return repr(self)
        digits = spec.removeprefix(".")
        if spec.startswith(".") and digits.isdigit():
            return show(self, replace(_options, precision=int(digits)))
        if self.size != 1:
            raise ShapeError(
                f"format: the tensor has shape {list(self.shape)} and the format is {spec!r}; only one "
                f"element takes a number's format. Write '.2' for two decimals everywhere"
            )
        return format(self.item(), spec)


def show(tensor: Tensor, options: PrintOptions) -> str:
    """The block `Tensor { data: …, shape: …, device: …, kind: …, dtype: … }`."""
    lines = ["Tensor {", "  data:"]
    quantized = tensor.dtype.kind == "qfloat"
    lines.append("<quantized values>," if quantized else _values(tensor, options) + ",")
    lines += [
        f"  shape:  {list(tensor.shape)},",
        f"  device:  {tensor.device},",
        f'  kind:  "{tensor.kind.capitalize()}",',
        f'  dtype:  "{tensor.dtype}",',
    ]
    if quantized:
        lines.append(f"  scheme:  {getattr(tensor.dtype, 'scheme', tensor.dtype)},")
    return "\n".join([*lines, "}"])


def _values(tensor: Tensor, options: PrintOptions) -> str:
    shape = tensor.shape
    edge = options.edge_items
    summary = prod(shape) > options.threshold
    # Only what is printed is read: of long axes the edges, put together on the device.
    cut = [summary and n > 2 * edge for n in shape]
    shown = tensor
    for axis, short in enumerate(cut):
        if short:
            n = shape[axis]
            ends = [shown.slice_dim(axis, Slice(0, edge)), shown.slice_dim(axis, Slice(n - edge, n))]
            shown = type(tensor).cat(ends if edge else ends[:1], axis)
    data = shown.to_data()
    return _nested(data.numpy(), data.dtype, cut, edge, options.precision, 0)


def _nested(values: np.ndarray, dtype: DType, cut: list[bool], edge: int, precision: int | None, depth: int) -> str:
    if values.ndim == 0:
        return element(values[()], dtype, precision)
    parts = [_nested(row, dtype, cut[1:], edge, precision, depth + 1) for row in values]
    if values.ndim == 1:
        if cut[0]:
            parts.insert(edge, "...")
        return "[" + ", ".join(parts) + "]"
    if cut[0]:
        parts.insert(edge, "...")
    indent = ",\n" + " " * (depth + 1)
    return "[" + indent.join(parts) + "]"
