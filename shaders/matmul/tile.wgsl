// out[z, r, c] = epilogue(Σ_k a[z, r, k] · b[z, k, c]): a workgroup computes one tile of results, a thread a block of it.
//
// Both operands pass through workgroup memory, k-slice by k-slice, in two buffers: while one slice is multiplied, the next
// one is on its way into registers. The slice's products are written out statement by statement (kernel/matmul_text.py),
// because a loop over them costs a third of the speed; the results live in named private variables for the same reason.
// With several splits, z runs over splits × batch and the results are partial sums (see finish.wgsl).
//
//! needs THREADS, TILE_M, TILE_N, DEPTH, LAST_APART, a_begin, a_fetch, a_stash, b_begin, b_fetch, b_stash, multiply, put_results

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let number = group.x + group.y * params.groups_x;
    let index = min(number, params.groups - 1u); // groups beyond the count repeat the last one and store nothing
    let column = (index % params.tiles_n) * TILE_N;
    let row = ((index / params.tiles_n) % params.tiles_m) * TILE_M;
    let part = index / (params.tiles_n * params.tiles_m);
    let z = part % params.batch;
    let first = (part / params.batch) * params.k_span;
    let steps = (min(params.k - first, params.k_span) + DEPTH - 1u) / DEPTH;

    a_begin(place_a(z), row, first, local);
    b_begin(place_b(z), column, first, local);
    a_fetch(first, 0u, local);
    b_fetch(first, 0u, local);
    a_stash(0u, local);
    b_stash(0u, local);
    workgroupBarrier();
    // No branch inside a round, so that loads are scheduled across the products. The last products either stand apart, or
    // share the loop's code at the price of loading the last slice twice: which is faster depends on the tile.
    let rounds = select(steps + 1u, steps, LAST_APART);
    for (var s = 1u; s < rounds; s++) {
        let next = select(min(s, steps - 1u), s, LAST_APART);
        a_fetch(first + next * DEPTH, next, local);
        b_fetch(first + next * DEPTH, next, local);
        multiply((s - 1u) & 1u, local);
        a_stash(s & 1u, local);
        b_stash(s & 1u, local);
        workgroupBarrier();
    }
    if (LAST_APART) {
        multiply((steps - 1u) & 1u, local);
    }
    if (number == index) {
        put_results(part * params.m * params.n, row, column, local);
    }
}
