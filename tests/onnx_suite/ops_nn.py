"""Matrix products, convolutions, pools, normalisations, recurrent layers, losses."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, prod
from typing import Any

from burn_wgpu import PadMode, Tensor, cat, stack
from burn_wgpu.contract.options import (
    AvgPoolOptions,
    ConvOptions,
    ConvTransposeOptions,
    DeformConvOptions,
    MaxPoolOptions,
)
from burn_wgpu.tensor import activation, functional, linalg
from tests.onnx_suite.interpreter import Node, NotInterpreted, iota, numbers, operator, spatial

# -------------------------------------------------------------------------------------------- matrix products


@operator("MatMul")
def matmul(node: Node, a: Tensor, b: Tensor) -> Tensor:
    return a.matmul(b)


@operator("Gemm")
def gemm(node: Node, a: Tensor, b: Tensor, c: Tensor | None = None) -> Tensor:
    a = a.transpose() if node.get("transA", 0) else a
    b = b.transpose() if node.get("transB", 0) else b
    found = a.matmul(b) * node.get("alpha", 1.0)
    return found if c is None else found + c * node.get("beta", 1.0)


@operator("Einsum")
def einsum(node: Node, *tensors: Tensor) -> Tensor:
    equation = node.get("equation").replace(" ", "")
    found = Tensor.einsum(equation, *tensors)
    if "->" in equation:
        scalar = equation.endswith("->")
    else:  # the letters that occur once
        letters = [c for c in equation if c.isalpha()]
        scalar = "..." not in equation and all(letters.count(c) > 1 for c in letters)
    return found.reshape(()) if scalar else found  # Burn's sum of everything has shape [1]


@operator("Det")
def det(node: Node, x: Tensor) -> Tensor:
    return linalg.det(x).reshape(x.shape[:-2])


# ------------------------------------------------------------------------------------------------ convolutions


def padding(node: Node, sizes: list[int], spans: list[int], strides: list[int]) -> list[tuple[int, int]]:
    """(begin, end) per spatial axis, of `pads` or `auto_pad`."""
    auto = node.get("auto_pad", "NOTSET")
    n = len(sizes)
    if auto == "NOTSET":
        pads = node.get("pads", [0] * 2 * n)
        return [(pads[i], pads[i + n]) for i in range(n)]
    if auto == "VALID":
        return [(0, 0)] * n
    found = []
    for size, span, stride in zip(sizes, spans, strides, strict=True):
        both = max((ceil(size / stride) - 1) * stride + span - size, 0)
        found.append((both // 2, both - both // 2) if auto == "SAME_UPPER" else (both - both // 2, both // 2))
    return found


_CONV: dict[int, Callable[..., Tensor]] = {1: functional.conv1d, 2: functional.conv2d, 3: functional.conv3d}
_CONV_TRANSPOSE: dict[int, Callable[..., Tensor]] = {
    1: functional.conv_transpose1d, 2: functional.conv_transpose2d, 3: functional.conv_transpose3d,
}  # fmt: skip


def convolution(node: Node, x: Tensor, w: Tensor, bias: Tensor | None = None) -> Tensor:
    """`Conv`, for the quantized operators too."""
    kernel = w.shape[2:]
    n = len(kernel)
    strides, dilations = spatial(node.get("strides"), n, 1), spatial(node.get("dilations"), n, 1)
    spans = [d * (k - 1) + 1 for k, d in zip(kernel, dilations, strict=True)]
    pads = padding(node, list(x.shape[2:]), spans, strides)
    return _CONV[n](x, w, bias, ConvOptions(strides, pads, dilations, node.get("group", 1)))


operator("Conv")(convolution)


@operator("ConvTranspose")
def conv_transpose(node: Node, x: Tensor, w: Tensor, bias: Tensor | None = None) -> Tensor:
    kernel, sizes = w.shape[2:], x.shape[2:]
    n = len(kernel)
    strides, dilations = spatial(node.get("strides"), n, 1), spatial(node.get("dilations"), n, 1)
    extra, groups = spatial(node.get("output_padding"), n, 0), node.get("group", 1)
    spans = [d * (k - 1) + 1 for k, d in zip(kernel, dilations, strict=True)]
    auto, wanted = node.get("auto_pad", "NOTSET"), node.get("output_shape")
    if wanted is None and auto in ("SAME_UPPER", "SAME_LOWER"):
        wanted = [size * s for size, s in zip(sizes, strides, strict=True)]
    if wanted is None:
        pads = padding(node, list(sizes), spans, strides)
    else:
        pads = []
        for i, size in enumerate(wanted[-n:]):
            both = strides[i] * (sizes[i] - 1) + extra[i] + spans[i] - size
            if both < 0:  # more is wanted than there is: zeros at the end
                extra[i] -= both
                both = 0
            half = both // 2
            pads.append((half, both - half) if auto == "SAME_UPPER" else (both - half, half))
    function = _CONV_TRANSPOSE[n]
    if all(a == b for a, b in pads) and all(e < max(s, d) for e, s, d in zip(extra, strides, dilations, strict=True)):
        return function(x, w, bias, ConvTransposeOptions(strides, [a for a, _ in pads], extra, dilations, groups))
    # Burn's padding is equal on both sides: the whole output is made and cut.
    whole = function(x, w, None, ConvTransposeOptions(strides, [0] * n, None, dilations, groups))
    whole = whole.pad([(0, e) for e in extra])
    cut = [(a, size - b) for (a, b), size in zip(pads, whole.shape[2:], strict=True)]
    found = whole.slice([(0, whole.shape[0]), (0, whole.shape[1]), *cut])
    return found if bias is None else found + bias.reshape([1, -1] + [1] * n)


@operator("DeformConv")
def deform_conv(
    node: Node, x: Tensor, w: Tensor, offset: Tensor, bias: Tensor | None = None, mask: Tensor | None = None
) -> Tensor:
    strides, dilations = spatial(node.get("strides"), 2, 1), spatial(node.get("dilations"), 2, 1)
    pads = node.get("pads", [0] * 4)
    if list(pads[:2]) != list(pads[2:]):
        raise NotInterpreted("DeformConv with unequal pads")
    options = DeformConvOptions(strides, pads[:2], dilations, node.get("group", 1), node.get("offset_group", 1))
    return functional.deform_conv2d(x, offset, w, mask, bias, options)


@operator("CausalConvWithState")
def causal_conv(
    node: Node, x: Tensor, w: Tensor, bias: Tensor | None = None, past: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    kept = w.shape[2] - 1
    if past is None:
        past = Tensor.zeros((*x.shape[:2], kept), x.device, x.dtype)
    whole = cat([past, x], 2)
    found = functional.conv1d(whole, w, bias, ConvOptions((1,), (0,), None, x.shape[1]))
    if node.get("activation", "none") in ("silu", "swish"):
        found = activation.silu(found)
    size = whole.shape[2]
    return found, whole.slice_dim(2, (size - kept, size))


# ------------------------------------------------------------------------------------------------------- pools

_MAX_POOL: dict[int, Callable[..., Any]] = {
    1: functional.max_pool1d_with_indices, 2: functional.max_pool2d_with_indices,
    3: functional.max_pool3d_with_indices,
}  # fmt: skip
_AVG_POOL: dict[int, Callable[..., Tensor]] = {
    1: functional.avg_pool1d, 2: functional.avg_pool2d, 3: functional.avg_pool3d,
}  # fmt: skip


def _windows(node: Node, x: Tensor) -> tuple[Any, ...]:
    kernel = node.get("kernel_shape")
    n = len(kernel)
    strides, dilations = spatial(node.get("strides"), n, 1), spatial(node.get("dilations"), n, 1)
    spans = [d * (k - 1) + 1 for k, d in zip(kernel, dilations, strict=True)]
    return kernel, strides, padding(node, list(x.shape[2:]), spans, strides), dilations, bool(node.get("ceil_mode", 0))


@operator("MaxPool")
def max_pool(node: Node, x: Tensor) -> tuple[Tensor, Tensor]:
    options = MaxPoolOptions(*_windows(node, x))
    n = len(options.kernel_size)
    dtype = x.dtype
    values, indices = _MAX_POOL[n](x if x.kind == "float" else x.float(), options)
    if node.get("storage_order", 0):
        # Column-major: the plane's coordinates weigh the other way round.
        rest, flat, weight = indices, indices.zeros_like(), prod(x.shape[2:])
        for size in reversed(x.shape[2:]):
            weight //= size
            flat = flat + rest.remainder(size) * weight
            rest = rest.div(size)
        indices = flat
    # ONNX counts through the whole tensor, Burn through one plane.
    plane = iota(x.shape[0] * x.shape[1], x).reshape([*x.shape[:2]] + [1] * n)
    return values.cast(dtype), (indices + plane * prod(x.shape[2:])).cast("i64")


@operator("AveragePool")
def average_pool(node: Node, x: Tensor) -> Tensor:
    options = AvgPoolOptions(*_windows(node, x), bool(node.get("count_include_pad", 0)))
    return _AVG_POOL[len(options.kernel_size)](x, options)


@operator("LpPool")
def lp_pool(node: Node, x: Tensor) -> Tensor:
    p = node.get("p", 2)
    options = AvgPoolOptions(*_windows(node, x), True)
    # Padding is 0 in the sum and counts in the mean, so that the mean times the window's size is the sum.
    options = _without_ceil(options, x)
    sums = _AVG_POOL[len(options.kernel_size)](x.abs().powi(p), options) * float(prod(options.kernel_size))
    return sums.powf(1.0 / p)


def _without_ceil(options: AvgPoolOptions, x: Tensor) -> AvgPoolOptions:
    """Without ceil_mode, whose last window has a smaller divisor: padding at the end takes its place."""
    if not options.ceil_mode:
        return options
    pads = []
    for size, k, s, (a, b), d in zip(
        x.shape[2:], options.kernel_size, options.stride, options.padding, options.dilation, strict=True
    ):
        over = (size + a + b - (d * (k - 1) + 1)) % s
        pads.append((a, b + (s - over if over else 0)))
    return AvgPoolOptions(options.kernel_size, options.stride, pads, options.dilation, False, True)


@operator("GlobalAveragePool")
def global_average_pool(node: Node, x: Tensor) -> Tensor:
    return x.mean(list(range(2, x.rank)), keepdim=True)


@operator("GlobalMaxPool")
def global_max_pool(node: Node, x: Tensor) -> Tensor:
    return x.max(list(range(2, x.rank)), keepdim=True)


# ---------------------------------------------------------------------------------------------- normalisations


@operator("BatchNormalization")
def batch_norm(
    node: Node, x: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, variance: Tensor
) -> tuple[Tensor, ...]:
    eps = node.get("epsilon", 1e-5)
    if not node.get("training_mode", 0):
        return (functional.batch_norm(x, scale, bias, mean, variance, eps),)
    keep = node.get("momentum", 0.9)
    found = functional.batch_norm_train(x, scale, bias, eps)
    return (
        found.output,
        mean * keep + found.mean * (1 - keep),
        variance * keep + found.variance * (1 - keep),
    )


@operator("InstanceNormalization")
def instance_norm(node: Node, x: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
    axes = list(range(2, x.rank))
    centred = x - x.mean(axes, keepdim=True)
    found = centred / (centred.square().mean(axes, keepdim=True) + node.get("epsilon", 1e-5)).sqrt()
    wide = [1, -1] + [1] * len(axes)
    return found * scale.reshape(wide) + bias.reshape(wide)


@operator("GroupNormalization")
def group_norm(node: Node, x: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
    groups = x.reshape(x.shape[0], node.get("num_groups"), -1)
    ones = Tensor.ones((groups.shape[2],), x.device, x.dtype)
    found = functional.layer_norm(groups, ones, None, node.get("epsilon", 1e-5)).reshape(x.shape)
    wide = [1, -1] + [1] * (x.rank - 2)
    return found * scale.reshape(wide) + bias.reshape(wide)


@operator("LayerNormalization")
def layer_norm(node: Node, x: Tensor, scale: Tensor, bias: Tensor | None = None) -> tuple[Tensor, ...]:
    axis, eps = node.get("axis", -1) % x.rank, node.get("epsilon", 1e-5)
    rest = x.shape[axis:]
    flat = x.reshape(*x.shape[:axis], prod(rest))
    found = functional.layer_norm(flat, *(t if t is None else t.expand(rest).flatten() for t in (scale, bias)), eps)
    if not node.wants(1):
        return (found.reshape(x.shape),)
    wide = flat.cast(node.target(node.get("stash_type", 1)))
    mean = wide.mean_dim(-1)
    deviation = ((wide - mean).square().mean_dim(-1) + eps).sqrt().recip()
    kept = (*x.shape[:axis], *(1 for _ in rest))
    return found.reshape(x.shape), mean.reshape(kept), deviation.reshape(kept)


@operator("RMSNormalization")
def rms_norm(node: Node, x: Tensor, scale: Tensor) -> Tensor:
    axes = list(range(node.get("axis", -1) % x.rank, x.rank))
    wide = x.cast(node.target(node.get("stash_type", 1)))
    found = wide / (wide.square().mean(axes, keepdim=True) + node.get("epsilon", 1e-5)).sqrt()
    return found.cast(x.dtype) * scale


@operator("LRN")
def lrn(node: Node, x: Tensor) -> Tensor:
    size, alpha, beta, bias = (node.get(k, d) for k, d in (("size", 1), ("alpha", 1e-4), ("beta", 0.75), ("bias", 1.0)))
    before = (size - 1) // 2
    padded = x.square().pad([(before, size - 1 - before)] + [(0, 0)] * (x.rank - 2), PadMode.constant(0.0))
    sums = padded.unfold(1, size, 1).sum_dim(-1).squeeze_dim(-1)
    return x / (sums * (alpha / size) + bias).powf(beta)


# ------------------------------------------------------------------------------------------------------ losses


@operator("NegativeLogLikelihoodLoss")
def nll_loss(node: Node, x: Tensor, target: Tensor, weight: Tensor | None = None) -> Tensor:
    ignored = target.equal(node.get("ignore_index")) if node.has("ignore_index") else None
    classes = target if ignored is None else target.mask_fill(ignored, 0)
    loss = -x.gather(1, classes.unsqueeze_dim(1)).squeeze_dim(1)
    shares = loss.ones_like() if weight is None else weight.take(0, classes)
    if ignored is not None:
        shares = shares.mask_fill(ignored, 0.0)
    loss = loss * shares
    reduction = node.get("reduction", "mean")
    if reduction == "none":
        return loss
    total = loss.sum()
    return (total / shares.sum() if reduction == "mean" else total).reshape(())


@operator("SoftmaxCrossEntropyLoss")
def softmax_cross_entropy(node: Node, x: Tensor, target: Tensor, weight: Tensor | None = None) -> tuple[Tensor, Tensor]:
    probabilities = activation.log_softmax(x, 1)
    return nll_loss(node, probabilities, target, weight), probabilities


# ----------------------------------------------------------------------------------------------------- recurrent


def _function(name: str) -> Callable[[Tensor], Tensor]:
    found = {"tanh": Tensor.tanh, "sigmoid": activation.sigmoid, "relu": activation.relu}.get(name.lower())
    if found is None:
        raise NotInterpreted(f"the recurrent activation {name}")
    return found


def _recurrent(
    node: Node, x: Tensor, tensors: tuple[Tensor | None, ...], names: list[str], states: int, step: Callable[..., Any]
) -> tuple[Tensor, ...]:
    """The directions one after another; `tensors` are W, R, B, lengths, the states and what else there is."""
    w, r, b, lengths, *rest = [*tensors, *[None] * (7 - len(tensors))]
    if w is None or r is None or lengths is not None and len(set(numbers(lengths) or [])) != 1:
        raise NotInterpreted("recurrent layers with sequences of unequal length")
    if node.has("clip") or node.get("input_forget", 0):
        raise NotInterpreted("recurrent layers with clip or input_forget")
    batch_first = node.get("layout", 0)
    if batch_first:
        x = x.swap_dims(0, 1)
        rest = [*(s if s is None else s.swap_dims(0, 1) for s in rest[:states]), *rest[states:]]
    direction, hidden = node.get("direction", "forward"), r.shape[-1]
    count = 2 if direction == "bidirectional" else 1
    chosen = node.get("activations", names * count)
    each = len(names)
    outputs, finals = [], []
    for d in range(count):
        functions = [_function(n if isinstance(n, str) else n.decode()) for n in chosen[d * each : (d + 1) * each]]
        backwards = direction == "reverse" or d == 1
        wt, rt = w.select_dim(0, d).transpose(), r.select_dim(0, d).transpose()
        half = wt.shape[1]
        biases = Tensor.zeros((2 * half,), x.device, x.dtype) if b is None else b.select_dim(0, d)
        wb, rb = biases.narrow(0, 0, half), biases.narrow(0, half, half)
        zeros = Tensor.zeros((x.shape[1], hidden), x.device, x.dtype)
        state = [zeros if s is None else s.select_dim(0, d) for s in rest[:states]]
        more = [None if t is None else t.select_dim(0, d) for t in rest[states:]]
        seen = []
        for t in range(x.shape[0]):
            now = x.select_dim(0, x.shape[0] - 1 - t if backwards else t)
            state = step(functions, now.matmul(wt) + wb, rt, rb, state, more)
            seen.append(state[0])
        outputs.append(stack(seen[::-1] if backwards else seen, 0))
        finals.append(state)
    y = stack(outputs, 1)
    last = [stack([state[i] for state in finals], 0) for i in range(states)]
    if batch_first:
        return (y.permute(2, 0, 1, 3), *(s.swap_dims(0, 1) for s in last))
    return (y, *last)


@operator("RNN")
def rnn(node: Node, x: Tensor, *tensors: Tensor | None) -> tuple[Tensor, ...]:
    def step(f: Any, inputs: Tensor, rt: Tensor, rb: Tensor, state: list[Tensor], more: Any) -> list[Tensor]:
        return [f[0](inputs + state[0].matmul(rt) + rb)]

    return _recurrent(node, x, tensors, ["Tanh"], 1, step)


@operator("GRU")
def gru(node: Node, x: Tensor, *tensors: Tensor | None) -> tuple[Tensor, ...]:
    reset_after = node.get("linear_before_reset", 0)

    def step(f: Any, inputs: Tensor, rt: Tensor, rb: Tensor, state: list[Tensor], more: Any) -> list[Tensor]:
        h = state[0]
        n = h.shape[1]
        xs = inputs.split(n, 1)
        z, r = (f[0](xs[i] + h.matmul(rt.narrow(1, i * n, n)) + rb.narrow(0, i * n, n)) for i in range(2))
        rt_h, rb_h = rt.narrow(1, 2 * n, n), rb.narrow(0, 2 * n, n)
        if reset_after:
            candidate = f[1](xs[2] + r * (h.matmul(rt_h) + rb_h))
        else:
            candidate = f[1](xs[2] + (r * h).matmul(rt_h) + rb_h)
        return [(1.0 - z) * candidate + z * h]

    return _recurrent(node, x, tensors, ["Sigmoid", "Tanh"], 1, step)


@operator("LSTM")
def lstm(node: Node, x: Tensor, *tensors: Tensor | None) -> tuple[Tensor, ...]:
    def step(f: Any, inputs: Tensor, rt: Tensor, rb: Tensor, state: list[Tensor], more: Any) -> list[Tensor]:
        h, c = state
        gates = (inputs + h.matmul(rt) + rb).split(h.shape[1], 1)
        i, o, forget, new = gates
        peep = more[0] if more else None
        if peep is not None:
            pi, po, pf = peep.split(h.shape[1], 0)
            i, forget = i + pi * c, forget + pf * c
        c = f[0](forget) * c + f[0](i) * f[1](new)
        if peep is not None:
            o = o + po * c
        return [f[0](o) * f[2](c), c]

    return _recurrent(node, x, tensors, ["Sigmoid", "Tanh", "Tanh"], 2, step)
