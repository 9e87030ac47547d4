// Counts the bytes of one pass in each block of a row: counts[run · 256 + byte], run = row · params.blocks + block.
//
//! needs WORKGROUP, SPAN, load_item, bits_of

var<workgroup> bins: array<atomic<u32>, 256>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let run = group.x + group.y * params.groups_x;
    atomicStore(&bins[local], 0u);
    workgroupBarrier();
    if (run < params.runs) {
        let row = run / params.blocks;
        let first = (run - row * params.blocks) * SPAN;
        let length = min(SPAN, params.size - first);
        for (var i = local; i < length; i += WORKGROUP) {
            atomicAdd(&bins[bits_of(load_item(row, first + i), params.shift) & 255u], 1u);
        }
    }
    workgroupBarrier();
    if (run < params.runs) {
        counts[256u * run + local] = atomicLoad(&bins[local]);
    }
}
