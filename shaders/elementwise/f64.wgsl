// The functions of f64 that need no arithmetic, on its two words: what stands here is exact, every other function of f64
// is computed in f32. A function has the name and the meaning that it has in elementwise/float and activation.
//
//! use lib/f64

fn float_neg(x: V) -> V { return vec2<u32>(x.x, x.y ^ 0x80000000u); }
fn float_abs(x: V) -> V { return magnitude_f64(x); }
fn float_sign(x: V) -> V {
    let one = vec2<u32>(0u, 0x3ff00000u | (x.y & 0x80000000u));
    return select(one, vec2<u32>(0u), is_zero_f64(x) || is_nan_f64(x));
}

fn float_clamp_min(x: V, low: V) -> V { return max_f64(x, low); }
fn float_clamp_max(x: V, high: V) -> V { return min_f64(x, high); }
fn float_clamp(x: V, low: V, high: V) -> V { return max_f64(min_f64(x, high), low); }
fn float_max_pair(x: V, y: V) -> V { return max_f64(x, y); }
fn float_min_pair(x: V, y: V) -> V { return min_f64(x, y); }
fn relu(x: V) -> V { return select(x, vec2<u32>(0u), not_above_zero_f64(x)); }
fn relu_backward(output: V, grad: V) -> V { return select(grad, vec2<u32>(0u), not_above_zero_f64(output)); }
fn threshold(x: V, limit: V, value: V) -> V { return select(x, value, less_f64(x, limit) || equal_f64(x, limit)); }
fn hard_shrink(x: V, limit: V) -> V {
    let a = magnitude_f64(x);
    return select(x, vec2<u32>(0u), less_f64(a, limit) || equal_f64(a, limit));
}
fn not_above_zero_f64(x: V) -> bool { return is_zero_f64(x) || (negative_f64(x) && !is_nan_f64(x)); }

fn float_is_finite(x: V) -> bool { return (x.y & 0x7ff00000u) != 0x7ff00000u; }
fn float_is_nan(x: V) -> bool { return is_nan_f64(x); }
fn float_is_inf(x: V) -> bool { return same_f64(magnitude_f64(x), vec2<u32>(0u, 0x7ff00000u)); }

fn float_equal(x: V, y: V) -> bool { return equal_f64(x, y); }
fn float_not_equal(x: V, y: V) -> bool { return !equal_f64(x, y); }
fn float_lower(x: V, y: V) -> bool { return less_f64(x, y); }
fn float_greater(x: V, y: V) -> bool { return less_f64(y, x); }
fn float_lower_equal(x: V, y: V) -> bool { return less_f64(x, y) || equal_f64(x, y); }
fn float_greater_equal(x: V, y: V) -> bool { return less_f64(y, x) || equal_f64(x, y); }

fn float_mask_where(x: V, mask: bool, value: V) -> V { return select(x, value, mask); }
