// e^x for results that are stored as halves: takes the place of lib/math's where it is named after it.
//
// The builtin may be off by 3 + 2|x| units of f32 (WGSL): 2e-5 of the result at most here, where half a unit of f16 is
// 2e-4 and of bf16 2e-3, and it is several times as fast. Beyond, where it may flush or guess, the careful one stays.
//
//! use lib/math

fn exp_f32(x: f32) -> f32 {
    if (magnitude(x) <= 0x42ac0000u) { return exp(x); } // 86
    return exp_whole(x);
}
