// The float x to the integer y, rounded once. Whether y is odd is asked of the integer: beyond 2^24 every f32 is even.
//
//! use lib/math, elementwise/cast
//! needs V, FROM_SIGNED, NARROW

fn whole_power(x: f32, y: f32, odd: bool) -> f32 {
    let power = pow_f32(absolute(x), y);
    return bitcast<f32>(bitcast<u32>(power) ^ select(0u, SIGN_BIT, odd && is_negative(x)));
}
// Of integers up to 32 bits.
fn narrow_powi(x: f32, y: V) -> f32 { return whole_power(x, narrow_to_float(y), (bitcast<u32>(y) & 1u) == 1u); }
// Of 64 bits in two words.
fn wide_powi(x: f32, y: vec2<u32>) -> f32 { return whole_power(x, wide_to_float(y), (y.x & 1u) == 1u); }
