// starts[t] = counts[0] + … + counts[t - 1], total[0] = the sum of all: one workgroup, each invocation a piece of tiles.
//
//! needs WORKGROUP

var<workgroup> sums: array<u32, WORKGROUP>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(local_invocation_index) local: u32) {
    let piece = (params.tiles + WORKGROUP - 1u) / WORKGROUP;
    let first = min(local * piece, params.tiles);
    let last = min(first + piece, params.tiles);
    var sum = 0u;
    for (var t = first; t < last; t++) {
        sum += counts[t];
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
    var start = sums[local] - sum;
    for (var t = first; t < last; t++) {
        starts[t] = start;
        start += counts[t];
    }
    if (local == WORKGROUP - 1u) {
        total[0] = sums[local];
    }
}
