// Activation functions and their gradients, elementwise. Each formula stands at its contract function.
//
//! use lib/math

// True below 0, false for zeros and NaN.
fn below_zero(x: V) -> bool {
    let b = bitcast<u32>(x);
    return b > SIGN_BIT && b <= (SIGN_BIT | INF_BITS);
}
fn not_above_zero(x: V) -> bool { return below_zero(x) || magnitude(x) == 0u; }

fn relu(x: V) -> V { return select(x, 0.0, not_above_zero(x)); }
fn relu_backward(output: V, grad: V) -> V { return select(grad, 0.0, not_above_zero(output)); }
fn leaky_relu(x: V, slope: V) -> V { return prelu(x, slope); }
// A subnormal x is below 0 also where the device would multiply it as a zero, so that −tiny · ∞ is −∞ everywhere.
fn prelu(x: V, alpha: V) -> V {
    if (!below_zero(x)) { return x; }
    if (is_subnormal(x)) { return raised(x) * alpha * pow2(-64); }
    return x * alpha;
}

// −∞ · Φ(−∞) is −∞ · 0: NaN, as the formula has it. The exponential function is the last factor: before it nothing
// underflows that the product would bring back.
fn gelu(x: V) -> V {
    if (is_nan(x)) { return x; }
    if (is_inf(x)) { return select(x, nan(), is_negative(x)); }
    let a = absolute(x);
    let scaled = 0.5 * erfc_scaled(a * 0.707106781);
    let power = exp_minus_square(a, 0.5);
    return select(x * (1.0 - scaled * power), x * scaled * power, is_negative(x));
}
fn gelu_backward(x: V, grad: V) -> V {
    if (is_nan(grad)) { return grad; }
    if (magnitude(x) >= INF_BITS) { return nan(); }
    let a = absolute(x);
    let factor = 0.5 * erfc_scaled(a * 0.707106781) - 0.39894228 * a;
    let power = exp_minus_square(a, 0.5);
    let lost = select(factor * power, 0.0, magnitude(power) == 0u); // no −0 beyond the range
    return grad * select(1.0 - lost, lost, is_negative(x));
}

fn sigmoid(x: V) -> V { return sigmoid_f32(x); }
fn sigmoid_backward(output: V, grad: V) -> V { return grad * output * (1.0 - output); }
fn log_sigmoid(x: V) -> V { return log_sigmoid_f32(x); }
fn log_sigmoid_backward(x: V, grad: V) -> V {
    return grad * sigmoid_f32(bitcast<f32>(bitcast<u32>(x) ^ SIGN_BIT));
}
fn hard_sigmoid(x: V, alpha: V, beta: V) -> V {
    let line = alpha * x + beta;
    if (is_nan(x) || is_nan(line)) { return nan(); }
    return clamp(line, 0.0, 1.0);
}

// x · sigmoid(gate). The square root of e^−|gate| twice: a small sigmoid would be subnormal where the product is not.
fn gated(x: V, gate: V) -> V {
    if (is_nan(x)) { return x; }
    if (is_nan(gate)) { return gate; }
    if (is_inf(x) || is_inf(gate)) { return gated_infinity(x, gate); }
    let root = exp_f32(-0.5 * absolute(gate));
    return select(x, (x * root) * root, is_negative(gate)) / (1.0 + root * root);
}
// The sigmoid is above 0 for every number but −∞, where it is 0.
fn gated_infinity(x: V, gate: V) -> V {
    if (is_inf(gate) && is_negative(gate)) { return select(copy_sign(0.0, x), nan(), is_inf(x)); }
    return x;
}
fn silu(x: V) -> V { return gated(x, x); }
fn glu(x: V, gate: V) -> V { return gated(x, gate); }
fn gelu_approximate(x: V) -> V { return gated(x, fma(x * x, 0.0713548163, 1.59576912) * x); }

fn softplus(x: V, beta: V, limit: V) -> V {
    let scaled = beta * x;
    if (is_nan(x) || is_nan(scaled)) { return nan(); }
    if (less_f32(limit, scaled)) { return x; }
    let rest = log1p_f32(exp_f32(bitcast<f32>(magnitude(scaled) | SIGN_BIT)));
    return quotient(select(scaled, 0.0, is_negative(scaled)) + rest, beta);
}
// tanh(log(1 + e)) = n / (n + 2) with n = e² + 2e for e = eˣ, and for x > 0 the same over e², with e = e^−x. As in gated,
// the root of e stands for it where the product could be larger than its factors.
fn mish(x: V) -> V {
    if (is_nan(x)) { return x; }
    if (is_inf(x)) { return select(x, nan(), is_negative(x)); }
    let root = exp_f32(-0.5 * absolute(x));
    let e = root * root;
    if (is_negative(x)) { return ((x * root) * root) * (e + 2.0) / (e * (e + 2.0) + 2.0); }
    return x * (1.0 + 2.0 * e) / (1.0 + 2.0 * e * (1.0 + e));
}
fn elu(x: V, alpha: V, gamma: V, width: V) -> V {
    if (is_nan(x)) { return x; }
    if (!not_above_zero(x)) { return gamma * x; }
    return gamma * (alpha * expm1_f32(quotient(x, width)));
}
// x + 3 is exact where the factor is small.
fn hard_swish(x: V) -> V {
    if (is_nan(x)) { return x; }
    if (is_inf(x)) { return select(x, nan(), is_negative(x)); }
    return x * clamp((x + 3.0) * 0.166666667, 0.0, 1.0);
}
fn tanhshrink(x: V) -> V {
    let z = x * x;
    if (absolute(x) < 0.625 && !is_nan(x)) { return -x * (z * tanh_tail(z)); }
    return x - tanh_f32(x);
}
fn softsign(x: V) -> V {
    if (is_nan(x)) { return x; }
    if (is_inf(x)) { return nan(); }
    return quotient(x, 1.0 + absolute(x));
}
fn threshold(x: V, limit: V, value: V) -> V {
    return select(x, value, less_f32(x, limit) || equal_f32(x, limit));
}
fn hard_shrink(x: V, limit: V) -> V { return threshold_size(x, limit, x); }
fn shrink(x: V, limit: V, bias: V) -> V { return threshold_size(x, limit, x - float_sign(x) * bias); }
fn threshold_size(x: V, limit: V, moved: V) -> V {
    let a = absolute(x);
    return select(moved, 0.0, less_f32(a, limit) || equal_f32(a, limit));
}
