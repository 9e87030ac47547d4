"""Linear quantization and products of quantized tensors, composed of float and int operations."""

from __future__ import annotations

from math import prod

from burn_wgpu import Tensor, iinfo
from tests.onnx_suite.interpreter import Node, operator
from tests.onnx_suite.ops_nn import convolution


def _placed(node: Node, x: Tensor, t: Tensor) -> Tensor:
    """Scales or zero points where they belong: one, one per index of an axis, or one per block of it."""
    if t.size == 1 and t.rank < 2:
        return t.reshape([1] * x.rank)
    axis = node.get("axis", 1) % x.rank
    if t.rank == 1:
        return t.reshape([-1 if i == axis else 1 for i in range(x.rank)])
    block = node.get("block_size", 0) or -(-x.shape[axis] // t.shape[axis])
    wide = t.unsqueeze_dim(axis + 1)
    wide = wide.expand(*t.shape[: axis + 1], block, *t.shape[axis + 1 :]).flatten(axis, axis + 1)
    return wide.slice_dim(axis, (0, x.shape[axis]))


def quantized(x: Tensor, scale: Tensor, zero: Tensor, dtype: object) -> Tensor:
    """round(x / scale) + zero, saturated."""
    info = iinfo(dtype)  # type: ignore[arg-type]
    return ((x / scale).round() + zero).clamp(float(info.min), float(info.max)).cast(dtype)  # type: ignore[arg-type]


@operator("QuantizeLinear")
def quantize_linear(node: Node, x: Tensor, scale: Tensor, zero: Tensor | None = None) -> Tensor:
    dtype = zero.dtype if zero is not None else node.target(node.get("output_dtype", 0) or 2)
    x = x.float()
    scale = _placed(node, x, scale.float())
    shift = scale.zeros_like() if zero is None else _placed(node, x, zero.float())
    return quantized(x, scale, shift, dtype)


@operator("DequantizeLinear")
def dequantize_linear(node: Node, x: Tensor, scale: Tensor, zero: Tensor | None = None) -> Tensor:
    wide = x.float()
    if zero is not None:
        wide = wide - _placed(node, x, zero.float())
    return (wide * _placed(node, x, scale.float())).cast(scale.dtype)


@operator("DynamicQuantizeLinear")
def dynamic_quantize_linear(node: Node, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    low, high = x.min().reshape(()).clamp_max(0.0), x.max().reshape(()).clamp_min(0.0)
    scale = (high - low) / 255.0
    zero = (-low / scale).clamp(0.0, 255.0).round()
    return quantized(x, scale, zero, "u8"), scale, zero.cast("u8")


@operator("MatMulInteger")
def matmul_integer(node: Node, a: Tensor, b: Tensor, za: Tensor | None = None, zb: Tensor | None = None) -> Tensor:
    return _shifted(a, za, -2).matmul(_shifted(b, zb, -1))


def _shifted(t: Tensor, zero: Tensor | None, axis: int) -> Tensor:
    """As i32, less the zero point: one, or one per index of an axis."""
    t = t.cast("i32")
    if zero is None:
        return t
    zero = zero.cast("i32")
    if zero.rank == 1 and zero.size > 1:
        zero = zero.unsqueeze_dim(-1) if axis == -2 else zero
    return t - zero


@operator("ConvInteger")
def conv_integer(node: Node, x: Tensor, w: Tensor, zx: Tensor | None = None, zw: Tensor | None = None) -> Tensor:
    return _conv_exact(node, x, w, zx, zw).cast("i32")


def _conv_exact(node: Node, x: Tensor, w: Tensor, zx: Tensor | None, zw: Tensor | None) -> Tensor:
    """In floats, which are exact while the sums stay below 2^24."""
    assert prod(w.shape[1:]) * 255 * 255 < 1 << 24
    wide = x.float() if zx is None else x.float() - zx.float()
    kernel = w.float()
    if zw is not None:
        kernel = kernel - (zw.float().reshape([-1] + [1] * (w.rank - 1)) if zw.size > 1 else zw.float().reshape(()))
    return convolution(node, wide, kernel)


@operator("QLinearMatMul")
def qlinear_matmul(
    node: Node, a: Tensor, sa: Tensor, za: Tensor, b: Tensor, sb: Tensor, zb: Tensor, sy: Tensor, zy: Tensor
) -> Tensor:
    sums = _shifted(a, za, -2).matmul(_shifted(b, zb, -1)).float()
    return quantized(sums * (sa.float() * sb.float()), sy.float(), zy.float(), zy.dtype)


@operator("QLinearConv")
def qlinear_conv(
    node: Node, x: Tensor, sx: Tensor, zx: Tensor, w: Tensor, sw: Tensor, zw: Tensor, sy: Tensor, zy: Tensor,
    bias: Tensor | None = None,
) -> Tensor:  # fmt: skip
    sums = _conv_exact(node, x, w, zx, zw)
    per_channel = [1, -1] + [1] * (x.rank - 2)
    if bias is not None:
        sums = sums + bias.float().reshape(per_channel)
    scale = sx * sw if sw.size == 1 else sx * sw.reshape(per_channel)
    return quantized(sums * scale, sy, zy.float(), zy.dtype)
