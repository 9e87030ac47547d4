// The greatest element of a window and its index: the first of equal ones; the first NaN if there is one.
//! use lib/math, pool/axes
struct Acc { x: f32, key: i32, index: u32, }
// An integer that orders as max pooling does: both zeros are equal, a NaN is the greatest.
fn pool_key(x: f32) -> i32 { return select(order_key(x), 0x7fffffff, is_nan(x)); }
fn begin(w: Window) -> Acc {
    let place = clamp(w.start, vec3<i32>(), vec3<i32>(sizes()) - 1);
    return Acc(-inf(), -0x7fffffff, number(vec3<u32>(place), sizes()));
}
fn take(a: Acc, x: f32, index: u32) -> Acc {
    let key = pool_key(x);
    let better = key > a.key;
    return Acc(select(a.x, x, better), select(a.key, key, better), select(a.index, index, better));
}
fn value(a: Acc) -> f32 { return a.x; }
