// out[i] = src[i] combined with the values of all entries that point at its row, in the order of the entries.
//
// The entries are sorted by row: those of a row are a segment of `rows`, found by halving. Inside a segment, whole
// blocks of BLOCK entries come from `block_total` (see blocks.wgsl). An invocation owns a chunk of four elements, which
// share a segment as long as they lie in one row. targets(i) gives the row of i, the place of the element in its row
// of values, and its number in the row.
//
//! needs WORKGROUP, BLOCK, V, initial4, targets, ONLY_LAST, entry_at, block_total, combine

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let c = (group.x + group.y * params.groups_x) * WORKGROUP + local;
    if (c < params.chunks) {
        var four = initial4(c);
        var row = 0xffffffffu;
        var first = 0u;
        var last = 0u;
        for (var lane = 0u; lane < 4u; lane++) {
            let i = 4u * c + lane;
            if (i < params.count) {
                let p = targets(i);
                if (p.x != row) {
                    row = p.x;
                    first = bound(row, 0u);
                    last = first;
                    if (first < params.entries && rows[first] == row) {
                        last = bound(row + 1u, first);
                    }
                }
                four[lane] = segment(four[lane], first, last, p.y, p.z);
            }
        }
        store4_out(c, four);
    }
}

// The first entry at or after `from` whose row is not below `row`.
fn bound(row: u32, from_entry: u32) -> u32 {
    var low = from_entry;
    var high = params.entries;
    while (low < high) {
        let middle = low + (high - low) / 2u;
        if (rows[middle] < row) {
            low = middle + 1u;
        } else {
            high = middle;
        }
    }
    return low;
}

fn segment(start: V, first: u32, last: u32, rest: u32, number: u32) -> V {
    var total = start;
    // An assignment keeps the last entry.
    var s = select(first, max(last, 1u) - 1u, ONLY_LAST && first < last);
    while (s < last) {
        if (s % BLOCK == 0u && s + BLOCK <= last) {
            total = combine(total, block_total(s / BLOCK, number));
            s += BLOCK;
        } else {
            total = combine(total, load_values(rest + entry_at(order[s])));
            s += 1u;
        }
    }
    return total;
}
