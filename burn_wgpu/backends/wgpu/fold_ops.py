"""fold4d, see kernel/fold.py."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from burn_wgpu.backends.wgpu.run import run1
from burn_wgpu.backends.wgpu.tensor import WgpuTensor
from burn_wgpu.contract.defaults import conv as defaults
from burn_wgpu.contract.options import UnfoldOptions, conv_output_size
from burn_wgpu.kernel.fold import fold_plan, short


class FoldOps:
    """See `contract.module_ops`; sums are in f32 and rounded once."""

    def fold4d(
        self, x: WgpuTensor, output_size: Sequence[int], kernel_size: Sequence[int], options: UnfoldOptions
    ) -> WgpuTensor:
        size, kernel = tuple(output_size), tuple(kernel_size)
        windows = tuple([
            conv_output_size(n, k, s, (p, p), d, "fold4d")
            for n, k, s, p, d in zip(size, kernel, options.stride, options.padding, options.dilation, strict=True)
        ])  # fmt: skip
        fits = x.shape[1] % prod(kernel) == 0 and x.shape[2] == prod(windows)
        if not fits or x.layout.size == 0 or not short(kernel, options):
            return defaults.fold4d(self, x, size, kernel, options)  # type: ignore[return-value]
        layout, dtype = x.layout, x.dtype
        return run1(
            x.device,
            ("fold4d", layout, size, kernel, options, dtype),
            lambda c: fold_plan(layout, size, kernel, windows, options, dtype, c),
            (x,),
        )
