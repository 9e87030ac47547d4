// out[i] = the half that pack2x16float makes of the float with bits x[i], in the low and in the high place of a word.
//
//! needs WORKGROUP

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let i = (group.x + group.y * params.groups_x) * WORKGROUP + local;
    if (i < params.count) {
        let v = bitcast<f32>(x[i]);
        out[2u * i] = pack2x16float(vec2<f32>(v, 0.0));
        out[2u * i + 1u] = pack2x16float(vec2<f32>(0.0, v)) >> 16u;
    }
}
