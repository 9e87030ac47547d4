"""Every accessor of every dtype on the adapter: load → store keeps the bits, element by element and by chunks."""

from __future__ import annotations

import numpy as np
import pytest

from burn_wgpu.backends.wgpu.run import run1
from burn_wgpu.backends.wgpu.tensor import WgpuDevice, WgpuTensor
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import KernelKey, Launch, Out, Plan, fold
from burn_wgpu.shader.prelude import KINDS, RAW64, Prelude, WordKind, words
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.layout import Layout

pytestmark = pytest.mark.gpu

# The kernel is text of the test: `main` comes from the prelude, the file only has to exist.
FILE = "lib/keep"


def copy_plan(kind: WordKind, access_in: str, access_out: str, count: int, out: DType, device: Capability) -> Plan:
    """out[i] = x[i] by accessors; count is a multiple of 4."""
    prelude = Prelude()
    prelude.alias("V", kind.value)
    prelude.storage("x", kind, access_in)  # type: ignore[arg-type]  # one of the two words
    prelude.storage("out", kind, access_out)  # type: ignore[arg-type]
    prelude.params(groups_x="u32", chunks="u32")
    lanes = ", ".join(f"keep(v[{j}])" for j in range(4))
    load = (
        "    let v = load4_x(c);"
        if access_in == "chunk"
        else f"    let v = array<{kind.value}, 4>({', '.join(f'load_x(4u * c + {j}u)' for j in range(4))});"
    )
    if access_out == "chunk":
        store = f"store4_out(c, array<{kind.value}, 4>({lanes}));"
    else:
        n = kind.lanes
        store = " ".join(
            f"store_out({4 // n}u * c + {w}u, {', '.join(f'v[{w * n + j}]' for j in range(n))});" for w in range(4 // n)
        )
    prelude.text(
        "@compute @workgroup_size(64)\n"
        "fn main(@builtin(global_invocation_id) id: vec3<u32>) {\n"
        f"    let c = id.x;\n    if (c >= params.chunks) {{ return; }}\n{load}\n    {store}\n}}"
    )
    grid = fold(-(-count // 256), device)
    key = KernelKey(FILE, prelude.build(), tuple(prelude.uses), 2, 0, 64, frozenset(prelude.features))
    return Plan("copy", 1, (Out.of((count,), out),), (Launch(key, (0, 1), words(grid[0], count // 4), grid),))


def through(device: WgpuDevice, bits: np.ndarray, kind: WordKind, access_in: str, access_out: str) -> np.ndarray:
    """The stored bits after a load and a store."""
    raw = {1: dt.U8, 2: dt.U16, 4: dt.U32, 8: dt.U64}[bits.itemsize]
    lease = device.client.upload(np.ascontiguousarray(bits).view(np.uint8), bits.nbytes)
    tensor = WgpuTensor(lease, Layout.dense(bits.shape), raw, device)
    out = run1(
        device, ("accessors", kind, access_in, access_out, bits.size),
        lambda c: copy_plan(kind, access_in, access_out, bits.size, raw, c), (tensor,),
    )  # fmt: skip
    return device.client.stream.download([(out.lease, 0, bits.nbytes)])[0].view(bits.dtype)


def patterns(kind: WordKind) -> np.ndarray:
    """Stored bits: all of them for one and two bytes, edges and a sample for more."""
    rng = np.random.default_rng(5)
    if kind.per_word == 4:
        return np.arange(256, dtype=np.uint8) if kind.name != "bool_u8" else np.tile(np.uint8([0, 1, 1, 0]), 8)
    if kind.per_word == 2:
        return np.arange(1 << 16, dtype=np.uint32).astype(np.uint16)
    if kind.name == "bool_u32":
        return np.tile(np.uint32([0, 1, 1, 0]), 4)
    if kind.per_word == 1:
        edges = np.array([0, 1, 2**31 - 1, 2**31, 2**32 - 1, 0x3F800000, 0x7F800000, 0xFF800000], np.uint64)
        return np.concatenate([edges, rng.integers(0, 2**32, 1016, np.uint64)]).astype(np.uint32)
    edges64 = np.array([0, 1, 2**63 - 1, 2**63, 2**64 - 1, 2**32, 2**32 - 1, 2**31], np.uint64)
    return np.concatenate([edges64, rng.integers(0, 2**64, 1016, np.uint64, endpoint=False)])


@pytest.mark.parametrize(
    "access", [("element", "element"), ("chunk", "chunk"), ("element", "chunk"), ("chunk", "element")]
)
@pytest.mark.parametrize("name", [*(d.name for d in KINDS if d not in (dt.FLEX32, dt.F64)), "raw64"])
def test_a_load_and_a_store_keep_the_bits(name: str, access: tuple[str, str]) -> None:
    device = WgpuDevice()
    kind = RAW64 if name == "raw64" else KINDS[dt.dtype(name)]
    if kind.feature and not device.capability.has(kind.feature):
        pytest.skip(f"the adapter lacks {kind.feature}")
    bits = patterns(kind)
    result = through(device, bits, kind, *access)
    expected = bits
    if kind.name in ("f16", "bf16", "f32"):  # a NaN stays a NaN, of any payload
        numpy = {"f16": np.float16, "f32": np.float32}
        values = (bits.astype(np.uint32) << 16).view(np.float32) if kind.name == "bf16" else bits.view(numpy[kind.name])
        nan = np.isnan(values)
        again = (result.astype(np.uint32) << 16).view(np.float32) if kind.name == "bf16" else result.view(values.dtype)
        np.testing.assert_array_equal(np.isnan(again), nan)
        result, expected = result[~nan], expected[~nan]
    np.testing.assert_array_equal(result, expected)


@pytest.mark.filterwarnings("ignore::burn_wgpu.PrecisionWarning")
@pytest.mark.parametrize("access", ["element", "chunk"])
def test_doubles_are_rounded_to_singles_and_back(access: str) -> None:
    rng = np.random.default_rng(3)
    bits = rng.integers(0, 2**64, 4000, np.uint64, endpoint=False)
    near = (rng.standard_normal(4000) * 10.0 ** rng.integers(-46, 40, 4000)).view(np.uint64)
    edges = np.array([0.0, -0.0, 1.0, 2.0**-126, 2.0**-127, 2.0**-149, 2.0**-150, 1.1 * 2.0**-150,
                      3.4028235677973366e38, 3.4028235677973365e38, np.inf, -np.inf, np.nan, 1 + 2.0**-24,
                      1 + 3 * 2.0**-24, 1 + 2.0**-23])  # fmt: skip
    values = np.concatenate([bits.view(np.float64), near.view(np.float64), edges])
    result = through(WgpuDevice(), values, KINDS[dt.F64], access, access)
    with np.errstate(all="ignore"):
        expected = values.astype(np.float32).astype(np.float64)
    np.testing.assert_array_equal(result, expected)
    zero = expected == 0
    np.testing.assert_array_equal(np.signbit(result[zero]), np.signbit(expected[zero]))
