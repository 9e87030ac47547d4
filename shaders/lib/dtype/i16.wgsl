// Two signed integers a word, computed with as i32; the low bits are stored.
fn unpack_i16(w: u32, lane: u32) -> i32 { return (bitcast<i32>(w) << (16u - 16u * lane)) >> 16u; }
fn pack_i16(x: i32, y: i32) -> u32 { return (bitcast<u32>(x) & 0xffffu) | (bitcast<u32>(y) << 16u); }
