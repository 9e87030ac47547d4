"""Sampling an image at the points of a grid in one kernel (resample/grid.wgsl): every mode, padding and corner rule.

An output finds its pixel from its point, then the taps around it; modes differ in constants of the text only.
"""

from __future__ import annotations

from collections.abc import Iterator

from burn_wgpu.contract.options import GridSampleOptions, GridSamplePaddingMode, InterpolateMode
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import KernelKey, Launch, Out, Plan, fold
from burn_wgpu.shader.prelude import Prelude, words
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.layout import Layout

THREADS = 128
_TAPS = {InterpolateMode.BILINEAR: (2, 0.0), InterpolateMode.BICUBIC: (4, -1.0), InterpolateMode.LANCZOS3: (6, -2.0)}


def grid_sample_plan(x: Layout, grid: Layout, options: GridSampleOptions, dtype: DType, device: Capability) -> Plan:
    """x [N, C, H, W] and grid [N, Ho, Wo, 2] of one dtype → [N, C, Ho, Wo]; H and W are not 0."""
    batch, channels, height, width = x.shape
    out = Out.of((batch, channels, *grid.shape[1:3]), dtype)
    if out.layout.size == 0:
        return Plan("grid_sample_2d", 2, (out,), ())
    prelude = Prelude()
    prelude.alias("V", "f32")
    prelude.storage("x", dtype)
    prelude.storage("grid", dtype)
    prelude.storage("out", dtype, "chunk")
    taps, first = _TAPS.get(options.mode, (1, 0.0))
    prelude.const("THREADS", THREADS)
    prelude.const("TAPS", taps)
    prelude.const("FIRST", first)
    prelude.const("NEAREST", options.mode.is_nearest)
    prelude.const("PER_TAP", options.mode in (InterpolateMode.BICUBIC, InterpolateMode.LANCZOS3))
    prelude.const("LANCZOS", options.mode is InterpolateMode.LANCZOS3)
    prelude.const("ZEROS", options.padding_mode is GridSamplePaddingMode.ZEROS)
    prelude.const("REFLECTION", options.padding_mode is GridSamplePaddingMode.REFLECTION)
    numbers = {
        "size": out.layout.size, "channels": channels, "rows": grid.shape[1], "columns": grid.shape[2],
        "height": height, "width": width, "x_at": x.offset, "g_at": grid.offset,
        **dict(zip(("x_n", "x_c", "x_y", "x_x"), x.strides, strict=True)),
        **dict(zip(("g_n", "g_y", "g_x", "g_c"), grid.strides, strict=True)),
    }  # fmt: skip
    corners = options.align_corners
    floats = {"shift": 0.0 if corners else 0.5}
    for axis, size in (("y", height), ("x", width)):
        floats[f"scale_{axis}"] = (size - 1) / 2 if corners else size / 2
        floats[f"low_{axis}"] = 0.0 if corners else -0.5
        floats[f"span_{axis}"] = size - 1.0 if corners else float(size)
    prelude.params(groups_x="u32", **dict.fromkeys(numbers, "u32"), **dict.fromkeys(floats, "f32"))
    grid_size = fold(-(-out.layout.size // (4 * THREADS)), device)
    key = KernelKey(
        "resample/grid", prelude.build(), tuple(prelude.uses), prelude.bindings, 0, THREADS,
        frozenset(prelude.features), trusted=True,
    )  # fmt: skip
    params = words(grid_size[0], *numbers.values(), *floats.values())
    return Plan("grid_sample_2d", 2, (out,), (Launch(key, (0, 1, 2), params, grid_size),))


def variants(device: Capability) -> Iterator[Plan]:
    """Every mode and padding, every dtype."""
    x, grid = Layout.dense((2, 3, 5, 6)), Layout.dense((2, 4, 3, 2))
    for dtype in (dt.F32, dt.F16, dt.BF16, dt.F64):
        for mode in (InterpolateMode.NEAREST, *_TAPS):
            for padding in GridSamplePaddingMode:
                yield grid_sample_plan(x, grid, GridSampleOptions(mode, padding), dtype, device)
