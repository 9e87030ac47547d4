// out[n, h, q] = Σ_k softmax_k(score[q, k]) · v[k] without the scores ever leaving the workgroup.
//
// A workgroup computes ROWS queries of one head, KEYS keys a step: their scores in registers, the running maximum and sum of
// each row (after Milakov and Gimelshein, 2018, and Dao, 2023), the weights through workgroup memory, the results in
// registers. A thread has eight rows; ACROSS threads stand side by side, over four keys each and over their share of the
// results. q, k and v pass through workgroup memory in slices, so their width does not matter. What is unrolled over rows
// and columns is generated (kernel/attention_text.py).
//
//! needs THREADS, ROWS, KEYS, ACROSS, SLICE, VALUES, CAUSAL, begin, load_scores, multiply_scores, finish_scores, load_values, multiply_values, put_sums, put_results

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let number = group.x + group.y * params.groups_x;
    let index = min(number, params.groups - 1u);
    let plane = index / params.tiles;
    let row0 = (index - plane * params.tiles) * ROWS;
    begin(plane);
    var end = params.keys;
    if (CAUSAL) { // the last row sees the most
        let seen = i32(min(row0 + ROWS, params.queries)) + bitcast<i32>(params.offset);
        end = min(end, u32(max(seen, 0)));
    }
    for (var key0 = 0u; key0 < end; key0 += KEYS) {
        clear_scores();
        for (var d = 0u; d < params.width; d += SLICE) {
            load_scores(row0, key0, d, local);
            workgroupBarrier();
            multiply_scores(local);
            workgroupBarrier();
        }
        finish_scores(plane, row0, key0, local);
        workgroupBarrier();
        spread_weights(local);
        workgroupBarrier();
        for (var k = 0u; k < KEYS; k += VALUES) {
            load_values(key0 + k, local);
            workgroupBarrier();
            multiply_values(k, local);
            workgroupBarrier();
        }
    }
    put_sums(local);
    workgroupBarrier();
    if (number == index) {
        put_results(plane, row0, local);
    }
}
