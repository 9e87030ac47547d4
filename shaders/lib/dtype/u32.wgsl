// One unsigned integer a word.
fn unpack_u32(w: u32) -> u32 { return w; }
fn pack_u32(x: u32) -> u32 { return x; }
