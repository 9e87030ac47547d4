// out[plane, oy, ox] = Σ_ty Σ_tx wy[oy, ty] · wx[ox, tx] · x[plane, iy[oy, ty], ix[ox, tx]]: four neighbours a thread.
//
// x [batch, channels, height, width] with any strides, out dense. table: for each output row TAPS indices and their
// weights, then the same for columns; the top bit of the first index marks what lies outside the image, which is `fill`.
// With one tap nothing is multiplied: a copy keeps every bit.
//
//! needs THREADS, TAPS, WEIGHTED

const OUTSIDE = 0x80000000u;
const ROW: u32 = select(1u, 2u * TAPS, WEIGHTED);

fn sample(i: u32) -> f32 {
    let line = i / params.width;
    let plane = line / params.height;
    let n = plane / params.channels;
    let base = params.x_at + n * params.x_n + (plane - n * params.channels) * params.x_c;
    let row = (line - plane * params.height) * ROW;
    let column = (params.height + i - line * params.width) * ROW;
    let first_y = table[row];
    let first_x = table[column];
    if (((first_y | first_x) & OUTSIDE) != 0u) {
        return params.fill;
    }
    if (!WEIGHTED) {
        return load_x(base + first_y * params.x_y + first_x * params.x_x);
    }
    var sum = 0.0;
    for (var ty = 0u; ty < TAPS; ty++) {
        let start = base + table[row + ty] * params.x_y;
        var across = 0.0;
        for (var tx = 0u; tx < TAPS; tx++) {
            across += bitcast<f32>(table[column + TAPS + tx]) * load_x(start + table[column + tx] * params.x_x);
        }
        sum += bitcast<f32>(table[row + TAPS + ty]) * across;
    }
    return sum;
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let first = 4u * ((group.x + group.y * params.groups_x) * THREADS + local);
    let last = params.size - 1u;
    if (first <= last) {
        let v0 = sample(first);
        let v1 = sample(min(first + 1u, last));
        let v2 = sample(min(first + 2u, last));
        store4_out(first / 4u, array<f32, 4>(v0, v1, v2, sample(min(first + 3u, last))));
    }
}
