"""Numbers below the smallest normal one: what the adapter keeps, what is right on every adapter."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from burn_wgpu.backends.wgpu import probe, usage
from burn_wgpu.backends.wgpu.tensor import WgpuDevice
from burn_wgpu.std import dtype as dt
from tests.backends.wgpu.oracle import B, down, up

pytestmark = pytest.mark.gpu
INF = float("inf")
TINY = 2.0**-149


@pytest.fixture(scope="module")
def device() -> WgpuDevice:
    return WgpuDevice(0)


def test_the_answer_is_that_of_a_product(device: WgpuDevice) -> None:
    product = down(B.float_mul(up([1e-40], dt.F32, device), up([1e3], dt.F32, device)))[0]
    assert (product == 0) != usage.keeps_subnormals(device)


def test_the_answer_is_kept(device: WgpuDevice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second process asks the file, not the device."""
    monkeypatch.setenv("BURN_WGPU_CACHE", str(tmp_path))
    answer = usage.keeps_subnormals(device)
    for given in (True, False):
        monkeypatch.setattr(usage, "_known", {})
        monkeypatch.setattr(usage, "_loaded", set())
        monkeypatch.setattr(probe, "keeps_subnormals", lambda client, given=given: given)
        (tmp_path / "burn_wgpu" / "dtype_usage.json").unlink(missing_ok=True)
        assert usage.keeps_subnormals(device) is given
        usage._known.clear()
        usage._loaded.clear()
        monkeypatch.setattr(probe, "keeps_subnormals", lambda client: pytest.fail("asked again"))
        assert usage.keeps_subnormals(device) is given
        assert dt.DTypeUsage.STORAGE in usage.dtype_usage(B, device, dt.F32)
    monkeypatch.undo()
    assert usage.keeps_subnormals(device) is answer


EXACT: list[tuple[str, Callable[..., Any], list[tuple[float, ...]]]] = [
    ("div", B.float_div, [(1e-40, 1e-40), (-3e-41, 1e-41), (1e-40, 1e-4), (2.0**-126, TINY), (1.0, 2.0**-127),
                          (1e-40, -0.0), (-1e-40, INF), (0.0, 1e-40), (-INF, 1e-40)]),
    ("remainder", B.float_remainder, [(-1e-40, 1e-39), (1e-40, -1.5e-38), (-1e-40, 1.0), (-3.0, 1.3e-38),
                                      (-2e-38, 1.3e-38), (5e-40, 3e-40)]),
    ("hypot", B.float_hypot, [(1.2e-38, 1e-38), (3e-40, 4e-40), (TINY, 0.0), (1e-38, 1e-10)]),
    ("prelu", B.prelu, [(-1e-40, INF), (-1e-40, 1e5), (-1e-40, -3e38), (1e-40, 7.0)]),
    ("atan2", B.float_atan2, [(1e-40, 1e-40), (1e-40, -1e-40), (1e-39, 1e-38), (1e-40, TINY), (-TINY, 1e-40)]),
]  # fmt: skip


@pytest.mark.parametrize("case", EXACT, ids=[c[0] for c in EXACT])
def test_these_take_subnormal_numbers_exactly_on_every_adapter(case: Any, device: WgpuDevice) -> None:
    name, function, pairs = case
    x, y = (np.array(column, np.float32) for column in zip(*pairs, strict=True))
    found = down(function(up(x, dt.F32, device), up(y, dt.F32, device))).astype(np.float64)
    wide, other = x.astype(np.float64), y.astype(np.float64)
    with np.errstate(all="ignore"):
        exact = {
            "div": lambda: wide / other,
            "remainder": lambda: np.remainder(wide, other),
            "hypot": lambda: np.hypot(wide, other),
            "prelu": lambda: np.where(wide < 0, wide * other, wide),
            "atan2": lambda: np.arctan2(wide, other),
        }[name]()
        # A quotient or product may be subnormal itself, and is then the device's.
        lost = (found == 0) & (np.abs(exact) < 2.0**-126) & (not usage.keeps_subnormals(device))
    if name in ("remainder", "hypot"):
        lost[:] = False
    np.testing.assert_allclose(found[~lost], exact[~lost], rtol=4 * 2.0**-24, atol=TINY)


def test_the_tail_of_gelu_is_kept_as_long_as_it_is_normal(device: WgpuDevice) -> None:
    """Φ(−13.06) is subnormal, −13.06 · Φ(−13.06) is not."""
    from math import erfc

    x = np.linspace(-13.4, -12.5, 200, dtype=np.float32)
    exact = np.array([v * 0.5 * erfc(-v / 2**0.5) for v in x.astype(np.float64)])
    normal = np.abs(exact) > 2.0**-126 * 1.001
    assert normal[-1] and not normal[0]
    found = down(B.gelu(up(x, dt.F32, device))).astype(np.float64)
    tiny = down(B.gelu(up([2.0**-126, 2.0**-125, -(2.0**-125)], dt.F32, device))).tolist()
    assert tiny[0] in (2.0**-127, 0.0) and tiny[1:] == [2.0**-126, -(2.0**-126)]
    np.testing.assert_allclose(found[normal], exact[normal], rtol=16 * 2.0**-23)


def test_every_subnormal_half_is_computed_with(device: WgpuDevice) -> None:
    bits = np.arange(0, 0x400, dtype=np.uint16)
    x = np.concatenate([bits, bits | 0x8000]).view(np.float16)
    tensor = up(x, dt.F16, device)
    for result, want in (
        (B.float_add(tensor, tensor), x + x),
        (B.float_mul_scalar(tensor, 1.0), x),
        (B.float_mul_scalar(tensor, 1024.0), x * np.float16(1024)),
        (B.float_mul_scalar(tensor, 0.5), (x.astype(np.float32) * 0.5).astype(np.float16)),
        (B.float_cumsum(tensor, 0), np.cumsum(x.astype(np.float64)).astype(np.float16)),
        (B.float_sum_dim(B.float_abs(tensor), 0), np.abs(x.astype(np.float64)).sum(keepdims=True).astype(np.float16)),
    ):
        assert np.array_equal(down(result), want)
