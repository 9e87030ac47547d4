// Folds to Σg and Σg·(x − mean), mean being that of the output's channel.
//
//! needs load_mean
struct A {
    g: f32,
    gx: f32,
}
fn identity() -> A { return A(0.0, 0.0); }
fn lift(x: V, g: f32, o: u32) -> A { return A(g, g * (x - load_mean(o))); }
fn combine(a: A, b: A) -> A { return A(a.g + b.g, a.gx + b.gx); }
fn append(a: A, b: A) -> A { return combine(a, b); }
