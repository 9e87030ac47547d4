"""fold4d in gather form: each element of the image adds up the windows that hold it (conv/fold.wgsl)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from burn_wgpu.contract.options import UnfoldOptions
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import KernelKey, Launch, Out, Plan, fold
from burn_wgpu.shader.prelude import Prelude, words
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.layout import Layout

THREADS = 128
MOST_STEPS = 50_000  # loop iterations of an invocation: Mesa 22 stops at 65,535


def short(kernel_size: Sequence[int], options: UnfoldOptions) -> bool:
    """Whether one invocation can walk the windows of four elements."""
    rows, columns = (
        (k - 1) * d // s + 1 for k, d, s in zip(kernel_size, options.dilation, options.stride, strict=True)
    )
    return 4 * rows * (columns + 1) <= MOST_STEPS


def fold_plan(
    x: Layout, output_size: Sequence[int], kernel_size: Sequence[int], windows: Sequence[int], options: UnfoldOptions,
    dtype: DType, device: Capability,
) -> Plan:  # fmt: skip
    """x [N, C·kh·kw, Ho·Wo] → [N, C, *output_size]; windows (Ho, Wo). Sums in f32, rounded once."""
    channels = x.shape[1] // (kernel_size[0] * kernel_size[1])
    out = Out.of((x.shape[0], channels, *output_size), dtype)
    if out.layout.size == 0:
        return Plan("fold4d", 1, (out,), ())
    prelude = Prelude()
    prelude.storage("x", dtype)
    prelude.storage("out", dtype, "chunk")
    prelude.const("THREADS", THREADS)
    numbers = {
        "size": out.layout.size, "channels": channels, "height": output_size[0], "width": output_size[1],
        "x_at": x.offset, "x_n": x.strides[0], "x_k": x.strides[1], "x_b": x.strides[2],
    }  # fmt: skip
    for axis, letter in enumerate("yx"):
        numbers[f"windows_{letter}"] = windows[axis]
        numbers[f"kernel_{letter}"] = kernel_size[axis]
        numbers[f"stride_{letter}"] = options.stride[axis]
        numbers[f"padding_{letter}"] = options.padding[axis]
        numbers[f"dilation_{letter}"] = options.dilation[axis]
    prelude.params(groups_x="u32", **dict.fromkeys(numbers, "u32"))
    grid = fold(-(-out.layout.size // (4 * THREADS)), device)
    key = KernelKey(
        "conv/fold", prelude.build(), tuple(prelude.uses), prelude.bindings, 0, THREADS, frozenset(prelude.features),
        trusted=True,
    )  # fmt: skip
    return Plan("fold4d", 1, (out,), (Launch(key, (0, 1), words(grid[0], *numbers.values()), grid),))


def variants(device: Capability) -> Iterator[Plan]:
    """Every dtype."""
    for dtype in (dt.F32, dt.F16, dt.BF16, dt.F64):
        yield fold_plan(Layout.dense((2, 12, 6)), (3, 4), (2, 2), (2, 3), UnfoldOptions(), dtype, device)
