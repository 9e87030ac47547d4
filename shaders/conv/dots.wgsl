// y[i] = Σ_c Σ_t w[row(i), c, t] · x[.., c, place(i, t)]: a workgroup computes four neighbours of the flat result.
//
// For few results with long sums: the threads share a part of the sum, whose pieces meet in workgroup memory. The sum may
// be split over workgroups, which then write partial sums [splits, size] (see matmul/finish.wgsl).
//
//! needs THREADS, TAPS0, TAPS1, TAPS2, begin4, terms, put_sums

var<workgroup> sums: array<vec4<f32>, THREADS>;

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let number = group.x + group.y * params.groups_x;
    let index = min(number, params.groups - 1u);
    let split = index / params.chunks;
    let first = 4u * (index - split * params.chunks);
    let lanes = begin4(first);
    let begin = split * params.k_span;
    let end = begin + min(params.k - begin, params.k_span);
    var sum = vec4<f32>();
    for (var k = begin + local; k < end; k += THREADS) {
        let n2 = k / TAPS2;
        let n1 = n2 / TAPS1;
        let n0 = n1 / TAPS0;
        sum += terms(lanes, n0, n1 - n0 * TAPS0, n2 - n1 * TAPS1, k - n2 * TAPS2);
    }
    sums[local] = sum;
    workgroupBarrier();
    for (var half = THREADS / 2u; half > 0u; half /= 2u) {
        if (local < half) {
            sums[local] += sums[local + half];
        }
        workgroupBarrier();
    }
    if (number == index && local == 0u) {
        put_sums(split, first, sums[0]);
    }
}
