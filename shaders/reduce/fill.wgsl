// out[w] = one word everywhere: what a reduction of no elements gives.
//
//! needs WORKGROUP

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let w = (group.x + group.y * params.groups_x) * WORKGROUP + local;
    if (w < params.words) {
        out[w] = select(params.even, params.odd, (w & 1u) == 1u);
    }
}
