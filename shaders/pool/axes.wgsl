// The numbers of the three axes of a pooling, and what a window or an element of it is. Unused axes have size 1.
//! needs Params
fn sizes() -> vec3<u32> { return vec3<u32>(params.n0, params.n1, params.n2); }
fn outputs() -> vec3<u32> { return vec3<u32>(params.o0, params.o1, params.o2); }
fn kernels() -> vec3<i32> { return vec3<i32>(vec3<u32>(params.k0, params.k1, params.k2)); }
fn strides() -> vec3<i32> { return vec3<i32>(vec3<u32>(params.s0, params.s1, params.s2)); }
fn paddings() -> vec3<i32> { return vec3<i32>(vec3<u32>(params.p0, params.p1, params.p2)); }
fn dilations() -> vec3<i32> { return vec3<i32>(vec3<u32>(params.d0, params.d1, params.d2)); }

// The taps [from, to) of a window that lie inside the input, where tap 0 lies, and what an average divides by.
struct Window { start: vec3<i32>, lo: vec3<i32>, hi: vec3<i32>, divisor: u32, }
// The windows [lo, hi) that may hold an element.
struct Cover { lo: vec3<u32>, hi: vec3<u32>, }

// A flat index over [planes, size.x, size.y, size.z]: the position in xyz and the plane in w.
fn split(i: u32, size: vec3<u32>) -> vec4<u32> {
    let n2 = i / size.z;
    let n1 = n2 / size.y;
    let plane = n1 / size.x;
    return vec4<u32>(n1 - plane * size.x, n2 - n1 * size.y, i - n2 * size.z, plane);
}
fn number(place: vec3<u32>, size: vec3<u32>) -> u32 { return (place.x * size.y + place.y) * size.z + place.z; }
