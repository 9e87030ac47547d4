"""A piece of queued work as a frozen value: `KernelKey` names the kernel, `Launch` one dispatch, `Plan` one operation.

Everything a launch needs is known without reading the GPU, and it names its tensors by number only, so that a buffer
may be decided after the operation was called: fusion holds plans back, capture replays them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from burn_wgpu.shader.capability import Capability
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.errors import UnsupportedError
from burn_wgpu.std.layout import Layout, Shape

Grid = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class KernelKey:
    """What determines a pipeline, and nothing else.

    file             main shader file without ".wgsl", under shaders/
    prelude          generated declarations: bindings, constants, accessors, `apply` (see `Prelude`)
    uses             library files the prelude calls into
    bindings         number of storage bindings; they are 1..bindings, binding 0 holds the parameters
    workgroup_bytes  of workgroup memory, checked against the adapter because wgpu does not
    invocations      per workgroup
    features         that the text needs
    trusted          the plan proves every index, so bounds checks may be left out
    """

    file: str
    prelude: str
    uses: tuple[str, ...] = ()
    bindings: int = 1
    workgroup_bytes: int = 0
    invocations: int = 256
    features: frozenset[str] = frozenset()
    trusted: bool = False


@dataclass(frozen=True, slots=True)
class Launch:
    """One dispatch.

    operands  which tensor each binding takes: inputs first, then outputs, then scratch, numbered as in the Plan
    params    little-endian 4-byte words of the shader's `Params`, without the trailing scalars
    grid      workgroups per axis
    scalars   how many 4-byte words the caller appends to params at each call
    """

    key: KernelKey
    operands: tuple[int, ...]
    params: bytes
    grid: Grid
    scalars: int = 0


class Out(NamedTuple):
    """A tensor that a plan produces: row-major and from the start of a buffer of its own."""

    layout: Layout
    dtype: DType

    @staticmethod
    def of(shape: Shape | list[int], dtype: DType) -> Out:
        return Out(Layout.dense(shape), dtype)

    @property
    def size_bytes(self) -> int:
        return self.layout.size * self.dtype.size_bytes


@dataclass(frozen=True, slots=True)
class Plan:
    """One operation: its launches in order and the tensors they make.

    operation  for error messages and profiles
    outputs    new tensors
    scratch    sizes in bytes of buffers that live for this plan only
    inputs     how many tensors the caller gives
    flags      the kernels report data faults (an index out of range) in the device's fault word
    """

    operation: str
    inputs: int
    outputs: tuple[Out, ...]
    launches: tuple[Launch, ...]
    scratch: tuple[int, ...] = ()
    flags: bool = False


def fold(groups: int, device: Capability) -> Grid:
    """A one-dimensional count of workgroups as (x, y, 1) within the limit; shaders compute x + y · groups_x.

    Groups beyond the count exist when the last row is not full: the shader guards its stores. More than the limit's
    square leave y beyond it, which `check` refuses: a plan must exist for its outputs to be refused by their size.
    """
    limit = device.max_groups
    if groups <= limit:
        return (groups, 1, 1)
    rows = -(-groups // limit)
    return (-(-groups // rows), rows, 1)


MOST = (1 << 32) - 1
"""What a kernel can count: positions and sizes are 32 bits wide."""


def countable(operation: str, count: int, what: str, remedy: str, device: Capability, most: int = MOST) -> None:
    """Raises UnsupportedError for a count beyond `most`, as views of an expanded tensor can have without memory."""
    if count > most:
        raise UnsupportedError(
            f"{operation}: {count:,} {what}; {device.adapter} counts up to {most:,} of them; {remedy}"
        )


def check_outputs(plan: Plan, device: Capability) -> None:
    """Raises UnsupportedError for a result with more elements than a kernel can count."""
    for out in plan.outputs:
        countable(plan.operation, out.layout.size, "elements of one result", "make it in slices", device)


def check_operands(plan: Plan, layouts: Iterable[Layout], device: Capability) -> None:
    """Raises UnsupportedError for an operand that is longer along an axis than a kernel can count: what each plan would
    have to ask of every size it hands to a shader. Empty operands have nothing to count."""
    for layout in layouts:
        if layout.shape and layout.size:
            longest = max(layout.shape)
            what = f"elements along axis {layout.shape.index(longest)} of an operand"
            countable(plan.operation, longest, what, "work on slices of it", device)


def check(plan: Plan, device: Capability) -> None:
    """Raises UnsupportedError for a plan that the adapter cannot run; wgpu checks too late or not at all."""
    for launch in plan.launches:
        key = launch.key
        for what, wanted, limit in (
            ("bytes of workgroup memory", key.workgroup_bytes, device.max_workgroup_bytes),
            ("invocations a workgroup", key.invocations, device.max_invocations),
            ("storage bindings", key.bindings, device.max_storage_buffers),
            ("workgroups along an axis", max(launch.grid), device.max_groups),
        ):
            if wanted > limit:
                raise UnsupportedError(
                    f"{plan.operation}: the kernel '{key.file}' needs {wanted} {what}, "
                    f"but {device.adapter} allows {limit}"
                )
        missing = key.features - device.features
        if missing:
            raise UnsupportedError(
                f"{plan.operation}: the kernel '{key.file}' needs the feature {', '.join(sorted(missing))}, "
                f"which {device.adapter} does not offer"
            )
