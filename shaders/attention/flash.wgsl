// out[n, h, q] = Σ_k softmax_k(score[q, k]) · v[k] without the scores ever leaving the workgroup.
//
// A workgroup computes ROWS queries of one head, KEYS keys a step: their scores in registers, the running maximum and sum of
// each row (after Milakov and Gimelshein, 2018, and Dao, 2023), the weights through workgroup memory, the results in
// registers. A thread has eight rows; ACROSS threads stand side by side, over their keys and over their share of the
// results. q, k and v pass through workgroup memory in slices, so their width does not matter. What is unrolled over rows
// and columns is generated (kernel/attention_text.py).
//
// Few queries of many keys are split: workgroup (plane, tile, split) sees `span` keys and writes its part as if they were
// all; attention/merge.wgsl puts the parts together.
//
//! needs THREADS, ROWS, KEYS, SLICE, VALUES, CAUSAL, begin, stash_q, stash_k, stash_v_rows, clear_s, multiply_s, finish_scores, weigh, spread_s, apply_o, put_sums, put_results

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
    let start = split * params.span;
    var end = min(params.keys, start + params.span);
    if (CAUSAL) { // the last row sees the most
        let seen = i32(min(row0 + ROWS, params.queries)) + bitcast<i32>(params.offset);
        end = min(end, u32(max(seen, 0)));
    }
    for (var key0 = start; key0 < end; key0 += KEYS) {
        clear_s();
        for (var d = 0u; d < params.width; d += SLICE) {
            stash_q(row0, d, local);
            stash_k(key0, d, local);
            workgroupBarrier();
            multiply_s(local);
            workgroupBarrier();
        }
        finish_scores(row0, key0, local);
        workgroupBarrier();
        weigh(local);
        workgroupBarrier();
        for (var k = 0u; k < KEYS; k += VALUES) {
            stash_v_rows(key0, k, local);
            spread_s(k, local);
            workgroupBarrier();
            apply_o(local);
            workgroupBarrier();
        }
    }
    put_sums(local);
    workgroupBarrier();
    if (number == index) {
        put_results(split * params.planes + plane, row0, local);
    }
}
