// f64 as its two words, low word first: signs, NaN, order and equality by bits, exact on every adapter.
//
// Keys are 64-bit unsigned numbers in the order of the values, every NaN above them all, as in lib/reduce_key.

fn above_f64(a: vec2<u32>, b: vec2<u32>) -> bool { return a.y > b.y || (a.y == b.y && a.x > b.x); }
fn same_f64(a: vec2<u32>, b: vec2<u32>) -> bool { return a.x == b.x && a.y == b.y; }
fn larger_f64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return select(a, b, above_f64(b, a)); }

fn magnitude_f64(w: vec2<u32>) -> vec2<u32> { return vec2<u32>(w.x, w.y & 0x7fffffffu); }
fn negative_f64(w: vec2<u32>) -> bool { return w.y >= 0x80000000u; }
fn is_zero_f64(w: vec2<u32>) -> bool { return (w.x | (w.y & 0x7fffffffu)) == 0u; }
fn is_nan_f64(w: vec2<u32>) -> bool { return above_f64(magnitude_f64(w), vec2<u32>(0u, 0x7ff00000u)); }

fn ordered_f64(w: vec2<u32>) -> vec2<u32> { return select(vec2<u32>(w.x, w.y | 0x80000000u), ~w, negative_f64(w)); }
fn unordered_f64(k: vec2<u32>) -> vec2<u32> {
    return select(~k, vec2<u32>(k.x, k.y & 0x7fffffffu), negative_f64(k));
}
fn high_key_f64(w: vec2<u32>) -> vec2<u32> { return select(ordered_f64(w), vec2<u32>(0xffffffffu), is_nan_f64(w)); }
fn from_high_key_f64(k: vec2<u32>) -> vec2<u32> { return unordered_f64(k); }
fn low_key_f64(w: vec2<u32>) -> vec2<u32> { return select(~ordered_f64(w), vec2<u32>(0xffffffffu), is_nan_f64(w)); }
// The key of all NaN is that of no number: it is ~ordered_f64(w) for one NaN only.
fn from_low_key_f64(k: vec2<u32>) -> vec2<u32> {
    return select(unordered_f64(~k), vec2<u32>(0u, 0x7ff80000u), same_f64(k, vec2<u32>(0xffffffffu)));
}
// For positions and comparisons −0 and +0 are equals, so both take the key of +0.
fn plain_zero_f64(w: vec2<u32>) -> vec2<u32> { return select(w, vec2<u32>(0u), is_zero_f64(w)); }
fn high_place_key_f64(w: vec2<u32>) -> vec2<u32> { return high_key_f64(plain_zero_f64(w)); }
fn low_place_key_f64(w: vec2<u32>) -> vec2<u32> { return low_key_f64(plain_zero_f64(w)); }
fn magnitude_key_f64(w: vec2<u32>) -> vec2<u32> { return magnitude_f64(w); }
fn from_magnitude_key_f64(k: vec2<u32>) -> vec2<u32> { return k; }

// False where either is NaN.
fn less_f64(a: vec2<u32>, b: vec2<u32>) -> bool {
    return above_f64(high_place_key_f64(b), high_place_key_f64(a)) && !is_nan_f64(b);
}
fn equal_f64(a: vec2<u32>, b: vec2<u32>) -> bool {
    return same_f64(high_place_key_f64(a), high_place_key_f64(b)) && !is_nan_f64(a);
}

// NaN when either is.
fn max_f64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return from_high_key_f64(larger_f64(high_key_f64(a), high_key_f64(b)));
}
fn min_f64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return from_low_key_f64(larger_f64(low_key_f64(a), low_key_f64(b)));
}
