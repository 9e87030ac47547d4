"""`burn-wgpu inspect FILE`: what a burnpack or SafeTensors file holds."""

from __future__ import annotations

import argparse
from typing import Any

HELP = "header, tensors, dtypes, shapes, offsets, alignment, scalars and metadata of a .bpk or .safetensors file"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("--json", action="store_true", help="machine-readable output")
    parser.add_argument("--verify", action="store_true", help="also read every tensor's bytes")


def run(args: argparse.Namespace) -> int:
    """Exit status 1 when --verify finds an unsound payload; the problems are in the report."""
    import json

    from burn_wgpu.pack.inspect import format_report, inspect_pack

    if args.file.lower().endswith(".safetensors"):
        found = _safetensors(args.file)
        print(json.dumps(found, indent=2) if args.json else _text(found))
        return 0
    report = inspect_pack(args.file, verify=args.verify)
    print(json.dumps(report, indent=2) if args.json else format_report(report))
    return 1 if report.get("problems") else 0


def _safetensors(path: str) -> dict[str, Any]:
    """The header of a SafeTensors file, in the order of its bytes; opening it checks all that there is to verify."""
    from burn_wgpu.store.safetensors import SafetensorsReader

    with SafetensorsReader(path) as reader:
        return {
            "file": path,
            "format": "safetensors",
            "size_bytes": reader.size,
            "tensors": [
                {"name": e.name, "dtype": e.dtype.name, "shape": list(e.shape), "start": e.start, "end": e.end}
                for e in reader
            ],
            "metadata": dict(sorted(reader.metadata.items())),
        }


def _text(report: dict[str, Any]) -> str:
    from burn_wgpu.pack.errors import shown, shown_path

    lines = [f"{shown_path(report['file'])}: SafeTensors, {report['size_bytes']} bytes"]
    lines.append(f"{len(report['tensors'])} tensors")
    lines += [f"  {shown(t['name'])} {t['dtype']} {t['shape']} [{t['start']}, {t['end']})" for t in report["tensors"]]
    if report["metadata"]:
        lines.append("metadata")
        lines += [f"  {shown(k)}: {shown(v)}" for k, v in report["metadata"].items()]
    return "\n".join(lines)
