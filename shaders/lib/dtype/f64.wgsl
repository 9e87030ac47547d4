// A double in two words, low word first, converted to and from f32 by bits: no feature is needed.
// f32 -> f64 is exact; f64 -> f32 rounds to nearest even, overflow gives infinity, a NaN stays one.
fn unpack_f64(w: vec2<u32>) -> f32 {
    let sign = w.y & 0x80000000u;
    let e = (w.y >> 20u) & 0x7ffu;
    // The top 24 bits after the exponent decide, everything below is one sticky bit.
    let m = (w.y & 0xfffffu) | 0x100000u;
    let top = (m << 3u) | (w.x >> 29u);
    let sticky = select(0u, 1u, (w.x & 0x1fffffffu) != 0u);
    let guard = (w.x >> 28u) & 1u;
    let rest = select(0u, 1u, (w.x & 0x0fffffffu) != 0u);
    let up = guard & (rest | (top & 1u));
    let normal = ((top & 0x7fffffu) | ((e - 896u) << 23u)) + up;
    // Below the smallest normal f32 the significand is shifted right first.
    let s = min(897u - min(e, 897u), 31u);
    let kept = top >> s;
    let lost = ((top & ((1u << s) - 1u)) << 1u) | sticky;
    let half = (1u << s);
    let up_small = select(0u, 1u, lost > half || (lost == half && (kept & 1u) == 1u));
    var bits = select(normal, kept + select(0u, up_small, s > 0u), e < 897u);
    bits = select(bits, 0u, e < 872u);
    bits = select(bits, 0x7f800000u, e >= 1151u);
    let nan = e == 0x7ffu && ((w.y & 0xfffffu) | w.x) != 0u;
    bits = select(bits, 0x7fc00000u, nan);
    return bitcast<f32>(sign | bits);
}
fn pack_f64(x: f32) -> vec2<u32> {
    let b = bitcast<u32>(x);
    let sign = b & 0x80000000u;
    var e = (b >> 23u) & 0xffu;
    var m = b & 0x7fffffu;
    if (e == 0xffu) {
        return vec2<u32>(m << 29u, sign | 0x7ff00000u | (m >> 3u));
    }
    if (e == 0u) {
        if (m == 0u) { return vec2<u32>(0u, sign); }
        let shift = countLeadingZeros(m) - 8u;
        m = (m << shift) & 0x7fffffu;
        e = 1u - shift; // wraps below zero; the bias below brings it back
    }
    return vec2<u32>(m << 29u, sign | ((e + 896u) << 20u) | (m >> 3u));
}
