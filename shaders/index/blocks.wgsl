// partials[b, w] = the values of block b of sorted entries combined, for each of the params.width elements of a row,
// where a whole block points at one row; other blocks are left alone.
//
// rows are sorted, order holds the entries' numbers. One invocation a block and element of the row.
//
//! needs WORKGROUP, BLOCK, V, entry_at, element_at, combine

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let t = (group.x + group.y * params.groups_x) * WORKGROUP + local;
    if (t < params.count) {
        let block = t / params.width;
        let first = block * BLOCK;
        if (rows[first] == rows[first + BLOCK - 1u] && rows[first] != 0xffffffffu) {
            let rest = element_at(t - block * params.width);
            var total = load_values(rest + entry_at(order[first]));
            for (var s = first + 1u; s < first + BLOCK; s++) {
                total = combine(total, load_values(rest + entry_at(order[s])));
            }
            partials[t] = total;
        }
    }
}
