"""`WgpuBackend`: the contract on WebGPU, put together from one mixin a family."""

from __future__ import annotations

from burn_wgpu.backends.wgpu.attention_ops import AttentionOps
from burn_wgpu.backends.wgpu.cast_ops import CastOps
from burn_wgpu.backends.wgpu.conv_ops import ConvOps
from burn_wgpu.backends.wgpu.ctc_ops import CtcOps
from burn_wgpu.backends.wgpu.device_ops import DeviceOps
from burn_wgpu.backends.wgpu.elementwise import method_for
from burn_wgpu.backends.wgpu.fold_ops import FoldOps
from burn_wgpu.backends.wgpu.grid_sample_ops import GridSampleOps
from burn_wgpu.backends.wgpu.index_ops import IndexOps
from burn_wgpu.backends.wgpu.math_ops import MathOps
from burn_wgpu.backends.wgpu.matmul_ops import MatmulOps
from burn_wgpu.backends.wgpu.movement_ops import MovementOps
from burn_wgpu.backends.wgpu.norm_ops import NormOps
from burn_wgpu.backends.wgpu.pad_ops import PadOps
from burn_wgpu.backends.wgpu.pool_ops import PoolOps
from burn_wgpu.backends.wgpu.quant_ops import QuantOps
from burn_wgpu.backends.wgpu.random_ops import RandomOps
from burn_wgpu.backends.wgpu.reduce_ops import ReduceOps
from burn_wgpu.backends.wgpu.resample_ops import ResampleOps
from burn_wgpu.backends.wgpu.scan_ops import ScanOps
from burn_wgpu.backends.wgpu.softmax_ops import SoftmaxOps
from burn_wgpu.backends.wgpu.sort_ops import SortOps
from burn_wgpu.contract.backend import Backend
from burn_wgpu.contract.declare import install_elementwise


class WgpuBackend(  # type: ignore[misc]  # the mixins take this backend's own tensors where the contract says any
    AttentionOps,
    CastOps,
    ConvOps,
    CtcOps,
    DeviceOps,
    FoldOps,
    GridSampleOps,
    IndexOps,
    MathOps,
    MatmulOps,
    MovementOps,
    NormOps,
    PadOps,
    PoolOps,
    QuantOps,
    RandomOps,
    ReduceOps,
    ResampleOps,
    ScanOps,
    SoftmaxOps,
    SortOps,
    Backend,
):
    """Operations as WGSL compute shaders. Stateless: a tensor's device handle holds queue, pool and plans."""


install_elementwise(WgpuBackend, method_for)
