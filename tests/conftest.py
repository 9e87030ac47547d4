"""What every test relies on: a shader cache that outlives the run, and a word about the adapter.

The environment is set while this file is imported, since Mesa reads it once, when the first adapter opens.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def _prepare_environment() -> None:
    """Keep Mesa's compiled shaders in the checkout's ignored folder, and give it the run-time folder it asks for."""
    if "MESA_SHADER_CACHE_DIR" not in os.environ:
        cache = ROOT / ".cache" / "mesa-shaders"
        try:
            cache.mkdir(parents=True, exist_ok=True)
        except OSError:  # a read-only checkout: Mesa's own default place will do
            pass
        else:
            os.environ["MESA_SHADER_CACHE_DIR"] = str(cache)
    if not os.path.isdir(os.environ.get("XDG_RUNTIME_DIR", "")):
        # Without it every adapter that opens prints a complaint; the folder must belong to the user alone.
        user = os.getuid() if hasattr(os, "getuid") else "user"
        runtime = Path(tempfile.gettempdir()) / f"burn-wgpu-runtime-{user}"
        runtime.mkdir(mode=0o700, exist_ok=True)
        os.environ["XDG_RUNTIME_DIR"] = str(runtime)


_prepare_environment()


def _adapter_names() -> list[str]:
    """The adapters that WebGPU compute can use here, without OpenGL's; empty when there is none."""
    import wgpu

    return [a.info["device"] for a in wgpu.gpu.enumerate_adapters_sync() if a.info["backend_type"] != "OpenGL"]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Stop, rather than skip, when tests need an adapter and the machine has none: a green run must mean something."""
    if config.option.collectonly or not any(item.get_closest_marker("gpu") for item in items):
        return
    if not _adapter_names():
        raise pytest.UsageError(
            "tests marked 'gpu' need a WebGPU adapter, and this machine has none. "
            "Install one (`apt-get install mesa-vulkan-drivers` is a software adapter), or deselect with -m 'not gpu'."
        )
