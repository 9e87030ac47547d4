// One signed 64-bit integer in two words, low word first.
fn unpack_i64(w: vec2<u32>) -> i64 { return i64(u64(w.x) | (u64(w.y) << 32u)); }
fn pack_i64(x: i64) -> vec2<u32> {
    let u = u64(x);
    return vec2<u32>(u32(u & 0xfffffffflu), u32(u >> 32u));
}
