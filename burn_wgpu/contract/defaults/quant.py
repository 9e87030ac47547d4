"""The two generic bodies of quantized operations, dynamic quantization, and what every backend has to refuse."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from burn_wgpu.contract.defaults.common import widen
from burn_wgpu.contract.options import Calibration, QuantizationParameters
from burn_wgpu.contract.types import FloatPrim, IntPrim, TensorPrim
from burn_wgpu.std.dtype import F32, DType
from burn_wgpu.std.errors import ArgumentError, ShapeError, UnsupportedError
from burn_wgpu.std.quant import QuantMode, QuantPropagation, QuantScheme
from burn_wgpu.std.quantized import quantizable

QuantPrim = TensorPrim
_SMALLEST = float(np.finfo(np.float32).tiny)


def is_quantized(tensor: TensorPrim) -> bool:
    return tensor.dtype.kind == "qfloat"


def scheme_of(tensor: QuantPrim) -> QuantScheme:
    return tensor.dtype.scheme  # type: ignore[attr-defined, no-any-return]  # QFloat


def int_dtype(tensor: TensorPrim) -> DType:
    return tensor.device.settings.int_dtype  # type: ignore[no-any-return]


def dequantized(b: Any, tensor: QuantPrim) -> FloatPrim:
    """As the device's default float dtype."""
    return b.dequantize(tensor, tensor.device.settings.float_dtype)  # type: ignore[no-any-return]


def propagates(device: Any) -> bool:
    """Whether results on the device stay quantized; devices without such a setting do not."""
    config = getattr(device.settings, "quantization", None)
    return getattr(config, "propagation", None) in (QuantPropagation.PROPAGATE, QuantPropagation.PROPAGATE.value)


def requantized(b: Any, tensor: QuantPrim, operation: Callable[[FloatPrim], FloatPrim]) -> QuantPrim:
    """The operation on floats, quantized with the tensor's scheme."""
    return b.quantize_dynamic(operation(dequantized(b, tensor)), scheme_of(tensor))  # type: ignore[no-any-return]


def requantized_with_indices(
    b: Any, tensor: QuantPrim, operation: Callable[[FloatPrim], tuple[FloatPrim, IntPrim]]
) -> tuple[QuantPrim, IntPrim]:
    values, indices = operation(dequantized(b, tensor))
    return b.quantize_dynamic(values, scheme_of(tensor)), indices


def flow(b: Any, operation: Callable[..., FloatPrim], *tensors: QuantPrim) -> TensorPrim:
    """The operation on floats; quantized with the first operand's scheme where the device propagates."""
    result = operation(*(dequantized(b, t) for t in tensors))
    return _flowed(b, result, tensors[0])


def _flowed(b: Any, result: FloatPrim, like: QuantPrim) -> TensorPrim:
    return b.quantize_dynamic(result, scheme_of(like)) if propagates(like.device) else result


def matmul(b: Any, lhs: TensorPrim, rhs: TensorPrim) -> TensorPrim:
    last = rhs if is_quantized(rhs) else lhs
    if is_quantized(lhs):
        lhs = dequantized(b, lhs) if is_quantized(rhs) else b.dequantize(lhs, rhs.dtype)
    if is_quantized(rhs):
        rhs = b.dequantize(rhs, lhs.dtype)
    return _flowed(b, b.float_matmul(lhs, rhs), last)


def cat(b: Any, tensors: Sequence[QuantPrim], dim: int) -> QuantPrim:
    joined = b.float_cat([dequantized(b, t) for t in tensors], dim)
    return b.quantize_dynamic(joined, scheme_of(tensors[0]))  # type: ignore[no-any-return]


def flat(b: Any, tensor: QuantPrim) -> QuantPrim:
    return b.q_reshape(tensor, (prod(tensor.shape),))  # type: ignore[no-any-return]


def picked(b: Any, tensor: QuantPrim, dim: int, indices: IntPrim) -> tuple[QuantPrim, IntPrim]:
    return b.q_gather(dim, tensor, indices), indices


def max_abs_dim(b: Any, tensor: QuantPrim, dim: int) -> QuantPrim:
    return b.q_gather(dim, tensor, b.q_argmax(b.q_abs(tensor), dim, int_dtype(tensor)))  # type: ignore[no-any-return]


# ------------------------------------------------------------------------------------------------------ calibration


def blocked(b: Any, tensor: FloatPrim, scheme: QuantScheme) -> tuple[FloatPrim, tuple[int, ...]]:
    """[blocks, elements of a block] and the grid of blocks; raises ShapeError when the blocks do not divide an axis."""
    if scheme.block is None:
        return b.float_reshape(tensor, (1, prod(tensor.shape))), (1,)
    rank = len(tensor.shape)
    extents = (1,) * (rank - len(scheme.block.extents)) + tuple(scheme.block.extents)
    for axis, (size, extent) in enumerate(zip(tensor.shape, extents, strict=True)):
        if size % extent:
            raise ShapeError(
                f"quantize: axis {axis} of shape {list(tensor.shape)} does not divide into blocks of {list(extents)}; "
                f"every axis must be a multiple of its block's extent"
            )
    grid = tuple(size // extent for size, extent in zip(tensor.shape, extents, strict=True))
    split = [n for pair in zip(grid, extents, strict=True) for n in pair]
    cells = b.float_permute(b.float_reshape(tensor, split), [*range(0, 2 * rank, 2), *range(1, 2 * rank, 2)])
    return b.float_reshape(cells, (prod(grid), prod(tensor.shape) // prod(grid))), grid


def compute_range(
    b: Any, scheme: QuantScheme, tensor: FloatPrim, calibration: Calibration
) -> tuple[FloatPrim, FloatPrim]:
    """(min, max) per block, or [1]; ABS_MEAN is ± the mean magnitude and not for two-level schemes."""
    if calibration is Calibration.ABS_MEAN and scheme.global_scale_dtype is not None:
        raise ArgumentError(
            "compute_range: AbsMean calibration and a two-level scheme were given; it works with one level of scales"
        )
    cells, grid = blocked(b, widen(b, tensor), scheme)
    if calibration is Calibration.ABS_MEAN:
        mean = b.float_reshape(b.float_mean_dim(b.float_abs(cells), 1), grid)
        return b.float_neg(mean), mean
    return b.float_reshape(b.float_min_dim(cells, 1), grid), b.float_reshape(b.float_max_dim(cells, 1), grid)


def compute_q_params(b: Any, scheme: QuantScheme, low: FloatPrim, high: FloatPrim) -> QuantizationParameters:
    """scale = 2·max(|min|, |max|) / (b − a) for the value range (a, b) of the scheme.

    Two-level: global = max(scales) / the block dtype's maximum (at least the smallest normal f32), scales / global.
    """
    low, high = b.float_abs(low), b.float_abs(high)
    return _params(b, scheme, b.float_mask_where(low, b.float_lower(low, high, low.device.settings.bool_dtype), high))


def _params(b: Any, scheme: QuantScheme, largest: FloatPrim) -> QuantizationParameters:
    """From the largest magnitude of each block. Doubling is exact, so the quotient by half the range is the number that
    the formula gives, with a step less and without its overflow."""
    bottom, top = scheme.value.range
    scales = b.float_div_scalar(largest, (top - bottom) / 2)
    if scheme.global_scale_dtype is None:
        return QuantizationParameters(scales)
    overall = b.float_clamp_min(b.float_div_scalar(b.float_max(scales), scheme.scale_dtype.max), _SMALLEST)
    shared = b.float_reshape(overall, (1,) * len(scales.shape))
    return QuantizationParameters(b.float_div(scales, shared), overall)


def quantize_dynamic(b: Any, tensor: FloatPrim, scheme: QuantScheme) -> QuantPrim:
    """The larger magnitude of minimum and maximum is the largest magnitude: one reduction instead of two."""
    if 0 in tensor.shape:
        zeros = b.float_zeros(scheme.params_shape(tensor.shape), tensor.device, F32)
        overall = None if scheme.global_scale_dtype is None else b.float_ones((1,), tensor.device, F32)
        return b.quantize(tensor, scheme, QuantizationParameters(zeros, overall))  # type: ignore[no-any-return]
    cells, grid = blocked(b, widen(b, tensor), scheme)
    largest = b.float_reshape(b.float_max_abs_dim(cells, 1), grid)
    return b.quantize(tensor, scheme, _params(b, scheme, largest))  # type: ignore[no-any-return]


# ------------------------------------------------------------------------------------------------ checks of backends


def check_quantize(tensor: FloatPrim, scheme: QuantScheme, qparams: QuantizationParameters) -> None:
    """What every backend refuses to quantize. Raises ArgumentError for a scheme that makes no tensors of this shape and
    a global scale too many or too few, ShapeError for another number of scales."""
    if (reason := quantizable(scheme, tensor.shape)) is not None:
        raise ArgumentError(f"quantize: {reason}; dequantized tensors can be quantized with another scheme")
    if (qparams.global_scale is None) != (scheme.global_scale_dtype is None):
        have = "is missing" if qparams.global_scale is None else "is given"
        raise ArgumentError(f"quantize: a global scale {have} for the scheme {scheme}; two-level schemes have one")
    grid = scheme.params_shape(tensor.shape)
    if prod(qparams.scales.shape) != prod(grid):
        raise ShapeError(
            f"quantize: scales of shape {list(qparams.scales.shape)} for a tensor of shape {list(tensor.shape)} under "
            f"{scheme}; they must be of shape {list(grid)}"
        )


def check_dequantize(tensor: QuantPrim) -> None:
    """Raises UnsupportedError for Lookup: the table that the codes index is in no file."""
    mode = scheme_of(tensor).mode
    if mode is not QuantMode.SYMMETRIC:
        raise UnsupportedError(f"dequantize: mode {mode.value} needs a table that the tensor does not hold")


def reshaped_scheme(tensor: QuantPrim, shape: Sequence[int]) -> QuantScheme:
    """The scheme after a reshape: a packed dimension that the rank lacks becomes the innermost.

    Blocks along the last axis stay what they are where they divide it before and after. Other blocks need the last
    axes, as many as they span, unchanged. Raises ShapeError else.
    """
    scheme, old, new = scheme_of(tensor), tuple(tensor.shape), tuple(shape)
    block = scheme.block_size
    if block is not None and old != new:
        span = len(block)
        same = len(new) >= span and old[len(old) - span :] == new[len(new) - span :]
        runs = span == 1 and len(new) >= 1 and old[-1] % block[0] == 0 and new[-1] % block[0] == 0
        if not (same or runs):
            raise ShapeError(
                f"reshape: shape {list(old)} with blocks of {list(block)} to {list(new)}; blocks must divide the last "
                f"axis or keep their axes: call .dequantize() first"
            )
    return scheme.reshape_packing_dim(len(new))


def permuted_scheme(tensor: QuantPrim, axes: Sequence[int]) -> QuantScheme:
    """The scheme with axis i taken from axis axes[i]."""
    return scheme_of(tensor).permute_dims(axes)


def check_flip(tensor: QuantPrim, axes: Sequence[int]) -> None:
    """Raises ShapeError where the last block of an axis is shorter than the others: it would become the first."""
    block = scheme_of(tensor).block_size
    if block is None:
        return
    shape = tensor.shape
    extents = (1,) * (len(shape) - len(block)) + block
    for axis in axes:
        if shape[axis] > extents[axis] and shape[axis] % extents[axis]:
            raise ShapeError(
                f"flip: axis {axis} of shape {list(shape)} has blocks of {extents[axis]}; a flipped axis must be a "
                f"whole number of blocks: call .dequantize() first"
            )
