// Four bools a word, one byte each, always stored as 0 or 1.
fn unpack_bool_u8(w: u32, lane: u32) -> bool { return ((w >> (8u * lane)) & 0xffu) != 0u; }
fn pack_bool_u8(x: bool, y: bool, z: bool, t: bool) -> u32 {
    return select(0u, 1u, x) | select(0u, 0x100u, y) | select(0u, 0x10000u, z) | select(0u, 0x1000000u, t);
}
