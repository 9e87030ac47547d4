"""Elementwise functions on the wgpu backend against their formulas, from the records: dtypes, layouts, sizes.

Every function runs over every dtype once; every layout is tried with a few functions of each arity, and with all of
them in the long run. f64 that is computed through f32 gets values of f32 and must be as right as f32 is; where it is
compared by its bits it must be exact.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from burn_wgpu.backends.wgpu.backend import WgpuBackend
from burn_wgpu.backends.wgpu.elementwise import function_of
from burn_wgpu.backends.wgpu.run import run1
from burn_wgpu.backends.wgpu.tensor import WgpuDevice, WgpuTensor
from burn_wgpu.backends.wgpu.usage import keeps_subnormals
from burn_wgpu.contract.backend import Backend
from burn_wgpu.contract.declare import elementwise_functions
from burn_wgpu.kernel.map import Operand, map_plan
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.data import TensorData, compute_dtype, store_array
from burn_wgpu.std.dtype import BOOL_U8, BOOL_U32, F32, F64, DType
from burn_wgpu.std.errors import DivisionByZero, PrecisionWarning
from burn_wgpu.std.layout import Layout
from burn_wgpu.std.scalar import as_scalar
from burn_wgpu.std.slice import Slice
from burn_wgpu.testing.records import RECORDS, Record, mismatches
from burn_wgpu.testing.records.record import flushed
from burn_wgpu.testing.support import exact_f64

pytestmark = pytest.mark.gpu

B: Any = WgpuBackend()
DECLARED = elementwise_functions(Backend)
EVERY = [(name, dtype) for name, record in RECORDS.items() for dtype in record.dtypes]
SIZES = (0, 1, 3, 5, 31, 32, 33, 63, 64, 65, 1000, 4097)
NAN, INF = float("nan"), float("inf")


@pytest.fixture(scope="module")
def device() -> WgpuDevice:
    return WgpuDevice(0)


def up(values: np.ndarray, dtype: DType, device: WgpuDevice) -> WgpuTensor:
    stored = store_array(values, dtype)
    return WgpuTensor(device.client.upload(stored, stored.nbytes), Layout.dense(stored.shape), dtype, device)


def down(tensor: WgpuTensor) -> np.ndarray:
    """Stored bits of a result."""
    assert tensor.layout.packed
    size = tensor.layout.size * tensor.dtype.size_bytes
    raw = tensor.device.client.stream.download([(tensor.lease, 0, size)])[0]
    return raw.view(tensor.dtype.numpy).reshape(tensor.shape)


def values_of(stored: np.ndarray, dtype: DType) -> np.ndarray:
    if dtype.is_bool:
        assert np.isin(stored, (0, 1)).all()
    return TensorData(stored, dtype).numpy()


def usable(device: WgpuDevice, dtype: DType) -> None:
    if dtype.size_bytes == 8 and not device.capability.has("shader-int64"):
        pytest.skip(f"{device.capability.adapter} has no 64-bit integers")


def seen(name: str, dtype: DType) -> DType:
    """The dtype whose numbers a function computes with."""
    return F32 if dtype is F64 and not exact_f64(name) else dtype


def draw(record: Record, rng: np.random.Generator, dtype: DType, n: int) -> list[np.ndarray]:
    """Operands of the record, with the values that `seen` has."""
    arrays = record.draw(rng, dtype, n, DECLARED[record.name].mask)
    if seen(record.name, dtype) is dtype:
        return arrays
    with np.errstate(all="ignore"):
        return [a.astype(np.float32).astype(np.float64) if a.dtype.kind == "f" else a for a in arrays]


def divides_by_zero(name: str, arrays: Sequence[np.ndarray]) -> np.ndarray:
    if name in ("int_div", "int_remainder", "int_floor_divide"):
        return arrays[1] == 0
    if name == "int_powi":
        return (arrays[0] == 0) & (arrays[1] < 0)
    return np.zeros(arrays[0].shape, bool)


def compare(
    record: Record, dtype: DType, tensors: list[WgpuTensor], arrays: list[np.ndarray], scalars: tuple[Any, ...]
) -> None:
    """Runs the function twice, and compares it with its formula over the same values."""
    declared = DECLARED[record.name]
    to_bool = declared.result == "bool"
    method = getattr(B, record.name)
    made_dtype = dtype
    extra = ()
    if to_bool:
        made_dtype = BOOL_U32 if dtype.size_bytes == 4 else BOOL_U8
        extra = (made_dtype,)
    with warnings.catch_warnings():
        if dtype is F64:
            warnings.simplefilter("ignore", PrecisionWarning)
        result = method(*tensors, *scalars, *extra)
    assert result.dtype is made_dtype
    stored = down(result)
    again = down(method(*tensors, *scalars, *extra))
    assert stored.tobytes() == again.tobytes()
    got = values_of(stored, made_dtype)
    dtype = seen(record.name, dtype)
    if got.dtype.kind == "f" and dtype is F32:
        assert np.array_equal(got, got.astype(np.float32), equal_nan=True)

    def formula(change: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        with np.errstate(invalid="ignore"):  # signalling NaN
            wide = [change(a.astype(np.float64)) if a.dtype.kind == "f" else a for a in arrays]
        # As arrays: NumPy takes short cuts for a power that is one number, and √ of −∞ is not (−∞)^½.
        kind = dtype.numpy if dtype.is_int else np.dtype(bool if dtype.is_bool else np.float64)
        numbers = [np.full(wide[0].shape, as_scalar(s, declared.scalar_dtype(dtype)), kind) for s in scalars]
        with np.errstate(all="ignore"):
            return np.asarray(declared.formula(*wide, *numbers))

    exact = formula(lambda a: a)
    assert got.shape == exact.shape
    flushes = not keeps_subnormals(tensors[0].device)
    bad = mismatches(record, dtype, got, exact, flushes)
    if flushes and record.ulp and bad.any():
        bad &= mismatches(record, dtype, got, formula(flushed), flushes)
    if bad.any():
        where = tuple(np.argwhere(bad)[0])
        inputs = [np.broadcast_to(a, bad.shape)[where] for a in arrays]
        pytest.fail(
            f"{record.name} {dtype}: {int(bad.sum())} of {bad.size} differ; "
            f"at {inputs} {scalars}: got {got[where]!r}, exact {exact[where]!r}"
        )


def operands(
    record: Record, dtype: DType, n: int, device: WgpuDevice, seed: int = 0
) -> tuple[list[WgpuTensor], list[np.ndarray]]:
    mask = DECLARED[record.name].mask
    arrays = draw(record, np.random.default_rng(seed), dtype, n)
    keep = ~divides_by_zero(record.name, arrays)
    arrays = [a[keep] for a in arrays]
    dtypes = [BOOL_U8 if i == mask else dtype for i in range(len(arrays))]
    return [up(a, d, device) for a, d in zip(arrays, dtypes, strict=True)], arrays


def test_every_declared_function_has_a_record_and_every_record_a_function() -> None:
    assert set(RECORDS) == set(DECLARED)


def test_a_record_gives_as_many_operands_and_numbers_as_the_function_takes() -> None:
    for name, record in RECORDS.items():
        declared = DECLARED[name]
        assert len(record.domain) == declared.tensors, name
        assert all(len(s) == declared.scalars for s in record.scalars), name


@pytest.mark.parametrize(("name", "dtype"), EVERY, ids=[f"{n}-{d}" for n, d in EVERY])
def test_a_function_agrees_with_its_formula(name: str, dtype: DType, device: WgpuDevice) -> None:
    usable(device, dtype)
    record = RECORDS[name]
    tensors, arrays = operands(record, dtype, 3001, device)
    for scalars in record.scalars:
        compare(record, dtype, tensors, arrays, scalars)


@pytest.mark.long
@pytest.mark.parametrize(("name", "dtype"), EVERY, ids=[f"{n}-{d}" for n, d in EVERY])
def test_a_function_agrees_with_its_formula_on_many_values(name: str, dtype: DType, device: WgpuDevice) -> None:
    usable(device, dtype)
    record = RECORDS[name]
    for seed in range(1, 4):
        tensors, arrays = operands(record, dtype, 200_003, device, seed)
        for scalars in record.scalars:
            compare(record, dtype, tensors, arrays, scalars)


# ------------------------------------------------------------------------------------------------------- layouts

View = tuple[str, tuple[int, ...], Callable[[Layout], Layout], Callable[[np.ndarray], np.ndarray]]

VIEWS: list[View] = [
    ("dense", (6, 8), lambda l: l, lambda a: a),
    ("transposed", (8, 6), lambda l: l.swap_dims(0, 1), lambda a: a.T),
    ("step and offset", (13, 17), lambda l: l.slice([Slice(1, None, 2), Slice(1, None, 2)]), lambda a: a[1::2, 1::2]),
    ("rows with offset", (8, 16), lambda l: l.slice([Slice(1, 7), Slice(4, 12)]), lambda a: a[1:7, 4:12]),
    ("flipped", (6, 8), lambda l: l.flip([0, 1]), lambda a: a[::-1, ::-1]),
    ("expanded row", (1, 8), lambda l: l.expand((6, 8)), lambda a: np.broadcast_to(a, (6, 8))),
    ("expanded column", (6, 1), lambda l: l.expand((6, 8)), lambda a: np.broadcast_to(a, (6, 8))),
    ("one value", (1, 1), lambda l: l.expand((6, 8)), lambda a: np.broadcast_to(a, (6, 8))),
]

WITH_LAYOUTS = (
    ("float_neg", dt.F32), ("float_neg", dt.BF16), ("bool_not", dt.BOOL_U8), ("float_clamp", dt.F16),
    ("float_sub", dt.F32), ("float_sub", dt.F16), ("int_sub", dt.I8), ("int_sub", dt.I64), ("int_add_scalar", dt.I16),
    ("float_lower", dt.F32), ("int_lower", dt.U8), ("float_mask_where", dt.F32), ("int_mask_where", dt.U16),
    ("float_sub", dt.F64), ("float_lower", dt.F64), ("float_clamp", dt.F64), ("float_mask_where", dt.F64),
)  # fmt: skip


def viewed(record: Record, dtype: DType, views: Sequence[View], device: WgpuDevice, scalars: tuple[Any, ...]) -> None:
    mask = DECLARED[record.name].mask
    rng = np.random.default_rng(3)
    tensors, arrays = [], []
    for i, (_, shape, lay, index) in enumerate(views):
        kind = BOOL_U8 if i == mask else dtype
        drawn = draw(record, rng, dtype, int(np.prod(shape)))[i].reshape(shape)
        if i == 1 and dtype.is_int and divides_by_zero(record.name, [drawn * 0, drawn]).any():
            drawn[drawn <= 0] = 1
        base = up(drawn, kind, device)
        tensors.append(base.view(lay(base.layout)))
        arrays.append(index(drawn))
    compare(record, dtype, tensors, arrays, scalars)


def pairings(count: int) -> list[list[View]]:
    """Views for the operands such that each meets each way of reading, without the whole product."""
    return [[VIEWS[(start + 3 * i) % len(VIEWS)] for i in range(count)] for start in range(len(VIEWS))]


@pytest.mark.parametrize(("name", "dtype"), WITH_LAYOUTS, ids=[f"{n}-{d}" for n, d in WITH_LAYOUTS])
def test_views_give_what_their_values_give(name: str, dtype: DType, device: WgpuDevice) -> None:
    usable(device, dtype)
    record = RECORDS[name]
    for views in pairings(len(record.domain)):
        viewed(record, dtype, views, device, record.scalars[0])


@pytest.mark.long
@pytest.mark.parametrize(("name", "dtype"), EVERY, ids=[f"{n}-{d}" for n, d in EVERY])
def test_views_give_what_their_values_give_for_every_function(name: str, dtype: DType, device: WgpuDevice) -> None:
    usable(device, dtype)
    record = RECORDS[name]
    for views in pairings(len(record.domain)):
        viewed(record, dtype, views, device, record.scalars[0])


@pytest.mark.parametrize(("name", "dtype"), [("float_sub", dt.F32), ("int_sub", dt.U8), ("float_mask_where", dt.F16)])
@pytest.mark.parametrize("rank", range(9))
def test_ranks_up_to_eight_broadcast(name: str, dtype: DType, rank: int, device: WgpuDevice) -> None:
    record = RECORDS[name]
    mask = DECLARED[name].mask
    rng = np.random.default_rng(rank)
    whole = (2, 3, 1, 2, 3, 2, 1, 5)[8 - rank :]
    tensors, arrays = [], []
    for i in range(len(record.domain)):
        # Operand i has size 1 on every third axis, and is stored with its axes reversed.
        shape = tuple(1 if (axis + i) % 3 == 0 else n for axis, n in enumerate(whole))
        drawn = record.draw(rng, dtype, int(np.prod(shape, dtype=int)), mask)[i].reshape(shape[::-1])
        base = up(drawn, BOOL_U8 if i == mask else dtype, device)
        tensors.append(base.view(base.layout.permute(range(rank - 1, -1, -1))))
        arrays.append(drawn.transpose())
    compare(record, dtype, tensors, arrays, record.scalars[0])


# --------------------------------------------------------------------------------------------------------- sizes


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("name", "dtype"),
    [("float_sub", dt.F32), ("float_mul", dt.BF16), ("int_sub", dt.I8), ("int_sub", dt.I64), ("bool_and", dt.BOOL_U8),
     ("float_mask_fill", dt.F16), ("int_greater", dt.U16), ("float_sub", dt.F64), ("float_mask_fill", dt.F64)],
)  # fmt: skip
def test_sizes_around_the_chunks(name: str, dtype: DType, size: int, device: WgpuDevice) -> None:
    usable(device, dtype)
    record = RECORDS[name]
    tensors, arrays = operands(record, dtype, size, device)
    compare(record, dtype, tensors, arrays, record.scalars[0])


def test_workgroups_beyond_the_limit_fold_into_a_second_axis(device: WgpuDevice) -> None:
    narrow = replace(device.capability, max_groups=20)
    n = 256 * 4 * 160 + 3  # 161 workgroups
    x = np.arange(n, dtype=np.int32)
    tensor = up(x, dt.I32, device)
    function = function_of(DECLARED["int_add_scalar"], dt.I32)
    plan = map_plan("fold", function, [Operand(tensor.layout, dt.I32)], (n,), dt.I32, narrow, ("i32",))
    assert plan is not None and plan.launches[0].grid[1] > 1
    out = run1(device, ("fold", n), lambda c: plan, (tensor,), np.int32(5).tobytes())
    assert np.array_equal(down(out), x + 5)


@pytest.mark.long
def test_more_than_65535_workgroups(device: WgpuDevice) -> None:
    n = 65_536 * 4096 + 5
    if n > device.capability.max_binding_bytes:
        pytest.skip(f"{device.capability.adapter} binds at most {device.capability.max_binding_bytes} bytes")
    one = up(np.array([250], np.uint8), dt.U8, device)
    out = B.int_add_scalar(one.view(one.layout.expand((n,))), 9)
    assert (down(out) == 3).all()


# ------------------------------------------------------------------------------------------- stated single values


def floats(device: WgpuDevice, function: Callable[..., WgpuTensor], *columns: Sequence[float]) -> list[float]:
    return down(function(*[up(np.array(c, np.float32), dt.F32, device) for c in columns])).tolist()


def test_powers_of_negative_numbers_and_of_zero(device: WgpuDevice) -> None:
    got = floats(device, B.float_powf, [-2, -2, -8, 0, 0, NAN, 1, -1, 3, -INF], [2, 3, 1 / 3, 0, -1, 0, NAN, INF, 2, 3])
    assert np.array_equal(got, [4, -8, NAN, 1, INF, 1, 1, 1, 9, -INF], equal_nan=True)


def test_remainder_follows_the_divisor_and_fmod_the_dividend(device: WgpuDevice) -> None:
    x, y = [-7, 7, -7, 7], [3, -3, -3, 3]
    assert floats(device, B.float_remainder, x, y) == [2, -2, -1, 1]
    assert floats(device, B.float_fmod, x, y) == [-1, 1, -1, 1]


def test_the_cosine_of_a_large_number_is_right(device: WgpuDevice) -> None:
    got = floats(device, B.float_cos, [1e9, 1e22, 3.0e38])
    assert got == pytest.approx(np.cos(np.array([1e9, 1e22, 3.0e38], np.float32).astype(np.float64)), abs=2e-7)


def test_infinities_and_nan_survive_arithmetic(device: WgpuDevice) -> None:
    x = [INF, -INF, NAN, INF]
    assert floats(device, B.float_add, x, [1, 1, 1, 1])[:2] == [INF, -INF]
    assert np.isnan(floats(device, B.float_sub, [INF, NAN], [INF, 1])).all()
    assert np.isnan(floats(device, B.float_mul, [INF, NAN], [0, 0])).all()


def test_tanh_and_gelu_saturate_instead_of_overflowing(device: WgpuDevice) -> None:
    assert floats(device, B.float_tanh, [44, -44, 89, 1e4, INF, -INF]) == [1, -1, 1, 1, 1, -1]
    assert floats(device, B.gelu, [89, 1e4, -89]) == [89, 1e4, 0]


def test_shift_counts_are_taken_modulo_the_width(device: WgpuDevice) -> None:
    x = up(np.array([1, -128, 3], np.int8), dt.I8, device)
    assert down(B.bitwise_left_shift_scalar(x, 9)).tolist() == [2, 0, 6]
    assert down(B.bitwise_right_shift_scalar(x, 15)).tolist() == [0, -1, 0]


@pytest.mark.parametrize("name", ["int_div", "int_remainder", "int_floor_divide"])
@pytest.mark.parametrize("dtype", [dt.I32, dt.U8, dt.I64])
def test_a_zero_divisor_is_raised_at_the_next_read(name: str, dtype: DType, device: WgpuDevice) -> None:
    usable(device, dtype)
    x = up(np.array([6, 7, 8], dtype.numpy), dtype, device)
    y = up(np.array([2, 0, 3], dtype.numpy), dtype, device)
    result = getattr(B, name)(x, y)
    for _ in range(2):
        with pytest.raises(DivisionByZero, match=f"^{name}: an integer divisor is 0"):
            down(result)
    assert down(x).tolist() == [6, 7, 8]  # another tensor does not hear of it again


def test_zero_to_a_negative_power_is_raised_at_the_next_read(device: WgpuDevice) -> None:
    result = B.int_powi(*[up(np.array(v, np.int32), dt.I32, device) for v in ([0, 2], [-1, 3])])
    with pytest.raises(DivisionByZero, match="^int_powi: "):
        down(result)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 6, 7])
def test_the_padding_behind_the_last_element_is_no_zero_divisor(size: int, device: WgpuDevice) -> None:
    ones = np.ones(size, np.int32)
    assert down(B.int_div(up(ones, dt.I32, device), up(ones, dt.I32, device))).tolist() == ones.tolist()


@pytest.mark.parametrize("name", ["int_div_scalar", "int_remainder_scalar", "int_floor_divide_scalar"])
def test_a_number_that_is_zero_as_divisor_is_raised_at_once(name: str, device: WgpuDevice) -> None:
    with pytest.raises(DivisionByZero) as error:
        getattr(B, name)(up(np.ones(3, np.int32), dt.I32, device), 0)
    assert str(error.value) == f"{name}: the divisor is 0; an integer cannot be divided by it"


def test_the_compute_dtype_of_a_record_is_the_dtype_of_its_values() -> None:
    rng = np.random.default_rng(0)
    for name, dtype in EVERY:
        for i, array in enumerate(RECORDS[name].draw(rng, dtype, 40, DECLARED[name].mask)):
            expected = np.dtype(bool) if i == DECLARED[name].mask else compute_dtype(dtype)
            assert array.dtype == expected, (name, dtype, i)
