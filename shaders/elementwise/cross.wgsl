// out[.., i, ..] = lhs[i + 1] · rhs[i + 2] − lhs[i + 2] · rhs[i + 1] along an axis of size 3, indices modulo 3.
//
// places(e) gives where the line of element e starts in lhs and in rhs, and its i. An invocation owns a chunk of four
// elements of out, which is row-major; the last may reach into the padding.
//
//! use lib/math
//! needs WORKGROUP, places

fn product(e: u32) -> f32 {
    let p = places(min(e, params.count - 1u));
    let j = select(p.z + 1u, 0u, p.z == 2u);
    let k = 3u - p.z - j;
    let a = load_lhs(p.x + j * params.lhs_step);
    let b = load_rhs(p.y + k * params.rhs_step);
    let c = load_lhs(p.x + k * params.lhs_step);
    let d = load_rhs(p.y + j * params.rhs_step);
    // A device may take the first product whole into the difference, and equal ones would leave the rounding of the
    // second: what it lost is added, by Kahan.
    let second = c * d;
    let result = fma(a, b, -second);
    let lost = fma(-c, d, second);
    return select(result, result + lost, magnitude(lost) < INF_BITS);
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let c = (group.x + group.y * params.groups_x) * WORKGROUP + local;
    if (4u * c < params.count) {
        let e = 4u * c;
        store4_out(c, array<f32, 4>(product(e), product(e + 1u), product(e + 2u), product(e + 3u)));
    }
}
