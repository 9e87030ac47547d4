// Codes and scales of quantized tensors as numbers, and numbers as codes and scales. The exact rules are those of
// burn_wgpu/std/quantized.py; every function works on the bits, so that no driver's rounding or flushing shows.
//
//! use lib/math

// --------------------------------------------------------------------------------------------------- codes → values

// A field of two's complement, `bits` wide.
fn value_int(field: u32, bits: u32) -> f32 {
    return f32(bitcast<i32>(field << (32u - bits)) >> (32u - bits));
}
// A float of sign, exponent and mantissa in the low bits; no infinity, no NaN.
fn small_float(field: u32, exponent_bits: u32, mantissa_bits: u32) -> f32 {
    let bias = (1u << (exponent_bits - 1u)) - 1u;
    let width = exponent_bits + mantissa_bits;
    let a = field & ((1u << width) - 1u);
    let sign = ((field >> width) & 1u) << 31u;
    let normal = (a << (23u - mantissa_bits)) + ((127u - bias) << 23u);
    let below = bitcast<u32>(f32(a) * pow2(1 - i32(bias) - i32(mantissa_bits)));
    return bitcast<f32>(sign | select(normal, below, (a >> mantissa_bits) == 0u));
}
fn value_e4m3(field: u32) -> f32 { return select(small_float(field, 4u, 3u), nan(), (field & 0x7fu) == 0x7fu); }
fn value_e5m2(field: u32) -> f32 {
    let x = small_float(field, 5u, 2u);
    let special = select(inf(), nan(), (field & 3u) != 0u);
    return select(x, copy_sign(special, x), (field & 0x7cu) == 0x7cu);
}
fn value_e2m1(field: u32) -> f32 { return small_float(field, 2u, 1u); }

// --------------------------------------------------------------------------------------------------- values → codes

// The nearest integer, ties to even; NaN gives 0.
fn code_int(x: f32, low: f32, high: f32) -> u32 {
    let y = select(x, 0.0, is_nan(x));
    return bitcast<u32>(i32(round(clamp(y, low, high))));
}
// The nearest float of that shape, ties to even; too large becomes high. Not for NaN.
fn code_float(x: f32, exponent_bits: u32, mantissa_bits: u32, high: f32) -> u32 {
    let bias = (1u << (exponent_bits - 1u)) - 1u;
    let a = min(magnitude(x), bitcast<u32>(high));
    let sign = (bitcast<u32>(x) >> 31u) << (exponent_bits + mantissa_bits);
    let drop = 23u - mantissa_bits;
    let rebased = a - ((127u - bias) << 23u);
    let normal = (rebased + ((1u << (drop - 1u)) - 1u) + ((a >> drop) & 1u)) >> drop;
    let least = (128u - bias) << 23u; // the smallest normal number of the kind
    let below = u32(round(bitcast<f32>(min(a, least)) * pow2(i32(bias) + i32(mantissa_bits) - 1)));
    return sign | select(normal, below, a < least);
}
fn code_e4m3(x: f32, high: f32) -> u32 { return select(code_float(x, 4u, 3u, high), 0x7fu, is_nan(x)); }
fn code_e5m2(x: f32, high: f32) -> u32 { return select(code_float(x, 5u, 2u, high), 0x7fu, is_nan(x)); }
fn code_e2m1(x: f32, high: f32) -> u32 { return select(code_float(x, 2u, 1u, high), 0u, is_nan(x)); }

// ----------------------------------------------------------------------------------------------------- quotients

// (significand of 24 bits, exponent of its last bit) of a finite number other than 0.
fn significand(x: f32) -> vec2<i32> {
    let a = magnitude(x);
    let e = i32(a >> 23u);
    if (e != 0) { return vec2<i32>(i32((a & 0x7fffffu) | 0x800000u), e - 150); }
    let shift = countLeadingZeros(a) - 8u;
    return vec2<i32>(i32(a << shift), -149 - i32(shift));
}
// x / t rounded to nearest, by integers; drivers may be some units off. For quotients in 2^±60 only.
fn exact_quotient(x: f32, t: f32) -> f32 {
    let n = significand(x);
    let d = significand(t);
    let up = select(23u, 24u, n.x < d.x);
    var q = u32(f32(n.x) / f32(d.x) * f32(1u << up));
    // The rest is small, so its low 32 bits tell it.
    var rest = bitcast<i32>((u32(n.x) << up) - q * u32(d.x));
    for (var k = 0; k < 8; k++) {
        if (rest < 0) {
            rest += d.x;
            q -= 1u;
        } else if (rest >= d.x) {
            rest -= d.x;
            q += 1u;
        }
    }
    if (2 * rest > d.x) { q += 1u; }
    let r = f32(q) * pow2(n.y - d.y - i32(up));
    return select(r, -r, is_negative(x) != is_negative(t));
}

// --------------------------------------------------------------------------------------------- products with scales

// a · b, exact where a is so small that the device could flush it.
fn scaled(a: f32, b: f32) -> f32 {
    if (magnitude(a) >= 0x20800000u) { return a * b; } // 2^-62
    return lowered(raised(a) * b);
}

// ------------------------------------------------------------------------------------------------ scales ↔ numbers

// A scale from its stored bits.
fn scale_f32(bits: u32) -> f32 { return bitcast<f32>(bits); }
fn scale_f16(bits: u32) -> f32 {
    let x = small_float(bits, 5u, 10u);
    let special = select(inf(), nan(), (bits & 0x3ffu) != 0u);
    return select(x, copy_sign(special, x), (bits & 0x7c00u) == 0x7c00u);
}
fn scale_bf16(bits: u32) -> f32 { return bitcast<f32>(bits << 16u); }
fn scale_ue8m0(bits: u32) -> f32 {
    // 2^-127 is subnormal: its bits, not its product.
    return bitcast<f32>(select(select(bits << 23u, 0x00400000u, bits == 0u), 0x7fc00000u, bits == 255u));
}
fn scale_ue4m3(bits: u32) -> f32 { return value_e4m3(bits); }

// The stored bits of a scale: rounded up, at most the largest of the dtype; 2^-126, rounded up, for what is no scale.
fn bits_f32(s: f32) -> u32 {
    let b = bitcast<u32>(s);
    return select(b, 0x00800000u, magnitude(s) == 0u || magnitude(s) >= INF_BITS);
}
fn bits_f16(s: f32) -> u32 {
    let m = magnitude(s);
    let up = select(0u, 1u, !is_negative(s));
    // Up is away from zero for positive scales and towards it for negative ones.
    let normal = (m - 0x38000000u + up * 0x1fffu) >> 13u;
    let shift = min(126u - min(m >> 23u, 126u), 31u);
    let f = (m & 0x7fffffu) | 0x800000u;
    let below = (f >> shift) + up * select(0u, 1u, (f & ((1u << shift) - 1u)) != 0u);
    let tiny = m < 0x33000000u; // 2^-25: nothing but the rounding is left
    var h = select(normal, select(below, up, tiny), m < 0x38800000u);
    h = select(h, 0x7bffu, m >= 0x477fe000u);
    let none = m == 0u || m > INF_BITS || h == 0u || (m == INF_BITS && is_negative(s));
    return select(h | select(0x8000u, 0u, !is_negative(s)), 1u, none);
}
fn bits_bf16(s: f32) -> u32 {
    let b = bitcast<u32>(s);
    let m = magnitude(s);
    var h = (b >> 16u) + select(0u, 1u, (b & 0xffffu) != 0u && !is_negative(s));
    h = select(h, 0x7f7fu, m >= 0x7f7f0000u && !is_negative(s));
    let none = (h & 0x7fffu) == 0u || m > INF_BITS || (m == INF_BITS && is_negative(s));
    return select(h, 0x0080u, none);
}
fn bits_ue8m0(s: f32) -> u32 {
    let m = magnitude(s);
    let up = min((m >> 23u) + select(0u, 1u, (m & 0x7fffffu) != 0u), 254u);
    let code = select(up, select(0u, 1u, m > 0x00400000u), m < 0x00800000u);
    return select(select(code, 0u, is_negative(s)), 1u, m == 0u || m > INF_BITS);
}
fn bits_ue4m3(s: f32) -> u32 {
    let m = magnitude(s);
    let normal = (m - 0x3c000000u + 0xfffffu) >> 20u;
    let below = max(u32(ceil(bitcast<f32>(min(m, 0x3c800000u)) * 512.0)), 1u);
    let code = min(select(normal, below, m < 0x3c800000u), 0x7eu);
    return select(code, 1u, is_negative(s) || m == 0u || m > INF_BITS);
}
