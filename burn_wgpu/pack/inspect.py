"""A report of everything that a container holds, as plain values, and the same as text for people."""

from __future__ import annotations

import hashlib
import os
from typing import Any

from burn_wgpu.pack.errors import PackError, shown, shown_path
from burn_wgpu.pack.metadata import TensorInfo, dtype_spelling
from burn_wgpu.pack.reader import ALIGNMENT, PackReader
from burn_wgpu.pack.scalar import Scalar, ScalarKind

_WINDOW = 1 << 20


def inspect_pack(
    source: str | os.PathLike[str] | PackReader, *, verify: bool = False, digests: bool = False
) -> dict[str, Any]:
    """Header, tensors, scalars, text map and layout of a container; every value is fit for JSON.

    verify   read every payload; what is wrong with it stands under "problems" of the report (empty: all is well)
    digests  add the sha256 of every payload
    Integers above 2^53 (ids, scalars) stand as decimal text. Raises PackError for a container that cannot be opened.
    """
    if isinstance(source, PackReader):
        return _report(source, verify, digests)
    with PackReader.open(source) as pack:
        return _report(pack, verify, digests)


def _report(pack: PackReader, verify: bool, digests: bool) -> dict[str, Any]:
    in_order = pack.in_file_order()
    order = {info.name: number for number, info in enumerate(in_order)}
    problems: list[str] = []
    tensors = [_tensor(pack, info, order[info.name], verify, digests, problems) for info in pack]
    last = in_order[-1].end if in_order else 0
    used = sum(info.size_bytes for info in in_order)
    report: dict[str, Any] = {
        "file": pack.file,
        "size_bytes": pack.size_bytes,
        "version": pack.version,
        "metadata_bytes": pack.metadata_bytes,
        "data_start": pack.data_start,
        "payload_bytes": used,
        "unused_bytes": last - used,
        "bytes_after_data": max(pack.size_bytes - pack.data_start - last, 0),
        "legacy": list(pack.legacy),
        "tensors": tensors,
        "scalars": {
            name: {"kind": s.kind.value, "value": _scalar_value(s)} for name, s in sorted(pack.scalars.items())
        },
        "metadata": dict(sorted(pack.metadata.items())),
    }
    if verify:
        report["problems"] = problems
    return report


def _tensor(
    pack: PackReader, info: TensorInfo, order: int, verify: bool, digests: bool, problems: list[str]
) -> dict[str, Any]:
    row: dict[str, Any] = {
        "name": info.name,
        "dtype": dtype_spelling(info.dtype),
        "shape": list(info.shape),
        "param_id": None if info.param_id is None else str(info.param_id),
        "data_offsets": [info.start, info.end],
        "file_offset": pack.data_start + info.start,
        "size_bytes": info.size_bytes,
        "aligned": (pack.data_start + info.start) % ALIGNMENT == 0,
        "order": order,
    }
    if verify or digests:
        try:
            payload = pack.view(info.name)
        except PackError as error:
            problems.append(str(error))
            return row
        digest = hashlib.sha256()
        for start in range(0, len(payload), _WINDOW):  # touching every byte is the verification
            digest.update(payload[start : start + _WINDOW])
        if digests:
            row["sha256"] = digest.hexdigest()
    return row


def _scalar_value(scalar: Scalar) -> bool | str:
    """Booleans as they are, numbers as text: JSON has neither 64-bit integers nor infinities."""
    return bool(scalar.value) if scalar.kind is ScalarKind.BOOL else repr(scalar.value)


def format_report(report: dict[str, Any]) -> str:
    """The report of `inspect_pack` as lines of text; names are escaped, so no terminal obeys them."""
    lines = [
        f"{shown_path(report['file'])}: burnpack version {report['version']}, {report['size_bytes']} bytes",
        f"metadata {report['metadata_bytes']} bytes, data from byte {report['data_start']}, "
        f"payloads {report['payload_bytes']} bytes, padding and gaps {report['unused_bytes']}, "
        f"after the data {report['bytes_after_data']}",
    ]
    lines += [f"older layout: {text}" for text in report["legacy"]]
    lines.append(f"{len(report['tensors'])} tensors")
    for row in report["tensors"]:
        start, end = row["data_offsets"]
        line = f"  {shown(row['name'])} {row['dtype']} {row['shape']} [{start}, {end})"
        if row["param_id"] is not None:
            line += f" id {row['param_id']}"
        if not row["aligned"]:
            line += " unaligned"
        if "sha256" in row:
            line += f" sha256 {row['sha256']}"
        lines.append(line)
    lines.append(f"{len(report['scalars'])} scalars")
    lines += [f"  {shown(name)} {s['kind']} {s['value']}" for name, s in report["scalars"].items()]
    lines.append(f"{len(report['metadata'])} metadata entries")
    lines += [f"  {shown(key)}: {shown(value)}" for key, value in report["metadata"].items()]
    if "problems" in report:
        lines.append(f"{len(report['problems'])} problems" if report["problems"] else "every payload is sound")
        lines += [f"  {problem}" for problem in report["problems"]]
    return "\n".join(lines)
