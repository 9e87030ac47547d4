// Folds to (m, s): the largest element and the sum of e^(x − m), in one pass. s < 0 says that a NaN or +∞ was met.
//
// −∞ counts as nothing: m starts at the lowest finite float and s at 0, so a lane of −∞ only ends with s = 0.
//
//! needs taken
struct A {
    m: f32,
    s: f32,
}
fn identity() -> A { return A(-3.4028234e38, 0.0); }
fn lift(x: V, j: u32) -> A {
    let v = taken(x);
    let b = bitcast<u32>(v);
    if ((b & 0x7fffffffu) >= 0x7f800000u) {
        return A(-3.4028234e38, select(-1.0, 0.0, b == 0xff800000u));
    }
    return A(v, 1.0);
}
fn combine(a: A, b: A) -> A {
    let shrink = exp(-abs(a.m - b.m));
    let s = select(fma(a.s, shrink, b.s), fma(b.s, shrink, a.s), a.m >= b.m);
    return A(max(a.m, b.m), select(s, -1.0, min(a.s, b.s) < 0.0));
}
fn append(a: A, b: A) -> A { return combine(a, b); }
