// Updates of 64-bit integers held in two words, low word first; sums and products wrap. No 64-bit feature is needed.

fn add64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let low = a.x + b.x;
    return vec2<u32>(low, a.y + b.y + select(0u, 1u, low < a.x));
}
fn mul64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let low = mul_wide(a.x, b.x);
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

// The 64 bits of a product of two words, low word first, by halves of 16 bits.
fn mul_wide(a: u32, b: u32) -> vec2<u32> {
    let a0 = a & 0xffffu;
    let a1 = a >> 16u;
    let b0 = b & 0xffffu;
    let b1 = b >> 16u;
    let low = a0 * b0;
    let middle = a1 * b0 + (low >> 16u);
    let rest = a0 * b1 + (middle & 0xffffu);
    return vec2<u32>((rest << 16u) | (low & 0xffffu), a1 * b1 + (middle >> 16u) + (rest >> 16u));
}
