"""Functions that are made of others, over f64 on a GPU: right to the digits of f32, beside the reference in full."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import burn_wgpu as bw
from burn_wgpu import Device, Tensor
from burn_wgpu.contract import extension
from burn_wgpu.contract.extension import MorphOptions, NmsOptions
from burn_wgpu.tensor import activation as A
from burn_wgpu.tensor import linalg as L
from burn_wgpu.tensor import signal as S

pytestmark = [pytest.mark.gpu, pytest.mark.filterwarnings("ignore::burn_wgpu.PrecisionWarning")]

SQUARE = np.random.default_rng(5).standard_normal((2, 5, 5)) + 3 * np.eye(5)
SIGNAL = np.random.default_rng(6).standard_normal((2, 37))
WIDE = np.random.default_rng(7).standard_normal((3, 4)) * 3

LINEAR: dict[str, Callable[..., Any]] = {
    "det": lambda x: L.det(x),
    "solve": lambda x: L.solve(x, x.swap_dims(1, 2)),
    "cholesky": lambda x: L.cholesky(x.matmul(x.swap_dims(1, 2))),
    "lu": lambda x: L.lu(x),
    "qr": lambda x: L.qr(x),
    "singular values": lambda x: L.svd(x)[1],
    "vector_normalize": lambda x: L.vector_normalize(x),
    "cosine_similarity": lambda x: L.cosine_similarity(x, x + 0.5),
    "lp_norm": lambda x: L.lp_norm(x, 2.5),
    "trace": lambda x: L.trace(x),
}
SIGNALS: dict[str, Callable[..., Any]] = {
    "rfft": lambda x: S.rfft(x, 1),
    "cfft": lambda x: S.cfft(x, x * 0.5, 1),
    "irfft": lambda x: S.irfft(*S.rfft(x, 1), 1, 37),
}
ACTIVATIONS: dict[str, Callable[..., Any]] = {
    name: getattr(A, name)
    for name in (
        "relu6", "hardtanh", "tanhshrink", "gelu_approximate", "softplus", "silu", "hard_swish", "mish", "elu", "celu",
        "selu", "thresholded_relu", "softsign", "hard_shrink", "soft_shrink",
    )
}  # fmt: skip
CASES = [
    *((name, f, SQUARE) for name, f in LINEAR.items()),
    *((name, f, SIGNAL) for name, f in SIGNALS.items()),
    *((name, f, WIDE) for name, f in ACTIVATIONS.items()),
    ("quiet_softmax", lambda x: A.quiet_softmax(x, 1), WIDE),
    ("glu", lambda x: A.glu(x, 1), WIDE),
    ("var_mean", lambda x: (x.var(1), x.mean_dim(1)), WIDE),
]


@pytest.mark.parametrize(("function", "values"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_compositions_are_right_to_the_digits_of_f32(function: Callable[..., Any], values: np.ndarray) -> None:
    values = values.astype(np.float32).astype(np.float64)
    got, want = (function(Tensor(values, device=device, dtype="f64")) for device in ("wgpu", "cpu"))
    for one, other in zip(*(r if isinstance(r, tuple) else (r,) for r in (got, want)), strict=True):
        assert one.dtype is other.dtype
        scale = max(1.0, float(np.abs(other.numpy()).max()))
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=0, atol=2e-5 * scale)


def test_softplus_is_finite_beyond_the_range_of_f32() -> None:
    x = Tensor([-700.0, 80.0, 100.0, 500.0, 1e6], device="wgpu", dtype="f64")
    assert A.softplus_with_threshold(x, 1.0, 1e9).numpy().tolist() == [0.0, 80.0, 100.0, 500.0, 1e6]


def test_vision_is_the_same_on_both() -> None:
    rng = np.random.default_rng(9)
    corners = rng.uniform(0, 8, (20, 2))
    boxes, scores = np.concatenate([corners, corners + rng.uniform(1, 5, (20, 2))], 1), rng.uniform(size=20)
    image, kernel = rng.integers(0, 9, (6, 7, 1)) / 8, np.ones((3, 3), bool)
    found = []
    for device in (Device("wgpu"), Device("cpu")):
        b = device.backend
        up = lambda values, device=device: Tensor(values, device=device, dtype="f64").primitive
        mask = Tensor(kernel, device=device).primitive
        kept = b.int_into_data(extension.nms(b, up(boxes), up(scores), NmsOptions(0.3, 0.1))).numpy()
        morphed = [f(b, up(image), mask, MorphOptions()) for f in (extension.erode, extension.dilate)]
        found.append((kept, *(b.float_into_data(t).numpy() for t in morphed)))
    for got, want in zip(*found, strict=True):
        assert np.array_equal(got, want)


def test_the_reference_says_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", bw.PrecisionWarning)
        assert (Tensor([1.0 + 2.0**-40], device="cpu", dtype="f64") * 1.0).numpy().tolist() == [1.0 + 2.0**-40]
