// Folds two tensors to the cosine of the angle between them: Σ x², Σ y² and Σ x·y, each vector in units of the power of
// two below its largest element so far, so that no length overflows or underflows.
//
//! use lib/math
struct A {
    xx: f32,
    yy: f32,
    xy: f32,
    units: u32, // biased exponents: of x in the low half, of y in the high half
}
fn identity() -> A { return A(0.0, 0.0, 0.0, 0x10001u); }

fn biased(x: f32) -> u32 { return clamp(magnitude(x) >> 23u, 1u, 254u); }
// x in units of 2^(e − 127) for e = biased(x), also where the device would read it as zero.
fn in_units(x: f32, e: u32) -> f32 {
    if (is_subnormal(x)) { return copy_sign(f32(magnitude(x)) * pow2(-23), x); }
    return times_pow2(x, 127 - i32(e));
}
fn lift(x: V, y: V, o: u32) -> A {
    let ex = biased(x);
    let ey = biased(y);
    let p = in_units(x, ex);
    let q = in_units(y, ey);
    return A(p * p, q * q, p * q, ex | (ey << 16u));
}
// 2^−n; 0 beyond the range, where the larger vector's sums have no digit for it.
fn shrunk(n: u32) -> f32 { return select(pow2(-i32(min(n, 126u))), 0.0, n > 126u); }
fn combine(a: A, b: A) -> A {
    let ax = a.units & 0xffffu;
    let ay = a.units >> 16u;
    let bx = b.units & 0xffffu;
    let by = b.units >> 16u;
    let ex = max(ax, bx);
    let ey = max(ay, by);
    let px = shrunk(ex - ax);
    let py = shrunk(ey - ay);
    let qx = shrunk(ex - bx);
    let qy = shrunk(ey - by);
    return A(
        (a.xx * px) * px + (b.xx * qx) * qx,
        (a.yy * py) * py + (b.yy * qy) * qy,
        (a.xy * px) * py + (b.xy * qx) * qy,
        ex | (ey << 16u)
    );
}
fn append(a: A, b: A) -> A { return combine(a, b); }

// √squares in its units, at least eps.
fn length_in_units(squares: f32, e: u32, eps: f32) -> f32 {
    return max(sqrt(squares), times_pow2(eps, 127 - i32(e)));
}
// 0 where either has no length.
fn cosine_of(a: A, eps: f32) -> f32 {
    if (magnitude(a.xx) >= INF_BITS || magnitude(a.yy) >= INF_BITS) { return nan(); }
    if (magnitude(a.xx) == 0u || magnitude(a.yy) == 0u) { return 0.0; }
    let x = length_in_units(a.xx, a.units & 0xffffu, eps);
    let y = length_in_units(a.yy, a.units >> 16u, eps);
    return quotient(quotient(a.xy, x), y);
}
