"""Fourier transforms and windows."""

from __future__ import annotations

from collections.abc import Callable

from burn_wgpu import Tensor, stack
from burn_wgpu.tensor import signal
from tests.onnx_suite.interpreter import Node, number, operator


def _window(function: Callable[..., Tensor]) -> Callable[[Node, Tensor], Tensor]:
    def run(node: Node, size: Tensor) -> Tensor:
        return function(
            number(size), bool(node.get("periodic", 1)), node.device, node.target(node.get("output_datatype", 1))
        )

    return run


operator("HannWindow")(_window(signal.hann_window))
operator("HammingWindow")(_window(signal.hamming_window))
operator("BlackmanWindow")(_window(signal.blackman_window))


def _parts(x: Tensor) -> tuple[Tensor, Tensor | None]:
    """The last axis holds the real part, or both."""
    return x.select_dim(-1, 0), x.select_dim(-1, 1) if x.shape[-1] == 2 else None


@operator("DFT")
def dft(node: Node, x: Tensor, length: Tensor | None = None, axis: Tensor | None = None) -> Tensor:
    dim = number(axis, -2) if node.opset >= 20 else node.get("axis", 1)
    dim = dim % x.rank
    re, im = _parts(x)
    n = number(length)
    if node.get("inverse", 0):
        if node.get("onesided", 0):
            return signal.irfft(re, re.zeros_like() if im is None else im, dim, n).unsqueeze_dim(-1)
        return stack(signal.ifft(re, re.zeros_like() if im is None else im, dim, n), -1)
    if im is not None:
        return stack(signal.cfft(re, im, dim, n), -1)
    if node.get("onesided", 0):
        return stack(signal.rfft(re, dim, n), -1)
    return stack(signal.cfft(re, re.zeros_like(), dim, n), -1)


@operator("STFT")
def stft(node: Node, x: Tensor, step: Tensor, window: Tensor | None = None, length: Tensor | None = None) -> Tensor:
    re, _ = _parts(x) if x.rank == 3 else (x, None)
    size = number(length) if window is None else window.shape[0]
    options = signal.StftOptions(size, number(step), size, center=False, onesided=bool(node.get("onesided", 1)))
    return signal.stft(re, window, options)
