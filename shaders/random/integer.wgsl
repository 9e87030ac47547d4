// Integers from random words and from floats; 64-bit ones are two words, low word first.
//
//! use random/number

// floor(u · span) for a span up to 2^24.
fn steps_short(word: u32) -> u32 { return u32(floor(unit(word) * params.span)); }

// The word modulo the span, which is at most 2^32 (written 0).
fn steps_word(word: u32) -> u32 {
    if (params.span_low == 0u) { return word; }
    return word - params.span_low * (word / params.span_low);
}

// Two words modulo the span, which is at most 2^64 (written 0), by binary long division.
fn steps_wide(words: vec2<u32>) -> vec2<u32> {
    let span = vec2<u32>(params.span_low, params.span_high);
    if (span.x == 0u && span.y == 0u) { return words; }
    var rest = vec2<u32>(0u, 0u);
    for (var bit = 64u; bit > 0u; bit--) {
        let source = select(words.x, words.y, bit > 32u);
        let next = (source >> ((bit - 1u) & 31u)) & 1u;
        let carried = rest.y >= 0x80000000u;
        rest = vec2<u32>((rest.x << 1u) | next, (rest.y << 1u) | (rest.x >> 31u));
        if (carried || rest.y > span.y || (rest.y == span.y && rest.x >= span.x)) {
            rest = vec2<u32>(rest.x - span.x, rest.y - span.y - select(0u, 1u, rest.x < span.x));
        }
    }
    return rest;
}

fn above_low(steps: vec2<u32>) -> vec2<u32> {
    let low = steps.x + params.low_low;
    return vec2<u32>(low, steps.y + params.low_high + select(0u, 1u, low < steps.x));
}

// Toward zero, to the nearest end beyond the range; bits of an integer of up to 32 bits. SIGNED, LEAST, MOST: the type.
fn truncated(x: f32) -> u32 {
    if (x >= MOST) { return MOST_BITS; }
    if (x <= LEAST) { return LEAST_BITS; }
    if (SIGNED) { return bitcast<u32>(i32(x)); }
    return u32(x);
}

// The same for 64 bits: a float has 24 bits, so both words are exact.
fn truncated_wide(x: f32) -> vec2<u32> {
    if (x >= MOST) { return vec2<u32>(0xffffffffu, MOST_BITS); }
    if (x <= LEAST) { return vec2<u32>(0u, LEAST_BITS); }
    let whole = floor(absolute(x));
    let high = floor(whole * 2.3283064365386963e-10);
    let words = vec2<u32>(u32(whole - high * 4294967296.0), u32(high));
    if (is_negative(x)) { return wide_negate(words); }
    return words;
}
