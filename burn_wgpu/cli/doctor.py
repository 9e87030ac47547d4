"""`burn-wgpu doctor`: why there is no adapter, or a slow one, and what to install."""

from __future__ import annotations

import argparse
import ctypes.util
import glob
import json
import os
import platform
import sys
from typing import NamedTuple

HELP = "says why there is no adapter, or only a software one, and what to install"

_ICD_FOLDERS = ("/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d", "/usr/local/share/vulkan/icd.d")


class Finding(NamedTuple):
    """One thing looked at. `fix` is what to do, empty when it is fine; with `works` it only makes things faster."""

    what: str
    state: str
    fix: str = ""
    works: bool = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="machine-readable output")


def run(args: argparse.Namespace) -> int:
    """Exit status 0 when an adapter ran a kernel, a software one too; 1 when none did."""
    findings, usable = examine()
    if args.json:
        print(json.dumps({"usable": usable, "findings": [f._asdict() for f in findings]}, indent=2))
        return 0 if usable else 1
    for finding in findings:
        print(f"{'ok ' if not finding.fix else 'tip' if finding.works else 'FIX'} {finding.what}: {finding.state}")
        if finding.fix:
            print(f"    {finding.fix}")
    return 0 if usable else 1


def examine() -> tuple[list[Finding], bool]:
    """What was found, and whether an adapter ran a kernel."""
    findings = [Finding("Python", f"{platform.python_version()} on {platform.platform()}")]
    try:
        from burn_wgpu.runtime import provider

        module = provider.wgpu()
    except Exception as error:  # noqa: BLE001 - whatever stops the import is what the user must know
        findings.append(Finding("wgpu", f"cannot be loaded: {error}", "pip install --force-reinstall wgpu"))
        return findings, False
    findings.append(Finding("wgpu", module.__version__))
    if sys.platform == "linux":
        findings += _linux()
    adapters = provider.adapters()
    for info in adapters:
        findings.append(Finding(f"adapter wgpu:{info.index}", f"{info}, driver {info.driver}"))
    hardware = any(info.kind != "cpu" for info in adapters)
    if not adapters:
        findings.append(Finding("adapters", "none", _no_adapter()))
        return findings, False
    ran = _kernel()
    findings.append(ran)
    if not ran.fix:
        findings.append(_subnormals())
    if not hardware and not ran.fix:
        findings.append(Finding(
            "adapters", "only a software adapter: everything works, slowly",
            "install your GPU's Vulkan driver: mesa-vulkan-drivers for AMD and Intel, the NVIDIA driver for NVIDIA",
            works=True,
        ))  # fmt: skip
    return findings, not ran.fix


def _kernel() -> Finding:
    """The best adapter adds two numbers."""
    import numpy as np

    from burn_wgpu.backends.wgpu.backend import WgpuBackend
    from burn_wgpu.backends.wgpu.tensor import WgpuDevice
    from burn_wgpu.std.data import TensorData

    what, backend = "kernel on wgpu:0", WgpuBackend()
    try:
        x = backend.float_from_data(TensorData.of(np.array([1.0, 2.0], np.float32)), WgpuDevice(0))
        found = backend.float_into_data(backend.float_add(x, x)).array.tolist()
    except Exception as error:  # noqa: BLE001 - whatever it is, the user must know it
        return Finding(what, f"failed: {error}", "update the adapter's driver, or choose another with BURN_DEVICE")
    if found != [2.0, 4.0]:
        return Finding(what, f"[1, 2] + [1, 2] gave {found}", "update the adapter's driver")
    return Finding(what, "compiled, ran and gave the right numbers")


def _subnormals() -> Finding:
    """What the best adapter does with the smallest numbers: nothing to fix, but it may explain a zero."""
    from burn_wgpu.backends.wgpu.tensor import WgpuDevice
    from burn_wgpu.backends.wgpu.usage import keeps_subnormals
    from burn_wgpu.cli.info import SUBNORMALS

    state = "kept" if keeps_subnormals(WgpuDevice(0)) else "flushed"
    return Finding("subnormals on wgpu:0", f"{state}; {SUBNORMALS[state]}")


def _linux() -> list[Finding]:
    findings = []
    loader = ctypes.util.find_library("vulkan")
    findings.append(
        Finding("Vulkan loader", loader)
        if loader
        else Finding("Vulkan loader", "libvulkan.so.1 is missing", "apt-get install libvulkan1 (or vulkan-loader)")
    )
    chosen = os.environ.get("VK_DRIVER_FILES") or os.environ.get("VK_ICD_FILENAMES")
    files = chosen.split(":") if chosen else [f for d in _ICD_FOLDERS for f in sorted(glob.glob(f"{d}/*.json"))]
    missing = [f for f in files if not os.path.exists(f)]
    if missing:
        findings.append(
            Finding(
                "Vulkan drivers",
                f"{', '.join(missing)} named by VK_DRIVER_FILES does not exist",
                "unset VK_DRIVER_FILES",
            )
        )
    elif files:
        findings.append(Finding("Vulkan drivers", ", ".join(os.path.basename(f) for f in files)))
    else:
        findings.append(Finding("Vulkan drivers", "no driver file (ICD) is installed", _no_adapter()))
    nodes = sorted(glob.glob("/dev/dri/renderD*"))
    if not nodes and not os.path.exists("/dev/nvidia0") and not os.path.exists("/dev/dxg"):
        findings.append(
            Finding(
                "GPU device files",
                "none (/dev/dri, /dev/nvidia0): no GPU is visible here; in a container, pass it through",
            )
        )
    for node in nodes:
        if not os.access(node, os.R_OK | os.W_OK):
            findings.append(
                Finding(node, "no permission", f"add {os.environ.get('USER', 'the user')} to the group 'render'")
            )
        else:
            findings.append(Finding(node, "readable and writable"))
    return findings


def _no_adapter() -> str:
    if sys.platform == "darwin":
        return "Metal needs macOS 11 or later on a Mac with a GPU; virtual machines often have none"
    if sys.platform == "win32":
        return "install your GPU's current driver; DX12 or Vulkan must be available"
    return "apt-get install mesa-vulkan-drivers (AMD, Intel, and a software adapter), or the NVIDIA driver"
