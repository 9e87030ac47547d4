// out[t, n, c] = (e^log_probs[t, n, c] − Σ of the shares of the places with label c) · grad[n]; 0 beyond a sample's steps
// and where no alignment reaches the target. Four neighbours of the flat output a thread.
//
// shares [batch, steps, count] and losses [batch] are alpha.wgsl's. out is dense, the others have any strides.
//
//! use ctc/places
//! needs THREADS

fn gradient(i: u32) -> f32 {
    let line = i / params.classes;
    let c = i - line * params.classes;
    let t = line / params.batch;
    let n = line - t * params.batch;
    if (i32(t) >= steps_of(n) || is_inf(losses[n])) {
        return 0.0;
    }
    let used = labels_of(n);
    let first = (n * params.steps + t) * params.count;
    var sum = 0.0;
    for (var k = 0u; k < used; k++) {
        if (label_at(n, k) == c) {
            sum += shares[first + 2u * k + 1u];
        }
    }
    if (c == params.blank) {
        for (var k = 0u; k <= used; k++) {
            sum += shares[first + 2u * k];
        }
    }
    return (exp_f32(log_prob(t, n, c)) - sum) * load_grad(params.g_at + n * params.g_n);
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let first = 4u * ((group.x + group.y * params.groups_x) * THREADS + local);
    let last = params.size - 1u;
    if (first <= last) {
        let v0 = gradient(first);
        let v1 = gradient(min(first + 1u, last));
        let v2 = gradient(min(first + 2u, last));
        store4_out(first / 4u, array<f32, 4>(v0, v1, v2, gradient(min(first + 3u, last))));
    }
}
