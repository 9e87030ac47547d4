// out[i] = (x[i] − mean) / √(variance + eps) · gamma + beta, with the statistics of the lane that i belongs to.
//
// out is row-major; an invocation owns CHUNKS chunks of four elements, strided by the workgroup. centred(x, o) is
// x − mean and spread(o) the variance; owner4 and affine4 give the indices of four neighbours into statistics and into
// gamma and beta.
//
//! needs get4, owner4, affine4, centred, spread, scale, shift, WORKGROUP, CHUNKS

fn finished(x: f32, o: u32, g: u32) -> f32 {
    return centred(x, o) * (1.0 / sqrt(spread(o) + params.eps)) * scale(g) + shift(g);
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let first = (group.x + group.y * params.groups_x) * (WORKGROUP * CHUNKS) + local;
    for (var k = 0u; k < CHUNKS; k++) {
        let c = first + k * WORKGROUP;
        if (c < params.chunks) {
            let x = get4(c);
            let o = owner4(4u * c);
            let g = affine4(4u * c);
            store4_out(c, array<f32, 4>(
                finished(x[0], o[0], g[0]), finished(x[1], o[1], g[1]),
                finished(x[2], o[2], g[2]), finished(x[3], o[3], g[3]),
            ));
        }
    }
}
