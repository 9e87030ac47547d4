// One bool a word, always stored as 0 or 1.
fn unpack_bool_u32(w: u32) -> bool { return w != 0u; }
fn pack_bool_u32(x: bool) -> u32 { return select(0u, 1u, x); }
