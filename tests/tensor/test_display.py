"""What tensors print, and that printing reads only that."""

from __future__ import annotations

import numpy as np
import pytest

import burn_wgpu
from burn_wgpu import Device, Tensor, set_print_options

BLOCK = """Tensor {
  data:
[[[1.0, 2.5],
  [-0.0, 1e-7]],
 [[NaN, inf],
  [-inf, 16777216.0]]],
  shape:  [2, 2, 2],
  device:  cpu,
  kind:  "Float",
  dtype:  "f32",
}"""

SUMMARY = """Tensor {
  data:
[[0, 1, 2, ..., 1997, 1998, 1999],
 [2000, 2001, 2002, ..., 3997, 3998, 3999]],
  shape:  [2, 2000],
  device:  cpu,
  kind:  "Int",
  dtype:  "i32",
}"""

LONG = """[[0, 1],
 [2, 3],
 ...,
 [1996, 1997],
 [1998, 1999]],
"""


def test_values_are_the_shortest_that_read_back(cpu: Device) -> None:
    data = [[[1.0, 2.5], [-0.0, 1e-7]], [[float("nan"), float("inf")], [-float("inf"), 2.0**24]]]
    assert repr(Tensor(data, device=cpu)) == BLOCK
    thirds = Tensor([1 / 3], device=cpu)
    for dtype, text in (
        ("f32", "[0.33333334]"),
        ("f16", "[0.3333]"),
        ("bf16", "[0.334]"),
        ("f64", "[0.3333333432674408]"),
    ):
        assert str(thirds.cast(dtype)).splitlines()[2] == text + ","


def test_every_bf16_number_reads_back(cpu: Device) -> None:
    from burn_wgpu.std.dtype import BF16, bf16_to_float32, float32_to_bf16
    from burn_wgpu.tensor.display import element

    bits = np.arange(0, 0x7F80, 97, dtype=np.uint16)
    for b, value in zip(bits, bf16_to_float32(bits), strict=True):
        with np.errstate(over="ignore"):
            again = float32_to_bf16(np.asarray([float(element(value, BF16))], np.float32))
        assert again[0] == b


def test_long_tensors_are_summarised(cpu: Device) -> None:
    assert repr(Tensor(np.arange(4000).reshape(2, 2000), device=cpu)) == SUMMARY
    set_print_options(edge_items=2)
    try:
        assert LONG in repr(Tensor(np.arange(2000).reshape(1000, 2), device=cpu))
        set_print_options(threshold=5, precision=2)
        assert "[0.00, 1.00, ..., 8.00, 9.00]" in repr(Tensor(np.arange(10.0), device=cpu))
    finally:
        set_print_options()
    assert burn_wgpu.get_print_options().threshold == 1000


def test_formats(cpu: Device) -> None:
    x = Tensor([1.23456, -2.0], device=cpu)
    assert f"{x:.3}".splitlines()[2] == "[1.235, -2.000],"
    assert f"{x}" == repr(x)
    assert f"{x[0]:8.3f}" == "   1.235"
    assert f"{Tensor([True, False], device=cpu)}".splitlines()[2] == "[true, false],"
    assert repr(Tensor(5, device=cpu)).splitlines()[2:4] == ["5,", "  shape:  [],"]
    assert repr(Tensor.zeros((0, 3), cpu)).splitlines()[2] == "[],"


def test_printing_reads_only_the_edges(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    ops = device.ops("float")
    read = ops.into_data
    monkeypatch.setattr(ops, "into_data", lambda p: sizes.append(p.shape) or read(p))
    text = repr(Tensor.ones((1, 16000), device))
    assert sizes == [(1, 6)]
    assert "[[1.0, 1.0, 1.0, ..., 1.0, 1.0, 1.0]]," in text
