"""Linear algebra over the last two axes, norms, similarities.

Factorisations run on the host and wait for the device; those of f16 and bf16 are computed in f32 or better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, prod
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from burn_wgpu.contract import extension
from burn_wgpu.std.data import TensorData
from burn_wgpu.std.dtype import BF16, F16, F32
from burn_wgpu.std.errors import ArgumentError, DTypeError, ShapeError, UnsupportedError
from burn_wgpu.tensor import check
from burn_wgpu.tensor.core import from_host, wrap
from burn_wgpu.tensor.info import finfo

if TYPE_CHECKING:
    from burn_wgpu.tensor.api import Tensor

# ------------------------------------------------------------------------------------------ diagonals, products


def diag(tensor: Tensor) -> Tensor:
    """The diagonal of the last two axes: [.., r, c] → [.., min(r, c)]."""
    check.tensor("diag", tensor, "the tensor")
    check.rank("diag", tensor.shape, 2)
    *lead, rows, columns = tensor.shape
    k = min(rows, columns)
    flat = tensor.slice_dim(-2, (0, k)).reshape((*lead, k * columns))
    return flat.slice_dim(-1, (0, k * columns, columns + 1)) if k else flat.reshape((*lead, 0))


def trace(tensor: Tensor) -> Tensor:
    """The sum of the diagonal of the last two axes: [.., r, c] → [.., 1]."""
    check.tensor("trace", tensor, "the tensor")
    check.rank("trace", tensor.shape, 2)
    return diag(tensor).sum_dim(-1)


def matvec(matrix: Tensor, vector: Tensor) -> Tensor:
    """matrix [.., m, n] · vector [.., n] → [.., m]; leading axes broadcast."""
    check.operands("matvec", matrix, vector)
    check.rank("matvec", matrix.shape, 2, "the matrix")
    if vector.rank != matrix.rank - 1 or vector.shape[-1] != matrix.shape[-1]:
        raise ShapeError(
            f"matvec: the matrix has shape {list(matrix.shape)} and the vector {list(vector.shape)}; "
            f"the vector must have one axis less and end with {matrix.shape[-1]}"
        )
    return matrix.matmul(vector.unsqueeze_dim(-1)).squeeze_dim(-1)


def outer(lhs: Tensor, rhs: Tensor) -> Tensor:
    """lhs [.., m], rhs [.., n] → [.., m, n], every product; leading axes broadcast."""
    return outer_dim(lhs, rhs, -1)


def outer_dim(lhs: Tensor, rhs: Tensor, dim: int) -> Tensor:
    """Every product of elements along an axis: [.., m, ..] and [.., n, ..] → [.., m, n, ..]."""
    check.operands("outer", lhs, rhs)
    check.rank("outer", lhs.shape, 1, "lhs")
    if lhs.rank != rhs.rank:
        raise ShapeError(f"outer: lhs {list(lhs.shape)} and rhs {list(rhs.shape)} must have the same rank")
    axis = check.dim("outer", dim, lhs.rank)
    return lhs.unsqueeze_dim(axis + 1) * rhs.unsqueeze_dim(axis)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = -1, eps: float | None = None) -> Tensor:
    """Σ x1·x2 / (|x1|·|x2|) along an axis of the common shape, kept with size 1. Zero vectors give 0.

    x1 and x2 broadcast, missing leading axes included. Each norm is at least eps, if it is given. Vectors are scaled by
    their largest magnitude first, so that any length but 0 does; halves are computed in f32.
    """
    name = "cosine_similarity"
    check.kind(name, x1, "x1", "float")
    check.operands(name, x1, x2)
    rank = max(x1.rank, x2.rank)
    axis = check.dim(name, dim, rank)
    shape = check.broadcast(name, x1.shape, x2.shape)
    first, second = (
        t.expand(tuple(shape[i] if i == axis else n for i, n in enumerate(t.shape)))
        for t in (x1.dequantize().unsqueeze(rank=rank), x2.dequantize().unsqueeze(rank=rank))
    )
    least = 0.0 if eps is None else check.number(name, eps, "eps")
    return wrap(first._ops.cosine(first.primitive, second.primitive, axis, least), first._ops)


# ------------------------------------------------------------------------------------------------------ norms


@dataclass(frozen=True, slots=True)
class Norm:
    """A vector norm by its exponent: `Norm.L2`, `Norm.Lp(3)`; functions take a bare number as well."""

    exponent: float

    @staticmethod
    def of(value: Norm | float) -> Norm:
        return value if isinstance(value, Norm) else Norm(float(check.number("norm", value, "the exponent")))

    @staticmethod
    def Lp(p: float) -> Norm:
        return Norm(float(p))

    def to_exponent(self) -> float:
        return self.exponent

    # L0 counts, L1 adds, L2 is Euclid's length, LInf and LNegInf are the largest and smallest magnitude.
    L0: ClassVar[Norm]
    L1: ClassVar[Norm]
    L2: ClassVar[Norm]
    LInf: ClassVar[Norm]
    LNegInf: ClassVar[Norm]


Norm.L0, Norm.L1, Norm.L2, Norm.LInf, Norm.LNegInf = Norm(0.0), Norm(1.0), Norm(2.0), Norm(inf), Norm(-inf)


def vector_norm(tensor: Tensor, norm: Norm | float = 2, dim: int = -1) -> Tensor:
    """(Σ |x|^p)^(1/p) along an axis, kept with size 1.

    p = 0 counts what is not 0; inf and −inf are the largest and the smallest |x|.
    """
    return _norm("vector_norm", tensor, Norm.of(norm).exponent, (dim,))


def vector_norm_dims(tensor: Tensor, norm: Norm | float, dims: Sequence[int]) -> Tensor:
    """`vector_norm` over several axes, kept with size 1; of no axes it is elementwise."""
    return _norm("vector_norm_dims", tensor, Norm.of(norm).exponent, dims)


def lp_norm(tensor: Tensor, p: float, dim: int = -1) -> Tensor:
    """`vector_norm` with exponent p."""
    return _norm("lp_norm", tensor, p, (dim,))


def lp_norm_dims(tensor: Tensor, p: float, dims: Sequence[int]) -> Tensor:
    """`vector_norm_dims` with exponent p."""
    return _norm("lp_norm_dims", tensor, p, dims)


def l0_norm(tensor: Tensor, dim: int = -1) -> Tensor:
    """How many elements along an axis are not 0."""
    return _norm("l0_norm", tensor, 0.0, (dim,))


def l0_norm_dims(tensor: Tensor, dims: Sequence[int]) -> Tensor:
    """How many elements over several axes are not 0."""
    return _norm("l0_norm_dims", tensor, 0.0, dims)


def l1_norm(tensor: Tensor, dim: int = -1) -> Tensor:
    """Σ |x| along an axis."""
    return _norm("l1_norm", tensor, 1.0, (dim,))


def l1_norm_dims(tensor: Tensor, dims: Sequence[int]) -> Tensor:
    """Σ |x| over several axes."""
    return _norm("l1_norm_dims", tensor, 1.0, dims)


def l2_norm(tensor: Tensor, dim: int = -1) -> Tensor:
    """√Σ x² along an axis."""
    return _norm("l2_norm", tensor, 2.0, (dim,))


def l2_norm_dims(tensor: Tensor, dims: Sequence[int]) -> Tensor:
    """√Σ x² over several axes."""
    return _norm("l2_norm_dims", tensor, 2.0, dims)


def max_abs_norm(tensor: Tensor, dim: int = -1) -> Tensor:
    """The largest |x| along an axis."""
    return _norm("max_abs_norm", tensor, inf, (dim,))


def max_abs_norm_dims(tensor: Tensor, dims: Sequence[int]) -> Tensor:
    """The largest |x| over several axes."""
    return _norm("max_abs_norm_dims", tensor, inf, dims)


def min_abs_norm(tensor: Tensor, dim: int = -1) -> Tensor:
    """The smallest |x| along an axis."""
    return _norm("min_abs_norm", tensor, -inf, (dim,))


def min_abs_norm_dims(tensor: Tensor, dims: Sequence[int]) -> Tensor:
    """The smallest |x| over several axes."""
    return _norm("min_abs_norm_dims", tensor, -inf, dims)


def vector_normalize(tensor: Tensor, norm: Norm | float = 2, dim: int = -1, eps: float = 1e-12) -> Tensor:
    """x / max(norm, eps) along an axis."""
    return tensor / vector_norm(tensor, norm, dim).clamp_min(eps)


def _norm(name: str, tensor: Tensor, p: float, dims: Sequence[int]) -> Tensor:
    check.kind(name, tensor, "the tensor", "float")
    p, axes = check.number(name, p, "the exponent"), check.dims(name, dims, tensor.rank)
    if p == inf:
        return tensor.max_abs_dims(axes)
    if p == -inf:
        return tensor.abs().min_dims(axes)
    return wrap(tensor._ops.norm(tensor.primitive, axes, p), tensor._ops)


# --------------------------------------------------------------------------------------------- factorisations


def lu(tensor: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(P, L, U) with A = P·L·U: A [.., m, n] → [.., m, m], [.., m, k], [.., k, n], k = min(m, n); partial pivoting.

    Differentiable for square matrices that are not singular.
    """
    _matrix("lu", tensor)
    permutation, lower, upper, _ = _lu_host(_host(tensor))
    p, l, u = (_like(part, tensor) for part in (permutation, lower, upper))
    if not _records(tensor):
        return p, l, u
    if tensor.shape[-1] != tensor.shape[-2]:
        raise _no_gradient("lu", tensor, "a square matrix")
    change_l, change_u = _lu_change(p, l, u, _change(tensor), _like(_inverse("lu", lower), tensor))
    return p, l + change_l, u + change_u


def qr(tensor: Tensor, reduced: bool = True) -> tuple[Tensor, Tensor]:
    """(Q, R) with A = Q·R: A [.., m, n] → [.., m, k], [.., k, n] with k = min(m, n), or k = m when not reduced.

    Q's columns are orthonormal, R is upper triangular. Differentiable for m ≥ n of full rank, reduced.
    """
    _matrix("qr", tensor)
    reduced = check.flag("qr", reduced, "reduced")
    parts = np.linalg.qr(_host(tensor), "reduced" if reduced else "complete")
    q, r = _like(parts[0], tensor), _like(parts[1], tensor)
    if not _records(tensor):
        return q, r
    m, n = tensor.shape[-2:]
    if m < n or not reduced and m != n:
        raise _no_gradient("qr", tensor, "rows ≥ columns, reduced")
    change_q, change_r = _qr_change(q, r, _change(tensor), _like(_inverse("qr", parts[1]), tensor))
    return q + change_q, r + change_r


def svd(tensor: Tensor, sweeps: int = 100) -> tuple[Tensor, Tensor, Tensor]:
    """(U, S, Vᵀ) with A = U·diag(S)·Vᵀ: A [.., m, n] → [.., m, k], [.., k] descending, [.., k, n], k = min(m, n).

    sweeps bounds the iterations per value. Not differentiable.
    """
    _matrix("svd", tensor)
    check.positive("svd", sweeps, "sweeps")
    *lead, m, n = tensor.shape
    if not prod(tensor.shape):
        k = min(m, n)
        shapes = ((*lead, m, k), (*lead, k), (*lead, k, n))
        u, s, v = (type(tensor).zeros(shape, tensor.device, tensor.dtype) for shape in shapes)
        return u, s, v
    wide = tensor.cast(F32) if _half(tensor) else tensor
    swap = m < n
    tall = wide.transpose() if swap else wide
    parts = extension.svd(tensor._ops.backend, tall.primitive, sweeps, swap)
    u, s, v = (wrap(part, tensor._ops).cast(tensor.dtype) for part in parts)
    return u, s, v


def solve(a: Tensor, b: Tensor) -> Tensor:
    """X with A·X = B: A [.., n, n], B [.., n, k] or, with one axis less than A, [.., n] → B's shape.

    A B of rank 1 is one vector for every A. Leading axes broadcast. A singular matrix raises ArgumentError.
    Differentiable.
    """
    _matrix("solve", a)
    check.operands("solve", a, b)
    n = a.shape[-1]
    if a.shape[-2] != n:
        raise ShapeError(f"solve: A has shape {list(a.shape)}; its last two axes must be equal")
    vectors = b.rank in (1, a.rank - 1) and b.shape[-1:] == (n,)
    right = b.unsqueeze_dim(-1) if vectors else b
    if right.rank < 2 or right.shape[-2] != n:
        raise ShapeError(
            f"solve: A has shape {list(a.shape)} and B {list(b.shape)}; B must be [.., {n}, k], or [.., {n}] with one "
            f"axis less than A, or [{n}]"
        )
    check.broadcast("solve", a.shape[:-2], right.shape[:-2])
    rank = max(a.rank, right.rank)
    wide = (t.cast(F32) if _half(t) else t for t in (a.unsqueeze(rank=rank), right.unsqueeze(rank=rank)))
    left, other = (t.primitive for t in wide)
    x = wrap(extension.solve(a._ops.backend, left, other), a._ops).cast(a.dtype)
    return x.squeeze_dim(-1) if vectors else x


def cholesky(tensor: Tensor, upper: bool = False) -> Tensor:
    """The lower L with A = L·Lᵀ, or the upper U with A = Uᵀ·U, of A [.., n, n]; only that triangle is read.

    A pivot that is not positive raises ArgumentError with its place. Differentiable.
    """
    _matrix("cholesky", tensor)
    upper = check.flag("cholesky", upper, "upper")
    if tensor.shape[-1] != tensor.shape[-2]:
        raise ShapeError(f"cholesky: A has shape {list(tensor.shape)}; its last two axes must be equal")
    wide = tensor.cast(F32) if _half(tensor) else tensor
    factor, status = extension.cholesky(tensor._ops.backend, wide.primitive, upper)
    codes = wrap(status, tensor._ops.of("int")).numpy().reshape(-1)
    if codes.any():
        batch = int(np.flatnonzero(codes)[0])
        raise ArgumentError(
            f"cholesky: pivot {codes[batch] - 1} of matrix {batch} is not positive and finite; "
            f"the matrix must be positive definite"
        )
    return wrap(factor, tensor._ops).cast(tensor.dtype)


def det(tensor: Tensor) -> Tensor:
    """The determinants of A [.., n, n] → [..] ([1] for one matrix): closed form up to 3×3, else by LU.

    Of an LU, pivots up to max|u|·√n·eps count as 0.
    """
    _matrix("det", tensor)
    *lead, m, n = tensor.shape
    if m != n:
        raise ShapeError(f"det: A has shape {list(tensor.shape)}; its last two axes must be equal")
    if not lead:
        return det(tensor.unsqueeze_dim(0))
    if n == 0:
        return type(tensor).ones(tuple(lead), tensor.device, tensor.dtype)
    if n <= 3:
        e = [[tensor.select_dim(-2, i).select_dim(-1, j) for j in range(n)] for i in range(n)]
        if n == 1:
            return e[0][0]
        if n == 2:
            return e[0][0] * e[1][1] - e[0][1] * e[1][0]
        minors = [e[1][j] * e[2][k] - e[1][k] * e[2][j] for j, k in ((1, 2), (0, 2), (0, 1))]
        return e[0][0] * minors[0] - e[0][1] * minors[1] + e[0][2] * minors[2]
    wide = tensor.cast(F32) if _half(tensor) else tensor
    permutation, _, upper = lu(wide)
    pivots = diag(upper)
    limit = pivots.abs().max_dim(-1) * (n**0.5 * finfo(wide.dtype).epsilon)
    pivots = pivots.mask_fill(pivots.abs().lower_equal(limit), 0.0)
    signs = np.linalg.det(permutation.numpy().astype(np.float64)).round()
    return (pivots.prod_dim(-1).squeeze_dim(-1) * _like(signs, wide)).cast(tensor.dtype)


# ----------------------------------------------------------------------------------- factorisations, inside


def _matrix(name: str, tensor: Tensor) -> None:
    check.kind(name, tensor, "the tensor", "float")
    if tensor.dtype.kind == "qfloat":
        raise DTypeError(f"{name}: the tensor is quantized ({tensor.dtype}); call .dequantize() first")
    check.rank(name, tensor.shape, 2)


def _half(tensor: Tensor) -> bool:
    return tensor.dtype is F16 or tensor.dtype is BF16


def _host(tensor: Tensor) -> np.ndarray:
    return tensor.detach().to_data().numpy().astype(np.float64)


def _like(values: np.ndarray, tensor: Tensor) -> Tensor:
    data = TensorData.of(np.ascontiguousarray(values).reshape(values.shape))
    return from_host("linalg", data, tensor.device, "float", tensor.dtype)


def _records(tensor: Tensor) -> bool:
    """Whether gradients may be asked of results."""
    return tensor._ops.backend.ad_enabled(tensor._ops.handle)  # type: ignore[no-any-return]


def _no_gradient(name: str, tensor: Tensor, what: str) -> UnsupportedError:
    return UnsupportedError(
        f"{name}: shape {list(tensor.shape)} has no gradient here, only {what} has; "
        f"call it on a device without autodiff"
    )


def _change(tensor: Tensor) -> Tensor:
    """0 in value, the tensor in derivative: factors plus their derivative along this have the right gradient."""
    return tensor - tensor.detach()


def _inverse(name: str, matrix: np.ndarray) -> np.ndarray:
    try:
        return np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        raise ArgumentError(f"{name}: the matrix is singular; its factors have no gradient") from None


def _lu_host(a: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """P, L, U and the order of the rows; all matrices of a batch step by step together."""
    *lead, m, n = a.shape
    k, count = min(m, n), prod(lead)
    work = a.reshape(count, m, n).copy()
    order = np.tile(np.arange(m), (count, 1))
    every = np.arange(count)
    with np.errstate(all="ignore"):
        for j in range(k):
            best = j + np.argmax(np.abs(work[:, j:, j]), 1)
            for swapped in (work, order):
                here = swapped[every, best].copy()
                swapped[every, best] = swapped[:, j]
                swapped[:, j] = here
            pivot = work[:, j, j][:, None]
            work[:, j + 1 :, j] = np.where(pivot != 0, work[:, j + 1 :, j] / pivot, 0.0)
            work[:, j + 1 :, j + 1 :] -= work[:, j + 1 :, j, None] * work[:, j, None, j + 1 :]
    lower = np.tril(work[:, :, :k], -1) + np.eye(m, k)
    upper = np.triu(work[:, :k, :])
    permutation = np.zeros((count, m, m))
    permutation[every[:, None], order, np.arange(m)] = 1.0
    shape = tuple(lead)
    return (
        permutation.reshape(*shape, m, m),
        lower.reshape(*shape, m, k),
        upper.reshape(*shape, k, n),
        order.reshape(*shape, m),
    )


def _lu_change(p: Tensor, l: Tensor, u: Tensor, change: Tensor, l_inverse: Tensor) -> tuple[Tensor, Tensor]:
    """dL = L·tril(F, −1) and dU = triu(F)·U with F = L⁻¹·Pᵀ·dA·U⁻¹."""
    u_inverse = _like(_inverse("lu", _host(u)), u)
    inner = l_inverse.matmul(p.transpose()).matmul(change).matmul(u_inverse)
    return l.matmul(inner.tril(-1)), inner.triu().matmul(u)


def _qr_change(q: Tensor, r: Tensor, change: Tensor, r_inverse: Tensor) -> tuple[Tensor, Tensor]:
    """With M = Qᵀ·dA·R⁻¹ and Ω = tril(M, −1) − its transpose: dQ = Q·Ω + (dA·R⁻¹ − Q·M), dR = (M − Ω)·R."""
    scaled = change.matmul(r_inverse)
    inner = q.transpose().matmul(scaled)
    below = inner.tril(-1)
    turn = below - below.transpose()
    return q.matmul(turn) + scaled - q.matmul(inner), (inner - turn).matmul(r)
