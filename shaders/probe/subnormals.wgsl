// out[2i], out[2i + 1] = the bits of the product and of the sum of the floats with bits x[i] and y[i].
//
//! needs WORKGROUP

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let i = (group.x + group.y * params.groups_x) * WORKGROUP + local;
    if (i < params.count) {
        let v = bitcast<f32>(x[i]);
        let w = bitcast<f32>(y[i]);
        out[2u * i] = bitcast<u32>(v * w);
        out[2u * i + 1u] = bitcast<u32>(v + w);
    }
}
