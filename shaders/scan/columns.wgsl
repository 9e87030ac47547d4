// out[o, j] = combine over i ≤ j of x[o, i], where neighbouring lanes o lie side by side: an invocation walks COLS of them.
//
// With several parts, part p of a lane does elements [p·span, (p+1)·span) and begins with the totals of the parts before.
//
//! needs keep_at, cells, place, total, PARTED, WORKGROUP, COLS

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let index = group.x + group.y * params.groups_x;
    let part = index / params.groups;
    let column = (index - part * params.groups) * WORKGROUP + local;
    if (part < params.parts && column < params.outputs / COLS) {
        let base = keep_at(column);
        var carry: array<A, COLS>;
        for (var k = 0u; k < COLS; k++) {
            carry[k] = identity();
            if (PARTED) {
                for (var p = 0u; p < part; p++) {
                    carry[k] = combine(carry[k], total(p, column * COLS + k));
                }
            }
        }
        let end = min(part * params.span + params.span, params.length);
        var j = part * params.span;
        // Four loads are on their way before the first is used.
        for (; j + 3u < end; j += 4u) {
            let p = cells(base, j, column);
            let q = cells(base, j + 1u, column);
            let r = cells(base, j + 2u, column);
            let s = cells(base, j + 3u, column);
            for (var k = 0u; k < COLS; k++) {
                carry[k] = combine(carry[k], p[k]);
            }
            place(column, j, carry);
            for (var k = 0u; k < COLS; k++) {
                carry[k] = combine(carry[k], q[k]);
            }
            place(column, j + 1u, carry);
            for (var k = 0u; k < COLS; k++) {
                carry[k] = combine(carry[k], r[k]);
            }
            place(column, j + 2u, carry);
            for (var k = 0u; k < COLS; k++) {
                carry[k] = combine(carry[k], s[k]);
            }
            place(column, j + 3u, carry);
        }
        for (; j < end; j++) {
            let p = cells(base, j, column);
            for (var k = 0u; k < COLS; k++) {
                carry[k] = combine(carry[k], p[k]);
            }
            place(column, j, carry);
        }
    }
}
