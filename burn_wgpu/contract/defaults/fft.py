"""Fourier transforms of any length as small matrix products (Cooley and Tukey 1965, in mixed radix).

A length n = p·q is transformed as p columns and q rows with twiddle factors between; a length without a factor that is
small enough is one product with the n × n matrix, so callers split long ones first (Bluestein). Phases are reduced
modulo n as integers, so that they are exact.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from burn_wgpu.contract.defaults.common import cast, float_constant, narrow, widen
from burn_wgpu.contract.options import PadMode
from burn_wgpu.contract.types import FloatPrim

Complex = tuple[FloatPrim, FloatPrim | None]
_DIRECT = 64


def rfft(b: Any, signal: FloatPrim, dim: int, n: int | None = None) -> tuple[FloatPrim, FloatPrim]:
    length = signal.shape[dim] if n is None else n
    last = len(signal.shape) - 1
    rows, lead = _rows(b, _resized(b, b.float_swap_dims(widen(b, signal), dim, last), last, length))
    re, im = _transform(b, (rows, None), -1)
    assert im is not None
    return _back(b, re, lead, dim, length // 2 + 1, signal), _back(b, im, lead, dim, length // 2 + 1, signal)


def irfft(b: Any, re: FloatPrim, im: FloatPrim, dim: int, n: int | None = None) -> FloatPrim:
    length = 2 * (re.shape[dim] - 1) if n is None else n
    last = len(re.shape) - 1
    bins = length // 2 + 1
    half = [_resized(b, b.float_swap_dims(widen(b, part), dim, last), last, bins) for part in (re, im)]
    mirrored = length - bins
    full = []
    for part, conjugate in zip(half, (False, True), strict=True):
        if mirrored > 0:
            tail = b.float_flip(narrow(b, part, last, 1, mirrored), [last])
            part = b.float_cat([part, b.float_neg(tail) if conjugate else tail], last)
        full.append(part)
    rows_re, lead = _rows(b, full[0])
    rows_im, _ = _rows(b, full[1])
    out, _ = _transform(b, (rows_re, rows_im), 1)
    return _back(b, b.float_mul_scalar(out, 1 / length), lead, dim, length, re)


def _resized(b: Any, x: FloatPrim, dim: int, length: int) -> FloatPrim:
    if length <= x.shape[dim]:
        return narrow(b, x, dim, 0, length)
    pads = [(0, length - size if axis == dim else 0) for axis, size in enumerate(x.shape)]
    return b.float_pad(x, pads, PadMode.constant(0.0))  # type: ignore[no-any-return]


def _rows(b: Any, x: FloatPrim) -> tuple[FloatPrim, tuple[int, ...]]:
    lead = x.shape[:-1]
    return b.float_reshape(x, (prod(lead), x.shape[-1])), lead


def _back(b: Any, rows: FloatPrim, lead: tuple[int, ...], dim: int, keep: int, like: FloatPrim) -> FloatPrim:
    """[rows, n] → the first `keep` of n on dim, among the other axes."""
    part = b.float_reshape(narrow(b, rows, 1, 0, keep), (*lead, keep))
    return cast(b, b.float_swap_dims(part, dim, len(lead)), like.dtype)


def _transform(b: Any, x: Complex, sign: int) -> Complex:
    """[rows, n] → [rows, n]: Σ x[i]·exp(sign·2πi·i·k/n)."""
    n = x[0].shape[1]
    p = _factor(n)
    if p == n:
        out = _times(b, tuple(None if t is None else b.float_reshape(t, (1, *t.shape)) for t in x), n, sign)
        return tuple(b.float_reshape(t, t.shape[1:]) for t in out)  # type: ignore[return-value]
    rows, q = x[0].shape[0], n // p
    # i = q·i1 + i2 and k = k1 + p·k2: transform i1, twiddle, transform i2.
    grid = tuple(None if t is None else b.float_swap_dims(b.float_reshape(t, (rows, p, q)), 1, 2) for t in x)
    columns = _times(b, grid, p, sign)  # [rows, i2, k1]
    angle = 2 * np.pi * sign * (np.outer(np.arange(q), np.arange(p)) % n) / n
    twisted = _product(
        b, columns, float_constant(b, np.cos(angle)[None], x[0]), float_constant(b, np.sin(angle)[None], x[0])
    )
    inner = tuple(b.float_reshape(b.float_swap_dims(t, 1, 2), (rows * p, q)) for t in twisted)  # [rows·k1, i2]
    done = _transform(b, inner, sign)  # type: ignore[arg-type]  # [rows·k1, k2]
    return tuple(  # type: ignore[return-value]
        b.float_reshape(b.float_swap_dims(b.float_reshape(t, (rows, p, q)), 1, 2), (rows, n)) for t in done
    )


def _times(b: Any, x: tuple[Any, ...], n: int, sign: int) -> tuple[FloatPrim, FloatPrim]:
    """[.., rows, n] times the n × n transform matrix."""
    cosine, sine = (float_constant(b, part[None], x[0]) for part in _matrix(n, sign))
    re = b.float_matmul(x[0], cosine)
    im = b.float_matmul(x[0], sine)
    if x[1] is None:
        return re, im
    return b.float_sub(re, b.float_matmul(x[1], sine)), b.float_add(im, b.float_matmul(x[1], cosine))


def _product(b: Any, x: tuple[FloatPrim, FloatPrim], re: FloatPrim, im: FloatPrim) -> tuple[FloatPrim, FloatPrim]:
    return (
        b.float_sub(b.float_mul(x[0], re), b.float_mul(x[1], im)),
        b.float_add(b.float_mul(x[0], im), b.float_mul(x[1], re)),
    )


def _matrix(n: int, sign: int) -> tuple[np.ndarray, np.ndarray]:
    """Cosines and sines of the transform; only small ones are kept."""
    return _small_matrix(n, sign) if n <= _DIRECT else _new_matrix(n, sign)


@lru_cache(maxsize=2 * _DIRECT)
def _small_matrix(n: int, sign: int) -> tuple[np.ndarray, np.ndarray]:
    return _new_matrix(n, sign)


def _new_matrix(n: int, sign: int) -> tuple[np.ndarray, np.ndarray]:
    angle = 2 * np.pi * sign * (np.outer(np.arange(n), np.arange(n)) % n) / n
    return np.cos(angle), np.sin(angle)


@lru_cache(maxsize=256)
def _factor(n: int) -> int:
    """The largest factor of n that is small enough, or n itself."""
    if n <= _DIRECT:
        return n
    return next((p for p in range(_DIRECT, 1, -1) if n % p == 0), n)
