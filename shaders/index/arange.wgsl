// out[i] = start + i · step, wrapping; four elements an invocation.
//
//! needs WORKGROUP, counted4

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let c = (group.x + group.y * params.groups_x) * WORKGROUP + local;
    if (c < params.chunks) {
        store4_out(c, counted4(4u * c));
    }
}
