// Floats as u32 keys in the order that extrema need: integers compare the same on every adapter, NaN or not.
//
// A float's bits grow with its value if it is positive and shrink if it is negative; flipping makes one order of both.
// Every NaN gets the largest key, so that it wins; 0 is below every key and serves as identity.
fn is_nan_bits(b: u32) -> bool { return (b & 0x7fffffffu) > 0x7f800000u; }
fn ordered(b: u32) -> u32 { return b ^ (bitcast<u32>(bitcast<i32>(b) >> 31u) | 0x80000000u); }
fn unordered(k: u32) -> u32 { return k ^ select(0xffffffffu, 0x80000000u, k >= 0x80000000u); }
fn high_key(x: f32) -> u32 {
    let b = bitcast<u32>(x);
    return select(ordered(b), 0xffffffffu, is_nan_bits(b));
}
fn from_high_key(k: u32) -> f32 { return bitcast<f32>(unordered(k)); }
fn low_key(x: f32) -> u32 {
    let b = bitcast<u32>(x);
    return select(~ordered(b), 0xffffffffu, is_nan_bits(b));
}
// The key of all NaN is that of no number: ~ordered(b) is 0xffffffff for one NaN only.
fn from_low_key(k: u32) -> f32 { return bitcast<f32>(select(unordered(~k), 0x7fc00000u, k == 0xffffffffu)); }
// For positions −0 and +0 are equals, so both take the key of +0.
fn high_place_key(x: f32) -> u32 {
    let b = bitcast<u32>(x);
    return high_key(bitcast<f32>(select(b, 0u, b == 0x80000000u)));
}
fn low_place_key(x: f32) -> u32 {
    let b = bitcast<u32>(x);
    return low_key(bitcast<f32>(select(b, 0u, b == 0x80000000u)));
}
// Magnitudes are in order as they are, and every NaN is above infinity.
fn magnitude_key(x: f32) -> u32 { return bitcast<u32>(x) & 0x7fffffffu; }
fn from_magnitude_key(k: u32) -> f32 { return bitcast<f32>(k); }
