"""`burn-wgpu inspect FILE`: what a burnpack file holds."""

from __future__ import annotations

import argparse

HELP = "header, tensors, dtypes, shapes, offsets, alignment, scalars and metadata of a .bpk file"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("--json", action="store_true", help="machine-readable output")
    parser.add_argument("--verify", action="store_true", help="also read every tensor's bytes")


def run(args: argparse.Namespace) -> int:
    """Exit status 1 when --verify finds an unsound payload; the problems are in the report."""
    import json

    from burn_wgpu.pack.inspect import format_report, inspect_pack

    report = inspect_pack(args.file, verify=args.verify)
    print(json.dumps(report, indent=2) if args.json else format_report(report))
    return 1 if report.get("problems") else 0
