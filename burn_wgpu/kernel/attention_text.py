"""WGSL of fused attention that is written out over a thread's rows and columns, in named registers.

Three kernels are made of the same parts. `turned` and `upright` bring slices of a matrix into workgroup memory,
`product` multiplies two turned slices into scores, `spread` hands scores to the whole workgroup as weights, and `apply`
multiplies the weights with an upright slice into results.
"""

from __future__ import annotations

from dataclasses import dataclass

from burn_wgpu.shader.prelude import Prelude, WordKind

LANES = "xyzw"


@dataclass(frozen=True, slots=True)
class Shape:
    """A workgroup: `down` × `across` threads of eight rows.

    columns  results that a thread has of each row, a multiple of four
    slice    of the width of both factors of the scores, and `values` weights of each row with what they are multiplied
             with, that are in workgroup memory at a time; little, since that decides how many workgroups fit
    deep     steps of a slice that stand in a row; a loop goes over more
    beside   scores that a thread has of each row, a multiple of four
    """

    down: int
    across: int
    columns: int
    slice: int
    values: int
    deep: int = 8
    beside: int = 4

    @property
    def threads(self) -> int:
        return self.down * self.across

    @property
    def rows(self) -> int:
        return 8 * self.down

    @property
    def keys(self) -> int:
        """Scores of a row in one step."""
        return self.beside * self.across

    @property
    def results(self) -> int:
        """Width of the results, with padding."""
        return self.columns * self.across

    @property
    def row_pitch(self) -> int:
        """From one step of a turned slice to the next, in vectors: odd, so that neighbours use different banks."""
        return self.rows // 4 + 1

    @property
    def key_pitch(self) -> int:
        return self.keys // 4 + 1

    @property
    def weights_at(self) -> int:
        """Where the weights stand, in vectors: behind the upright slice."""
        return self.values * self.results // 4

    @property
    def vectors(self) -> int:
        """Shared by the turned slices, the rows' maxima, and the upright slice with its weights."""
        turned = self.slice * (self.row_pitch + self.key_pitch)
        return max(turned, self.rows * self.across // 4, self.weights_at + self.values * self.row_pitch)

    @property
    def workgroup_bytes(self) -> int:
        return 16 * self.vectors

    def steps(self, width: int) -> int:
        """Loop iterations for the scores over this width."""
        return -(-width // self.slice) * (1 + self.slice // self.deep)

    @property
    def apply_steps(self) -> int:
        """Loop iterations for the results of one step."""
        return self.keys // self.values * (1 + self.values // min(self.values, self.deep))


def function(prelude: Prelude, head: str, lines: list[str]) -> None:
    prelude.text(f"fn {head} {{\n" + "\n".join(lines) + "\n}")


# ----------------------------------------------------------------------------------------------------------- reading


def operand(prelude: Prelude, x: str, kind: WordKind, wide: bool) -> None:
    """`read4_x`, four neighbours along the last axis: the chunk's number when wide, else place and stride."""
    if not wide:
        args = ", ".join(f"load_{x}(at + {e}u * step)" for e in range(4))
        prelude.text(f"fn read4_{x}(at: u32, step: u32) -> vec4<f32> {{ return vec4<f32>({args}); }}")
        return
    if kind.name == "f16":  # two halves an instruction
        body = f"let p = {x}[c]; return vec4<f32>(unpack2x16float(p.x), unpack2x16float(p.y));"
    elif kind.name == "f32":
        body = f"return bitcast<vec4<f32>>({x}[c]);"
    else:
        body = f"let p = load4_{x}(c); return vec4<f32>(p[0], p[1], p[2], p[3]);"
    prelude.text(f"fn read4_{x}(c: u32) -> vec4<f32> {{ {body} }}")


def bases(prelude: Prelude, head: str, first: list[str], names: dict[str, str]) -> None:
    """`head` sets x_base for each operand from n and the head that `names` gives."""
    for x in names:
        prelude.text(f"var<private> {x}_base: u32;")
    lines = [f"    {x}_base = params.{x}_at + n * params.{x}_n + ({h}) * params.{x}_h;" for x, h in names.items()]
    function(prelude, head, [*first, *lines])


def turned(prelude: Prelude, shape: Shape, x: str, extent: str, width: str, side: str, wide: bool) -> None:
    """`stash_x(first, d, local)`: rows from `first` on, of them the slice at d, as [slice][rows / 4].

    A vector is four rows at one place of the width; what lies beyond the width is 0, rows beyond the last repeat it.
    side: "row" for the first factor of the scores, "key" for the second.
    """
    count, pitch = (shape.rows, shape.row_pitch) if side == "row" else (shape.keys, shape.key_pitch)
    start = 0 if side == "row" else shape.slice * shape.row_pitch
    along = shape.slice // 4 if wide else shape.slice
    lines: list[str] = []
    for c, guard in _shares(shape, along * count // 4):
        rows = [f"min({side}0 + 4u * ({c} / {along}u) + {e}u, params.{extent} - 1u) * params.{x}_s" for e in range(4)]
        lines.append(guard)
        if wide:
            lines.append(f"        let at = d / 4u + {c} % {along}u;")
            lines.append(f"        let inside = at < params.{width} / 4u;")
            lines.append(f"        let base = {x}_base + select(0u, at, inside);")
            for e, row in enumerate(rows):
                lines.append(f"        let r{e} = select(vec4<f32>(), read4_{x}(base + {row}), inside);")
            lines.append(f"        let put = {start}u + ({c} % {along}u) * {4 * pitch}u + {c} / {along}u;")
            for e, lane in enumerate(LANES):
                four = ", ".join(f"r{i}.{lane}" for i in range(4))
                lines.append(f"        tile[put + {e * pitch}u] = vec4<f32>({four});")
        else:
            four = ", ".join(f"load_{x}(base + {row})" for row in rows)
            lines.append(f"        let at = d + {c} % {along}u;")
            lines.append(f"        let inside = at < params.{width};")
            lines.append(f"        let base = {x}_base + select(0u, at, inside) * params.{x}_d;")
            lines.append(f"        let put = {start}u + ({c} % {along}u) * {pitch}u + {c} / {along}u;")
            lines.append(f"        tile[put] = select(vec4<f32>(), vec4<f32>({four}), inside);")
        lines.append("    }")
    function(prelude, f"stash_{x}({side}0: u32, d: u32, local: u32)", lines)


def upright(prelude: Prelude, shape: Shape, x: str, extent: str, width: str, wide: bool) -> None:
    """`stash_x_rows(key0, first, local)`: the rows of weights from first on, as [values][width / 4].

    Rows beyond the last are 0, since 0 · inf would be NaN. Weights lie in the order in which `spread` puts them.
    """
    per, across = shape.results // 4, shape.across
    lines: list[str] = []
    for c, guard in _shares(shape, shape.values * per):
        lines.append(guard)
        lines.append(f"        let slot = first + {c} / {per}u;")
        block, lane = f"(slot / {4 * across}u) * {across}u + slot % {across}u", f"(slot / {across}u) % 4u"
        lines.append(f"        let at = key0 + 4u * ({block}) + {lane};")
        lines.append(f"        let base = {x}_base + min(at, params.{extent} - 1u) * params.{x}_s;")
        if wide:
            read = f"read4_{x}(base + min({c} % {per}u, params.{width} / 4u - 1u))"
        else:
            lines.append(f"        let column = 4u * ({c} % {per}u);")
            places = ", ".join(
                f"load_{x}(base + min(column + {e}u, params.{width} - 1u) * params.{x}_d)" for e in range(4)
            )
            read = f"vec4<f32>({places})"
        lines.append(f"        tile[{c}] = select(vec4<f32>(), {read}, at < params.{extent});")
        lines.append("    }")
    function(prelude, f"stash_{x}_rows(key0: u32, first: u32, local: u32)", lines)


def _shares(shape: Shape, total: int) -> list[tuple[str, str]]:
    """A thread's shares of a slice of so many vectors: number, and a block's opening, guarded if not all have one."""
    shares = []
    for l in range(-(-total // shape.threads)):
        c = f"(local + {l * shape.threads}u)"
        shares.append((c, f"    if ({c} < {total}u) {{" if (l + 1) * shape.threads > total else "    {"))
    return shares


# -------------------------------------------------------------------------------------------------------- arithmetic


def memory(prelude: Prelude, shape: Shape) -> None:
    prelude.text(f"var<workgroup> tile: array<vec4<f32>, {shape.vectors}>;")


def product(prelude: Prelude, shape: Shape, s: str) -> None:
    """Registers s{row}_{j}, `clear_s()` and `multiply_s(local)`: the two turned slices multiplied onto them."""
    beside = shape.beside // 4
    names = [f"{s}{r}_{j}" for r in range(8) for j in range(beside)]
    for name in names:
        prelude.text(f"var<private> {name}: vec4<f32>;")
    function(prelude, f"clear_{s}()", [f"    {name} = vec4<f32>();" for name in names])
    start = shape.slice * shape.row_pitch
    lines = [
        f"    for (var d = 0u; d < {shape.slice}u; d += {shape.deep}u) {{",
        f"        let q_at = d * {shape.row_pitch}u + local / {shape.across}u * 2u;",
        f"        let k_at = {start}u + d * {shape.key_pitch}u + local % {shape.across}u;",
    ]
    for d in range(shape.deep):
        lines += [f"        let q{d}_{i} = tile[q_at + {d * shape.row_pitch + i}u];" for i in range(2)]
        lines += [
            f"        let k{d}_{j} = tile[k_at + {d * shape.key_pitch + j * shape.across}u];" for j in range(beside)
        ]
        lines += [
            f"        {s}{r}_{j} += q{d}_{r // 4}.{LANES[r % 4]} * k{d}_{j};" for r in range(8) for j in range(beside)
        ]
    function(prelude, f"multiply_{s}(local: u32)", [*lines, "    }"])


def spread(prelude: Prelude, shape: Shape, s: str) -> None:
    """`spread_s(first, local)`: weights first … first + values of each row to workgroup memory.

    Score e of block j of thread a is weight (4j + e) · across + a of its row.
    """
    across, values, pitch = shape.across, shape.values, shape.row_pitch
    together = max(values // across, 1)
    lines = [
        f"    let a = local % {across}u;",
        f"    let at = {shape.weights_at}u + a % {values}u * {pitch}u + local / {across}u * 2u;",
        f"    switch (first / {together * across}u) {{",
    ]
    for part in range(shape.beside // together):
        lines.append(f"        case {part}u: {{")
        if values < across:
            lines.append(f"            if (a / {values}u == first / {values}u % {across // values}u) {{")
        for t in range(together):
            j, e = divmod(part * together + t, 4)
            for i in range(2):
                four = ", ".join(f"{s}{4 * i + r}_{j}.{LANES[e]}" for r in range(4))
                lines.append(f"            tile[at + {t * across * pitch + i}u] = vec4<f32>({four});")
        lines.append("            } }" if values < across else "        }")
    function(prelude, f"spread_{s}(first: u32, local: u32)", [*lines, "        default: {}", "    }"])


def apply(prelude: Prelude, shape: Shape, o: str) -> None:
    """Registers o{row}_{j} and `apply_o(local)`: the weights there times the upright slice."""
    wide, per, pitch = shape.columns // 4, shape.results // 4, shape.row_pitch
    for r in range(8):
        for j in range(wide):
            prelude.text(f"var<private> {o}{r}_{j}: vec4<f32>;")
    deep = min(shape.values, shape.deep)
    lines = [
        f"    for (var k = 0u; k < {shape.values}u; k += {deep}u) {{",
        f"        let w_at = {shape.weights_at}u + k * {pitch}u + local / {shape.across}u * 2u;",
        f"        let v_at = k * {per}u + local % {shape.across}u;",
    ]
    for k in range(deep):
        lines += [f"        let w{k}_{i} = tile[w_at + {k * pitch + i}u];" for i in range(2)]
        lines += [f"        let v{k}_{j} = tile[v_at + {k * per + j * shape.across}u];" for j in range(wide)]
        lines += [
            f"        {o}{r}_{j} += w{k}_{r // 4}.{LANES[r % 4]} * v{k}_{j};" for r in range(8) for j in range(wide)
        ]
    function(prelude, f"apply_{o}(local: u32)", [*lines, "    }"])


def cap(prelude: Prelude) -> None:
    """tanh to 2e-7 absolutely, which is all that a softmax can tell; short, since many of them stand there."""
    body = [
        "    let y = exp(2.0 * select(x, vec4<f32>(40.0), x > vec4<f32>(40.0)));",
        "    return 1.0 - 2.0 / (y + 1.0);",
    ]
    function(prelude, "cap4(x: vec4<f32>) -> vec4<f32>", body)


def columns_lines(shape: Shape, extent: str) -> list[str]:
    """column{j}, near{j} (within the extent) and beyond{j} of a thread's blocks of scores, and its first row."""
    lines = [f"    let row = row0 + local / {shape.across}u * 8u;", f"    let last = params.{extent} - 1u;"]
    for j in range(shape.beside // 4):
        lines.append(f"    let at{j} = key0 + (local % {shape.across}u + {j * shape.across}u) * 4u;")
        lines.append(f"    let column{j} = vec4<u32>(at{j}, at{j} + 1u, at{j} + 2u, at{j} + 3u);")
        lines.append(f"    let beyond{j} = column{j} > vec4<u32>(last);")
        lines.append(f"    let near{j} = min(column{j}, vec4<u32>(last));")
    return lines


def put4(prelude: Prelude, out: str, width: str, chunked: bool) -> None:
    """`put4_out(line, column, v)`: four results of a line, as far as they exist."""
    if chunked:
        store = f"store4_{out}((line * params.{width} + column) / 4u, array<f32, 4>(v.x, v.y, v.z, v.w));"
        body = [f"    if (column < params.{width}) {{", f"        {store}", "    }"]
    else:
        body = [f"    let at = line * params.{width} + column;"]
        body += [
            f"    if (column + {e}u < params.{width}) {{ store_{out}(at + {e}u, v.{lane}); }}"
            for e, lane in enumerate(LANES)
        ]
    function(prelude, f"put4_{out}(line: u32, column: u32, v: vec4<f32>)", body)


def put_lines(shape: Shape, o: str, out: str, extent: str) -> list[str]:
    """Results as they stand in registers, to the lines of `plane`, which counts the planes of all splits."""
    lines = [f"    let row = row0 + local / {shape.across}u * 8u;"]
    for r in range(8):
        lines.append(f"    if (row + {r}u < params.{extent}) {{")
        for j in range(shape.columns // 4):
            column = f"4u * (local % {shape.across}u + {j * shape.across}u)"
            lines.append(f"        put4_{out}(plane * params.{extent} + row + {r}u, {column}, {o}{r}_{j});")
        lines.append("    }")
    return lines


# ----------------------------------------------------------------------------------------------------------- kernels


def flash_text(
    prelude: Prelude, shape: Shape, softcap: bool, causal: bool, mask: bool, bias: bool, chunked: bool, wide: bool
) -> None:
    """Everything that flash.wgsl calls, after the operands' accessors."""
    across, blocks, results = shape.across, shape.beside // 4, shape.columns // 4
    memory(prelude, shape)
    prelude.use("lib/math")
    for r in range(8):
        prelude.text(f"var<private> top{r}: f32 = LOWEST;")
        prelude.text(f"var<private> sum{r}: f32 = 0.0;")
    names = {"q": "h", "k": "h / params.group", "v": "h / params.group"}
    names |= {x: "h" for x, there in (("m", mask), ("b", bias)) if there}
    head = ["    let n = plane / params.heads;", "    let h = plane - n * params.heads;"]
    bases(prelude, "begin(plane: u32)", head, names)
    turned(prelude, shape, "q", "queries", "width", "row", wide)
    turned(prelude, shape, "k", "keys", "width", "key", wide)
    upright(prelude, shape, "v", "keys", "results", wide)
    product(prelude, shape, "s")
    apply(prelude, shape, "o")

    # Scale, cap, hide; then the thread's share of each row's maximum.
    lines = columns_lines(shape, "keys")
    for r in range(8):
        lines.append(f"    let line{r} = min(row + {r}u, params.queries - 1u);")
        for j in range(blocks):
            s, hide = f"s{r}_{j}", f"hide{r}_{j}"
            lines.append(f"    {s} *= params.scale;")
            if softcap:
                lines.append(f"    {s} = params.softcap * cap4({s} / params.softcap);")
            lines.append(f"    var {hide} = beyond{j};")
            if mask:
                reads = ", ".join(f"load_m(m_base + line{r} * params.m_q + near{j}.{x} * params.m_k)" for x in LANES)
                lines.append(f"    {hide} = {hide} | vec4<bool>({reads});")
            if causal:
                seen = f"vec4<i32>(i32(line{r}) + bitcast<i32>(params.offset))"
                lines.append(f"    {hide} = {hide} | (vec4<i32>(column{j}) > {seen});")
            if bias:
                reads = ", ".join(f"load_b(b_base + line{r} * params.b_q + near{j}.{x} * params.b_k)" for x in LANES)
                lines.append(f"    {s} += vec4<f32>({reads});")
            # An infinite bias hides too. Hidden scores are the lowest number: nothing computes with infinities.
            lines.append(f"    {s} = select({s}, vec4<f32>(LOWEST), {hide} | ({s} < vec4<f32>(LOWEST)));")
        most = _fold("max", [f"s{r}_{j}" for j in range(blocks)])
        lines.append(f"    let most{r} = {most};")
        lines.append(
            f"    store_peak((local / {across}u * 8u + {r}u) * {across}u + local % {across}u, "
            f"max(max(most{r}.x, most{r}.y), max(most{r}.z, most{r}.w)));"
        )
    function(prelude, "finish_scores(row0: u32, key0: u32, local: u32)", lines)
    cap(prelude)
    function(prelude, "store_peak(i: u32, v: f32)", ["    tile[i / 4u][i & 3u] = v;"])

    lines = [f"    let at = local / {across}u * {2 * across}u;"]
    for r in range(8):
        peaks = _fold("max", [f"tile[at + {r * across // 4 + i}u]" for i in range(across // 4)])
        lines.append(f"    let peak{r} = {peaks};")
        lines.append(f"    let new{r} = max(top{r}, max(max(peak{r}.x, peak{r}.y), max(peak{r}.z, peak{r}.w)));")
        lines.append(f"    let shrink{r} = exp(top{r} - new{r});")
        lines.append(f"    top{r} = new{r};")
        for j in range(blocks):
            # A hidden score has no weight, even in a row where nothing else was seen.
            s = f"s{r}_{j}"
            lines.append(f"    {s} = select(exp({s} - new{r}), vec4<f32>(), {s} == vec4<f32>(LOWEST));")
        lines.append(f"    let all{r} = {' + '.join(f's{r}_{j}' for j in range(blocks))};")
        lines.append(f"    sum{r} = sum{r} * shrink{r} + (all{r}.x + all{r}.y + all{r}.z + all{r}.w);")
        lines += [f"    o{r}_{j} *= shrink{r};" for j in range(results)]
    function(prelude, "weigh(local: u32)", lines)
    spread(prelude, shape, "s")

    lines = [
        f"    store_peak((local / {across}u * 8u + {r}u) * {across}u + local % {across}u, sum{r});" for r in range(8)
    ]
    function(prelude, "put_sums(local: u32)", lines)
    lines = [f"    let at = local / {across}u * {2 * across}u;", f"    let row = row0 + local / {across}u * 8u;"]
    for r in range(8):
        parts = " + ".join(f"tile[at + {r * across // 4 + i}u]" for i in range(across // 4))
        lines.append(f"    let total{r} = {parts};")
        lines.append(f"    let all{r} = max((total{r}.x + total{r}.y) + (total{r}.z + total{r}.w), SMALLEST);")
        # max may lose a NaN; the row must not.
        lines.append(
            f"    let whole{r} = select(all{r}, total{r}.x + total{r}.y + total{r}.z + total{r}.w, lost(total{r}));"
        )
        lines.append(f"    if (row + {r}u < params.queries) {{")
        lines.append(f"        let line{r} = plane * params.queries + row + {r}u;")
        lines.append(f"        put_logsumexp(line{r}, local % {across}u, top{r} + log(whole{r}));")
        for j in range(results):
            column = f"4u * (local % {across}u + {j * across}u)"
            lines.append(f"        put4_out(line{r}, {column}, o{r}_{j} / whole{r});")
        lines.append("    }")
    function(prelude, "put_results(plane: u32, row0: u32, local: u32)", lines)
    prelude.text("fn lost(v: vec4<f32>) -> bool { return is_nan(v.x) || is_nan(v.y) || is_nan(v.z) || is_nan(v.w); }")
    put4(prelude, "out", "results", chunked)


def _fold(name: str, terms: list[str]) -> str:
    """Nested calls of two, halved each time."""
    while len(terms) > 1:
        pairs = [f"{name}({a}, {b})" for a, b in zip(terms[::2], terms[1::2], strict=False)]
        terms = [*pairs, *terms[len(terms) - len(terms) % 2 :]]
    return terms[0]


def query_grad_text(prelude: Prelude, shape: Shape, softcap: bool, causal: bool, chunked: bool, wide: bool) -> None:
    """Everything that query_grad.wgsl calls: rows are queries, beside them stand keys."""
    memory(prelude, shape)
    names = {"q": "h", "k": "h / params.group", "v": "h / params.group", "g": "h", "y": "h"}
    head = ["    let n = plane / params.heads;", "    let h = plane - n * params.heads;"]
    bases(prelude, "begin(plane: u32)", head, names)
    for x, extent, width, side in (
        ("q", "queries", "width", "row"), ("k", "keys", "width", "key"), ("g", "queries", "results", "row"),
        ("v", "keys", "results", "key"),
    ):  # fmt: skip
        turned(prelude, shape, x, extent, width, side, wide)
    upright(prelude, shape, "k", "keys", "width", wide)
    product(prelude, shape, "s")
    product(prelude, shape, "t")
    apply(prelude, shape, "o")

    # δ of one query: its gradient times its output.
    step, end = ("c", "params.results / 4u") if wide else ("c * params.{x}_d", "params.results")
    read = "read4_{x}" if wide else "load_{x}"
    factors = [f"{read}({{x}}_base + row * params.{{x}}_s + {step})".replace("{x}", x) for x in "gy"]
    zero, whole = ("vec4<f32>()", "(sum.x + sum.y) + (sum.z + sum.w)") if wide else ("0.0", "sum")
    lines = [
        f"    var sum = {zero};",
        f"    for (var c = 0u; c < {end}; c++) {{ sum += {factors[0]} * {factors[1]}; }}",
        f"    return {whole};",
    ]
    function(prelude, "delta_of(row: u32) -> f32", lines)
    for r in range(8):
        prelude.text(f"var<private> delta{r}: f32;")
        prelude.text(f"var<private> lse{r}: f32;")
    function(prelude, "keep_delta(i: u32, v: f32)", ["    tile[i / 4u][i & 3u] = v;"])
    lines = [f"    let at = local / {shape.across}u * 2u;", f"    let row = row0 + local / {shape.across}u * 8u;"]
    for r in range(8):
        lines.append(f"    delta{r} = tile[at + {r // 4}u].{LANES[r % 4]};")
        lines.append(f"    lse{r} = load_lse(plane * params.queries + min(row + {r}u, params.queries - 1u));")
    function(prelude, "take_rows(plane: u32, row0: u32, local: u32)", lines)

    lines = columns_lines(shape, "keys")
    for r in range(8):
        for j in range(shape.beside // 4):
            hide = f"beyond{j}"
            if causal:
                seen = f"vec4<i32>(i32(row + {r}u) + bitcast<i32>(params.offset))"
                hide = f"({hide} | (vec4<i32>(column{j}) > {seen}))"
            lines += _gradient_lines(r, j, softcap, hide, f"lse{r}", f"delta{r}")
    function(prelude, "finish_scores(row0: u32, key0: u32, local: u32)", lines)
    cap(prelude)
    spread(prelude, shape, "t")
    function(prelude, "put_results(plane: u32, row0: u32, local: u32)", put_lines(shape, "o", "out", "queries"))
    put4(prelude, "out", "width", chunked)


def key_grad_text(
    prelude: Prelude, shape: Shape, softcap: bool, causal: bool, chunked: tuple[bool, bool], wide: bool
) -> None:
    """Everything that key_grad.wgsl calls: rows are keys, beside them stand queries."""
    memory(prelude, shape)
    names = {"k": "owner", "v": "owner", "q": "h", "g": "h"}
    bases(prelude, "begin(n: u32, owner: u32, h: u32)", [], names)
    for x, extent, width, side in (
        ("k", "keys", "width", "row"), ("q", "queries", "width", "key"), ("v", "keys", "results", "row"),
        ("g", "queries", "results", "key"),
    ):  # fmt: skip
        turned(prelude, shape, x, extent, width, side, wide)
    upright(prelude, shape, "g", "queries", "results", wide)
    upright(prelude, shape, "q", "queries", "width", wide)
    product(prelude, shape, "s")
    product(prelude, shape, "t")
    apply(prelude, shape, "o")
    apply(prelude, shape, "u")

    lines = columns_lines(shape, "queries")
    for j in range(shape.beside // 4):
        for name in ("lse", "delta"):
            four = ", ".join(f"load_{name}(line0 + near{j}.{x})" for x in LANES)
            lines.append(f"    let {name}{j} = vec4<f32>({four});")
    for r in range(8):
        for j in range(shape.beside // 4):
            hide = f"beyond{j}"
            if causal:
                sees = f"vec4<i32>(column{j}) + bitcast<i32>(params.offset)"
                hide = f"({hide} | (vec4<i32>(i32(row + {r}u)) > {sees}))"
            lines += _gradient_lines(r, j, softcap, hide, f"lse{j}", f"delta{j}")
    function(prelude, "finish_scores(line0: u32, row0: u32, key0: u32, local: u32)", lines)
    cap(prelude)
    spread(prelude, shape, "s")
    spread(prelude, shape, "t")
    lines = ["    {", *put_lines(shape, "o", "dk", "keys"), "    }", *put_lines(shape, "u", "dv", "keys")]
    function(prelude, "put_results(plane: u32, row0: u32, local: u32)", lines)
    put4(prelude, "dk", "width", chunked[0])
    put4(prelude, "dv", "results", chunked[1])


def _gradient_lines(r: int, j: int, softcap: bool, hide: str, lse: str, delta: str) -> list[str]:
    """s = q · k becomes the weight, t = grad · v the gradient of q · k."""
    s, t = f"s{r}_{j}", f"t{r}_{j}"
    lines = [f"    {s} *= params.scale;"]
    slope = "params.scale"
    if softcap:
        lines.append(f"    let cap{r}_{j} = cap4({s} / params.softcap);")
        lines.append(f"    {s} = params.softcap * cap{r}_{j};")
        slope = f"(params.scale * (1.0 - cap{r}_{j} * cap{r}_{j}))"
    lines.append(f"    {s} = select(exp({s} - {lse}), vec4<f32>(), {hide});")
    lines.append(f"    {t} = select({s} * ({t} - {delta}) * {slope}, vec4<f32>(), {hide});")
    return lines
