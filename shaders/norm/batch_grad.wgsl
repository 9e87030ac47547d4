// x_grad[i] = gamma · inv · (g[i] − Σg / n − (x[i] − mean) · inv² · Σg(x − mean) / n), per channel, inv = 1/√(variance + eps).
//
// out is row-major; an invocation owns CHUNKS chunks of four elements, strided by the workgroup.
//
//! needs owner4, WORKGROUP, CHUNKS

fn finished(x: f32, g: f32, o: u32) -> f32 {
    let inverse = 1.0 / sqrt(load_variance(o) + params.eps);
    let sums = totals[o];
    let along = (x - load_mean(o)) * inverse * inverse * (sums.gx / params.count);
    return load_gamma(o) * inverse * (g - sums.g / params.count - along);
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let first = (group.x + group.y * params.groups_x) * (WORKGROUP * CHUNKS) + local;
    for (var k = 0u; k < CHUNKS; k++) {
        let c = first + k * WORKGROUP;
        if (c < params.chunks) {
            let x = load4_x(c);
            let g = load4_g(c);
            let o = owner4(4u * c);
            store4_out(c, array<f32, 4>(
                finished(x[0], g[0], o[0]), finished(x[1], g[1], o[1]),
                finished(x[2], g[2], o[2]), finished(x[3], g[3], o[3]),
            ));
        }
    }
}
