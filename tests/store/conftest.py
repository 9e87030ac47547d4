"""Helpers of the store's tests."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def craft(tmp_path: Path) -> Callable[..., Path]:
    """Writes a SafeTensors file out of any header (a dict, or raw bytes) and data; `length` may lie."""

    def write(header: Any, data: bytes = b"", length: int | None = None, name: str = "bad.safetensors") -> Path:
        raw = header if isinstance(header, bytes) else json.dumps(header).encode()
        path = tmp_path / name
        path.write_bytes(struct.pack("<Q", len(raw) if length is None else length) + raw + data)
        return path

    return write
