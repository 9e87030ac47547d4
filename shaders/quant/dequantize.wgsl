// out[e] = (global ·) scale of e's block · value of e's code: four neighbours an invocation.
//
// number(e) unpacks code and scale from the payload (see kernel/quant.py).
//
//! needs WORKGROUP, number

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let c = (group.x + group.y * params.groups_x) * WORKGROUP + local;
    if (c < params.chunks) {
        let e = 4u * c;
        let last = params.last;
        let four = array<f32, 4>(number(e), number(min(e + 1u, last)), number(min(e + 2u, last)), number(min(e + 3u, last)));
        store4_out(c, four);
    }
}
