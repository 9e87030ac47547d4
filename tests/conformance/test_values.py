"""Elementwise functions over a grid of special numbers: every contract function on both backends against its formula in
float64, and the methods and activations that are made of several of them against theirs.

The records' own values are drawn; these are chosen: every pair of them meets in functions of two operands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from burn_wgpu import Device, Tensor
from burn_wgpu.backends.reference import ReferenceBackend, ReferenceDevice
from burn_wgpu.backends.wgpu.backend import WgpuBackend
from burn_wgpu.backends.wgpu.tensor import WgpuDevice
from burn_wgpu.backends.wgpu.usage import keeps_subnormals
from burn_wgpu.contract.backend import Backend
from burn_wgpu.contract.declare import elementwise_functions
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.data import TensorData, store_array
from burn_wgpu.std.dtype import BOOL_U8, F32, F64, DType
from burn_wgpu.std.scalar import as_scalar
from burn_wgpu.tensor import activation as A
from burn_wgpu.testing.records import RECORDS, Record, mismatches
from burn_wgpu.testing.records.record import flushed

DECLARED = elementwise_functions(Backend)
INF, NAN = float("inf"), float("nan")
BACKENDS: dict[str, Any] = {"wgpu": WgpuBackend(), "cpu": ReferenceBackend()}

HALF_EPS, BF16_EPS, EPS = 2.0**-10, 2.0**-7, 2.0**-23
POSITIVE = [
    0.0, 2.0**-149, 1e-40, 2.0**-126, 1.5e-38, 1e-30, 1e-20, 1e-10, 6e-8, 6.1e-5, 1e-4, 0.1, 0.25, 0.5, 1 / 3, 0.625,
    0.9, 1 - EPS / 2, 1 - HALF_EPS / 2, 1 - BF16_EPS / 2, 1.0, 1 + EPS, 1 + HALF_EPS, 1 + BF16_EPS, 1.5, 2.0, 2.5, 3.0,
    3.5, 7.0, 10.0, 13.06, 16.0, 17.0, 20.0, 88.0, 88.7, 88.73, 89.0, 104.0, 127.5, 255.0, 256.5, 1e3, 2049.0, 1e4,
    65504.0, 65519.0, 65520.0, 1e5, 2.0**23 - 0.5, 2.0**24 - 1, 2.0**24 + 2, 2.0**31, 1e10, 2.0**63, 1e20, 1e30, 1.7e38,
    3.3895314e38, 3.4028235e38, INF,
]  # fmt: skip
TURNS = [k * np.pi / 4 for k in (1, 2, 3, 4, 5, 6, 8, 10, 100, 1000, 31415, 100001, 127323)]
FLOATS = np.array([s * v for v in POSITIVE + TURNS for s in (1, -1)] + [NAN])
ENDS = {s * ((1 << b) + d) for b in (*range(6), 7, 8, 15, 16, 24, 31, 32, 53, 62, 63, 64) for d in (-2, -1, 0, 1)
        for s in (1, -1)}  # fmt: skip
WHOLE = sorted(ENDS | {0, 100, -100, 12345, 46341, -46341, 3037000500})


@pytest.fixture(scope="module")
def device() -> WgpuDevice:
    return WgpuDevice(0)


def grid(dtype: DType) -> np.ndarray:
    """The special values that the dtype holds, in its computing dtype."""
    if dtype.is_bool:
        return np.array([False, True])
    if dtype.is_int:
        info = np.iinfo(dtype.numpy)
        return np.array([v for v in WHOLE if info.min <= v <= info.max], dtype.numpy)
    with np.errstate(over="ignore"):
        values = TensorData.of(FLOATS.astype(np.float32), dtype).numpy()
    return np.unique(values.view(f"u{values.itemsize}")).view(values.dtype)


def operands(record: Record, dtype: DType, count: int, mask: int | None) -> list[np.ndarray]:
    """Every combination of values in the functions of one or two operands; of two and a mask in the others."""
    values = grid(dtype)
    axes = [np.array([False, True]) if i == mask else values for i in range(count)]
    return [np.ascontiguousarray(a.ravel()) for a in np.meshgrid(*axes)]


def usable(dtype: DType, device: WgpuDevice) -> None:
    if dtype.is_int and dtype.size_bytes == 8 and not device.capability.has("shader-int64"):
        pytest.skip(f"{device.capability.adapter} has no 64-bit integers")


def call(name: str, backend: Any, handle: Any, dtype: DType, arrays: list[np.ndarray], scalars: Any) -> np.ndarray:
    declared = DECLARED[name]
    tensors = []
    for i, values in enumerate(arrays):
        kind = BOOL_U8 if i == declared.mask else dtype
        prefix = "float" if kind.is_float else "bool" if kind.is_bool else "int"
        tensors.append(getattr(backend, f"{prefix}_from_data")(TensorData(store_array(values, kind), kind), handle))
    extra = (BOOL_U8,) if declared.result == "bool" else ()
    result = getattr(backend, name)(*tensors, *scalars, *extra)
    prefix = "float" if result.dtype.is_float else "bool" if result.dtype.is_bool else "int"
    return getattr(backend, f"{prefix}_into_data")(result).numpy()


def formula(name: str, dtype: DType, arrays: list[np.ndarray], scalars: Any) -> np.ndarray:
    kind = dtype.numpy if dtype.is_int else np.dtype(bool if dtype.is_bool else np.float64)
    wide = [a.astype(np.float64) if a.dtype.kind == "f" else a for a in arrays]
    numbers = [np.full(wide[0].shape, as_scalar(s, DECLARED[name].scalar_dtype(dtype)), kind) for s in scalars]
    with np.errstate(all="ignore"):
        return np.asarray(DECLARED[name].formula(*wide, *numbers))


def forbidden(name: str, arrays: list[np.ndarray]) -> np.ndarray:
    """Where an operand is outside the function's domain."""
    if name in ("int_div", "int_remainder", "int_floor_divide"):
        return arrays[1] == 0
    if name == "int_powi":
        return (arrays[0] == 0) & (arrays[1] < 0)
    if name == "sigmoid_backward":  # its first operand is a sigmoid's result
        return ~((arrays[0] >= 0) & (arrays[0] <= 1)) & ~np.isnan(arrays[0])
    if name == "gelu_approximate":  # the rounding of the exponent counts; test_a_method_on_the_grid allows for it
        return (arrays[0] < -3) & np.isfinite(arrays[0])
    if name in ("gelu_backward", "log_sigmoid_backward"):  # a derivative below the range of f32 is a zero
        slope = np.abs(formula(name, F32, [arrays[0], np.ones_like(arrays[0])], ()))
        return (slope > 0) & (slope < 2.0**-126)
    return np.zeros(arrays[0].shape, bool)


EVERY = [(name, dtype) for name, record in RECORDS.items() for dtype in record.dtypes if dtype is not F64]


def compared(where: str, name: str, dtype: DType, device: WgpuDevice | None = None) -> None:
    record, declared = RECORDS[name], DECLARED[name]
    arrays = operands(record, dtype, declared.tensors, declared.mask)
    keep = ~forbidden(name, arrays)
    arrays = [a[keep] for a in arrays]
    handle: Any = device or ReferenceDevice(17)
    flushes = device is not None and not keeps_subnormals(device)
    for scalars in record.scalars:
        got = call(name, BACKENDS[where], handle, dtype, arrays, scalars)
        exact = formula(name, dtype, arrays, scalars)
        bad = mismatches(record, dtype, got, exact, flushes)
        if flushes and record.ulp and bad.any():
            bad &= mismatches(record, dtype, got, formula(name, dtype, [flushed(a) for a in arrays], scalars), flushes)
        if bad.any():
            at = np.argwhere(bad)[:, 0]
            at = at[:: len(at) // 8 + 1]
            some = [f"{[a[i] for a in arrays]} {scalars}: {got[i]!r}, exact {exact[i]!r}" for i in at]
            pytest.fail(f"{name} {dtype} on {where}: {int(bad.sum())} of {bad.size} differ\n" + "\n".join(some))


@pytest.mark.gpu
@pytest.mark.parametrize(("name", "dtype"), EVERY, ids=[f"{n}-{d}" for n, d in EVERY])
def test_a_function_on_the_grid(name: str, dtype: DType, device: WgpuDevice) -> None:
    usable(dtype, device)
    compared("wgpu", name, dtype, device)


@pytest.mark.parametrize(("name", "dtype"), EVERY, ids=[f"{n}-{d}" for n, d in EVERY])
def test_the_reference_on_the_grid(name: str, dtype: DType) -> None:
    compared("cpu", name, dtype)


# ------------------------------------------------------------------------- methods and activations made of several


def _sigmoid(x: np.ndarray) -> np.ndarray:
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + small), small / (1 + small))


def _softplus(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _nearest(scaled: np.ndarray) -> np.ndarray:
    """Which integer is nearest is asked of the scaled number in f32."""
    return np.rint(scaled.astype(np.float32)).astype(np.float64)


def _elu(x: np.ndarray) -> np.ndarray:
    return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))


Unary = tuple[str, Callable[[Tensor], Tensor], Callable[[np.ndarray], np.ndarray], float]

# The last number: units in the last place of f32 at the result. A difference in float64 is as exact as its first
# operand, and a power of e as its exponent.
BESIDE: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "tanhshrink": lambda x, exact: 2.0**-50 * np.abs(x),
    "gelu_approximate": lambda x, exact: 2 * EPS * np.abs(1.6 * x + 0.0714 * x**3) * np.abs(exact),
}
UNARY: list[Unary] = [
    ("expm1", lambda t: t.expm1(), np.expm1, 16),
    ("square", lambda t: t.square(), np.square, 1),
    ("deg2rad", lambda t: t.deg2rad(), lambda x: x * (np.pi / 180), 2),
    ("rad2deg", lambda t: t.rad2deg(), lambda x: x * (180 / np.pi), 2),
    ("powi 2", lambda t: t.powi(2), lambda x: x**2, 1),
    ("powi 3", lambda t: t.powi(3), lambda x: x**3, 4),
    ("powi -1", lambda t: t.powi(-1), lambda x: 1 / x, 4),
    ("powi 17", lambda t: t.powi(17), lambda x: x**17, 16),
    ("pow 0.5", lambda t: t**0.5, lambda x: np.where(x == -INF, INF, np.sqrt(x) + 0.0), 16),
    ("2 ** x", lambda t: 2.0**t, lambda x: 2.0**x, 16),
    ("x // 3", lambda t: t // 3.0, lambda x: np.floor_divide(x, 3.0), 4),
    ("3 / x", lambda t: 3.0 / t, lambda x: 3.0 / x, 4),
    ("round_to 2", lambda t: t.round_to(2), lambda x: np.where(np.abs(x) > 3e36, x, _nearest(x * 100) / 100), 4),
    ("round_to -1", lambda t: t.round_to(-1), lambda x: _nearest(x / 10) * 10, 4),
    ("is_finite", lambda t: t.is_finite(), np.isfinite, 0),
    ("relu6", A.relu6, lambda x: np.clip(x, 0, 6), 0),
    ("hardtanh", A.hardtanh, lambda x: np.clip(x, -1, 1), 0),
    ("tanhshrink", A.tanhshrink, lambda x: x - np.tanh(x), 16),
    ("gelu_approximate", A.gelu_approximate,
     lambda x: x * _sigmoid(np.sqrt(8 / np.pi) * (x + 0.044715 * x**3)), 64),
    ("softplus", A.softplus, _softplus, 16),
    ("silu", A.silu, lambda x: x * _sigmoid(x), 16),
    ("mish", A.mish, lambda x: x * np.tanh(_softplus(x)), 16),
    ("hard_swish", A.hard_swish, lambda x: x * np.clip(x / 6 + 0.5, 0, 1), 8),
    ("elu", A.elu, _elu, 16),
    ("celu", lambda t: A.celu(t, 2.0), lambda x: np.where(x > 0, x, 2 * np.expm1(np.minimum(x, 0) / 2)), 16),
    ("selu", A.selu, lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * _elu(x)), 16),
    ("softsign", A.softsign, lambda x: x / (1 + np.abs(x)), 4),
    ("threshold", lambda t: A.threshold(t, 1.0, 7.0), lambda x: np.where(x <= 1, 7.0, x), 0),
    ("hard_shrink", A.hard_shrink, lambda x: np.where(np.abs(x) <= 0.5, 0, x), 0),
    ("soft_shrink", A.soft_shrink, lambda x: np.where(np.abs(x) <= 0.5, 0, x - np.sign(x) * 0.5), 1),
]  # fmt: skip


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [dt.F32, dt.F16, dt.BF16], ids=str)
@pytest.mark.parametrize("spec", ["wgpu", "cpu"])
@pytest.mark.parametrize(("name", "ours", "exact", "units"), UNARY, ids=[u[0] for u in UNARY])
def test_a_method_on_the_grid(name: str, ours: Any, exact: Any, units: float, spec: str, dtype: DType) -> None:
    method_compared(name, ours, exact, units, spec, grid(dtype), dtype)


@pytest.mark.gpu
@pytest.mark.long
@pytest.mark.parametrize("dtype", [dt.F32, dt.F16, dt.BF16], ids=str)
@pytest.mark.parametrize("spec", ["wgpu", "cpu"])
@pytest.mark.parametrize(("name", "ours", "exact", "units"), UNARY, ids=[u[0] for u in UNARY])
def test_a_method_on_many_values(name: str, ours: Any, exact: Any, units: float, spec: str, dtype: DType) -> None:
    if dtype is F32:
        rng = np.random.default_rng(5)
        values = np.concatenate([
            rng.integers(0, 1 << 32, 100_000, dtype=np.uint32).view(np.float32),
            (rng.standard_normal(100_000) * 10.0 ** rng.integers(-3, 3, 100_000)).astype(np.float32),
        ])  # fmt: skip
    else:  # all of them
        values = TensorData(np.arange(1 << 16, dtype=np.uint16).view(dtype.numpy), dtype).numpy()
    method_compared(name, ours, exact, units, spec, values, dtype)


def method_compared(
    name: str, ours: Any, exact: Any, units: float, spec: str, values: np.ndarray, dtype: DType
) -> None:
    got = ours(Tensor(values, device=Device(spec), dtype=dtype)).numpy()
    with np.errstate(all="ignore"):
        wide = values.astype(np.float64)
        want = np.asarray(exact(wide))
    flushes = spec == "wgpu" and not keeps_subnormals(WgpuDevice(0))
    bad = mismatches(Record(name, (), (), ulp=units, zero_sign=False), dtype, got, want, flushes)
    if got.dtype.kind == "f":
        size = np.abs(wide)
        with np.errstate(invalid="ignore"):
            error = np.abs(got.astype(np.float64) - want)
            lowest_factor = 2.0**-124 if flushes else 2.0**-149  # of a few, one may be as small and be lost
            bad &= ~(error <= lowest_factor * np.maximum(size, 1))
            if name in BESIDE:
                bad &= ~(error <= BESIDE[name](wide, want))
    if bad.any():
        some = [f"{values[i]}: {got[i]}, exact {want[i]}" for i in np.argwhere(bad)[:, 0]]
        pytest.fail(f"{name} {dtype} on {spec}: {len(some)} differ\n" + "\n".join(some[:: len(some) // 10 + 1]))


BINARY: list[tuple[str, Callable[[Tensor, Tensor], Tensor], Callable[[np.ndarray, np.ndarray], np.ndarray], float]] = [
    ("//", lambda x, y: x // y, np.floor_divide, 4),
    ("%", lambda x, y: x % y, np.remainder, 0.5001),
    ("/", lambda x, y: x / y, np.divide, 4),
    ("**", lambda x, y: x**y, np.power, 16),
    ("maximum", lambda x, y: x.maximum(y), np.maximum, 0),
    ("minimum", lambda x, y: x.minimum(y), np.minimum, 0),
    ("<=", lambda x, y: x <= y, np.less_equal, 0),
    ("!=", lambda x, y: x != y, np.not_equal, 0),
]


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [dt.F32, dt.F16, dt.BF16], ids=str)
@pytest.mark.parametrize("spec", ["wgpu", "cpu"])
@pytest.mark.parametrize(("name", "ours", "exact", "units"), BINARY, ids=[b[0] for b in BINARY])
def test_an_operator_on_pairs_of_the_grid(
    name: str, ours: Any, exact: Any, units: float, spec: str, dtype: DType
) -> None:
    values = grid(dtype)
    x, y = Tensor(values[:, None], device=Device(spec), dtype=dtype), Tensor(values, device=Device(spec), dtype=dtype)
    got = ours(x, y).numpy()
    wide = values.astype(np.float64)
    with np.errstate(all="ignore"):
        want = exact(wide[:, None], wide)
    flushes = spec == "wgpu" and not keeps_subnormals(WgpuDevice(0))
    record = Record(name, (), (), ulp=units, zero_sign=False)
    bad = mismatches(record, dtype, got, want, flushes)
    if flushes and units:
        with np.errstate(all="ignore"):
            bad &= mismatches(record, dtype, got, exact(flushed(wide[:, None]), flushed(wide)), flushes)
    if bad.any():
        some = [f"{values[i]} {name} {values[j]}: {got[i, j]}, exact {want[i, j]}" for i, j in np.argwhere(bad)]
        pytest.fail(f"{name} {dtype} on {spec}: {len(some)} differ\n" + "\n".join(some[:: len(some) // 10 + 1]))
