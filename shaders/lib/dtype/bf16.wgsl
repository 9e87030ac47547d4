// Two bfloat16 a word, computed with as f32; rounded to nearest even, a NaN stays one.
fn unpack_bf16(w: u32, lane: u32) -> f32 { return bitcast<f32>((w >> (16u * lane)) << 16u); }
fn bf16_bits(x: f32) -> u32 {
    let b = bitcast<u32>(x);
    let rounded = (b + 0x7fffu + ((b >> 16u) & 1u)) >> 16u;
    return select(rounded, (b >> 16u) | 0x40u, (b & 0x7fffffffu) > 0x7f800000u);
}
fn pack_bf16(x: f32, y: f32) -> u32 { return bf16_bits(x) | (bf16_bits(y) << 16u); }
