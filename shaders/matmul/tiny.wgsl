// out[z, r, c] = epilogue(Σ_k a[z, r, k] · b[z, k, c]): a thread computes four neighbours of the flat output.
//
// For many tiny matrices, and for k = 0. No workgroup memory; any strides and every value type.
//
//! needs THREADS, V, put4_flat

// Where the row of a and the column of b of result i begin, and that column's number.
fn places(i: u32) -> vec3<u32> {
    let line = i / params.n;
    let z = line / params.m;
    let column = i - line * params.n;
    return vec3<u32>(place_a(z) + (line - z * params.m) * params.a_o, place_b(z) + column * params.b_o, column);
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let first = 4u * ((group.x + group.y * params.groups_x) * THREADS + local);
    let last = params.size - 1u;
    if (first <= last) {
        let p0 = places(first);
        let p1 = places(min(first + 1u, last));
        let p2 = places(min(first + 2u, last));
        let p3 = places(min(first + 3u, last));
        var a_at = vec4<u32>(p0.x, p1.x, p2.x, p3.x);
        var b_at = vec4<u32>(p0.y, p1.y, p2.y, p3.y);
        var v0 = V(0);
        var v1 = V(0);
        var v2 = V(0);
        var v3 = V(0);
        for (var k = 0u; k < params.k; k++) {
            v0 += load_a(a_at.x) * load_b(b_at.x);
            v1 += load_a(a_at.y) * load_b(b_at.y);
            v2 += load_a(a_at.z) * load_b(b_at.z);
            v3 += load_a(a_at.w) * load_b(b_at.w);
            a_at += vec4<u32>(params.a_k);
            b_at += vec4<u32>(params.b_k);
        }
        put4_flat(first, vec4<u32>(p0.z, p1.z, p2.z, p3.z), v0, v1, v2, v3);
    }
}
