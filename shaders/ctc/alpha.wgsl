// losses[n] = −log of the probability of all alignments of target n; with GRADIENT also shares[n, t, p], the part of them
// that is at place p in step t. A workgroup takes LANES samples, one after the other, and steps through time.
//
// alpha[p] is the log-probability of every alignment of the steps so far that ends at place p; beta[p] that of every one
// from this step on that begins there. Two rows in workgroup memory take turns. A share needs alpha of its step, which
// waits in `shares` until beta comes back to it; each invocation reads only what it wrote there itself.
//
//! use ctc/places, lib/fault
//! needs THREADS, CAPACITY, LANES, GRADIENT, put_losses

var<workgroup> row: array<f32, 2u * CAPACITY>;
var<workgroup> places: array<u32, CAPACITY>;

fn share_at(n: u32, t: u32, p: u32) -> u32 {
    return (n * params.steps + t) * params.count + p;
}

fn check(n: u32, local: u32) {
    let until = params.il_at + n * params.il_n;
    if (local == 0u && input_lengths_at(until) > params.steps) {
        report(params.fault_code, input_lengths_whole(until), params.steps + 1u);
    }
    let place = params.tl_at + n * params.tl_n;
    let used = target_lengths_at(place);
    if (used > params.labels) {
        if (local == 0u) {
            report(params.fault_code, target_lengths_whole(place), params.labels + 1u);
        }
        return;
    }
    for (var k = local; k < used; k += THREADS) {
        let at = params.tg_at + n * params.tg_n + k * params.tg_s;
        if (targets_at(at) >= params.classes) {
            report(params.fault_code, targets_whole(at), params.classes);
        }
    }
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let block = group.x + group.y * params.groups_x;
    var losses = array<f32, LANES>();
    for (var lane = 0u; lane < LANES; lane++) {
        let n = min(block * LANES + lane, params.batch - 1u);
        let used = labels_of(n);
        let steps = u32(clamp(steps_of(n), 0, i32(params.steps)));
        check(n, local);
        workgroupBarrier();
        for (var p = local; p < params.count; p += THREADS) {
            places[p] = place_word(n, p, used);
            // Before the first step: at the first place for sure, from where the first step enters it or the second.
            row[p] = select(-inf(), 0.0, p == 0u);
        }
        workgroupBarrier();
        var old = 0u;
        for (var t = 0u; t < params.steps; t++) {
            for (var p = local; p < params.count; p += THREADS) {
                var next = row[old + p];
                if (t < steps) {
                    let word = places[p];
                    var one = -inf();
                    var two = -inf();
                    if (p > 0u) {
                        one = row[old + p - 1u];
                    }
                    if (word >= SKIP) {
                        two = row[old + p - 2u];
                    }
                    next = log_add(next, one, two) + log_prob(t, n, word & LABEL);
                    if (GRADIENT) {
                        keep_share(share_at(n, t, p), next);
                    }
                }
                row[CAPACITY - old + p] = next;
            }
            workgroupBarrier();
            old = CAPACITY - old;
        }
        // A sample may end at its last label or at the blank behind it.
        let last = 2u * used;
        var label = -inf();
        if (last > 0u) {
            label = row[old + last - 1u];
        }
        let loss = -log_add(row[old + last], label, -inf());
        losses[lane] = loss;
        if (GRADIENT) {
            workgroupBarrier();
            for (var back = 0u; back < params.steps; back++) {
                for (var p = local; p < params.count; p += THREADS) {
                    var beta = -inf();
                    if (back < steps && p <= last) {
                        let t = steps - 1u - back;
                        let lp = log_prob(t, n, places[p] & LABEL);
                        if (back == 0u) {
                            if (p + 1u >= last) {
                                beta = lp;
                            }
                        } else {
                            var one = -inf();
                            var two = -inf();
                            if (p + 1u <= last) {
                                one = row[old + p + 1u];
                            }
                            if (p + 2u <= last) {
                                if (places[p + 2u] >= SKIP) {
                                    two = row[old + p + 2u];
                                }
                            }
                            beta = log_add(row[old + p], one, two) + lp;
                        }
                        let at = share_at(n, t, p);
                        let both = kept_share(at) + beta;
                        var share = 0.0;
                        // −∞ on either side: the place is not reached.
                        if (bitcast<u32>(both) != 0xff800000u && bitcast<u32>(lp) != 0xff800000u && !is_inf(loss)) {
                            share = exp_f32(both - lp + loss);
                        }
                        keep_share(at, share);
                    }
                    row[CAPACITY - old + p] = beta;
                }
                workgroupBarrier();
                old = CAPACITY - old;
            }
        }
    }
    if (local == 0u && block * LANES < params.batch) {
        put_losses(block, losses);
    }
}
