"""How tensors print: Burn's block, reading only the elements that are shown."""
# A mixin of Tensor names its self: mypy wants a supertype there.
# mypy: disable-error-code="misc"

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from burn_wgpu.std.data import TensorData
from burn_wgpu.std.dtype import BF16, FLEX32, DType, bf16_to_float32, float32_to_bf16
from burn_wgpu.std.slice import Slice

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


def element(value: Any, dtype: DType, precision: int | None = None) -> str:
    """One value: the shortest decimal that reads back as the same number of the dtype, or fixed decimals."""
    if dtype.is_bool:
        return "true" if value else "false"
    if dtype.is_int:
        return str(int(value))
    number = float(value)
    if number != number:
        return "NaN"
    if number in (float("inf"), float("-inf")):
        return "inf" if number > 0 else "-inf"
    if precision is not None:
        return f"{number:.{precision}f}"
    return _shortest(number, value, dtype)


def _shortest(number: float, value: Any, dtype: DType) -> str:
    if dtype is BF16:
        # NumPy's shortest decimals are for float32; bf16 needs at most four digits.
        digits = next(d for d in range(1, 10) if _as_bf16(float(f"{number:.{d}g}")) == number)
        scalar: Any = float(f"{number:.{digits}g}")
    else:
        scalar = np.float32(number) if dtype is FLEX32 else value
    if number == 0 or 1e-5 <= abs(number) < 1e16:
        return np.format_float_positional(scalar, unique=True, trim="0")
    return np.format_float_scientific(scalar, unique=True, trim="-", exp_digits=1)


def _as_bf16(number: float) -> float:
    with np.errstate(over="ignore"):
        return float(bf16_to_float32(float32_to_bf16(np.asarray(number, np.float32))))


def show_data(data: TensorData) -> str:
    """Host data as a flat list of its values."""
    return "[" + ", ".join(element(v, data.dtype) for v in data.numpy().reshape(-1)) + "]"
