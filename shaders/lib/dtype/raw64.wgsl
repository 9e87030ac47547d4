// Eight bytes that are only moved.
fn unpack_raw64(w: vec2<u32>) -> vec2<u32> { return w; }
fn pack_raw64(x: vec2<u32>) -> vec2<u32> { return x; }
