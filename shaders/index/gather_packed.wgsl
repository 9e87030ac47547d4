// out[i] = src[place of i + what the indices add] for elements of 1 or 2 bytes, PER_WORD of them in a word.
//
// An invocation owns WORDS whole words of out and fills their elements one after another.
//
//! needs WORKGROUP, WORDS, PER_WORD, places, located

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let width = 32u / PER_WORD;
    let mask = (1u << width) - 1u;
    let first = (group.x + group.y * params.groups_x) * (WORKGROUP * WORDS) + local;
    for (var k = 0u; k < WORDS; k++) {
        let w = first + k * WORKGROUP;
        if (w * PER_WORD < params.count) {
            var word = 0u;
            for (var lane = 0u; lane < PER_WORD; lane++) {
                let i = w * PER_WORD + lane;
                if (i < params.count) {
                    let p = places(i);
                    let found = located(p.x, p.y);
                    if (found.y == 1u) {
                        let bits = (src[found.x / PER_WORD] >> (width * (found.x % PER_WORD))) & mask;
                        word |= bits << (width * lane);
                    }
                }
            }
            out[w] = word;
        }
    }
}
