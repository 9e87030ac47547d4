"""What each backend can do: which contract function it has, and how it computes each dtype.

Which functions there are is found by the contract's declarations and not by calling; which dtypes they take, by the
records, whose tests call every one of them.
"""

from __future__ import annotations

from collections.abc import Mapping

from burn_wgpu.backends.wgpu.elementwise import kind_of
from burn_wgpu.contract.backend import Backend
from burn_wgpu.contract.declare import elementwise_functions
from burn_wgpu.shader.prelude import RAW64
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.dtype import DType

NATIVE, THROUGH_F32, EMULATED, DEFAULT, NO = "native", "through f32", "emulated", "default", "no"
MEANING = {
    NATIVE: "the backend's own, computed in the dtype (or only moved)",
    THROUGH_F32: "the backend's own, computed in f32 and rounded once",
    EMULATED: "the backend's own, computed in 32 bits and wrapped",
    DEFAULT: "composed of other functions by the contract",
    NO: "not there",
}
SHOWN: tuple[DType, ...] = (dt.F64, dt.F32, dt.F16, dt.BF16, *dt.INTS, dt.BOOL_U8, dt.BOOL_U32)


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


def matrix(label: str, backend: type, features: frozenset[str] | None = None) -> dict[str, dict[str, str]]:
    """function → dtype → one of MEANING, for every function with a record; dtypes of another kind are left out.

    features  of the adapter, for "wgpu"; None: as if it had all of them
    """
    from burn_wgpu.testing.records import CALLS, RECORDS

    table = {}
    for name in sorted((*CALLS, *RECORDS)):
        record = CALLS.get(name) or RECORDS[name]
        moves = name in CALLS and CALLS[name].moves
        kinds = {_family(d) for d in record.dtypes}
        found, doubles = state(backend, name), "float" in kinds and exact_f64(name)
        table[name] = {
            d.name: _word(found, d, d in record.dtypes, moves or (doubles and d is dt.F64), label, features)
            for d in SHOWN
            if _family(d) in kinds
        }
    return table


def exact_f64(name: str) -> bool:
    """Whether the wgpu backend is exact on f64 in a function with a record; the others it computes through f32."""
    from burn_wgpu.testing.records import CALLS

    if name in CALLS:
        return CALLS[name].moves or CALLS[name].bits
    return kind_of(elementwise_functions(Backend)[name], dt.F64) is RAW64


def _family(dtype: DType) -> str:
    return "int" if dtype.is_int else dtype.kind


def _word(found: str, dtype: DType, taken: bool, moves: bool, label: str, features: frozenset[str] | None) -> str:
    lacks = features is not None and dtype in (dt.I64, dt.U64) and "shader-int64" not in features
    if found == "missing" or not taken or (lacks and not moves):
        return NO
    if found == "default":
        return DEFAULT
    if moves:
        return NATIVE
    if dtype in (dt.F16, dt.BF16) or (dtype is dt.F64 and label == "wgpu"):
        return THROUGH_F32
    if label == "wgpu" and dtype.is_int and dtype.size_bytes < 4:
        return EMULATED
    return NATIVE
