"""Matrix products on the wgpu backend: every kernel by name, in every layout, against NumPy in float64.

The big tiles' text comes from one generator, so their smallest is tried most: it compiles fastest in software.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import erf, sqrt
from typing import Any

import numpy as np
import pytest

from burn_wgpu.backends.wgpu.backend import WgpuBackend
from burn_wgpu.backends.wgpu.run import run1
from burn_wgpu.backends.wgpu.tensor import WgpuDevice, WgpuTensor
from burn_wgpu.kernel.matmul import KERNELS, TILES, VECTORS, matmul_plan
from burn_wgpu.shader.launch import Plan
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.data import TensorData
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.errors import UnsupportedError
from burn_wgpu.std.layout import Layout
from burn_wgpu.std.slice import Slice
from tests.backends.wgpu.oracle import need_arithmetic

pytestmark = pytest.mark.gpu

B: Any = WgpuBackend()
SIZES = (1, 2, 3, 5, 7, 31, 32, 33, 63, 64, 65, 127, 128, 129, 500, 512)
LAYOUTS = list(product((False, True), repeat=2))  # which operands are transposed views
HALF_ULP = {dt.F32: 0.0, dt.F16: 2.0**-11, dt.BF16: 2.0**-8}
SMALLEST = "tile_32x32"


@pytest.fixture(scope="module")
def device() -> WgpuDevice:
    return WgpuDevice(0)


@pytest.fixture(scope="module")
def plain_device() -> WgpuDevice:
    """The same adapter with WebGPU's default limits."""
    return WgpuDevice(0, default_limits=True)


def numbers(shape: tuple[int, ...], kind: DType, seed: int) -> np.ndarray:
    """Values that the dtype holds exactly: floats around 1, integers over the whole range."""
    rng = np.random.default_rng(seed)
    if kind.is_float:
        return TensorData.of(rng.standard_normal(shape).astype(np.float32), kind).numpy()
    info = np.iinfo(kind.numpy)
    return rng.integers(info.min, info.max, shape, dtype=kind.numpy, endpoint=True)


def up(values: np.ndarray, kind: DType, device: WgpuDevice, transposed: bool = False) -> WgpuTensor:
    """The values on the device; transposed: as a view of their transpose's buffer."""
    make = B.float_from_data if kind.is_float else B.int_from_data
    if not transposed:
        return make(TensorData.of(np.ascontiguousarray(values), kind), device)
    tensor = make(TensorData.of(np.ascontiguousarray(np.swapaxes(values, -1, -2)), kind), device)
    return tensor.view(tensor.layout.swap_dims(tensor.rank - 2, tensor.rank - 1))


def down(tensor: WgpuTensor) -> np.ndarray:
    read = B.float_into_data if tensor.dtype.is_float else B.int_into_data
    return read(tensor).numpy()


def need_room(kernel: str, device: WgpuDevice) -> None:
    """Skips a test of a kernel whose tile does not fit the workgroup memory of this device."""
    limit = device.capability.max_workgroup_bytes
    if kernel in TILES and TILES[kernel].workgroup_bytes > limit:
        pytest.skip(f"{device.capability.adapter} has {limit} bytes of workgroup memory, too few for {kernel}")


def by(
    kernel: str | None,
    lhs: WgpuTensor,
    rhs: WgpuTensor,
    splits: int | None = None,
    bias: WgpuTensor | None = None,
    activation: str | None = None,
    trusted: bool = True,
) -> WgpuTensor:
    """The product by a kernel of this name."""
    c = bias.layout if bias is not None else None

    def make(capability: Any) -> Plan:
        plan = matmul_plan(
            "product", lhs.layout, rhs.layout, lhs.dtype, capability, c, activation, kernel=kernel, splits=splits
        )
        launches = tuple(replace(x, key=replace(x.key, trusted=trusted and x.key.trusted)) for x in plan.launches)
        return replace(plan, launches=launches)

    key = ("product", kernel, splits, lhs.layout, rhs.layout, lhs.dtype, c, activation, trusted)
    return run1(lhs.device, key, make, (lhs, rhs) if bias is None else (lhs, rhs, bias))


def wrong(got: np.ndarray, a: np.ndarray, b: np.ndarray, kind: DType, bias: np.ndarray | None = None) -> str:
    """Empty when the result is right: within k roundings of f32 and one of the dtype; for integers equal modulo 2^w."""
    if kind.is_int:
        want = np.matmul(a.astype(np.uint64), b.astype(np.uint64)).astype(kind.numpy)
        return "" if got.shape == want.shape and np.array_equal(got, want) else f"{kind}: integers differ"
    wide = np.float64
    want = np.matmul(a.astype(wide), b.astype(wide))
    sums = np.matmul(np.abs(a).astype(wide), np.abs(b).astype(wide))
    if bias is not None:
        want, sums = want + bias, sums + np.abs(bias)
    limit = (a.shape[-1] + 1) * 2.0**-24 * sums
    limit += HALF_ULP[kind] * (np.abs(want) + limit) + 2.0**-25  # the last is half a subnormal step of f16
    if got.shape != want.shape:
        return f"shape {got.shape} instead of {want.shape}"
    worst = np.max(np.abs(got.astype(wide) - want) / limit, initial=0)
    return "" if worst <= 1 else f"{kind}: error {worst:.3g} times the limit"


def tried(
    kernel: str | None,
    sizes: tuple[int, int, int],
    kind: DType,
    layouts: tuple[bool, bool],
    device: WgpuDevice,
    splits: int | None = None,
) -> str:
    """Runs a product twice; says what is wrong with it, if anything."""
    m, n, k = sizes
    a, b = numbers((m, k), kind, 1), numbers((k, n), kind, 2)
    lhs, rhs = up(a, kind, device, layouts[0]), up(b, kind, device, layouts[1])
    first, second = (down(by(kernel, lhs, rhs, splits)) for _ in range(2))
    if not np.array_equal(first.view(np.uint8), second.view(np.uint8)):
        return f"{kernel} {sizes} {layouts}: two runs differ"
    text = wrong(first, a, b, kind)
    return f"{kernel} {sizes} {layouts} splits {splits}: {text}" if text else ""


def sizes_for(kernel: str) -> list[tuple[int, int, int]]:
    """(m, n, k): one with edges in rows of whole vectors, one that is odd, one that fills tiles."""
    if kernel == "gemv":
        return [(3, 65, 33), (129, 4, 500), (1, 128, 64), (127, 2, 31), (1, 500, 7), (8, 66, 68)]
    if kernel in TILES:
        tile = TILES[kernel]
        return [(tile.rows + 4, 4, tile.depth + 4), (33, 65, 31), (tile.rows, tile.columns, 2 * tile.depth)]
    return [(7, 500, 5), (33, 31, 129), (32, 64, 32)]


@pytest.mark.parametrize("layouts", LAYOUTS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel_reads_every_layout(kernel: str, layouts: tuple[bool, bool], device: WgpuDevice) -> None:
    need_room(kernel, device)
    every = sizes_for(kernel)
    if kernel in TILES and kernel != SMALLEST:
        every = every if layouts == (True, False) and kernel == "tile_64x128" else every[:1]
    faults = [tried(kernel, sizes, dt.F32, layouts, device) for sizes in every]
    assert not any(faults), faults


@pytest.mark.parametrize(
    "kind",
    [
        *[dt.F16, dt.BF16, dt.I32, dt.U32, dt.I16, dt.U8],
        *[pytest.param(kind, marks=pytest.mark.long) for kind in (dt.U16, dt.I8)],
    ],
    ids=repr,
)
@pytest.mark.parametrize("kernel", [SMALLEST, "small", "gemv", "tiny"])
def test_every_kernel_takes_every_dtype(kernel: str, kind: DType, device: WgpuDevice) -> None:
    layouts = LAYOUTS if kind is dt.F16 and kernel == SMALLEST else [(False, True)]
    faults = [tried(kernel, sizes, kind, layout, device) for sizes in sizes_for(kernel)[:3] for layout in layouts]
    assert not any(faults), faults


@pytest.mark.parametrize("kernel", [k for k in TILES if k != SMALLEST])
def test_big_tiles_widen_halves(kernel: str, device: WgpuDevice) -> None:
    need_room(kernel, device)
    assert not (fault := tried(kernel, (36, 68, 40), dt.F16, (False, False), device)), fault


@pytest.mark.parametrize("kind", [dt.I64, dt.U64], ids=repr)
def test_64_bit_integers(kind: DType, device: WgpuDevice) -> None:
    need_arithmetic(kind, device)
    for kernel in ("small", "tiny", None):
        faults = [tried(kernel, sizes, kind, (False, True), device) for sizes in ((33, 31, 65), (1, 64, 300))]
        assert not any(faults), faults
    assert not tried("small", (5, 7, 200), kind, (False, False), device, splits=3)


@pytest.mark.parametrize("kernel", [k for k in KERNELS if k != "tiny"])
def test_split_k_gives_the_same_product(kernel: str, device: WgpuDevice) -> None:
    need_room(kernel, device)
    m, n = (3, 66) if kernel == "gemv" else (34, 66)
    if kernel in TILES and kernel != SMALLEST:
        assert not (fault := tried(kernel, (m, n, 100), dt.F32, (False, False), device, 3)), fault
        return
    for kind in (dt.F32, dt.F16):
        faults = [tried(kernel, (m, n, k), kind, (False, False), device, splits) for k, splits in ((100, 3), (33, 8))]
        faults.append(tried(kernel, (m, 64, 160), kind, (False, False), device, 5))
        assert not any(faults), faults


def _sample(count: int, seed: int) -> Iterator[tuple[int, int, int]]:
    every = list(product(SIZES, repeat=3))
    for i in np.random.default_rng(seed).choice(len(every), count, replace=False):
        yield every[i]


def test_awkward_sizes_by_the_plans_own_choice(device: WgpuDevice) -> None:
    for i, sizes in enumerate(_sample(24, 3)):
        assert not (fault := tried(None, sizes, dt.F32, LAYOUTS[i % 4], device)), fault


@pytest.mark.long
@pytest.mark.parametrize("kernel", KERNELS)
def test_awkward_sizes_by_every_kernel(kernel: str, device: WgpuDevice) -> None:
    need_room(kernel, device)
    for i, sizes in enumerate(_sample(60, 4)):
        if kernel == "gemv" and min(sizes[:2]) > VECTORS:
            continue
        kind = (dt.F32, dt.F16, dt.BF16, dt.I32, dt.I8)[i % 5]
        assert not (fault := tried(kernel, sizes, kind, LAYOUTS[i // 5 % 4], device)), fault


@pytest.mark.long
@pytest.mark.parametrize("kind", [dt.F32, dt.F16])
@pytest.mark.parametrize("m", SIZES)
def test_awkward_sizes_in_full(m: int, kind: DType, device: WgpuDevice) -> None:
    for i, (n, k) in enumerate(product(SIZES, repeat=2)):
        assert not (fault := tried(None, (m, n, k), kind, LAYOUTS[i % 4], device)), fault


# --------------------------------------------------------------------------------------------------- leading axes


@pytest.mark.parametrize(
    ("lhs", "rhs"),
    [
        ((3, 5, 7), (3, 7, 4)),
        ((3, 5, 7), (1, 7, 4)),
        ((1, 5, 7), (3, 7, 4)),
        ((2, 1, 33, 20), (1, 3, 20, 34)),
        ((2, 3, 33, 20), (2, 3, 20, 34)),
        ((2, 1, 3, 17, 12), (1, 4, 3, 12, 9)),
        ((4, 1, 100), (4, 100, 65)),
        ((4, 2, 64, 100), (1, 1, 100, 3)),
    ],
)
@pytest.mark.parametrize("kernel", [None, SMALLEST])
def test_leading_axes_broadcast(
    kernel: str | None, lhs: tuple[int, ...], rhs: tuple[int, ...], device: WgpuDevice
) -> None:
    a, b = numbers(lhs, dt.F32, 1), numbers(rhs, dt.F32, 2)
    for layouts in ((False, False), (True, True)):
        got = down(by(kernel, up(a, dt.F32, device, layouts[0]), up(b, dt.F32, device, layouts[1])))
        assert not (text := wrong(got, a, b, dt.F32)), text
    halves = [TensorData.of(x, dt.F16).numpy() for x in (a, b)]
    got = down(by(kernel, *(up(x, dt.F16, device) for x in halves)))
    assert not (text := wrong(got, *halves, dt.F16)), text


def test_seventy_thousand_tiny_matrices(device: WgpuDevice) -> None:
    a, b = numbers((70_000, 4, 5), dt.F32, 1), numbers((70_000, 5, 6), dt.F32, 2)
    lhs, rhs = up(a, dt.F32, device), up(b, dt.F32, device)
    for kernel in (None, "small"):  # small: one workgroup a matrix, more than one axis of the grid holds
        assert not (text := wrong(down(by(kernel, lhs, rhs)), a, b, dt.F32)), text


# ------------------------------------------------------------------------------------------------ views and extremes


@pytest.mark.parametrize("kernel", [SMALLEST, "small", "gemv", "tiny"])
def test_any_view_is_read_as_it_lies(kernel: str, device: WgpuDevice) -> None:
    n = 3 if kernel == "gemv" else 40
    base, other = numbers((2, 90, 70), dt.F32, 1), numbers((2, 70, 90), dt.F32, 2)
    a, b = up(base, dt.F32, device), up(other, dt.F32, device)
    cases = [
        (a.layout.slice([Slice(1), Slice(1, 66), Slice(3, 35)]), base[1:, 1:66, 3:35]),
        (a.layout.slice([Slice(0, 2), Slice(0, 64, 2), Slice(0, 64, 2)]), base[:, 0:64:2, 0:64:2]),
        (a.layout.flip([1, 2]).slice([Slice(0, 2), Slice(0, 50), Slice(0, 32)]), base[:, ::-1, ::-1][:, :50, :32]),
        (
            a.layout.slice([Slice(0, 2), Slice(0, 50), Slice(0, 1)]).expand((2, 50, 32)),
            np.broadcast_to(base[:, :50, :1], (2, 50, 32)),
        ),
    ]
    for layout, values in cases:
        batch, k = values.shape[0], values.shape[2]
        right = b.layout.flip([1]).slice([Slice(0, batch), Slice(2, 2 + k), Slice(4, 4 + n)])
        want = other[:, ::-1][:batch, 2 : 2 + k, 4 : 4 + n]
        got = down(by(kernel, a.view(layout), b.view(right)))
        assert not (text := wrong(got, values, want, dt.F32)), (layout, text)


def test_a_matrix_times_its_own_transpose(device: WgpuDevice) -> None:
    a = numbers((40, 36), dt.F32, 1)
    x = up(a, dt.F32, device)
    for kernel in (None, "tile_32x32", "tiny"):
        assert not (text := wrong(down(by(kernel, x, x.view(x.layout.swap_dims(0, 1)))), a, a.T, dt.F32)), text


@pytest.mark.parametrize("kind", [dt.F32, dt.F16, dt.I32])
def test_empty_products(kind: DType, device: WgpuDevice) -> None:
    multiply = B.float_matmul if kind.is_float else B.int_matmul
    for m, k, n in ((0, 3, 2), (2, 3, 0), (0, 0, 0)):
        assert down(multiply(up(np.zeros((m, k)), kind, device), up(np.zeros((k, n)), kind, device))).shape == (m, n)
    zeros = down(multiply(up(np.zeros((3, 2, 0)), kind, device), up(np.zeros((3, 0, 5)), kind, device)))
    assert zeros.shape == (3, 2, 5) and not zeros.any()
    assert down(multiply(up(np.zeros((0, 2, 3)), kind, device), up(np.zeros((1, 3, 5)), kind, device))).shape == (
        0,
        2,
        5,
    )


@pytest.mark.parametrize("kernel", KERNELS)
def test_4096_ones_in_half_precision_sum_to_4096(kernel: str, device: WgpuDevice) -> None:
    need_room(kernel, device)
    m, n = (2, 40) if kernel == "gemv" else (34, 40)
    for kind in (dt.F16, dt.BF16) if kernel == "small" else (dt.F16,):
        ones = up(np.ones((m, 4096), np.float32), kind, device), up(np.ones((4096, n), np.float32), kind, device)
        assert np.array_equal(down(by(kernel, *ones)).astype(np.float32), np.full((m, n), 4096, np.float32))


@pytest.mark.parametrize("kernel", [SMALLEST, "small", "gemv", "tiny"])
def test_infinities_and_nan_stay_in_their_row(kernel: str, device: WgpuDevice) -> None:
    """Elements beyond the edges count as zero, and zero times what a clamped load finds must not be NaN."""
    m = 3 if kernel == "gemv" else 35
    a, b = np.ones((m, 33), np.float32), np.ones((33, 37), np.float32)
    a[0, 32], a[2, 32] = np.inf, np.nan
    for layouts in LAYOUTS:
        got = down(by(kernel, up(a, dt.F32, device, layouts[0]), up(b, dt.F32, device, layouts[1])))
        assert np.all(got[0] == np.inf) and np.all(got[1] == 33) and np.all(np.isnan(got[2])) and np.all(got[3:] == 33)
    a[:] = 1
    b[32, 36] = -np.inf
    got = down(by(kernel, up(a, dt.F32, device), up(b, dt.F32, device)))
    assert np.all(got[:, 36] == -np.inf) and np.all(got[:, :36] == 33)


@pytest.mark.parametrize("kernel", ["tile_64x128", SMALLEST, "small", "gemv", "tiny"])
def test_bounds_checks_change_nothing(kernel: str, device: WgpuDevice) -> None:
    m = 2 if kernel == "gemv" else 37
    a, b = numbers((m, 45), dt.F32, 1), numbers((45, 39), dt.F32, 2)
    lhs, rhs = up(a, dt.F32, device), up(b, dt.F32, device)
    assert np.array_equal(down(by(kernel, lhs, rhs, trusted=False)), down(by(kernel, lhs, rhs)))


def test_products_run_within_the_default_limits(plain_device: WgpuDevice) -> None:
    for sizes in ((200, 300, 64), (1, 300, 500), (33, 17, 2000), (5, 6, 7)):
        for layouts in LAYOUTS[1:3]:
            assert not (fault := tried(None, sizes, dt.F32, layouts, plain_device)), fault
    for kernel in ("tile_64x128", "tile_64x64"):
        assert not (fault := tried(kernel, (66, 129, 20), dt.F32, (False, False), plain_device)), fault


def test_a_kernel_that_the_device_cannot_run_is_an_error(plain_device: WgpuDevice) -> None:
    lhs, rhs = up(np.ones((66, 20)), dt.F32, plain_device), up(np.ones((20, 130)), dt.F32, plain_device)
    with pytest.raises(UnsupportedError, match="needs 24576 bytes of workgroup memory, but .* default limits allows"):
        by("tile_64x128_deep", lhs, rhs)
    wide = up(np.ones((40, 40)), dt.I64, plain_device)
    with pytest.raises(UnsupportedError, match="needs the feature shader-int64, which .* default limits does not"):
        B.int_matmul(wide, wide)


@pytest.mark.long
@pytest.mark.parametrize("kernel", ["tile_32x32", "small", "gemv", None])
def test_very_long_sums_stay_below_the_loop_limit(kernel: str | None, device: WgpuDevice) -> None:
    k = 900_000
    a, b = numbers((2, k), dt.F32, 1), numbers((k, 3), dt.F32, 2)
    assert not (text := wrong(down(by(kernel, up(a, dt.F32, device), up(b, dt.F32, device))), a, b, dt.F32)), text


# ----------------------------------------------------------------------------------------------------- epilogues


def _gelu(x: np.ndarray) -> np.ndarray:
    return x * 0.5 * (1 + np.vectorize(erf)(x / sqrt(2)))


@pytest.mark.parametrize(("kernel", "splits"), [*product((SMALLEST, "small", "gemv"), (1, 3)), ("tiny", 1)])
def test_bias_and_activation_follow_the_sum(kernel: str, splits: int, device: WgpuDevice) -> None:
    for m, n in ((3, 37), (40, 4)) if kernel == "gemv" else ((35, 37), (36, 40)):
        a, b, c = numbers((m, 50), dt.F32, 1), numbers((50, n), dt.F32, 2), numbers((2 * n,), dt.F32, 3)
        lhs, rhs, whole = up(a, dt.F32, device), up(b, dt.F32, device), up(c, dt.F32, device)
        bias = whole.view(whole.layout.slice([Slice(1, None, 2)]))
        assert not (text := wrong(down(by(kernel, lhs, rhs, splits, bias)), a, b, dt.F32, c[1::2])), text
        exact = a.astype(np.float64) @ b + c[1::2]
        near = {"rtol": 1e-5, "atol": 1e-4}
        np.testing.assert_allclose(down(by(kernel, lhs, rhs, splits, bias, "relu")), np.maximum(exact, 0), **near)
    np.testing.assert_allclose(down(by(kernel, lhs, rhs, splits, bias, "gelu")), _gelu(exact), **near)


@pytest.mark.parametrize("kind", [dt.F32, dt.F16, dt.BF16])
@pytest.mark.parametrize("shape", [(9,), (1, 9), (4, 9), (50, 12), (2, 3, 9), (2, 5, 4, 16), (0, 9)])
def test_linear(shape: tuple[int, ...], kind: DType, device: WgpuDevice) -> None:
    for n in (6, 7):
        x, w, c = numbers(shape, kind, 1), numbers((shape[-1], n), kind, 2), numbers((n,), kind, 3)
        tx, tw, tc = (up(v, kind, device) for v in (x, w, c))
        for bias in (None, c):
            got = down(B.linear(tx, tw, None if bias is None else tc))
            assert got.shape == (*shape[:-1], n)
            text = wrong(
                got.reshape(-1, n), x.reshape(-1, shape[-1]), w, kind, None if bias is None else c.astype(np.float64)
            )
            assert not text, (bias is None, text)


def test_linear_backward(device: WgpuDevice) -> None:
    x, w, g = numbers((3, 5, 20), dt.F32, 1), numbers((20, 33), dt.F32, 2), numbers((3, 5, 33), dt.F32, 3)
    tx, tw, tg = (up(v, dt.F32, device) for v in (x, w, g))
    assert not (text := wrong(down(B.linear_x_backward(tw, tg)), g, w.T, dt.F32)), text
    rows_x, rows_g = x.reshape(-1, 20), g.reshape(-1, 33)
    assert not (text := wrong(down(B.linear_weight_backward(tx, tg)), rows_x.T, rows_g, dt.F32)), text
    swapped = tx.view(tx.layout.swap_dims(0, 1))  # rows that no view can merge
    grad = tg.view(tg.layout.swap_dims(0, 1))
    assert not (text := wrong(down(B.linear_weight_backward(swapped, grad)), rows_x.T, rows_g, dt.F32)), text
    assert not (text := wrong(down(B.linear(swapped, tw, None)), np.swapaxes(x, 0, 1), w, dt.F32)), text


def test_a_product_is_planned_once(device: WgpuDevice) -> None:
    x = up(numbers((8, 8), dt.F32, 1), dt.F32, device)
    B.float_matmul(x, x)
    kept = device.plans[("float_matmul", Layout.dense((8, 8)), Layout.dense((8, 8)), dt.F32)]
    B.float_matmul(x, x)
    assert device.plans[("float_matmul", x.layout, x.layout, dt.F32)] is kept
