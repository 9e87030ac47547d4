"""Matrix products [.., m, k] · [.., k, n]: broadcast leading axes, any strides, an optional bias and activation.

Five kernels (shaders/matmul/), chosen by `choose`, or by name:

| name | for |
|---|---|
| tile_ROWSxCOLUMNS, …_deep | big products: tiles in workgroup memory, blocks of results in registers, unrolled |
| small | 64-bit integers; short and plain, any strides |
| gemv | m or n at most 8: reads the matrix once, as wide as its strides allow |
| tiny | many tiny matrices, k = 0: a thread computes four results |

Any of them but `tiny` may split k over workgroups: then it writes partial sums, which `finish` adds in order. The same
second kernel rounds results whose rows do not begin at a whole word (f16 with an odd n). Float operands are widened to
f32, summed in f32 and rounded once. Same inputs, same bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product as pairs
from math import prod

from burn_wgpu.kernel.matmul_text import Side, Tile, declare_output, declare_side, gemv_text, tile_text
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import KernelKey, Launch, Out, Plan, countable, fold
from burn_wgpu.shader.prelude import KINDS, Prelude, WordKind, words
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.errors import ArgumentError, DTypeError
from burn_wgpu.std.layout import Layout, Shape, collapse_together

TILES = {
    "tile_64x128": Tile(64, 128, 8, 16, 8, last_apart=True),
    "tile_128x64": Tile(128, 64, 8, 16, 8, last_apart=True),
    "tile_64x128_deep": Tile(64, 128, 16, 8, 8),
    "tile_64x64": Tile(64, 64, 16, 8, 4),
    "tile_32x32": Tile(32, 32, 8, 4, 4),
}
KERNELS = (*TILES, "small", "gemv", "tiny")
SMALL = 16  # side of its square
VECTORS = 8  # most vectors that gemv takes
FLAT_THREADS = 256  # of tiny and finish
BUSY = 256  # workgroups that keep a big GPU busy
STEPS = 50_000  # most loop iterations of an invocation: Mesa 22 stops at 65,535 in silence
_WORDS = {"f32": dt.F32, "i32": dt.I32, "u32": dt.U32, "i64": dt.I64, "u64": dt.U64}


@dataclass(frozen=True, slots=True)
class Matrices:
    """An operand as a batch of matrices: strides in elements over (batch axes), its outer axis, and k."""

    kind: WordKind
    offset: int
    batch: Shape
    outer: int
    along: int

    def side(self, name: str, outer_size: int, k: int) -> Side:
        """How a kernel reads it: along the axis of stride 1, four at a time if everything is a multiple of four."""
        along_k = self.along == 1 or (self.outer != 1 and abs(self.along) <= abs(self.outer))
        unit, other, extent = (self.along, self.outer, k) if along_k else (self.outer, self.along, outer_size)
        wide = (
            unit == 1
            and self.kind.per_word > 0
            and extent % 4 == 0
            and all(s % 4 == 0 for s in (other, self.offset, *self.batch))
        )
        return Side(name, self.kind, along_k, wide)


@dataclass(frozen=True, slots=True)
class Product:
    """What is to be computed, after leading axes were merged.

    batch       sizes of the batch axes, as few as address both operands
    m, n, k     of each matrix
    a, b        operands; a's outer axis is m, b's is n
    out         storage of the result
    bias        layout of the bias [n], of the result's dtype
    activation  name of a float function of one argument, applied after the bias
    """

    batch: Shape
    m: int
    n: int
    k: int
    a: Matrices
    b: Matrices
    out: WordKind
    bias: Layout | None = None
    activation: str | None = None

    @property
    def matrices(self) -> int:
        return prod(self.batch)

    @property
    def value(self) -> str:
        return self.out.value

    @property
    def size(self) -> int:
        return self.matrices * self.m * self.n


def matmul_plan(
    operation: str,
    lhs: Layout,
    rhs: Layout,
    dtype: DType,
    device: Capability,
    bias: Layout | None = None,
    activation: str | None = None,
    kernel: str | None = None,
    splits: int | None = None,
) -> Plan:
    """lhs [.., m, k] · rhs [.., k, n] (+ bias [n], then activation) → [.., m, n], all of one dtype.

    The inputs are lhs, rhs and, if there is one, the bias. `kernel` and `splits` override the choice.
    Raises DTypeError for bool, which has no product.
    """
    if dtype not in KINDS or KINDS[dtype].value not in _WORDS:
        raise DTypeError(f"{operation}: there is no product of {dtype} on {device.adapter}; cast to f32 or i32")
    if activation is not None and not dtype.is_float:
        raise DTypeError(f"{operation}: the activation '{activation}' needs floats, but the product is {dtype}")
    shape = (*(max(p, q) if 0 not in (p, q) else 0 for p, q in zip(lhs.shape[:-2], rhs.shape[:-2], strict=True)),
             lhs.shape[-2], rhs.shape[-1])  # fmt: skip
    out = Out.of(shape, dtype)
    inputs = 2 if bias is None else 3
    if out.layout.size == 0:
        return Plan(operation, inputs, (out,), ())
    countable(operation, lhs.shape[-1], "terms of one product", "multiply slices and add the products", device)
    product = _product(lhs, rhs, shape, dtype, bias, activation)
    if kernel is None:
        kernel, chosen = choose(product, device)
        splits = splits or chosen
    elif kernel not in KERNELS:
        raise ArgumentError(f"{operation}: there is no kernel '{kernel}'; there are {', '.join(KERNELS)}")
    splits = max(splits or 1, -(-product.k // K_LIMITS[kernel]), 1)
    if kernel == "tiny":
        return Plan(operation, inputs, (out,), (_tiny(product, device),))
    builder = _gemv if kernel == "gemv" else _small if kernel == "small" else _tile
    direct = splits == 1 and (_owns_words(product, kernel) or product.out.lanes == 1)
    if direct:
        launch, _ = builder(product, kernel, 1, False, device)
        return Plan(operation, inputs, (out,), (launch,))
    launch, splits = builder(product, kernel, splits, True, device)
    scratch = splits * product.size * _word(product).size_bytes
    first = Launch(launch.key, (0, 1, inputs + 1), launch.params, launch.grid)
    return Plan(operation, inputs, (out,), (first, _finish(product, splits, inputs, device)), (scratch,))


def choose(product: Product, device: Capability) -> tuple[str, int]:
    """The kernel for a product and over how many workgroups its k is split; see the module."""
    m, n, k, count = product.m, product.n, product.k, product.matrices
    if k == 0:
        return "tiny", 1
    wide_value = product.value in ("i64", "u64")
    if not wide_value and min(m, n) <= VECTORS and k * max(m, n) >= 256:
        return "gemv", _gemv_splits(product)
    if (m <= 16 and n <= 16 and k <= 128) or k <= 8:
        return "tiny", 1
    if wide_value:
        return "small", _splits(count * -(-m // SMALL) * -(-n // SMALL), k, 256)
    small = device.software or min(m, n) <= 32 or m * n * count <= 1 << 16
    for kernel, least in (("tile_128x64" if n <= 64 else "tile_64x128", 2 * BUSY), ("tile_64x128_deep", BUSY)):
        tile = TILES[kernel]
        if not small and _groups(product, tile) >= least and tile.workgroup_bytes <= device.max_workgroup_bytes:
            return kernel, 1
    if small:  # light workgroups: many more of them run at once
        return "tile_32x32", _splits(_groups(product, TILES["tile_32x32"]), k, 256, 4 * BUSY)
    return "tile_64x64", _splits(_groups(product, TILES["tile_64x64"]), k, 128)


def _groups(product: Product, tile: Tile) -> int:
    return product.matrices * -(-product.m // tile.rows) * -(-product.n // tile.columns)


def _splits(groups: int, k: int, least: int, wanted: int = BUSY) -> int:
    """Splits of k that make about `wanted` workgroups, each with at least `least` of k."""
    return max(1, min(wanted // groups, k // least))


def _owns_words(product: Product, kernel: str) -> bool:
    """Whether a thread's four results are a whole chunk of the output."""
    if kernel != "gemv":
        return product.n % 4 == 0
    rows, vectors = max(product.m, product.n), min(product.m, product.n)
    return vectors == 1 and (rows % 4 == 0 or product.matrices == 1)


def _word(product: Product) -> DType:
    """The dtype of partial sums."""
    return _WORDS[product.value]


def _product(
    lhs: Layout, rhs: Layout, shape: Shape, dtype: DType, bias: Layout | None, activation: str | None
) -> Product:
    kind = KINDS[dtype]
    m, n, k = shape[-2], shape[-1], lhs.shape[-1]
    lhs = lhs.expand((*shape[:-2], m, k))
    rhs = rhs.expand((*shape[:-2], k, n))
    rows = prod(shape[:-1])
    if rows != m and all(s == 0 or size == 1 for s, size in zip(rhs.strides[:-2], shape[:-2], strict=True)):
        merged = lhs.reshape((rows, k)) if k else Layout.dense((rows, 0))
        if merged is not None:  # one tall matrix times a shared one
            lhs, m = merged, rows
            rhs = Layout.of((k, n), rhs.strides[-2:], rhs.offset)
    batch, (a_batch, b_batch) = collapse_together(
        [Layout.of(x.shape[:-2], x.strides[:-2]) if x.size else Layout.dense(x.shape[:-2]) for x in (lhs, rhs)]
    )
    strides = [
        [0 if size == 1 else s for size, s in zip(x.shape[-2:], x.strides[-2:], strict=True)] for x in (lhs, rhs)
    ]
    a = Matrices(kind, lhs.offset, a_batch, strides[0][0], strides[0][1])
    b = Matrices(kind, rhs.offset, b_batch, strides[1][1], strides[1][0])
    return Product(batch, m, n, k, a, b, kind, bias, activation)


# --------------------------------------------------------------------------------------------- what kernels share


class _Builder:
    """A prelude with the parameters' names and values side by side."""

    def __init__(self, product: Product) -> None:
        self.product = product
        self.prelude = Prelude()
        self.prelude.alias("V", product.value)
        self.names: list[str] = []
        self.values: list[int] = []

    def param(self, **fields: int) -> None:
        self.names += fields
        self.values += fields.values()

    def operands(self, *pairs: tuple[Side, Matrices]) -> None:
        """Binds the operands and passes their strides."""
        batch = self.product.batch
        for axis in range(1, len(batch)):
            self.param(**{f"z{axis}": batch[axis]})
        for side, matrices in pairs:
            declare_side(self.prelude, side, len(batch))
            x = side.name
            self.param(**{f"{x}_at": matrices.offset, f"{x}_o": matrices.outer, f"{x}_k": matrices.along})
            self.param(**{f"{x}_z{axis}": s for axis, s in enumerate(matrices.batch)})

    def output(self, chunked: bool, partial: bool) -> None:
        """Binds the output, before it the bias; partial sums take neither bias nor activation."""
        product, prelude = self.product, self.prelude
        if partial:
            declare_output(prelude, KINDS[_word(product)], chunked, _epilogue(product.value, None, None))
            return
        if product.bias is not None:
            prelude.storage("bias", product.out)
            self.param(bias_at=product.bias.offset, bias_s=product.bias.strides[0])
        text = _epilogue(product.value, product.bias, product.activation)
        if product.activation is not None:
            prelude.use("elementwise/float", "elementwise/float_math", "elementwise/activation")
        declare_output(prelude, product.out, chunked, text)

    def launch(
        self, file: str, operands: Sequence[int], groups: int, threads: int, workgroup_bytes: int, device: Capability
    ) -> Launch:
        prelude = self.prelude
        grid = fold(groups, device)
        prelude.params(groups_x="u32", groups="u32", **dict.fromkeys(self.names, "u32"))
        prelude.const("THREADS", threads)
        key = KernelKey(
            f"matmul/{file}", prelude.build(), tuple(prelude.uses), prelude.bindings, workgroup_bytes, threads,
            frozenset(prelude.features), trusted=True,
        )  # fmt: skip
        return Launch(key, tuple(operands), words(grid[0], groups, *self.values), grid)


def _epilogue(value: str, bias: Layout | None, activation: str | None) -> str:
    """`epilogue(v, column)`: what is done with a finished sum. The column may lie beyond n for results not stored."""
    text = "v"
    if bias is not None:
        text = "v + load_bias(params.bias_at + min(column, params.n - 1u) * params.bias_s)"
    if activation is not None:
        text = f"{activation}({text})"
    return f"fn epilogue(v: {value}, column: u32) -> {value} {{ return {text}; }}"


def _inputs(product: Product, partial: bool) -> tuple[int, ...]:
    """Operand numbers of the first kernel: inputs, then the output (partial: replaced by the scratch)."""
    return (0, 1, 2) if partial or product.bias is None else (0, 1, 2, 3)


def _span(k: int, splits: int, unit: int) -> tuple[int, int]:
    """(units of k per split, splits that are then not empty) for k units of `unit`."""
    units = -(-k // unit)
    span = -(-units // splits)
    return span, -(-units // span)


# ------------------------------------------------------------------------------------------------------- kernels


def _tile(product: Product, kernel: str, splits: int, partial: bool, device: Capability) -> tuple[Launch, int]:
    tile = TILES[kernel]
    m, n, k = product.m, product.n, product.k
    if product.value in ("i64", "u64"):
        raise DTypeError(f"matmul: the kernel '{kernel}' has no 64-bit integers; use small or tiny")
    a, b = product.a.side("a", m, k), product.b.side("b", n, k)
    span, splits = _span(k, splits, tile.depth)
    tiles_m, tiles_n = -(-m // tile.rows), -(-n // tile.columns)
    make = _Builder(product)
    make.param(m=m, n=n, k=k, k_span=span * tile.depth, tiles_m=tiles_m, tiles_n=tiles_n, batch=product.matrices)
    make.operands((a, product.a), (b, product.b))
    make.output(n % 4 == 0, partial)
    prelude = make.prelude
    edges = m % tile.rows != 0 or n % tile.columns != 0
    tile_text(prelude, tile, a, b, product.value, edges, k % tile.depth != 0)
    prelude.const("TILE_M", tile.rows)
    prelude.const("TILE_N", tile.columns)
    prelude.const("DEPTH", tile.depth)
    prelude.const("LAST_APART", tile.last_apart)
    groups = tiles_m * tiles_n * product.matrices * splits
    operands = _inputs(product, partial)
    return make.launch("tile", operands, groups, tile.threads, tile.workgroup_bytes, device), splits


def _small(product: Product, kernel: str, splits: int, partial: bool, device: Capability) -> tuple[Launch, int]:
    m, n, k = product.m, product.n, product.k
    span, splits = _span(k, splits, SMALL)
    tiles_m, tiles_n = -(-m // SMALL), -(-n // SMALL)
    make = _Builder(product)
    make.param(m=m, n=n, k=k, k_span=span * SMALL, tiles_m=tiles_m, tiles_n=tiles_n, batch=product.matrices)
    a, b = product.a.side("a", m, k), product.b.side("b", n, k)
    make.operands(*((Side(s.name, s.kind, s.along_k, False), x) for s, x in ((a, product.a), (b, product.b))))
    make.output(n % 4 == 0, partial)
    make.prelude.const("TILE", SMALL)
    make.prelude.const("A_ALONG_K", a.along_k)
    make.prelude.const("B_ALONG_K", b.along_k)
    memory = 2 * SMALL * (SMALL + 1) * _word(product).size_bytes
    groups = tiles_m * tiles_n * product.matrices * splits
    return make.launch("small", _inputs(product, partial), groups, SMALL * SMALL // 4, memory, device), splits


def _tiny(product: Product, device: Capability) -> Launch:
    make = _Builder(product)
    make.param(m=product.m, n=product.n, k=product.k, size=product.size)
    make.operands(*((Side(x, y.kind, True, False), y) for x, y in (("a", product.a), ("b", product.b))))
    make.output(True, False)
    groups = -(-product.size // (4 * FLAT_THREADS))
    return make.launch("tiny", _inputs(product, False), groups, FLAT_THREADS, 0, device)


def _gemv(product: Product, kernel: str, splits: int, partial: bool, device: Capability) -> tuple[Launch, int]:
    m, n, k = product.m, product.n, product.k
    few_rows = m <= n  # the vectors are a's rows, else b's columns
    vectors, rows = (m, n) if few_rows else (n, m)
    if vectors > VECTORS or product.value in ("i64", "u64"):
        raise ArgumentError(
            f"matmul: the kernel 'gemv' takes at most {VECTORS} vectors of 32-bit values, "
            f"not {vectors} of {product.value}; use tiny or small"
        )
    matrix, vector = (product.b, product.a) if few_rows else (product.a, product.b)
    w, x = matrix.side("w", rows, k), vector.side("x", vectors, k)
    x = Side("x", x.kind, x.along_k, x.wide and x.along_k and w.along_k)
    unit = 4 if w.along_k else 1
    wide, threads = _gemv_shape(w, k, vectors)
    units = -(-k // unit)
    span, splits = _span(units, splits, 1)
    strips = -(-rows // (4 * wide))
    make = _Builder(product)
    make.param(
        rows=rows, n=n, k=k, units=units, units_span=span, strips=strips, batch=product.matrices,
        out_r=1 if few_rows else n, out_v=n if few_rows else 1,
    )  # fmt: skip
    pairs = ((w, matrix), (x, vector))
    make.operands(*(pairs if not few_rows else pairs[::-1]))  # bindings follow the order of the operands
    chunked = _owns_words(product, "gemv") and (not partial or rows % 4 == 0 or splits == 1)
    make.output(chunked, partial)
    prelude = make.prelude
    gemv_text(prelude, w, x, vectors, product.value, chunked, few_rows)
    prelude.const("WIDE", wide)
    prelude.const("VECTORS", vectors)
    groups = strips * product.matrices * splits
    memory = threads * vectors * 16
    return make.launch("gemv", _inputs(product, partial), groups, threads, memory, device), splits


def _gemv_shape(w: Side, k: int, vectors: int) -> tuple[int, int]:
    """(threads side by side over rows, threads) of a workgroup; their sums for every vector share workgroup memory."""
    most = 256 if vectors <= 4 else 128
    if w.along_k:
        return 1, min(most, 256 if k >= 8192 else 128 if k >= 512 else 64)
    return 16, most


def _gemv_splits(product: Product) -> int:
    vectors, rows, k = min(product.m, product.n), max(product.m, product.n), product.k
    w = (product.b if product.m <= product.n else product.a).side("w", rows, k)
    wide, threads = _gemv_shape(w, k, vectors)
    groups = product.matrices * -(-rows // (4 * wide))
    per_group = threads // wide * (4 if w.along_k else 1)  # of k in one round
    return _splits(groups, k, 4 * per_group, BUSY if w.along_k else 2 * BUSY)


def _finish(product: Product, splits: int, inputs: int, device: Capability) -> Launch:
    make = _Builder(product)
    size, value = product.size, product.value
    make.param(size=size, splits=splits, n=product.n)
    whole = size % 4 == 0
    prelude = make.prelude
    prelude.storage("partial", KINDS[_word(product)], "chunk" if whole else "element")
    if whole:
        body = "return load4_partial((split * params.size + first) / 4u);"
    else:
        loads = ", ".join(f"load_partial(start + min(first + {e}u, params.size - 1u))" for e in range(4))
        body = f"let start = split * params.size; return array<{value}, 4>({loads});"
    prelude.text(f"fn get4_partial(split: u32, first: u32) -> array<{value}, 4> {{ {body} }}")
    make.output(True, False)
    operands = (inputs + 1, inputs) if product.bias is None else (inputs + 1, 2, inputs)
    return make.launch("finish", operands, -(-size // (4 * FLAT_THREADS)), FLAT_THREADS, 0, device)


# The largest k of one split, so that no invocation loops more than STEPS times.
K_LIMITS = {
    **{name: STEPS * tile.depth for name, tile in TILES.items()},
    "small": STEPS * SMALL // (SMALL + 5),
    "gemv": STEPS * 8,
    "tiny": STEPS,
}


def variants(device: Capability) -> Iterator[Plan]:
    """Every kernel over every layout of its operands, with and without edges, for each way of storing results."""
    kinds = [dt.F32, dt.F16, dt.BF16, dt.F64, dt.I32, dt.U8] + [dt.I64] * device.has("shader-int64")
    for kernel in KERNELS:
        tile = TILES.get(kernel)
        if tile is not None and tile.workgroup_bytes > device.max_workgroup_bytes:
            continue
        for kind, left, right in pairs(kinds, (False, True), (False, True)):
            if kind is dt.I64 and kernel not in ("small", "tiny"):
                continue
            even = (tile.rows, tile.columns, tile.depth) if tile else (32, 32, 32)
            for m, n, k in (even, (36, 68, 20), (33, 65, 31)):
                m = 1 + m % 3 if kernel == "gemv" else m
                lhs = Layout.dense((k, m)).swap_dims(0, 1) if left else Layout.dense((m, k))
                rhs = Layout.dense((n, k)).swap_dims(0, 1) if right else Layout.dense((k, n))
                yield matmul_plan("matmul", lhs, rhs, kind, device, kernel=kernel)
        yield from _mixed_variants(kernel, device)


def _mixed_variants(kernel: str, device: Capability) -> Iterator[Plan]:
    """Broadcast batches, split sums, and epilogues."""
    m, bias = (2 if kernel == "gemv" else 33), Layout.dense((34,))
    a, b = Layout.dense((2, 1, 3, m, 40)), Layout.dense((1, 5, 3, 40, 34))
    yield matmul_plan("matmul", a, b, dt.F32, device, kernel=kernel)
    a, b = Layout.dense((m, 40)), Layout.dense((40, 34))
    for splits, kind in pairs((1, 2), (dt.F32, dt.F16)):
        for activation in (None, "relu", "gelu"):
            yield matmul_plan("linear", a, b, kind, device, bias, activation, kernel=kernel, splits=splits)
