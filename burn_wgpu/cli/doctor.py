"""`burn-wgpu doctor`: why there is no adapter, or a slow one, and what to install."""

from __future__ import annotations

import argparse
import ctypes.util
import glob
import os
import platform
import sys
from typing import NamedTuple

HELP = "says why there is no adapter, or only a software one, and what to install"

_ICD_FOLDERS = ("/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d", "/usr/local/share/vulkan/icd.d")


class Finding(NamedTuple):
    """One thing looked at. `fix` is what to do, empty when it is fine."""

    what: str
    state: str
    fix: str = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    del parser


def run(args: argparse.Namespace) -> int:
    """Exit status 0 when a GPU can be used, 1 when there is only a software adapter or none."""
    del args
    findings, usable = examine()
    for finding in findings:
        print(f"{'ok ' if not finding.fix else 'FIX'} {finding.what}: {finding.state}")
        if finding.fix:
            print(f"    {finding.fix}")
    return 0 if usable else 1


def examine() -> tuple[list[Finding], bool]:
    """What was found, and whether a hardware adapter can be used."""
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
    elif not hardware:
        findings.append(Finding(
            "adapters", "only a software adapter: everything works, slowly",
            "install your GPU's Vulkan driver: mesa-vulkan-drivers for AMD and Intel, the NVIDIA driver for NVIDIA",
        ))  # fmt: skip
    return findings, hardware


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
