"""Elementwise contract functions: made from their declarations, one kernel each."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

from burn_wgpu.backends.wgpu.run import contiguous
from burn_wgpu.backends.wgpu.tensor import WgpuDevice, WgpuTensor
from burn_wgpu.contract.declare import Elementwise
from burn_wgpu.kernel.map import Function, Operand, map_plan
from burn_wgpu.runtime.client import Task
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.compose import functions
from burn_wgpu.shader.launch import Plan
from burn_wgpu.shader.prelude import KINDS, RAW64, WordKind
from burn_wgpu.std.dtype import BF16, F16, F64, DType
from burn_wgpu.std.errors import DivisionByZero
from burn_wgpu.std.layout import Layout, Shape, broadcast_shapes
from burn_wgpu.std.scalar import Scalar, as_scalar

FLOAT_FILES = ("elementwise/float", "elementwise/float_math", "elementwise/activation")
INT_FILES = ("elementwise/int",)
BOOL_FILES = ("elementwise/bool",)
HALF_FILES = ("lib/exp_half",)
BITS_FILE = "elementwise/f64"
_DIVIDES = ("int_div", "int_remainder", "int_floor_divide")
_FAULTS = (*_DIVIDES, "int_powi")


def function_files(value: str) -> tuple[str, ...]:
    """The WGSL files that define the functions over a value type."""
    if value == RAW64.value:
        return (BITS_FILE,)
    if value == "f32":
        return FLOAT_FILES
    if value == "bool":
        return BOOL_FILES
    return (*INT_FILES, "elementwise/int_signed" if value.startswith("i") else "elementwise/int_unsigned")


def kind_of(declared: Elementwise, dtype: DType) -> WordKind:
    """How a function reads and writes a dtype: f64 as its two words where it is one of elementwise/f64.wgsl, which are
    exact, else converted to f32.
    """
    return RAW64 if dtype is F64 and declared.wgsl in functions(BITS_FILE) else KINDS[dtype]


def function_of(declared: Elementwise, dtype: DType) -> Function:
    """The WGSL function of a declaration for operands of this dtype."""
    value = kind_of(declared, dtype).value
    result = "bool" if declared.result == "bool" else value
    consts = (("BITS", 8 * dtype.size_bytes),) if dtype.is_int else ()
    # A number as divisor was looked at before.
    fault = f"{declared.wgsl}_fault" if declared.wgsl in _FAULTS and not declared.scalars else ""
    files = function_files(value)
    if dtype is F16 or dtype is BF16:
        files += HALF_FILES
    return Function(declared.wgsl, files, value, result, consts, fault)


def elementwise_plan(
    declared: Elementwise,
    operands: Sequence[tuple[Layout, DType]],
    shape: Shape,
    dtype: DType,
    out: DType,
    device: Capability,
) -> Plan | None:
    """The kernel of a declared function over operands that broadcast to `shape`; dtype is that of its values.

    None when the layouts need more parameters than a slot holds.
    """
    function = function_of(declared, dtype)
    given = [Operand(layout, kind_of(declared, kind)) for layout, kind in operands]
    made = kind_of(declared, out) if declared.result == "same" else None
    scalars = (function.value,) * declared.scalars
    return map_plan(declared.name, function, given, shape, out, device, scalars, made)


def pack_scalars(values: tuple[Scalar, ...], value: str) -> bytes:
    """Numbers as the words that a kernel reads."""
    out = b""
    for v in values:
        if value == "f32":
            out += struct.pack("<f", v) if abs(v) < 3.5e38 or v != v else struct.pack("<f", float("inf") * v)
        elif value == "bool":
            out += struct.pack("<I", int(bool(v)))
        elif value == "vec2<u32>":
            out += struct.pack("<d", v)
        elif value in ("i64", "u64"):
            out += struct.pack("<Q", int(v) & 0xFFFFFFFFFFFFFFFF)
        else:
            out += struct.pack("<I", int(v) & 0xFFFFFFFF)
    return out


def method_for(declared: Elementwise) -> Callable[..., Any]:
    """The backend's method for an elementwise contract function."""
    n, m = declared.tensors, declared.scalars
    name = declared.name
    to_bool = declared.result == "bool"

    general = _general(declared)

    if n == 1 and m == 0 and not to_bool:

        def unary(self: Any, tensor: WgpuTensor) -> WgpuTensor:
            device = tensor.device
            task = device.plans.get((name, tensor.layout, tensor.dtype))
            if task is None:
                return general(self, tensor)  # type: ignore[no-any-return]
            out = task.outputs[0]
            return WgpuTensor(device.run(task, (tensor.lease,))[0], out.layout, out.dtype, device)

        return unary

    if n == 2 and m == 0 and not to_bool and declared.mask is None:

        def binary(self: Any, lhs: WgpuTensor, rhs: WgpuTensor) -> WgpuTensor:
            device = lhs.device
            task = device.plans.get((name, lhs.layout, rhs.layout, lhs.dtype))
            if task is None:
                return general(self, lhs, rhs)  # type: ignore[no-any-return]
            out = task.outputs[0]
            return WgpuTensor(device.run(task, (lhs.lease, rhs.lease))[0], out.layout, out.dtype, device)

        return binary

    return general


def _general(declared: Elementwise) -> Callable[..., Any]:
    n, m = declared.tensors, declared.scalars
    name, to_bool = declared.name, declared.result == "bool"

    def method(self: Any, *arguments: Any) -> WgpuTensor:
        tensors: tuple[WgpuTensor, ...] = arguments[:n]
        main = tensors[1] if declared.mask == 0 else tensors[0]
        scalar_dtype = declared.scalar_dtype(main.dtype) if m else main.dtype
        scalars = tuple(as_scalar(s, scalar_dtype) for s in arguments[n : n + m])
        out_dtype: DType = arguments[n + m] if to_bool else main.dtype
        if scalars == (0,) and declared.wgsl in _DIVIDES:
            raise DivisionByZero(f"{name}: the divisor is 0; an integer cannot be divided by it")
        device = main.device
        dtype = main.dtype
        kind = KINDS[dtype] if dtype is not F64 else kind_of(declared, dtype)  # a call less for the others
        packed = pack_scalars(scalars, kind.value) if m else b""
        key = _key(name, tensors, main.dtype, out_dtype, to_bool, declared.mask)
        task = device.plans.get(key)
        if task is None:
            tensors, task = _plan(device, declared, tensors, main.dtype, out_dtype, key)
        out = task.outputs[0]
        lease = device.run(task, tuple([t.lease for t in tensors]), packed)[0]
        return WgpuTensor(lease, out.layout, out.dtype, device)

    return method


def _key(
    name: str, tensors: tuple[WgpuTensor, ...], dtype: DType, out: DType, to_bool: bool, mask: int | None
) -> tuple[Any, ...]:
    layouts = tuple([t.layout for t in tensors])
    if mask is not None:
        return (name, *layouts, dtype, tensors[mask].dtype)
    return (name, *layouts, dtype, out) if to_bool else (name, *layouts, dtype)


def _plan(
    device: WgpuDevice,
    declared: Elementwise,
    tensors: tuple[WgpuTensor, ...],
    dtype: DType,
    out: DType,
    key: tuple[Any, ...],
) -> tuple[tuple[WgpuTensor, ...], Task]:
    """The compiled plan, and the tensors it takes: made contiguous when their layouts are too many for one kernel."""
    shape = broadcast_shapes(declared.name, *[t.shape for t in tensors])

    def make(given: tuple[WgpuTensor, ...]) -> Plan | None:
        operands = [(t.layout, t.dtype) for t in given]
        return elementwise_plan(declared, operands, shape, dtype, out, device.capability)

    plan = make(tensors)
    if plan is None:
        tensors = tuple(contiguous(t) for t in tensors)
        plan = make(tensors)
        key = _key(declared.name, tensors, dtype, out, declared.result == "bool", declared.mask)
    assert plan is not None
    return tensors, device.remember(key, device.task(plan))
