// Sums of the parts that query_grad.wgsl and key_grad.wgsl leave for each split, in the order of the splits.
//
// A thread writes four neighbours of one of the gradients, which stand one after the other in the count of threads.
//
//! needs THREADS, add

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    add((group.x + group.y * params.groups_x) * THREADS + local);
}
