// Merges neighbouring sorted runs of a row, two into one, and keeps the first params.keep of each result.
//
// Run j of a row holds the elements whose positions start at j · span, sorted, at most params.keep of them; a row has
// params.runs runs. An invocation makes PART neighbours of a result: it finds where its diagonal crosses the merge path
// (Odeh, Green et al., "Merge Path", 2012) and merges from there. On equal keys the left run comes first, which keeps
// the sort stable, since its positions are lower.
//
// `less` compares keys (sort/less32 or sort/less64).
//
//! needs WORKGROUP, PART, K, keep_key

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let t = (group.x + group.y * params.groups_x) * WORKGROUP + local;
    if (t < params.count) {
        let pair_number = t / params.parts;
        let part = t - pair_number * params.parts;
        let row = pair_number / params.pairs;
        let pair = pair_number - row * params.pairs;
        let at_a = (row * params.runs + 2u * pair) * params.run_in;
        let at_b = at_a + params.run_in;
        let size_a = length_of(2u * pair);
        let size_b = length_of(2u * pair + 1u);
        let size = min(params.keep, size_a + size_b);
        let to = pair_number * params.run_out;
        let first = part * PART;
        if (first < size) {
            // The number of elements of a among the first `first`.
            var low = first - min(first, size_b);
            var high = min(first, size_a);
            while (low < high) {
                let middle = (low + high) / 2u;
                if (less(in_keys[at_b + first - 1u - middle], in_keys[at_a + middle])) {
                    high = middle;
                } else {
                    low = middle + 1u;
                }
            }
            var a = low;
            var b = first - low;
            for (var i = first; i < min(first + PART, size); i++) {
                var from_b = a >= size_a;
                if (!from_b && b < size_b) {
                    from_b = less(in_keys[at_b + b], in_keys[at_a + a]);
                }
                let at = select(at_a + a, at_b + b, from_b);
                out_places[to + i] = in_places[at];
                keep_key(to + i, in_keys[at]);
                if (from_b) {
                    b += 1u;
                } else {
                    a += 1u;
                }
            }
        }
    }
}

// How many elements run j of a row holds.
fn length_of(j: u32) -> u32 {
    if (j >= params.runs) { return 0u; }
    return min(params.keep, min(params.span, params.size - j * params.span));
}
