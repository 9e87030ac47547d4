// Sums up counts of bytes along the rows of one table after another: entry (group of params.chunk tables, byte) becomes
// the sum over the tables of its group before, and the sum over the group goes into the next region of the buffer, a
// table a group.
//
// A table has 256 counts, one a thread. A row has params.tables of them from params.first on, and params.groups groups;
// the sums lie from params.next on.
//
//! needs WORKGROUP

const BATCH: u32 = 8u;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let number = group.x + group.y * params.groups_x;
    if (number < params.count) {
        let row = number / params.groups;
        let first = (number - row * params.groups) * params.chunk;
        let tables = min(params.chunk, params.tables - first);
        let at = params.first + (row * params.tables + first) * 256u + local;
        var sum = 0u;
        for (var i = 0u; i < tables; i += BATCH) {
            // All are read before the first is written, so that no read waits for a write.
            var batch: array<u32, BATCH>;
            for (var j = 0u; j < BATCH; j++) {
                batch[j] = 0u;
                if (i + j < tables) { batch[j] = counts[at + 256u * (i + j)]; }
            }
            for (var j = 0u; j < BATCH; j++) {
                if (i + j < tables) { counts[at + 256u * (i + j)] = sum; }
                sum += batch[j];
            }
        }
        counts[params.next + 256u * number + local] = sum;
    }
}
