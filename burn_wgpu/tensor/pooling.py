"""Pooling: maxima and means of windows. `functional` has these names too.

Padding that differs between begin and end is put into the tensor first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from burn_wgpu.contract.options import AvgPoolOptions, MaxPoolOptions, PadMode, pool_output_size
from burn_wgpu.std.errors import ArgumentError, ShapeError
from burn_wgpu.tensor import check
from burn_wgpu.tensor.core import wrap

if TYPE_CHECKING:
    from burn_wgpu.tensor.api import Tensor


def max_pool1d(x: Tensor, options: MaxPoolOptions) -> Tensor:
    """Maxima of windows: x [N, C, L] → [N, C, Lo]. Padding acts as −∞; a NaN in the window wins."""
    return _max_pool("max_pool1d", x, options, 1)


def max_pool2d(x: Tensor, options: MaxPoolOptions) -> Tensor:
    """Maxima of windows: x [N, C, H, W] → [N, C, Ho, Wo]. Padding acts as −∞; a NaN in the window wins."""
    return _max_pool("max_pool2d", x, options, 2)


def max_pool3d(x: Tensor, options: MaxPoolOptions) -> Tensor:
    """Maxima of windows: x [N, C, D, H, W] → [N, C, Do, Ho, Wo]. Padding acts as −∞; a NaN in the window wins."""
    return _max_pool("max_pool3d", x, options, 3)


def max_pool1d_with_indices(x: Tensor, options: MaxPoolOptions) -> tuple[Tensor, Tensor]:
    """(max_pool1d, the maxima's indices in the unpadded axis)."""
    return _max_pool_with_indices("max_pool1d_with_indices", x, options, 1)


def max_pool2d_with_indices(x: Tensor, options: MaxPoolOptions) -> tuple[Tensor, Tensor]:
    """(max_pool2d, the maxima's indices h·W + w in the unpadded plane): the first in scan order wins."""
    return _max_pool_with_indices("max_pool2d_with_indices", x, options, 2)


def max_pool3d_with_indices(x: Tensor, options: MaxPoolOptions) -> tuple[Tensor, Tensor]:
    """(max_pool3d, the maxima's indices (d·H + h)·W + w in the unpadded volume)."""
    return _max_pool_with_indices("max_pool3d_with_indices", x, options, 3)


def max_pool2d_with_indices_backward(
    x: Tensor, options: MaxPoolOptions, output_grad: Tensor, indices: Tensor
) -> Tensor:
    """The gradient of x: output_grad added at the indices."""
    return _max_pool_backward("max_pool2d_with_indices_backward", x, options, output_grad, indices, 2)


def max_pool3d_with_indices_backward(
    x: Tensor, options: MaxPoolOptions, output_grad: Tensor, indices: Tensor
) -> Tensor:
    """The gradient of x: output_grad added at the indices."""
    return _max_pool_backward("max_pool3d_with_indices_backward", x, options, output_grad, indices, 3)


def avg_pool1d(x: Tensor, options: AvgPoolOptions) -> Tensor:
    """Means of windows: x [N, C, L] → [N, C, Lo]. Padding counts in the divisor unless count_include_pad is false."""
    return _avg_pool("avg_pool1d", x, options, 1)


def avg_pool2d(x: Tensor, options: AvgPoolOptions) -> Tensor:
    """Means of windows: x [N, C, H, W] → [N, C, Ho, Wo]."""
    return _avg_pool("avg_pool2d", x, options, 2)


def avg_pool3d(x: Tensor, options: AvgPoolOptions) -> Tensor:
    """Means of windows: x [N, C, D, H, W] → [N, C, Do, Ho, Wo]."""
    return _avg_pool("avg_pool3d", x, options, 3)


def avg_pool2d_backward(x: Tensor, output_grad: Tensor, options: AvgPoolOptions) -> Tensor:
    """The gradient of x of an avg_pool2d with symmetric padding."""
    return _avg_pool_backward("avg_pool2d_backward", x, output_grad, options, 2)


def avg_pool3d_backward(x: Tensor, output_grad: Tensor, options: AvgPoolOptions) -> Tensor:
    """The gradient of x of an avg_pool3d with symmetric padding."""
    return _avg_pool_backward("avg_pool3d_backward", x, output_grad, options, 3)


def adaptive_avg_pool1d(x: Tensor, output_size: int) -> Tensor:
    """Means of output_size windows [⌊i·in/out⌋, ⌈(i+1)·in/out⌉) that cover x [N, C, L] → [N, C, output_size]."""
    check.exact_rank("adaptive_avg_pool1d", x, 3, "x")
    check.space("adaptive_avg_pool1d", x)
    size = check.positive("adaptive_avg_pool1d", output_size, "output_size")
    return wrap(x._ops.backend.adaptive_avg_pool1d(x.primitive, size), x._ops)


def adaptive_avg_pool2d(x: Tensor, output_size: Sequence[int]) -> Tensor:
    """Means of windows that cover x [N, C, H, W] → [N, C, *output_size]."""
    check.exact_rank("adaptive_avg_pool2d", x, 4, "x")
    check.space("adaptive_avg_pool2d", x)
    size = check.sizes("adaptive_avg_pool2d", output_size, 2, "output_size")
    return wrap(x._ops.backend.adaptive_avg_pool2d(x.primitive, size), x._ops)


def adaptive_avg_pool3d(x: Tensor, output_size: Sequence[int]) -> Tensor:
    """Means of windows that cover x [N, C, D, H, W] → [N, C, *output_size]."""
    check.exact_rank("adaptive_avg_pool3d", x, 5, "x")
    check.space("adaptive_avg_pool3d", x)
    size = check.sizes("adaptive_avg_pool3d", output_size, 3, "output_size")
    return wrap(x._ops.backend.adaptive_avg_pool3d(x.primitive, size), x._ops)


def max_pool_output_size(input_size: Sequence[int], options: MaxPoolOptions) -> tuple[int, ...] | None:
    """The spatial sizes that max pooling gives for these; None where a window fits nowhere."""
    return _output_size("max_pool_output_size", input_size, options)


def avg_pool_output_size(input_size: Sequence[int], options: AvgPoolOptions) -> tuple[int, ...] | None:
    """The spatial sizes that average pooling gives for these; None where a window fits nowhere."""
    return _output_size("avg_pool_output_size", input_size, options)


# ------------------------------------------------------------------------------------------- pooling, inside


def _output_size(name: str, input_size: Sequence[int], options: Any) -> tuple[int, ...] | None:
    check.options(name, options, "kernel_size", "stride", "padding", "dilation", "ceil_mode")
    sizes = check.sizes(name, input_size, len(options.kernel_size), "input_size")
    entries = zip(sizes, options.kernel_size, options.stride, options.padding, options.dilation, strict=True)
    try:
        return tuple(pool_output_size(n, k, s, p, d, options.ceil_mode, name) for n, k, s, p, d in entries)
    except ShapeError:
        return None


def _pool_checks(name: str, x: Tensor, options: Any, spatial: int) -> tuple[int, ...]:
    """The output sizes; raises when x or the options do not fit."""
    check.kind(name, x, "x", "float")
    check.exact_rank(name, x, spatial + 2, "x")
    check.space(name, x)
    check.options(name, options, "kernel_size", "stride", "padding", "dilation")
    check.spatial(name, spatial, kernel_size=options.kernel_size)
    sizes = []
    entries = zip(x.shape[2:], options.kernel_size, options.stride, options.padding, options.dilation, strict=True)
    for n, k, s, p, d in entries:
        if spatial == 3 and p[0] == p[1] and p[0] > (d * (k - 1) + 1) // 2:
            raise ArgumentError(
                f"{name}: padding {p[0]} with kernel size {k} and dilation {d}; "
                f"it must be at most half the kernel's span of {d * (k - 1) + 1}"
            )
        sizes.append(pool_output_size(n, k, s, p, d, options.ceil_mode, name))
    return tuple(sizes)


def _plain(spatial: int, options: Any, padding: tuple[int, ...]) -> tuple[Any, ...]:
    """kernel, stride, padding, dilation as the contract takes them: numbers in one dimension, tuples in more."""
    values = (options.kernel_size, options.stride, padding, options.dilation)
    return tuple(v[0] for v in values) if spatial == 1 else values


def _materialised(x: Tensor, options: Any, value: float) -> Tensor:
    return x.pad([*options.padding], PadMode.constant(value))


def _cropped(tensor: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """Without the last windows that would start in the end padding (ceil mode with materialised padding)."""
    return tensor if tensor.shape[2:] == sizes else tensor.slice([(0, n) for n in (*tensor.shape[:2], *sizes)])


def _max_pool(name: str, x: Tensor, options: MaxPoolOptions, spatial: int) -> Tensor:
    sizes = _pool_checks(name, x, options, spatial)
    function = getattr(x._ops.backend, name)
    if not options.is_asymmetric:
        padding = tuple(p[0] for p in options.padding)
        return wrap(function(x.primitive, *_plain(spatial, options, padding), options.ceil_mode), x._ops)
    padded = _materialised(x, options, float("-inf"))
    found = function(padded.primitive, *_plain(spatial, options, (0,) * spatial), options.ceil_mode)
    return _cropped(wrap(found, x._ops), sizes)


def _max_pool_with_indices(name: str, x: Tensor, options: MaxPoolOptions, spatial: int) -> tuple[Tensor, Tensor]:
    sizes = _pool_checks(name, x, options, spatial)
    function = getattr(x._ops.backend, name)
    ints, dtype = x._ops.of("int"), x.device.settings.int_dtype
    if not options.is_asymmetric:
        plain = _plain(spatial, options, tuple(p[0] for p in options.padding))
        values, indices = function(x.primitive, *plain, options.ceil_mode, dtype)
        return wrap(values, x._ops), wrap(indices, ints)
    padded = _materialised(x, options, float("-inf"))
    plain = _plain(spatial, options, (0,) * spatial)
    values, indices = function(padded.primitive, *plain, options.ceil_mode, dtype)
    rest = _cropped(wrap(indices, ints), sizes)
    # Flat index in the padded space → coordinates → unpadded ones, clamped to the nearest element → flat index.
    flat: Tensor | None = None
    coordinates = []
    for n in reversed(padded.shape[2:]):
        coordinates.append(rest.remainder(n))
        rest = rest.div(n)
    for at, n, (before, _) in zip(reversed(coordinates), x.shape[2:], options.padding, strict=True):
        place = at.sub(before).clamp(0, n - 1)
        flat = place if flat is None else flat.mul(n).add(place)
    assert flat is not None
    return _cropped(wrap(values, x._ops), sizes), flat


def _max_pool_backward(
    name: str, x: Tensor, options: MaxPoolOptions, output_grad: Tensor, indices: Tensor, spatial: int
) -> Tensor:
    sizes = _pool_checks(name, x, options, spatial)
    check.together(name, x, output_grad=output_grad)
    check.kind(name, indices, "indices", "int")
    check.same_shape(name, (*x.shape[:2], *sizes), output_grad.shape, "output_grad")
    check.same_shape(name, output_grad.shape, indices.shape, "indices")
    plain = _plain(spatial, options, tuple(p[0] for p in options.padding))
    function = getattr(x._ops.backend, name)
    args = (x.primitive, *plain, options.ceil_mode, output_grad.primitive, indices.primitive)
    return wrap(function(*args), x._ops)


def _avg_pool(name: str, x: Tensor, options: AvgPoolOptions, spatial: int) -> Tensor:
    sizes = _pool_checks(name, x, options, spatial)
    function = getattr(x._ops.backend, name)
    if not options.is_asymmetric:
        plain = _plain(spatial, options, tuple(p[0] for p in options.padding))
        return wrap(function(x.primitive, *plain, options.count_include_pad, options.ceil_mode), x._ops)
    plain = _plain(spatial, options, (0,) * spatial)

    def pooled(tensor: Tensor) -> Tensor:
        padded = _materialised(tensor, options, 0.0)
        return _cropped(wrap(function(padded.primitive, *plain, True, options.ceil_mode), tensor._ops), sizes)

    mean = pooled(x)
    if options.count_include_pad:
        return mean
    share = pooled(type(x).ones((1, 1, *x.shape[2:]), x.device, x.dtype))
    return (mean / share).mask_fill(share.equal(0.0), 0.0)


def _avg_pool_backward(name: str, x: Tensor, output_grad: Tensor, options: AvgPoolOptions, spatial: int) -> Tensor:
    sizes = _pool_checks(name, x, options, spatial)
    check.together(name, x, output_grad=output_grad)
    check.same_shape(name, (*x.shape[:2], *sizes), output_grad.shape, "output_grad")
    if options.is_asymmetric:
        raise ArgumentError(f"{name}: padding {list(options.padding)} differs between begin and end; it must be equal")
    plain = _plain(spatial, options, tuple(p[0] for p in options.padding))
    function = getattr(x._ops.backend, name)
    args = (x.primitive, output_grad.primitive, *plain, options.count_include_pad, options.ceil_mode)
    return wrap(function(*args), x._ops)
