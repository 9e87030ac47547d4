// out[i] = a random number that depends on (seed, call, i) alone.
//
// Four elements come from one Philox block, so they do not depend on how many are drawn or on the launch. An invocation
// owns CHUNKS chunks of four, strided by the workgroup.
//
//! needs WORKGROUP, CHUNKS, drawn

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let first = (group.x + group.y * params.groups_x) * (WORKGROUP * CHUNKS) + local;
    for (var k = 0u; k < CHUNKS; k++) {
        let c = first + k * WORKGROUP;
        if (c < params.chunks) {
            store4_out(c, drawn(c));
        }
    }
}
