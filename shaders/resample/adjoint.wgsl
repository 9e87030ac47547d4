// out[outer, i, inner] = Σ_e weight[e] · x[outer, index[e], inner], e in [start[i], start[i+1]): four neighbours a thread.
//
// The transposed taps of one axis: every element adds up what the outputs that used it give, in order. x [batch, channels,
// ..] has strides for its four axes; out is dense. table from params.table_at: length + 1 starts, then pairs of an index and
// the bits of its weight.
//
//! needs THREADS

fn adjoint(i: u32) -> f32 {
    let line = i / params.inner;
    let outer = line / params.length;
    let row = params.table_at + line - outer * params.length;
    let pairs = params.table_at + params.length + 1u;
    let plane = outer / params.rows;
    let n = plane / params.channels;
    let base = params.x_at + n * params.x_n + (plane - n * params.channels) * params.x_c
        + (outer - plane * params.rows) * params.x_row + (i - line * params.inner) * params.x_inner;
    let end = table[row + 1u];
    var sum = 0.0;
    for (var e = table[row]; e < end; e++) {
        sum += bitcast<f32>(table[pairs + 2u * e + 1u]) * load_x(base + table[pairs + 2u * e] * params.x_along);
    }
    return sum;
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let first = 4u * ((group.x + group.y * params.groups_x) * THREADS + local);
    let last = params.size - 1u;
    if (first <= last) {
        let v0 = adjoint(first);
        let v1 = adjoint(min(first + 1u, last));
        let v2 = adjoint(min(first + 2u, last));
        store4_out(first / 4u, array<f32, 4>(v0, v1, v2, adjoint(min(first + 3u, last))));
    }
}
