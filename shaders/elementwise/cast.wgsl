// Conversions between dtypes, by bits: no feature is needed, and each rounds once.
//
// Narrow integers arrive as V (i32 or u32) and leave as a word whose low bits are stored. 64-bit integers and f64 are two
// words, low word first. BITS and SIGNED describe the integer that is made, FROM_SIGNED the one that is read. NARROW says
// that f16 or bf16 is made: then the f32 in between is rounded to odd, so that the second rounding is the only one.
//
//! use lib/math
//! needs V, BITS, SIGNED, FROM_SIGNED, NARROW

// ------------------------------------------------------------------------------------------- integer to integer

fn narrow_to_narrow(x: V) -> u32 { return bitcast<u32>(x); }
fn narrow_to_wide(x: V) -> vec2<u32> {
    let word = bitcast<u32>(x);
    return vec2<u32>(word, select(0u, 0xffffffffu, FROM_SIGNED && word >= SIGN_BIT));
}
fn wide_to_narrow(x: vec2<u32>) -> u32 { return x.x; }

// --------------------------------------------------------------------------------------------- float to integer

// ±digits · 2^shift truncated toward zero; the nearest end of the range when it is too large.
fn truncated(digits: vec2<u32>, shift: i32, negative: bool, too_large: bool) -> vec2<u32> {
    if (negative && !SIGNED) { return vec2<u32>(0u); }
    if (too_large) {
        let highest = wide_right(vec2<u32>(0xffffffffu), 64u - BITS + select(0u, 1u, SIGNED));
        return select(highest, ~highest, negative);
    }
    let whole = select(wide_right(digits, u32(-shift)), wide_left(digits, u32(shift)), shift >= 0);
    return select(whole, wide_negate(whole), negative);
}
fn float_to_wide(x: f32) -> vec2<u32> {
    let m = magnitude(x);
    if (m > INF_BITS || m < ONE_BITS) { return vec2<u32>(0u); }
    let limit = (127u + BITS - select(0u, 1u, SIGNED)) << 23u;
    let digits = vec2<u32>((m & 0x7fffffu) | 0x800000u, 0u);
    return truncated(digits, i32(m >> 23u) - 150, is_negative(x), m >= limit);
}
fn float_to_narrow(x: f32) -> u32 { return float_to_wide(x).x; }
fn double_to_wide(x: vec2<u32>) -> vec2<u32> {
    let e = (x.y >> 20u) & 0x7ffu;
    let high = x.y & 0xfffffu;
    if (e < 1023u || (e == 2047u && (high | x.x) != 0u)) { return vec2<u32>(0u); }
    let limit = 1023u + BITS - select(0u, 1u, SIGNED);
    return truncated(vec2<u32>(x.x, high | 0x100000u), i32(e) - 1075, x.y >= SIGN_BIT, e >= limit);
}
fn double_to_narrow(x: vec2<u32>) -> u32 { return double_to_wide(x).x; }

// --------------------------------------------------------------------------------------------- integer to float

// ±size as f32: to nearest even, or to odd for NARROW.
fn float_of(size: vec2<u32>, negative: bool) -> f32 {
    if ((size.x | size.y) == 0u) { return 0.0; }
    let zeros = wide_zeros(size);
    let n = wide_left(size, zeros);
    let digits = n.y >> 8u;
    let rest = ((n.y & 0xffu) << 1u) | select(0u, 1u, n.x != 0u);
    let up = rest > 0x100u || (rest == 0x100u && (digits & 1u) == 1u);
    var bits = ((189u - zeros) << 23u) + digits; // the leading digit adds the last 1 to the exponent
    if (NARROW) { bits = bits | select(0u, 1u, rest != 0u); } else { bits = bits + select(0u, 1u, up); }
    return bitcast<f32>(bits | select(0u, SIGN_BIT, negative));
}
// ±size as f64, to nearest even.
fn double_of(size: vec2<u32>, negative: bool) -> vec2<u32> {
    if ((size.x | size.y) == 0u) { return vec2<u32>(0u); }
    let zeros = wide_zeros(size);
    let n = wide_left(size, zeros);
    let digits = wide_right(n, 11u);
    let rest = n.x & 0x7ffu;
    let up = rest > 0x400u || (rest == 0x400u && (digits.x & 1u) == 1u);
    let low = digits.x + select(0u, 1u, up);
    let carry = select(0u, 1u, up && low == 0u);
    let high = ((1085u - zeros) << 20u) + digits.y + carry;
    return vec2<u32>(low, high | select(0u, SIGN_BIT, negative));
}
fn is_below_zero(x: vec2<u32>) -> bool { return FROM_SIGNED && x.y >= SIGN_BIT; }
fn size_of(x: vec2<u32>) -> vec2<u32> { return select(x, wide_negate(x), is_below_zero(x)); }

fn wide_to_float(x: vec2<u32>) -> f32 { return float_of(size_of(x), is_below_zero(x)); }
fn wide_to_double(x: vec2<u32>) -> vec2<u32> { return double_of(size_of(x), is_below_zero(x)); }
fn narrow_to_float(x: V) -> f32 { return wide_to_float(narrow_to_wide(x)); }
fn narrow_to_double(x: V) -> vec2<u32> { return wide_to_double(narrow_to_wide(x)); }
// Of up to 16 bits: exact.
fn short_to_float(x: V) -> f32 { return f32(x); }

// ------------------------------------------------------------------------------------------------ float to float

// f64 as f32 rounded to odd: truncated, with the last bit set when anything was lost. For a second rounding only.
fn double_to_odd(x: vec2<u32>) -> f32 {
    let sign = x.y & SIGN_BIT;
    let e = (x.y >> 20u) & 0x7ffu;
    if (((x.y << 1u) | x.x) == 0u) { return bitcast<f32>(sign); }
    if (e == 0x7ffu) {
        let nan = ((x.y & 0xfffffu) | x.x) != 0u;
        return bitcast<f32>(sign | select(INF_BITS, 0x7fc00000u, nan));
    }
    if (e >= 1151u) { return bitcast<f32>(sign | 0x7f7fffffu); }
    let digits = (((x.y & 0xfffffu) | 0x100000u) << 3u) | (x.x >> 29u);
    let lost = (x.x & 0x1fffffffu) != 0u;
    if (e >= 897u) {
        return bitcast<f32>(sign | ((e - 896u) << 23u) | (digits & 0x7fffffu) | select(0u, 1u, lost));
    }
    let s = min(897u - e, 31u);
    let more = (digits & ((1u << s) - 1u)) != 0u;
    return bitcast<f32>(sign | (digits >> s) | select(0u, 1u, lost || more));
}

// -------------------------------------------------------------------------------------------------------- bools

fn bool_to_narrow(x: bool) -> u32 { return select(0u, 1u, x); }
fn bool_to_wide(x: bool) -> vec2<u32> { return vec2<u32>(select(0u, 1u, x), 0u); }
fn bool_to_float(x: bool) -> f32 { return select(0.0, 1.0, x); }
fn bool_to_double(x: bool) -> vec2<u32> { return vec2<u32>(0u, select(0u, 0x3ff00000u, x)); }
fn bool_to_bool(x: bool) -> bool { return x; }
fn narrow_to_bool(x: V) -> bool { return bitcast<u32>(x) != 0u; }
fn wide_to_bool(x: vec2<u32>) -> bool { return (x.x | x.y) != 0u; }
fn float_to_bool(x: f32) -> bool { return magnitude(x) != 0u; }
fn double_to_bool(x: vec2<u32>) -> bool { return (x.x | (x.y << 1u)) != 0u; }
