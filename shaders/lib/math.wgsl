// Functions of f32 that are exact about NaN, infinities and signed zeros, and accurate to a few ulp on any driver.
//
// Drivers may flush subnormal numbers, compile with fast math, fold (x + y) − x and guess that no NaN exists. So special
// cases are decided by the bits of the arguments, splits of a number are made by masks, and what needs more than 24 bits
// is done in integers. Polynomials are minimax fits in double precision; the interval stands beside each.

const ONE_BITS = 0x3f800000u;
const INF_BITS = 0x7f800000u;
const SIGN_BIT = 0x80000000u;

// Infinity and NaN have no literal in WGSL, and a constant expression must not make them.
fn inf() -> f32 {
    var bits = INF_BITS;
    return bitcast<f32>(bits);
}
fn nan() -> f32 {
    var bits = 0x7fc00000u;
    return bitcast<f32>(bits);
}
fn magnitude(x: f32) -> u32 { return bitcast<u32>(x) & 0x7fffffffu; }
fn is_nan(x: f32) -> bool { return magnitude(x) > INF_BITS; }
fn is_inf(x: f32) -> bool { return magnitude(x) == INF_BITS; }
fn is_negative(x: f32) -> bool { return bitcast<u32>(x) >= SIGN_BIT; }
fn copy_sign(x: f32, sign: f32) -> f32 {
    return bitcast<f32>(magnitude(x) | (bitcast<u32>(sign) & SIGN_BIT));
}
fn absolute(x: f32) -> f32 { return bitcast<f32>(magnitude(x)); }

// An integer that orders as the number does: both zeros are 0, subnormal numbers are told apart. Not for NaN.
fn order_key(x: f32) -> i32 {
    let m = bitcast<i32>(magnitude(x));
    return select(m, -m, is_negative(x));
}
fn less_f32(x: f32, y: f32) -> bool { return !is_nan(x) && !is_nan(y) && order_key(x) < order_key(y); }
fn equal_f32(x: f32, y: f32) -> bool { return !is_nan(x) && !is_nan(y) && order_key(x) == order_key(y); }

// The larger and the smaller of two numbers; a NaN on either side wins.
fn max_nan(x: f32, y: f32) -> f32 {
    let larger = select(x, y, order_key(y) > order_key(x));
    return select(select(larger, y, is_nan(y)), x, is_nan(x));
}
fn min_nan(x: f32, y: f32) -> f32 {
    let smaller = select(x, y, order_key(y) < order_key(x));
    return select(select(smaller, y, is_nan(y)), x, is_nan(x));
}

// 2^n for n in [−126, 127].
fn pow2(n: i32) -> f32 { return bitcast<f32>(u32(n + 127) << 23u); }

// x · 2^n for any n in [−252, 254], with gradual underflow where the device has it.
fn times_pow2(x: f32, n: i32) -> f32 {
    let first = clamp(n, -126, 127);
    return (x * pow2(first)) * pow2(n - first);
}

// Numbers near the smallest normal one, exactly whether the device keeps subnormal numbers or reads and writes them as
// zeros: arithmetic happens 2^64 higher, and subnormal numbers come and go as integers.
fn raised(x: f32) -> f32 {
    let m = magnitude(x);
    if (m >= 0x00800000u) { return x * pow2(64); }
    return copy_sign(f32(m) * pow2(-85), x);
}
fn lowered(x: f32) -> f32 {
    if (magnitude(x) >= 0x20800000u) { return x * pow2(-64); } // 2^-62
    return copy_sign(bitcast<f32>(u32(round(absolute(x) * pow2(85)))), x);
}
fn is_subnormal(x: f32) -> bool {
    let m = magnitude(x);
    return m < 0x00800000u && m != 0u;
}

// The 64-bit product of two words, low word first.
fn wide_product(a: u32, b: u32) -> vec2<u32> {
    let al = a & 0xffffu;
    let ah = a >> 16u;
    let bl = b & 0xffffu;
    let bh = b >> 16u;
    let low = al * bl;
    let middle = ah * bl + (low >> 16u);
    let cross = al * bh + (middle & 0xffffu);
    return vec2<u32>((cross << 16u) | (low & 0xffffu), ah * bh + (middle >> 16u) + (cross >> 16u));
}
// (a · b) >> 32 for a of two words.
fn high_product(a: vec2<u32>, b: u32) -> vec2<u32> {
    let low = wide_product(a.x, b);
    let high = wide_product(a.y, b);
    let sum = high.x + low.y;
    return vec2<u32>(sum, high.y + select(0u, 1u, sum < low.y));
}
fn wide_negate(a: vec2<u32>) -> vec2<u32> { return vec2<u32>(~a.x + 1u, ~a.y + select(0u, 1u, a.x == 0u)); }
// Shifts of two words by any count; 64 and more give 0.
fn wide_left(a: vec2<u32>, n: u32) -> vec2<u32> {
    let s = n & 31u;
    let carried = select(a.x >> (32u - max(s, 1u)), 0u, s == 0u);
    let near = vec2<u32>(a.x << s, (a.y << s) | carried);
    let far = vec2<u32>(0u, a.x << s);
    return select(select(near, far, n >= 32u), vec2<u32>(0u), n >= 64u);
}
fn wide_right(a: vec2<u32>, n: u32) -> vec2<u32> {
    let s = n & 31u;
    let carried = select(a.y << (32u - max(s, 1u)), 0u, s == 0u);
    let near = vec2<u32>((a.x >> s) | carried, a.y >> s);
    let far = vec2<u32>(a.y >> s, 0u);
    return select(select(near, far, n >= 32u), vec2<u32>(0u), n >= 64u);
}
fn wide_zeros(a: vec2<u32>) -> u32 {
    return select(countLeadingZeros(a.y), 32u + countLeadingZeros(a.x), a.y == 0u);
}

// ---------------------------------------------------------------------------------------- quotients and roots

// x / y. Drivers promise division only for |y| in [2^-126, 2^126], so y is brought there.
fn quotient(x: f32, y: f32) -> f32 {
    let m = magnitude(y);
    if (is_subnormal(x) || is_subnormal(y)) { return small_quotient(x, y); }
    if (m > 0x7e000000u && m < INF_BITS) { return (x * 0.0625) / (y * 0.0625); }
    return x / y;
}
// x / y where either is subnormal: as many units of 2^-149.
fn small_quotient(x: f32, y: f32) -> f32 {
    let m = magnitude(y);
    let n = magnitude(x);
    var q = 0.0;
    if (!is_subnormal(y)) {
        q = (f32(n) * pow2(-75)) / absolute(y) * pow2(-74);
    } else if (n < 0x00800000u) {
        q = f32(n) / f32(m);
    } else {
        let up = select(24, 100, n < ONE_BITS);
        q = ((absolute(x) * pow2(up)) / f32(m)) * pow2(149 - up);
    }
    return bitcast<f32>(bitcast<u32>(q) ^ ((bitcast<u32>(x) ^ bitcast<u32>(y)) & SIGN_BIT));
}

fn sqrt_f32(x: f32) -> f32 {
    let b = bitcast<u32>(x);
    if ((b & 0x7fffffffu) == 0u || b == INF_BITS || is_nan(x)) { return x; }
    if (b >= SIGN_BIT) { return nan(); }
    if (b < 0x00800000u) { return sqrt(f32(2u * b)) * pow2(-75); } // b units of 2^-149
    return sqrt(x);
}

// √(x² + y²); a NaN on either side wins over infinity.
fn hypot_f32(x: f32, y: f32) -> f32 {
    if (is_nan(x)) { return x; }
    if (is_nan(y)) { return y; }
    let large = bitcast<f32>(max(magnitude(x), magnitude(y)));
    let small = bitcast<f32>(min(magnitude(x), magnitude(y)));
    if (is_inf(large) || magnitude(small) == 0u) { return large; }
    if (large < 1e-18) {
        let a = raised(large) * pow2(32);
        let b = raised(small) * pow2(32);
        return lowered(sqrt(a * a + b * b) * pow2(-32));
    }
    let up = select(0, -96, large > 1e18);
    let a = large * pow2(up);
    let b = small * pow2(up);
    return sqrt(a * a + b * b) * pow2(-up);
}

// ----------------------------------------------------------------------------- exponential function and relatives

// (e^r − 1 − r) / r² on [−0.36, 0.36].
fn exp_tail(r: f32) -> f32 {
    var p = 0.000199193493;
    p = fma(p, r, 0.00139451303);
    p = fma(p, r, 0.00833326429);
    p = fma(p, r, 0.0416663033);
    p = fma(p, r, 0.166666669);
    return fma(p, r, 0.5);
}

fn exp_f32(x: f32) -> f32 { return exp_whole(x); }
// e^x over the whole range, NaN and subnormal results included.
fn exp_whole(x: f32) -> f32 {
    let bounded = clamp(x, -104.0, 89.0);
    let n = round(bounded * 1.44269504);
    // ln 2 in two parts; the first has 9 bits, so that its product with n is exact. The way through an integer keeps a
    // compiler from adding the parts up again.
    let coarse = i32(fma(n, -0.693359375, bounded) * 1073741824.0);
    let r = fma(n, 2.12194440e-4, f32(coarse) * pow2(-30));
    let result = times_pow2(1.0 + (r + r * r * exp_tail(r)), i32(n));
    return select(result, x, is_nan(x));
}

// e^x − 1 with every digit near 0.
fn expm1_f32(x: f32) -> f32 {
    let m = magnitude(x);
    let near = x + x * x * exp_tail(x);
    let result = select(exp_f32(x) - 1.0, near, m < 0x3eb33333u); // 0.35
    return select(result, x, is_nan(x) || m < 0x32800000u); // 2^-26
}

fn sinh_f32(x: f32) -> f32 {
    let a = absolute(x);
    let m = magnitude(x);
    if (m < 0x39800000u || m >= INF_BITS) { return x; } // 2^-12
    if (a < 1.0) {
        // (sinh √z / √z − 1) / z on [0, 1]
        let z = x * x;
        let p = fma(fma(fma(2.81743965e-06, z, 0.000198360662), z, 0.0083333506), z, 0.166666665);
        return x + x * z * p;
    }
    if (a > 88.0) {
        let half = exp_f32(0.5 * min(a, 180.0));
        return copy_sign((0.5 * half) * half, x);
    }
    let e = exp_f32(a);
    return copy_sign(0.5 * e - 0.5 / e, x);
}
fn cosh_f32(x: f32) -> f32 {
    let a = absolute(x);
    if (magnitude(x) >= INF_BITS) { return a; }
    if (a > 88.0) {
        let half = exp_f32(0.5 * min(a, 180.0));
        return (0.5 * half) * half;
    }
    let e = exp_f32(a);
    return 0.5 * e + 0.5 / e;
}
// (tanh √z / √z − 1) / z on [0, 0.625²].
fn tanh_tail(z: f32) -> f32 {
    var p = 0.00214753686;
    p = fma(p, z, -0.00818267386);
    p = fma(p, z, 0.0217029671);
    p = fma(p, z, -0.0539472043);
    p = fma(p, z, 0.133332098);
    return fma(p, z, -0.333333309);
}
fn tanh_f32(x: f32) -> f32 {
    let m = magnitude(x);
    if (m < 0x39000000u || m > INF_BITS) { return x; } // 2^-13
    let a = absolute(x);
    if (a < 0.625) {
        let z = x * x;
        return x + x * z * tanh_tail(z);
    }
    return copy_sign(1.0 - 2.0 / (exp_f32(2.0 * min(a, 10.0)) + 1.0), x);
}

fn sigmoid_f32(x: f32) -> f32 {
    let small = exp_f32(bitcast<f32>(magnitude(x) | SIGN_BIT));
    let result = select(1.0, small, is_negative(x)) / (1.0 + small);
    return select(result, x, is_nan(x));
}

// ------------------------------------------------------------------------------------------------- logarithms

// A positive finite number of these bits is (1 + f) · 2^exponent with 1 + f in [√½, √2); f is exact.
struct LogParts {
    exponent: i32,
    f: f32,
}
fn log_parts(bits: u32) -> LogParts {
    let shift = select(0u, countLeadingZeros(bits) - 8u, bits < 0x00800000u);
    let b = bits << shift;
    let k = (bitcast<i32>(b) - 0x3f3504f3) >> 23u;
    return LogParts(k - i32(shift), bitcast<f32>(b - (bitcast<u32>(k) << 23u)) - 1.0);
}
// (log(1 + f) − f + f²/2) / f³ on [√½ − 1, √2 − 1].
fn log_tail(f: f32) -> f32 {
    var p = 0.0674843146;
    p = fma(p, f, -0.116848028);
    p = fma(p, f, 0.118923042);
    p = fma(p, f, -0.124044863);
    p = fma(p, f, 0.142188918);
    p = fma(p, f, -0.166680283);
    p = fma(p, f, 0.200021493);
    p = fma(p, f, -0.250000095);
    return fma(p, f, 0.333333122);
}
fn log_f32(x: f32) -> f32 {
    let b = bitcast<u32>(x);
    if ((b & 0x7fffffffu) == 0u) { return -inf(); }
    if (is_nan(x) || b == INF_BITS) { return x; }
    if (b >= SIGN_BIT) { return nan(); }
    let parts = log_parts(b);
    let f = parts.f;
    let k = f32(parts.exponent);
    let rest = fma(k, -2.12194440e-4, f * f * fma(f, log_tail(f), -0.5));
    return fma(k, 0.693359375, f + rest);
}
// log(1 + x): the direct sum loses every digit of x below 1e-7, the series does not.
fn log1p_f32(x: f32) -> f32 {
    let m = magnitude(x);
    if (m < 0x33000000u || m > INF_BITS) { return x; } // 2^-25
    if (x > -0.2928 && x < 0.4142) { return x + x * x * fma(x, log_tail(x), -0.5); }
    return log_f32(1.0 + x);
}
// log(1 / (1 + e^−x)) without overflow.
fn log_sigmoid_f32(x: f32) -> f32 {
    let a = bitcast<f32>(magnitude(x) | SIGN_BIT);
    let result = select(0.0, x, is_negative(x)) - log1p_f32(exp_f32(a));
    return select(result, x, is_nan(x));
}

fn asinh_f32(x: f32) -> f32 {
    let m = magnitude(x);
    if (m < 0x39800000u || m >= INF_BITS) { return x; } // 2^-12
    let a = absolute(x);
    if (a > 16384.0) { return copy_sign(log_f32(a) + 0.693147181, x); }
    return copy_sign(log1p_f32(a + a * a / (1.0 + sqrt(a * a + 1.0))), x);
}
fn acosh_f32(x: f32) -> f32 {
    if (is_nan(x) || bitcast<u32>(x) == INF_BITS) { return x; }
    if (x < 1.0) { return nan(); }
    if (x > 16384.0) { return log_f32(x) + 0.693147181; }
    let t = x - 1.0;
    return log1p_f32(t + sqrt(2.0 * t + t * t));
}
fn atanh_f32(x: f32) -> f32 {
    let m = magnitude(x);
    if (m < 0x39800000u || m > INF_BITS) { return x; } // 2^-12
    if (m > ONE_BITS) { return nan(); }
    if (m == ONE_BITS) { return copy_sign(inf(), x); }
    let a = absolute(x);
    return copy_sign(0.5 * log1p_f32(2.0 * a / (1.0 - a)), x);
}

// ------------------------------------------------------------------------------------------------------ powers

// 0: y is no integer, 1: odd, 2: even.
fn integer_kind(y: f32) -> u32 {
    let m = magnitude(y);
    let e = m >> 23u;
    if (m == 0u || e > 150u) { return 2u; }
    if (e < 127u) { return 0u; }
    let shift = 150u - e;
    let digits = (m & 0x7fffffu) | 0x800000u;
    if ((digits & ((1u << shift) - 1u)) != 0u) { return 0u; }
    return select(2u, 1u, ((digits >> shift) & 1u) == 1u);
}

// x to the y by IEEE 754: x^0 = 1^y = 1 even for NaN; a negative base has powers at integers only.
fn pow_f32(x: f32, y: f32) -> f32 {
    let ax = magnitude(x);
    let ay = magnitude(y);
    if (ay == 0u || bitcast<u32>(x) == ONE_BITS) { return 1.0; }
    if (ax > INF_BITS) { return x; }
    if (ay > INF_BITS) { return y; }
    let falls = is_negative(y);
    if (ay == INF_BITS) {
        if (ax == ONE_BITS) { return 1.0; }
        return select(0.0, inf(), (ax > ONE_BITS) != falls);
    }
    let kind = integer_kind(y);
    let sign = select(0u, SIGN_BIT, is_negative(x) && kind == 1u);
    if (ax == 0u || ax == INF_BITS) {
        return bitcast<f32>(select(0u, bitcast<u32>(inf()), (ax == 0u) == falls) | sign);
    }
    if (is_negative(x) && kind == 0u) { return nan(); }
    return bitcast<f32>(bitcast<u32>(pow_positive(ax, y, kind != 0u)) | sign);
}

// (the positive finite number of these bits) to the y, y finite and not 0.
fn pow_positive(bits: u32, y: f32, whole: bool) -> f32 {
    let ay = magnitude(y);
    if (whole && ay <= 0x41800000u) { // up to 16: products, exact where the result is
        let n = u32(absolute(y));
        var base = bitcast<f32>(bits);
        var product = 1.0;
        for (var i = 0u; i < 5u; i++) {
            product = select(product, product * base, ((n >> i) & 1u) == 1u);
            base = base * base;
        }
        if (!is_negative(y)) { return product; }
        if (product > 1e-30 && product < 1e30) { return 1.0 / product; }
    }
    // log2 in fixed point with units of 2^-53: the exponent plus log2(e) · f · (1 − f/2 + f² · tail).
    let parts = log_parts(bits);
    let f = parts.f;
    let digits = i32(f * 16777216.0);
    let series = bitcast<u32>(1073741824 - 32 * digits + i32(f * f * log_tail(f) * 1073741824.0));
    let natural = wide_product(u32(abs(digits)), series); // units of 2^-54
    var fraction = high_product(natural, 0xb8aa3b29u); // log2(e) · 2^31
    if (digits < 0) { fraction = wide_negate(fraction); }
    var log2 = vec2<u32>(fraction.x, fraction.y + (bitcast<u32>(parts.exponent) << 21u));
    if ((log2.x | log2.y) == 0u) { return 1.0; }
    let log_negative = log2.y >= SIGN_BIT;
    if (log_negative) { log2 = wide_negate(log2); }
    // |y · log2 x| with 32 fraction bits.
    let zeros = wide_zeros(log2);
    let e = ay >> 23u;
    let negative = log_negative != is_negative(y);
    if (i32(e) - i32(zeros) >= 125) { return select(inf(), 0.0, negative); }
    let product = high_product(wide_left(log2, zeros), (ay << 8u) | SIGN_BIT);
    let power = wide_right(product, 147u + zeros - e);
    var n = i32(power.y + (power.x >> 31u));
    var r = f32(bitcast<i32>(power.x)) * pow2(-32);
    if (negative) {
        n = -n;
        r = -r;
    }
    let z = r * 0.693147181;
    return times_pow2(1.0 + (z + z * z * exp_tail(z)), clamp(n, -250, 250));
}

// -------------------------------------------------------------------------------------- remainders of division

// x − trunc(x / y) · y, exact for all x and y: long division of the significands, eight bits a step.
fn fmod_f32(x: f32, y: f32) -> f32 {
    let ax = magnitude(x);
    let ay = magnitude(y);
    if (ay == 0u || ax >= INF_BITS || ay > INF_BITS) { return nan(); }
    if (ax < ay) { return x; }
    let ex = max(ax >> 23u, 1u);
    let ey = max(ay >> 23u, 1u);
    let mx = (ax & 0x7fffffu) | select(0u, 0x800000u, ax >= 0x800000u);
    let my = (ay & 0x7fffffu) | select(0u, 0x800000u, ay >= 0x800000u);
    var r = mx - my * (mx / my);
    var left = ex - ey;
    while (left > 0u) {
        let step = min(left, 8u);
        let next = r << step;
        r = next - my * (next / my);
        left -= step;
    }
    let sign = bitcast<u32>(x) & SIGN_BIT;
    if (r == 0u) { return bitcast<f32>(sign); }
    let shift = countLeadingZeros(r) - 8u;
    if (ey > shift) { return bitcast<f32>(sign | ((ey - shift) << 23u) | ((r << shift) & 0x7fffffu)); }
    return bitcast<f32>(sign | (r << (ey - 1u)));
}
// x − ⌊x / y⌋ · y: fmod, moved to the sign of y.
fn remainder_f32(x: f32, y: f32) -> f32 {
    let r = fmod_f32(x, y);
    if (is_nan(r)) { return r; }
    if (magnitude(r) == 0u) { return copy_sign(0.0, y); }
    if (is_negative(r) == is_negative(y)) { return r; }
    if (magnitude(y) < 0x0d800000u) { return lowered(raised(r) + raised(y)); } // 2^-100: below it r may be subnormal
    return r + y;
}

// ⌊x / y⌋ of the exact quotient: what fmod leaves is taken off before the division, whose result is then an integer.
fn floor_quotient(x: f32, y: f32) -> f32 {
    if (magnitude(y) == 0u) { return quotient(x, y); }
    let r = fmod_f32(x, y);
    if (is_nan(r)) { return r; }
    var multiple = x - r;
    var divisor = y;
    if (magnitude(x) < 0x0d800000u) { // 2^-100
        multiple = raised(x) - raised(r);
        divisor = raised(y);
    }
    let truncated = round(quotient(multiple, divisor));
    let whole = select(truncated, truncated - 1.0, magnitude(r) != 0u && is_negative(r) != is_negative(y));
    if (magnitude(whole) != 0u) { return whole; }
    return bitcast<f32>((bitcast<u32>(x) ^ bitcast<u32>(y)) & SIGN_BIT);
}

// ----------------------------------------------------------------------------------------------- trigonometry

// The bits of 2/π after a word of zeros.
fn two_over_pi(word: u32) -> u32 {
    switch (word) {
        case 1u: { return 0xa2f9836eu; }
        case 2u: { return 0x4e441529u; }
        case 3u: { return 0xfc2757d1u; }
        case 4u: { return 0xf534ddc0u; }
        case 5u: { return 0xdb629599u; }
        case 6u: { return 0x3c439041u; }
        case 7u: { return 0xfe5163abu; }
        default: { return 0u; }
    }
}

// |x| = quadrant · π/2 + r with r in [−π/4, π/4]; quadrants are counted modulo 4.
struct Angle {
    quadrant: u32,
    r: f32,
}
// The product of the significand and the 96 bits of 2/π that matter, modulo 4 quarter turns (Payne and Hanek).
fn reduce_angle(x: f32) -> Angle {
    let m = magnitude(x);
    if (m < 0x3f490fdbu) { return Angle(0u, absolute(x)); } // π/4
    let digits = (m & 0x7fffffu) | 0x800000u;
    let at = (m >> 23u) - 120u; // first bit of the table that is worth less than a turn
    let word = at >> 5u;
    let s = at & 31u;
    let w0 = wide_left(vec2<u32>(two_over_pi(word + 1u), two_over_pi(word)), s).y;
    let w1 = wide_left(vec2<u32>(two_over_pi(word + 2u), two_over_pi(word + 1u)), s).y;
    let w2 = wide_left(vec2<u32>(two_over_pi(word + 3u), two_over_pi(word + 2u)), s).y;
    let low = wide_product(digits, w1);
    let sum = low.x + wide_product(digits, w2).y;
    let turns = digits * w0 + low.y + select(0u, 1u, sum < low.x); // two bits of quadrant, then the fraction
    // The fraction as a signed number of 64 bits, so that its nearest quadrant is the one chosen.
    var part = wide_left(vec2<u32>(sum, turns), 2u);
    let negative = part.y >= SIGN_BIT;
    if (negative) { part = wide_negate(part); }
    let zeros = min(wide_zeros(part), 63u);
    let r = f32(wide_left(part, zeros).y) * pow2(-32 - i32(zeros)) * 1.57079633;
    return Angle((turns >> 30u) + select(0u, 1u, negative), select(r, -r, negative));
}
// sin r and cos r on [−π/4, π/4].
fn sin_near(r: f32) -> f32 {
    let z = r * r;
    let p = fma(fma(fma(2.7182744e-06, z, -0.00019839331), z, 0.00833332937), z, -0.166666666);
    return r + r * z * p;
}
fn cos_near(r: f32) -> f32 {
    let z = r * r;
    let p = fma(fma(fma(-2.72053992e-07, z, 2.47994558e-05), z, -0.00138888835), z, 0.0416666666);
    return fma(z * z, p, fma(z, -0.5, 1.0));
}
fn sin_f32(x: f32) -> f32 {
    let m = magnitude(x);
    if (m < 0x39800000u || m > INF_BITS) { return x; } // 2^-12
    if (m == INF_BITS) { return nan(); }
    let angle = reduce_angle(x);
    let value = select(sin_near(angle.r), cos_near(angle.r), (angle.quadrant & 1u) == 1u);
    return select(value, -value, ((angle.quadrant & 2u) == 2u) != is_negative(x));
}
fn cos_f32(x: f32) -> f32 {
    let m = magnitude(x);
    if (m > INF_BITS) { return x; }
    if (m == INF_BITS) { return nan(); }
    let angle = reduce_angle(x);
    let value = select(cos_near(angle.r), sin_near(angle.r), (angle.quadrant & 1u) == 1u);
    return select(value, -value, ((angle.quadrant + 1u) & 2u) == 2u);
}
fn tan_f32(x: f32) -> f32 {
    let m = magnitude(x);
    if (m < 0x39800000u || m > INF_BITS) { return x; } // 2^-12
    if (m == INF_BITS) { return nan(); }
    let angle = reduce_angle(x);
    let s = sin_near(angle.r);
    let c = cos_near(angle.r);
    let value = select(s / c, -c / s, (angle.quadrant & 1u) == 1u);
    return select(value, -value, is_negative(x));
}

// arcsin a on [0, 0.5].
fn asin_near(a: f32) -> f32 {
    let z = a * a;
    var p = 0.037630088;
    p = fma(p, z, 0.0143584938);
    p = fma(p, z, 0.0318286868);
    p = fma(p, z, 0.044514469);
    p = fma(p, z, 0.0750051702);
    p = fma(p, z, 0.166666598);
    return a + a * z * p;
}
fn asin_f32(x: f32) -> f32 {
    let m = magnitude(x);
    if (m < 0x39800000u || m > INF_BITS) { return x; } // 2^-12
    if (m > ONE_BITS) { return nan(); }
    let a = absolute(x);
    if (a <= 0.5) { return copy_sign(asin_near(a), x); }
    return copy_sign(1.57079633 - 2.0 * asin_near(sqrt(0.5 * (1.0 - a))), x);
}
fn acos_f32(x: f32) -> f32 {
    let m = magnitude(x);
    if (m > INF_BITS) { return x; }
    if (m > ONE_BITS) { return nan(); }
    let a = absolute(x);
    if (a <= 0.5) { return 1.57079633 - copy_sign(asin_near(a), x); }
    let angle = 2.0 * asin_near(sqrt(0.5 * (1.0 - a)));
    return select(angle, 3.14159265 - angle, is_negative(x));
}

// The angle of the point (x, y) for x, y ≥ 0, in [0, π/2]; 0 at the origin.
fn angle_of(y: f32, x: f32) -> f32 {
    let steep = magnitude(y) > magnitude(x);
    var low = select(y, x, steep);
    var high = select(x, y, steep);
    if (high < 1e-30) {
        low = raised(low);
        high = raised(high);
    }
    if (high > 1e30) {
        low = low * pow2(-8);
        high = high * pow2(-8);
    }
    if (magnitude(high) == 0u) { return 0.0; }
    if (is_inf(high)) {
        low = select(0.0, 1.0, is_inf(low));
        high = 1.0;
    }
    let turned = low > 0.414213562 * high; // beyond π/8, measured from π/4
    let t = select(low / high, (low - high) / (low + high), turned);
    // (arctan √z / √z − 1) / z on [0, tan²(π/8)]
    let z = t * t;
    var p = -0.0608040472;
    p = fma(p, z, 0.105948573);
    p = fma(p, z, -0.142437026);
    p = fma(p, z, 0.199984822);
    p = fma(p, z, -0.333333154);
    let angle = select(0.0, 0.785398163, turned) + (t + t * z * p);
    return select(angle, 1.57079633 - angle, steep);
}
fn atan_f32(x: f32) -> f32 {
    let m = magnitude(x);
    if (m < 0x39800000u || m > INF_BITS) { return x; } // 2^-12
    return copy_sign(angle_of(absolute(x), 1.0), x);
}
fn atan2_f32(y: f32, x: f32) -> f32 {
    if (is_nan(x)) { return x; }
    if (is_nan(y)) { return y; }
    let angle = angle_of(absolute(y), absolute(x));
    return copy_sign(select(angle, 3.14159265 - angle, is_negative(x)), y);
}

// ---------------------------------------------------------------------------------------------- error function

// e^(−rate · a²) for a ≥ 0. The square is split by a mask, or its rounding would grow with a².
fn exp_minus_square(a: f32, rate: f32) -> f32 {
    let bounded = min(a, 15.0);
    let head = bitcast<f32>(bitcast<u32>(bounded) & 0xfffff000u);
    let rest = (bounded - head) * (bounded + head);
    return exp_f32(-rate * head * head) * exp_f32(-rate * rest);
}
// e^(a²) · erfc(a) for a ≥ 0: (1 + 2a) times it is smooth in (a − 2) / (a + 2), fitted on [0, 10.3].
fn erfc_scaled(a: f32) -> f32 {
    let bounded = min(a, 10.3);
    let t = (bounded - 2.0) / (bounded + 2.0);
    var p = -0.000398327692;
    p = fma(p, t, -0.0012260949);
    p = fma(p, t, 0.00131307898);
    p = fma(p, t, 0.00862851405);
    p = fma(p, t, -0.00806040076);
    p = fma(p, t, -0.0542034659);
    p = fma(p, t, 0.164055503);
    p = fma(p, t, -0.166031497);
    p = fma(p, t, -0.0927639892);
    p = fma(p, t, 1.27697839);
    return p / (1.0 + 2.0 * bounded);
}
fn erf_f32(x: f32) -> f32 {
    if (is_nan(x)) { return x; }
    let a = absolute(x);
    if (a < 1.0) {
        // erf √z / √z on [0, 1]
        let z = x * x;
        var p = 7.85385773e-05;
        p = fma(p, z, -0.000801019253);
        p = fma(p, z, 0.00518832756);
        p = fma(p, z, -0.0268538119);
        p = fma(p, z, 0.112835851);
        p = fma(p, z, -0.376126258);
        return x * fma(p, z, 1.12837917);
    }
    return copy_sign(1.0 - exp_minus_square(a, 1.0) * erfc_scaled(a), x);
}
// The standard normal distribution Φ(x), with every digit of its lower tail; 0 and 1 at the infinities.
fn normal_cdf(x: f32) -> f32 {
    let a = absolute(x);
    let tail = 0.5 * exp_minus_square(a, 0.5) * erfc_scaled(a * 0.707106781);
    return select(1.0 - tail, tail, is_negative(x));
}
