// dst[place of i] = src[place of i] for elements of 1 or 2 bytes whose region does not fill whole words.
//
// Neighbours in a word may belong to other invocations: each clears and sets its own bits atomically, in any order.
// PER_WORD elements a word.
//
//! needs WORKGROUP, UNITS, PER_WORD, places

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let width = 32u / PER_WORD;
    let mask = (1u << width) - 1u;
    let first = (group.x + group.y * params.groups_x) * (WORKGROUP * UNITS) + local;
    for (var k = 0u; k < UNITS; k++) {
        let i = first + k * WORKGROUP;
        if (i < params.count) {
            let p = places(i);
            let bits = (src[p.x / PER_WORD] >> (width * (p.x % PER_WORD))) & mask;
            let shift = width * (p.y % PER_WORD);
            atomicAnd(&dst[p.y / PER_WORD], ~(mask << shift));
            atomicOr(&dst[p.y / PER_WORD], bits << shift);
        }
    }
}
