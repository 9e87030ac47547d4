// out[n] = the coordinates of the n-th true element of a mask, row-major; one workgroup a tile, as in count.wgsl.
//
// starts[t] is how many true elements lie before tile t; put(n, i) writes the coordinates of element i.
//
//! needs WORKGROUP, EACH, put

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
    for (var step = 1u; step < WORKGROUP; step = step * 2u) {
        var before = 0u;
        if (local >= step) {
            before = sums[local - step];
        }
        workgroupBarrier();
        sums[local] += before;
        workgroupBarrier();
    }
    if (tile < params.tiles) {
        var n = starts[tile] + sums[local] - sum;
        for (var k = 0u; k < EACH; k++) {
            if (first + k < params.size && load_mask(first + k)) {
                put(n, first + k);
                n += 1u;
            }
        }
    }
}
