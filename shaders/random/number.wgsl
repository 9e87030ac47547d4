// Numbers of a distribution from random words.
//
//! use random/philox, lib/math

// The top 24 bits: in [0, 1), every multiple of 2^-24 is as likely.
fn unit(word: u32) -> f32 { return f32(word >> 8u) * 5.9604644775390625e-8; }

// low + u · span, but never the upper end. params.zero is 0, which no compiler knows: without it the product and the sum
// may become one fused operation, whose last bit differs.
fn uniform_of(word: u32) -> f32 {
    let scaled = unit(word) * params.span;
    let value = params.low + bitcast<f32>(bitcast<u32>(scaled) ^ params.zero);
    return select(value, params.top, value > params.top);
}

fn bernoulli_of(word: u32) -> bool { return unit(word) < params.probability; }

// Box-Muller on two words: mean + std · √(-2 ln u) · (cos, sin)(2π v), with u in (0, 1].
fn normal_of(words: vec2<u32>) -> vec2<f32> {
    let square = -2.0 * log_f32(f32((words.x >> 8u) + 1u) * 5.9604644775390625e-8);
    var radius = sqrt_f32(square);
    if (radius > 0.0) {
        // One Newton step: the driver's root may be off by several units in the last place.
        radius += 0.5 * fma(-radius, radius, square) / radius;
    }
    // A turn has 2^24 steps; the nearest quarter is taken out exactly, the rest lies within an eighth of a turn.
    let turn = words.y >> 8u;
    let quarter = (turn + 0x200000u) >> 22u;
    let angle = f32(i32(turn) - i32(quarter << 22u)) * 3.7450702829239286e-7;
    let s = sin_near(angle);
    let c = cos_near(angle);
    let odd = (quarter & 1u) == 1u;
    let sine = select(s, c, odd);
    let cosine = select(c, s, odd);
    let point = vec2<f32>(
        select(cosine, -cosine, ((quarter + 1u) & 2u) == 2u),
        select(sine, -sine, (quarter & 2u) == 2u),
    );
    return params.mean + params.deviation * (radius * point);
}
