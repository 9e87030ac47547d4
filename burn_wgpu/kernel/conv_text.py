"""WGSL that convolution kernels have written out: where results, taps and elements lie; reads that pad with zeros.

`gather_text` is the second operand of the tiled product (shaders/matmul/tile.wgsl) when that operand is a tensor's
windows, which nobody stores: a column is an output position, k is a channel and a tap. `lanes_text` serves direct.wgsl
and dots.wgsl, whose threads compute four neighbours of the flat result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from burn_wgpu.kernel.matmul_text import LANES, Tile
from burn_wgpu.shader.prelude import Prelude, WordKind


@dataclass(frozen=True, slots=True)
class Axis:
    """A spatial axis of a correlation: output o and tap t meet at element (o·step + t·tap_step + first) / divide of x.

    size     elements of x; a place outside them counts as zero
    out      outputs
    taps     of the weight
    divide   places that it does not divide count as zero
    x, w, y  strides of x, of the weight (per tap) and of the result
    """

    size: int
    out: int
    taps: int
    step: int
    tap_step: int
    first: int
    divide: int
    x: int
    w: int
    y: int

    @property
    def trivial(self) -> bool:
        """One output, one tap, at the first element."""
        return self.out == 1 and self.taps == 1 and self.first == 0 and self.size > 0

    @property
    def identity(self) -> bool:
        """Whether the outputs are the elements, one by one."""
        return (self.taps, self.step, self.first, self.divide, self.out) == (1, 1, 0, 1, self.size)

    @property
    def inside(self) -> bool:
        """Whether no output looks outside."""
        ends = [o * self.step + t * self.tap_step + self.first for o in (0, self.out - 1) for t in (0, self.taps - 1)]
        return self.divide == 1 and min(ends) >= 0 and max(ends) < self.size


def _split(lines: list[str], variable: str, axes: Sequence[Axis], indices: Sequence[int], size: str) -> None:
    """Splits `left` over the axes, the last one fastest: {variable}{axis}; what remains stays in `left`."""
    for a in reversed(indices):
        if axes[a].trivial:
            continue
        lines.append(f"    let n{a} = left / {size.format(a)};")
        lines.append(f"    let {variable}{a} = left - n{a} * {size.format(a)};")
        lines.append(f"    left = n{a};")


def split_text(left: str, prefix: str, axes: Sequence[Axis], constant: bool = False) -> list[str]:
    """Statements that split the variable `left` over the outputs of the axes, {prefix}{axis}; the rest stays in it."""
    lines = []
    for a in reversed(range(len(axes))):
        if not axes[a].trivial:
            size = f"{axes[a].out}u" if constant else f"params.out{a}"
            lines += [
                f"let {prefix}{a}_n = {left} / {size};",
                f"let {prefix}{a} = {left} - {prefix}{a}_n * {size};",
                f"{left} = {prefix}{a}_n;",
            ]
    return lines


def places_text(prelude: Prelude, axes: Sequence[Axis], first: str = "params.first{}") -> None:
    """`column_at(base, column)` and `tap_at(k)`: the parts of a place of x that an output position and a tap have.

    first  what axis {} begins with, in WGSL
    """
    used = [a for a, axis in enumerate(axes) if not axis.trivial]
    taps = prod(axis.taps for axis in axes)

    fields = "".join(f" s{a}: i32," for a in used)
    prelude.text(f"struct Column {{ base: u32,{fields} }}")
    lines = ["    var left = column;"]
    _split(lines, "o", axes, range(3), "params.out{}")
    place = ["base", "left * params.x_image"]
    for a in used:
        lines.append(f"    let s{a} = o{a} * params.step{a} + {first.format(a)};")
        place.append(f"s{a} * params.x{a}")
    starts = "".join(f", bitcast<i32>(s{a})" for a in used)
    lines.append(f"    return Column({' + '.join(place)}{starts});")
    prelude.text("fn column_at(base: u32, column: u32) -> Column {\n" + "\n".join(lines) + "\n}")

    fields = "".join(f" d{a}: i32," for a in used)
    prelude.text(f"struct Tap {{ place: u32,{fields} }}")
    lines = [f"    var left = k - k / {taps}u * {taps}u;"]
    _split(lines, "t", axes, range(3), "TAPS{}")
    place = [f"k / {taps}u * params.x_c"]
    for a in used:
        lines.append(f"    let d{a} = i32(t{a}) * {axes[a].tap_step};")
        place.append(f"bitcast<u32>(d{a}) * params.x{a}")
    starts = "".join(f", d{a}" for a in used)
    lines.append(f"    return Tap({' + '.join(place)}{starts});")
    prelude.text("fn tap_at(k: u32) -> Tap {\n" + "\n".join(lines) + "\n}")


def gather_text(
    prelude: Prelude, tile: Tile, axes: Sequence[Axis], along_k: bool, together: bool, edges: bool, edge_k: bool
) -> None:
    """b_begin, b_fetch, b_stash of the windows, and `result_column(column)`.

    along_k   a load takes four neighbours in k (else four neighbouring columns)
    together  four neighbouring columns differ in the last axis only
    """
    outer, depth, threads = tile.columns, tile.depth, tile.threads
    used = [a for a, axis in enumerate(axes) if not axis.trivial]
    checked = [a for a in used if not axes[a].inside]
    places_text(prelude, axes)
    loads = outer * depth // 4 // threads
    pitch = outer
    size = pitch * depth
    if along_k:
        prelude.text(f"var<workgroup> b_tile: array<f32, {2 * size}>;")
    else:
        assert threads % (outer // 4) == 0, "a thread's loads must share their columns"
        prelude.text(f"var<workgroup> b_tile: array<vec4<f32>, {2 * size // 4}>;")
    for l in range(loads):
        prelude.text(f"var<private> b_r{l}: vec4<f32>;")
    columns = loads if along_k else 4
    shared = [a for a in checked if together and not along_k and a != 2]
    for c in range(columns):
        prelude.text(f"var<private> b_p{c}: u32;")
        for a in checked:
            if c == 0 or a not in shared:
                prelude.text(f"var<private> b_s{a}_{c}: i32;")
    begin, fetch, stash = [], [], []
    for c in range(columns):
        if along_k:
            column = f"o0 + (local + {c * threads}u) / {depth // 4}u"
        else:
            column = f"o0 + 4u * (local % {outer // 4}u) + {c}u"
        column = f"min({column}, params.n - 1u)" if edges else column
        begin.append(f"    let c{c} = column_at(base, {column});")
        begin.append(f"    b_p{c} = c{c}.base;")
        begin += [f"    b_s{a}_{c} = c{c}.s{a};" for a in checked if c == 0 or a not in shared]
    for l in range(loads):
        chunk = f"(local + {l * threads}u)"
        k = f"k0 + 4u * ({chunk} % {depth // 4}u)" if along_k else f"k0 + {chunk} / {outer // 4}u"
        if not along_k:
            fetch.append(f"    let at{l} = {k};")
            fetch.append(f"    let t{l} = tap_at(at{l});")
            common = [f"at{l} < params.k"] if edge_k else []
            common += [f"u32(b_s{a}_0 + t{l}.d{a}) < params.size{a}" for a in shared]
            if common:
                fetch.append(f"    let in{l} = {' && '.join(common)};")
        for e in range(4):
            here, origin = f"{l}_{e}", l if along_k else e
            tap = f"t{here}" if along_k else f"t{l}"
            tests = []
            if along_k:
                fetch.append(f"    let at{here} = {k} + {e}u;")
                fetch.append(f"    let t{here} = tap_at(at{here});")
                tests += [f"at{here} < params.k"] if edge_k else []
            elif common:
                tests.append(f"in{l}")
            tests += [f"u32(b_s{a}_{origin} + {tap}.d{a}) < params.size{a}" for a in checked if a not in shared]
            at = f"b_p{origin} + {tap}.place"
            if tests:
                fetch.append(f"    let ok{here} = {' && '.join(tests)};")
                fetch.append(f"    let v{here} = select(0.0, load_b(select(0u, {at}, ok{here})), ok{here});")
            else:
                fetch.append(f"    let v{here} = load_b({at});")
        fetch.append(f"    b_r{l} = vec4<f32>(v{l}_0, v{l}_1, v{l}_2, v{l}_3);")
        if along_k:
            at = f"buffer * {size}u + 4u * ({chunk} % {depth // 4}u) * {pitch}u + {chunk} / {depth // 4}u"
            stash.append(f"    let s{l} = {at};")
            stash += [f"    b_tile[s{l} + {e * pitch}u] = b_r{l}.{LANES[e]};" for e in range(4)]
        else:
            stash.append(f"    b_tile[buffer * {size // 4}u + {chunk}] = b_r{l};")
    prelude.text("fn b_begin(base: u32, o0: u32, k0: u32, local: u32) {\n" + "\n".join(begin) + "\n}")
    prelude.text("fn b_fetch(k0: u32, slice: u32, local: u32) {\n" + "\n".join(fetch) + "\n}")
    prelude.text("fn b_stash(buffer: u32, local: u32) {\n" + "\n".join(stash) + "\n}")


def repair_text(prelude: Prelude, tile: Tile, axes: Sequence[Axis], weight: str = "k * params.a_k") -> None:
    """put_results of a product that skips what lies outside: `put_block` stores, and four results with a NaN are summed
    again one by one, without the places that no element of x lies at.

    The products give an infinite weight times zero there, which is NaN. Only finite sums cost the whole loop: a NaN of
    x or of the weight ends it.
    """
    across, down = tile.columns // tile.thread_columns, tile.rows // tile.thread_rows
    wide = tile.thread_columns // 4
    checked = [a for a, axis in enumerate(axes) if not axis.trivial and not axis.inside]
    tests = " && ".join(f"u32(c.s{a} + t.d{a}) < params.size{a}" for a in checked)
    prelude.text("var<private> doubts: u32;")
    prelude.text("fn is_nan_bits(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }")
    prelude.text(
        "fn doubt(number: u32, v: vec4<f32>) {\n"
        "    if (is_nan_bits(v.x + v.y + v.z + v.w)) { doubts |= 1u << number; }\n"
        "}"
    )
    prelude.text(
        "fn exact(z: u32, row: u32, column: u32, first: u32, last: u32) -> f32 {\n"
        "    let c = column_at(place_b(z), column);\n"
        "    let line = place_a(z) + row * params.a_o;\n"
        "    var sum = 0.0;\n"
        "    for (var k = first; k < last; k++) {\n"
        "        let t = tap_at(k);\n"
        f"        if ({tests}) {{\n"
        f"            sum += load_a(line + {weight}) * load_b(c.base + t.place);\n"
        "            if (is_nan_bits(sum)) { break; }\n"
        "        }\n"
        "    }\n"
        "    return sum;\n"
        "}"
    )
    prelude.text(
        "fn put_results(start: u32, row: u32, column: u32, local: u32) {\n"
        "    put_block(start, row, column, local);\n"
        "    let part = start / (params.m * params.n);\n"
        "    let z = part % params.batch;\n"
        "    let first = part / params.batch * params.k_span;\n"
        "    let last = first + min(params.k - first, params.k_span);\n"
        "    while (doubts != 0u) {\n"
        "        let number = firstTrailingBit(doubts);\n"
        "        doubts &= doubts - 1u;\n"
        f"        let r = number / {wide}u;\n"
        f"        let y = row + 4u * (local / {across}u + r / 4u * {down}u) + r % 4u;\n"
        f"        let x = column + 4u * (local % {across}u + number % {wide}u * {across}u);\n"
        "        var v = vec4<f32>(0.0, 0.0, 0.0, 0.0);\n"
        "        for (var e = 0u; e < 4u; e++) { v[e] = exact(z, y, min(x + e, params.n - 1u), first, last); }\n"
        "        put4(start + y * params.n + x, x, params.n - x, v.x, v.y, v.z, v.w);\n"
        "    }\n"
        "}"
    )


def columns_text(prelude: Prelude, axes: Sequence[Axis], run: bool) -> None:
    """`result_column(column)`: the place of an output position in the result. run: its positions are one run."""
    lines = ["    var left = column;"]
    if run:
        points = prod(axis.out for axis in axes)
        lines.append(f"    let image = left / {points}u;")
        lines.append(f"    return image * params.y_image + left - image * {points}u;")
    else:
        _split(lines, "o", axes, range(3), "params.out{}")
        place = [f"o{a} * params.y{a}" for a, axis in enumerate(axes) if not axis.trivial]
        lines.append(f"    return {' + '.join(['left * params.y_image', *place])};")
    prelude.text("fn result_column(column: u32) -> u32 {\n" + "\n".join(lines) + "\n}")


def results_text(
    prelude: Prelude, kind: WordKind, chunked: bool, whole: bool, bias: bool, phased: bool = False
) -> None:
    """The binding `out` and put4(i, column, count, v0 … v3) of the tiled product: four neighbouring columns of a row.

    chunked  four columns are a chunk of the result
    whole    the result lies as the product numbers it
    phased   a batch is (phase, group), and phase_at(phase) the first result of one
    """
    prelude.storage("out", kind, "chunk" if chunked else "element")
    lines = ["    let line = i / params.n;"]
    if whole:
        lines.append("    let place = i;")
        channel = "line % (params.batch / params.images * params.m)"
    else:
        lines += [
            "    let part = line / params.m;",
            "    let row = line - part * params.m;",
            "    let split = part / params.batch;",
            "    let z = part - split * params.batch;",
            "    let group = z % params.groups_count;" if phased else "    let group = z;",
            f"    let first = {'phase_at(z / params.groups_count)' if phased else 'params.y_at'};",
            "    let start = split * params.size + first + group * params.y_group + row * params.y_row;",
        ]
        channel = "group * params.m + row"
    lines.append(f"    let b = load_bias({channel});" if bias else "    let b = 0.0;")
    if chunked:
        if not whole:
            lines.append("    let place = start + result_column(column);")
        lines.append("    store4_out(place / 4u, array<f32, 4>(v0 + b, v1 + b, v2 + b, v3 + b));")
    for e in range(0 if chunked else 4):
        at = f"place + {e}u" if whole else f"start + result_column(column + {e}u)"
        lines.append(f"    if (count > {e}u) {{ store_out({at}, v{e} + b); }}")
    values = ", ".join(f"v{e}: f32" for e in range(4))
    prelude.text(f"fn put4(i: u32, column: u32, count: u32, {values}) {{\n" + "\n".join(lines) + "\n}")


def flat_text(prelude: Prelude, kind: WordKind, bias: bool, points: int, channels: int) -> None:
    """The binding `out` and put4_flat(first, places, v0 … v3): a chunk of the flat result [.., channels, points]."""
    prelude.storage("out", kind, "chunk")
    if bias:
        sums = ", ".join(f"v{e} + load_bias(places.{x} / {points}u % {channels}u)" for e, x in enumerate(LANES))
    else:
        sums = "v0, v1, v2, v3"
    values = ", ".join(f"v{e}: f32" for e in range(4))
    prelude.text(
        f"fn put4_flat(first: u32, places: vec4<u32>, {values}) {{ store4_out(first / 4u, array<f32, 4>({sums})); }}"
    )


def lanes_text(prelude: Prelude, axes: Sequence[Axis], rows_first: bool, together: bool, skips: bool) -> None:
    """begin4(first) and terms(lanes, c, t0, t1, t2): the products of one channel and tap for four neighbouring results.

    rows_first  the result is [groups, rows, images, ..] (else [images, groups, rows, ..])
    together    the four differ in the last axis only
    skips       places outside x have no product (else that of zero and the weight)
    """
    used = [a for a, axis in enumerate(axes) if not axis.trivial]
    fields = "".join(f" s{a}: i32," for a in used)
    prelude.text(f"struct Lane {{ x: u32, w: u32,{fields} }}")
    lines = ["    var left = i;"]
    _split(lines, "o", axes, range(3), "params.out{}")
    order = ("images", "rows") if rows_first else ("rows", "groups")
    for part in order:
        lines += [f"    let {part} = left % params.{part}_count;", f"    left = left / params.{part}_count;"]
    lines.append("    let groups = left;" if rows_first else "    let images = left;")
    starts = "".join(f", bitcast<i32>(o{a} * params.step{a} + params.first{a})" for a in used)
    lines.append(
        "    return Lane(params.x_at + images * params.x_image + groups * params.x_group, "
        f"params.w_at + groups * params.w_group + rows * params.w_row{starts});"
    )
    prelude.text("fn lane_at(i: u32) -> Lane {\n" + "\n".join(lines) + "\n}")
    prelude.text("struct Lanes { l0: Lane, l1: Lane, l2: Lane, l3: Lane, }")
    lines = ["    let l0 = lane_at(first);"]
    for e in range(1, 4):
        if together:
            moved = "".join(f", l0.s{a}" + (f" + i32({e}u * params.step2)" if a == 2 else "") for a in used)
            lines.append(f"    let l{e} = Lane(l0.x, l0.w{moved});")
        else:
            lines.append(f"    let l{e} = lane_at(min(first + {e}u, params.size - 1u));")
    lines.append("    return Lanes(l0, l1, l2, l3);")
    prelude.text("fn begin4(first: u32) -> Lanes {\n" + "\n".join(lines) + "\n}")

    lines = []
    for e in range(4):
        tests, place = [], [f"l.l{e}.x + c * params.x_c"]
        for a in used:
            axis, s = axes[a], f"q{a}_{e}"
            lines.append(f"    let {s} = u32(l.l{e}.s{a} + i32(t{a}) * {axis.tap_step});")
            if axis.divide > 1:
                lines.append(f"    let r{a}_{e} = {s} / {axis.divide}u;")
                # A place below zero wraps: its quotient is beyond any axis, or it is not divided.
                tests += [f"r{a}_{e} * {axis.divide}u == {s}", f"r{a}_{e} < params.size{a}"]
                s = f"r{a}_{e}"
            elif not axis.inside:
                tests.append(f"{s} < params.size{a}")
            place.append(f"{s} * params.x{a}")
        at = " + ".join(place)
        if tests:
            lines.append(f"    let ok{e} = {' && '.join(tests)};")
            lines.append(f"    let x{e} = select(0.0, load_x(select(0u, {at}, ok{e})), ok{e});")
        else:
            lines.append(f"    let x{e} = load_x({at});")
    taps = "".join(f" + t{a} * params.w{a}" for a in used)
    for e in range(1 if together else 4):
        lines.append(f"    let w{e} = load_w(l.l{e}.w + c * params.w_c{taps});")
    weights = "vec4<f32>(w0)" if together else "vec4<f32>(w0, w1, w2, w3)"
    lines.append(f"    let products = {weights} * vec4<f32>(x0, x1, x2, x3);")
    if skips and tests:
        lines.append("    return select(vec4<f32>(), products, vec4<bool>(ok0, ok1, ok2, ok3));")
    else:
        lines.append("    return products;")
    prelude.text("fn terms(l: Lanes, c: u32, t0: u32, t1: u32, t2: u32) -> vec4<f32> {\n" + "\n".join(lines) + "\n}")
