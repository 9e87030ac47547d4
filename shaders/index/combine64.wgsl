// Updates of 64-bit integers held in two words, low word first; sums and products wrap. No 64-bit feature is needed.
// The extrema of f64 are in lib/f64.
//
//! use lib/math, lib/f64

fn add64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let low = a.x + b.x;
    return vec2<u32>(low, a.y + b.y + select(0u, 1u, low < a.x));
}
fn mul64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let low = wide_product(a.x, b.x);
    return vec2<u32>(low.x, low.y + a.x * b.y + a.y * b.x);
}
fn below_u64(a: vec2<u32>, b: vec2<u32>) -> bool { return a.y < b.y || (a.y == b.y && a.x < b.x); }
fn below_i64(a: vec2<u32>, b: vec2<u32>) -> bool {
    let flip = vec2<u32>(0u, 0x80000000u);
    return below_u64(a ^ flip, b ^ flip);
}
fn min_u64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return select(a, b, below_u64(b, a)); }
fn max_u64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return select(a, b, below_u64(a, b)); }
fn min_i64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return select(a, b, below_i64(b, a)); }
fn max_i64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return select(a, b, below_i64(a, b)); }
