"""Sampling at the points of a grid, see kernel/grid_sample.py."""

from __future__ import annotations

from burn_wgpu.backends.wgpu.run import run1
from burn_wgpu.backends.wgpu.tensor import WgpuTensor
from burn_wgpu.contract.defaults import grid_sample as defaults
from burn_wgpu.contract.options import GridSampleOptions
from burn_wgpu.kernel.grid_sample import grid_sample_plan


class GridSampleOps:
    """See `contract.float_ops`; computed in f32 and rounded once."""

    def float_grid_sample_2d(self, tensor: WgpuTensor, grid: WgpuTensor, options: GridSampleOptions) -> WgpuTensor:
        if 0 in tensor.shape[2:]:  # an image without pixels: the composition says what is wrong
            return defaults.grid_sample_2d(self, tensor, grid, options)  # type: ignore[return-value]
        layout, points, dtype = tensor.layout, grid.layout, tensor.dtype
        return run1(
            tensor.device,
            ("grid_sample_2d", layout, points, options, dtype),
            lambda c: grid_sample_plan(layout, points, options, dtype, c),
            (tensor, grid),
        )
