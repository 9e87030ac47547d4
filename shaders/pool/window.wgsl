// out[plane, o] = value(the taps of window o inside x[plane]): a thread computes four neighbours of the flat output.
//
// x [batch, channels, space] with any strides; begin, take and value say what is made of a window's elements.
//
//! use pool/axes
//! needs THREADS, put4

fn pooled(i: u32) -> Acc {
    let at = split(i, outputs());
    let w = window_at(at.xyz);
    let n = at.w / params.channels;
    let base = params.x_at + n * params.x_n + (at.w - n * params.channels) * params.x_c;
    let d = dilations();
    var acc = begin(w);
    for (var a = w.lo.x; a < w.hi.x; a++) {
        let y0 = u32(w.start.x + a * d.x);
        for (var b = w.lo.y; b < w.hi.y; b++) {
            let y1 = u32(w.start.y + b * d.y);
            let row = base + y0 * params.x0 + y1 * params.x1;
            for (var c = w.lo.z; c < w.hi.z; c++) {
                let y2 = u32(w.start.z + c * d.z);
                acc = take(acc, load_x(row + y2 * params.x2), (y0 * params.n1 + y1) * params.n2 + y2);
            }
        }
    }
    return acc;
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let first = 4u * ((group.x + group.y * params.groups_x) * THREADS + local);
    let last = params.size - 1u;
    if (first <= last) {
        let a0 = pooled(first);
        let a1 = pooled(min(first + 1u, last));
        let a2 = pooled(min(first + 2u, last));
        put4(first / 4u, a0, a1, a2, pooled(min(first + 3u, last)));
    }
}
