// dq[n, h, q] = Σ_k ds[q, k] · k[k], with ds = p · (grad · vᵀ − δ) · scale and p = exp(q · kᵀ · scale − lse) made again.
//
// A workgroup has ROWS queries of one head and goes over the keys, KEYS at a time. It also leaves δ = Σ grad · output of
// its rows, which the keys' gradients need. With splits it sees `span` keys, and writes a part that add_parts.wgsl adds up.
// See flash.wgsl for how threads share the work.
//
//! needs THREADS, ROWS, KEYS, SLICE, VALUES, CAUSAL, begin, delta_of, keep_delta, take_rows, stash_q, stash_k, stash_g, stash_v, stash_k_rows, clear_s, clear_t, multiply_s, multiply_t, finish_scores, spread_t, apply_o, put_results

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let number = group.x + group.y * params.groups_x;
    let index = min(number, params.groups - 1u);
    let split = index / params.tiled;
    let inner = index - split * params.tiled;
    let plane = inner / params.tiles;
    var tile_number = inner - plane * params.tiles;
    if (CAUSAL) { // the longest work first
        tile_number = params.tiles - 1u - tile_number;
    }
    let row0 = tile_number * ROWS;
    begin(plane);
    for (var r = local; r < ROWS; r += THREADS) {
        let row = min(row0 + r, params.queries - 1u);
        let delta = delta_of(row);
        keep_delta(r, delta);
        if (number == index && split == 0u && row == row0 + r) {
            store_delta(plane * params.queries + row, delta);
        }
    }
    workgroupBarrier();
    take_rows(plane, row0, local);
    workgroupBarrier();
    let start = split * params.span;
    var end = min(params.keys, start + params.span);
    if (CAUSAL) { // the last row sees the most
        let seen = i32(min(row0 + ROWS, params.queries)) + bitcast<i32>(params.offset);
        end = min(end, u32(max(seen, 0)));
    }
    for (var key0 = start; key0 < end; key0 += KEYS) {
        clear_s();
        clear_t();
        for (var d = 0u; d < params.width; d += SLICE) {
            stash_q(row0, d, local);
            stash_k(key0, d, local);
            workgroupBarrier();
            multiply_s(local);
            workgroupBarrier();
        }
        for (var d = 0u; d < params.results; d += SLICE) {
            stash_g(row0, d, local);
            stash_v(key0, d, local);
            workgroupBarrier();
            multiply_t(local);
            workgroupBarrier();
        }
        finish_scores(row0, key0, local);
        for (var k = 0u; k < KEYS; k += VALUES) {
            stash_k_rows(key0, k, local);
            spread_t(k, local);
            workgroupBarrier();
            apply_o(local);
            workgroupBarrier();
        }
    }
    if (number == index) {
        put_results(split * params.planes + plane, row0, local);
    }
}
