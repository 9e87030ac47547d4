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
