"""`burn-wgpu ops`: which contract function each backend has for which dtype."""

from __future__ import annotations

import argparse
import json

HELP = "the support matrix: contract functions by backend, native, by default, or missing"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="machine-readable output")


def run(args: argparse.Namespace) -> int:
    from burn_wgpu.backends.reference.backend import ReferenceBackend
    from burn_wgpu.backends.wgpu.backend import WgpuBackend
    from burn_wgpu.testing.support import support

    table = support({"reference": ReferenceBackend, "wgpu": WgpuBackend})
    if args.json:
        print(json.dumps(table, indent=2))
        return 0
    for name, row in table.items():
        print(f"{name:36s} " + "  ".join(f"{backend}: {state:10s}" for backend, state in row.items()))
    return 0
