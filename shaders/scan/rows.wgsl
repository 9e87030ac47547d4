// out[o, j] = combine over i ≤ j of x[o, i]: a team of TEAM invocations scans one row, four elements an invocation at a time.
//
// A workgroup holds WORKGROUP / TEAM rows; rows longer than 4·TEAM are walked block by block with a carry. With several
// parts, part p of a row does elements [p·span, (p+1)·span) and begins with the totals of the parts before it; a team is
// then a whole workgroup.
// Between invocations the scan is Hillis and Steele's.
//
//! needs keep_at, items, place, total, PARTED, WORKGROUP, TEAM

var<workgroup> team: array<A, WORKGROUP>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let index = group.x + group.y * params.groups_x;
    let part = index / params.groups;
    let block = index - part * params.groups;
    let lane = local % TEAM;
    let row = block * (WORKGROUP / TEAM) + local / TEAM;
    let o = min(row, params.outputs - 1u);
    let live = row < params.outputs && part < params.parts;
    let base = keep_at(o);
    var carry = identity();
    if (PARTED) {
        var mine = identity();
        for (var p = local; p < min(part, params.parts); p += WORKGROUP) {
            mine = combine(mine, total(p, o));
        }
        team[local] = mine;
        workgroupBarrier();
        for (var s = WORKGROUP / 2u; s > 0u; s = s / 2u) {
            if (local < s) {
                team[local] = combine(team[local], team[local + s]);
            }
            workgroupBarrier();
        }
        carry = team[0];
        workgroupBarrier();
    }
    let begin = part * params.span;
    let end = min(begin + params.span, params.length);
    for (var b = begin; b < end; b += 4u * TEAM) {
        let j = b + 4u * lane;
        var v = items(base, j);
        v[1] = combine(v[0], v[1]);
        v[2] = combine(v[1], v[2]);
        v[3] = combine(v[2], v[3]);
        team[local] = v[3];
        workgroupBarrier();
        for (var s = 1u; s < TEAM; s = s * 2u) {
            var sum = team[local];
            if (lane >= s) {
                sum = combine(team[local - s], sum);
            }
            workgroupBarrier();
            team[local] = sum;
            workgroupBarrier();
        }
        var prefix = carry;
        if (lane > 0u) {
            prefix = combine(carry, team[local - 1u]);
        }
        carry = combine(carry, team[local - lane + TEAM - 1u]);
        workgroupBarrier();
        if (live && j < end) {
            place(o, j, array<A, 4>(
                combine(prefix, v[0]), combine(prefix, v[1]), combine(prefix, v[2]), combine(prefix, v[3]),
            ));
        }
    }
}
