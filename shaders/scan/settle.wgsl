// out[i] = value(scanned[i]): accumulators to a packed dtype, four elements an invocation.
//
//! needs values, WORKGROUP

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let c = (group.x + group.y * params.groups_x) * WORKGROUP + local;
    if (c < params.chunks) {
        let i = 4u * c;
        store4_out(c, values(array<A, 4>(
            scanned[i], scanned[min(i + 1u, params.last)],
            scanned[min(i + 2u, params.last)], scanned[min(i + 3u, params.last)],
        )));
    }
}
