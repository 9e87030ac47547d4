// Stored bits as unsigned numbers in the order of the values: every NaN is the largest, -0 is +0.

fn ordered(bits: u32) -> u32 { return select(bits | 0x80000000u, ~bits, bits >= 0x80000000u); }

fn key_f32(w: u32) -> u32 {
    if ((w & 0x7fffffffu) > 0x7f800000u) { return 0xffffffffu; }
    return ordered(select(w, 0u, w == 0x80000000u));
}
// The low half of w holds the element; moved to the top it keeps its order.
fn key_bf16(w: u32) -> u32 { return key_f32(w << 16u); }
fn key_f16(w: u32) -> u32 {
    if ((w & 0x7fffu) > 0x7c00u) { return 0xffffffffu; }
    return ordered(select(w << 16u, 0u, w == 0x8000u));
}
fn key_u32(w: u32) -> u32 { return w; }
fn key_i32(w: u32) -> u32 { return w ^ 0x80000000u; }
fn key_i16(w: u32) -> u32 { return w ^ 0x8000u; }
fn key_i8(w: u32) -> u32 { return w ^ 0x80u; }

// Two words, low word first.
fn key_u64(w: vec2<u32>) -> vec2<u32> { return w; }
fn key_i64(w: vec2<u32>) -> vec2<u32> { return vec2<u32>(w.x, w.y ^ 0x80000000u); }
fn key_f64(w: vec2<u32>) -> vec2<u32> {
    let top = w.y & 0x7fffffffu;
    if (top > 0x7ff00000u || (top == 0x7ff00000u && w.x != 0u)) { return vec2<u32>(0xffffffffu); }
    if (top == 0u && w.x == 0u) { return vec2<u32>(0u, 0x80000000u); }
    return select(vec2<u32>(w.x, w.y | 0x80000000u), ~w, w.y >= 0x80000000u);
}
