// What both directions of CTC share: the places of a sample's target read as blank, t₁, blank, t₂, …, blank, and sums of
// probabilities given by their logarithms.
//
// A place's word is its label; the top bit says that it may be entered from two places before: a label other than blank
// and than the label before it.
//
//! use lib/math

const SKIP = 0x80000000u;
const LABEL = 0x7fffffffu;

// A label of sample n; one that is no class counts as blank.
fn label_at(n: u32, k: u32) -> u32 {
    let label = targets_at(params.tg_at + n * params.tg_n + k * params.tg_s);
    return select(params.blank, label, label < params.classes);
}

fn place_word(n: u32, p: u32, used: u32) -> u32 {
    let k = p / 2u;
    if ((p & 1u) == 0u || k >= used) {
        return params.blank;
    }
    let label = label_at(n, k);
    var before = params.blank;
    if (k > 0u) {
        before = label_at(n, k - 1u);
    }
    return label | select(0u, SKIP, k > 0u && label != params.blank && label != before);
}

// How many labels sample n has; at most what `targets` holds.
fn labels_of(n: u32) -> u32 {
    let used = target_lengths_at(params.tl_at + n * params.tl_n);
    return select(0u, used, used <= params.labels);
}

// The steps of sample n as an i32; a faulty length may lie outside [0, params.steps].
fn steps_of(n: u32) -> i32 {
    return bitcast<i32>(input_lengths_at(params.il_at + n * params.il_n));
}

fn log_prob(t: u32, n: u32, label: u32) -> f32 {
    return load_log_probs(params.lp_at + t * params.lp_t + n * params.lp_n + label * params.lp_c);
}

// log(e^a + e^b + e^c); −∞ where all of them are.
fn log_add(a: f32, b: f32, c: f32) -> f32 {
    var top = a;
    if (less_f32(top, b)) {
        top = b;
    }
    if (less_f32(top, c)) {
        top = c;
    }
    if (bitcast<u32>(top) == 0xff800000u) {
        return top;
    }
    return log_f32(exp_f32(a - top) + exp_f32(b - top) + exp_f32(c - top)) + top;
}
