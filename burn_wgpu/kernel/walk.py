"""Parts that plans of several launches share: numbers, walks over strided axes, operand numbers.

A walk turns a flat number into places of several tensors: the number is split over the axes, and each tensor has a
stride per axis and a place to start from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from burn_wgpu.kernel.map import MAX_PARAM_WORDS, Function, Operand, map_plan
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import Launch, Out, Plan
from burn_wgpu.shader.prelude import Prelude, raw_kind, words
from burn_wgpu.std.dtype import U8, U16, U32, U64, DType
from burn_wgpu.std.layout import Layout, collapse_together

_VECTOR = {1: "u32", 2: "vec2<u32>", 3: "vec3<u32>", 4: "vec4<u32>"}


class Numbers:
    """A kernel's u32 numbers: parameters while the slot has room, constants of the text beyond it."""

    def __init__(self, prelude: Prelude, groups_x: int) -> None:
        self.prelude = prelude
        self.fields: dict[str, str] = {}
        self.values: list[int] = []
        self.add("groups_x", groups_x)

    def add(self, name: str, value: int) -> str:
        """Gives the number a place; returns the WGSL that reads it. Names that a shader file uses come first."""
        if len(self.fields) < MAX_PARAM_WORDS:
            self.fields[name] = "u32"
            self.values.append(value)
            return f"params.{name}"
        self.prelude.const(f"NUMBER_{name}", value & 0xFFFFFFFF)
        return f"NUMBER_{name}"

    def declare(self) -> bytes:
        """Writes the Params struct and gives its bytes."""
        self.prelude.params(**self.fields)
        return words(*self.values)


def walk(numbers: Numbers, name: str, layouts: Sequence[Layout]) -> None:
    """Declares `fn name(i: u32) -> u32 or vecN<u32>`: the place of element i in each of one to four layouts.

    The layouts have one shape; i counts its elements in row-major order.
    """
    shape, strides = collapse_together(layouts)
    walk_axes(numbers, name, shape, strides, [layout.offset for layout in layouts])


def walk_axes(
    numbers: Numbers, name: str, shape: Sequence[int], strides: Sequence[Sequence[int]], starts: Sequence[int]
) -> None:
    """As `walk`, over given axes."""
    letters = "abcd"[: len(strides)]
    lines = [f"    var {v} = {numbers.add(f'{name}_{v}', at)};" for v, at in zip(letters, starts, strict=True)]
    if shape:
        lines.append("    var left = i;")
    for axis in range(len(shape) - 1, -1, -1):
        along = "left"
        if axis:
            size = numbers.add(f"{name}_d{axis}", shape[axis])
            along = f"c{axis}"
            lines.append(f"    let n{axis} = left / {size};")
            lines.append(f"    let c{axis} = left - n{axis} * {size};")
            lines.append(f"    left = n{axis};")
        for v, row in zip(letters, strides, strict=True):
            if row[axis]:
                lines.append(f"    {v} += {along} * {numbers.add(f'{name}_{v}{axis}', row[axis])};")
    kind = _VECTOR[len(strides)]
    lines.append(f"    return {kind}({', '.join(letters)});")
    numbers.prelude.text(f"fn {name}(i: u32) -> {kind} {{\n" + "\n".join(lines) + "\n}")


class Steps:
    """Collects the launches of one plan; operands are inputs, then outputs, then scratch as it is asked for."""

    def __init__(self, inputs: int, outputs: Sequence[Out]) -> None:
        self.inputs = inputs
        self.outputs = tuple(outputs)
        self.sizes: list[int] = []
        self.launches: list[Launch] = []

    def output(self, index: int) -> int:
        """The operand number of an output."""
        return self.inputs + index

    def scratch(self, size_bytes: int) -> int:
        """The operand number of a new buffer that lives for the plan only."""
        self.sizes.append(size_bytes)
        return self.inputs + len(self.outputs) + len(self.sizes) - 1

    def launch(self, launch: Launch) -> None:
        self.launches.append(launch)

    def plan(self, operation: str, flags: bool = False) -> Plan:
        return Plan(operation, self.inputs, self.outputs, tuple(self.launches), tuple(self.sizes), flags)


def narrow_launch(count: int, target: DType, source: int, to: int, device: Capability) -> Launch:
    """Copies `count` u32 numbers of operand `source` into operand `to` as an int dtype: the low bits, or widened."""
    wide = target.size_bytes == 8
    kind = raw_kind(target.size_bytes)
    name = "widen_u32" if wide else "keep"
    function = Function(name, ("index/widen" if wide else "lib/keep",), "u32", kind.value)
    plan = map_plan("narrow", function, [Operand(Layout.dense((count,)), U32)], (count,), target, device, out_kind=kind)
    assert plan is not None and len(plan.launches) == 1
    made = plan.launches[0]
    return Launch(made.key, (source, to), made.params, made.grid)


def variants(device: Capability) -> Iterator[Plan]:
    """Numbers narrowed to every size of an int dtype."""
    for dtype in (U8, U16, U32, U64):
        steps = Steps(1, [Out.of((9,), dtype)])
        steps.launch(narrow_launch(9, dtype, 0, steps.output(0), device))
        yield steps.plan("narrow")
