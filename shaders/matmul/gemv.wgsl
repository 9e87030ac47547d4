// out[z, v, r] = epilogue(Σ_k w[z, r, k] · x[z, v, k]): a matrix times a few vectors.
//
// A workgroup computes 4 · WIDE neighbouring r. WIDE threads stand side by side over them, and THREADS / WIDE threads share
// the sum over k, whose parts meet in workgroup memory. `accumulate(u)` adds the u-th unit of k to the thread's sums: four
// neighbouring k where w is contiguous along k, one k where it is contiguous along r (kernel/matmul_text.py).
// The result lies at r · out_r + v · out_v: [vectors, rows] or [rows, vectors].
//
//! needs THREADS, WIDE, VECTORS, V, begin, accumulate, spread, put_sums

const DEEP: u32 = THREADS / WIDE;
var<workgroup> sums: array<vec4<V>, THREADS * VECTORS>;

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let number = group.x + group.y * params.groups_x;
    let index = min(number, params.groups - 1u);
    let row = 4u * ((index % params.strips) * WIDE + local % WIDE);
    let part = index / params.strips;
    let first = (part / params.batch) * params.units_span;
    let end = first + min(params.units - first, params.units_span);
    begin(part % params.batch, row);
    var u = first + local / WIDE;
    for (; u + 3u * DEEP < end; u += 4u * DEEP) { // four loads in flight
        accumulate(u);
        accumulate(u + DEEP);
        accumulate(u + 2u * DEEP);
        accumulate(u + 3u * DEEP);
    }
    for (; u < end; u += DEEP) {
        accumulate(u);
    }
    spread(local);
    workgroupBarrier();
    for (var half = THREADS / 2u; half >= WIDE; half /= 2u) {
        if (local < half) {
            for (var v = 0u; v < VECTORS; v++) {
                sums[v * THREADS + local] += sums[v * THREADS + local + half];
            }
        }
        workgroupBarrier();
    }
    if (number == index && local < WIDE && row < params.rows) {
        put_sums(part * params.rows * VECTORS, row, local);
    }
}
