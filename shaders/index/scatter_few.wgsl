// out[i] = src[i] combined with every value whose index points at i, in order: a gather, so no write can collide.
//
// src and out are row-major. An invocation owns chunks of four elements and, for each, looks at all params.candidates
// indices that could point at it. sources(i) gives the places of its first candidate's value and index and the number
// of the row it lies in; located() gives the row that an index points at.
//
//! needs WORKGROUP, V, initial4, sources, located, reachable, combine

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let c = (group.x + group.y * params.groups_x) * WORKGROUP + local;
    if (c < params.chunks) {
        var four = initial4(c);
        for (var lane = 0u; lane < 4u; lane++) {
            let i = 4u * c + lane;
            if (i < params.count && reachable(i)) {
                let p = sources(i);
                var total = four[lane];
                for (var j = 0u; j < params.candidates; j++) {
                    if (located(0u, p.y + j * params.index_next).x == p.z) {
                        total = combine(total, load_values(p.x + j * params.value_next));
                    }
                }
                four[lane] = total;
            }
        }
        store4_out(c, four);
    }
}
