"""Nonlinearities: functions of float tensors, of the same shape and dtype."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from burn_wgpu.std.dtype import FLEX32
from burn_wgpu.std.errors import ArgumentError, ShapeError
from burn_wgpu.tensor import check
from burn_wgpu.tensor.core import wrap
from burn_wgpu.tensor.float import in_f32

if TYPE_CHECKING:
    from burn_wgpu.tensor.api import Tensor


def relu(tensor: Tensor) -> Tensor:
    """max(x, 0); NaN stays NaN."""
    return _native(tensor, "relu")


def relu6(tensor: Tensor) -> Tensor:
    """x limited to 0 … 6."""
    return hardtanh(tensor, 0.0, 6.0, "relu6")


def hardtanh(tensor: Tensor, min_val: float = -1.0, max_val: float = 1.0, name: str = "hardtanh") -> Tensor:
    """x limited to min_val … max_val."""
    check.kind(name, tensor, "the tensor", "float")
    return tensor.clamp(min_val, max_val)


def tanh(tensor: Tensor) -> Tensor:
    """Hyperbolic tangent."""
    check.tensor("tanh", tensor, "the tensor")
    return tensor.tanh()


def tanhshrink(tensor: Tensor) -> Tensor:
    """x − tanh x."""
    return _native(tensor, "tanhshrink")


def leaky_relu(tensor: Tensor, negative_slope: float = 0.01) -> Tensor:
    """x, or x · negative_slope below 0."""
    return _native(tensor, "leaky_relu", negative_slope)


def prelu(tensor: Tensor, alpha: Tensor) -> Tensor:
    """x, or x · alpha below 0; alpha [1], or [C] with the channels on axis 1."""
    check.kind("prelu", tensor, "the tensor", "float")
    check.operands("prelu", tensor, alpha)
    check.exact_rank("prelu", alpha, 1, "alpha")
    count = alpha.shape[0]
    if count != 1 and (tensor.rank < 2 or tensor.shape[1] != count):
        raise ShapeError(
            f"prelu: alpha has {count} elements and the tensor shape {list(tensor.shape)}; "
            f"alpha must have 1 element or one per channel (axis 1)"
        )
    axis = 1 if count != 1 else tensor.rank - 1
    wide = alpha.reshape(tuple(count if i == axis else 1 for i in range(tensor.rank)))
    return wrap(tensor._ops.backend.prelu(tensor.primitive, wide.primitive), tensor._ops)


def gelu(tensor: Tensor) -> Tensor:
    """x · Φ(x) = x · (1 + erf(x/√2)) / 2, the exact form."""
    return _native(tensor, "gelu")


def gelu_approximate(tensor: Tensor) -> Tensor:
    """x/2 · (1 + tanh(√(2/π) · (x + 0.044715 x³))), as x · sigmoid(2√(2/π) · (x + 0.044715 x³)): 1 + tanh would lose
    the digits of large negative x.
    """
    return _native(tensor, "gelu_approximate")


def softmax(tensor: Tensor, dim: int) -> Tensor:
    """e^(x − max) / Σ e^(x − max) along an axis; NaN for a slice of −inf only."""
    return _along(tensor, "softmax", dim)


def softmin(tensor: Tensor, dim: int) -> Tensor:
    """softmax(−x)."""
    return _along(tensor, "softmin", dim)


def log_softmax(tensor: Tensor, dim: int) -> Tensor:
    """(x − max) − log Σ e^(x − max) along an axis."""
    return _along(tensor, "log_softmax", dim)


def quiet_softmax(tensor: Tensor, dim: int) -> Tensor:
    """eˣ / (1 + Σ eˣ) along an axis: softmax that may attend to nothing; a slice of −inf only gives 0."""
    check.kind("quiet_softmax", tensor, "the tensor", "float")
    axis = check.dim("quiet_softmax", dim, tensor.rank)

    def formula(x: Tensor) -> Tensor:
        # The shift cancels; it is at least 0, so that neither e^(−shift) nor a slice of −inf overflows.
        shift = x.detach().max_dim(axis).clamp_min(0.0)
        powers = (x - shift).exp()
        return powers / (powers.sum_dim(axis) + (-shift).exp())

    return in_f32(formula, tensor)


def softplus(tensor: Tensor, beta: float = 1.0) -> Tensor:
    """log(1 + e^(βx)) / β; x itself where βx > 20."""
    return softplus_with_threshold(tensor, beta, 20.0)


def softplus_with_threshold(tensor: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + e^(βx)) / β; x itself where βx exceeds the threshold, which is lowered to where eˣ is finite."""
    check.kind("softplus", tensor, "the tensor", "float")
    beta, threshold = check.number("softplus", beta, "beta"), check.number("softplus", threshold, "threshold")
    if beta == 0:
        raise ArgumentError("softplus: beta is 0; it must not be 0")
    # Beyond 88 f64 has no digit left between x and log(1 + eˣ), and a device may compute it through f32.
    finite = 11.0 if tensor.dtype is FLEX32 else 88.0
    return _native(tensor, "softplus", beta, min(threshold, finite))


def sigmoid(tensor: Tensor) -> Tensor:
    """1 / (1 + e^−x)."""
    return _native(tensor, "sigmoid")


def log_sigmoid(tensor: Tensor) -> Tensor:
    """log(1 / (1 + e^−x)) without overflow."""
    return _native(tensor, "log_sigmoid")


def hard_sigmoid(tensor: Tensor, alpha: float = 0.2, beta: float = 0.5) -> Tensor:
    """alpha · x + beta, limited to [0, 1]."""
    return _native(tensor, "hard_sigmoid", alpha, beta)


def silu(tensor: Tensor) -> Tensor:
    """x · sigmoid(x)."""
    return _native(tensor, "silu")


def hard_swish(tensor: Tensor) -> Tensor:
    """x · clamp(x/6 + 1/2, 0, 1)."""
    return _native(tensor, "hard_swish")


def mish(tensor: Tensor) -> Tensor:
    """x · tanh(softplus(x))."""
    return _native(tensor, "mish")


def elu(tensor: Tensor, alpha: float = 1.0) -> Tensor:
    """x, or alpha · (eˣ − 1) for x ≤ 0."""
    check.kind("elu", tensor, "the tensor", "float")
    return _native(tensor, "elu", check.number("elu", alpha, "alpha"), 1.0, 1.0)


def celu(tensor: Tensor, alpha: float = 1.0) -> Tensor:
    """x, or alpha · (e^(x/alpha) − 1) for x ≤ 0."""
    check.kind("celu", tensor, "the tensor", "float")
    alpha = check.number("celu", alpha, "alpha")
    if alpha == 0:
        raise ArgumentError("celu: alpha is 0; it must not be 0")
    return _native(tensor, "elu", alpha, 1.0, alpha)


def selu(tensor: Tensor) -> Tensor:
    """γ · elu(x, α) with the constants of self-normalising networks (Klambauer et al. 2017)."""
    check.kind("selu", tensor, "the tensor", "float")
    return _native(tensor, "elu", 1.6732632423543772, 1.0507009873554805, 1.0)


def thresholded_relu(tensor: Tensor, alpha: float = 1.0) -> Tensor:
    """x where x > alpha, else 0."""
    return threshold(tensor, alpha, 0.0)


def threshold(tensor: Tensor, threshold: float, value: float) -> Tensor:
    """x where x > threshold, else value."""
    check.kind("threshold", tensor, "the tensor", "float")
    limit, value = check.number("threshold", threshold, "threshold"), check.number("threshold", value, "value")
    return _native(tensor, "threshold", limit, value)


def glu(tensor: Tensor, dim: int = -1) -> Tensor:
    """a · sigmoid(b), where a and b are the halves of an axis of even size."""
    check.kind("glu", tensor, "the tensor", "float")
    axis = check.dim("glu", dim, tensor.rank)
    size = tensor.shape[axis]
    if size % 2:
        raise ShapeError(f"glu: axis {axis} of shape {list(tensor.shape)} has size {size}; it must be even")
    tensor = tensor.dequantize()
    first, second = tensor.slice_dim(axis, (0, size // 2)), tensor.slice_dim(axis, (size // 2, size))
    return wrap(tensor._ops.backend.glu(first.primitive, second.primitive), tensor._ops)


def softsign(tensor: Tensor) -> Tensor:
    """x / (1 + |x|)."""
    return _native(tensor, "softsign")


def hard_shrink(tensor: Tensor, lambda_: float = 0.5) -> Tensor:
    """x, or 0 where |x| ≤ lambda_."""
    return shrink(tensor, lambda_, 0.0)


def soft_shrink(tensor: Tensor, lambda_: float = 0.5) -> Tensor:
    """x moved toward 0 by lambda_, or 0 where |x| ≤ lambda_."""
    return shrink(tensor, lambda_, lambda_)


def shrink(tensor: Tensor, lambda_: float = 0.5, bias: float = 0.0) -> Tensor:
    """x − sign(x) · bias, or 0 where |x| ≤ lambda_."""
    check.kind("shrink", tensor, "the tensor", "float")
    lambda_, bias = check.number("shrink", lambda_, "lambda_"), check.number("shrink", bias, "bias")
    return _native(tensor, "shrink", lambda_, bias) if bias else _native(tensor, "hard_shrink", lambda_)


def _native(tensor: Tensor, name: str, *args: Any) -> Tensor:
    try:
        ops = tensor._ops
    except AttributeError:
        check.tensor(name, tensor, "the tensor")
        raise
    if ops.kind != "float":
        check.kind(name, tensor, "the tensor", "float")
    if ops.quantized:
        return _native(tensor.dequantize(), name, *args)
    return wrap(getattr(ops.backend, name)(tensor.primitive, *args), ops)


def _along(tensor: Tensor, name: str, dim: int) -> Tensor:
    check.kind(name, tensor, "the tensor", "float")
    return _native(tensor, name, check.dim(name, dim, tensor.rank))
