// Two unsigned integers a word, computed with as u32; the low bits are stored.
fn unpack_u16(w: u32, lane: u32) -> u32 { return (w >> (16u * lane)) & 0xffffu; }
fn pack_u16(x: u32, y: u32) -> u32 { return (x & 0xffffu) | (y << 16u); }
