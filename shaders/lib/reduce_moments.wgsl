// Folds to mean, sum of centred squares and count, by the pairwise update of Chan, Golub and LeVeque (1979): the mean of
// squares minus the squared mean would lose every digit of a small variance.
//
// The mean is head + tail, where head is one of the elements: the mean of numbers far from zero has digits that one f32
// lacks, and head − x is exact for x close to it.
struct A {
    head: f32,
    tail: f32,
    squares: f32,
    count: f32,
}
fn identity() -> A { return A(0.0, 0.0, 0.0, 0.0); }
fn lift(x: V, j: u32) -> A { return A(x, 0.0, 0.0, 1.0); }
fn combine(a: A, b: A) -> A {
    if (a.count == 0.0) { return b; }
    let n = a.count + b.count;
    let share = b.count / n;
    // Nothing to add must not bring in the head of nothing.
    let delta = select(0.0, (b.head - a.head) + (b.tail - a.tail), b.count > 0.0);
    return A(a.head, a.tail + delta * share, a.squares + b.squares + delta * delta * (a.count * share), n);
}
fn append(a: A, b: A) -> A { return combine(a, b); }
fn mean_of(a: A) -> f32 { return a.head + a.tail; }
