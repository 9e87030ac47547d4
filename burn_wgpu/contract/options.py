"""The options of contract functions as frozen records, and the formulas for output sizes.

Spatial options are tuples with one entry per spatial axis. Padding of convolutions is a pair (begin, end) per axis; a
bare number stands for the same padding on both sides.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, NamedTuple

from burn_wgpu.std.errors import ArgumentError, ShapeError

Sizes = tuple[int, ...]
Pairs = tuple[tuple[int, int], ...]


class IndexingUpdateOp(Enum):
    """What scatter, select_assign and scatter_nd do with a new value at an index.

    Duplicate indices: ADD sums them, MUL multiplies them, MIN and MAX reduce over all, ASSIGN keeps any one of them.
    Bools: ASSIGN overwrites, ADD and MAX are OR, MUL and MIN are AND.
    """

    ASSIGN = "assign"
    ADD = "add"
    MUL = "mul"
    MIN = "min"
    MAX = "max"


class ReduceOperation(Enum):
    """How a collective combines its members' tensors."""

    SUM = "sum"
    MEAN = "mean"


@dataclass(frozen=True, slots=True)
class PadMode:
    """What padding is made of: `PadMode.constant(value)`, `.reflect()` (edge not repeated), `.edge()`."""

    kind: str = "constant"
    value: float = 0.0

    @staticmethod
    def constant(value: float = 0.0) -> PadMode:
        return PadMode("constant", value)

    @staticmethod
    def reflect() -> PadMode:
        """Mirrored at the edge element, which is not repeated; needs pads smaller than the axis."""
        return PadMode("reflect")

    @staticmethod
    def edge() -> PadMode:
        """The edge element repeated; needs a non-empty axis."""
        return PadMode("edge")

    @staticmethod
    def of(value: PadMode | float | str) -> PadMode:
        """From a PadMode, a bare number (constant) or a name."""
        if isinstance(value, PadMode):
            return value
        if isinstance(value, str):
            if value not in ("constant", "reflect", "edge"):
                raise ArgumentError(f"pad: mode {value!r} is unknown; use 'constant', 'reflect', 'edge' or a number")
            return PadMode(value)
        return PadMode("constant", value)


# ---------------------------------------------------------------------------------------------------- convolution


@dataclass(frozen=True, slots=True, init=False)
class ConvOptions:
    """stride, padding (begin, end), dilation per spatial axis, and groups. All but padding are at least 1.

    `ConvOptions((1, 1), (2, 0))` pads 2 on both sides of the first axis; pairs are taken as they are.
    """

    stride: Sizes
    padding: Pairs
    dilation: Sizes
    groups: int

    def __init__(
        self,
        stride: Sequence[int],
        padding: Sequence[int | tuple[int, int]],
        dilation: Sequence[int] | None = None,
        groups: int = 1,
    ) -> None:
        ones = (1,) * len(stride)
        _set(self, stride=_sizes(stride), padding=_pairs(padding), groups=operator.index(groups))
        _set(self, dilation=_sizes(dilation) if dilation is not None else ones)
        _check("conv options", self, "stride", "padding", "dilation")
        _positive("conv options", self, "stride", "dilation", "groups")
        _not_negative("conv options", self, "padding")

    @property
    def is_asymmetric(self) -> bool:
        return any(begin != end for begin, end in self.padding)

    @property
    def padding_begin(self) -> Sizes:
        return tuple(begin for begin, _ in self.padding)

    @property
    def padding_end(self) -> Sizes:
        return tuple(end for _, end in self.padding)

    @property
    def symmetric_padding(self) -> Sizes:
        """One number per axis; raises ArgumentError when begin and end differ."""
        if self.is_asymmetric:
            raise ArgumentError(
                f"conv options: padding {_show(self.padding)} differs between begin and end; "
                f"this use needs equal padding on both sides"
            )
        return self.padding_begin

    def without_padding(self) -> ConvOptions:
        return ConvOptions(self.stride, (0,) * len(self.stride), self.dilation, self.groups)


@dataclass(frozen=True, slots=True, init=False)
class ConvTransposeOptions:
    """stride, padding, padding_out, dilation per spatial axis, and groups.

    padding is cut off both ends of the output, padding_out extends it at the end.
    """

    stride: Sizes
    padding: Sizes
    padding_out: Sizes
    dilation: Sizes
    groups: int

    def __init__(
        self,
        stride: Sequence[int],
        padding: Sequence[int],
        padding_out: Sequence[int] | None = None,
        dilation: Sequence[int] | None = None,
        groups: int = 1,
    ) -> None:
        n = len(stride)
        _set(self, stride=_sizes(stride), padding=_sizes(padding), groups=operator.index(groups))
        _set(self, padding_out=_sizes(padding_out) if padding_out is not None else (0,) * n)
        _set(self, dilation=_sizes(dilation) if dilation is not None else (1,) * n)
        _check("conv_transpose options", self, "stride", "padding", "padding_out", "dilation")
        _positive("conv_transpose options", self, "stride", "dilation", "groups")
        _not_negative("conv_transpose options", self, "padding", "padding_out")


@dataclass(frozen=True, slots=True, init=False)
class DeformConvOptions:
    """stride, padding, dilation of both axes; weight_groups split the channels of the product, offset_groups those
    that share offsets and masks."""

    stride: Sizes
    padding: Sizes
    dilation: Sizes
    weight_groups: int
    offset_groups: int

    def __init__(
        self,
        stride: Sequence[int] = (1, 1),
        padding: Sequence[int] = (0, 0),
        dilation: Sequence[int] = (1, 1),
        weight_groups: int = 1,
        offset_groups: int = 1,
    ) -> None:
        _set(self, stride=_sizes(stride), padding=_sizes(padding), dilation=_sizes(dilation))
        _set(self, weight_groups=operator.index(weight_groups), offset_groups=operator.index(offset_groups))
        _check("deform_conv2d options", self, "stride", "padding", "dilation")
        _positive("deform_conv2d options", self, "stride", "dilation", "weight_groups", "offset_groups")
        _not_negative("deform_conv2d options", self, "padding")


@dataclass(frozen=True, slots=True, init=False)
class UnfoldOptions:
    """stride, padding and dilation of both axes of unfold4d and fold4d."""

    stride: Sizes
    padding: Sizes
    dilation: Sizes

    def __init__(
        self, stride: Sequence[int] = (1, 1), padding: Sequence[int] = (0, 0), dilation: Sequence[int] = (1, 1)
    ) -> None:
        _set(self, stride=_sizes(stride), padding=_sizes(padding), dilation=_sizes(dilation))
        _check("unfold options", self, "stride", "padding", "dilation")
        _positive("unfold options", self, "stride", "dilation")
        _not_negative("unfold options", self, "padding")


# -------------------------------------------------------------------------------------------------------- pooling


@dataclass(frozen=True, slots=True, init=False)
class MaxPoolOptions:
    """kernel_size, stride (default: the kernel), padding pairs (0), dilation (1) per axis, ceil_mode.

    The user API's record: contract functions take the fields as separate arguments with symmetric padding.
    """

    kernel_size: Sizes
    stride: Sizes
    padding: Pairs
    dilation: Sizes
    ceil_mode: bool

    def __init__(
        self,
        kernel_size: Sequence[int],
        stride: Sequence[int] | None = None,
        padding: Sequence[int | tuple[int, int]] | None = None,
        dilation: Sequence[int] | None = None,
        ceil_mode: bool = False,
    ) -> None:
        _init_pool("max_pool options", self, kernel_size, stride, padding, dilation, ceil_mode)

    @property
    def is_asymmetric(self) -> bool:
        return any(begin != end for begin, end in self.padding)


@dataclass(frozen=True, slots=True, init=False)
class AvgPoolOptions:
    """As MaxPoolOptions, and count_include_pad (default true): padding counts in the divisor."""

    kernel_size: Sizes
    stride: Sizes
    padding: Pairs
    dilation: Sizes
    ceil_mode: bool
    count_include_pad: bool

    def __init__(
        self,
        kernel_size: Sequence[int],
        stride: Sequence[int] | None = None,
        padding: Sequence[int | tuple[int, int]] | None = None,
        dilation: Sequence[int] | None = None,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        _init_pool("avg_pool options", self, kernel_size, stride, padding, dilation, ceil_mode)
        _set(self, count_include_pad=bool(count_include_pad))

    @property
    def is_asymmetric(self) -> bool:
        return any(begin != end for begin, end in self.padding)


# ---------------------------------------------------------------------------------------------------- resampling


class InterpolateMode(Enum):
    NEAREST = "nearest"
    NEAREST_EXACT = "nearest_exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    LANCZOS3 = "lanczos3"

    @property
    def is_nearest(self) -> bool:
        return self in (InterpolateMode.NEAREST, InterpolateMode.NEAREST_EXACT)


class NearestRoundingMode(Enum):
    """How the nearest modes turn a source coordinate into an index; the PREFER ones differ at halves only."""

    ROUND_PREFER_FLOOR = "round_prefer_floor"
    ROUND_PREFER_CEIL = "round_prefer_ceil"
    FLOOR = "floor"
    CEIL = "ceil"


@dataclass(frozen=True, slots=True)
class CoordinateTransformMode:
    """How an output index becomes a source coordinate (L input size, O output size, σ the scale, else O/L).

    half_pixel             (i + 0.5)/σ − 0.5
    align_corners          i·(L−1)/(O−1), 0 when O is 1; ignores the scale
    asymmetric             i/σ
    pytorch_half_pixel     half_pixel, but 0 when O is 1
    half_pixel_symmetric   half_pixel, centred when L·σ is no integer
    tf_crop_and_resize     a part of the image; outside it extrapolation_value
    """

    kind: str
    roi: tuple[tuple[float, float], tuple[float, float]] | None = None
    extrapolation_value: float = 0.0

    @staticmethod
    def half_pixel() -> CoordinateTransformMode:
        return CoordinateTransformMode("half_pixel")

    @staticmethod
    def align_corners() -> CoordinateTransformMode:
        return CoordinateTransformMode("align_corners")

    @staticmethod
    def asymmetric() -> CoordinateTransformMode:
        return CoordinateTransformMode("asymmetric")

    @staticmethod
    def pytorch_half_pixel() -> CoordinateTransformMode:
        return CoordinateTransformMode("pytorch_half_pixel")

    @staticmethod
    def half_pixel_symmetric() -> CoordinateTransformMode:
        return CoordinateTransformMode("half_pixel_symmetric")

    @staticmethod
    def tf_crop_and_resize(roi: Sequence[Sequence[float]], extrapolation_value: float = 0.0) -> CoordinateTransformMode:
        """roi [[y_start, y_end], [x_start, x_end]], as parts of size − 1; a NaN is an error."""
        (y0, y1), (x0, x1) = roi
        values = (float(y0), float(y1), float(x0), float(x1))
        if any(math.isnan(v) for v in values):
            shown = [list(values[:2]), list(values[2:])]
            raise ArgumentError(f"interpolate: the roi {shown} contains NaN; its four ends must be numbers")
        return CoordinateTransformMode("tf_crop_and_resize", (values[:2], values[2:]), float(extrapolation_value))


@dataclass(frozen=True, slots=True)
class CubicOptions:
    """a: the parameter of the Keys kernel. exclude_outside: taps outside the image weigh 0 and the rest is rescaled."""

    a: float = -0.75
    exclude_outside: bool = False


@dataclass(frozen=True, slots=True, init=False)
class InterpolateOptions:
    """mode, coordinate transform, rounding of the nearest modes, cubic options, and the output size or the scale.

    Defaults follow the mode: NEAREST is asymmetric with floor, NEAREST_EXACT half_pixel with round_prefer_ceil, the
    others align_corners. At most one of output_size and scale_factor is given (pairs, height first).
    """

    mode: InterpolateMode
    coordinate_transform: CoordinateTransformMode
    nearest_mode: NearestRoundingMode
    cubic_options: CubicOptions
    output_size: tuple[int, int] | None
    scale_factor: tuple[float, float] | None

    def __init__(
        self,
        mode: InterpolateMode,
        coordinate_transform: CoordinateTransformMode | None = None,
        nearest_mode: NearestRoundingMode | None = None,
        cubic_options: CubicOptions | None = None,
        output_size: Sequence[int] | None = None,
        scale_factor: Sequence[float] | None = None,
    ) -> None:
        if output_size is not None and scale_factor is not None:
            raise ArgumentError(
                f"interpolate options: output_size {list(output_size)} and scale_factor {list(scale_factor)} are both "
                f"given; give one of them"
            )
        if scale_factor is not None and not all(0 < s < math.inf for s in scale_factor):
            raise ArgumentError(f"interpolate options: scale_factor is {list(scale_factor)}; it must be above 0")
        if output_size is not None and not all(n > 0 for n in output_size):
            raise ArgumentError(f"interpolate options: output_size is {list(output_size)}; it must be above 0")
        if coordinate_transform is None:
            coordinate_transform = CoordinateTransformMode(
                {InterpolateMode.NEAREST: "asymmetric", InterpolateMode.NEAREST_EXACT: "half_pixel"}.get(
                    mode, "align_corners"
                )
            )
        if nearest_mode is None:
            exact = mode is InterpolateMode.NEAREST_EXACT
            nearest_mode = NearestRoundingMode.ROUND_PREFER_CEIL if exact else NearestRoundingMode.FLOOR
        _set(self, mode=mode, coordinate_transform=coordinate_transform, nearest_mode=nearest_mode)
        _set(self, cubic_options=cubic_options or CubicOptions())
        _set(self, output_size=None if output_size is None else _sizes(output_size))
        _set(self, scale_factor=None if scale_factor is None else tuple(float(s) for s in scale_factor))

    @property
    def align_corners(self) -> bool:
        return self.coordinate_transform.kind == "align_corners"

    def with_align_corners(self, align_corners: bool) -> InterpolateOptions:
        """align_corners or half_pixel; the nearest modes stay as they are."""
        if self.mode.is_nearest:
            return self
        kind = "align_corners" if align_corners else "half_pixel"
        return replace(self, coordinate_transform=CoordinateTransformMode(kind))

    def with_output_size(self, output_size: Sequence[int]) -> InterpolateOptions:
        """Clears the scale factor."""
        return replace(self, output_size=_sizes(output_size), scale_factor=None)

    def with_scale_factor(self, scale_factor: Sequence[float]) -> InterpolateOptions:
        """Clears the output size."""
        return replace(self, output_size=None, scale_factor=(scale_factor[0], scale_factor[1]))


class GridSamplePaddingMode(Enum):
    """ZEROS: corners outside count 0. BORDER: coordinates are clamped. REFLECTION: they bounce at the borders."""

    ZEROS = "zeros"
    BORDER = "border"
    REFLECTION = "reflection"


@dataclass(frozen=True, slots=True)
class GridSampleOptions:
    """mode, what lies outside the image, and whether −1 and 1 mean the corner pixels' centres (align_corners)."""

    mode: InterpolateMode = InterpolateMode.BILINEAR
    padding_mode: GridSamplePaddingMode = GridSamplePaddingMode.ZEROS
    align_corners: bool = False

    @staticmethod
    def of(value: GridSampleOptions | InterpolateMode) -> GridSampleOptions:
        """From the options or a bare mode."""
        return value if isinstance(value, GridSampleOptions) else GridSampleOptions(value)


# ------------------------------------------------------------------------------------------------------ attention


class CausalAlignment(Enum):
    """Where the causal diagonal lies when queries and keys differ in number: query i sees key j iff j ≤ i + offset."""

    BOTTOM_RIGHT = "bottom_right"
    """offset = keys − queries: the last query sees every key"""
    TOP_LEFT = "top_left"
    """offset = 0: the first query sees the first key only"""

    def offset(self, queries: int, keys: int) -> int:
        return keys - queries if self is CausalAlignment.BOTTOM_RIGHT else 0


@dataclass(frozen=True, slots=True)
class AttentionModuleOptions:
    """scale (none: 1/√D), softcap (c·tanh(scores/c), none: off), is_causal and the diagonal's alignment."""

    scale: float | None = None
    softcap: float | None = None
    is_causal: bool = False
    causal_alignment: CausalAlignment = CausalAlignment.BOTTOM_RIGHT

    def __post_init__(self) -> None:
        if self.softcap is not None and not self.softcap > 0:
            raise ArgumentError(f"attention options: softcap is {self.softcap}; it must be above 0, or None to omit it")


# -------------------------------------------------------------------------------------------------------- results


class BatchNormTrain(NamedTuple):
    """output [N, C, ..]; mean and (biased) variance [C] of this batch."""

    output: Any
    mean: Any
    variance: Any


class BatchNormGradients(NamedTuple):
    x_grad: Any
    gamma_grad: Any
    beta_grad: Any


class AttentionGradients(NamedTuple):
    query_grad: Any
    key_grad: Any
    value_grad: Any


class DeformConvGradients(NamedTuple):
    """mask_grad and bias_grad are None when the call had no mask or bias."""

    x_grad: Any
    offset_grad: Any
    weight_grad: Any
    mask_grad: Any
    bias_grad: Any


# ---------------------------------------------------------------------------------------------------- quantization


class Calibration(Enum):
    """MIN_MAX: the range of the values. ABS_MEAN: ± the mean of their magnitudes."""

    MIN_MAX = "min_max"
    ABS_MEAN = "abs_mean"


@dataclass(frozen=True, slots=True)
class QuantizationParameters:
    """scales: a float tensor, one per block (or one); global_scale: the scale of the scales of two-level schemes."""

    scales: Any
    global_scale: Any = None


# ------------------------------------------------------------------------------------------------------ distribution


@dataclass(frozen=True, slots=True)
class DistributedConfig:
    """How data-parallel training combines gradients."""

    all_reduce_op: ReduceOperation = field(default=ReduceOperation.MEAN)


# ----------------------------------------------------------------------------------------------------- size formulas


def conv_output_size(
    size: int, kernel: int, stride: int, padding: tuple[int, int], dilation: int, operation: str = "conv"
) -> int:
    """(size + begin + end − dilation·(kernel−1) − 1) // stride + 1; raises ShapeError when the kernel does not fit."""
    span = dilation * (kernel - 1) + 1
    padded = size + padding[0] + padding[1]
    if kernel < 1 or padded < span:
        raise ShapeError(
            f"{operation}: a kernel of size {kernel} with dilation {dilation} spans {span} elements, but the axis has "
            f"{size} with padding {padding[0]} and {padding[1]}; the kernel must fit into the padded axis"
        )
    return (padded - span) // stride + 1


def pool_output_size(
    size: int,
    kernel: int,
    stride: int,
    padding: tuple[int, int],
    dilation: int,
    ceil_mode: bool,
    operation: str = "pool",
) -> int:
    """Windows along one axis: as a convolution, or rounded up in ceil_mode.

    In ceil_mode the last window is dropped when it would start in the end padding (PyTorch's and ONNX's rule), and an
    axis smaller than the window still gives one window when less than a stride is missing.
    """
    span = dilation * (kernel - 1) + 1
    padded = size + padding[0] + padding[1]
    if padded < span:
        if ceil_mode and span - padded < stride:
            return 1
        raise ShapeError(
            f"{operation}: a window of size {kernel} with dilation {dilation} spans {span} elements, but the axis has "
            f"{size} with padding {padding[0]} and {padding[1]}; the window must fit into the padded axis"
        )
    if not ceil_mode:
        return (padded - span) // stride + 1
    windows = -((span - padded) // stride) + 1
    return windows - 1 if (windows - 1) * stride >= size + padding[0] else windows


def conv_transpose_output_size(
    size: int,
    kernel: int,
    stride: int,
    padding: int,
    padding_out: int,
    dilation: int,
    operation: str = "conv_transpose",
) -> int:
    """(size−1)·stride + dilation·(kernel−1) + 1 + padding_out − 2·padding; raises ShapeError when negative."""
    out = (size - 1) * stride + dilation * (kernel - 1) + 1 + padding_out - 2 * padding
    if out < 0:
        raise ShapeError(
            f"{operation}: an axis of size {size} with kernel {kernel}, stride {stride} and padding {padding} would "
            f"have size {out}; padding must not cut off more than there is"
        )
    return out


def conv_transpose_input_size(out: int, kernel: int, stride: int, padding: int, padding_out: int, dilation: int) -> int:
    """The inverse of `conv_transpose_output_size`."""
    return (out + 2 * padding - dilation * (kernel - 1) - padding_out - 1) // stride + 1


def same_padding(size: int, out: int, kernel: int, stride: int) -> int:
    """The symmetric padding that keeps `out` windows: ceil((stride·(out−1) − size + kernel) / 2)."""
    return max(0, -(-(stride * (out - 1) - size + kernel) // 2))


def gradient_padding_out(size: int, out: int, kernel: int, stride: int, padding: int, dilation: int) -> int:
    """padding_out of the transposed convolution that is the gradient of a convolution size → out.

    It restores the tail of the input that no window covers.
    """
    if stride <= 1:
        return 0
    return max(0, size - ((out - 1) * stride + dilation * (kernel - 1) + 1 - 2 * padding))


def adaptive_window(index: int, size: int, out: int) -> tuple[int, int]:
    """The half-open window of output `index`: floor(i·size/out), ceil((i+1)·size/out)."""
    return index * size // out, -(-(index + 1) * size // out)


def unfold_windows(size: int, window: int, step: int) -> int:
    """Windows of float_unfold along an axis; 0 when the axis is smaller than the window."""
    return (size + step - window) // step if size + step >= window else 0


def interpolate_output_size(input_size: Sequence[int], options: InterpolateOptions) -> tuple[int, int]:
    """(height, width): output_size, or floor(size · scale_factor) in float64; raises ArgumentError without either."""
    if options.output_size is not None:
        return options.output_size
    if options.scale_factor is None:
        raise ArgumentError("interpolate: the options give neither output_size nor scale_factor; one of them is needed")
    height, width = (math.floor(n * s) for n, s in zip(input_size, options.scale_factor, strict=True))
    if height < 1 or width < 1:
        raise ShapeError(
            f"interpolate: size {list(input_size)} times scale_factor {list(options.scale_factor)} is "
            f"{[height, width]}; every axis needs at least one element"
        )
    return height, width


# ----------------------------------------------------------------------------------------------------------- checks


def _set(record: object, **values: object) -> None:
    for name, value in values.items():
        object.__setattr__(record, name, value)


def _sizes(values: Sequence[int]) -> Any:
    return tuple(operator.index(v) for v in values)


def _pairs(values: Sequence[int | tuple[int, int]]) -> Pairs:
    return tuple(
        (operator.index(v[0]), operator.index(v[1])) if isinstance(v, (tuple, list)) else (operator.index(v),) * 2  # type: ignore[arg-type]
        for v in values
    )  # type: ignore[return-value]


def _init_pool(
    what: str,
    record: object,
    kernel_size: Sequence[int],
    stride: Sequence[int] | None,
    padding: Sequence[int | tuple[int, int]] | None,
    dilation: Sequence[int] | None,
    ceil_mode: bool,
) -> None:
    kernel = _sizes(kernel_size)
    _set(record, kernel_size=kernel, stride=kernel if stride is None else _sizes(stride))
    _set(record, padding=_pairs((0,) * len(kernel) if padding is None else padding))
    _set(record, dilation=(1,) * len(kernel) if dilation is None else _sizes(dilation), ceil_mode=bool(ceil_mode))
    _check(what, record, "kernel_size", "stride", "padding", "dilation")
    _positive(what, record, "kernel_size", "stride", "dilation")
    _not_negative(what, record, "padding")


def _show(value: Any) -> str:
    return str(list(value)) if isinstance(value, tuple) else str(value)


def _check(what: str, record: object, first: str, *others: str) -> None:
    rank = len(getattr(record, first))
    for name in others:
        if len(getattr(record, name)) != rank:
            raise ArgumentError(
                f"{what}: {first} {_show(getattr(record, first))} and {name} {_show(getattr(record, name))} differ in "
                f"length; each needs one entry per spatial axis"
            )


def _positive(what: str, record: object, *names: str) -> None:
    for name in names:
        value = getattr(record, name)
        if min(value if isinstance(value, tuple) else (value,)) < 1:
            raise ArgumentError(f"{what}: {name} is {_show(value)}; it must be at least 1")


def _not_negative(what: str, record: object, *names: str) -> None:
    for name in names:
        value = getattr(record, name)
        flat = [n for entry in value for n in (entry if isinstance(entry, tuple) else (entry,))]
        if min(flat, default=0) < 0:
            raise ArgumentError(f"{what}: {name} is {_show(value)}; it must not be negative")
