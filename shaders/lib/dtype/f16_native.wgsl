// Two halfs a word, computed with as f32, for adapters whose pack2x16float was shown to round to nearest even.
fn unpack_f16(w: u32, lane: u32) -> f32 {
    let p = unpack2x16float(w);
    return select(p.x, p.y, lane == 1u);
}
fn pack_f16(x: f32, y: f32) -> u32 { return pack2x16float(vec2<f32>(x, y)); }
