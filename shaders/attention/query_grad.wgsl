// dq[n, h, q] = Σ_k ds[q, k] · k[k], with ds = p · (grad · vᵀ − δ) · scale and p = exp(q · kᵀ · scale − lse) made again.
//
// A workgroup has ROWS queries of one head and goes over the keys, KEYS at a time. It also leaves δ = Σ grad · output of
// its rows, which the keys' gradients need. See flash.wgsl for how threads share the work.
//
//! needs THREADS, ROWS, KEYS, SLICE, VALUES, CAUSAL, begin, delta_of, keep_delta, take_rows, fetch_q, fetch_k, fetch_g, fetch_v, fetch_k_rows, stash_q, stash_k, stash_g, stash_v, stash_k_rows, clear_s, clear_t, multiply_s, multiply_t, finish_scores, spread_t, apply_o, put_results

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let number = group.x + group.y * params.groups_x;
    let index = min(number, params.groups - 1u);
    let plane = index / params.tiles;
    let row0 = (index - plane * params.tiles) * ROWS;
    begin(plane);
    for (var r = local; r < ROWS; r += THREADS) {
        let row = min(row0 + r, params.queries - 1u);
        let delta = delta_of(row);
        keep_delta(r, delta);
        if (number == index && row == row0 + r) {
            store_delta(plane * params.queries + row, delta);
        }
    }
    workgroupBarrier();
    take_rows(plane, row0, local);
    workgroupBarrier();
    var end = params.keys;
    if (CAUSAL) { // the last row sees the most
        let seen = i32(min(row0 + ROWS, params.queries)) + bitcast<i32>(params.offset);
        end = min(end, u32(max(seen, 0)));
    }
    fetch_q(row0, 0u, local);
    fetch_k(0u, 0u, local);
    for (var key0 = 0u; key0 < end; key0 += KEYS) {
        clear_s();
        clear_t();
        for (var d = 0u; d < params.width; d += SLICE) {
            stash_q(row0, d, local);
            stash_k(key0, d, local);
            workgroupBarrier();
            if (d + SLICE < params.width) {
                fetch_q(row0, d + SLICE, local);
                fetch_k(key0, d + SLICE, local);
            } else {
                fetch_g(row0, 0u, local);
                fetch_v(key0, 0u, local);
            }
            multiply_s(local);
            workgroupBarrier();
        }
        for (var d = 0u; d < params.results; d += SLICE) {
            stash_g(row0, d, local);
            stash_v(key0, d, local);
            workgroupBarrier();
            if (d + SLICE < params.results) {
                fetch_g(row0, d + SLICE, local);
                fetch_v(key0, d + SLICE, local);
            } else {
                fetch_k_rows(key0, 0u, local);
            }
            multiply_t(local);
            workgroupBarrier();
        }
        finish_scores(row0, key0, local);
        for (var k = 0u; k < KEYS; k += VALUES) {
            stash_k_rows(key0, k, local);
            spread_t(k, local);
            workgroupBarrier();
            if (k + VALUES < KEYS) {
                fetch_k_rows(key0, k + VALUES, local);
            } else {
                fetch_q(row0, 0u, local);
                fetch_k(key0 + KEYS, 0u, local);
            }
            apply_o(local);
            workgroupBarrier();
        }
    }
    if (number == index) {
        put_results(plane, row0, local);
    }
}
