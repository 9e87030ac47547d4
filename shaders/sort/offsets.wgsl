// Sums up the counts of each byte of a row along its blocks: counts[row, block, byte] becomes the sum over the blocks
// before, and totals[row, byte] the sum over all.
//
// ALONG threads share one byte of a row and take params.chunk blocks each.
//
//! needs WORKGROUP, ALONG

const ACROSS: u32 = WORKGROUP / ALONG;

var<workgroup> sums: array<u32, 2u * WORKGROUP>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let column = (group.x + group.y * params.groups_x) * ACROSS + local % ACROSS;
    let lane = local / ACROSS;
    let first = min(lane * params.chunk, params.blocks);
    var left = 0u;
    if (column < params.columns) {
        left = min(params.chunk, params.blocks - first);
    }
    let start = ((column / 256u) * params.blocks + first) * 256u + column % 256u;
    var own = 0u;
    for (var i = 0u; i < left; i++) {
        own += counts[start + 256u * i];
    }
    sums[local] = own;
    workgroupBarrier();
    var at = 0u;
    var sum = own;
    for (var step = 1u; step < ALONG; step = step * 4u) {
        for (var j = 1u; j < 4u; j++) {
            if (lane >= j * step) { sum += sums[at + local - j * step * ACROSS]; }
        }
        at = WORKGROUP - at;
        sums[at + local] = sum;
        workgroupBarrier();
    }
    if (lane == ALONG - 1u && column < params.columns) {
        totals[column] = sum;
    }
    var running = sum - own;
    for (var i = 0u; i < left; i++) {
        let count = counts[start + 256u * i];
        counts[start + 256u * i] = running;
        running += count;
    }
}
