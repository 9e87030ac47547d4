"""Plans of deformable convolution's gradients, without a device."""

from __future__ import annotations

import pytest

from burn_wgpu.contract.options import DeformConvOptions
from burn_wgpu.kernel.deform import MOST_BLOCKS, THREADS, Deformed, columns_plan, gather_plan, gradients_plan
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import check
from burn_wgpu.std import dtype as dt

DEVICE = Capability()
PADDED = DeformConvOptions((1, 1), (1, 1))


@pytest.mark.parametrize("channels", [1, 2, 3, 5, 8, 31, 64, 512])
@pytest.mark.parametrize("masked", [False, True])
def test_any_number_of_channels_fits_the_least_adapter(channels: int, masked: bool) -> None:
    what = Deformed.of((2, channels, 33, 21), (3, 3), PADDED, dt.F32, masked)
    for plan in (columns_plan(what, DEVICE), gradients_plan(what, DEVICE), gather_plan(what, DEVICE)):
        check(plan, DEVICE)
        assert len(plan.launches) == 1


def test_halves_are_made_directly_where_words_belong_to_one_row() -> None:
    for space, width, points in (((6, 8), dt.F16, dt.F16), ((5, 7), dt.F32, dt.F32), ((6, 7), dt.F32, dt.F16)):
        what = Deformed.of((2, 4, *space), (3, 3), PADDED, dt.F16, True)
        assert gather_plan(what, DEVICE).outputs[0].dtype is width
        assert [out.dtype for out in gradients_plan(what, DEVICE).outputs[2:]] == [points] * 2


def test_few_taps_share_their_channels_out() -> None:
    lanes = {
        shape: Deformed.of(shape, (3, 3), PADDED, dt.F32, True).lanes
        for shape in ((1, 4, 8, 8), (1, 16, 8, 8), (1, 512, 8, 8), (8, 512, 64, 64))
    }
    assert list(lanes.values()) == [1, 4, 8, 1]


def test_an_invocation_looks_at_a_bounded_number_of_taps() -> None:
    what = Deformed.of((1, 4, 300, 300), (3, 3), PADDED, dt.F32, True)
    plan = gather_plan(what, DEVICE)
    assert what.blocks > 4 * MOST_BLOCKS and len(plan.launches) == -(-what.blocks // MOST_BLOCKS)
    # In the worst case all taps reach one tile: an iteration takes four, and each block is met and tested once.
    assert MOST_BLOCKS * (THREADS // 4 + 1) + MOST_BLOCKS // THREADS * 13 < 60_000
