// Four unsigned integers a word, computed with as u32; the low bits are stored.
fn unpack_u8(w: u32, lane: u32) -> u32 { return (w >> (8u * lane)) & 0xffu; }
fn pack_u8(x: u32, y: u32, z: u32, t: u32) -> u32 {
    return (x & 0xffu) | ((y & 0xffu) << 8u) | ((z & 0xffu) << 16u) | (t << 24u);
}
