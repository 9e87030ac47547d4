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
    check.kind("tanhshrink", tensor, "the tensor", "float")
    return in_f32(lambda x: x - x.tanh(), tensor)


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
    check.kind("gelu_approximate", tensor, "the tensor", "float")
    return in_f32(lambda x: x * sigmoid((x * x * 0.07135481627260025 + 1.5957691216057308) * x), tensor)


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
    return in_f32(lambda x: _softplus(x, beta, threshold), tensor)


def _softplus(tensor: Tensor, beta: float, threshold: float) -> Tensor:
    # Beyond 88 f64 has no digit left between x and log(1 + eˣ), and a device may compute it through f32.
    finite = 11.0 if tensor.dtype is FLEX32 else 88.0
    limit = min(threshold, finite)
    scaled = tensor * beta
    # Saturated inputs are capped before exp, or their gradient would be 0 · inf.
    smooth = scaled.clamp_max(limit).exp().log1p() / beta
    return smooth.mask_where(scaled.greater(limit), tensor)


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
    return tensor * sigmoid(tensor)


def hard_swish(tensor: Tensor) -> Tensor:
    """x · clamp(x/6 + 1/2, 0, 1)."""
    check.kind("hard_swish", tensor, "the tensor", "float")
    return in_f32(lambda x: x * hard_sigmoid(x, 1 / 6, 0.5), tensor)


def mish(tensor: Tensor) -> Tensor:
    """x · tanh(softplus(x))."""
    check.kind("mish", tensor, "the tensor", "float")
    return in_f32(lambda x: x * softplus(x).tanh(), tensor)


def elu(tensor: Tensor, alpha: float = 1.0) -> Tensor:
    """x, or alpha · (eˣ − 1) for x ≤ 0."""
    check.kind("elu", tensor, "the tensor", "float")
    return in_f32(lambda x: _elu(x, alpha), tensor)


def celu(tensor: Tensor, alpha: float = 1.0) -> Tensor:
    """x, or alpha · (e^(x/alpha) − 1) for x ≤ 0."""
    check.kind("celu", tensor, "the tensor", "float")
    alpha = check.number("celu", alpha, "alpha")
    if alpha == 0:
        raise ArgumentError("celu: alpha is 0; it must not be 0")
    return in_f32(lambda x: (_expm1(x.clamp_max(0.0) / alpha) * alpha).mask_where(x.greater(0.0), x), tensor)


def selu(tensor: Tensor) -> Tensor:
    """γ · elu(x, α) with the constants of self-normalising networks (Klambauer et al. 2017)."""
    check.kind("selu", tensor, "the tensor", "float")
    return in_f32(lambda x: _elu(x, 1.6732632423543772) * 1.0507009873554805, tensor)


def thresholded_relu(tensor: Tensor, alpha: float = 1.0) -> Tensor:
    """x where x > alpha, else 0."""
    return threshold(tensor, alpha, 0.0)


def threshold(tensor: Tensor, threshold: float, value: float) -> Tensor:
    """x where x > threshold, else value."""
    check.kind("threshold", tensor, "the tensor", "float")
    return tensor.mask_fill(tensor.lower_equal(threshold), value)


def glu(tensor: Tensor, dim: int = -1) -> Tensor:
    """a · sigmoid(b), where a and b are the halves of an axis of even size."""
    check.kind("glu", tensor, "the tensor", "float")
    axis = check.dim("glu", dim, tensor.rank)
    size = tensor.shape[axis]
    if size % 2:
        raise ShapeError(f"glu: axis {axis} of shape {list(tensor.shape)} has size {size}; it must be even")
    first, second = tensor.slice_dim(axis, (0, size // 2)), tensor.slice_dim(axis, (size // 2, size))
    return first * sigmoid(second)


def softsign(tensor: Tensor) -> Tensor:
    """x / (1 + |x|)."""
    check.kind("softsign", tensor, "the tensor", "float")
    return tensor / (tensor.abs() + 1.0)


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
    moved = tensor - tensor.sign() * bias if bias else tensor
    return moved.mask_fill(tensor.abs().lower_equal(lambda_), 0.0)


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


def _elu(tensor: Tensor, alpha: float) -> Tensor:
    return (_expm1(tensor.clamp_max(0.0)) * alpha).mask_where(tensor.greater(0.0), tensor)


def _expm1(tensor: Tensor) -> Tensor:
    """eˣ − 1 = tanh(x/2) · (eˣ + 1), with every digit near 0."""
    return (tensor * 0.5).tanh() * (tensor.exp() + 1.0)
