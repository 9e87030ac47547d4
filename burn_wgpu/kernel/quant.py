"""Quantized tensors in one kernel each: numbers into a payload, a payload into numbers, a payload into another.

On the device a quantized tensor is the payload that files hold (std/quant.py), as words. So transfers copy bytes, and
what kernels need is where the code of element e lies (`unit_of`), which element a place holds (`element_of`) and which
scale belongs to it (`block_of`). All three are divisions by constants of shape and scheme.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from burn_wgpu.kernel.walk import Numbers, walk
from burn_wgpu.shader.capability import Capability
from burn_wgpu.shader.launch import KernelKey, Launch, Out, Plan, countable, fold
from burn_wgpu.shader.prelude import Prelude
from burn_wgpu.std import dtype as dt
from burn_wgpu.std.dtype import DType
from burn_wgpu.std.layout import Layout, Shape
from burn_wgpu.std.quant import QuantScheme, QuantStore, QuantValue, ScaleDtype

WORKGROUP = 256
_NONE = "0xffffffffu"


@dataclass(frozen=True, slots=True)
class Form:
    """The payload of a shape under a scheme: how many bytes of what, and how its lines run.

    lines run along the packed axis, of `along` elements and `units` storage elements; around it there are `outer` and
    `middle` others, and `inner` of the last axis where that is not the packed one.
    """

    shape: Shape
    scheme: QuantScheme

    @property
    def line(self) -> tuple[int, int, int, int]:
        """(outer, along, middle, inner); Native stores are one line, which needs no padding."""
        shape, store = self.shape, self.scheme.store
        if not store.is_packed:
            return 1, prod(shape), 1, 1
        axis = len(shape) - 1 - store.dim
        if store.dim == 0:
            return prod(shape[:-1]), shape[-1] if shape else 1, 1, 1
        return prod(shape[:axis]), shape[axis], prod(shape[axis + 1 : -1]), shape[-1]

    @property
    def units(self) -> int:
        """Storage elements of one line."""
        return -(-self.line[1] // self.scheme.num_quants)

    @property
    def value_bytes(self) -> int:
        outer, _, middle, inner = self.line
        return outer * middle * inner * self.units * self.scheme.store.size_bytes

    @property
    def grid(self) -> Shape:
        return self.scheme.grid(self.shape)

    @property
    def scale_count(self) -> int:
        return prod(self.grid)

    @property
    def payload_bytes(self) -> int:
        return self.scheme.payload_bytes(self.shape)

    @property
    def words(self) -> int:
        return -(-self.payload_bytes // 4)

    def stored_grid(self, grid: Layout) -> Layout:
        """A layout over the grid in the order in which scales are stored: the packed axis and the last exchanged."""
        store = self.scheme.store
        if self.scheme.block is None or not store.is_packed or store.dim == 0:
            return grid
        return grid.swap_dims(grid.rank - 1 - store.dim, grid.rank - 1)

    def places_of_scales(self) -> Layout:
        """Where the scale of each block is stored, as a layout over the grid."""
        stored = self.stored_grid(Layout.dense(self.grid))
        # Exchanging two axes is its own inverse.
        return self.stored_grid(Layout.dense(stored.shape))


def quantize_plan(
    layout: Layout, dtype: DType, scheme: QuantScheme, scales: DType, overall: DType | None, device: Capability
) -> Plan:
    """(x, scales, global scale if the scheme has two levels) → payload words.

    layout, dtype  of x; the scales lie over the grid of blocks, row-major from the start of a buffer
    """
    form = Form(layout.shape, scheme)
    prelude, numbers, grid = _payload("quantize", form, device)
    prelude.storage("x", dtype)
    prelude.storage("scales", scales)
    if overall is not None:
        prelude.storage("overall", overall)
    prelude.raw_storage("out", "array<u32>")
    walk(numbers, "place", [layout])
    walk(numbers, "scale_place", [form.stored_grid(Layout.dense(form.grid))])
    _blocks(numbers, form, Layout.dense(form.grid))
    kind = _scale(scheme.scale_dtype)
    lines = [f"    var t = scale_{kind}(bits_{kind}(load_scales(block_of(e))));"]
    if overall is not None:
        prelude.text("fn global_bits() -> u32 { return bits_f32(load_overall(0u)); }")
        lines.append("    t = scaled(bitcast<f32>(global_bits()), t);")
    prelude.text(f"fn stored_scale(k: u32) -> u32 {{ return bits_{kind}(load_scales(scale_place(k))); }}")
    prelude.text(f"fn encode(q: f32) -> u32 {{ return {_encoder(scheme.value)}; }}")
    # A quotient whose neighbours get the same code is near enough; of others the exact one decides.
    prelude.text(
        "fn code(e: u32) -> u32 {\n    let v = load_x(place(e));\n" + "\n".join(lines) + "\n"
        "    let q = quotient(v, t);\n"
        "    let near = encode(q * 0.99999905);\n"
        "    if (near == encode(q * 1.0000010)) { return near; }\n"
        "    return encode(exact_quotient(v, t));\n}"
    )
    inputs = 2 if overall is None else 3
    return _finish("quantize", prelude, numbers, form, grid, inputs)


def dequantize_plan(shape: Shape, scheme: QuantScheme, dtype: DType, device: Capability) -> Plan:
    """payload words → numbers of a float dtype."""
    form, out = Form(shape, scheme), Out.of(shape, dtype)
    if out.layout.size == 0:
        return Plan("dequantize", 1, (out,), ())
    _count("dequantize", form, device)
    prelude = Prelude()
    prelude.const("WORKGROUP", WORKGROUP)
    prelude.use("quant/codes")
    prelude.raw_storage("codes", "array<u32>")
    prelude.storage("out", dtype, "chunk")
    chunks = -(-out.layout.size // 4)
    grid = fold(-(-chunks // WORKGROUP), device)
    numbers = Numbers(prelude, grid[0])
    numbers.add("chunks", chunks)
    numbers.add("last", out.layout.size - 1)
    _reader(numbers, form)
    _blocks(numbers, form, form.places_of_scales())
    lines = [f"    var t = scale_{_scale(scheme.scale_dtype)}(scale_in(block_of(e)));"]
    if scheme.global_scale_dtype is not None:
        lines.append("    t = scaled(bitcast<f32>(global_bits()), t);")
    value = scheme.value
    field = "code_in(e)"
    decoded = (
        f"value_{value.value.lower()}({field})" if value.is_float else f"value_int({field}, {_field_bits(scheme)}u)"
    )
    prelude.text("fn number(e: u32) -> f32 {\n" + "\n".join(lines) + f"\n    return scaled(t, {decoded});\n}}")
    params = numbers.declare()
    key = KernelKey(
        "quant/dequantize", prelude.build(), tuple(prelude.uses), prelude.bindings, 0, WORKGROUP,
        frozenset(prelude.features), trusted=True,
    )  # fmt: skip
    return Plan("dequantize", 1, (out,), (Launch(key, (0, 1), params, grid),))


def move_plan(
    operation: str, source: Form, elements: Layout, grid: Layout, scheme: QuantScheme, device: Capability
) -> Plan:
    """payload words → the words of another arrangement of the same codes and scales.

    elements  the result's shape, each element's row-major place in the source's shape
    grid      the result's grid of blocks, each block's row-major place in the source's stored scales
    scheme    of the result; it differs from the source's in packed axis and block extents only
    """
    form = Form(elements.shape, scheme)
    prelude, numbers, groups = _payload(operation, form, device)
    prelude.raw_storage("codes", "array<u32>")
    prelude.raw_storage("out", "array<u32>")
    _reader(numbers, source)
    walk(numbers, "origin", [elements])
    walk(numbers, "scale_origin", [form.stored_grid(grid)])
    prelude.text("fn code(e: u32) -> u32 { return code_in(origin(e)); }")
    prelude.text("fn stored_scale(k: u32) -> u32 { return scale_in(scale_origin(k)); }")
    return _finish(operation, prelude, numbers, form, groups, 1)


def same_payload(source: Form, axes: Sequence[int], scheme: QuantScheme) -> bool:
    """Whether permuting the axes only renames them: the stored order of codes and scales stays what it is."""

    def order(store: QuantStore) -> list[int]:
        found = list(range(len(axes)))
        if store.is_packed and store.dim:
            packed = len(axes) - 1 - store.dim
            found[packed], found[-1] = found[-1], found[packed]
        return found

    before = order(source.scheme.store)
    after = [axes[a] for a in order(scheme.store)]
    return [a for a in before if source.shape[a] != 1] == [a for a in after if source.shape[a] != 1] and (
        not source.scheme.store.is_packed or before[-1:] == after[-1:]
    )


# --------------------------------------------------------------------------------------------------------- the texts


def _payload(operation: str, form: Form, device: Capability) -> tuple[Prelude, Numbers, tuple[int, int, int]]:
    _count(operation, form, device)
    prelude = Prelude()
    prelude.const("WORKGROUP", WORKGROUP)
    prelude.use("quant/codes")
    grid = fold(max(-(-form.words // WORKGROUP), 1), device)
    numbers = Numbers(prelude, grid[0])
    numbers.add("words", form.words)
    return prelude, numbers, grid


def _count(operation: str, form: Form, device: Capability) -> None:
    countable(operation, form.payload_bytes, "bytes of one quantized tensor", "quantize it in slices", device)


def _finish(
    operation: str, prelude: Prelude, numbers: Numbers, form: Form, grid: tuple[int, int, int], inputs: int
) -> Plan:
    """The texts that put a payload together from code(e), stored_scale(k) and global_bits()."""
    out = Out.of((form.words,), dt.U32)
    if form.words == 0:
        return Plan(operation, inputs, (out,), ())
    scheme, size = form.scheme, form.scheme.scale_dtype.size_bytes
    _element_of(numbers, form)
    bits, count = scheme.value.bits, scheme.num_quants
    mask = 0xFF if not scheme.store.is_packed else (1 << bits) - 1
    prelude.text(
        "fn unit(u: u32) -> u32 {\n    var r = 0u;\n"
        f"    for (var k = 0u; k < {count}u; k++) {{\n"
        "        let e = element_of(u, k);\n"
        f"        if (e != {_NONE}) {{ r |= (code(e) & {mask}u) << (k * {bits}u); }}\n"
        "    }\n    return r;\n}"
    )
    codes, scales = numbers.add("value_bytes", form.value_bytes), numbers.add("scale_count", form.scale_count)
    tail = [f"    let at = b - {codes};", f"    let k = at / {size}u;"]
    tail.append(f"    if (k < {scales}) {{ return (stored_scale(k) >> (8u * (at - k * {size}u))) & 0xffu; }}")
    if scheme.global_scale_dtype is not None:
        tail.append(f"    let g = at - {scales} * {size}u;")
        tail.append("    if (g < 4u) { return (global_bits() >> (8u * g)) & 0xffu; }")
    prelude.text("fn tail_byte(b: u32) -> u32 {\n" + "\n".join(tail) + "\n    return 0u;\n}")
    if scheme.store.size_bytes == 4:
        body = f"    if (4u * w < {codes}) {{ return unit(w); }}\n"
        one = "tail_byte"
    else:
        prelude.text(
            f"fn byte_of(b: u32) -> u32 {{\n    if (b < {codes}) {{ return unit(b); }}\n    return tail_byte(b);\n}}"
        )
        body, one = "", "byte_of"
    prelude.text(
        "fn payload_word(w: u32) -> u32 {\n" + body + "    let b = 4u * w;\n    var r = 0u;\n"
        f"    for (var k = 0u; k < 4u; k++) {{ r |= {one}(b + k) << (8u * k); }}\n    return r;\n}}"
    )
    params = numbers.declare()
    key = KernelKey(
        "quant/payload", prelude.build(), tuple(prelude.uses), prelude.bindings, 0, WORKGROUP,
        frozenset(prelude.features), trusted=True,
    )  # fmt: skip
    return Plan(operation, inputs, (out,), (Launch(key, tuple(range(inputs + 1)), params, grid),))


def _element_of(numbers: Numbers, form: Form) -> None:
    """`element_of(u, k)`: the element whose code is field k of storage element u; none in a line's padding."""
    (_, along, middle, inner), count = form.line, form.scheme.num_quants
    text = numbers.prelude.text
    if middle == inner == 1 and along % count == 0:
        text(f"fn element_of(u: u32, k: u32) -> u32 {{ return u * {count}u + k; }}")
        return
    units, whole = numbers.add("units", form.units), numbers.add("along", along)
    lines = [f"    let line = u / {units};", f"    let p = (u - line * {units}) * {count}u + k;"]
    lines.append(f"    if (p >= {whole}) {{ return {_NONE}; }}")
    if middle == inner == 1:
        lines.append(f"    return line * {whole} + p;")
    else:
        m, z = numbers.add("middle", middle), numbers.add("inner", inner)
        lines += [f"    let oz = line / {m};", f"    let o = oz / {z};"]
        lines.append(f"    return ((o * {whole} + p) * {m} + (line - oz * {m})) * {z} + (oz - o * {z});")
    text("fn element_of(u: u32, k: u32) -> u32 {\n" + "\n".join(lines) + "\n}")


def _reader(numbers: Numbers, form: Form) -> None:
    """`code_in(e)`, `scale_in(k)` of the k-th stored scale, `global_bits()`: what a payload in `codes` holds."""
    scheme, text = form.scheme, numbers.prelude.text
    (_, along, middle, inner), count, bits = form.line, scheme.num_quants, scheme.value.bits
    lines = []
    if count == 1 and middle == inner == 1:
        lines += ["    let u = e;", "    let k = 0u;"]
    elif middle == inner == 1 and along % count == 0:
        lines += [f"    let u = e / {count}u;", f"    let k = e % {count}u;"]
    else:
        units, whole = numbers.add("in_units", form.units), numbers.add("in_along", along)
        if middle == inner == 1:
            lines += [f"    let line = e / {whole};", f"    let p = e - line * {whole};"]
        else:
            m, z = numbers.add("in_middle", middle), numbers.add("in_inner", inner)
            lines += [f"    let opm = e / {z};", f"    let op = opm / {m};", f"    let o = op / {whole};"]
            lines.append(f"    let p = op - o * {whole};")
            lines.append(f"    let line = (o * {z} + (e - opm * {z})) * {m} + (opm - op * {m});")
        lines += [f"    let u = line * {units} + p / {count}u;", f"    let k = p % {count}u;"]
    field = (1 << _field_bits(scheme)) - 1
    if scheme.store.size_bytes == 4:
        lines.append(f"    return (codes[u] >> (k * {bits}u)) & {field}u;")
    else:
        lines.append(f"    return (codes[u >> 2u] >> ((u & 3u) * 8u + k * {bits}u)) & {field}u;")
    text("fn code_in(e: u32) -> u32 {\n" + "\n".join(lines) + "\n}")

    size = scheme.scale_dtype.size_bytes
    first = numbers.add("in_scales", form.value_bytes)
    last = numbers.add("in_last", max(form.words - 1, 0))
    text(
        # Four bytes from any place: of two words what is theirs.
        "fn four_bytes(at: u32) -> u32 {\n    let s = (at & 3u) * 8u;\n    let w = at >> 2u;\n"
        f"    return (codes[w] >> s) | ((codes[min(w + 1u, {last})] << 1u) << (31u - s));\n}}"
    )
    mask = {1: " & 0xffu", 2: " & 0xffffu", 4: ""}[size]
    if size == 4 and form.value_bytes % 4 == 0:
        text(f"fn scale_in(k: u32) -> u32 {{ return codes[{first} / 4u + k]; }}")
    elif size == 4 or (size == 2 and form.value_bytes % 2):
        text(f"fn scale_in(k: u32) -> u32 {{ return four_bytes({first} + {size}u * k){mask}; }}")
    else:
        text(
            f"fn scale_in(k: u32) -> u32 {{\n    let at = {first} + {size}u * k;\n"
            f"    return (codes[at >> 2u] >> ((at & 3u) * 8u)){mask};\n}}"
        )
    if scheme.global_scale_dtype is not None:
        at = numbers.add("in_global", form.value_bytes + form.scale_count * size)
        text(f"fn global_bits() -> u32 {{ return four_bytes({at}); }}")


def _blocks(numbers: Numbers, form: Form, places: Layout) -> None:
    """`block_of(e)`: the place of the scale of element e, where `places` is a layout over the grid of blocks."""
    text, block = numbers.prelude.text, form.scheme.block_size
    if block is None:
        text("fn block_of(e: u32) -> u32 { return 0u; }")
        return
    shape = form.shape
    extents = (1,) * (len(shape) - len(block)) + block
    axes: list[tuple[int, int, int]] = []
    for size, extent, stride in zip(shape, extents, places.strides, strict=True):
        if size == 1:
            continue
        if axes:
            outer, along, step = axes[-1]
            if along == 1 and size % extent == 0 and step == size // extent * stride:
                axes[-1] = (outer * size, extent, stride)
                continue
        axes.append((size, extent, stride))
    lines = ["    var left = e;", "    var place = 0u;"]
    for i in range(len(axes) - 1, -1, -1):
        size, extent, stride = axes[i]
        at = "left"
        if i:
            whole, at = numbers.add(f"block_d{i}", size), f"c{i}"
            lines += [f"    let n{i} = left / {whole};", f"    let c{i} = left - n{i} * {whole};", f"    left = n{i};"]
        if extent > 1:
            at = f"({at} / {numbers.add(f'block_e{i}', extent)})"
        lines.append(f"    place += {at} * {numbers.add(f'block_s{i}', stride)};")
    text("fn block_of(e: u32) -> u32 {\n" + "\n".join(lines) + "\n    return place;\n}")


def _scale(dtype: ScaleDtype) -> str:
    return dtype.value.lower()


def _field_bits(scheme: QuantScheme) -> int:
    """Bits that hold a code where it lies: a byte of a Native store is a whole one."""
    return scheme.value.bits if scheme.store.is_packed else 8


def _encoder(value: QuantValue) -> str:
    """WGSL of the code of a quotient q."""
    low, high = (float(end) for end in value.range)
    return f"code_{value.value.lower()}(q, {high})" if value.is_float else f"code_int(q, {low}, {high})"


def variants(device: Capability) -> Iterator[Plan]:
    """Every kind of value in every store, every dtype of scales, one and two levels, dense and padded lines, a packed
    axis that is not the last, blocks over several axes."""
    shape, ragged = (4, 6, 32), (3, 5, 7)
    x = Layout.dense(shape)
    view = Layout.dense((32, 6, 4)).permute((2, 1, 0))
    stores = (QuantStore.native(), QuantStore.packed_native(), QuantStore.packed_u32(), QuantStore.packed_u32(1))
    schemes = [(shape, QuantScheme(v, s)) for v in QuantValue for s in stores]
    for dtype in ScaleDtype:
        schemes.append((shape, QuantScheme(QuantValue.Q8S).per_block((8,), dtype)))
        schemes.append((ragged, QuantScheme(QuantValue.Q4S, QuantStore.native()).per_tensor(dtype)))
    for dtype in (ScaleDtype.F16, ScaleDtype.UE4M3):
        schemes.append((shape, QuantScheme(QuantValue.Q4S).per_block((8,), dtype).per_tensor(ScaleDtype.F32)))
    blocks = QuantScheme(QuantValue.Q4F, QuantStore.packed_u32(2)).per_block((2, 3, 4), ScaleDtype.F32)
    schemes += [(shape, QuantScheme.nvfp4()), (shape, blocks), (ragged, QuantScheme(QuantValue.Q4S))]
    for sizes, scheme in schemes:
        overall = scheme.global_scale_dtype and dt.F32
        yield quantize_plan(Layout.dense(sizes), dt.F32, scheme, dt.F32, overall, device)
        yield dequantize_plan(sizes, scheme, dt.F32, device)
        source = Form(sizes, scheme)
        axes = tuple(range(len(sizes)))[::-1]
        grid = source.places_of_scales()
        moved = grid if scheme.block is None else grid.permute(axes)
        yield move_plan(
            "q_permute", source, Layout.dense(sizes).permute(axes), moved, scheme.permute_dims(axes), device
        )
    for kind in (dt.F16, dt.BF16, dt.F64):
        yield quantize_plan(x, kind, QuantScheme(), kind, None, device)
        yield dequantize_plan(shape, QuantScheme(), kind, device)
    yield quantize_plan(view, dt.F32, QuantScheme.nvfp4(), dt.F32, dt.F32, device)
