"""Named operations outside the core contract: signal, linear algebra, vision.

Each is a function that takes the backend first. It runs what the backend (or a class that it derives from) registered
under the name, else its default. A default composed of contract functions is differentiable as they are; one that
computes on the host reads its tensors, and a backend with autodiff must register its own: a result whose gradient is
silently missing would be worse than an error.

    register_extension(MyBackend, "signal::rfft", my_rfft)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from burn_wgpu.contract.defaults import fft, linalg, vision
from burn_wgpu.contract.defaults.vision import ComponentStats, MorphOptions, NmsOptions
from burn_wgpu.contract.types import BoolPrim, FloatPrim, IntPrim, TensorPrim
from burn_wgpu.std.errors import ArgumentError, NotImplementedByBackend

__all__ = ["EXTENSIONS", "ComponentStats", "Extension", "MorphOptions", "NmsOptions", "register_extension"]


@dataclass(frozen=True, slots=True)
class Extension:
    """name    "group::function"
    default    takes the backend first
    composed   of contract functions alone, and so differentiable; else it computes on the host
    """

    name: str
    default: Callable[..., Any]
    composed: bool

    def __call__(self, b: Any, tensor: TensorPrim, *args: Any) -> Any:
        for base in type(b).__mro__:
            found = vars(base).get("_extensions", {}).get(self.name)
            if found is not None:
                return found(b, tensor, *args)
        if not self.composed and b.ad_enabled(tensor.device):
            raise NotImplementedByBackend(self.name, b.name(tensor.device))
        return self.default(b, tensor, *args)


def register_extension(backend: type, name: str, function: Callable[..., Any]) -> None:
    """Makes a backend class run `function` (backend first) for an extension; ArgumentError for an unknown name."""
    if name not in EXTENSIONS:
        raise ArgumentError(f"register_extension: {name!r} is no extension; known: {', '.join(EXTENSIONS)}")
    if "_extensions" not in vars(backend):
        backend._extensions = {}  # type: ignore[attr-defined]
    backend._extensions[name] = function  # type: ignore[attr-defined]


EXTENSIONS: dict[str, Extension] = {
    extension.name: extension
    for extension in (
        Extension("signal::rfft", fft.rfft, True),
        Extension("signal::irfft", fft.irfft, True),
        Extension("linalg::svd", linalg.svd, False),
        Extension("linalg::solve", linalg.solve, False),
        Extension("linalg::cholesky", linalg.cholesky, False),
        Extension("vision::connected_components", vision.connected_components, False),
        Extension("vision::connected_components_with_stats", vision.connected_components_with_stats, False),
        Extension("vision::bool_erode", vision.erode, False),
        Extension("vision::bool_dilate", vision.dilate, False),
        Extension("vision::int_erode", vision.erode, False),
        Extension("vision::int_dilate", vision.dilate, False),
        Extension("vision::float_erode", vision.erode, False),
        Extension("vision::float_dilate", vision.dilate, False),
        Extension("vision::nms", vision.nms, False),
    )
}


# -------------------------------------------------------------------------------------------------- signal, linalg


def rfft(b: Any, signal: FloatPrim, dim: int, n: int | None = None) -> tuple[FloatPrim, FloatPrim]:
    """The discrete Fourier transform of a real signal: (re, im) with n // 2 + 1 bins on dim.

    n (default: the axis' size) truncates or zero-pads; any length from 1 on.
    """
    return EXTENSIONS["signal::rfft"](b, signal, dim, n)  # type: ignore[no-any-return]


def irfft(b: Any, re: FloatPrim, im: FloatPrim, dim: int, n: int | None = None) -> FloatPrim:
    """The inverse of rfft, scaled by 1/n: n samples, by default 2·(bins − 1)."""
    return EXTENSIONS["signal::irfft"](b, re, im, dim, n)  # type: ignore[no-any-return]


def svd(b: Any, tensor: FloatPrim, sweeps: int, swap: bool) -> tuple[FloatPrim, FloatPrim, FloatPrim]:
    """U [.., m, n], S [.., n] descending and Vᵀ [.., n, n] of tensor [.., m, n] with m ≥ n.

    swap: the caller transposed a wide matrix; the factors returned are those of the wide one.
    """
    return EXTENSIONS["linalg::svd"](b, tensor, sweeps, swap)  # type: ignore[no-any-return]


def solve(b: Any, lhs: FloatPrim, rhs: FloatPrim) -> FloatPrim:
    """X with lhs·X = rhs: lhs [.., n, n], rhs [.., n, k], equal ranks, batch axes broadcast. Singular: an error."""
    return EXTENSIONS["linalg::solve"](b, lhs, rhs)  # type: ignore[no-any-return]


def cholesky(b: Any, tensor: FloatPrim, upper: bool) -> tuple[FloatPrim, IntPrim]:
    """L (or U) with A = L·Lᵀ (Uᵀ·U) of A [.., n, n], and an i32 status [batch].

    Only the chosen triangle is read. Status 0: fine; else the 1-based index of the first pivot that is not positive.
    """
    return EXTENSIONS["linalg::cholesky"](b, tensor, upper)  # type: ignore[no-any-return]


# ---------------------------------------------------------------------------------------------------------- vision


def connected_components(b: Any, image: BoolPrim, connectivity: int, out_dtype: Any) -> IntPrim:
    """Labels [H, W] of a bool image [H, W]: 0 background, 1, 2, … in the order of first pixels; connectivity 4 or 8."""
    return EXTENSIONS["vision::connected_components"](b, image, connectivity, out_dtype)  # type: ignore[no-any-return]


def connected_components_with_stats(
    b: Any, image: BoolPrim, connectivity: int, out_dtype: Any
) -> tuple[IntPrim, ComponentStats]:
    """The labels, and area and bounding box of every label."""
    return EXTENSIONS["vision::connected_components_with_stats"](b, image, connectivity, out_dtype)  # type: ignore[no-any-return]


def erode(b: Any, image: TensorPrim, kernel: BoolPrim, options: MorphOptions) -> TensorPrim:
    """The minimum over the kernel's true places around each pixel: image [H, W, C] of any kind, kernel [kh, kw]."""
    return EXTENSIONS[f"vision::{_kind(image)}_erode"](b, image, kernel, options)  # type: ignore[no-any-return]


def dilate(b: Any, image: TensorPrim, kernel: BoolPrim, options: MorphOptions) -> TensorPrim:
    """The maximum over the kernel's true places around each pixel; as erode."""
    return EXTENSIONS[f"vision::{_kind(image)}_dilate"](b, image, kernel, options)  # type: ignore[no-any-return]


def nms(b: Any, boxes: FloatPrim, scores: FloatPrim, options: NmsOptions) -> IntPrim:
    """Indices of the boxes [N, 4] (x1, y1, x2, y2) that no better box overlaps too much, best score first."""
    return EXTENSIONS["vision::nms"](b, boxes, scores, options)  # type: ignore[no-any-return]


def _kind(tensor: TensorPrim) -> str:
    return "int" if tensor.dtype.is_int else tensor.dtype.kind
