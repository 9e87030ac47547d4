// dst[place of i] = src[place of i] for every unit i of a box: copies a view into a region of a larger tensor.
//
// A unit is 4, 8 or 16 bytes, so an invocation owns whole words. UNITS units an invocation, strided by the workgroup.
//
//! needs WORKGROUP, UNITS, places

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let first = (group.x + group.y * params.groups_x) * (WORKGROUP * UNITS) + local;
    for (var k = 0u; k < UNITS; k++) {
        let i = first + k * WORKGROUP;
        if (i < params.count) {
            let p = places(i);
            dst[p.y] = src[p.x];
        }
    }
}
