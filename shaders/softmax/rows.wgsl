// out[o, u] = e^(x[o, u] − m) / Σ e^(x − m), or its logarithm: a team of TEAM invocations holds one row in registers.
//
// The row is read once. A workgroup holds WORKGROUP / TEAM rows, an invocation PER pieces R of its row (four elements,
// or one). The maximum is found by keys, so that a NaN wins; a row whose maximum is not finite is NaN throughout.
//
//! needs R, keep_at, piece, put, peak, total, LOGARITHM, WORKGROUP, TEAM, PER
//! use lib/reduce_key, lib/reduce_registers

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
    for (var k = 0u; k < PER; k++) {
        v[k] = R(0.0);
        if (lane + k * TEAM < params.units) {
            v[k] = piece(base, lane + k * TEAM);
            top = max(top, peak(v[k]));
        }
    }
    peaks[local] = top;
    workgroupBarrier();
    for (var s = TEAM / 2u; s > 0u; s = s / 2u) {
        if (lane < s) {
            peaks[local] = max(peaks[local], peaks[local + s]);
        }
        workgroupBarrier();
    }
    let best = peaks[local - lane];
    // Strictly between the keys of −∞ and +∞.
    let finite = best > 0x007fffffu && best < 0xff800000u;
    let m = from_high_key(best);
    var sum = 0.0;
    for (var k = 0u; k < PER; k++) {
        if (lane + k * TEAM < params.units) {
            let d = v[k] - R(m);
            let e = exp(d);
            sum += total(e);
            v[k] = select(e, d, LOGARITHM);
        }
    }
    sums[local] = sum;
    workgroupBarrier();
    for (var s = TEAM / 2u; s > 0u; s = s / 2u) {
        if (lane < s) {
            sums[local] += sums[local + s];
        }
        workgroupBarrier();
    }
    let whole = sums[local - lane];
    let subtract = log(whole);
    if (row < params.outputs) {
        for (var k = 0u; k < PER; k++) {
            if (lane + k * TEAM < params.units) {
                let r = select(v[k] / R(whole), v[k] - R(subtract), LOGARITHM);
                put(o, lane + k * TEAM, select(R(bitcast<f32>(params.nan)), r, finite));
            }
        }
    }
}
