// out[i] = the element of x that the padding mode puts there: four neighbours of the flat output a thread.
//
// padded4(first, last) splits a number over the axes and holds the mode (see kernel/pad.py); elements are moved, not
// looked at.
//
//! needs THREADS, padded4

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let first = 4u * ((group.x + group.y * params.groups_x) * THREADS + local);
    let last = params.size - 1u;
    if (first <= last) {
        store4_out(first / 4u, padded4(first, last));
    }
}
