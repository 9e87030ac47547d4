// out_rows[e] = the number of the row that entry e's index points at, 2^32 - 1 when it is outside.
//
// entries(e) gives the row number without the indexed axes, and the place of the index.
//
//! needs WORKGROUP, entries, located

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let e = (group.x + group.y * params.groups_x) * WORKGROUP + local;
    if (e < params.count) {
        let p = entries(e);
        out_rows[e] = located(p.x, p.y).x;
    }
}
