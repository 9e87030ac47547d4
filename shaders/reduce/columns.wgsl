// out[o] = combine over j of cells(o, j): neighbouring invocations take neighbouring outputs and walk j in strides of TY.
//
// A workgroup is a strip of TX columns of COLS outputs each and TY rows, which a tree in workgroup memory joins. With
// several parts, part p folds rows [p·span, (p+1)·span) into partial results. COLS is 4 (then LANES too) or 1.
//
// A, identity, combine and append (combine for a later element) come from a fold: lib/reduce_*.wgsl.
//
//! needs keep_at, cells, sink, WORKGROUP, TX, COLS, LANES

const TY = WORKGROUP / TX;
var<workgroup> strip: array<A, WORKGROUP * COLS>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let index = group.x + group.y * params.groups_x;
    let part = index / params.groups;
    let block = index - part * params.groups;
    let y = local / TX;
    let column = min(block * TX + local % TX, params.outputs / COLS - 1u);
    let base = keep_at(column);
    let end = min(part * params.span + params.span, params.units);
    var acc: array<A, COLS>;
    for (var k = 0u; k < COLS; k++) {
        acc[k] = identity();
    }
    var j = part * params.span + y;
    for (; j + 3u * TY < end; j += 4u * TY) {
        let p = cells(base, j, column);
        let q = cells(base, j + TY, column);
        let r = cells(base, j + 2u * TY, column);
        let s = cells(base, j + 3u * TY, column);
        for (var k = 0u; k < COLS; k++) {
            acc[k] = append(acc[k], append(append(p[k], q[k]), append(r[k], s[k])));
        }
    }
    for (; j < end; j += TY) {
        let p = cells(base, j, column);
        for (var k = 0u; k < COLS; k++) {
            acc[k] = append(acc[k], p[k]);
        }
    }
    for (var k = 0u; k < COLS; k++) {
        strip[k * WORKGROUP + local] = acc[k];
    }
    workgroupBarrier();
    for (var s = TY / 2u; s > 0u; s = s / 2u) {
        if (y < s) {
            for (var k = 0u; k < COLS; k++) {
                let here = k * WORKGROUP + local;
                strip[here] = combine(strip[here], strip[here + s * TX]);
            }
        }
        workgroupBarrier();
    }
    // An invocation gathers the LANES outputs that share words: its own column's four, or its neighbours' one each.
    let word = block * (TX * COLS / LANES) + local;
    if (local < TX * COLS / LANES && word * LANES < params.outputs && part < params.parts) {
        var results: array<A, LANES>;
        for (var k = 0u; k < LANES; k++) {
            results[k] = strip[select(local * LANES + k, k * WORKGROUP + local, COLS == 4u)];
        }
        sink(part, word, results);
    }
}
