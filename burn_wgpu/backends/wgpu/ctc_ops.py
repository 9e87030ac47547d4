"""CTC and its gradient, see kernel/ctc.py. What does not fit one workgroup is composed."""

from __future__ import annotations

from burn_wgpu.backends.wgpu.run import run1
from burn_wgpu.backends.wgpu.tensor import WgpuTensor
from burn_wgpu.contract.defaults import ctc as defaults
from burn_wgpu.kernel.ctc import Samples, ctc_loss_backward_plan, ctc_loss_plan


def _samples(
    log_probs: WgpuTensor, targets: WgpuTensor, input_lengths: WgpuTensor, target_lengths: WgpuTensor, blank: int
) -> Samples:
    dtypes = (log_probs.dtype, targets.dtype, input_lengths.dtype, target_lengths.dtype)
    return Samples(log_probs.layout, targets.layout, input_lengths.layout, target_lengths.layout, dtypes, blank)


class CtcOps:
    """See `contract.module_ops`; computed in f32 and rounded once."""

    def ctc_loss(
        self,
        log_probs: WgpuTensor,
        targets: WgpuTensor,
        input_lengths: WgpuTensor,
        target_lengths: WgpuTensor,
        blank: int,
    ) -> WgpuTensor:
        given = (log_probs, targets, input_lengths, target_lengths)
        samples = _samples(*given, blank)
        if not samples.fits(False, log_probs.device.capability):
            return defaults.ctc_loss(self, *given, blank)  # type: ignore[return-value]
        return run1(log_probs.device, ("ctc_loss", samples), lambda c: ctc_loss_plan(samples, c), given)

    def has_ctc_loss_backward(self) -> bool:
        return True

    def ctc_loss_backward(
        self,
        log_probs: WgpuTensor,
        targets: WgpuTensor,
        input_lengths: WgpuTensor,
        target_lengths: WgpuTensor,
        output_grad: WgpuTensor,
        blank: int,
    ) -> WgpuTensor:
        given = (log_probs, targets, input_lengths, target_lengths)
        samples = _samples(*given, blank)
        if not samples.fits(True, log_probs.device.capability):
            return defaults.ctc_loss_backward(self, *given, output_grad, blank)  # type: ignore[return-value]
        grad, dtype = output_grad.layout, output_grad.dtype
        return run1(
            log_probs.device,
            ("ctc_loss_backward", samples, grad, dtype),
            lambda c: ctc_loss_backward_plan(samples, grad, dtype, c),
            (*given, output_grad),
        )
