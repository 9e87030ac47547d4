"""How many kernels the tensor API launches: pinned, so that one more is noticed, and one fewer too.

Every call launches one kernel, but those of NOTHING, which only make views or move data over the bus, and those of
MORE, each with the number that its algorithm needs and the reason for what it takes. What the contract's functions
launch is pinned in tests/conformance/test_launches.py.
"""

from __future__ import annotations

import pytest

from burn_wgpu.testing.tensor_launches import CALLS, measure

pytestmark = pytest.mark.gpu

NOTHING = {
    "detach", "transpose", "flatten", "flip", "chunk", "t[1]", "t[:, 1:3]", "eye", "tril_mask", "linalg.diag",
    "signal.hann_window", "grid.meshgrid",
}  # fmt: skip

_SELECTED = "argwhere's three, and one that reads"
_TWO_AXES = "one axis after the other; the first leaves little"
_CAT = "one launch an operand: each has its own layout"
_TURNED = "a cat of two slices for each axis"
_WRAPPED = "indices that count from the end are turned round before they are used"
_SPECTRUM = "products with the tables of each factor, their turns and sums"
# call: (launches now, least that its algorithm needs, why it takes more, or why it needs more than one)
MORE: dict[str, tuple[int, int, str]] = {
    "contains_nan": (2, 1, "which are NaN, then whether any"),
    "all_close": (2, 1, "which are close, then whether all"),
    "argwhere": (4, 3, "which are not 0, then counts of blocks, their running sum, and the places"),
    "nonzero": (4, 3, "as argwhere; its columns are views"),
    "mask_select": (4, 3, _SELECTED),
    "t[mask]": (4, 3, _SELECTED),
    "t[mask of rows]": (4, 3, _SELECTED),
    "var_mean dim": (2, 1, "the fold of the variance has no mean where infinities meet"),
    "var_mean_bias dim": (2, 1, "the fold of the variance has no mean where infinities meet"),
    "cov dim": (5, 3, "nearer to zero, mean, difference, product, quotient"),
    **{f"{name} two axes": (2, 1, _TWO_AXES) for name in ("prod", "max_abs", "any", "all")},
    "any apart axes": (2, 1, _TWO_AXES),
    "powi -2": (2, 1, "the square, then one over it"),
    "divmod": (2, 2, "two results"),
    "where number": (2, 1, "mask_fill of the inverted mask"),
    "one_hot": (2, 1, "the row of classes, then the comparison"),
    "one_hot_fill": (2, 1, "the row of classes, then the comparison"),
    "cat": (2, 1, _CAT),
    "stack": (2, 1, _CAT),
    "roll": (4, 1, _TURNED),
    "roll_dim": (2, 1, _TURNED),
    "slice_assign": (2, 1, "the tensor is copied, then the region is written: two layouts"),
    "slice_fill": (3, 1, "as slice_assign, of a number made first"),
    "categorical": (7, 3, "running sums, numbers, their scale, and the count of sums below in four"),
    "t[ints of the device]": (2, 1, _WRAPPED),
    "t[:, ints of the device]": (2, 1, _WRAPPED),
    "t[ints, ints]": (5, 1, "both are turned round, stacked by two, and read"),
    "arange float": (2, 1, "ints, then floats"),
    "activation.quiet_softmax": (9, 1, "rare: composed"),
    "linalg.min_abs_norm": (2, 1, "rare: composed"),
    "linalg.vector_normalize": (3, 2, "the norm, its limit, the quotient"),
    "linalg.lp_norm 3": (4, 1, "the exponent would be part of a shader: powers and roots are taken apart"),
    "linalg.det 3": (14, 1, "rare: composed of products of single elements"),
    "functional.cross_entropy_with_logits": (3, 2, "log_softmax, the inner product, and its scale"),
    "signal.rfft": (2, 2, "the real and the imaginary part"),
    "signal.irfft": (28, 5, _SPECTRUM),
    "signal.cfft": (16, 5, _SPECTRUM),
    "signal.stft": (7, 4, "the window, its frames, the transform, and the pairs together"),
    "grid.affine_grid_2d": (4, 1, "the points with a column of ones, then the product"),
}


def test_every_call_launches_what_it_is_known_to_launch() -> None:
    found = {name: len(launches) for name, launches in measure().items()}
    known = {name: MORE[name][0] if name in MORE else 0 if name in NOTHING else 1 for name in found}
    assert {n: f"{found[n]}, known {known[n]}" for n in found if found[n] > known[n]} == {}, "more kernels than before"
    better = {n: f"{found[n]}, known {known[n]}" for n in found if found[n] < known[n]}
    assert better == {}, "fewer kernels than before: pin the new number"


def test_the_lists_name_calls_and_give_reasons() -> None:
    assert sorted((NOTHING | MORE.keys()) - CALLS.keys()) == []
    for name, (launches, least, reason) in MORE.items():
        assert launches >= least >= 1 and launches > 1 and reason, name
