"""What a tensor method costs on top of its contract call, on tiny tensors: `python bench/overhead.py [device]`.

The device is "wgpu" unless named; work is submitted between the rounds, outside the measured time, so that the numbers
are those of Python: planning, recording and the checks of the user's arguments.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from statistics import median

from burn_wgpu import Device, Tensor

CALLS = 500
ROUNDS = 21


def microseconds(function: Callable[[], object], device: Device) -> float:
    """The median over the rounds of the time of one call."""
    for _ in range(CALLS):
        function()
    device.sync()
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(CALLS):
            function()
        times.append((time.perf_counter() - start) / CALLS * 1e6)
        device.sync()
    return median(times)


def main(spec: str = "wgpu") -> None:
    device = Device(spec)
    x = Tensor([[1.0, 2.0], [3.0, 4.0]], device=device)
    y = Tensor([[5.0, 6.0], [7.0, 8.0]], device=device)
    row = Tensor([9.0, 10.0], device=device)
    b, p, q = device.backend, x.primitive, y.primitive
    wide = row.reshape(1, 2).primitive
    stored = device.settings.bool_dtype
    rows: list[tuple[str, Callable[[], object], Callable[[], object]]] = [
        ("x + y", lambda: b.float_add(p, q), lambda: x + y),
        ("x.add(y)", lambda: b.float_add(p, q), lambda: x.add(y)),
        ("x * 2.0", lambda: b.float_mul_scalar(p, 2.0), lambda: x * 2.0),
        ("x.exp()", lambda: b.float_exp(p), lambda: x.exp()),
        ("x + row (broadcast)", lambda: b.float_add(p, wide), lambda: x + row),
        ("x > y", lambda: b.float_greater(p, q, stored), lambda: x > y),
        ("x.reshape(4)", lambda: b.float_reshape(p, (4,)), lambda: x.reshape(4)),
        ("x.transpose()", lambda: b.float_transpose(p), lambda: x.transpose()),
        ("x[0]", lambda: p, lambda: x[0]),
        ("x @ y", lambda: b.float_matmul(p, q), lambda: x @ y),
    ]
    print(f"{device} ({device.name}), median of {ROUNDS} rounds of {CALLS} calls, µs a call")
    print(f"{'':22}{'contract':>10}{'Tensor':>10}{'added':>10}")
    for name, contract, method in rows:
        try:
            below, above = microseconds(contract, device), microseconds(method, device)
        except NotImplementedError as missing:
            print(f"{name:22}{missing}")
            continue
        print(f"{name:22}{below:10.2f}{above:10.2f}{above - below:10.2f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
