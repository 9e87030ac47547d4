"""Plans of matrix products: what they choose, and that nothing exceeds limits. No device is needed."""

from __future__ import annotations

import re
import struct
from itertools import product

import pytest

from burn_wgpu.kernel.matmul import K_LIMITS, KERNELS, TILES, matmul_plan
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.compose import compose
from burn_wgpu.shader.launch import Launch, Out, Plan, check
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.errors import ArgumentError, DTypeError
from burn_wgpu.std.layout import Layout, Shape

DEFAULT = Capability(features=frozenset({"shader-int64"}))
BIG = Capability(
    max_binding_bytes=(1 << 31) - 4, max_buffer_bytes=1 << 34, max_workgroup_bytes=48 << 10, max_invocations=1024,
    features=frozenset({"shader-int64"}),
)  # fmt: skip
SOFTWARE = Capability(software=True)


def plan(lhs: Shape, rhs: Shape, device: Capability = BIG, kind: DType = dt.F32, **options: object) -> Plan:
    return matmul_plan("matmul", Layout.dense(lhs), Layout.dense(rhs), kind, device, **options)  # type: ignore[arg-type]


def params(launch: Launch) -> dict[str, int]:
    """The launch's parameters by name."""
    found = re.search(r"struct Params \{([^}]*)\}", launch.key.prelude)
    assert found
    names = re.findall(r"(\w+): u32,", found.group(1))
    return dict(zip(names, struct.unpack(f"<{len(names)}I", launch.params), strict=True))


def constant(launch: Launch, name: str) -> int:
    found = re.search(rf"const {name}: u32 = u32\((\d+)\);", launch.key.prelude)
    assert found, name
    return int(found.group(1))


def kernel_of(made: Plan) -> str:
    """The name by which the first kernel can be asked for, with the splits of k."""
    launch = made.launches[0]
    file = launch.key.file.removeprefix("matmul/")
    splits = params(made.launches[1])["splits"] if len(made.launches) == 2 else 1
    if file == "tile":
        rows, columns, depth = (constant(launch, n) for n in ("TILE_M", "TILE_N", "DEPTH"))
        file = next(
            name for name, tile in TILES.items() if (tile.rows, tile.columns, tile.depth) == (rows, columns, depth)
        )
    return f"{file}/{splits}"


@pytest.mark.parametrize(
    ("lhs", "rhs", "wanted"),
    [
        ((4096, 4096), (4096, 4096), "tile_64x128/1"),
        ((2048, 2048), (2048, 2048), "tile_64x128/1"),
        ((65536, 256), (256, 64), "tile_128x64/1"),
        ((1536, 1536), (1536, 1536), "tile_64x128_deep/1"),
        ((1024, 1024), (1024, 1024), "tile_64x64/1"),
        ((512, 512), (512, 512), "tile_64x64/4"),
        ((96, 512, 64), (96, 64, 512), "tile_64x128/1"),
        ((256, 256), (256, 256), "tile_32x32/1"),
        ((40, 65536), (65536, 40), "tile_32x32/256"),
        ((1, 4096), (4096, 4096), "gemv/8"),
        ((4096, 4096), (4096, 1), "gemv/1"),
        ((4, 512), (512, 512), "gemv/8"),
        ((1, 1 << 20), (1 << 20, 1), "gemv/256"),
        ((16, 4096), (4096, 4096), "tile_32x32/8"),
        ((8, 4096), (4096, 4096), "gemv/8"),
        ((70_000, 4, 5), (70_000, 5, 6), "tiny/1"),
        ((1000, 5), (5, 1000), "tiny/1"),
        ((30, 0), (0, 40), "tiny/1"),
        ((17, 100), (100, 200), "tile_32x32/1"),
    ],
)
def test_the_kernel_follows_from_the_sizes(lhs: Shape, rhs: Shape, wanted: str) -> None:
    assert kernel_of(plan(lhs, rhs)) == wanted


def test_a_device_with_little_workgroup_memory_gets_tiles_that_fit() -> None:
    assert kernel_of(plan((1536, 1536), (1536, 1536), DEFAULT)) == "tile_64x64/1"
    assert kernel_of(plan((2048, 2048), (2048, 2048), DEFAULT)) == "tile_64x128/1"
    assert kernel_of(plan((2048, 2048), (2048, 2048), SOFTWARE)) == "tile_32x32/1"


def test_64_bit_integers_take_the_small_kernel() -> None:
    assert kernel_of(plan((500, 500), (500, 500), kind=dt.I64)) == "small/1"
    assert kernel_of(plan((1, 500), (500, 500), kind=dt.U64)) == "small/1"


def test_a_shared_right_matrix_makes_one_tall_product() -> None:
    made = plan((8, 128, 256), (1, 256, 512))
    assert params(made.launches[0])["m"] == 1024
    assert made.outputs == (Out.of((8, 128, 512), dt.F32),)
    x = Layout.dense((128, 8, 256)).swap_dims(0, 1)  # rows that no view can merge
    made = matmul_plan("matmul", x, Layout.dense((1, 256, 512)), dt.F32, BIG)
    assert params(made.launches[0])["m"] == 128


def test_an_empty_result_needs_no_launch() -> None:
    for lhs, rhs in (((0, 3), (3, 4)), ((2, 3), (3, 0)), ((0, 2, 3), (1, 3, 4))):
        made = plan(lhs, rhs)
        assert made.launches == () and made.outputs[0].layout.size == 0


def test_rows_that_share_words_go_through_a_second_kernel() -> None:
    assert len(plan((64, 64), (64, 65), kind=dt.F16).launches) == 2
    assert len(plan((64, 64), (64, 66), kind=dt.F16).launches) == 2
    assert len(plan((64, 64), (64, 68), kind=dt.F16).launches) == 1
    assert len(plan((64, 64), (64, 65), kind=dt.F32).launches) == 1
    # One row: its last chunk ends in the buffer's padding.
    assert len(plan((1, 500), (500, 65), kind=dt.F16, splits=1).launches) == 1
    assert len(plan((2, 1, 500), (2, 500, 65), kind=dt.F16, splits=1).launches) == 2


def test_the_bias_is_applied_by_the_last_kernel_only() -> None:
    bias = Layout.dense((512,))
    whole = plan((1024, 1024), (1024, 512), kind=dt.F32, bias=bias, splits=1)
    assert [x.operands for x in whole.launches] == [(0, 1, 2, 3)]
    split = plan((1024, 1024), (1024, 512), kind=dt.F32, bias=bias, splits=4)
    assert [x.operands for x in split.launches] == [(0, 1, 4), (4, 2, 3)]
    assert split.scratch == (4 * 1024 * 512 * 4,)
    assert "load_bias" not in split.launches[0].key.prelude


SHAPES: list[tuple[Shape, Shape]] = [
    ((1, 1), (1, 1)), ((500, 500), (500, 500)), ((127, 129), (129, 65)), ((2, 3, 33, 20), (2, 1, 20, 34)),
    ((1, 4096), (4096, 4100)), ((3, 77), (77, 5)), ((1, 1 << 22), (1 << 22, 1)), ((70_000, 16, 24), (70_000, 24, 17)),
    ((64, 1 << 21), (1 << 21, 8)), ((70_000, 4, 5), (1, 5, 6)), ((4, 0), (0, 4)),
]  # fmt: skip


@pytest.mark.parametrize("kind", [dt.F32, dt.F16, dt.BF16, dt.I32, dt.I64, dt.U8])
@pytest.mark.parametrize(("lhs", "rhs"), SHAPES)
def test_plans_fit_the_default_limits(lhs: Shape, rhs: Shape, kind: DType) -> None:
    for left, right in product((False, True), repeat=2):
        r = len(lhs)
        a = Layout.dense((*lhs[:-2], lhs[-1], lhs[-2])).swap_dims(r - 2, r - 1) if left else Layout.dense(lhs)
        b = Layout.dense((*rhs[:-2], rhs[-1], rhs[-2])).swap_dims(r - 2, r - 1) if right else Layout.dense(rhs)
        made = matmul_plan("matmul", a, b, kind, DEFAULT)
        check(made, DEFAULT)
        for launch in made.launches:
            assert iterations(launch) < 60_000
            assert len(launch.params) <= 256
            text = compose(launch.key)
            assert "fn main" in text
            assert declared_workgroup_bytes(text, launch) <= launch.key.workgroup_bytes


def iterations(launch: Launch) -> int:
    """Turns of all loops of one invocation."""
    given, file = params(launch), launch.key.file
    if file == "matmul/tile":
        return -(-min(given["k"], given["k_span"]) // constant(launch, "DEPTH")) + 1
    if file == "matmul/small":
        tile = constant(launch, "TILE")
        return -(-min(given["k"], given["k_span"]) // tile) * (1 + 4 + tile)
    if file == "matmul/gemv":
        deep = constant(launch, "THREADS") // constant(launch, "WIDE")
        return given["units_span"] // deep + 1 + 9 * (1 + constant(launch, "VECTORS"))
    return given["splits"] if file == "matmul/finish" else given["k"]


def declared_workgroup_bytes(text: str, launch: Launch) -> int:
    """What the text's workgroup variables take."""
    constants = {name: int(v) for name, v in re.findall(r"const (\w+): u32 = u32\((\d+)\);", text)}
    if "TILE" in constants:
        constants["PITCH"] = constants["TILE"] + 1
    value = re.search(r"alias V = (\w+);", launch.key.prelude)
    assert value
    total = 0
    for element, size in re.findall(r"var<workgroup> \w+: array<([\w<>]+), ([^>]+)>;", text):
        count = eval(re.sub(r"(\d)u\b", r"\1", size), {}, constants)  # products of constants
        total += count * (8 if value.group(1).endswith("64") else 4) * (4 if element.startswith("vec4") else 1)
    return int(total)


def test_every_kernel_splits_a_sum_that_is_too_long_for_a_loop() -> None:
    for kernel in KERNELS:
        if kernel == "tiny":
            continue
        k = 3 * K_LIMITS[kernel]
        rows = 2 if kernel == "gemv" else 40
        made = plan((rows, k), (k, 40), kernel=kernel)
        assert len(made.launches) == 2 and params(made.launches[1])["splits"] >= 3
        assert iterations(made.launches[0]) < 60_000


def test_all_kernels_fit_the_default_limits_but_the_deep_tile() -> None:
    for kernel in KERNELS:
        shape = (2, 40) if kernel == "gemv" else (40, 40)
        made = plan(shape, (40, 40), kernel=kernel)
        fits = all(launch.key.workgroup_bytes <= DEFAULT.max_workgroup_bytes for launch in made.launches)
        assert fits == (kernel != "tile_64x128_deep")
        assert all(launch.key.invocations <= 256 for launch in made.launches)


def test_what_has_no_product_is_named() -> None:
    square = Layout.dense((2, 2))
    with pytest.raises(DTypeError) as caught:
        matmul_plan("float_matmul", square, square, dt.BOOL_U8, DEFAULT)
    assert str(caught.value) == "float_matmul: there is no product of bool(u8) on default limits; cast to f32 or i32"
    with pytest.raises(ArgumentError) as unknown:
        matmul_plan("float_matmul", square, square, dt.F32, DEFAULT, kernel="fast")
    assert str(unknown.value) == f"float_matmul: there is no kernel 'fast'; there are {', '.join(KERNELS)}"
    with pytest.raises(ArgumentError) as many:
        matmul_plan("matmul", Layout.dense((9, 9)), Layout.dense((9, 9)), dt.F32, DEFAULT, kernel="gemv")
    assert str(many.value) == (
        "matmul: the kernel 'gemv' takes at most 8 vectors of 32-bit values, not 9 of f32; use tiny or small"
    )
    with pytest.raises(DTypeError) as wide:
        matmul_plan("matmul", square, square, dt.I64, DEFAULT, kernel="tile_32x32")
    assert str(wide.value) == ("matmul: the kernel 'tile_32x32' has no 64-bit integers; use small or tiny")
    with pytest.raises(DTypeError) as whole:
        matmul_plan("linear", square, square, dt.I32, DEFAULT, activation="relu")
    assert str(whole.value) == "linear: the activation 'relu' needs floats, but the product is i32"
