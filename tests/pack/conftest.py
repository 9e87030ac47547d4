"""The fixture files, with their indexes, and a way to write small containers that Burn never would."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).resolve().parent.parent / "data"


@pytest.fixture(scope="session")
def burnpack_folder() -> Path:
    """Edge cases and broken files."""
    return DATA / "burnpack"


@pytest.fixture(scope="session")
def burn_written_folder() -> Path:
    """Files that Burn wrote."""
    return DATA / "burn-written"


@pytest.fixture(scope="session")
def burn_written(burn_written_folder: Path) -> list[dict[str, Any]]:
    """The index rows of all .bpk files that Burn wrote."""
    index = json.loads((burn_written_folder / "index.json").read_text())
    return [row for row in index["files"] if row["file"].endswith(".bpk")]
