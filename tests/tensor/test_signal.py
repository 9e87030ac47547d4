"""Fourier transforms, windows and short-time transforms against NumPy and PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

from burn_wgpu import Device, Tensor
from burn_wgpu.std.errors import ArgumentError, ShapeError
from burn_wgpu.tensor import signal as S

LENGTHS = [1, 2, 3, 4, 7, 8, 30, 37, 64, 100, 257, 521]


def near(got: Tensor, want: np.ndarray, n: int) -> None:
    assert got.shape == want.shape
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-4, atol=3e-6 * max(n, 4) ** 0.5 * 4)


@pytest.mark.parametrize("n", LENGTHS)
def test_real_transforms_of_any_length(device: Device, rng: np.random.Generator, n: int) -> None:
    a = rng.standard_normal((2, n)).astype(np.float32)
    re, im = S.rfft(Tensor(a, device=device), 1)
    want = np.fft.rfft(a.astype(np.float64), axis=1)
    near(re, want.real, n)
    near(im, want.imag, n)
    near(S.irfft(re, im, 1, n), a, n)


@pytest.mark.parametrize("n", [1, 2, 5, 8, 30, 521])
def test_complex_transforms(device: Device, rng: np.random.Generator, n: int) -> None:
    a, b = rng.standard_normal((2, n, 3)).astype(np.float32)
    x, y = Tensor(a, device=device), Tensor(b, device=device)
    re, im = S.cfft(x, y, 0)
    want = np.fft.fft(a + 1j * b, axis=0)
    near(re, want.real, n)
    near(im, want.imag, n)
    back, rest = S.ifft(re, im, 0)
    near(back, a, n)
    near(rest, b, n)


def test_lengths_cut_and_pad(device: Device, rng: np.random.Generator) -> None:
    a = rng.standard_normal(10).astype(np.float32)
    x = Tensor(a, device=device)
    for n in (6, 10, 16, 15):
        re, im = S.rfft(x, 0, n)
        want = np.fft.rfft(a, n)
        near(re, want.real, n)
        near(im, want.imag, n)
        near(S.irfft(x, x.mul(0.0), 0, n), np.fft.irfft(a, n), n)
    near(S.irfft(*S.rfft(x)), a, 10)
    with pytest.raises(ArgumentError, match="the length of the transform is 0"):
        S.rfft(x, 0, 0)


@pytest.mark.parametrize("periodic", [True, False])
def test_windows(device: Device, periodic: bool) -> None:
    torch = pytest.importorskip("torch")
    for n in (0, 1, 2, 9, 16):
        for name in ("hann", "blackman"):
            want = getattr(torch, f"{name}_window")(n, periodic=periodic, dtype=torch.float64).numpy()
            got = getattr(S, f"{name}_window")(n, periodic, device)
            assert got.kind == "float"
            np.testing.assert_allclose(got.numpy(), want, atol=1e-6)
        want = torch.hamming_window(n, periodic=periodic, alpha=25 / 46, beta=21 / 46, dtype=torch.float64).numpy()
        np.testing.assert_allclose(S.hamming_window(n, periodic, device).numpy(), want, atol=1e-6)


@pytest.mark.parametrize("onesided", [True, False])
@pytest.mark.parametrize(("n_fft", "hop", "win"), [(16, 4, 16), (20, 5, 12), (16, None, None)])
def test_short_time_transforms(
    device: Device, rng: np.random.Generator, onesided: bool, n_fft: int, hop: int | None, win: int | None
) -> None:
    torch = pytest.importorskip("torch")
    a = rng.standard_normal((2, 100)).astype(np.float32)
    options = S.StftOptions(n_fft, hop, win, True, onesided)
    window = S.hann_window(options.window, True, device)
    got = S.stft(Tensor(a, device=device), window, options)
    theirs = torch.stft(
        torch.from_numpy(a), n_fft, options.hop, options.window, torch.hann_window(options.window),
        onesided=onesided, return_complex=True,
    )  # fmt: skip
    want = torch.view_as_real(theirs).permute(0, 2, 1, 3).numpy()
    assert got.shape == want.shape
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-3, atol=1e-4)
    back = S.istft(got, window, 100, options)
    np.testing.assert_allclose(back.numpy()[:, 10:90], a[:, 10:90], atol=1e-4)
    assert back.shape == (2, 100)


def test_short_time_errors(cpu: Device) -> None:
    with pytest.raises(ArgumentError) as caught:
        S.StftOptions(16, 20)
    assert str(caught.value) == (
        "stft options: hop_length 20, win_length 16 and n_fft 16; the hop must not exceed the window, "
        "nor the window n_fft"
    )
    with pytest.raises(ShapeError) as short:
        S.stft(Tensor.zeros((1, 8), cpu), None, S.StftOptions(16))
    assert str(short.value) == (
        "stft: the signal has 8 samples and n_fft is 16; to be centred it must have more than n_fft // 2 = 8"
    )
