// Four neighbouring elements, or one, in registers: what row kernels hold a row in.
fn peak4(v: vec4<f32>) -> u32 {
    return max(max(high_key(v.x), high_key(v.y)), max(high_key(v.z), high_key(v.w)));
}
fn peak1(v: f32) -> u32 { return high_key(v); }
fn total4(v: vec4<f32>) -> f32 { return (v.x + v.y) + (v.z + v.w); }
fn total1(v: f32) -> f32 { return v; }
