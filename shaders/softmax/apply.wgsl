// out[i] = e^(x[i] − m) / s, or (x[i] − m) − log s, with (m, s) of the lane that i belongs to.
//
// out is row-major; an invocation owns CHUNKS chunks of four elements, strided by the workgroup.
//
//! needs get4, owner4, taken, LOGARITHM, WORKGROUP, CHUNKS

fn finished(x: f32, a: A) -> f32 {
    let d = taken(x) - a.m;
    let r = select(exp(d) / a.s, d - log(a.s), LOGARITHM);
    return select(bitcast<f32>(params.nan), r, a.s > 0.0);
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let first = (group.x + group.y * params.groups_x) * (WORKGROUP * CHUNKS) + local;
    for (var k = 0u; k < CHUNKS; k++) {
        let c = first + k * WORKGROUP;
        if (c < params.chunks) {
            let x = get4(c);
            let o = owner4(4u * c);
            store4_out(c, array<f32, 4>(
                finished(x[0], totals[o[0]]), finished(x[1], totals[o[1]]),
                finished(x[2], totals[o[2]]), finished(x[3], totals[o[3]]),
            ));
        }
    }
}
