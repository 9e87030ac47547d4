// The mean of a window; 0 of a window that counts nothing.
struct Acc { sum: f32, divisor: u32, }
fn begin(w: Window) -> Acc { return Acc(0.0, max(w.divisor, 1u)); }
fn take(a: Acc, x: f32, index: u32) -> Acc { return Acc(a.sum + x, a.divisor); }
fn value(a: Acc) -> f32 { return a.sum / f32(a.divisor); }
