"""Methods of float tensors."""
# A mixin of Tensor names its self: mypy wants a supertype there.
# mypy: disable-error-code="misc"

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from burn_wgpu.contract.options import GridSampleOptions, InterpolateMode
from burn_wgpu.std.dtype import BF16, F16, F32
from burn_wgpu.std.errors import ArgumentError, ShapeError
from burn_wgpu.tensor import check
from burn_wgpu.tensor.arithmetic import _power
from burn_wgpu.tensor.core import Operand, binary, broadcast, meet, method, unary, wrap

if TYPE_CHECKING:
    from burn_wgpu.tensor.api import Tensor


class Float:
    """Mathematics of floats. An int or bool tensor raises DTypeError: convert it first."""

    __slots__ = ()

    def exp(self: Tensor) -> Tensor:
        """e to the x."""
        return unary(self, "exp")

    def log(self: Tensor) -> Tensor:
        """Natural logarithm; −inf at 0, NaN below."""
        return unary(self, "log")

    def log1p(self: Tensor) -> Tensor:
        """log(1 + x), accurate near 0."""
        return unary(self, "log1p")

    def expm1(self: Tensor) -> Tensor:
        """eˣ − 1, accurate near 0."""
        return unary(self, "expm1")

    def norm(self: Tensor, p: float = 2, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Tensor:
        """(Σ |x|^p)^(1/p) of all elements ([1]), or along axes, which go unless keepdim; see `linalg.vector_norm`."""
        from burn_wgpu.tensor.linalg import vector_norm_dims

        keepdim = check.flag("norm", keepdim, "keepdim")
        if dim is None:
            whole = vector_norm_dims(self.flatten(), p, [0])
            return whole.reshape((1,) * self.rank) if keepdim else whole
        axes = check.dims("norm", dim, self.rank)
        result = vector_norm_dims(self, p, axes)
        return result if keepdim or not axes else result.squeeze_dims(axes)

    def sqrt(self: Tensor) -> Tensor:
        """√x; NaN below 0."""
        return unary(self, "sqrt")

    def recip(self: Tensor) -> Tensor:
        """1 / x; ±inf at ±0."""
        return unary(self, "recip")

    def erf(self: Tensor) -> Tensor:
        """2/√π · ∫₀ˣ exp(−t²) dt."""
        return unary(self, "erf")

    def sin(self: Tensor) -> Tensor:
        """Sine; within 2e-6 up to |x| = 1e5 (f32)."""
        return unary(self, "sin")

    def cos(self: Tensor) -> Tensor:
        """Cosine; accuracy as sine."""
        return unary(self, "cos")

    def tan(self: Tensor) -> Tensor:
        """Tangent; accuracy as sine, away from the poles."""
        return unary(self, "tan")

    def sinh(self: Tensor) -> Tensor:
        """(eˣ − e⁻ˣ) / 2."""
        return unary(self, "sinh")

    def cosh(self: Tensor) -> Tensor:
        """(eˣ + e⁻ˣ) / 2."""
        return unary(self, "cosh")

    def tanh(self: Tensor) -> Tensor:
        """sinh / cosh."""
        return unary(self, "tanh")

    def asin(self: Tensor) -> Tensor:
        """Inverse sine; NaN outside [−1, 1]."""
        return unary(self, "asin")

    def acos(self: Tensor) -> Tensor:
        """Inverse cosine; NaN outside [−1, 1]."""
        return unary(self, "acos")

    def atan(self: Tensor) -> Tensor:
        """Inverse tangent."""
        return unary(self, "atan")

    def asinh(self: Tensor) -> Tensor:
        """Inverse hyperbolic sine."""
        return unary(self, "asinh")

    def acosh(self: Tensor) -> Tensor:
        """Inverse hyperbolic cosine; NaN below 1."""
        return unary(self, "acosh")

    def atanh(self: Tensor) -> Tensor:
        """Inverse hyperbolic tangent; ±inf at ±1, NaN beyond."""
        return unary(self, "atanh")

    def round(self: Tensor) -> Tensor:
        """To the nearest integer, ties to even."""
        return unary(self, "round")

    def floor(self: Tensor) -> Tensor:
        """The largest integer not above x."""
        return unary(self, "floor")

    def ceil(self: Tensor) -> Tensor:
        """The smallest integer not below x."""
        return unary(self, "ceil")

    def trunc(self: Tensor) -> Tensor:
        """The integer part, toward zero."""
        return unary(self, "trunc")

    def round_to(self: Tensor, decimals: int) -> Tensor:
        """To `decimals` places, ties to even (scaled by 10^decimals, rounded, scaled back); negative: left
        of the point."""
        decimals = check.integer("round_to", decimals, "decimals")
        try:
            scale = 10.0 ** abs(decimals)
        except OverflowError:
            scale = math.inf
        if scale > _largest(self):
            raise ArgumentError(
                f"round_to: decimals is {decimals}, and 10^{abs(decimals)} is not finite in {self.dtype}"
            )
        factors = (scale, 1.0) if decimals >= 0 else (1.0, scale)
        return wrap(self._ops.round_to(self.primitive, *factors), self._ops)

    def deg2rad(self: Tensor) -> Tensor:
        """x · π/180."""
        return wrap(self._ops.scale(self.primitive, math.pi / 180), self._ops)

    def rad2deg(self: Tensor) -> Tensor:
        """x · 180/π."""
        return wrap(self._ops.scale(self.primitive, 180 / math.pi), self._ops)

    # --------------------------------------------------------------------------------------- two operands

    def powf(self: Tensor, other: Operand) -> Tensor:
        """self to the power of a float tensor or a number, by IEEE: x⁰ = 1, a negative base needs an integer."""
        return method(_power(self, other), "powf", other)

    powf_scalar = powf

    def hypot(self: Tensor, other: Operand) -> Tensor:
        """√(self² + other²) without overflow."""
        return method(binary(self, other, "hypot", None), "hypot", other)

    def atan2(self: Tensor, other: Operand) -> Tensor:
        """The angle of the point (x = other, y = self), in [−π, π]."""
        return method(binary(self, other, "atan2", None), "atan2", other)

    def fmod(self: Tensor, other: Operand) -> Tensor:
        """self − trunc(self / other)·other, with the sign of self, as C's fmod."""
        return method(binary(self, other, "fmod", "fmod_scalar"), "fmod", other)

    fmod_scalar = fmod

    def cross(self: Tensor, other: Tensor, dim: int = -1) -> Tensor:
        """The cross product along an axis, which has size 3 in both; other axes broadcast."""
        check.operands("cross", self, other)
        rank = max(self.rank, other.rank)
        axis = check.dim("cross", dim, rank)
        lhs, rhs = self.unsqueeze(rank=rank), other.unsqueeze(rank=rank)
        if lhs.shape[axis] != 3 or rhs.shape[axis] != 3:
            raise ShapeError(
                f"cross: shapes {list(self.shape)} and {list(other.shape)} have sizes {lhs.shape[axis]} and "
                f"{rhs.shape[axis]} on axis {axis}; both must be 3"
            )
        check.broadcast("cross", lhs.shape, rhs.shape)
        return wrap(self._ops.cross(lhs.primitive, rhs.primitive, axis), self._ops)

    # ---------------------------------------------------------------------------------------------- tests

    def is_nan(self: Tensor) -> Tensor:
        """Whether x is NaN."""
        return _test(self, "is_nan")

    def is_inf(self: Tensor) -> Tensor:
        """Whether x is ±inf."""
        return _test(self, "is_inf")

    def is_finite(self: Tensor) -> Tensor:
        """Whether x is neither NaN nor ±inf."""
        return _test(self, "is_finite")

    def contains_nan(self: Tensor) -> Tensor:
        """[1]: whether an element is NaN."""
        return _test(self, "is_nan").any()

    def is_close(self: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8) -> Tensor:
        """|self − other| ≤ atol + rtol·|other| for finite pairs; infinities of one sign are close, NaN never is."""
        check.operands("is_close", self, other)
        rtol, atol = check.number("is_close", rtol, "rtol"), check.number("is_close", atol, "atol")
        self, other = meet(self, other)
        ops = self._ops
        function = ops.is_close
        p, q = broadcast("is_close", self, other)
        return wrap(function(p, q, rtol, atol, ops.bool_dtype), ops.of("bool"))

    def all_close(self: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8) -> bool:
        """Whether all elements are close. Waits for the device."""
        return bool(self.is_close(other, rtol, atol).all().item())

    def detach(self: Tensor) -> Tensor:
        """The same values without their history."""
        return unary(self, "detach")

    # ----------------------------------------------------------------------------------- sampling, tables

    def categorical(self: Tensor, num_samples: int) -> Tensor:
        """Indices drawn with the weights of the last axis, which need not add up to 1 → [.., num_samples] ints."""
        n = check.positive("categorical", num_samples, "num_samples")
        check.rank("categorical", self.shape, 1)
        if not self.shape[-1]:
            raise ShapeError(f"categorical: shape {list(self.shape)} has no category; the last axis must not be empty")
        # A running sum in halves stands still after a few hundred categories.
        heights = (self.cast(F32) if self.dtype in (F16, BF16) else self).cumsum(-1)
        total = heights.narrow(-1, self.shape[-1] - 1, 1)
        drawn = type(self).random((*self.shape[:-1], n), None, self.device, heights.dtype).mul(total)
        # The number of heights at or below the draw is the category; the last height rounds up to none too many.
        below = heights.unsqueeze_dim(-2).lower_equal(drawn.unsqueeze_dim(-1))
        return below.int().sum_dim(-1).squeeze_dim(-1).clamp_max(self.shape[-1] - 1)

    def grid_sample_2d(
        self: Tensor, grid: Tensor, options: GridSampleOptions | InterpolateMode | None = None
    ) -> Tensor:
        """self [N, C, H, W] read at grid [N, Ho, Wo, 2] (x, y in [−1, 1]) → [N, C, Ho, Wo]."""
        check.exact_rank("grid_sample_2d", self, 4, "the tensor")
        check.exact_rank("grid_sample_2d", grid, 4, "the grid")
        check.operands("grid_sample_2d", self, grid)
        if grid.shape[0] != self.shape[0] or grid.shape[3] != 2:
            raise ShapeError(
                f"grid_sample_2d: the tensor has shape {list(self.shape)} and the grid {list(grid.shape)}; "
                f"the grid must be [{self.shape[0]}, height, width, 2]"
            )
        check.space("grid_sample_2d", self, "the tensor")
        chosen = GridSampleOptions() if options is None else GridSampleOptions.of(options)
        return wrap(self._ops.grid_sample_2d(self.primitive, grid.primitive, chosen), self._ops)


def in_f32(formula: Callable[[Tensor], Tensor], tensor: Tensor) -> Tensor:
    """A formula of several steps, in f32 and rounded once for halves: constants and differences need its digits."""
    dtype = tensor.dtype
    return formula(tensor.cast(F32)).cast(dtype) if dtype is F16 or dtype is BF16 else formula(tensor)


def _test(tensor: Tensor, name: str) -> Tensor:
    ops = tensor._ops
    return wrap(getattr(ops, name)(tensor.primitive, ops.bool_dtype), ops.of("bool"))


def _largest(tensor: Tensor) -> float:
    from burn_wgpu.tensor.info import finfo

    return finfo(tensor.dtype).max
