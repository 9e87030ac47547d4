// y[image, group, m, o1 … , o2 …] = epilogue(Σ_c Σ_t w[group, m, c, t] · x[.., c, place]): a thread computes a block of rows
// of four neighbours for every m, and reads each element of its window once.
//
// For depthwise convolutions and groups of few channels: the taps are written out (kernel/conv_window_text.py).
//
//! needs THREADS, begin, add, put

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let i = (group.x + group.y * params.groups_x) * THREADS + local;
    if (i < params.count) {
        begin(i);
        for (var c = 0u; c < params.channels; c++) {
            add(c);
        }
        put();
    }
}
