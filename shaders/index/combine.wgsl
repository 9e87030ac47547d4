// What an update does with the value that is there (a) and a new one (b).

fn assign(a: V, b: V) -> V { return b; }

fn add(a: V, b: V) -> V { return a + b; }
fn mul(a: V, b: V) -> V { return a * b; }

fn min_int(a: V, b: V) -> V { return min(a, b); }
fn max_int(a: V, b: V) -> V { return max(a, b); }

// A NaN on either side wins; found by its bits, because comparisons may be compiled as if there were none.
fn is_nan_bits(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }
fn min_f32(a: f32, b: f32) -> f32 {
    if (is_nan_bits(a)) { return a; }
    if (is_nan_bits(b)) { return b; }
    return select(a, b, b < a);
}
fn max_f32(a: f32, b: f32) -> f32 {
    if (is_nan_bits(a)) { return a; }
    if (is_nan_bits(b)) { return b; }
    return select(a, b, b > a);
}

// Bools are 0 or 1, alone in a word here.
fn either(a: u32, b: u32) -> u32 { return a | b; }
fn both(a: u32, b: u32) -> u32 { return a & b; }
