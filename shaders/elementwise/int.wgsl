// Integer functions whose text does not depend on the sign. V is i32, u32, i64 or u64; BITS is the width that is
// stored: of a narrower dtype the low bits of V are kept, so that arithmetic wraps at its own width.
//
//! needs V, BITS

fn int_add(x: V, y: V) -> V { return x + y; }
fn int_sub(x: V, y: V) -> V { return x - y; }
fn int_mul(x: V, y: V) -> V { return x * y; }
fn int_square(x: V) -> V { return x * x; }
fn int_neg(x: V) -> V { return V(0) - x; }

fn int_clamp_min(x: V, low: V) -> V { return select(x, low, x < low); }
fn int_clamp_max(x: V, high: V) -> V { return select(x, high, x > high); }
fn int_clamp(x: V, low: V, high: V) -> V { return int_clamp_min(int_clamp_max(x, high), low); }

fn int_rsub_scalar(x: V, left: V) -> V { return left - x; }
fn int_one_hot(x: V, label: V, count: V, on: V, off: V) -> V {
    return select(off, on, x == label || (x < V(0) && x + count == label));
}
fn int_max_pair(x: V, y: V) -> V { return select(x, y, y > x); }
fn int_min_pair(x: V, y: V) -> V { return select(x, y, y < x); }

fn bitwise_and(x: V, y: V) -> V { return x & y; }
fn bitwise_or(x: V, y: V) -> V { return x | y; }
fn bitwise_xor(x: V, y: V) -> V { return x ^ y; }
fn bitwise_not(x: V) -> V { return ~x; }
// The shifted value has been extended from BITS by its sign or by zeros.
fn bitwise_left_shift(x: V, y: V) -> V { return x << (u32(y) & (BITS - 1u)); }
fn bitwise_right_shift(x: V, y: V) -> V { return x >> (u32(y) & (BITS - 1u)); }

fn int_equal(x: V, y: V) -> bool { return x == y; }
fn int_not_equal(x: V, y: V) -> bool { return x != y; }
fn int_greater(x: V, y: V) -> bool { return x > y; }
fn int_greater_equal(x: V, y: V) -> bool { return x >= y; }
fn int_lower(x: V, y: V) -> bool { return x < y; }
fn int_lower_equal(x: V, y: V) -> bool { return x <= y; }

fn int_mask_where(x: V, mask: bool, value: V) -> V { return select(x, value, mask); }

// x to the y ≥ 0 by squaring; wraps.
fn int_power(x: V, y: V) -> V {
    var base = x;
    var left = y;
    var product = V(1);
    for (var i = 0u; i < BITS; i++) {
        product = select(product, product * base, (left & V(1)) == V(1));
        base = base * base;
        left = left >> 1u;
    }
    return product;
}
