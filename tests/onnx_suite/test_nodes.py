"""The single-operator cases of the `onnx` package: small models with inputs and outputs, run with the Tensor API.

On the reference all of them; on the adapter a part of them that shows every operator, and the rest as `long`. Ints and
bools must be equal. Floats may differ by 1e-4 relative or 1e-6 absolute, f16 and bf16 by two units in the last place.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="the cases are part of the onnx package; install burn-wgpu[test]")

from onnx import GraphProto, TensorProto, TypeProto, numpy_helper  # noqa: E402

from burn_wgpu import Device, Tensor, finfo  # noqa: E402
from burn_wgpu.std.errors import DTypeError, UnsupportedDType  # noqa: E402
from tests.onnx_suite import (  # noqa: E402, F401  # the operators register themselves
    ops_attention,
    ops_elementwise,
    ops_flow,
    ops_image,
    ops_nn,
    ops_quantized,
    ops_reduce,
    ops_shape,
    ops_signal,
)
from tests.onnx_suite.interpreter import (  # noqa: E402
    ELEMENT_TYPES,
    OPERATORS,
    NotInterpreted,
    operator_name,
    run_model,
)
from tests.onnx_suite.skips import DIFFERENT, NOT_INTERPRETED, ROUNDED  # noqa: E402

PLAIN = {TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64, TensorProto.BOOL}


def _collect() -> list[Any]:
    """All cases. Making them draws from NumPy's global generator, whose state is put back."""
    from onnx.backend.test.case.node import collect_testcases

    state = np.random.get_state()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = collect_testcases(None)
    np.random.set_state(state)
    return found


def _operators(graph: GraphProto) -> Iterator[str]:
    for node in graph.node:
        yield operator_name(node)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _operators(attribute.g)


def _cast_types(graph: GraphProto) -> Iterator[int]:
    """The element types that values have inside of the graph."""
    for node in graph.node:
        if node.op_type == "Cast":
            yield next(a.i for a in node.attribute if a.name == "to")


def _element_types(kind: TypeProto) -> int:
    which = kind.WhichOneof("value")
    if which == "tensor_type":
        return kind.tensor_type.elem_type
    return _element_types(getattr(kind, which).elem_type)


CASES = _collect()
USED = {case.name: set(_operators(case.model.graph)) for case in CASES}
TYPES = {
    case.name: {_element_types(v.type) for v in (*case.model.graph.input, *case.model.graph.output)} for case in CASES
}
CASTS = {case.name: set(_cast_types(case.model.graph)) for case in CASES}

OUTCOMES: dict[str, dict[str, str]] = {"cpu": {}, "wgpu": {}}
"""Device → case → "passed", "failed" or why it was skipped."""


def _short() -> set[str]:
    """A part of the cases that shows every operator and is spread over all of them."""
    known = ELEMENT_TYPES.keys() - {TensorProto.DOUBLE}
    candidates = [c for c in CASES if USED[c.name] <= OPERATORS.keys() and TYPES[c.name] | CASTS[c.name] <= known]
    chosen = {case.name for case in candidates[::12]}
    seen = {name for case in chosen for name in USED[case]}
    for case in candidates:
        if not USED[case.name] <= seen:
            chosen.add(case.name)
            seen |= USED[case.name]
    return chosen


SHORT = _short()


# -------------------------------------------------------------------------------------------------- comparison


def compare(found: Any, expected: Any, kind: TypeProto, rounded: tuple[float, float] | None) -> None:
    """Raises AssertionError where a value differs from the expected one in type, shape or content."""
    which = kind.WhichOneof("value")
    if which == "optional_type":
        if expected is None or found is None:
            assert expected is None and found is None
            return
        compare(found, expected, kind.optional_type.elem_type, rounded)
    elif which == "sequence_type":
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            compare(one, other, kind.sequence_type.elem_type, rounded)
    else:
        _compare_tensors(found, expected, kind.tensor_type.elem_type, rounded)


def _compare_tensors(found: Tensor, expected: Any, element_type: int, rounded: tuple[float, float] | None) -> None:
    if element_type not in ELEMENT_TYPES:
        raise NotInterpreted(f"element type {TensorProto.DataType.Name(element_type)}")
    if isinstance(expected, TensorProto):
        expected = numpy_helper.to_array(expected)
    expected = np.asarray(expected)
    name = ELEMENT_TYPES[element_type]
    assert ("bool" if found.dtype.is_bool else found.dtype.name) == name
    if name == "bf16":
        bits = expected if expected.dtype == np.uint16 else expected.view(np.uint16)
        expected = (bits.astype(np.uint32) << 16).view(np.float32)
    values = found.numpy()
    assert values.shape == expected.shape
    if not found.dtype.is_float:
        np.testing.assert_array_equal(values, expected)
        return
    rtol, atol = rounded or (max(1e-4, 2 * finfo(found.dtype).eps), 1e-6)
    np.testing.assert_allclose(values.astype(np.float64), expected.astype(np.float64), rtol=rtol, atol=atol)


def check(case: Any, device: Device) -> None:
    """Runs a case, compares, and notes the outcome."""
    outcomes = OUTCOMES[device.type]
    outcomes[case.name] = "failed"
    graph = case.model.graph
    rounded = (case.rtol, case.atol) if case.name in ROUNDED else None
    try:
        for inputs, outputs in case.data_sets:
            found = run_model(case.model, inputs, device)
            try:
                for one, other, info in zip(found, outputs, graph.output, strict=True):
                    compare(one, other, info.type, rounded)
            except AssertionError:
                if case.name in DIFFERENT:
                    outcomes[case.name] = DIFFERENT[case.name]
                    pytest.skip(DIFFERENT[case.name])
                raise
    except NotInterpreted as missing:
        what = str(missing)
        reason = NOT_INTERPRETED.get(what)
        if reason is None:
            pytest.fail(f"not interpreted: {what}, and skips.py gives no reason", pytrace=False)
        outcomes[case.name] = what
        pytest.skip(f"{what}: {reason}")
    if case.name in DIFFERENT:
        pytest.fail("the case passes, but skips.py says that it differs", pytrace=False)
    outcomes[case.name] = "passed"


# ------------------------------------------------------------------------------------------------------- tests


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_cpu(case: Any) -> None:
    check(case, Device("cpu"))


def _marked(case: Any) -> Any:
    marks = [pytest.mark.gpu] if case.name in SHORT else [pytest.mark.gpu, pytest.mark.long]
    return pytest.param(case, id=case.name, marks=marks)


@pytest.mark.parametrize("case", [_marked(case) for case in CASES])
def test_wgpu(case: Any) -> None:
    device = Device("wgpu")
    names = {ELEMENT_TYPES[kind] for kind in (TYPES[case.name] | CASTS[case.name]) & ELEMENT_TYPES.keys()}
    lacking = [name for name in sorted(names - {"bool"}) if not device.supports_dtype(name)]
    try:
        check(case, device)
    except (DTypeError, UnsupportedDType) as error:
        if not lacking:
            raise
        OUTCOMES["wgpu"][case.name] = f"{device.name} does not compute with {', '.join(lacking)}"
        pytest.skip(f"{OUTCOMES['wgpu'][case.name]}: {error}")


def test_counts_on_cpu() -> None:
    """Enough passes, and no reason and no operator's function is left over."""
    outcomes = OUTCOMES["cpu"]
    if len(outcomes) < len(CASES):
        pytest.skip(f"{len(outcomes)} of {len(CASES)} cases ran; the counts are of a whole run")
    passed = {name for name, outcome in outcomes.items() if outcome == "passed"}
    plain = {name for name in passed if TYPES[name] <= PLAIN}
    assert len(CASES) >= 1800
    assert len(plain) >= 1000
    assert len(passed) >= 1500
    assert not set(NOT_INTERPRETED) - set(outcomes.values()), "reasons that nothing needs"
    assert not (set(DIFFERENT) | set(ROUNDED)) - set(outcomes), "cases that do not exist"
    assert not set(OPERATORS) - set().union(*(USED[name] for name in passed)), "operators that no passed case has"


@pytest.mark.gpu
def test_counts_on_wgpu() -> None:
    """Whatever was chosen, what the reference passes passes, but for dtypes that the adapter lacks."""
    outcomes = OUTCOMES["wgpu"]
    if len(outcomes) < min(len(SHORT), len(CASES) - len(SHORT)):
        pytest.skip(f"{len(outcomes)} of {len(CASES)} cases ran; the counts are of a whole run")
    passed = sum(outcome == "passed" for outcome in outcomes.values())
    assert passed >= 0.75 * len(outcomes)
