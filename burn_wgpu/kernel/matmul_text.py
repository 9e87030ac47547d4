"""WGSL that matmul kernels have written out: reads of operands, one slice of products, stores of results.

What a loop would say in three lines is generated as statements over named variables, since that is what compilers keep
in registers: a third of the speed of a big product hangs on it. The loops over k stay in shaders/matmul/*.wgsl.
"""

from __future__ import annotations

from dataclasses import dataclass

from burn_wgpu.shader.prelude import Prelude, WordKind

LANES = "xyzw"


@dataclass(frozen=True, slots=True)
class Tile:
    """What a workgroup and a thread of the tile kernel compute, in results.

    rows, columns                of a workgroup
    depth                        of one slice of k
    thread_rows, thread_columns  of a thread, in blocks of four
    last_apart                   whether the last slice's products are written a second time, after the loop
    """

    rows: int
    columns: int
    depth: int
    thread_rows: int
    thread_columns: int
    last_apart: bool = False

    @property
    def threads(self) -> int:
        return (self.rows // self.thread_rows) * (self.columns // self.thread_columns)

    @property
    def workgroup_bytes(self) -> int:
        """Two buffers of a slice of each operand, in 4-byte values."""
        return 2 * 4 * self.depth * (self.rows + self.columns)


@dataclass(frozen=True, slots=True)
class Side:
    """An operand as a kernel reads it.

    name     "a" or "b" (tile), "w" or "x" (gemv): the binding, and the prefix of its parameters
    kind     its storage
    along_k  neighbours in memory are neighbours in k (else along the outer axis: a's rows, b's columns)
    wide     four neighbours are one load: strides, offset and the extent along them are multiples of four
    """

    name: str
    kind: WordKind
    along_k: bool
    wide: bool


def declare_side(prelude: Prelude, side: Side, batch_axes: int) -> None:
    """The binding, its accessors and `place_NAME(z)`, the first element of matrix z."""
    prelude.storage(side.name, side.kind, "chunk" if side.wide else "element")
    if side.wide:
        prelude.text(chunk_text(side.name, side.kind))
    x = side.name
    lines = [f"    var place = params.{x}_at;"]
    if batch_axes == 1:
        lines.append(f"    place += z * params.{x}_z0;")
    elif batch_axes:
        lines.append("    var left = z;")
        for axis in range(batch_axes - 1, 0, -1):
            lines.append(f"    let next{axis} = left / params.z{axis};")
            lines.append(f"    place += (left - next{axis} * params.z{axis}) * params.{x}_z{axis};")
            lines.append(f"    left = next{axis};")
        lines.append(f"    place += left * params.{x}_z0;")
    body = "\n".join(lines)
    prelude.text(f"fn place_{x}(z: u32) -> u32 {{\n{body}\n    return place;\n}}")


def chunk_text(name: str, kind: WordKind) -> str:
    """`chunk_NAME(c) -> vec4<V>`: elements 4c … 4c+3."""
    if kind.name == "f16":  # two halves an instruction
        body = f"let p = {name}[c]; return vec4<f32>(unpack2x16float(p.x), unpack2x16float(p.y));"
    elif kind.name in ("f32", "i32"):
        body = f"return bitcast<vec4<{kind.value}>>({name}[c]);"
    else:
        body = f"let p = load4_{name}(c); return vec4<{kind.value}>(p[0], p[1], p[2], p[3]);"
    return f"fn chunk_{name}(c: u32) -> vec4<{kind.value}> {{ {body} }}"


def declare_output(prelude: Prelude, kind: WordKind, chunked: bool, epilogue: str) -> None:
    """The binding `out` and its stores, through `epilogue(v, column)`.

    put4(i, column, count, v0 … v3)     results i … i+3 of one row, of which the first `count` exist
    put4_flat(i, columns, v0 … v3)      results i … i+3 of the flat output; a chunk is stored whole

    chunked: every i is a multiple of four and whole chunks belong to one row.
    """
    v = kind.value
    prelude.text(epilogue)
    values = ", ".join(f"v{e}: {v}" for e in range(4))
    if chunked:
        prelude.storage("out", kind, "chunk")
        done = ", ".join(f"epilogue(v{e}, column + {e}u)" for e in range(4))
        flat = ", ".join(f"epilogue(v{e}, columns.{LANES[e]})" for e in range(4))
        prelude.text(
            f"fn put4(i: u32, column: u32, count: u32, {values}) {{ store4_out(i / 4u, array<{v}, 4>({done})); }}\n"
            f"fn put4_flat(i: u32, columns: vec4<u32>, {values}) {{ store4_out(i / 4u, array<{v}, 4>({flat})); }}"
        )
        return
    prelude.storage("out", kind, "element")
    stores = ["    store_out(i, epilogue(v0, column));"]
    stores += [f"    if (count > {e}u) {{ store_out(i + {e}u, epilogue(v{e}, column + {e}u)); }}" for e in range(1, 4)]
    prelude.text(f"fn put4(i: u32, column: u32, count: u32, {values}) {{\n" + "\n".join(stores) + "\n}")


# ------------------------------------------------------------------------------------------------------------- tile


def tile_text(prelude: Prelude, tile: Tile, a: Side, b: Side, value: str, edges: bool, edge_k: bool) -> None:
    """Everything that tile.wgsl calls: NAME_begin, NAME_fetch, NAME_stash for both operands, multiply, put_results.

    edges   some tile reaches beyond the output: outer indices are clamped, stores are guarded
    edge_k  k is no multiple of the depth: elements beyond it count as zero
    """
    operand_text(prelude, tile, a, tile.rows, "m", value, edges, edge_k)
    operand_text(prelude, tile, b, tile.columns, "n", value, edges, edge_k)
    multiply_text(prelude, tile, a, b, value)
    results_text(prelude, tile, edges)


def operand_text(
    prelude: Prelude, tile: Tile, side: Side, outer: int, extent: str, value: str, edges: bool, edge_k: bool
) -> None:
    """One operand's way: places in memory → registers → workgroup memory, where k is the slow axis."""
    x, depth, threads = side.name, tile.depth, tile.threads
    chunks = outer * depth // 4
    loads = chunks // threads
    assert loads * threads == chunks, "a slice must divide evenly among the threads"
    size = outer * depth
    clamp = f"params.{extent} - 1u"
    if side.along_k:
        prelude.text(f"var<workgroup> {x}_tile: array<{value}, {2 * size}>;")
    else:
        prelude.text(f"var<workgroup> {x}_tile: array<vec4<{value}>, {2 * size // 4}>;")
    begin: list[str] = []
    fetch: list[str] = []
    stash: list[str] = []
    for l in range(loads):
        at = f"{x}_p{l}"
        reg = f"{x}_r{l}"
        prelude.text(f"var<private> {reg}: vec4<{value}>;")
        prelude.text(f"var<private> {at}: u32;")
        c = f"(local + {l * threads}u)"
        if side.along_k:
            q, o = f"{c} % {depth // 4}u", f"{c} / {depth // 4}u"
            k_here, o_here = f"4u * ({q})", f"o0 + {o}"
            o_here = f"min({o_here}, {clamp})" if edges else o_here
            place = f"base + ({o_here}) * params.{x}_o + (k0 + {k_here}) * params.{x}_k"
            if side.wide:
                begin.append(f"    {at} = (base + ({o_here}) * params.{x}_o + k0 + {k_here}) / 4u;")
                step = f"{depth // 4}u"
            else:
                begin.append(f"    {at} = {place};")
                step = f"{depth}u * params.{x}_k"
        else:
            k_here, o_here = f"{c} / {outer // 4}u", f"o0 + 4u * ({c} % {outer // 4}u)"
            if side.wide:
                o_here = f"min({o_here}, params.{extent} - 4u)" if edges else o_here
                begin.append(f"    {at} = (base + (k0 + {k_here}) * params.{x}_k + {o_here}) / 4u;")
                step = f"{depth // 4}u * params.{x}_k"
            else:
                begin.append(f"    {at} = base + (k0 + {k_here}) * params.{x}_k;")
                for e in range(4):
                    prelude.text(f"var<private> {x}_o{l}_{e}: u32;")
                    begin.append(f"    {x}_o{l}_{e} = min({o_here} + {e}u, {clamp}) * params.{x}_o;")
                step = f"{depth}u * params.{x}_k"
        fetch.append(f"    let p{l} = {at} + slice * {step};")
        fetch += _fetch(side, l, k_here, edge_k, value)
        if side.along_k:
            here = f"buffer * {size}u + {k_here} * {outer}u + {o}"
            stash.append(f"    let s{l} = {here};")
            stash += [f"    {x}_tile[s{l} + {e * outer}u] = {reg}.{LANES[e]};" for e in range(4)]
        else:
            stash.append(f"    {x}_tile[buffer * {size // 4}u + {c}] = {reg};")
    prelude.text(f"fn {x}_begin(base: u32, o0: u32, k0: u32, local: u32) {{\n" + "\n".join(begin) + "\n}")
    prelude.text(f"fn {x}_fetch(k0: u32, slice: u32, local: u32) {{\n" + "\n".join(fetch) + "\n}")
    prelude.text(f"fn {x}_stash(buffer: u32, local: u32) {{\n" + "\n".join(stash) + "\n}")


def _fetch(side: Side, l: int, k_here: str, edge_k: bool, value: str) -> list[str]:
    """Statements that load four elements into the register; where k ends, places fall back to 0 and values to zero."""
    x, at, reg = side.name, f"p{l}", f"{side.name}_r{l}"
    if side.wide:
        if not edge_k:
            return [f"    {reg} = chunk_{x}({at});"]
        return [
            f"    let in{l} = k0 + {k_here} < params.k;",
            f"    {reg} = select(vec4<{value}>(), chunk_{x}(select(0u, {at}, in{l})), in{l});",
        ]
    lines = []
    for e in range(4):
        place = f"{at} + {e}u * params.{x}_k" if side.along_k else f"{at} + {x}_o{l}_{e}"
        if edge_k:
            k = f"k0 + {k_here} + {e}u" if side.along_k else f"k0 + {k_here}"
            lines.append(f"    let in{l}_{e} = {k} < params.k;")
            lines.append(f"    let v{l}_{e} = select({value}(), load_{x}(select(0u, {place}, in{l}_{e})), in{l}_{e});")
        else:
            lines.append(f"    let v{l}_{e} = load_{x}({place});")
    lines.append(f"    {reg} = vec4<{value}>({', '.join(f'v{l}_{e}' for e in range(4))});")
    return lines


def multiply_text(prelude: Prelude, tile: Tile, a: Side, b: Side, value: str) -> None:
    """`multiply(buffer, local)`: results += the slice's products, every step of k written out.

    A thread's rows (and columns) are blocks of four, spread evenly over the tile, so that neighbouring threads read
    neighbouring words of workgroup memory.
    """
    high, wide = tile.thread_rows // 4, tile.thread_columns // 4
    across = tile.columns // tile.thread_columns
    for r in range(tile.thread_rows):
        for j in range(wide):
            prelude.text(f"var<private> c{r}_{j}: vec4<{value}>;")
    lines = []
    sides = []
    for side, outer, blocks, index in (
        (a, tile.rows, high, f"(local / {across}u)"),
        (b, tile.columns, wide, f"(local % {across}u)"),
    ):
        unit = 4 if side.along_k else 1  # words or vectors of workgroup memory per block of four
        lines.append(f"    let {side.name}_at = buffer * {outer * tile.depth * unit // 4}u + {index} * {unit}u;")
        stride = outer // blocks // 4 * unit  # between a thread's blocks
        sides.append((side, outer * unit // 4, blocks, stride))
    for k in range(tile.depth):
        for side, row, blocks, stride in sides:
            x = side.name
            for i in range(blocks):
                at = k * row + i * stride
                if side.along_k:
                    four = ", ".join(f"{x}_tile[{x}_at + {at + e}u]" for e in range(4))
                    lines.append(f"    let {x}{k}_{i} = vec4<{value}>({four});")
                else:
                    lines.append(f"    let {x}{k}_{i} = {x}_tile[{x}_at + {at}u];")
        for r in range(tile.thread_rows):
            for j in range(wide):
                lines.append(f"    c{r}_{j} += a{k}_{r // 4}.{LANES[r % 4]} * b{k}_{j};")
    prelude.text("fn multiply(buffer: u32, local: u32) {\n" + "\n".join(lines) + "\n}")


def results_text(
    prelude: Prelude, tile: Tile, edges: bool, name: str = "put_results", before: str | None = None
) -> None:
    """`put_results(start, row, column, local)`: stores the thread's block; `start` is the matrix's first result.

    before  a function that is called with the number of each four results in the block, and them
    """
    across, down = tile.columns // tile.thread_columns, tile.rows // tile.thread_rows
    lines = []
    for j in range(tile.thread_columns // 4):
        lines.append(f"    let x{j} = column + 4u * (local % {across}u + {j * across}u);")
    for r in range(tile.thread_rows):
        lines.append(f"    let y{r} = row + 4u * (local / {across}u + {r // 4 * down}u) + {r % 4}u;")
        for j in range(tile.thread_columns // 4):
            c = f"c{r}_{j}"
            count = f"params.n - x{j}" if edges else "4u"
            put = f"put4(start + y{r} * params.n + x{j}, x{j}, {count}, {c}.x, {c}.y, {c}.z, {c}.w);"
            if before:
                put = f"{before}({r * (tile.thread_columns // 4) + j}u, {c}); {put}"
            if edges:
                put = f"if (y{r} < params.m && x{j} < params.n) {{ {put} }}"
            lines.append("    " + put)
    prelude.text(f"fn {name}(start: u32, row: u32, column: u32, local: u32) {{\n" + "\n".join(lines) + "\n}")


# ------------------------------------------------------------------------------------------------------------- gemv


def gemv_text(prelude: Prelude, w: Side, x: Side, vectors: int, value: str, chunked: bool, row_is_column: bool) -> None:
    """What gemv.wgsl calls: begin, accumulate, spread, put_sums.

    Along k a unit is four neighbouring k; along rows it is one k. `x` is read wide only along k.
    row_is_column: w's rows are the output's columns (else the vectors are), which the epilogue wants to know.
    """
    four = f"vec4<{value}>"
    for v in range(vectors):
        prelude.text(f"var<private> s{v}: {four};")
    prelude.text("var<private> x_base: u32;")
    lines = ["    x_base = place_x(z);"]
    if w.along_k:
        for e in range(4):
            prelude.text(f"var<private> w{e}: u32;")
            lines.append(f"    w{e} = place_w(z) + min(row + {e}u, params.rows - 1u) * params.w_o;")
    elif w.wide:
        prelude.text("var<private> w0: u32;")
        lines.append("    w0 = place_w(z) + min(row, params.rows - 4u);")
    else:
        for e in range(4):
            prelude.text(f"var<private> w{e}: u32;")
            lines.append(f"    w{e} = place_w(z) + min(row + {e}u, params.rows - 1u) * params.w_o;")
    prelude.text("fn begin(z: u32, row: u32) {\n" + "\n".join(lines) + "\n}")

    lines = []
    if w.along_k:
        if not (w.wide and x.wide):  # some of the four may lie beyond k: zero on both sides, since 0 · inf is NaN
            alive = ", ".join(f"k + {e}u <= last" for e in range(4))
            lines += ["    let k = 4u * u;", "    let last = params.k - 1u;", f"    let alive = vec4<bool>({alive});"]
        for e in range(4):
            if w.wide:
                lines.append(f"    let m{e} = chunk_w(w{e} / 4u + u);")
            else:
                lines.append(f"    let m{e} = select({four}(), {four}({_clamped('w', f'w{e}')}), alive);")
        for v in range(vectors):
            base = f"x_base + {v}u * params.x_o"
            if x.wide:
                lines.append(f"    let x{v} = chunk_x(({base}) / 4u + u);")
            else:
                lines.append(f"    let x{v} = select({four}(), {four}({_clamped('x', base)}), alive);")
            dots = ", ".join(f"dot(m{e}, x{v})" for e in range(4))
            lines.append(f"    s{v} += {four}({dots});")
    else:
        lines.append("    let step = u * params.w_k;")
        if w.wide:
            lines.append("    let m = chunk_w((w0 + step) / 4u);")
        else:
            lines.append(f"    let m = {four}({', '.join(f'load_w(w{e} + step)' for e in range(4))});")
        for v in range(vectors):
            lines.append(f"    s{v} += load_x(x_base + {v}u * params.x_o + u * params.x_k) * m;")
    prelude.text("fn accumulate(u: u32) {\n" + "\n".join(lines) + "\n}")

    lines = [f"    sums[{v}u * THREADS + local] = s{v};" for v in range(vectors)]
    prelude.text("fn spread(local: u32) {\n" + "\n".join(lines) + "\n}")

    lines = []
    for v in range(vectors):
        lines.append(f"    let t{v} = sums[{v}u * THREADS + local];")
        if chunked:
            lines.append(f"    put4(start + row, row, 4u, t{v}.x, t{v}.y, t{v}.z, t{v}.w);")
            continue
        for e in range(4):
            at = f"start + (row + {e}u) * params.out_r + {v}u * params.out_v"
            column = f"row + {e}u" if row_is_column else f"{v}u"
            lines.append(
                f"    if (row + {e}u < params.rows) {{ store_out({at}, epilogue(t{v}.{LANES[e]}, {column})); }}"
            )
    prelude.text("fn put_sums(start: u32, row: u32, local: u32) {\n" + "\n".join(lines) + "\n}")


def _clamped(name: str, base: str) -> str:
    """Four loads along k from element k of `base`, none beyond the last one."""
    return ", ".join(f"load_{name}({base} + min(k + {e}u, last) * params.{name}_k)" for e in range(4))
