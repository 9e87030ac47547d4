// dv[n, h, k] = Σ_q p[q, k] · grad[q] and dk[n, h, k] = Σ_q ds[q, k] · q[q], over the query heads of a group.
//
// A workgroup has ROWS keys of one key head and goes over the queries of each head of its group, KEYS of them at a time:
// no other writes its rows, and the order of every sum is fixed. p and ds are those of query_grad.wgsl, which also leaves δ.
// See flash.wgsl for how threads share the work.
//
//! needs THREADS, ROWS, KEYS, SLICE, VALUES, CAUSAL, begin, fetch_k, fetch_q, fetch_v, fetch_g, fetch_g_rows, fetch_q_rows, stash_k, stash_q, stash_v, stash_g, stash_g_rows, stash_q_rows, clear_s, clear_t, multiply_s, multiply_t, finish_scores, spread_s, spread_t, apply_o, apply_u, put_results

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let number = group.x + group.y * params.groups_x;
    let index = min(number, params.groups - 1u);
    let plane = index / params.tiles;
    let row0 = (index - plane * params.tiles) * ROWS;
    let shared_heads = params.heads / params.group;
    let n = plane / shared_heads;
    let shared_head = plane - n * shared_heads;
    var start = 0u;
    if (CAUSAL) { // the first query that sees the first key
        start = u32(max(i32(row0) - bitcast<i32>(params.offset), 0)) / KEYS * KEYS;
    }
    for (var member = 0u; member < params.group; member++) {
        let head = shared_head * params.group + member;
        let line0 = (n * params.heads + head) * params.queries;
        begin(n, shared_head, head);
        fetch_k(row0, 0u, local);
        fetch_q(start, 0u, local);
        for (var query0 = start; query0 < params.queries; query0 += KEYS) {
            clear_s();
            clear_t();
            for (var d = 0u; d < params.width; d += SLICE) {
                stash_k(row0, d, local);
                stash_q(query0, d, local);
                workgroupBarrier();
                if (d + SLICE < params.width) {
                    fetch_k(row0, d + SLICE, local);
                    fetch_q(query0, d + SLICE, local);
                } else {
                    fetch_v(row0, 0u, local);
                    fetch_g(query0, 0u, local);
                }
                multiply_s(local);
                workgroupBarrier();
            }
            for (var d = 0u; d < params.results; d += SLICE) {
                stash_v(row0, d, local);
                stash_g(query0, d, local);
                workgroupBarrier();
                if (d + SLICE < params.results) {
                    fetch_v(row0, d + SLICE, local);
                    fetch_g(query0, d + SLICE, local);
                } else {
                    fetch_g_rows(query0, 0u, local);
                }
                multiply_t(local);
                workgroupBarrier();
            }
            finish_scores(line0, row0, query0, local);
            for (var k = 0u; k < KEYS; k += VALUES) {
                stash_g_rows(query0, k, local);
                spread_s(k, local);
                workgroupBarrier();
                if (k + VALUES < KEYS) {
                    fetch_g_rows(query0, k + VALUES, local);
                } else {
                    fetch_q_rows(query0, 0u, local);
                }
                apply_u(local);
                workgroupBarrier();
            }
            for (var k = 0u; k < KEYS; k += VALUES) {
                stash_q_rows(query0, k, local);
                spread_t(k, local);
                workgroupBarrier();
                if (k + VALUES < KEYS) {
                    fetch_q_rows(query0, k + VALUES, local);
                } else {
                    fetch_k(row0, 0u, local);
                    fetch_q(query0 + KEYS, 0u, local);
                }
                apply_o(local);
                workgroupBarrier();
            }
        }
    }
    if (number == index) {
        put_results(plane, row0, local);
    }
}
