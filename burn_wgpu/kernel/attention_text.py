"""WGSL of fused attention that is written out over a thread's rows and columns, in named registers."""

from __future__ import annotations

from dataclasses import dataclass

from burn_wgpu.shader.prelude import Prelude

LANES = "xyzw"


@dataclass(frozen=True, slots=True)
class Shape:
    """A workgroup: `down` × `across` threads of eight rows, four keys a thread.

    columns  results a thread has of each row, a multiple of four
    slice    of the width of queries and keys, and `values` keys of the values, that are in workgroup memory at a time
    deep     steps of a slice that stand in a row; a loop goes over more
    """

    down: int
    across: int
    columns: int
    slice: int
    values: int
    deep: int = 8

    @property
    def threads(self) -> int:
        return self.down * self.across

    @property
    def rows(self) -> int:
        return 8 * self.down

    @property
    def keys(self) -> int:
        return 4 * self.across

    @property
    def results(self) -> int:
        """Width of the results, with padding."""
        return self.columns * self.across

    @property
    def slice_vectors(self) -> int:
        """Shared by slices of queries and keys, the rows' maxima and the slice of values."""
        return max(self.slice * (self.rows + self.keys), self.rows * self.across, self.values * self.results) // 4

    @property
    def workgroup_bytes(self) -> int:
        return 16 * (self.slice_vectors + self.keys * self.rows // 4)


def flash_text(
    prelude: Prelude, shape: Shape, softcap: bool, causal: bool, mask: bool, bias: bool, chunked: bool
) -> None:
    """Everything that flash.wgsl calls."""
    across, threads, rows, keys = shape.across, shape.threads, shape.rows, shape.keys
    high, wide = 2, shape.columns // 4
    prelude.text(f"var<workgroup> tile: array<vec4<f32>, {shape.slice_vectors}>;")
    prelude.text(f"var<workgroup> weights: array<vec4<f32>, {keys * rows // 4}>;")
    for r in range(8):
        prelude.text(f"var<private> s{r}: vec4<f32>;")
        prelude.text(f"var<private> top{r}: f32 = LOWEST;")
        prelude.text(f"var<private> sum{r}: f32 = 0.0;")
        for j in range(wide):
            prelude.text(f"var<private> o{r}_{j}: vec4<f32>;")
    names = ["q_base", "k_base", "v_base", *(["m_base"] if mask else []), *(["b_base"] if bias else [])]
    for name in names:
        prelude.text(f"var<private> {name}: u32;")

    lines = ["    let n = plane / params.heads;", "    let h = plane - n * params.heads;"]
    for name in names:
        x = name[0]
        head = "h / params.group" if x in "kv" else "h"
        lines.append(f"    {name} = params.{x}_at + n * params.{x}_n + ({head}) * params.{x}_h;")
    _function(prelude, "begin(plane: u32)", lines)
    _function(prelude, "clear_scores()", [f"    s{r} = vec4<f32>();" for r in range(8)])

    # Slices [slice][rows / 4] of queries, then [slice][keys / 4] of keys: a vector is four rows at one place.
    lines = []
    for x, count, extent, first, start in (
        ("q", rows, "queries", "row0", 0), ("k", keys, "keys", "key0", shape.slice * rows // 4),
    ):  # fmt: skip
        total = shape.slice * count // 4
        for l in range(-(-total // threads)):
            c = f"c{x}{l}"
            lines.append(f"    let {c} = local + {l * threads}u;")
            guard = total % threads != 0 and l == total // threads
            lines.append(f"    if ({c} < {total}u) {{" if guard else "    {")
            lines.append(f"        let at = d + {c} % {shape.slice}u;")
            lines.append("        let inside = at < params.width;")
            lines.append(f"        let base = {x}_base + select(0u, at, inside) * params.{x}_d;")
            values = []
            for e in range(4):
                row = f"min({first} + 4u * ({c} / {shape.slice}u) + {e}u, params.{extent} - 1u)"
                values.append(f"load_{x}(base + {row} * params.{x}_s)")
            lines.append(f"        let v = vec4<f32>({', '.join(values)});")
            place = f"{start}u + ({c} % {shape.slice}u) * {count // 4}u + {c} / {shape.slice}u"
            lines.append(f"        tile[{place}] = select(vec4<f32>(), v, inside);")
            lines.append("    }")
    _function(prelude, "load_scores(row0: u32, key0: u32, d: u32, local: u32)", lines)

    lines = [
        f"    for (var d = 0u; d < {shape.slice}u; d += {shape.deep}u) {{",
        f"        let q_at = d * {rows // 4}u + local / {across}u * 2u;",
        f"        let k_at = {shape.slice * rows // 4}u + d * {keys // 4}u + local % {across}u;",
    ]
    for d in range(shape.deep):
        for i in range(high):
            lines.append(f"        let q{d}_{i} = tile[q_at + {d * rows // 4 + i}u];")
        lines.append(f"        let k{d} = tile[k_at + {d * keys // 4}u];")
        lines += [f"        s{r} += q{d}_{r // 4}.{LANES[r % 4]} * k{d};" for r in range(8)]
    _function(prelude, "multiply_scores(local: u32)", [*lines, "    }"])

    # Scale, cap, hide; then the thread's share of each row's maximum.
    lines = [
        f"    let column = key0 + local % {across}u * 4u;",
        f"    let row = row0 + local / {across}u * 8u;",
        "    let last = params.keys - 1u;",
        "    let columns = vec4<u32>(column, column + 1u, column + 2u, column + 3u);",
        "    let beyond = columns > vec4<u32>(last);",
    ]
    lines.append("    let near = min(columns, vec4<u32>(last));")
    for r in range(8):
        s = f"s{r}"
        lines.append(f"    {s} *= params.scale;")
        if softcap:
            lines.append(f"    {s} = params.softcap * cap4({s} / params.softcap);")
        lines.append(f"    let line{r} = min(row + {r}u, params.queries - 1u);")
        lines.append(f"    var hide{r} = beyond;")
        if mask:
            reads = ", ".join(f"load_m(m_base + line{r} * params.m_q + near.{x} * params.m_k)" for x in LANES)
            lines.append(f"    hide{r} = hide{r} | vec4<bool>({reads});")
        if causal:
            lines.append(
                f"    hide{r} = hide{r} | (vec4<i32>(columns) > vec4<i32>(i32(line{r}) + bitcast<i32>(params.offset)));"
            )
        if bias:
            reads = ", ".join(f"load_b(b_base + line{r} * params.b_q + near.{x} * params.b_k)" for x in LANES)
            lines.append(f"    {s} += vec4<f32>({reads});")
        # An infinite bias hides too. Hidden scores are the lowest number: nothing here computes with infinities.
        lines.append(f"    {s} = select({s}, vec4<f32>(LOWEST), hide{r} | ({s} < vec4<f32>(LOWEST)));")
        lines.append(
            f"    store_peak((local / {across}u * 8u + {r}u) * {across}u + local % {across}u, "
            f"max(max({s}.x, {s}.y), max({s}.z, {s}.w)));"
        )
    _function(prelude, "finish_scores(plane: u32, row0: u32, key0: u32, local: u32)", lines)
    # tanh to 2e-7 absolutely, which is all that a softmax can tell; few instructions, since 32 of them stand here.
    body = [
        "    let y = exp(2.0 * select(x, vec4<f32>(40.0), x > vec4<f32>(40.0)));",
        "    return 1.0 - 2.0 / (y + 1.0);",
    ]
    _function(prelude, "cap4(x: vec4<f32>) -> vec4<f32>", body)
    _function(prelude, "store_peak(i: u32, v: f32)", ["    tile[i / 4u][i & 3u] = v;"])

    lines = [
        f"    let at = local / {across}u * {2 * across}u;",
        f"    let w_at = local % {across}u * {rows}u + local / {across}u * 2u;",
    ]
    for r in range(8):
        lines.append(f"    var peak{r} = tile[at + {r * across // 4}u];")
        lines += [f"    peak{r} = max(peak{r}, tile[at + {r * across // 4 + i}u]);" for i in range(1, across // 4)]
        lines.append(f"    let new{r} = max(top{r}, max(max(peak{r}.x, peak{r}.y), max(peak{r}.z, peak{r}.w)));")
        lines.append(f"    let shrink{r} = exp(top{r} - new{r});")
        lines.append(f"    top{r} = new{r};")
        # A hidden score has no weight, even in a row where nothing else was seen.
        lines.append(f"    s{r} = select(exp(s{r} - new{r}), vec4<f32>(), s{r} == vec4<f32>(LOWEST));")
        lines.append(f"    sum{r} = sum{r} * shrink{r} + (s{r}.x + s{r}.y + s{r}.z + s{r}.w);")
        lines += [f"    o{r}_{j} *= shrink{r};" for j in range(wide)]
    for e, x in enumerate(LANES):
        for i in range(high):
            four = ", ".join(f"s{4 * i + r}.{x}" for r in range(4))
            lines.append(f"    weights[w_at + {e * rows // 4 + i}u] = vec4<f32>({four});")
    _function(prelude, "spread_weights(local: u32)", lines)

    lines = []
    per_key = shape.results // 4
    total = shape.values * per_key
    for l in range(-(-total // threads)):
        c = f"c{l}"
        lines.append(f"    let {c} = local + {l * threads}u;")
        guard = total % threads != 0 and l == total // threads
        lines.append(f"    if ({c} < {total}u) {{" if guard else "    {")
        lines.append(f"        let at = key0 + {c} / {per_key}u;")
        lines.append("        let key = min(at, params.keys - 1u);")
        lines.append(f"        let column = 4u * ({c} % {per_key}u);")
        lines.append("        let base = v_base + key * params.v_s;")
        values = []
        for e in range(4):
            values.append(f"load_v(base + min(column + {e}u, params.results - 1u) * params.v_d)")
        # Keys beyond the last have no weight, and 0 · inf would be NaN.
        lines.append(f"        tile[{c}] = select(vec4<f32>(), vec4<f32>({', '.join(values)}), at < params.keys);")
        lines.append("    }")
    _function(prelude, "load_values(key0: u32, local: u32)", lines)

    deep = min(shape.values, shape.deep)
    lines = [
        f"    for (var k = 0u; k < {shape.values}u; k += {deep}u) {{",
        f"        let w_at = (first + k) * {rows // 4}u + local / {across}u * 2u;",
        f"        let v_at = k * {per_key}u + local % {across}u;",
    ]
    for k in range(deep):
        lines += [f"        let w{k}_{i} = weights[w_at + {k * rows // 4 + i}u];" for i in range(high)]
        lines += [f"        let v{k}_{j} = tile[v_at + {k * per_key + j * across}u];" for j in range(wide)]
        for r in range(8):
            lines += [f"        o{r}_{j} += w{k}_{r // 4}.{LANES[r % 4]} * v{k}_{j};" for j in range(wide)]
    _function(prelude, "multiply_values(first: u32, local: u32)", [*lines, "    }"])

    lines = [
        f"    store_peak((local / {across}u * 8u + {r}u) * {across}u + local % {across}u, sum{r});" for r in range(8)
    ]
    _function(prelude, "put_sums(local: u32)", lines)

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
        for j in range(wide):
            column = f"4u * (local % {across}u + {j * across}u)"
            lines.append(f"        put4(line{r}, {column}, o{r}_{j} / whole{r});")
        lines.append("    }")
    _function(prelude, "put_results(plane: u32, row0: u32, local: u32)", lines)
    prelude.text("fn lost(v: vec4<f32>) -> bool { return is_nan(v.x) || is_nan(v.y) || is_nan(v.z) || is_nan(v.w); }")
    prelude.use("lib/math")
    if chunked:
        store = "store4_out((line * params.results + column) / 4u, array<f32, 4>(v.x, v.y, v.z, v.w));"
        body = ["    if (column < params.results) {", f"        {store}", "    }"]
    else:
        body = [
            f"    if (column + {e}u < params.results) {{ store_out(line * params.results + column + {e}u, v.{x}); }}"
            for e, x in enumerate(LANES)
        ]
    _function(prelude, "put4(line: u32, column: u32, v: vec4<f32>)", body)


def _function(prelude: Prelude, head: str, lines: list[str]) -> None:
    prelude.text(f"fn {head} {{\n" + "\n".join(lines) + "\n}")
