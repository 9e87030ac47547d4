// out[o, u] = (x[o, u] − mean) / √(variance + eps) · gamma[u] + beta[u]: a team of TEAM invocations holds one row in
// registers. The row is read once, less its first element, on which no deviation depends: the mean of numbers far from
// zero has digits that f32 lacks, and a row of equal numbers is exactly 0. The mean comes first, then the centred squares
// and what the mean's own rounding left, where the first element was far from the others.
//
// A workgroup holds WORKGROUP / TEAM rows, an invocation PER pieces R of its row (four elements, or one).
//
//! needs R, keep_at, piece, head, put, total, scale, shift, WORKGROUP, TEAM, PER
//! use lib/reduce_registers

const SIDE = min(TEAM, 16u);
var<workgroup> sums: array<vec2<f32>, WORKGROUP>;

fn team_total(local: u32, mine: vec2<f32>) -> vec2<f32> {
    let lane = local % TEAM;
    workgroupBarrier(); // the sums of the call before have been read
    sums[local] = mine;
    workgroupBarrier();
    // TEAM → SIDE → 1: barriers cost more than reads.
    if (lane < SIDE && TEAM > SIDE) {
        var part = mine;
        for (var s = SIDE; s < TEAM; s += SIDE) {
            part += sums[local + s];
        }
        sums[local] = part;
    }
    workgroupBarrier();
    var sum = vec2<f32>();
    for (var s = 0u; s < SIDE; s++) {
        sum += sums[local - lane + s];
    }
    return sum;
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let index = group.x + group.y * params.groups_x;
    let lane = local % TEAM;
    let row = index * (WORKGROUP / TEAM) + local / TEAM;
    let o = min(row, params.outputs - 1u);
    let base = keep_at(o);
    var v: array<R, PER>;
    var sum = 0.0;
    // Every load is on its way before the first is used, so none stands behind a branch.
    for (var k = 0u; k < PER; k++) {
        v[k] = piece(base, min(lane + k * TEAM, params.units - 1u));
    }
    let pivot = R(head(piece(base, 0u)));
    for (var k = 0u; k < PER; k++) {
        v[k] = v[k] - pivot;
        sum += select(0.0, total(v[k]), lane + k * TEAM < params.units);
    }
    let mean = team_total(local, vec2<f32>(sum, 0.0)).x / params.count;
    var rest = vec2<f32>();
    for (var k = 0u; k < PER; k++) {
        v[k] = v[k] - R(mean);
        let part = vec2<f32>(total(v[k]), total(v[k] * v[k]));
        rest += select(vec2<f32>(), part, lane + k * TEAM < params.units);
    }
    let left = team_total(local, rest) / params.count;
    let inverse = 1.0 / sqrt(max(left.y - left.x * left.x, 0.0) + params.eps);
    if (row < params.outputs) {
        for (var k = 0u; k < PER; k++) {
            let u = lane + k * TEAM;
            if (u < params.units) {
                put(o, u, (v[k] - R(left.x)) * R(inverse) * scale(u) + shift(u));
            }
        }
    }
}
