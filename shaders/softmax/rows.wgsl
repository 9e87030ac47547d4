// out[o, u] = e^(x[o, u] − m) / Σ e^(x − m), or its logarithm: a team of TEAM invocations holds one row in registers.
//
// The row is read once. A workgroup holds WORKGROUP / TEAM rows, an invocation PER pieces R of its row (four elements,
// or one). The maximum is found by keys, so that a NaN wins; a row whose maximum is not finite is NaN throughout.
//
//! needs R, keep_at, piece, put, peak, total, LOGARITHM, WORKGROUP, TEAM, PER
//! use lib/reduce_key, lib/reduce_registers

const SIDE = min(TEAM, 16u);
var<workgroup> peaks: array<u32, WORKGROUP>;
var<workgroup> sums: array<f32, WORKGROUP>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let index = group.x + group.y * params.groups_x;
    let lane = local % TEAM;
    let row = index * (WORKGROUP / TEAM) + local / TEAM;
    let o = min(row, params.outputs - 1u);
    let base = keep_at(o);
    var v: array<R, PER>;
    var top = 0u;
    // Every load is on its way before the first is used, so none stands behind a branch.
    for (var k = 0u; k < PER; k++) {
        v[k] = piece(base, min(lane + k * TEAM, params.units - 1u));
    }
    for (var k = 0u; k < PER; k++) {
        top = max(top, peak(v[k])); // twice the last piece does no harm
    }
    peaks[local] = top;
    workgroupBarrier();
    // TEAM → SIDE → 1: barriers cost more than reads.
    if (lane < SIDE && TEAM > SIDE) {
        for (var s = SIDE; s < TEAM; s += SIDE) {
            top = max(top, peaks[local + s]);
        }
        peaks[local] = top;
    }
    workgroupBarrier();
    var best = 0u;
    for (var s = 0u; s < SIDE; s++) {
        best = max(best, peaks[local - lane + s]);
    }
    // Strictly between the keys of −∞ and +∞.
    let finite = best > 0x007fffffu && best < 0xff800000u;
    let m = from_high_key(best);
    var sum = 0.0;
    for (var k = 0u; k < PER; k++) {
        let d = v[k] - R(m);
        let e = exp(d);
        sum += select(0.0, total(e), lane + k * TEAM < params.units);
        v[k] = select(e, d, LOGARITHM);
    }
    sums[local] = sum;
    workgroupBarrier();
    if (lane < SIDE && TEAM > SIDE) {
        for (var s = SIDE; s < TEAM; s += SIDE) {
            sum += sums[local + s];
        }
        sums[local] = sum;
    }
    workgroupBarrier();
    var whole = 0.0;
    for (var s = 0u; s < SIDE; s++) {
        whole += sums[local - lane + s];
    }
    let subtract = log(whole);
    let share = 1.0 / whole;
    if (row < params.outputs) {
        for (var k = 0u; k < PER; k++) {
            if (lane + k * TEAM < params.units) {
                let r = select(v[k] * R(share), v[k] - R(subtract), LOGARITHM);
                put(o, lane + k * TEAM, select(R(bitcast<f32>(params.nan)), r, finite));
            }
        }
    }
}
