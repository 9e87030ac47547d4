// Folds to mean, sum of centred squares and count, by the pairwise update of Chan, Golub and LeVeque (1979): the mean of
// squares minus the squared mean would lose every digit of a small variance.
struct A {
    mean: f32,
    squares: f32,
    count: f32,
}
fn identity() -> A { return A(0.0, 0.0, 0.0); }
fn lift(x: V, j: u32) -> A { return A(x, 0.0, 1.0); }
fn combine(a: A, b: A) -> A {
    let n = a.count + b.count;
    let share = b.count / max(n, 1.0);
    let delta = b.mean - a.mean;
    return A(a.mean + delta * share, a.squares + b.squares + delta * delta * (a.count * share), n);
}
fn append(a: A, b: A) -> A { return combine(a, b); }
