// counts[t] = how many elements of tile t of a mask are true; one workgroup a tile of WORKGROUP · EACH elements.
//
//! needs WORKGROUP, EACH

var<workgroup> sums: array<u32, WORKGROUP>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let tile = group.x + group.y * params.groups_x;
    let first = (tile * WORKGROUP + local) * EACH;
    var sum = 0u;
    for (var k = 0u; k < EACH; k++) {
        if (first + k < params.size) {
            sum += select(0u, 1u, load_mask(first + k));
        }
    }
    sums[local] = sum;
    workgroupBarrier();
    for (var half = WORKGROUP / 2u; half > 0u; half = half / 2u) {
        if (local < half) {
            sums[local] += sums[local + half];
        }
        workgroupBarrier();
    }
    if (local == 0u && tile < params.tiles) {
        counts[tile] = sums[0];
    }
}
