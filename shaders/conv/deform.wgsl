// Where a tap of a deformable convolution looks, and the four elements around that place.
//
// offset [batch, offset groups, taps, 2, points] as pairs (dy, dx), x [batch, channels, height, width], both dense.
//! use lib/math
//! needs Params

// The place's upper left element, how far it lies beyond it, and whether it lies in (−1, height) × (−1, width). A place that
// is NaN lies nowhere, but its sample is NaN.
struct Sample { y: i32, x: i32, fy: f32, fx: f32, valid: bool, }

// The element of (batch, offset group, tap, point): x = batch, y = group, z = tap, w = point.
fn entry(i: u32) -> vec4<u32> {
    let n2 = i / params.points;
    let n1 = n2 / params.taps;
    let n = n1 / params.offset_groups;
    return vec4<u32>(n, n1 - n * params.offset_groups, n2 - n1 * params.taps, i - n2 * params.points);
}
fn sample_at(e: vec4<u32>) -> Sample {
    let oy = e.w / params.out_width;
    let ox = e.w - oy * params.out_width;
    let i = e.z / params.kernel_width;
    let j = e.z - i * params.kernel_width;
    let at = ((e.x * params.offset_groups + e.y) * params.taps + e.z) * 2u * params.points + e.w;
    let by_y = load_offset(at);
    let by_x = load_offset(at + params.points);
    let y = f32(i32(oy * params.stride0 + i * params.dilation0) - i32(params.padding0)) + by_y;
    let x = f32(i32(ox * params.stride1 + j * params.dilation1) - i32(params.padding1)) + by_x;
    let valid = !is_nan(by_y) && !is_nan(by_x) && y > -1.0 && y < f32(params.height) && x > -1.0 && x < f32(params.width);
    let top = floor(select(0.0, y, valid));
    let left = floor(select(0.0, x, valid));
    let fy = select(select(0.0, by_y, is_nan(by_y)), y - top, valid);
    let fx = select(select(0.0, by_x, is_nan(by_x)), x - left, valid);
    return Sample(i32(top), i32(left), fy, fx, valid);
}
fn inside(s: Sample, dy: i32, dx: i32) -> bool {
    let y = s.y + dy;
    let x = s.x + dx;
    return s.valid && y >= 0 && y < i32(params.height) && x >= 0 && x < i32(params.width);
}
fn element(s: Sample, dy: i32, dx: i32) -> u32 { return u32((s.y + dy) * i32(params.width) + s.x + dx); }
fn corner(s: Sample, base: u32, dy: i32, dx: i32) -> f32 {
    let ok = inside(s, dy, dx);
    return select(0.0, load_x(select(0u, base + element(s, dy, dx), ok)), ok);
}
fn part(s: Sample, dy: i32, dx: i32) -> f32 {
    return select(1.0 - s.fy, s.fy, dy == 1) * select(1.0 - s.fx, s.fx, dx == 1);
}
