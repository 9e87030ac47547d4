// out[0] = the size of the subgroup that invocation 0 belongs to.
//
//! needs WORKGROUP

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(subgroup_size) size: u32, @builtin(local_invocation_index) local: u32) {
    if (local == 0u) {
        store_out(0u, size);
    }
}
