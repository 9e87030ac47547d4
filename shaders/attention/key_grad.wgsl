// dv[n, h, k] = Σ_q p[q, k] · grad[q] and dk[n, h, k] = Σ_q ds[q, k] · q[q], over the query heads of a group.
//
// A workgroup has ROWS keys of one key head and goes over the queries of each head of its group, KEYS of them at a time:
// no other writes its rows, and the order of every sum is fixed. p and ds are those of query_grad.wgsl, which also leaves δ.
// With splits it takes its share of those steps, and writes a part that add_parts.wgsl adds up. See flash.wgsl for how
// threads share the work.
//
//! needs THREADS, ROWS, KEYS, SLICE, VALUES, CAUSAL, begin, stash_k, stash_q, stash_v, stash_g, stash_g_rows, stash_q_rows, clear_s, clear_t, multiply_s, multiply_t, finish_scores, spread_s, spread_t, apply_o, apply_u, put_results

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let number = group.x + group.y * params.groups_x;
    let index = min(number, params.groups - 1u);
    let split = index / params.tiled;
    let inner = index - split * params.tiled;
    let plane = inner / params.tiles;
    let row0 = (inner - plane * params.tiles) * ROWS;
    let owners = params.heads / params.group;
    let n = plane / owners;
    let owner = plane - n * owners;
    var first = 0u;
    if (CAUSAL) { // the step of the first query that sees the first key
        first = u32(max(i32(row0) - bitcast<i32>(params.offset), 0)) / KEYS;
    }
    let last = (params.queries + KEYS - 1u) / KEYS;
    let steps = last - min(first, last); // of each head
    let share = (steps * params.group + params.splits - 1u) / params.splits;
    let end = min(steps * params.group, (split + 1u) * share);
    for (var step = split * share; step < end; step++) {
        let member = step / steps;
        let head = owner * params.group + member;
        let line0 = (n * params.heads + head) * params.queries;
        let query0 = (first + step - member * steps) * KEYS;
        begin(n, owner, head);
        clear_s();
        clear_t();
        for (var d = 0u; d < params.width; d += SLICE) {
            stash_k(row0, d, local);
            stash_q(query0, d, local);
            workgroupBarrier();
            multiply_s(local);
            workgroupBarrier();
        }
        for (var d = 0u; d < params.results; d += SLICE) {
            stash_v(row0, d, local);
            stash_g(query0, d, local);
            workgroupBarrier();
            multiply_t(local);
            workgroupBarrier();
        }
        finish_scores(line0, row0, query0, local);
        for (var k = 0u; k < KEYS; k += VALUES) {
            stash_g_rows(query0, k, local);
            spread_s(k, local);
            workgroupBarrier();
            apply_u(local);
            workgroupBarrier();
        }
        for (var k = 0u; k < KEYS; k += VALUES) {
            stash_q_rows(query0, k, local);
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
