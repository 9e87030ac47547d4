"""The burnpack container (.bpk): reader, writer and inspection, to the byte as Burn 0.23 writes it.

    errors    one exception family with machine-readable kinds
    cbor      a strict pull decoder and an encoder of shortest forms
    scalar    typed scalars
    metadata  descriptors, dtype and scheme spellings, limits
    source    the bytes: a buffer, or a file read and mapped on demand
    reader    lazy access, zero-copy views
    writer    layout, streaming, atomic publication
    inspect   a report of everything in a file

Independent of tensors: payloads are bytes here. May import `burn_wgpu.std` only. A generic CBOR library was rejected
for the metadata: it would build what it is told to build before a schema could refuse it, and it would write other
floats.
"""

from burn_wgpu.pack.errors import (
    PackError,
    PackExistsError,
    PackFault,
    PackFileError,
    PackLookupError,
    PackNotFoundError,
)
from burn_wgpu.pack.inspect import format_report, inspect_pack
from burn_wgpu.pack.metadata import PackLimits, TensorInfo
from burn_wgpu.pack.reader import PackReader
from burn_wgpu.pack.scalar import Scalar, ScalarKind
from burn_wgpu.pack.source import with_extension
from burn_wgpu.pack.writer import PackEntry, PackPlan, pack_bytes, plan_pack, write_pack

__all__ = [
    "PackEntry",
    "PackError",
    "PackExistsError",
    "PackFault",
    "PackFileError",
    "PackLimits",
    "PackLookupError",
    "PackNotFoundError",
    "PackPlan",
    "PackReader",
    "Scalar",
    "ScalarKind",
    "TensorInfo",
    "format_report",
    "inspect_pack",
    "pack_bytes",
    "plan_pack",
    "with_extension",
    "write_pack",
]
