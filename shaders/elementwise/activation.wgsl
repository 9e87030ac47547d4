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
fn leaky_relu(x: V, slope: V) -> V { return select(x, x * slope, below_zero(x)); }
fn prelu(x: V, alpha: V) -> V { return select(x, x * alpha, below_zero(x)); }

// −∞ · Φ(−∞) is −∞ · 0: NaN, as the formula has it.
fn gelu(x: V) -> V {
    if (is_nan(x)) { return x; }
    if (is_inf(x)) { return select(x, nan(), is_negative(x)); }
    return x * normal_cdf(x);
}
fn gelu_backward(x: V, grad: V) -> V {
    if (is_nan(grad)) { return grad; }
    if (magnitude(x) >= INF_BITS) { return nan(); }
    let density = 0.39894228 * exp_minus_square(absolute(x), 0.5);
    return grad * (normal_cdf(x) + x * density);
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
