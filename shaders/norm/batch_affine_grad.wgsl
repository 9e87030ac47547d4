// gamma_grad[c] = Σg(x − mean) / √(variance + eps), beta_grad[c] = Σg: four channels an invocation.
//
//! needs WORKGROUP

fn scaled(o: u32) -> f32 {
    let c = min(o, params.channels - 1u);
    return totals[c].gx / sqrt(load_variance(c) + params.eps);
}
fn summed(o: u32) -> f32 { return totals[min(o, params.channels - 1u)].g; }

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let c = (group.x + group.y * params.groups_x) * WORKGROUP + local;
    let o = 4u * c;
    if (o < params.channels) {
        store4_gamma_grad(c, array<f32, 4>(scaled(o), scaled(o + 1u), scaled(o + 2u), scaled(o + 3u)));
        store4_beta_grad(c, array<f32, 4>(summed(o), summed(o + 1u), summed(o + 2u), summed(o + 3u)));
    }
}
