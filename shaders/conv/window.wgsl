// out[z, r, c] = Σ_k a[z, r, k] · b[z, k, c], a tile a workgroup, where b is the windows of a tensor (see matmul/tile.wgsl).
//
// For gradients of weights, whose loads are many: one buffer of workgroup memory, so that more workgroups fit, and another one
// multiplies while this one waits.
//
//! needs THREADS, TILE_M, TILE_N, DEPTH, a_begin, a_fetch, a_stash, b_begin, b_fetch, b_stash, multiply, put_results

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let number = group.x + group.y * params.groups_x;
    let index = min(number, params.groups - 1u); // groups beyond the count repeat the last one and store nothing
    let column = (index % params.tiles_n) * TILE_N;
    let row = ((index / params.tiles_n) % params.tiles_m) * TILE_M;
    let part = index / (params.tiles_n * params.tiles_m);
    let z = part % params.batch;
    let first = (part / params.batch) * params.k_span;
    let last = first + min(params.k - first, params.k_span);

    a_begin(place_a(z), row, first, local);
    b_begin(place_b(z), column, first, local);
    for (var k = first; k < last; k += DEPTH) {
        a_fetch(k, 0u, local);
        b_fetch(k, 0u, local);
        workgroupBarrier();
        a_stash(0u, local);
        b_stash(0u, local);
        workgroupBarrier();
        multiply(0u, local);
    }
    if (number == index) {
        put_results(part * params.m * params.n, row, column, local);
    }
}
