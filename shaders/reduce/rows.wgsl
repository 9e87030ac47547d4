// out[o] = combine over u of unit(o, u): a team of TEAM invocations folds one output, neighbours read side by side.
//
// A workgroup holds WORKGROUP / TEAM teams. A team folds LANES outputs one after another, so that one invocation owns
// whole words of a packed output. With several parts, part p folds units [p·span, (p+1)·span) into partial results.
//
// A, identity and combine come from a fold: lib/reduce_*.wgsl.
//
//! needs keep_at, unit, sink, WORKGROUP, TEAM, LANES

var<workgroup> team: array<A, WORKGROUP>;

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
        a = combine(a, p);
        b = combine(b, q);
        c = combine(c, r);
        d = combine(d, s);
    }
    for (; u < end; u += TEAM) {
        a = combine(a, unit(base, u, o));
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
    var results: array<A, LANES>;
    for (var k = 0u; k < LANES; k++) {
        team[local] = fold_row(min(first + k, params.outputs - 1u), begin + lane, end);
        workgroupBarrier();
        for (var s = TEAM / 2u; s > 0u; s = s / 2u) {
            if (lane < s) {
                team[local] = combine(team[local], team[local + s]);
            }
            workgroupBarrier();
        }
        results[k] = team[local - lane];
        workgroupBarrier();
    }
    if (lane == 0u && first < params.outputs && part < params.parts) {
        sink(part, first / LANES, results);
    }
}
