"""Which contract function a backend class has, found by its declarations and not by calling."""

from __future__ import annotations

from collections.abc import Mapping

from burn_wgpu.contract.backend import Backend


def contract_functions() -> list[str]:
    """Every function of the contract, by name."""
    names: dict[str, None] = {}
    for base in Backend.__mro__:
        if base.__module__.startswith("burn_wgpu.contract"):
            names.update((n, None) for n, v in vars(base).items() if callable(v) and not n.startswith("_"))
    return sorted(names)


def state(backend: type, name: str) -> str:
    """ "native" (the backend's own), "default" (composed by the contract) or "missing"."""
    method = getattr(backend, name)
    if hasattr(method, "required") or hasattr(method, "elementwise"):
        return "missing"
    return "default" if method is getattr(Backend, name) else "native"


def support(backends: Mapping[str, type]) -> dict[str, dict[str, str]]:
    """function → backend → state."""
    return {name: {label: state(cls, name) for label, cls in backends.items()} for name in contract_functions()}
