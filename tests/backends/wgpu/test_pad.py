"""Padding on the wgpu backend against the reference backend and NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from burn_wgpu.backends.wgpu.tensor import WgpuDevice
from burn_wgpu.contract.options import PadMode
from burn_wgpu.kernel.pad import variants
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import check
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.errors import ShapeError
from tests.backends.wgpu.oracle import REF, REF_DEVICE, B, bits, down, equal, layouts, prefix, up

pytestmark = pytest.mark.gpu

MODES = {"constant": PadMode.constant(3), "reflect": PadMode.reflect(), "edge": PadMode.edge()}
NUMPY = {"constant": {"constant_values": 3}, "reflect": {}, "edge": {}}
PADDINGS = (
    ((0, 0), (0, 0), (0, 1)),
    ((1, 0), (0, 0), (2, 3)),
    ((0, 2), (3, 1), (0, 0)),
    ((2, 2), (1, 3), (5, 4)),
)
KINDS = (*dt.INTS, dt.F32, dt.F16, dt.BF16, dt.F64)


@pytest.fixture(scope="module", params=[False, True], ids=["adapter", "default limits"])
def device(request: Any) -> WgpuDevice:
    return WgpuDevice(0, default_limits=request.param)


def padded(b: Any, t: Any, padding: Any, mode: PadMode) -> Any:
    return getattr(b, f"{prefix(t.dtype)}_pad")(t, padding, mode)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_every_dtype_and_layout_agrees_with_the_reference_and_numpy(
    kind: dt.DType, mode: str, device: WgpuDevice
) -> None:
    values = np.random.default_rng(1).integers(0, 100, (3, 4, 6))
    for padding in PADDINGS:
        want = down(padded(REF, up(values, kind, REF_DEVICE), padding, MODES[mode]))
        made = np.pad(values, padding, mode=mode, **NUMPY[mode])  # type: ignore[call-overload]
        np.testing.assert_array_equal(want, made)
        for name, t in layouts(values, kind, device):
            got = padded(B, t, padding, MODES[mode])
            assert got.dtype is kind and got.layout.packed, name
            assert equal(down(got), want), (name, padding)


def test_no_bit_of_an_element_or_of_the_constant_changes(device: WgpuDevice) -> None:
    x = np.array([[-0.0, np.nan, np.inf, 1e-45]], np.float32)
    x.view(np.uint32)[0, 1] = 0x7FA12345
    got = down(B.float_pad(up(x, dt.F32, device), ((1, 0), (0, 1)), PadMode.constant(-0.0))).view(np.uint32)
    assert got[1, :4].tolist() == x.view(np.uint32)[0].tolist()
    assert got[0].tolist() == [0x80000000] * 5 and got[1, 4] == 0x80000000
    wide = down(B.int_pad(up([1 << 40, -1], dt.I64, device), ((1, 1),), PadMode.constant(-(1 << 35))))
    assert wide.tolist() == [-(1 << 35), 1 << 40, -1, -(1 << 35)]


def test_a_constant_that_is_not_finite_and_one_kernel_for_all_constants(device: WgpuDevice) -> None:
    t = up(np.ones((2, 3)), dt.F16, device)
    assert down(B.float_pad(t, ((0, 0), (1, 0)), PadMode.constant(float("-inf"))))[:, 0].tolist() == [-np.inf] * 2
    known = len(device.plans)
    assert down(B.float_pad(t, ((0, 0), (1, 0)), PadMode.constant(7.0)))[:, 0].tolist() == [7.0] * 2
    assert len(device.plans) == known


def test_sixteen_axes_need_constants_beside_the_parameters(device: WgpuDevice) -> None:
    values = np.arange(2**5).reshape((1, 2) * 5 + (1,) * 6)
    padding = tuple((1, 0) if n == 1 else (0, 1) for n in values.shape)
    for mode in ("constant", "edge"):
        got = down(padded(B, up(values, dt.I32, device), padding, MODES[mode]))
        np.testing.assert_array_equal(got, np.pad(values, padding, mode=mode, **NUMPY[mode]))  # type: ignore[call-overload]


def test_an_expanded_view(device: WgpuDevice) -> None:
    row = up(np.arange(6).reshape(1, 6), dt.U8, device)
    got = down(B.int_pad(B.int_expand(row, (5, 6)), ((4, 1), (5, 2)), PadMode.reflect()))
    np.testing.assert_array_equal(got, np.pad(np.tile(np.arange(6), (5, 1)), ((4, 1), (5, 2)), mode="reflect"))


def test_without_elements_or_without_padding(device: WgpuDevice) -> None:
    nothing = up(np.zeros((0, 2)), dt.F32, device)
    got = B.float_pad(nothing, ((1, 1), (0, 1)), PadMode.constant(4.0))
    assert down(got).tolist() == [[4.0] * 3] * 2
    assert B.float_pad(nothing, ((0, 0), (2, 1)), PadMode.edge()).shape == (0, 5)
    t = up(np.arange(6).reshape(2, 3), dt.F32, device)
    for mode in MODES.values():
        np.testing.assert_array_equal(down(B.float_pad(t, ((0, 0), (0, 0)), mode)), down(t))


def test_pads_that_do_not_fit_are_refused(device: WgpuDevice) -> None:
    t = up(np.zeros((2, 3)), dt.F32, device)
    with pytest.raises(ShapeError, match=r"pad: reflect padding \(0, 3\) of axis 1 with size 3"):
        B.float_pad(t, ((0, 0), (0, 3)), PadMode.reflect())
    with pytest.raises(ShapeError, match=r"pad: edge padding \(1, 0\) of axis 0 with size 0"):
        B.float_pad(up(np.zeros((0, 3)), dt.F32, device), ((1, 0), (0, 0)), PadMode.edge())
    with pytest.raises(ShapeError, match="pad: 1 pairs for a tensor of rank 2"):
        B.float_pad(t, ((0, 0),), PadMode.edge())


def test_the_same_bits_on_the_second_call(device: WgpuDevice) -> None:
    t = up(np.random.default_rng(2).normal(size=(3, 5)), dt.BF16, device)
    made = [bits(B.float_pad(t, ((1, 2), (3, 4)), PadMode.reflect())) for _ in range(2)]
    assert made[0] == made[1]


def test_every_plan_is_one_launch_within_default_limits() -> None:
    for plan in variants(Capability()):
        check(plan, Capability())
        assert len(plan.launches) == 1
        launch = plan.launches[0]
        assert len(launch.params) + 4 * launch.scalars <= 256
