"""Arithmetic, comparison, logic, bits, functions of one tensor, activations, casts."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

from burn_wgpu import Tensor
from burn_wgpu.tensor import activation, where
from tests.onnx_suite.interpreter import Node, NotInterpreted, number, operator, scalar

# ------------------------------------------------------------------------------------------------ one operand

_METHODS = {
    "Abs": "abs", "Neg": "neg", "Sign": "sign", "Floor": "floor", "Ceil": "ceil", "Round": "round", "Sqrt": "sqrt",
    "Exp": "exp", "Log": "log", "Reciprocal": "recip", "Erf": "erf", "Sin": "sin", "Cos": "cos", "Tan": "tan",
    "Sinh": "sinh", "Cosh": "cosh", "Tanh": "tanh", "Asin": "asin", "Acos": "acos", "Atan": "atan", "Asinh": "asinh",
    "Acosh": "acosh", "Atanh": "atanh", "IsNaN": "is_nan", "Not": "bool_not", "BitwiseNot": "bitwise_not",
}  # fmt: skip


def _method(name: str) -> Callable[[Node, Tensor], Any]:
    return lambda node, x: getattr(x, name)()


for _operator, _name in _METHODS.items():
    operator(_operator)(_method(_name))


@operator("IsInf")
def is_inf(node: Node, x: Tensor) -> Tensor:
    found = x.is_inf()
    if not node.get("detect_negative", 1):
        found = found.bool_and(x.greater(0.0))
    if not node.get("detect_positive", 1):
        found = found.bool_and(x.lower(0.0))
    return found


# ------------------------------------------------------------------------------------------------ two operands

_BINARY = {
    "Add": "add", "Sub": "sub", "Mul": "mul", "Div": "div", "Equal": "equal", "Greater": "greater", "Less": "lower",
    "GreaterOrEqual": "greater_equal", "LessOrEqual": "lower_equal", "And": "bool_and", "Or": "bool_or",
    "Xor": "bool_xor", "BitwiseAnd": "bitwise_and", "BitwiseOr": "bitwise_or", "BitwiseXor": "bitwise_xor",
}  # fmt: skip


def _binary(name: str) -> Callable[[Node, Tensor, Tensor], Any]:
    return lambda node, a, b: getattr(a, name)(b)


for _operator, _name in _BINARY.items():
    operator(_operator)(_binary(_name))


@operator("Mod")
def mod(node: Node, a: Tensor, b: Tensor) -> Tensor:
    if not node.get("fmod", 0):
        return a.remainder(b)
    return a.fmod(b) if a.kind == "float" else a - a.div(b) * b


@operator("Pow")
def power(node: Node, base: Tensor, exponent: Tensor) -> Tensor:
    if base.kind == "int" and exponent.kind == "float":
        return base.cast(exponent.dtype).powf(exponent).cast(base.dtype)
    if base.kind == "float" and exponent.kind == "int":
        return base.powi(exponent)
    exponent = exponent.cast(base.dtype)
    return base.powf(exponent) if base.kind == "float" else base.powi(exponent)


@operator("BitShift")
def bit_shift(node: Node, a: Tensor, b: Tensor) -> Tensor:
    # Burn takes the shift modulo the width; in ONNX a shift beyond it leaves nothing but the sign.
    width = 8 * a.dtype.size_bytes
    beyond = b.greater_equal(width)
    if b.dtype.kind == "int":
        beyond = beyond.bool_or(b.lower(0))
    if node.get("direction") == "LEFT":
        return a.bitwise_left_shift(b).mask_fill(beyond, 0)
    return a.bitwise_right_shift(b.mask_fill(beyond, width - 1 if a.dtype.kind == "int" else 0)).mask_fill(
        beyond.bool_and(a.greater_equal(0)), 0
    )


# ----------------------------------------------------------------------------------------------- many operands


@operator("Max")
def maximum(node: Node, *tensors: Tensor) -> Tensor:
    return reduce(Tensor.max_pair, tensors)


@operator("Min")
def minimum(node: Node, *tensors: Tensor) -> Tensor:
    return reduce(Tensor.min_pair, tensors)


@operator("Sum")
def total(node: Node, *tensors: Tensor) -> Tensor:
    return reduce(Tensor.add, tensors)


@operator("Mean")
def mean(node: Node, *tensors: Tensor) -> Tensor:
    return reduce(Tensor.add, tensors) / len(tensors)


@operator("Clip")
def clip(node: Node, x: Tensor, low: Tensor | None = None, high: Tensor | None = None) -> Tensor:
    if low is not None:
        x = x.max_pair(low)
    return x if high is None else x.min_pair(high)


@operator("Where")
def choose(node: Node, condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return where(condition, x, y)


# ------------------------------------------------------------------------------------------------- activations

_ACTIVATIONS: dict[str, Callable[..., Tensor]] = {
    "Relu": activation.relu, "Sigmoid": activation.sigmoid, "Softplus": activation.softplus,
    "Softsign": activation.softsign, "HardSwish": activation.hard_swish, "Mish": activation.mish,
}  # fmt: skip


def _activation(function: Callable[..., Tensor]) -> Callable[[Node, Tensor], Tensor]:
    return lambda node, x: function(x)


for _operator, _function in _ACTIVATIONS.items():
    operator(_operator)(_activation(_function))


@operator("LeakyRelu")
def leaky_relu(node: Node, x: Tensor) -> Tensor:
    return activation.leaky_relu(x, node.get("alpha", 0.01))


@operator("PRelu")
def prelu(node: Node, x: Tensor, slope: Tensor) -> Tensor:
    # Burn's slope is one per channel on axis 1, ONNX's broadcasts.
    if slope.size == 1:
        return activation.prelu(x, slope.reshape(1))
    return where(x.lower(0.0), x * slope, x)


@operator("Elu")
def elu(node: Node, x: Tensor) -> Tensor:
    return activation.elu(x, node.get("alpha", 1.0))


@operator("Celu")
def celu(node: Node, x: Tensor) -> Tensor:
    return activation.celu(x, node.get("alpha", 1.0))


@operator("Selu")
def selu(node: Node, x: Tensor) -> Tensor:
    if not node.has("alpha") and not node.has("gamma"):
        return activation.selu(x)
    return activation.elu(x, node.get("alpha", 1.67326319217681884765625)) * node.get(
        "gamma", 1.05070102214813232421875
    )


@operator("HardSigmoid")
def hard_sigmoid(node: Node, x: Tensor) -> Tensor:
    return activation.hard_sigmoid(x, node.get("alpha", 0.2), node.get("beta", 0.5))


@operator("ThresholdedRelu")
def thresholded_relu(node: Node, x: Tensor) -> Tensor:
    return activation.thresholded_relu(x, node.get("alpha", 1.0))


@operator("Gelu")
def gelu(node: Node, x: Tensor) -> Tensor:
    return activation.gelu_approximate(x) if node.get("approximate", "none") == "tanh" else activation.gelu(x)


@operator("Swish")
def swish(node: Node, x: Tensor) -> Tensor:
    alpha = node.get("alpha", 1.0)
    return activation.silu(x) if alpha == 1.0 else x * activation.sigmoid(x * alpha)


@operator("SwiGLU")
def swiglu(node: Node, gate: Tensor, value: Tensor) -> Tensor:
    return swish(node, gate) * value


@operator("Shrink")
def shrink(node: Node, x: Tensor) -> Tensor:
    if x.kind != "float":
        raise NotInterpreted("Shrink of ints")
    return activation.shrink(x, node.get("lambd", 0.5), node.get("bias", 0.0))


@operator("Softmax")
def softmax(node: Node, x: Tensor) -> Tensor:
    return _normalised(node, x, activation.softmax)


@operator("LogSoftmax")
def log_softmax(node: Node, x: Tensor) -> Tensor:
    return _normalised(node, x, activation.log_softmax)


@operator("Hardmax")
def hardmax(node: Node, x: Tensor) -> Tensor:
    def one_hot(tensor: Tensor, dim: int) -> Tensor:
        axis = dim % tensor.rank
        classes = tensor.argmax(axis, keepdim=False)
        return classes.one_hot_fill(tensor.shape[axis], 1, 0, axis).cast(tensor.dtype)

    return _normalised(node, x, one_hot)


def _normalised(node: Node, x: Tensor, function: Callable[[Tensor, int], Tensor]) -> Tensor:
    if node.opset >= 13:
        return function(x, node.get("axis", -1))
    # Before opset 13 all axes from `axis` on were one.
    axis = node.get("axis", 1) % max(x.rank, 1)
    rows = 1
    for n in x.shape[:axis]:
        rows *= n
    return function(x.reshape(rows, -1), 1).reshape(x.shape)


@operator("Dropout")
def dropout(
    node: Node, x: Tensor, ratio: Tensor | None = None, training: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    if number(training, False) and number(ratio, 0.5) != 0:
        raise NotInterpreted("Dropout with random zeros")
    return x, Tensor.full(x.shape, True, node.device)


# ------------------------------------------------------------------------------------------------------- casts


@operator("Cast")
def cast(node: Node, x: Tensor) -> Tensor:
    return x.cast(node.target(node.get("to")))


@operator("CastLike")
def cast_like(node: Node, x: Tensor, like: Tensor) -> Tensor:
    return x.cast(like.dtype)


# ----------------------------------------------------------------------------------------------------- training


@operator("ai.onnx.preview.training.Adagrad")
def adagrad(node: Node, rate: Tensor, count: Tensor, *tensors: Tensor) -> tuple[Tensor, ...]:
    n = len(tensors) // 3
    rate = rate / (count.cast(rate.dtype) * node.get("decay_factor", 0.0) + 1.0)
    weights, squares = [], []
    for x, gradient, square in zip(tensors[:n], tensors[n : 2 * n], tensors[2 * n :], strict=True):
        gradient = x * node.get("norm_coefficient", 0.0) + gradient
        square = square + gradient * gradient
        weights.append(x - rate * gradient / (square.sqrt() + node.get("epsilon", 0.0)))
        squares.append(square)
    return (*weights, *squares)


@operator("ai.onnx.preview.training.Adam")
def adam(node: Node, rate: Tensor, count: Tensor, *tensors: Tensor) -> tuple[Tensor, ...]:
    n = len(tensors) // 4
    alpha, beta = node.get("alpha", 0.9), node.get("beta", 0.999)
    groups = (tensors[i * n : (i + 1) * n] for i in range(4))
    if number(count):
        steps = count.cast(rate.dtype)
        one = scalar(1.0, rate)
        rate = rate * (one - scalar(beta, rate).powf(steps)).sqrt() / (one - scalar(alpha, rate).powf(steps))
    results: tuple[list[Tensor], ...] = ([], [], [])
    for x, gradient, first, second in zip(*groups, strict=True):
        gradient = x * node.get("norm_coefficient", 0.0) + gradient
        first = first * alpha + gradient * (1 - alpha)
        second = second * beta + gradient * gradient * (1 - beta)
        moved = x - rate * first / (second.sqrt() + node.get("epsilon", 0.0))
        for kept, value in zip(
            results, (moved * (1 - node.get("norm_coefficient_post", 0.0)), first, second), strict=True
        ):
            kept.append(value)
    return tuple(value for kept in results for value in kept)


@operator("ai.onnx.preview.training.Momentum")
def momentum(node: Node, rate: Tensor, count: Tensor, *tensors: Tensor) -> tuple[Tensor, ...]:
    n = len(tensors) // 3
    alpha, beta = node.get("alpha"), node.get("beta") if number(count) > 0 else 1.0
    weights, speeds = [], []
    for x, gradient, speed in zip(tensors[:n], tensors[n : 2 * n], tensors[2 * n :], strict=True):
        gradient = x * node.get("norm_coefficient") + gradient
        speed = speed * alpha + gradient * beta
        step = gradient + speed * alpha if node.get("mode") == "nesterov" else speed
        weights.append(x - rate * step)
        speeds.append(speed)
    return (*weights, *speeds)


@operator("ai.onnx.ml.Binarizer")
def binarizer(node: Node, x: Tensor) -> Tensor:
    return x.greater(node.get("threshold", 0.0)).cast(x.dtype)
