// start + i · step in 32 bits, and in 64 as two words.
//! use index/combine64

fn counted(i: u32) -> u32 { return params.start_low + i * params.step_low; }
fn counted_wide(i: u32) -> vec2<u32> {
    let way = mul64(vec2<u32>(params.step_low, params.step_high), vec2<u32>(i, 0u));
    return add64(vec2<u32>(params.start_low, params.start_high), way);
}
