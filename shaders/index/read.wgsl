// A 64-bit index as the bits of an i32: what does not fit becomes the nearest end, which no axis reaches.
fn index_i64(w: vec2<u32>) -> u32 {
    if (w.y == 0u) { return min(w.x, 0x7fffffffu); }
    if (w.y == 0xffffffffu) { return max(w.x, 0x80000000u); }
    return select(0x7fffffffu, 0x80000000u, w.y >= 0x80000000u);
}
fn index_u64(w: vec2<u32>) -> u32 { return select(0x7fffffffu, min(w.x, 0x7fffffffu), w.y == 0u); }
