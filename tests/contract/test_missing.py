"""What backends do not have yet: a list that may only shrink.

Found by the marks of the contract (`required`, `elementwise`), without calling anything, so that no device is needed.
A function that is written disappears from here, or the test fails; one that vanishes fails it too.
"""

from __future__ import annotations

import importlib

import pytest

from burn_wgpu.contract.backend import Backend

# module, class, the functions it still lacks
BACKENDS: list[tuple[str, str, list[str]]] = [
    ("burn_wgpu.backends.reference", "ReferenceBackend", []),
    ("burn_wgpu.backends.wgpu.backend", "WgpuBackend", []),
]


def missing_functions(backend: type[Backend]) -> list[str]:
    """The contract functions that would raise NotImplementedByBackend, sorted."""
    return sorted(
        name
        for name in dir(backend)
        if hasattr(getattr(backend, name), "required") or hasattr(getattr(backend, name), "elementwise")
    )


@pytest.mark.parametrize(("module", "name", "known"), BACKENDS, ids=[row[1] for row in BACKENDS])
def test_only_the_listed_functions_are_missing(module: str, name: str, known: list[str]) -> None:
    missing = missing_functions(getattr(importlib.import_module(module), name))
    assert sorted(set(missing) - set(known)) == [], "declared in the contract, but not written"
    assert sorted(set(known) - set(missing)) == [], "written: take it off the list"


def test_a_bare_backend_lacks_every_function_that_has_no_body() -> None:
    missing = missing_functions(Backend)
    assert {"float_matmul", "float_add", "int_gather", "bool_not", "name"} <= set(missing)
    assert "float_zeros" not in missing  # it has a default
