"""`burn-wgpu info` and `doctor`: what this machine has, and what to install."""

from __future__ import annotations

import json

import pytest

from burn_wgpu.backends.wgpu.tensor import WgpuDevice
from burn_wgpu.backends.wgpu.usage import keeps_subnormals
from burn_wgpu.cli import doctor, main
from burn_wgpu.runtime import provider
from burn_wgpu.std.dtype import DTypeUsage


@pytest.mark.gpu
def test_info_tells_every_adapter_in_text_and_json(capsys) -> None:
    assert main(["info", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["versions"].keys() == {"burn-wgpu", "wgpu", "numpy"}
    adapters = provider.adapters()
    assert [entry["device"] for entry in found["adapters"]] == [f"wgpu:{a.index}" for a in adapters]
    flags = {str(flag.name).lower() for flag in DTypeUsage}
    for entry, adapter in zip(found["adapters"], adapters, strict=True):
        assert (entry["name"], entry["kind"], entry["backend"]) == (adapter.name, adapter.kind, adapter.backend)
        assert entry["limits"]["max-buffer-size"] >= 1 << 28
        assert set(entry["features"]) <= set(adapter.features)
        assert {"storage", "arithmetic"} <= set(entry["dtypes"]["f32"]) <= flags
        assert entry["recording"] in ("raw", "portable")
        kept = keeps_subnormals(WgpuDevice(adapter.index))
        assert entry["subnormals"] == ("kept" if kept else "flushed")
    assert main(["info"]) == 0
    text = capsys.readouterr().out
    assert all(entry["name"] in text and entry["device"] in text for entry in found["adapters"])
    for entry in found["adapters"]:
        assert f"\nsubnormals: {entry['subnormals']}; f32 " in text
    assert " f32 " in text and "max-buffer-size" in text
    rows = [line.split() for line in text.splitlines() if line.startswith(" f64 ")]
    assert rows == [["f64", "yes", "through", "f32", "–"]] * len(adapters)
    assert all(entry["dtypes"]["f64"] == ["storage"] for entry in found["adapters"])


@pytest.mark.gpu
def test_doctor_is_content_with_a_gpu_and_says_what_a_software_adapter_lacks(capsys) -> None:
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    hardware = any(a.kind != "cpu" for a in provider.adapters())
    assert "ok  kernel on wgpu:0: compiled, ran and gave the right numbers\n" in out
    assert ("tip adapters: only a software adapter: everything works, slowly\n" in out) == (not hardware)
    state = "kept" if keeps_subnormals(WgpuDevice(0)) else "flushed"
    assert f"\nok  subnormals on wgpu:0: {state}; f32 " in out
    assert out.startswith("ok  Python: 3.")
    assert f"adapter wgpu:0: {provider.adapters()[0]}, driver " in out
    for line, following in zip(out.splitlines(), [*out.splitlines()[1:], ""], strict=True):
        assert line.startswith(("FIX ", "tip ")) == following.startswith("    ")
    assert main(["doctor", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["usable"] is True and len(report["findings"]) == sum(
        not s.startswith("    ") for s in out.splitlines()
    )
    assert set(report["findings"][0]) == {"what", "state", "fix", "works"}


@pytest.mark.gpu
def test_doctor_fails_when_no_kernel_runs(capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    from burn_wgpu.backends.wgpu.backend import WgpuBackend
    from burn_wgpu.std.errors import KernelError

    def broken(*_: object) -> None:
        raise KernelError("add: refused")

    monkeypatch.setattr(WgpuBackend, "float_add", broken)
    assert main(["doctor"]) == 1
    assert "FIX kernel on wgpu:0: failed: add: refused\n    update " in capsys.readouterr().out


def test_doctor_names_what_to_install_when_there_is_no_adapter(capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provider, "adapters", lambda: ())
    monkeypatch.setattr(doctor.sys, "platform", "linux")
    monkeypatch.setattr(doctor, "_linux", lambda: [])
    assert main(["doctor"]) == 1
    assert capsys.readouterr().out.endswith(
        "FIX adapters: none\n"
        "    apt-get install mesa-vulkan-drivers (AMD, Intel, and a software adapter), or the NVIDIA driver\n"
    )


def test_doctor_tells_why_wgpu_cannot_be_loaded(capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise OSError("libwgpu_native.so: no such file")

    monkeypatch.setattr(provider, "wgpu", broken)
    assert main(["doctor"]) == 1
    assert capsys.readouterr().out.endswith(
        "FIX wgpu: cannot be loaded: libwgpu_native.so: no such file\n    pip install --force-reinstall wgpu\n"
    )


def test_doctor_looks_at_the_loader_the_drivers_and_the_device_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.ctypes.util, "find_library", lambda name: None)
    monkeypatch.setattr(doctor.glob, "glob", lambda pattern: [])
    monkeypatch.setattr(doctor.os.path, "exists", lambda path: False)
    monkeypatch.delenv("VK_DRIVER_FILES", raising=False)
    monkeypatch.delenv("VK_ICD_FILENAMES", raising=False)
    found = doctor._linux()
    assert [(f.what, f.state) for f in found] == [
        ("Vulkan loader", "libvulkan.so.1 is missing"),
        ("Vulkan drivers", "no driver file (ICD) is installed"),
        ("GPU device files", "none (/dev/dri, /dev/nvidia0): no GPU is visible here; in a container, pass it through"),
    ]
    assert found[0].fix == "apt-get install libvulkan1 (or vulkan-loader)"
    monkeypatch.setenv("VK_DRIVER_FILES", "/nowhere/icd.json")
    assert doctor._linux()[1] == doctor.Finding(
        "Vulkan drivers", "/nowhere/icd.json named by VK_DRIVER_FILES does not exist", "unset VK_DRIVER_FILES"
    )


def test_info_without_an_adapter_points_to_the_doctor(capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provider, "adapters", lambda: ())
    assert main(["info"]) == 0
    assert capsys.readouterr().out.endswith("No WebGPU adapter was found. `burn-wgpu doctor` says what to install.\n")
    assert main(["info", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["adapters"] == []
