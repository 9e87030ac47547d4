// Float arithmetic, rounding, comparison and selection, elementwise. V is f32 whatever the storage.
//
//! use lib/math

fn float_add(x: V, y: V) -> V { return x + y; }
fn float_sub(x: V, y: V) -> V { return x - y; }
fn float_mul(x: V, y: V) -> V { return x * y; }
fn float_div(x: V, y: V) -> V { return quotient(x, y); }
fn float_recip(x: V) -> V { return quotient(1.0, x); }
fn float_remainder(x: V, y: V) -> V { return remainder_f32(x, y); }
fn float_floor_divide(x: V, y: V) -> V { return floor_quotient(x, y); }
fn float_fmod(x: V, y: V) -> V { return fmod_f32(x, y); }
fn float_rsub_scalar(x: V, left: V) -> V { return left - x; }
fn float_rdiv_scalar(x: V, left: V) -> V { return quotient(left, x); }

// Signs are bits: the sign of a zero or a NaN changes too.
fn float_neg(x: V) -> V { return bitcast<f32>(bitcast<u32>(x) ^ SIGN_BIT); }
fn float_abs(x: V) -> V { return absolute(x); }
fn float_sign(x: V) -> V {
    let m = magnitude(x);
    return select(select(1.0, -1.0, is_negative(x)), 0.0, m == 0u || m > INF_BITS);
}

fn float_clamp_min(x: V, low: V) -> V { return max_nan(x, low); }
fn float_clamp_max(x: V, high: V) -> V { return min_nan(x, high); }
fn float_clamp(x: V, low: V, high: V) -> V { return max_nan(min_nan(x, high), low); }

fn float_max_pair(x: V, y: V) -> V { return max_nan(x, y); }
fn float_min_pair(x: V, y: V) -> V { return min_nan(x, y); }

// Numbers from 2^23 on are integers already. The builtins may lose the sign of a zero.
fn rounded(x: V, builtin: V) -> V { return select(copy_sign(builtin, x), x, magnitude(x) >= 0x4b000000u); }
fn float_round(x: V) -> V { return rounded(x, round(x)); }
fn float_floor(x: V) -> V { return rounded(x, floor(x)); }
fn float_ceil(x: V) -> V { return rounded(x, ceil(x)); }
fn float_trunc(x: V) -> V { return rounded(x, trunc(x)); }
fn float_round_to(x: V, up: V, down: V) -> V {
    let scaled = quotient(x * up, down);
    if (magnitude(scaled) >= INF_BITS) { return x; }
    return quotient(float_round(scaled) * down, up);
}

fn float_one_hot(x: V, label: V, count: V, on: V, off: V) -> V {
    let whole = float_trunc(x);
    return select(off, on, equal_f32(whole, label) || (less_f32(whole, 0.0) && equal_f32(whole + count, label)));
}

fn float_is_finite(x: V) -> bool { return magnitude(x) < INF_BITS; }
fn float_is_nan(x: V) -> bool { return is_nan(x); }
fn float_is_inf(x: V) -> bool { return is_inf(x); }

// Comparisons by order keys: right for subnormal numbers that a driver flushes, and for NaN under fast math.
fn float_equal(x: V, y: V) -> bool { return equal_f32(x, y); }
fn float_not_equal(x: V, y: V) -> bool { return !equal_f32(x, y); }
fn float_lower(x: V, y: V) -> bool { return less_f32(x, y); }
fn float_greater(x: V, y: V) -> bool { return less_f32(y, x); }
fn float_lower_equal(x: V, y: V) -> bool { return less_f32(x, y) || equal_f32(x, y); }
fn float_greater_equal(x: V, y: V) -> bool { return less_f32(y, x) || equal_f32(x, y); }
fn float_is_close(x: V, y: V, rtol: V, atol: V) -> bool {
    if (magnitude(x) >= INF_BITS || magnitude(y) >= INF_BITS) { return equal_f32(x, y); }
    let distance = absolute(x - y);
    let allowed = atol + rtol * absolute(y);
    return less_f32(distance, allowed) || equal_f32(distance, allowed);
}

fn float_mask_where(x: V, mask: bool, value: V) -> V { return select(x, value, mask); }
