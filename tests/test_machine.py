"""Which devices there are: filters, cards, configuration of several, measured peaks."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from burn_wgpu import Device, devices
from burn_wgpu.machine import (
    DeviceFilter,
    Devices,
    DeviceType,
    Throughput,
    ThroughputError,
    ThroughputKey,
)
from burn_wgpu.runtime import provider
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.errors import ArgumentError, DTypeError
from burn_wgpu.std.quant import QuantConfig, QuantPropagation, QuantScheme
from burn_wgpu.std.settings import DeviceConfig


def adapter(index: int, name: str, backend: str, vendor: str = "v") -> Any:
    return SimpleNamespace(index=index, name=name, backend=backend, vendor=vendor, kind="discrete")


@pytest.fixture
def two_cards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two equal cards, each through two APIs, and one more."""
    rows = (
        adapter(0, "Big", "Vulkan"), adapter(1, "Big", "Vulkan"), adapter(2, "Big", "D3D12"),
        adapter(3, "Big", "D3D12"), adapter(4, "Small", "Vulkan"),
    )  # fmt: skip
    monkeypatch.setattr(provider, "adapters", lambda: rows)
    monkeypatch.setattr(provider, "find_adapter", lambda index: rows[index])


def test_filters_are_sets_of_types() -> None:
    both = DeviceType.CPU | DeviceType.WGPU
    assert both == DeviceFilter(DeviceType.CPU, DeviceType.WGPU) == DeviceFilter([DeviceType.WGPU, DeviceType.CPU])
    assert DeviceFilter().with_type(DeviceType.CPU) | DeviceType.WGPU == both and hash(both) == hash(
        both | DeviceType.CPU
    )
    assert repr(both) == "DeviceFilter(DeviceType.CPU, DeviceType.WGPU)"
    with pytest.raises(DTypeError, match="'cpu' is of type str; it must be a DeviceType"):
        DeviceFilter(["cpu"])  # type: ignore[list-item]


def test_enumerating_lists_what_the_filter_accepts(two_cards: None) -> None:
    found = {str(d) for d in Device.enumerate()}
    assert found == {"wgpu:0", "wgpu:1", "wgpu:2", "wgpu:3", "wgpu:4", "cpu"} == {str(d) for d in devices()}
    listed = {
        DeviceType.CPU: ["cpu"],
        DeviceType.WGPU: ["wgpu:0", "wgpu:1", "wgpu:2", "wgpu:3", "wgpu:4"],
        DeviceType.VULKAN: ["wgpu:0", "wgpu:1", "wgpu:4"],
        DeviceType.DX12: ["wgpu:2", "wgpu:3"],
        DeviceType.METAL: [],
    }
    for wanted, names in listed.items():
        assert [str(d) for d in Device.enumerate(wanted)] == names
        assert [str(d) for d in Device.enumerate([wanted])] == names
    assert [str(d) for d in Device.enumerate(DeviceType.DX12 | DeviceType.CPU)] == ["wgpu:2", "wgpu:3", "cpu"]
    assert Device.enumerate(DeviceFilter()) == [] and type(Device.enumerate().into_vec()) is list


def test_a_card_that_two_apis_reach_is_one(two_cards: None) -> None:
    cards = Device.enumerate_physical()
    assert [(c.name, [str(d) for d in c.devices]) for c in cards] == [
        ("Big", ["wgpu:0", "wgpu:2"]), ("Big", ["wgpu:1", "wgpu:3"]), ("Small", ["wgpu:4"]),
        ("NumPy reference", ["cpu"]),
    ]  # fmt: skip
    assert Device("wgpu:1").identity == ("Big", "Vulkan", "v/Big#1")
    assert Device("wgpu:3").identity.card == Device("wgpu:1").identity.card != Device("wgpu:0").identity.card
    assert Device("cpu").identity == ("NumPy reference", "NumPy", "host")


@pytest.mark.gpu
def test_the_adapters_of_this_machine_have_a_card() -> None:
    found = Device.enumerate(DeviceType.WGPU)
    assert found and all(d.identity.name == d.name for d in found)
    assert sum(len(c.devices) for c in Device.enumerate_physical()) == len(devices())


def test_several_devices_are_configured_together() -> None:
    """In a process of its own: settings are set once."""
    program = (
        "from burn_wgpu import Device, Tensor\n"
        "from burn_wgpu.machine import Devices\n"
        "from burn_wgpu.std.settings import DeviceConfig\n"
        "found = Devices([Device('cpu:3'), Device('cpu:4')])\n"
        "assert found.configure(DeviceConfig(int='i64').with_float_dtype('f16')) is found\n"
        "print([str(Tensor.zeros((1,), device=d).dtype) for d in found], found[0].settings.int_dtype)\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert result.stdout.strip() == "['f16', 'f16'] i64", result.stderr


def test_a_configuration_is_a_value() -> None:
    quantization = QuantConfig(QuantScheme(), QuantPropagation.PROPAGATE)
    config = DeviceConfig().with_float_dtype("bf16").with_int_dtype("i64").with_bool_dtype("bool(u32)")
    assert config == DeviceConfig("bf16", "i64", "bool(u32)")
    assert config.with_quantization(quantization).quantization is quantization
    device = Device.of_handle(type(Device("cpu").handle)(47))
    with pytest.raises(ArgumentError, match="give one or the other"):
        device.configure(config, int_dtype="i32")
    device.configure(config.with_quantization(quantization))
    settings = device.settings
    assert (settings.float_dtype, settings.int_dtype, settings.bool_dtype) == (dt.BF16, dt.I64, dt.BOOL_U32)
    assert settings.quantization is quantization
    assert isinstance(Device.enumerate(), Devices)


def test_the_reference_has_no_peaks_and_what_is_no_key_is_refused() -> None:
    assert Device("cpu").performance_stats([ThroughputKey("copy")]) == []
    with pytest.raises(DTypeError, match="must be a ThroughputKey"):
        Device("cpu").performance_stats(["copy"])  # type: ignore[list-item]


@pytest.mark.gpu
def test_each_key_has_a_measured_peak_or_a_reason() -> None:
    keys = [
        ThroughputKey("copy"), ThroughputKey("copy", dt.U8), ThroughputKey("multiply_add"), ThroughputKey("matmul"),
        ThroughputKey("matmul", dt.F16), ThroughputKey("multiply_add", dt.F16), ThroughputKey("matmul", dt.I32),
        ThroughputKey("sqrt"),  # type: ignore[arg-type]
    ]  # fmt: skip
    found = Device("wgpu").performance_stats(keys)
    assert len(found) == len(keys)
    for key, peak in zip(keys[:5], found, strict=False):
        assert isinstance(peak, Throughput) and peak.key is key
        # A megabyte, or a million operations, a second at least, and no more than any machine of this decade does.
        assert 1e6 < peak.per_second < 1e17 and peak.clock in ("timestamps", "wall")
    for reason, words in zip(
        found[5:], ("kernels multiply and add in f32", "no kernel", "is not measured"), strict=True
    ):
        assert isinstance(reason, ThroughputError) and words in str(reason)
