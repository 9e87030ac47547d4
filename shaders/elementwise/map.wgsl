// out[i] = apply(operands at i): elementwise, with broadcasting and any strides of the operands.
//
// out is row-major. An invocation owns CHUNKS chunks of four elements, strided by the workgroup, so that neighbouring
// invocations touch neighbouring words. The last chunk may reach into the padding of the buffers.
//
//! needs WORKGROUP, CHUNKS, apply4

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let first = (group.x + group.y * params.groups_x) * (WORKGROUP * CHUNKS) + local;
    for (var k = 0u; k < CHUNKS; k++) {
        let c = first + k * WORKGROUP;
        if (c < params.chunks) {
            store4_out(c, apply4(c));
        }
    }
}
