// For every (n, g, t, p) and corner: the row (n · offset groups + g) · height · width + element that the corner lies in, and
// what the channels of the group add there, mask · weight · grad. A thread writes one corner; outside ones add 0 to row 0.
//
// grad [n, channels, t, p]; rows [entries · 4]; out [entries · 4, channels of a group], f32.
//
//! use conv/deform
//! needs THREADS, mask_at

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let i = (group.x + group.y * params.groups_x) * THREADS + local;
    if (i < 4u * params.size) {
        let e = entry(i / 4u);
        let s = sample_at(e);
        let dy = i32((i >> 1u) & 1u);
        let dx = i32(i & 1u);
        let ok = inside(s, dy, dx);
        let plane = (e.x * params.offset_groups + e.y) * params.height * params.width;
        rows[i] = select(0u, plane + element(s, dy, dx), ok);
        let share = part(s, dy, dx) * mask_at(e);
        let first = e.x * params.channels + e.y * params.group_channels;
        for (var c = 0u; c < params.group_channels; c++) {
            let g = load_grad(((first + c) * params.taps + e.z) * params.points + e.w);
            store_out(i * params.group_channels + c, select(0.0, share * g, ok));
        }
    }
}
