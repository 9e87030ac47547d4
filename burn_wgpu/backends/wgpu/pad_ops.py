"""Padding, see kernel/pad.py."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from burn_wgpu.backends.wgpu.movement_ops import full
from burn_wgpu.backends.wgpu.run import run1
from burn_wgpu.backends.wgpu.tensor import WgpuTensor
from burn_wgpu.contract.defaults.shape import check_padding
from burn_wgpu.contract.options import PadMode
from burn_wgpu.kernel.movement import full_bits
from burn_wgpu.kernel.pad import pad_plan
from burn_wgpu.std.data import compute_dtype, store_array
from burn_wgpu.std.scalar import as_scalar


def pad(tensor: WgpuTensor, padding: Sequence[tuple[int, int]], mode: PadMode) -> WgpuTensor:
    shape, layout, dtype, kind = tensor.shape, tensor.layout, tensor.dtype, mode.kind
    check_padding(shape, padding, mode)
    pairs = tuple([(int(before), int(after)) for before, after in padding])
    bits = b""
    if kind == "constant":
        scalar = as_scalar(mode.value, dtype)  # refused even where nothing is padded
        if 0 in shape:
            grown = [before + n + after for n, (before, after) in zip(shape, pairs, strict=True)]
            return full(grown, scalar, tensor.device, dtype)
        bits = full_bits(store_array(np.asarray(scalar, dtype=compute_dtype(dtype)), dtype).tobytes())
    if not any(map(any, pairs)):
        return tensor
    if 0 in shape:  # an axis without padding has no element
        grown = [before + n + after for n, (before, after) in zip(shape, pairs, strict=True)]
        return full(grown, 0, tensor.device, dtype)
    return run1(
        tensor.device,
        ("pad", layout, pairs, kind, dtype),
        lambda c: pad_plan(layout, pairs, kind, dtype, c),
        (tensor,),
        bits,
    )


class PadOps:
    """One form for both kinds; the contract documents them."""

    def float_pad(self, tensor: WgpuTensor, padding: Sequence[tuple[int, int]], mode: PadMode) -> WgpuTensor:
        return pad(tensor, padding, mode)

    def int_pad(self, tensor: WgpuTensor, padding: Sequence[tuple[int, int]], mode: PadMode) -> WgpuTensor:
        return pad(tensor, padding, mode)
