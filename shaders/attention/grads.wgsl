// p = exp(s − lse) and ds = p · (dp − δ) · scale · (1 − tanh² with a softcap), over [planes, queries, keys], all in f32.
//
// scores holds q · kᵀ unscaled, dp = grad · vᵀ, lse and delta [planes, queries]. A thread writes four neighbours.
//
//! needs THREADS, CAUSAL, SOFTCAP

struct Both { p: f32, ds: f32, }

fn both(i: u32) -> Both {
    let line = i / params.keys;
    let key = i - line * params.keys;
    let query = line % params.queries;
    var s = load_scores(i) * params.scale;
    var slope = params.scale;
    if (SOFTCAP) {
        let t = float_tanh(s / params.softcap);
        s = params.softcap * t;
        slope *= 1.0 - t * t;
    }
    let hidden = CAUSAL && i32(key) > i32(query) + bitcast<i32>(params.offset);
    let p = select(exp(s - load_lse(line)), 0.0, hidden);
    return Both(p, select(p * (load_dp(i) - load_delta(line)) * slope, 0.0, hidden));
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let first = 4u * ((group.x + group.y * params.groups_x) * THREADS + local);
    let last = params.size - 1u;
    if (first <= last) {
        let a = both(first);
        let b = both(min(first + 1u, last));
        let c = both(min(first + 2u, last));
        let d = both(min(first + 3u, last));
        store4_p(first / 4u, array<f32, 4>(a.p, b.p, c.p, d.p));
        store4_ds(first / 4u, array<f32, 4>(a.ds, b.ds, c.ds, d.ds));
    }
}
