// out[i] = src[place of i + what the indices add]: select, gather, gather_nd and embedding.
//
// A unit is 4, 8 or 16 bytes, so an invocation owns whole words. UNITS units an invocation, strided by the workgroup.
// places(i) gives the place in src without the indexed axes, and the place of the index; located() adds the indexed axes.
//
//! needs WORKGROUP, UNITS, Unit, places, located

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let first = (group.x + group.y * params.groups_x) * (WORKGROUP * UNITS) + local;
    for (var k = 0u; k < UNITS; k++) {
        let i = first + k * WORKGROUP;
        if (i < params.count) {
            let p = places(i);
            let found = located(p.x, p.y);
            var unit = Unit();
            if (found.y == 1u) {
                unit = src[found.x];
            }
            out[i] = unit;
        }
    }
}
