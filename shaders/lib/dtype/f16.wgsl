// Two halfs a word, computed with as f32. Rounding is to nearest even, by bits: pack2x16float may truncate.
fn unpack_f16(w: u32, lane: u32) -> f32 {
    let h = (w >> (16u * lane)) & 0xffffu;
    return unpack2x16float(h).x;
}
fn f16_bits(x: f32) -> u32 {
    let b = bitcast<u32>(x);
    let sign = (b >> 16u) & 0x8000u;
    let a = b & 0x7fffffffu;
    // Normal halfs: rebias the exponent by 112 and round the 13 lost bits to nearest even.
    let normal = (a - 0x38000000u + 0x0fffu + ((a >> 13u) & 1u)) >> 13u;
    // Subnormal halfs: shift the 24-bit significand so that one unit is 2^-24.
    let shift = 126u - min(a >> 23u, 126u);
    let m = (a & 0x7fffffu) | 0x800000u;
    let s = min(shift, 31u);
    let kept = m >> s;
    let lost = m & ((1u << s) - 1u);
    let half = (1u << s) >> 1u;
    let up = select(0u, 1u, lost > half || (lost == half && (kept & 1u) == 1u));
    var h = select(normal, kept + up, a < 0x38800000u);
    h = select(h, 0u, a < 0x33000000u);
    h = select(h, 0x7c00u, a >= 0x477ff000u);
    h = select(h, 0x7e00u, a > 0x7f800000u);
    return sign | h;
}
fn pack_f16(x: f32, y: f32) -> u32 { return f16_bits(x) | (f16_bits(y) << 16u); }
