"""Resampling of images by small tables, which the caller keeps on the device.

The contract's `axis_taps` defines the elements and weights of every output along an axis, in f64; here they become
words. Forward (resample/forward.wgsl) an output sums its taps over both axes. The gradient is the adjoint, one axis
after the other through f32 scratch (resample/adjoint.wgsl): each element sums over the outputs that used it, so nothing
is scattered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np

from burn_wgpu.contract.defaults.interpolate import AxisTaps
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import KernelKey, Launch, Out, Plan, fold
from burn_wgpu.shader.prelude import Prelude, words
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.layout import Layout, Shape, contiguous_strides

THREADS = 128
MOST_ENTRIES = 12_000  # outputs that one element may serve: an invocation walks those of four elements
_OUTSIDE = np.uint32(0x80000000)


def forward_table(taps: Sequence[AxisTaps]) -> np.ndarray:
    """The words that forward.wgsl reads."""
    parts = []
    for axis in taps:
        index = axis.index.astype(np.uint32)
        index[:, 0] |= np.where(axis.outside, _OUTSIDE, np.uint32(0))
        weights = [] if axis.weight is None else [axis.weight.astype(np.float32).view(np.uint32)]
        parts.append(np.concatenate([index, *weights], axis=1).reshape(-1))
    return np.concatenate(parts)


def adjoint_table(taps: Sequence[AxisTaps], sizes: Sequence[int]) -> tuple[np.ndarray, int]:
    """The words that adjoint.wgsl reads, height first, and the most outputs that an element serves."""
    parts, most = [], 0
    for axis, size in zip(taps, sizes, strict=True):
        outputs = np.repeat(np.arange(axis.index.shape[0]), axis.index.shape[1])
        weight = np.ones(axis.index.shape) if axis.weight is None else axis.weight
        used = np.repeat(~axis.outside, axis.index.shape[1]) & (weight.reshape(-1) != 0)
        element, outputs, weight = axis.index.reshape(-1)[used], outputs[used], weight.reshape(-1)[used]
        order = np.argsort(element, kind="stable")
        counts = np.bincount(element, minlength=size)
        most = max(most, int(counts.max(initial=0)))
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.uint32)
        pairs = np.stack([outputs[order].astype(np.uint32), weight[order].astype(np.float32).view(np.uint32)], axis=1)
        parts += [starts, pairs.reshape(-1)]
    return np.concatenate(parts), most


def adjoint_words(taps: AxisTaps, size: int) -> int:
    """How many words of the table the first axis takes."""
    weight = np.ones(taps.index.shape) if taps.weight is None else taps.weight
    return size + 1 + 2 * int((~taps.outside[:, None] & (weight != 0)).sum())


def resample_plan(
    layout: Layout, output_size: Sequence[int], taps: int, weighted: bool, fill: float, dtype: DType, device: Capability
) -> Plan:
    """x [N, C, H, W] and the table of `forward_table` → [N, C, *output_size]; `fill` where the crop lies outside."""
    out = Out.of((*layout.shape[:2], *output_size), dtype)
    if out.layout.size == 0:
        return Plan("interpolate", 2, (out,), ())
    prelude = Prelude()
    prelude.alias("V", "f32")
    prelude.storage("x", dtype)
    prelude.raw_storage("table", "array<u32>")
    prelude.storage("out", dtype, "chunk")
    prelude.const("TAPS", taps)
    prelude.const("WEIGHTED", weighted)
    numbers = {
        "size": out.layout.size, "channels": layout.shape[1], "height": output_size[0], "width": output_size[1],
        "x_at": layout.offset, "x_n": layout.strides[0], "x_c": layout.strides[1], "x_y": layout.strides[2],
        "x_x": layout.strides[3],
    }  # fmt: skip
    launch = _launch("resample/forward", prelude, numbers, out.layout.size, (0, 1, 2), device, {"fill": float(fill)})
    return Plan("interpolate", 2, (out,), (launch,))


def resample_backward_plan(x: Shape, grad: Layout, table_split: int, dtype: DType, device: Capability) -> Plan:
    """grad [N, C, Ho, Wo] and the table of `adjoint_table` → the gradient of x [N, C, H, W].

    table_split: where the words of the width begin.
    """
    operation = "interpolate_backward"
    out = Out.of(x, dtype)
    if out.layout.size == 0:
        return Plan(operation, 2, (out,), ())
    batch, channels, height, width = x
    rows = grad.shape[2]
    middle = (batch, channels, rows, width)
    first = _adjoint(
        middle, {"length": width, "inner": 1, "rows": rows, "table_at": table_split},
        (grad.offset, grad.strides[0], grad.strides[1], grad.strides[2], 0, grad.strides[3]),
        dtype, dt.F32, (0, 1, 3), device,
    )  # fmt: skip
    steps = contiguous_strides(middle)
    second = _adjoint(
        x, {"length": height, "inner": width, "rows": 1, "table_at": 0}, (0, steps[0], steps[1], 0, 1, steps[2]),
        dt.F32, dtype, (3, 1, 2), device,
    )  # fmt: skip
    return Plan(operation, 2, (out,), (first, second), (4 * prod(middle),))


def _adjoint(
    shape: Shape, numbers: dict[str, int], strides: tuple[int, ...], source: DType, out: DType,
    operands: tuple[int, ...], device: Capability,
) -> Launch:  # fmt: skip
    prelude = Prelude()
    prelude.alias("V", "f32")
    prelude.storage("x", source)
    prelude.raw_storage("table", "array<u32>")
    prelude.storage("out", out, "chunk")
    names = ("x_at", "x_n", "x_c", "x_row", "x_inner", "x_along")
    every = {"size": prod(shape), "channels": shape[1], **numbers, **dict(zip(names, strides, strict=True))}
    return _launch("resample/adjoint", prelude, every, prod(shape), operands, device)


def _launch(
    file: str, prelude: Prelude, numbers: dict[str, int], size: int, operands: tuple[int, ...], device: Capability,
    floats: dict[str, float] | None = None,
) -> Launch:  # fmt: skip
    floats = floats or {}
    prelude.const("THREADS", THREADS)
    prelude.params(groups_x="u32", **dict.fromkeys(numbers, "u32"), **dict.fromkeys(floats, "f32"))
    grid = fold(-(-size // (4 * THREADS)), device)
    key = KernelKey(
        file, prelude.build(), tuple(prelude.uses), prelude.bindings, 0, THREADS, frozenset(prelude.features),
        trusted=True,
    )  # fmt: skip
    return Launch(key, operands, words(grid[0], *numbers.values(), *floats.values()), grid)


def variants(device: Capability) -> Iterator[Plan]:
    """Copies and each number of taps, both directions, every dtype."""
    x = Layout.dense((2, 3, 5, 6))
    for dtype in (dt.F32, dt.F16, dt.BF16, dt.F64):
        yield resample_plan(x, (7, 8), 1, False, 0.0, dtype, device)
        for taps in (2, 4, 6):
            yield resample_plan(x, (7, 8), taps, True, 0.0, dtype, device)
        yield resample_backward_plan(x.shape, Layout.dense((2, 3, 7, 8)), 30, dtype, device)
