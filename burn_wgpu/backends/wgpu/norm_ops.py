"""Layer norm and batch norm: one plan each, see kernel/norm.py."""

from __future__ import annotations

from burn_wgpu.backends.wgpu.run import contiguous, run, run1
from burn_wgpu.backends.wgpu.tensor import WgpuTensor
from burn_wgpu.contract.options import BatchNormGradients, BatchNormTrain
from burn_wgpu.kernel.norm import (
    batch_norm_plan,
    batch_norm_train_backward_plan,
    batch_norm_train_plan,
    layer_norm_plan,
)


class NormOps:
    """Vectors of parameters are small: they are made contiguous, x is read as it lies."""

    def layer_norm(self, x: WgpuTensor, gamma: WgpuTensor, beta: WgpuTensor | None, eps: float) -> WgpuTensor:
        layout, dtype, kind = x.layout, x.dtype, gamma.dtype
        gamma = contiguous(gamma)
        if beta is None:
            return run1(
                x.device,
                ("layer_norm", layout, dtype, kind, None, eps),
                lambda c: layer_norm_plan(layout, dtype, kind, None, eps, c),
                (x, gamma),
            )
        beta_kind = beta.dtype
        return run1(
            x.device,
            ("layer_norm", layout, dtype, kind, beta_kind, eps),
            lambda c: layer_norm_plan(layout, dtype, kind, beta_kind, eps, c),
            (x, gamma, contiguous(beta)),
        )

    def batch_norm(
        self,
        x: WgpuTensor,
        gamma: WgpuTensor,
        beta: WgpuTensor,
        mean: WgpuTensor,
        variance: WgpuTensor,
        eps: float,
    ) -> WgpuTensor:
        layout, dtype = x.layout, x.dtype
        kinds = (gamma.dtype, beta.dtype, mean.dtype, variance.dtype)
        return run1(
            x.device,
            ("batch_norm", layout, dtype, kinds, eps),
            lambda c: batch_norm_plan(layout, dtype, kinds, eps, c),
            (x, contiguous(gamma), contiguous(beta), contiguous(mean), contiguous(variance)),
        )

    def batch_norm_train(self, x: WgpuTensor, gamma: WgpuTensor, beta: WgpuTensor, eps: float) -> BatchNormTrain:
        layout, dtype, kinds = x.layout, x.dtype, (gamma.dtype, beta.dtype)
        outputs = run(
            x.device,
            ("batch_norm_train", layout, dtype, kinds, eps),
            lambda c: batch_norm_train_plan(layout, dtype, *kinds, eps, c),
            (x, contiguous(gamma), contiguous(beta)),
        )
        return BatchNormTrain(*outputs)

    def batch_norm_train_backward(
        self,
        x: WgpuTensor,
        gamma: WgpuTensor,
        mean: WgpuTensor,
        variance: WgpuTensor,
        eps: float,
        output_grad: WgpuTensor,
    ) -> BatchNormGradients:
        x = contiguous(x)
        layout, kinds = x.layout, (x.dtype, output_grad.dtype, gamma.dtype, mean.dtype, variance.dtype)
        outputs = run(
            x.device,
            ("batch_norm_train_backward", layout, kinds, eps),
            lambda c: batch_norm_train_backward_plan(layout, *kinds, eps, c),
            (x, contiguous(output_grad), contiguous(gamma), contiguous(mean), contiguous(variance)),
        )
        return BatchNormGradients(*outputs)
