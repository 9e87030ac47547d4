"""`burn-wgpu ops`: the support matrix, contract functions by dtype and backend."""

from __future__ import annotations

import argparse
import json
from typing import Any

HELP = "the support matrix: what each backend does for each contract function and dtype"

_LETTERS = {"native": "N", "through f32": "F", "emulated": "E", "default": "D", "no": "-"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--device", metavar="D",
        help='only this device\'s backend, with what its adapter lacks: "wgpu:0", "cpu" (default: every backend, with '
        "an adapter that has all features)",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="machine-readable output")


def run(args: argparse.Namespace) -> int:
    found = gather(args.device)
    if args.json:
        print(json.dumps(found, indent=2))
    else:
        _print(found)
    return 0


def gather(spec: str | None = None) -> dict[str, Any]:
    """Everything that `ops` shows, as plain data.

    backends   backend → function → dtype → word; functions that tests have records for
    others     function → backend → "native", "default" or "missing"; functions of devices, quantized tensors …
    """
    from burn_wgpu.backends.reference.backend import ReferenceBackend
    from burn_wgpu.backends.wgpu.backend import WgpuBackend
    from burn_wgpu.device import Device
    from burn_wgpu.testing.support import MEANING, matrix, support

    backends: dict[str, type] = {"wgpu": WgpuBackend, "reference": ReferenceBackend}
    features = None
    if spec is not None:
        device = Device(spec)
        name = "wgpu" if device.type == "wgpu" else "reference"
        backends = {name: backends[name]}
        if device.type == "wgpu":
            features = device.handle.capability.features
    tables = {label: matrix(label, cls, features) for label, cls in backends.items()}
    recorded = next(iter(tables.values()))
    others = {name: row for name, row in support(backends).items() if name not in recorded}
    return {"device": spec, "words": MEANING, "backends": tables, "others": others}


def _print(found: dict[str, Any]) -> None:
    from burn_wgpu.testing.support import SHOWN

    columns = [d.name for d in SHOWN]
    for word, meaning in found["words"].items():
        print(f"{_LETTERS[word]}  {word}: {meaning}")
    for label, table in found["backends"].items():
        print(
            f"\n{label + (' ' + found['device'] if found['device'] else ''):34s}"
            + "".join(f"{c:>10s}" for c in columns)
        )
        for name, row in table.items():
            print(f"{name:34s}" + "".join(f"{_LETTERS.get(row.get(c, ''), ' '):>10s}" for c in columns))
        words = [word for row in table.values() for word in row.values()]
        counts = ", ".join(f"{words.count(word)} {word}" for word in _LETTERS)
        print(f"{len(table)} functions, {len(words)} of function and dtype: {counts}")
    print("\nfunctions of devices, quantized tensors and several processes:")
    for name, row in found["others"].items():
        print(f"{name:34s}" + "  ".join(f"{backend}: {state}" for backend, state in row.items()))
