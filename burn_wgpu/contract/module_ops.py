"""ModuleOps: what layers are made of. Convolutions, pooling, normalisation, resampling, attention, CTC.

Axes: N batch, C channels (Ci in, Co out), then space. Options are the records of `contract.options`; padding of
pooling is symmetric here. Every function that is not `@required` has a body composed of other contract functions,
which a backend replaces where a kernel of its own is worth it. f16 and bf16 accumulate in f32.
"""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from collections.abc import Sequence

from burn_wgpu.contract.declare import required
from burn_wgpu.contract.defaults import attention as attention_defaults
from burn_wgpu.contract.defaults import conv, ctc, norm, pool
from burn_wgpu.contract.defaults import interpolate as interpolate_defaults
from burn_wgpu.contract.options import (
    AttentionGradients,
    AttentionModuleOptions,
    BatchNormGradients,
    BatchNormTrain,
    ConvOptions,
    ConvTransposeOptions,
    DeformConvGradients,
    DeformConvOptions,
    InterpolateOptions,
    UnfoldOptions,
)
from burn_wgpu.contract.types import BoolPrim, FloatPrim, Group, IntPrim
from burn_wgpu.std.dtype import DType


class ModuleOps(Group):
    """68 functions."""

    # ------------------------------------------------------------------------------------------- normalisation

    def batch_norm(
        self, x: FloatPrim, gamma: FloatPrim, beta: FloatPrim, mean: FloatPrim, variance: FloatPrim, eps: float
    ) -> FloatPrim:
        """(x − mean) / √(variance + eps) · gamma + beta per channel, with statistics that are given.

        x [N, C, ..], the others [C] → x's shape. mean and variance may be f32 beside an f16 or bf16 x.
        """
        return norm.batch_norm(self, x, gamma, beta, mean, variance, eps)

    def batch_norm_train(self, x: FloatPrim, gamma: FloatPrim, beta: FloatPrim, eps: float) -> BatchNormTrain:
        """Batch norm with x's own statistics: output, mean [C] and biased variance [C] (without eps).

        The statistics are over all axes but C; for f16 and bf16 they are computed and returned in f32, whose range
        the backward pass needs. Running statistics are the caller's.
        """
        return norm.batch_norm_train(self, x, gamma, beta, eps)

    def batch_norm_train_backward(
        self,
        x: FloatPrim,
        gamma: FloatPrim,
        mean: FloatPrim,
        variance: FloatPrim,
        eps: float,
        output_grad: FloatPrim,
    ) -> BatchNormGradients:
        """The gradients of x, gamma and beta, with x̂ = (x − mean)/√(variance + eps).

        beta Σg; gamma Σg·x̂; x gamma/√(variance + eps)·(g − mean(g) − x̂·mean(g·x̂)). mean and variance are those
        that batch_norm_train returned.
        """
        return norm.batch_norm_train_backward(self, x, gamma, mean, variance, eps, output_grad)

    def layer_norm(self, x: FloatPrim, gamma: FloatPrim, beta: FloatPrim | None, eps: float) -> FloatPrim:
        """(x − mean) / √(variance + eps) · gamma (+ beta) over the last axis, with the biased variance.

        x [.., D], gamma and beta [D] → x's shape. Two passes, in f32 for f16 and bf16.
        """
        return norm.layer_norm(self, x, gamma, beta, eps)

    # --------------------------------------------------------------------------------------- embedding, linear

    def embedding(self, weights: FloatPrim, indices: IntPrim) -> FloatPrim:
        """The rows of weights [V, D] at indices [N, S] → [N, S, D]."""
        return norm.embedding(self, weights, indices)

    def embedding_backward(self, weights: FloatPrim, output_grad: FloatPrim, indices: IntPrim) -> FloatPrim:
        """output_grad [N, S, D] added up at its rows → weights' shape [V, D]."""
        return norm.embedding_backward(self, weights, output_grad, indices)

    def linear(self, x: FloatPrim, weight: FloatPrim, bias: FloatPrim | None) -> FloatPrim:
        """x · weight (+ bias): x [.., Din], weight [Din, Dout], bias [Dout] → [.., Dout]."""
        return norm.linear(self, x, weight, bias)

    def linear_x_backward(self, weight: FloatPrim, output_grad: FloatPrim) -> FloatPrim:
        """output_grad · weightᵀ: [.., Dout] → [.., Din]."""
        return self.linear(output_grad, self.float_swap_dims(weight, 0, 1), None)

    def linear_weight_backward(self, x: FloatPrim, output_grad: FloatPrim) -> FloatPrim:
        """xᵀ · output_grad over all rows → [Din, Dout]."""
        return norm.linear_weight_backward(self, x, output_grad)

    def linear_bias_backward(self, output_grad: FloatPrim) -> FloatPrim:
        """The sum of the rows → [Dout]."""
        return norm.linear_bias_backward(self, output_grad)

    # ------------------------------------------------------------------------------------------- convolution

    def conv1d(self, x: FloatPrim, weight: FloatPrim, bias: FloatPrim | None, options: ConvOptions) -> FloatPrim:
        """Cross-correlation: x [N, Ci, L], weight [Co, Ci/groups, k], bias [Co] → [N, Co, Lo].

        Lo = (L + begin + end − dilation·(k−1) − 1) // stride + 1. Padding may differ between begin and end.
        It is zeros of x, which are multiplied like any other: over an infinite weight they give NaN.
        """
        return conv.conv1d(self, x, weight, bias, options)

    def conv1d_x_backward(
        self, x: FloatPrim, weight: FloatPrim, output_grad: FloatPrim, options: ConvOptions
    ) -> FloatPrim:
        """The gradient of x, in x's shape; a tail that no window reached is 0.

        A tap without an output adds nothing, whatever its weight.
        """
        return conv.conv_x_backward(self, x, weight, output_grad, options)

    def conv1d_weight_backward(
        self, x: FloatPrim, weight: FloatPrim, output_grad: FloatPrim, options: ConvOptions
    ) -> FloatPrim:
        """The gradient of the weight, in its shape."""
        return conv.conv_weight_backward(self, x, weight, output_grad, options)

    def conv1d_bias_backward(self, x: FloatPrim, bias: FloatPrim, output_grad: FloatPrim) -> FloatPrim:
        """The sum of output_grad over batch and space → [Co]."""
        return conv.conv_bias_backward(self, output_grad)

    @required
    def conv2d(self, x: FloatPrim, weight: FloatPrim, bias: FloatPrim | None, options: ConvOptions) -> FloatPrim:
        """Cross-correlation: x [N, Ci, H, W], weight [Co, Ci/groups, kh, kw], bias [Co] → [N, Co, Ho, Wo].

        Sizes as in conv1d. Group g of the outputs sees group g of the channels. Padding may be asymmetric:
        `defaults.conv.pad_asymmetric_conv_input` turns it into a pad for kernels that know symmetric padding only.
        """

    def conv2d_x_backward(
        self, x: FloatPrim, weight: FloatPrim, output_grad: FloatPrim, options: ConvOptions
    ) -> FloatPrim:
        """As conv1d_x_backward."""
        return conv.conv_x_backward(self, x, weight, output_grad, options)

    def conv2d_weight_backward(
        self, x: FloatPrim, weight: FloatPrim, output_grad: FloatPrim, options: ConvOptions
    ) -> FloatPrim:
        """As conv1d_weight_backward."""
        return conv.conv_weight_backward(self, x, weight, output_grad, options)

    def conv2d_bias_backward(self, x: FloatPrim, bias: FloatPrim, output_grad: FloatPrim) -> FloatPrim:
        """As conv1d_bias_backward."""
        return conv.conv_bias_backward(self, output_grad)

    @required
    def deform_conv2d(
        self,
        x: FloatPrim,
        offset: FloatPrim,
        weight: FloatPrim,
        mask: FloatPrim | None,
        bias: FloatPrim | None,
        options: DeformConvOptions,
    ) -> FloatPrim:
        """A convolution whose taps are moved by offsets and scaled by a mask.

        x [N, Ci, H, W], offset [N, 2·og·kh·kw, Ho, Wo], weight [Co, Ci/wg, kh, kw], mask [N, og·kh·kw, Ho, Wo],
        bias [Co] → [N, Co, Ho, Wo]; og and wg are the offset and weight groups. Offset channels are, for each offset
        group, row and column of the kernel, the pair (dy, dx); tap (i, j) samples at y = oy·s − p + i·d + dy and x
        likewise, bilinearly. Positions outside (−1, H) × (−1, W) give 0, also infinite ones, and corners outside the
        image count 0; an offset that is NaN gives NaN.
        """

    @required
    def deform_conv2d_backward(
        self,
        x: FloatPrim,
        offset: FloatPrim,
        weight: FloatPrim,
        mask: FloatPrim | None,
        bias: FloatPrim | None,
        output_grad: FloatPrim,
        options: DeformConvOptions,
    ) -> DeformConvGradients:
        """The gradients of x, offset, weight, mask and bias (None for those that were not given).

        The same input gives the same bits, however many taps look at one element of x.
        """

    @required
    def conv3d(self, x: FloatPrim, weight: FloatPrim, bias: FloatPrim | None, options: ConvOptions) -> FloatPrim:
        """Cross-correlation: x [N, Ci, D, H, W], weight [Co, Ci/groups, kd, kh, kw], bias [Co] → [N, Co, Do, Ho, Wo].

        As conv2d, asymmetric padding included.
        """

    def conv3d_x_backward(
        self, x: FloatPrim, weight: FloatPrim, output_grad: FloatPrim, options: ConvOptions
    ) -> FloatPrim:
        """As conv1d_x_backward."""
        return conv.conv_x_backward(self, x, weight, output_grad, options)

    def conv3d_weight_backward(
        self, x: FloatPrim, weight: FloatPrim, output_grad: FloatPrim, options: ConvOptions
    ) -> FloatPrim:
        """As conv1d_weight_backward."""
        return conv.conv_weight_backward(self, x, weight, output_grad, options)

    def conv3d_bias_backward(self, x: FloatPrim, bias: FloatPrim, output_grad: FloatPrim) -> FloatPrim:
        """As conv1d_bias_backward."""
        return conv.conv_bias_backward(self, output_grad)

    # --------------------------------------------------------------------------------- transposed convolution

    def conv_transpose1d(
        self, x: FloatPrim, weight: FloatPrim, bias: FloatPrim | None, options: ConvTransposeOptions
    ) -> FloatPrim:
        """The adjoint of a convolution: x [N, Ci, L], weight [Ci, Co/groups, k], bias [Co] → [N, Co, Lo].

        Lo = (L−1)·stride + dilation·(k−1) + 1 + padding_out − 2·padding; element i of x is added, times tap j, at
        i·stride + j·dilation − padding. Where no element of x comes nothing is added, whatever the weight.
        """
        return conv.conv_transpose1d(self, x, weight, bias, options)

    def conv_transpose1d_x_backward(
        self, weight: FloatPrim, output_grad: FloatPrim, options: ConvTransposeOptions
    ) -> FloatPrim:
        """The gradient of x, whose size follows from output_grad's."""
        return conv.conv_transpose_x_backward(self, weight, output_grad, options)

    def conv_transpose1d_weight_backward(
        self, x: FloatPrim, weight: FloatPrim, output_grad: FloatPrim, options: ConvTransposeOptions
    ) -> FloatPrim:
        """The gradient of the weight, in its shape."""
        return conv.conv_transpose_weight_backward(self, x, weight, output_grad, options)

    def conv_transpose1d_bias_backward(self, x: FloatPrim, bias: FloatPrim, output_grad: FloatPrim) -> FloatPrim:
        """The sum of output_grad over batch and space → [Co]."""
        return conv.conv_bias_backward(self, output_grad)

    @required
    def conv_transpose2d(
        self, x: FloatPrim, weight: FloatPrim, bias: FloatPrim | None, options: ConvTransposeOptions
    ) -> FloatPrim:
        """x [N, Ci, H, W], weight [Ci, Co/groups, kh, kw], bias [Co] → [N, Co, Ho, Wo]; as conv_transpose1d."""

    def conv_transpose2d_x_backward(
        self, weight: FloatPrim, output_grad: FloatPrim, options: ConvTransposeOptions
    ) -> FloatPrim:
        """As conv_transpose1d_x_backward."""
        return conv.conv_transpose_x_backward(self, weight, output_grad, options)

    def conv_transpose2d_weight_backward(
        self, x: FloatPrim, weight: FloatPrim, output_grad: FloatPrim, options: ConvTransposeOptions
    ) -> FloatPrim:
        """As conv_transpose1d_weight_backward."""
        return conv.conv_transpose_weight_backward(self, x, weight, output_grad, options)

    def conv_transpose2d_bias_backward(self, x: FloatPrim, bias: FloatPrim, output_grad: FloatPrim) -> FloatPrim:
        """As conv_transpose1d_bias_backward."""
        return conv.conv_bias_backward(self, output_grad)

    @required
    def conv_transpose3d(
        self, x: FloatPrim, weight: FloatPrim, bias: FloatPrim | None, options: ConvTransposeOptions
    ) -> FloatPrim:
        """x [N, Ci, D, H, W], weight [Ci, Co/groups, kd, kh, kw], bias [Co] → [N, Co, Do, Ho, Wo]."""

    def conv_transpose3d_x_backward(
        self, weight: FloatPrim, output_grad: FloatPrim, options: ConvTransposeOptions
    ) -> FloatPrim:
        """As conv_transpose1d_x_backward."""
        return conv.conv_transpose_x_backward(self, weight, output_grad, options)

    def conv_transpose3d_weight_backward(
        self, x: FloatPrim, weight: FloatPrim, output_grad: FloatPrim, options: ConvTransposeOptions
    ) -> FloatPrim:
        """As conv_transpose1d_weight_backward."""
        return conv.conv_transpose_weight_backward(self, x, weight, output_grad, options)

    def conv_transpose3d_bias_backward(self, x: FloatPrim, bias: FloatPrim, output_grad: FloatPrim) -> FloatPrim:
        """As conv_transpose1d_bias_backward."""
        return conv.conv_bias_backward(self, output_grad)

    # ------------------------------------------------------------------------------------------ unfold and fold

    def unfold4d(self, x: FloatPrim, kernel_size: Sequence[int], options: UnfoldOptions) -> FloatPrim:
        """The windows of x [N, C, H, W] as columns → [N, C·kh·kw, blocks].

        Blocks are row-major over the windows; channels are ordered C, then kh, then kw. Padding is 0.
        """
        return conv.unfold4d(self, x, kernel_size, options)

    def fold4d(
        self, x: FloatPrim, output_size: Sequence[int], kernel_size: Sequence[int], options: UnfoldOptions
    ) -> FloatPrim:
        """The adjoint of unfold4d: columns [N, C·kh·kw, blocks] added into [N, C, H, W], overlaps summed.

        Raises ShapeError when the channels do not divide by kh·kw or the block count is not that of output_size.
        """
        return conv.fold4d(self, x, output_size, kernel_size, options)

    # ----------------------------------------------------------------------------------------- average pooling

    def avg_pool1d(
        self,
        x: FloatPrim,
        kernel_size: int,
        stride: int,
        padding: int,
        dilation: int,
        count_include_pad: bool,
        ceil_mode: bool,
    ) -> FloatPrim:
        """Means of windows: x [N, C, L] → [N, C, Lo]; see avg_pool2d."""
        out = self.avg_pool2d(
            pool.with_height(self, x),
            (1, kernel_size),
            (1, stride),
            (0, padding),
            (1, dilation),
            count_include_pad,
            ceil_mode,
        )
        return pool.without_height(self, out)

    def avg_pool1d_backward(
        self,
        x: FloatPrim,
        output_grad: FloatPrim,
        kernel_size: int,
        stride: int,
        padding: int,
        dilation: int,
        count_include_pad: bool,
        ceil_mode: bool,
    ) -> FloatPrim:
        """The gradient of x [N, C, L]; see avg_pool2d_backward."""
        grad = self.avg_pool2d_backward(
            pool.with_height(self, x),
            pool.with_height(self, output_grad),
            (1, kernel_size),
            (1, stride),
            (0, padding),
            (1, dilation),
            count_include_pad,
            ceil_mode,
        )
        return pool.without_height(self, grad)

    def avg_pool2d(
        self,
        x: FloatPrim,
        kernel_size: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        count_include_pad: bool,
        ceil_mode: bool,
    ) -> FloatPrim:
        """Means of windows: x [N, C, H, W] → [N, C, Ho, Wo]; output sizes are `options.pool_output_size`.

        The divisor is the product over the axes of the taps inside the padded input (count_include_pad) or inside
        the input; what hangs over the padded input in ceil_mode never counts. A window that counts nothing gives 0.
        """
        table = pool.windows(
            x.shape[2:], kernel_size, stride, padding, dilation, ceil_mode, count_include_pad, "avg_pool2d"
        )
        return pool.average(self, x, table)

    def avg_pool2d_backward(
        self,
        x: FloatPrim,
        output_grad: FloatPrim,
        kernel_size: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        count_include_pad: bool,
        ceil_mode: bool,
    ) -> FloatPrim:
        """The gradient of x: output_grad over the window's divisor, added to each real element of the window."""
        table = pool.windows(
            x.shape[2:], kernel_size, stride, padding, dilation, ceil_mode, count_include_pad, "avg_pool2d_backward"
        )
        return pool.average_backward(self, x, output_grad, table)

    def avg_pool3d(
        self,
        x: FloatPrim,
        kernel_size: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        count_include_pad: bool,
        ceil_mode: bool,
    ) -> FloatPrim:
        """Means of windows: x [N, C, D, H, W] → [N, C, Do, Ho, Wo]; as avg_pool2d."""
        table = pool.windows(
            x.shape[2:], kernel_size, stride, padding, dilation, ceil_mode, count_include_pad, "avg_pool3d"
        )
        return pool.average(self, x, table)

    def avg_pool3d_backward(
        self,
        x: FloatPrim,
        output_grad: FloatPrim,
        kernel_size: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        count_include_pad: bool,
        ceil_mode: bool,
    ) -> FloatPrim:
        """The gradient of x; as avg_pool2d_backward."""
        table = pool.windows(
            x.shape[2:], kernel_size, stride, padding, dilation, ceil_mode, count_include_pad, "avg_pool3d_backward"
        )
        return pool.average_backward(self, x, output_grad, table)

    def adaptive_avg_pool1d(self, x: FloatPrim, output_size: int) -> FloatPrim:
        """Means of `output_size` windows that cover x [N, C, L] → [N, C, output_size]; see adaptive_avg_pool2d."""
        return pool.without_height(self, self.adaptive_avg_pool2d(pool.with_height(self, x), (1, output_size)))

    def adaptive_avg_pool1d_backward(self, x: FloatPrim, output_grad: FloatPrim) -> FloatPrim:
        """The gradient of x [N, C, L]."""
        grad = self.adaptive_avg_pool2d_backward(pool.with_height(self, x), pool.with_height(self, output_grad))
        return pool.without_height(self, grad)

    def adaptive_avg_pool2d(self, x: FloatPrim, output_size: Sequence[int]) -> FloatPrim:
        """Means of windows that cover x [N, C, H, W] → [N, C, Ho, Wo].

        Window i of an axis is [floor(i·in/out), ceil((i+1)·in/out)); neighbours may overlap by one element.
        """
        return pool.average(self, x, pool.adaptive_windows(x.shape[2:], output_size))

    def adaptive_avg_pool2d_backward(self, x: FloatPrim, output_grad: FloatPrim) -> FloatPrim:
        """The gradient of x: output_grad over the window's size, added to each of its elements."""
        return pool.average_backward(self, x, output_grad, pool.adaptive_windows(x.shape[2:], output_grad.shape[2:]))

    def adaptive_avg_pool3d(self, x: FloatPrim, output_size: Sequence[int]) -> FloatPrim:
        """As adaptive_avg_pool2d: x [N, C, D, H, W] → [N, C, Do, Ho, Wo]."""
        return pool.average(self, x, pool.adaptive_windows(x.shape[2:], output_size))

    def adaptive_avg_pool3d_backward(self, x: FloatPrim, output_grad: FloatPrim) -> FloatPrim:
        """As adaptive_avg_pool2d_backward."""
        return pool.average_backward(self, x, output_grad, pool.adaptive_windows(x.shape[2:], output_grad.shape[2:]))

    # ----------------------------------------------------------------------------------------- maximum pooling

    def max_pool1d(
        self, x: FloatPrim, kernel_size: int, stride: int, padding: int, dilation: int, ceil_mode: bool
    ) -> FloatPrim:
        """Maxima of windows: x [N, C, L] → [N, C, Lo]; see max_pool2d."""
        out = self.max_pool2d(
            pool.with_height(self, x), (1, kernel_size), (1, stride), (0, padding), (1, dilation), ceil_mode
        )
        return pool.without_height(self, out)

    def max_pool1d_with_indices(
        self,
        x: FloatPrim,
        kernel_size: int,
        stride: int,
        padding: int,
        dilation: int,
        ceil_mode: bool,
        out_dtype: DType,
    ) -> tuple[FloatPrim, IntPrim]:
        """The maxima and their places in the unpadded axis; see max_pool2d_with_indices."""
        out, indices = self.max_pool2d_with_indices(
            pool.with_height(self, x),
            (1, kernel_size),
            (1, stride),
            (0, padding),
            (1, dilation),
            ceil_mode,
            out_dtype,
        )
        return pool.without_height(self, out), self.int_reshape(indices, (*x.shape[:2], indices.shape[-1]))

    def max_pool1d_with_indices_backward(
        self,
        x: FloatPrim,
        kernel_size: int,
        stride: int,
        padding: int,
        dilation: int,
        ceil_mode: bool,
        output_grad: FloatPrim,
        indices: IntPrim,
    ) -> FloatPrim:
        """The gradient of x [N, C, L]."""
        grad = self.max_pool2d_with_indices_backward(
            pool.with_height(self, x),
            (1, kernel_size),
            (1, stride),
            (0, padding),
            (1, dilation),
            ceil_mode,
            pool.with_height(self, output_grad),
            self.int_reshape(indices, (*indices.shape[:2], 1, indices.shape[2])),
        )
        return pool.without_height(self, grad)

    def max_pool2d(
        self,
        x: FloatPrim,
        kernel_size: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        ceil_mode: bool,
    ) -> FloatPrim:
        """Maxima of windows: x [N, C, H, W] → [N, C, Ho, Wo]; output sizes are `options.pool_output_size`.

        Padding acts as −∞. A NaN in the window wins.
        """
        table = pool.windows(x.shape[2:], kernel_size, stride, padding, dilation, ceil_mode, operation="max_pool2d")
        return pool.maximum(self, x, table)

    def max_pool2d_with_indices(
        self,
        x: FloatPrim,
        kernel_size: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        ceil_mode: bool,
        out_dtype: DType,
    ) -> tuple[FloatPrim, IntPrim]:
        """The maxima and their indices h·W + w in the unpadded plane, as out_dtype.

        The first maximum in scan order wins, or the first NaN; padding never does while the window has an element. A
        window without one gives −∞ and the index of the element next to its first tap.
        """
        table = pool.windows(x.shape[2:], kernel_size, stride, padding, dilation, ceil_mode, operation="max_pool2d")
        return pool.maximum_with_indices(self, x, table, out_dtype)

    def max_pool2d_with_indices_backward(
        self,
        x: FloatPrim,
        kernel_size: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        ceil_mode: bool,
        output_grad: FloatPrim,
        indices: IntPrim,
    ) -> FloatPrim:
        """The gradient of x: output_grad added at the indices that max_pool2d_with_indices gave.

        Overlapping windows accumulate; a window without an element has none to give its gradient to.
        """
        name = "max_pool2d_with_indices_backward"
        held = pool.held(x.shape[2:], kernel_size, stride, padding, dilation, ceil_mode, name)
        return pool.maximum_backward(self, x, output_grad, indices, held)

    def max_pool3d(
        self,
        x: FloatPrim,
        kernel_size: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        ceil_mode: bool,
    ) -> FloatPrim:
        """Maxima of windows: x [N, C, D, H, W] → [N, C, Do, Ho, Wo]; as max_pool2d."""
        table = pool.windows(x.shape[2:], kernel_size, stride, padding, dilation, ceil_mode, operation="max_pool3d")
        return pool.maximum(self, x, table)

    def max_pool3d_with_indices(
        self,
        x: FloatPrim,
        kernel_size: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        ceil_mode: bool,
        out_dtype: DType,
    ) -> tuple[FloatPrim, IntPrim]:
        """The maxima and their indices (d·H + h)·W + w in the unpadded volume; as max_pool2d_with_indices."""
        table = pool.windows(x.shape[2:], kernel_size, stride, padding, dilation, ceil_mode, operation="max_pool3d")
        return pool.maximum_with_indices(self, x, table, out_dtype)

    def max_pool3d_with_indices_backward(
        self,
        x: FloatPrim,
        kernel_size: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        ceil_mode: bool,
        output_grad: FloatPrim,
        indices: IntPrim,
    ) -> FloatPrim:
        """As max_pool2d_with_indices_backward."""
        name = "max_pool3d_with_indices_backward"
        held = pool.held(x.shape[2:], kernel_size, stride, padding, dilation, ceil_mode, name)
        return pool.maximum_backward(self, x, output_grad, indices, held)

    # ---------------------------------------------------------------------------------------------- resampling

    def interpolate(self, x: FloatPrim, output_size: Sequence[int], options: InterpolateOptions) -> FloatPrim:
        """x [N, C, H, W] resampled to [N, C, *output_size].

        The options say how an output index becomes a source coordinate, how nearest rounds and what the cubic kernel
        is; a scale_factor in them is the σ of the coordinates, output_size is already known here. Coordinates are
        computed in f64 on the host.
        """
        return interpolate_defaults.interpolate(self, x, output_size, options)

    def interpolate_backward(
        self, x: FloatPrim, output_grad: FloatPrim, output_size: Sequence[int], options: InterpolateOptions
    ) -> FloatPrim:
        """The gradient of x: the adjoint of interpolate, in every mode."""
        return interpolate_defaults.interpolate_backward(self, x, output_grad, output_size, options)

    # ----------------------------------------------------------------------------------------------- attention

    def attention(
        self,
        query: FloatPrim,
        key: FloatPrim,
        value: FloatPrim,
        mask: BoolPrim | None,
        attn_bias: FloatPrim | None,
        options: AttentionModuleOptions,
    ) -> FloatPrim:
        """softmax(query·keyᵀ·scale)·value per head.

        query [N, H, Sq, D], key [N, Hkv, Sk, D], value [N, Hkv, Sk, Dv], mask and attn_bias [N, H, Sq, Sk]
        → [N, H, Sq, Dv]; H is a multiple of Hkv and query head h uses key head h // (H/Hkv). In this order: scale
        (1/√D by default), softcap c·tanh(s/c), mask (TRUE hides), the causal mask, the bias, softmax, value. A query
        that sees nothing gives 0. The softmax is in f32 whatever the dtype.
        """
        return attention_defaults.attention(self, query, key, value, mask, attn_bias, options)

    def has_attention_backward(self) -> bool:
        """Whether attention_backward is native, so that autodiff keeps only output and logsumexp."""
        return False

    def attention_with_logsumexp(
        self, query: FloatPrim, key: FloatPrim, value: FloatPrim, options: AttentionModuleOptions
    ) -> tuple[FloatPrim, FloatPrim]:
        """attention without mask and bias, and the logsumexp [N, H, Sq] of its scores in f32 (f64 for f64).

        logsumexp = max + log(sum), finite for a query that sees nothing: exp(−∞ − logsumexp) is 0.
        """
        return attention_defaults.attention_with_logsumexp(self, query, key, value, options)

    def attention_backward(
        self,
        query: FloatPrim,
        key: FloatPrim,
        value: FloatPrim,
        output: FloatPrim,
        logsumexp: FloatPrim,
        output_grad: FloatPrim,
        options: AttentionModuleOptions,
    ) -> AttentionGradients:
        """The gradients of query, key and value from what attention_with_logsumexp returned.

        p = exp(s − logsumexp), δ = Σ g·output, dV = pᵀ·g, dS = p·(g·Vᵀ − δ)·scale (times 1 − tanh² with a softcap),
        dQ = dS·K, dK = dSᵀ·Q; key and value gradients are summed over the query heads of a group.
        """
        return attention_defaults.attention_backward(self, query, key, value, output, logsumexp, output_grad, options)

    # ---------------------------------------------------------------------------------------------------- CTC

    def ctc_loss(
        self, log_probs: FloatPrim, targets: IntPrim, input_lengths: IntPrim, target_lengths: IntPrim, blank: int
    ) -> FloatPrim:
        """−log of the probability of all alignments of each target, [N].

        log_probs [T, N, C] (log-softmaxed), targets [N, S], lengths [N]; steps from input_lengths on and targets from
        target_lengths on are not looked at. A target that no alignment reaches gives +∞; no steps give 0 for an empty
        target. A length outside [0, T] or [0, S], or a label that is no class, is an index out of range.
        """
        return ctc.ctc_loss(self, log_probs, targets, input_lengths, target_lengths, blank)

    def has_ctc_loss_backward(self) -> bool:
        """Whether ctc_loss_backward is native, so that autodiff calls it instead of following the composition."""
        return False

    def ctc_loss_backward(
        self,
        log_probs: FloatPrim,
        targets: IntPrim,
        input_lengths: IntPrim,
        target_lengths: IntPrim,
        output_grad: FloatPrim,
        blank: int,
    ) -> FloatPrim:
        """The gradient [T, N, C] of ctc_loss as if log_probs were the logits of a softmax: exp(lp)·g − g·shares.

        output_grad [N]. Rows from input_lengths on are 0, and so are samples whose loss is +∞.
        """
        return ctc.ctc_loss_backward(self, log_probs, targets, input_lengths, target_lengths, output_grad, blank)
