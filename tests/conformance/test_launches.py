"""How many kernels each contract function launches: pinned, so that one more is noticed, and one fewer too.

Every function launches one kernel, but those of NOTHING, which only make views or move data over the bus, and those of
MORE, each with the number that its algorithm needs and the reason for what it takes.
"""

from __future__ import annotations

import pytest

from burn_wgpu.backends.wgpu.backend import WgpuBackend
from burn_wgpu.testing.launches import Cost, measure
from burn_wgpu.testing.records import CALLS, RECORDS
from burn_wgpu.testing.support import state

pytestmark = pytest.mark.gpu

KINDS = ("float", "int", "bool")
VIEWS = ("expand", "flip", "permute", "reshape", "slice", "swap_dims", "transpose", "unfold")
TRANSFERS = ("from_data", "into_data", "to_device", "broadcast", "empty")
NOTHING = {f"{kind}_{name}" for kind in KINDS for name in (*VIEWS, *TRANSFERS)} | {
    "float_detach",
    "float_is_require_grad",
    "float_set_require_grad",
    "tr_execute",
}

_CAT = "one launch an operand: each has its own layout"
_ASSIGN = "the tensor is copied, then the region is written: two layouts"
_MEMBERS = "two members on one device, each gets its own; a cat launches once an operand"
_SELECTED = "argwhere's three, and one that reads"
# function: (launches now, least that its algorithm needs, why it takes more, or why it needs more than one)
MORE: dict[str, tuple[int, int, str]] = {
    **{f"{kind}_cat": (2, 1, _CAT) for kind in KINDS},
    **{f"{kind}_slice_assign": (2, 1, _ASSIGN) for kind in KINDS},
    **{f"{kind}_all_gather": (4, 2, _MEMBERS) for kind in KINDS},
    **{f"{kind}_all_to_all": (4, 2, _MEMBERS) for kind in KINDS},
    **{f"{kind}_reduce_scatter": (2, 2, "a sum for each of two members") for kind in ("float", "int")},
    **{f"{kind}_mask_select": (4, 3, _SELECTED) for kind in KINDS},
    "bool_argwhere": (3, 3, "counts of blocks, their running sum, and the places: each needs all of the one before"),
    "batch_norm_train": (2, 2, "the statistics of a channel are over the whole batch"),
    "batch_norm_train_backward": (3, 2, "partial sums of each channel, their totals, and the gradient of x"),
    "linear_weight_backward": (2, 1, "few outputs of long sums: the rows are split, and the parts added"),
    "interpolate_backward": (2, 2, "one axis after the other"),
    "attention_backward": (
        2,
        2,
        "query gradients are sums over keys, the others over queries: each needs its own order",
    ),
    "deform_conv2d": (2, 1, "the moved taps as columns, then a product"),
    "deform_conv2d_backward": (5, 5, "two products, what is made by tap, what is made by element, the bias"),
    "ctc_loss_backward": (2, 2, "the recursion leaves the shares of all places, then the classes add them up"),
}
UPLOADS = {f"{kind}_from_data": 1 for kind in KINDS}
READS = {**{f"{kind}_into_data": 1 for kind in KINDS}}


@pytest.fixture(scope="module")
def costs() -> dict[str, Cost]:
    return measure()


def test_every_function_launches_what_it_is_known_to_launch(costs: dict[str, Cost]) -> None:
    known = {name: MORE[name][0] if name in MORE else 0 if name in NOTHING else 1 for name in costs}
    found = {name: len(cost.launches) for name, cost in costs.items()}
    missing = {name for name in costs if state(WgpuBackend, name) == "missing"}
    worse = {n: f"{found[n]}, known {known[n]}" for n in costs if found[n] > known[n]}
    better = {n: f"{found[n]}, known {known[n]}" for n in costs if found[n] < known[n] and n not in missing}
    assert worse == {}, "more kernels than before"
    assert better == {}, "fewer kernels than before: pin the new number"


def test_only_what_is_listed_goes_over_the_bus(costs: dict[str, Cost]) -> None:
    assert {n: c.uploads for n, c in costs.items() if c.uploads} == UPLOADS
    assert {n: c.reads for n, c in costs.items() if c.reads} == READS


def test_one_kernel_reads_and_writes_each_byte_once(costs: dict[str, Cost]) -> None:
    """Arguments that give only their shape are not bound, so it may be less."""
    more = {n: (c.traffic, c.floor) for n, c in costs.items() if len(c.launches) == 1 and c.traffic > c.floor}
    # The coordinates and weights of both axes.
    assert set(more) <= {"interpolate"}, more


def test_the_lists_name_functions_with_records_and_give_reasons() -> None:
    names = CALLS.keys() | RECORDS.keys()
    assert sorted((NOTHING | MORE.keys()) - names) == []
    for name, (launches, least, reason) in MORE.items():
        assert launches >= least >= 1 and launches > 1 and reason, name
