"""`burn-wgpu info`: every adapter, its limits and features, and what it can do with each dtype."""

from __future__ import annotations

import argparse
import json
from typing import Any

from burn_wgpu.std import dtype as dt
from burn_wgpu.std.dtype import DTypeUsage

HELP = "every adapter with backend, driver, limits, subgroup size, features, and the dtype table proved by kernels"

LIMITS = (
    "max-buffer-size", "max-storage-buffer-binding-size", "max-storage-buffers-per-shader-stage",
    "max-compute-workgroup-storage-size", "max-compute-invocations-per-workgroup",
    "max-compute-workgroups-per-dimension",
)  # fmt: skip
FEATURES = ("shader-f16", "shader-int64", "shader-f64", "subgroup", "timestamp-query", "immediates",
            "shader-float32-atomic", "mappable-primary-buffers", "cooperative-matrix")  # fmt: skip
SUBNORMALS = {
    "kept": "f32 arithmetic computes with numbers below 1.2e-38 as they are",
    "flushed": "f32 arithmetic reads and writes numbers below 1.2e-38 as zeros; f16 keeps all of its own",
}
SHOWN = tuple(d for d in dt.ALL if d not in (dt.BOOL, dt.FLEX32))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="machine-readable output")


def run(args: argparse.Namespace) -> int:
    found = gather()
    if args.json:
        print(json.dumps(found, indent=2))
    else:
        _print(found)
    return 0


def gather() -> dict[str, Any]:
    """Everything that `info` shows, as plain data."""
    from importlib.metadata import PackageNotFoundError, version

    from burn_wgpu.runtime import provider

    versions = {}
    for name in ("burn-wgpu", "wgpu", "numpy"):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "not installed"
    return {"versions": versions, "adapters": [_adapter(info) for info in provider.adapters()]}


def _adapter(info: Any) -> dict[str, Any]:
    from burn_wgpu.backends.wgpu.backend import WgpuBackend
    from burn_wgpu.backends.wgpu.probe import subgroup_size
    from burn_wgpu.backends.wgpu.tensor import WgpuDevice
    from burn_wgpu.backends.wgpu.usage import keeps_subnormals

    entry: dict[str, Any] = {
        "device": f"wgpu:{info.index}",
        "name": info.name,
        "kind": info.kind,
        "backend": info.backend,
        "driver": info.driver,
        "limits": {name: info.limits[name] for name in LIMITS if name in info.limits},
        "features": [f for f in FEATURES if f in info.features],
    }
    handle = WgpuDevice(info.index)
    backend = WgpuBackend()
    entry["subgroup_size"] = subgroup_size(handle)
    entry["subnormals"] = "kept" if keeps_subnormals(handle) else "flushed"
    entry["recording"] = "raw" if handle.client.stream.native is not None else "portable"
    entry["dtypes"] = {
        d.name: [str(flag.name).lower() for flag in DTypeUsage if flag in backend.dtype_usage(handle, d)] for d in SHOWN
    }
    return entry


def _print(found: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    console.print("  ".join(f"{name} {v}" for name, v in found["versions"].items()))
    if not found["adapters"]:
        console.print("No WebGPU adapter was found. `burn-wgpu doctor` says what to install.")
    for entry in found["adapters"]:
        console.print(f"\n[bold]{entry['device']}[/bold]  {entry['name']}  ({entry['backend']}, {entry['kind']})")
        console.print(f"driver {entry['driver']}; subgroups of {entry['subgroup_size'] or 'unknown size'}; "
                      f"{entry['recording']} recording")  # fmt: skip
        console.print(f"subnormals: {entry['subnormals']}; {SUBNORMALS[entry['subnormals']]}")
        for name, value in entry["limits"].items():
            console.print(f"  {name} {value:,}")
        console.print(f"  features {', '.join(entry['features'])}")
        table = Table(box=None, pad_edge=True)
        for column in ("dtype", "storage", "arithmetic", "accelerated"):
            table.add_column(column)
        for name, usage in entry["dtypes"].items():
            no = {"arithmetic": "through f32"} if name == "f64" and "storage" in usage else {}
            flags = ("storage", "arithmetic", "accelerated")
            table.add_row(name, *("yes" if flag in usage else no.get(flag, "–") for flag in flags))
        console.print(table)
