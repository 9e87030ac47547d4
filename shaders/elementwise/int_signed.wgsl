// Integer functions of signed types. V is i32 or i64.
//
//! use elementwise/int
//! needs V

fn int_abs(x: V) -> V { return select(x, V(0) - x, x < V(0)); }
fn int_sign(x: V) -> V { return select(V(0), V(1), x > V(0)) - select(V(0), V(1), x < V(0)); }

// Division by −1 is done apart: MIN / −1 overflows, and some drivers trap. By 0 it gives 0.
fn int_div(x: V, y: V) -> V {
    let plain = y != V(0) && y != V(-1);
    let q = x / select(V(1), y, plain);
    return select(select(V(0), V(0) - x, y == V(-1)), q, plain);
}
// x − ⌊x / y⌋ · y: the sign of y.
fn int_remainder(x: V, y: V) -> V {
    let plain = y != V(0) && y != V(-1);
    let safe = select(V(1), y, plain);
    let r = x - safe * (x / safe);
    let moved = select(r, r + safe, r != V(0) && (r < V(0)) != (safe < V(0)));
    return select(V(0), moved, plain);
}
// ⌊x / y⌋; x − r could wrap, so one is taken off the truncated quotient.
fn int_floor_divide(x: V, y: V) -> V {
    let plain = y != V(0) && y != V(-1);
    let safe = select(V(1), y, plain);
    let q = x / safe;
    let below = x - safe * q != V(0) && (x < V(0)) != (safe < V(0));
    return select(select(V(0), V(0) - x, y == V(-1)), select(q, q - V(1), below), plain);
}
fn int_wrapped_index(x: V, size: V) -> V { return select(x, x + size, x < V(0) && x >= V(0) - size); }
// Negative exponents: the real result truncated, which is ±1 for ±1 and else 0.
fn int_powi(x: V, y: V) -> V {
    let unit = select(V(0), select(x, V(1), (y & V(1)) == V(0)), x == V(1) || x == V(-1));
    return select(int_power(x, y), unit, y < V(0));
}

// What is reported: division by zero, and zero to a negative power.
fn int_div_fault(x: V, y: V) -> bool { return y == V(0); }
fn int_remainder_fault(x: V, y: V) -> bool { return y == V(0); }
fn int_floor_divide_fault(x: V, y: V) -> bool { return y == V(0); }
fn int_powi_fault(x: V, y: V) -> bool { return x == V(0) && y < V(0); }
