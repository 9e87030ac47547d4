"""What we write is read by Burn itself, where its reader is at hand."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from burn_wgpu.pack import PackEntry, Scalar, write_pack
from burn_wgpu.std.dtype import ALL, BOOLS
from burn_wgpu.std.quant import QFloat, QuantScheme, QuantStore, QuantValue, ScaleDtype
from burn_wgpu.std.quantized import QuantizedBytes, quantize

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def burn_peer() -> Path:
    named = os.environ.get("BURN_PEER")
    path = Path(named) if named else ROOT.parent / "shared" / "tools" / "burn-peer"
    if not path.is_file():
        pytest.skip("no burn-peer: set BURN_PEER to a program that reads a container with real Burn")
    return path


def read_pack(burn_peer: Path, path: Path) -> dict[str, tuple[int, str]]:
    """name → length and sha256 of the payload, as Burn's reader sees them."""
    done = subprocess.run([burn_peer, "read-pack", path], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = {}
    for line in done.stdout.splitlines():
        quoted, length, digest = line.rsplit(" ", 2)
        rows[json.loads(quoted)] = (int(length), digest)
    return rows


def expected(entries: list[PackEntry]) -> dict[str, tuple[int, str]]:
    return {e.name: (len(e.data), hashlib.sha256(e.data).hexdigest()) for e in entries}


def test_burn_reads_every_dtype_that_we_write(burn_peer: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    entries = []
    for number, dtype in enumerate(ALL):
        for shape in [(3, 5), (), (0, 2), (70,)]:
            count = int(np.prod(shape))
            if dtype in BOOLS:
                data = rng.integers(0, 2, count).astype(dtype.numpy).tobytes()
            else:
                data = rng.bytes(count * dtype.size_bytes)
            entries.append(PackEntry(f"é.{dtype}.{len(shape)}.{count}", dtype, shape, 2**64 - 1 - number, data))
    path = write_pack(
        tmp_path / "all",
        entries,
        metadata={"format": "burnpack", "ü": "x" * 300},
        scalars={
            "a": Scalar.of_int(-(2**63)),
            "b": Scalar.of_uint(2**64 - 1),
            "c": 0.1,
            "d": float("nan"),
            "e": True,
        },
    )
    assert read_pack(burn_peer, path) == expected(entries)


def test_burn_reads_every_quantized_layout_that_we_write(burn_peer: Path, tmp_path: Path) -> None:
    values = np.linspace(-1, 1, 4 * 8, dtype=np.float32).reshape(4, 8)
    entries = []
    for value in QuantValue:
        for store in (
            QuantStore.native(),
            QuantStore.packed_u32(0),
            QuantStore.packed_u32(1),
            QuantStore.packed_native(0),
        ):
            plain = QuantScheme(value, store)
            for scheme in (plain, plain.per_block([2, 4], ScaleDtype.F16), plain.per_tensor(ScaleDtype.BF16)):
                packed: QuantizedBytes = quantize(values, scheme)
                entries.append(PackEntry(str(scheme), QFloat(scheme), values.shape, None, packed.pack()))
    path = write_pack(tmp_path / "quantized", entries)
    assert read_pack(burn_peer, path) == expected(entries)


def test_burn_reads_an_empty_and_a_large_container(burn_peer: Path, tmp_path: Path) -> None:
    assert read_pack(burn_peer, write_pack(tmp_path / "empty", [])) == {}
    many = [PackEntry(f"layers.{n}.weight", ALL[1], (2,), n, n.to_bytes(8, "little")) for n in range(3000)]
    assert read_pack(burn_peer, write_pack(tmp_path / "many", many)) == expected(many)
