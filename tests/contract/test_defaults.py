"""That the tests which run "native" and "defaults" really run two different bodies."""

from burn_wgpu.contract.float_ops import FloatOps
from tests.backends.reference.tools import DEFAULTS, B


def test_the_defaults_backend_runs_the_contracts_bodies():
    for name in ("float_select", "float_cat", "float_prod_dim", "float_mean_dim", "float_gather_nd", "float_sum_dims"):
        assert getattr(type(DEFAULTS), name) is getattr(FloatOps, name)
        assert getattr(type(B), name) is not getattr(FloatOps, name)


def test_the_defaults_backend_keeps_what_has_no_default():
    assert type(DEFAULTS).float_gather is type(B).float_gather
    assert type(DEFAULTS).float_add is type(B).float_add
