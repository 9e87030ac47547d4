// For every tap and point: columns[n, c, t, p] = mask · sample, offset_grad[n, g, t, (y, x), p] = Σ_c grad · mask · ∂sample,
// mask_grad[n, g, t, p] = Σ_c grad · sample; and where each workgroup's taps look.
//
// grad [n, channels, t, p] is the gradient of the columns, in f32 and read once. A workgroup takes POINTS neighbours (t, p) of
// a plane (n, g); LANES threads share the channels of each, and their sums are added in a fixed order. boxes[workgroup] has
// the least and the largest upper left elements (y, x, y, x) of the places that lie inside: least above largest for none.
//
//! use conv/deform
//! needs THREADS, LANES, OWN, mask_at, put_offset, put_mask

const POINTS: u32 = THREADS / LANES;

var<workgroup> parts: array<vec3<f32>, THREADS>;
var<workgroup> bounds: array<atomic<i32>, 4>;

fn total(slot: u32) -> vec3<f32> {
    var sum = parts[slot];
    for (var lane = 1u; lane < LANES; lane++) { sum += parts[slot + lane * POINTS]; }
    return sum;
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let w = group.x + group.y * params.groups_x;
    let plane = w / params.boxes;
    let slot = local % POINTS;
    let lane = local / POINTS;
    let own = (w - plane * params.boxes) * POINTS + slot;
    let live = w < params.size && own < params.entries;
    let n = plane / params.offset_groups;
    let g = plane - n * params.offset_groups;
    let t = own / params.points;
    let e = vec4<u32>(n, g, t, own - t * params.points);
    if (local < 4u) { atomicStore(&bounds[local], select(-2147483647, 2147483647, local < 2u)); }
    workgroupBarrier();
    var sums = vec3<f32>(0.0, 0.0, 0.0);
    if (live) {
        let s = sample_at(e);
        let m = mask_at(e);
        let first = n * params.channels + g * params.group_channels;
        for (var c = first + lane; c < first + params.group_channels; c += LANES) {
            let base = c * params.height * params.width;
            let at = c * params.entries + own;
            let grad = load_grad(at);
            let x00 = corner(s, base, 0, 0);
            let x01 = corner(s, base, 0, 1);
            let x10 = corner(s, base, 1, 0);
            let x11 = corner(s, base, 1, 1);
            let by_y = (1.0 - s.fx) * (x10 - x00) + s.fx * (x11 - x01);
            let by_x = (1.0 - s.fy) * (x01 - x00) + s.fy * (x11 - x10);
            var v = part(s, 0, 0) * x00 + part(s, 0, 1) * x01;
            v += part(s, 1, 0) * x10 + part(s, 1, 1) * x11;
            sums += grad * vec3<f32>(by_y, by_x, v);
            store_columns(at, v * m);
        }
        sums *= vec3<f32>(m, m, 1.0);
        if (lane == 0u && s.valid) {
            atomicMin(&bounds[0], s.y);
            atomicMin(&bounds[1], s.x);
            atomicMax(&bounds[2], s.y);
            atomicMax(&bounds[3], s.x);
        }
    }
    parts[local] = sums;
    workgroupBarrier();
    if (live && local < POINTS && slot % OWN == 0u) {
        let a = total(slot);
        let b = total(slot + OWN - 1u);
        let i = plane * params.entries + own;
        let at = 2u * (i - e.w) + e.w;
        put_offset(at, a.x, b.x);
        put_offset(at + params.points, a.y, b.y);
        put_mask(i, a.z, b.z);
    }
    if (local == 0u && w < params.size) {
        let low = vec2<i32>(atomicLoad(&bounds[0]), atomicLoad(&bounds[1]));
        boxes[w] = vec4<i32>(low, atomicLoad(&bounds[2]), atomicLoad(&bounds[3]));
    }
}
