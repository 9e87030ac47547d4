"""WGSL of the convolution kernels that keep a place per thread: windows, lines of taps, and strips.

`window_text` and `lines_text` are the operands of a tiled product (shaders/conv/window.wgsl) whose columns are output
positions; `strip_text` is the body of shaders/conv/strip.wgsl. What depends on a tap only is a constant of the text,
and what depends on a column only is computed once a thread: a step costs little more than its loads.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

from burn_wgpu.kernel.conv_text import Axis, split_text
from burn_wgpu.kernel.matmul_text import LANES, Side, Tile
from burn_wgpu.shader.prelude import Prelude

LINE_PAD = 4  # words between the lines of a transposed tile: neighbours in k store to different banks


def _u32(value: int) -> str:
    return f"{value & 0xFFFFFFFF}u"


def _if(name: str, test: str, load: str, at: str, zero: str = "0.0") -> list[str]:
    """Statements that load where the test holds. No branch: loads are issued together, those outside from element 0."""
    return [f"{name} = select({zero}, {load}(select(0u, {at}, {test})), {test});"]


def pick(values: Sequence[int], index: str) -> str:
    """WGSL of values[index]."""
    if len(set(values)) == 1:
        return _u32(values[0])
    text = _u32(values[-1])
    for i in range(len(values) - 2, -1, -1):
        text = f"select({text}, {_u32(values[i])}, {index} == {i}u)"
    return text


def _steps(places: Sequence[tuple[int, str]]) -> str:
    """Σ number · stride; strides are WGSL, "1u" falls away."""
    parts = []
    for number, stride in places:
        if number:
            parts.append(_u32(number) if stride == "1u" else f"{_u32(number)} * {stride}")
    return " + ".join(parts) or "0u"


def _function(prelude: Prelude, head: str, lines: Sequence[str]) -> None:
    prelude.text(f"fn {head} {{\n" + "\n".join(f"    {line}" for line in lines) + "\n}")


# ------------------------------------------------------------------------------------------- what tiles share


def products_text(prelude: Prelude, tile: Tile, pad: int) -> None:
    """`multiply(buffer, local)` over a_tile (of vec4 where pad is 0, else of words) and b_tile (of words), with `pad`
    words between the lines of one k. Every step of k is written out; see matmul_text.multiply_text."""
    high, wide = tile.thread_rows // 4, tile.thread_columns // 4
    across, down = tile.columns // tile.thread_columns, tile.rows // tile.thread_rows
    for r, j in product(range(tile.thread_rows), range(wide)):
        prelude.text(f"var<private> c{r}_{j}: vec4<f32>;")
    a_line, b_line = tile.rows + pad, tile.columns + pad
    unit = 4 if pad else 1
    lines = [
        f"let a_at = buffer * {a_line * tile.depth * unit // 4}u + local / {across}u * {unit}u;",
        f"let b_at = buffer * {b_line * tile.depth}u + local % {across}u * 4u;",
    ]
    for k in range(tile.depth):
        for i in range(high):
            at = (k * a_line // 4 + i * down) * unit
            four = f"a_tile[a_at + {at}u]"
            if pad:
                four = "vec4<f32>(" + ", ".join(f"a_tile[a_at + {at + e}u]" for e in range(4)) + ")"
            lines.append(f"let a{k}_{i} = {four};")
        for j in range(wide):
            at = k * b_line + 4 * j * across
            four = ", ".join(f"b_tile[b_at + {at + e}u]" for e in range(4))
            lines.append(f"let b{k}_{j} = vec4<f32>({four});")
        for r, j in product(range(tile.thread_rows), range(wide)):
            lines.append(f"c{r}_{j} += a{k}_{r // 4}.{LANES[r % 4]} * b{k}_{j};")
    _function(prelude, "multiply(buffer: u32, local: u32)", lines)


def weight_text(prelude: Prelude, axes: Sequence[Axis], run: bool) -> None:
    """`weight_at(k)`: the place of k in a row of the weights. run: (channel, taps) is one axis of stride params.a_k."""
    if run:
        _function(prelude, "weight_at(k: u32) -> u32", ["return k * params.a_k;"])
        return
    taps = prod(axis.taps for axis in axes)
    lines, places = [f"let c = k / {taps}u;", f"var left = k - c * {taps}u;"], ["c * params.w_c"]
    for a in (2, 1, 0):
        if axes[a].taps > 1:
            lines += [f"let n{a} = left / {axes[a].taps}u;", f"let t{a} = left - n{a} * {axes[a].taps}u;"]
            lines.append(f"left = n{a};")
            places.append(f"t{a} * params.w{a}")
    _function(prelude, "weight_at(k: u32) -> u32", [*lines, f"return {' + '.join(places)};"])


def weights_text(prelude: Prelude, tile: Tile, side: Side, edges: bool, edge_k: bool, buffers: int) -> None:
    """a_begin, a_fetch, a_stash of weights whose rows are neighbours: [channel, taps, rows]."""
    depth, threads, outer = tile.depth, tile.threads, tile.rows
    across = outer // 4
    assert threads % across == 0, "a thread's loads must share their rows"
    chunks, span = outer * depth // 4, threads // across
    loads = -(-chunks // threads)
    prelude.text(f"var<workgroup> a_tile: array<vec4<f32>, {buffers * chunks}>;")
    prelude.text("var<private> a_p: u32;")
    begin = [f"let first_row = o0 + 4u * (local % {across}u);"]
    if side.wide:
        begin.append(f"a_p = (base + {'min(first_row, params.m - 4u)' if edges else 'first_row'}) / 4u;")
    else:
        begin.append("a_p = base;")
        for e in range(4):
            prelude.text(f"var<private> a_o{e}: u32;")
            begin.append(f"a_o{e} = min(first_row + {e}u, params.m - 1u) * params.a_o;")
    fetch, stash = [], []
    unit = " / 4u" if side.wide else ""
    for l in range(loads):
        prelude.text(f"var<private> a_r{l}: vec4<f32>;")
        lines = [f"let own{l} = k0 + local / {across}u + {l * span}u;"]
        lines.append(f"let p{l} = a_p + weight_at(own{l}){unit};")
        if side.wide:
            value = f"chunk_a(p{l})"
        else:
            value = "vec4<f32>(" + ", ".join(f"load_a(p{l} + a_o{e})" for e in range(4)) + ")"
        lines.append(f"a_r{l} = {value};")
        put = f"a_tile[buffer * {chunks}u + local + {l * threads}u] = a_r{l};"
        tests = [f"own{l} < params.k"] if edge_k else []
        if (l + 1) * threads > chunks:
            rest = f"local < {chunks - l * threads}u"
            tests.append(rest)
            put = f"if ({rest}) {{ {put} }}"
        if tests:
            lines = [lines[0], f"a_r{l} = vec4<f32>();", f"if ({' && '.join(tests)}) {{", *lines[1:], "}"]
        fetch += lines
        stash.append(put)
    _function(prelude, "a_begin(base: u32, o0: u32, k0: u32, local: u32)", begin)
    _function(prelude, "a_fetch(k0: u32, slice: u32, local: u32)", fetch)
    _function(prelude, "a_stash(buffer: u32, local: u32)", stash)


# ------------------------------------------------------------------------------------------------------ windows


def window_text(
    prelude: Prelude, tile: Tile, axes: Sequence[Axis], inner: int, edges: bool, edge_k: bool, buffers: int
) -> None:
    """b_begin, b_fetch, b_stash of windows: a thread owns columns, and loads whole groups of taps of them.

    inner  the first of the axes whose taps are written out; the channel and the taps before it are counted by k
    """
    used = [a for a, axis in enumerate(axes) if not axis.trivial]
    written, counted = [a for a in used if a >= inner], [a for a in used if a < inner]
    taps, before = prod(axes[a].taps for a in written), prod(axes[a].taps for a in counted)
    parts = max(tile.threads // tile.columns, 1)
    own, groups = max(tile.columns // tile.threads, 1), tile.depth // taps // parts
    assert taps * parts * groups == tile.depth and own * tile.threads * groups * taps == tile.columns * tile.depth
    size = tile.depth * tile.columns
    masked = [a for a in written if not axes[a].inside]
    tested = [a for a in counted if not axes[a].inside]
    stride = {a: "1u" if axes[a].x == 1 else f"params.x{a}" for a in used}
    choices = list(product(*(range(axes[a].taps) for a in written)))

    prelude.text(f"var<workgroup> b_tile: array<f32, {buffers * size}>;")
    begin, fetch, stash = [], [], []
    for i in range(own):
        prelude.text(f"var<private> b_p{i}: u32;")
        column = f"o0 + local % {tile.columns}u + {i * tile.threads}u"
        begin.append(f"var left{i} = {f'min({column}, params.n - 1u)' if edges else column};")
        begin += split_text(f"left{i}", f"o{i}_", axes)
        place = ["base", f"left{i} * params.x_image"]
        for a in used:
            begin.append(f"let s{i}_{a} = bitcast<i32>(o{i}_{a} * params.step{a} + first{a}());")
            place.append(f"bitcast<u32>(s{i}_{a}) * {stride[a]}")
        begin.append(f"b_p{i} = {' + '.join(place)};")
        for a in tested:
            prelude.text(f"var<private> b_s{i}_{a}: i32;")
            begin.append(f"b_s{i}_{a} = s{i}_{a};")
        if masked:
            prelude.text(f"var<private> b_m{i}: u32;")
            for a in masked:
                for t in range(axes[a].taps):
                    begin.append(f"let in{i}_{a}_{t} = u32(s{i}_{a} + {t * axes[a].tap_step}) < params.size{a};")
            bits = []
            for u, tap in enumerate(choices):
                tests = [f"in{i}_{a}_{t}" for a, t in zip(written, tap, strict=True) if a in masked]
                bits.append(f"select(0u, {1 << u}u, {' && '.join(tests)})")
            begin.append(f"b_m{i} = {' | '.join(bits)};")
    for j in range(groups):
        part = f" + local / {tile.columns}u" if parts > 1 else ""
        fetch.append(f"let g{j} = k0 / {taps}u + {j * parts}u{part};")
        channel, moved = f"g{j}", []
        if before > 1:
            fetch += [f"let c{j} = g{j} / {before}u;", f"var left{j} = g{j} - c{j} * {before}u;"]
            channel = f"c{j}"
            for a in reversed(counted):
                if axes[a].taps == 1:
                    fetch.append(f"let d{j}_{a} = 0;")
                else:
                    fetch.append(f"let n{j}_{a} = left{j} / {axes[a].taps}u;")
                    fetch.append(f"let d{j}_{a} = i32(left{j} - n{j}_{a} * {axes[a].taps}u) * {axes[a].tap_step};")
                    fetch.append(f"left{j} = n{j}_{a};")
                moved.append(f" + bitcast<u32>(d{j}_{a}) * {stride[a]}")
        else:
            fetch += [f"let d{j}_{a} = 0;" for a in tested]
        fetch.append(f"let at{j} = {channel} * params.x_c{''.join(moved)};")
        for i in range(own):
            tests = [f"u32(b_s{i}_{a} + d{j}_{a}) < params.size{a}" for a in tested]
            tests += [f"g{j} * {taps}u < params.k"] if edge_k else []
            name = f"{i}_{j}"
            if tests and masked:
                fetch.append(f"let m{name} = select(0u, b_m{i}, {' && '.join(tests)});")
            elif tests:
                fetch.append(f"let m{name} = {' && '.join(tests)};")
            elif masked:
                fetch.append(f"let m{name} = b_m{i};")
            fetch.append(f"let p{name} = b_p{i} + at{j};")
            for u, tap in enumerate(choices):
                here = f"{name}_{u}"
                prelude.text(f"var<private> b_r{here}: f32;")
                off = _steps([(t * axes[a].tap_step, stride[a]) for a, t in zip(written, tap, strict=True)])
                if tests or masked:
                    test = f"(m{name} & {1 << u}u) != 0u" if masked else f"m{name}"
                    fetch.append(f"let ok{here} = {test};")
                    fetch += _if(f"b_r{here}", f"ok{here}", "load_b", f"p{name} + {off}")
                else:
                    fetch.append(f"b_r{here} = load_b(p{name} + {off});")
                line = f"({j * parts * taps + u}u" + (f" + local / {tile.columns}u * {taps}u)" if parts > 1 else ")")
                at = f"buffer * {size}u + {line} * {tile.columns}u + local % {tile.columns}u + {i * tile.threads}u"
                stash.append(f"b_tile[{at}] = b_r{here};")
    _function(prelude, "b_begin(base: u32, o0: u32, k0: u32, local: u32)", begin)
    _function(prelude, "b_fetch(k0: u32, slice: u32, local: u32)", fetch)
    _function(prelude, "b_stash(buffer: u32, local: u32)", stash)


# -------------------------------------------------------------------------------------------------------- lines


def _line(depth: int, length: int) -> str:
    """A thread's first word of a tile whose lines, of one k, have so many words."""
    return f"buffer * {depth * length}u + local % {depth}u * {length}u + local / {depth}u"


def lines_text(prelude: Prelude, tile: Tile, axes: Sequence[Axis], edges: bool, edge_k: bool, buffers: int) -> None:
    """Both operands of a product whose k runs along memory and whose columns see few places (weight gradients).

    A thread owns one k of a slice: it is split into channel and taps once, and one bit for each output of an axis says
    whether it sees an element of x.
    """
    depth, threads = tile.depth, tile.threads
    used = [a for a, axis in enumerate(axes) if not axis.trivial]
    checked = [a for a in used if not axes[a].inside]
    taps = prod(axis.taps for axis in axes)
    span = threads // depth
    own, rows = tile.columns // span, tile.rows // span
    a_line, b_line = tile.rows + LINE_PAD, tile.columns + LINE_PAD
    prelude.text(f"var<workgroup> a_tile: array<f32, {buffers * depth * a_line}>;")
    prelude.text(f"var<workgroup> b_tile: array<f32, {buffers * depth * b_line}>;")

    begin, stash = [], []
    for i in range(rows):
        prelude.text(f"var<private> a_p{i}: u32;")
        prelude.text(f"var<private> a_r{i}: f32;")
        row = f"o0 + local / {depth}u + {i * span}u"
        begin.append(f"a_p{i} = base + {f'min({row}, params.m - 1u)' if edges else f'({row})'} * params.a_o;")
        stash.append(f"a_tile[{_line(depth, a_line)} + {i * span}u] = a_r{i};")
    _function(prelude, "a_begin(base: u32, o0: u32, k0: u32, local: u32)", begin)
    _function(prelude, "a_stash(buffer: u32, local: u32)", stash)

    bits = {a: sum(axes[c].out for c in checked if c < a) for a in checked}
    begin, stash = [], []
    for i in range(own):
        prelude.text(f"var<private> b_p{i}: u32;")
        prelude.text(f"var<private> b_r{i}: f32;")
        column = f"o0 + local / {depth}u + {i * span}u"
        begin.append(f"var left{i} = {f'min({column}, params.n - 1u)' if edges else column};")
        begin += split_text(f"left{i}", f"o{i}_", axes, constant=True)
        place = ["base", f"left{i} * params.x_image"]
        place += [f"(o{i}_{a} * params.step{a} + params.first{a}) * params.x{a}" for a in used]
        begin.append(f"b_p{i} = {' + '.join(place)};")
        if checked:
            prelude.text(f"var<private> b_m{i}: u32;")
            begin.append(f"b_m{i} = {' | '.join(f'(1u << (o{i}_{a} + {bits[a]}u))' for a in checked)};")
        stash.append(f"b_tile[{_line(depth, b_line)} + {i * span}u] = b_r{i};")
    _function(prelude, "b_begin(base: u32, o0: u32, k0: u32, local: u32)", begin)
    _function(prelude, "b_stash(buffer: u32, local: u32)", stash)

    fetch = [f"let k = k0 + local % {depth}u;", f"let c = k / {taps}u;", f"var left = k - c * {taps}u;"]
    a_at, b_at = ["c * params.w_c"], ["c * params.x_c"]
    for a in reversed(used):
        if axes[a].taps == 1:
            fetch.append(f"let t{a} = 0u;")
        else:
            fetch += [
                f"let n{a} = left / {axes[a].taps}u;",
                f"let t{a} = left - n{a} * {axes[a].taps}u;",
                f"left = n{a};",
            ]
        fetch.append(f"let d{a} = i32(t{a}) * {axes[a].tap_step};")
        a_at.append(f"t{a} * params.w{a}")
        b_at.append(f"bitcast<u32>(d{a}) * params.x{a}")
    fetch += [f"let a_at = {' + '.join(a_at)};", f"let b_at = {' + '.join(b_at)};"]
    if checked:
        seen = []
        for a in checked:
            for o in range(axes[a].out):
                test = f"u32(d{a} + {o * axes[a].step + axes[a].first}) < params.size{a}"
                seen.append(f"select(0u, {1 << (bits[a] + o)}u, {test})")
        fetch.append(f"let seen = {' | '.join(seen)};")
    if edge_k:
        fetch.append("let live = k < params.k;")
    for i in range(rows):
        at = f"a_p{i} + a_at"
        fetch += _if(f"a_r{i}", "live", "load_a", at) if edge_k else [f"a_r{i} = load_a({at});"]
    for i in range(own):
        at = f"b_p{i} + b_at"
        tests = (["live"] if edge_k else []) + ([f"(seen & b_m{i}) == b_m{i}"] if checked else [])
        if tests:
            fetch.append(f"let ok{i} = {' && '.join(tests)};")
            fetch += _if(f"b_r{i}", f"ok{i}", "load_b", at)
        else:
            fetch.append(f"b_r{i} = load_b({at});")
    _function(prelude, "b_fetch(k0: u32, slice: u32, local: u32)", fetch)
    prelude.text("fn a_fetch(k0: u32, slice: u32, local: u32) {}")


# -------------------------------------------------------------------------------------------------------- strips


def meeting(axis: Axis, output: int, tap: int) -> int | None:
    """The element of x that they meet at, or None for none."""
    place = output * axis.step + tap * axis.tap_step + axis.first
    return place // axis.divide if place % axis.divide == 0 else None


def _met(axis: Axis, outputs: int) -> list[int]:
    """The elements that the first outputs look at, in order."""
    found = {meeting(axis, o, t) for o in range(outputs) for t in range(axis.taps)}
    return sorted(place for place in found if place is not None)


def strip_text(
    prelude: Prelude, axes: Sequence[Axis], rows: int, high: int, wide: bool, chunked: bool, bias: bool, skips: bool
) -> None:
    """begin(i), add(c), put() of strip.wgsl: a thread computes `high` rows of four neighbours for each row of weights.

    wide     rows of x are whole chunks: reads are chunks, which lie inside or outside as one
    chunked  four neighbours are a chunk of the result
    skips    places outside x have no product: four results with a NaN are summed again without them

    Where `divide` is above 1, blocks begin where outputs lie at elements of x: taps meet outputs alike in each of them.
    """
    down, along = axes[1], axes[2]
    space = [a for a in (1, 2) if not axes[a].trivial]
    ends_down = down.out % high != 0 or not down.inside
    ends_along = along.out % 4 != 0 or not along.inside
    taps = list(product(range(down.taps), range(along.taps)))
    strips, blocks = -(-along.out // 4), -(-down.out // high)
    size = {a: f"params.size{a}" if a in space else "1u" for a in (1, 2)}
    x = {a: "0u" if a not in space else "1u" if axes[a].x == 1 else f"params.x{a}" for a in (1, 2)}
    w = {a: f"params.w{a}" if a in space else "0u" for a in (1, 2)}
    y = {a: "0u" if a not in space else "1u" if axes[a].y == 1 else f"params.y{a}" for a in (1, 2)}

    for name in ("x_p", "w_p", "y_p", "o1", "o2", "channel"):
        prelude.text(f"var<private> {name}: u32;")
    prelude.text("var<private> s1: i32;\nvar<private> s2: i32;")
    for m, r in product(range(rows), range(high)):
        prelude.text(f"var<private> v{m}_{r}: vec4<f32>;")
    _function(prelude, "begin(i: u32)", [
        f"let n2 = i / {strips}u;", f"o2 = 4u * (i - n2 * {strips}u);",
        f"let n1 = n2 / {blocks}u;", f"o1 = {high}u * (n2 - n1 * {blocks}u);",
        "let image = n1 / params.groups_count;", "let own = n1 - image * params.groups_count;",
        f"channel = own * {rows}u;",
        "x_p = params.x_at + image * params.x_image + own * params.x_group;",
        "w_p = params.w_at + own * params.w_group;",
        f"y_p = params.y_at + image * params.y_image + own * params.y_group + o1 * {y[1]} + o2 * {y[2]};",
        f"s1 = i32(o1 * {down.step}u / {down.divide}u);", f"s2 = i32(o2 * {along.step}u / {along.divide}u);",
    ])  # fmt: skip

    lines = ["let base = x_p + c * params.x_c;", "let weights = w_p + c * params.w_c;"]
    for m in range(rows):
        for p, q in taps:
            name = f"w{m}_{p}_{q}"
            lines.append(f"let {name} = load_w(weights + {m}u * params.w_row + {p}u * {w[1]} + {q}u * {w[2]});")
    offsets = _met(down, high)
    spots = _met(along, 4)
    if wide:
        chunks = sorted({spot // 4 for spot in spots})
        last = (strips - 1) * along.step + chunks[-1]
        for j, chunk in enumerate(chunks):
            lines.append(f"let at{j} = s2 / 4 + {chunk};")
            if chunks[0] < 0 or 4 * last + 4 > along.size:
                lines.append(f"let in{j} = u32(at{j}) < {size[2]} / 4u;")
        some = chunks[0] < 0 or 4 * last + 4 > along.size
    else:
        for j, spot in enumerate(spots):
            lines.append(f"let at{j} = s2 + {spot};")
            if ends_along:
                lines.append(f"let in{j} = u32(at{j}) < {size[2]};")
        some = ends_along
    count = len(chunks) if wide else len(spots)
    for d, offset in enumerate(offsets):
        lines.append(f"let y{d} = s1 + {offset};")
        lines.append(f"let line{d} = (base + bitcast<u32>(y{d}) * {x[1]}){' / 4u' if wide else ''};")
        if ends_down:
            lines.append(f"let down{d} = u32(y{d}) < {size[1]};")
        for j in range(count):
            tests = ([f"down{d}"] if ends_down else []) + ([f"in{j}"] if some else [])
            kind = "vec4<f32>" if wide else "f32"
            zero = "vec4<f32>()" if wide else "0.0"
            place = f"line{d} + bitcast<u32>(at{j})" + ("" if wide or x[2] == "1u" else f" * {x[2]}")
            load = "chunk_x" if wide else "load_x"
            if tests:
                lines += [f"let ok{d}_{j} = {' && '.join(tests)};", f"var x{d}_{j}: {kind};"]
                lines += _if(f"x{d}_{j}", f"ok{d}_{j}", load, place, zero)
            else:
                lines.append(f"let x{d}_{j} = {load}({place});")
        for r, p in product(range(high), range(down.taps)):
            if meeting(down, r, p) != offset:
                continue
            for q in range(along.taps):
                four = []
                for at in (meeting(along, e, q) for e in range(4)):
                    if at is None:
                        four.append("")
                    elif wide:
                        four.append(f"x{d}_{chunks.index(at // 4)}.{LANES[at % 4]}")
                    else:
                        four.append(f"x{d}_{spots.index(at)}")
                for m in range(rows):
                    if all(four):
                        lines.append(f"v{m}_{r} += w{m}_{p}_{q} * vec4<f32>({', '.join(four)});")
                        continue
                    lines += [f"v{m}_{r}.{LANES[e]} += w{m}_{p}_{q} * {one};" for e, one in enumerate(four) if one]
    _function(prelude, "add(c: u32)", lines)

    lines = []
    if skips:
        prelude.text("fn is_nan_bits(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }")
        _function(prelude, "exact(m: u32, r: i32, e: i32) -> f32", [
            "var sum = 0.0;",
            "for (var c = 0u; c < params.channels; c++) {",
            f"for (var p = 0u; p < {down.taps}u; p++) {{",
            f"let y = (i32(o1) + r) * {down.step} + i32(p) * {down.tap_step} + {down.first};",
            f"for (var q = 0u; q < {along.taps}u; q++) {{",
            f"let x = (i32(o2) + e) * {along.step} + i32(q) * {along.tap_step} + {along.first};",
            f"let y_x = vec2<u32>(u32(y) / {down.divide}u, u32(x) / {along.divide}u);",
            f"let meet = y >= 0 && x >= 0 && y_x.x * {down.divide}u == u32(y) && y_x.y * {along.divide}u == u32(x);",
            f"if (meet && y_x.x < {size[1]} && y_x.y < {size[2]}) {{",
            f"let at = x_p + c * params.x_c + y_x.x * {x[1]} + y_x.y * {x[2]};",
            f"sum += load_w(w_p + c * params.w_c + m * params.w_row + p * {w[1]} + q * {w[2]}) * load_x(at);",
            "}", "}", "}", "}", "return sum;",
        ])  # fmt: skip
        for m, r in product(range(rows), range(high)):
            v = f"v{m}_{r}"
            again = ", ".join(f"exact({m}u, {r}, {e})" for e in range(4))
            lines.append(f"if (is_nan_bits({v}.x + {v}.y + {v}.z + {v}.w)) {{ {v} = vec4<f32>({again}); }}")
    for m, r in product(range(rows), range(high)):
        stores = [f"let b = {f'load_bias(channel + {m}u)' if bias else '0.0'};"]
        stores.append(f"let at = y_p + {m}u * params.y_row + {r}u * {y[1]};")
        if chunked:
            sums = ", ".join(f"v{m}_{r}.{LANES[e]} + b" for e in range(4))
            stores.append(f"store4_out(at / 4u, array<f32, 4>({sums}));")
        else:
            stores += [
                f"if (o2 + {e}u < {along.out}u) {{ store_out(at + {e}u * {y[2]}, v{m}_{r}.{LANES[e]} + b); }}"
                for e in range(4)
            ]
        body = " ".join(stores)
        test = f"if (o1 + {r}u < {down.out}u) " if r and down.out % high else ""
        lines.append(f"{test}{{ {body} }}")
    _function(prelude, "put()", lines)
