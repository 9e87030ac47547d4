"""Control flow, sequences, optionals."""

from __future__ import annotations

import numpy as np
import onnx

from burn_wgpu import Tensor, stack
from tests.onnx_suite.interpreter import Node, NotInterpreted, Value, number, numbers, operator, to_tensor
from tests.onnx_suite.ops_shape import parts

# ------------------------------------------------------------------------------------------------ control flow


@operator("If")
def if_(node: Node, condition: Tensor) -> tuple[Value, ...]:
    return tuple(node.subgraph(node.get("then_branch" if number(condition) else "else_branch"), []))


@operator("Loop")
def loop(
    node: Node, trips: Tensor | None = None, condition: Tensor | None = None, *carried: Value
) -> tuple[Value, ...]:
    body: onnx.GraphProto = node.get("body")
    most, going = number(trips), number(condition, True)
    state = list(carried)
    scanned: list[list[Tensor]] = [[] for _ in range(len(body.output) - 1 - len(state))]
    step = 0
    while going and (most is None or step < most):
        index = to_tensor(np.asarray(step), onnx.TensorProto.INT64, node.device)
        again = Tensor.full((), bool(going), node.device)
        found = node.subgraph(body, [index, again, *state])
        # Without a condition the body's answer does not count.
        going = number(found[0]) if condition is not None else True  # type: ignore[arg-type]
        state = found[1 : 1 + len(state)]
        for kept, value in zip(scanned, found[1 + len(state) :], strict=True):
            kept.append(value)  # type: ignore[arg-type]
        step += 1
    return (
        *state,
        *(_stacked(values, info, node) for values, info in zip(scanned, body.output[1 + len(state) :], strict=True)),
    )


def _stacked(values: list[Tensor], info: onnx.ValueInfoProto, node: Node) -> Tensor:
    if values:
        return stack(values, 0)
    kind = info.type.tensor_type
    shape = (0, *(d.dim_value for d in kind.shape.dim))
    return Tensor.zeros(shape, node.device, node.target(kind.elem_type))


@operator("Scan")
def scan(node: Node, *inputs: Tensor) -> tuple[Value, ...]:
    body: onnx.GraphProto = node.get("body")
    count = node.get("num_scan_inputs")
    if node.opset < 9:
        # Opset 8 has a leading input for lengths, and a batch axis before all others.
        if inputs[0] is not None:
            raise NotInterpreted("Scan with lengths")
        batches = [
            _scan(node, body, [t.select_dim(0, i) for t in inputs[1:]], count, [0] * count)
            for i in range(inputs[1].shape[0])
        ]
        return tuple(stack(values, 0) for values in zip(*batches, strict=True))
    if any(node.get("scan_output_axes", ())):
        raise NotInterpreted("Scan with output axes")
    axes = node.get("scan_input_axes", [0] * count)
    return tuple(_scan(node, body, list(inputs), count, axes))


def _scan(node: Node, body: onnx.GraphProto, inputs: list[Tensor], count: int, axes: list[int]) -> list[Tensor]:
    states, scanned = inputs[: len(inputs) - count], inputs[len(inputs) - count :]
    steps = scanned[0].shape[axes[0]]
    backwards = node.get("scan_input_directions", node.get("directions", [0] * count))
    backwards_out = node.get("scan_output_directions", [0] * (len(body.output) - len(states)))
    outputs: list[list[Tensor]] = [[] for _ in backwards_out]
    for step in range(steps):
        rows = [
            t.select_dim(axis, steps - 1 - step if back else step)
            for t, axis, back in zip(scanned, axes, backwards, strict=True)
        ]
        found = node.subgraph(body, [*states, *rows])
        states = found[: len(states)]  # type: ignore[assignment]
        for kept, value in zip(outputs, found[len(states) :], strict=True):
            kept.append(value)  # type: ignore[arg-type]
    return [*states, *(stack(o[::-1] if back else o, 0) for o, back in zip(outputs, backwards_out, strict=True))]


@operator("SequenceMap")
def sequence_map(node: Node, first: list[Tensor], *others: Value) -> tuple[Value, ...]:
    body: onnx.GraphProto = node.get("body")
    results: list[list[Tensor]] = [[] for _ in body.output]
    for i, item in enumerate(first):
        row = [item, *(o[i] if isinstance(o, list) else o for o in others)]
        for kept, value in zip(results, node.subgraph(body, row), strict=True):
            kept.append(value)  # type: ignore[arg-type]
    return tuple(results)


# -------------------------------------------------------------------------------------- sequences and optionals


@operator("SequenceEmpty")
def sequence_empty(node: Node) -> list[Tensor]:
    return []


@operator("SequenceConstruct")
def sequence_construct(node: Node, *tensors: Tensor) -> list[Tensor]:
    return list(tensors)


@operator("SequenceInsert")
def sequence_insert(node: Node, sequence: list[Tensor], tensor: Tensor, place: Tensor | None = None) -> list[Tensor]:
    at = len(sequence) if place is None else number(place)
    at = at + len(sequence) if at < 0 else at
    return [*sequence[:at], tensor, *sequence[at:]]


@operator("SequenceAt")
def sequence_at(node: Node, sequence: list[Tensor], place: Tensor) -> Tensor:
    return sequence[number(place)]


@operator("SequenceLength")
def sequence_length(node: Node, sequence: list[Tensor]) -> Tensor:
    return to_tensor(np.asarray(len(sequence)), onnx.TensorProto.INT64, node.device)


@operator("SplitToSequence")
def split_to_sequence(node: Node, x: Tensor, sizes: Tensor | None = None) -> list[Tensor]:
    axis = node.get("axis", 0)
    size = x.shape[axis]
    if sizes is None:
        pieces = parts(x, axis, [1] * size)
        return pieces if node.get("keepdims", 1) else [p.squeeze_dim(axis) for p in pieces]
    if sizes.rank:
        return parts(x, axis, numbers(sizes) or [])
    return x.split(number(sizes), axis)


@operator("Optional")
def optional(node: Node, value: Value = None) -> Value:
    return value


@operator("OptionalHasElement")
def optional_has_element(node: Node, value: Value = None) -> Tensor:
    return Tensor.full((), value is not None, node.device)


@operator("OptionalGetElement")
def optional_get_element(node: Node, value: Value) -> Value:
    return value
