// x_grad[plane, i] = Σ over the windows o that hold element i of share(grad[plane, o]): a thread computes four neighbours.
//
// grad [batch, channels, outputs] with any strides. The windows are visited in order: the same bits every time.
//
//! use pool/axes
//! needs THREADS

fn gathered(i: u32) -> f32 {
    let at = split(i, sizes());
    let cover = cover_at(at.xyz);
    let n = at.w / params.channels;
    let base = params.g_at + n * params.g_n + (at.w - n * params.channels) * params.g_c;
    let flat = number(at.xyz, sizes());
    var sum = 0.0;
    for (var a = cover.lo.x; a < cover.hi.x; a++) {
        for (var b = cover.lo.y; b < cover.hi.y; b++) {
            for (var c = cover.lo.z; c < cover.hi.z; c++) {
                let o = vec3<u32>(a, b, c);
                if (meets(at.xyz, o)) {
                    sum += share(load_g(base + a * params.g0 + b * params.g1 + c * params.g2), o, at.w, flat);
                }
            }
        }
    }
    return sum;
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let first = 4u * ((group.x + group.y * params.groups_x) * THREADS + local);
    let last = params.size - 1u;
    if (first <= last) {
        let v0 = gathered(first);
        let v1 = gathered(min(first + 1u, last));
        let v2 = gathered(min(first + 2u, last));
        store4_out(first / 4u, array<f32, 4>(v0, v1, v2, gathered(min(first + 3u, last))));
    }
}
