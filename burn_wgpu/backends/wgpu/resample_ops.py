"""interpolate and its gradient, see kernel/resample.py. Tables are uploaded once and kept beside the plans."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

import numpy as np

from burn_wgpu.backends.wgpu.movement_ops import from_data
from burn_wgpu.backends.wgpu.run import run1
from burn_wgpu.backends.wgpu.tensor import WgpuDevice, WgpuTensor
from burn_wgpu.contract.defaults import interpolate as defaults
from burn_wgpu.contract.options import InterpolateMode, InterpolateOptions
from burn_wgpu.kernel.resample import (
    MOST_ENTRIES,
    adjoint_table,
    adjoint_words,
    forward_table,
    resample_backward_plan,
    resample_plan,
)
from burn_wgpu.std.data import TensorData
from burn_wgpu.std.dtype import U32

_TAPS = {InterpolateMode.BILINEAR: 2, InterpolateMode.BICUBIC: 4, InterpolateMode.LANCZOS3: 6}

_Made = TypeVar("_Made")


def _kept(device: WgpuDevice, key: Hashable, make: Callable[[], _Made]) -> _Made:
    found: _Made | None = device.plans.get(key)
    return device.remember(key, make()) if found is None else found


def _upload(table: np.ndarray, device: WgpuDevice) -> WgpuTensor:
    return from_data(TensorData(table, U32), device)


class ResampleOps:
    """See `contract.module_ops`; sums are in f32 and rounded once."""

    def interpolate(self, x: WgpuTensor, output_size: Sequence[int], options: InterpolateOptions) -> WgpuTensor:
        sizes, size, device = x.shape[2:], tuple(output_size), x.device

        def make() -> WgpuTensor:
            return _upload(forward_table(defaults.both_axes(sizes, size, options)), device)

        table = _kept(device, ("interpolate table", sizes, size, options), make)
        layout, dtype, fill = x.layout, x.dtype, options.coordinate_transform.extrapolation_value
        taps = _TAPS.get(options.mode, 1)
        return run1(
            device,
            ("interpolate", layout, size, taps, fill, dtype),
            lambda c: resample_plan(layout, size, taps, not options.mode.is_nearest, fill, dtype, c),
            (x, table),
        )

    def interpolate_backward(
        self, x: WgpuTensor, output_grad: WgpuTensor, output_size: Sequence[int], options: InterpolateOptions
    ) -> WgpuTensor:
        shape, size, device = x.shape, tuple(output_size), x.device

        def make() -> tuple[WgpuTensor | None, int]:
            taps = defaults.both_axes(shape[2:], size, options)
            table, most = adjoint_table(taps, shape[2:])
            return None if most > MOST_ENTRIES else _upload(table, device), adjoint_words(taps[0], shape[2])

        table, split = _kept(device, ("interpolate_backward table", shape[2:], size, options), make)
        if table is None:  # one element serves too many outputs for one invocation
            return defaults.interpolate_backward(self, x, output_grad, output_size, options)  # type: ignore[return-value]
        layout, dtype = output_grad.layout, x.dtype
        return run1(
            device,
            ("interpolate_backward", shape, layout, split, dtype),
            lambda c: resample_backward_plan(shape, layout, split, dtype, c),
            (output_grad, table),
        )
