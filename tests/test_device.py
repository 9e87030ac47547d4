"""`Device`: specifications, identity, the default, settings, and what stays lazy."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys

import pytest

import burn_wgpu.device as device_module
from burn_wgpu import Device, Tensor, default_device, devices, set_default_device
from burn_wgpu.std.dtype import BF16, BOOL, BOOL_U8, BOOL_U32, F16, F32, F64, I16, I32, I64, DTypeUsage
from burn_wgpu.std.errors import AlreadyInitialized, ArgumentError, DTypeError, NoAdapterError, UnsupportedDType


def python(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A fresh interpreter, for what happens once in a process."""
    env = {**os.environ, **environment}
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, env=env)


def test_equal_specifications_are_one_object() -> None:
    assert Device("wgpu") is Device("wgpu:0") and Device("cpu") is Device("cpu:0")
    assert Device("wgpu", float="f16") is Device("wgpu:0", float="float16")
    assert Device(Device("cpu")) is Device("cpu")
    assert Device("wgpu") is not Device("wgpu", float="f16")


def test_equality_is_hardware_identity() -> None:
    assert Device("wgpu") == Device("wgpu", float="f16")
    assert hash(Device("cpu")) == hash(Device("cpu", int="i64"))
    assert Device("wgpu:0") != Device("wgpu:1") and Device("cpu") != Device("wgpu")
    assert Device("cpu") != "cpu"


def test_names_and_representations() -> None:
    assert str(Device("wgpu")) == "wgpu:0" and repr(Device("wgpu")) == "Device('wgpu:0')"
    assert str(Device("cpu")) == "cpu" and repr(Device("cpu", float="f64")) == "Device('cpu', float='f64')"
    assert Device("cpu").name == "NumPy reference" and Device("cpu").kind == "cpu"


def test_pickle_and_copy_keep_the_object() -> None:
    for device in (Device("cpu"), Device("wgpu:0", float="f16", int="i64"), Device("wgpu", default_limits=True)):
        assert pickle.loads(pickle.dumps(device)) is device
        assert copy.deepcopy(device) is device and copy.copy(device) is device


def test_what_is_no_device_says_so() -> None:
    with pytest.raises(ArgumentError) as caught:
        Device("cuda:0")
    assert str(caught.value) == (
        "device: 'cuda:0' is no device; use 'wgpu', 'wgpu:1', 'wgpu:part of a name' or 'cpu' (devices() lists all)"
    )
    with pytest.raises(ArgumentError):
        Device("wgpu:-1")
    with pytest.raises(DTypeError) as wrong:
        Device("cpu", float="i32")
    assert str(wrong.value) == "device: i32 was given as the float dtype; it is of kind int"


@pytest.mark.gpu
def test_an_adapter_is_found_by_its_name() -> None:
    name = Device("wgpu:0").name
    assert Device(f"wgpu:{name.split()[0].lower()}") == Device("wgpu:0")
    with pytest.raises(NoAdapterError) as caught:
        Device("wgpu:no such thing")
    assert f"wgpu:0 is {name}" in str(caught.value)


@pytest.mark.gpu
def test_a_missing_adapter_says_what_there_is() -> None:
    with pytest.raises(NoAdapterError, match="there is no adapter 77; found 0: "):
        Tensor([1.0], device="wgpu:77")


@pytest.mark.gpu
def test_devices_lists_adapters_and_the_reference() -> None:
    found = devices()
    assert found[0] is Device("wgpu:0") and found[-1] is Device("cpu")
    assert found[0].kind in ("discrete", "integrated", "virtual", "cpu", "other")


def test_the_environment_chooses_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_module, "_default", None)
    monkeypatch.setenv("BURN_DEVICE", "cpu")
    assert default_device() is Device("cpu") and Device() is Device("cpu")
    assert Tensor([1.0]).device is Device("cpu")
    set_default_device("cpu:1")
    assert Tensor.zeros(1).device is Device("cpu:1")


@pytest.mark.gpu
def test_a_software_adapter_is_used_with_one_line_of_warning() -> None:
    program = "from burn_wgpu import Tensor; a = Tensor([1.0]); b = Tensor([2.0]); print(a.device, a.device.kind)"
    result = python(program, BURN_DEVICE="")
    assert result.returncode == 0, result.stderr
    kind = result.stdout.split()[1]
    lines = [line for line in result.stderr.splitlines() if "burn_wgpu" in line]
    if kind != "cpu":
        assert lines == []
        return
    name = Device("wgpu:0").name
    assert len(lines) == 1 and lines[0].startswith(f"burn_wgpu: no GPU was found; computing in software on {name} (")
    assert lines[0].endswith("BURN_DEVICE=wgpu:0 chooses it in silence.")


def test_without_adapters_the_default_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from burn_wgpu.runtime import provider

    monkeypatch.setattr(provider, "adapters", lambda: ())
    monkeypatch.setattr(device_module, "_default", None)
    monkeypatch.delenv("BURN_DEVICE", raising=False)
    with pytest.raises(NoAdapterError) as caught:
        default_device()
    assert str(caught.value) == (
        "device: no WebGPU adapter was found, and none was asked for. `burn-wgpu doctor` says what to install; "
        "Device('cpu') or BURN_DEVICE=cpu is the NumPy reference"
    )


def test_naming_a_device_loads_no_backend() -> None:
    program = (
        "import sys; from burn_wgpu import Device; d = Device('wgpu:1'); repr(d); hash(d);"
        "print([m for m in sys.modules if m == 'wgpu' or m.startswith('burn_wgpu.backends.wgpu')])"
    )
    result = python(program)
    assert result.stdout.strip() == "[]", result.stderr


def test_settings_are_fixed_by_the_first_operation_not_by_a_question() -> None:
    device = Device("cpu:21")
    assert (device.settings.float_dtype, device.settings.int_dtype) == (F32, I32)
    assert device.supports_dtype("f64") and device.name
    device.configure(float_dtype="f64", int_dtype=I16)
    assert Tensor([1.0], device=device).dtype is F64 and Tensor([1], device=device).dtype is I16
    with pytest.raises(AlreadyInitialized) as caught:
        device.configure(float_dtype="f32")
    assert str(caught.value) == (
        f"configure: the settings of cpu:21 are fixed to f64, i16, {device.settings.bool_dtype}, wanted f32, i16, "
        f"{device.settings.bool_dtype}; configure a device once, before its first operation"
    )


def test_an_operation_fixes_the_settings_even_with_a_dtype_of_its_own() -> None:
    device = Device("cpu:22")
    Tensor([1.0], device=device, dtype="f16")
    with pytest.raises(AlreadyInitialized):
        device.configure(float_dtype="f16")


def test_configure_wants_what_the_device_can_do(monkeypatch: pytest.MonkeyPatch) -> None:
    device = Device("cpu:23")
    monkeypatch.setitem(device._usage, BF16, DTypeUsage.NONE)
    with pytest.raises(UnsupportedDType) as caught:
        device.configure(float_dtype="bf16")
    assert str(caught.value) == (
        "configure: cpu:23 (NumPy reference) does not support bf16; device.dtype_usage tells what it can do"
    )
    with pytest.raises(DTypeError):
        device.configure(int_dtype="f32")
    device.configure(float_dtype="f16")
    assert Tensor.zeros(1, device).dtype is F16


def test_a_specification_with_dtypes_has_settings_of_its_own() -> None:
    wide = Device("cpu", float="f64", int="i64")
    assert Tensor([1.0], device=wide).dtype is F64 and Tensor([2**40], device=wide).dtype is I64
    assert Tensor([1.0], device="cpu").dtype is F32
    mixed = Tensor([1.0], device=wide, dtype="f32") + Tensor([2.0], device="cpu")
    assert mixed.tolist() == [3.0] and mixed.device is wide


def test_bool_storage_is_the_device_s(monkeypatch: pytest.MonkeyPatch) -> None:
    for stored in (BOOL, BOOL_U8, BOOL_U32):
        device = Device("cpu", bool=stored)
        x = Tensor([1.0, 3.0], device=device)
        for mask in (x > 2, Tensor([False, True], device=device), x.bool() & (x > 2), Tensor.zeros(2, device, bool)):
            assert mask.dtype is stored
        assert (x > 2).tolist() == [False, True] and x[x > 2].tolist() == [3.0]


@pytest.mark.parametrize("spec", ["cpu", pytest.param("wgpu", marks=pytest.mark.gpu)])
def test_device_functions(spec: str) -> None:
    device = Device(spec)
    x = Tensor.ones((100, 100), device)
    device.flush()
    device.sync()
    device.staging(x.to_data())
    assert device.dtype_usage("f32") & DTypeUsage.general() == DTypeUsage.general()
    assert device.supports_dtype("f32") is True
    output, duration = device.profile(lambda: (x + x).sum())
    assert output.item() == 20_000 and (duration.resolve() or 0) >= 0
    assert device.memory_persistent_allocations(lambda: 5) == 5
    usage = device.memory_pool_usage()
    assert usage is None or usage.reserved_bytes >= usage.in_use_bytes
    capacity = device.memory_capacity()
    assert capacity is None or capacity > 0
    assert device.memory_pool_report() is None or isinstance(device.memory_pool_report(), list)
    device.memory_cleanup()
    assert x.sum().item() == 10_000


@pytest.mark.gpu
def test_a_device_with_default_limits_is_another_one() -> None:
    small = Device("wgpu:0", default_limits=True)
    assert small != Device("wgpu:0")
    assert (Tensor([1.0], device=small) + 1).tolist() == [2.0]


@pytest.mark.parametrize("spec", ["cpu", pytest.param("wgpu", marks=pytest.mark.gpu)])
def test_the_names_of_kinds_ask_for_the_default_dtypes(spec: str) -> None:
    device = Device(spec, float="f16", int="u8")
    for kind, dtype in ((float, "f16"), (int, "u8"), (bool, device.settings.bool_dtype)):
        assert device.dtype_usage(kind) == device.dtype_usage(kind.__name__) == device.dtype_usage(dtype)
    assert device.supports_dtype(bool) and device.supports_dtype("int")
