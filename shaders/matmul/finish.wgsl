// out[i] = epilogue(Σ_s partial[s, i]): adds the splits of k in order, and rounds to the output's dtype once.
//
// partial [splits, size] holds sums of the value type. A thread owns four neighbours of the flat output.
//
//! needs THREADS, V, get4_partial, put4_flat

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let first = 4u * ((group.x + group.y * params.groups_x) * THREADS + local);
    if (first < params.size) {
        var sum = get4_partial(0u, first);
        for (var s = 1u; s < params.splits; s++) {
            let more = get4_partial(s, first);
            sum[0] += more[0];
            sum[1] += more[1];
            sum[2] += more[2];
            sum[3] += more[3];
        }
        let last = params.size - 1u;
        let column = vec4<u32>(
            first % params.n, min(first + 1u, last) % params.n, min(first + 2u, last) % params.n, min(first + 3u, last) % params.n
        );
        put4_flat(first, column, sum[0], sum[1], sum[2], sum[3]);
    }
}
