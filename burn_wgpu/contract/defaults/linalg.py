"""Linear algebra on the host: the tensors are read, computed in float64 and uploaded again."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from burn_wgpu.contract.types import FloatPrim, IntPrim
from burn_wgpu.std.data import TensorData
from burn_wgpu.std.dtype import I32
from burn_wgpu.std.errors import ArgumentError


def svd(b: Any, tensor: FloatPrim, sweeps: int, swap: bool) -> tuple[FloatPrim, FloatPrim, FloatPrim]:
    """LAPACK bounds its own iterations; `sweeps` is for backends that iterate themselves."""
    try:
        u, s, vt = np.linalg.svd(_host(b, tensor), full_matrices=False)
    except np.linalg.LinAlgError as error:
        raise ArgumentError(
            f"svd: the iteration does not converge for a matrix of shape {list(tensor.shape)}; "
            f"its elements must be finite"
        ) from error
    if swap:  # Aᵀ = U·S·Vᵀ means A = V·S·Uᵀ
        u, vt = vt.swapaxes(-1, -2), u.swapaxes(-1, -2)
    return _device(b, u, tensor), _device(b, s, tensor), _device(b, vt, tensor)


def solve(b: Any, lhs: FloatPrim, rhs: FloatPrim) -> FloatPrim:
    try:
        return _device(b, np.linalg.solve(_host(b, lhs), _host(b, rhs)), lhs)
    except np.linalg.LinAlgError as error:
        raise ArgumentError(
            f"solve: lhs {list(lhs.shape)} is singular, a pivot is 0; the matrix must be invertible"
        ) from error


def cholesky(b: Any, tensor: FloatPrim, upper: bool) -> tuple[FloatPrim, IntPrim]:
    """Column by column, all matrices at once; a matrix with a bad pivot keeps NaN from that column on."""
    a = _host(b, tensor)
    n = a.shape[-1]
    a = a.reshape(prod(a.shape[:-2]), n, n)
    if upper:
        a = a.swapaxes(1, 2)
    factor = np.zeros_like(a)
    status = np.zeros(len(a), np.int64)
    with np.errstate(all="ignore"):
        for j in range(n):
            done = factor[:, j, :j]
            pivot = a[:, j, j] - (done * done).sum(1)
            bad = ~((pivot > 0) & np.isfinite(pivot))
            status = np.where((status == 0) & bad, j + 1, status)
            root = np.sqrt(np.where(bad, np.nan, pivot))
            factor[:, j, j] = root
            rest = a[:, j + 1 :, j] - (factor[:, j + 1 :, :j] @ done[:, :, None])[:, :, 0]
            factor[:, j + 1 :, j] = rest / root[:, None]
    if upper:
        factor = factor.swapaxes(1, 2)
    codes = b.int_from_data(TensorData.of(status, I32), tensor.device)
    return _device(b, factor.reshape(tensor.shape), tensor), codes


def _host(b: Any, tensor: FloatPrim) -> np.ndarray:
    return b.float_into_data(tensor).numpy().astype(np.float64)  # type: ignore[no-any-return]


def _device(b: Any, values: np.ndarray, like: FloatPrim) -> FloatPrim:
    return b.float_from_data(TensorData.of(np.ascontiguousarray(values), like.dtype), like.device)  # type: ignore[no-any-return]
