"""Fourier transforms of any length, windows, short-time transforms. Complex numbers are pairs (re, im) of tensors.

Lengths with only small factors are products of small matrices; others go by Bluestein's chirp transform (Bluestein
1970), which is a convolution, through lengths of powers of two. Halves are computed in float32.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from burn_wgpu.contract import extension
from burn_wgpu.contract.options import UnfoldOptions
from burn_wgpu.device import DTypeLike
from burn_wgpu.std.dtype import BF16, F16, F32
from burn_wgpu.std.errors import ArgumentError, DTypeError, ShapeError
from burn_wgpu.tensor import check
from burn_wgpu.tensor.base import cat, stack
from burn_wgpu.tensor.core import wrap
from burn_wgpu.tensor.creation import DeviceLike, as_device, make, room
from burn_wgpu.tensor.functional import fold4d

if TYPE_CHECKING:
    from burn_wgpu.tensor.api import Tensor

_LARGEST_FACTOR = 256
"""Larger prime factors of a length would need matrices of that size; the chirp transform takes over."""


def rfft(signal: Tensor, dim: int = -1, n: int | None = None) -> tuple[Tensor, Tensor]:
    """The transform of a real signal: (re, im) with n // 2 + 1 bins on dim. n truncates or zero-pads.

    A quantized signal is dequantized.
    """
    check.tensor("rfft", signal, "the signal")
    signal = signal.dequantize()
    axis = _axis("rfft", signal, dim)
    length = _length("rfft", signal.shape[axis] if n is None else n)
    if _smooth(length):
        re, im = extension.rfft(signal._ops.backend, signal.primitive, axis, length)
        return wrap(re, signal._ops), wrap(im, signal._ops)
    re_all, im_all = _chirp(_resized(signal, axis, length), None, axis)
    return re_all.narrow(axis, 0, length // 2 + 1), im_all.narrow(axis, 0, length // 2 + 1)


def irfft(re: Tensor, im: Tensor, dim: int = -1, n: int | None = None) -> Tensor:
    """The real signal of a half spectrum: n samples, 2·(bins − 1) by default; the inverse of rfft.

    The spectrum is cut or zero-padded to n // 2 + 1 bins.
    """
    axis = _pair("irfft", re, im, dim)
    length = _length("irfft", 2 * (re.shape[axis] - 1) if n is None else n)
    if _smooth(length):
        return wrap(extension.irfft(re._ops.backend, re.primitive, im.primitive, axis, length), re._ops)
    bins = length // 2 + 1
    full_re, full_im = _mirrored(_resized(re, axis, bins), _resized(im, axis, bins), axis, length)
    # The imaginary parts of the first (and of the middle) bin do not count, as the mirrored ones cancel them.
    return ifft(full_re, full_im, axis)[0]


def cfft(re: Tensor, im: Tensor, dim: int = -1, n: int | None = None) -> tuple[Tensor, Tensor]:
    """The transform of a complex signal: all n bins. n truncates or zero-pads."""
    axis = _pair("cfft", re, im, dim)
    length = _length("cfft", re.shape[axis] if n is None else n)
    if not _smooth(length):
        return _chirp(_resized(re, axis, length), _resized(im, axis, length), axis)
    # By linearity: the transforms of both parts, each with a spectrum that its half determines.
    a, b = _mirrored(*rfft(re, axis, length), axis, length)
    c, d = _mirrored(*rfft(im, axis, length), axis, length)
    return a - d, b + c


def ifft(re: Tensor, im: Tensor, dim: int = -1, n: int | None = None) -> tuple[Tensor, Tensor]:
    """The inverse of cfft, scaled by 1/n."""
    axis = _pair("ifft", re, im, dim)
    length = _length("ifft", re.shape[axis] if n is None else n)
    a, b = cfft(re, -im, axis, length)
    return a / length, b / -length


# ---------------------------------------------------------------------------------------------------- windows


def hann_window(size: int, periodic: bool = True, device: DeviceLike = None, dtype: DTypeLike | None = None) -> Tensor:
    """0.5 − 0.5·cos(2πk/N) [size], with N = size if periodic, else size − 1."""
    return _window("hann_window", size, periodic, (0.5, 0.5, 0.0), device, dtype)


def hamming_window(
    size: int, periodic: bool = True, device: DeviceLike = None, dtype: DTypeLike | None = None
) -> Tensor:
    """25/46 − 21/46·cos(2πk/N) [size], with N = size if periodic, else size − 1."""
    return _window("hamming_window", size, periodic, (25 / 46, 21 / 46, 0.0), device, dtype)


def blackman_window(
    size: int, periodic: bool = True, device: DeviceLike = None, dtype: DTypeLike | None = None
) -> Tensor:
    """0.42 − 0.5·cos(2πk/N) + 0.08·cos(4πk/N) [size], with N = size if periodic, else size − 1."""
    return _window("blackman_window", size, periodic, (0.42, 0.5, 0.08), device, dtype)


def _window(
    name: str,
    size: int,
    periodic: bool,
    weights: tuple[float, float, float],
    device: DeviceLike,
    dtype: DTypeLike | None,
) -> Tensor:
    (n,) = check.shape(name, (check.integer(name, size, "size"),))
    room(name, (n,), as_device(device), F32)
    if n == 1:
        return make(name, np.ones(1), device, dtype)
    phase = 2 * np.pi * np.arange(n) / max(n if periodic else n - 1, 1)
    values = weights[0] - weights[1] * np.cos(phase) + weights[2] * np.cos(2 * phase)
    return make(name, values, device, dtype, "float")


# ----------------------------------------------------------------------------------------- short-time transforms


@dataclass(frozen=True, slots=True)
class StftOptions:
    """n_fft        samples per frame, any number from 1 on
    hop_length   samples between frames; a quarter of n_fft unless given; at most the window
    win_length   size of the window, which is padded to n_fft on both sides; n_fft unless given
    center       frames are centred on their samples: the signal is padded by n_fft // 2 on both sides, reflected
    onesided     n_fft // 2 + 1 bins instead of all n_fft
    """

    n_fft: int = 400
    hop_length: int | None = None
    win_length: int | None = None
    center: bool = True
    onesided: bool = True

    @property
    def hop(self) -> int:
        return max(self.n_fft // 4, 1) if self.hop_length is None else self.hop_length

    @property
    def window(self) -> int:
        return self.n_fft if self.win_length is None else self.win_length

    def __post_init__(self) -> None:
        if self.n_fft < 1 or self.hop < 1 or self.window < 1:
            raise ArgumentError(
                f"stft options: n_fft {self.n_fft}, hop_length {self.hop}, win_length {self.window}; "
                f"each must be at least 1"
            )
        if self.window > self.n_fft or self.hop > self.window:
            raise ArgumentError(
                f"stft options: hop_length {self.hop}, win_length {self.window} and n_fft {self.n_fft}; "
                f"the hop must not exceed the window, nor the window n_fft"
            )


def stft(signal: Tensor, window: Tensor | None = None, options: StftOptions | None = None) -> Tensor:
    """The transforms of overlapping frames: signal [B, L], window [win_length] → [B, frames, bins, 2] (re, im).

    frames = 1 + (L' − n_fft) // hop, where L' is L, or L + 2·(n_fft // 2) when centred. Without a window all weigh 1.
    """
    chosen = check.chosen("stft", options, StftOptions())
    check.exact_rank("stft", signal, 2, "the signal")
    weights = _weights("stft", signal, window, chosen)
    if chosen.center and chosen.n_fft > 1:
        side = chosen.n_fft // 2
        if signal.shape[1] <= side:
            raise ShapeError(
                f"stft: the signal has {signal.shape[1]} samples and n_fft is {chosen.n_fft}; "
                f"to be centred it must have more than n_fft // 2 = {side}"
            )
        signal = signal.pad([(side, side)], "reflect")
    if signal.shape[1] < chosen.n_fft:
        raise ShapeError(f"stft: the signal has {signal.shape[1]} samples and a frame {chosen.n_fft}; it must hold one")
    frames = signal.unfold(1, chosen.n_fft, chosen.hop) * weights
    re, im = rfft(frames, -1)
    if not chosen.onesided:
        re, im = _mirrored(re, im, 2, chosen.n_fft)
    return stack([re, im], -1)


def istft(
    matrix: Tensor, window: Tensor | None = None, length: int | None = None, options: StftOptions | None = None
) -> Tensor:
    """The signal [B, L] of frames [B, frames, bins, 2]: overlapped, added, divided by the sum of squared windows.

    length crops or zero-pads the result.
    """
    chosen = check.chosen("istft", options, StftOptions())
    check.exact_rank("istft", matrix, 4, "the matrix")
    bins = chosen.n_fft // 2 + 1 if chosen.onesided else chosen.n_fft
    if matrix.shape[2:] != (bins, 2):
        raise ShapeError(
            f"istft: the matrix has shape {list(matrix.shape)}; with n_fft {chosen.n_fft} it must be "
            f"[batch, frames, {bins}, 2]"
        )
    weights = _weights("istft", matrix, window, chosen)
    re, im = (matrix.select_dim(3, i) for i in (0, 1))
    frames = irfft(re, im, 2, chosen.n_fft) if chosen.onesided else ifft(re, im, 2)[0]
    count = matrix.shape[1]
    total = chosen.n_fft + chosen.hop * (count - 1)
    place = UnfoldOptions(stride=(1, chosen.hop))

    def overlapped(rows: Tensor) -> Tensor:
        columns = fold4d(rows.transpose(), (1, total), (1, chosen.n_fft), place)
        return columns.reshape((rows.shape[0], total))

    power = overlapped((weights * weights).reshape((1, 1, chosen.n_fft)).expand((1, count, chosen.n_fft)))
    signal = overlapped(frames * weights) / power.clamp_min(1e-10)
    if chosen.center:
        side = chosen.n_fft // 2
        signal = signal.slice_dim(1, (side, max(total - side, side)))
    return signal if length is None else _resized(signal, 1, length)


def _weights(name: str, like: Tensor, window: Tensor | None, options: StftOptions) -> Tensor:
    """[n_fft]: the window, or ones, with zeros on both sides."""
    check.kind(name, like, "the input", "float")
    if window is None:
        window = type(like).ones(options.window, like.device, like.dtype)
    check.operands(name, like, window)
    check.vector(name, "the window", window, options.window, "the options' win_length")
    before = (options.n_fft - options.window) // 2
    return window.pad([(before, options.n_fft - options.window - before)])


# ---------------------------------------------------------------------------------------------------- helpers


def _axis(name: str, tensor: Tensor, dim: int) -> int:
    check.kind(name, tensor, "the signal", "float")
    if tensor.dtype.kind == "qfloat":
        raise DTypeError(f"{name}: the signal is quantized ({tensor.dtype}); call .dequantize() first")
    return check.dim(name, dim, tensor.rank)


def _pair(name: str, re: Tensor, im: Tensor, dim: int) -> int:
    check.operands(name, re, im)
    check.same_shape(name, re.shape, im.shape, "im")
    return _axis(name, re, dim)


def _length(name: str, n: int) -> int:
    n = check.integer(name, n, "n")
    if n < 1:
        raise ArgumentError(f"{name}: the length of the transform is {n}; it must be at least 1")
    return n


def _resized(tensor: Tensor, axis: int, size: int) -> Tensor:
    have = tensor.shape[axis]
    if have >= size:
        return tensor if have == size else tensor.slice_dim(axis, (0, size))
    return tensor.pad([(0, size - have)] + [(0, 0)] * (tensor.rank - 1 - axis))


def _mirrored(re: Tensor, im: Tensor, axis: int, n: int) -> tuple[Tensor, Tensor]:
    """All n bins of a real signal's spectrum from the first n // 2 + 1: bin n − k is the conjugate of bin k."""
    more = n - n // 2 - 1
    if not more:
        return re, im
    tail = (1, more + 1, -1)
    return cat([re, re.slice_dim(axis, tail)], axis), cat([im, -im.slice_dim(axis, tail)], axis)


@lru_cache(maxsize=1024)
def _smooth(n: int) -> bool:
    """Whether n has no large prime factor."""
    p = 2
    while p * p <= n:
        while n % p == 0:
            n //= p
        p += 1
    return n <= _LARGEST_FACTOR


def _chirp(re: Tensor, im: Tensor | None, axis: int) -> tuple[Tensor, Tensor]:
    """Bluestein: with jk = (j² + k² − (k−j)²)/2 a transform is a convolution with e^(iπk²/n)."""
    dtype, n = re.dtype, re.shape[axis]
    half = dtype in (F16, BF16)
    if half:
        re, im = re.cast(F32), None if im is None else im.cast(F32)
    m = 1 << (2 * n - 2).bit_length()
    # The phase k² is reduced modulo 2n as an integer, or large k would lose it.
    k = np.arange(n, dtype=object)
    angle = np.pi * np.asarray(k * k % (2 * n), np.float64) / n
    chirp = np.exp(-1j * angle)
    kernel = np.zeros(m, np.complex128)
    kernel[:n] = np.conj(chirp)
    kernel[m - n + 1 :] = np.conj(chirp[1:][::-1])
    spectrum = np.fft.fft(kernel)

    def along(values: np.ndarray) -> Tensor:
        shape = [1] * re.rank
        shape[axis] = values.size
        return make("fft", values.reshape(shape), re.device, re.dtype)

    c, s = along(chirp.real), along(chirp.imag)
    a, b = (re * c, re * s) if im is None else (re * c - im * s, re * s + im * c)
    a, b = cfft(_resized(a, axis, m), _resized(b, axis, m), axis)
    p, q = along(spectrum.real), along(spectrum.imag)
    a, b = ifft(a * p - b * q, a * q + b * p, axis)
    a, b = a.narrow(axis, 0, n), b.narrow(axis, 0, n)
    out = a * c - b * s, a * s + b * c
    return (out[0].cast(dtype), out[1].cast(dtype)) if half else out
