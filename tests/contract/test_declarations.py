"""The contract as a document: it is complete, described, and its declarations agree with its signatures."""

from __future__ import annotations

import inspect

import pytest

from burn_wgpu.contract.backend import AutodiffBackend, Backend
from burn_wgpu.contract.bool_ops import BoolOps
from burn_wgpu.contract.declare import elementwise, elementwise_functions, install_elementwise
from burn_wgpu.contract.float_ops import FloatOps
from burn_wgpu.contract.int_ops import IntOps
from burn_wgpu.std.errors import BurnError, NotImplementedByBackend

GROUPS = [FloatOps, IntOps, BoolOps]
# What Burn composes of several functions, and one kernel does.
OURS = {
    FloatOps: {
        "float_floor_divide", "float_floor_divide_scalar", "float_rsub_scalar", "float_rdiv_scalar",
        "float_rpowf_scalar", "float_scale", "float_max_pair", "float_min_pair", "float_round_to", "float_is_finite",
        "float_is_close", "float_expm1", "float_var", "float_std", "float_norm", "float_inner", "float_cosine",
        "float_mean_dims", "float_max_dims", "float_min_dims", "float_one_hot",
    },
    IntOps: {
        "int_floor_divide", "int_floor_divide_scalar", "int_rsub_scalar", "int_max_pair", "int_min_pair",
        "int_wrapped_index", "int_one_hot",
    },
    BoolOps: set(),
}  # fmt: skip


def public(group: type) -> dict[str, object]:
    return {name: value for name, value in vars(group).items() if callable(value) and not name.startswith("_")}


@pytest.mark.parametrize(("group", "count"), [(FloatOps, 130), (IntOps, 107), (BoolOps, 41)])
def test_groups_have_burns_functions(group, count):
    assert len(public(group).keys() - OURS[group]) == count


def test_functions_beside_burns_exist():
    for group, ours in OURS.items():
        assert ours <= public(group).keys()


@pytest.mark.parametrize("group", [*GROUPS, Backend, AutodiffBackend], ids=lambda g: g.__name__)
def test_every_function_is_annotated_and_described(group):
    for name, function in public(group).items():
        if group is AutodiffBackend and name == "ad_enabled":
            continue  # described in Backend
        assert function.__doc__, name
        signature = inspect.signature(function)
        assert signature.return_annotation is not inspect.Signature.empty, name
        for parameter in list(signature.parameters.values())[1:]:
            assert parameter.annotation is not inspect.Parameter.empty, (name, parameter.name)


@pytest.mark.parametrize("group", GROUPS, ids=lambda g: g.__name__)
def test_elementwise_declarations_agree_with_their_signatures(group):
    for name, declared in elementwise_functions(group).items():
        parameters = list(inspect.signature(getattr(group, name)).parameters.values())[1:]
        kinds = [str(parameter.annotation) for parameter in parameters]
        tensors = [kind for kind in kinds if kind.endswith("Prim")]
        dtypes = [parameter.name for parameter in parameters if parameter.annotation == "DType"]
        assert len(tensors) == declared.tensors, name
        assert kinds[: declared.tensors] == tensors, name  # tensors come first
        assert dtypes == (["out_dtype"] if declared.result == "bool" else []), name
        assert len(parameters) == declared.tensors + declared.scalars + len(dtypes), name
        if declared.mask is not None:
            assert parameters[declared.mask].name == "mask", name


@pytest.mark.parametrize("group", GROUPS, ids=lambda g: g.__name__)
def test_shared_shader_functions_belong_to_a_contract_function_of_the_kind(group):
    functions = elementwise_functions(group)
    for name, declared in functions.items():
        assert declared.wgsl in functions, name
        assert (
            functions[declared.wgsl].tensors + functions[declared.wgsl].scalars == declared.tensors + declared.scalars
        )


def test_a_missing_function_says_which_and_whose():
    class Half(Backend):
        def name(self, device=None):
            return "half"

    for call in (lambda b: b.float_matmul(1, 2), lambda b: b.float_add(1, 2), lambda b: b.seed(None, 1)):
        with pytest.raises(NotImplementedByBackend) as caught:
            call(Half())
        assert isinstance(caught.value, BurnError)
    assert str(caught.value) == "seed: the backend 'half' does not implement it"


def test_a_backend_keeps_the_elementwise_functions_that_it_writes_itself():
    class Group:
        @elementwise(lambda x: x)
        def float_one(self, tensor):
            """The tensor."""

        @elementwise(lambda x: x)
        def float_two(self, tensor):
            """The tensor, too."""

    class Own(Group):
        def float_two(self, tensor):
            return "own"

    install_elementwise(Own, lambda declared: lambda self, tensor: declared.name)
    assert Own().float_one(0) == "float_one"
    assert Own.float_one.__doc__ == "The tensor."
    assert Own().float_two(0) == "own"


def test_defaults_of_the_device_functions():
    from burn_wgpu.contract.types import ProfileOptions, ProfileToken
    from burn_wgpu.std.errors import UnsupportedError

    class Bare(Backend):
        def name(self, device=None):
            return "bare"

    b = Bare()
    output, duration = b.profile(None, ProfileOptions(), lambda: 7)
    assert output == 7
    assert duration.resolve() >= 0
    assert b.memory_persistent_allocations(None, 3, lambda x: x + 1) == 4
    assert b.memory_pool_report(None) is b.memory_pool_usage(None) is b.memory_capacity(None) is None
    assert b.profile_start(None) is None
    b.profile_abandon(None, ProfileToken(1))  # never fails
    for call in (
        lambda: b.profile_end(None, ProfileToken(1), ProfileOptions()),
        lambda: b.graph_start_capture(None),
        lambda: b.graph_stop_capture(None),
        lambda: b.graph_replay(None, None),
    ):
        with pytest.raises(UnsupportedError):
            call()
    assert not b.ad_enabled(None)
