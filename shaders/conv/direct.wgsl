// y[i] = epilogue(Σ_c Σ_t w[row(i), c, t] · x[.., c, place(i, t)]): a thread computes four neighbours of the flat result.
//
// For depthwise convolutions, few output channels and small sums. A place outside the axis counts as zero.
//
//! needs THREADS, TAPS0, TAPS1, TAPS2, begin4, terms, put4_flat

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let first = 4u * ((group.x + group.y * params.groups_x) * THREADS + local);
    if (first < params.size) {
        let lanes = begin4(first);
        var sum = vec4<f32>();
        for (var c = 0u; c < params.channels; c++) {
            for (var t0 = 0u; t0 < TAPS0; t0++) {
                for (var t1 = 0u; t1 < TAPS1; t1++) {
                    for (var t2 = 0u; t2 < TAPS2; t2++) {
                        sum += terms(lanes, c, t0, t1, t2);
                    }
                }
            }
        }
        let last = params.size - 1u;
        put4_flat(first, min(vec4<u32>(first, first + 1u, first + 2u, first + 3u), vec4<u32>(last)), sum.x, sum.y, sum.z, sum.w);
    }
}
