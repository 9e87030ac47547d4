// Four signed integers a word, computed with as i32; the low bits are stored.
fn unpack_i8(w: u32, lane: u32) -> i32 { return (bitcast<i32>(w) << (24u - 8u * lane)) >> 24u; }
fn pack_i8(x: i32, y: i32, z: i32, t: i32) -> u32 {
    let v = vec4<u32>(bitcast<u32>(x), bitcast<u32>(y), bitcast<u32>(z), bitcast<u32>(t)) & vec4<u32>(0xffu);
    return v.x | (v.y << 8u) | (v.z << 16u) | (v.w << 24u);
}
