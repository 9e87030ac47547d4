// A number below 2^32 as a 64-bit integer, low word first.
fn widen_u32(x: u32) -> vec2<u32> { return vec2<u32>(x, 0u); }
