// offset_grad[n, g, t, (y, x), p] = Σ_c grad · mask · ∂sample, mask_grad[n, g, t, p] = Σ_c grad · sample, both in f32.
//
// grad [n, channels, t, p] is the gradient of the columns. A thread sums over the channels of one offset group.
//
//! use conv/deform
//! needs THREADS, mask_at, put_mask

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let i = (group.x + group.y * params.groups_x) * THREADS + local;
    if (i < params.size) {
        let e = entry(i);
        let s = sample_at(e);
        var by_y = 0.0;
        var by_x = 0.0;
        var plain = 0.0;
        let first = e.x * params.channels + e.y * params.group_channels;
        for (var c = first; c < first + params.group_channels; c++) {
            let base = c * params.height * params.width;
            let g = load_grad((c * params.taps + e.z) * params.points + e.w);
            let a = corner(s, base, 0, 0);
            let b = corner(s, base, 0, 1);
            let d = corner(s, base, 1, 0);
            let f = corner(s, base, 1, 1);
            by_y += g * ((1.0 - s.fx) * (d - a) + s.fx * (f - b));
            by_x += g * ((1.0 - s.fy) * (b - a) + s.fy * (f - d));
            plain += g * ((1.0 - s.fy) * ((1.0 - s.fx) * a + s.fx * b) + s.fy * ((1.0 - s.fx) * d + s.fx * f));
        }
        let m = mask_at(e);
        let at = ((e.x * params.offset_groups + e.y) * params.taps + e.z) * 2u * params.points + e.w;
        store_out(at, by_y * m);
        store_out(at + params.points, by_x * m);
        put_mask(i, plain);
    }
}
