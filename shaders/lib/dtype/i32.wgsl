// One signed integer a word.
fn unpack_i32(w: u32) -> i32 { return bitcast<i32>(w); }
fn pack_i32(x: i32) -> u32 { return bitcast<u32>(x); }
