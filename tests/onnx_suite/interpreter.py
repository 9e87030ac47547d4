"""Runs ONNX graphs node by node with burn_wgpu's Tensor API.

One function per operator, in the `ops_*` modules, takes the node and the values of its inputs (None where an optional
one is missing) and gives a tensor, or a tuple of values. A value is a Tensor, a list of tensors (a sequence) or None
(an empty optional). NumPy reads what is written in the model: attributes and constants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

from burn_wgpu import Device, Tensor
from burn_wgpu.std.data import TensorData
from burn_wgpu.std.dtype import BF16, DType
from burn_wgpu.std.dtype import dtype as as_dtype

Value: TypeAlias = "Tensor | list[Tensor] | None"
OperatorFunction: TypeAlias = Callable[..., Any]

ELEMENT_TYPES: dict[int, str] = {
    TensorProto.FLOAT: "f32", TensorProto.FLOAT16: "f16", TensorProto.BFLOAT16: "bf16", TensorProto.DOUBLE: "f64",
    TensorProto.INT8: "i8", TensorProto.INT16: "i16", TensorProto.INT32: "i32", TensorProto.INT64: "i64",
    TensorProto.UINT8: "u8", TensorProto.UINT16: "u16", TensorProto.UINT32: "u32", TensorProto.UINT64: "u64",
    TensorProto.BOOL: "bool",
}  # fmt: skip

OPERATORS: dict[str, OperatorFunction] = {}


class NotInterpreted(Exception):
    """The graph needs an operator, or a variant of one, that no function here expresses."""


def operator(*names: str) -> Callable[[OperatorFunction], OperatorFunction]:
    """Registers a function for these operators; those outside of ONNX's own domain are written "domain.Name"."""

    def register(function: OperatorFunction) -> OperatorFunction:
        for name in names:
            if name in OPERATORS:
                raise ValueError(f"the operator {name} is registered twice")
            OPERATORS[name] = function
        return function

    return register


def operator_name(node: onnx.NodeProto) -> str:
    """The name under which an operator is registered."""
    return node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}.{node.op_type}"


# -------------------------------------------------------------------------------------------- tensors and arrays


def target(element_type: int, device: Device) -> DType:
    """The dtype of an ONNX element type on the device. Raises NotInterpreted where there is none."""
    name = ELEMENT_TYPES.get(element_type)
    if name is None:
        raise NotInterpreted(f"element type {TensorProto.DataType.Name(element_type)}")
    return device.settings.bool_dtype if name == "bool" else as_dtype(name)


def to_tensor(array: Any, element_type: int, device: Device) -> Tensor:
    """Host values of an ONNX element type on the device."""
    dtype = target(element_type, device)
    array = np.asarray(array)
    if dtype is BF16 and array.dtype == np.uint16:  # bit patterns
        return Tensor.from_data(TensorData(array, BF16), device, BF16)
    return Tensor.from_data(array, device, dtype)


def numbers(tensor: Tensor | None) -> list[Any] | None:
    """The elements on the host, for inputs that give shapes, axes and other sizes; None for a missing input."""
    return None if tensor is None else tensor.to_vec()


def number(tensor: Tensor | None, default: Any = None) -> Any:
    """The only element on the host, or the default for a missing input."""
    return default if tensor is None else tensor.item()


def scalar(value: float, like: Tensor) -> Tensor:
    """A number as a tensor of rank 0 with another's dtype and device."""
    return Tensor.full((), value, like.device, like.dtype)


def iota(size: int, like: Tensor) -> Tensor:
    """0 … size − 1 as the default ints of another tensor's device."""
    return Tensor.arange(size, device=like.device)


def wrapped(indices: Tensor, size: int) -> Tensor:
    """Indices with negative ones counted from the end, as ONNX has them and Burn has not."""
    if indices.dtype.kind == "uint":
        return indices
    return indices.mask_where(indices.lower(0), indices.add(size))


def spatial(values: Sequence[int] | None, rank: int, default: int) -> list[int]:
    """One number per spatial axis."""
    return [default] * rank if not values else list(values)


# -------------------------------------------------------------------------------------------------------- nodes


class Node:
    """What an operator's function sees of its node: attributes, opset, device, and how to run subgraphs."""

    def __init__(self, proto: onnx.NodeProto, run: Run, scope: dict[str, Value]) -> None:
        self.proto = proto
        self.device = run.device
        self.opset = run.opsets.get("" if proto.domain == "ai.onnx" else proto.domain, 1)
        self.inputs = list(proto.input)
        self.outputs = list(proto.output)
        self._run = run
        self._scope = scope
        self._attributes = {a.name: onnx.helper.get_attribute_value(a) for a in proto.attribute}

    def has(self, name: str) -> bool:
        """Whether the attribute is written."""
        return name in self._attributes

    def get(self, name: str, default: Any = None) -> Any:
        """The attribute, or the default; strings as str."""
        value = self._attributes.get(name, default)
        return value.decode() if isinstance(value, bytes) else value

    def wants(self, output: int) -> bool:
        """Whether somebody reads this output."""
        return output < len(self.outputs) and bool(self.outputs[output])

    def target(self, element_type: int) -> DType:
        """The dtype of an ONNX element type."""
        return target(element_type, self.device)

    def constant(self, proto: TensorProto) -> Tensor:
        """A tensor that is written in the model."""
        return to_tensor(numpy_helper.to_array(proto), proto.data_type, self.device)

    def subgraph(self, graph: onnx.GraphProto, inputs: Iterable[Value]) -> list[Value]:
        """Runs a subgraph, which sees the values around the node."""
        return self._run.graph(graph, inputs, self._scope)


class Run:
    """One run of a model on a device."""

    def __init__(self, model: onnx.ModelProto, device: Device) -> None:
        self.model = model
        self.device = device
        self.opsets = {o.domain: o.version for o in model.opset_import}

    def graph(self, graph: onnx.GraphProto, inputs: Iterable[Value], outer: dict[str, Value]) -> list[Value]:
        """The values of the graph's outputs."""
        scope = dict(outer)
        for proto in graph.initializer:
            scope[proto.name] = to_tensor(numpy_helper.to_array(proto), proto.data_type, self.device)
        scope.update(zip((i.name for i in graph.input), inputs, strict=True))
        for proto in graph.node:
            name = operator_name(proto)
            function = OPERATORS.get(name)
            if function is None:
                raise NotInterpreted(name)
            found = function(Node(proto, self, scope), *(scope[i] if i else None for i in proto.input))
            values = found if isinstance(found, tuple) else (found,)
            if len(values) < len([o for o in proto.output if o]):
                raise NotInterpreted(f"{name} with {len(proto.output)} outputs")
            scope.update((o, v) for o, v in zip(proto.output, values, strict=False) if o)
        return [scope[o.name] for o in graph.output]


def run_model(model: onnx.ModelProto, inputs: Iterable[Any], device: Device) -> list[Value]:
    """Runs a model on host values, which stand in the order of the graph's inputs."""
    graph = model.graph
    values = [host_value(value, info.type, device) for value, info in zip(inputs, graph.input, strict=True)]
    return Run(model, device).graph(graph, values, {})


def host_value(value: Any, kind: onnx.TypeProto, device: Device) -> Value:
    """A host value of a declared ONNX type as a tensor, a list of tensors or None."""
    which = kind.WhichOneof("value")
    if which == "optional_type":
        return None if value is None else host_value(value, kind.optional_type.elem_type, device)
    if which == "sequence_type":
        return [host_value(v, kind.sequence_type.elem_type, device) for v in value]  # type: ignore[misc]
    if isinstance(value, TensorProto):
        value = numpy_helper.to_array(value)
    return to_tensor(value, kind.tensor_type.elem_type, device)
