// Integer functions of unsigned types. V is u32 or u64.
//
//! use elementwise/int
//! needs V

fn int_abs(x: V) -> V { return x; }
fn int_sign(x: V) -> V { return select(V(0), V(1), x > V(0)); }
// Division by 0 gives 0.
fn int_div(x: V, y: V) -> V {
    let q = x / select(y, V(1), y == V(0));
    return select(q, V(0), y == V(0));
}
fn int_remainder(x: V, y: V) -> V {
    let safe = select(y, V(1), y == V(0));
    return select(x - safe * (x / safe), V(0), y == V(0));
}
fn int_floor_divide(x: V, y: V) -> V { return int_div(x, y); }
fn int_wrapped_index(x: V, size: V) -> V { return x; }
fn int_powi(x: V, y: V) -> V { return int_power(x, y); }

// What is reported: division by zero.
fn int_div_fault(x: V, y: V) -> bool { return y == V(0); }
fn int_remainder_fault(x: V, y: V) -> bool { return y == V(0); }
fn int_floor_divide_fault(x: V, y: V) -> bool { return y == V(0); }
fn int_powi_fault(x: V, y: V) -> bool { return false; }
