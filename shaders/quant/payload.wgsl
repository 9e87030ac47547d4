// out = a payload of a quantized tensor: codes in the storage elements of its store, then the scales, then the global one.
//
// An invocation makes one word, of whatever falls into it: codes, scales, or both. payload_word (see kernel/quant.py)
// gives the bytes behind the last scale as zeros.
//
//! needs WORKGROUP, payload_word

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let w = (group.x + group.y * params.groups_x) * WORKGROUP + local;
    if (w < params.words) {
        out[w] = payload_word(w);
    }
}
