"""What an operation costs the CPU on tiny tensors, from the contract call and from the Tensor method.

`python bench/overhead.py [device]` prints a table, judges it by the budget, and writes
`bench/results/overhead-<machine>.json`. Work is submitted between the rounds, outside the measured time, so that the
numbers are those of Python: planning, recording, the checks of the user's arguments. `bare` records the same dispatch
in a loop of raw calls with everything found beforehand: the floor that no framework on this library can go below.

The budget: an elementwise operation 8 µs from the contract and 14 µs from the Tensor, and ten times the bare loop;
matmul, softmax and a sliced view half as much again.
"""

from __future__ import annotations

import gc
import json
import platform
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from burn_wgpu import Device, Tensor
from burn_wgpu.std.slice import Slice
from burn_wgpu.tensor.activation import softmax

CALLS = 200  # fewer than a batch holds, so that no submission falls into the measured time
ROUNDS = 41
CONTRACT_US, TENSOR_US, TIMES_BARE = 8.0, 14.0, 10.0
HEAVIER = 1.5


def microseconds(function: Callable[[], object], device: Device) -> float:
    """The median over the rounds of the time of one call."""
    for _ in range(CALLS):
        function()
    device.sync()
    times = []
    gc.collect()
    gc.disable()  # a collection of this script's own objects is no cost of an operation
    try:
        for _ in range(ROUNDS):
            start = time.perf_counter()
            for _ in range(CALLS):
                function()
            times.append((time.perf_counter() - start) / CALLS * 1e6)
            device.sync()
    finally:
        gc.enable()
    return median(times)


def bare(contract: Callable[[], object], device: Device) -> float | None:
    """Microseconds of the raw calls alone that record what `contract` records; None without raw recording."""
    client = device._handle.client  # type: ignore[union-attr]  # a wgpu device that has run something
    stream = client.stream
    if stream.native is None:
        return None
    records: list[tuple[Callable[..., object], tuple[object, ...]]] = []
    names = ("set_pipeline", "set_group", "dispatch")
    real = {name: getattr(stream, name) for name in names}
    try:
        for name in names:

            def note(*args: object, _name: str = name) -> None:
                records.append((real[_name], args[1:]))
                real[_name](*args)

            setattr(stream, name, note)
        keep = contract()
    finally:
        for name in names:
            setattr(stream, name, real[name])
    device.sync()
    if not records:
        return None
    rounds = []
    for _ in range(ROUNDS):
        handle = stream.open_pass("bare")
        start = time.perf_counter()
        for _ in range(CALLS):
            for call, args in records:
                call(handle, *args)
        rounds.append((time.perf_counter() - start) / CALLS * 1e6)
        device.sync()
    del keep
    return median(rounds)


def measure(spec: str = "wgpu") -> dict[str, object]:
    """Every case's numbers with machine and versions."""
    device = Device(spec)
    x = Tensor([[1.0, 2.0], [3.0, 4.0]], device=device)
    y = Tensor([[5.0, 6.0], [7.0, 8.0]], device=device)
    row = Tensor([9.0, 10.0], device=device)
    b, p, q = device.backend, x.primitive, y.primitive
    one_row = row.reshape(1, 2)
    wide = one_row.primitive
    stored = device.settings.bool_dtype
    part = [Slice(0, 1), Slice.full()]
    # name, factor of the budget, contract call, tensor method
    cases: list[tuple[str, float, Callable[[], object], Callable[[], object]]] = [
        ("x + y", 1, lambda: b.float_add(p, q), lambda: x + y),
        ("x.add(y)", 1, lambda: b.float_add(p, q), lambda: x.add(y)),
        ("x * 2.0", 1, lambda: b.float_mul_scalar(p, 2.0), lambda: x * 2.0),
        ("x.exp()", 1, lambda: b.float_exp(p), lambda: x.exp()),
        ("x + row (broadcast)", 1, lambda: b.float_add(p, wide), lambda: x + row),
        ("x > y", 1, lambda: b.float_greater(p, q, stored), lambda: x > y),
        ("x @ y", HEAVIER, lambda: b.float_matmul(p, q), lambda: x @ y),
        ("softmax(x, 1)", HEAVIER, lambda: b.softmax(p, 1), lambda: softmax(x, 1)),
        ("x[0:1] + row", HEAVIER, lambda: b.float_add(b.float_slice(p, part), wide), lambda: x[0:1] + one_row),
        ("x[0:1]", HEAVIER, lambda: b.float_slice(p, part), lambda: x[0:1]),
        ("x.reshape(4)", HEAVIER, lambda: b.float_reshape(p, (4,)), lambda: x.reshape(4)),
        ("x.transpose()", HEAVIER, lambda: b.float_transpose(p), lambda: x.transpose()),
    ]  # fmt: skip
    rows = []
    for name, factor, contract, method in cases:
        below, above = microseconds(contract, device), microseconds(method, device)
        floor = bare(contract, device) if device.type == "wgpu" else None
        within = below <= CONTRACT_US * factor and above <= TENSOR_US * factor
        if floor is not None:
            within = within and below <= TIMES_BARE * factor * floor
        rows.append({
            "case": name, "contract_us": round(below, 3), "tensor_us": round(above, 3),
            "bare_us": None if floor is None else round(floor, 3), "factor": factor, "within": within,
        })  # fmt: skip
    return {
        "device": str(device), "adapter": device.name, "machine": platform.node(), "cpu": _cpu(),
        "python": platform.python_version(), "system": platform.platform(terse=True),
        "calls": CALLS, "rounds": ROUNDS, "rows": rows,
    }  # fmt: skip


def _cpu() -> str:
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.M)
        return found.group(1) if found else platform.processor()
    except OSError:
        return platform.processor()


def main(spec: str = "wgpu") -> int:
    result = measure(spec)
    print(f"{result['device']} ({result['adapter']}), median of {ROUNDS} rounds of {CALLS} calls, µs a call")
    print(f"{'':22}{'contract':>10}{'Tensor':>10}{'bare':>10}{'within':>8}")
    rows: list[dict[str, object]] = result["rows"]  # type: ignore[assignment]
    for row in rows:
        floor = "" if row["bare_us"] is None else f"{row['bare_us']:.2f}"
        print(
            f"{row['case']:22}{row['contract_us']:10.2f}{row['tensor_us']:10.2f}{floor:>10}"
            f"{'yes' if row['within'] else 'NO':>8}"
        )
    folder = Path(__file__).resolve().parent / "results"
    folder.mkdir(exist_ok=True)
    result.pop("machine")
    label = re.sub(r"[^a-z0-9]+", "-", f"{result['cpu']}-{spec}".lower()).strip("-")
    (folder / f"overhead-{label}.json").write_text(json.dumps(result, indent=1) + "\n")
    return 0 if all(row["within"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
