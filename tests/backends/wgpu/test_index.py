"""Reading and writing by index on the wgpu backend against the reference backend."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from burn_wgpu.backends.wgpu.run import run1
from burn_wgpu.backends.wgpu.tensor import WgpuDevice, WgpuTensor
from burn_wgpu.contract.options import IndexingUpdateOp as Update
from burn_wgpu.kernel import scatter as scatter_kernel
from burn_wgpu.kernel.index import gather_plan, select_places
from burn_wgpu.kernel.scatter import scatter_plan, select_assign_places
from burn_wgpu.kernel.where import TILE
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.errors import ArgumentError, IndexOutOfRange
from tests.backends.wgpu.oracle import REF, REF_DEVICE, B, bits, down, equal, layouts, prefix, up

pytestmark = pytest.mark.gpu

STORED = [d for d in dt.ALL if d is not dt.BOOL]
INT_NAMES = [d.name for d in dt.INTS]


@pytest.fixture(scope="module")
def device() -> WgpuDevice:
    return WgpuDevice(0)


@pytest.fixture
def sorted_way(monkeypatch: pytest.MonkeyPatch) -> WgpuDevice:
    """A device without plans whose scatters all sort, in blocks short enough for small tests."""
    monkeypatch.setattr(scatter_kernel, "FEW_CANDIDATES", -1)
    monkeypatch.setattr(scatter_kernel, "FEW_WORK", -1)
    monkeypatch.setattr(scatter_kernel, "SHORTEST_BLOCK", 4)
    return WgpuDevice(0)


def some(shape: tuple[int, ...], kind: DType, seed: int = 0) -> np.ndarray:
    """Small integers, exact in every dtype, also after a few sums and products."""
    values = np.random.default_rng(seed).integers(0, 7, shape)
    return values > 3 if kind.is_bool else values - (3 if kind.kind in ("float", "int") else 0)


def index_into(size: int, shape: tuple[int, ...], seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, size, shape)


def expected(name: str, kind: DType, *arguments: Any) -> np.ndarray:
    """The reference backend's answer; arrays are (values, dtype) pairs."""
    given = [up(*a, REF_DEVICE) if isinstance(a, tuple) else a for a in arguments]
    return down(getattr(REF, f"{prefix(kind)}_{name}")(*given))


# ------------------------------------------------------------------------------------------------------- reading


@pytest.mark.parametrize("kind", STORED, ids=str)
@pytest.mark.parametrize("last", [1, 3, 8])
def test_select_moves_every_dtype(kind: DType, last: int, device: WgpuDevice) -> None:
    values, at = some((5, 7, last), kind), index_into(7, (9,))
    found = getattr(B, f"{prefix(kind)}_select")(up(values, kind, device), 1, up(at, dt.I32, device))
    assert found.dtype is kind
    assert equal(down(found), expected("select", kind, (values, kind), 1, (at, dt.I32)))


@pytest.mark.parametrize("index_kind", dt.INTS, ids=INT_NAMES)
def test_every_index_dtype(index_kind: DType, device: WgpuDevice) -> None:
    values, at = some((11, 3), dt.F16), index_into(11, (13,))
    found = B.float_select(up(values, dt.F16, device), 0, up(at, index_kind, device))
    assert equal(down(found), expected("select", dt.F16, (values, dt.F16), 0, (at, index_kind)))


@pytest.mark.parametrize("kind", [dt.F32, dt.BF16, dt.BOOL_U8, dt.I64], ids=str)
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_gather_with_smaller_other_axes(kind: DType, dim: int, device: WgpuDevice) -> None:
    values = some((4, 5, 6), kind)
    at = index_into((4, 5, 6)[dim], tuple(9 if a == dim else n - 1 for a, n in enumerate((4, 5, 6))))
    found = getattr(B, f"{prefix(kind)}_gather")(dim, up(values, kind, device), up(at, dt.I64, device))
    assert equal(down(found), expected("gather", kind, dim, (values, kind), (at, dt.I64)))


@pytest.mark.parametrize("k", [0, 1, 2, 3])
def test_gather_nd(k: int, device: WgpuDevice) -> None:
    values = some((4, 5, 6), dt.F32)
    at = np.stack([index_into(n, (2, 3), n) for n in (4, 5, 6)[:k]], -1) if k else np.zeros((2, 3, 0), int)
    found = B.float_gather_nd(up(values, dt.F32, device), up(at, dt.I32, device))
    assert equal(down(found), expected("gather_nd", dt.F32, (values, dt.F32), (at, dt.I32)))


@pytest.mark.parametrize("shape", [(6,), (2, 5), (2, 3, 4)])
def test_embedding_gives_rows_for_indices_of_any_rank(shape: tuple[int, ...], device: WgpuDevice) -> None:
    weights = np.random.default_rng(3).standard_normal((30, 12)).astype(np.float32)
    at = index_into(30, shape)
    found = B.embedding(up(weights, dt.F32, device), up(at, dt.I64, device))
    assert equal(down(found), weights[at])


@pytest.mark.parametrize("kind", [dt.F32, dt.U8], ids=str)
def test_reads_any_layout_of_values_and_indices(kind: DType, device: WgpuDevice) -> None:
    values, at = some((8, 6), kind), index_into(8, (4, 6))
    name = prefix(kind)
    for way, tensor in layouts(values, kind, device):
        for index_way, indices in layouts(at, dt.I32, device):
            found = getattr(B, f"{name}_gather")(0, tensor, indices)
            assert equal(down(found), expected("gather", kind, 0, (values, kind), (at, dt.I32))), (way, index_way)
            column = B.int_reshape(indices, (24,))
            found = getattr(B, f"{name}_select")(tensor, 0, column)
            assert equal(down(found), expected("select", kind, (values, kind), 0, (at.reshape(-1), dt.I32))), way
        pairs = np.stack([index_into(8, (5,)), index_into(6, (5,))], -1)
        found = getattr(B, f"{name}_gather_nd")(tensor, up(pairs, dt.I32, device))
        assert equal(down(found), expected("gather_nd", kind, (values, kind), (pairs, dt.I32))), way


def test_reads_of_nothing(device: WgpuDevice) -> None:
    none = up(np.zeros(0, int), dt.I32, device)
    assert down(B.float_select(up(np.ones((3, 4)), dt.F32, device), 1, none)).shape == (3, 0)
    assert down(B.float_gather(0, up(np.ones((0, 4)), dt.F32, device), up(np.zeros((0, 4)), dt.I32, device))).size == 0
    assert down(B.embedding(up(np.ones((3, 4)), dt.F32, device), up(np.zeros((0, 2)), dt.I32, device))).shape == (
        0,
        2,
        4,
    )


def test_rank_sixteen(device: WgpuDevice) -> None:
    shape = (2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 3)
    values, at = some(shape, dt.F32), index_into(2, shape)
    order = list(range(16))[::-1]
    tensor = B.float_permute(up(values.transpose(order), dt.F32, device), order)
    found = B.float_gather(8, tensor, up(at, dt.I32, device))
    assert equal(down(found), expected("gather", dt.F32, 8, (values, dt.F32), (at, dt.I32)))
    found = B.float_scatter(8, tensor, up(at, dt.I32, device), tensor, Update.ADD)
    answer = expected("scatter", dt.F32, 8, (values, dt.F32), (at, dt.I32), (values, dt.F32), Update.ADD)
    assert equal(down(found), answer)


def test_more_workgroups_than_an_axis_holds(device: WgpuDevice) -> None:
    """The grid folds: the same kernels with at most 5 workgroups along an axis."""
    values, at, new = some((400, 5), dt.F32), index_into(400, (600,)), some((600, 5), dt.F32, 2)
    small = replace(device.capability, max_groups=5)
    tensor, indices, given = up(values, dt.F32, device), up(at, dt.I32, device), up(new, dt.F32, device)
    places = select_places(tensor.layout, 0, indices.layout)
    plan = gather_plan("select", places, dt.F32, dt.I32, small)
    assert plan.launches[0].grid[1] > 1
    assert equal(down(run1(device, ("folded", 1), lambda _: plan, (tensor, indices))), values[at].astype(np.float32))
    target = select_assign_places((400, 5), 0, indices.layout, given.layout)
    plan = scatter_plan("select_assign", target, False, dt.F32, dt.I32, Update.ADD, small)
    found = run1(device, ("folded", 2), lambda _: plan, (tensor, indices, given))
    answer = expected("select_assign", dt.F32, (values, dt.F32), 0, (at, dt.I32), (new, dt.F32), Update.ADD)
    assert equal(down(found), answer)


# ------------------------------------------------------------------------------------------------------- writing


def check_updates(kind: DType, names: list[str], device: WgpuDevice) -> None:
    values, new = some((4, 5, 3), kind), some((4, 11, 3), kind, 5)
    column, grid = index_into(5, (11,)), index_into(5, (3, 11, 2))
    pairs = np.stack([index_into(4, (3, 4), 7), index_into(5, (3, 4), 8)], -1)
    rows = np.resize(new, (3, 4, 3))
    for update in Update:
        cases: dict[str, tuple[Any, ...]] = {
            "select_assign": ((values, kind), 1, (column, dt.I32), (new, kind), update),
            "scatter": (1, (values, kind), (grid, dt.I64), (new[:3, :, :2], kind), update),
            "scatter_nd": ((values, kind), (pairs, dt.I32), (rows, kind), update),
        }
        for name in names:
            arguments = cases[name]
            given = [up(*a, device) if isinstance(a, tuple) else a for a in arguments]
            found = getattr(B, f"{prefix(kind)}_{name}")(*given)
            assert found.dtype is kind
            assert equal(down(found), expected(name, kind, *arguments)), (name, update)


@pytest.mark.filterwarnings("ignore::burn_wgpu.PrecisionWarning")
@pytest.mark.parametrize("kind", STORED, ids=str)
def test_updates_with_few_candidates(kind: DType, device: WgpuDevice) -> None:
    every = kind in (dt.F32, dt.I64, dt.BOOL_U8)
    check_updates(kind, ["select_assign", "scatter", "scatter_nd"] if every else ["select_assign"], device)


@pytest.mark.filterwarnings("ignore::burn_wgpu.PrecisionWarning")
@pytest.mark.parametrize("kind", [dt.F32, dt.BF16, dt.F64, dt.I8, dt.U64, dt.BOOL_U8], ids=str)
def test_updates_by_sorting(kind: DType, sorted_way: WgpuDevice) -> None:
    every = kind in (dt.F32, dt.U64)
    check_updates(kind, ["select_assign", "scatter", "scatter_nd"] if every else ["scatter"], sorted_way)


@pytest.mark.parametrize("sorts", [False, True], ids=["few", "sorted"])
def test_writes_any_layout(sorts: bool, device: WgpuDevice, request: pytest.FixtureRequest) -> None:
    if sorts:
        device = request.getfixturevalue("sorted_way")
    kind = dt.F32
    values, at, new = some((6, 4), kind), index_into(6, (9, 4)), some((9, 4), kind, 2)
    answer = expected("scatter", kind, 0, (values, kind), (at, dt.I32), (new, kind), Update.ADD)
    column = at[:, 0]
    rows = expected("select_assign", kind, (values, kind), 0, (column, dt.I32), (new, kind), Update.ADD)
    given = list(layouts(new, kind, device))
    indices = list(layouts(at, dt.I32, device))
    for i, (way, tensor) in enumerate(layouts(values, kind, device)):
        for j in (i, (i + 1) % 5):
            found = B.float_scatter(0, tensor, indices[j][1], given[i][1], Update.ADD)
            assert equal(down(found), answer), (way, indices[j][0])
        found = B.float_select_assign(tensor, 0, up(column, dt.I32, device), given[i][1], Update.ADD)
        assert equal(down(found), rows), way
        assert equal(down(tensor), values.astype(np.float32)), way  # out of place


@pytest.mark.parametrize("sorts", [False, True], ids=["few", "sorted"])
def test_nan_wins_minimum_and_maximum(sorts: bool, device: WgpuDevice, request: pytest.FixtureRequest) -> None:
    if sorts:
        device = request.getfixturevalue("sorted_way")
    values = np.array([1, np.nan, 2, np.inf, -np.inf, 0], np.float32)
    at = np.array([0, 0, 1, 2, 2, 3, 4, 5, 5, 5, 5, 5, 5])
    new = np.array([5, np.nan, 3, -np.inf, 4, -np.inf, np.inf, 1, 2, 3, np.nan, 4, 5], np.float32)
    for update in (Update.MIN, Update.MAX):
        arguments = ((values, dt.F32), 0, (at, dt.I32), (new, dt.F32), update)
        given = [up(*a, device) if isinstance(a, tuple) else a for a in arguments]
        assert equal(down(B.float_select_assign(*given)), expected("select_assign", dt.F32, *arguments))


def test_sums_at_repeated_indices_have_the_same_bits_every_time(device: WgpuDevice) -> None:
    rng = np.random.default_rng(4)
    # Half of the entries hit one row, so that whole blocks are summed on their own.
    at = np.where(rng.random(6000) < 0.5, 17, rng.integers(0, 3000, 6000))
    grad = rng.standard_normal((6000, 12)).astype(np.float32)
    weights = up(np.zeros((3000, 12)), dt.F32, device)
    given, indices = up(grad.reshape(60, 100, 12), dt.F32, device), up(at.reshape(60, 100), dt.I64, device)
    first = B.embedding_backward(weights, given, indices)
    total = np.zeros((3000, 12))
    np.add.at(total, at, grad.astype(np.float64))
    assert np.abs(down(first) - total).max() < 1e-4
    assert all(bits(B.embedding_backward(weights, given, indices)) == bits(first) for _ in range(3))
    wide = B.int_expand(B.int_reshape(indices, (6000, 1)), (6000, 12))
    flat = B.float_reshape(given, (6000, 12))
    scattered = [B.float_scatter(0, weights, wide, flat, Update.ADD) for _ in range(2)]
    assert np.abs(down(scattered[0]) - total).max() < 1e-4
    assert bits(scattered[0]) == bits(scattered[1])


def test_halves_are_summed_in_f32(device: WgpuDevice) -> None:
    weights = up(np.zeros((2, 1)), dt.F16, device)
    grad, at = up(np.ones((5000, 1, 1)), dt.F16, device), up(np.zeros((5000, 1)), dt.I32, device)
    assert down(B.embedding_backward(weights, grad, at)).tolist() == [[5000.0], [0.0]]


def test_an_assignment_keeps_the_last_value(device: WgpuDevice, sorted_way: WgpuDevice) -> None:
    at = np.array([2, 0, 2, 2, 1, 2, 0, 2, 2])
    for where in (device, sorted_way):
        found = B.int_select_assign(
            up(np.full(4, -1), dt.I32, where), 0, up(at, dt.I32, where), up(np.arange(9), dt.I32, where), Update.ASSIGN
        )
        assert down(found).tolist() == [6, 4, 8, -1]


def test_writes_of_nothing(device: WgpuDevice) -> None:
    values = some((3, 4), dt.F32).astype(np.float32)
    tensor, none = up(values, dt.F32, device), up(np.zeros(0), dt.I32, device)
    for update in Update:
        found = B.float_select_assign(tensor, 1, none, up(np.zeros((3, 0)), dt.F32, device), update)
        assert equal(down(found), values)
    empty = B.float_select_assign(
        up(np.zeros((5, 0)), dt.F32, device), 0, up([1, 2], dt.I32, device), up(np.zeros((2, 0)), dt.F32, device),
        Update.ADD,
    )  # fmt: skip
    assert down(empty).shape == (5, 0)


def test_scatter_nd_without_coordinates_updates_the_whole_tensor(device: WgpuDevice) -> None:
    values, new = some((3, 4), dt.F32), some((2, 3, 4), dt.F32, 3)
    arguments = ((values, dt.F32), (np.zeros((2, 0), int), dt.I32), (new, dt.F32), Update.ADD)
    given = [up(*a, device) if isinstance(a, tuple) else a for a in arguments]
    assert equal(down(B.float_scatter_nd(*given)), expected("scatter_nd", dt.F32, *arguments))


# -------------------------------------------------------------------------------------------------------- faults

X = np.arange(12, dtype=np.float32).reshape(4, 3)


def _calls() -> dict[str, Any]:
    def add(name: str) -> Any:
        def call(x: WgpuTensor, at: WgpuTensor) -> WgpuTensor:
            new = up(np.ones((2, 3)), dt.F32, x.device)
            if name == "scatter":
                return B.float_scatter(0, x, B.int_expand(B.int_reshape(at, (2, 1)), (2, 3)), new, Update.ADD)
            if name == "scatter_nd":
                return B.float_scatter_nd(x, B.int_reshape(at, (2, 1)), new, Update.ADD)
            if name == "embedding_backward":
                return B.embedding_backward(x, B.float_reshape(new, (1, 2, 3)), B.int_reshape(at, (1, 2)))
            return B.float_select_assign(x, 0, at, new, Update.ADD)

        return call

    return {
        "select": lambda x, at: B.float_select(x, 0, at),
        "gather": lambda x, at: B.float_gather(0, x, B.int_expand(B.int_reshape(at, (2, 1)), (2, 3))),
        "gather_nd": lambda x, at: B.float_gather_nd(x, B.int_reshape(at, (2, 1))),
        "embedding": lambda x, at: B.embedding(x, B.int_reshape(at, (1, 2))),
        **{name: add(name) for name in ("select_assign", "scatter", "scatter_nd", "embedding_backward")},
    }


@pytest.mark.parametrize("name", sorted(_calls()))
@pytest.mark.parametrize("wrong", [4, -1])
def test_an_index_outside_is_raised_at_the_next_read_and_at_each_of_its_results(
    name: str, wrong: int, device: WgpuDevice
) -> None:
    x, before = up(X, dt.F32, device), up(X + 1, dt.F32, device)
    found = _calls()[name](x, up([2, wrong], dt.I32, device))
    after = B.float_add(before, before)
    message = f"{name}: index {wrong} is out of range for an axis of size 4; indices lie in [0, 4)"
    with pytest.raises(IndexOutOfRange) as raised:
        down(before)
    assert str(raised.value) == message
    # The device goes on, and other tensors hold what they should; what the wrong index gave is never given out.
    assert equal(down(before), X + 1)
    assert equal(down(after), 2 * (X + 1))
    for _ in range(2):
        with pytest.raises(IndexOutOfRange) as again:
            down(found)
        assert str(again.value) == message
    right = _calls()[name](x, up([2, 0], dt.I32, device))
    assert np.isfinite(down(right)).all()


def test_sorted_writes_report_too(sorted_way: WgpuDevice) -> None:
    found = _calls()["select_assign"](up(X, dt.F32, sorted_way), up([7, 1], dt.I32, sorted_way))
    with pytest.raises(IndexOutOfRange, match=r"^select_assign: index 7 is out of range for an axis of size 4;"):
        B.sync(sorted_way)
    with pytest.raises(IndexOutOfRange, match=r"^select_assign: index 7 "):
        down(found)


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (dt.I64, 2**40), (dt.I64, 2**32), (dt.I64, -(2**40)), (dt.I64, -2), (dt.U64, 2**63), (dt.U32, 2**31 + 5),
        (dt.I8, -1), (dt.U8, 255), (dt.I16, -300), (dt.U16, 65535),
    ],
    ids=str,
)  # fmt: skip
def test_wide_and_narrow_indices_outside(kind: DType, wrong: int, device: WgpuDevice) -> None:
    B.float_select(up(X, dt.F32, device), 0, up(np.array([0, wrong], kind.numpy), kind, device))
    with pytest.raises(IndexOutOfRange, match=rf"^select: index {wrong} is out of range for an axis of size 4;"):
        B.sync(device)


def test_an_axis_of_size_zero_takes_no_index(device: WgpuDevice) -> None:
    with pytest.raises(IndexOutOfRange) as raised:
        B.float_select_assign(
            up(np.zeros((0, 3)), dt.F32, device), 0, up([0], dt.I32, device), up(np.ones((1, 3)), dt.F32, device),
            Update.ADD,
        )  # fmt: skip
    assert str(raised.value) == (
        "select_assign: 1 indices point into an axis of size 0 of shape [0, 3]; such an axis takes no index"
    )
    B.float_select(up(np.zeros((0, 3)), dt.F32, device), 0, up([0], dt.I32, device))
    with pytest.raises(IndexOutOfRange, match=r"^select: index 0 is out of range for an axis of size 0"):
        B.sync(device)


# --------------------------------------------------------------------------------------------- masks and ranges


@pytest.mark.parametrize("kind", [dt.BOOL_U8, dt.BOOL_U32], ids=str)
@pytest.mark.parametrize("shape", [(1,), (7,), (3, 5, 11), (0, 4), (TILE + 1,), (3, TILE)])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_argwhere_and_mask_select(kind: DType, shape: tuple[int, ...], share: float, device: WgpuDevice) -> None:
    rng = np.random.default_rng(6)
    mask, values = rng.random(shape) < share, rng.standard_normal(shape).astype(np.float32)
    held = up(mask, kind, device)
    assert equal(down(B.bool_argwhere(held, dt.I32)), np.argwhere(mask).astype(np.int32))
    assert equal(down(B.float_mask_select(up(values, dt.F32, device), held)), values[mask])


@pytest.mark.parametrize("out", dt.INTS, ids=INT_NAMES)
def test_argwhere_of_views_in_every_dtype(out: DType, device: WgpuDevice) -> None:
    mask = np.random.default_rng(6).random((9, 13)) < 0.4
    for way, tensor in layouts(mask, dt.BOOL_U8, device):
        assert equal(down(B.bool_argwhere(tensor, out)), np.argwhere(mask).astype(out.numpy)), way


@pytest.mark.parametrize("kind", dt.INTS, ids=INT_NAMES)
def test_arange_wraps_to_its_dtype(kind: DType, device: WgpuDevice) -> None:
    for start, end, step in ((0, 10, 1), (5, -30, -3), (-7, 100, 13), (3, 3, 1), (2**40, 2**40 + 100, 7), (0, 5000, 3)):
        answer = np.arange(start, end, step, dtype=np.int64).astype(kind.numpy)
        assert equal(down(B.int_arange_step(start, end, step, device, kind)), answer)


def test_arange_of_step_zero(device: WgpuDevice) -> None:
    with pytest.raises(ArgumentError) as raised:
        B.int_arange_step(1, 5, 0, device, dt.I32)
    assert str(raised.value) == "arange_step: the step from 1 to 5 is 0; it must not be 0"


@pytest.mark.long
def test_a_write_of_more_groups_than_an_axis_holds(device: WgpuDevice) -> None:
    """An invocation owns four elements and a workgroup 1024, so 67 million bytes need more than 65,535 workgroups."""
    rows = 65_536 + 5
    values = np.zeros((rows, 1024), np.uint8)
    at, new = np.array([rows - 1, 3]), np.arange(2048).reshape(2, 1024).astype(np.uint8)
    arguments = [up(values, dt.U8, device), 0, up(at, dt.I32, device), up(new, dt.U8, device), Update.ASSIGN]
    found = down(B.int_select_assign(*arguments))
    values[at] = new
    assert equal(found, values)
