"""Plans of random numbers, without a device."""

from __future__ import annotations

import pytest

from burn_wgpu.kernel.random import FLOAT_WAYS, INT_WAYS, SCALARS, Way, random_plan
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.compose import compose
from burn_wgpu.shader.launch import check
from burn_wgpu.std import dtype as dt

DEFAULT = Capability()  # WebGPU's own limits


@pytest.mark.parametrize(
    ("way", "kind"),
    [(w, k) for w in INT_WAYS for k in dt.INTS] + [(w, k) for w in FLOAT_WAYS for k in dt.FLOATS],
    ids=str,
)
def test_every_way_and_dtype_composes_within_the_default_limits(way: Way, kind: dt.DType) -> None:
    plan = random_plan(way, (3, 5), kind, DEFAULT)
    check(plan, DEFAULT)
    (launch,) = plan.launches
    assert not launch.key.features
    assert launch.scalars == 4 + len(SCALARS[way]) and len(launch.params) + 4 * launch.scalars <= 256
    assert "fn philox" in compose(launch.key)


def test_seeds_and_bounds_are_open_so_that_a_plan_serves_all() -> None:
    assert random_plan("normal", (100,), dt.F32, DEFAULT).launches[0].key == (
        random_plan("normal", (7, 9), dt.F32, DEFAULT).launches[0].key
    )


def test_the_grid_covers_every_chunk_of_four() -> None:
    (launch,) = random_plan("uniform", (4 * 256 + 1,), dt.F32, DEFAULT).launches
    assert launch.grid == (2, 1, 1)
    (launch,) = random_plan("uniform", (1 << 20,), dt.F32, DEFAULT).launches
    assert launch.grid == (256, 1, 1)


def test_nothing_drawn_has_no_launch() -> None:
    assert random_plan("uniform", (0, 3), dt.F32, DEFAULT).launches == ()
