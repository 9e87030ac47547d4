// Windows of one size: tap t of output o lies at o·stride − padding + t·dilation.
//! use pool/axes
//! needs INCLUDE_PAD

fn window_at(o: vec3<u32>) -> Window {
    let k = kernels();
    let d = dilations();
    let n = vec3<i32>(sizes());
    let start = vec3<i32>(o) * strides() - paddings();
    let none = vec3<i32>();
    let lo = min((max(-start, none) + d - 1) / d, k);
    let hi = clamp((n - start + d - 1) / d, lo, k);
    // The overhang of ceil_mode lies beyond the padding and never counts.
    let padded = clamp((n + paddings() - start + d - 1) / d, none, k);
    let count = vec3<u32>(select(hi - lo, padded, INCLUDE_PAD));
    return Window(start, lo, hi, count.x * count.y * count.z);
}
fn cover_at(place: vec3<u32>) -> Cover {
    let s = strides();
    let reach = vec3<i32>(place) + paddings();
    let first = max(reach - dilations() * (kernels() - 1), vec3<i32>());
    return Cover(vec3<u32>((first + s - 1) / s), min(vec3<u32>(reach / s) + 1u, outputs()));
}
// Whether a tap of window o, one of the cover, falls onto the element.
fn meets(place: vec3<u32>, o: vec3<u32>) -> bool {
    let d = dilations();
    let apart = vec3<i32>(place) + paddings() - vec3<i32>(o) * strides();
    return all(apart == apart / d * d);
}
