// out[n, c, oy, ox] = Σ_ty Σ_tx wy[ty] · wx[tx] · x[n, c, iy[ty], ix[tx]] around the point grid[n, oy, ox]: four neighbours
// of the flat output a thread.
//
// x [batch, channels, height, width] and grid [batch, rows, columns, (x, y)] with any strides, out dense. What lies outside
// the image is resolved once for the point (nearest, bilinear) or for every tap (PER_TAP); NaN is taken for index 0, and
// what is made of it is NaN by its weight.
//
//! use lib/math
//! needs THREADS, TAPS, FIRST, NEAREST, PER_TAP, LANCZOS, ZEROS, REFLECTION

// A tap along one axis.
struct Tap {
    index: u32,
    inside: bool,
    weight: f32,
}

// An axis of the image: the pixel of g is (g + 1) · scale − shift; reflection bounces between low and low + span.
struct Axis {
    size: u32,
    scale: f32,
    shift: f32,
    low: f32,
    span: f32,
}

fn resolve(place: f32, axis: Axis) -> f32 {
    if (ZEROS) {
        return place;
    }
    var p = place;
    if (REFLECTION) {
        if (axis.span > 0.0) {
            p = axis.low + (axis.span - absolute(remainder_f32(place - axis.low, 2.0 * axis.span) - axis.span));
        } else {
            p = place * 0.0 + axis.low;
        }
    }
    return max_nan(min_nan(p, f32(axis.size - 1u)), 0.0);
}

// Keys' kernel with a = −0.75; tap 1 and 2 of four lie in its inner piece.
fn cubic(distance: f32, tap: u32) -> f32 {
    let t = absolute(distance);
    let inner = (1.25 * t - 2.25) * t * t + 1.0;
    let outer = ((-0.75 * t + 3.75) * t - 6.0) * t + 3.0;
    return select(outer, inner, tap == 1u || tap == 2u);
}

// sinc(t) · sinc(t / 3).
fn lanczos(t: f32) -> f32 {
    if (magnitude(t) == 0u) {
        return 1.0;
    }
    if (!is_nan(t) && absolute(t) >= 3.0) {
        return 0.0;
    }
    let angle = 3.14159265 * t;
    let third = angle * 0.333333333;
    return quotient(sin_f32(angle) * sin_f32(third), angle * third);
}

fn weigh(part: f32, offset: f32, tap: u32) -> f32 {
    if (LANCZOS) {
        return lanczos(part - offset);
    }
    if (PER_TAP) {
        return cubic(part - offset, tap);
    }
    return select(part, 1.0 - part, tap == 0u);
}

fn whole(x: f32, builtin: f32) -> f32 {
    return select(builtin, x, magnitude(x) >= 0x4b000000u);
}

fn tap_at(place: f32, tap: u32, axis: Axis) -> Tap {
    var at = whole(place, round(place));
    var weight = 1.0;
    if (!NEAREST) {
        let low = whole(place, floor(place));
        let offset = FIRST + f32(tap);
        at = low + offset;
        weight = weigh(place - low, offset, tap);
    }
    if (PER_TAP) {
        at = resolve(at, axis);
    }
    let last = axis.size - 1u;
    let index = select(min(u32(clamp(at, 0.0, f32(last))), last), 0u, is_nan(at));
    return Tap(index, !is_nan(at) && at >= 0.0 && at < f32(axis.size), weight);
}

fn place_of(g: f32, axis: Axis) -> f32 {
    let place = (g + 1.0) * axis.scale - axis.shift;
    if (PER_TAP) {
        return place;
    }
    return resolve(place, axis);
}

fn sample(i: u32) -> f32 {
    let line = i / params.columns;
    let plane = line / params.rows;
    let n = plane / params.channels;
    let base = params.x_at + n * params.x_n + (plane - n * params.channels) * params.x_c;
    let point = params.g_at + n * params.g_n + (line - plane * params.rows) * params.g_y
        + (i - line * params.columns) * params.g_x;
    let vertical = Axis(params.height, params.scale_y, params.shift, params.low_y, params.span_y);
    let horizontal = Axis(params.width, params.scale_x, params.shift, params.low_x, params.span_x);
    let at_x = place_of(load_grid(point), horizontal);
    let at_y = place_of(load_grid(point + params.g_c), vertical);
    var across = array<Tap, TAPS>();
    for (var t = 0u; t < TAPS; t++) {
        across[t] = tap_at(at_x, t, horizontal);
    }
    var total = 0.0;
    var weights = 0.0;
    for (var ty = 0u; ty < TAPS; ty++) {
        let row = tap_at(at_y, ty, vertical);
        let start = base + row.index * params.x_y;
        for (var tx = 0u; tx < TAPS; tx++) {
            let column = across[tx];
            let hidden = ZEROS && !(row.inside && column.inside);
            var value = load_x(start + column.index * params.x_x);
            var weight = row.weight * column.weight;
            if (hidden) {
                value = 0.0;
                if (LANCZOS) {
                    weight = 0.0;
                }
            }
            if (NEAREST) {
                return value;
            }
            total += value * weight;
            weights += weight;
        }
    }
    if (LANCZOS && magnitude(weights) != 0u) {
        return quotient(total, weights);
    }
    return total;
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
