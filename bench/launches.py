"""Writes bench/results/launches.md: kernels launched and bytes touched by each contract function, and the kernels that
the functions of the tensor API launch.

python bench/launches.py            writes the table
python bench/launches.py --print    prints it
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from burn_wgpu.testing import tensor_launches
from burn_wgpu.testing.launches import SIZE, Cost, measure

OUT = Path(__file__).parent / "results" / "launches.md"


def lines(costs: dict[str, Cost]) -> Iterator[str]:
    yield "# Launches and bytes"
    yield ""
    yield (
        f"Written by `bench/launches.py`. One call of each contract function on a device with WebGPU's default limits, "
        f"n = {SIZE}, f32, i32 or bool(u8), row-major."
    )
    yield ""
    yield "- launches: kernels dispatched; 0 is a view, a transfer, or known on the host"
    yield "- uploads, reads: tensors that went over the bus on the way; each read waits for the device"
    yield "- floor: bytes of arguments and results, each once; bound: bytes of everything bound to a launch"
    yield "- state: native, or default (composed of other functions by the contract)"
    yield ""
    shown = [c for c in costs.values() if c.state != "missing"]
    one = sum(len(c.launches) == 1 for c in shown)
    none = sum(not c.launches for c in shown)
    yield f"{len(shown)} functions: {none} launch nothing, {one} one kernel, {len(shown) - none - one} more."
    yield ""
    yield "| function | state | arguments | launches | uploads | reads | floor | bound | bound / floor |"
    yield "|---|---|---|--:|--:|--:|--:|--:|--:|"
    for cost in shown:
        ratio = f"{cost.traffic / cost.floor:.2f}" if cost.floor else ""
        yield (
            f"| {cost.name} | {cost.state} | {cost.shapes.replace('|', ' ')} | {len(cost.launches)} | {cost.uploads} | "
            f"{cost.reads} | {cost.floor} | {cost.traffic} | {ratio} |"
        )


def tensor_lines(found: dict[str, list[str]]) -> Iterator[str]:
    yield ""
    yield "# Launches of the tensor API"
    yield ""
    yield (
        "Methods, operators and functions on typical arguments (burn_wgpu/testing/tensor_launches.py); "
        "tests/tensor/test_launches.py gives the reasons."
    )
    yield ""
    one, none = (sum(len(launches) == n for launches in found.values()) for n in (1, 0))
    yield f"{len(found)} calls: {none} launch nothing, {one} one kernel, {len(found) - none - one} more."
    yield ""
    yield "| call | launches | contract functions |"
    yield "|---|--:|---|"
    for name, launches in found.items():
        counts = {f: launches.count(f) for f in launches}
        shown = ", ".join(f if n == 1 else f"{n} {f}" for f, n in counts.items())
        yield f"| {name} | {len(launches)} | {shown} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0] if __doc__ else "")
    parser.add_argument("--print", action="store_true", help="print instead of writing the file")
    args = parser.parse_args()
    text = "\n".join([*lines(measure()), *tensor_lines(tensor_launches.measure())]) + "\n"
    if args.print:
        print(text)
    else:
        OUT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
