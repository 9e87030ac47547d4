// columns[n, c, t, p] = mask · (x[n, c] sampled where tap t of output p looks), in f32: one element a thread.
//
//! use conv/deform
//! needs THREADS, mask_at

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let i = (group.x + group.y * params.groups_x) * THREADS + local;
    if (i < params.size) {
        let line = i / (params.taps * params.points);
        let n = line / params.channels;
        let c = line - n * params.channels;
        let inner = i - line * (params.taps * params.points);
        let t = inner / params.points;
        let e = vec4<u32>(n, c / params.group_channels, t, inner - t * params.points);
        let s = sample_at(e);
        let base = line * params.height * params.width;
        var v = part(s, 0, 0) * corner(s, base, 0, 0) + part(s, 0, 1) * corner(s, base, 0, 1);
        v += part(s, 1, 0) * corner(s, base, 1, 0) + part(s, 1, 1) * corner(s, base, 1, 1);
        store_out(i, v * mask_at(e));
    }
}
