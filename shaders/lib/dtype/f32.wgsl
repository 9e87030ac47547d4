// One float a word.
fn unpack_f32(w: u32) -> f32 { return bitcast<f32>(w); }
fn pack_f32(x: f32) -> u32 { return bitcast<u32>(x); }
