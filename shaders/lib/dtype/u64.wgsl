// One unsigned 64-bit integer in two words, low word first.
fn unpack_u64(w: vec2<u32>) -> u64 { return u64(w.x) | (u64(w.y) << 32u); }
fn pack_u64(x: u64) -> vec2<u32> { return vec2<u32>(u32(x & 0xfffffffflu), u32(x >> 32u)); }
