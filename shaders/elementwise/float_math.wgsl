// Transcendental functions, elementwise. The work and the accuracy are lib/math's.
//
//! use lib/math

fn float_sqrt(x: V) -> V { return sqrt_f32(x); }
fn float_hypot(x: V, y: V) -> V { return hypot_f32(x, y); }
fn float_powf(x: V, y: V) -> V { return pow_f32(x, y); }

fn float_rpowf_scalar(x: V, left: V) -> V { return pow_f32(left, x); }

fn float_expm1(x: V) -> V { return expm1_f32(x); }
fn float_exp(x: V) -> V { return exp_f32(x); }
fn float_log(x: V) -> V { return log_f32(x); }
fn float_log1p(x: V) -> V { return log1p_f32(x); }

fn float_sin(x: V) -> V { return sin_f32(x); }
fn float_cos(x: V) -> V { return cos_f32(x); }
fn float_tan(x: V) -> V { return tan_f32(x); }
fn float_asin(x: V) -> V { return asin_f32(x); }
fn float_acos(x: V) -> V { return acos_f32(x); }
fn float_atan(x: V) -> V { return atan_f32(x); }
fn float_atan2(y: V, x: V) -> V { return atan2_f32(y, x); }

fn float_sinh(x: V) -> V { return sinh_f32(x); }
fn float_cosh(x: V) -> V { return cosh_f32(x); }
fn float_tanh(x: V) -> V { return tanh_f32(x); }
fn float_asinh(x: V) -> V { return asinh_f32(x); }
fn float_acosh(x: V) -> V { return acosh_f32(x); }
fn float_atanh(x: V) -> V { return atanh_f32(x); }

fn float_erf(x: V) -> V { return erf_f32(x); }
