// out[o] = combine over u of unit(o, u): a team of TEAM invocations folds one output, neighbours read side by side.
//
// A workgroup holds WORKGROUP / TEAM teams. A team folds LANES outputs, so that one invocation owns whole words of a
// packed output. Invocations meet in two steps, TEAM → SIDE → 1, since barriers cost more than reads. With several parts, part p folds units [p·span, (p+1)·span) into partial results.
//
// A, identity, combine and append (combine for a later element) come from a fold: lib/reduce_*.wgsl.
//
//! needs keep_at, unit, sink, WORKGROUP, TEAM, LANES

const SIDE = min(TEAM, 16u);
var<workgroup> team: array<A, WORKGROUP * LANES>;

fn fold_row(o: u32, begin: u32, end: u32) -> A {
    let base = keep_at(o);
    var a = identity();
    var b = identity();
    var c = identity();
    var d = identity();
    var u = begin;
    // Four loads are on their way before the first is used.
    for (; u + 3u * TEAM < end; u += 4u * TEAM) {
        let p = unit(base, u, o);
        let q = unit(base, u + TEAM, o);
        let r = unit(base, u + 2u * TEAM, o);
        let s = unit(base, u + 3u * TEAM, o);
        a = append(a, p);
        b = append(b, q);
        c = append(c, r);
        d = append(d, s);
    }
    for (; u < end; u += TEAM) {
        a = append(a, unit(base, u, o));
    }
    return combine(combine(a, b), combine(c, d));
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let index = group.x + group.y * params.groups_x;
    let part = index / params.groups;
    let block = index - part * params.groups;
    let lane = local % TEAM;
    let first = (block * (WORKGROUP / TEAM) + local / TEAM) * LANES;
    let begin = part * params.span;
    let end = min(begin + params.span, params.units);
    for (var k = 0u; k < LANES; k++) {
        team[k * WORKGROUP + local] = fold_row(min(first + k, params.outputs - 1u), begin + lane, end);
    }
    workgroupBarrier();
    if (lane < SIDE) {
        for (var k = 0u; k < LANES; k++) {
            let here = k * WORKGROUP + local;
            var a = team[here];
            for (var s = SIDE; s < TEAM; s += SIDE) {
                a = combine(a, team[here + s]);
            }
            team[here] = a;
        }
    }
    workgroupBarrier();
    if (lane == 0u && first < params.outputs && part < params.parts) {
        var results: array<A, LANES>;
        for (var k = 0u; k < LANES; k++) {
            let here = k * WORKGROUP + local;
            var a = team[here];
            for (var s = 1u; s < SIDE; s++) {
                a = combine(a, team[here + s]);
            }
            results[k] = a;
        }
        sink(part, first / LANES, results);
    }
}
