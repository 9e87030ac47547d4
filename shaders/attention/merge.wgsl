// out[line] = Σ_s out_s[line] · exp(lse_s[line] − lse[line]): the parts that flash.wgsl leaves for each split of the keys.
//
// Parts are [splits, lines, results] and [splits, lines] in f32. A thread writes four neighbours of one line. A part that
// saw nothing has the lowest lse and results of 0.
//
//! needs THREADS, put4_out, put_logsumexp, read4_part

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let i = (group.x + group.y * params.groups_x) * THREADS + local;
    let line = i / params.fours;
    if (line < params.lines) {
        let column = 4u * (i - line * params.fours);
        var top = load_partial(line);
        for (var s = 1u; s < params.splits; s++) {
            top = max(top, load_partial(s * params.lines + line));
        }
        var sum = 0.0;
        var total = vec4<f32>();
        for (var s = 0u; s < params.splits; s++) {
            let weight = exp(load_partial(s * params.lines + line) - top);
            sum += weight;
            total += weight * read4_part(s * params.lines + line, column);
        }
        put_logsumexp(line, column, top + log(sum));
        put4_out(line, column, total / sum);
    }
}
