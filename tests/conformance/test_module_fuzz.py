"""Module and indexing functions with random options: wgpu beside the reference, and that beside PyTorch.

What the contract composes by default is put beside PyTorch as well.

What is drawn is in module_cases.py; the default run takes a few draws a function, the long run many.
"""

from __future__ import annotations

import zlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from burn_wgpu.backends.wgpu.tensor import WgpuDevice
from burn_wgpu.std.data import TensorData
from burn_wgpu.std.dtype import F64
from burn_wgpu.std.errors import IndexOutOfRange
from burn_wgpu.testing.records import CALLS
from burn_wgpu.testing.records.call import Draw, Given, replaced, wide
from tests.backends.reference.tools import DEFAULTS
from tests.conformance.harness import LAYOUTS, REF, Try, faults, performed, referred
from tests.conformance.module_cases import CASES, pick

SHORT, LONG = 3, 150
ORACLE_SHORT, ORACLE_LONG = 8, 200

# With two elements a channel all of the gradient cancels, but for eps: its terms are γ/√(variance + eps)·g.
EASED: dict[str, Any] = {"batch_norm_train_backward": {"least": 1.0}}


def first_seed(name: str) -> int:
    """Functions of one family draw different options."""
    return zlib.crc32(name.encode()) % 100_000


# --------------------------------------------------------------------------------------- wgpu beside the reference


@pytest.fixture(scope="module")
def devices() -> tuple[WgpuDevice, WgpuDevice]:
    return WgpuDevice(0), WgpuDevice(0, default_limits=True)


def compare(name: str, count: int, devices: tuple[WgpuDevice, ...]) -> None:
    call = replace(CALLS[name], cases=(CASES[name],), **EASED.get(name, {}))
    found = []
    for i in range(count):
        dtype = call.dtypes[i % len(call.dtypes)]
        device = devices[i // 2 % len(devices)]
        if dtype.is_int and dtype.size_bytes == 8 and not call.moves and not device.capability.has("shader-int64"):
            continue
        layout = LAYOUTS[(i + i // len(LAYOUTS) + first_seed(name)) % len(LAYOUTS)]
        found += list(faults(call, Try(dtype, 5, layout, 0, first_seed(name) + i), device))
    assert not found, f"{name}: {len(found)} faults\n" + "\n".join(found[:12])


@pytest.mark.gpu
@pytest.mark.parametrize("name", CASES)
def test_wgpu_gives_what_the_reference_gives(name: str, devices: tuple[WgpuDevice, ...]) -> None:
    compare(name, SHORT, devices)


@pytest.mark.gpu
@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", CASES)
def test_wgpu_gives_what_the_reference_gives_many_times(name: str, devices: tuple[WgpuDevice, ...]) -> None:
    compare(name, LONG, devices)


INDICES = {"select": 2, "gather": 2, "gather_nd": 1, "select_assign": 2, "scatter": 2, "scatter_nd": 1}
"""Which argument holds the indices."""
INDEXED = [f"{kind}_{name}" for kind in ("float", "int", "bool") for name in INDICES]
INDEXED += ["embedding", "embedding_backward"]


def misplaced(d: Draw, name: str) -> tuple[Any, ...] | None:
    """Arguments with one index outside its axis, near it or at the ends of its dtype; None if there is none to move."""
    args = list(CASES[name](d))
    at = INDICES.get(name.partition("_")[2], len(args) - 1)
    given = args[at]
    limits = np.iinfo(given.dtype.numpy)
    far_off = [-1, 200, 1 << 31, 1 << 32, (1 << 32) + 1, -(1 << 32), limits.min, limits.max]
    choices = [n for n in far_off if limits.min <= n <= limits.max and not 0 <= n < 100]
    if not choices or any(isinstance(a, Given) and a.values.size == 0 for a in args):
        return None
    values = given.values.copy()
    values.reshape(-1)[int(d.rng.integers(values.size))] = pick(d, *choices)
    args[at] = replace(given, values=values, free=False)
    return tuple(args)


def refuse(name: str, count: int, device: WgpuDevice) -> None:
    call = replace(CALLS[name], cases=(CASES[name],))
    tried = 0
    for i in range(count):
        dtypes = call.dtypes if device.capability.has("shader-int64") else [t for t in call.dtypes if t.size_bytes < 8]
        args = misplaced(Draw(first_seed(name) + i, dtypes[i % len(dtypes)], 5), name)
        if args is None:
            continue
        for found in (performed(call, args, LAYOUTS[i % len(LAYOUTS)], device), referred(call, args)):
            shown = replaced(args, lambda a: a.shape if isinstance(a, Given) else a)
            assert found is IndexOutOfRange, f"{name}, draw {i}, {shown}: no error, or another one"
        tried += 1
    assert tried, f"{name}: no draw with an index to misplace"


@pytest.mark.gpu
@pytest.mark.parametrize("name", INDEXED)
def test_an_index_out_of_range_is_an_error(name: str, devices: tuple[WgpuDevice, ...]) -> None:
    refuse(name, 6, devices[0])


@pytest.mark.gpu
@pytest.mark.long
@pytest.mark.parametrize("name", INDEXED)
def test_an_index_out_of_range_is_an_error_many_times(name: str, devices: tuple[WgpuDevice, ...]) -> None:
    refuse(name, 100, devices[0])


# ------------------------------------------------------------------ the reference and the defaults beside PyTorch

BACKENDS: dict[str, Any] = {"native": REF, "defaults": DEFAULTS}


def judge(name: str, count: int, backend: Any) -> None:
    """The backend in float64 (ints and bools in their own dtype) beside the oracle."""
    pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")
    from tests.conformance.module_oracles import ORACLES, Inapplicable

    call = replace(CALLS[name], cases=(CASES[name],))
    kinds = [dtype for dtype in call.dtypes if not dtype.is_float] or [F64]
    judged = 0
    for i in range(count):
        args = wide(CASES[name](Draw(first_seed(name) + i, kinds[i % len(kinds)], 5)))
        try:
            want = ORACLES[name](*replaced(args, lambda a: a.values if isinstance(a, Given) else a))
        except Inapplicable:
            continue
        got = referred(call, args, backend)
        where = f"{name}, draw {i}: {replaced(args, lambda a: a.shape if isinstance(a, Given) else a)}"
        assert not isinstance(got, type), f"{where}: it raises {got.__name__}"
        wanted = want if isinstance(want, (tuple, list)) else (want,)
        for g, w in zip(got, wanted, strict=True):
            if w is not None:
                assert_close(g, w, where)
        judged += 1
    assert judged, f"{name}: no draw that the oracle can judge"


def assert_close(got: Any, want: np.ndarray, where: str) -> None:
    assert isinstance(got, TensorData)
    values = got.numpy()
    assert values.shape == want.shape, f"{where}: shape {values.shape}, expected {want.shape}"
    if values.dtype.kind != "f":
        np.testing.assert_array_equal(values, want, err_msg=where)
        return
    finite = np.abs(want[np.isfinite(want)])
    scale = min(float(finite.max(initial=1.0)), 1e300)
    np.testing.assert_allclose(values, want, rtol=1e-9, atol=1e-9 * scale, err_msg=where)


def draws(name: str, long: bool) -> int:
    """Resampling has the most options."""
    return (ORACLE_LONG if long else ORACLE_SHORT) * (8 if name.startswith("interpolate") else 1)


def composed(name: str) -> bool:
    """Whether the contract's body differs from the reference backend's."""
    return getattr(type(DEFAULTS), name) is not getattr(type(REF), name)


JUDGED = [(name, which) for name in CASES for which in BACKENDS if which == "native" or composed(name)]


@pytest.mark.parametrize(("name", "which"), JUDGED)
def test_a_function_gives_what_pytorch_gives(name: str, which: str) -> None:
    judge(name, draws(name, False), BACKENDS[which])


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("name", "which"), JUDGED)
def test_a_function_gives_what_pytorch_gives_many_times(name: str, which: str) -> None:
    judge(name, draws(name, True), BACKENDS[which])
