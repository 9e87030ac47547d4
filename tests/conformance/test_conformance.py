"""Every contract function that is not elementwise, on the wgpu backend beside the reference backend, from its record.

The default run spreads a few calls a function over its dtypes, layouts, sizes and cases, every other one on a device
with WebGPU's default limits; the long run takes them all, on the adapter as it is.
(Elementwise functions are compared with their formulas in tests/backends/wgpu/test_elementwise.py.)
"""

from __future__ import annotations

import zlib
from itertools import islice

import pytest

from burn_wgpu.backends.wgpu.backend import WgpuBackend
from burn_wgpu.backends.wgpu.tensor import WgpuDevice
from burn_wgpu.contract.backend import Backend
from burn_wgpu.std.dtype import DType
from burn_wgpu.testing.records import CALLS, RECORDED_GROUPS, RECORDS, WITHOUT
from burn_wgpu.testing.records.call import Call
from burn_wgpu.testing.support import contract_functions, state
from tests.conformance.harness import LAYOUTS, SIZES, Try, faults

PAIRS = [(name, dtype) for name, call in CALLS.items() for dtype in call.dtypes]


@pytest.fixture(scope="module")
def device() -> WgpuDevice:
    return WgpuDevice(0)


@pytest.fixture(scope="module")
def weakest() -> WgpuDevice:
    return WgpuDevice(0, default_limits=True)


def usable(dtype: DType, device: WgpuDevice) -> bool:
    return not (dtype.is_int and dtype.size_bytes == 8) or device.capability.has("shader-int64")


def spread(call: Call) -> list[Try]:
    """Every dtype and every layout at least once, six calls at least; which sizes and cases meet follows the name."""
    start = zlib.crc32(call.name.encode())
    tries = []
    for i in range(max(len(call.dtypes), len(LAYOUTS) + 1)):
        tries.append(
            Try(
                call.dtypes[i % len(call.dtypes)],
                SIZES[(start + 5 * i) % len(SIZES)],
                LAYOUTS[(start // 7 + i) % len(LAYOUTS)],
                (start // 3 + i) % len(call.cases),
            )
        )
    return tries


def every(call: Call, dtype: DType) -> list[Try]:
    """Every size with every case, the layouts taking turns; then every layout with every case at two sizes."""
    cases = range(len(call.cases))
    tries = [Try(dtype, n, LAYOUTS[(i + c) % len(LAYOUTS)], c) for i, n in enumerate(SIZES) for c in cases]
    tries += [Try(dtype, n, layout, c) for n in (5, 33) for layout in LAYOUTS for c in cases]
    return list(dict.fromkeys(tries))


def examine(call: Call, tries: list[Try], *devices: WgpuDevice) -> None:
    """The tries on the devices in turn, each on one that has its dtype."""
    if state(WgpuBackend, call.name) == "missing":
        pytest.skip(f"{call.name} is listed as missing in tests/contract/test_missing.py")
    found = []
    for i, attempt in enumerate(tries):
        turn = i % len(devices)
        device = next((d for d in (*devices[turn:], *devices[:turn]) if usable(attempt.dtype, d)), None)
        if device is not None:
            limits = " (default limits)" if device.default_limits else ""
            found += [fault + limits for fault in faults(call, attempt, device)]
    assert not found, f"{call.name}: {len(found)} faults\n" + "\n".join(islice(found, 12))


@pytest.mark.gpu
@pytest.mark.parametrize("name", CALLS)
def test_a_function_gives_what_the_reference_gives(name: str, device: WgpuDevice, weakest: WgpuDevice) -> None:
    examine(CALLS[name], spread(CALLS[name]), device, weakest)


@pytest.mark.gpu
@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("name", "dtype"), PAIRS, ids=[f"{n}-{d}" for n, d in PAIRS])
def test_a_function_gives_what_the_reference_gives_everywhere(name: str, dtype: DType, device: WgpuDevice) -> None:
    examine(CALLS[name], every(CALLS[name], dtype), device)


def test_every_function_has_a_record_or_a_reason() -> None:
    recorded = {n for group in RECORDED_GROUPS for n, v in vars(group).items() if callable(v) and not n.startswith("_")}
    assert sorted(recorded - RECORDS.keys() - CALLS.keys() - WITHOUT.keys()) == []
    assert sorted((RECORDS.keys() | CALLS.keys()) - recorded) == [], "records of no function"
    assert sorted(RECORDS.keys() & CALLS.keys()) == []
    assert sorted(WITHOUT.keys() & (RECORDS.keys() | CALLS.keys())) == [], "recorded: take the reason away"


def test_a_reason_stands_for_a_function_or_a_group_of_the_contract() -> None:
    groups = {base.__name__: base for base in Backend.__mro__}
    functions = set(contract_functions())
    assert [n for n in WITHOUT if n not in groups and n not in functions] == []
    explained = {n for group in WITHOUT if group in groups for n in vars(groups[group])}
    assert sorted(functions - explained - RECORDS.keys() - CALLS.keys() - WITHOUT.keys()) == []


def test_the_spread_takes_every_dtype_and_every_layout() -> None:
    for call in CALLS.values():
        tries = spread(call)
        assert {t.dtype for t in tries} == set(call.dtypes), call.name
        assert {t.layout for t in tries} == set(LAYOUTS), call.name
